"""Conversations as the official client of generate_content keeps them: each stream event is a separate content."""

from __future__ import annotations

import base64
from typing import Any

import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import FakeRelay
from tests.support import official_sdks

USER: dict[str, Any] = {"role": "user", "parts": [{"text": "Hi"}]}
TARGETS = ("chat_completions", "messages", "responses")


def _converted(parts: list[dict[str, Any]], target: fb.Format) -> fb.ConvertedRequest:
    """Convert a conversation in which each part of the model is a separate content."""
    body = {"contents": [USER, *({"role": "model", "parts": [part]} for part in parts), USER]}
    return fb.convert_request(body, source="generate_content", target=target, model="m")


@pytest.mark.parametrize("via", fb.FORMATS)
def test_the_official_chat_remembers_what_was_streamed(via: fb.Format) -> None:
    """It removes a turn with an event without parts, and the question before it."""
    relay = FakeRelay(["Rome is sunny, writes the relay.", "Fine."], longest_delta=9)
    transport = fb.transport(relay.base_url, relay.api_key, via=via, inner=relay)
    chat = official_sdks.sdk("generate_content", "https://vendor.test", "k", httpx2.Client(transport=transport)).chats.create(
        model="m"
    )

    list(chat.send_message_stream("How is the weather?"))
    chat.send_message("Sure?")

    request = fb.convert_request(relay.requests[1].body, source=via, target="chat_completions", model="m")
    assert [(turn["role"], turn["content"]) for turn in request.body["messages"]] == [
        ("user", "How is the weather?"),
        ("assistant", "Rome is sunny, writes the relay."),
        ("user", "Sure?"),
    ]


def test_reasoning_in_several_contents_is_joined_with_its_token() -> None:
    """The token signs all of the reasoning; with a part of it, or with none, it is rejected."""
    token = base64.b64encode(b"fb1|messages|thinking|c2lnbmVk").decode()
    pieces = [{"text": "First I ", "thought": True}, {"text": "think.", "thought": True}]

    converted = _converted([*pieces, {"text": "", "thought": True, "thoughtSignature": token}, {"text": "Done."}], "messages")

    assert converted.body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "First I think.", "signature": "c2lnbmVk"},
        {"type": "text", "text": "Done."},
    ]
    assert converted.losses == ()


@pytest.mark.parametrize("target", TARGETS)
def test_text_in_several_contents_is_joined(target: fb.Format) -> None:
    """Forty pieces would be forty parts, which some servers join with line ends."""
    converted = _converted([{"text": "One,"}, {"text": "\n\n"}, {"text": "two."}, {"text": ""}], target)

    assert (converted.body.get("messages") or converted.body["input"])[1]["content"] == "One,\n\ntwo."
    assert converted.losses == ()


@pytest.mark.parametrize("target", TARGETS)
def test_calls_in_several_contents_are_parallel(target: fb.Format) -> None:
    """Results between calls would mean that the second call depends on the result of the first."""
    calls = [{"functionCall": {"id": f"c{number}", "name": "f", "args": {}}} for number in range(2)]
    results = [{"functionResponse": {"id": f"c{number}", "name": "f", "response": {"output": "ok"}}} for number in range(2)]
    body = {"contents": [USER, *({"role": "model", "parts": [call]} for call in calls), {"role": "user", "parts": results}]}
    whole = {"contents": [USER, {"role": "model", "parts": calls}, {"role": "user", "parts": results}]}

    converted = fb.convert_request(body, source="generate_content", target=target, model="m")

    assert converted.body == fb.convert_request(whole, source="generate_content", target=target, model="m").body
    assert converted.losses == ()


def test_unknown_fields_of_a_content_are_reported_at_that_content() -> None:
    """An unknown field may be on any of the contents that become one turn."""
    body = {"contents": [USER, *({"role": "model", "parts": [{"text": "x"}], "wild": at} for at in range(2)), USER]}

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m")

    assert [(loss.path, loss.before) for loss in converted.losses] == [("/contents/1/wild", 0), ("/contents/2/wild", 1)]


@pytest.mark.parametrize("source", ["chat_completions", "responses", "generate_content"])
def test_blank_text_between_texts_keeps_their_paragraphs(source: fb.Format) -> None:
    """Messages rejects blank texts; without them two paragraphs would be joined."""
    texts = ["One.", "\n\n", "Two.", " "]
    word = "input_text" if source == "responses" else "text"
    turns = [{"role": "user", "content": [{"type": word, "text": text} for text in texts]}]
    body: dict[str, Any] = {"messages": turns} if source == "chat_completions" else {"input": turns}
    if source == "generate_content":
        body = {"contents": [{"role": "user", "parts": [{"text": text} for text in texts]}]}

    converted = fb.convert_request({"model": "m", **body}, source=source, target="messages", model="m")

    assert "".join(block["text"] for block in converted.body["messages"][0]["content"]) == "One.\n\nTwo. "
    assert converted.losses == ()
