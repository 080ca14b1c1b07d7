"""Streams of generate_content: decoding, encoding, and truncation at any byte."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats, ir
from formatbridge.errors import StreamDecodeError
from formatbridge.formats.generate_content.response import decode_response, encode_response
from formatbridge.formats.generate_content.stream_decoder import StreamDecoder
from formatbridge.formats.generate_content.stream_encoder import StreamEncoder
from formatbridge.ir import events
from formatbridge.options import DEFAULT_OPTIONS
from formatbridge.report.ledger import FieldPaths, Ledger
from formatbridge.streaming.accumulate import Collector
from formatbridge.streaming.replay import events_of_response
from formatbridge.streaming.sse import StreamReader
from tests.corpus import Entry, entries, requires_corpus
from tests.fixtures import check
from tests.support import grammar_check
from tests.support.laws import Sample, recorded, shipped

JsonObject = dict[str, Any]

NAME: ir.Format = "generate_content"
STREAMS = list(entries(NAME, "stream"))
UNENDED = ("failure-invalid-json", "failure-malformed-content")
"""Recorded streams in which no candidate has a finish reason: the first is no answer, the second is truncated."""
ANSWERS = [*shipped(kind="response"), *recorded(kind="response")]
SAME_FORMAT = [sample for sample in ANSWERS if sample.format == NAME]


# Helpers.


def _parsed(data: bytes) -> list[JsonObject]:
    reader = StreamReader()
    return [json.loads(event.data) for event in (*reader.feed(data), *reader.finish())]


def _decoded(chunks: Iterable[JsonObject]) -> list[events.Event]:
    decoder = StreamDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish("end_of_bytes")


def _collected(emitted: Iterable[events.Event]) -> ir.Response:
    collector = Collector(NAME)
    for event in emitted:
        collector.feed(event)
    return collector.response()


def _encoded(answer: ir.Response) -> JsonObject:
    return encode_response(answer, Ledger({}, FieldPaths()), DEFAULT_OPTIONS, None)


def _written(emitted: Iterable[events.Event]) -> bytes:
    encoder = StreamEncoder(DEFAULT_OPTIONS, None)
    return b"".join([encoder.feed(event) for event in emitted])


def _answer(sample: Sample) -> ir.Response:
    return formats.load(sample.format).decode_response(check(sample.body, sample.format, "response"))


def _read(body: JsonObject) -> ir.Response:
    return decode_response(check(body, NAME, "response"))


def _accumulated(chunks: Iterable[JsonObject]) -> JsonObject:
    """Accumulate the events of a stream as a reader of raw events would."""
    result: JsonObject = {"candidates": []}
    for chunk in chunks:
        for candidate in chunk["candidates"]:
            known = next((each for each in result["candidates"] if each["index"] == candidate["index"]), None)
            if known is None:
                known = {"content": {"role": "model", "parts": []}}
                result["candidates"].append(known)
            parts = candidate["content"]["parts"]
            known["content"]["parts"] += [] if parts == [{"text": ""}] else parts
            known |= {key: value for key, value in candidate.items() if key not in ("content", "logprobsResult")}
            for name, tokens in (candidate.get("logprobsResult") or {}).items():
                known.setdefault("logprobsResult", {}).setdefault(name, []).extend(tokens)
        result |= {key: value for key, value in chunk.items() if key != "candidates"}
    return result


def _in_one_cut(body: JsonObject) -> JsonObject:
    """Return an answer whose texts are split alike: adjacent texts joined, a token on a separate empty text after them.

    That of another format's reasoning is on an empty reasoning part before the part that follows the reasoning.
    """
    result: JsonObject = json.loads(json.dumps(body))
    for candidate in result["candidates"]:
        parts: list[JsonObject] = []
        for part in _without_separators([*_loosened(candidate["content"]["parts"])]):
            if parts and _joins(parts[-1], part):
                parts[-1]["text"] += part["text"]
            else:
                parts.append(part)
        candidate["content"]["parts"] = parts
    return result


def _without_separators(parts: list[JsonObject]) -> Iterator[JsonObject]:
    """Yield parts without the empty text that a stream has between two reasoning parts and the whole answer lacks."""
    for at, part in enumerate(parts):
        around = (parts[at - 1], parts[at + 1]) if 0 < at < len(parts) - 1 else ()
        if part != {"text": ""} or not (around and all(each.get("thought") for each in around)):
            yield part


def _loosened(parts: list[JsonObject]) -> Iterator[JsonObject]:
    for part in parts:
        if not part.get("thought") and part != {"text": ""} and part.get("text") != "" and _is_carried(part):
            yield {"text": "", "thought": True, "thoughtSignature": part["thoughtSignature"]}
            yield {key: value for key, value in part.items() if key != "thoughtSignature"}
        elif part.get("text") and "thoughtSignature" in part:
            yield {key: value for key, value in part.items() if key != "thoughtSignature"}
            yield part | {"text": ""}
        else:
            yield part


def _is_carried(part: JsonObject) -> bool:
    tag = base64.b64decode(part.get("thoughtSignature", "")).split(b"|")
    return tag[0] == b"fb1" and tag[1] != b"generate_content" and tag[2] != b"call"


def _joins(before: JsonObject, part: JsonObject) -> bool:
    known = {"text", "thought"}
    return "text" in before and "text" in part and before.keys() == part.keys() and known.issuperset(part)


def _recut(emitted: Iterable[events.Event], size: int) -> Iterator[events.Event]:
    for event in emitted:
        if isinstance(event, events.Delta) and len(event.text) > size and not event.logprobs:
            for start in range(0, len(event.text), size):
                yield events.Delta(event.choice, event.index, event.text[start : start + size])
        else:
            yield event


def breaches(data: bytes) -> list[str]:
    """Compare the bytes of a stream with the grammar and return the violations."""
    return grammar_check.check(data, NAME)


# Reading.


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: str(entry.path))
def test_a_recorded_stream_of_gemini_has_one_end_and_an_answer(entry: Entry) -> None:
    """The events of servers are read in order, in both framings, and their answer can be written."""
    chunks = _parsed(entry.bytes())

    emitted = _decoded(chunks)

    ends = [event for event in emitted if isinstance(event, events.End | events.Failed)]
    if any(name in entry.path for name in UNENDED):
        assert ends == []
        return
    assert ends == [emitted[-1]]
    assert isinstance(emitted[0], events.Start)
    _in_order(emitted)
    body = _encoded(_collected(emitted))
    message = "".join(
        part.get("text") or ""
        for chunk in chunks
        for each in chunk.get("candidates") or ()
        for part in _parts(each)
        if not part.get("thought")
    )
    assert "".join(part["text"] for part in _parts(body["candidates"][0]) if "text" in part and "thought" not in part) == message
    assert breaches(_written(emitted)) == []


def _parts(candidate: JsonObject) -> list[JsonObject]:
    return (candidate.get("content") or {}).get("parts") or []


def _in_order(emitted: Iterable[events.Event]) -> None:
    """Each part opens before its deltas and closes before its choice ends; parts are numbered in the order in which they open."""
    open: set[tuple[int, int]] = set()
    counts: dict[int, int] = {}
    for event in emitted:
        match event:
            case events.PartStart():
                assert event.index == counts.get(event.choice, 0)
                counts[event.choice] = event.index + 1
                open.add((event.choice, event.index))
            case events.Delta() | events.PartUpdate():
                assert (event.choice, event.index) in open
            case events.PartEnd():
                open.remove((event.choice, event.index))
            case events.ChoiceEnd():
                assert not any(choice == event.choice for choice, _ in open)


@pytest.mark.parametrize("sample", SAME_FORMAT, ids=str)
def test_a_whole_answer_in_one_event_is_read(sample: Sample) -> None:
    """Law 6: a whole body is a stream of one event; extras, ids, tokens and sources are those of the whole answer."""
    whole = _answer(sample)
    body = check(sample.body, sample.format, "response")
    ends = [each.get("finishReason") for each in body.get("candidates") or ()]
    if not all(ends) and not body.get("promptFeedback", {}).get("blockReason"):
        assert _decoded([body])[-1:] != [events.End()], "no event has ended the stream"
        return

    collected = _collected(_decoded([body]))

    assert _in_one_cut(_encoded(collected)) == _in_one_cut(_encoded(whole))
    assert collected.extra == whole.extra
    assert [choice.extra for choice in collected.choices] == [choice.extra for choice in whole.choices]
    assert [choice.finish for choice in collected.choices] == [choice.finish for choice in whole.choices]
    assert collected.usage == whole.usage


def test_a_native_token_is_a_separate_part_and_a_foreign_one_is_on_its_text() -> None:
    """Tokens of the vendor stay in their places; those that a bridge sent after their text return to it."""
    signature = ir.Signature(issuer="messages", kind="thinking", token="abc")
    *_, foreign = _parsed(
        _written(
            [
                events.Start("i", "m"),
                events.PartStart(0, 0, ir.Reasoning()),
                events.Delta(0, 0, "hm"),
                events.PartUpdate(0, 0, signature=signature),
                events.PartEnd(0, 0),
                events.ChoiceEnd(0, ir.Finish(reason="stop")),
                events.End(),
            ]
        )
    )
    native = {"candidates": [{"content": {"parts": [{"text": "", "thought": True, "thoughtSignature": "YWJj"}]}}]}
    first = {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}]}}]}
    last = {"candidates": [{"finishReason": "STOP"}]}

    joined = _collected(_decoded([first, foreign])).choices[0].parts
    apart = _collected(_decoded([first, native, last])).choices[0].parts

    assert [
        (type(part), part.text, part.signature and part.signature.token) for part in joined if isinstance(part, ir.Reasoning)
    ] == [(ir.Reasoning, "hm", "abc")]
    assert [getattr(part, "text", None) for part in apart] == ["hm", ""]


def test_arguments_that_come_in_pieces_are_put_together() -> None:
    """Pieces name their place by a path; the call opens when it is complete."""

    def event(call: JsonObject, **more: Any) -> JsonObject:
        return {"candidates": [{"content": {"parts": [{"functionCall": call}]}, **more}], "responseId": "r"}

    def text(path: str, words: str, **more: Any) -> JsonObject:
        return {"partialArgs": [{"jsonPath": path, "stringValue": words, **more}], "willContinue": True}

    chunks = [
        event({"name": "f", "willContinue": True}),
        event(text("$.places[0].name", "New ", willContinue=True)),
        event(text("$.places[0].name", "Delhi")),
        event({"partialArgs": [{"jsonPath": "$['a b']", "numberValue": 2}, {"jsonPath": "$.no", "nullValue": "NULL_VALUE"}]}),
        event({"name": "g", "args": {"x": 1}}, finishReason="STOP"),
    ]

    emitted = _decoded(chunks)

    calls = [part for part in _collected(emitted).choices[0].parts if isinstance(part, ir.ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [
        ("f", '{"places":[{"name":"New Delhi"}],"a b":2,"no":null}'),
        ("g", '{"x":1}'),
    ]
    finish = _collected(emitted).choices[0].finish
    assert finish is not None
    assert finish.reason == "tool_calls"


@pytest.mark.parametrize("path", ["$.a[5]", "$.a.b", "a", "$", "$.a[", "", None])
def test_arguments_with_an_invalid_json_path_are_refused(path: str | None) -> None:
    """Nothing is guessed, and no index creates a long list."""
    pieces = [{"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": path, "stringValue": "y"}]
    raw = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "partialArgs": pieces}}]}}]}

    with pytest.raises(StreamDecodeError):
        StreamDecoder().feed(raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}},
        {"error": "slow down"},
        {"error": {"message": "slow down", "type": "x"}},
        {"message": "slow down"},
        {"error": {"message": ["slow down"]}},
        {"detail": ["slow down"]},
    ],
)
def test_an_error_of_any_shape_ends_the_stream(raw: JsonObject) -> None:
    """An error is never a normal end, and nothing follows it."""
    begun = {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]}
    decoder = StreamDecoder()
    decoder.feed(begun)

    emitted = decoder.feed(raw)

    assert len(emitted) == 1
    assert isinstance(emitted[0], events.Failed)
    assert "slow down" in emitted[0].error.message
    assert decoder.feed(begun) == decoder.finish("end_of_bytes") == decoder.finish("done") == []


def test_padding_is_ignored_and_a_prompt_may_be_blocked() -> None:
    """``{}`` keeps a connection open; a blocked prompt is an answer without parts."""
    blocked = {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": [{"category": "X"}]}, "modelVersion": "m"}

    emitted = _decoded([{}, blocked, {}])

    answer = _collected(emitted)
    assert answer.model == "m"
    assert answer.choices[0].finish == _read(blocked).choices[0].finish
    assert answer.extra == _read(blocked).extra


def test_sources_of_several_events_are_joined() -> None:
    """The indexes of sources count within their event, unless it repeats earlier ones."""

    def event(text: str, start: int, uri: str) -> JsonObject:
        support = {"segment": {"startIndex": start, "endIndex": start + 1}, "groundingChunkIndices": [0]}
        grounding = {"groundingChunks": [{"web": {"uri": uri}}], "groundingSupports": [support]}
        return {"candidates": [{"content": {"parts": [{"text": text}]}, "groundingMetadata": grounding, "finishReason": "STOP"}]}

    body = _encoded(_collected(_decoded([event("a", 0, "u"), event("b", 1, "v"), event("c", 0, "u")])))

    grounding = body["candidates"][0]["groundingMetadata"]
    assert [chunk["web"]["uri"] for chunk in grounding["groundingChunks"]] == ["u", "v"]
    assert [(each["segment"]["startIndex"], each["groundingChunkIndices"]) for each in grounding["groundingSupports"]] == [
        (0, [0]),
        (1, [1]),
    ]


def test_audio_in_several_events_is_one_part() -> None:
    """Speech streams as raw samples; a message of chat_completions has one audio, and a client joins its data as text."""
    pieces = [b"abcd", b"ef", b"ghijk"]
    media = [{"mimeType": "audio/L16;codec=pcm;rate=24000", "data": base64.b64encode(piece).decode()} for piece in pieces]
    parts = [{"content": {"parts": [{"inlineData": each}]}} for each in [*media, {"mimeType": "audio/mp3", "data": "QUJD"}]]
    items = [{"candidates": [part]} for part in [*parts, {"finishReason": "STOP"}]]
    stream = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in items)
    converter = fb.StreamConverter(source=NAME, target="chat_completions")

    converted = converter.feed(stream) + converter.finish()

    for answer in (fb.collect_stream([converted], source="chat_completions"), converter.response()):
        assert answer.body["choices"][0]["message"]["audio"]["data"] == base64.b64encode(b"".join(pieces)).decode()
    assert [loss.path for loss in converter.losses if loss.severity == "impossible"] == ["/candidates/0/content/parts/3"]


def test_url_metadata_of_several_events_is_joined() -> None:
    """A page in an early event is as valid as one in the last."""
    pages = [{"retrievedUrl": f"https://{name}.example"} for name in "ab"]
    items = [{"candidates": [{"urlContextMetadata": {"urlMetadata": [page]}, "finishReason": "STOP"}]} for page in pages]

    answer = _collected(_decoded(items))

    assert answer.choices[0].extra == {"urlContextMetadata": {"urlMetadata": pages}}


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_a_call_with_truncated_arguments_is_reported(target: fb.Format) -> None:
    """It looks complete, and a caller would run it."""
    piece = {
        "name": "f",
        "partialArgs": [{"jsonPath": "$.path", "stringValue": "/tmp", "willContinue": True}],
        "willContinue": True,
    }
    message = {"candidates": [{"content": {"parts": [{"functionCall": piece}]}, "finishReason": "MAX_TOKENS"}]}

    collected = fb.collect_stream([b"data: " + json.dumps(message).encode() + b"\n\n"], source=NAME, target=target)

    assert "/candidates/0/content/parts/0/functionCall/willContinue" in [loss.path for loss in collected.losses]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
@pytest.mark.parametrize(
    "between",
    [
        [{"functionCall": {"name": "f", "args": {}}}],
        [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}],
        [{"text": "Hm.", "thought": True}, {"text": " Two."}],
        [{"text": "", "thoughtSignature": "QUJD"}, {"text": " Two."}],
    ],
)
def test_a_citation_covers_only_its_segment(between: list[JsonObject], target: fb.Format) -> None:
    """Sources come at the end, when the cited text may have been sent; then the report has them."""
    grounding = {
        "groundingChunks": [{"web": {"uri": "https://a.example"}}],
        "groundingSupports": [{"segment": {"endIndex": 8}, "groundingChunkIndices": [0]}],
    }
    pieces: list[JsonObject] = [{"content": {"parts": [part]}} for part in ({"text": "Rome is."}, *between)]
    items = [{"candidates": [piece]} for piece in [*pieces, {"finishReason": "STOP", "groundingMetadata": grounding}]]
    stream = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in items)
    converter = fb.StreamConverter(source=NAME, target=target)

    converted = converter.feed(stream) + converter.finish()

    delayed = [loss.path for loss in converter.losses if loss.code == "too_late"]
    expected = fb.convert_response(fb.collect_stream([stream], source=NAME).body, source=NAME, target=target)
    assert converter.response().body == expected.body
    assert (b"https://a.example" in converted) is (target == "chat_completions")
    assert ("/candidates/0/groundingMetadata/groundingChunks/0" in delayed) is (target != "chat_completions")


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: str(entry.path))
def test_the_answer_does_not_depend_on_where_texts_are_split(entry: Entry) -> None:
    """Law 7: the same text in other pieces is the same answer."""
    chunks = _parsed(entry.bytes())
    pieces = [_with_cut_texts(chunk) for chunk in chunks]

    assert _collected(_decoded(pieces)) == _collected(_decoded(chunks))


def _with_cut_texts(chunk: JsonObject) -> JsonObject:
    result: JsonObject = json.loads(json.dumps(chunk))
    for candidate in result.get("candidates") or ():
        if _parts(candidate):
            candidate["content"]["parts"] = [
                piece
                for part in _parts(candidate)
                for piece in (
                    [part | {"text": part["text"][n : n + 3]} for n in range(0, len(part["text"]), 3)]
                    if part.get("text") and part.keys() <= {"text", "thought"}
                    else [part]
                )
            ]
    return result


@requires_corpus
@pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: str(entry.path))
def test_a_stream_without_its_finish_reasons_has_no_end(entry: Entry) -> None:
    """Law 9: without the finish reason of every candidate there is no end."""
    chunks = _parsed(entry.bytes())
    ending = next((n for n, chunk in enumerate(chunks) for each in chunk.get("candidates") or () if each.get("finishReason")), None)
    for count in range(len(chunks) if ending is None else ending + 1):
        decoder = StreamDecoder()
        emitted = [event for chunk in chunks[:count] for event in decoder.feed(chunk)]

        assert not decoder.is_complete
        emitted += decoder.finish("end_of_bytes")
        assert not any(isinstance(event, events.End | events.ChoiceEnd) for event in emitted)


# Writing.


@pytest.mark.parametrize("sample", ANSWERS, ids=lambda sample: f"{sample.format}-{sample}")
def test_a_written_stream_accumulates_to_the_whole_answer(sample: Sample) -> None:
    """Laws 6, 7 and 8: from every format, the accumulated events are the body of the whole answer."""
    answer = _answer(sample)
    if answer.error:
        assert _parsed(_written(events_of_response(answer)))[-1].keys() == {"error"}
        return
    data = _written(events_of_response(answer))

    assert breaches(data) == []
    assert _in_one_cut(_accumulated(_parsed(data))) == _in_one_cut(_encoded(answer))
    for size in (1, 7):
        again = _written(_recut(events_of_response(answer), size))
        assert breaches(again) == []
        assert _in_one_cut(_accumulated(_parsed(again))) == _in_one_cut(_encoded(answer))


@pytest.mark.parametrize("sample", ANSWERS, ids=lambda sample: f"{sample.format}-{sample}")
def test_a_written_stream_decodes_to_the_whole_answer(sample: Sample) -> None:
    """Law 6: the stream and the whole body are decoded to the same answer."""
    answer = _answer(sample)
    if answer.error:
        return
    chunks = _parsed(_written(_recut(events_of_response(answer), 5)))

    emitted = _decoded(chunks)

    _in_order(emitted)
    assert _in_one_cut(_encoded(_collected(emitted))) == _in_one_cut(_encoded(_read(_encoded(answer))))


def test_deltas_are_emitted_at_once_and_calls_when_complete() -> None:
    """Law 10: only values that the format cannot split are delayed."""
    encoder = StreamEncoder(DEFAULT_OPTIONS, None)
    assert encoder.feed(events.Start("i", "m")) == b""
    assert encoder.feed(events.PartStart(0, 0, ir.Text(""))) == b""
    assert b'"text":"a\\"b"' in encoder.feed(events.Delta(0, 0, 'a"b'))
    assert encoder.feed(events.PartStart(0, 1, ir.ToolCall("c", "f", ""))) == b""
    assert encoder.feed(events.Delta(0, 1, '{"a":')) == b""
    assert b'"text":"c"' in encoder.feed(events.Delta(0, 0, "c"))
    assert encoder.feed(events.Delta(0, 1, "1}")) == b""
    assert b'"args":{"a":1}' in encoder.feed(events.PartEnd(0, 1))


def test_a_failed_stream_ends_in_an_error_event() -> None:
    """The client looks for the key ``error`` at the beginning."""
    encoder = StreamEncoder(DEFAULT_OPTIONS, None)
    data = encoder.feed(events.Start("i", "m")) + encoder.feed(events.Failed(ir.Error(kind="overloaded", message="busy")))

    assert data.startswith(b'data: {"error":{"code":503,')
    assert breaches(data) == []


@pytest.fixture(scope="module")
def read_officially() -> Callable[[bytes], list[Any]]:
    """Return a function that reads a stream with the vendor's client. One client reads all, because it takes long to make."""
    genai = pytest.importorskip("google.genai")
    httpx = pytest.importorskip("httpx")
    contents: list[bytes] = []
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=contents.pop()))
    client = genai.Client(
        api_key="k",
        http_options=genai.types.HttpOptions(
            httpx_client=httpx.Client(transport=transport), retry_options=genai.types.HttpRetryOptions(attempts=1)
        ),
    )

    def read(data: bytes) -> list[Any]:
        contents.append(data)
        return list(client.models.generate_content_stream(model="m", contents="x"))

    return read


