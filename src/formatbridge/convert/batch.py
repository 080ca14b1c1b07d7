"""Convert the lines of vendors' batch files: requests, and results with answers or errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from formatbridge import formats
from formatbridge.convert.bodies import (
    Converted,
    ConvertedError,
    ConvertedRequest,
    convert_error,
    convert_request,
    convert_response,
)
from formatbridge.errors import ConfigurationError, FormatBridgeError, InvalidPayloadError, LossyConversionError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.batch_lines import BatchItem, BatchLayout, BatchLineKind
from formatbridge.formats.shared.names import truncate_with_hash, with_legal_letters
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.options import Options, options_of
from formatbridge.report.field_paths import ABSENT, resolve
from formatbridge.report.losses import Addition, Loss, severe_losses
from formatbridge.report.reasons import REQUIRED
from formatbridge.report.summary import Losses

_LINE = "batch line"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLine:
    """One converted line of a batch file."""

    number: int
    """The number of the line in the source, from 1."""
    custom_id: str | None = None
    """The id of the request in the source; None: the line has none, or an empty one, or could not be read."""
    kind: BatchLineKind | None = None
    """What the line holds: ``request``, ``response``, ``error``, ``unprocessed``; None: it could not be read."""
    model: str = ""
    """The model of a request. A batch of generate_content names it outside the lines, so all lines of its file need the same model."""
    json: bytes | None = None
    """The line of the target, without its line end. None for a request that could not be converted, and for a line that could not be
    read. A result that could not be converted becomes a result with an error."""
    losses: tuple[Loss, ...] = ()
    """What the target could not hold, with pointers into the line of the source."""
    additions: tuple[Addition, ...] = ()
    """Values that the target requires and the source lacks, with pointers into the line of the target."""
    error: FormatBridgeError | None = None
    """Why the line was not converted, with pointers into the line; None: it was."""

    def to_dict(self) -> JsonObject:
        """Return the line with its report as a dict, ready for JSON; the error is its message."""
        return {
            "number": self.number,
            "custom_id": self.custom_id,
            "kind": self.kind,
            "model": self.model,
            "body": None if self.json is None else codec.loads(self.json),
            "losses": [loss.to_dict() for loss in self.losses],
            "additions": [addition.to_dict() for addition in self.additions],
            "error": None if self.error is None else str(self.error),
        }


@dataclass(frozen=True, slots=True)
class OriginalRequest:
    """The request to which a result belongs."""

    custom_id: str | None
    """Its id; None: it has none."""
    convert: Callable[[], ConvertedRequest]
    """Return the request as it was converted; raise the error of one that cannot be converted."""


class BatchConverter:
    """Converts lines of one file, each without the others. The arguments are those of ``convert_batch``, except ``requests``.

    ``requests``: returns the request of the result with an id, or None for an unknown id.
    """

    def __init__(
        self,
        *,
        source: FormatOrName,
        target: FormatOrName,
        model: str | None = None,
        requests: Callable[[str], OriginalRequest | None] | None = None,
        options: Options | None = None,
    ) -> None:
        self._source, self._target_format, self._target = formats.load(source), formats.load(target), target
        self._model, self._options = model, options_of(options)
        self._source_layout, self._layout = _layout_of(self._source), _layout_of(self._target_format)
        self._is_same_format = self._source is self._target_format
        self._requests = requests

    def convert(self, number: int, text: str | bytes) -> BatchLine:
        """Convert one line. ``number``: its number in the file, from 1."""
        # The line gets its id and kind step by step, so that an error also has what is known by then.
        line = BatchLine(number=number)
        try:
            raw = self._parse_line(text)
            line = replace(line, custom_id=self._read_id(raw))
            item = self._read_item(raw)
            line = replace(line, kind=item.kind)
            return self._convert_item(line, raw, item, self._request_of(line))
        except FormatBridgeError as error:
            return replace(line, error=error, json=self._encode_failure(line, error))

    def _parse_line(self, text: str | bytes) -> JsonObject:
        try:
            raw = codec.loads(text)
        except codec.NotJsonError as error:
            raise self._invalid(error.pointer, error.message) from None
        if not isinstance(raw, dict):
            raise self._invalid("", f"is {codec.describe(raw)}, expected an object")
        return raw

    def _read_id(self, raw: JsonObject) -> str | None:
        """Return the id of a line; None if it has none, or an empty one."""
        field = self._source_layout.id_field
        id = raw.get(field)  # ``{"custom_id": "a", ...}`` of OpenAI and Anthropic, ``{"key": "a", ...}`` of Gemini
        if id is not None and not isinstance(id, str):
            raise self._invalid(f"/{field}", f"is {codec.describe(id)}, expected a string")
        return id or None

    def read_id(self, text: bytes) -> str | None:
        """Return the id of a line; raise ``InvalidPayloadError`` if the line cannot be read."""
        return self._read_id(self._parse_line(text))

    def converted_id(self, number: int, id: str | None) -> str:
        """Return the id that a request has after the conversion. ``number``: the number of its line, from 1."""
        return _numbered_id(number) if id is None else self._legal_id(id)

    def convert_request(self, text: bytes) -> ConvertedRequest:
        """Convert the request in a line, without its envelope; raise ``InvalidPayloadError`` if the line is no request."""
        item = self._read_item(self._parse_line(text))
        converted = self._convert_body(item)
        if not isinstance(converted, ConvertedRequest):
            raise self._invalid("", f"is a line with kind {item.kind}, expected a request")
        return converted

    def _read_item(self, raw: JsonObject) -> BatchItem:
        """Return a line without its envelope; raise for a line of another shape, or of another endpoint."""
        layout = self._source_layout
        item = layout.read(raw)
        if item is None:
            request = layout.request_pointer.removeprefix("/")
            raise self._invalid(
                "", f"is no line of a batch file of {self._source.name}, expected a result, or a request in the field {request!r}"
            )
        url = raw.get("url")
        if item.kind == "request" and layout.url is not None and url is not None and not _is_endpoint(url, layout.url):
            raise self._invalid("/url", f"is {codec.describe(url)}, expected {layout.url}")
        return item

    def _invalid(self, pointer: str, message: str) -> InvalidPayloadError:
        return InvalidPayloadError(self._source.name, _LINE, ((pointer, message),))

    def _request_of(self, line: BatchLine) -> OriginalRequest | None:
        """Return the request of a result; None if the requests are unknown, and for a request."""
        if self._requests is None or line.kind == "request":
            return None
        original = self._requests(line.custom_id or "")
        if original is None:
            problem = "is missing" if line.custom_id is None else f"is {codec.describe(line.custom_id)}"
            raise self._invalid(
                f"/{self._source_layout.id_field}", f"{problem}, expected the id of a line in the file of the requests"
            )
        return original

    def _encode_failure(self, line: BatchLine, error: FormatBridgeError) -> bytes | None:
        """Return the result of a line that could not be converted; None for a request, and for a line without an id."""
        if line.kind in (None, "request") or line.custom_id is None:
            return None
        original = self._requests(line.custom_id) if self._requests is not None else None
        return codec.dumps(self._layout.write_unprocessed(self._result_id(line.custom_id, original), "failed", str(error)))

    def _result_id(self, id: str, original: OriginalRequest | None) -> str:
        """Return the id of a result in the target: that of its original request, if that is known."""
        return original.custom_id if original is not None and original.custom_id is not None else self._legal_id(id)

    def _legal_id(self, id: str) -> str:
        """Return an id that the target accepts. A changed id ends in a hash of the whole, so that different ids stay different."""
        layout = self._layout
        if layout.id_pattern is None or layout.id_pattern.fullmatch(id):
            return id
        return truncate_with_hash(with_legal_letters(id, None), layout.longest_id or len(id), id, digits=16)

    def _convert_item(self, line: BatchLine, raw: JsonObject, item: BatchItem, original: OriginalRequest | None) -> BatchLine:
        """Convert what the line contains, and write the line of the target. ``original``: the request of a result."""
        losses: list[Loss] = []
        additions: list[Addition] = []
        id = "" if self._is_same_format else self._id(line, original, losses, additions)
        body_pointer, model = "", ""
        if item.kind == "unprocessed":
            result = raw if self._is_same_format else self._encode_unprocessed(id, item, losses, additions)
            body_losses: list[Loss] = []
        else:
            request = original.convert() if original is not None and item.kind == "response" else None
            converted = self._convert_body(item, request)
            body_pointer, result = self._write(id, raw, item, converted)
            body_losses = [_in_line(loss, item) for loss in converted.losses]
            additions += [replace(addition, path=body_pointer + addition.path) for addition in converted.additions]
            if isinstance(converted, ConvertedRequest):
                model = converted.model
                if not model:
                    raise ConfigurationError("a request of the file has no model: pass model=")
                losses += _batch_losses(item, converted, self._source_layout)
            elif item.status is not None and not self._layout.has_status:
                losses += self._status_losses(item, converted)
        if not self._is_same_format:
            losses += _envelope_losses(raw, item, self._source_layout.id_field)
            additions += [Addition(pointer, id, REQUIRED) for pointer, id in _generated_ids(result, self._layout)]
        if self._options.raise_on is not None and (severe := severe_losses(losses, self._options.raise_on)):
            raise LossyConversionError(severe)
        return replace(line, json=codec.dumps(result), losses=Losses(losses + body_losses), additions=tuple(additions), model=model)

    def _encode_unprocessed(self, id: str, item: BatchItem, losses: list[Loss], additions: list[Addition]) -> JsonObject:
        """Encode the line for a request that was not processed, with a message for the reason if the target has one."""
        # A result of Anthropic is ``{"type": "expired"}``, without a text; the error of OpenAI has one. The line of the target is read
        # again, which shows its text in any format.
        result = self._layout.write_unprocessed(id, item.reason, item.message)
        written = self._layout.read(result)
        if not item.message and written is not None and written.message:
            additions.append(Addition(written.message_pointer, written.message, REQUIRED))
        if item.message and codec.dumps(item.message) not in codec.dumps(result):
            losses.append(Loss.of(item.message_pointer, "dropped", "info", "no_counterpart", item.message))
        return result

    def _convert_body(self, item: BatchItem, request: ConvertedRequest | None = None) -> Converted:
        """Convert the body of a line. Errors have pointers into the line. ``request``: what an answer answers."""
        body, source, options = item.body, self._source, self._options
        try:
            if item.kind == "error":
                return convert_error(body, source=source, target=self._target_format, status=item.status or 200, options=options)
            if not isinstance(body, dict):
                raise self._invalid("", f"is {codec.describe(body)}, expected an object")
            if item.kind == "response":
                return convert_response(body, source=source, target=self._target_format, request=request, options=options)
            model = None if body.get("model") else self._model
            # No batch has streams: OpenAI rejects a line with ``stream: true`` (llm-d/llm-d-batch-gateway#153).
            return convert_request(body, source=source, target=self._target, model=model, stream=False, options=options)
        except InvalidPayloadError as error:
            problems = [(_pointer_in_line(pointer, item), message) for pointer, message in error.problems]
            raise InvalidPayloadError(error.format, error.kind, problems) from None
        except LossyConversionError as error:
            raise LossyConversionError([_in_line(loss, item) for loss in error.losses]) from None

    def _status_losses(self, item: BatchItem, converted: Converted) -> Iterator[Loss]:
        """Yield the HTTP status of an error if it does not follow from the error in the target."""
        target = self._target_format
        implied = convert_error(converted.body, source=target, target=target, status=200).status
        if item.status != implied:
            yield Loss.of(item.status_pointer, "dropped", "info", "no_counterpart", item.status)

    def _write(self, id: str, raw: JsonObject, item: BatchItem, converted: Converted) -> tuple[str, JsonObject]:
        """Return the pointer of the body in the line of the target, and that line."""
        layout = self._layout
        if self._is_same_format:
            # The body of a result changes only if its tools get the names that they have in the request.
            changes = item.kind == "request" or (self._requests is not None and not isinstance(converted, ConvertedError))
            return item.pointer, _with_value(raw, item.pointer, converted.body) if changes else raw
        if item.kind == "request":
            return layout.request_pointer, layout.write_request(id, converted.body)
        if isinstance(converted, ConvertedError):
            return layout.error_pointer, layout.write_error(id, converted.status, converted.body)
        return layout.response_pointer, layout.write_response(id, converted.body)

    def _id(self, line: BatchLine, original: OriginalRequest | None, losses: list[Loss], additions: list[Addition]) -> str:
        """Return the id in the target: that of the source, changed if the server does not accept it, or one from the line's number."""
        if line.custom_id is None:
            id = _numbered_id(line.number)
            additions.append(Addition(f"/{self._layout.id_field}", id, REQUIRED))
            return id
        id = self._result_id(line.custom_id, original)
        if id != line.custom_id and original is None:
            losses.append(Loss.of(f"/{self._source_layout.id_field}", "changed", "info", "renamed", line.custom_id, id))
        return id


