"""The four formats as one table; each module offers what ``_protocol.Format`` says and loads on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast, get_args

from formatbridge import ir
from formatbridge.errors import UnknownFormatError
from formatbridge.formats._protocol import Format

FORMATS: tuple[ir.Format, ...] = get_args(ir.Format)
"""The names of the formats, in the order of every table."""


def load(name: str) -> Format:
    """Return a format by its name; raise ``UnknownFormatError`` on any other."""
    try:
        return _load(name)
    except TypeError:  # something that is no name and cannot be looked up
        raise UnknownFormatError(name, FORMATS) from None


def load_both(source: str, target: str) -> tuple[Format, Format]:
    """Return the formats of both ends of a conversion, as ``load`` does."""
    try:
        return _load(source), _load(target)
    except TypeError:
        return load(source), load(target)


@cache
def _load(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownFormatError(name, FORMATS)
    return cast(Format, import_module(f"formatbridge.formats.{name}"))
