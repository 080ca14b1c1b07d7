"""Folding: a stream in its format adds up to the whole answer, and an answer unfolds to a stream."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.formats.shared.fold import ConflictError, Fold, Rule, Table
from formatbridge.streaming.sse import encode_event
from tests.fixtures import check, streams
from tests.support.laws import Sample, recorded, shipped
from tests.support.normal_form import normal_form
from tests.support.stream_laws import read, write

SAMPLES = [*shipped(kind="response"), *recorded(kind="response")]
RESTATED = ("index", "object", "delta")
"""Fields of choices and calls that a stream has in another form; some recorded whole answers also have a ``delta``."""


def _comparable(value: Any) -> Any:
    """Return a body without the restated fields."""
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items() if key not in RESTATED}
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _meaning(body: Any, format: fb.Format) -> Any:
    return normal_form(formats.load(format).decode_response(check(body, format, "response")))


def _has_end(sample: Sample) -> bool:
    """Return whether an answer has a finish reason. A stream without one is not complete."""
    if sample.format == "responses":
        return sample.body.get("status") not in ("failed", "cancelled")
    choices = sample.body.get("candidates", ()) if sample.format == "generate_content" else ()
    return all("finishReason" in choice for choice in choices)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_replayed_answer_is_collected_as_it_was(format: fb.Format) -> None:
    """Law 6: a cache that stores answers and replays them as streams keeps everything, unknown blocks and fields included."""
    for sample in SAMPLES:
        if sample.format != format or not _has_end(sample):
            continue
        if format == "chat_completions" and any("message" not in (choice or ()) for choice in sample.body["choices"]):
            continue  # a server that filtered the whole message; a stream has an empty one
        if "-malformed_" in sample.id:
            continue  # malformed details are left out and reported: tests/validation/test_malformed_fields.py

        result = fb.collect_stream(fb.replay_response(sample.body, source=format), source=format)

        assert (_comparable(result.body), result.losses, result.additions) == (_comparable(sample.body), (), ()), sample


@pytest.mark.parametrize("target", [target for target in fb.FORMATS if target != "chat_completions"])
@pytest.mark.parametrize("order", [(0, -1), (-1, 0), (-1, -2), (0, -1, 1), (1, -1, 0), (5, -3), (2, 0, -1, 1), (-2, 5, -2)])
def test_choices_have_the_same_order_streamed_folded_and_whole(order: tuple[int, ...], target: fb.Format) -> None:
    """Law 6 for negative indexes: a format with one choice gets the same choice from all three."""
    choices = [
        {"index": index, "message": {"role": "assistant", "content": f"text {at}"}, "finish_reason": "stop"}
        for at, index in enumerate(order)
    ]
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    stream = b"".join(fb.replay_response(answer, source="chat_completions"))
    folded = fb.collect_stream([stream], source="chat_completions").body
    converted = b"".join(fb.convert_stream([stream], source="chat_completions", target=target))

    whole, of_the_folded = (fb.convert_response(body, source="chat_completions", target=target).body for body in (answer, folded))

    streamed = fb.collect_stream([converted], source=target).body
    assert _meaning(of_the_folded, target) == _meaning(whole, target) == _meaning(streamed, target)
    assert "text " in json.dumps(whole)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_answer_and_its_replay_convert_to_the_same_body(format: fb.Format) -> None:
    """Law 6: an answer means the same as a stream and as a whole body."""
    other: fb.Format = "messages" if format != "messages" else "responses"
    for sample in SAMPLES:
        if sample.format != format or not _has_end(sample):
            continue

        replayed = fb.collect_stream(fb.replay_response(sample.body, source=format), source=format, target=other)

        whole = fb.convert_response(sample.body, source=format, target=other)
        assert _meaning(replayed.body, other) == _meaning(whole.body, other), sample


def test_two_calls_at_one_index_do_not_fold() -> None:
    """The vendor's rules would merge two calls to one; the canonical model keeps both."""
    format = formats.load("chat_completions")
    calls = [{"index": 0, "id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in "ab"]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})

    result = fb.collect_stream((b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), source=format.name)

    assert format.fold_stream(chunks) is None
    assert [call["id"] for call in result.body["choices"][0]["message"]["tool_calls"]] == ["a", "b"]


def test_the_time_of_a_fold_is_linear() -> None:
    """Pieces are joined once: eight times as many deltas take eight times as long."""
    start = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m"}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}

    def fold(count: int) -> tuple[float, Any]:
        start_time = time.process_time()
        result = formats.load("messages").fold_stream([start, block, *[delta] * count])
        return time.process_time() - start_time, result

    few = min(fold(5_000)[0] for _ in range(3))
    many, body = min((fold(40_000) for _ in range(3)), key=lambda result: result[0])

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
        {"id": "x", "type": "unknown_item", "content": [{"type": {"a": 1}}, {"annotations": 5}], "summary": [{}]},
        {"id": "x", "type": "reasoning", "summary": [], "content": [{"type": "summary_text", "text": 5}]},
        {"id": "x", "type": "web_search_call", "action": {"url": 5}},
        {"id": "x", "type": "web_search_call", "action": {"query": {}, "queries": 5}},
    ],
    ids=["item", "part", "action", "actions"],
)
def test_an_item_of_an_unknown_type_is_replayed_unchanged(item: dict[str, Any], target: fb.Format) -> None:
    """Law 13: a field without a model may have any value, and none raises a foreign exception."""
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    body = head | {"output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}

    result = fb.collect_stream(fb.replay_response(body, source="responses", target=target), source=target)

    assert result.body == body or target != "responses"


@pytest.mark.parametrize(
    ("stem", "details"),
    [
        (
            "reasoning_signed",
            [{"type": "reasoning.text", "text": "Compare the heights.", "format": "anthropic-claude-v1", "signature": "c2lnLTE="}],
        ),
        (
            "reasoning_encrypted_only",
            [
                {"type": "reasoning.summary", "summary": "Compared.", "format": "openai-responses-v1"},
                {"type": "reasoning.encrypted", "data": "ZW5jLTE=", "id": "rs_1", "format": "openai-responses-v1"},
            ],
        ),
    ],
)
def test_reasoning_details_fold_by_index_and_their_tokens_stay_unchanged(stem: str, details: Any) -> None:
    """Law 3: a caller sends back what it has collected, and the vendor rejects a changed token."""
    stream = next(each for each in streams() if (each.stem, each.format) == (stem, "chat_completions"))

    result = fb.collect_stream([stream.data], source=stream.format)

    assert (result.losses, result.additions) == ((), ())
    assert result.body["choices"][0]["message"]["reasoning_details"] == [detail | {"index": 0} for detail in details]


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"content": [{"type": "text", "text": "ha"}]}, {"content": "haha"}),
        ({"audio": {"data": "AAAA"}}, {"audio": {"data": "AAAAAAAA"}}),
        ({"audio": {"id": "a", "transcript": "ha"}}, {"audio": {"id": "a", "transcript": "haha"}}),
    ],
)
def test_equal_deltas_are_both_kept(delta: dict[str, Any], expected: dict[str, Any]) -> None:
    """Equal pieces of a text, or of audio, are not a repetition."""
    deltas = [{"role": "assistant"}, delta, delta]
    chunks = [{"choices": [{"index": 0, "delta": each}]} for each in deltas] + [
        {"choices": [{"index": 0, "finish_reason": "stop"}]}
    ]
    data = b"".join(encode_event(json.dumps(chunk).encode()) for chunk in chunks)

    result = fb.collect_stream([data], source="chat_completions")

    message = result.body["choices"][0]["message"]
    assert {key: message[key] for key in expected} == expected
    assert result.losses == ()


