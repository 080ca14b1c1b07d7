"""Google Gemini ``generateContent``: contents with parts; the URL names the model and selects a stream.

Sources: the relay's specification, "POST /v1beta/models/{model}:generateContent"; the official SDK's types of 2026-11; recorded traffic.
The JSON is proto3 JSON (protobuf.dev/programming-guides/json). Keys are in camelCase or snake_case, enumeration values are names in any
case or numbers, and bytes are base64.
"""

from __future__ import annotations

import re

from formatbridge import ir
from formatbridge.formats.format import Endpoint, FormatSpec, ItemIdentity, ModelListing, SdkFacts, TelemetryFacts, ToolRules
from formatbridge.formats.generate_content.errors import decode_error, encode_error
from formatbridge.formats.generate_content.field_paths import FIELD_PATHS
from formatbridge.formats.generate_content.hosted_tools import HOSTED
from formatbridge.formats.generate_content.other_endpoints import BATCH, COUNT, MODEL_LIST_KEYS, decode_models, encode_models
from formatbridge.formats.generate_content.recognition import DETECTION, event_text, recognizes_error, recognizes_event
from formatbridge.formats.generate_content.request import decode_request, encode_request
from formatbridge.formats.generate_content.response import FINISH, decode_response, encode_response, failure_of, mark_unfinished
from formatbridge.formats.generate_content.server_requests import SERVER_REQUESTS
from formatbridge.formats.generate_content.settings import SETTINGS
from formatbridge.formats.generate_content.stream_decoder import StreamDecoder
from formatbridge.formats.generate_content.stream_encoder import StreamEncoder
from formatbridge.formats.generate_content.stream_fold import fold_stream, response_path, unfold_stream
from formatbridge.streaming.sse import encode_crlf_event

_TOOL_RULES = ToolRules(
    name=re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*"),
    longest_name=128,  # source: the official SDK, ``FunctionDeclaration.name``, as the pattern
    requires_unique_tool_names=True,
    allowed_modes=frozenset({"required"}),
    has_validated_mode=True,
    server_families=frozenset({*HOSTED, "image_generation", "mcp"}),
)


def _frame_event(data: bytes, name: str | None) -> bytes:
    """Encode one event. Events of this format have no names."""
    del name
    return encode_crlf_event(data)


GENERATE_CONTENT = FormatSpec(
    name="generate_content",
    title="Google Gemini generateContent",
    wire_module="formatbridge.formats.generate_content.wire",
    field_paths=FIELD_PATHS,
    endpoint=Endpoint(
        path="/v1beta/models/{model}:generateContent",
        stream_path="/v1beta/models/{model}:streamGenerateContent?alt=sse",
        base_url="https://generativelanguage.googleapis.com",
        key_header="x-goog-api-key",
        models=ModelListing(path="/v1beta/models", keys=MODEL_LIST_KEYS),
        sdk=SdkFacts(
            # A slash or a colon may not be escaped, so a model is all between the first collection and the last colon:
            # "accounts/x/models/y:8b".
            path=re.compile(r".*?/(?P<model>(?:models|tunedModels)/.+):(?:generateContent|(?P<stream>streamGenerateContent))"),
            description=":generateContent, :streamGenerateContent",
            header="x-goog-api-key",
            path_part="/v1beta/",
        ),
    ),
    detection=DETECTION,
    content_fields={"request": "contents", "response": "candidates", "models": "models"},
    decode_request=decode_request,
    encode_request=encode_request,
    settings=SETTINGS,
    tool_rules=_TOOL_RULES,
    # Results may have the role ``function``, and count as messages of the user.
    item_identity=ItemIdentity(content="parts", default_role="user", same_roles={"function": "user"}, tool_choice="toolConfig"),
    server_requests=SERVER_REQUESTS,
    smallest_budget=1,
    has_automatic_budget=True,  # -1
    url_fields=frozenset({"model", "stream"}),
    decode_response=decode_response,
    encode_response=encode_response,
    finish_reasons=FINISH,
    id_field="responseId",
    choice_pointer="/candidates/{}",
    failure_of=failure_of,
    mark_unfinished=mark_unfinished,
    stream_decoder=StreamDecoder,
    stream_encoder=StreamEncoder,
    fold_stream=fold_stream,
    unfold_stream=unfold_stream,
    response_path=response_path,
    recognizes_event=recognizes_event,
    recognizes_error=recognizes_error,
    frame_event=_frame_event,
    streamed_parts=(ir.Text, ir.Reasoning, ir.Refusal),
    citations_at_end=True,
    event_text=event_text,
    decode_error=decode_error,
    error_family="status",
    encode_error=encode_error,
    decode_models=decode_models,
    encode_models=encode_models,
    batch=BATCH,
    count=COUNT,
    telemetry=TelemetryFacts(provider="gcp.gen_ai", operation="generate_content"),  # the provider for an unknown backend of Google
)
