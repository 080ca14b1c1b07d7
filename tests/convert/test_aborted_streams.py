"""Streams whose connection breaks: the reader gets one error, and the answer is never complete."""

from __future__ import annotations

import asyncio
import pickle
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.convert import stream_reader
from formatbridge.jsontext.codec import dumps
from formatbridge.streaming.sse import encode_event
from tests.support.directions import DIRECTIONS, PAIRS
from tests.support.servers import stream_of

CLOSING = fb.Options(on_truncated="close")


def _events(format: fb.Format) -> list[bytes]:
    return re.findall(rb".*?(?:\r\n\r\n|\n\n)", stream_of(format), re.DOTALL)


def _has_error(output: bytes, format: fb.Format) -> bool:
    """Return whether the reader of some bytes gets an error."""
    reader = fb.StreamConverter(source=format, target="messages" if format != "messages" else "responses")
    reader.feed(output)
    return reader.error is not None


def _looks_whole(source: fb.Format) -> list[bytes]:
    """Return the events of an answer without the event that only ends its stream, if it has one."""
    events = _events(source)
    return events if source == "generate_content" else events[:-1]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_connection_error_before_the_end_becomes_an_error_event(source: fb.Format, target: fb.Format) -> None:
    """A proxy closes the connection: the reader gets an error, also directly before the last event or inside it."""
    events = _events(source)
    whole = [b"".join(events[:count]) for count in range(len(_looks_whole(source)) + 1)]
    for came in (*whole, stream_of(source).rstrip(b"\r\n")):
        converter = fb.StreamConverter(source=source, target=target)
        converted = converter.feed(came)

        error = converter.abort()

        assert isinstance(error, fb.TruncatedStreamError)
        assert error.partial is not None
        assert _has_error(converted + error.tail, target), came


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_same_format_stream_is_never_closed(format: fb.Format) -> None:
    """The option has no effect there: the reader gets the error, also after a finish reason."""
    tails = []
    for options in (None, CLOSING):
        converter = fb.StreamConverter(source=format, target=format, options=options)
        converter.feed(b"".join(_looks_whole(format)))

        tails.append(converter.abort().tail)

    assert tails[0] == tails[1] != b""


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_that_ends_in_a_break_is_not_complete(source: fb.Format, target: fb.Format) -> None:
    """A reader who collects the output must not store it as complete."""
    converter = fb.StreamConverter(source=source, target=target)
    converted = converter.feed(b"".join(_looks_whole(source)))

    tail = converter.abort().tail

    with pytest.raises(fb.StreamError):
        fb.collect_stream([converted, tail], source=target)


@pytest.mark.parametrize(("source", "target"), [pair for pair in PAIRS if pair[0] != "generate_content"])
def test_a_connection_error_after_the_end_emits_nothing(source: fb.Format, target: fb.Format) -> None:
    """The answer is complete; an error event after its end would be a second end."""
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(stream_of(source))

    error = converter.abort(OSError("reset"))

    assert error.tail == b""
    assert str(error) == "the connection broke after the end of the answer (reset)"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_connection_error_after_an_error_event_emits_nothing(source: fb.Format, target: fb.Format) -> None:
    """The error of the server has been written, and a stream has one error."""
    converter = fb.StreamConverter(source=source, target=target)
    converted = converter.feed(_events(source)[0] + b'event: error\ndata: {"type": "error", "error": {"message": "gone"}}\n\n')

    assert _has_error(converted, target)
    assert converter.abort().tail == b""


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_abort_emits_the_error_of_an_unreadable_event(source: fb.Format, target: fb.Format) -> None:
    """The error is raised by the next call; if the connection breaks first, the reader still gets it once."""
    waiting, raised = (fb.StreamConverter(source=source, target=target) for _ in range(2))
    for converter in (waiting, raised):
        converted = converter.feed(b"".join(_looks_whole(source)) + b"data: <html>\n\n")
    with pytest.raises(fb.StreamDecodeError):
        raised.feed(b"")

    error = waiting.abort(OSError("reset"))

    assert converted
    assert _has_error(converted + error.tail, target)
    assert "is not of" in str(error)
    assert raised.abort().tail == b""
    for converter in (waiting, raised):
        with pytest.raises(fb.ConfigurationError, match="finished"):
            converter.finish()


