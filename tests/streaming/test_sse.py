"""Events do not depend on chunk boundaries, line ends, comments or unknown fields."""

from __future__ import annotations

import collections
import itertools
import json
import pickle
import tracemalloc
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import formatbridge as fb
from formatbridge import ir
from formatbridge.streaming.framing import ArrayReader, Reader, ServerSentEvent
from formatbridge.streaming.sse import DONE, SseReader, StreamReader, encode_crlf_event, encode_event
from tests.corpus import entries, requires_corpus

READERS: tuple[Callable[[], Reader], ...] = (SseReader, StreamReader)
MARK = b"\xef\xbb\xbf"
LINE_ENDS = (b"\n", b"\r", b"\r\n")

TEXTS = ('{"text":"Grüße 👋\u2028\u0085\u2029\x0b\x0c\x1c"}', '{"a":1,', '"b":2}', "[DONE]")
EVENTS = [("", TEXTS[0].encode()), ("delta", f"{TEXTS[1]}\n{TEXTS[2]}".encode()), ("", b""), ("last", b" [DONE]")]
LINES = (
    f"data: {TEXTS[0]}",
    "",
    f"data:{TEXTS[1]}",
    "event: delta",
    f"data: {TEXTS[2]}",
    "",
    "data",
    "",
    "event:last",
    "data:  [DONE]",
    "",
)
NOISE = {"comments": (": PING", ":", ":data: no"), "fields": ("id: 7", "retry: 10", "dataset: no", "eventual", "unknown", "id")}


def read(reader: Reader, chunks: Iterable[bytes]) -> list[ServerSentEvent]:
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.finish()


def pairs(events: Iterable[ServerSentEvent]) -> list[tuple[str, bytes]]:
    return [(event.event, event.data) for event in events]


def cuts(stream: bytes) -> Iterator[list[bytes]]:
    """Yield the whole stream, in two chunks split at each index, and in chunks of each small size."""
    yield [stream]
    for at in range(len(stream) + 1):
        yield [stream[:at], stream[at:]]
    for size in range(1, 8):
        yield [stream[at : at + size] for at in range(0, len(stream), size)]


def written(end: bytes, noise: tuple[str, ...] = ()) -> bytes:
    """Write the events with a line end, with the noise before each line, and once as a separate block."""
    lines = [*noise, "", *(line for wanted in LINES for line in (*noise, wanted))]
    return b"".join(line.encode() + end for line in lines)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("end", LINE_ENDS, ids=["LF", "CR", "CRLF"])
@pytest.mark.parametrize("mark", [b"", MARK], ids=["plain", "mark"])
@pytest.mark.parametrize("noise", [(), *NOISE.values(), (*NOISE["comments"], *NOISE["fields"])], ids=["bare", *NOISE, "all"])
def test_chunks_line_ends_marks_comments_and_fields_do_not_change_events(
    reader: Callable[[], Reader], end: bytes, mark: bytes, noise: tuple[str, ...]
) -> None:
    """Proxies change chunk boundaries, relays send keep-alive comments, and servers use different line ends."""
    stream = mark + written(end, noise)

    whole = reader().feed(stream)

    assert pairs(whole) == EVENTS
    assert [stream[event.offset :].startswith(event.data.split(b"\n")[0]) for event in whole] == [True] * len(EVENTS)
    assert all(read(reader(), pieces) == whole for pieces in cuts(stream))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("end", LINE_ENDS, ids=["LF", "CR", "CRLF"])
def test_a_last_event_without_its_blank_line_is_returned(reader: Callable[[], Reader], end: bytes) -> None:
    """Recorded streams end so; official clients lose the last event, which has the finish reason."""
    stream = b"data: 1" + end + end + b"event: stop" + end + b"data: 2"

    ends = [stream, stream + end, stream + end + b": bye", stream + end + b"id"]

    assert [pairs(read(reader(), pieces)) for text in ends for pieces in cuts(text)] == [
        [("", b"1"), ("stop", b"2")] for text in ends for _ in cuts(text)
    ]


@given(st.data())
def test_any_lines_are_parsed_as_in_the_standard(data: st.DataObject) -> None:
    """Unknown lines must not change how other lines are parsed, or which code path parses a chunk."""
    words = st.sampled_from(
        [b"data: {}", b"data:", b"data", b"event: x", b"event", b": c", b"", b"", b"id: 1", b"data: \xff", b" data: no"]
    )
    lines = data.draw(st.lists(st.tuples(words, st.sampled_from(LINE_ENDS)), max_size=12))
    pieces = [line + end for line, end in lines]
    # An LF directly after a CR is one line end, not two.
    kept = [line for at, (line, end) in enumerate(lines) if (line, end) != (b"", b"\n") or not at or lines[at - 1][1] != b"\r"]
    stream = b"".join(pieces)
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))

    by_lines = pairs(read(SseReader(), pieces))
    by_places = pairs(read(SseReader(), [stream[a:b] for a, b in itertools.pairwise([0, *places, len(stream)])]))

    assert by_lines == by_places == by_the_standard(kept)