def _numbered_id(number: int) -> str:
    """Return the id for a request without one. ``number``: the number of its line, from 1."""
    return f"line-{number}"


def is_batch_line(raw: JsonObject) -> bool:
    """Return whether an object has the id and the shape of a line of a built-in format's batch files."""
    layouts = [layout for name in formats.FORMATS if (layout := formats.load(name).batch) is not None]
    return any(layout.id_field in raw and layout.read(raw) is not None for layout in layouts)


def _layout_of(format: FormatSpec) -> BatchLayout:
    if format.batch is None:
        known = [name for name in formats.FORMATS if formats.load(name).batch is not None]
        raise ConfigurationError(f"{format.name} has no batch files: use one of {', '.join(known)}")
    return format.batch


def _is_endpoint(url: JsonValue, expected: str) -> bool:
    """Return whether a line is for an endpoint. Azure's URLs have no version (Microsoft, "Azure OpenAI batch")."""
    return isinstance(url, str) and url in (expected, expected.removeprefix("/v1"))


def _pointer_in_line(pointer: str, item: BatchItem) -> str:
    """Return the pointer in the line of a pointer into its body. A text has no pointers into it."""
    return item.pointer + pointer.removeprefix(item.outer) if isinstance(item.body, dict | list) else item.pointer


def _in_line(loss: Loss, item: BatchItem) -> Loss:
    return replace(loss, path=_pointer_in_line(loss.path, item))


