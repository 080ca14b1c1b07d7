"""Look up the typed models of each format by name, with their descriptions."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any, get_args

from pydantic import BaseModel

from formatbridge import formats
from formatbridge.convert.input import KINDS, wire_model
from formatbridge.errors import ConfigurationError
from formatbridge.formats.target import FormatOrName

BODIES = ("Request", "Response", "StreamEvent", "Error", "ModelList")
"""The names of whole bodies, which every format has."""


def model_named(format: FormatOrName, name: str) -> Any:
    """Return a typed model or union by its name or kind of document; raise ``ConfigurationError`` for an unknown name."""
    kind = next((kind for kind in KINDS.values() if kind == name), None)
    if kind:
        return wire_model(format, kind)
    names = models_of(format)
    if name in names:
        return getattr(_wire(format), name)
    similar = get_close_matches(name, (*KINDS.values(), *names), cutoff=0.5)
    guess = f"perhaps {' or '.join(similar)}; " if similar else ""
    raise ConfigurationError(f"{format} has no model {name!r}: {guess}`formatbridge schema {format}` names them all")


def models_of(format: FormatOrName) -> dict[str, str]:
    """Return the names of a format's typed models and unions with their descriptions, those of whole bodies first."""
    wire = _wire(format)
    descriptions = {name: _about(getattr(wire, name)) for name in dict.fromkeys((*BODIES, *getattr(wire, "__all__", ())))}
    return {name: about for name, about in descriptions.items() if about}


def _wire(format: FormatOrName) -> ModuleType:
    return import_module(formats.load(format).wire_module)


def _about(model: Any) -> str:
    """Return the first sentence of a model's docstring, or the members of a union; empty for anything else."""
    if isinstance(model, type):
        return " ".join(inspect.cleandoc(model.__doc__ or "").partition("\n\n")[0].split())
    members = [member.__name__ for member in _members(model)]
    return f"one of {', '.join(members)}" if members else ""


def _members(shape: Any) -> list[type[BaseModel]]:
    """Return the models of a union, including those of nested unions."""
    if isinstance(shape, type):
        return [shape] if issubclass(shape, BaseModel) else []
    return [member for part in get_args(shape) for member in _members(part)]
