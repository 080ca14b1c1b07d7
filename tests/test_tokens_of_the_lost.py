"""A token that was carried in front of a part is written or reported, whatever becomes of that part."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import formatbridge as fb

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


def _turn(source: str, token: str, part: JSON) -> list[JSON]:
    """Return what the model said: a carried token, and the part that it was carried for."""
    if source == "messages":
        return [{"type": "redacted_thinking", "data": token}, part]
    return [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": token}, part]


def _request(source: str, token: str, part: JSON) -> JSON:
    turn, asked, more = _turn(source, token, part), {"role": "user", "content": "q"}, {"role": "user", "content": "r"}
    if source == "messages":
        return {"model": "m", "max_tokens": 9, "messages": [asked, {"role": "assistant", "content": turn}, more]}
    return {"model": "m", "input": [asked, *turn, more]}


def _answer(source: str, token: str, part: JSON) -> JSON:
    turn = _turn(source, token, part)
    if source == "messages":
        said = {"content": turn, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", **said}
    told = {"output": turn, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", **told}


def _streamed(body: JSON, source: str, target: str, options: fb.Options) -> tuple[bytes, tuple[fb.Loss, ...]]:
    converter = fb.StreamConverter(source=source, target=target, options=options)
    told = b"".join([*map(converter.feed, fb.replay_response(body, source=source)), converter.finish()])
    return told, converter.losses


@pytest.mark.parametrize(("source", "part"), CASES, ids=[f"{source}-{part['type']}" for source, part in CASES])
def test_a_token_is_in_what_is_written_or_in_the_report(source: str, part: JSON) -> None:
    """Every other token is told apart: in requests, answers and their streams, also where tokens are not to be carried."""
    targets = {*fb.FORMATS} - {source}
    for target, home, kind, carry in product(sorted(targets), sorted(targets | {source}), ("call", "encrypted"), (True, False)):
        if home == source:
            continue
        options = fb.Options(carry_reasoning=carry)
        tokens = [f"fb1|{home}|{kind}|{token}" for token in ("QUJD", "WFla")]
        asked = [fb.convert_request(_request(source, token, part), source=source, target=target) for token in tokens]
        told = [
            fb.convert_response(_answer(source, token, part), source=source, target=target, options=options) for token in tokens
        ]
        streamed = [_streamed(_answer(source, token, part), source, target, options) for token in tokens]

        assert (asked[0].body, asked[0].losses) != (asked[1].body, asked[1].losses), (target, home, kind)
        assert (told[0].body, told[0].losses) != (told[1].body, told[1].losses), (target, home, kind, carry)
        assert streamed[0] != streamed[1], (target, home, kind, carry)


@pytest.mark.parametrize("carry", [True, False], ids=["carried", "not carried"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_the_token_of_a_result_that_joins_its_call_is_reported(streams: bool, carry: bool) -> None:
    """Both stand in one item of responses, which has room for one token in front of it."""
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
        _, losses = _streamed(answer, "generate_content", "responses", options)
    else:
        losses = fb.convert_response(answer, source="generate_content", target="responses", options=options).losses

    lost = [("QUJD", "foreign_signature"), ("WFla", "foreign_signature")]
    assert [(loss.before, loss.code) for loss in losses if loss.path.endswith("thoughtSignature")] == lost[carry:]
