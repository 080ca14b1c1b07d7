"""How the command line names a format: ``FORMAT`` in its options. Parser and commands both use this file."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from formatbridge.arguments import type_name
from formatbridge.cli.usage import suggestion
from formatbridge.errors import FORMATS_OF_VENDORS, FormatBridgeError
from formatbridge.formats.dialects import DIALECTS
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.model_facts import ModelFacts
from formatbridge.formats.registry import check_name, formats_of, load_for_requests
from formatbridge.formats.target import FormatOrName, Target
from formatbridge.ir import RegisteredName

ALIASES = {name: FORMATS_OF_VENDORS[name][0] for name in ("openai", "openai-responses", "anthropic", "gemini")}
"""Names of vendors, and the format that each stands for."""


def format_name(text: str) -> str:
    """Return the name of the format that an alias stands for; another text unchanged. A registered format has precedence."""
    try:
        check_name(text)
    except FormatBridgeError:
        return ALIASES.get(text, text)
    return text


def read_format(text: str) -> FormatOrName:
    """Read the name of a format, built in or registered, an alias, or ``MODULE:ATTRIBUTE``; ``@`` and a dialect may follow."""
    text, at, dialect = text.partition("@")
    if at:
        return _with_dialect(read_format(text), dialect)
    text = format_name(text)
    module, colon, attribute = text.partition(":")
    if not colon:
        try:
            check_name(text)
        except FormatBridgeError as error:
            nearest = _server_of(text) or ("" if "perhaps" in str(error) else suggestion(text, ALIASES))
            raise ArgumentTypeError(f"{error}, or MODULE:ATTRIBUTE{nearest}") from None
        return RegisteredName(text)
    try:
        spec = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentTypeError(f"{text!r} cannot be loaded: {error}") from None
    if not isinstance(spec, FormatSpec):
        raise ArgumentTypeError(f"{text!r} is {type_name(spec)}, expected a formatbridge.FormatSpec")
    return spec


def _server_of(text: str) -> str:
    """Return the end of a message that states how to name the server of a dialect; empty if the text is no dialect."""
    if text not in DIALECTS:
        return ""
    return "; did you mean " + " or ".join(f"{format}@{text}" for format in sorted(formats_of(text))) + "?"


def _with_dialect(format: FormatOrName, dialect: str) -> Target:
    target = Target(format, dialect=dialect)  # type: ignore[type-var]  # the text before the sign names no target
    try:
        load_for_requests(target)
    except FormatBridgeError as error:
        raise ArgumentTypeError(str(error)) from None
    return target


def read_facts(path: str) -> dict[str, ModelFacts]:
    """Read the file of ``--facts``: a table that ``load_model_facts`` reads."""
    from formatbridge.convert.model_tables import load_model_facts

    try:
        return load_model_facts(Path(path).read_bytes())
    except OSError as error:
        raise ArgumentTypeError(f"cannot read {path}: {error.strerror}") from None
    except FormatBridgeError as error:
        raise ArgumentTypeError(f"{path}: {error}") from None


def with_facts(target: FormatOrName, facts: dict[str, ModelFacts] | None) -> FormatOrName:
    """Return a target with facts about models, if there are any."""
    if facts is None:
        return target
    return replace(target, model=facts) if isinstance(target, Target) else Target(target, model=facts)


FORMAT: dict[str, Any] = {"type": read_format, "metavar": "FORMAT"}
"""The settings of an argument that names a format."""
FACTS: dict[str, Any] = {
    "type": read_facts, "metavar": "FILE",
    "help": "facts about models: a list of models, LiteLLM's table, api.json of models.dev, or names and ModelFacts fields",
}  # fmt: skip
"""The settings of ``--facts``."""
