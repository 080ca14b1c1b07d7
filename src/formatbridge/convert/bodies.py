"""Convert whole bodies between formats: parse, validate, decode, encode, and report losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Required, TypedDict, Unpack, cast, overload
from urllib.parse import quote

from pydantic import BaseModel, ValidationError
from typing_extensions import TypeVar

from formatbridge import formats, ir
from formatbridge.arguments import checked_status, type_name
from formatbridge.base_errors import MissingModelError
from formatbridge.convert.input import (
    Body,
    check_error,
    is_error_response,
    note_malformed,
    read_answer,
    read_checked,
    read_error_body,
    source_of,
    wire_model,
)
from formatbridge.convert.origins import Origins
from formatbridge.convert.patch import Patch
from formatbridge.convert.requests import checked_options, encode_request_for, prepared_request, same_request
from formatbridge.convert.same_format import same_request_for_server
from formatbridge.errors import ConfigurationError, InvalidPayloadError, LossyConversionError
from formatbridge.formats.format import CallerTool, Context, FormatSpec, Kind
from formatbridge.formats.model_facts import facts_of
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import check_response_tokens, without_foreign_tokens
from formatbridge.formats.shared.tool_call_ids import with_unique_call_ids
from formatbridge.formats.shared.tools import changes_tools, restore_tool_names
from formatbridge.formats.target import FormatOrName, Target, ToChatCompletions, ToGenerateContent, ToMessages, ToResponses
from formatbridge.jsontext import codec
from formatbridge.jsontext.codec import Replacement
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.options import Options, options_of, without_raise_on
from formatbridge.report.ledger import Ledger, null_ledger
from formatbridge.report.losses import Addition, Loss, severe_losses
from formatbridge.report.summary import Losses, short_summary
from formatbridge.validation.error_messages import problems_of

if TYPE_CHECKING:
    from formatbridge.formats import typed_models as wires

ModelT_co = TypeVar("ModelT_co", bound=BaseModel, default=BaseModel, covariant=True)
"""The typed model of a body."""


class Converted(Generic[ModelT_co]):
    """A body in the target format, with the report of its conversion.

    ``body`` contains only JSON values. Nested values may be shared with other objects, so change a copy. The report, with the search for
    repeated keys in JSON text, is computed when it is first read. With ``Options(raise_on=...)`` it is computed at once.
    """

    __slots__ = ("_ledger", "_losses", "body", "kind", "source_format", "target_format")

    def __init__(self, body: JsonObject, ledger: Ledger, source_format: FormatSpec, target_format: FormatSpec, kind: Kind) -> None:
        self.body = body
        """The payload in the target format."""
        self.source_format = source_format
        """The format that was converted."""
        self.target_format = target_format
        """The format of the body."""
        self.kind: Kind = kind
        """``request``, ``response``, ``error`` or ``models``."""
        self._ledger = ledger
        self._losses: tuple[Loss, ...] | None = None

    @property
    def source(self) -> ir.FormatName:
        """The name of the format that was converted."""
        return self.source_format.name

    @property
    def target(self) -> ir.FormatName:
        """The name of the format of the body."""
        return self.target_format.name

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Values that the target format cannot represent, or only with changes."""
        if self._losses is None:
            self._losses = Losses(losses_of(self._ledger))
        return self._losses

    @property
    def additions(self) -> tuple[Addition, ...]:
        """Values that the target requires and the source lacks."""
        return self._ledger.additions(self.body)

    @property
    def source_body(self) -> JsonValue:
        """The body that was converted; None if it is not kept. It is shared, not copied. Resolves the report of a stream."""
        return self._ledger.source_body()

    def json(self) -> bytes:
        """Write the body as JSON in UTF-8, without spaces."""
        return codec.dumps(self.body, self._ledger.text)

    def parse(self) -> ModelT_co:
        """Return the body as the target's typed model; raise ``InvalidPayloadError`` if it is not valid."""
        model = wire_model(self.target_format, self.kind)
        try:
            return cast(ModelT_co, model.model_validate(self.body))
        except ValidationError:
            raise InvalidPayloadError(self.target, self.kind, problems_of(model, self.body)) from None

    def to_dict(self) -> JsonObject:
        """Return the body and its report as a dict, ready for JSON. The body is shared, not copied."""
        return {
            "kind": self.kind,
            "source": self.source,
            "target": self.target,
            "body": self.body,
            "losses": [loss.to_dict() for loss in self.losses],
            "additions": [addition.to_dict() for addition in self.additions],
        }

    def __repr__(self) -> str:
        """Show the direction and the summary of the report, not the payload. An unread report is not resolved: debuggers call this."""
        report = "report not computed yet"
        if self._losses is not None:
            added = len(self.additions)
            summary = ascii(short_summary(self._losses))[1:-1]  # keys of a body may have control characters
            report = f"{summary}, {added} {'addition' if added == 1 else 'additions'}"
        return f"<{type(self).__name__} {self.kind} {self.source} -> {self.target}, {report}>"

    def _repr_html_(self) -> str:
        """Return source and target for a notebook, side by side, with the losses and additions marked. Resolves the report."""
        from formatbridge.report import comparison, html

        return html.view(comparison.of_conversion(f"{type(self).__name__}: {self.source} → {self.target}", self))


