"""Streams of messages: decoding, encoding, and truncation at any byte."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from formatbridge import FORMATS, StreamConverter, TruncatedStreamError, formats, ir
from formatbridge.formats.messages import MESSAGES
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.options import Options
from formatbridge.report.ledger import FieldPaths, Ledger
from formatbridge.streaming.accumulate import Collector
from formatbridge.streaming.replay import events_of_response
from formatbridge.streaming.sse import StreamReader, encode_event
from tests.corpus import Entry, entries, requires_corpus
from tests.fixtures import check
from tests.support import grammar_check
from tests.support.laws import Sample, recorded, shipped

JsonObject = dict[str, Any]

STREAMS = [entry for entry in entries("messages", "stream") if entry.framing == "sse"]
SAMPLES = [*shipped(kind="response"), *recorded(kind="response")]
SAME_FORMAT = [sample for sample in SAMPLES if sample.format == "messages"]
FOREIGN = [sample for sample in SAMPLES if sample.format != "messages"]


def breaches(stream: Iterable[JsonObject]) -> list[str]:
    """Law 8: return where a stream breaks the grammar."""
    data = b"".join(encode_event(json.dumps(event).encode(), event["type"]) for event in stream)
    return grammar_check.check(data, "messages")


# Round trips.


def parsed(data: bytes) -> list[JsonObject]:
    reader = StreamReader()
    return [json.loads(event.data) for event in [*reader.feed(data), *reader.finish()]]


def decoded(stream: Iterable[JsonObject]) -> list[events.Event]:
    decoder = MESSAGES.stream_decoder()
    return [event for raw in stream for event in decoder.feed(raw)] + decoder.finish("end_of_bytes")


def collected(emitted: Iterable[events.Event]) -> ir.Response:
    collector = Collector("messages")
    for event in emitted:
        collector.feed(event)
    return collector.response()


def encoded(emitted: Iterable[events.Event], options: Options | None = None) -> list[JsonObject]:
    encoder = MESSAGES.stream_encoder(options or Options(), None)
    results: list[JsonObject] = []
    for event in emitted:
        data = encoder.feed(event)
        assert not data or data.endswith(b"\n\n")
        assert all(line.startswith((b"event: ", b"data: ")) for line in data.split(b"\n") if line)
        results += parsed(data)
    return results


def whole(answer: ir.Response) -> JsonObject:
    return MESSAGES.encode_response(answer, Ledger({}, FieldPaths()), Options(), None)


def answer_of(sample: Sample) -> ir.Response:
    return formats.load(sample.format).decode_response(check(sample.body, sample.format, "response"))


def naively_streamed(body: JsonObject) -> Iterator[JsonObject]:
    """Split an answer as the vendor's server would, without the library."""
    delayed = ("stop_reason", "stop_sequence", "stop_details", "container")
    start = {key: value for key, value in body.items() if key not in delayed} | {"content": [], "stop_reason": None}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        empty, deltas = dict(block), list[JsonObject]()
        if block["type"] == "text":
            empty = {key: value for key, value in block.items() if key != "citations"} | {"text": ""}
            deltas += [{"type": "citations_delta", "citation": each} for each in block.get("citations") or ()]
            deltas += [{"type": "text_delta", "text": piece} for piece in _cut(block["text"])]
        elif block["type"] == "thinking":
            empty = block | {"thinking": "", "signature": ""}
            deltas += [{"type": "thinking_delta", "thinking": piece} for piece in _cut(block["thinking"])]
            deltas += [{"type": "signature_delta", "signature": block.get("signature")}]
        elif "input" in block:
            empty = block | {"input": {}}
            deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_cut(json.dumps(block["input"]))]]
        elif block["type"] == "compaction":
            empty = block | {"content": None}
            deltas += [{"type": "compaction_delta", "content": block["content"]}]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {key: body[key] for key in delayed if key in body}, "usage": body.get("usage")}
    yield {"type": "message_stop"}


