"""Where the values of an encoded body were in the body of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formatbridge.formats.format import ItemIdentity
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject

_LONG = 256
"""Length in characters from which a text is copied only if its object occurs a second time."""


class Origins:
    """Finds the pointers of the texts of a body in an encoded body.

    Decoders and encoders do not copy texts. So each text in ``body`` is an object that occurs nowhere else, and its identity is its origin.
    Texts of one character have no origin, because Python has one object for each of them.
    """

    def __init__(self, raw: JsonObject, identity: ItemIdentity) -> None:
        self.identity = identity
        """The fields by which the items of lists are recognized."""
        self._without_origin = identity.words.union(("name", "id"), identity.call_ids)  # results repeat the names and ids of calls
        self._pointers: dict[int, str] = {}
        self.body: JsonObject = self._copied(raw, "")
        """The body of the caller, to decode."""

    def _copied(self, value: Any, pointer: str) -> Any:
        if isinstance(value, dict):
            return {
                key: member if key in self._without_origin else self._copied(member, f"{pointer}/{escape(key)}")
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

    def indexes(self, value: Any, pointer: str) -> set[int]:
        """Return the indexes of the items of a list of the caller with the texts of an encoded value. ``pointer``: that of the list."""
        start = f"{pointer}/"
        return {int(each[len(start) :].partition("/")[0]) for each in self.pointers(value) if each.startswith(start)}

    def texts(self, value: Any, *, is_known: bool) -> Iterator[str]:
        """Yield the texts of a value that have an origin, or those that could have one and have none."""
        if isinstance(value, dict):
            for key, member in value.items():
                if key not in self._without_origin:
                    yield from self.texts(member, is_known=is_known)
        elif isinstance(value, list):
            for item in value:
                yield from self.texts(item, is_known=is_known)
        elif isinstance(value, str) and len(value) > 1 and (id(value) in self._pointers) == is_known:
            yield value

    def pointers(self, value: Any) -> Iterator[str]:
        """Yield the pointers of the texts of an encoded value in the body of the caller."""
        if isinstance(value, dict):
            for member in value.values():
                yield from self.pointers(member)
        elif isinstance(value, list):
            for item in value:
                yield from self.pointers(item)
        elif isinstance(value, str) and id(value) in self._pointers:
            yield self._pointers[id(value)]
