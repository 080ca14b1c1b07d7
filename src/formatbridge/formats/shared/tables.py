"""Two kinds of table: flat fields with another name, and enumerations."""

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
    """The values of an enumeration: rows of canonical and wire value.

    If several rows have the same wire value, decoding uses the first.
    """

    __slots__ = ("canonical", "wire")

    def __init__(self, *rows: tuple[str, str]) -> None:
        self.wire: Mapping[str, str] = dict(rows)
        """Canonical value to the value of the format."""
        self.canonical: Mapping[str, str] = {wire: value for value, wire in reversed(rows)}
        """Value of the format to the canonical value."""
