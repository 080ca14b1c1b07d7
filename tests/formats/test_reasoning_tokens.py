"""A reasoning token returns to its issuer, through any format in which the caller keeps it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import formatbridge as fb

TOKEN = "c2lnbmVk"
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
    "extra_content": {"google": {"thought_signature": TOKEN}},
}
DETAIL = {"type": "reasoning.encrypted", "data": TOKEN, "format": "anthropic-claude-v1", "index": 0}


def _answer(**message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **message}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _next(caller: fb.Format, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the caller's next request with an answer in its history."""
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}
    if caller == "messages":
        turns = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
        return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}, *turns]}
    if caller == "responses":
        output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
        return {"model": "m", "input": [{"role": "user", "content": "x"}, *answer["output"], output]}
    message = {"role": "user", "parts": [{"functionResponse": {"id": "call_1", "name": "f", "response": {"output": "ok"}}}]}
    return {"contents": [{"role": "user", "parts": [{"text": "x"}]}, answer["candidates"][0]["content"], message]}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("caller", ["messages", "responses"])
def test_the_token_of_a_call_returns_to_its_issuer(caller: fb.Format, streams: bool) -> None:
    """Without it the vendor rejects the next request."""
    answer = _answer(tool_calls=[CALL])
    if streams:
        stream = b"".join(fb.replay_response(answer, source="chat_completions"))
        kept = fb.collect_stream(fb.convert_stream([stream], source="chat_completions", target=caller), source=caller).body
    else:
        kept = fb.convert_response(answer, source="chat_completions", target=caller).body

    request = _next(caller, kept)
    there = fb.convert_request(request, source=caller, target="chat_completions")
    elsewhere = fb.convert_request(request, source=caller, target="generate_content")

    assert there.body["messages"][1]["tool_calls"] == [CALL]
    assert elsewhere.body["contents"][1]["parts"][0]["thoughtSignature"] == TOKEN
    assert "foreign_signature" not in {loss.code for loss in (*there.losses, *elsewhere.losses)}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("caller", ["messages", "responses"])
def test_the_token_of_a_message_returns_to_its_field(caller: fb.Format, streams: bool) -> None:
    """A compatible server of that vendor has no other field for the token of a text."""
    answer = _answer(content="Hi", extra_content=CALL["extra_content"])
    kept = fb.convert_response(answer, source="chat_completions", target=caller).body
    if streams:
        stream = b"".join(fb.replay_response(answer, source="chat_completions"))
        kept = fb.collect_stream(fb.convert_stream([stream], source="chat_completions", target=caller), source=caller).body

    request = _next(caller, kept)
    there = fb.convert_request(request, source=caller, target="chat_completions")
    elsewhere = fb.convert_request(request, source=caller, target="generate_content")

    assert there.body["messages"][1] == {"role": "assistant", "content": "Hi", "extra_content": CALL["extra_content"]}
    assert elsewhere.body["contents"][1]["parts"][-1]["thoughtSignature"] == TOKEN
    assert "foreign_signature" not in {loss.code for loss in (*there.losses, *elsewhere.losses)}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_the_token_of_a_message_without_text_belongs_to_its_call(streams: bool) -> None:
    """Its vendor rejects a call in the history without it."""
    call = {key: value for key, value in CALL.items() if key != "extra_content"}
    answer = _answer(tool_calls=[call], extra_content=CALL["extra_content"])
    body = fb.convert_response(answer, source="chat_completions", target="generate_content").body
    if streams:
        stream = b"".join(fb.replay_response(answer, source="chat_completions"))
        output = fb.convert_stream([stream], source="chat_completions", target="generate_content")
        body = fb.collect_stream(output, source="generate_content").body

    (part,) = body["candidates"][0]["content"]["parts"]

    assert part["functionCall"]["name"] == "f"
    assert base64.b64decode(part["thoughtSignature"]) == b"fb1|generate_content|thought|%b|chat_completions" % TOKEN.encode()


@pytest.mark.parametrize("caller", ["responses", "generate_content"])
def test_encrypted_reasoning_returns_to_its_issuer(caller: fb.Format) -> None:
    """A gateway for several vendors names them in the details of reasoning."""
    kept = fb.convert_response(_answer(content="Hi", reasoning_details=[DETAIL]), source="chat_completions", target=caller).body

    request = _next(caller, kept)
    there = fb.convert_request(request, source=caller, target="chat_completions", model="m")
    elsewhere = fb.convert_request(request, source=caller, target="messages", model="m")

    (detail,) = there.body["messages"][1]["reasoning_details"]
    assert {name: detail[name] for name in DETAIL} == DETAIL
    assert {"type": "redacted_thinking", "data": TOKEN} in elsewhere.body["messages"][1]["content"]


