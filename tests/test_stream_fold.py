"""A stream in its own format adds up to the whole answer in that format, and back: nothing is lost, for nothing is translated."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.streaming.sse import encode_event
from tests.fixtures import check, streams
from tests.laws import Sample, recorded, shipped
from tests.normal import normal_form
from tests.stream_laws import read, write

SAMPLES = [*shipped(kind="response"), *recorded(kind="response")]
RESTATED = ("index", "object", "delta")
"""Members of whole choices and calls that a stream says by other means; recorded servers also leave a stray delta in whole answers."""


def _told(value: Any) -> Any:
    """Return a body without what a stream says by other means."""
    if isinstance(value, dict):
        return {key: _told(item) for key, item in value.items() if key not in RESTATED}
    return [_told(item) for item in value] if isinstance(value, list) else value


def _meaning(body: Any, format: str) -> Any:
    return normal_form(formats.load(format).decode_response(check(body, format, "response")))


def _ends(sample: Sample) -> bool:
    """Say whether an answer says how it ended: a stream that does not is none that is complete."""
    if sample.format == "responses":
        return sample.body.get("status") not in ("failed", "cancelled")
    choices = sample.body.get("candidates", ()) if sample.format == "generate_content" else ()
    return all("finishReason" in choice for choice in choices)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_replayed_answer_is_collected_as_it_was(format: str) -> None:
    """Law 6: a cache that stores answers and replays them as streams loses nothing, unknown blocks and fields included."""
    for sample in SAMPLES:
        if sample.format != format or not _ends(sample):
            continue
        if format == "chat_completions" and any("message" not in choice for choice in sample.body["choices"]):
            continue  # a server that filtered the whole message away; a stream has an empty one in its place
        if "-malformed_" in sample.id:
            continue  # what is left out and reported: test_malformed.py

        made = fb.collect_stream(fb.replay_response(sample.body, source=format), source=format)

        assert (_told(made.body), made.losses, made.additions) == (_told(sample.body), (), ()), sample


@pytest.mark.parametrize("target", [target for target in fb.FORMATS if target != "chat_completions"])
@pytest.mark.parametrize("order", [(0, -1), (-1, 0), (-1, -2), (0, -1, 1), (1, -1, 0), (5, -3), (2, 0, -1, 1), (-2, 5, -2)])
def test_choices_have_the_same_order_streamed_folded_and_whole(order: tuple[int, ...], target: str) -> None:
    """Law 6, where numbers are negative, which say nothing: a format with room for one choice has the same one whichever way it came."""
    choices = [
        {"index": index, "message": {"role": "assistant", "content": f"said {at}"}, "finish_reason": "stop"}
        for at, index in enumerate(order)
    ]
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    stream = b"".join(fb.replay_response(answer, source="chat_completions"))
    folded = fb.collect_stream([stream], source="chat_completions").body
    converted = b"".join(fb.convert_stream([stream], source="chat_completions", target=target))

    whole, of_the_folded = (fb.convert_response(body, source="chat_completions", target=target).body for body in (answer, folded))

    streamed = fb.collect_stream([converted], source=target).body
    assert _meaning(of_the_folded, target) == _meaning(whole, target) == _meaning(streamed, target)
    assert "said" in json.dumps(whole)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_answer_and_its_replay_mean_the_same_to_others(format: str) -> None:
    """Law 6: what is told event by event is read as what is told whole."""
    other = "messages" if format != "messages" else "responses"
    for sample in SAMPLES:
        if sample.format != format or not _ends(sample):
            continue

        replayed = fb.collect_stream(fb.replay_response(sample.body, source=format), source=format, target=other)

        whole = fb.convert_response(sample.body, source=format, target=other)
        assert _meaning(replayed.body, other) == _meaning(whole.body, other), sample


def test_a_fold_leaves_what_bends_the_rules_to_the_reader_of_all_streams() -> None:
    """Two calls at one index are two calls; nobody can say so in the vendor's own terms, and nothing is merged."""
    near = formats.load("chat_completions")
    calls = [{"index": 0, "id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in "ab"]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})

    made = fb.collect_stream((b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), source=near.name)

    assert near.fold_stream(chunks) is None
    assert [call["id"] for call in made.body["choices"][0]["message"]["tool_calls"]] == ["a", "b"]


def test_a_fold_takes_time_in_proportion() -> None:
    """Pieces are joined once: forty thousand deltas are no forty thousand copies, and eight times as many take eight times as long."""
    start = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}

    def fold(count: int) -> tuple[float, Any]:
        begun = time.process_time()
        made = formats.load("messages").fold_stream([start, block, *[delta] * count])
        return time.process_time() - begun, made

    few = min(fold(5_000)[0] for _ in range(3))
    many, body = min((fold(40_000) for _ in range(3)), key=lambda made: made[0])

    assert many < 8 * few * 3

    assert body is not None
    assert body["content"] == [{"type": "text", "text": "word " * 40_000}]
    assert check(
        body | {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}},
        "messages",
        "response",
    )


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize(
    "item",
    [
        {"id": "x", "type": "item_of_tomorrow", "content": [{"type": {"a": 1}}, {"annotations": 5}], "summary": [{}]},
        {"id": "x", "type": "reasoning", "summary": [], "content": [{"type": "summary_text", "text": 5}]},
        {"id": "x", "type": "web_search_call", "action": {"url": 5}},
        {"id": "x", "type": "web_search_call", "action": {"query": {}, "queries": 5}},
    ],
    ids=["item", "part", "action", "actions"],
)
def test_whatever_stands_in_a_kind_of_tomorrow_is_replayed(item: dict[str, Any], target: str) -> None:
    """Law 13: what no model describes holds anything; it becomes no exception of somebody else's."""
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    body = head | {"output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}

    made = fb.collect_stream(fb.replay_response(body, source="responses", target=target), source=target)

    assert made.body == body or target != "responses"


@pytest.mark.parametrize(
    ("stem", "details"),
    [
        (
            "reasoning_signed",
            [{"type": "reasoning.text", "text": "Compare the heights.", "format": "anthropic-claude-v1", "signature": "c2lnLTE="}],
        ),
        (
            "reasoning_encrypted_own",
            [
                {"type": "reasoning.summary", "summary": "Compared.", "format": "openai-responses-v1"},
                {"type": "reasoning.encrypted", "data": "ZW5jLTE=", "id": "rs_1", "format": "openai-responses-v1"},
            ],
        ),
    ],
)
def test_details_of_reasoning_are_folded_by_their_index_and_their_tokens_stay_as_they_are(stem: str, details: Any) -> None:
    """Law 3: a caller sends back what it has collected; a token that we had marked would be none to its own vendor."""
    stream = next(each for each in streams() if (each.stem, each.format) == (stem, "chat_completions"))

    made = fb.collect_stream([stream.data], source=stream.format)

    assert (made.losses, made.additions) == ((), ())
    assert made.body["choices"][0]["message"]["reasoning_details"] == [detail | {"index": 0} for detail in details]


@pytest.mark.parametrize(
    ("delta", "said"),
    [
        ({"content": [{"type": "text", "text": "ha"}]}, {"content": "haha"}),
        ({"audio": {"data": "AAAA"}}, {"audio": {"data": "AAAAAAAA"}}),
        ({"audio": {"id": "a", "transcript": "ha"}}, {"audio": {"id": "a", "transcript": "haha"}}),
    ],
)
def test_two_equal_pieces_are_two(delta: dict[str, Any], said: dict[str, Any]) -> None:
    """Laughter comes in pieces that are alike, and so does silence."""
    deltas = [{"role": "assistant"}, delta, delta]
    chunks = [{"choices": [{"index": 0, "delta": each}]} for each in deltas] + [
        {"choices": [{"index": 0, "finish_reason": "stop"}]}
    ]
    data = b"".join(encode_event(json.dumps(chunk).encode()) for chunk in chunks)

    made = fb.collect_stream([data], source="chat_completions")

    message = made.body["choices"][0]["message"]
    assert {key: message[key] for key in said} == said
    assert made.losses == ()


def test_a_detail_whose_token_came_is_over() -> None:
    """A server that counts its thoughts from 0 again must not get a token whose text has grown since."""
    told = [{"text": "A"}, {"text": "B"}, {"signature": "s"}, {"text": "C"}, {"text": "D", "id": "d"}, {"text": "E", "id": "e"}]
    details = [{"type": "reasoning.text", "index": 0} | each for each in told]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"reasoning_details": [each]}}]} for each in details]

    made = formats.load("chat_completions").fold_stream(chunks)

    assert made is not None
    folded = made["choices"][0]["message"]["reasoning_details"]
    assert [(each["text"], each.get("signature"), each.get("id")) for each in folded] == [
        ("AB", "s", None),
        ("CD", None, "d"),
        ("E", None, "e"),
    ]


