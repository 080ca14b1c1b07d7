"""Convert requests for token counts and their answers between the endpoints that count input tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Required, TypedDict, Unpack, cast, overload
from urllib.parse import quote

from formatbridge import formats, ir
from formatbridge.base_errors import MissingModelError
from formatbridge.convert.bodies import Converted, ConvertedRequest, ModelT_co, refuse_losses
from formatbridge.convert.input import Body, note_malformed, read_answer, read_count_request
from formatbridge.convert.patch import BodyChanges
from formatbridge.convert.requests import checked_options, encode_request_for, prepared_request, without_fields
from formatbridge.convert.same_format import same_request_for_server
from formatbridge.errors import ConfigurationError
from formatbridge.formats.format import CallerTool, CountSpec, FormatSpec
from formatbridge.formats.model_facts import ModelFacts, facts_of
from formatbridge.formats.shared.reasoning_tokens import Removed, without_foreign_tokens
from formatbridge.formats.target import FormatOrName, Target, ToGenerateContent, ToMessages, ToResponses
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options, options_of
from formatbridge.report.field_paths import is_empty
from formatbridge.report.ledger import Ledger
from formatbridge.report.loss_rules import rule_of_setting

if TYPE_CHECKING:
    from formatbridge.formats import typed_models as wires

_NOT_COUNTED = "not_counted"


class ConvertedCountRequest(ConvertedRequest[ModelT_co]):
    """A request to count tokens in the target format, with its URL path."""

    __slots__ = ()

    def __init__(
        self,
        body: JsonObject,
        ledger: Ledger,
        formats: tuple[FormatSpec, FormatSpec],
        model: str,
        tools: dict[str, CallerTool],
        dialect: str | None,
    ) -> None:
        super().__init__(body, ledger, formats, model, False, tools, dialect)
        if self.target_format.count is not None:  # else it is a whole request, for an estimate
            self.kind = "count_request"

    @property
    def path(self) -> str:
        """URL path on the relay, such as ``/v1/messages/count_tokens``."""
        count = self.target_format.count
        path = super().path if count is None else count.path
        return path.replace("{model}", quote(self.model.removeprefix("models/"), safe=""))


class CountRequestArguments(TypedDict, total=False):
    """The arguments of ``convert_count_request`` besides the body and the target."""

    source: Required[FormatOrName]
    model: str | None
    options: Options | None


@overload
def convert_count_request(
    body: Body, *, target: ToMessages, **arguments: Unpack[CountRequestArguments]
) -> ConvertedRequest[wires.messages.CountRequest]: ...


@overload
def convert_count_request(
    body: Body, *, target: ToResponses, **arguments: Unpack[CountRequestArguments]
) -> ConvertedRequest[wires.responses.CountRequest]: ...


@overload
def convert_count_request(
    body: Body, *, target: ToGenerateContent, **arguments: Unpack[CountRequestArguments]
) -> ConvertedRequest[wires.generate_content.CountRequest]: ...


@overload
def convert_count_request(body: Body, *, target: FormatOrName, **arguments: Unpack[CountRequestArguments]) -> ConvertedRequest: ...


def convert_count_request(
    body: Body, *, source: FormatOrName, target: FormatOrName, model: str | None = None, options: Options | None = None
) -> ConvertedRequest:
    """Convert a request to count input tokens.

    ``body``: a body of the source's endpoint for token counts, or a whole request; a dict, JSON text or a typed model. A chat_completions
    request can be the source too. ``model``: the model that generate_content has in its URL; for other sources it overrides the body.
    Fields that do not change the count, such as limits and sampling settings, are dropped and reported as ``not_counted``.

    Raises ``ConfigurationError`` for a target without such an endpoint, such as chat_completions, and otherwise the same as
    ``convert_request``.
    """
    count_of(formats.load(target))
    return request_to_count(body, source, target, model, options)


def request_to_count(
    body: Any, source: FormatOrName, target: FormatOrName, model: str | None, options: Options | None
) -> ConvertedRequest:
    """Convert a request to count tokens. For a target without such an endpoint, return the whole request, for an estimate."""
    options = checked_options(options, model)
    source_format, target_format = formats.load_both(source, target)
    losses, raw, checked, key = read_count_request(body, source_format)
    model = model or raw.get("model") or losses.body.get("model") or ""
    if not model and target_format.url_fields:
        raise MissingModelError(f"{target_format.name} needs a model: pass model=")
    # The three endpoints take ``{"model": ..., "messages": [...]}`` (messages), ``{"model": ..., "input": [...]}`` (responses), and
    # ``{"contents": [...]}`` or ``{"generateContentRequest": {...}}`` (generate_content).
    facts, dialect = (facts_of(target.model, model), target.dialect_name) if isinstance(target, Target) else (None, None)
    server = _Server(formats.load_for_requests(target, facts), facts)
    tools: dict[str, CallerTool] = {}
    if source_format is target_format:
        kept, removed = without_foreign_tokens(raw, checked, source_format, body, losses, options.token_key)
        if source_format.count is not None and source_format.count.request_field is None:
            kept = _counted_fields(kept, source_format.count, losses)
        if server.has_rules:
            kept, tools = _for_server(kept, key, source_format, server, losses, options, removed)
        result = _same_request(kept, key, server.format, model, losses)
    else:
        request = _decode(checked, source_format, model, losses)
        request = prepared_request(request, source_format, losses, options)
        model = request.model or ""
        result, tools = _encode(request, server, model, losses, options)
    refuse_losses(losses, options)
    return ConvertedCountRequest(result, losses, (source_format, target_format), model, tools, dialect)


class _Server(NamedTuple):
    """The server that receives a request: its format, with the rules of its dialect, and facts about the model."""

    format: FormatSpec
    facts: ModelFacts | None

    @property
    def has_rules(self) -> bool:
        """Whether it may reject something that the format has."""
        return self.format.dialect is not None or self.facts is not None


def _for_server(
    raw: JsonObject, key: str, format: FormatSpec, server: _Server, losses: Ledger, options: Options, removed: Removed
) -> tuple[JsonObject, dict[str, CallerTool]]:
    """Return a request of the format itself as one server accepts it. ``key``: the field of the body that contains the request.

    ``removed``: the items of the caller's request that ``raw`` does not have any more.
    """
    pointer = f"/{escape(key)}" if key else ""
    noted = Ledger(raw, format.field_paths)
    result, tools = same_request_for_server(raw, format, server.format, noted, options, server.facts, removed)
    losses.include(replace(loss, path=pointer + loss.path) for loss in noted.losses)
    for addition in noted.additions(result):
        losses.added(pointer + addition.path, addition.value, addition.why)
    return result, tools


def _same_request(raw: JsonObject, key: str, format: FormatSpec, model: str, losses: Ledger) -> JsonObject:
    """Return the count request for a request of the same format. ``key``: the field of the body that contains the request."""
    count = format.count
    if count is None:
        return raw
    if not _reads_whole_requests(format):
        return _top_fields(raw, count, format, losses)
    if key:
        return {**losses.body, key: raw}
    if model and not format.url_fields:
        raw = {**raw, "model": model}
    return _as_count(raw, count, model, losses)


def _as_count(body: JsonObject, count: CountSpec, model: str, losses: Ledger) -> JsonObject:
    """Wrap a request as a count request. Remove the additions that it does not contain."""
    # The request of Gemini may move into ``generateContentRequest``, and its additions with it.
    encode = count.encode_request
    result = encode(body, model) if encode is not None else without_fields(body, count.uncounted)
    if count.request_field in result:
        losses.translate_additions(lambda pointer: f"/{count.request_field}{pointer}")
    losses.withdraw(result)
    return result


def _decode(checked: JsonObject, format: FormatSpec, model: str, losses: Ledger) -> ir.Request:
    """Decode a request without its uncounted fields."""
    if format.count is not None:
        checked = _counted_fields(checked, format.count, losses)
    return format.decode_request(checked, model=model or None, stream=None)


def _encode(
    request: ir.Request, server: _Server, model: str, losses: Ledger, options: Options
) -> tuple[JsonObject, dict[str, CallerTool]]:
    """Encode the counted part of a request; also return the original tools, as ``encode_request_for`` does."""
    count = server.format.count
    request = _without_uncounted(request, count, losses)
    reads_all = _reads_whole_requests(server.format)
    if request.tool_choice is not None and not reads_all:
        losses.dropped(request.tool_choice, code=_NOT_COUNTED)
        request = replace(request, tool_choice=None)
    body, tools = encode_request_for(request, server.format, losses, options, server.facts)
    if count is None:
        return body, tools
    body = _without_needless_additions(body, count, losses)
    if server.format.dialect is not None:
        body = server.format.server_requests.with_missing_messages(body, server.format.dialect, losses)
    if reads_all:
        return _as_count(body, count, model, losses), tools
    result = {name: value for name, value in body.items() if name in count.top_fields}
    losses.withdraw(result)
    return result, tools


def _without_needless_additions(body: JsonObject, count: CountSpec, losses: Ledger) -> JsonObject:
    """Return an encoded request without what was added only for its answer."""
    changes = BodyChanges(body)
    changes.remove(addition.path for addition in losses.additions(body) if addition.path in count.needless_additions)
    result = changes.apply(body)
    losses.withdraw(result)
    return result


def _reads_whole_requests(format: FormatSpec) -> bool:
    """Return whether a server reads a whole request in a request for a token count."""
    return format.dialect is None or format.dialect.accepts_whole_count_requests


def _top_fields(raw: JsonObject, count: CountSpec, format: FormatSpec, losses: Ledger) -> JsonObject:
    """Return the fields of a request that a server counts at the top of the body; note the others."""
    names = {key for field in count.top_fields for key in format.keys_of(field)}
    for name, value in raw.items():
        if name not in names and name not in ("model", "stream") and not is_empty(value):
            losses.dropped_at(f"/{escape(name)}", _NOT_COUNTED)
    return {name: value for name, value in raw.items() if name in names}


def _without_uncounted(request: ir.Request, count: CountSpec | None, losses: Ledger) -> ir.Request:
    """Return a request without the settings, and the forms of the answer, that do not change the count."""
    kept = count.settings if count is not None else frozenset()
    settings: dict[str, Any] = {}
    for name, value in request.settings.items():
        if name in kept:
            settings[name] = value
        elif value is None or not rule_of_setting(name).is_neutral(value):
            losses.dropped(request, name, _NOT_COUNTED)
    for node in (request.audio, request.image):
        losses.dropped(node, code=_NOT_COUNTED)
    if request.stream:
        losses.dropped(request, "stream", _NOT_COUNTED)
    messages = [
        replace(message, tools=_without_limits(message.tools, losses)) if message.tools else message for message in request.messages
    ]
    return replace(
        request,
        messages=messages,
        tools=_without_limits(request.tools, losses),
        settings=cast("ir.Settings", settings),
        audio=None,
        image=None,
        stream=False,
    )


def _without_limits(tools: list[ir.Tool], losses: Ledger) -> list[ir.Tool]:
    """Return tools without the number of their uses, because a count uses none."""
    result = list(tools)
    for index, tool in enumerate(tools):
        if isinstance(tool, ir.HostedTool) and tool.max_uses is not None:
            losses.dropped(tool, "max_uses", _NOT_COUNTED)
            result[index] = replace(tool, max_uses=None)
    return result


def _counted_fields(raw: JsonObject, count: CountSpec, losses: Ledger) -> JsonObject:
    """Return a request without the fields that do not change the count, and note these."""
    for name in raw:
        if name in count.uncounted and not is_empty(raw[name]):
            losses.dropped_at(f"/{escape(name)}", _NOT_COUNTED)
    return without_fields(raw, count.uncounted)


class CountResponseArguments(TypedDict, total=False):
    """The arguments of ``convert_count_response`` besides the body and the target."""

    source: Required[FormatOrName]
    options: Options | None


@overload
def convert_count_response(
    body: Body, *, target: ToMessages, **arguments: Unpack[CountResponseArguments]
) -> Converted[wires.messages.CountResponse]: ...


@overload
def convert_count_response(
    body: Body, *, target: ToResponses, **arguments: Unpack[CountResponseArguments]
) -> Converted[wires.responses.CountResponse]: ...


@overload
def convert_count_response(
    body: Body, *, target: ToGenerateContent, **arguments: Unpack[CountResponseArguments]
) -> Converted[wires.generate_content.CountResponse]: ...


@overload
def convert_count_response(body: Body, *, target: FormatOrName, **arguments: Unpack[CountResponseArguments]) -> Converted: ...


def convert_count_response(body: Body, *, source: FormatOrName, target: FormatOrName, options: Options | None = None) -> Converted:
    """Convert the answer of an endpoint that counts tokens.

    Other counts, such as ``cachedContentTokenCount``, have no place in another format and are reported. Raises ``InvalidPayloadError`` for
    a body without the count, and ``ConfigurationError`` for a format without such an endpoint.
    """
    options = options_of(options)
    source_format, target_format = formats.load_both(source, target)
    source_count, target_count = count_of(source_format), count_of(target_format)
    losses, checked, repaired = read_answer(body, source_format, "count_response")
    if source_format is target_format:
        result = losses.body
    else:
        note_malformed(losses, repaired)
        result = target_count.encode_response(source_count.decode_response(checked), losses)
    refuse_losses(losses, options)
    return Converted(result, losses, source_format, target_format, "count_response")


def count_of(format: FormatSpec) -> CountSpec:
    """Return the endpoint of a format for token counts; raise ``ConfigurationError`` if it has none."""
    if format.count is None:
        counting = [name for name in formats.FORMATS if formats.load(name).count is not None]
        raise ConfigurationError(f"{format.name} has no endpoint that counts tokens: use one of {', '.join(counting)}")
    return format.count
