"""Anthropic Messages: turns with blocks of content, which alternate between the user and the model.

Sources: the relay's specification, "POST /v1/messages"; the stable and beta types of Anthropic's SDK of 2026-11; recorded traffic.
Both dated dialects have one decoder. That of 2023-06-01 has sampling parameters, the newer one has none.
Only this package has ``beta_headers.py``: Anthropic's server requires headers for some fields of a body.
"""

from __future__ import annotations

import re

from formatbridge.formats.format import Endpoint, FormatSpec, ItemIdentity, ModelListing, SdkFacts, TelemetryFacts, ToolRules
from formatbridge.formats.messages.beta_headers import with_betas
from formatbridge.formats.messages.errors import decode_error, encode_error, encode_rejection
from formatbridge.formats.messages.field_paths import FIELD_PATHS
from formatbridge.formats.messages.hosted_tools import SERVER_NAMES
from formatbridge.formats.messages.other_endpoints import BATCH, COUNT, decode_models, encode_models
from formatbridge.formats.messages.reasoning import SMALLEST_BUDGET
from formatbridge.formats.messages.recognition import DETECTION, event_text, recognizes_error, recognizes_event
from formatbridge.formats.messages.request import decode_request, encode_request, repair_history
from formatbridge.formats.messages.response import FINISH, decode_response, encode_response, failure_of, mark_unfinished
from formatbridge.formats.messages.server_requests import SERVER_REQUESTS
from formatbridge.formats.messages.settings import SETTINGS
from formatbridge.formats.messages.stream_decoder import StreamDecoder
from formatbridge.formats.messages.stream_encoder import StreamEncoder
from formatbridge.formats.messages.stream_fold import fold_stream, response_path, unfold_stream
from formatbridge.formats.shared.tool_selection import forces_call
from formatbridge.streaming.sse import encode_event

_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""Tool names and call ids. Source: the server's message "String should match pattern '^[a-zA-Z0-9_-]+$'" (maximhq/bifrost#5097)."""
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Source: the server's message "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'" (ComposioHQ/composio#3500)."""
_TOOL_RULES = ToolRules(
    name=_NAME,
    longest_name=128,
    call_id=_NAME,
    requires_unique_tool_names=True,
    requires_unique_call_ids=True,
    server_families=frozenset({*SERVER_NAMES, "mcp"}),
    choice_covers_server_tools=True,
    server_names=SERVER_NAMES,
    property_name=_PROPERTY_NAME,
)


MESSAGES = FormatSpec(
    name="messages",
    title="Anthropic Messages",
    wire_module="formatbridge.formats.messages.wire",
    field_paths=FIELD_PATHS,
    endpoint=Endpoint(
        path="/v1/messages",
        base_url="https://api.anthropic.com",
        key_header="x-api-key",
        version_header="anthropic-version",
        add_headers=with_betas,
        models=ModelListing(label=("type", "model")),
        sdk=SdkFacts(
            path=re.compile(r".*/v1/messages"),
            description="/v1/messages",
            header="anthropic-version",
            request_id_header="request-id",
        ),
    ),
    detection=DETECTION,
    content_fields={"request": "messages", "response": "content", "models": "data"},
    decode_request=decode_request,
    encode_request=encode_request,
    settings=SETTINGS,
    tool_rules=_TOOL_RULES,
    item_identity=ItemIdentity(
        text_type="text",
        call_ids=("tool_use_id",),
        default_types=frozenset({"custom"}),
        type_variant=re.compile(r"(_bm25|_regex)?(_\d{8})?$"),  # ``web_search_20260318``, ``tool_search_tool_bm25``
    ),
    only_with_tools={"tool_choice": "tools"},
    setting_objects=frozenset({"output_config"}),
    server_requests=SERVER_REQUESTS,
    smallest_budget=SMALLEST_BUDGET,
    excludes_reasoning=forces_call,
    required_settings=frozenset({"max_tokens"}),
    repair_history=repair_history,
    billing_header="x-anthropic-billing-header:",  # of Claude Code; source: vllm and CLIProxyAPI, which remove it
    encode_rejection=encode_rejection,
    decode_response=decode_response,
    encode_response=encode_response,
    finish_reasons=FINISH,
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
    error_family="messages",
    encode_error=encode_error,
    decode_models=decode_models,
    encode_models=encode_models,
    batch=BATCH,
    count=COUNT,
    telemetry=TelemetryFacts(provider="anthropic"),
)