@pytest.mark.parametrize("caller", ["messages", "responses"])
def test_the_token_of_a_message_returns_without_a_loss(caller: fb.Format) -> None:
    """It is on the text, and returns to the message: nothing is lost, so a client that forbids losses continues."""
    answer = _answer(content="Hi", extra_content={"google": {"thought_signature": TOKEN}})
    kept = fb.convert_response(answer, source="chat_completions", target=caller).body

    there = fb.convert_request(_next(caller, kept), source=caller, target="chat_completions")

    assert there.body["messages"][1]["extra_content"] == {"google": {"thought_signature": TOKEN}}
    assert "/data" not in str(there.losses)
    assert "encrypted_content" not in str(there.losses)


def test_encrypted_reasoning_is_untagged_at_its_issuer() -> None:
    """An answer that was stored in another format is unchanged when it returns."""
    answer = _answer(content="Hi", reasoning_details=[DETAIL])
    kept = fb.convert_response(answer, source="chat_completions", target="responses").body

    (detail,) = fb.convert_response(kept, source="responses", target="chat_completions").body["choices"][0]["message"][
        "reasoning_details"
    ]

    assert {name: detail[name] for name in DETAIL} == DETAIL


@pytest.mark.parametrize("caller", ["messages", "generate_content"])
def test_encrypted_reasoning_returns_with_its_original_id(caller: fb.Format) -> None:
    """Its server rejects it under another id, and these two formats can have the id in the token only."""
    sealed = DETAIL | {"format": "openai-responses-v1", "id": "rs_07f3"}
    kept = fb.convert_response(_answer(content="Hi", reasoning_details=[sealed]), source="chat_completions", target=caller).body

    back = fb.convert_response(kept, source=caller, target="chat_completions").body["choices"][0]["message"]
    there = fb.convert_request(_next(caller, kept), source=caller, target="chat_completions", model="m").body["messages"][1]

    assert back["reasoning_details"] == there["reasoning_details"] == [sealed]


def test_streamed_encrypted_reasoning_returns_to_its_issuer() -> None:
    """Its text is sent before the details with its vendor and id; a caller of that vendor's format still keeps both."""
    named = {"format": "openai-responses-v1", "id": "rs_07f3", "index": 0}
    details = [{"type": "reasoning.summary", "summary": "Hm", **named}, {"type": "reasoning.encrypted", "data": TOKEN, **named}]
    answer = _answer(content="Hi", reasoning_content="Hm", reasoning_details=details)
    deltas = [{"role": "assistant", "reasoning_content": "Hm"}, {"reasoning_details": details}, {"content": "Hi"}]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    stream = b"".join(b"data: %b\n\n" % json.dumps({"id": "c", "model": "m", **chunk}).encode() for chunk in chunks)
    written = fb.convert_stream([stream], source="chat_completions", target="responses")
    kept = fb.collect_stream(written, source="responses").body

    there = fb.convert_request(_next("responses", kept), source="responses", target="chat_completions").body["messages"][1]
    returned = fb.convert_request(_next("responses", kept), source="responses", target="responses").body["input"][1]

    assert there["reasoning_details"] == details
    options = fb.Options(carry_reasoning=False)
    assert returned == fb.convert_response(answer, source="chat_completions", target="responses", options=options).body["output"][0]