def _cut(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def naively_collected(stream: Iterable[JsonObject]) -> JsonObject:
    """Accumulate a stream as the official client does."""
    body: JsonObject = {}
    for event in stream:
        match event["type"]:
            case "message_start":
                body = dict(event["message"])
            case "content_block_start":
                body["content"] = [*body["content"], dict(event["content_block"])]
            case "content_block_delta":
                _add(body["content"][event["index"]], event["delta"])
            case "message_delta":
                body |= {key: value for key, value in event["delta"].items() if value is not None}
                body["usage"] = body["usage"] | {key: value for key, value in event["usage"].items() if value is not None}
                body |= {key: value for key, value in event.items() if key not in ("type", "delta", "usage")}
            case "message_stop":
                body |= {key: value for key, value in event.items() if key != "type"}
    for block in body["content"]:
        text = block.pop("json", "")
        if text.strip():
            block["input"] = _input(text)
    return body


def _input(text: str) -> JsonObject:
    try:
        raw: JsonObject = json.loads(text)
    except ValueError:
        raw = {"raw_arguments": text}
    return raw


def _add(block: JsonObject, delta: JsonObject) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] = delta["signature"]
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        case "input_json_delta":
            block["json"] = block.get("json", "") + delta["partial_json"]
        case "compaction_delta":
            block |= {key: value for key, value in delta.items() if key != "type"}


def comparable(answer: ir.Response) -> ir.Response:
    """Return an answer with arguments as objects, which mean the same as text, and without a place for its only choice."""
    for choice in answer.choices:
        choice.src = ""
        for part in choice.parts:
            if isinstance(part, ir.ToolCall) and isinstance(part.arguments, str):
                part.arguments = _input(part.arguments or "{}")
    return answer


# What is read.


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: entry.id)
def test_recorded_streams_fold_to_the_whole_answer(entry: Entry) -> None:
    """Laws 6 and 9: a stream ends once, and its events add up to the answer of the official client."""
    stream = parsed(entry.bytes())

    emitted = decoded(stream)

    assert [type(event) for event in emitted if isinstance(event, events.End | events.Failed)] == [events.End]
    assert isinstance(emitted[-1], events.End)
    wanted = MESSAGES.decode_response(check(naively_collected(stream), "messages", "response"))
    assert comparable(collected(emitted)) == comparable(wanted)


@pytest.mark.parametrize("sample", SAME_FORMAT, ids=str)
def test_an_answer_split_into_events_folds_to_the_answer(sample: Sample) -> None:
    """Law 6: every block, extra field, citation and token is the same from deltas and from a whole answer."""
    wanted = comparable(answer_of(sample))

    result = comparable(collected(decoded(naively_streamed(check(sample.body, "messages", "response")))))

    if wanted.choices[0].finish is None:
        result.choices[0].finish = None
    assert result == wanted


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: entry.id)
def test_a_truncated_stream_has_no_end(entry: Entry) -> None:
    """Law 9: without the end of the answer there is neither an end nor a failure."""
    stream = parsed(entry.bytes())
    last = next(at for at, event in enumerate(stream) if event["type"] in ("message_delta", "message_stop"))
    for cut in range(last + 1):
        decoder = MESSAGES.stream_decoder()

        emitted = [event for raw in stream[:cut] for event in decoder.feed(raw)] + decoder.finish("end_of_bytes")

        assert not decoder.is_complete
        assert not any(isinstance(event, events.End | events.Failed | events.ChoiceEnd) for event in emitted)


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: entry.id)
def test_the_answer_does_not_depend_on_where_deltas_are_split(entry: Entry) -> None:
    """Law 7: the same text in other pieces is the same answer."""
    stream = parsed(entry.bytes())

    assert collected(decoded(_recut(stream))) == collected(decoded(stream))


def _recut(stream: list[JsonObject]) -> Iterator[JsonObject]:
    for event in stream:
        delta = event.get("delta") or {}
        member = next((key for key in ("text", "thinking", "partial_json") if delta.get(key)), None)
        if member is None:
            yield event
        else:
            yield from (event | {"delta": delta | {member: letter}} for letter in delta[member])


# What servers get wrong.


START: JsonObject = {"type": "message_start", "message": {"id": "msg_1", "model": "m", "content": [], "usage": {"input_tokens": 1}}}
END: JsonObject = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
STOP: JsonObject = {"type": "message_stop"}


def block(index: Any, content: JsonObject) -> JsonObject:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta_event(index: Any, kind: str, **delta: Any) -> JsonObject:
    return {"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", **delta}}


def stopped(index: Any) -> JsonObject:
    return {"type": "content_block_stop", "index": index}


