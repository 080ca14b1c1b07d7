"""What a typed model says, as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from formatbridge.jsontext.types import JsonObject
from formatbridge.validation.wire_base import Wire

_OWN = "formatbridge."
"""Where our own models stand."""

_FLAT = frozenset({str, int, float, bool, type(None)})


def written(model: BaseModel) -> JsonObject:
    """Return what was set in a model, and in those that it holds, in the vendor's spelling.

    By the type of its place, pydantic writes no field that only a caller's subclass has. With ``serialize_as_any`` it would, but before
    2.14 that fails for recursive models, and for those that were only read as a part of others. So what is of a subclass is written
    once more, by itself.
    """
    made = model.model_dump(exclude_unset=True, by_alias=True, warnings=False)
    return _each_anew(model, made) if _has_derived(model) else made


def _has_derived(model: BaseModel) -> bool:
    """Say whether a model holds one of a caller's subclass."""
    left: list[Any] = [model]
    for value in left:
        if type(value) is list:
            held: Iterable[Any] = value
        elif type(value) is dict:
            held = value.values()
        elif value is model or type(value).__module__.startswith(_OWN):
            held = _members(value).values()
        elif isinstance(value, Wire):
            return True
        else:  # nothing of JSON, or to be refused
            continue
        left += [each for each in held if type(each) not in _FLAT]
    return False


def _members(model: BaseModel) -> JsonObject:
    """Return what a model holds, by the names in Python; of what no field is for, by those on the wire."""
    return {**model.__dict__, **(model.__pydantic_extra__ or {})}


def _is_derived(value: Any) -> bool:
    return not type(value).__module__.startswith(_OWN) and isinstance(value, Wire)  # the instance check is the dearer by far


def _anew(value: Any, made: Any) -> Any:
    """Return what was made of a value, and of each model in it; what a serializer of the caller's made of one otherwise stays."""
    if _is_derived(value) and isinstance(made, dict):
        again = written(value)
        return again if made.keys() <= again.keys() else made
    return _each_anew(value, made)


def _each_anew(value: Any, made: Any) -> Any:
    match value, made:
        case BaseModel(), dict():
            names = {name: field.serialization_alias or name for name, field in type(value).model_fields.items()}
            spelling = {names.get(name, name): inner for name, inner in _members(value).items()}
            return {key: _anew(spelling[key], inner) if key in spelling else inner for key, inner in made.items()}
        case dict(), dict() if value.keys() == made.keys():
            return {key: _anew(inner, made[key]) for key, inner in value.items()}
        case list(), list() if len(value) == len(made):
            return list(map(_anew, value, made))
        case _:
            return made
