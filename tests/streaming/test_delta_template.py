"""The delta template: events that match it give the same output and report as events that are parsed (law 17)."""

from __future__ import annotations

import json
import re
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import formatbridge as fb
from formatbridge.formats import load
from formatbridge.ir import events
from formatbridge.streaming.delta_template import DeltaTemplate, EventPattern, path_of
from formatbridge.streaming.sse import ServerSentEvent, StreamReader
from tests import corpus, fixtures

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def _chunk(text: Any, *, ensure_ascii: bool = False, **more: Any) -> bytes:
    return json.dumps(
        {"id": "c", "delta": {"text": text, **more}, "end": None}, ensure_ascii=ensure_ascii, separators=(",", ":")
    ).encode()


@given(TEXTS, TEXTS)
def test_a_pattern_reads_the_text_as_a_parser_does(first: str, second: str) -> None:
    """Escaped or not."""
    pattern = EventPattern.of(_chunk(first), first)
    assert (pattern is None) == (first in ("id", "c", "delta", "text", "end"))
    if pattern is None:
        return

    for data in (_chunk(second), _chunk("GAP").replace(b'"GAP"', json.dumps(second).encode())):
        assert pattern.text_of(data) == second


def test_events_of_servers_that_escape_non_ascii_text_match() -> None:
    """Many write JSON so; a stream of Chinese has an escape in every event then."""
    pattern = EventPattern.of(_chunk("你好", ensure_ascii=True), "你好")
    assert pattern is not None

    assert pattern.text_of(_chunk("世界", ensure_ascii=True)) == "世界"
    assert pattern.text_of(_chunk("世界")) == "世界"


@given(VALUES)
def test_a_pattern_does_not_match_other_values_than_text(value: Any) -> None:
    """An event with null, a number or an object in place of the text is parsed."""
    pattern = EventPattern.of(_chunk("word"), "word")
    assert pattern is not None

    assert pattern.text_of(_chunk(value)) == (value if isinstance(value, str) else None)


@pytest.mark.parametrize(
    "data",
    [
        b'{"id":"d","delta":{"text":"x"},"end":null}',
        b'{"id":"c","delta":{"text":"x","more":"y"},"end":null}',
        b'{"id":"c","delta":{"text":"\xff"},"end":null}',
        b'{"id":"c","delta":{"text":"\\ud800"},"end":null}',
        b'{"id":"c","delta":{"text":"a\nb"},"end":null}',
        b'{"id":"c","delta":{"text":"x"},"end":1}',
        b'{"id":"c","delta":{"text":"},"end":null}',
        b'{"id":"c","delta":{"text":\n"x"},"end":null}',
        b'{"id":"c","delta":{"text":"x" },"end":null}',
    ],
)
def test_a_pattern_matches_no_other_event(data: bytes) -> None:
    """Another id, another member, or text that is no JSON: nothing is guessed."""
    pattern = EventPattern.of(_chunk("word"), "word")
    assert pattern is not None

    assert pattern.text_of(data) is None


@pytest.mark.parametrize("text", ["c", "text", "id", ":", ","])
def test_an_event_with_the_same_text_twice_has_no_pattern(text: str) -> None:
    """The bytes do not show which of the two strings is the text."""
    assert EventPattern.of(_chunk(text, other=text), text) is None


def test_numbers_and_padding_of_the_vendor_may_change() -> None:
    """The vendor numbers its events and pads them; the decoder reads neither."""
    data = b'{"sequence_number":7,"delta":"word","obfuscation":"a1b2"}'
    pattern = EventPattern.of(data, "word")
    assert pattern is not None

    assert pattern.text_of(b'{"sequence_number":12,"delta":"x\\n","obfuscation":""}') == "x\n"
    assert pattern.text_of(b'{"sequence_number":-1,"delta":"x","obfuscation":""}') is None
    assert pattern.text_of(b'{"sequence_number":07,"delta":"x","obfuscation":""}') is None
    assert pattern.text_of(b'{"sequence_number":12,"delta":"x","obfuscation":"\\u00"}') is None


def test_a_key_that_only_ends_like_the_number_of_an_event_is_read() -> None:
    """An escaped quote begins no key."""
    pattern = EventPattern.of(b'{"x\\"sequence_number":7,"delta":"word"}', "word")
    assert pattern is not None

    assert pattern.text_of(b'{"x\\"sequence_number":8,"delta":"x"}') is None


