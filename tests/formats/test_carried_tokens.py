"""Reasoning tokens of other formats: each is on the part after its reasoning, returns to it, or is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats, ir
from formatbridge.formats.shared.reasoning_tokens import decode_token
from formatbridge.ir import events
from formatbridge.options import DEFAULT_OPTIONS
from formatbridge.streaming.sse import DONE, StreamReader
from tests.fixtures import check
from tests.support.sdk_clients import read
from tests.support.stream_laws import read as events_of

THOUGHT = {"type": "thinking", "thinking": "Compare the heights.", "signature": "c2lnLTE="}
OMITTED = {"type": "thinking", "thinking": "", "signature": "c2lnLTI="}
REDACTED = {"type": "redacted_thinking", "data": "cmVkLTE="}
TEXT = {"type": "text", "text": "I look it up."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"place": "Rome"}}
OTHER_CALL = CALL | {"id": "toolu_2"}

TURNS: dict[str, list[dict[str, Any]]] = {
    "a call after reasoning": [THOUGHT, CALL],
    "a text after reasoning": [THOUGHT, TEXT],
    "a call behind hidden reasoning": [REDACTED, CALL],
    "a text behind hidden reasoning": [REDACTED, TEXT, CALL],
    "a call after omitted reasoning": [OMITTED, CALL, OTHER_CALL],
    "reasoning between calls": [THOUGHT, CALL, OMITTED, OTHER_CALL],
    "reasoning behind text": [TEXT, REDACTED, CALL],
}
"""Turns of messages in which text or a call follows each token."""


def _answer(content: list[dict[str, Any]]) -> dict[str, Any]:
    reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return head | {"stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2}}


def _streamed(content: list[dict[str, Any]]) -> bytes:
    """Return the stream of an answer in another format, with its texts in pieces."""
    data = b"".join(fb.replay_response(_answer(content), source="messages"))
    data = data.replace(b'"delta":{"type":"text_delta","text":"I look it up."}', b'"delta":{"type":"text_delta","text":"I look"}')
    more = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":" it up."}}\n\n'
    pieces = data.split(b"\n\n")
    output = b""
    for piece in pieces[:-1]:
        output += piece + b"\n\n"
        if b'"text_delta"' in piece:
            output += more % json.loads(piece.partition(b"data: ")[2])["index"]
    return b"".join(fb.convert_stream([output], source="messages", target="generate_content"))


def _parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = body["candidates"][0]["content"]["parts"]
    return parts


def _next_turn(parts: list[dict[str, Any]]) -> dict[str, Any]:
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [{"functionResponse": {"id": call["id"], "name": call["name"], "response": {"a": 1}}} for call in calls]
    ask = {"role": "user", "parts": [{"text": "Where?"}]}
    return {"contents": [ask, {"role": "model", "parts": parts}, {"role": "user", "parts": results or ask["parts"]}]}


def _returned_turn(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the model's turn of the next request in messages, with texts in one piece."""
    converted = fb.convert_request(_next_turn(parts), source="generate_content", target="messages", model="m", stream=False)
    turn: list[dict[str, Any]] = []
    for block in next(each for each in converted.body["messages"] if each["role"] == "assistant")["content"]:
        if turn and block["type"] == turn[-1]["type"] == "text":
            turn[-1] = turn[-1] | {"text": turn[-1]["text"] + block["text"]}
        else:
            turn.append(block)
    return turn


@pytest.mark.parametrize("name", TURNS)
def test_a_token_is_on_the_part_that_follows_its_reasoning(name: str) -> None:
    """The Vercel AI SDK and opencode drop an empty reasoning part with its token; Google sets its tokens on the part that follows."""
    whole = _parts(fb.convert_response(_answer(TURNS[name]), source="messages", target="generate_content").body)
    streamed = _parts(fb.collect_stream([_streamed(TURNS[name])], source="generate_content").body)

    tokens = sum("signature" in block or "data" in block for block in TURNS[name])
    for parts in (whole, streamed):
        assert [part for part in parts if "thoughtSignature" in part and (part.get("thought") or part.get("text") == "")] == []
        assert sum("thoughtSignature" in part for part in parts) == tokens
    assert streamed == whole


