"""Requests, answers and errors as attributes of the GenAI semantic conventions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from formatbridge import formats, ir
from formatbridge.arguments import checked_model, checked_status, checked_stream, shown
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.evidence import find_candidates, read_object
from formatbridge.convert.input import Body, check_error, model_of, read_answer, read_checked, read_error_body
from formatbridge.errors import ConfigurationError
from formatbridge.formats.format import FormatSpec, Kind
from formatbridge.formats.target import FormatOrName, Target
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.telemetry.messages import finish_reason, input_messages, output_messages, system_instructions, tool_definitions

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
"""The schema of the attributes, for ``get_tracer(..., schema_url=...)``; source: its ``model/manifest.yaml``, 2026-11."""

_KINDS: tuple[Kind, ...] = ("request", "response", "error")

_PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Names of dialects to the names that the conventions define; any other dialect has the name of its provider."""

_SETTINGS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "max_tokens": "gen_ai.request.max_tokens",
    "stop": "gen_ai.request.stop_sequences",
    "seed": "gen_ai.request.seed",
}
_DOUBLES = frozenset({"temperature", "top_p", "frequency_penalty", "presence_penalty"})
"""Settings whose attribute is a floating-point number even if the request has an integer."""

_USAGE = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write": "gen_ai.usage.cache_write.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
_MODALITY_USAGE = {
    "input_modality": "gen_ai.usage.{}.input_tokens",
    "output_modality": "gen_ai.usage.{}.output_tokens",
    "cached_modality": "gen_ai.usage.{}.cache_read.input_tokens",
}
_MODALITIES = ("text", "image", "audio")
"""The modalities whose tokens have attributes."""


def genai_attributes(
    body: Body | Converted,
    *,
    source: FormatOrName | None = None,
    kind: Kind | None = None,
    model: str | None = None,
    stream: bool | None = None,
    status: int | None = None,
    provider: str | None = None,
    content: bool = False,
) -> dict[str, JsonValue]:
    """Return a request, a whole answer or an error as attributes of the OpenTelemetry GenAI semantic conventions.

    ``body``: a dict, JSON text, a typed model, or the result of a conversion, of ``collect_stream`` included. It is not modified.
    ``source``: its format; a ``Target`` with a dialect also names the provider. None: that of a typed model or of the converted body.
    ``kind``: ``request``, ``response`` or ``error``; None: that of a typed model or converted body, else it is detected.
    ``model``, ``stream``: the values that requests of generate_content have in their URL.
    ``status``: the HTTP status of an error.
    ``provider``: ``gen_ai.provider.name``; None: the server of the dialect, else the vendor of the format.
    ``content``: whether to include messages, instructions and tool definitions. The default is False because they contain what users
    and tools wrote; the conventions make them opt-in for that reason. They are lists of JSON values, not JSON text.

    Values that the body lacks have no attribute. Raises ``ConfigurationError`` for wrong arguments and ``InvalidPayloadError`` as
    ``convert_request`` and ``convert_response`` do.
    """
    document = _document(body, source, kind)
    facts = document.format.telemetry
    name = provider or document.provider or facts.provider or document.format.name
    attributes: dict[str, JsonValue] = {"gen_ai.operation.name": facts.operation, "gen_ai.provider.name": name}
    if facts.api_type is not None:
        attributes["openai.api.type"] = facts.api_type
    match document.kind:
        case "request":
            chosen_model, streams = checked_model(model or document.model), checked_stream(stream)
            attributes |= _request(document, chosen_model, document.stream if streams is None else streams, content=content)
        case "error":
            attributes |= _error(document, document.status if status is None else checked_status(status))
        case _:
            attributes |= _response(document, content=content)
    if name != "openai":  # the conventions: attributes of a provider belong to spans of that provider only
        attributes = {key: value for key, value in attributes.items() if not key.startswith("openai.")}
    return attributes


@dataclass(frozen=True, slots=True)
class _Document:
    """A body with its format and kind, and the values that its URL, status line or target has."""

    body: Any
    format: FormatSpec
    kind: Kind
    provider: str | None
    model: str | None = None
    stream: bool | None = None
    status: int | None = None


def _document(body: Body | Converted, source: FormatOrName | None, kind: Kind | None) -> _Document:
    if kind is not None and kind not in _KINDS:
        raise ConfigurationError(f"kind is {shown(kind)}, expected one of {', '.join(_KINDS)}")
    provider = _provider_of(source)
    if not isinstance(body, Converted):
        format, known_kind = _format_and_kind(body, source)
        return _Document(body, format, _kind_of(body, format, kind or known_kind), provider)
    spec = body.target_format
    if (source is not None and formats.load(source) is not spec) or kind not in (None, body.kind) or body.kind not in _KINDS:
        raise ConfigurationError(
            f"source= and kind= differ from the converted body, a {body.kind} of {body.target}: leave them out"
        )
    if isinstance(body, ConvertedRequest):
        return _Document(body.body, spec, body.kind, provider or _provider(body.dialect), body.model, body.stream)
    return _Document(body.body, spec, body.kind, provider, status=body.status if isinstance(body, ConvertedError) else None)


def _provider_of(source: FormatOrName | None) -> str | None:
    """Return the provider that the dialect of a target names; None if it has none."""
    if not isinstance(source, Target) or source.dialect is None:
        return None
    formats.load_for_requests(source)  # raises on an unknown dialect
    return _provider(source.dialect_name)


def _provider(dialect: str | None) -> str | None:
    return None if dialect is None else _PROVIDERS.get(dialect, dialect)


