"""A stream that is passed on in its own format: its events as they came, in the lines that the format's official client reads."""

from __future__ import annotations

from formatbridge import _codec, ir
from formatbridge.convert import Converted
from formatbridge.losses import Ledger
from formatbridge.options import Options
from formatbridge.stream_source import StreamSource
from formatbridge.streaming.sse import DONE, ServerSentEvent, escape_separators

_NO_JSON = (b"", DONE)


class Passage:
    """Writes the events of a stream again. An error that the official client would take for none is put as the format puts one."""

    def __init__(self, source: StreamSource, options: Options) -> None:
        self._source = source
        self._near = source.near
        self._frame, self._has_names = source.near.frame_event, source.near.NAMES_EVENTS
        self._options = options
        self._losses = Ledger(None, self._near.SPELLING)

    def write(self, event: ServerSentEvent) -> bytes:
        """Write an event, whatever came before it. An empty one is left out, and so is ``[DONE]`` before the answer has ended."""
        source = self._source
        if source.is_over or event.data.strip() in _NO_JSON:
            return self._write_rarely(event)
        source.decode(event)
        event = source.as_read(event)
        name = (source.kind if self._has_names else "") or event.event
        return self._frame(event.data, name or None) if source.error is None else self._write_error(event.data, name)

    def _write_rarely(self, event: ServerSentEvent) -> bytes:
        """Write what is no event of the format, or follows its end or an error."""
        source, said = self._source, event.data.strip()
        if not said:
            return b""
        if said != DONE:
            return self._frame(event.data, self._name_of(event) or None)
        source.decode(event)
        if not source.is_complete:  # the client would read no error behind it
            return b""
        # The official client of generate_content reads every event as JSON and raises on this one; the others stop at it, or skip it.
        return self._frame(DONE, None) if self._has_names else self._near.END_OF_STREAM

    def _name_of(self, event: ServerSentEvent) -> str:
        """Return the name of an event that nobody has read, where the format names events; it may be anything."""
        if event.event or not self._has_names:
            return event.event
        try:
            raw = _codec.loads(event.data)
        except _codec.NotJsonError:
            return ""
        kind = raw.get("type") if isinstance(raw, dict) else None
        return kind if isinstance(kind, str) else ""

    def _write_error(self, data: bytes, name: str) -> bytes:
        """Write an event that brought an error: as it came, and the error again where the client would not see it."""
        near, source, raw = self._near, self._source, _codec.loads(data)
        as_it_came = self._frame(data, name or None)
        if near.is_own_error(raw, name):
            return as_it_came
        assert source.error is not None
        self._losses = Ledger(raw, near.SPELLING)
        near.encode_error(source.error, self._losses)
        if near.is_own_event(raw):
            return as_it_came + self.fail(source.error, behind=source.heard)
        return self.fail(source.error, behind=source.heard - 1)

    def fail(self, error: ir.Error, *, behind: int) -> bytes:
        """Write an error in the stream, behind so many events. There has been no encoder until now.

        Where a failure is an answer, it needs a beginning.
        """
        encoder = self._near.StreamEncoder(self._options, None)
        begun = b"".join([encoder.feed(event) for event in self._source.so_far()])
        made = (begun if self._near.HOLDS_FAILURES and not behind else b"") + encoder.fail(error, behind=behind)
        return escape_separators(made)

    def reported(self, made: Converted) -> Converted:
        """Return the answer so far with what was lost on the way: of events that are passed on nothing is."""
        return Converted(made.body, self._losses, made.source, made.target, made.kind)
