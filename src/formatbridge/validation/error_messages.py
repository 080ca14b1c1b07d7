"""Messages of validation errors: the place, the value there, and the expected value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from functools import cache, reduce
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator

from formatbridge.jsontext.codec import describe
from formatbridge.jsontext.pointers import escape, unescape
from formatbridge.validation.validators import dicts_of
from formatbridge.validation.wire_base import INTEGER_LABEL

_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "dataclass_type": "an object",
    "finite_number": "a finite number",
    "none_required": "null",
    "union_tag_not_found": "a string",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "or more"),
    "less_than_equal": ("le", "or less"),
    "greater_than": ("gt", "exclusive, or more"),
    "less_than": ("lt", "exclusive, or less"),
}
_MAX_PROBLEMS = 20


MISSING = object()
"""Represents the value of a missing key."""
_LABEL = "\0"
"""Prefix of the name of a union member in an error's location; no field name begins with it."""


def problems_of(shape: Any, body: Any) -> list[tuple[str, str]]:
    """Return JSON pointers with messages, one per pointer and at most 20, for a body that is invalid for the model ``shape``."""
    return problems_with(_labelled_validator(shape).validate_python, body)


def problems_with(validate: Callable[[Any], Any], body: Any) -> list[tuple[str, str]]:
    """Return pointers with messages for what a validator of a ``labelled`` schema rejects in a body."""
    faults = _faults(validate, body)
    shown = {pointer: faults[pointer] for pointer in _deepest(faults)[:_MAX_PROBLEMS]}
    lacking = [pointer for pointer, (value, wanted) in shown.items() if value is MISSING and not wanted]
    if lacking:
        # For a missing key the validator does not report the expected type. For a value of no JSON type in its place it does.
        typed = _faults(validate, reduce(_put, lacking, body))
        shown |= {pointer: typed[pointer] for pointer in lacking if pointer in typed}
    return [(pointer, _message(*fault)) for pointer, fault in shown.items()]


def places_of(error: ValidationError, body: Any) -> dict[str, Any]:
    """Return the values that a validator of a ``labelled`` schema rejects in a body, by pointer; ``MISSING`` for a missing key."""
    errors = error.errors(include_url=False, include_input=False)
    places = dict(_place(item, body) for item in errors if item["loc"][-1:] != (_LABEL + INTEGER_LABEL,))
    return {pointer: places[pointer] for pointer in _deepest(places)}


def _deepest(pointers: Collection[str]) -> list[str]:
    """Return the pointers that are not above another one."""
    above = {pointer[:end] for pointer in pointers for end in range(len(pointer)) if pointer[end] == "/"}
    return [pointer for pointer in pointers if pointer not in above]


def _faults(validate: Callable[[Any], Any], body: Any) -> dict[str, tuple[Any, list[str]]]:
    """Return the rejected values by pointer, each with what the validator expected, if it reports that."""
    faults: dict[str, tuple[Any, list[str]]] = {}
    try:
        validate(body)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            if item["loc"][-1:] == (_LABEL + INTEGER_LABEL,):
                continue
            pointer, value = _place(item, body)
            wanted = faults.setdefault(pointer, (value, []))[1]
            if item["type"] != "missing":
                wanted.append(_expected(item))
    return faults


def _put(body: Any, pointer: str) -> Any:
    """Return a body with ``MISSING`` at a pointer; values that are not above the pointer are shared with the argument."""
    step, *others = pointer[1:].split("/", 1)
    result: Any = copy(body)
    key: Any = int(step) if isinstance(body, list) else unescape(step)
    result[key] = _put(body[key], f"/{others[0]}") if others else MISSING
    return result


@cache
def _labelled_validator(shape: Any) -> SchemaValidator:
    """Compile a validator with ``labelled`` unions. It is slower than ``dict_validator``, so it is used for invalid bodies only."""
    return SchemaValidator(labelled(dicts_of(shape)))


def labelled(schema: Any) -> Any:
    """Return a core schema in which each member of a union has a label, so that an error's location distinguishes it from a key."""
    if not isinstance(schema, dict):
        return type(schema)(map(labelled, schema)) if isinstance(schema, list | tuple) else schema
    result = {key: value if key == "metadata" else labelled(value) for key, value in schema.items()}
    match result:
        case {"type": "tagged-union", "choices": choices, "discriminator": tag}:
            labels = {name: _LABEL + name for name in choices}
            return result | {
                "choices": {labels[name]: choice for name, choice in choices.items()},
                "discriminator": _labels(tag, labels),
            }
        case {"type": "union", "choices": choices}:
            pairs = [choice if isinstance(choice, tuple) else (choice, str(place)) for place, choice in enumerate(choices)]
            return result | {"choices": [(choice, _LABEL + name) for choice, name in pairs]}
        case _:
            return result


def _labels(tag: str | Callable[[Any], str | None], labels: dict[str, str]) -> Callable[[Any], str | None]:
    """Return a discriminator that returns the label of the member that ``tag`` (a function or a key) selects."""

    def label(value: Any) -> str | None:
        if not isinstance(value, dict):
            return next(iter(labels.values()))  # the error is the same for each member: the value is not an object
        selected = value.get(tag, "?") if isinstance(tag, str) else tag(value)
        return labels.get(selected, selected) if isinstance(selected, str) else None

    label.__name__ = tag if isinstance(tag, str) else tag.__name__
    return label


def _message(value: Any, wanted: list[str]) -> str:
    was = "is missing" if value is MISSING else f"is {describe(value)}"
    return f"{was}, expected {' or '.join(dict.fromkeys(wanted)) or 'a value'}"


def _place(item: Any, body: Any) -> tuple[str, Any]:
    """Return the pointer and the value of an error: for a missing key and an unknown tag, those of the key."""
    location, key = item["loc"], None
    if item["type"] == "missing":
        location, key = location[:-1], location[-1]
    elif item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        key = item["ctx"]["discriminator"].strip("'()")
    pointer, value = _pointer(location, body)
    if key is None:
        return pointer, value
    return f"{pointer}/{escape(str(key))}", value.get(key, MISSING) if isinstance(value, dict) else MISSING


def _expected(item: Any) -> str:
    kind = item["type"]
    context = item.get("ctx", {})
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    if kind in _BOUNDS:
        name, text = _BOUNDS[kind]
        return f"{context[name]} {text}"
    if kind == "literal_error":
        return _one_of(context["expected"])
    if kind == "union_tag_invalid":
        return _one_of(context["expected_tags"].replace(repr(_LABEL)[1:-1], ""))
    return str(item["msg"]).removeprefix("Input should be ")


def _one_of(values: str) -> str:
    """Return a phrase for quoted values, of which one is expected."""
    return f"one of {values}" if "'" in values[1:-1] else values


def _pointer(location: tuple[Any, ...], body: Any) -> tuple[str, Any]:
    """Return the pointer and the value at a validator's location, without the steps that name a union member."""
    pointer, value = "", body
    for step in location:
        if not str(step).startswith(_LABEL) and _has(value, step):
            value = value[step]
            pointer += f"/{escape(str(step))}"
    return pointer, value


def _has(value: Any, step: Any) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)
