"""Beta headers that Anthropic's server requires for some fields of a request.

Without the header the server rejects the field (Wei-Shaw/sub2api#2833). An application written for another format does not send such
headers. The names are those of ``AnthropicBetaParam`` in anthropic 2.13. Anthropic's documentation of each feature names its fields.
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
"""Fields of the body, and the beta that each needs."""
_TOOLS = {
    "advisor_20260301": "advisor-tool-2026-03-01",
    "computer_20241022": "computer-use-2024-10-22",
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
}
"""Types of tools, and the beta that each needs. ``computer_toolset_20260801`` needs none: it is among the stable types of the SDK."""
_NESTED = {
    ("diagnostics",): "cache-diagnosis-2026-04-07",
    ("thinking", "block_binding"): "thinking-binding-controls-2026-08-01",
    ("output_config", "task_budget"): "task-budgets-2026-03-13",
}
"""Paths of objects, and the beta that each needs. An empty object needs it too: it selects all defaults."""
_CHANGES = frozenset({"tool_addition", "tool_removal"})
"""Types of blocks of a system message that change the tools."""


def with_betas(headers: Mapping[str, str], body: Mapping[str, Any]) -> dict[str, str]:
    """Return headers with the betas that a body needs. A beta that the headers contain, in any version, is not added."""
    names = [beta.strip() for beta in headers.get(HEADER, "").split(",") if beta.strip()]
    known = {_name_without_date(beta) for beta in names}
    missing = [beta for beta in dict.fromkeys(_required_betas(body)) if _name_without_date(beta) not in known]
    return {**headers, HEADER: ",".join([*names, *missing])} if missing else dict(headers)


def _name_without_date(beta: str) -> str:
    """Return the name of a beta without its date."""
    return beta.rsplit("-", 3)[0]


def _required_betas(body: Mapping[str, Any]) -> Iterator[str]:
    for name, beta in _FIELDS.items():
        if body.get(name):
            yield beta
    yield from (beta for path, beta in _NESTED.items() if isinstance(_value_at(body, path), dict))
    for tool in _objects(body.get("tools")):
        if needed := _TOOLS.get(str(tool.get("type"))):
            yield needed
    for edit in _objects((body.get("context_management") or {}).get("edits")):
        if str(edit.get("type")).startswith("compact_"):
            yield "compact-2026-01-12"
    for message in _objects(body.get("messages")):
        if message.get("role") == "system":
            yield from _betas_of_system_message(message)


def _betas_of_system_message(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the betas for the changes in a system message in the middle of a conversation."""
    if message.get("output_config"):
        yield "mid-conversation-output-config-2026-07-01"
    for block in _objects(message.get("content")):
        if block.get("type") in _CHANGES:
            yield "mid-conversation-tool-changes-2026-07-01"
            if (block.get("tool") or {}).get("type") == "tool_definition":
                yield "inline-tools-2026-09-15"


def _value_at(body: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value at a path of keys; None if there is none."""
    value: Any = body
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _objects(value: Any) -> Iterable[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else ()
