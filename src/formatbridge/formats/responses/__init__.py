"""OpenAI Responses: input and output are lists of items, and the server can store state.

Sources: the relay's specification, "POST /v1/responses"; the types of the official SDK of 2026-11; recorded traffic for the fields that
servers add. Consecutive items of the model become one message of the canonical model. A request holds only encrypted content of this
format. A response also carries the reasoning tokens of other formats in ``encrypted_content``.

Only this package has ``item_ids``, because only this format requires ids of items, and ``stream_items``, because only here a stream
sends output items with events for each step.
"""

from __future__ import annotations

import re

from formatbridge.formats.format import Endpoint, FormatSpec, ItemIdentity, SdkFacts, StoredAnswers, TelemetryFacts, ToolRules
from formatbridge.formats.responses.errors import decode_error, encode_error, encode_sdk_error
from formatbridge.formats.responses.field_paths import FIELD_PATHS
from formatbridge.formats.responses.hosted_tools import HOSTED
from formatbridge.formats.responses.other_endpoints import BATCH, COUNT, decode_models, encode_models
from formatbridge.formats.responses.recognition import DETECTION, event_text, recognizes_error, recognizes_event
from formatbridge.formats.responses.request import decode_request, encode_request
from formatbridge.formats.responses.response import FINISH, decode_response, encode_response, failure_of, mark_unfinished
from formatbridge.formats.responses.server_requests import SERVER_REQUESTS
from formatbridge.formats.responses.settings import ENCRYPTED_CONTENT, SETTINGS
from formatbridge.formats.responses.stream_decoder import StreamDecoder
from formatbridge.formats.responses.stream_encoder import StreamEncoder
from formatbridge.formats.responses.stream_fold import fold_stream, response_path, unfold_stream
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.sse import encode_event

_TELEMETRY = TelemetryFacts(
    provider="openai",
    api_type="responses",
    request_fields={
        "service_tier": "openai.request.service_tier",
        "previous_response_id": "gen_ai.request.previous_response.id",
        "conversation": "gen_ai.conversation.id",
        "conversation/id": "gen_ai.conversation.id",
        "prompt/id": "gen_ai.prompt.name",
        "prompt/version": "gen_ai.prompt.version",
    },
    response_fields={"service_tier": "openai.response.service_tier", "conversation/id": "gen_ai.conversation.id"},
)
"""Source: open-telemetry/semantic-conventions-genai, docs/gen-ai/openai.md."""

_TOOL_RULES = ToolRules(
    name=re.compile(r"[A-Za-z0-9_-]+"),
    longest_name=64,  # source: the official SDK of Chat Completions, ``FunctionDefinition.name``
    longest_call_id=64,  # source: openclaw/openclaw#875
    has_custom_tools=True,
    has_namespaces=True,
    has_tool_search=True,
    allowed_modes=frozenset({"auto", "required", "hosted"}),
    server_families=frozenset({*HOSTED, "mcp"}),
    choice_covers_server_tools=True,
)


def _message_of_text(text: str) -> JsonObject:
    """Return the item for an input that is one text."""
    return {"role": "user", "content": text}


# Source: OpenAI, "Conversation state".
_STORED_ANSWERS = StoredAnswers(
    previous_field="previous_response_id",
    reference_type="item_reference",
    flag="store",
    statuses=("status", frozenset({"completed", "incomplete"})),
    item_of_text=_message_of_text,
    codes=("previous_response_not_found", "item_not_found"),
)

RESPONSES = FormatSpec(
    name="responses",
    title="OpenAI Responses",
    wire_module="formatbridge.formats.responses.wire",
    field_paths=FIELD_PATHS,
    endpoint=Endpoint(
        path="/v1/responses",
        base_url="https://api.openai.com",
        sdk=SdkFacts(
            path=re.compile(r".*/responses"),
            description="/responses",
            request_id_header="x-request-id",
            encode_error_event=encode_sdk_error,
        ),
    ),
    detection=DETECTION,
    reasoning_items={"include": ENCRYPTED_CONTENT},
    content_fields={"request": "input", "response": "output", "models": "data"},
    decode_request=decode_request,
    encode_request=encode_request,
    settings=SETTINGS,
    tool_rules=_TOOL_RULES,
    item_identity=ItemIdentity(
        call_ids=("call_id",),
        same_roles={"developer": "system"},
        default_types=frozenset({"message"}),
        type_variant=re.compile(r"(_preview)?(_\d{4}_\d{2}_\d{2})?$"),  # ``web_search_preview_2025_03_11``
        tool_names=("name", "server_label"),
    ),
    only_with_tools={"tool_choice": "tools", "parallel_tool_calls": "tools"},
    server_requests=SERVER_REQUESTS,
    stored_answers=_STORED_ANSWERS,
    decode_response=decode_response,
    encode_response=encode_response,
    finish_reasons=FINISH,
    choice_pointer="/output",
    holds_failures=True,
    failure_of=failure_of,
    mark_unfinished=mark_unfinished,
    stream_decoder=StreamDecoder,
    stream_encoder=StreamEncoder,
    fold_stream=fold_stream,
    unfold_stream=unfold_stream,
    response_path=response_path,
    recognizes_event=recognizes_event,
    recognizes_error=recognizes_error,
    frame_event=encode_event,
    names_events=True,
    event_text=event_text,
    decode_error=decode_error,
    encode_error=encode_error,
    decode_models=decode_models,
    encode_models=encode_models,
    batch=BATCH,
    count=COUNT,
    telemetry=_TELEMETRY,
)