HELLO = [block(0, {"type": "text", "text": ""}), delta_event(0, "text", text="Hello"), stopped(0)]
ODD: dict[str, list[JsonObject]] = {
    "no stop behind the end": [START, *HELLO, END],
    "no end before the stop": [START, *HELLO, STOP],
    "no start": [*HELLO, END, STOP],
    "no start of the block": [START, HELLO[1], END, STOP],
    "no stop of the block": [START, *HELLO[:2], END, STOP],
    "no index": [START, *({**event, "index": None} for event in HELLO), END, STOP],
    "the text in the block's start": [START, block(0, {"type": "text", "text": "Hello"}), stopped(0), END, STOP],
    "a block without its text": [START, block(0, {"type": "text"}), *HELLO[1:], END, STOP],
    "null for text": [START, HELLO[0], delta_event(0, "text", text=None), *HELLO[1:], END, STOP],
    "two ends": [START, *HELLO, END, END, STOP],
    "two starts": [START, START, *HELLO, END, STOP],
    "events behind the stop": [START, *HELLO, END, STOP, *HELLO, STOP],
    "pings and unknown events": [{"type": "ping"}, START, {"type": "vendor_event", "x": 1}, *HELLO, {"type": "ping"}, END, STOP],
    "the content in the start": [{**START, "message": {**START["message"], "content": [{"type": "text", "text": "Hello"}]}}, END, STOP],
}  # fmt: skip


@pytest.mark.parametrize("stream", ODD.values(), ids=ODD)
def test_streams_with_missing_or_repeated_events_are_read(stream: list[JsonObject]) -> None:
    """Missing events are replaced, and nothing is read twice."""
    emitted = decoded(stream)

    assert [part.text for part in collected(emitted).choices[0].parts if isinstance(part, ir.Text)] == ["Hello"]
    assert sum(isinstance(event, events.End) for event in emitted) == 1
    assert isinstance(emitted[-1], events.End)


CALL = [block(0, {"type": "tool_use", "id": "t", "name": "f", "input": {}}), delta_event(0, "input_json", partial_json='{"a":')]
CUT: dict[str, list[JsonObject]] = {
    "half a call": [START, *CALL, STOP],
    "a text that nothing closed": [START, *HELLO[:2], STOP],
    "a call behind a whole text": [START, *HELLO, {**CALL[0], "index": 1}, STOP],
    "no content": [START, STOP],
    "nothing but the stop": [STOP],
    "more behind the stop": [START, *CALL, STOP, delta_event(0, "input_json", partial_json="1}"), stopped(0), END, STOP],
}


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("stream", CUT.values(), ids=CUT)
def test_a_message_stop_without_a_stop_reason_completes_no_call(stream: list[JsonObject], target: ir.Format) -> None:
    """Law 9: some relays send ``message_stop`` after a broken stream; its half call must not be run."""
    converter = StreamConverter(source="messages", target=target)
    full = {"type": "message", "role": "assistant", "stop_reason": None, "stop_sequence": None, **START["message"]}

    converter.feed(b"".join(b"data: %b\n\n" % dumps(event | {"message": full} if event is START else event) for event in stream))

    with pytest.raises(TruncatedStreamError, match="after a stop reason or complete blocks"):
        converter.finish()


def test_a_stop_reason_closes_open_blocks() -> None:
    """The server sent a finish reason, so the answer is complete although a block is open."""
    emitted = decoded([START, *CALL, {**END, "delta": {"stop_reason": "max_tokens"}}, STOP])

    assert [event.finish.reason for event in emitted if isinstance(event, events.ChoiceEnd)] == ["length"]


def test_a_repeated_message_start_is_ignored() -> None:
    """Values of both were sent; a value of the second only is emitted with the first if nothing was sent yet."""
    bare = {**START, "message": {"content": []}}

    for stream in ([START, START, *HELLO, END, STOP], [bare, START, *HELLO, END, STOP], [START, *HELLO, START, END, STOP]):
        emitted = decoded(stream)

        assert next(event.id for event in emitted if isinstance(event, events.Start)) == "msg_1"
        assert not any(isinstance(event, events.StartUpdate) for event in emitted)


def test_overlapping_blocks_are_kept_apart() -> None:
    """Each delta belongs to the block that it names."""
    calls = [block(at, {"type": "tool_use", "id": f"t{at}", "name": "f", "input": {}}) for at in (0, 1)]
    deltas = [delta_event(at, "input_json", partial_json=text) for text in ('{"a"', ":1}") for at in (0, 1)]

    parts = collected(decoded([START, *calls, *deltas, stopped(1), stopped(0), END, STOP])).choices[0].parts

    assert [(part.id, part.arguments) for part in parts if isinstance(part, ir.ToolCall)] == [("t0", '{"a":1}'), ("t1", '{"a":1}')]


