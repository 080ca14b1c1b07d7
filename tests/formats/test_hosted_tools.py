"""Tools that the server runs: their settings, their results and their failures."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.support.judges import problems


def test_a_code_execution_with_warnings_has_not_failed() -> None:
    """Warnings are in the error output of a successful run; the target has one text, which is the standard output."""
    ran = {"type": "code_execution_result", "stdout": "42\n", "stderr": "DeprecationWarning", "return_code": 0, "content": []}
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "print(42)"}},
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": ran},
    ]
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None}
    body = head | {"content": content, "usage": {"input_tokens": 1, "output_tokens": 1}}

    converted = fb.convert_response(body, source="messages", target="generate_content")

    result = converted.body["candidates"][0]["content"]["parts"][1]["codeExecutionResult"]
    assert (result["outcome"], result["output"]) == ("OUTCOME_OK", "42\n")
    assert [(loss.path, loss.kind) for loss in converted.losses] == [("/content/1/content/stderr", "dropped")]


def _whole_and_streamed(body: Any, source: fb.Format, target: fb.Format) -> list[Any]:
    """Return an answer in another format, whole and as a stream."""
    whole = fb.convert_response(body, source=source, target=target).body
    stream = b"".join(fb.convert_stream(fb.replay_response(body, source=source), source=source, target=target))
    streamed = fb.collect_stream([stream], source=target).body
    return [each["output"] if target == "responses" else each["content"] for each in (whole, streamed)]


_RUN = {"type": "code_interpreter_call", "id": "ci_1", "container_id": "c", "code": "1/0"}


@pytest.mark.parametrize(
    ("run", "codes"),
    [
        ({"status": "completed", "outputs": None}, []),
        ({"status": "incomplete", "outputs": None}, []),
        ({"status": "completed", "outputs": []}, [0]),
        ({"status": "failed", "outputs": None}, [1]),
        ({"status": "failed", "outputs": []}, [1]),
        ({"status": "incomplete", "outputs": [{"type": "logs", "logs": "x"}]}, [1]),
    ],
)
def test_a_code_execution_has_its_reported_result(run: dict[str, Any], codes: list[int]) -> None:
    """Servers send the output of code only on request; an invented empty success would mislead the next turn."""
    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [_RUN | run]}

    for content in _whole_and_streamed(body, "responses", "messages"):
        assert [block["content"]["return_code"] for block in content if block["type"] == "code_execution_tool_result"] == codes


@pytest.mark.parametrize(
    ("name", "body", "error"),
    [("code_execution", {"code": "1/0"}, "code_execution_tool_result"), ("web_search", {"query": "q"}, "web_search_tool_result")],
)
def test_a_server_tool_that_failed_is_no_success(name: str, body: dict[str, Any], error: str) -> None:
    """The server had no machine to run the code on, or too many searches; an application must not show a success."""
    call = {"type": "server_tool_use", "id": "s1", "name": name, "input": body}
    result = {"type": error, "tool_use_id": "s1", "content": {"type": f"{error}_error", "error_code": "unavailable"}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "a", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None}

    for output in _whole_and_streamed(head | {"content": [call, result], "usage": usage}, "messages", "responses"):
        assert [item["status"] for item in output] == ["failed"]


ASKED = [{"role": "user", "content": "x"}]


def test_a_tool_of_an_unknown_version_is_read_by_its_fields() -> None:
    """No type describes it: an option of another type is reported, and not written if the target would reject it."""
    options: dict[str, Any] = {"max_uses": "few", "allowed_domains": ["example.org"], "blocked_domains": {"a": 1}}
    tool = {"type": "web_search_20990101", "name": "web_search", **options}
    body = {"model": "m", "max_tokens": 99, "messages": ASKED, "tools": [tool]}

    converted = fb.convert_request(body, source="messages", target="responses")

    assert converted.body["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["example.org"]}}]
    assert {loss.path: loss.before for loss in converted.losses} == {
        f"/tools/0/{key}": options[key] for key in ("max_uses", "blocked_domains")
    }


def test_a_user_location_has_no_null_fields() -> None:
    """The official types of the target have no null there."""
    place = {"type": "approximate", "city": "Rome", "country": "IT", "region": None, "timezone": None}
    tool = {"type": "web_search_20260318", "name": "web_search", "user_location": place}
    body = {"model": "m", "max_tokens": 99, "messages": ASKED, "tools": [tool]}

    converted = fb.convert_request(body, source="messages", target="chat_completions")

    assert problems("chat_completions", "request", converted.body) == []


@pytest.mark.parametrize(
    ("domains", "expected"),
    [
        (["-"], {}),
        ([""], {}),
        (["-", "-city.example"], {"blocked_domains": ["city.example"]}),
        (["", "city.example"], {"allowed_domains": ["city.example"]}),
    ],
)
def test_an_empty_domain_of_perplexity_is_no_domain(domains: list[str], expected: dict[str, Any]) -> None:
    """A form with an empty field writes one, and a search with an empty allowed domain would have no result."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "web_search_options": {},
        "search_domain_filter": domains,
    }

    converted = fb.convert_request(body, source="chat_completions", target="messages")

    [tool] = converted.body["tools"]
    assert {key: tool[key] for key in ("allowed_domains", "blocked_domains") if key in tool} == expected
    assert converted.losses == ()