@pytest.mark.parametrize("name", TURNS)
def test_the_next_request_restores_each_token_to_its_reasoning(name: str) -> None:
    """The vendor rejects a reasoning part whose token is missing or elsewhere.

    Clients send parts as received, in pieces, or accumulated.
    """
    data = _streamed(TURNS[name])
    pieces = [part for event in events_of(data) for part in _parts(json.loads(event.data)) if part != {"text": ""}]

    whole = _parts(fb.convert_response(_answer(TURNS[name]), source="messages", target="generate_content").body)
    for parts in (whole, pieces, _parts(read(data, "generate_content"))):
        assert _returned_turn(parts) == TURNS[name]
    assert fb.collect_stream([data], source="generate_content", target="messages").body["content"] == TURNS[name]


KEPT: dict[str, list[dict[str, Any]]] = {
    "nothing follows": [TEXT, THOUGHT],
    "reasoning follows": [REDACTED, THOUGHT, CALL],
    "hidden reasoning follows": [THOUGHT, REDACTED],
}
"""Turns of messages in which no text or call follows a token directly."""


@pytest.mark.parametrize("name", KEPT)
def test_a_token_without_a_following_part_is_a_separate_part(name: str) -> None:
    """No other part can have it, and it still returns."""
    data = _streamed(KEPT[name])
    whole = _parts(fb.convert_response(_answer(KEPT[name]), source="messages", target="generate_content").body)

    assert any("thoughtSignature" in part and part.get("thought") for part in whole)
    for parts in (whole, _parts(fb.collect_stream([data], source="generate_content").body)):
        assert _returned_turn(parts) == KEPT[name]