@pytest.mark.parametrize("format", ["messages", "responses"])
def test_an_event_that_nobody_knows_changes_nothing_else(format: str) -> None:
    """Law 1: the first event of a new kind must not cost the fields that only this format has."""
    event = {"type": "event.of.tomorrow", "mood": "calm"}
    for stream in streams(format):
        first, *rest = (each for each in read(stream.data) if each.data.strip())
        try:
            plain = fb.collect_stream([stream.data], source=format)
        except fb.StreamError:
            continue

        made = fb.collect_stream([write([first]), encode_event(json.dumps(event).encode(), None), write(rest)], source=format)

        assert (made.body, made.losses) == (plain.body | {event["type"]: event}, plain.losses), stream


@pytest.mark.parametrize("is_done", [False, True])
def test_items_that_are_never_done_are_in_the_answer_where_the_last_event_has_none(is_done: bool) -> None:
    """Law 6: an output that is empty says nothing about what the deltas brought."""
    said = [
        {"type": "message", "id": f"m{at}", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
        for at in (0, 1)
    ]
    end = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": []}
    told: list[dict[str, Any]] = [
        {"type": "response.output_text.delta", "item_id": "m0", "output_index": 0, "content_index": 0, "delta": "Hi"},
        {"type": "response.output_item.done", "output_index": 1, "item": said[1]},
        {"type": "response.output_item.done", "output_index": 0, "item": said[0]},
        {"type": "response.completed", "response": end},
    ]
    events = [each for each in told if is_done or each.get("item") != said[0]]

    made = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="responses")

    assert [item["content"][0]["text"] for item in made.body["output"]] == ["Hi", "Hi"]
    assert (formats.load("responses").fold_stream(events) is None) is not is_done