class ConvertedRequest(Converted[ModelT_co]):
    """A request in the target format, with its URL path."""

    __slots__ = ("_replaced_fields", "_tools", "dialect", "model", "stream")

    def __init__(
        self,
        body: JsonObject,
        ledger: Ledger,
        formats: tuple[FormatSpec, FormatSpec],
        model: str,
        stream: bool,
        tools: dict[str, CallerTool],
        dialect: str | None = None,
    ) -> None:
        # The attributes of the base class are set here: most small bodies are requests, for which a call counts.
        self.body = body
        """The payload in the target format."""
        self.source_format, self.target_format = formats
        self.kind = "request"
        """Always ``request``."""
        self._ledger = ledger
        self._losses = None
        self.model = model
        """The model as the body or the path names it; empty where nothing does."""
        self.stream = stream
        """Whether the answer is to be a stream."""
        self.dialect = dialect
        """The name of the dialect for which the request is written; None: any server of the format."""
        self._tools = tools
        self._replaced_fields: JsonObject = {}

    @property
    def context(self) -> Context:
        """The data of the request that ``convert_response`` needs to restore tool names and echoed fields."""
        body = {**self._ledger.body, **self._replaced_fields} if self._replaced_fields else self._ledger.body
        return Context(self.source, body, self._tools, self.source_format is self.target_format)

    def note(self, loss: Loss) -> None:
        """Add a loss to the report that did not occur in the conversion itself."""
        self._losses = Losses((*self.losses, loss))

    def note_replaced(self, fields: JsonObject) -> None:
        """Note fields of the caller that were replaced in the body before its conversion. An answer that repeats the request has them."""
        self._replaced_fields = fields

    def to_dict(self) -> JsonObject:
        """Return the body, its report and the parts of the URL as a dict, ready for JSON. The body is shared, not copied."""
        return super().to_dict() | {"model": self.model, "stream": self.stream, "path": self.path}

    @property
    def path(self) -> str:
        """URL path and query on the relay, such as ``/v1beta/models/m:streamGenerateContent?alt=sse``."""
        endpoint = self.target_format.endpoint
        path = (endpoint.stream_path if self.stream else None) or endpoint.path
        return path.replace("{model}", quote(self.model.removeprefix("models/"), safe="")) if "{model}" in path else path


class ConvertedError(Converted[ModelT_co]):
    """An error body in the target format, and the HTTP status that belongs to it."""

    __slots__ = ("status",)

    def __init__(self, body: JsonObject, ledger: Ledger, source_format: FormatSpec, target_format: FormatSpec, status: int) -> None:
        super().__init__(body, ledger, source_format, target_format, "error")
        self.status = status
        """The HTTP status."""

    def to_dict(self) -> JsonObject:
        """Return the body, its report and the HTTP status as a dict, ready for JSON. The body is shared, not copied."""
        return super().to_dict() | {"status": self.status}


def losses_of(ledger: Ledger) -> tuple[Loss, ...]:
    """Return the losses that encoders noted, and those of repeated keys in the source text."""
    return ledger.losses if ledger.text is None else (*ledger.losses, *repeated_key_losses(ledger.text))


def repeated_key_losses(text: bytes | bytearray | str) -> list[Loss]:
    """Return a loss for each value that a repeated key overrides."""
    return [Loss.of(pointer, "dropped", "lossy", "duplicate_keys", before) for pointer, before in codec.repeated_keys(text)]


def checked_request(
    request: ConvertedRequest | None, source_format: FormatSpec, target_format: FormatSpec
) -> ConvertedRequest | None:
    """Check the request that belongs to an answer from ``source_format`` to ``target_format``, and return it.

    Raises ``ConfigurationError`` for another type, and for a request that was converted between other formats.
    """
    if request is None:
        return None
    if not isinstance(request, ConvertedRequest):
        raise ConfigurationError(f"request is {type_name(request)}, expected what convert_request returned")
    if request.target_format is not source_format or request.source_format is not target_format:
        expected = f"a request from {target_format.name} to {source_format.name}"
        raise ConfigurationError(f"request was converted from {request.source} to {request.target}, expected {expected}")
    return request


