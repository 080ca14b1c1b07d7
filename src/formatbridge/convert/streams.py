"""Streams from one format to another: bytes in, bytes out, at any cut.

The losses of a stream are those of its whole answer: the events are collected as they pass, and the report is worked out on what they add
up to, when somebody asks.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import overload

from formatbridge import formats, ir
from formatbridge.arguments import bytes_of, checked_cause, checked_chunks
from formatbridge.convert.bodies import Converted, ConvertedRequest, checked_request, encode_response_for
from formatbridge.convert.passthrough import Passage, put, without_own_fields
from formatbridge.convert.replay import handed_out
from formatbridge.convert.stream_reader import StreamSource, unbroken, unbroken_async
from formatbridge.errors import (
    ConfigurationError,
    FormatBridgeError,
    LossyConversionError,
    StreamError,
    TruncatedStreamError,
)
from formatbridge.formats.format import Format
from formatbridge.formats.shared.token_authentication import check_event_tokens
from formatbridge.formats.shared.tool_restoration import ToolsHome
from formatbridge.ir import events
from formatbridge.options import Options, options_of
from formatbridge.report.ledger import Late, Ledger
from formatbridge.report.losses import Addition, Loss, Severity
from formatbridge.streaming.sse import ServerSentEvent, escape_separators

_TRUNCATED = ir.Error(
    kind="server", message="the stream ended before its answer was complete", code="stream_truncated", family="detail"
)
_UNREADABLE = ir.Error(
    kind="server", message="the stream brought an event that cannot be read", code="stream_unreadable", family="detail"
)
_TOO_LOSSY = ir.Error(kind="server", message="the answer loses too much in this format", code="stream_too_lossy", family="detail")


class StreamConverter:
    """Turns the stream of one format into that of another; sans-IO.

    ``feed`` takes any piece of the source's bytes and returns server-sent events of the target. ``finish`` says that no more bytes will
    come; it raises ``TruncatedStreamError`` where the source had not ended (or closes the answer with finish reason ``length``, where
    ``Options(on_truncated="close")`` says so and the target is another format). ``abort`` takes its place where the connection broke: then
    even an answer that looks whole was to go on. An error event of the source becomes the target's, ends the stream and stays in
    ``error``. An event that is not of its format raises ``StreamDecodeError``; what the chunk had before it is returned first, and the next
    call raises. With ``Options(raise_on=...)`` an answer that loses too much raises ``LossyConversionError`` in place of its end. Each of
    these errors has in ``tail`` what tells the target's reader, and in ``partial`` the answer so far.
    """

    def __init__(
        self,
        *,
        source: ir.Format | str,
        target: ir.Format | str,
        request: ConvertedRequest | None = None,
        options: Options | None = None,
    ) -> None:
        self._near, self._far = formats.load(source), formats.load(target)
        self._request = checked_request(request, self._near, self._far)
        self._options = options_of(options)
        self._source = StreamSource(self._near)
        self._passage = Passage(self._source, self._options) if self._near is self._far else None
        self._hears = False  # whether the bytes of an event known by heart may go the short way
        if self._passage is None:
            context = request.context if request else None
            self._home = ToolsHome(context)
            self._encoder = self._far.StreamEncoder(self._options, context)
            self._is_plain = not self._home.is_needed and self._options.raise_on is None and self._options.token_key is None
            self._hears = not self._home.is_needed and self._options.raise_on is None
        self._is_finished = False
        self._fault: FormatBridgeError | None = None
        self._has_raised = False  # whether the caller knows of the fault

    @property
    def error(self) -> ir.Error | None:
        """The error that the source's stream brought; None: none yet."""
        return self._source.error

    @property
    def heard(self) -> int:
        """How many events came that say something; comments, pings and empty events do not."""
        return self._source.heard

    @property
    def has_ended(self) -> bool:
        """Whether the event came that ends the stream, so that no byte behind it matters. In generate_content there is none."""
        return self._source.has_ended

    @property
    def is_over(self) -> bool:
        """Whether the answer came to its end, or to an error: nothing follows."""
        return self._source.is_over

    def new_text(self) -> list[str]:
        """Return the visible text of the source's first choice that has come since the last time, in the pieces in which it came."""
        return self._source.new_text()

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes of the source and return those of the target that they make possible; perhaps none."""
        if self._hears and type(chunk) is bytes:
            delta = self._source.hear(chunk)
            if delta is not None:
                made = self._encoder.feed(delta)
                return made if made.isascii() else escape_separators(made)
        return self._write(chunk if type(chunk) is bytes else bytes_of(chunk))

    def finish(self) -> bytes:
        """Take the end of the bytes. There is one: afterwards neither bytes nor another end are taken."""
        made = self._end()
        if self._source.is_complete:
            return made
        raise self._source.truncated(self.response(), made)

    def abort(self, cause: BaseException | None = None) -> TruncatedStreamError:
        """Take a break of the connection in the place of the end, and return, not raise, the error that says so.

        However whole the answer looks, it was to go on, unless ``is_over`` says before that it has come to its end: then the error says
        so, too, and nothing is amiss. ``partial`` of the error has the answer so far, ``tail`` an error event of the target; empty where
        its reader has been told an end or an error already, by ``feed`` or by the ``tail`` of an error that was raised. With
        ``Options(on_truncated="close")`` it ends the answer as ``finish`` does where the target is another format. ``cause`` is added to
        the words.
        """
        checked_cause(cause)
        if self._is_finished:
            raise _finished()
        tail = self._last_words()
        self._is_finished, self._hears = True, False
        return self._source.truncated(self.response(), tail, self._fault or cause)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What the target could not hold of the answer so far."""
        return self.response().losses

    @property
    def additions(self) -> tuple[Addition, ...]:
        """What the target demanded and the answer so far lacks."""
        return self.response().additions

    def response(self) -> Converted:
        """Return the whole answer so far, in the target format."""
        return self._whole(replace(self._options, raise_on=None))

    def __repr__(self) -> str:
        """Show the direction and how far it is, not what came."""
        if not hasattr(self, "_source"):  # a traceback shows a converter that could not be made, too
            return "<StreamConverter, not made>"
        state = ", over" if self.is_over else ", finished" if self._is_finished else ""
        return f"<StreamConverter {self._near.NAME} -> {self._far.NAME}, {self.heard} events{state}>"

    def _whole(self, options: Options) -> Converted:
        late = () if self._passage else self._encoder.late()
        made = whole_of(self._source, self._far, self._request, options, has_left=True, tokens=late)
        return self._passage.reported(made) if self._passage else made

    def _write(self, chunk: bytes | None) -> bytes:
        """Write what becomes of a chunk, None for the end; a fault waits for the next call where there is something to return."""
        if self._is_finished:
            raise _finished()
        if self._fault:
            self._has_raised = True
            raise self._fault
        made: list[bytes] = []
        step = self._passage.write if self._passage else self._convert  # kept, it would be a cycle for the collector of garbage
        try:
            read = self._source.read(chunk) if chunk is not None else self._source.read_rest()
            if len(read) == 1:  # nearly always
                return step(read[0])
            for event in read:
                made.append(step(event))
        except FormatBridgeError as fault:
            self._note(fault)
            if not any(made):
                self._has_raised = True
                raise
        return b"".join(made)

    def _end(self, *, is_break: bool = False) -> bytes:
        """Take the end of the bytes, and return what the target's reader has yet to be told: the end of the answer, or that it was cut.

        ``is_break``: an event that lacks its end is left unread, for it may be the last one.
        """
        made = b"" if is_break else self._write(None)
        if self._fault:
            raise self._fault
        self._hears = False
        happened = self._source.end(closes=self._closes, is_break=is_break)
        if self._passage is None:
            try:
                made += self._encode(happened)
            except LossyConversionError as fault:
                self._note(fault, made)
                self._has_raised = True
                raise
        self._is_finished = True
        return made if self._source.is_complete else made + self._alarm(_TRUNCATED)

    @property
    def _closes(self) -> bool:
        """Whether what was cut is given an end; what is passed on as it came is not."""
        return self._passage is None and self._options.on_truncated == "close"

    def _last_words(self) -> bytes:
        """Return what the target's reader has yet to be told where the connection broke."""
        if self._fault is None:
            try:
                return self._end(is_break=not self._closes)
            except FormatBridgeError as fault:
                self._fault = fault
        elif self._has_raised:
            return b""
        return self._fault.tail if isinstance(self._fault, StreamError | LossyConversionError) else self._alarm(_TRUNCATED)

    def _note(self, fault: FormatBridgeError, made: bytes = b"") -> None:
        """Keep what ends the stream. It has the answer so far, and tells the target's reader, behind what was made before it."""
        self._fault, self._hears = fault, False
        if isinstance(fault, StreamError | LossyConversionError):
            alarm = _UNREADABLE if isinstance(fault, StreamError) else _TOO_LOSSY
            fault.partial, fault.tail = self.response(), made + self._alarm(alarm)

    def _alarm(self, error: ir.Error) -> bytes:
        """Return what tells the target's reader that the stream broke off."""
        if self._passage:
            return self._passage.fail(error, behind=self._source.heard)
        return self._encode(self._source.beside()) + escape_separators(self._encoder.fail(error))

    def _convert(self, event: ServerSentEvent) -> bytes:
        happened = self._source.decode(event)
        if not self._is_plain:
            return self._encode(happened)
        if len(happened) == 1:  # nearly always
            return escape_separators(self._encoder.feed(happened[0]))
        return escape_separators(b"".join(map(self._encoder.feed, happened)))

    def _encode(self, happened: list[events.Event]) -> bytes:
        if self._options.raise_on and any(isinstance(event, events.End) for event in happened):
            self._whole(self._options)
        if self._options.token_key is not None:
            happened = check_event_tokens(happened, self._options.token_key)
        return escape_separators(b"".join([self._encoder.feed(event) for event in self._home.feed(happened)]))


