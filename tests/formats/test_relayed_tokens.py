"""Reasoning tokens of the caller's vendor that came through a relay of chat_completions return to that relay."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

ASK = {"role": "user", "content": "q"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RELAY = fb.Target("chat_completions", dialect="openrouter")
KEY = b"a key of at least 32 bytes for seals"


def _detail(type: str, format: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"reasoning.{type}", **fields, "format": format, "index": 0}


ANSWERS: dict[tuple[str, str], dict[str, Any]] = {
    ("messages", "thinking"): {"reasoning_details": [_detail("text", "anthropic-claude-v1", text="abc", signature="c2ln")]},
    ("messages", "redacted"): {"reasoning_details": [_detail("encrypted", "anthropic-claude-v1", data="cmVk")]},
    ("responses", "encrypted"): {
        "reasoning_details": [
            _detail("summary", "openai-responses-v1", summary="abc", id="rs_7"),
            _detail("encrypted", "openai-responses-v1", data="ZW5j", id="rs_7"),
        ]
    },
    ("generate_content", "detail of a call"): {
        "reasoning_details": [_detail("encrypted", "google-gemini-v1", data="dG9r", id="c1")]
    },
    ("generate_content", "call"): {"tool_calls": [CALL | {"extra_content": {"google": {"thought_signature": "dG9r"}}}]},
    ("generate_content", "call of vertex"): {"tool_calls": [CALL | {"extra_content": {"vertex": {"thought_signature": "dG9r"}}}]},
    ("generate_content", "message"): {"extra_content": {"google": {"thought_signature": "dG9r"}}},
}
"""Tokens in messages of chat_completions, by the format of their vendor."""

NATIVE: dict[str, list[dict[str, Any]]] = {
    "thinking": [{"type": "thinking", "thinking": "abc", "signature": "c2ln"}],
    "redacted": [{"type": "redacted_thinking", "data": "cmVk"}],
    "encrypted": [
        {"type": "reasoning", "id": "rs_7", "summary": [{"type": "summary_text", "text": "abc"}], "encrypted_content": "ZW5j"}
    ],
    "detail of a call": [{"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "dG9r"}],
    "call": [{"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "dG9r"}],
    "call of vertex": [{"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "dG9r"}],
    "message": [{"text": "hi", "thoughtSignature": "dG9r"}],
}
"""What the vendor itself reads, by the kind of the token."""

CASES = pytest.mark.parametrize(("caller", "kind"), ANSWERS)


def _answer(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "tool_calls"}
    choice |= {"message": {"role": "assistant", "content": "hi", "tool_calls": [CALL], **message}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _first(caller: fb.Format) -> dict[str, Any]:
    match caller:
        case "messages":
            return {"model": "m", "max_tokens": 9000, "messages": [ASK]}
        case "responses":
            return {"model": "m", "input": [ASK]}
        case _:
            return {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}


def _next(caller: fb.Format, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the second request of the caller, which has the answer and the result of its call."""
    body = _first(caller)
    match caller:
        case "messages":
            result = {"type": "tool_result", "tool_use_id": "c1", "content": "r"}
            body["messages"] += [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
        case "responses":
            body["input"] += [*answer["output"], {"type": "function_call_output", "call_id": "c1", "output": "r"}]
        case _:
            response = {"functionResponse": {"id": "c1", "name": "f", "response": {"output": "r"}}}
            body["contents"] += [answer["candidates"][0]["content"], {"role": "user", "parts": [response]}]
    return body


def _answered(caller: fb.Format, kind: str, streams: bool, options: fb.Options) -> dict[str, Any]:
    """Return the answer that the caller gets through the relay."""
    answer = _answer(ANSWERS[caller, kind])
    exchange = fb.Bridge(caller, via=RELAY, options=options).open(_first(caller), model="m", stream=streams)
    if not streams:
        return dict(exchange.response(answer).body)
    converter = exchange.stream()
    output = b"".join(converter.feed(piece) for piece in fb.replay_response(answer, source="chat_completions"))
    return dict(fb.collect_stream([output + converter.finish()], source=caller).body)


def _tokens_of(content: list[dict[str, Any]]) -> list[str]:
    """Return the tokens in blocks, items or parts."""
    fields = ("signature", "data", "encrypted_content", "thoughtSignature")
    return [each[field] for each in content for field in fields if each.get(field)]


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@CASES
def test_a_token_of_the_callers_vendor_returns_to_the_relay(caller: fb.Format, kind: str, streams: bool, key: bytes | None) -> None:
    """Claude Code, Codex and Gemini CLI use relays; their vendors need the token, which a relay accepts where it wrote it."""
    options = fb.Options(token_key=key)
    request = _next(caller, _answered(caller, kind, streams, options))

    sent = fb.Bridge(caller, via=RELAY, options=options).open(request, model="m").request

    turn = sent.body["messages"][1]
    expected = {"tool_calls": [CALL], **ANSWERS[caller, kind]}
    assert {key: turn.get(key) for key in expected} == expected
    assert not {loss.code for loss in sent.losses} & {"foreign_signature", "unverified_token"}


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@CASES
def test_the_vendor_itself_gets_the_token_without_a_tag(caller: fb.Format, kind: str, streams: bool, key: bytes | None) -> None:
    """A conversation may move from the relay to the vendor, which verifies its token and rejects any other text."""
    options = fb.Options(token_key=key)
    request = _next(caller, _answered(caller, kind, streams, options))

    sent = fb.convert_request(json.dumps(request).encode(), source=caller, target=caller, model="m", options=options)

    turn = {"messages": "/messages/1/content", "responses": "/input", "generate_content": "/contents/1/parts"}[caller]
    node: Any = sent.body
    for step in turn.split("/")[1:]:
        node = node[int(step) if step.isdigit() else step]
    assert _tokens_of(node) == _tokens_of(NATIVE[kind])
    assert streams or [each for each in node if each in NATIVE[kind]] == NATIVE[kind]
    assert not any(tag in json.dumps(sent.body) for tag in ("fb1|", "ZmIxf"))
    assert sent.losses == ()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@CASES
def test_a_token_of_the_callers_vendor_has_no_tag_without_carrying(caller: fb.Format, kind: str, streams: bool) -> None:
    """``carry_reasoning=False``: a client that sends its history to the vendor without this library needs the token itself."""
    answer = _answered(caller, kind, streams, fb.Options(carry_reasoning=False))

    # A stream of responses sends the id of reasoning before the id that its token needs, which then only the tag has.
    has_tag = streams and caller == "responses"
    text = json.dumps(answer)
    assert ("fb1|" in text, "ZmIxf" in text) == (has_tag, False)
    assert has_tag or all(f'"{token}"' in text for token in _tokens_of(NATIVE[kind]))


@pytest.mark.parametrize("target", ["chat_completions", "messages"])
def test_a_token_with_another_seal_is_not_sent(target: fb.Format) -> None:
    """The tag of the caller's vendor is sealed as well, so that a caller cannot write tokens for a relay."""
    request = _next("messages", _answered("messages", "thinking", False, fb.Options(token_key=KEY)))
    options = fb.Options(token_key=KEY[::-1])

    sent = fb.convert_request(request, source="messages", target=target, options=options)

    assert "c2ln" not in json.dumps(sent.body)
    assert "unverified_token" in {loss.code for loss in sent.losses}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("key", ["google", "vertex"])
@pytest.mark.parametrize("caller", ["messages", "responses", "generate_content"])
def test_a_token_returns_to_the_field_where_it_was_read(caller: fb.Format, key: str, streams: bool) -> None:
    """Vertex AI has its tokens under another key than the Gemini API, and answers 400 without them (earendil-works/pi#6733)."""
    call = CALL | {"extra_content": {key: {"thought_signature": "dG9r"}}}
    answer = _answer({"tool_calls": [call]})
    converted = fb.convert_response(answer, source="chat_completions", target=caller).body
    if streams:
        pieces = fb.convert_stream(fb.replay_response(answer, source="chat_completions"), source="chat_completions", target=caller)
        converted = fb.collect_stream(pieces, source=caller).body

    sent = fb.convert_request(_next(caller, converted), source=caller, target="chat_completions", model="m")

    assert sent.body["messages"][1]["tool_calls"] == [call]