STRICT = fb.Options(raise_on="info")
UNKNOWN = encode_event(dumps({"made_up": 1}))
"""An event that every other format loses."""


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_loss_above_raise_on_is_emitted_as_one_error(source: fb.Format, target: fb.Format) -> None:
    """A reader without an end would wait; the documented loop ends the stream after ``feed`` and after ``finish``."""
    for ending in (b"", b"\n"):
        converter = fb.StreamConverter(source=source, target=target, options=STRICT)
        converted = converter.feed(UNKNOWN + b"".join(_events(source)[:-1]))
        with pytest.raises(fb.LossyConversionError) as caught:
            converted += converter.feed(_events(source)[-1].rstrip() + ending) + converter.finish()

        reported = pickle.loads(pickle.dumps(caught.value))

        assert _has_error(converted + reported.tail, target)
        assert (reported.partial.body, reported.partial.target) == (converter.response().body, target)
        assert converter.abort(caught.value).tail == b""


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_abort_emits_the_error_of_a_loss_above_raise_on(source: fb.Format, target: fb.Format) -> None:
    """The error is raised by the next call; if the connection breaks first, the reader still gets it once."""
    converter = fb.StreamConverter(source=source, target=target, options=STRICT)
    converted = converter.feed(UNKNOWN + b"".join(_looks_whole(source)))

    error = converter.abort(OSError("reset"))

    assert converted
    assert _has_error(converted + error.tail, target)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_convert_stream_emits_the_error_of_a_loss_above_raise_on(source: fb.Format, target: fb.Format, is_async: bool) -> None:
    """A user of ``convert_stream`` has no converter to abort."""
    chunks = [UNKNOWN, stream_of(source)]

    result, error = _converted(chunks, None, source, target, STRICT, is_async=is_async)

    assert isinstance(error, fb.LossyConversionError)
    assert _has_error(result + error.tail, target)


def test_a_collected_answer_that_loses_too_much_can_be_seen_all_the_same() -> None:
    """The answer has been paid for."""
    with pytest.raises(fb.LossyConversionError) as caught:
        fb.collect_stream([UNKNOWN, stream_of("messages")], source="messages", target="responses", options=STRICT)

    lenient = fb.collect_stream([UNKNOWN, stream_of("messages")], source="messages", target="responses")
    assert caught.value.partial is not None
    assert caught.value.partial.body == lenient.body
    assert caught.value.tail == b""


class _ResetError(Exception):
    """An exception of an HTTP library."""


def _converted(
    chunks: list[bytes],
    broken: BaseException | None,
    source: fb.Format,
    target: fb.Format,
    options: fb.Options | None,
    *,
    is_async: bool,
) -> tuple[bytes, Exception | None]:
    """Return the output for some chunks after which an exception is raised, and the exception of the conversion."""

    def breaking() -> Iterator[bytes]:
        yield from chunks
        if broken is not None:
            raise broken

    async def breaking_later() -> AsyncIterator[bytes]:
        for chunk in breaking():
            yield chunk

    async def gather() -> None:
        async for piece in fb.convert_stream(breaking_later(), source=source, target=target, options=options):
            results.append(piece)

    results: list[bytes] = []
    try:
        if is_async:
            asyncio.run(gather())
        else:
            results.extend(fb.convert_stream(breaking(), source=source, target=target, options=options))
    except Exception as error:
        return b"".join(results), error
    return b"".join(results), None


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_convert_stream_emits_an_error_event_for_a_break(source: fb.Format, target: fb.Format, is_async: bool) -> None:
    """The HTTP library raises its exception from the iterable, after an answer that looks complete."""
    cause = _ResetError("peer closed the connection")

    result, error = _converted(_looks_whole(source), cause, source, target, None, is_async=is_async)

    assert isinstance(error, fb.TruncatedStreamError)
    assert error.__cause__ is cause
    assert str(error).endswith("(peer closed the connection)")
    assert error.partial is not None
    assert _has_error(result + error.tail, target)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_convert_stream_closes_a_broken_stream_with_the_option(source: fb.Format, target: fb.Format, is_async: bool) -> None:
    """The error is still raised for the caller; the reader gets an end and no error."""
    result, error = _converted(_events(source)[:3], _ResetError(), source, target, CLOSING, is_async=is_async)

    assert isinstance(error, fb.TruncatedStreamError)
    assert fb.collect_stream([result, error.tail], source=target).body


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_convert_stream_raises_other_exceptions_unchanged(is_async: bool) -> None:
    """Errors of this library have a meaning, and an interrupt does not concern the stream."""
    ours = fb.APIConnectionError("gone", phase="body")

    _, error = _converted([], ours, "messages", "responses", None, is_async=is_async)

    assert error is ours
    with pytest.raises(KeyboardInterrupt):
        _converted([], KeyboardInterrupt(), "messages", "responses", None, is_async=is_async)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_events_before_a_break_are_returned(source: fb.Format, target: fb.Format) -> None:
    """For one answer or typed events, a break is an error of the stream too, however complete the answer looks."""
    cause = _ResetError("peer closed the connection")

    def breaking() -> Iterator[bytes]:
        yield from _looks_whole(source)
        raise cause

    async def breaking_later() -> AsyncIterator[bytes]:
        for chunk in breaking():
            yield chunk

    async def typed() -> None:
        async for event in fb.iter_events(breaking_later(), format=source):
            assert event

    whole = fb.collect_stream([stream_of(source)], source=source, target=target).body
    events: list[fb.TruncatedStreamError] = []
    for read in (
        lambda: fb.collect_stream(breaking(), source=source, target=target),
        lambda: asyncio.run(fb.collect_stream(breaking_later(), source=source, target=target)),
        lambda: list(fb.iter_events(breaking(), format=source)),
        lambda: asyncio.run(typed()),
    ):
        with pytest.raises(fb.TruncatedStreamError, match="peer closed the connection") as caught:
            read()
        events.append(caught.value)

    assert [error.__cause__ for error in events] == [cause] * 4
    assert None not in [error.partial for error in events]
    assert events[0].partial.body == events[1].partial.body != whole  # type: ignore[union-attr]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_broken_stream_is_closed_with_the_option(source: fb.Format, target: fb.Format) -> None:
    """The tail has the part that was pending and an end, so that the reader sees no error."""
    converter = fb.StreamConverter(source=source, target=target, options=CLOSING)
    converted = converter.feed(b"".join(_events(source)[:3]))

    tail = converter.abort().tail

    assert converter.is_over
    assert fb.collect_stream([converted, tail], source=target).body


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_that_was_aborted_takes_no_more(source: fb.Format, target: fb.Format) -> None:
    """The reader would get a second end. The mistake is the caller's and no fault of the stream."""
    converter = fb.StreamConverter(source=source, target=target)
    converter.abort()

    for misuse in (converter.abort, converter.finish, lambda: converter.feed(b"")):
        with pytest.raises(fb.ConfigurationError, match="finished"):
            misuse()


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_that_was_finished_cannot_be_aborted(source: fb.Format, target: fb.Format) -> None:
    """Its reader has the end."""
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(stream_of(source))
    converter.finish()

    with pytest.raises(fb.ConfigurationError, match="finished"):
        converter.abort()