def _raw(text: str, **more: Any) -> dict[str, Any]:
    return dict(json.loads(_chunk(text, **more)))


def test_an_event_matches_after_two_like_it() -> None:
    """The first event of a kind may do more than add text; the second one shows that it does not."""
    template = DeltaTemplate()

    assert template.match(_sse("one")) is None
    assert not template.learn(_chunk("one"), _raw("one"), [events.Delta(0, 1, "one")])
    assert template.match(_sse("two")) is None
    assert template.learn(_chunk("two"), _raw("two"), [events.Delta(0, 1, "two")])
    assert template.match(_sse("three")) == events.Delta(0, 1, "three")
    template.learn(b"{}", {}, [])
    assert template.match(_sse("four")) is None


def test_matched_events_become_one_pending_event() -> None:
    """The decoder gets them before the next event that it decodes, and whenever it is asked for pending events."""
    template, texts = DeltaTemplate(), ["one", "two"]
    for text in texts:
        template.log.add(_chunk(text))
        template.learn(_chunk(text), _raw(text), [events.Delta(0, 1, text)])
    template.begin_run(None, texts, is_counted=False)

    for text in ("three", "four"):
        template.match(_sse(text))

    assert template.take_event(_refused) == (_raw("threefour"), 2)
    assert template.take_event(_refused) is None
    assert texts == ["one", "two", "three", "four"]
    assert list(template.log) == [_chunk("onetwothreefour")]


def _refused(event: ServerSentEvent) -> None:
    raise AssertionError(f"{event} has no counts, so it is not parsed")


def test_an_event_with_an_excluded_member_never_matches() -> None:
    """Its meaning depends on the events before it, so it is decoded alone."""
    template = DeltaTemplate(frozenset({"name"}))

    for text in ("one", "two"):
        assert not template.learn(_chunk(text, name="f"), _raw(text, name="f"), [events.Delta(0, 1, text)])


def _sse(text: str) -> ServerSentEvent:
    return ServerSentEvent("", _chunk(text), 0)


def _streams(format: fb.Format) -> list[bytes]:
    decoded = [b"".join(fb.replay_response(each.body, source=format)) for each in fixtures.fixtures("response", format)]
    decoded += [each.data for each in fixtures.streams(format)]
    return decoded + [entry.bytes() for entry in corpus.entries(format, "stream")]


def _outcome(chunks: list[bytes], source: fb.Format, target: fb.Format) -> tuple[Any, ...]:
    converter = fb.StreamConverter(source=source, target=target)
    try:
        output = b"".join([converter.feed(chunk) for chunk in chunks])
        output += converter.finish()
    except fb.FormatBridgeError as error:
        return type(error), str(error), converter.response().body
    return output, converter.response().body, converter.losses


