"""``Options(token_key=...)``: carried reasoning tokens are sealed in answers and streams, and checked in requests."""

from __future__ import annotations

import base64
import json
import pickle
import re
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures
from tests.support.directions import DIRECTIONS
from tests.support.for_each import for_each
from tests.support.result_readers import read_converter, read_result

KEY, OTHER_KEY = b"k" * 16, b"o" * 32
SEALED, OTHER = fb.Options(token_key=KEY), fb.Options(token_key=OTHER_KEY)
TAG = re.compile(r"fb1\|\w+\|\w+(\.[0-9a-f]{32})?\|[^\"]+")

ANSWERS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": "hi", "reasoning_content": "hm",
            "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "TOKEN", "index": 0}],
        }}],
    },
    "messages": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "TOKEN"}, {"type": "redacted_thinking", "data": "TOKEN2"},
            {"type": "text", "text": "hi"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "responses": {
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
        "output": [
            {"type": "reasoning", "id": "rs_a", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "TOKEN"},
            {"type": "reasoning", "id": "rs_b", "summary": [], "encrypted_content": "TOKEN2"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "hi", "annotations": []}]},
        ],
    },
    "generate_content": {
        "responseId": "r1", "modelVersion": "m",
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "hm", "thought": True}, {"text": "hi", "thoughtSignature": "VE9LRU4="},
            {"functionCall": {"name": "f", "args": {}, "id": "c1"}, "thoughtSignature": "VE9LRU4y"},
        ]}}],
    },
}  # fmt: skip
"""An answer of each format with reasoning tokens of its vendor."""
TOKEN: dict[str, str] = {name: "VE9LRU4" if name == "generate_content" else "TOKEN" for name in fb.FORMATS}
"""The beginning of all tokens of such an answer."""


def request_with(answer: dict[str, Any], format: fb.Format) -> dict[str, Any]:
    """Return the next request of a caller who stores an answer and sends it back."""
    match format:
        case "chat_completions":
            message = answer["choices"][0]["message"]
            results = [{"role": "tool", "tool_call_id": call["id"], "content": "1"} for call in message.get("tool_calls") or ()]
            turns = [{"role": "user", "content": "x"}, message, *results, {"role": "user", "content": "y"}]
            return {"model": "m", "messages": turns}
        case "messages":
            calls = [block["id"] for block in answer["content"] if block["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": call, "content": "1"} for call in calls]
            turns = [
                {"role": "assistant", "content": answer["content"]},
                {"role": "user", "content": [*results, {"type": "text", "text": "y"}]},
            ]
            return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}, *turns]}
        case "responses":
            calls = [item["call_id"] for item in answer["output"] if item["type"] == "function_call"]
            results = [{"type": "function_call_output", "call_id": call, "output": "1"} for call in calls]
            return {
                "model": "m",
                "input": [{"role": "user", "content": "x"}, *answer["output"], *results, {"role": "user", "content": "y"}],
            }
        case _:
            content = answer["candidates"][0]["content"]
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            results = [{"functionResponse": {"name": call["name"], "id": call["id"], "response": {"a": 1}}} for call in calls]
            turns = [{"role": "user", "parts": [{"text": "x"}]}, content, {"role": "user", "parts": [*results, {"text": "y"}]}]
            return {"model": "m", "contents": turns}


def tags(body: Any) -> list[str]:
    """Return the tagged tokens in a body, also those in base64."""
    text = json.dumps(body)
    hidden = [base64.b64decode(problems).decode() for problems in re.findall(r'"(ZmIx[A-Za-z0-9+/]*=*)"', text)]
    return [match[0] for match in TAG.finditer(text)] + hidden


def edited(body: Any, edit: Any) -> Any:
    """Return a body with other tagged tokens."""
    text = json.dumps(body)
    text = re.sub(
        r'"(ZmIx[A-Za-z0-9+/]*=*)"',
        lambda match: f'"{base64.b64encode(edit(base64.b64decode(match[1]).decode()).encode()).decode()}"',
        text,
    )
    return json.loads(TAG.sub(lambda match: edit(match[0]), text))


def unsealed(tag: str) -> str:
    return re.sub(r"^(fb1\|\w+\|\w+)\.[0-9a-f]{32}", r"\1", tag)


FORGERIES = {
    "no seal": unsealed,
    "empty seal": lambda tag: re.sub(r"\.[0-9a-f]{32}", ".", tag, count=1),
    "short seal": lambda tag: re.sub(r"(\.[0-9a-f]{31})[0-9a-f]", r"\1", tag, count=1),
    "other seal": lambda tag: re.sub(r"\.([0-9a-f])", lambda match: f".{int(match[1], 16) ^ 1:x}", tag, count=1),
    "no ascii": lambda tag: re.sub(r"\.[0-9a-f]", ".é", tag, count=1),
    "other token": lambda tag: tag.replace("TOKEN", "FORGED").replace("VE9LRU4", "VE9MRU4"),
    "other kind": lambda tag: re.sub(r"^(fb1\|\w+)\|\w+", r"\1|call" if "|call." not in tag else r"\1|thought", tag),
}  # fmt: skip