@pytest.mark.parametrize("caller", ["messages", "responses"])
def test_a_token_is_sent_to_its_issuer_only(caller: fb.Format) -> None:
    """A token belongs to the vendor that sent it, although the format has a field for another vendor's name."""
    part = {"functionCall": {"id": "call_1", "name": "f", "args": {}}, "thoughtSignature": TOKEN}
    answer = {"responseId": "r", "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}
    kept = fb.convert_response(answer, source="generate_content", target=caller).body

    converted = fb.convert_request(_next(caller, kept), source=caller, target="chat_completions")

    assert TOKEN not in converted.json().decode()
    assert "foreign_signature" in {loss.code for loss in converted.losses}


@pytest.mark.parametrize("token", ["a|chat_completions", "a|generate_content", "|messages", "a|b|", "|"])
@pytest.mark.parametrize("caller", ["messages", "responses"])
def test_a_token_that_resembles_a_tag_returns_unchanged(caller: fb.Format, token: str) -> None:
    """A token may end like a tag."""
    call = CALL | {"extra_content": {"google": {"thought_signature": token}}}
    kept = fb.convert_response(_answer(tool_calls=[call]), source="chat_completions", target=caller).body

    converted = fb.convert_request(_next(caller, kept), source=caller, target="chat_completions")

    assert converted.body["messages"][1]["tool_calls"] == [call]


def test_an_image_returns_with_its_token() -> None:
    """The token of an image is rejected on the text before it, and so is the image without it."""
    parts = [{"text": "Here it is."}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "thoughtSignature": TOKEN}]
    answer = {"responseId": "r", "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    bridge = fb.Bridge("chat_completions", via="generate_content")
    requested: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Draw."}]}

    message = bridge.open(requested).response(answer).body["choices"][0]["message"]
    requested["messages"] += [json.loads(json.dumps(message)), {"role": "user", "content": "Higher."}]
    request = bridge.open(requested).request

    assert request.body["contents"][1] == {"role": "model", "parts": parts}
    assert request.losses == ()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("token", ["s1", "abcdef", "a+b_", "QUI==", "=", "not base64!"])
def test_a_token_that_is_no_base64_is_sent_with_a_tag(token: str, streams: bool) -> None:
    """The server accepts base64 of one alphabet without remaining bits, and rejects the whole request otherwise."""
    call = CALL | {"extra_content": {"google": {"thought_signature": token}}}
    answer = _answer(tool_calls=[call])
    if streams:
        stream = b"".join(fb.replay_response(answer, source="chat_completions"))
        output = fb.convert_stream([stream], source="chat_completions", target="generate_content")
        kept = fb.collect_stream(output, source="generate_content").body
    else:
        kept = fb.convert_response(answer, source="chat_completions", target="generate_content").body

    there = fb.convert_request(_next("generate_content", kept), source="generate_content", target="chat_completions", model="m")

    written = kept["candidates"][0]["content"]["parts"][0]["thoughtSignature"]
    assert base64.b64decode(written, validate=True).startswith(b"fb1|generate_content|")
    assert there.body["messages"][1]["tool_calls"] == [call]


SIGNED = {"thoughtSignature": TOKEN}
F, G = ({"functionCall": {"id": f"call_{name}", "name": name, "args": {}}} for name in "fg")
ONE, TWO, EMPTY = {"text": "One."}, {"text": " Two."}, {"text": ""}


def _answer_and_losses(
    answer: dict[str, Any], source: fb.Format, caller: fb.Format, streams: bool
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return an answer as a caller gets it, whole or streamed, and its report."""
    if not streams:
        converted = fb.convert_response(answer, source=source, target=caller)
        return converted.body, [(loss.path, loss.code) for loss in converted.losses]
    converter = fb.StreamConverter(source=source, target=caller)
    stream = converter.feed(b"".join(fb.replay_response(answer, source=source))) + converter.finish()
    losses = [(loss.path, loss.code) for loss in converter.losses]
    return fb.collect_stream([stream], source=caller).body, losses


def _answer_of(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of generate_content."""
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "g", "responseId": "r"}


def _again(caller: fb.Format, kept: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of an answer that returns to generate_content from the history of a caller of another format."""
    request: dict[str, Any] = {"model": "m", "max_tokens": 9}
    if caller == "responses":
        request["input"] = [{"role": "user", "content": "q"}, *kept["output"], {"role": "user", "content": "x"}]
    else:
        message = kept["choices"][0]["message"] if "choices" in kept else {"role": "assistant", "content": kept["content"]}
        request["messages"] = [{"role": "user", "content": "q"}, message, {"role": "user", "content": "x"}]
    options = fb.Options(unsigned_calls="leave")
    returned = fb.convert_request(request, source=caller, target="generate_content", options=options).body["contents"][1]
    parts: list[dict[str, Any]] = returned["parts"]
    return parts


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("parts", "moved"),
    [
        ([F, G, EMPTY | SIGNED], [2]),
        ([F, EMPTY | SIGNED, G], [1]),
        ([EMPTY | SIGNED, F, G], [0]),
        ([EMPTY | SIGNED, ONE], [0]),
        ([ONE, EMPTY | SIGNED], [1]),
        ([ONE | SIGNED, TWO], [0]),
        ([ONE, TWO | SIGNED], [1]),
        ([ONE | SIGNED, TWO | SIGNED], [0, 1]),
        ([ONE | SIGNED, F], []),
        ([ONE | SIGNED], []),
        ([F | SIGNED, G], []),
        ([EMPTY | SIGNED], []),
    ],
)
def test_a_token_returns_to_its_part_or_is_reported(parts: list[dict[str, Any]], moved: list[int], streams: bool) -> None:
    """A message has one text, then its calls; tokens of texts, also empty ones, precede them."""
    kept, losses = _answer_and_losses(_answer_of(*parts), "generate_content", "chat_completions", streams)

    returned = _again("chat_completions", kept)

    lost = [path for path, code in losses if code == "position_lost"]
    assert lost == [f"/candidates/0/content/parts/{place}/thoughtSignature" for place in moved]
    assert (returned == parts) is (not moved)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("caller", ["messages", "responses"])
@pytest.mark.parametrize(
    "parts",
    [[ONE | SIGNED, TWO], [ONE | SIGNED, TWO, F], [ONE, TWO | SIGNED], [ONE | SIGNED, TWO | SIGNED], [F, G, EMPTY | SIGNED]],
)
def test_a_text_with_a_token_stays_apart_from_the_text_after_it(
    parts: list[dict[str, Any]], caller: fb.Format, streams: bool
) -> None:
    """A token belongs to its part: the documentation forbids joining that part with one without a token."""
    kept, losses = _answer_and_losses(_answer_of(*parts), "generate_content", caller, streams)

    assert _again(caller, kept) == parts
    assert "position_lost" not in {code for _, code in losses}


def test_adjacent_texts_without_tokens_are_joined() -> None:
    """Nothing must stay separate then."""
    converted = fb.convert_response(
        _answer_of(ONE | SIGNED, TWO), source="generate_content", target="responses", options=fb.Options(carry_reasoning=False)
    )

    assert [part["text"] for part in converted.body["output"][0]["content"]] == ["One. Two."]
    assert [loss.code for loss in converted.losses if loss.severity != "info"] == ["foreign_signature"]


SUMMARY = [{"type": "summary_text", "text": "S"}]
CALLED = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}", "status": "completed"}
RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "parallel_tool_calls": True}


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "reasoning",
    [
        [(SUMMARY, None), ([], "E")],
        [(SUMMARY, "E")],
        [(SUMMARY, "E"), ([], "F")],
        [([], "E"), (SUMMARY, None)],
        [(SUMMARY, None), ([], "E"), ([], "F")],
        [(SUMMARY, None), ([], "E"), (SUMMARY, "F")],
    ],
)
def test_a_separate_token_does_not_sign_the_reasoning_before_it(
    reasoning: list[tuple[list[Any], str | None]], streams: bool
) -> None:
    """An encrypted token belongs to one item, and the server rejects it on another."""
    items = [{"type": "reasoning", "id": f"rs_{number}", "summary": summary} for number, (summary, _) in enumerate(reasoning)]
    sealed = [item | ({"encrypted_content": token} if token else {}) for item, (_, token) in zip(items, reasoning, strict=True)]
    answer = RESPONSE | {"output": [*sealed, CALLED], "tool_choice": "auto", "tools": []}

    kept, _ = _answer_and_losses(answer, "responses", "generate_content", streams)
    returned = fb.convert_request(_next("generate_content", kept), source="generate_content", target="responses", model="m")

    result = [item for item in returned.body["input"] if item.get("type") == "reasoning"]
    assert result == [item for item in sealed if "encrypted_content" in item]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_a_signature_without_text_does_not_sign_the_reasoning_before_it(streams: bool) -> None:
    """A server that hides its reasoning sends a signature only."""
    reasoning = [{"type": "thinking", "thinking": "S", "signature": ""}, {"type": "thinking", "thinking": "", "signature": TOKEN}]
    content = [*reasoning, {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}]
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": None}

    usage = {"input_tokens": 1, "output_tokens": 1}
    kept, _ = _answer_and_losses(answer | {"content": content, "usage": usage}, "messages", "generate_content", streams)
    returned = fb.convert_request(_next("generate_content", kept), source="generate_content", target="messages", model="m")

    assert returned.body["messages"][1]["content"] == content[1:]
    assert "unsigned_reasoning" in {loss.code for loss in returned.losses}


def test_reasoning_returns_complete_over_chat_completions() -> None:
    """Text, encrypted token and id of an item return as one item, in their order."""
    output = [
        {"type": "reasoning", "id": "rs_a", "summary": [{"type": "summary_text", "text": "why"}], "encrypted_content": "A"},
        {"type": "reasoning", "id": "rs_b", "summary": [{"type": "summary_text", "text": "how"}]},
        {"type": "reasoning", "id": "rs_c", "summary": [], "encrypted_content": "C"},
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "so", "annotations": []}
        ]},
    ]  # fmt: skip
    body = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": output}
    there = fb.convert_response(body, source="responses", target="chat_completions")

    returned = fb.convert_response(there.body, source="chat_completions", target="responses")

    assert returned.body["output"][:3] == output[:3]
    assert not returned.losses


def test_a_token_that_is_moved_is_reported() -> None:
    """A vendor may reject a token in another place."""
    body = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": [
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "hi", "annotations": []}
            ]},
            {"type": "reasoning", "id": "rs_a", "summary": [], "encrypted_content": "A"},
        ],
    }  # fmt: skip

    converted = fb.convert_response(body, source="responses", target="chat_completions")

    assert ("/output/1", "position_lost") in {(loss.path, loss.code) for loss in converted.losses}
