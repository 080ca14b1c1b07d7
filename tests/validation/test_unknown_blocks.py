"""Blocks in a field that does not have their kind are read as unknown blocks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

import formatbridge as fb
from tests.support.servers import stream_of

Block = dict[str, Any]

KINDS = (
    "image", "document", "search_result", "tool_reference", "thinking", "redacted_thinking", "tool_use", "tool_result",
    "server_tool_use", "web_search_tool_result", "mcp_tool_use", "tool_addition", "tool_removal", "container_upload",
)  # fmt: skip
SHAPES: tuple[Block, ...] = (
    {},
    {"source": 5},
    {"source": {"type": "content"}},
    {"source": {"type": "text"}},
    {"content": 5, "title": 1, "source": 2},
    {"text": 5},
    {"tool_name": 5},
    {"thinking": 5, "signature": -1},
    {"data": 5},
    {"id": 5, "name": 5, "input": 5},
    {"tool_use_id": 5, "content": 5},
    {"tool": {"definition": -1}},
    {"content": {"type": "x"}},
)
ASK: Block = {"role": "user", "content": "x"}


def _in_messages(block: Block) -> Iterator[Block]:
    yield {"system": [block], "messages": [ASK]}
    yield {"messages": [ASK, {"role": "system", "content": [block]}]}
    yield {"messages": [{"role": "user", "content": [block]}]}
    yield {"messages": [ASK, {"role": "assistant", "content": [block]}, ASK]}
    for outer in (
        {"type": "tool_result", "tool_use_id": "t", "content": [block]},
        {"type": "document", "source": {"type": "content", "content": [block]}},
        {"type": "search_result", "title": "t", "source": "s", "content": [block]},
    ):
        yield {"messages": [{"role": "user", "content": [outer]}]}


def _converts_or_is_refused(body: Block, source: fb.Format) -> int:
    """Convert a request to every format, and return the number of conversions; any exception of another library is a failure."""
    taken = 0
    for target in fb.FORMATS:
        try:
            converted = fb.convert_request(body, source=source, target=target, model="m")
        except fb.InvalidPayloadError:
            continue
        assert converted.json()
        assert converted.losses is not None
        taken += 1
    return taken


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_in_the_wrong_field_is_kept_or_rejected(kind: str) -> None:
    """Stored conversations are edited by hand and by other programs; another exception would stop the service that reads them."""
    taken = sum(
        _converts_or_is_refused({"model": "m", "max_tokens": 9, **body}, "messages")
        for shape in SHAPES
        for body in _in_messages({"type": kind, **shape})
    )

    assert taken


@pytest.mark.parametrize(
    ("source", "kind"), [("chat_completions", "input_text"), ("chat_completions", "output_text"), ("responses", "text")]
)
def test_text_under_the_name_of_another_format_is_text(source: fb.Format, kind: str) -> None:
    """Callers copy parts from one format to the other, and servers accept them: the text of a user is not left out because of its type."""
    name = "input" if source == "responses" else "messages"

    def converted(part: Block, target: fb.Format) -> fb.ConvertedRequest:
        return fb.convert_request({"model": "m", name: [{"role": "user", "content": [part]}]}, source=source, target=target)

    for target in fb.FORMATS:
        if target != source:
            text = converted({"type": kind, "text": "Delete nothing!"}, target)
            more = converted({"type": kind, "text": "Delete nothing!", "mark": {"a": 1}}, target)
            none = converted({"type": kind, "text": 5}, target)

            assert ("Delete nothing!" in text.json().decode(), text.losses) == (True, ())
            assert [loss.path for loss in more.losses] == [f"/{name}/0/content/0/mark"]
            assert f"/{name}/0/content/0" in [loss.path for loss in none.losses]


UNKNOWN: dict[str, tuple[Block, str]] = {
    "chat_completions": ({"messages": [{"role": "user", "content": [{"type": "hologram"}]}]}, "/messages/0/content/0"),
    "messages": ({"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "hologram"}]}]}, "/messages/0/content/0"),
    "responses": ({"input": [{"role": "user", "content": [{"type": "hologram"}]}]}, "/input/0/content/0"),
    "generate_content": ({"contents": [{"role": "user", "parts": [{"hologram": {"a": 1}}]}]}, "/contents/0/parts/0"),
}


@pytest.mark.parametrize("source", UNKNOWN)
def test_an_unknown_part_of_the_user_is_an_impossible_loss(source: fb.Format) -> None:
    """It may be the whole question, like an image that a target does not accept; a part of the model is at most lossy."""
    body, place = UNKNOWN[source]
    message = json.loads(json.dumps(body).replace('"user"', '"model"' if source == "generate_content" else '"assistant"'))

    for target in fb.FORMATS:
        if target != source:
            request, reported = (
                fb.convert_request(
                    each | {"model": "m"} if source != "generate_content" else each, source=source, target=target, model="m"
                )
                for each in (body, message)
            )
            assert (place, "dropped", "impossible") in [(loss.path, loss.kind, loss.severity) for loss in request.losses]
            assert "impossible" not in [loss.severity for loss in reported.losses if loss.path == place]


@pytest.mark.parametrize("name", ["id", "text", "summary", "data", "signature", "format"])
def test_a_reasoning_detail_that_is_no_text_is_reported(name: str) -> None:
    """Servers of this kind invent details; those of an unknown shape are in the report."""
    message = {"role": "assistant", "content": "x", "reasoning_details": [{"type": "novel", name: 5, "text": "hm"} | {name: 5}]}

    for target in ("messages", "responses", "generate_content"):
        converted = fb.convert_request(
            {"model": "m", "messages": [ASK, message, ASK]}, source="chat_completions", target=target, model="m"
        )

        assert any(loss.path.startswith("/messages/1/reasoning_details/0") for loss in converted.losses)


@pytest.mark.parametrize(
    "part", [{"inlineData": {"mimeType": "text/plain", "data": "é"}}, {"text": "x", "thoughtSignature": "ZmIxé"}]
)
def test_invalid_base64_is_kept_or_rejected(part: Block) -> None:
    """Base64 is ASCII; the standard library raises another exception for other text."""
    assert _converts_or_is_refused({"contents": [{"role": "user", "parts": [part]}]}, "generate_content") == len(fb.FORMATS)


def test_the_bytes_of_a_token_are_numbers_of_any_size() -> None:
    """A number that is no byte cannot be a part of the token, so it is reported as lost."""
    message = {"content": [{"token": "a", "logprob": -0.1, "bytes": [300], "top_logprobs": []}]}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a"}, "logprobs": message}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    converted = fb.convert_response(answer, source="chat_completions", target="generate_content")

    assert "/choices/0/logprobs/content/0/bytes" in {loss.path for loss in converted.losses}


NOVEL = {"type": "content_block_start", "index": 9, "content_block": {"type": "novel", "text": {}}}
DELTA = {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "x"}}
RANKED = {
    "id": "c",
    "choices": [
        {
            "index": 0,
            "delta": {"content": "x"},
            "logprobs": {
                "content": [{"token": "x", "logprob": 0, "top_logprobs": [{"token": "y", "logprob": -1, "top_logprobs": 1.5}]}]
            },
        }
    ],
}
ODD_EVENTS: dict[str, list[tuple[str, list[Block]]]] = {
    "chat_completions": [
        ("an id", [{"id": {"a": 1}}]),
        ("a model", [{"id": "c", "model": 5}]),
        ("a time", [{"id": "c", "created": "today"}]),
        ("runners-up of a runner-up", [RANKED]),
    ],
    "messages": [("a block that grows", [NOVEL, DELTA, {"type": "content_block_stop", "index": 9}])],
    "responses": [
        ("an answer in an unknown event", [{"type": "novel", "response": True}]),
        ("an id in an unknown event", [{"type": "novel", "response": {"id": {}, "created_at": "x"}}]),
        ("an answer next to a delta", [{"type": "response.output_text.delta", "item_id": "i", "delta": "x", "response": 5}]),
        ("a place in an unknown event", [{"type": "novel", "item_id": "i", "output_index": {}}]),
    ],
}


@pytest.mark.parametrize(("source", "odd"), [(source, odd) for source, odds in ODD_EVENTS.items() for _, odd in odds])
@pytest.mark.parametrize("target", fb.FORMATS)
def test_an_unknown_event_is_kept_or_rejected(source: fb.Format, odd: list[Block], target: fb.Format) -> None:
    """Servers send other events between those of the format, also at its beginning."""
    whole = stream_of(source)
    head = whole.index(b"\n\n") + 2 if source == "messages" else 0
    raw = whole[:head] + b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in odd) + whole[head:]

    for read in (_converted, _collected):
        with contextlib.suppress(fb.StreamDecodeError):
            read(raw, source, target)


def _converted(output: bytes, source: fb.Format, target: fb.Format) -> None:
    converter = fb.StreamConverter(source=source, target=target)
    converter.feed(output)
    converter.finish()
    assert converter.losses is not None


def _collected(output: bytes, source: fb.Format, target: fb.Format) -> None:
    assert fb.collect_stream([output], source=source, target=target).losses is not None