@pytest.mark.parametrize("sample", [sample for sample in ANSWERS if sample.id.startswith("response-")], ids=str)
def test_the_official_client_reads_written_streams_to_their_end(
    sample: Sample, read_officially: Callable[[bytes], list[Any]]
) -> None:
    """Law 5: the events that the vendor's client returns add up to the answer."""
    answer = _answer(sample)
    if answer.error:
        return
    data = _written(_recut(events_of_response(answer), 9))

    seen = read_officially(data)

    assert len(seen) == len(_parsed(data))
    whole = _encoded(answer)["candidates"][0]
    items = [candidate for chunk in seen for candidate in _parsed_chunk(chunk)["candidates"]]
    message = [candidate for candidate in items if (candidate.get("index") or 0) == whole["index"]]
    parts = [part for candidate in message for part in _parts(candidate)]
    assert "".join(part.get("text") or "" for part in parts) == "".join(part.get("text", "") for part in _parts(whole))
    assert [part["functionCall"] for part in parts if "functionCall" in part] == [
        part["functionCall"] for part in _parts(whole) if "functionCall" in part
    ]
    assert seen[-1].candidates[0].finish_reason.value == whole["finishReason"]


def _parsed_chunk(chunk: Any) -> JsonObject:
    result: JsonObject = json.loads(chunk.model_dump_json(by_alias=True, exclude_none=True))
    return result