@pytest.mark.parametrize(("wire", "caller"), DIRECTIONS)
def test_a_sealed_token_returns_as_one_without_a_seal_does(wire: fb.Format, caller: fb.Format) -> None:
    """In a conversation of two turns the vendor gets its tokens back, with a key and without."""
    answers = [fb.convert_response(ANSWERS[wire], source=wire, target=caller, options=options) for options in (None, SEALED)]
    expected, sealed = (request_with(answer.body, caller) for answer in answers)

    converted = fb.convert_request(sealed, source=caller, target=wire, options=SEALED)

    assert [unsealed(tag) for tag in tags(sealed)] == tags(expected)
    assert converted.body == fb.convert_request(expected, source=caller, target=wire).body
    assert TOKEN[wire] in json.dumps(converted.body)
    assert [loss.code for loss in converted.losses if loss.code == "unverified_token"] == []
    assert converted.body == fb.convert_request(sealed, source=caller, target=wire).body  # without a key a seal is not looked at
    read_result(converted)


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=list(FORGERIES))
@pytest.mark.parametrize(("wire", "caller"), DIRECTIONS)
def test_a_forged_token_is_dropped_from_a_request_and_reported(wire: fb.Format, caller: fb.Format, forge: Any) -> None:
    """A user who changes a stored history cannot choose a token for a vendor."""
    answer = fb.convert_response(ANSWERS[wire], source=wire, target=caller, options=SEALED).body
    forged = request_with(edited(answer, forge), caller)
    if not tags(answer):
        pytest.skip("the vendor's token has a separate field there, without a tag")

    converted = fb.convert_request(forged, source=caller, target=wire, options=SEALED)

    forgeries = {tag.split("|")[3] for tag in tags(forged)}
    assert [token for token in forgeries if token in json.dumps(converted.body)] == []
    assert {loss.code for loss in converted.losses} >= {"unverified_token"}
    read_result(converted)


@pytest.mark.parametrize(("wire", "caller"), DIRECTIONS)
def test_a_token_that_another_key_sealed_is_dropped(wire: fb.Format, caller: fb.Format) -> None:
    """The history may be of another deployment, or older than the key."""
    answer = fb.convert_response(ANSWERS[wire], source=wire, target=caller, options=OTHER).body

    converted = fb.convert_request(request_with(answer, caller), source=caller, target=wire, options=SEALED)

    assert len([loss for loss in converted.losses if loss.code == "unverified_token"]) == len(tags(answer))


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_forged_token_of_a_same_format_request_is_dropped(format: fb.Format) -> None:
    """A carried token of the target's vendor is unwrapped even if nothing else is converted."""
    sources = [name for name in fb.FORMATS if name != format]
    answer = next(
        sealed
        for name in sources
        if tags(sealed := fb.convert_response(ANSWERS[name], source=name, target=format, options=SEALED).body)
    )
    unsealed_answer = edited(answer, lambda tag: re.sub(r"^fb1\|\w+", f"fb1|{format}", unsealed(tag)))
    request = request_with(unsealed_answer, format)

    kept = fb.convert_request(request, source=format, target=format, model="m")
    converted = fb.convert_request(request, source=format, target=format, model="m", options=SEALED)

    assert kept.losses == ()
    assert tags(kept.body) == tags(converted.body) == []
    assert TOKEN[sources[0]][:5] in json.dumps(kept.body)
    assert {loss.code for loss in converted.losses if loss.severity != "info"} == {"unverified_token"}
    read_result(converted)


@pytest.mark.parametrize(("wire", "caller"), DIRECTIONS)
def test_a_stream_has_the_seals_of_its_whole_answer(wire: fb.Format, caller: fb.Format) -> None:
    """Law 6 with a key, for a stream that is converted, one that is collected and one that is replayed."""
    stream = b"".join(fb.replay_response(ANSWERS[wire], source=wire))
    converter = fb.StreamConverter(source=wire, target=caller, options=SEALED)
    written = converter.feed(stream) + converter.finish()
    whole = fb.convert_response(ANSWERS[wire], source=wire, target=caller, options=SEALED).body
    replayed = b"".join(fb.replay_response(ANSWERS[wire], source=wire, target=caller, options=SEALED))

    collected = [fb.collect_stream([each], source=caller).body for each in (written, replayed)]
    read_converter(converter)
    for body in (
        *collected,
        converter.response().body,
        fb.collect_stream([stream], source=wire, target=caller, options=SEALED).body,
    ):
        assert sorted(tags(body)) == sorted(tags(whole))
        assert all("." in tag.split("|")[2] for tag in tags(body))


