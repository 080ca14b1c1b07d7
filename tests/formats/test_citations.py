"""Citations: cited text, spans, and citations that a stream sends after their text."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb


def _answer(**more: str) -> dict[str, Any]:
    cited = {"url": "https://rome.example", "title": "Rome", "start_index": 0, "end_index": 12, **more}
    message = {"role": "assistant", "content": "Rome is old.", "annotations": [{"type": "url_citation", "url_citation": cited}]}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": message}]}


def test_a_quotation_of_a_page_becomes_cited_text_in_messages() -> None:
    """Some servers send the cited text of a page with its address."""
    converted = fb.convert_response(_answer(content="Founded in 753 BC."), source="chat_completions", target="messages")

    assert converted.body["content"][0]["citations"][0]["cited_text"] == "Founded in 753 BC."


def _answer_of_spans(length: int, citations: int) -> dict[str, Any]:
    """Return an answer whose citations cite nearly all of its text."""
    cited = [
        {"type": "url_citation", "url_citation": {"start_index": at, "end_index": length, "title": "T", "url": "https://a.test/"}}
        for at in range(citations)
    ]
    message = {"role": "assistant", "content": "x" * length, "annotations": cited}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_a_text_with_thousands_of_citations_is_repeated_a_few_times_only(target: fb.Format) -> None:
    """Otherwise half a megabyte would become hundreds."""
    body = _answer_of_spans(50_000, 1_500)

    converted = fb.convert_response(body, source="chat_completions", target=target)

    assert len(converted.json()) < 12 * len(json.dumps(body))
    assert converted.parse()


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_the_text_of_a_few_citations_is_repeated_at_each(target: fb.Format) -> None:
    """Readers show it with the source, and do not count characters."""
    converted = fb.convert_response(_answer_of_spans(20, 3), source="chat_completions", target=target)

    assert converted.json().count(b'"' + b"x" * 18 + b'"') >= 1


JsonObject = dict[str, Any]

HEAD: JsonObject = {"id": "r", "object": "response", "created_at": 1, "model": "m", "tools": [], "tool_choice": "auto"}


def note(name: str, start: int, end: int) -> JsonObject:
    return {"type": "url_citation", "url": f"https://{name}", "title": name, "start_index": start, "end_index": end}


A, B = note("a", 0, 5), note("b", 6, 11)


def message(item_id: str, text: str, *notes: JsonObject) -> JsonObject:
    part = {"type": "output_text", "text": text, "annotations": [*notes], "logprobs": []}
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": [part]}


def added(at: int, item: JsonObject) -> JsonObject:
    return {"type": "response.output_item.added", "output_index": at, "item": item | {"content": [], "status": "in_progress"}}


def delta(at: int, item: JsonObject, text: str) -> JsonObject:
    place = {"item_id": item["id"], "output_index": at, "content_index": 0}
    return {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}


def noted(at: int, item: JsonObject, number: int) -> JsonObject:
    place = {"item_id": item["id"], "output_index": at, "content_index": 0, "annotation_index": number}
    return {"type": "response.output_text.annotation.added", **place, "annotation": item["content"][0]["annotations"][number]}


def done(at: int, item: JsonObject) -> JsonObject:
    return {"type": "response.output_item.done", "output_index": at, "item": item}


def answer(*items: JsonObject) -> JsonObject:
    return HEAD | {"status": "completed", "output": [*items]}


def stream(*reported: JsonObject, output: tuple[JsonObject, ...]) -> bytes:
    """Write the events of an answer of responses."""
    first = {"type": "response.created", "response": HEAD | {"status": "in_progress", "output": []}}
    last = {"type": "response.completed", "response": answer(*output)}
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in (first, *reported, last))


def written(output: bytes, target: fb.Format) -> JsonObject:
    """Convert a stream and collect the output."""
    converter = fb.StreamConverter(source="responses", target=target)
    return fb.collect_stream([converter.feed(output) + converter.finish()], source=target).body


def cited(body: JsonObject) -> list[tuple[str, str]]:
    """Return the sources of an answer of chat completions, each with the words before it."""
    text = body["choices"][0]["message"]
    notes = [each["url_citation"] for each in text.get("annotations", ())]
    return [(each["title"], text["content"][each["start_index"] : each["end_index"]]) for each in notes]


@pytest.mark.parametrize("numbers", [(), (0,), (1,), (0, 1), (1, 0)], ids=str)
def test_citations_in_no_event_are_emitted_at_the_end(numbers: tuple[int, ...]) -> None:
    """Laws 1 and 6: if any of the citation events are missing, the reader still gets each source once."""
    item = message("msg_1", "Hello world", A, B)
    events = [added(0, item), delta(0, item, "Hello world"), *[noted(0, item, number) for number in numbers], done(0, item)]

    result = written(stream(*events, output=(item,)), "chat_completions")

    assert sorted(cited(result)) == [("a", "Hello"), ("b", "world")]


M, N = message("msg_1", "Hello world", A, B), message("msg_2", "Rome, too", note("c", 0, 4))
APART = {
    "one within the other": [
        added(0, M), delta(0, M, "Hello world"), added(1, N), delta(1, N, "Rome, too"), noted(1, N, 0), done(1, N), noted(0, M, 0),
        done(0, M),
    ],
    "the first never done": [added(0, M), added(1, N), delta(0, M, "Hello world"), delta(1, N, "Rome, too"), done(1, N)],
    "the second never done": [added(0, M), delta(0, M, "Hello world"), added(1, N), delta(1, N, "Rome, too"), noted(1, N, 0)],
    "one behind the other": [added(0, M), delta(0, M, "Hello world"), done(0, M), added(1, N), delta(1, N, "Rome, too"), done(1, N)],
}  # fmt: skip


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize("reported", APART.values(), ids=APART)
def test_citations_of_a_stream_have_the_spans_of_the_whole_answer(reported: list[JsonObject], target: fb.Format) -> None:
    """Law 6: two messages may be open at once; the offset of the second is known when the first is complete."""
    data = stream(*reported, output=(M, N))

    collected = fb.collect_stream([data], source="responses", target=target)

    assert collected.body == fb.convert_response(answer(M, N), source="responses", target=target).body
    if target == "chat_completions":
        assert cited(written(data, target)) == cited(collected.body) == [("a", "Hello"), ("b", "world"), ("c", "Rome")]
    assert [loss for loss in collected.losses if loss.code == "too_late"] == []


def test_offsets_of_annotations_count_from_the_beginning_of_their_text() -> None:
    """Laws 1 and 6: a block that is never stopped, or continues later, precedes the text with the citation; its words do not count."""
    cited = {"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "c", "encrypted_index": "e"}
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1}}
    events: list[JsonObject] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Answer: "}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "", "citations": []}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": cited}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Rome"}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "sure"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    converter = fb.StreamConverter(source="messages", target="responses")

    data = b"".join(b"event: %b\ndata: %b\n\n" % (each["type"].encode(), json.dumps(each).encode()) for each in events)
    collected = fb.collect_stream([converter.feed(data) + converter.finish()], source="responses").body

    (_, text) = [part for item in collected["output"] for part in item["content"]]
    assert [(note["start_index"], note["end_index"]) for note in text["annotations"]] == [(0, 4)]