@pytest.mark.parametrize(
    ("format", "ends"),
    [
        (
            "generate_content",
            [
                {"candidates": [{"content": {"parts": [{"text": "A"}]}, "logprobsResult": {"chosenCandidates": [{"token": "A"}]}}]},
                {"candidates": [{"logprobsResult": {"topCandidates": [{"candidates": []}]}, "finishReason": "RECITATION"}]},
            ],
        ),
        (
            "chat_completions",
            [
                *({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": it, "function": {"name": "f"}}]}}]} for it in "ab"),
                {"choices": [{"delta": {}, "finish_reason": "eos"}]},
            ],
        ),
        (
            "messages",
            [
                {"type": "content_block_start", "index": 7, "content_block": {"type": "text", "text": "Hi"}},
                {"type": "message_delta", "delta": {"stop_reason": "brand_new"}},
                {"type": "message_stop"},
            ],
        ),
    ],
)
def test_an_answer_that_does_not_fold_ends_in_the_word_that_was_told(format: str, ends: list[dict[str, Any]]) -> None:
    """Law 3: whoever reads its own format knows its own words, and ours in their place would be another end."""
    stream = b"".join(encode_event(json.dumps(each).encode(), None) for each in ends)

    made = fb.collect_stream([stream], source=format)

    whole = made.body if format == "messages" else next(iter(made.body.get("choices") or made.body["candidates"]))
    told = {"RECITATION", "eos", "brand_new"} & {whole.get(name) for name in ("finishReason", "finish_reason", "stop_reason")}
    assert (formats.load(format).fold_stream(ends), len(told)) == (None, 1)
    assert not [loss for loss in made.losses if loss.code == "finish_reason"]


def test_two_tokens_that_are_alike_are_two() -> None:
    """A word said twice has two probabilities, also where they are equal."""
    token = {"token": "A", "logProbability": -0.5}
    weighed: dict[str, list[Any]] = {"chosenCandidates": [token], "topCandidates": [{"candidates": [token]}]}
    events: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [{"text": "A"}]}, "logprobsResult": weighed, **end}]}
        for end in ({}, {"finishReason": "STOP"})
    ]

    made = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="generate_content")

    assert made.body["candidates"][0]["logprobsResult"] == {key: [*tokens, *tokens] for key, tokens in weighed.items()}


def test_what_an_answer_rests_on_is_collected_as_its_own_format_has_it() -> None:
    """Law 3: sources come event by event, and licences, domains and scores are known to that format alone."""
    quotes = [
        {"endIndex": 2, "uri": "https://a", "license": "mit"},
        {"startIndex": 3, "endIndex": 8, "publicationDate": {"year": 2014}},
    ]
    chunks = [{"maps": {"uri": "https://b", "placeId": "p"}}, {"web": {"uri": "https://c", "domain": "c"}}]
    spans = [{"segment": {"endIndex": 2}, "groundingChunkIndices": [0], "confidenceScores": [0.5]} for _ in chunks]
    told: list[dict[str, Any]] = [
        {
            "citationMetadata": {"citations": quotes[:1]},
            "groundingMetadata": {"groundingChunks": chunks[:1], "groundingSupports": spans[:1]},
        },
        {"citationMetadata": {"citations": quotes}},
        {"groundingMetadata": {"groundingChunks": chunks[1:], "groundingSupports": spans[1:], "webSearchQueries": ["q"]}},
    ]
    events: list[dict[str, Any]] = [{"candidates": [{"content": {"parts": [{"text": "Hi there"}]}, **each}]} for each in told]
    events[-1]["candidates"][0]["finishReason"] = "STOP"

    made = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="generate_content")

    candidate, moved = made.body["candidates"][0], spans[1] | {"groundingChunkIndices": [1]}
    assert candidate["citationMetadata"] == {"citations": quotes}
    assert candidate["groundingMetadata"] == {
        "groundingChunks": chunks,
        "groundingSupports": [spans[0], moved],
        "webSearchQueries": ["q"],
    }
    assert not made.losses


