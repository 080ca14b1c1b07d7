"""JSON in a layout for diffs: short values on one line, keys in their order."""

from __future__ import annotations

import json
from typing import Any

_WIDTH = 160


def layout(value: Any, indent: str = "", used: int = 0) -> str:
    """Write a JSON value; ``used``: characters that its first line has already. A container at the top always has several lines."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (indent and len(indent) + used + len(flat) <= _WIDTH):
        return flat
    inner = f"{indent}  "
    if isinstance(value, dict):
        names = [(json.dumps(key, ensure_ascii=False), item) for key, item in value.items()]
        rows = [f"{inner}{name}: {layout(item, inner, len(name) + 3)}" for name, item in names]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{inner}{layout(item, inner, 1)}" for item in value) + f"\n{indent}]"