def refuse_losses(losses: Ledger, options: Options) -> None:
    """Raise ``LossyConversionError`` if a loss has the severity of ``options.raise_on`` or a higher one."""
    if options.raise_on is not None and (severe := severe_losses(losses_of(losses), options.raise_on)):
        raise LossyConversionError(severe)


class RequestArguments(TypedDict, total=False):
    """The optional arguments of ``convert_request``."""

    source: FormatOrName | None
    model: str | None
    stream: bool | None
    options: Options | None


@overload
def convert_request(
    body: Body, *, target: ToChatCompletions, **arguments: Unpack[RequestArguments]
) -> ConvertedRequest[wires.chat_completions.Request]: ...


@overload
def convert_request(
    body: Body, *, target: ToMessages, **arguments: Unpack[RequestArguments]
) -> ConvertedRequest[wires.messages.Request]: ...


@overload
def convert_request(
    body: Body, *, target: ToResponses, **arguments: Unpack[RequestArguments]
) -> ConvertedRequest[wires.responses.Request]: ...


@overload
def convert_request(
    body: Body, *, target: ToGenerateContent, **arguments: Unpack[RequestArguments]
) -> ConvertedRequest[wires.generate_content.Request]: ...


@overload
def convert_request(body: Body, *, target: FormatOrName, **arguments: Unpack[RequestArguments]) -> ConvertedRequest: ...


def convert_request(
    body: Body,
    *,
    source: FormatOrName | None = None,
    target: FormatOrName,
    model: str | None = None,
    stream: bool | None = None,
    options: Options | None = None,
) -> ConvertedRequest:
    """Convert a request.

    ``body``: a dict, JSON text or a typed model; it is not modified. ``model`` and ``stream``: the values that generate_content has in its
    URL; for other sources they override the body. A ``Target`` with a dialect or facts about the model gets the request as these accept it.
    Raises ``InvalidPayloadError`` for a body that is invalid in its format, and ``LossyConversionError`` according to ``options.raise_on``.
    """
    options = checked_options(options, model, stream)
    source_format, target_format = formats.load_both(source_of(body, "request") if source is None else source, target)
    losses, checked = read_checked(body, source_format, "request")
    raw: JsonObject = losses.body
    model = model or raw.get("model") or ""
    if not model and target_format.url_fields:
        raise MissingModelError(f"{target_format.name} needs a model: pass model=")
    stream = bool(raw.get("stream")) if stream is None else stream
    # ``target_format`` is the same object for every server of a format, so that ``is`` compares formats, and answers find it again.
    # Only the encoder of the request gets the format with the rules of the server.
    format_of_server, facts, dialect = target_format, None, None
    if isinstance(target, Target):
        dialect = target.dialect_name
        facts = facts_of(target.model, model)
        format_of_server = formats.load_for_requests(target, facts)
    if source_format is target_format:
        # A decoded and encoded body would lose fields that only one server has, so the body of the caller is kept.
        kept, removed = without_foreign_tokens(raw, checked, source_format, body, losses, options.token_key)
        result = same_request(kept, source_format, model, stream)
        tools: dict[str, CallerTool] = {}
        if format_of_server.dialect is not None or facts is not None:
            result, tools = same_request_for_server(result, source_format, format_of_server, losses, options, facts, removed)
    else:
        request = source_format.decode_request(checked, model=model or None, stream=stream)
        del checked  # frees memory: it is as large as the body
        request = prepared_request(request, source_format, losses, options)
        model = request.model or ""
        result, tools = encode_request_for(request, format_of_server, losses, options, facts)
        if format_of_server.dialect is not None:
            result = format_of_server.server_requests.with_missing_messages(result, format_of_server.dialect, losses)
    if options.raise_on is not None:  # otherwise the report is resolved when it is read
        refuse_losses(losses, options)
    return ConvertedRequest(result, losses, (source_format, target_format), model, stream, tools, dialect)


class ResponseArguments(TypedDict, total=False):
    """The optional arguments of ``convert_response``."""

    source: FormatOrName | None
    request: ConvertedRequest | None
    options: Options | None


@overload
def convert_response(
    body: Body, *, target: ToChatCompletions, **arguments: Unpack[ResponseArguments]
) -> Converted[wires.chat_completions.Response] | ConvertedError[wires.chat_completions.Error]: ...


