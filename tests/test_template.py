"""What is known by heart is read as what is parsed: the short way through a stream gives what the long way gives."""

from __future__ import annotations

import json
import re
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import formatbridge as fb
from formatbridge.ir import events
from formatbridge.streaming.delta_template import Refrain, Template
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
def test_a_template_reads_the_text_of_every_event_like_it(first: str, second: str) -> None:
    """Whatever the text holds, escaped or not, it is read as a parser reads it."""
    template = Template.of(_chunk(first), first)
    assert (template is None) == (first in ("id", "c", "delta", "text", "end"))
    if template is None:
        return

    for data in (_chunk(second), _chunk("GAP").replace(b'"GAP"', json.dumps(second).encode())):
        assert template.text_of(data) == second


def test_servers_that_escape_whatever_is_not_ascii_are_known_by_heart() -> None:
    """Many write JSON so; a stream of Chinese has an escape in every event then."""
    template = Template.of(_chunk("你好", ensure_ascii=True), "你好")
    assert template is not None

    assert template.text_of(_chunk("世界", ensure_ascii=True)) == "世界"
    assert template.text_of(_chunk("世界")) == "世界"


@given(VALUES)
def test_a_template_passes_over_what_is_not_text(value: Any) -> None:
    """Null, a number or an object in the place of the text goes the long way, where it is refused or understood."""
    template = Template.of(_chunk("word"), "word")
    assert template is not None

    assert template.text_of(_chunk(value)) == (value if isinstance(value, str) else None)


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
def test_a_template_knows_no_other_event(data: bytes) -> None:
    """Another id, another member, text that is no JSON: nothing is guessed."""
    template = Template.of(_chunk("word"), "word")
    assert template is not None

    assert template.text_of(data) is None


@pytest.mark.parametrize("text", ["c", "text", "id", ":", ","])
def test_text_that_stands_elsewhere_too_is_no_template(text: str) -> None:
    """Where the bytes do not say which string is the text, none is taken for it."""
    assert Template.of(_chunk(text, other=text), text) is None


def test_numbers_and_padding_that_nobody_reads_may_change() -> None:
    """The vendor numbers its events and pads them against eavesdroppers; neither makes another event of one."""
    data = b'{"sequence_number":7,"delta":"word","obfuscation":"a1b2"}'
    template = Template.of(data, "word")
    assert template is not None

    assert template.text_of(b'{"sequence_number":12,"delta":"x\\n","obfuscation":""}') == "x\n"
    assert template.text_of(b'{"sequence_number":-1,"delta":"x","obfuscation":""}') is None
    assert template.text_of(b'{"sequence_number":07,"delta":"x","obfuscation":""}') is None
    assert template.text_of(b'{"sequence_number":12,"delta":"x","obfuscation":"\\u00"}') is None


def test_a_key_that_only_ends_like_the_number_of_an_event_is_read() -> None:
    """An escaped quote begins no key."""
    template = Template.of(b'{"x\\"sequence_number":7,"delta":"word"}', "word")
    assert template is not None

    assert template.text_of(b'{"x\\"sequence_number":8,"delta":"x"}') is None


def test_an_event_is_known_by_heart_when_it_has_come_twice() -> None:
    """The first of its kind may do more than add text; only a second one shows that there is nothing else to it."""
    refrain, seen = Refrain(), events.Delta(0, 1, "one")

    assert refrain.delta_of(_chunk("one")) is None
    refrain.learn(_chunk("one"), [seen])
    assert refrain.delta_of(_chunk("two")) is None
    refrain.learn(_chunk("two"), [events.Delta(0, 1, "two")])
    assert refrain.delta_of(_chunk("three")) == events.Delta(0, 1, "three")
    refrain.learn(b"{}", [])
    assert refrain.delta_of(_chunk("four")) is None


def _streams(format: str) -> list[bytes]:
    made = [b"".join(fb.replay_response(each.body, source=format)) for each in fixtures.fixtures("response", format)]
    made += [each.data for each in fixtures.streams(format)]
    return made + [entry.bytes() for entry in corpus.entries(format, "stream")]


def _outcome(chunks: list[bytes], source: str, target: str) -> tuple[Any, ...]:
    converter = fb.StreamConverter(source=source, target=target)
    try:
        made = b"".join([converter.feed(chunk) for chunk in chunks])
        made += converter.finish()
    except fb.FormatBridgeError as error:
        return type(error), str(error), converter.response().body
    return made, converter.response().body, converter.losses


