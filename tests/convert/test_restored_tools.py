"""An answer in the caller's format has the caller's tools again, if the request changed them for one server."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb

XAI = fb.Target("responses", dialect="xai")
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
REQUEST: dict[str, Any] = {
    "model": "m",
    "input": [
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [
                {
                    "type": "namespace",
                    "name": "crm",
                    "description": "Customers.",
                    "tools": [
                        {"type": "function", "name": "find", "parameters": _SCHEMA, "strict": False, "defer_loading": True},
                        {"type": "custom", "name": "query"},
                    ],
                }
            ],
        },
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "call_1", "namespace": "crm", "name": "find", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "none"},
    ],
    "tools": [
        {"type": "tool_search", "execution": "client", "description": "Search.", "parameters": _SCHEMA},
        {"type": "web_search_preview", "external_web_access": False},
    ],
    "server_option": 1,
}
CALLS: list[dict[str, Any]] = [
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "crm__find", "arguments": "{}", "status": "completed"},
    {
        "type": "function_call",
        "id": "fc_2",
        "call_id": "c2",
        "name": "crm__query",
        "arguments": '{"input":"ab"}',
        "status": "completed",
    },
    {
        "type": "function_call",
        "id": "fc_3",
        "call_id": "c3",
        "name": "tool_search",
        "arguments": '{"query":"a"}',
        "status": "completed",
    },
]
ANSWER: dict[str, Any] = {
    "id": "5b1c0d2e",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Why."}], "server_option": 2},
        *CALLS,
    ],
    "server_option": 3,
}
RESTORED: list[dict[str, Any]] = [
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "namespace": "crm", "name": "find", "arguments": "{}"},
    {"type": "custom_tool_call", "id": "ctc_2", "call_id": "c2", "namespace": "crm", "name": "query", "input": "ab"},
    {"type": "tool_search_call", "id": "tsc_3", "call_id": "c3", "execution": "client", "arguments": {"query": "a"}},
]


def _request() -> fb.ConvertedRequest:
    return fb.convert_request(REQUEST, source="responses", target=XAI)


def _is_restored(items: list[dict[str, Any]]) -> bool:
    return len(items) == len(RESTORED) and all(
        {key: item.get(key) for key in expected} == expected for item, expected in zip(items, RESTORED, strict=True)
    )


def _stream() -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": ANSWER | {"status": "in_progress", "output": []}}]
    for index, item in enumerate(ANSWER["output"]):
        begun = item | ({"arguments": "", "status": "in_progress"} if "arguments" in item else {})
        events.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        if "arguments" in item:
            place = {"output_index": index, "item_id": item["id"]}
            events += [
                {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"][:4]},
                {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"][4:]},
                {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]},
            ]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": ANSWER})
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


def _bytes_of(events: list[dict[str, Any]]) -> bytes:
    return b"".join(b"event: %b\ndata: %b\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events)


def test_a_server_without_namespaces_gets_functions_before_the_first_turn() -> None:
    """Codex sends its tools in namespaces; a server that rejects them still gets every tool."""
    converted = _request()

    assert [tool.get("name", tool["type"]) for tool in converted.body["tools"]] == [
        "tool_search",
        "web_search",
        "crm__find",
        "crm__query",
    ]
    assert {tool["type"] for tool in converted.body["tools"]} == {"function", "web_search"}
    assert not any("defer_loading" in tool or "external_web_access" in tool for tool in converted.body["tools"])
    assert [item["type"] for item in converted.body["input"]] == ["message", "function_call", "function_call_output"]
    assert converted.body["input"][1]["name"] == "crm__find"
    assert converted.body["server_option"] == 1
    assert {loss.path: loss.code for loss in converted.losses} == {
        "/input/0/tools": "moved",
        "/input/0/tools/0": "unsupported_by_server",
        "/input/0/tools/0/tools/0/defer_loading": "unsupported_by_server",
        "/input/0/tools/0/tools/1": "wrapped",
        "/tools/1/external_web_access": "rejected_by_server",
    }


def test_a_server_without_namespaces_gets_added_tools_only_once() -> None:
    """OpenRouter has custom tools, so only the namespace of the added tools changes."""
    converted = fb.convert_request(REQUEST, source="responses", target=fb.Target("responses", dialect="openrouter"))

    assert [tool["type"] for tool in converted.body["tools"]] == ["tool_search", "web_search_preview", "function", "custom"]
    assert [item["type"] for item in converted.body["input"]] == ["message", "function_call", "function_call_output"]
    assert {loss.path: loss.code for loss in converted.losses if loss.path.startswith("/input/0/tools")} == {
        "/input/0/tools/0": "unsupported_by_server"
    }


def test_a_whole_answer_keeps_everything_but_the_restored_calls() -> None:
    """A caller who stores the answer needs its id, usage and reasoning as the server sent them."""
    converted = fb.convert_response(ANSWER, source="responses", target="responses", request=_request())

    reasoning, *calls = converted.body["output"]
    assert _is_restored(calls)
    assert reasoning == ANSWER["output"][0]
    assert {key: value for key, value in converted.body.items() if key != "output"} == {
        key: value for key, value in ANSWER.items() if key != "output"
    }
    assert list(converted.losses) == []


def test_an_item_that_no_encoder_writes_stays_in_a_whole_answer() -> None:
    """Here reasoning without a text and without encrypted content."""
    empty = {"type": "reasoning", "id": "rs_0", "summary": []}
    answer = ANSWER | {"output": [empty, *CALLS]}

    converted = fb.convert_response(answer, source="responses", target="responses", request=_request())

    assert converted.body["output"][0] == empty
    assert _is_restored(converted.body["output"][1:])
    assert list(converted.losses) == []


def test_an_answer_to_a_request_without_changed_tools_is_the_same_object() -> None:
    """A gateway converts each answer; most of them need no change and no copy."""
    request = fb.convert_request({"model": "m", "input": "hi"}, source="responses", target=XAI)

    assert fb.convert_response(ANSWER, source="responses", target="responses", request=request).body == ANSWER


@pytest.mark.parametrize("size", [1_000_000, 7])
def test_a_stream_has_the_restored_calls_and_the_id_of_the_answer(size: int) -> None:
    """The next request may refer to the answer by its id."""
    data = _bytes_of(_stream())
    converter = fb.StreamConverter(source="responses", target="responses", request=_request())

    out = b"".join(converter.feed(data[at : at + size]) for at in range(0, len(data), size)) + converter.finish()

    events = [json.loads(line.removeprefix("data: ")) for line in out.decode().splitlines() if line.startswith("data: ")]
    last = events[-1]["response"]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert last["id"] == events[0]["response"]["id"] == ANSWER["id"]
    assert _is_restored(last["output"][1:])
    assert _is_restored(done[1:])
    assert [event["delta"] for event in events if event["type"] == "response.custom_tool_call_input.delta"] == ["ab"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_a_restored_stream_reports_the_fields_that_its_events_do_not_have() -> None:
    """The stream is written again, and fields of the server outside the canonical model must not disappear without a report."""
    converter = fb.StreamConverter(source="responses", target="responses", request=_request())
    converter.feed(_bytes_of(_stream()))
    converter.finish()

    assert {loss.path for loss in converter.losses} == {"/server_option", "/output/0/server_option"}
    assert _is_restored(converter.response().body["output"][1:])


def test_a_restored_stream_keeps_the_tokens_of_its_server() -> None:
    """A token key concerns conversions between formats; an answer of the same format passes with all its tokens."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "fb1|messages|thinking|c2lnbmVk"}
    data = _bytes_of([
        {"type": "response.created", "response": ANSWER | {"status": "in_progress", "output": []}, "sequence_number": 0},
        {"type": "response.output_item.added", "output_index": 0, "item": reasoning, "sequence_number": 1},
        {"type": "response.output_item.done", "output_index": 0, "item": reasoning, "sequence_number": 2},
        {"type": "response.completed", "response": ANSWER | {"output": [reasoning]}, "sequence_number": 3},
    ])  # fmt: skip
    options = fb.Options(token_key=b"0123456789abcdef0123456789abcdef")

    out = fb.StreamConverter(source="responses", target="responses", request=_request(), options=options).feed(data)

    assert b"fb1|messages|thinking|c2lnbmVk" in out


