"""Write the body of a request: encode a canonical request, or keep a body that is in the format of the target."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.arguments import checked_model, checked_stream
from formatbridge.formats.format import CallerTool, FormatSpec
from formatbridge.formats.model_facts import ModelFacts
from formatbridge.formats.shared.model_rules import adapt_to_model, options_for_model
from formatbridge.formats.shared.reasoning_tokens import check_request_tokens
from formatbridge.formats.shared.server_bodies import rename_for_server
from formatbridge.formats.shared.server_rules import adapt_to_server
from formatbridge.formats.shared.tools import adapt_tools
from formatbridge.formats.shared.turns import without_billing_header
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import DEFAULT_OPTIONS, Options, options_of
from formatbridge.report.ledger import Ledger


def checked_options(options: Options | None, model: str | None, stream: bool | None = None) -> Options:
    """Check the optional arguments of the conversion of a request, and return the options to use."""
    if model is not None:
        checked_model(model)
    if stream is not None:
        checked_stream(stream)
    return DEFAULT_OPTIONS if options is None else options_of(options)


def prepared_request(request: ir.Request, source_format: FormatSpec, losses: Ledger, options: Options) -> ir.Request:
    """Return a request without what the options remove: tokens without a valid seal, and the billing header.

    It also notes whether the messages have calls, results or tools.
    """
    has_calls = has_added_tools = False
    for message in request.messages:
        if message.tools:
            has_added_tools = True
        for part in () if has_calls else message.parts:
            kind = type(part)
            if kind is ir.ToolCall or kind is ir.ToolResult:
                has_calls = True
                break
    request.has_calls, request.has_added_tools = has_calls, has_added_tools
    if options.token_key is not None:
        request = check_request_tokens(request, options.token_key, losses)
    if options.strip_billing_header and source_format.billing_header:
        request = without_billing_header(request, source_format.billing_header, losses)
    return request


def encode_request_for(
    request: ir.Request, target_format: FormatSpec, losses: Ledger, options: Options, facts: ModelFacts | None = None
) -> tuple[JsonObject, dict[str, CallerTool]]:
    """Encode a canonical request with its tools adapted to the target; also return the original tools, to restore their names later.

    ``facts``: what the model accepts; None: unknown.
    """
    # ``adapt_tools`` comes after the steps that remove tools or change them to another kind, because it names those that remain.
    if facts is not None:
        request = adapt_to_model(request, facts, target_format, losses)
        options = options_for_model(request, facts, target_format, options)
    if target_format.dialect is not None:
        request = adapt_to_server(request, target_format, losses)
    if request.format == target_format.name:
        request = _with_unchanged_items(request)
    tools: dict[str, CallerTool] = {}
    if request.tools or request.has_calls or request.has_added_tools or request.tool_choice is not None:
        request, tools = adapt_tools(request, target_format.tool_rules, losses)
    body = target_format.encode_request(request, losses, options)
    if target_format.dialect is not None:
        body = rename_for_server(body, request, target_format, losses)
    return body, tools


def _with_unchanged_items(request: ir.Request) -> ir.Request:
    """Return a request with calls of server tools and their results as opaque parts, which the encoder of their format writes unchanged."""
    messages = [
        replace(message, parts=[_unchanged(part, request.format) for part in message.parts])
        if any(type(part) is ir.Hosted for part in message.parts)
        else message
        for message in request.messages
    ]
    return replace(request, messages=messages)


def _unchanged(part: ir.Part, format: ir.FormatName) -> ir.Part:
    if not isinstance(part, ir.Hosted) or part.raw is None:
        return part
    return ir.Opaque(format=format, raw=part.raw, label=part.family, severity="impossible", code="server_history", src=part.src)


def same_request(raw: JsonObject, format: FormatSpec, model: str, stream: bool) -> JsonObject:
    """Return a request unchanged, except for a model or stream flag that the caller overrides.

    For a format with these values in the URL, keys are overridden only if the body has them. Turning the stream off also removes
    ``stream_options``, because the vendors reject it together with ``stream: false``.
    """
    # A missing ``stream`` means false, so that false is no override of it: the body stays as it is.
    overrides = {"model": model, "stream": stream}
    if format.url_fields:
        overrides = {key: value for key, value in overrides.items() if key in raw}
    body = raw | {key: value for key, value in overrides.items() if value != (raw.get(key) or type(value)())}
    if raw.get("stream") and not stream:  # OpenAI's error names both fields (BerriAI/litellm#5803)
        body.pop("stream_options", None)
    return body


def without_fields(body: JsonObject, fields: frozenset[str]) -> JsonObject:
    """Return a body without some of its fields."""
    return {key: value for key, value in body.items() if key not in fields}