def test_repr_of_a_converter_shows_its_state() -> None:
    """A log or a debugger shows its formats and no text of the answer."""
    events = []
    for ends in (False, True):
        converter = fb.StreamConverter(source="messages", target="responses")
        converter.feed(b"".join(_events("messages")[:3]))
        events.append(repr(converter))
        if ends:
            converter.feed(b"".join(_events("messages")[3:]))
        else:
            converter.abort()
        events.append(repr(converter))

    assert events[:2] == [
        "<StreamConverter messages -> responses, 3 events>",
        "<StreamConverter messages -> responses, 3 events, finished>",
    ]
    assert events[3].endswith("events, over>")


def test_the_error_of_a_break_names_its_cause_without_a_reference_to_it() -> None:
    """A log has the reason; a pickle has neither sockets nor requests of the HTTP library."""
    causes = (OSError("peer closed the connection"), OSError())

    events = [fb.StreamConverter(source="messages", target="messages").abort(cause) for cause in causes]

    assert [str(pickle.loads(pickle.dumps(error))).rpartition(" (")[2] for error in events] == [
        "peer closed the connection)",
        "OSError)",
    ]
    assert [error.__cause__ for error in events] == [None, None]


@pytest.mark.parametrize("cause", ["boom", OSError, 5])
def test_the_cause_of_a_break_is_an_exception(cause: Any) -> None:
    """An invalid argument is reported by name and aborts nothing."""
    converter = fb.StreamConverter(source="messages", target="messages")

    with pytest.raises(fb.ConfigurationError, match=r"cause is .*, expected an exception or None"):
        converter.abort(cause)

    assert converter.abort(KeyboardInterrupt()).tail


@pytest.mark.parametrize(
    "read", [fb.collect_stream, lambda chunks, source: [*fb.convert_stream(chunks, source=source, target="responses")]]
)
def test_an_error_of_this_library_is_no_break_of_the_stream(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who reads that the connection broke looks in the wrong place, or repeats the request."""

    def fails(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(stream_reader.StreamSource, "decode", fails)

    with pytest.raises(KeyError, match="ours"):
        read([b'data: {"id":"x","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'], source="chat_completions")


@pytest.mark.parametrize("cause", [TimeoutError("slow"), fb.APITimeoutError("slow", kind="read", phase="body"), OSError("reset")])
@pytest.mark.parametrize("target", fb.FORMATS)
def test_the_error_event_of_a_time_limit_is_a_timeout(target: fb.Format, cause: Exception) -> None:
    """A client repeats a call after a timeout, perhaps with a longer limit."""
    tail = fb.StreamConverter(source="messages", target=target).abort(cause).tail

    with pytest.raises(fb.StreamFailedError) as failed:
        fb.collect_stream([tail], source=target)
    assert failed.value.error.kind == ("server" if type(cause) is OSError else "timeout")