def test_a_broken_stream_has_its_restored_calls_in_the_partial_answer() -> None:
    """A caller who continues after a failed connection looks for the names of the request."""
    converter = fb.StreamConverter(source="responses", target="responses", request=_request())
    converter.feed(_bytes_of(_stream()[:-1]))

    with pytest.raises(fb.TruncatedStreamError) as caught:
        converter.finish()

    assert caught.value.partial is not None
    assert _is_restored(caught.value.partial.body["output"][1:])
    assert caught.value.partial.body["id"] == ANSWER["id"]


def test_a_restored_stream_of_chat_has_the_custom_call_and_the_usage_that_the_server_sent() -> None:
    """DeepSeek gets a custom tool as a function; an editor runs the call by its kind, and bills by the usage."""
    request = {
        "model": "m",
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "custom", "custom": {"name": "patch"}}],
    }
    target = fb.Target("chat_completions", dialect="deepseek")
    converted = fb.convert_request(request, source="chat_completions", target=target)
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "patch", "arguments": '{"input":"ab"}'}}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunks = [
        head | {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}]},
        head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        head | {"choices": [], "usage": usage},
    ]
    data = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"

    out = fb.StreamConverter(source="chat_completions", target="chat_completions", request=converted).feed(data)

    sent = [json.loads(line.removeprefix("data: ")) for line in out.decode().splitlines() if line.startswith("data: {")]
    calls = [each for chunk in sent for choice in chunk["choices"] for each in choice["delta"].get("tool_calls") or ()]
    assert {chunk["id"] for chunk in sent} == {"1"}
    assert calls[0]["custom"]["name"] == "patch"
    assert "".join(each["custom"]["input"] for each in calls) == "ab"
    assert sent[-1]["usage"] == usage
