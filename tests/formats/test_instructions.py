"""Instructions: the system prompt, the billing header of Claude Code, and JSON mode as an instruction."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

HEADER = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=4f1;"}
PROMPT = {"type": "text", "text": "You are an agent."}
STRIP = fb.Options(strip_billing_header=True)


def _request(system: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 99, "system": system, "messages": [{"role": "user", "content": "q"}]}


@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "messages"])
def test_the_billing_header_is_removed_with_the_option(target: fb.Format) -> None:
    """It changes from call to call, so a cache of the prompt's beginning is never used."""
    converted = fb.convert_request(_request([HEADER, PROMPT]), source="messages", target=target, options=STRIP)

    assert converted.body == fb.convert_request(_request([PROMPT]), source="messages", target=target).body
    assert [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses] == [
        ("/system/0", "dropped", "info", "billing_header")
    ]


@pytest.mark.parametrize("system", [[HEADER], HEADER["text"]])
def test_a_system_prompt_with_only_a_billing_header_is_removed(system: Any) -> None:
    """An empty instruction has no effect."""
    converted = fb.convert_request(_request(system), source="messages", target="chat_completions", options=STRIP)

    assert [message["role"] for message in converted.body["messages"]] == ["user"]


@pytest.mark.parametrize(
    "system", [[PROMPT, HEADER], "Explain x-anthropic-billing-header: to me.", f"{HEADER['text']}\nNever delete files."]
)
def test_other_system_text_stays(system: Any) -> None:
    """Only the first text with this beginning is the header."""
    kept = fb.convert_request(_request(system), source="messages", target="responses", options=STRIP)

    assert kept.body == fb.convert_request(_request(system), source="messages", target="responses").body


def test_the_billing_header_stays_in_its_format_and_by_default() -> None:
    """Anthropic's servers read it."""
    body = _request([HEADER, PROMPT])

    assert fb.convert_request(body, source="messages", target="messages", options=STRIP).body == body
    assert HEADER["text"] in fb.convert_request(body, source="messages", target="responses").json().decode()


ALONE: dict[str, dict[str, Any]] = {
    "chat_completions": {"model": "m", "messages": [{"role": "system", "content": "Write a joke."}]},
    "messages": {"model": "m", "max_tokens": 99, "system": "Write a joke.", "messages": []},
    "generate_content": {"systemInstruction": {"parts": [{"text": "Write a joke."}]}, "contents": []},
}


@pytest.mark.parametrize("source", ALONE)
def test_instructions_without_an_input_become_the_input(source: fb.Format) -> None:
    """A server rejects instructions without an input, and accepts them as its only item."""
    converted = fb.convert_request(ALONE[source], source=source, target="responses", model="m")

    assert converted.body["input"] == [{"type": "message", "role": "system", "content": "Write a joke."}]
    assert "instructions" not in converted.body
    assert not converted.losses


def test_instructions_without_an_input_survive_a_round_trip() -> None:
    """Nothing is lost; the addition is that the exchange is not stored."""
    there = fb.convert_request(ALONE["chat_completions"], source="chat_completions", target="responses")
    back = fb.convert_request(there.body, source="responses", target="chat_completions")

    assert back.body == ALONE["chat_completions"] | {"store": False}


def test_instructions_become_the_input_where_all_turns_are_empty() -> None:
    """Empty turns are left out, and then only the instructions remain."""
    empty = {"role": "assistant", "content": None}
    body = ALONE["chat_completions"] | {"messages": [*ALONE["chat_completions"]["messages"], empty]}

    converted = fb.convert_request(body, source="chat_completions", target="responses")

    assert [item["role"] for item in converted.body["input"]] == ["system"]
    assert [(loss.path, loss.severity, loss.code) for loss in converted.losses] == [("/messages/1", "info", "empty")]


def test_empty_instructions_without_turns_are_an_impossible_loss() -> None:
    """Every server rejects such a request."""
    body = {"model": "m", "messages": [{"role": "system", "content": ""}]}

    converted = fb.convert_request(body, source="chat_completions", target="responses")

    assert [(loss.path, loss.severity, loss.code) for loss in converted.losses] == [("/messages/0", "impossible", "no_turns")]