@pytest.mark.parametrize(
    "error",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"},
        {"type": "error", "error": "Overloaded"},
        {"error": {"message": "Overloaded", "code": 529}},
        {"message": "Overloaded"},
    ],
)
def test_events_after_an_error_are_ignored(error: JsonObject) -> None:
    """Law 9: an error never becomes an end, whatever its shape."""
    emitted = decoded([START, *HELLO[:2], error, HELLO[2], END, STOP])

    failed = [event for event in emitted if isinstance(event, events.Failed)]
    assert emitted[-1:] == failed
    assert failed[0].error.message == "Overloaded"
    result = encoded(emitted)
    assert result[-1]["type"] == "error"
    assert not breaches(result)


def test_the_end_is_emitted_with_the_last_event() -> None:
    """Law 10: the stop event has the end, not the end of the bytes."""
    decoder = MESSAGES.stream_decoder()

    emitted = [event for raw in (START, *HELLO, END, STOP) for event in decoder.feed(raw)]

    assert isinstance(emitted[-1], events.End)
    assert decoder.is_complete
    assert decoder.finish("end_of_bytes") == decoder.finish("done") == []


def test_the_model_of_an_answer_is_the_fallback_model() -> None:
    """Law 6: the start is delayed until the block with its name, which is no content."""
    over = {"type": "fallback", "from": {"model": "m"}, "to": {"model": "n"}}

    answer = collected(decoded([START, block(0, over), stopped(0), HELLO[0] | {"index": 1}, stopped(1), END, STOP]))

    assert (answer.model, answer.extra) == ("n", {"content/0": over, "model": "m"})


# What is written.


@pytest.mark.parametrize("sample", SAME_FORMAT, ids=str)
def test_a_written_stream_collects_to_the_whole_answer(sample: Sample) -> None:
    """Laws 6 and 8: an answer that is replayed, written, read and collected is the same, in a stream that follows the grammar."""
    answer = answer_of(sample)

    stream = encoded(events_of_response(answer))

    assert not breaches(stream)
    assert whole(collected(decoded(stream))) == whole(answer)
    assert naively_collected(stream) == whole(answer)


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: entry.id)
def test_recorded_streams_are_written_as_the_whole_answer(entry: Entry) -> None:
    """Law 6: recorded events, not only replayed ones, accumulate to the answer."""
    emitted = decoded(parsed(entry.bytes()))

    stream = encoded(emitted)

    assert not breaches(stream)
    assert naively_collected(stream) == whole(collected(emitted))


def early(emitted: Iterable[events.Event]) -> list[events.Event]:
    """Move tokens of calls and texts to the start of their part, as live streams do if the format has a field for them."""
    results = list(emitted)
    tokens = {event.index: event.signature for event in results if isinstance(event, events.PartUpdate) and event.signature}
    for at, event in enumerate(results):
        if isinstance(event, events.PartStart) and event.index in tokens and not isinstance(event.part, ir.Reasoning | ir.Refusal):
            results[at] = events.PartStart(event.choice, event.index, replace(event.part, signature=tokens.pop(event.index)))
    return [
        event for event in results if not (isinstance(event, events.PartUpdate) and event.signature and event.index not in tokens)
    ]


def uncited(body: JsonObject) -> JsonObject:
    """Join texts that only citations separated: their text was sent before the citations, so it has no borders there."""
    blocks: list[JsonObject] = []
    for block in body["content"]:
        if blocks and block["type"] == blocks[-1]["type"] == "text":
            blocks[-1] = {"type": "text", "text": blocks[-1]["text"] + block["text"]}
        else:
            blocks.append({key: value for key, value in block.items() if key != "citations"})
    return body | {"content": blocks}


@pytest.mark.parametrize("format", ["chat_completions", "responses", "generate_content"])
def test_answers_of_other_formats_are_written_as_the_whole_answer(format: ir.Format) -> None:
    """Laws 6 and 8: the same with content that only other formats have, except the spans of citations."""
    for sample in SAMPLES:
        if sample.format != format:
            continue
        answer = answer_of(sample)
        if answer.error:
            continue

        stream = encoded(early(events_of_response(answer)))

        assert not breaches(stream), sample
        assert uncited(naively_collected(stream)) == uncited(whole(answer)), sample


