"""Results of a batch are converted with the requests that they answer, as single answers are."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO, StringIO
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats, ir
from formatbridge.convert.input import check
from tests import fixtures
from tests.support.directions import DIRECTIONS

TOOL = {"type": "function", "function": {"name": "files.read all", "parameters": {"type": "object", "properties": {}}}}
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Read them."}], "tools": [TOOL]}


def _line(format: fb.Format, id: str, body: Any) -> bytes:
    layout = formats.load(format).batch
    assert layout is not None
    return json.dumps(layout.write_request(id, body)).encode()


def _result(format: fb.Format, id: str, body: Any) -> str:
    layout = formats.load(format).batch
    assert layout is not None
    return json.dumps(layout.write_response(id, body))


def _answer(request: fb.ConvertedRequest) -> Any:
    """Return an answer in the format of a request that calls its first function, if it has one."""
    body = check(request.body, request.target_format, "request")
    tools = request.target_format.decode_request(body, model=request.model, stream=False).tools
    names = [tool.name for tool in tools if isinstance(tool, ir.FunctionTool)]
    calls = [{"id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names[:1]]
    choice = {"index": 0, "message": {"role": "assistant", "content": "Yes.", "tool_calls": calls}, "finish_reason": "tool_calls"}
    answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return fb.convert_response(answer, source="chat_completions", target=request.target).body


def _body_of(format: fb.Format, line: Any) -> Any:
    layout = formats.load(format).batch
    item = layout.read(line) if layout is not None else None
    assert item is not None
    return item.body


def _losses_of_body(format: fb.Format, line: fb.BatchLine) -> list[fb.Loss]:
    """Return the losses of the answer in a line, without those of the envelope, and with pointers into the answer."""
    layout = formats.load(format).batch
    assert layout is not None
    at = f"{layout.response_pointer}/"
    return [replace(loss, path=f"/{loss.path.removeprefix(at)}") for loss in line.losses if loss.path.startswith(at)]


@pytest.mark.parametrize(("caller", "endpoint"), DIRECTIONS)
def test_an_answer_of_a_batch_equals_the_answer_that_is_converted_with_its_request(caller: fb.Format, endpoint: Any) -> None:
    """The program that wrote the requests reads the results, and knows only these names of tools. Results come in any order."""
    requests, expected, results = [], [], []
    for number, fixture in enumerate(fixtures.fixtures("request")):
        if fixture.format != caller:
            continue
        body = fixture.body if caller == "generate_content" else fixture.body | {"model": fixture.body.get("model") or "m"}
        request = fb.convert_request(body, source=caller, target=endpoint, model=None if body.get("model") else "m", stream=False)
        answer = _answer(request)
        requests.append(_line(caller, f"call-{number}", body))
        results.append(_result(endpoint, f"call-{number}", answer))
        expected.append(fb.convert_response(answer, source=endpoint, target=caller, request=request))
    file = BytesIO(b"\n".join(requests))

    lines = list(fb.convert_batch(reversed(results), source=endpoint, target=caller, model="m", requests=file))

    assert len(lines) > 20
    for line, alone in zip(reversed(lines), expected, strict=True):
        assert line.error is None
        assert _body_of(caller, json.loads(line.json or b"")) == alone.body
        assert _losses_of_body(endpoint, line) == list(alone.losses)


def test_renamed_tools_and_ids_are_restored() -> None:
    """Anthropic rejects spaces and slashes in both, so the conversion of the requests has changed them."""
    requests = _line("chat_completions", "row 7/a", ASKED)
    (sent,) = fb.convert_batch([requests], source="chat_completions", target="messages")
    params = json.loads(sent.json or b"")
    assert params["custom_id"] != "row 7/a"
    name = params["params"]["tools"][0]["name"]
    assert name != "files.read all"
    call = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
    message: dict[str, Any] = {
        "id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [call],
        "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    result = _result("messages", params["custom_id"], message)

    (line,) = fb.convert_batch([result], source="messages", target="chat_completions", requests=BytesIO(requests))

    converted = json.loads(line.json or b"")
    assert converted["custom_id"] == "row 7/a"
    assert converted["response"]["body"]["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "files.read all"


def test_the_ids_of_requests_without_an_answer_are_restored() -> None:
    """A program sends exactly these requests again."""
    requests = b"\n".join(_line("chat_completions", id, ASKED) for id in ("row 1", "row 2"))
    sent = [
        json.loads(line.json or b"")
        for line in fb.convert_batch(requests.splitlines(), source="chat_completions", target="messages")
    ]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    results = [
        json.dumps({"custom_id": sent[0]["custom_id"], "result": {"type": "expired"}}),
        json.dumps({"custom_id": sent[1]["custom_id"], "result": {"type": "errored", "error": error}}),
    ]

    lines = fb.convert_batch(results, source="messages", target="chat_completions", requests=BytesIO(requests))

    assert [json.loads(line.json or b"")["custom_id"] for line in lines] == ["row 1", "row 2"]


def test_a_result_without_a_request_has_an_error() -> None:
    """The file of the requests is that of another batch, and the names of tools would stay wrong without a notice."""
    result = json.dumps({"custom_id": "b", "result": {"type": "expired"}})
    requests = BytesIO(_line("chat_completions", "a", ASKED) + b"\n\nno JSON\n")

    (line,) = fb.convert_batch([result], source="messages", target="chat_completions", requests=requests)

    assert isinstance(line.error, fb.InvalidPayloadError)
    assert line.error.problems == (("/custom_id", "is the string 'b', expected the id of a line in the file of the requests"),)
    assert json.loads(line.json or b"")["error"]["code"] == "batch_failed"


def test_requests_without_ids_have_the_ids_of_their_conversion() -> None:
    """A line of Vertex AI has no key."""
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    requests = b"\n" + json.dumps({"request": body}).encode()
    (sent,) = fb.convert_batch(requests.split(b"\n"), source="generate_content", target="messages", model="m")
    id = json.loads(sent.json or b"")["custom_id"]
    result = json.dumps({"custom_id": id, "result": {"type": "expired"}})

    (line,) = fb.convert_batch([result], source="messages", target="generate_content", model="m", requests=BytesIO(requests))

    assert line.error is None
    assert json.loads(line.json or b"")["key"] == "line-2"


def test_severe_losses_of_a_request_do_not_concern_its_answer() -> None:
    """The request was sent, and the answer is paid for."""
    requests = BytesIO(_line("chat_completions", "a", ASKED | {"seed": 7}))
    request = fb.convert_request(ASKED | {"seed": 7}, source="chat_completions", target="messages")
    result = _result("messages", "a", _answer(request))
    options = fb.Options(raise_on="lossy")

    (line,) = fb.convert_batch([result], source="messages", target="chat_completions", requests=requests, options=options)

    assert line.error is None


@pytest.mark.parametrize("requests", [StringIO("{}"), [b"{}"], "requests.jsonl"], ids=["text", "lines", "name"])
def test_requests_that_are_no_binary_file_are_rejected(requests: Any) -> None:
    """The positions of lines in a text file are not those of its bytes."""
    with pytest.raises(fb.ConfigurationError, match="expected a binary file"):
        fb.convert_batch([], source="messages", target="chat_completions", requests=requests)


def test_the_tools_of_a_result_are_restored_in_the_same_format() -> None:
    """xAI has no custom tools, so its result has a function in place of one."""
    request = {"model": "m", "input": "Hi", "tools": [{"type": "custom", "name": "apply"}]}
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "apply", "arguments": '{"input": "ls"}'}
    answer = {"id": "r1", "object": "response", "status": "completed", "model": "m", "output": [call], "unknown": 1}
    file = BytesIO(_line("responses", "a", request) + b"\n")

    (line,) = fb.convert_batch(
        [_result("responses", "a", answer)], source=fb.Target("responses", dialect="xai"), target="responses", requests=file
    )

    body = _body_of("responses", json.loads(line.json or b""))
    assert (body["output"][0]["type"], body["output"][0]["input"]) == ("custom_tool_call", "ls")
    assert body["unknown"] == 1