def _format_and_kind(body: Body, source: FormatOrName | None) -> tuple[FormatSpec, Kind | None]:
    """Return the format of a body that is no conversion's result, and its kind if it is a typed model."""
    format, kind = model_of(body) or (None, None)
    source = format if source is None else source
    if source is None:
        raise ConfigurationError(
            "source is missing: pass source=, which is optional only for a typed model and the result of a conversion"
        )
    return formats.load(source), kind


def _kind_of(body: Body, format: FormatSpec, kind: Kind | None) -> Kind:
    """Return the kind of a body; detect it if it is None."""
    if kind is None and not isinstance(body, BaseModel):
        try:
            value = read_object(body)
        except codec.NotJsonError:
            value = None
        candidates = find_candidates(value, (format,)) if isinstance(value, dict) else []
        kind = next((candidate.kind for candidate in candidates), None)
    if kind not in _KINDS:
        problem = "is missing, and the body does not show it" if kind is None else f"of the body is {kind}"
        raise ConfigurationError(f"kind {problem}: pass kind=, one of {', '.join(_KINDS)}")
    return kind


def _request(document: _Document, model: str | None, stream: bool | None, *, content: bool) -> dict[str, JsonValue]:
    spec = document.format
    losses, checked = read_checked(document.body, spec, "request")
    streams = bool(losses.body.get("stream")) if stream is None else stream
    request = spec.decode_request(checked, model=model or losses.body.get("model") or None, stream=streams)
    attributes = _settings(request)
    attributes |= _format_fields(checked, spec.telemetry.request_fields)
    if content:
        attributes |= {
            "gen_ai.system_instructions": system_instructions(request.messages),
            "gen_ai.input.messages": input_messages(request.messages),
            "gen_ai.tool.definitions": tool_definitions(request.tools),
        }
    return {name: value for name, value in attributes.items() if value not in (None, [], "")}


def _settings(request: ir.Request) -> dict[str, JsonValue]:
    """Return the attributes of a request without its content."""
    settings: dict[str, Any] = dict(request.settings)
    attributes: dict[str, JsonValue] = {"gen_ai.request.model": request.model, "gen_ai.request.stream": request.stream or None}
    for name, attribute in _SETTINGS.items():
        value = settings.get(name)
        attributes[attribute] = float(value) if value is not None and name in _DOUBLES else value
    top_k = settings.get("top_k")
    if top_k is not None and top_k == int(top_k):  # generate_content has a number, the attribute is an integer
        attributes["gen_ai.request.top_k"] = int(top_k)
    if settings.get("n", 1) != 1:
        attributes["gen_ai.request.choice.count"] = settings["n"]
    if request.reasoning is not None:
        attributes["gen_ai.request.reasoning.level"] = request.reasoning.effort
    attributes["gen_ai.output.type"] = _output_type(request, settings.get("modalities") or [])
    return attributes


def _output_type(request: ir.Request, modalities: list[str]) -> str | None:
    """Return the type of output that a request asks for; None if it has no such field."""
    if request.output_format is not None and request.output_format.type != "text":
        return "json"
    for modality, output_type in (("image", "image"), ("audio", "speech"), ("text", "text")):
        if modality in modalities:
            return output_type
    return "text" if request.output_format is not None else None


def _response(document: _Document, *, content: bool) -> dict[str, JsonValue]:
    spec = document.format
    _, checked, _ = read_answer(document.body, spec, "response")
    response = spec.decode_response(checked)
    attributes: dict[str, JsonValue] = {
        "gen_ai.response.id": response.id,
        "gen_ai.response.model": response.model,
        "gen_ai.response.finish_reasons": [finish_reason(choice) for choice in response.choices],
    }
    if response.usage is not None:
        attributes |= _usage(response.usage)
    attributes |= _format_fields(checked, spec.telemetry.response_fields)
    if response.error is not None:
        attributes["error.type"] = error_type(response.error)
    if content:
        attributes["gen_ai.output.messages"] = output_messages(response.choices)
    return {name: value for name, value in attributes.items() if value not in (None, [], "")}


def _usage(usage: ir.Usage) -> dict[str, JsonValue]:
    """Return the token counts. Canonical counts are inclusive, as those of the conventions."""
    attributes: dict[str, JsonValue] = {attribute: getattr(usage, name) for name, attribute in _USAGE.items()}
    for name, attribute in _MODALITY_USAGE.items():
        counts = getattr(usage, name) or {}
        attributes |= {attribute.format(modality): counts[modality] for modality in _MODALITIES if modality in counts}
    return attributes


def _format_fields(body: JsonObject, fields: Any) -> dict[str, JsonValue]:
    """Return the attributes of fields that only one format has; ``auto`` is the default of a service tier."""
    attributes: dict[str, JsonValue] = {}
    for path, attribute in fields.items():
        value: Any = body
        for key in path.split("/"):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str) and (attribute, value) != ("openai.request.service_tier", "auto"):
            attributes[attribute] = value
    return attributes


def _error(document: _Document, status: int | None) -> dict[str, JsonValue]:
    raw, _, _ = read_error_body(document.body, document.format.name, [])
    checked, _ = check_error(raw, document.format)
    return {"error.type": error_type(document.format.decode_error(checked, status=status))}


def error_type(error: ir.Error) -> str:
    """Return the error code of the server, else its type, else the canonical kind."""
    code = error.code if isinstance(error.code, str) else None
    return code or error.type or error.kind
