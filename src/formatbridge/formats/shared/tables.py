"""Two kinds of table: flat fields with another name, and closed sets of words."""

from __future__ import annotations

from collections.abc import Mapping


class FieldTable:
    """Canonical names of flat settings and the names of a format, one to one. Values stay unchanged."""

    __slots__ = ("canonical", "wire")

    def __init__(self, rows: Mapping[str, str]) -> None:
        self.wire: Mapping[str, str] = dict(rows)
        """Canonical name to the name in the format."""
        self.canonical: Mapping[str, str] = {wire: name for name, wire in rows.items()}
        """Name in the format to the canonical name."""


class ValueTable:
    """A closed set of words: canonical to those of a format. If several become the same word, the first row is used for decoding."""

    __slots__ = ("canonical", "wire")

    def __init__(self, *rows: tuple[str, str]) -> None:
        self.wire: Mapping[str, str] = dict(rows)
        """Canonical word to the word of the format."""
        self.canonical: Mapping[str, str] = {wire: word for word, wire in reversed(rows)}
        """Word of the format to the canonical word."""