def test_a_signature_ends_a_reasoning_detail() -> None:
    """A server may use an index again; a signature must not cover text that came after it."""
    pieces = [{"text": "A"}, {"text": "B"}, {"signature": "s"}, {"text": "C"}, {"text": "D", "id": "d"}, {"text": "E", "id": "e"}]
    details = [{"type": "reasoning.text", "index": 0} | each for each in pieces]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"reasoning_details": [each]}}]} for each in details]

    result = formats.load("chat_completions").fold_stream(chunks)

    assert result is not None
    folded = result["choices"][0]["message"]["reasoning_details"]
    assert [(each["text"], each.get("signature"), each.get("id")) for each in folded] == [
        ("AB", "s", None),
        ("CD", None, "d"),
        ("E", None, "e"),
    ]


@pytest.mark.parametrize("format", ["messages", "responses"])
def test_an_unknown_event_changes_nothing_else(format: fb.Format) -> None:
    """Law 1: an event of a new type must not lose the fields that only this format has."""
    event = {"type": "event.unknown", "mood": "calm"}
    for stream in streams(format):
        first, *rest = (each for each in read(stream.data) if each.data.strip())
        try:
            collected = fb.collect_stream([stream.data], source=format)
        except fb.StreamError:
            continue

        result = fb.collect_stream([write([first]), encode_event(json.dumps(event).encode(), None), write(rest)], source=format)

        assert (result.body, result.losses) == (collected.body | {event["type"]: event}, collected.losses), stream


