"""Where the values of an encoded body were in the body of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formatbridge.jsontext.pointers import escape, prefixes
from formatbridge.jsontext.types import JsonObject

_LONG = 256
"""Length in characters from which a text is copied only if its object occurs a second time."""
_WITHOUT_ORIGIN = frozenset({"type", "role", "status", "detail", "id", "call_id", "tool_call_id", "tool_use_id"})
"""Keys whose texts are the words of a format, which the encoder writes too, or the ids of calls, which results repeat."""


class Origins:
    """Finds the pointers of the texts of a body in an encoded body.

    Decoders and encoders do not copy texts. So each text in ``body`` is an object that occurs nowhere else, and its identity is its origin.
    Texts of one character have no origin, because Python has one object for each of them.
    """

    def __init__(self, raw: JsonObject) -> None:
        self._pointers: dict[int, str] = {}
        self._prefixes: set[str] = set()
        self.body: JsonObject = self._copied(raw, "")
        """The body of the caller, to decode."""

    def _copied(self, value: Any, pointer: str) -> Any:
        if isinstance(value, dict):
            return {
                key: member if key in _WITHOUT_ORIGIN else self._copied(member, f"{pointer}/{escape(key)}")
                for key, member in value.items()
            }
        if isinstance(value, list):
            return [self._copied(item, f"{pointer}/{index}") for index, item in enumerate(value)]
        if not isinstance(value, str) or len(value) < 2:
            return value
        if len(value) < _LONG or id(value) in self._pointers:
            value = value[:1] + value[1:]
        self._pointers[id(value)] = pointer
        return value

    def has_texts(self, pointer: str) -> bool:
        """Return whether a value of the caller has a text with an origin."""
        if not self._prefixes:
            self._prefixes.update(prefix for each in self._pointers.values() for prefix in prefixes(each))
        return pointer in self._prefixes

    def indexes(self, value: Any, pointer: str) -> set[int]:
        """Return the indexes of the items of a list of the caller with the texts of an encoded value. ``pointer``: that of the list."""
        start = f"{pointer}/"
        return {int(each[len(start) :].partition("/")[0]) for each in self._of(value) if each.startswith(start)}

    def _of(self, value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for member in value.values():
                yield from self._of(member)
        elif isinstance(value, list):
            for item in value:
                yield from self._of(item)
        elif isinstance(value, str) and id(value) in self._pointers:
            yield self._pointers[id(value)]
