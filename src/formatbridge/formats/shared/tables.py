"""Two kinds of table: flat fields that only change their name, and closed sets of words."""

from __future__ import annotations

from collections.abc import Mapping


class FieldTable:
    """Canonical names of flat settings beside this format's own, one to one. Values cross unchanged."""

    __slots__ = ("canonical", "wire")

    def __init__(self, rows: Mapping[str, str]) -> None:
        #: Canonical name to the wire's.
        self.wire: Mapping[str, str] = dict(rows)
        #: The wire's name to the canonical one.
        self.canonical: Mapping[str, str] = {wire: name for name, wire in rows.items()}


class ValueTable:
    """A closed set of words, ours to theirs. Where several of ours become one of theirs, the first row is read back."""

    __slots__ = ("canonical", "wire")

    def __init__(self, *rows: tuple[str, str]) -> None:
        #: Canonical word to the wire's.
        self.wire: Mapping[str, str] = dict(rows)
        #: The wire's word to the canonical one.
        self.canonical: Mapping[str, str] = {wire: word for word, wire in reversed(rows)}