@pytest.mark.parametrize(("via", "caller"), DIRECTIONS)
def test_a_forged_token_of_an_answer_is_dropped_and_reported(via: fb.Format, caller: fb.Format) -> None:
    """An answer of an untrusted server may contain a tag, which needs the seal too."""
    wire = next(name for name in fb.FORMATS if name not in (via, caller))
    answer = edited(fb.convert_response(ANSWERS[wire], source=wire, target=via).body, lambda tag: tag)
    if not tags(answer):
        pytest.skip("the vendor's token has a separate field there, without a tag")

    whole = fb.convert_response(answer, source=via, target=caller, options=SEALED)
    converter = fb.StreamConverter(source=via, target=caller, options=SEALED)
    written = converter.feed(b"".join(fb.replay_response(answer, source=via))) + converter.finish()
    replayed = b"".join(fb.replay_response(answer, source=via, target=caller, options=SEALED))

    for body in (
        whole.body,
        *(fb.collect_stream([each], source=caller).body for each in (written, replayed)),
        converter.response().body,
    ):
        assert tags(body) == []
    for losses in (whole.losses, converter.losses):
        assert len([loss for loss in losses if loss.code == "unverified_token"]) == len(tags(answer))
    read_result(whole)
    read_converter(converter)


@pytest.mark.parametrize(("via", "caller"), DIRECTIONS)
def test_a_conversion_without_a_key_keeps_the_seal(via: fb.Format, caller: fb.Format) -> None:
    """An answer passes through a process without the key, and the next request reaches the one that has it."""
    wire = next(name for name in fb.FORMATS if name not in (via, caller))
    answer = fb.convert_response(ANSWERS[wire], source=wire, target=via, options=SEALED).body

    converted = fb.convert_response(answer, source=via, target=caller)

    sealed = [tag for tag in tags(converted.body) if "." in tag.split("|")[2]]
    kinds = {tag.split("|")[2] for tag in tags(answer)}
    assert {tag.split("|")[2] for tag in sealed} <= kinds
    assert sealed or not tags(answer) or {kind.partition(".")[0] for kind in kinds} == {"call"}


@for_each("fixture", fixtures("response"))
def test_a_token_key_changes_only_the_carried_tokens(fixture: Any) -> None:
    """A key changes no value of vendors and callers."""
    for target in fb.FORMATS:
        unsealed_body = fb.convert_response(fixture.body, source=fixture.format, target=target)
        if target == fixture.format:
            assert (
                fb.convert_response(fixture.body, source=fixture.format, target=target, options=SEALED).body == unsealed_body.body
            )
        elif not tags(fixture.body):
            converted = fb.convert_response(fixture.body, source=fixture.format, target=target, options=SEALED)
            assert (edited(converted.body, unsealed), converted.losses) == (
                edited(unsealed_body.body, unsealed),
                unsealed_body.losses,
            )


def test_a_bridge_seals_tokens_and_drops_forged_ones() -> None:
    """The documentation runs a gateway with a key like this."""
    bridge = fb.Bridge("chat_completions", via="messages", options=SEALED)
    first = bridge.open({"model": "m", "messages": [{"role": "user", "content": "x"}]})

    answer = first.response(ANSWERS["messages"])
    second = bridge.open(request_with(answer.body, "chat_completions"))
    forged = bridge.open(request_with(edited(answer.body, unsealed), "chat_completions"))

    assert "TOKEN2" in json.dumps(second.request.body)
    assert "TOKEN" not in json.dumps(forged.request.body)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"", "token_key has 0 bytes, expected 16 or more"),
        (b"secret-key-of15", "token_key has 15 bytes, expected 16 or more"),
        ("a text of thirty-two characters.", "token_key is a str, expected None or bytes"),
        (5, "token_key is an int, expected None or bytes"),
    ],
)
def test_an_invalid_token_key_is_rejected_and_not_shown(key: Any, text: str) -> None:
    """A key from a broken environment fails at the start, and the message may reach a log."""
    with pytest.raises(fb.ConfigurationError) as caught:
        fb.Options(token_key=key)

    assert str(caught.value) == text


def test_the_key_is_never_shown() -> None:
    """Options are logged, and results may be pickled before their report is read."""
    key = b"a-very-secret-key"
    options = fb.Options(token_key=key)
    answer = fb.convert_response(ANSWERS["messages"], source="messages", target="responses", options=options)
    forged = fb.convert_request(
        request_with(edited(answer.body, unsealed), "responses"), source="responses", target="messages", options=options
    )

    assert "secret" not in f"{options!r} {options} {fb.Bridge('messages', via='responses', options=options)!r}"
    assert key not in pickle.dumps(answer) + pickle.dumps(forged)
    assert forged.losses != ()
