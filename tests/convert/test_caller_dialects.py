"""Rules of a dialect that the caller has written, in combinations that no built-in dialect has."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb


def _for_server_of_caller(body: dict[str, Any], format: Any, rules: fb.DialectRules) -> fb.ConvertedRequest:
    target = fb.Target(format, dialect=fb.Dialect("local", {format: rules}))
    return fb.convert_request({"model": "m", **body}, source=format, target=target)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (fb.DialectRules(server="X", efforts=frozenset({"none"})), None),
        (fb.DialectRules(server="X", efforts=frozenset({"none", "low"}), replaced_efforts={"medium": "ultra"}), "low"),
    ],
)
def test_an_effort_without_a_counterpart_is_reported(rules: fb.DialectRules, expected: str | None) -> None:
    """A dialect of the caller may have no other effort, or replace one by an effort that the server does not have."""
    body = {"messages": [{"role": "user", "content": "a"}], "reasoning_effort": "medium"}
    converted = _for_server_of_caller(body, "chat_completions", rules)

    assert converted.body.get("reasoning_effort") == expected
    assert [loss.path for loss in converted.losses] == ["/reasoning_effort"]


@pytest.mark.parametrize(
    "rules",
    [{"rejects_items": frozenset({"shell_call"})}, {"item_types": frozenset({"message"})}],
    ids=["rejected", "not accepted"],
)
def test_a_rejected_item_leaves_the_others_as_they_are(rules: dict[str, Any]) -> None:
    """Also for a dialect of the caller that has no other rule for messages."""
    turns = [{"role": "user", "content": "a", "x_unknown": 1}, {"role": "user", "content": "b"}]
    shell = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}
    converted = _for_server_of_caller({"input": [turns[0], shell, turns[1]]}, "responses", fb.DialectRules(server="X", **rules))

    assert converted.body["input"] == turns
    assert [loss.path for loss in converted.losses] == ["/input/1"]


def test_a_server_of_messages_without_an_effort_gets_none() -> None:
    """It would reject the effort."""
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "a"}], "output_config": {"effort": "high"}}
    converted = _for_server_of_caller(body, "messages", fb.DialectRules(server="X", efforts=frozenset({"none"})))

    assert "output_config" not in converted.body
    assert [loss.path for loss in converted.losses] == ["/output_config/effort"]


@pytest.mark.parametrize("source", ["chat_completions", "messages"])
def test_a_field_that_is_ignored_while_reasoning_has_the_name_of_its_format(source: fb.Format) -> None:
    """The author of a dialect knows the fields of the server, and no canonical names."""
    rules = fb.DialectRules(server="X", ignores_while_reasoning=frozenset({"stop_sequences"}))
    stop = "stop" if source == "chat_completions" else "stop_sequences"
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}], stop: ["b"]}

    converted = fb.convert_request(
        body, source=source, target=fb.Target("messages", dialect=fb.Dialect("local", {"messages": rules}))
    )

    assert "stop_sequences" not in converted.body
    assert [(loss.path, loss.code) for loss in converted.losses] == [(f"/{stop}", "ignored_by_server")]


def test_joined_messages_keep_the_reasoning_of_each() -> None:
    """Some servers reject two messages of one role in a row."""
    user = {"role": "user", "content": "Hi"}
    first = {"role": "assistant", "content": "One.", "reasoning_content": "Think."}
    second = {"role": "assistant", "content": "Two.", "reasoning_content": "Think again."}
    rules = fb.DialectRules(server="Local", requires_alternating_turns=True)
    target = fb.Target("chat_completions", dialect=fb.Dialect("local", {"chat_completions": rules}))

    converted = fb.convert_request(
        {"model": "m", "messages": [user, first, second, user]}, source="chat_completions", target=target
    )

    joined = converted.body["messages"][1]
    assert joined["content"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    assert joined["reasoning_content"] == "Think.\n\nThink again."
