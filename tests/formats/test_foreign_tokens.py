"""A vendor's reasoning token is sent to no other vendor, whichever formats the answer and the next request use."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures
from tests.support.directions import DIRECTIONS

TAGS = ("fb1|", base64.b64encode(b"fb1|").decode()[:4])


def _history(answer: dict[str, Any], format: fb.Format) -> dict[str, Any]:
    """Return the next request after an answer, as a caller writes it."""
    ask = {"role": "user", "content": "And then?"}
    match format:
        case "messages":
            return {"model": "m", "max_tokens": 9, "messages": [ask, {"role": "assistant", "content": answer["content"]}, ask]}
        case "responses":
            return {"model": "m", "input": [ask, *answer["output"], ask]}
        case "chat_completions":
            return {"model": "m", "messages": [ask, answer["choices"][0]["message"], ask]}
        case _:
            message = {"role": "user", "parts": [{"text": "And then?"}]}
            return {"contents": [message, answer["candidates"][0]["content"], message]}


def _issuers(body: dict[str, Any]) -> set[str]:
    """Return the issuers of the tagged tokens of a body."""
    texts = json.dumps(body).split('"')
    texts += [base64.b64decode(text).decode() for text in texts if text.startswith(TAGS[1])]
    return {text.split("|")[1] for text in texts if text.startswith(TAGS[0])}


@pytest.mark.parametrize(("returned", "format"), DIRECTIONS)
def test_a_carried_token_is_not_sent_to_another_vendor(returned: fb.Format, format: fb.Format) -> None:
    """A conversation may go to another vendor with the next turn, and its server rejects a token that it did not issue."""
    carried = 0
    for fixture in fixtures("response", returned):
        converted = fb.convert_response(fixture.body, source=returned, target=format)
        if converted.kind != "response" or not any(tag in json.dumps(converted.body) for tag in TAGS):
            continue
        carried += 1
        raw = _history(converted.body, format)
        before = json.dumps(raw)

        for body in (raw, before.encode()):
            sent = fb.convert_request(body, source=format, target=format, model="m")

            assert not any(tag in json.dumps(sent.body) for tag in TAGS)
            assert ("foreign_signature" in {loss.code for loss in sent.losses}) == (_issuers(converted.body) != {format})
            fb.convert_request(sent.body, source=format, target=returned, model="m")
        assert json.dumps(raw) == before
    assert carried or (returned, format) == ("generate_content", "chat_completions")  # where the slot is its vendor's


def test_a_request_without_carried_tokens_is_unchanged() -> None:
    """A token of the vendor may begin like a tag and be none."""
    reasoning = {"type": "thinking", "thinking": "hm", "signature": "fb1|nobody|thinking|c2ln"}
    body = _history({"content": [reasoning, {"type": "text", "text": "one"}]}, "messages")

    sent = fb.convert_request(body, source="messages", target="messages")

    assert (sent.body, sent.losses) == (body, ())


TAGGED = "fb1|messages|thinking|c2ln"


def test_a_part_with_content_stays_without_its_token() -> None:
    """A call or a run of code is useful without the token; only parts that exist for their token are removed with it."""
    tagged = base64.b64encode(TAGGED.encode()).decode()
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "c", "type": "function", "function": function, "extra_content": {"google": {"thought_signature": TAGGED}}}
    chat = {"model": "m", "messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}
    code = {"executableCode": {"code": "1", "language": "PYTHON"}, "thoughtSignature": tagged}
    contents = {"contents": [{"role": "model", "parts": [code, {"text": "", "thoughtSignature": tagged}]}]}

    sent = fb.convert_request(chat, source="chat_completions", target="chat_completions")
    parts = fb.convert_request(contents, source="generate_content", target="generate_content", model="m")

    assert sent.body["messages"][0]["tool_calls"] == [{"id": "c", "type": "function", "function": function}]
    assert [loss.path for loss in sent.losses] == ["/messages/0/tool_calls/0/extra_content"]
    assert parts.body["contents"][0]["parts"] == [{"executableCode": code["executableCode"]}]
    assert {loss.path for loss in parts.losses} == {"/contents/0/parts/0/thoughtSignature", "/contents/0/parts/1"}


def test_text_of_the_caller_is_no_token() -> None:
    """Arguments, schemas and labels may have any text under any name."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"data": TAGGED, "deep": {"signature": TAGGED}}}
    body = _history({"content": [call]}, "messages") | {"metadata": {"user_id": TAGGED}}

    sent = fb.convert_request(body, source="messages", target="messages")

    assert (sent.body, sent.losses) == (body, ())


ABROAD = "fb1|responses|encrypted|c2ln"
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": ABROAD}


def _sent(body: dict[str, Any], format: fb.Format) -> fb.ConvertedRequest:
    return fb.convert_request(body, source=format, target=format, model="m")


def test_a_turn_without_any_part_left_is_dropped() -> None:
    """An answer that was truncated during its reasoning has a token only; servers reject turns without content."""
    message = {"role": "user", "content": "x"}
    reasoning: dict[fb.Format, list[dict[str, Any]]] = {
        "messages": [{"role": "assistant", "content": [THOUGHT, {"type": "redacted_thinking", "data": ABROAD}]}],
        "chat_completions": [
            {"role": "assistant", "content": None, "reasoning_details": [{"type": "reasoning.encrypted", "data": ABROAD}]}
        ],
    }
    for format, turns in reasoning.items():
        result = _sent({"model": "m", "max_tokens": 9, "messages": [message, *turns, message]}, format)

        assert result.body["messages"] == [message, message]
        assert {loss.code for loss in result.losses} == {"foreign_signature", "empty"}
    carried = base64.b64encode(ABROAD.encode()).decode()
    turns = [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [{"text": "", "thoughtSignature": carried}]}]

    assert _sent({"contents": turns}, "generate_content").body["contents"] == turns[:1]


