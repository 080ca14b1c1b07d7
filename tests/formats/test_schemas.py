"""JSON Schemas: the order of properties, null next to references, and unions at the root of parameters."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats.shared.schemas import fold_root_union


def _parameters(order: list[str], target: fb.Format) -> tuple[dict[str, Any], tuple[fb.Loss, ...]]:
    """Return the result of a function's parameters that have an order."""
    properties = {name: {"type": "STRING"} for name in ("answer", "reason", "doubt")}
    parameters = {"propertyOrdering": order, "type": "OBJECT", "properties": properties}
    tools = [{"functionDeclarations": [{"name": "tell", "description": "Tells.", "parameters": parameters}]}]
    body = {"contents": [{"parts": [{"text": "hi"}]}], "tools": tools}
    converted = fb.convert_request(body, source="generate_content", target=target, model="m")
    tool = converted.body["tools"][0]
    tool = tool.get("function", tool)
    return tool.get("input_schema") or tool["parameters"], converted.losses


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_properties_have_the_requested_order(target: fb.Format) -> None:
    """A model that writes its reasons first answers better; other servers use the order of the schema."""
    result, losses = _parameters(["reason", "answer", "doubt"], target)

    assert list(result["properties"]) == ["reason", "answer", "doubt"]
    assert "propertyOrdering" not in result
    assert losses == ()


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_properties_that_an_order_leaves_out_come_last(target: fb.Format) -> None:
    """Some callers name the first properties only."""
    result, losses = _parameters(["doubt"], target)

    assert list(result["properties"]) == ["doubt", "answer", "reason"]
    assert "propertyOrdering" not in result
    assert losses == ()


@pytest.mark.parametrize("order", [["reason", "anger"], ["reason", "reason"]])
def test_an_impossible_property_order_is_kept(order: list[str]) -> None:
    """It is a mistake of the caller, who finds it only if it is visible."""
    result, _ = _parameters(order, "responses")

    assert list(result["properties"]) == ["reason", "answer", "doubt"]
    assert result["propertyOrdering"] == order


NULL = {"type": "null"}
REFERENCE = {"$ref": "#/$defs/D"}


def _property(schema: dict[str, Any], target: fb.Format = "messages") -> Any:
    """Return the result of the schema of a property."""
    parameters = {"type": "OBJECT", "properties": {"a": schema}, "defs": {"D": {"type": "STRING"}}}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]
    body = {"contents": [{"parts": [{"text": "hi"}]}], "tools": tools}

    converted = fb.convert_request(body, source="generate_content", target=target, model="m")

    assert not converted.losses
    tool = converted.body["tools"][0]
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
    ids=["alone", "described", "next to a type", "next to literals", "next to variants", "not at all"],
)
def test_null_is_allowed_next_to_a_reference(schema: dict[str, Any], wanted: dict[str, Any], target: fb.Format) -> None:
    """A server, or a check of arguments, would reject the null that the caller allowed."""
    assert _property({"ref": "#/defs/D", **schema}, target) == wanted


def test_arguments_are_an_object_whatever_their_schema_allows() -> None:
    """No server accepts a choice of variants there."""
    parameters = {"ref": "#/defs/D", "nullable": True, "defs": {"D": {"type": "OBJECT"}}}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]
    body = {"contents": [{"parts": [{"text": "hi"}]}], "tools": tools}

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m")

    assert converted.body["tools"][0]["input_schema"] == {"type": "object", "$defs": {"D": {"type": "object"}}, **REFERENCE}
    at = "/tools/0/functionDeclarations/0/parameters/nullable"
    assert [(loss.path, loss.severity) for loss in converted.losses] == [(at, "info")]


A = {"type": "string"}
B = {"type": "integer"}


def _converted(parameters: dict[str, Any], **more: Any) -> fb.ConvertedRequest:
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters} | more}
    body = {"model": "m", "max_completion_tokens": 9, "messages": [{"role": "user", "content": "q"}], "tools": [tool]}
    return fb.convert_request(body, source="chat_completions", target="messages")


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


