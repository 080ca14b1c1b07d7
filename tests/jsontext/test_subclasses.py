"""Instances of subclasses of ``str``, ``int`` and ``float`` are converted like the base types."""

from __future__ import annotations

import enum
from typing import Any

import formatbridge as fb
from tests.fixtures import Fixture, convert, fixtures
from tests.support.for_each import for_each


class _Text(str):
    """A string as a template engine returns it."""

    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


class _Number(int):
    """An integer as a library of units returns it."""


class _Fraction(float):
    """A float as a library of units returns it."""


class _Role(str, enum.Enum):  # noqa: UP042  # the form of enumerations before ``enum.StrEnum``
    USER = "user"


def _with_subclasses(value: Any) -> Any:
    """Return a body whose keys, strings and numbers are instances of subclasses."""
    if isinstance(value, dict):
        return {_Text(key): _with_subclasses(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_subclasses(item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    return _Text(value) if isinstance(value, str) else _Number(value) if isinstance(value, int) else _Fraction(value)


def _types(value: Any) -> set[type]:
    """Return the types of all values and keys."""
    if isinstance(value, dict):
        return {dict}.union(map(type, value), *map(_types, value.values()))
    return {list}.union(*map(_types, value)) if isinstance(value, list) else {type(value)}


@for_each("fixture", fixtures())
def test_values_of_subclasses_are_converted_like_their_base_types(fixture: Fixture) -> None:
    """A prompt from a template is not exactly a ``str``; it was lost, or raised an exception of another library."""
    changed = _with_subclasses(fixture.body)
    for target in fb.FORMATS:
        expected, result = fixture.convert(target), convert(changed, fixture, target)

        assert (result.body, set(result.losses), result.additions) == (expected.body, set(expected.losses), expected.additions)
        assert _types(result.body) <= {dict, list, str, int, float, bool, type(None)}


def test_a_member_of_an_enumeration_is_its_value() -> None:
    """Its ``str`` is its name, not its value."""
    converted = fb.convert_request(
        {"model": "m", "messages": [{"role": _Role.USER, "content": "x"}]}, source="chat_completions", target="messages"
    )

    assert converted.json() == b'{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"x"}]}'
