"""Convert vendors' batch files line by line: requests, and results with answers or errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from formatbridge import formats
from formatbridge.arguments import type_name
from formatbridge.convert.bodies import Converted, ConvertedError, convert_error, convert_request, convert_response
from formatbridge.errors import ConfigurationError, FormatBridgeError, InvalidPayloadError
from formatbridge.formats.format import FormatOrName, FormatSpec
from formatbridge.formats.shared.batch_lines import BatchItem, BatchLayout, BatchLineKind
from formatbridge.formats.shared.unique_names import with_legal_letters
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.options import Options, options_of
from formatbridge.report.losses import Addition, Loss
from formatbridge.report.reasons import REASONS, REQUIRED
from formatbridge.report.summary import Losses

_LINE = "batch line"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLine:
    """One converted line of a batch file."""

    number: int
    """The number of the line in the source, from 1."""
    custom_id: str | None = None
    """The id of the request in the source; None: the line has none, or could not be read."""
    kind: BatchLineKind | None = None
    """What the line holds: ``request``, ``response``, ``error``, ``unprocessed``; None: it could not be read."""
    model: str = ""
    """The model of a request. A batch of generate_content names it outside the lines."""
    json: bytes | None = None
    """The line of the target, without its line end. None for a request that could not be converted, and for a line that could not be
    read. A result that could not be converted becomes a result with an error."""
    losses: tuple[Loss, ...] = ()
    """What the target could not hold, with pointers into the line of the source."""
    additions: tuple[Addition, ...] = ()
    """Values that the target requires and the source lacks, with pointers into the line of the target."""
    error: FormatBridgeError | None = None
    """Why the line was not converted; None: it was."""


def convert_batch(
    lines: Iterable[str | bytes],
    *,
    source: FormatOrName,
    target: FormatOrName,
    model: str | None = None,
    options: Options | None = None,
) -> Iterator[BatchLine]:
    """Convert the lines of a vendor's batch file: OpenAI's (for chat_completions and responses), Anthropic's or Gemini's.

    Request files and result files are distinguished by their lines. Ids are kept. One line is in memory at a time, and blank lines are
    skipped. An invalid line has an ``error``, and the conversion continues. Whether ids repeat is not checked.

    ``model``: the model of a request that does not name it, as in files of generate_content. Raises ``ConfigurationError`` if a format has
    no batch files, or if ``lines`` is one text.

    >>> with open("batch.jsonl") as lines:
    ...     for line in convert_batch(lines, source="chat_completions", target="messages"):
    ...         print(line.custom_id, line.error or line.losses)
    """
    if isinstance(lines, str | bytes):
        raise ConfigurationError(f"lines is {type_name(lines)}, expected an iterable of lines, such as an open file")
    batch = _Batch(formats.load(source), formats.load(target), target, model, options_of(options))
    return batch.lines(lines)


class _Batch:
    """The conversion of one file."""

    def __init__(
        self, source: FormatSpec, target_format: FormatSpec, target: FormatOrName, model: str | None, options: Options
    ) -> None:
        self._source, self._target_format, self._target = source, target_format, target
        self._model, self._options = model, options
        self._source_layout, self._layout = _layout_of(source), _layout_of(target_format)

    def lines(self, lines: Iterable[str | bytes]) -> Iterator[BatchLine]:
        """Convert each line that is not blank."""
        for number, text in enumerate(lines, 1):
            if not text.isspace() and text:
                yield self._convert(number, text)

    def _convert(self, number: int, text: str | bytes) -> BatchLine:
        """Convert one line."""
        line = BatchLine(number=number)
        try:
            raw = self._read(text)
            item = self._source_layout.read(raw)
            if item is None:
                raise self._invalid("", f"is no line of a batch file of {self._source.name}")
            line = replace(line, custom_id=item.id, kind=item.kind)
            return self._convert_item(line, raw, item)
        except FormatBridgeError as error:
            return replace(line, error=error, json=self._failed(line, error))

    def _read(self, text: str | bytes) -> JsonObject:
        try:
            raw = codec.loads(text)
        except codec.NotJsonError as error:
            raise self._invalid(error.pointer, error.message) from None
        if not isinstance(raw, dict):
            raise self._invalid("", "is no JSON object")
        return raw

    def _invalid(self, pointer: str, message: str) -> InvalidPayloadError:
        return InvalidPayloadError(self._source.name, _LINE, ((pointer, message),))

    def _failed(self, line: BatchLine, error: FormatBridgeError) -> bytes | None:
        """Return the result of a line that could not be converted; None for a request."""
        if line.kind in (None, "request") or line.custom_id is None:
            return None
        return codec.dumps(self._layout.write_unprocessed(self._legal_id(line.custom_id), "failed", str(error)))

    def _legal_id(self, id: str) -> str:
        pattern = self._layout.id_pattern
        return id if pattern is None or pattern.fullmatch(id) else with_legal_letters(id, self._layout.longest_id) or "_"

    def _convert_item(self, line: BatchLine, raw: JsonObject, item: BatchItem) -> BatchLine:
        """Convert what the line holds, and write the line of the target."""
        losses: list[Loss] = []
        additions: list[Addition] = []
        id = self._id(line.number, item, losses, additions)
        if item.kind == "unprocessed":
            return replace(
                line, json=self._write_unprocessed(id, raw, item, losses), losses=Losses(losses), additions=tuple(additions)
            )
        converted = self._convert_body(item)
        at, body = self._write(id, item, converted)
        if self._source is self._target_format:
            body, at = (_with_value(raw, item.at, converted.body) if item.kind == "request" else raw), item.at
        else:
            losses += _envelope_losses(raw, item)
        if item.kind == "request" and isinstance(item.body, dict) and item.body.get("stream") is True:
            losses.append(Loss(f"{item.at}/stream", "changed", "info", "batch_stream", REASONS["batch_stream"], True, False))
        losses += [replace(loss, path=item.at + loss.path.removeprefix(item.outer)) for loss in converted.losses]
        additions += [replace(addition, path=at + addition.path) for addition in converted.additions]
        model = getattr(converted, "model", "")
        return replace(line, json=codec.dumps(body), losses=Losses(losses), additions=tuple(additions), model=model)

    def _write_unprocessed(self, id: str, raw: JsonObject, item: BatchItem, losses: list[Loss]) -> bytes:
        """Write the line for a request that was not processed. A target without a message for the reason loses it."""
        if self._source is self._target_format:
            return codec.dumps(raw)
        text = codec.dumps(self._layout.write_unprocessed(id, item.reason, item.message))
        losses += _envelope_losses(raw, item)
        if item.message and codec.dumps(item.message) not in text:
            losses.append(Loss(item.message_at, "dropped", "info", "diagnostic", REASONS["diagnostic"], item.message, None))
        return text

    def _convert_body(self, item: BatchItem) -> Converted:
        body, source, options = item.body, self._source, self._options
        if not isinstance(body, dict):
            raise self._invalid(item.at, "is no JSON object")
        if item.kind == "request":
            return convert_request(
                body, source=source, target=self._target, model=self._model_of(body), stream=False, options=options
            )
        if item.kind == "response":
            return convert_response(body, source=source, target=self._target_format, options=options)
        return convert_error(body, source=source, target=self._target_format, status=item.status or 200, options=options)

    def _model_of(self, body: JsonObject) -> str | None:
        """Return the caller's model for a request that does not name one."""
        return None if body.get("model") else self._model

    def _write(self, id: str, item: BatchItem, converted: Converted) -> tuple[str, JsonObject]:
        """Return the pointer of the body in the line of the target, and that line."""
        layout = self._layout
        if item.kind == "request":
            return layout.request_at, layout.write_request(id, converted.body)
        if isinstance(converted, ConvertedError):
            return layout.error_at, layout.write_error(id, converted.status, converted.body)
        return layout.response_at, layout.write_response(id, converted.body)

    def _id(self, number: int, item: BatchItem, losses: list[Loss], additions: list[Addition]) -> str:
        """Return the id in the target: that of the source, changed if the server does not accept it, or one from the line's number."""
        if item.id is None:
            id = f"line-{number}"
            additions.append(Addition(f"/{self._layout.id_field}", id, REQUIRED))
            return id
        id = item.id if self._source is self._target_format else self._legal_id(item.id)
        if id != item.id:
            path = f"/{self._source_layout.id_field}"
            losses.append(Loss(path, "changed", "info", "renamed", REASONS["renamed"], item.id, id))
        return id


