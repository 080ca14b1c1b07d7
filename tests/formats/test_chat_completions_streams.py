"""Streams of chat_completions: decoding, encoding, and truncation at any byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from formatbridge import (
    FORMATS,
    StreamConverter,
    TruncatedStreamError,
    collect_stream,
    convert_request,
    convert_response,
    ir,
    iter_events,
)
from formatbridge.formats.chat_completions.field_paths import FIELD_PATHS
from formatbridge.formats.chat_completions.response import decode_response, encode_response
from formatbridge.formats.chat_completions.stream_decoder import StreamDecoder
from formatbridge.formats.chat_completions.stream_encoder import StreamEncoder
from formatbridge.ir import events
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.streaming.accumulate import Collector
from formatbridge.streaming.replay import events_of_response
from formatbridge.streaming.sse import DONE, StreamReader, encode_event
from tests.corpus import Entry, entries, requires_corpus
from tests.fixtures import check, streams
from tests.support import grammar_check
from tests.support.laws import Sample, recorded, shipped

NAME: ir.Format = "chat_completions"
STREAMS = [entry for entry in entries(NAME, "stream") if entry.framing == "sse"]
TOKENS = {"data", "signature"}
ANSWERS = [*shipped(NAME, "response"), *recorded(NAME, "response")]


def _decode(text: bytes) -> list[events.Event]:
    reader, decoder = StreamReader(), StreamDecoder()
    emitted: list[events.Event] = []
    for event in [*reader.feed(text), *reader.finish()]:
        emitted += decoder.finish("done") if event.data == DONE else decoder.feed(json.loads(event.data))
    return [*emitted, *decoder.finish("end_of_bytes")]


def _collect(emitted: list[events.Event]) -> ir.Response:
    collector = Collector(NAME)
    for event in emitted:
        collector.feed(event)
    return collector.response()


def _encode(answer: ir.Response) -> bytes:
    encoder = StreamEncoder(Options(), None)
    return b"".join(encoder.feed(event) for event in events_of_response(answer))


def _body(answer: ir.Response) -> Any:
    return encode_response(answer, Ledger({}, FIELD_PATHS), Options(), None)


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: entry.id)
def test_a_recorded_stream_has_one_end(entry: Entry) -> None:
    """Servers break every rule; the answer is complete, or the failure is one."""
    emitted = _decode(entry.bytes())

    assert sum(isinstance(event, events.End | events.Failed) for event in emitted) == 1
    assert isinstance(emitted[-1], events.End | events.Failed)
    assert _body(_collect(emitted))["choices"] is not None


@pytest.mark.parametrize("sample", ANSWERS, ids=str)
def test_a_replayed_answer_decodes_to_the_answer(sample: Sample) -> None:
    """Law 6: the accumulated chunks are the answer, and law 8: they follow the grammar."""
    whole = decode_response(check(sample.body, NAME, "response"))

    stream = _encode(whole)

    assert grammar_check.check(stream, NAME) == []
    assert _comparable(_body(_collect(_decode(stream)))) == _comparable(_body(whole))


def _comparable(body: Any) -> Any:
    """Leave out values that differ in a stream:

    details of tokens, blank lines between reasoning sections, empty text, the expiry of audio.
    """
    for choice in body["choices"]:
        choice["message"].pop("audio", None)
        choice["message"]["content"] = choice["message"]["content"] or None
        details = choice["message"].pop("reasoning_details", ())
        choice["message"]["tokens"] = [
            detail.get("data") or detail.get("signature") for detail in details if detail.keys() & TOKENS
        ]
        choice["message"]["reasoning_content"] = (choice["message"].get("reasoning_content") or "").split()
    return body


def test_interleaved_calls_keep_their_arguments_apart() -> None:
    """A server streams two calls in turn; both get their text."""
    chunks = [
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"x":'}}, {"index": 1, "function": {"arguments": '{"y":'}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": "2}"}}, {"index": 0, "function": {"arguments": "1}"}}]},
    ]

    answer = _collect(_run([*chunks, None]))

    assert [(part.name, part.arguments) for part in answer.choices[0].parts if isinstance(part, ir.ToolCall)] == [
        ("f", '{"x":1}'),
        ("g", '{"y":2}'),
    ]


def test_an_index_that_is_used_again_begins_a_new_call() -> None:
    """Some servers use index 0 for every call; ids distinguish them."""
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    second = {"index": 0, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}

    answer = _collect(_run([{"tool_calls": [first]}, {"tool_calls": [second]}, None]))

    assert [part.id for part in answer.choices[0].parts if isinstance(part, ir.ToolCall)] == ["a", "b"]


def test_a_truncated_stream_has_no_end_event() -> None:
    """Law 9: a truncated stream has no end event."""
    assert not any(isinstance(event, events.End) for event in _run([{"content": "Hel"}]))


def _run(deltas: list[dict[str, Any] | None]) -> list[events.Event]:
    decoder = StreamDecoder()
    emitted: list[events.Event] = []
    for delta in deltas:
        choice = {"index": 0, "delta": delta or {}, "finish_reason": None if delta else "tool_calls"}
        emitted += decoder.feed({"id": "x", "model": "m", "created": 1, "choices": [choice]})
    return [*emitted, *decoder.finish("end_of_bytes")]


def _chunks(*deltas: dict[str, Any], logprobs: dict[str, Any] | None = None) -> bytes:
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"})
    return b"".join(b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n" for choice in choices)


def test_an_index_that_is_used_again_leads_to_the_latest_call() -> None:
    """Such servers use index 0 for every call; the pieces belong to the call that began last."""

    def piece(arguments: str, call_id: str | None = None) -> dict[str, Any]:
        function = {"name": "f" if call_id else None, "arguments": arguments}
        return {"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]}

    answer = _collect(_decode(_chunks(piece("{", "a"), piece("}"), piece("[", "b"), piece("]"))))

    calls = [part for part in answer.choices[0].parts if isinstance(part, ir.ToolCall)]
    assert [(call.id, call.arguments) for call in calls] == [("a", "{}"), ("b", "[]")]


def test_an_id_in_a_subsequent_delta_is_no_second_call() -> None:
    """Some servers send the function first and the id later."""
    delayed = [
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "}"}}]},
    ]

    answer = _collect(_decode(_chunks(*delayed)))

    assert [(part.id, part.arguments) for part in answer.choices[0].parts if isinstance(part, ir.ToolCall)] == [("a", "{}")]


def _piece(arguments: str, name: str | None = None, call_id: str | None = None, index: int | None = 0) -> dict[str, Any]:
    message = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in message.items() if value is not None}]}


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([_piece('{"x":1}', "f", ""), _piece('{"y":2}', "g", "")], [("f", '{"x":1}'), ("g", '{"y":2}')]),
        ([_piece('{"x":1}', "f", ""), _piece('{"x":2}', "f", "")], [("f", '{"x":1}'), ("f", '{"x":2}')]),
        ([_piece('{"x":1}', "f", index=None), _piece('{"x":2}', "f", index=None)], [("f", '{"x":1}'), ("f", '{"x":2}')]),
        (
            [_piece('{"x":', "f"), _piece("1}"), _piece("", "f"), _piece('{"x":'), _piece("2}")],
            [("f", '{"x":1}'), ("f", '{"x":2}')],
        ),
        ([_piece("", "f"), _piece("", "g"), _piece("{}")], [("f", ""), ("g", "{}")]),
        ([_piece('{"x":1}', "f", "a"), _piece('{"y":2}', "g")], [("f", '{"x":1}'), ("g", '{"y":2}')]),
        ([_piece('{"x":', "f"), _piece("1", "f"), _piece("}", "f"), _piece("", "f"), _piece(" ", "f")], [("f", '{"x":1} ')]),
        ([_piece('{"x":"}', "f"), _piece('{}"', "f"), _piece("}", "f")], [("f", '{"x":"}{}"}')]),
        ([_piece('{"x":', "f", "a"), _piece("1}", call_id="b"), _piece("", call_id="c")], [("f", '{"x":1}')]),
        ([_piece('{"x":1}', "f"), _piece("", "f", "a")], [("f", '{"x":1}')]),
    ],
    ids=[
        "another name",
        "the same name behind whole arguments",
        "no index",
        "in pieces",
        "no arguments",
        "another name next to ids",
        "a name in every piece",
        "braces in a text",
        "an id that changes",
        "an id that comes last",
    ],
)
@pytest.mark.parametrize("target", [NAME, "responses"])
def test_calls_at_one_index_are_separated_without_ids(target: ir.Format, pieces: list[Any], calls: list[tuple[str, str]]) -> None:
    """Servers without ids, or with an id for each piece, send the name at the start of a call; two calls must not become one."""
    collected = collect_stream([_chunks(*pieces)], source=NAME, target=target).body

    message = (
        [item for item in collected["output"] if item["type"] == "function_call"]
        if target == "responses"
        else [call["function"] for call in collected["choices"][0]["message"]["tool_calls"]]
    )
    assert [(each["name"], each["arguments"]) for each in message] == calls


def test_another_id_of_a_call_is_reported() -> None:
    """The first id of a call counts; a later one is in the report."""
    collected = collect_stream([_chunks(_piece("{", "f", "a"), _piece("}", call_id="b"))], source=NAME, target="messages")

    assert [(loss.path, loss.before) for loss in collected.losses if loss.severity == "lossy"] == [
        ("/choices/0/message/tool_calls/0/id", "b")
    ]


def test_logprobs_of_a_refusal_belong_to_the_refusal() -> None:
    """Log probabilities are separate for text and refusal, in the source and in the target."""
    tokens = [{"token": "No", "logprob": -0.5, "bytes": [78, 111], "top_logprobs": []}]
    stream = _chunks({"refusal": "No"}, logprobs={"content": None, "refusal": tokens})

    answer = _collect(_decode(stream))

    assert [token.src for token in answer.choices[0].refusal_logprobs or ()] == ["/choices/0/logprobs/refusal/0"]
    assert _body(answer)["choices"][0]["logprobs"] == {"content": None, "refusal": tokens}
    assert _body(_collect(_decode(_encode(answer))))["choices"][0]["logprobs"] == {"content": None, "refusal": tokens}


def test_arguments_after_the_finish_reason_are_kept() -> None:
    """Servers that send the finish reason too early continue the call; a call without a name is not created."""
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}
    delayed = {"index": 0, "function": {"arguments": "1}"}}
    decoder = StreamDecoder()
    emitted: list[events.Event] = []

    for choice in (
        {"delta": {"tool_calls": [call]}},
        {"delta": {}, "finish_reason": "tool_calls"},
        {"delta": {"tool_calls": [delayed]}},
    ):
        emitted += decoder.feed({"id": "x", "choices": [{"index": 0, **choice}]})
    emitted += decoder.finish("end_of_bytes")

    calls = [part for part in _collect(emitted).choices[0].parts if isinstance(part, ir.ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [("f", '{"a":1}')]


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}


@pytest.mark.parametrize(
    "deltas",
    [
        [],
        [{"role": "assistant", "content": ""}],
        [{"content": "Now:"}, {"tool_calls": [CALL | {"function": {"name": "f", "arguments": '{"a":'}}]}],
        [
            {"tool_calls": [CALL | {"function": {"name": "f", "arguments": "{"}}]},
            {"tool_calls": [{"function": {"arguments": ":"}}]},
        ],
        [{"tool_calls": [CALL | {"function": {"name": "f", "arguments": ""}}]}],
        [{"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}],
    ],
    ids=[
        "nothing",
        "a role",
        "half a call behind a text",
        "half a call in pieces",
        "a call without arguments",
        "a call without a name",
    ],
)
@pytest.mark.parametrize("target", FORMATS)
def test_done_does_not_complete_an_empty_or_partial_answer(target: ir.Format, deltas: list[Any]) -> None:
    """A relay that reached its time limit writes ``[DONE]`` without a finish reason: half a call must not be created."""
    chunks = [{"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    data = b"".join(encode_event(json.dumps(chunk).encode()) for chunk in chunks)
    converter = StreamConverter(source=NAME, target=target)

    converter.feed(data + encode_event(DONE))

    assert converter.has_ended
    with pytest.raises(TruncatedStreamError, match="after a whole response"):
        converter.finish()


@pytest.mark.parametrize(
    "deltas",
    [
        [{"content": "He"}, {"content": "llo"}, {"content": "!"}],
        [{"tool_calls": [CALL]}],
        [
            {"tool_calls": [CALL | {"function": {"name": "f", "arguments": ""}}]},
            *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in ("{", '"a"', ":", "1", "}")),
        ],
        [{"tool_calls": [{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "f", "input": "{"}}]}],
    ],
    ids=["a text", "a call", "a call in pieces", "free text"],
)
def test_done_completes_an_answer_with_complete_content(deltas: list[Any]) -> None:
    """Servers that never send a finish reason are accepted."""
    chunks = [{"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    data = b"".join(encode_event(json.dumps(chunk).encode()) for chunk in chunks)

    collected = collect_stream([data + encode_event(DONE)], source=NAME, target="messages")

    assert collected.body["stop_reason"] == ("end_turn" if "content" in deltas[0] else "tool_use")


@pytest.mark.parametrize("done", [b"data: [DONE] \n\n", b"data:  [DONE]\n\n", b"data:[DONE]\t\n\n"])
@pytest.mark.parametrize("target", FORMATS)
def test_done_ends_a_stream_with_white_space_around_it(target: ir.Format, done: bytes) -> None:
    """The official client compares the beginning of the data only, so servers send such lines."""
    chunk = {"id": "x", "model": "m", "choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": None}]}
    converter = StreamConverter(source=NAME, target=target)

    converter.feed(encode_event(json.dumps(chunk).encode()) + done)

    assert converter.has_ended
    converter.finish()
    assert len(list(iter_events([encode_event(json.dumps(chunk).encode()) + done], format=NAME))) == 1


@pytest.mark.parametrize("target", FORMATS)
def test_a_whole_message_is_read_as_its_only_delta(target: ir.Format) -> None:
    """A server without streaming sends one event; its answer is that of a request without streaming."""
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    data = encode_event(json.dumps(answer).encode()) + encode_event(DONE)

    collected = collect_stream([data], source=NAME, target=target)

    assert collected.body == convert_response(answer, source=NAME, target=target).body


def test_a_message_next_to_a_delta_is_not_read_as_text() -> None:
    """Some servers repeat the whole text so far in each event."""
    items = [
        {"delta": {"content": text}, "message": {"content": accumulated}} for text, accumulated in (("Hel", "Hel"), ("lo", "Hello"))
    ]
    decoder = StreamDecoder()
    emitted = [event for each in items for event in decoder.feed({"id": "x", "choices": [{"index": 0, **each}]})]

    assert "".join(event.text for event in emitted if isinstance(event, events.Delta)) == "Hello"


def _thinks(index: int, *, kind: str = "text", **text: str) -> dict[str, Any]:
    return {"reasoning_details": [{"type": f"reasoning.{kind}", "format": "anthropic-claude-v1", "index": index, **text}]}


@pytest.mark.parametrize("target", [format for format in FORMATS if format != NAME])
@pytest.mark.parametrize(
    ("deltas", "delayed"),
    [
        ([_thinks(0, text="one"), _thinks(1, text="two"), _thinks(1, signature="S2")], []),
        ([_thinks(0, text="one"), _thinks(1, text="two"), _thinks(0, signature="S1"), _thinks(1, signature="S2")], [0]),
        ([_thinks(0, kind="summary", summary="one"), _thinks(1, kind="summary", summary="two")], []),
        ([_thinks(0, kind="summary", summary="one", id="a"), _thinks(1, kind="summary", summary="two", id="a")], []),
        ([{"reasoning_details": [*_thinks(0, text="one")["reasoning_details"], *_thinks(1, text="two")["reasoning_details"]]}], []),
    ],
)
def test_a_token_signs_the_reasoning_at_its_index(deltas: list[dict[str, Any]], delayed: list[int], target: ir.Format) -> None:
    """A server checks a token with the text next to it; if the text was sent, the token is reported."""
    stream = _chunks(*deltas)
    converter = StreamConverter(source=NAME, target=target)

    converter.feed(stream)
    converter.finish()

    whole = convert_response(collect_stream([stream], source=NAME).body, source=NAME, target=target)
    assert converter.response().body == whole.body
    reported = [loss.path for loss in converter.losses if loss.code == "too_late"]
    assert reported == [f"/choices/0/message/reasoning_details/{index}/signature" for index in delayed]


@pytest.mark.parametrize("target", [format for format in FORMATS if format != NAME])
def test_a_token_after_the_text_signs_its_reasoning_if_the_target_allows_it(target: ir.Format) -> None:
    """In generate_content it returns with its reasoning part; elsewhere that was sent, and the token is reported."""
    stream = _chunks(_thinks(0, text="one"), {"content": "Hi."}, _thinks(0, signature="S1"))
    converter = StreamConverter(source=NAME, target=target)

    converted = converter.feed(stream) + converter.finish()

    whole = convert_response(collect_stream([stream], source=NAME).body, source=NAME, target=target)
    reported = collect_stream([converted], source=target, target="messages").body["content"]
    expected = convert_response(whole.body, source=target, target="messages").body["content"]
    delayed = [loss.path for loss in converter.losses if loss.code == "too_late"]
    assert converter.response().body == whole.body
    assert (reported == expected, delayed) == (
        (True, []) if target == "generate_content" else (False, ["/choices/0/message/reasoning_details/0/signature"])
    )


def _cites(url: str, start: int, end: int) -> dict[str, Any]:
    return {"type": "url_citation", "url_citation": {"url": url, "title": "", "start_index": start, "end_index": end}}


@pytest.mark.parametrize("target", FORMATS)
def test_citations_after_a_call_belong_to_the_text_that_they_cite(target: ir.Format) -> None:
    """A server with a search sends its sources last; a collected stream equals the whole answer."""
    cited = [_cites("https://a.example", 0, 4), _cites("https://b.example", 5, 7)]
    stream = _chunks({"content": "Rome is old."}, {"tool_calls": [CALL]}, {"annotations": cited[:1]}, {"annotations": cited[1:]})
    whole = collect_stream([stream], source=NAME)

    collected = collect_stream([stream], source=NAME, target=target)

    expected = convert_response(whole.body, source=NAME, target=target)
    assert (collected.body, sorted(map(str, collected.losses))) == (expected.body, sorted(map(str, expected.losses)))


def test_a_span_selects_the_text_of_a_citation_that_follows_it() -> None:
    """Two texts around a call are one content to the server; the second citation begins in the second text."""
    cited = [_cites("https://a.example", 0, 4), _cites("https://b.example", 5, 8)]
    stream = _chunks({"content": "Rome."}, {"tool_calls": [CALL]}, {"content": "Oslo."}, {"refusal": "No."}, {"annotations": cited})

    collected = collect_stream([stream], source=NAME, target="responses")

    texts = [part for item in collected.body["output"] for part in item.get("content", ()) if part["type"] == "output_text"]
    assert [(text["text"], [each["url"] for each in text["annotations"]]) for text in texts] == [
        ("Rome.", ["https://a.example"]),
        ("Oslo.", ["https://b.example"]),
    ]


@pytest.mark.parametrize(("target", "is_after_text"), [("messages", True), ("responses", True), ("generate_content", False)])
def test_a_citation_after_its_text_was_emitted_is_reported(target: ir.Format, *, is_after_text: bool) -> None:
    """A block that has closed cannot have it; formats with citations at the end can."""
    stream = _chunks({"content": "Rome."}, {"tool_calls": [CALL]}, {"annotations": [_cites("https://a.example", 0, 4)]})
    converter = StreamConverter(source=NAME, target=target)

    converted = converter.feed(stream) + converter.finish()

    assert (
        "/choices/0/message/annotations/0" in [loss.path for loss in converter.losses if loss.code == "too_late"]
    ) is is_after_text
    assert (b"https://a.example" in converted) is not is_after_text
    assert "https://a.example" in json.dumps(converter.response().body)


@pytest.mark.parametrize("source", [format for format in FORMATS if format != NAME])
@pytest.mark.parametrize("is_asked", [True, False])
def test_every_chunk_has_a_usage_field_if_usage_is_requested(source: ir.Format, is_asked: bool) -> None:
    """The vendor's servers send null in all chunks but the last; a reader may require the field."""
    requested = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    requested |= {"stream_options": {"include_usage": True}} if is_asked else {}
    request = convert_request(requested, source=NAME, target=source)
    stream = next(each.data for each in streams(source) if each.stem == "text_plain")
    converter = StreamConverter(source=source, target=NAME, request=request)

    output = converter.feed(stream) + converter.finish()

    *others, last = [json.loads(line[6:]) for line in output.decode().splitlines() if line.startswith("data: {")]
    if is_asked:
        assert [chunk["usage"] for chunk in others] == [None] * len(others)
        assert (last["choices"], last["usage"]["completion_tokens"] > 0) == ([], True)
    else:
        assert not any("usage" in chunk for chunk in (*others, last))
