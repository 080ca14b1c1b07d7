"""What the vendor's schemas say of null beside a reference, which is a word of theirs that JSON Schema does not have."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

NULL = {"type": "null"}
REFERENCE = {"$ref": "#/$defs/D"}


def _property(schema: dict[str, Any], target: str = "messages") -> Any:
    """Return what becomes of the schema of a property."""
    parameters = {"type": "OBJECT", "properties": {"a": schema}, "defs": {"D": {"type": "STRING"}}}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]
    body = {"contents": [{"parts": [{"text": "hi"}]}], "tools": tools}

    made = fb.convert_request(body, source="generate_content", target=target, model="m")

    assert not made.losses
    tool = made.body["tools"][0]
    return (tool["function"]["parameters"] if "function" in tool else tool.get("input_schema") or tool["parameters"])["properties"][
        "a"
    ]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"nullable": True}, {"anyOf": [REFERENCE, NULL]}),
        ({"nullable": True, "description": "x"}, {"description": "x", "anyOf": [REFERENCE, NULL]}),
        ({"nullable": True, "type": "STRING"}, {"type": ["string", "null"], "anyOf": [REFERENCE, NULL]}),
        ({"nullable": True, "enum": ["b"]}, {"enum": ["b", None], "anyOf": [REFERENCE, NULL]}),
        (
            {"nullable": True, "anyOf": [{"type": "STRING"}]},
            {"anyOf": [{"type": "string"}, NULL], "allOf": [{"anyOf": [REFERENCE, NULL]}]},
        ),
        ({"nullable": False}, REFERENCE),
    ],
    ids=["alone", "described", "beside a type", "beside literals", "beside variants", "not at all"],
)
def test_null_is_allowed_beside_what_is_referred_to(schema: dict[str, Any], wanted: dict[str, Any], target: str) -> None:
    """A server, and whoever checks arguments, would refuse the null that the caller allowed."""
    assert _property({"ref": "#/defs/D", **schema}, target) == wanted


def test_arguments_are_an_object_whatever_their_schema_allows() -> None:
    """No server takes a choice of variants there."""
    parameters = {"ref": "#/defs/D", "nullable": True, "defs": {"D": {"type": "OBJECT"}}}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]
    body = {"contents": [{"parts": [{"text": "hi"}]}], "tools": tools}

    made = fb.convert_request(body, source="generate_content", target="messages", model="m")

    assert made.body["tools"][0]["input_schema"] == {"type": "object", "$defs": {"D": {"type": "object"}}, **REFERENCE}
    at = "/tools/0/functionDeclarations/0/parameters/nullable"
    assert [(loss.path, loss.severity) for loss in made.losses] == [(at, "info")]
