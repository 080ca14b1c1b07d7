"""OpenAI Chat Completions: a list of messages with roles, which most compatible servers accept.

Sources: the relay's specification, "POST /v1/chat/completions"; the official SDK's types of 2026-11; recorded traffic of compatible
servers. Reasoning and images in responses are in no official type, but they are decoded and encoded.

Only this package has ``stream_reasoning``, because only in this format reasoning comes in three fields that repeat one another.
``reasoning_control`` is here alone, because its servers have different fields for the settings of reasoning.
"""

from __future__ import annotations

import re

from formatbridge.formats.chat_completions.errors import decode_error, encode_error
from formatbridge.formats.chat_completions.field_paths import FIELD_PATHS
from formatbridge.formats.chat_completions.other_endpoints import BATCH, decode_models, encode_models
from formatbridge.formats.chat_completions.recognition import DETECTION, event_text, recognizes_error, recognizes_event
from formatbridge.formats.chat_completions.request import decode_request, encode_request
from formatbridge.formats.chat_completions.response import FINISH, decode_response, encode_response, failure_of, mark_unfinished
from formatbridge.formats.chat_completions.server_requests import SERVER_REQUESTS
from formatbridge.formats.chat_completions.settings import SETTINGS
from formatbridge.formats.chat_completions.stream_decoder import StreamDecoder
from formatbridge.formats.chat_completions.stream_encoder import StreamEncoder
from formatbridge.formats.chat_completions.stream_fold import fold_stream, response_path, unfold_stream
from formatbridge.formats.format import Endpoint, FormatSpec, ItemIdentity, ModelListing, SdkFacts, TelemetryFacts, ToolRules
from formatbridge.streaming.sse import encode_event

_TELEMETRY = TelemetryFacts(
    provider="openai",
    api_type="chat_completions",
    request_fields={"service_tier": "openai.request.service_tier"},
    response_fields={"service_tier": "openai.response.service_tier", "system_fingerprint": "openai.response.system_fingerprint"},
)
"""Source: open-telemetry/semantic-conventions-genai, docs/gen-ai/openai.md."""

_TOOL_RULES = ToolRules(
    name=re.compile(r"[A-Za-z0-9_-]+"),
    longest_name=64,  # source: the official SDK, ``FunctionDefinition.name``
    longest_call_id=40,  # compatible servers reject longer ids (agno-agi/agno#5382); OpenAI's now accepts them (vercel/ai#17233)
    has_custom_tools=True,
    allowed_modes=frozenset({"auto", "required"}),
    server_families=frozenset({"web_search"}),
)


CHAT_COMPLETIONS = FormatSpec(
    name="chat_completions",
    title="OpenAI Chat Completions",
    wire_module="formatbridge.formats.chat_completions.wire",
    field_paths=FIELD_PATHS,
    endpoint=Endpoint(
        path="/v1/chat/completions",
        base_url="https://api.openai.com",
        models=ModelListing(label=("object", "model")),
        sdk=SdkFacts(path=re.compile(r".*/chat/completions"), description="/chat/completions", request_id_header="x-request-id"),
    ),
    detection=DETECTION,
    content_fields={"request": "messages", "response": "choices", "models": "data"},
    decode_request=decode_request,
    encode_request=encode_request,
    settings=SETTINGS,
    tool_rules=_TOOL_RULES,
    item_identity=ItemIdentity(
        text_type="text",
        call_ids=("tool_call_id",),
        same_roles={"developer": "system", "function": "tool"},
        tool_lists=frozenset({"tools", "functions"}),
        tool_names=("function/name", "custom/name", "name"),
    ),
    only_with_tools={"tool_choice": "tools", "parallel_tool_calls": "tools", "function_call": "functions"},
    equivalent_fields=(frozenset({"max_tokens", "max_completion_tokens"}), frozenset({"seed", "random_seed"})),
    server_requests=SERVER_REQUESTS,
    decode_response=decode_response,
    encode_response=encode_response,
    finish_reasons=FINISH,
    choice_pointer="/choices/{}",
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
    end_of_stream=b"data: [DONE]\n\n",
    citations_at_end=True,
    event_text=event_text,
    decode_error=decode_error,
    encode_error=encode_error,
    decode_models=decode_models,
    encode_models=encode_models,
    batch=BATCH,
    telemetry=_TELEMETRY,
)
