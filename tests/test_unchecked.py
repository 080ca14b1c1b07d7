"""What is plain is read before anybody has checked it, and means what it would mean then."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from formatbridge import FORMATS, ir
from formatbridge.bodies import check, check_answer, check_request
from formatbridge.errors import InvalidPayloadError
from formatbridge.formats import load
from formatbridge.formats._plain_answer import plain_answer_of
from formatbridge.formats._protocol import Format, Kind
from formatbridge.formats._talk import talk_of
from formatbridge.losses import Ledger
from tests.corpus import entries
from tests.fixtures import fixtures
from tests.pointers import leaves, objects, value_at, with_value


def _chat_call(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def _google_call(call_id: str, name: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": name, "args": {"a": 1}}}


def _google_result(call_id: str, name: str) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": name, "response": {"output": "R"}}}


TALKS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": "U"},
            {"role": "assistant", "content": "A"},
            {"role": "user", "content": [{"type": "text", "text": "V"}]},
            {"role": "assistant", "content": "B", "tool_calls": [_chat_call("c"), _chat_call("d")]},
            {"role": "tool", "tool_call_id": "c", "content": "R"},
            {"role": "tool", "tool_call_id": "d", "content": "S"},
            {"role": "assistant", "content": None, "tool_calls": [_chat_call("c")]},
            {"role": "tool", "tool_call_id": "c", "content": "T"},
        ],
        "temperature": 1,
    },
    "messages": {
        "model": "m",
        "system": "S",
        "messages": [
            {"role": "user", "content": "U"},
            {"role": "assistant", "content": [{"type": "text", "text": "A"}]},
            {"role": "user", "content": [{"type": "text", "text": "V"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "B"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
                    {"type": "tool_use", "id": "d", "name": "g", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": "R"},
                    {"type": "tool_result", "tool_use_id": "d", "content": "S"},
                ],
            },
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "T"}]},
        ],
        "max_tokens": 5,
    },
    "responses": {
        "model": "m",
        "instructions": "S",
        "input": [
            {"type": "message", "role": "user", "content": "U"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "V"}]},
            {"type": "message", "role": "assistant", "content": "B"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "d", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "R"},
            {"type": "function_call_output", "call_id": "d", "output": "S"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "T"},
        ],
    },
    "generate_content": {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "U"}]},
            {"role": "model", "parts": [{"text": "A"}]},
            {"parts": [{"text": "V"}]},
            {"role": "model", "parts": [{"text": "B"}, _google_call("c", "f"), _google_call("d", "g")]},
            {"role": "user", "parts": [_google_result("c", "f"), _google_result("d", "g")]},
            {"role": "model", "parts": [_google_call("c", "f")]},
            {"role": "user", "parts": [_google_result("c", "f")]},
        ],
        "generationConfig": {"temperature": 0.5},
    },
}
"""Format to a request whose conversation is texts, calls and their results."""
USUAL: dict[str, tuple[dict[str, Any], ...]] = {"messages": ({"system": None}, {"system": ""}), "responses": ({"input": "U"},)}
"""Format to other ways of such a request that are usual, too."""
ANSWERS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "id": "i",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "T",
                    "refusal": None,
                    "tool_calls": [
                        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                        {"id": "d", "type": "function", "function": {"name": "g", "arguments": "{}"}},
                    ],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    },
    "messages": {
        "id": "i",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "text", "text": "T"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
            {"type": "tool_use", "id": "d", "name": "g", "input": {}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "responses": {
        "id": "i",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [
            {
                "type": "message",
                "id": "x",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "T", "annotations": [], "logprobs": []}],
            },
            {"type": "function_call", "id": "y", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
            {"type": "function_call", "id": "z", "call_id": "d", "name": "g", "arguments": "{}", "status": "completed"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    },
    "generate_content": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": "T"},
                        {"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}},
                        {"functionCall": {"id": "d", "name": "g", "args": {}}},
                    ],
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
        "responseId": "i",
    },
}
"""Format to an answer that is a text and calls."""
_MESSAGE, _CALL, _ = ANSWERS["responses"]["output"]
_CANDIDATE = ANSWERS["generate_content"]["candidates"][0]
TELLING: dict[str, tuple[dict[str, Any], ...]] = {
    "chat_completions": (),
    "messages": ({"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": None, "explanation": "No."}},),
    "responses": (
        *({"status": status} for status in ("failed", "cancelled", "incomplete", "in_progress")),
        *({"status": status, "incomplete_details": {"reason": "max_output_tokens"}} for status in ("completed", "incomplete")),
        {"error": {"code": "server_error", "message": "M"}},
        {"output": [_CALL, _MESSAGE]},
        {"output": [_MESSAGE, _MESSAGE | {"id": "w"}]},
    ),
    "generate_content": tuple(
        {
            "candidates": [_CANDIDATE | {"finishReason": word}],
            "promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "B"},
        }
        for word in ("FINISH_REASON_UNSPECIFIED", "", "STOP", "A_NEW_ONE")
    ),
}
"""Format to what an answer may say besides, or otherwise, with the types that its format has for it."""
STRANGE: tuple[Any, ...] = (
    None, True, 0, 1.5, 2**70, "", " ", "x", "c", "d", "calls", "results",
    "user", "model", "assistant", "tool", "system", "message", [], ["x"], [[]], [{}], {}, {"text": "x"},
    [{"text": "x"}], [{"text": 1}], [{"type": "text", "text": "x"}], [{"type": "input_text", "text": "x"}],
    [{"type": "input_text", "x": "x"}], {"parts": [{"text": "x"}]},
)  # fmt: skip


def _bodies(name: str, kind: Kind, plain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield bodies of a format: shipped, recorded, and a plain one with each value, and each member of its objects, made something else."""
    yield from (fixture.body for fixture in fixtures(kind) if fixture.format == name)
    yield from (entry.json() for entry in entries(name, kind) if not entry.is_curated)
    yield plain
    yield json.loads(json.dumps(plain).replace('"d"', '"c"'))  # two calls of one turn under one id
    yield json.loads(json.dumps(plain).replace('"c"', '""'))  # calls without ids
    yield from _in_other_orders(plain)
    yield from (plain | told for told in (TELLING[name] if kind == "response" else ()))
    for pointer, _ in leaves(plain):
        yield from (with_value(plain, pointer, value) for value in STRANGE)
    for pointer in objects(plain):
        yield from (with_value(plain, pointer, value) for value in STRANGE if pointer)
        for key in {*value_at(plain, pointer), "x", "role", "name", "id", "index", "type", "status", "error"}:
            yield from (with_value(plain, f"{pointer}/{key}", value) for value in STRANGE)
            yield _without_member(plain, pointer, key)