CITED = ir.Citation(kind="web", url="https://a.example", title="A", cited_text="b", start=0, end=1)
TOKEN = ir.Signature(issuer="generate_content", kind="thought", token="dG9r")


def answered(*parts: events.Event) -> list[events.Event]:
    return [events.Start("msg_1", "m"), *parts, events.ChoiceEnd(0, ir.Finish("stop")), events.End()]


def contents(stream: list[JsonObject]) -> list[JsonObject]:
    assert not breaches(stream)
    content: list[JsonObject] = naively_collected(stream)["content"]
    return content


def test_deltas_of_the_open_block_are_emitted_at_once() -> None:
    """Law 10: text, reasoning and arguments of the open block are never delayed."""
    encoder = MESSAGES.stream_encoder(Options(), None)
    encoder.feed(events.Start("msg_1", "m"))
    parts: list[ir.Part] = [
        ir.Text(""),
        ir.Reasoning(),
        ir.Refusal(text=""),
        ir.ToolCall("c", "f", ""),
        ir.ToolCall("d", "g", "", kind="custom"),
    ]
    for index, part in enumerate(parts):
        encoder.feed(events.PartStart(0, index, part))
        for piece in ('{"a":"\u2028', '\n\U0001f600"}'):
            assert [event["type"] for event in parsed(encoder.feed(events.Delta(0, index, piece)))][-1] == "content_block_delta"
        encoder.feed(events.PartEnd(0, index))


def test_parallel_parts_are_emitted_one_after_the_other() -> None:
    """One block is open at a time, and each call still gets all of its arguments."""
    calls = [ir.ToolCall(f"c{at}", "f", "") for at in range(3)]
    emitted = answered(
        *(events.PartStart(0, at, call) for at, call in enumerate(calls)),
        *(events.Delta(0, at, text) for text in ('{"a":', "1}") for at in range(3)),
        *(events.PartEnd(0, at) for at in (1, 0, 2)),
    )

    content = contents(encoded(emitted))

    assert content == [{"type": "tool_use", "id": f"c{at}", "name": "f", "input": {"a": 1}} for at in range(3)]


