"""The steps of JSON pointers (RFC 6901)."""

from __future__ import annotations


def escape(key: str) -> str:
    """Write a key as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def unescape(step: str) -> str:
    """Read one step of a JSON pointer back as a key."""
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step
