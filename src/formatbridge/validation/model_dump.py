"""Convert a typed model to JSON values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from formatbridge.jsontext.types import JsonObject
from formatbridge.validation.wire_base import Wire

_LIBRARY = "formatbridge."
"""Prefix of the modules that define the library's models."""

_SCALARS = frozenset({str, int, float, bool, type(None)})


def dump_model(model: BaseModel) -> JsonObject:
    """Return the fields that were set in a model and in the models that it contains, under their documented keys.

    pydantic serializes a nested model by the declared type of its field, without the fields of a caller's subclass. Its option
    ``serialize_as_any`` includes them. Before pydantic 2.14 it fails for recursive models, and for models that were only read as a part of
    others. So each instance of a subclass is dumped separately.
    """
    dumped = model.model_dump(exclude_unset=True, by_alias=True, warnings=False)
    return _dump_nested_again(model, dumped) if _has_derived(model) else dumped


def _has_derived(model: BaseModel) -> bool:
    """Return whether a model contains an instance of a caller's subclass."""
    left: list[Any] = [model]
    for value in left:
        if type(value) is list:
            inner_values: Iterable[Any] = value
        elif type(value) is dict:
            inner_values = value.values()
        elif value is model or type(value).__module__.startswith(_LIBRARY):
            inner_values = _members(value).values()
        elif isinstance(value, Wire):
            return True
        else:  # not JSON, or invalid
            continue
        left += [each for each in inner_values if type(each) not in _SCALARS]
    return False


def _members(model: BaseModel) -> JsonObject:
    """Return the values of a model by field name, and its unknown fields by their keys."""
    return {**model.__dict__, **(model.__pydantic_extra__ or {})}


def _is_derived(value: Any) -> bool:
    return not type(value).__module__.startswith(_LIBRARY) and isinstance(value, Wire)  # the instance check is the slower one


def _dump_again(value: Any, dumped: Any) -> Any:
    """Return the dump of a value, with instances of subclasses dumped again; the result of a caller's serializer stays unchanged."""
    if _is_derived(value) and isinstance(dumped, dict):
        redumped = dump_model(value)
        return redumped if dumped.keys() <= redumped.keys() else dumped
    return _dump_nested_again(value, dumped)


def _dump_nested_again(value: Any, dumped: Any) -> Any:
    match value, dumped:
        case BaseModel(), dict():
            names = {name: field.serialization_alias or name for name, field in type(value).model_fields.items()}
            values = {names.get(name, name): inner for name, inner in _members(value).items()}
            return {key: _dump_again(values[key], inner) if key in values else inner for key, inner in dumped.items()}
        case dict(), dict() if value.keys() == dumped.keys():
            return {key: _dump_again(inner, dumped[key]) for key, inner in value.items()}
        case list(), list() if len(value) == len(dumped):
            return list(map(_dump_again, value, dumped))
        case _:
            return dumped