def by_the_standard(lines: list[bytes]) -> list[tuple[str, bytes]]:
    """Parse according to WHATWG HTML 9.2.6, with the end of the stream as a blank line."""
    events: list[tuple[str, bytes]] = []
    name, values = b"", list[bytes]()
    for line in [*lines, b""]:
        if not line:
            events += [(name.decode(), b"\n".join(values))] if values else []
            name, values = b"", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        name = value if field == b"event" else name
        values += [value] if field == b"data" else []
    return events


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "chunk",
    [
        b"data: {}\n\n",
        b"event: x\ndata: {}\n\n",
        b"data: {}\r\n\r\n",
        b"event: x\r\ndata: {}\r\n\r\n",
        b"data: {}\r\r",
        b": PING\n\n",
    ],
)
def test_an_event_is_returned_with_the_chunk_that_ends_it(reader: Callable[[], Reader], chunk: bytes) -> None:
    """An event that waits for the next chunk delays visible text."""
    live = reader()

    counts = [len(live.feed(chunk)) for _ in range(3)]

    assert counts == [int(b"data" in chunk)] * 3


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "chunk",
    [
        b"data: a\rdata: b\n\n",
        b"data: a\ndata: b\n\n",
        b"data: a\n\ndata: b\n\n",
        b"event: x\rdata: a\n\n",
        b"event: x\ndata: a\rb\n\n",
        b"event: x\n\n",
        b"event: x\ndata\n\n",
        b"data: a\n",
        b"data: a",
        b"data: a\r\n\n",
        b"data: a\n\r\n",
        b"data: a\rb\r\n\r\n",
        b"data: a\n\n\n\n",
        b"event: \xff\ndata: a\n\n",
    ],
)
def test_chunks_of_one_event_are_parsed_like_any_others(reader: Callable[[], Reader], chunk: bytes) -> None:
    """The shortcut for a chunk with one event must agree with the general parser, also for similar chunks."""
    live = [b"data: 0\n\n", chunk, b"data: 1\n\n"]

    assert read(reader(), live) == read(reader(), [bytes([byte]) for byte in b"".join(live)])


@pytest.mark.parametrize("reader", READERS)
def test_other_buffers_than_bytes_are_accepted(reader: Callable[[], Reader]) -> None:
    """An HTTP library passes a view of its buffer and overwrites the buffer later."""
    buffer = bytearray(b"data: 1\n\n")
    live = reader()

    events = [*live.feed(memoryview(buffer)), *live.feed(buffer)]  # type: ignore[arg-type]  # what callers do all the same
    buffer[:] = b"overwritten"

    assert [(type(event.data), event.data) for event in events] == [(bytes, b"1")] * 2


VALUES = [
    b'{"text":"a \\"quote\\", a {brace}, a \\\\"}',
    b"{}",
    b'{\n  "deep": [{"a": [[], {}]}],\n  "b": "\\\\\\"]}"\n}',
    '{"text":"Grüße 👋\u2028"}'.encode(),
    b'{"long":"' + b"x" * 250 + b'\\u0022"}',
]
LAYOUTS = {
    "array": b"[" + b"\r\n,\r\n".join(VALUES) + b"\r\n]",
    "compact": b"[" + b",".join(VALUES) + b"]\n",
    "open": b"\r\n [" + b",\n".join(VALUES),
    "lines": b"\n".join(VALUES) + b"\n",
    "mark": MARK + b"[" + b",".join(VALUES) + b"]",
}


@pytest.mark.parametrize("reader", [ArrayReader, StreamReader])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_json_values_are_complete_for_any_chunks(reader: Callable[[], Reader], layout: str) -> None:
    """generate_content without ``alt=sse`` sends one array; brackets and quotes inside strings end no value."""
    stream = LAYOUTS[layout]

    whole = reader().feed(stream)

    assert pairs(whole) == [("", value) for value in VALUES]
    assert [stream[event.offset :].startswith(event.data) for event in whole] == [True] * len(VALUES)
    assert all(read(reader(), pieces) == whole for pieces in cuts(stream))


def test_an_object_is_returned_with_the_chunk_that_ends_it() -> None:
    """The array may take minutes; readers must not wait for its end."""
    reader = StreamReader()

    counts = [len(reader.feed(chunk)) for chunk in (b"[", b'{"a":"', b'}"}', b",", b"{}", b"]")]

    assert counts == [0, 0, 1, 0, 1, 0]