def test_dropped_reasoning_removes_no_other_part() -> None:
    """Other members may have any text, and the next reasoning part may belong to another vendor."""
    native = {"type": "thinking", "thinking": "ha", "signature": "c2ln"}
    body = _history({"content": [THOUGHT | {"data": ABROAD}, native, {"type": "text", "text": "one"}]}, "messages")

    result = _sent(body, "messages")

    assert result.body["messages"][1]["content"] == [native, {"type": "text", "text": "one"}]
    assert [loss.path for loss in result.losses] == ["/messages/1/content/0"]


@pytest.mark.parametrize(
    ("format", "body"),
    [
        (
            "messages",
            _history(
                {"content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": ABROAD}}]},
                "messages",
            ),
        ),
        ("responses", {"model": "m", "input": "x", "prompt": {"id": "p", "variables": {"data": ABROAD}}}),
        (
            "generate_content",
            {
                "contents": [
                    {
                        "role": "user",
                        "parts": [{"inlineData": {"mimeType": "text/plain", "data": "ZmIxfG1lc3NhZ2VzfHRoaW5raW5nfGE="}}],
                    }
                ],
                "labels": {"data": ABROAD},
            },
        ),
    ],
)
def test_text_that_looks_like_a_token_is_a_token_only_in_a_token_field(format: fb.Format, body: dict[str, Any]) -> None:
    """A document may contain a log of this library."""
    result = _sent(body, format)

    assert (result.body, result.losses) == (body, ())


def test_thinking_is_off_if_required_reasoning_is_missing() -> None:
    """The server looks for the reasoning part before the call that it continues."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    body = _history({"content": [THOUGHT, call]}, "messages") | {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    body["messages"][2] = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}

    result = _sent(body, "messages")

    assert "thinking" not in result.body
    assert ("/thinking", "lacks_reasoning") in {(loss.path, loss.code) for loss in result.losses}


def test_a_carried_token_is_written_to_its_issuer_as_it_was_issued() -> None:
    """A conversation may be stored in another format and return from there."""
    body = _history({"content": [THOUGHT | {"signature": TAGGED}, {"type": "text", "text": "one"}]}, "messages")

    result = _sent(body, "messages")

    assert result.body["messages"][1]["content"][0]["signature"] == "c2ln"
    assert result.losses == ()


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("format", ["chat_completions", "messages", "generate_content"])
def test_encrypted_reasoning_returns_under_its_original_id(format: fb.Format, is_streamed: bool) -> None:
    """The server rejects the token under any other id, and with it the whole conversation."""
    reasoning = {"type": "reasoning", "id": "rs_0a1b2c", "summary": [], "encrypted_content": "gAAAAAB|x"}
    text = {"type": "output_text", "text": "hi", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    body = head | {"output": [reasoning, message], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}

    answer: fb.Converted = fb.convert_response(body, source="responses", target=format)
    if is_streamed:
        answer = fb.collect_stream(fb.replay_response(body, source="responses", target=format), source=format)
    converted = fb.convert_request(_history(answer.body, format), source=format, target="responses", model="m")

    assert converted.body["input"][1] == reasoning
    assert all("/output/0" not in loss.path for loss in answer.losses)


SEALED = {
    "type": "reasoning",
    "id": "rs_0a1b2c",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "gAAAAAB|x",
}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}


@pytest.mark.parametrize("keeps", ["events", "response"])
@pytest.mark.parametrize("format", ["chat_completions", "messages", "generate_content"])
def test_streamed_encrypted_reasoning_keeps_its_original_id(format: fb.Format, keeps: str) -> None:
    """Its text is sent before its token has the id, so the token carries the id; the server knows both."""
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    message = MESSAGE | {"content": [{"type": "output_text", "text": "hi", "annotations": []}]}
    body |= {"output": [SEALED, message], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    converter = fb.StreamConverter(source=format, target="responses")
    stream = b"".join(fb.replay_response(body, source="responses", target=format))
    written = converter.feed(stream) + converter.finish()

    kept = fb.collect_stream([written], source="responses") if keeps == "events" else converter.response()
    result = {
        target: fb.convert_request(_history(kept.body, "responses"), source="responses", target=target)
        for target in ("responses", "messages")
    }

    assert result["responses"].body["input"][1] == SEALED
    assert result["responses"].losses == ()
    assert [loss.code for loss in result["messages"].losses if loss.path.startswith("/input/1/enc")] == ["foreign_signature"]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_encrypted_content_without_text_keeps_its_original_id(is_streamed: bool) -> None:
    """A format with tokens on any part may return it on an empty text."""
    token = base64.b64encode(b"fb1|responses|encrypted|gAAAAAB|rs_0a1b2c").decode()
    parts = [{"text": "", "thoughtSignature": token}, {"text": "hi"}]
    answer = {"responseId": "r", "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}

    if is_streamed:
        written = fb.replay_response(answer, source="generate_content", target="responses")
        output = fb.collect_stream(written, source="responses").body["output"]
    else:
        output = fb.convert_response(answer, source="generate_content", target="responses").body["output"]

    assert output[0] == SEALED | {"summary": [], "encrypted_content": "gAAAAAB"}
