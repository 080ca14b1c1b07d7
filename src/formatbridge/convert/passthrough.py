"""Passthrough: the conversion of a stream to its source format, which keeps the events and frames them as the official client expects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.convert.bodies import Converted
from formatbridge.convert.stream_reader import StreamSource
from formatbridge.formats.format import FormatSpec
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.streaming.sse import DONE, ServerSentEvent, escape_separators

_NO_JSON = (b"", DONE)


class Passthrough:
    """Writes the events of a stream unchanged. An error that the official client would not recognise is encoded for the format."""

    def __init__(self, source: StreamSource, options: Options) -> None:
        self._source = source
        self._format = source.source_format
        self._frame, self._has_names = self._format.frame_event, self._format.names_events
        self._options = options
        self._losses = Ledger(None, self._format.field_paths)

    def write(self, event: ServerSentEvent) -> bytes:
        """Write an event. Empty events are left out, and so is ``[DONE]`` before the end of the answer."""
        source = self._source
        if source.is_over or event.data.strip() in _NO_JSON:
            return self._write_other(event)
        source.decode(event)
        event = source.as_read(event)
        name = (source.kind if self._has_names else "") or event.event
        return self._frame(event.data, name or None) if source.error is None else self._write_error(event.data, name)

    def _write_other(self, event: ServerSentEvent) -> bytes:
        """Write an empty event or ``[DONE]``, or an event after the end or an error."""
        source, data = self._source, event.data.strip()
        if not data:
            return b""
        if data != DONE:
            return self._frame(event.data, self._name_of(event) or None)
        source.decode(event)
        if not source.is_complete:  # the client would not read an error event after ``[DONE]``
            return b""
        # The official client of generate_content parses every event as JSON and raises here (BerriAI/litellm#29426).
        # The others stop, or skip the event.
        return self._frame(DONE, None) if self._has_names else self._format.end_of_stream

    def _name_of(self, event: ServerSentEvent) -> str:
        """Return the name of an event that was not decoded, where the format names events; its data may be anything."""
        if event.event or not self._has_names:
            return event.event
        try:
            raw = codec.loads(event.data)
        except codec.NotJsonError:
            return ""
        kind = raw.get("type") if isinstance(raw, dict) else None
        return kind if isinstance(kind, str) else ""

    def _write_error(self, data: bytes, name: str) -> bytes:
        """Write an error event unchanged; where the client would not recognise it, write the error again or instead."""
        # ``data: {"error": {...}}`` has no name. Anthropic's SDK skips an event without a name (``Stream``).
        format, source, raw = self._format, self._source, codec.loads(data)
        unchanged = self._frame(data, name or None)
        if format.recognizes_error(raw, name):
            return unchanged
        assert source.error is not None
        self._losses = Ledger(raw, format.field_paths)
        format.encode_error(source.error, self._losses)
        if format.recognizes_event(raw):  # a part of the answer with an error in it
            return unchanged + self.fail(source.error, events_before=source.event_count)
        return self.fail(source.error, events_before=source.event_count - 1)  # instead of the event

    def fail(self, error: ir.Error, *, events_before: int) -> bytes:
        """Write an error after ``events_before`` events, with a new encoder, because passthrough has none.

        A format that has failed answers needs the start of an answer before the failure.
        """
        encoder = self._format.stream_encoder(self._options, None)
        start = b"".join([encoder.feed(event) for event in self._source.partial_events()])
        written = (start if self._format.holds_failures and not events_before else b"") + encoder.fail(
            error, events_before=events_before
        )
        return escape_separators(written)

    def reported(self, converted: Converted) -> Converted:
        """Return the partial answer with the losses of a rewritten error; other events have no losses."""
        return Converted(converted.body, self._losses, converted.source_format, converted.target_format, converted.kind)


def without_format_fields(answer: ir.Response, format: FormatSpec) -> tuple[ir.Response, JsonObject]:
    """Return an answer without the fields that only its format has, and these fields by pointer.

    They are its id, its finish details and its unmodelled fields. Fields of list items stay in the answer.
    """
    separated: JsonObject = {}
    if answer.id:
        separated[f"/{format.id_field}"] = answer.id
    error = answer.error
    if error and error.request_id:
        separated["/request_id"], error = error.request_id, replace(error, request_id=None)
    common = replace(
        _without_extra(answer, separated),
        error=error,
        choices=[_without_finish_details(_without_extra(choice, separated), format, separated) for choice in answer.choices],
        usage=answer.usage and _without_extra(answer.usage, separated),
    )
    return common, separated


def _without_extra(node: Any, separated: JsonObject) -> Any:
    """Return a node without its unmodelled fields, which move to ``separated``; those of list items stay."""
    # The keys are pointers relative to the node: ``service_tier``, or ``steps/0/flag`` for a field of a list item. In the encoded body
    # the index of an item may differ.
    kept: JsonObject = {}
    for name, value in (node.extra or {}).items():
        if any(step.isdigit() or not step for step in name.split("/")):
            kept[name] = value
        else:
            separated[f"{node.src}/{name}"] = value
    return replace(node, extra=kept or None)


def _without_finish_details(choice: ir.Choice, format: FormatSpec, separated: JsonObject) -> ir.Choice:
    """Return a choice with the finish reason ``stop`` in place of a specific one, which moves to ``separated``."""
    finish, places = choice.finish, format.field_paths.places
    field, *others = places["Finish.reason"]
    # The reason of responses is in two fields, ``incomplete_details/reason`` and ``status``. Its encoder writes both.
    if others or not finish or not finish.raw or finish.src not in ("", choice.src):
        return choice
    if not finish.is_specific and finish.stop_sequence is None:
        return choice
    separated[f"{choice.src}/{field}"] = finish.raw
    if finish.stop_sequence is not None:
        stop, *_ = places.get("Finish.stop_sequence", ("stop_sequence",))
        separated[f"{choice.src}/{stop}"] = finish.stop_sequence
    return replace(choice, finish=replace(finish, reason="stop", is_specific=False, stop_sequence=None))


def put(body: Any, pointer: str, value: Any) -> None:
    """Set a value in a body; missing or null objects in its path are created."""
    *above, last = [unescape(step) for step in pointer.split("/")[1:]]
    for step in above:
        if isinstance(body, list):
            body = body[int(step)]
            continue
        if body.get(step) is None:
            body[step] = {}
        body = body[step]
    body[last] = value
