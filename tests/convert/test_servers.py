"""What single servers ignore, reject or read in another form: one file in ``fixtures/servers`` for each behaviour.

The requests of the last five tests have no file. They also break a rule of their format, and the strict relay checks it for every
server: a name of a function, a forced call with reasoning, and a response that the relay has not stored.
"""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from formatbridge.testing.vendor_rules import Facts, broken_rules
from tests.fixtures import ServerFixture, server_fixtures
from tests.support.for_each import for_each

_BRIEF = {"role": "system", "content": "Be brief."}
_RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "noon"}


def _losses(converted: fb.ConvertedRequest, fixture: ServerFixture) -> list[dict[str, object]]:
    """Return the losses with the attributes that the file states; the first four are in every file."""
    names = {"path", "kind", "code", "severity"}.union(*fixture.expected["losses"])
    return [{name: getattr(loss, name) for name in names} for loss in converted.losses]


@pytest.mark.parametrize("fixture", server_fixtures(), ids=str)
def test_a_server_gets_what_it_reads(fixture: ServerFixture) -> None:
    """A user names the server to get no error from it, and reads in the report what it does not do."""
    converted = fixture.convert()

    assert converted.body == fixture.expected["body"]
    assert _losses(converted, fixture) == fixture.expected["losses"]
    assert [addition.path for addition in converted.additions] == fixture.expected.get("additions", [])


@for_each("fixture", server_fixtures())
def test_the_strict_relay_of_the_server_accepts_the_request(fixture: ServerFixture) -> None:
    """An expected body that the server rejects would be the promise of an error."""
    body = fixture.expected["body"]
    known = fixture.facts or fb.ModelFacts()
    facts = Facts(
        model=body.get("model", "m-large"),
        can_reason=known.reasoning != "none",
        excludes_functions="reasoning_with_functions" in known.refuses,
    )

    assert [(rule.name, failure.message) for rule, failure in broken_rules(fixture.target, body, facts, fixture.server)] == []


@for_each("fixture", server_fixtures())
def test_a_request_that_the_server_reads_is_unchanged(fixture: ServerFixture) -> None:
    """A gateway may receive requests that another one has converted already."""
    converted = fixture.convert_again()

    assert (converted.body, converted.losses, converted.additions) == (fixture.expected["body"], (), ())


def test_an_allowed_tool_stays_among_more_tools_than_the_server_accepts() -> None:
    """Groq has no list of allowed tools, so the tools that the list excludes need no place among the 128."""
    tools = [{"type": "function", "name": f"f{index}", "parameters": {"type": "object", "properties": {}}} for index in range(130)]
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f129"}]}
    body = {"model": "m", "input": "hi", "tools": tools, "tool_choice": allowed}

    converted = fb.convert_request(body, source="responses", target=fb.Target("chat_completions", dialect="groq"))

    assert [tool["function"]["name"] for tool in converted.body["tools"]] == ["f129"]
    assert {(loss.code, loss.severity) for loss in converted.losses} == {("not_allowed", "info")}


def test_a_function_with_a_name_that_openai_rejects_gets_the_fields_that_the_server_requires() -> None:
    """Mistral rejects a function without ``parameters``, whatever its name is."""
    tools = [{"type": "function", "function": {"name": name}} for name in ("a.b", "now")]
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools}

    converted = fb.convert_request(body, source="chat_completions", target=fb.Target("chat_completions", dialect="mistral"))

    assert [tool["function"]["name"] for tool in converted.body["tools"]] == ["a.b", "now"]
    assert [(addition.path, addition.why) for addition in converted.additions] == [
        (f"/tools/{index}/function/parameters", "Mistral requires it in each function") for index in range(2)
    ]


def test_reasoning_stays_next_to_a_forced_call() -> None:
    """MiniMax accepts both together. Output formats and efforts, in one object, are what it does not have."""
    body: dict[str, Any] = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "now", "input_schema": {"type": "object", "properties": {}}}],
        "tool_choice": {"type": "tool", "name": "now"},
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}},
    }

    converted = fb.convert_request(body, source="messages", target=fb.Target("messages", dialect="minimax"))

    assert "output_config" not in converted.body
    assert converted.body["thinking"] == body["thinking"]
    assert [(loss.path, loss.code) for loss in converted.losses] == [
        (f"/output_config/{name}", "unsupported_by_server") for name in ("format", "effort")
    ]


@pytest.mark.parametrize(
    ("input", "expected"),
    [
        ("hi", [_BRIEF, {"role": "user", "content": "hi"}]),
        ([_RESULT, {"role": "user", "content": "hi"}], [_RESULT, _BRIEF, {"role": "user", "content": "hi"}]),
    ],
    ids=["text", "results"],
)
def test_instructions_next_to_a_previous_response_become_a_message(input: Any, expected: list[Any]) -> None:
    """xAI rejects both together (holon-run/holon#2158), and without the previous response the conversation would be lost."""
    body = {"model": "m", "instructions": "Be brief.", "previous_response_id": "resp_1", "input": input}

    converted = fb.convert_request(body, source="responses", target=fb.Target("responses", dialect="xai"))

    assert converted.body == {"model": "m", "previous_response_id": "resp_1", "input": expected}
    assert [(loss.path, loss.code, loss.severity) for loss in converted.losses] == [("/instructions", "moved", "lossy")]
    again = fb.convert_request(converted.body, source="responses", target=fb.Target("responses", dialect="xai"))
    assert (again.body, again.losses) == (converted.body, ())


@pytest.mark.parametrize(
    "fields", [{}, {"input": None}, {"input": ""}, {"prompt": {"id": "pmpt_1"}}], ids=["none", "null", "empty", "prompt"]
)
def test_instructions_next_to_a_previous_response_need_no_input(fields: dict[str, Any]) -> None:
    """A prompt template can supply the input, so that a request has none."""
    body = {"model": "m", "instructions": "Be brief.", "previous_response_id": "resp_1", **fields}

    converted = fb.convert_request(body, source="responses", target=fb.Target("responses", dialect="xai"))

    assert converted.body["input"] == [_BRIEF]
    assert "instructions" not in converted.body


def test_empty_instructions_next_to_a_previous_response_are_left_out() -> None:
    """An agent library sends an empty text with each request (recorded traffic), and xAI rejects the field next to the other."""
    body = {"model": "m", "instructions": "", "previous_response_id": "resp_1", "input": "hi"}

    converted = fb.convert_request(body, source="responses", target=fb.Target("responses", dialect="xai"))

    assert converted.body == {"model": "m", "previous_response_id": "resp_1", "input": "hi"}
    assert converted.losses == ()
