"""The built-in dialects: ``fb.dialects.openrouter`` and others. Each has the rules of a server for every format that it reads.

The rules are tables without code, one module for each format. Every difference has a public source.
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import Dialect, DialectRules
from formatbridge.formats.dialects.chat_completions import CHAT_COMPLETIONS

_TABLES: Mapping[str, Mapping[str, DialectRules]] = {
    "chat_completions": CHAT_COMPLETIONS,
}


def _dialect(name: str) -> Dialect:
    return Dialect(name, {format: table[name] for format, table in _TABLES.items() if name in table})


openrouter = _dialect("openrouter")

DIALECTS: Mapping[str, Dialect] = {value.name: value for value in list(globals().values()) if isinstance(value, Dialect)}
"""The built-in dialects by name."""
