"""Validation without building models: checkers and readers of the shapes that wire models describe, which return plain dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from formatbridge.jsontext.types import EXACT, JsonObject
from formatbridge.validation.wire_base import WHOLE, Glance, in_full


def checker(shape: Any) -> SchemaValidator:
    """Compile a model, or a union of some, to a validator that returns plain dicts in the vendor's spelling and builds no model objects.

    It refuses what the model refuses and costs half as much. Unknown keys are kept; absent fields stay absent.
    """
    return SchemaValidator(dicts_of(shape))


def dicts_of(shape: Any) -> Any:
    """Return the core schema of a model, or of a union of some, with a typed dict of the same fields for each model."""
    return _as_dicts(TypeAdapter(shape).core_schema)


class Reader(NamedTuple):
    """Reads values of one shape as ``checker`` does, but returns one itself, not a copy, where nothing in it is to be changed."""

    read: Callable[[Any], Any]
    """Returns a value or what means the same; raises ``ValidationError`` where it is not of the shape."""
    is_sound: Callable[[Any], bool]
    """Says whether ``read`` returns a value itself. One that is not sound may be valid all the same."""
    in_full: Callable[[Any], Any]
    """Reads what is not sound."""


def reader(shape: Any, usual: frozenset[str] = frozenset()) -> Reader:
    """Return what reads values of a shape.

    ``usual``: fields beside which most objects of this shape have no others. Those objects are not asked for the others; what else there is
    is read in full, with a validator that is made for the first of its kind.
    """
    schema = dicts_of(shape)
    made = cache(lambda: checker(shape).validate_python if not usual or _rewrites(schema) else reader(shape).read)
    is_sound = _usual_and_sound(schema, usual) if usual else SchemaValidator(_as_it_is(schema)).isinstance_python

    def read_in_full(value: Any) -> Any:
        return made()(value)

    def read(value: Any) -> Any:
        return value if is_sound(value) else read_in_full(value)

    return Reader(read, is_sound, read_in_full)


def _usual_and_sound(schema: Any, usual: frozenset[str]) -> Callable[[Any], bool]:
    """Return a function that says whether an object has usual fields only, and whether each of them is sound."""
    return SchemaValidator(_as_it_is(_closed(_with_fields(schema, usual)))).isinstance_python


def _closed(schema: Any) -> Any:
    """Return the schema of an object that takes no other fields."""
    if schema["type"] == "typed-dict":
        return schema | {"extra_behavior": "forbid"}
    return schema | {"schema": _closed(schema["schema"])}


def _with_fields(schema: Any, names: frozenset[str]) -> Any:
    """Return the schema of an object with some of its fields, under their documented names."""
    if schema["type"] == "typed-dict":
        fields = {name: field | {"validation_alias": name} for name, field in schema["fields"].items() if name in names}
        return schema | {"fields": {name: _with_usual_members(field) for name, field in fields.items()}}
    return schema | {"schema": _with_fields(schema["schema"], names)}


def _with_usual_members(schema: Any) -> Any:
    """Let an object that says which of its members are usual have no others."""
    match schema:
        case {"type": "typed-dict", "metadata": {"usual": usual}}:
            return _with_fields(schema, usual) | {"extra_behavior": "forbid"}
        case {"schema": inner}:
            return schema | {"schema": _with_usual_members(inner)}
        case _:
            return schema


def _rewrites(schema: Any) -> bool:
    """Say whether some values of a schema are never sound, so that to look for what is gains nothing."""
    if isinstance(schema, dict):
        if schema.get("metadata", {}).get("sound") == "none":
            return True
        return any(_rewrites(value) for key, value in schema.items() if key != "metadata")
    return isinstance(schema, list | tuple) and any(map(_rewrites, schema))


def _as_it_is(schema: Any) -> Any:
    """Let a checker's schema take only what it would return as it is, and make as little of it as can be.

    So unknown keys are not looked for unless they may be second names, a number is a double of an exact size, for an integer beyond 64 bits
    would become one, and what has no kind, or an unknown one, is left to the checker where that is rare. What a function validates is never
    sound, unless the function's schema says in its metadata that it ``checks`` and changes nothing, or ``mends`` what its inner schema
    would refuse.
    """
    if not isinstance(schema, dict):
        return type(schema)(map(_as_it_is, schema)) if isinstance(schema, list | tuple) else schema
    made = {key: value if key == "metadata" else _as_it_is(value) for key, value in schema.items()}
    match schema:
        case {"type": "typed-dict", "fields": fields}:
            has_names = any(isinstance(field.get("validation_alias"), list) for field in fields.values())
            return made | {"extra_behavior": "forbid" if has_names or schema["extra_behavior"] == "forbid" else "ignore"}
        case {"type": "typed-dict-field", "validation_alias": [*_]}:
            return {key: value for key, value in made.items() if key != "validation_alias"}
        case {"type": "list"}:
            return made | {"fail_fast": True}  # one item that is not sound is enough to know
        case {"type": "function-before" | "function-wrap" | "function-after" | "function-plain"}:
            return _asked_as_it_is(schema, made)
        case {"type": "tagged-union", "metadata": {"key": key}}:
            return made | {"discriminator": key}
        case {"type": "union", "choices": [_, (_, label)]} if label == WHOLE:
            return {"le": EXACT, "ge": -EXACT} | made["choices"][0]
        case _:
            return made


def _asked_as_it_is(schema: Any, made: Any) -> Any:
    """Return what ``_as_it_is`` does of a schema of which a function is asked; ``made``: with its inner schema as it is."""
    match schema.get("metadata"):
        case {"mends": True}:
            return made["schema"]
        case {"glance": glance, "sound": "plain"}:
            return _only_at_a_glance(glance)
        case {"checks": True} | {"sound": "valid"}:
            return made
        case _:
            return _only_at_a_glance(in_full)


def _nothing(value: Any) -> None:
    """Take nothing at a glance."""
    del value


def _only_at_a_glance(glance: Glance) -> CoreSchema:
    def demand(value: Any) -> Any:
        if glance(value, _nothing) is None:
            raise ValueError("this needs a second look")
        return value

    return core_schema.no_info_plain_validator_function(demand)


def _as_dicts(schema: Any) -> Any:
    """Turn each model in a core schema into a typed dict of the same fields; iteration order is the schema's own."""
    if isinstance(schema, dict):
        if schema.get("type") == "model":
            return _typed_dict(schema)
        made = {key: value if key == "metadata" else _as_dicts(value) for key, value in schema.items()}
        if schema.get("type") == "function-wrap" and "glance" in schema.get("metadata", ()):
            made["function"] = made["function"] | {"function": schema["metadata"]["glance"]}
        return made
    if isinstance(schema, list | tuple):
        return type(schema)(_as_dicts(item) for item in schema)
    return schema


def _typed_dict(schema: Mapping[str, Any]) -> JsonObject:
    given = schema["schema"]["fields"]
    fields = {field.get("serialization_alias", name): _typed_dict_field(field) for name, field in given.items()}
    made = {"type": "typed-dict", "fields": fields, "extra_behavior": "allow", "config": {"strict": True}}
    if usual := getattr(schema["cls"], "USUAL", None):
        made["metadata"] = {"usual": usual}
    return made | ({"ref": schema["ref"]} if "ref" in schema else {})


def _typed_dict_field(field: Mapping[str, Any]) -> JsonObject:
    has_default = field["schema"]["type"] == "default"
    made: JsonObject = {
        "type": "typed-dict-field",
        "schema": _as_dicts(field["schema"]["schema"] if has_default else field["schema"]),
        "required": not has_default,
    }
    return made | ({"validation_alias": field["validation_alias"]} if "validation_alias" in field else {})