@pytest.mark.parametrize("is_done", [False, True])
def test_items_that_are_never_done_are_in_the_answer_where_the_last_event_has_none(is_done: bool) -> None:
    """Law 6: an empty output in the last event does not remove what the deltas brought."""
    items = [
        {"type": "message", "id": f"m{at}", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
        for at in (0, 1)
    ]
    end = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": []}
    all_events: list[dict[str, Any]] = [
        {"type": "response.output_text.delta", "item_id": "m0", "output_index": 0, "content_index": 0, "delta": "Hi"},
        {"type": "response.output_item.done", "output_index": 1, "item": items[1]},
        {"type": "response.output_item.done", "output_index": 0, "item": items[0]},
        {"type": "response.completed", "response": end},
    ]
    events = [each for each in all_events if is_done or each.get("item") != items[0]]

    result = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="responses")

    assert [item["content"][0]["text"] for item in result.body["output"]] == ["Hi", "Hi"]
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
def test_an_answer_that_does_not_fold_keeps_its_finish_reason(format: fb.Format, ends: list[dict[str, Any]]) -> None:
    """Law 3: the caller knows the finish reasons of the format; a canonical one would have another meaning."""
    stream = b"".join(encode_event(json.dumps(each).encode(), None) for each in ends)

    result = fb.collect_stream([stream], source=format)

    whole = result.body if format == "messages" else next(iter(result.body.get("choices") or result.body["candidates"]))
    reasons = {"RECITATION", "eos", "brand_new"} & {whole.get(name) for name in ("finishReason", "finish_reason", "stop_reason")}
    assert (formats.load(format).fold_stream(ends), len(reasons)) == (None, 1)
    assert not [loss for loss in result.losses if loss.code == "finish_reason"]


def test_equal_log_probabilities_are_not_a_repetition() -> None:
    """A token that comes twice has two entries, even if they are equal."""
    token = {"token": "A", "logProbability": -0.5}
    logprobs_result: dict[str, list[Any]] = {"chosenCandidates": [token], "topCandidates": [{"candidates": [token]}]}
    events: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [{"text": "A"}]}, "logprobsResult": logprobs_result, **end}]}
        for end in ({}, {"finishReason": "STOP"})
    ]

    result = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="generate_content")

    assert result.body["candidates"][0]["logprobsResult"] == {key: [*tokens, *tokens] for key, tokens in logprobs_result.items()}


def test_sources_are_collected_in_the_notation_of_their_format() -> None:
    """Law 3: sources come event by event; only this format has licences, domains and scores."""
    quotes = [
        {"endIndex": 2, "uri": "https://a", "license": "mit"},
        {"startIndex": 3, "endIndex": 8, "publicationDate": {"year": 2014}},
    ]
    chunks = [{"maps": {"uri": "https://b", "placeId": "p"}}, {"web": {"uri": "https://c", "domain": "c"}}]
    spans = [{"segment": {"endIndex": 2}, "groundingChunkIndices": [0], "confidenceScores": [0.5]} for _ in chunks]
    pieces: list[dict[str, Any]] = [
        {
            "citationMetadata": {"citations": quotes[:1]},
            "groundingMetadata": {"groundingChunks": chunks[:1], "groundingSupports": spans[:1]},
        },
        {"citationMetadata": {"citations": quotes}},
        {"groundingMetadata": {"groundingChunks": chunks[1:], "groundingSupports": spans[1:], "webSearchQueries": ["q"]}},
    ]
    events: list[dict[str, Any]] = [{"candidates": [{"content": {"parts": [{"text": "Hi there"}]}, **each}]} for each in pieces]
    events[-1]["candidates"][0]["finishReason"] = "STOP"

    result = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="generate_content")

    candidate, moved = result.body["candidates"][0], spans[1] | {"groundingChunkIndices": [1]}
    assert candidate["citationMetadata"] == {"citations": quotes}
    assert candidate["groundingMetadata"] == {
        "groundingChunks": chunks,
        "groundingSupports": [spans[0], moved],
        "webSearchQueries": ["q"],
    }
    assert not result.losses