def _finished() -> ConfigurationError:
    return ConfigurationError("the stream has been finished, expected a converter of its own for each stream")


def whole_of(
    source: StreamSource,
    far: Format,
    request: ConvertedRequest | None,
    options: Options,
    *,
    has_left: bool = False,
    tokens: Iterable[ir.TokenLogprob | ir.Signature] = (),
) -> Converted:
    """Convert a collected answer as if it had come whole; the report points into the body that it would have been.

    An answer that has not ended says so: nobody is to store a part for the whole. ``has_left``: it has been written as it came, so what the
    source told late of its head is in this body alone, and so are ``tokens``, whose texts and thoughts had left without them.
    """
    near, answer = source.near, source.answer()
    if near is far and not source.is_closed and (body := source.body()) is not None:  # an end of ours is in none of its events
        losses = Ledger(body, near.SPELLING)
        losses.malformed(source.malformed.put_into(body), "changed")
        return Converted(body, losses, near.NAME, far.NAME, "response")
    report = partial(source.malformed.copy().report, source_format=near) if source.malformed.pointers else None
    losses = Ledger(Late(source.body if source.is_complete else source.part_of_body(), report), near.SPELLING)
    if has_left and near is not far:
        _note_late(answer, far, losses)
        for token in tokens:
            losses.dropped(token, code="late")
    context = request.context if request else None
    handed = handed_out(answer, far, losses)
    is_unfinished = not source.is_over or handed is not answer
    bare, own = without_own_fields(handed) if near is far else (handed, {})
    made = encode_response_for(bare, far, losses, options, context)
    for pointer, value in own.items():
        put(made.body, pointer, value)
    if is_unfinished:
        made.body = far.unfinished(made.body)
        losses.withdraw(made.body)
    return made