ERROR = b'{\n  "error": {\n    "code": 503,\n    "message": "overloaded: try {again}"\n  }\n}'


@pytest.mark.parametrize(
    ("before", "first"),
    [
        (b"", []),
        (MARK, []),
        (b"\r\n \r\n", []),
        (b"  ", []),
        (b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n", []),
        (b"data: {}\r\n\r\n", [("", b"{}")]),
        (b"event: error\n", []),
    ],
)
def test_an_error_body_in_place_of_a_stream_is_one_event(before: bytes, first: list[tuple[str, bytes]]) -> None:
    """A relay answers with status 200 and then sends an upstream error: indented JSON without ``data:``."""
    for after in (b"", b"\n", b"\n\n"):
        stream = before + ERROR + after

        results = [read(StreamReader(), pieces) for pieces in cuts(stream)]

        assert all(pairs(events) == [*first, ("", ERROR)] for events in results)
        assert {events[-1].offset for events in results} == {len(before)}


def test_a_brace_within_an_event_does_not_begin_json() -> None:
    """A server splits its data over lines without field names; the parser does not guess the meaning."""
    stream = b"data: 1\n{\ndata: 2\n\n"

    assert [pairs(read(StreamReader(), pieces)) for pieces in cuts(stream)] == [[("", b"1\n2")]] * (len(stream) + 9)


def test_other_values_between_objects_are_events() -> None:
    """A null, a string or a truncated object must cause a decoding error, not disappear."""
    stream = b'[{"a":1}, null, "x", }{"b":2}, oops{"c'

    results = [[event.data for event in read(StreamReader(), pieces)] for pieces in cuts(stream)]

    assert results == [[b'{"a":1}', b"null", b'"x"', b'}{"b":2}', b'oops{"c']] * len(results)


def test_all_bytes_after_json_are_json() -> None:
    """A stream that changes its framing twice has no correct interpretation, but the result must be deterministic."""
    chunks = [b"data: 1\n\n", b"{}\n\n", b"data: 2\n\n"]

    results = [[event.data for event in read(StreamReader(), pieces)] for pieces in [chunks, *cuts(b"".join(chunks))]]

    assert results == [[b"1", b"{}", b"data:", b"2"]] * len(results)


def test_a_web_page_has_no_events() -> None:
    """A proxy sends an error page with status 200; the caller gets an error for a stream without a start."""
    page = b"<!DOCTYPE html>\n<html>\n<body>data: no</body>\n</html>\n"

    assert [read(StreamReader(), pieces) for pieces in cuts(page)] == [[]] * (len(page) + 9)


LIMIT = 64
FITTING = {
    "line": b"data: " + b"x" * (LIMIT - 6) + b"\n\n",
    "CRLF line": b"data: " + b"x" * (LIMIT - 6) + b"\r\n\r\n",
    "named line": b"event: e\ndata: " + b"x" * (LIMIT - 6) + b"\n\n",
    "lines": b"data: " + b"x" * 20 + b"\n" + b"data: " + b"x" * (LIMIT - 26) + b"\n\n",
    "comment": b":" + b"x" * (LIMIT - 1) + b"\ndata: 1\n\n",
    "object": b'[{"a":"' + b"x" * (LIMIT - 8) + b'"}]',
}


@pytest.mark.parametrize("name", FITTING)
def test_an_event_may_be_as_long_as_the_limit(name: str) -> None:
    """The error must not depend on chunk boundaries, and events before it are returned."""
    fitting = FITTING[name]
    too_long = fitting.replace(b"x", b"xx", 1)
    before = b"data: 0\n\n" if name != "object" else b"[{},"

    for stream in (fitting, before + fitting):
        assert all(len(read(StreamReader(LIMIT), pieces)) == 1 + (stream != fitting) for pieces in cuts(stream))
    for pieces in [[before, too_long], *cuts(before + too_long + b"data: 2\n\n")]:
        reader = StreamReader(LIMIT)
        events: list[ServerSentEvent] = []
        with pytest.raises(fb.EventTooLargeError) as caught:
            events.extend(event for chunk in [*pieces, b""] for event in reader.feed(chunk))
        assert (len(events), caught.value.limit) == (1, LIMIT)
        with pytest.raises(fb.EventTooLargeError):
            reader.finish()


def test_values_may_exceed_the_limit_together() -> None:
    """The limit is for one event; an array on one line has many."""
    stream = b"[" + b",".join([b'{"a":1}'] * 100) + b"]\n"

    assert all(len(read(StreamReader(LIMIT), pieces)) == 100 for pieces in cuts(stream))


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize(
    ("begin", "piece"),
    [(b"data: ", b"x"), (b":", b"x"), (b"{", b" "), (b"", b" "), (b"", b"data\n"), (b"", b"data:x\n"), (b"[", b"{"), (b"[", b"x")],
)
def test_an_endless_event_is_rejected_at_the_limit(begin: bytes, piece: bytes, size: int) -> None:
    """A broken server may send data without end, and memory use must stay bounded."""
    limit = 20_000
    reader = StreamReader(limit)
    chunk = piece * size
    tracemalloc.start()

    reader.feed(begin)
    with pytest.raises(fb.EventTooLargeError):
        collections.deque((reader.feed(chunk) for _ in range(2 * limit)), maxlen=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3 * limit + 200 * len(chunk)


@pytest.mark.parametrize("chunk", [b": PING\n\n", b":\r", b"\n", b"id: 1\n\n", b"event: x\n\n", b"event: x\n", b"data: {}\n\n"])
def test_ignored_lines_use_no_memory(chunk: bytes) -> None:
    """A relay may send keep-alive comments for an hour while a model reasons."""
    reader = StreamReader(limit=64)
    reader.feed(b"data: 1\n\n")
    tracemalloc.start()

    for _ in range(5000):
        reader.feed(chunk)
    taken = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/streaming/*")])  # other threads work, too
    tracemalloc.stop()

    assert sum(trace.size for trace in taken.traces) < 2000


@requires_corpus
@pytest.mark.parametrize("format", fb.FORMATS)
def test_recorded_streams_do_not_depend_on_chunks(format: fb.Format) -> None:
    """Streams of real servers, in both framings: every event is JSON or ``[DONE]``, for chunks of any size."""
    streams = list(entries(format, "stream"))

    for entry in streams:
        stream = entry.bytes()
        whole = read(StreamReader(), [stream])
        for size in (1, 7, 1000):
            assert read(StreamReader(), [stream[at : at + size] for at in range(0, len(stream), size)]) == whole, entry.id
        broken = [event for event in whole if event.data != DONE and not is_json(event.data)]
        assert whole, entry.id
        assert entry.is_curated or not broken, entry.id
    assert streams


def is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


@given(st.lists(st.tuples(st.binary(max_size=20), st.none() | st.text(min_size=1, max_size=5))))
@example([(b"\xc2\x85", None)])
def test_written_events_are_parsed_to_the_same_events(events: list[tuple[bytes, str | None]]) -> None:
    """Data and event names must not be able to end a line or to begin a field. Separators of lines are escaped as JSON has them."""
    stream = b"".join(encode_event(data, name) for data, name in events)

    again = pairs(read(SseReader(), [stream]))

    def written(data: bytes) -> bytes:
        for separator in ("\u0085", "\u2028", "\u2029"):  # readers that split text into lines end a line there
            data = data.replace(separator.encode(), b"\\u%04x" % ord(separator))
        return data.translate(bytes.maketrans(b"\r\n", b"  "))

    assert again == [((name or "").translate({10: " ", 13: " "}), written(data)) for data, name in events]


def test_events_have_the_form_that_official_clients_need() -> None:
    """One client requires CRLF and a space after the colon, another ignores events without a name."""
    assert encode_event(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert encode_event(b'{"a":1}', "message_stop") == b'event: message_stop\ndata: {"a":1}\n\n'
    assert encode_event(b'{\n"a":1}', "a\nb") == b'event: a b\ndata: { "a":1}\n\n'
    assert encode_event(DONE) == b"data: [DONE]\n\n"
    assert encode_crlf_event(b'{\r\n"a":1}') == b'data: {  "a":1}\r\n\r\n'


def test_stream_errors_have_their_details_after_pickling() -> None:
    """A worker process reads the stream, and its parent process needs the partial answer."""
    body = {"error": {"message": "m", "type": "server_error", "param": None, "code": None}}
    partial = fb.convert_error(body, source="chat_completions", target="messages", status=500)
    errors = {
        "expected message_stop": fb.TruncatedStreamError("message_stop", partial=partial, tail=b"event: error\n\n"),
        "event at byte 7 of the stream is not JSON": fb.StreamDecodeError(
            "is not JSON", offset=7, snippet=b"x" * 300, partial=partial
        ),
        "longer than 64 bytes": fb.EventTooLargeError(64, partial=partial),
        "overloaded: try later": fb.StreamFailedError(ir.Error(kind="overloaded", message="try later"), partial=partial),
    }

    for event, error in errors.items():
        again = pickle.loads(pickle.dumps(error))
        assert isinstance(again, fb.StreamError)
        assert type(again) is type(error)
        assert event in str(again)
        assert again.partial is not None
        assert again.partial.body == partial.body
    decode = errors["event at byte 7 of the stream is not JSON"]
    assert isinstance(decode, fb.StreamDecodeError)
    assert decode.snippet == b"x" * 200
    assert "xxx" not in str(decode)