def test_a_call_in_pieces_is_collected_with_all_other_fields() -> None:
    """Law 3: joining the arguments of a call loses no other field."""
    fields = {"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://a"}]}, "safetyRatings": [{"category": "C"}]}
    pieces = [
        {"name": "f", "id": "1", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Os", "willContinue": True}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "lo"}], "willContinue": True},
        {},
    ]
    events: list[dict[str, Any]] = [{"candidates": [{"content": {"parts": [{"functionCall": piece}]}}]} for piece in pieces]
    events.append({"candidates": [{"content": {"parts": [{"text": "Done."}]}, "finishReason": "STOP", **fields}]})

    result = fb.collect_stream((encode_event(json.dumps(each).encode(), None) for each in events), source="generate_content")

    call = {"functionCall": {"name": "f", "id": "1", "args": {"city": "Oslo"}}}
    assert result.body == {"candidates": [{"content": {"parts": [call, {"text": "Done."}]}, "finishReason": "STOP", **fields}]}
    assert not result.losses


def test_sources_stay_where_a_later_event_has_none() -> None:
    """Servers send an empty object where an event has nothing to add."""
    sources = {"groundingChunks": [{"web": {"uri": "https://example.org", "title": "A"}}]}
    candidate = {"content": {"role": "model", "parts": [{"text": "a"}]}, "index": 0}
    events = [
        {"candidates": [candidate | {"groundingMetadata": sources}]},
        {"candidates": [candidate | {"groundingMetadata": {}, "finishReason": "STOP"}]},
    ]

    result = formats.load("generate_content").fold_stream(events)

    assert result is not None
    assert result["candidates"][0]["groundingMetadata"] == sources


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_function_call_with_an_empty_custom_object_is_a_function_call(target: fb.Format) -> None:
    """Law 6: a server that fills in every field of its schema sends an empty ``custom`` next to the function, and an empty reason."""
    call = {"id": "c", "type": "function", "custom": {"name": "", "input": ""}, "function": {"name": "f", "arguments": '{"a":1}'}}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": ""}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    result = fb.collect_stream(fb.replay_response(body, source="chat_completions"), source="chat_completions", target=target)

    whole = fb.convert_response(body, source="chat_completions", target=target)
    assert _meaning(result.body, target) == _meaning(whole.body, target)
    assert result.losses == whole.losses


@pytest.mark.parametrize("target", fb.FORMATS)
def test_the_message_of_a_block_ends_an_answer_without_candidates(target: fb.Format) -> None:
    """Laws 6 and 9: prompt feedback without a candidate is a blocked prompt."""
    body = {"candidates": [], "promptFeedback": {"blockReasonMessage": "blocked"}, "modelVersion": "m"}

    result = fb.collect_stream(fb.replay_response(body, source="generate_content"), source="generate_content", target=target)

    whole = fb.convert_response(body, source="generate_content", target=target)
    assert _meaning(result.body, target) == _meaning(whole.body, target)
    assert result.losses == whole.losses


def test_the_deltas_of_a_patch_are_no_unknown_fields_of_the_answer() -> None:
    """The item repeats the operation, so a report of the events would report one loss twice."""
    item = {"type": "apply_patch_call", "id": "apc_1", "call_id": "c", "status": "completed"}
    operation = {"type": "create_file", "path": "a.md", "diff": "+a\n"}
    stem, place = "response.apply_patch_call_operation_diff", {"item_id": "apc_1", "output_index": 0}
    body = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    done = item | {"operation": operation}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": body | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"operation": operation | {"diff": ""}}},
        {"type": f"{stem}.delta", "delta": "+a\n", **place},
        {"type": f"{stem}.done", "diff": "+a\n", **place},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": body | {"output": [done]}},
    ]
    stream = b"".join(encode_event(json.dumps(each).encode(), None) for each in events)

    result = fb.collect_stream([stream], source="responses", target="messages")

    assert fb.collect_stream([stream], source="responses").body == body | {"output": [done]}
    assert result.losses == fb.convert_response(body | {"output": [done]}, source="responses", target="messages").losses


