"""How the command line names a format: ``FORMAT`` in its options. Parser and commands both use this file."""

from __future__ import annotations

from argparse import ArgumentTypeError
from importlib import import_module
from typing import Any

from formatbridge.arguments import type_name
from formatbridge.errors import FormatBridgeError
from formatbridge.formats.format import FormatOrName, FormatSpec
from formatbridge.formats.registry import check_name


def read_format(text: str) -> FormatOrName:
    """Read the name of a format, built in or registered, or ``MODULE:ATTRIBUTE`` where a ``FormatSpec`` is."""
    module, colon, attribute = text.partition(":")
    if not colon:
        try:
            check_name(text)
        except FormatBridgeError as error:
            raise ArgumentTypeError(f"{error}, or MODULE:ATTRIBUTE") from None
        return text
    try:
        spec = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentTypeError(f"{text!r} cannot be loaded: {error}") from None
    if not isinstance(spec, FormatSpec):
        raise ArgumentTypeError(f"{text!r} is {type_name(spec)}, expected a formatbridge.FormatSpec")
    return spec


FORMAT: dict[str, Any] = {"type": read_format, "metavar": "FORMAT"}
"""The settings of an argument that names a format."""