def test_open_parts_are_closed_by_the_end() -> None:
    """A stream that ends has no open block."""
    emitted = answered(events.PartStart(0, 0, ir.Text("")), events.Delta(0, 0, "a"), events.PartStart(0, 1, ir.Text("b")))

    assert contents(encoded(emitted)) == [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.mark.parametrize("pieces", [[], [""], [" ", "\n"], [" ", "{}"]])
def test_a_call_without_arguments_has_an_empty_object(pieces: list[str]) -> None:
    """Clients parse the accumulated text, and an empty text is no JSON."""
    emitted = answered(
        events.PartStart(0, 0, ir.ToolCall("c", "f", "")), *(events.Delta(0, 0, piece) for piece in pieces), events.PartEnd(0, 0)
    )

    stream = encoded(emitted)

    text = "".join(event["delta"]["partial_json"] for event in stream if event["type"] == "content_block_delta")
    assert json.loads(text) == {}
    assert breaches(stream) == []


def test_free_text_input_is_escaped_in_each_delta() -> None:
    """A custom call becomes one argument with any text."""
    for pieces in ([], ['a"b', "\n\\", "\u2028"]):
        call = events.PartStart(0, 0, ir.ToolCall("c", "f", "", kind="custom"))
        emitted = answered(call, *(events.Delta(0, 0, piece) for piece in pieces), events.PartEnd(0, 0))

        assert contents(encoded(emitted))[0]["input"] == {"input": "".join(pieces)}


def test_a_block_without_text_is_never_opened() -> None:
    """The vendor rejects an empty text in the next request."""
    parts: list[ir.Part] = [ir.Text(""), ir.Refusal(text=""), ir.Reasoning()]
    emitted = [event for at, part in enumerate(parts) for event in (events.PartStart(0, at, part), events.PartEnd(0, at))]

    assert contents(encoded(answered(*emitted))) == []


def test_citations_are_emitted_after_their_text() -> None:
    """The block of a text has its citations, in their order."""
    other = replace(CITED, url="https://b.example")
    emitted = answered(
        events.PartStart(0, 0, ir.Text("")),
        events.Delta(0, 0, "bc"),
        *(events.PartUpdate(0, 0, citation=each) for each in (CITED, other)),
        events.PartEnd(0, 0),
    )

    assert [each["url"] for each in contents(encoded(emitted))[0]["citations"]] == ["https://a.example", "https://b.example"]


@pytest.mark.parametrize("carry", [True, False])
def test_a_token_after_its_text_is_carried_in_a_separate_block(carry: bool) -> None:
    """The text was sent already; the token returns from its separate block."""
    emitted = answered(
        events.PartStart(0, 0, ir.Text("")),
        events.Delta(0, 0, "a"),
        events.PartUpdate(0, 0, signature=TOKEN),
        events.PartEnd(0, 0),
        events.PartStart(0, 1, ir.ToolCall("c", "f", "{}")),
        events.PartEnd(0, 1),
    )

    stream = encoded(emitted, Options(carry_reasoning=carry))

    assert not breaches(stream)
    parts = collected(decoded(stream)).choices[0].parts
    assert [type(part).__name__ for part in parts] == (["Text", "Reasoning", "ToolCall"] if carry else ["Text", "ToolCall"])
    tokens = [
        (part.signature.issuer, part.signature.token) for part in parts if not isinstance(part, ir.Refusal) and part.signature
    ]
    assert tokens == ([("generate_content", "dG9r")] if carry else [])


def test_the_first_of_several_choices_is_written() -> None:
    """This format has one answer."""
    emitted = [
        event
        for choice in (0, 1)
        for event in (
            events.PartStart(choice, 0, ir.Text(f"c{choice}")),
            events.PartEnd(choice, 0),
            events.ChoiceEnd(choice, ir.Finish("length" if choice else "stop")),
        )
    ]

    stream = encoded([events.Start("msg_1", "m"), *emitted, events.End()])

    assert contents(stream) == [{"type": "text", "text": "c0"}]
    assert naively_collected(stream)["stop_reason"] == "end_turn"


def test_a_failed_stream_has_no_block_stop_event() -> None:
    """A truncated source never becomes a normal end."""
    encoder = MESSAGES.stream_encoder(Options(), None)
    output = b"".join(encoder.feed(event) for event in answered(events.PartStart(0, 0, ir.Text("a")))[:2])

    output += encoder.fail(ir.Error(kind="server", message="cut off"))

    assert [event["type"] for event in parsed(output)] == ["message_start", "content_block_start", "content_block_delta", "error"]
    assert not breaches(parsed(output))
    assert encoder.feed(events.End()) == encoder.fail(ir.Error(kind="server", message="again")) == b""


# The official client.


def judged(stream: list[JsonObject]) -> JsonObject:
    """Return the answer that the official client accumulates from a stream."""
    anthropic = pytest.importorskip("anthropic", reason="the official SDK 'anthropic' is not installed")
    httpx2 = pytest.importorskip("httpx2", reason="the official SDK's client is not installed")
    data = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in stream)
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http_client,
        anthropic.Anthropic(api_key="k", http_client=http_client, max_retries=0) as client,
        client.beta.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "a"}]) as reading,
    ):
        kinds = [event.type for event in reading]
        message: JsonObject = reading.get_final_message().model_dump(mode="json", exclude_unset=True, warnings=False)
    assert kinds[-1] == "message_stop"
    return message


UNREADABLE = {
    "response-tools_arguments_broken-chat_completions": "arguments that turn out to be no JSON have left, and the client guesses",
    "response-tools_arguments_broken-responses": "arguments that turn out to be no JSON have left, and the client guesses",
    "response-finish_length_calls-chat_completions": "arguments that turn out to be no JSON have left, and the client guesses",
}


def test_the_official_client_reads_what_is_written() -> None:
    """Law 5: it reads to the end, and gets the same answer."""
    for sample in shipped(kind="response"):
        answer = answer_of(sample)
        if answer.error or sample.id in UNREADABLE:
            continue
        stream = encoded(early(events_of_response(answer)))

        message, wanted = judged(stream), naively_collected(stream)

        for each in message["content"]:
            each.pop("parsed_output", None)
        assert [_without_empty(each) for each in message["content"]] == [_without_empty(each) for each in wanted["content"]], sample
        assert {key: message[key] for key in ("id", "model", "stop_reason")} == {
            key: wanted[key] for key in ("id", "model", "stop_reason")
        }
        assert message["usage"]["output_tokens"] == wanted["usage"]["output_tokens"]
        assert message["usage"]["input_tokens"] == wanted["usage"]["input_tokens"]


def _without_empty(block: JsonObject) -> JsonObject:
    return {key: value for key, value in block.items() if value not in (None, [])}