@pytest.mark.parametrize("has_name", [True, False])
def test_deltas_of_the_deprecated_function_call_fold_to_one_call(has_name: bool) -> None:
    """Law 3: servers of old models stream them, and the vendor's client joins their arguments. A call needs a name."""
    name = {"name": "f"} if has_name else {}
    deltas: list[dict[str, Any]] = [name | {"arguments": ""}, {"arguments": '{"a":'}, {"arguments": "1}"}]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": {"function_call": delta}}]} for delta in deltas]

    result = formats.load("chat_completions").fold_stream(chunks)

    call = result and result["choices"][0]["message"]["function_call"]
    assert call == ({"name": "f", "arguments": '{"a":1}'} if has_name else None)


def _fold(rule: Rule, *values: Any) -> Any:
    """Return the merged values of one field; None is null, for which another rule holds."""
    fold = Fold(Table({"key": rule}, other="ignore", null="first"))
    for value in values:
        fold.add({"key": value, "other": value})
    whole = fold.to_object()
    assert "other" not in whole
    return whole.get("key")


@pytest.mark.parametrize(
    ("rule", "values", "whole"),
    [
        ("ignore", ["a", None], None),
        ("first", ["a", "b"], "a"),
        ("last", ["a", ""], ""),
        ("last_object", [{"a": 1}, {}], {"a": 1}),
        ("last_object", [{"a": 1}, 0], 0),
        ("null", [[1]], None),
        ("empty_list", [[], [1]], []),
        ("filled", ["a", "", 0, {}], "a"),
        ("filled", ["a", False], False),
        ("filled_list", ["a", ""], "a"),
        ("filled_list", [[1], [2], []], [1, 2]),
        ("equal", ["a", "a", None], "a"),
        ("empty", [{}], {}),
        ("text", ["ha", "ha"], "haha"),
        ("text", [None, "a"], "a"),
        ("list", [[1], [], [1]], [1, 1]),
        ("unique", [[1], [1, 2], [3]], [1, 2, 3]),
        ("unknown", ["a", "b"], "ab"),
        (
            Table({"text": "text"}, other="last", null="ignore"),
            [{"text": "a", "n": 1}, {"text": "b", "n": 2}],
            {"text": "ab", "n": 2},
        ),
    ],
)
def test_each_rule_merges_the_values_of_a_field(rule: Rule, values: list[Any], whole: Any) -> None:
    """A format's table is read as these rules."""
    assert _fold(rule, *values) == whole


@pytest.mark.parametrize(
    ("rule", "values"),
    [("equal", ["a", "b"]), ("repeated", ["a"]), ("empty", ["a"]), ("text", ["a", ["b"]]), ("text", [["a"], "b"])],
)
def test_contradictory_pieces_raise_a_conflict(rule: Rule, values: list[Any]) -> None:
    """The caller then uses the canonical model, because any value of the fold would be a guess."""
    with pytest.raises(ConflictError):
        _fold(rule, *values)


def test_folding_does_not_change_the_pieces() -> None:
    """Law 14: the events belong to the caller."""
    pieces: list[dict[str, Any]] = [{"items": [1], "object": {"items": [1]}}, {"items": [2], "object": {"items": [2]}}]
    inner = Table({}, other="list", null="first")
    fold = Fold(Table({"object": inner}, other="list", null="first"), pieces[0])

    fold.add(pieces[1])

    assert fold.to_object() == {"items": [1, 2], "object": {"items": [1, 2]}}
    assert pieces == [{"items": [1], "object": {"items": [1]}}, {"items": [2], "object": {"items": [2]}}]