def _in_other_orders(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a body with each item of its lists left out, and with each put in front of the one before it."""
    places = {above for pointer, _ in leaves(body) for above in _above(pointer) if isinstance(value_at(body, above), list)}
    for place in sorted(places):
        items = value_at(body, place)
        for at in range(len(items)):
            yield with_value(body, place, [*items[:at], *items[at + 1 :]])
        for at in range(1, len(items)):
            yield with_value(body, place, [*items[: at - 1], items[at], items[at - 1], *items[at + 1 :]])


def _above(pointer: str) -> Iterator[str]:
    """Yield the pointers of all that holds a place."""
    while pointer:
        pointer = pointer.rpartition("/")[0]
        yield pointer


def _without_member(body: dict[str, Any], pointer: str, key: str) -> dict[str, Any]:
    made = copy.deepcopy(body)
    value_at(made, pointer).pop(key, None)
    return made


def _read(check: Callable[[Ledger, Format], tuple[Any, ...]], body: Any, format: Format) -> Any:
    """Return a body as it was checked, and what was read of it without a check; None where all of it was to be checked, or is refused."""
    try:
        checked, _, read = check(Ledger(copy.deepcopy(body), format.SPELLING), format)
    except InvalidPayloadError:
        return None
    return None if read is None else (checked, read)


def _checked(body: dict[str, Any], name: str, kind: Kind) -> dict[str, Any]:
    """Return a body as its checker does, which must not refuse it."""
    try:
        return check(copy.deepcopy(body), name, kind)
    except InvalidPayloadError as error:
        pytest.fail(f"{body} was read, and is refused: {error}")


@pytest.mark.parametrize("name", FORMATS)
def test_talks_are_read_unchecked_as_they_would_be_checked(name: ir.Format) -> None:
    """What only the checker refuses would get through, and what only the long way reads would be lost."""
    format, count = load(name), 0
    for body in _bodies(name, "request", TALKS[name]):
        read = _read(check_request, body, format)
        if read is None:
            continue
        count += 1
        checked, talk = read
        in_full = _checked(body, name, "request")

        made = format.decode_request(checked, model="m", stream=None, talk=talk)

        assert checked == in_full
        assert made == format.decode_request(in_full, model="m", stream=None)
        assert talk == talk_of(made)

    assert count > 30, "hardly anything was read unchecked"


@pytest.mark.parametrize("name", FORMATS)
def test_plain_answers_are_read_unchecked_as_they_would_be_checked(name: ir.Format) -> None:
    """What only the checker refuses would get through, and what only the long way reads would be lost."""
    format, count = load(name), 0
    for body in _bodies(name, "response", ANSWERS[name]):
        read = _read(check_answer, body, format)
        if read is None:
            continue
        count += 1
        checked, (choice, plain) = read
        in_full = _checked(body, name, "response")

        made = format.decode_response(checked, choice)

        assert checked == in_full
        assert made == format.decode_response(in_full)
        assert plain == plain_answer_of(made)

    assert count > 30, "hardly anything was read unchecked"


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_usual_is_read_unchecked(name: ir.Format) -> None:
    """If nothing were, all of this would be slow, and no other test would say so."""
    for more in ({}, *USUAL.get(name, ())):
        assert _read(check_request, TALKS[name] | more, load(name)) is not None
    assert _read(check_answer, ANSWERS[name], load(name)) is not None