def _note_late(answer: ir.Response, far: Format, losses: Ledger) -> None:
    """Note what the source told of its head, of a text or a call, when that had left without it or with another."""
    for citation in _late_citations(answer) if answer.cited and not far.CITES_LAST else ():
        losses.dropped(citation, code="late")
    for name in answer.late:
        losses.dropped(answer, name, "late", severity="info")
    for part, name, told in answer.retold:
        if isinstance(part, far.STREAMED):
            severity: Severity = "impossible" if isinstance(part, ir.ToolCall) else "lossy"
            losses.changed(part, name, told, "late", severity=severity)


def _late_citations(answer: ir.Response) -> Iterator[ir.Citation]:
    """Yield the citations that came late; of one whose source stands elsewhere in time, only what says that it stands here, too."""
    late = set(map(id, answer.cited))
    texts = [part for choice in answer.choices for part in choice.parts if isinstance(part, ir.Text)]
    told = {citation.src for text in texts for citation in text.citations or () if id(citation) not in late}
    for citation in answer.cited:
        is_told = citation.src in told and citation.aside
        yield replace(citation, src=citation.share or citation.aside, aside="") if is_told else citation


@overload
def convert_stream(
    chunks: Iterable[bytes],
    *,
    source: ir.Format | str,
    target: ir.Format | str,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Iterator[bytes]: ...


@overload
def convert_stream(
    chunks: AsyncIterable[bytes],
    *,
    source: ir.Format | str,
    target: ir.Format | str,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> AsyncIterator[bytes]: ...


def convert_stream(
    chunks: Iterable[bytes] | AsyncIterable[bytes],
    *,
    source: ir.Format | str,
    target: ir.Format | str,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Convert a stream of bytes: an iterator for an iterable, an async iterator for an async iterable.

    Whatever ends it before its time is an error with ``partial`` and ``tail``, as of ``StreamConverter``. What the iterable itself raises
    is the cause of a ``TruncatedStreamError``, as ``abort`` returns it; with ``on_truncated="close"`` its ``tail`` ends the answer.
    """
    converter = StreamConverter(source=source, target=target, request=request, options=options)
    chunks = checked_chunks(chunks)
    if isinstance(chunks, AsyncIterable):
        return _through_async(converter, chunks)
    return through(converter, chunks)


def through(converter: StreamConverter, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what becomes of a stream, to its end. What others raise in the place of the next bytes is a break of the stream."""
    for chunk in unbroken(chunks, converter.abort):
        if made := converter.feed(chunk):
            yield made
    if made := converter.finish():
        yield made


async def _through_async(converter: StreamConverter, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    async for chunk in unbroken_async(chunks, converter.abort):
        if made := converter.feed(chunk):
            yield made
    if made := converter.finish():
        yield made
