"""The order of a schema's properties: the vendor's dialect has a word for it, JSON Schema has but the order that they stand in."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb


def _parameters(order: list[str], target: str) -> tuple[dict[str, Any], tuple[fb.Loss, ...]]:
    """Return what becomes of a function's parameters that are to come in an order."""
    properties = {name: {"type": "STRING"} for name in ("answer", "reason", "doubt")}
    parameters = {"propertyOrdering": order, "type": "OBJECT", "properties": properties}
    tools = [{"functionDeclarations": [{"name": "tell", "description": "Tells.", "parameters": parameters}]}]
    body = {"contents": [{"parts": [{"text": "hi"}]}], "tools": tools}
    made = fb.convert_request(body, source="generate_content", target=target, model="m")
    tool = made.body["tools"][0]
    tool = tool.get("function", tool)
    return tool.get("input_schema") or tool["parameters"], made.losses


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_properties_stand_in_the_order_that_was_asked_for(target: str) -> None:
    """A model that gives its reasons first gives better answers; a server that has no word for it writes in the order of the schema."""
    made, losses = _parameters(["reason", "answer", "doubt"], target)

    assert list(made["properties"]) == ["reason", "answer", "doubt"]
    assert "propertyOrdering" not in made
    assert losses == ()


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_properties_that_an_order_leaves_out_come_last(target: str) -> None:
    """Some callers name only what is to come first."""
    made, losses = _parameters(["doubt"], target)

    assert list(made["properties"]) == ["doubt", "answer", "reason"]
    assert "propertyOrdering" not in made
    assert losses == ()


@pytest.mark.parametrize("order", [["reason", "anger"], ["reason", "reason"]])
def test_an_order_that_no_properties_can_stand_in_stays(order: list[str]) -> None:
    """It is a mistake of the caller's, which nobody finds who does not see it."""
    made, _ = _parameters(order, "responses")

    assert list(made["properties"]) == ["reason", "answer", "doubt"]
    assert made["propertyOrdering"] == order