@overload
def convert_response(
    body: Body, *, target: ToMessages, **arguments: Unpack[ResponseArguments]
) -> Converted[wires.messages.Response] | ConvertedError[wires.messages.Error]: ...


@overload
def convert_response(
    body: Body, *, target: ToResponses, **arguments: Unpack[ResponseArguments]
) -> Converted[wires.responses.Response] | ConvertedError[wires.responses.Error]: ...


@overload
def convert_response(
    body: Body, *, target: ToGenerateContent, **arguments: Unpack[ResponseArguments]
) -> Converted[wires.generate_content.Response] | ConvertedError[wires.generate_content.Error]: ...


@overload
def convert_response(body: Body, *, target: FormatOrName, **arguments: Unpack[ResponseArguments]) -> Converted | ConvertedError: ...


def convert_response(
    body: Body,
    *,
    source: FormatOrName | None = None,
    target: FormatOrName,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Converted:
    """Convert a whole answer.

    ``request``: the converted request that this is the answer to. It restores custom and renamed tools, echoed fields and stop sequences.
    An answer that failed, or an error body in place of an answer, becomes the target's error: a ``ConvertedError``. For such an error
    body losses never raise, because the error matters more. Malformed fields are left out and reported. ``InvalidPayloadError`` is raised
    only for a body that is no JSON object or lacks its content.
    """
    options = options_of(options)
    source_format, target_format = formats.load_both(source_of(body, "response") if source is None else source, target)
    request = checked_request(request, source_format, target_format)
    context = request.context if request else None
    try:
        losses, checked, repaired = read_answer(body, source_format, "response")
    except InvalidPayloadError:
        # Relays answer with an error body and status 200 (openrouter.ai/docs/api-reference/errors).
        # Its status is unknown here, so the kind of the error determines it.
        if not is_error_response(body, source_format.name):
            raise
        lenient = without_raise_on(options)
        return convert_error(body, source=source_format, target=target_format, status=200, options=lenient)
    if source_format is target_format:
        answer = with_caller_tools(
            losses.body, lambda: source_format.decode_response(checked), target_format, losses, options, context
        )
        refuse_losses(losses, options)
        return Converted(answer, losses, source_format, target_format, "response")
    note_malformed(losses, repaired)
    return encode_response_for(source_format.decode_response(checked), source_format, target_format, losses, options, context)


def with_caller_tools(
    body: JsonObject,
    decode: Callable[[], ir.Response],
    format: FormatSpec,
    losses: Ledger,
    options: Options,
    context: Context | None,
) -> JsonObject:
    """Return an answer of the caller's format whose tool calls are those of the caller's tools. All else stays as the server wrote it."""
    if context is None or not changes_tools(context):
        return body
    answer, noted, patch = decode(), Ledger(body, format.field_paths), Patch(body, format, Origins(body, format.item_identity))
    restored = restore_tool_names(answer, context, noted)
    before, after = (format.encode_response(each, null_ledger(), options, context) for each in (answer, restored))
    result: JsonObject = patch.apply(body, before, after, "")
    losses.include(loss for loss in noted.losses if patch.concerns(loss.path))
    return patch.changes.apply(result)


def encode_response_for(
    response: ir.Response,
    source_format: FormatSpec,
    target_format: FormatSpec,
    losses: Ledger,
    options: Options,
    context: Context | None,
) -> Converted:
    """Encode a canonical answer in the target format, with the tools of the caller's request; a failed answer becomes an error."""
    if options.token_key is not None and source_format is not target_format:
        response = check_response_tokens(response, options.token_key, losses)
    if context:
        response = restore_tool_names(response, context, losses)
    if response.error and not target_format.holds_failures:
        status, error_body = _encode_failed(response, target_format, losses)
        refuse_losses(losses, options)
        return ConvertedError(error_body, losses, source_format, target_format, status)
    response = with_unique_call_ids(response, target_format.name, losses)
    body = target_format.encode_response(response, losses, options, context)
    if options.raise_on is not None:
        refuse_losses(losses, options)
    return Converted(body, losses, source_format, target_format, "response")


def _encode_failed(response: ir.Response, target_format: FormatSpec, losses: Ledger) -> tuple[int, JsonObject]:
    """Convert a failed answer to the target's error; the content before the failure is lost."""
    # Of the formats only responses has such answers: ``{"status": "failed", "error": {...}, "output": [...]}`` (SDK, ``Response``).
    assert response.error is not None
    for name in ("id", "model", "created"):
        losses.dropped(response, name, "diagnostic")
    for choice in response.choices:
        losses.extras(choice)
        for part in choice.parts:
            if isinstance(part, ir.Text | ir.Refusal):
                drop_field(part, "id", losses)
            losses.dropped(part, severity="impossible")
    losses.extras(response)
    losses.dropped(response.usage, code="accounting")
    return target_format.encode_error(response.error, losses)


class ErrorArguments(TypedDict, total=False):
    """The arguments of ``convert_error`` besides the body and the target."""

    source: FormatOrName | None
    status: Required[int]
    options: Options | None


@overload
def convert_error(
    body: object, *, target: ToChatCompletions, **arguments: Unpack[ErrorArguments]
) -> ConvertedError[wires.chat_completions.Error]: ...


@overload
def convert_error(
    body: object, *, target: ToMessages, **arguments: Unpack[ErrorArguments]
) -> ConvertedError[wires.messages.Error]: ...


@overload
def convert_error(
    body: object, *, target: ToResponses, **arguments: Unpack[ErrorArguments]
) -> ConvertedError[wires.responses.Error]: ...


@overload
def convert_error(
    body: object, *, target: ToGenerateContent, **arguments: Unpack[ErrorArguments]
) -> ConvertedError[wires.generate_content.Error]: ...


@overload
def convert_error(body: object, *, target: FormatOrName, **arguments: Unpack[ErrorArguments]) -> ConvertedError: ...


def convert_error(
    body: object, *, source: FormatOrName | None = None, target: FormatOrName, status: int, options: Options | None = None
) -> ConvertedError:
    """Convert an error body and its HTTP status. Every body is accepted; one that is no JSON object becomes the message.

    ``status``: from 200 to 599. Below 400 the server sent the error as a success, and the result has the status of the error's kind.
    """
    options = options_of(options)
    status = checked_status(status)
    source_format, target_format = formats.load_both(source_of(body, "error") if source is None else source, target)
    replacements: list[Replacement] = []
    raw, pointer, text = read_error_body(body, source_format.name, replacements)
    checked, is_known = check_error(raw, source_format)
    losses = Ledger([raw] if pointer else raw, source_format.field_paths, text)  # pointers into a list begin with ``/0``
    losses.replaced(replacements)
    # An error of the same format stays as it is. One of no known shape is encoded, because a client would not find its message.
    # With a status of success it is encoded for its status only, because the encoder has the status of each kind.
    target_status, result = status, raw
    is_converted = source_format is not target_format or pointer is None or not is_known
    if is_converted or status < 400:
        error = source_format.decode_error(checked, status=status if status >= 400 else None)
        error.src = pointer or ""
        target_losses = losses if is_converted else null_ledger()
        if pointer is not None and not error.message:  # the whole body becomes the message, so nothing is lost
            error.message, target_losses = codec.dumps(raw).decode(), null_ledger()
        target_status, encoded = target_format.encode_error(error, target_losses)
        result = encoded if is_converted else raw
    refuse_losses(losses, options)
    return ConvertedError(result, losses, source_format, target_format, target_status)


class ModelsArguments(TypedDict, total=False):
    """The optional arguments of ``convert_models``."""

    source: FormatOrName | None
    options: Options | None


@overload
def convert_models(
    body: Body, *, target: ToChatCompletions, **arguments: Unpack[ModelsArguments]
) -> Converted[wires.chat_completions.ModelList]: ...


@overload
def convert_models(
    body: Body, *, target: ToMessages, **arguments: Unpack[ModelsArguments]
) -> Converted[wires.messages.ModelList]: ...


@overload
def convert_models(
    body: Body, *, target: ToResponses, **arguments: Unpack[ModelsArguments]
) -> Converted[wires.responses.ModelList]: ...


@overload
def convert_models(
    body: Body, *, target: ToGenerateContent, **arguments: Unpack[ModelsArguments]
) -> Converted[wires.generate_content.ModelList]: ...


@overload
def convert_models(body: Body, *, target: FormatOrName, **arguments: Unpack[ModelsArguments]) -> Converted: ...


def convert_models(
    body: Body, *, source: FormatOrName | None = None, target: FormatOrName, options: Options | None = None
) -> Converted:
    """Convert a list of models."""
    options = options_of(options)
    source_format, target_format = formats.load_both(source_of(body, "models") if source is None else source, target)
    losses, checked, repaired = read_answer(body, source_format, "models")
    losses.is_list = True
    if source_format is target_format:
        result = losses.body
    else:
        note_malformed(losses, repaired)
        result = target_format.encode_models(source_format.decode_models(checked), losses)
    refuse_losses(losses, options)
    return Converted(result, losses, source_format, target_format, "models")