@pytest.mark.parametrize("is_same_format", [False, True], ids=["converted", "passed on"])
@pytest.mark.parametrize("source", fb.FORMATS)
def test_the_template_changes_no_stream(source: fb.Format, is_same_format: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 17: every stream, recorded or synthetic, has the same bytes, answer and report with the template and without it."""
    target = source if is_same_format else "messages" if source != "messages" else "responses"
    streams = _streams(source)
    by_events = [_outcome(_events_of(stream), source, target) for stream in streams]
    matched = [_outcome([stream], source, target) for stream in streams]

    monkeypatch.setattr(EventPattern, "text_of", lambda *_: None)
    parsed = [_outcome([stream], source, target) for stream in streams]

    assert matched == parsed
    assert by_events == parsed


@pytest.mark.parametrize("source", fb.FORMATS)
def test_the_decoder_emits_one_delta_for_events_that_matched(source: fb.Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their deltas were emitted already, so those of the joined event are not used: they must have the same text."""
    decoder: Any = load(source).stream_decoder
    emitted: list[Any] = []
    feed = decoder.feed

    def recorded(self: Any, raw: dict[str, Any], count: int = 0) -> Any:
        happened = feed(self, raw, count or 1)
        emitted.extend([(raw, happened)] if count else [])
        return happened

    monkeypatch.setattr(decoder, "feed", recorded)
    for stream in [*_streams(source), _long_stream(source)]:
        _outcome([stream], source, source)

    assert emitted
    for raw, happened in emitted:
        (delta,) = happened
        assert type(delta) is events.Delta
        assert path_of(raw, delta.text)


@pytest.mark.parametrize("source", fb.FORMATS)
def test_most_events_match_with_their_frame(source: fb.Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """A live stream has one event in each read; only the first ones are framed and parsed."""
    events = _events_of(_long_stream(source))
    read: list[bytes] = []
    feed = StreamReader.feed

    def counted(reader: StreamReader, chunk: bytes) -> list[ServerSentEvent]:
        read.append(chunk)
        return feed(reader, chunk)

    monkeypatch.setattr(StreamReader, "feed", counted)
    converter = fb.StreamConverter(source=source, target="messages" if source != "messages" else "responses")
    for event in events:
        converter.feed(event)

    assert len(read) < len(events) / 2


@given(st.data())
@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_chunk_that_is_not_exactly_one_event_does_not_match(source: fb.Format, data: st.DataObject) -> None:
    """Two events in one read, parts of events, comments and empty lines between them do not match."""
    events = _events_of(_long_stream(source))
    target: fb.Format = "messages" if source != "messages" else "responses"
    between = data.draw(
        st.dictionaries(st.integers(0, len(events)), st.sampled_from([b": hello\n", b"\n", b"event: ping\n", b"data: "]))
    )
    raw = b"".join(between.get(at, b"") + event for at, event in enumerate(events))
    edges = list(accumulate(map(len, _events_of(raw))))
    cuts = sorted(
        {0, len(raw), *data.draw(st.sets(st.sampled_from(edges))), *data.draw(st.sets(st.integers(0, len(raw)), max_size=4))}
    )

    assert _outcome([raw[a:b] for a, b in pairwise(cuts)], source, target) == _outcome([raw], source, target)


def _events_of(stream: bytes) -> list[bytes]:
    """Split a stream after each empty line."""
    return [piece for piece in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", stream) if piece]


def _long_stream(source: fb.Format) -> bytes:
    """Return a stream of many words, some of which must be escaped."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[Any] = [{"content": f"word{number} é" + "\n" * (number % 7 == 6)} for number in range(40)]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [b"data: " + json.dumps(head | {"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n" for choice in choices]
    chunks.append(b"data: [DONE]\n\n")
    return b"".join(chunks if source == "chat_completions" else fb.convert_stream(chunks, source="chat_completions", target=source))


@pytest.mark.parametrize("target", fb.FORMATS)
def test_no_event_matches_after_the_end_of_the_stream(target: fb.Format) -> None:
    """Some servers send more after ``[DONE]``, when the parts are closed."""
    stream = _events_of(_long_stream("chat_completions"))
    values = [*stream[:5], stream[-1], *stream[5:]]

    assert _outcome(values, "chat_completions", target) == _outcome([b"".join(values)], "chat_completions", target)


def test_spaces_before_the_last_brace_are_padding() -> None:
    """The vendor of messages pads its events with spaces; in a text they count."""
    pattern = EventPattern.of(b'{"delta":{"text":"word"}     }', "word")
    assert pattern is not None

    assert pattern.text_of(b'{"delta":{"text":"two } "}  }') == "two } "
    assert pattern.text_of(b'{"delta":{"text":"three"}}') == "three"


def test_counts_of_matched_events_are_read_on_request() -> None:
    """In generate_content every event has counts; a report in the middle of a stream has the latest ones."""

    def event(number: int, **more: Any) -> bytes:
        usage = {"promptTokenCount": 7, "candidatesTokenCount": number, "totalTokenCount": 7 + number}
        part = {"content": {"parts": [{"text": f"word{number} "}], "role": "model"}, "index": 0} | more
        return b"data: " + json.dumps({"candidates": [part], "usageMetadata": usage}).encode() + b"\r\n\r\n"

    converter = fb.StreamConverter(source="generate_content", target="chat_completions")
    output = b"".join(converter.feed(event(number)) for number in range(1, 6))

    assert output.count(b"word") == 5
    assert converter.response().body["usage"]["completion_tokens"] == 5
    converter.feed(event(6))
    output = converter.feed(event(7, finishReason="STOP")) + converter.finish()
    assert b'"completion_tokens":7' in output