def test_a_call_in_pieces_is_collected_with_all_that_stands_beside_it() -> None:
    """Law 3: that its arguments have to be put together costs nothing of the answer."""
    beside = {"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://a"}]}, "safetyRatings": [{"category": "C"}]}
    pieces = [
        {"name": "f", "id": "1", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Os", "willContinue": True}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "lo"}], "willContinue": True},
        {},
    ]
    events: list[dict[str, Any]] = [{"candidates": [{"content": {"parts": [{"functionCall": piece}]}}]} for piece in pieces]
    events.append({"candidates": [{"content": {"parts": [{"text": "Done."}]}, "finishReason": "STOP", **beside}]})

    made = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="generate_content")

    call = {"functionCall": {"name": "f", "id": "1", "args": {"city": "Oslo"}}}
    assert made.body == {"candidates": [{"content": {"parts": [call, {"text": "Done."}]}, "finishReason": "STOP", **beside}]}
    assert not made.losses


def test_what_an_answer_rests_on_stays_where_a_later_event_has_none() -> None:
    """Servers send an empty object where an event has nothing to add."""
    sources = {"groundingChunks": [{"web": {"uri": "https://example.org", "title": "A"}}]}
    candidate = {"content": {"role": "model", "parts": [{"text": "a"}]}, "index": 0}
    told = [
        {"candidates": [candidate | {"groundingMetadata": sources}]},
        {"candidates": [candidate | {"groundingMetadata": {}, "finishReason": "STOP"}]},
    ]

    made = formats.load("generate_content").fold_stream(told)

    assert made is not None
    assert made["candidates"][0]["groundingMetadata"] == sources


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_function_call_with_an_empty_custom_object_is_a_function_call(target: str) -> None:
    """Law 6: a server that fills in every field of its schema sends an empty ``custom`` beside the function, and an empty reason."""
    call = {"id": "c", "type": "function", "custom": {"name": "", "input": ""}, "function": {"name": "f", "arguments": '{"a":1}'}}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": ""}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    made = fb.collect_stream(fb.replay_response(body, source="chat_completions"), source="chat_completions", target=target)

    whole = fb.convert_response(body, source="chat_completions", target=target)
    assert _meaning(made.body, target) == _meaning(whole.body, target)
    assert made.losses == whole.losses


@pytest.mark.parametrize("target", fb.FORMATS)
def test_the_message_of_a_block_ends_an_answer_without_candidates(target: str) -> None:
    """Laws 6 and 9: the vendor's clients take feedback on the prompt and no candidate for a blocked prompt."""
    body = {"candidates": [], "promptFeedback": {"blockReasonMessage": "blocked"}, "modelVersion": "m"}

    made = fb.collect_stream(fb.replay_response(body, source="generate_content"), source="generate_content", target=target)

    whole = fb.convert_response(body, source="generate_content", target=target)
    assert _meaning(made.body, target) == _meaning(whole.body, target)
    assert made.losses == whole.losses


def test_the_pieces_of_a_patch_are_no_unknown_fields_of_the_answer() -> None:
    """The item repeats the operation: a report that named the events too would report one loss twice."""
    item = {"type": "apply_patch_call", "id": "apc_1", "call_id": "c", "status": "completed"}
    operation = {"type": "create_file", "path": "a.md", "diff": "+a\n"}
    stem, place = "response.apply_patch_call_operation_diff", {"item_id": "apc_1", "output_index": 0}
    body = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    done = item | {"operation": operation}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": body | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"operation": operation | {"diff": ""}}},
        {"type": f"{stem}.delta", "delta": "+a\n", **place},
        {"type": f"{stem}.done", "diff": "+a\n", **place},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": body | {"output": [done]}},
    ]
    stream = b"".join(encode_event(json.dumps(each).encode(), None) for each in told)

    made = fb.collect_stream([stream], source="responses", target="messages")

    assert fb.collect_stream([stream], source="responses").body == body | {"output": [done]}
    assert made.losses == fb.convert_response(body | {"output": [done]}, source="responses", target="messages").losses
