"""Load formats: built-in ones by name, others as a ``FormatSpec`` that is an argument or an entry point."""

from __future__ import annotations

import copyreg
from functools import cache
from importlib import import_module
from typing import Any, get_args

from formatbridge import ir
from formatbridge.arguments import type_name
from formatbridge.errors import ConfigurationError, UnknownFormatError
from formatbridge.formats.format import FormatOrName, FormatSpec

FORMATS: tuple[ir.Format, ...] = get_args(ir.Format)
"""The names of the built-in formats, in the order of all tables."""
ENTRY_POINTS = "formatbridge.formats"
"""The entry point group in which a package registers formats; the name of an entry point is the name of its format."""


def load(format: FormatOrName) -> FormatSpec:
    """Return a format by its name, and a ``FormatSpec`` unchanged; raise ``UnknownFormatError`` for any other value."""
    try:
        return _load(format)
    except TypeError:  # an unhashable value cannot be looked up
        raise UnknownFormatError(format, FORMATS) from None


def load_both(source: FormatOrName, target: FormatOrName) -> tuple[FormatSpec, FormatSpec]:
    """Return the formats of a conversion, as ``load`` does."""
    try:
        return _load(source), _load(target)
    except TypeError:
        return load(source), load(target)


def check_name(name: object) -> None:
    """Raise ``UnknownFormatError`` for a value that is no name of a format, without loading built-in formats."""
    if name not in FORMATS:
        load(name)  # type: ignore[arg-type]  # raises on any other type


@cache
def _load(name: FormatOrName) -> FormatSpec:
    if isinstance(name, FormatSpec):
        return name
    if name in FORMATS:
        spec: FormatSpec = getattr(import_module(f"formatbridge.formats.{name}"), name.upper())
        return spec
    registered = _registered()
    if name not in registered:
        raise UnknownFormatError(name, (*FORMATS, *registered))
    spec = registered[name].load()
    if type(spec) is not FormatSpec or spec.name != name:
        raise ConfigurationError(
            f"the entry point {name!r} of {ENTRY_POINTS} is {type_name(spec)}, expected a FormatSpec of that name"
        )
    return spec


@cache
def _registered() -> dict[str, Any]:
    """Return the entry points of the group by name."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def format_of_module(module: str) -> ir.Format | None:
    """Return the built-in format whose wire models are defined in a module; None for other modules."""
    return next((name for name in FORMATS if module.startswith(f"formatbridge.formats.{name}.wire")), None)


def _reduced(spec: FormatSpec) -> tuple[Any, ...]:
    """Pickle and copy a built-in or registered format by its name, so that it stays the same object."""
    is_known = spec.name in FORMATS or spec.name in _registered()
    return (load, (spec.name,)) if is_known and load(spec.name) is spec else spec.__reduce_ex__(2)  # type: ignore[return-value]


copyreg.pickle(FormatSpec, _reduced)