DEFINITIONS = {"A": _object(a=A), "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, _object(b=B)]}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            {"type": "object", "properties": {"a": A, "b": B}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"type": "object", "properties": {"a": A, "b": B}},
            id="one of several properties is required",
        ),
        pytest.param(
            {"anyOf": [_object(a=A), _object(a=A, b=B)]},
            {"type": "object", "properties": {"a": A, "b": B}, "required": ["a"]},
            id="properties united, required intersected",
        ),
        pytest.param(
            {"allOf": [_object(a=A), _object(b=B)]},
            {"type": "object", "properties": {"a": A, "b": B}, "required": ["a", "b"]},
            id="allOf: properties united, required united",
        ),
        pytest.param(
            {"oneOf": [_object(kind={"const": "x"}, a=A), _object(kind={"const": "y"}, b=B)]},
            {
                "type": "object",
                "properties": {"kind": {"anyOf": [{"const": "x"}, {"const": "y"}]}, "a": A, "b": B},
                "required": ["kind"],
            },
            id="a property of several schemas",
        ),
        pytest.param(
            {"allOf": [_object(a=A), _object(a={"minLength": 1})]},
            {"type": "object", "properties": {"a": {"allOf": [A, {"minLength": 1}]}}, "required": ["a"]},
            id="a property that all members restrict",
        ),
        pytest.param(
            _object(a=A)
            | {"description": "d", "additionalProperties": False, "anyOf": [{"properties": {"a": {"const": "x"}}}, {}]},
            _object(a=A) | {"description": "d", "additionalProperties": False},
            id="a property that one member leaves free",
        ),
        pytest.param(
            {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/Loop"}], "$defs": DEFINITIONS},
            {"type": "object", "$defs": DEFINITIONS, "properties": {"a": A, "b": B}},
            id="references, one of which leads back to itself",
        ),
        pytest.param(
            {"anyOf": [_object(a=A), {"type": "null"}, {"type": "string"}]}, _object(a=A), id="members that are no object"
        ),
        pytest.param(
            {"anyOf": [_object(a=A) | {"additionalProperties": False}, _object(b=B) | {"additionalProperties": False}]},
            {"type": "object", "properties": {"a": A, "b": B}, "additionalProperties": False},
            id="members that are all closed",
        ),
        pytest.param(
            {"anyOf": [_object(a=A), True]}, {"type": "object", "properties": {"a": A}}, id="a member that is no schema object"
        ),
        pytest.param({"type": "object", "anyOf": []}, {"type": "object"}, id="no members"),
    ],
)
def test_a_union_at_the_root_becomes_an_object_that_accepts_all_members(body: dict[str, Any], expected: dict[str, Any]) -> None:
    """One tool with such a schema makes the server reject the whole request."""
    converted = _converted(body)

    assert converted.body["tools"][0]["input_schema"] == expected
    union = next(name for name in ("anyOf", "oneOf", "allOf") if name in body)
    result = [(loss.path, loss.kind, loss.severity, loss.code, loss.before) for loss in converted.losses if body[union]]
    path = f"/tools/0/function/parameters/{union}"
    assert result == ([(path, "changed", "lossy", "root_union", body[union])] if body[union] else [])


def test_a_union_below_the_root_is_unchanged() -> None:
    """The server accepts unions there."""
    schema = _object(a={"oneOf": [A, B]})

    assert _converted(schema).body["tools"][0]["input_schema"] == schema
    assert _converted(schema).losses == ()


def test_a_strict_tool_is_merged_too() -> None:
    """The server then enforces one closed object."""
    converted = _converted({"oneOf": [_object(a=A), _object(b=B)]}, strict=True).body["tools"][0]["input_schema"]

    assert converted == {"type": "object", "properties": {"a": A, "b": B}, "additionalProperties": False}


@pytest.mark.parametrize("levels", [20, 200])
def test_doubling_references_terminate(levels: int) -> None:
    """Each level refers to the next one twice, so following all references would take exponential time."""
    names = [f"D{level}" for level in range(levels)]
    definitions: dict[str, Any] = {
        name: {"anyOf": [{"$ref": f"#/$defs/{below}"}, {"anyOf": [{"$ref": f"#/$defs/{below}"}]}]}
        for name, below in zip(names, [*names[1:], "End"], strict=True)
    } | {"End": _object(a=A)}

    converted = _converted({"anyOf": [{"$ref": "#/$defs/D0"}], "$defs": definitions}).body["tools"][0]["input_schema"]

    assert "anyOf" not in converted


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_a_root_union_is_merged_for_openai_as_well(target: fb.Format) -> None:
    """Its server rejects a union at the root: langchain-ai/langchainjs#9804."""
    schema = {"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}, {"properties": {"b": {}}}]}
    tool = {"name": "f", "input_schema": schema}
    body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "q"}], "tools": [tool]}

    converted = fb.convert_request(body, source="messages", target=target)

    written = converted.body["tools"][0].get("function", converted.body["tools"][0])["parameters"]
    assert written == {"type": "object", "properties": {"a": {}, "b": {}}}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/tools/0/input_schema/oneOf", "root_union")]


def test_a_reference_into_a_merged_union_points_to_its_copy() -> None:
    """Schema generators refer to a repeated type by the pointer of its first occurrence."""
    node = {"type": "object", "properties": {"child": {"$ref": "#/anyOf/0/properties/n"}}}

    folded = fold_root_union({"anyOf": [{"type": "object", "properties": {"n": node}}]})

    reference = folded["properties"]["n"]["properties"]["child"]["$ref"]
    assert reference == "#/$defs/root_unions/anyOf/0/properties/n"
    assert folded["$defs"]["root_unions"]["anyOf"][0]["properties"]["n"]["type"] == "object"


def test_a_condition_is_kept_as_a_whole() -> None:
    """Merging the parts of two conditions would create a rule that is in neither."""
    first, second = (
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"if": {"required": ["c"]}, "else": {"required": ["d"]}},
    )

    folded = fold_root_union({"type": "object", "allOf": [first, second]})

    assert folded == {"type": "object", **first}


@pytest.mark.parametrize("wrong", [{"required": [[]]}, {"required": "name"}, {"properties": []}, {"properties": {"name": 1}}])
@pytest.mark.parametrize("target", ["chat_completions", "responses", "generate_content"])
def test_a_strict_schema_that_is_no_valid_schema_is_converted(wrong: dict[str, Any], target: fb.Format) -> None:
    """The wire types do not check schemas, so any value may be in one."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False}
    tools = [{"name": "height", "strict": True, "input_schema": schema | wrong}]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": tools}

    converted = fb.convert_request(body, source="messages", target=target)

    assert converted.body["tools"]
