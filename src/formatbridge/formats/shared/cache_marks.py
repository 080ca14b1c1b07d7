"""Decode and encode cache marks: OpenAI's ``prompt_cache_breakpoint``, and Anthropic's ``cache_control``.

Many servers read the latter: ``docs/dialects.md``, ``cache_marks``.
"""

from __future__ import annotations

from collections.abc import Iterable

from formatbridge import ir
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_BREAKPOINT, _CONTROL = "prompt_cache_breakpoint", "cache_control"

_KNOWN = {_BREAKPOINT: frozenset({"ttl"}), _CONTROL: frozenset({"type", "ttl"})}
"""The fields that are cache marks, in the order of their priority, and the keys that the decoder reads in each."""

# Source: the official SDK, ``PromptCacheBreakpoint.ttl`` ("The minimum lifetime"): 30m or 12h. A longer duration keeps the effect.
_BREAKPOINT_TTLS = {"5m": "30m", "1h": "12h"}
"""Cache durations of Anthropic (its SDK, ``CacheControlEphemeral.ttl``) to the next longer ones of OpenAI. Others stay."""


def decode_cache(raw: JsonObject, src: str, names: Iterable[str] = tuple(_KNOWN)) -> ir.CacheMark | None:
    """Decode the cache mark of a part, a message or a tool. If it has both, OpenAI's is valid."""
    # Both mark the same position (fixtures cache_control and cache_marks_borrowed).
    for name in names:
        mark = raw.get(name)
        if mark and isinstance(mark, dict) and isinstance(mark.get("ttl"), str | None):
            return ir.CacheMark(ttl=mark.get("ttl"), src=f"{src}/{name}", extra=read_extra(mark, _KNOWN[name]))
    return None


def encode_cache_breakpoint(mark: ir.CacheMark, losses: Ledger) -> JsonObject:
    """Encode a cache mark as OpenAI's field."""
    ttl = None if mark.ttl is None else _BREAKPOINT_TTLS.get(mark.ttl, mark.ttl)
    return {_BREAKPOINT: {"mode": "explicit"} | _encode_ttl(mark, ttl, losses)}


def decode_cache_control(raw: JsonObject, src: str) -> ir.CacheMark | None:
    """Decode the cache mark of Anthropic alone."""
    return decode_cache(raw, src, (_CONTROL,)) if _CONTROL in raw else None


def encode_cache_control(mark: ir.CacheMark, ttl: str | None, losses: Ledger) -> JsonObject:
    """Encode a cache mark as Anthropic's field. ``ttl``: the duration that the server has in place of that of the mark."""
    # ``type`` is required and has one value (official SDK of Anthropic, ``CacheControlEphemeralParam``).
    return {_CONTROL: {"type": "ephemeral"} | _encode_ttl(mark, ttl, losses)}


def _encode_ttl(mark: ir.CacheMark, ttl: str | None, losses: Ledger) -> JsonObject:
    """Encode the duration of a cache mark; without one, no field."""
    losses.changed(mark, "ttl", ttl, severity="info")
    return {"ttl": ttl} if ttl else {}