@pytest.mark.parametrize("is_own", [False, True], ids=["converted", "passed on"])
@pytest.mark.parametrize("source", fb.FORMATS)
def test_what_is_known_by_heart_changes_no_stream(source: str, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stream, recorded or made, is the same bytes, answer and report with the short ways as without."""
    target = source if is_own else "messages" if source != "messages" else "responses"
    streams = _streams(source)
    by_events = [_outcome(_events_of(stream), source, target) for stream in streams]
    short = [_outcome([stream], source, target) for stream in streams]

    monkeypatch.setattr(Refrain, "delta_of", lambda *_, **__: None)
    long = [_outcome([stream], source, target) for stream in streams]

    assert short == long
    assert by_events == long


@pytest.mark.parametrize("source", fb.FORMATS)
def test_most_events_are_heard_with_their_frame(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One event per read is what a live stream is made of; its lines are looked at twice, then no more."""
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
def test_what_looks_like_an_event_and_its_frame_is_one(source: str, data: st.DataObject) -> None:
    """Two events in one read, halves of them, comments and empty lines between: the frame must be all that there is."""
    events = _events_of(_long_stream(source))
    target = "messages" if source != "messages" else "responses"
    between = data.draw(
        st.dictionaries(st.integers(0, len(events)), st.sampled_from([b": hello\n", b"\n", b"event: ping\n", b"data: "]))
    )
    given = b"".join(between.get(at, b"") + event for at, event in enumerate(events))
    edges = list(accumulate(map(len, _events_of(given))))
    cuts = sorted(
        {0, len(given), *data.draw(st.sets(st.sampled_from(edges))), *data.draw(st.sets(st.integers(0, len(given)), max_size=4))}
    )

    assert _outcome([given[a:b] for a, b in pairwise(cuts)], source, target) == _outcome([given], source, target)


def _events_of(stream: bytes) -> list[bytes]:
    """Cut a stream behind each empty line."""
    return [piece for piece in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", stream) if piece]


def _long_stream(source: str) -> bytes:
    """Return a stream of many words, some of which must be escaped."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[Any] = [{"content": f"word{number} é" + "\n" * (number % 7 == 6)} for number in range(40)]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [b"data: " + json.dumps(head | {"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n" for choice in choices]
    chunks.append(b"data: [DONE]\n\n")
    return b"".join(chunks if source == "chat_completions" else fb.convert_stream(chunks, source="chat_completions", target=source))


@pytest.mark.parametrize("target", fb.FORMATS)
def test_what_comes_behind_the_end_is_not_known_by_heart(target: str) -> None:
    """Some servers go on behind ``[DONE]``; the parts that grew are closed by then."""
    stream = _events_of(_long_stream("chat_completions"))
    given = [*stream[:5], stream[-1], *stream[5:]]

    assert _outcome(given, "chat_completions", target) == _outcome([b"".join(given)], "chat_completions", target)


def test_spaces_before_the_last_brace_are_padding() -> None:
    """The vendor of messages pads its events with them; in a text they count."""
    template = Template.of(b'{"delta":{"text":"word"}     }', "word")
    assert template is not None

    assert template.text_of(b'{"delta":{"text":"two } "}  }') == "two } "
    assert template.text_of(b'{"delta":{"text":"three"}}') == "three"


def test_counts_of_events_known_by_heart_are_read_when_they_matter() -> None:
    """generate_content counts up in every event; whoever asks in between, or when the stream is cut, gets the latest count."""

    def event(number: int, **more: Any) -> bytes:
        usage = {"promptTokenCount": 7, "candidatesTokenCount": number, "totalTokenCount": 7 + number}
        part = {"content": {"parts": [{"text": f"word{number} "}], "role": "model"}, "index": 0} | more
        return b"data: " + json.dumps({"candidates": [part], "usageMetadata": usage}).encode() + b"\r\n\r\n"

    converter = fb.StreamConverter(source="generate_content", target="chat_completions")
    made = b"".join(converter.feed(event(number)) for number in range(1, 6))

    assert made.count(b"word") == 5
    assert converter.response().body["usage"]["completion_tokens"] == 5
    converter.feed(event(6))
    made = converter.feed(event(7, finishReason="STOP")) + converter.finish()
    assert b'"completion_tokens":7' in made