def test_a_call_with_a_token_keeps_it() -> None:
    """A part has one token: that of the reasoning before it stays with the reasoning."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    call |= {"extra_content": {"google": {"thought_signature": "b3du"}}}
    details = [{"type": "reasoning.text", "text": "Hm.", "signature": "c2lnLTE=", "format": "anthropic-claude-v1", "index": 0}]
    message = {"role": "assistant", "content": None, "reasoning_details": details, "tool_calls": [call]}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    body |= {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}

    whole = _parts(fb.convert_response(body, source="chat_completions", target="generate_content").body)
    data = b"".join(fb.replay_response(body, source="chat_completions", target="generate_content"))
    streamed = _parts(fb.collect_stream([data], source="generate_content").body)

    assert [decode_token(part["thoughtSignature"], "generate_content", "thought", "").token for part in whole] == [
        "c2lnLTE=",
        "b3du",
    ]
    assert [part["thoughtSignature"] for part in streamed if "functionCall" in part] == [whole[-1]["thoughtSignature"]]
    assert [part["thoughtSignature"] for part in streamed if part.get("thought") and "thoughtSignature" in part] == [
        whole[0]["thoughtSignature"]
    ]


def test_a_token_does_not_sign_preceding_reasoning_without_a_token() -> None:
    """A reasoning part whose signature was dropped by a relay must not get that of another one."""
    unsigned: dict[str, Any] = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    content = [unsigned, OMITTED, CALL]
    answer = fb.convert_response(_answer(content), source="messages", target="generate_content")
    data = _streamed(content)

    back = fb.convert_response(answer.body, source="generate_content", target="messages").body["content"]

    assert [block["signature"] for block in back if block["type"] == "thinking"] == ["", "c2lnLTI="]
    streamed = fb.collect_stream([data], source="generate_content", target="messages").body["content"]
    assert [block["signature"] for block in streamed if block["type"] == "thinking"] == ["", "c2lnLTI="]


def test_only_a_token_is_held_back_until_the_next_part() -> None:
    """Law 10: the text that follows is emitted in the same feed, with the token."""
    events = [event + b"\n\n" for event in b"".join(fb.replay_response(_answer([THOUGHT, TEXT]), source="messages")).split(b"\n\n")]
    converter = fb.StreamConverter(source="messages", target="generate_content")

    output = [converter.feed(event) for event in events]

    for event, out in zip(events, output, strict=True):
        assert (b'"thinking_delta"' in event) == (b'"thought":true' in out)
        assert (b'"text_delta"' in event) == (b"thoughtSignature" in out)


@pytest.mark.parametrize("fault", ["finish", "abort", "error"])
def test_a_token_that_is_held_back_is_emitted_before_an_error(fault: str) -> None:
    """The part before a break is valid; a user who stores it needs its token."""
    events = b"".join(fb.replay_response(_answer([THOUGHT, TEXT]), source="messages")).partition(b"event: content_block_stop")
    converter = fb.StreamConverter(source="messages", target="generate_content")
    converted = converter.feed(events[0] + b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n')
    if fault == "finish":
        with pytest.raises(fb.TruncatedStreamError) as raised:
            converter.finish()
        tail = raised.value.tail
    elif fault == "abort":
        tail = converter.abort().tail
    else:
        tail = converter.feed(b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"gone"}}\n\n')

    assert b"thoughtSignature" not in converted
    assert b"thoughtSignature" in tail
    assert tail.index(b"thoughtSignature") < tail.index(b'"error"')


def test_a_request_to_the_same_format_loses_the_token_and_keeps_its_part() -> None:
    """Google would reject a token of another vendor; the call with it belongs to the caller."""
    parts = _parts(fb.convert_response(_answer([REDACTED, CALL]), source="messages", target="generate_content").body)

    converted = fb.convert_request(_next_turn(parts), source="generate_content", target="generate_content", model="m", stream=False)

    assert converted.body["contents"][1]["parts"][0]["functionCall"]["name"] == "look"
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/contents/1/parts/0/thoughtSignature", "foreign_signature")]


def test_a_loss_of_reasoning_names_its_token_alone() -> None:
    """Law 2: the part with the token is not lost."""
    parts = _parts(fb.convert_response(_answer([REDACTED, TEXT, CALL]), source="messages", target="generate_content").body)

    converted = fb.convert_request(_next_turn(parts), source="generate_content", target="chat_completions", model="m", stream=False)

    assert [loss.path for loss in converted.losses if loss.code == "foreign_signature"] == ["/contents/1/parts/0/thoughtSignature"]


@pytest.mark.parametrize("carry", [True, False])
def test_an_answer_without_carried_tokens_has_none(carry: bool) -> None:
    """``carry_reasoning=False``: the token is reported, and the part that follows is unchanged."""
    options = fb.Options(carry_reasoning=carry)
    converted = fb.convert_response(_answer([REDACTED, CALL]), source="messages", target="generate_content", options=options)
    data = b"".join(fb.replay_response(_answer([REDACTED, CALL]), source="messages", target="generate_content", options=options))

    assert ("thoughtSignature" in json.dumps(converted.body)) == carry == (b"thoughtSignature" in data)
    assert bool(converted.losses) != carry


JSON = dict[str, Any]
IMAGE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
BLOCKS: list[JSON] = [
    {"type": "text", "text": "x"},
    {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    {"type": "image", "source": IMAGE},
    {"type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {"url": "u"}},
    {"type": "server_tool_use", "id": "s", "name": "code_execution", "input": {"code": "1"}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
    {"type": "mcp_tool_result", "tool_use_id": "s", "content": [], "is_error": False},
    {"type": "compaction", "content": "c"},
    {"type": "thinking", "thinking": "h", "signature": "s"},
]
WORD = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
ITEMS: list[JSON] = [
    WORD | {"content": [{"type": "output_text", "text": "x", "annotations": []}]},
    WORD | {"content": [{"type": "refusal", "refusal": "no"}]},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "code_interpreter_call", "id": "ci_1", "container_id": "c", "status": "completed", "code": "1", "outputs": None},
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["q"]},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
    {"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "h"}]},
]
CASES = [("messages", block) for block in BLOCKS] + [("responses", item) for item in ITEMS]


def _turn(source: fb.Format, token: str, part: JSON) -> list[JSON]:
    """Return an answer: a carried token, and the part that has it."""
    if source == "messages":
        return [{"type": "redacted_thinking", "data": token}, part]
    return [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": token}, part]


def _request(source: fb.Format, token: str, part: JSON) -> JSON:
    turn, request, more = _turn(source, token, part), {"role": "user", "content": "q"}, {"role": "user", "content": "r"}
    if source == "messages":
        return {"model": "m", "max_tokens": 9, "messages": [request, {"role": "assistant", "content": turn}, more]}
    return {"model": "m", "input": [request, *turn, more]}


def _answer_of_lost(source: fb.Format, token: str, part: JSON) -> JSON:
    turn = _turn(source, token, part)
    if source == "messages":
        message = {"content": turn, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", **message}
    body = {"output": turn, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", **body}


def _streamed_of_lost(body: JSON, source: fb.Format, target: fb.Format, options: fb.Options) -> tuple[bytes, tuple[fb.Loss, ...]]:
    converter = fb.StreamConverter(source=source, target=target, options=options)
    output = b"".join([*map(converter.feed, fb.replay_response(body, source=source)), converter.finish()])
    return output, converter.losses


@pytest.mark.parametrize(("source", "part"), CASES, ids=[f"{source}-{part['type']}" for source, part in CASES])
def test_a_token_is_in_the_output_or_in_the_report(source: fb.Format, part: JSON) -> None:
    """Each token is changed, one at a time: in requests, answers and streams, also if tokens are not carried."""
    targets = {*fb.FORMATS} - {source}
    for target, returned, kind, carry in product(sorted(targets), sorted(targets | {source}), ("call", "encrypted"), (True, False)):
        if returned == source:
            continue
        options = fb.Options(carry_reasoning=carry)
        tokens = [f"fb1|{returned}|{kind}|{token}" for token in ("QUJD", "WFla")]
        request = [fb.convert_request(_request(source, token, part), source=source, target=target) for token in tokens]
        items = [
            fb.convert_response(_answer_of_lost(source, token, part), source=source, target=target, options=options)
            for token in tokens
        ]
        streamed = [_streamed_of_lost(_answer_of_lost(source, token, part), source, target, options) for token in tokens]

        assert (request[0].body, request[0].losses) != (request[1].body, request[1].losses), (target, returned, kind)
        assert (items[0].body, items[0].losses) != (items[1].body, items[1].losses), (target, returned, kind, carry)
        assert streamed[0] != streamed[1], (target, returned, kind, carry)


@pytest.mark.parametrize("carry", [True, False], ids=["carried", "not carried"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_the_token_of_a_result_that_joins_its_call_is_reported(streams: bool, carry: bool) -> None:
    """One item of responses has both, and has one token before it."""
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "QUJD"}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}, "thoughtSignature": "WFla"}
    parts = [code, result, {"text": "done"}]
    answer = {
        "responseId": "r",
        "modelVersion": "m",
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
    }
    options = fb.Options(carry_reasoning=carry)

    if streams:
        _, losses = _streamed_of_lost(answer, "generate_content", "responses", options)
    else:
        losses = fb.convert_response(answer, source="generate_content", target="responses", options=options).losses

    lost = [("QUJD", "foreign_signature"), ("WFla", "foreign_signature")]
    assert [(loss.before, loss.code) for loss in losses if loss.path.endswith("thoughtSignature")] == lost[carry:]


_ISSUERS: tuple[tuple[ir.Format, ir.SignatureKind], ...] = (("responses", "encrypted"), ("messages", "thinking"))


def _life(number: int, random: Random) -> Iterator[events.Event]:
    """Yield the events of a part: a reasoning part, whose token comes before its end, after it, or never, a text, or a call."""
    kind = random.choice(("thought", "thought", "thought", "text", "call"))
    if kind == "call":
        yield events.PartStart(0, number, ir.ToolCall(f"call_{number}", "look_up", ""))
        yield events.Delta(0, number, "{}")
        yield events.PartEnd(0, number)
        return
    returned, sort = random.choice(_ISSUERS)
    item = f"rs_x{number}" if returned == "responses" else None
    token = ir.Signature(issuer=returned, kind=sort, token=f"token{number}", item_id=item)
    yield events.PartStart(0, number, ir.Text("") if kind == "text" else ir.Reasoning("", id=item))
    for piece in range(random.choice((0, 1, 2, 3)) if kind == "thought" else 2):
        yield events.Delta(0, number, f"{number}{'abc'[piece]}.")
    when = random.choice(("in time", "too_late", "never")) if kind == "thought" else "never"
    if when == "in time":
        yield events.PartUpdate(0, number, signature=token)
    yield events.PartEnd(0, number)
    if when == "too_late":
        yield events.SignatureUpdate(0, number, token)


def _lives(random: Random) -> list[events.Event]:
    """Return the events of an answer with several open parts, in the order in which they open."""
    waiting = [iter(list(_life(number, random))) for number in range(random.randint(1, 5))]
    running: list[Iterator[events.Event]] = []
    emitted: list[events.Event] = [events.Start("a", "m")]
    while waiting or running:
        if waiting and (not running or random.random() < 0.3):
            running.append(waiting.pop(0))
            emitted.append(next(running[-1]))
            continue
        life = random.choice(running)
        event = next(life, None)
        if event is None:
            running.remove(life)
        else:
            emitted.append(event)
    return [*emitted, events.ChoiceEnd(0, ir.Finish("stop")), events.End()]


def _kept(data: bytes) -> dict[str, Any]:
    """Return the answer as a client of generate_content keeps it in its history, with its pieces separate."""
    reader = StreamReader()
    emitted = [json.loads(event.data) for event in (*reader.feed(data), *reader.finish()) if event.data != DONE]
    parts = [part for raw in emitted for part in raw["candidates"][0]["content"]["parts"]]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}


def _tokens(body: dict[str, Any], target: fb.Format) -> dict[str, str]:
    parts = formats.load(target).decode_response(check(body, formats.load(target).name, "response")).choices[0].parts
    return {part.signature.token: part.text for part in parts if isinstance(part, ir.Reasoning | ir.Text) and part.signature}


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_token_after_its_text_returns_with_that_text_or_is_reported(target: fb.Format) -> None:
    """A server rejects a signed reasoning part that was changed, and an item without its token."""
    for seed in range(400):
        reported = _lives(Random(seed))
        signed = {
            event.index: event.signature
            for event in reported
            if isinstance(event, events.PartUpdate | events.SignatureUpdate) and event.signature
        }
        texts: dict[int, str] = dict.fromkeys(signed, "")
        for event in reported:
            if isinstance(event, events.Delta) and event.index in texts:
                texts[event.index] += event.text
        encoder = formats.load(target).stream_encoder(DEFAULT_OPTIONS, None)

        data = b"".join([encoder.feed(event) for event in reported])

        delayed = {token.token for token in encoder.undelivered_tokens() if isinstance(token, ir.Signature)}
        expected = {token.token: texts[number] for number, token in signed.items() if token.token not in delayed}
        bodies = [fb.collect_stream([data], source=target).body, *([_kept(data)] if target == "generate_content" else [])]
        for body in bodies:
            assert _tokens(body, target) == expected, seed
        assert _tokens(fb.collect_stream([data], source=target, target=target).body, target) == expected, seed
