"""What of this format can be told to be sound at a glance: the turns and schemas that bodies are full of.

Whatever is not plain is validated and read in full; what is plain is taken as it is. Both say the same of plain values, as a test holds.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from formatbridge.jsontext.types import EXACT, JsonObject

Validate = Callable[[Any], JsonObject | None]
"""Reads in full what is not plain."""

_FUNCTION = frozenset({"name", "description", "parameters"})
_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_WORDS = frozenset({"description", "title", "pattern"})
_BOUNDS = frozenset({"minimum", "maximum"})
_TEXT = frozenset({str})
_CONTENT = frozenset({"role", "parts"})
_CALL = frozenset({"id", "name", "args"})
_RESULT = frozenset({"id", "name", "response"})


def is_plain_schema(schema: Any, types: Container[str] | None = None) -> bool:
    """Say whether a schema is made of the usual keywords only; of ``types`` only, where they are given."""
    pending = [schema]
    for node in pending:  # which grows on the way
        if type(node) is not dict:
            return False
        told = node.get("type")
        if type(told) is str and len(node) == 2 and type(node.get("description")) is str and (types is None or told in types):
            continue  # as most that have nothing below them
        for key, value in node.items():
            if type(value) is str:
                if (key not in _WORDS) if key != "type" else (types is not None and value not in types):
                    return False
            elif key == "properties" and type(value) is dict:
                pending += value.values()
            elif key == "items":
                pending.append(value)
            elif not _is_plain_limit(key, value):
                return False
    return True


def _is_plain_limit(key: str, value: Any) -> bool:
    """Say whether a keyword that limits values has a list of texts, any list of values, or an integer that is the same as a double."""
    if type(value) is list:
        return key == "enum" or (key == "required" and _TEXT.issuperset(map(type, value)))
    return type(value) is int and key in _BOUNDS and -EXACT <= value <= EXACT


def plain_function(declaration: Any, validate: Validate) -> JsonObject | None:
    """Return a function whose schema is JSON Schema as one that has it under the name for that."""
    if type(declaration) is not dict or len(declaration) != 3 or not _FUNCTION.issuperset(declaration):
        return validate(declaration)
    name, told, schema = declaration["name"], declaration["description"], declaration["parameters"]
    if type(name) is not str or type(told) is not str or not is_json_schema(schema):
        return validate(declaration)
    return {"name": name, "description": told, "parametersJsonSchema": schema}


def plain_schema(schema: Any, validate: Validate) -> JsonObject | None:
    """Return a schema that is plain."""
    return schema if is_plain_schema(schema) else validate(schema)


def is_json_schema(schema: Any) -> bool:
    """Say whether a schema in the vendor's dialect is JSON Schema as it is."""
    return is_plain_schema(schema, _TYPES)


def plain_content(content: Any, validate: Validate) -> JsonObject | None:
    """Return a turn that holds nothing but texts, and calls and results of functions."""
    if type(content) is not dict or not _CONTENT.issuperset(content) or type(content.get("role", "")) is not str:
        return validate(content)
    parts = content.get("parts")
    if type(parts) is not list:
        return validate(content)
    for part in parts:
        if type(part) is not dict or len(part) != 1:
            return validate(content)
        if type(part.get("text")) is str:
            continue
        if not (_is_plain(part.get("functionCall"), _CALL, "args") or _is_plain(part.get("functionResponse"), _RESULT, "response")):
            return validate(content)
    return content


def _is_plain(member: Any, keys: frozenset[str], slot: str) -> bool:
    """Say whether a call or a result has an id, a name and an object in its slot, and nothing else."""
    if type(member) is not dict or len(member) != 3 or not keys.issuperset(member):
        return False
    return type(member["id"]) is str and type(member["name"]) is str and type(member[slot]) is dict
