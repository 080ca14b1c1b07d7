"""Validators for wire models. They return dicts and build no model objects.

A validator accepts exactly what the model accepts (a test compares both on all fixtures and recordings). It takes half the time.
pydantic describes a model as a core schema (documented in ``pydantic_core.core_schema``); here each model in it becomes a typed dict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import SchemaValidator

from formatbridge.jsontext.types import JsonObject


def dict_validator(shape: Any) -> Callable[[Any], Any]:
    """Compile a model, or a union of models, to a function that validates a value and returns it; it raises ``ValidationError``.

    The result is the value itself, with its keys in their order. It is a copy only where values change: alternative keys become the
    documented ones, an integer beyond 64 bits becomes a double.
    """
    validate = SchemaValidator(dicts_of(shape)).validate_python

    def validated(value: Any) -> Any:
        copy = validate(value)
        return value if copy == value else copy

    return validated


def dicts_of(shape: Any) -> Any:
    """Return the core schema of a model, or of a union of models, with a typed dict of the same fields for each model."""
    return _as_dicts(TypeAdapter(shape).core_schema)


def _as_dicts(schema: Any) -> Any:
    """Replace each model in a core schema by a typed dict of the same fields."""
    if isinstance(schema, dict):
        if schema.get("type") == "model":
            return _typed_dict(schema)
        return {key: value if key == "metadata" else _as_dicts(value) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return type(schema)(_as_dicts(item) for item in schema)
    return schema


def _typed_dict(schema: Mapping[str, Any]) -> JsonObject:
    fields = schema["schema"]["fields"]
    typed_dict: JsonObject = {
        "type": "typed-dict",
        "fields": {field.get("serialization_alias", name): _typed_dict_field(field) for name, field in fields.items()},
        "extra_behavior": "allow",
        "config": {"strict": True},
    }
    return typed_dict | ({"ref": schema["ref"]} if "ref" in schema else {})


def _typed_dict_field(field: Mapping[str, Any]) -> JsonObject:
    has_default = field["schema"]["type"] == "default"
    typed_dict_field: JsonObject = {
        "type": "typed-dict-field",
        "schema": _as_dicts(field["schema"]["schema"] if has_default else field["schema"]),
        "required": not has_default,
    }
    return typed_dict_field | ({"validation_alias": field["validation_alias"]} if "validation_alias" in field else {})