@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "chat_completions"])
@pytest.mark.parametrize("before", [[], [{"role": "system", "content": ""}]], ids=["alone", "instructions"])
def test_a_conversation_of_which_nothing_is_left_is_an_impossible_loss(target: fb.Format, before: list[Any]) -> None:
    """The reason must not state that the caller has sent no turn: its only part was left out."""
    file = {"type": "file", "file": {"file_id": "file_1"}}
    body = {"model": "m", "messages": [*before, {"role": "user", "content": [file]}]}

    converted = fb.convert_request(body, source="chat_completions", target=fb.Target(target, dialect=_WITHOUT_FILES[target]))

    turn = f"/messages/{len(before)}"
    assert [(loss.path, loss.severity, loss.why) for loss in converted.losses if loss.path == turn] == [
        (turn, "impossible", "no content of the conversation is left")
    ]


_WITHOUT_FILES: dict[fb.Format, str | None] = {"responses": "vllm", "messages": None, "generate_content": None}
"""Formats to a server that does not read OpenAI's uploaded files; None: no server of the format does."""


INSTRUCTION = "Respond with valid JSON only: no other text and no code fence."
BODIES: dict[str, tuple[dict[str, Any], str]] = {
    "chat_completions": (
        {"model": "m", "messages": [{"role": "user", "content": "q"}], "response_format": {"type": "json_object"}},
        "/response_format",
    ),
    "responses": ({"model": "m", "input": "q", "text": {"format": {"type": "json_object"}}}, "/text/format"),
    "generate_content": (
        {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "generationConfig": {"responseMimeType": "application/json"}},
        "/generationConfig/responseMimeType",
    ),
}


def _converted(source: fb.Format, body: dict[str, Any], **options: Any) -> fb.ConvertedRequest:
    return fb.convert_request(body, source=source, target="messages", model="m", options=fb.Options(**options))


@pytest.mark.parametrize("source", BODIES)
def test_an_instruction_replaces_json_mode(source: fb.Format) -> None:
    """Without it the model answers in prose, which the caller fails to parse."""
    body, path = BODIES[source]

    converted = _converted(source, body)

    assert converted.body["system"] == INSTRUCTION
    assert ("/system", INSTRUCTION) in [(item.path, item.value) for item in converted.additions]
    assert [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses] == [
        (path, "changed", "lossy", "json_mode")
    ]


def test_the_json_instruction_follows_the_system_prompt() -> None:
    """A cache mark of the prompt must mark the same text."""
    system = {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]}
    body, _ = BODIES["chat_completions"]

    converted = _converted("chat_completions", body | {"messages": [system, *body["messages"]]})

    block = {"type": "text", "text": INSTRUCTION}
    assert converted.body["system"] == [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}, block]
    assert ("/system/1", block) in [(item.path, item.value) for item in converted.additions]


@pytest.mark.parametrize("source", BODIES)
def test_json_mode_is_dropped_with_the_option(source: fb.Format) -> None:
    """The report states that the request no longer means the same."""
    body, path = BODIES[source]

    converted = _converted(source, body, json_mode="drop")

    assert "system" not in converted.body
    assert [(loss.path, loss.kind, loss.severity) for loss in converted.losses] == [(path, "dropped", "impossible")]


def test_a_schema_needs_no_instruction() -> None:
    """The server enforces the schema."""
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    format = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}

    converted = _converted("chat_completions", BODIES["chat_completions"][0] | {"response_format": format})

    assert "system" not in converted.body


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_hoisted_instructions_join_the_system_prompt_in_every_format(target: fb.Format) -> None:
    """Some servers reject instructions in the middle of a conversation."""
    turns = [("user", "a"), ("system", "later"), ("assistant", "b"), ("user", "c")]
    messages = [{"role": role, "content": text} for role, text in turns]
    body = {"model": "m", "max_tokens": 99, "system": "first", "messages": messages}

    converted = fb.convert_request(body, source="messages", target=target, options=fb.Options(mid_system="hoist"))

    sent = converted.body["messages" if target == "chat_completions" else "input"]
    assert [(item["role"], item["content"]) for item in sent] == [
        ("system", "first"), ("system", "later"), ("user", "a"), ("assistant", "b"), ("user", "c"),
    ]  # fmt: skip
    assert [(loss.path, loss.code, loss.severity, loss.after) for loss in converted.losses] == [
        ("/messages/1", "moved", "lossy", "system")
    ]
