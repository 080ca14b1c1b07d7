"""Log probabilities: they are emitted with their text, or reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures, streams

SOURCES: tuple[fb.Format, ...] = ("chat_completions", "generate_content")
SOURCE_ANSWERS = {
    "chat_completions": {"content": [{"token": "Hi", "logprob": -0.5, "bytes": None, "top_logprobs": []}], "refusal": None},
    "generate_content": {
        "chosenCandidates": [{"token": "Hi", "logProbability": -0.5}],
        "topCandidates": [{"candidates": [{"token": "Ho", "logProbability": -2.5}]}],
    },
}
CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def _shipped(source: fb.Format) -> bytes:
    """Return the stream with a text, its tokens and a call in one event."""
    (data,) = (each.data for each in streams(source) if each.stem == "logprobs_before_calls_only")
    return data


def _behind(source: fb.Format) -> bytes:
    """Return a stream in which the tokens of a text follow a call. It is no fixture, because it breaks law 6."""
    events: list[dict[str, Any]]
    if source == "chat_completions":
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        end = {"delta": {}, "logprobs": SOURCE_ANSWERS[source], "finish_reason": "tool_calls"}
        choices: list[Any] = [{"delta": {"role": "assistant", "content": "Hi"}}, {"delta": {"tool_calls": [CALL]}}, end]
        events = [head | {"choices": [{"index": 0, **each}]} for each in choices]
    else:
        parts: list[Any] = [{"text": "Hi"}, {"functionCall": {"name": "f", "args": {}}}]
        events = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
        events.append({"candidates": [{"logprobsResult": SOURCE_ANSWERS[source], "finishReason": "STOP"}]})
    return b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in events)


def _converted(data: bytes, source: fb.Format, target: fb.Format) -> tuple[bytes, fb.StreamConverter]:
    converter = fb.StreamConverter(source=source, target=target)
    return converter.feed(data) + converter.finish(), converter


def _tokens(body: Any) -> list[Any]:
    """Return the tokens of an answer with their alternatives, list by list."""
    texts = [part for item in body.get("output", ()) for part in item.get("content", ())]
    return [each.get("logprobs") or each.get("logprobsResult") for each in texts or body.get("choices") or body["candidates"]]


@pytest.mark.parametrize(("source", "target"), [(a, b) for a in SOURCES for b in (*SOURCES, "responses") if a != b])
def test_logprobs_next_to_text_and_calls_are_emitted_with_the_text(source: fb.Format, target: fb.Format) -> None:
    """One event may have all three; when the call begins, the text has its tokens."""
    result, converter = _converted(_shipped(source), source, target)

    whole = converter.response()

    assert b'" look."' in result
    assert _tokens(fb.collect_stream([result], source=target).body) == _tokens(whole.body)
    assert [loss.path for loss in whole.losses if "logprobs" in loss.path] == []


@pytest.mark.parametrize("source", SOURCES)
def test_logprobs_after_their_text_are_emitted_if_the_target_has_separate_logprobs(source: fb.Format) -> None:
    """The list of a whole choice can still grow."""
    (target,) = {*SOURCES} - {source}

    result, converter = _converted(_behind(source), source, target)

    assert _tokens(fb.collect_stream([result], source=target).body) == _tokens(converter.response().body)
    assert [loss.path for loss in converter.losses if "logprobs" in loss.path] == []


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        ("chat_completions", ["/choices/0/logprobs/content/0"]),
        ("generate_content", [f"/candidates/0/logprobsResult/{name}Candidates/0" for name in ("chosen", "top")]),
    ],
)
def test_logprobs_after_the_end_of_their_text_are_reported(source: fb.Format, lost: list[str]) -> None:
    """The collected answer has them; the stream was sent without."""
    result, converter = _converted(_behind(source), source, "responses")

    assert b'"token":' not in result
    assert [token["token"] for tokens in _tokens(converter.response().body) for token in tokens or ()] == ["Hi"]
    assert [(loss.path, loss.kind, loss.code) for loss in converter.losses] == [(path, "dropped", "too_late") for path in lost]
    assert fb.collect_stream([_behind(source)], source=source, target="responses").losses == ()


@pytest.mark.parametrize("parts", [[{"functionCall": {"name": "f", "args": {}}}], [{"text": ""}], []])
def test_a_replay_has_the_logprobs_of_an_answer_without_text(parts: list[Any]) -> None:
    """They belong to the whole choice."""
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": "STOP",
        "logprobsResult": SOURCE_ANSWERS["generate_content"],
    }

    output = b"".join(fb.replay_response({"candidates": [candidate]}, source="generate_content", target="chat_completions"))

    (reported,) = _tokens(fb.collect_stream([output], source="chat_completions").body)
    assert [(token["token"], token["top_logprobs"][0]["token"]) for token in reported["content"]] == [("Hi", "Ho")]


def _answered(message: dict[str, Any], tokens: list[str], target: fb.Format) -> fb.Converted:
    """Convert an answer of chat_completions whose tokens have probabilities."""
    events: list[Any] = [{"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": []} for token in tokens]
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    choice["logprobs"] = {"content": events, "refusal": None}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return fb.convert_response(body, source="chat_completions", target=target)


@pytest.mark.parametrize(
    ("message", "tokens", "kept", "lost"),
    [
        ({"content": "Hi"}, ["Hi", "<end>"], ["Hi"], [1]),
        ({"content": "Hi", "reasoning_content": "hm"}, ["<think>", "hm", "</think>", "Hi"], ["Hi"], [0, 1, 2]),
        ({"content": "Hi"}, ["H", "i"], ["H", "i"], []),
    ],
    ids=["an end", "thoughts before", "all of it"],
)
def test_logprobs_of_a_text_are_the_tokens_that_compose_it(
    message: Any, tokens: list[str], kept: list[str], lost: list[int]
) -> None:
    """Servers also count tokens of reasoning, calls and the end; a probability of a wrong text is worse than none."""
    result = _answered(message, tokens, "responses")

    assert [token["token"] for token in result.body["output"][-1]["content"][0]["logprobs"]] == kept
    assert [loss.path for loss in result.losses] == [f"/choices/0/logprobs/content/{index}" for index in lost]


def test_logprobs_of_calls_are_reported_one_by_one() -> None:
    """No text can have them."""
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]

    result = _answered({"content": None, "tool_calls": calls}, ["f", "{}"], "responses")

    lost = [loss.path for loss in result.losses]
    assert [path for path in lost if "logprobs" in path] == ["/choices/0/logprobs/content/0", "/choices/0/logprobs/content/1"]


def test_top_logprobs_in_a_separate_list_are_reported_with_their_token() -> None:
    """generate_content has a separate list for them, which is lost too."""
    (fixture,) = (each for each in fixtures("response", "generate_content") if each.stem == "logprobs_of_calls")

    lost = [loss.path for loss in fixture.convert("responses").losses]

    names = [f"{name}Candidates/{index}" for index in (0, 1) for name in ("chosen", "top")]
    assert [path for path in lost if "logprobs" in path] == [f"/candidates/0/logprobsResult/{name}" for name in names]


def _of_responses(output: list[dict[str, Any]], target: fb.Format) -> fb.Converted:
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    body = head | {"output": output, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return fb.convert_response(body, source="responses", target=target)


@pytest.mark.parametrize(("first", "lost"), [(["a"], ["/output/0", "/output/1"]), ([], ["/output/1"])])
def test_each_dropped_list_of_logprobs_is_reported(first: list[str], lost: list[str]) -> None:
    """An answer of several messages has a list for each; an empty one is no loss."""

    def message_of(index: int, tokens: list[str]) -> dict[str, Any]:
        events = [{"token": token, "logprob": -0.1, "bytes": [97], "top_logprobs": []} for token in tokens]
        part = {"type": "output_text", "text": "a", "annotations": [], "logprobs": events}
        return {"type": "message", "id": f"m{index}", "role": "assistant", "status": "completed", "content": [part]}

    converted = _of_responses([message_of(0, first), message_of(1, ["a"])], "messages")

    result = [loss.path for loss in converted.losses if loss.path.endswith("logprobs")]
    assert result == [f"{place}/content/0/logprobs" for place in lost]


@pytest.mark.parametrize(("item", "text"), [(0, 1), (16, 0)])
def test_logprobs_are_reported_wherever_their_text_is(item: int, text: int) -> None:
    """An answer may have twenty calls before its text, and several texts."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"}
    texts: list[dict[str, Any]] = [{"type": "output_text", "text": "a", "annotations": []} for _ in range(text + 1)]
    texts[-1]["logprobs"] = [{"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": []}]
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": texts}
    calls = [call | {"id": f"f{index}", "call_id": f"c{index}"} for index in range(item)]

    converted = _of_responses([*calls, message], "messages")

    result = [(loss.path, loss.kind) for loss in converted.losses if "logprobs" in loss.path or loss.path == "/output"]
    assert result == [(f"/output/{item}/content/{text}/logprobs", "dropped")]
