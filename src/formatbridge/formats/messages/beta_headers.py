"""Which beta headers a request of messages needs for what its body asks, in the words of the official SDK of 2026-11.

Without them the server refuses the fields, which an application of another format cannot know. The names are those of
``AnthropicBetaParam`` in anthropic 2.13; which field needs which is in the vendor's documentation of each feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HEADER = "anthropic-beta"

_FIELDS = {
    "mcp_servers": "mcp-client-2025-11-20",
    "context_management": "context-management-2025-06-27",
    "fallbacks": "server-side-fallback-2026-07-01",
    "speed": "fast-mode-2026-02-01",
}
"""Field of a body to what it needs."""
_TOOLS = {
    "advisor_20260301": "advisor-tool-2026-03-01",
    "computer_20241022": "computer-use-2024-10-22",
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
}
"""Type of a tool to what it needs; ``computer_toolset_20260801`` needs nothing, for the stable types of the SDK have it."""
_NESTED = {
    ("diagnostics",): "cache-diagnosis-2026-04-07",
    ("thinking", "block_binding"): "thinking-binding-controls-2026-08-01",
    ("output_config", "task_budget"): "task-budgets-2026-03-13",
}
"""Path of an object to what it needs; an empty object is a request as well: it asks for all defaults."""
_CHANGES = frozenset({"tool_addition", "tool_removal"})


def with_betas(headers: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, str]:
    """Return headers with what a body needs beside what they say; of what they name themselves, in whatever version, theirs holds."""
    given = [word.strip() for word in headers.get(HEADER, "").split(",") if word.strip()]
    known = {_family(word) for word in given}
    missing = [word for word in dict.fromkeys(_needed(body)) if _family(word) not in known]
    return {**headers, HEADER: ",".join([*given, *missing])} if missing else dict(headers)


def _family(word: str) -> str:
    """Return the name of a beta without its date."""
    return word.rsplit("-", 3)[0]


def _needed(body: Mapping[str, Any]) -> Iterator[str]:
    for name, word in _FIELDS.items():
        if body.get(name):
            yield word
    yield from (word for path, word in _NESTED.items() if isinstance(_at(body, path), dict))
    for tool in _objects(body.get("tools")):
        if needed := _TOOLS.get(str(tool.get("type"))):
            yield needed
    for edit in _objects((body.get("context_management") or {}).get("edits")):
        if str(edit.get("type")).startswith("compact_"):
            yield "compact-2026-01-12"
    for message in _objects(body.get("messages")):
        if message.get("role") == "system":
            yield from _needed_by_change(message)


def _needed_by_change(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an instruction in the middle needs for what it changes."""
    if message.get("output_config"):
        yield "mid-conversation-output-config-2026-07-01"
    for block in _objects(message.get("content")):
        if block.get("type") in _CHANGES:
            yield "mid-conversation-tool-changes-2026-07-01"
            if (block.get("tool") or {}).get("type") == "tool_definition":
                yield "inline-tools-2026-09-15"


def _at(body: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at a path of keys; None where there is none."""
    value: Any = body
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _objects(given: Any) -> Iterable[Mapping[str, Any]]:
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else ()