def _layout_of(format: FormatSpec) -> BatchLayout:
    if format.batch is None:
        raise ConfigurationError(f"{format.name} has no batch files")
    return format.batch


def _envelope_losses(raw: JsonObject, item: BatchItem) -> Iterator[Loss]:
    """Yield the fields of the envelope that the target has no place for. Null and empty values are no losses."""
    for path, value in _fields("", raw, item):
        yield Loss(path, "dropped", "info", "diagnostic", REASONS["diagnostic"], value, None)


def _fields(path: str, node: JsonObject, item: BatchItem) -> Iterator[tuple[str, JsonValue]]:
    """Yield the pointers and values of the fields that the layout does not know. An object with a known field is searched too."""
    for key, value in node.items():
        pointer = f"{path}/{escape(key)}"
        if pointer in item.known or pointer == item.at or value in (None, "", [], {}):
            continue
        has_known = any(known.startswith(f"{pointer}/") for known in (*item.known, item.at))
        if has_known and isinstance(value, dict):
            yield from _fields(pointer, value, item)
        else:
            yield pointer, value


def _with_value(raw: JsonObject, pointer: str, value: JsonValue) -> JsonObject:
    """Return a copy of an object with another value at a pointer that it has."""
    first, _, rest = pointer[1:].partition("/")
    return raw | {first: _with_value(raw[first], f"/{rest}", value) if rest else value}
