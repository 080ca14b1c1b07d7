"""Law 5 for streams:

the official client of the target reads every converted stream to its end, and gets the answer that the library collects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from tests.corpus import Entry, entries, requires_corpus
from tests.fixtures import fixtures
from tests.support.directions import DIRECTIONS
from tests.support.sdk_clients import ClientRefusesError, content_of, differences, read
from tests.support.stream_laws import Stream, convert, shipped

SMALL = 2_000
"""The size in bytes of streams that are also read byte by byte."""

CUT_SHORT = "vercel-ai--responses-openai-image-generation-tool-1"
"""A recording whose image was shortened with dots before it was stored; a client that decodes it must raise."""


@requires_corpus
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_official_client_reads_every_recorded_stream_as_we_do(source: fb.Format, target: fb.Format) -> None:
    """A user of an official client over a bridge gets the answer that the bridge reports, and an error if there was one."""
    result = [
        f"{entry.path}: {fault}"
        for entry in entries(source, "stream")
        if CUT_SHORT not in entry.path or target != "generate_content"
        for fault in _faults(entry, target)
    ]

    assert result == []


UNREADABLE = {
    "stream-tools_arguments_broken_only": "arguments that turn out to be no JSON have left, and the client of messages parses them",
    "stream-finish_length_calls": "likewise",
}
"""Fixtures that the official client of messages cannot read, and that have no other notation."""


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_official_client_reads_every_fixture_as_we_do(source: fb.Format, target: fb.Format) -> None:
    """Every hard case, converted, is an answer or an error to the vendor's client; small ones are also read byte by byte."""
    wanted = [each for each in shipped(source) if target != "messages" or each.id.rpartition("-")[0] not in UNREADABLE]

    assert [f"{each}: {fault}" for each in wanted for fault in _faults(each, target)] == []


@pytest.mark.parametrize("name", ["reasoning_signed", "reasoning_redacted", "reasoning_between_tools", "reasoning_empty_signed"])
@pytest.mark.parametrize("via", ["chat_completions", "responses", "generate_content"])
def test_an_answer_accumulated_by_a_client_returns_every_token_with_its_reasoning(via: fb.Format, name: str) -> None:
    """The vendor rejects a reasoning part whose token is missing, changed or separate:

    in the second turn of every conversation with tools.
    """
    data = next(each.data for each in shipped("messages") if each.id == f"stream-{name}-messages")
    sent = fb.collect_stream([data], source="messages").body["content"]

    answer = read(convert(data, "messages", via), via)
    returned = fb.convert_request(_next_turn(answer, via), source=via, target="messages", model="m", stream=False)

    turn = next(each for each in returned.body["messages"] if each["role"] == "assistant")["content"]
    reasoning = [block for block in turn if block["type"] in ("thinking", "redacted_thinking")]
    assert reasoning == [block for block in sent if block["type"] in ("thinking", "redacted_thinking")]


def _next_turn(answer: Any, via: fb.Format) -> Any:
    """Write the request of the next turn, as an application does with the answer of its client."""
    question = {"role": "user", "content": "And now?"}
    if via == "chat_completions":
        message = {key: value for key, value in answer["choices"][0]["message"].items() if value is not None and key != "parsed"}
        calls = message.get("tool_calls") or ()
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in calls]
        return {"model": "m", "messages": [question, message, *results, question]}
    if via == "responses":
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "x"} for call in calls]
        return {"model": "m", "input": [question, *answer["output"], *results, question]}
    parts = answer["candidates"][0]["content"]["parts"]
    items = [{"functionResponse": {**part["functionCall"], "response": {"a": 1}}} for part in parts if "functionCall" in part]
    for part in items:
        part["functionResponse"].pop("args", None)
    ask = {"role": "user", "parts": [{"text": "And now?"}]}
    return {"contents": [ask, {"role": "model", "parts": parts}, *([{"role": "user", "parts": items}] if items else []), ask]}


def _faults(entry: Entry | Stream, target: fb.Format) -> Iterator[str]:
    converter = fb.StreamConverter(source=entry.format, target=target)
    try:
        converted = converter.feed(entry.data if isinstance(entry, Stream) else entry.bytes()) + converter.finish()
    except fb.StreamError:
        return  # cut, or not of its format: there is no answer to agree on
    for size in (None, 1) if len(converted) < SMALL else (None,):
        try:
            body = read(converted, target, size=size)
        except ClientRefusesError as error:
            if not converter.error and not str(error).startswith("ClientRefusesError: failed"):
                yield f"refused: {error}"
            continue
        if converter.error:
            yield "an error became an answer"
        else:
            yield from differences(content_of(body, target), content_of(fb.collect_stream([converted], source=target).body, target))


@pytest.mark.parametrize("stem", ["text_plain", "text_parts", "tools_parallel", "finish_length", "usage_cached_reasoning"])
@pytest.mark.parametrize("format", fb.FORMATS)
def test_the_official_client_reads_a_replay_as_the_answer(format: fb.Format, stem: str) -> None:
    """A cached answer is streamed to a user who requested a stream; some clients require the names of events."""
    body = next(each.body for each in fixtures("response", format) if each.stem == stem)

    output = b"".join(fb.replay_response(body, source=format))

    assert list(differences(content_of(read(output, format), format), content_of(body, format))) == []


@pytest.mark.parametrize("numbers", [(None, None), (0, 0), (1, 1), (None, 0)], ids=str)
@pytest.mark.parametrize("source", ["chat_completions", "generate_content"])
@pytest.mark.parametrize("target", ["chat_completions", "generate_content"])
def test_choices_without_an_index_stay_apart_in_a_replay(
    source: fb.Format, target: fb.Format, numbers: tuple[int | None, ...]
) -> None:
    """Servers leave out the indexes of choices, or repeat one; a stream assigns texts to choices by them."""
    events = [{} if number is None else {"index": number} for number in numbers]
    texts = ["Rome", "Oslo"]
    answers: dict[str, Any] = {
        "chat_completions": {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {**index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                for index, text in zip(events, texts, strict=True)
            ],
        },
        "generate_content": {
            "candidates": [
                {**index, "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
                for index, text in zip(events, texts, strict=True)
            ]
        },
    }
    answer = answers[source]

    output = b"".join(fb.replay_response(answer, source=source, target=target))

    assert [choice["text"] for choice in content_of(read(output, target), target)["choices"]] == texts
    collected, whole = (
        fb.collect_stream([output], source=target).body,
        fb.convert_response(answer, source=source, target=target).body,
    )
    assert [choice["text"] for choice in content_of(collected, target)["choices"]] == texts
    assert [choice["text"] for choice in content_of(whole, target)["choices"]] == texts