def _batch_losses(item: BatchItem, converted: ConvertedRequest, layout: BatchLayout) -> Iterator[Loss]:
    """Yield what a request loses because it is part of a batch: its stream with its options, and a model that the line does not name."""
    assert isinstance(item.body, dict)
    if item.body.get("stream") is True:
        yield Loss.of(f"{item.pointer}/stream", "changed", "info", "batch_stream", True, False)
        for name in layout.stream_options:
            if options := item.body.get(name):
                yield Loss.of(f"{item.pointer}/{name}", "dropped", "info", "batch_stream", options)
    model = item.body.get("model")
    if model and "model" not in converted.body:
        yield Loss.of(f"{item.pointer}/model", "dropped", "info", "batch_model", model)


def _generated_ids(line: JsonObject, layout: BatchLayout) -> Iterator[tuple[str, JsonValue]]:
    """Yield the pointers and values of the ids that a result of the target has besides the caller's."""
    for pointer in layout.generated_ids:
        _, value = resolve(line, pointer)
        if value is not ABSENT:
            yield pointer, value


def _envelope_losses(raw: JsonObject, item: BatchItem, id_field: str) -> Iterator[Loss]:
    """Yield the fields of the envelope that the target has no place for. Null and empty values are no losses."""
    # ``{"id": "batch_req_1", "custom_id": "a", "response": {"request_id": "r", "status_code": 200, "body": {...}}}``:
    # ``id`` and ``request_id``.
    known = item.known | {f"/{id_field}", item.pointer}
    for pointer, value in _unknown_fields("", raw, known):
        yield Loss.of(pointer, "dropped", "info", "no_counterpart", value)


def _unknown_fields(above: str, node: JsonObject, known: frozenset[str]) -> Iterator[tuple[str, JsonValue]]:
    """Yield the pointers and values of unknown fields. An object with a known field is searched too."""
    for key, value in node.items():
        pointer = f"{above}/{escape(key)}"
        if pointer in known or value in (None, "", [], {}):
            continue
        if isinstance(value, dict) and any(each.startswith(f"{pointer}/") for each in known):
            yield from _unknown_fields(pointer, value, known)
        else:
            yield pointer, value


def _with_value(raw: JsonObject, pointer: str, value: JsonValue) -> JsonObject:
    """Return a copy of an object with another value at a pointer that it has."""
    first, _, rest = pointer[1:].partition("/")
    return raw | {first: _with_value(raw[first], f"/{rest}", value) if rest else value}
