"""Arguments of tool calls: each call is read as if it were the only one."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

ARGUMENTS = [
    '{"city":"Oslo"}',
    '{"n":1e400}',
    '{"n":-1e999,"m":[1]}',
    '{"a":1',
    "[1]",
    "",
    " ",
    "7",
    '{"a":1,"a":2}',
    '{"a":"\\ud800"}',
    "{}",
]


def _converted(target: fb.Format, *arguments: str) -> tuple[list[Any], list[tuple[str, Any, Any]]]:
    """Return the result of the arguments of an answer's calls, and their losses, by the number of the call."""
    calls = [
        {"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": text}}
        for number, text in enumerate(arguments)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "a", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    converted = fb.convert_response(body, source="chat_completions", target=target)
    if target == "messages":
        values = [block["input"] for block in converted.body["content"]]
    else:
        values = [part["functionCall"]["args"] for part in converted.body["candidates"][0]["content"]["parts"]]
    reported = [(loss.path.split("/")[5], loss.code, loss.after) for loss in converted.losses if "/tool_calls/" in loss.path]
    return values, reported


@pytest.mark.parametrize("target", ["messages", "generate_content"])
@pytest.mark.parametrize("text", ARGUMENTS)
def test_invalid_arguments_do_not_change_other_calls(target: fb.Format, text: str) -> None:
    """An infinity or an invalid text must not change other calls."""
    alone, reported = _converted(target, text)

    together, reported_together = _converted(target, '{"x":1.5}', text, '{"y":[true,null]}')

    assert together == [{"x": 1.5}, *alone, {"y": [True, None]}]
    assert reported_together == [("1", code, after) for _, code, after in reported]


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_an_infinity_in_one_of_several_calls_is_rejected(target: fb.Format) -> None:
    """It would be written as ``Infinity``, which is no JSON."""
    raw, reported = _converted(target, "{}", '{"n":1e400}', '{"n":[1.5e300]}')

    assert raw == [{}, {"raw_arguments": '{"n":1e400}'}, {"n": [1.5e300]}]
    assert reported == [("1", "invalid_arguments", {"raw_arguments": '{"n":1e400}'})]


def _of_responses(output: list[dict[str, Any]], target: fb.Format) -> fb.Converted:
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    body = head | {"output": output, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return fb.convert_response(body, source="responses", target=target)


@pytest.mark.parametrize("text", ['{"a": 1}', "ls -l", ""])
def test_free_text_input_of_a_tool_stays_text_in_formats_with_object_arguments(text: str) -> None:
    """Text that looks like JSON stays text; parsed, the tool would get something else."""
    call = {"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "f", "input": text}

    result = _of_responses([call], "generate_content")

    assert result.body["candidates"][0]["content"]["parts"] == [{"functionCall": {"id": "c", "name": "f", "args": {"input": text}}}]
    assert ("/output/0", "wrapped") in [(loss.path, loss.code) for loss in result.losses]
