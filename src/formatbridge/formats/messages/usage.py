"""Usage of Anthropic Messages.

``input_tokens`` excludes the tokens that are read from or written to the cache. The canonical ``input`` includes them.
Source: the official SDK, ``Message.usage``.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.formats.shared.usage import join_ttls
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_USAGE = frozenset({
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "output_tokens_details",
    "server_tool_use",
})  # fmt: skip
_COUNTS = frozenset({"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"})
_OUTPUT_DETAILS = frozenset({"thinking_tokens"})
_TTLS = {"5m": "ephemeral_5m_input_tokens", "1h": "ephemeral_1h_input_tokens"}
_SERVER_TOOLS = {"web_search": "web_search_requests", "web_fetch": "web_fetch_requests"}


def decode_usage(raw: JsonObject, src: str) -> ir.Usage:
    """Decode ``usage``."""
    read, written = raw.get("cache_read_input_tokens"), raw.get("cache_creation_input_tokens")
    usage = ir.Usage(0, raw.get("output_tokens") or 0, None, read, None, None, src)
    if not _COUNTS.issuperset(raw):
        usage.extra = read_extra(raw, _USAGE)
        _decode_details(raw, usage)
    # Without the sum, the counts by duration add up to it.
    if written is None and usage.cache_write_ttl:
        written = sum(usage.cache_write_ttl.values())
    usage.cache_write = written
    # Here ``input_tokens`` excludes both counts of the cache; see the docstring of the module.
    usage.input = (raw.get("input_tokens") or 0) + (read or 0) + (written or 0)
    return usage


def _decode_details(raw: JsonObject, usage: ir.Usage) -> None:
    """Decode the cached tokens by duration, the tokens of thinking and the number of server tool calls."""
    by_ttl, output, tools = raw.get("cache_creation"), raw.get("output_tokens_details"), raw.get("server_tool_use")
    if by_ttl:
        usage.cache_write_ttl = {ttl: by_ttl[name] for ttl, name in _TTLS.items() if by_ttl.get(name) is not None} or None
        usage.extra = merge_extra(usage.extra, read_extra(by_ttl, frozenset(_TTLS.values()), "cache_creation/"))
    if output:
        usage.reasoning = output.get("thinking_tokens")
        usage.extra = merge_extra(usage.extra, read_extra(output, _OUTPUT_DETAILS, "output_tokens_details/"))
    if tools:
        counts = {family: tools[name] for family, name in _SERVER_TOOLS.items() if tools.get(name) is not None}
        usage.server_tools = counts or None
        usage.extra = merge_extra(usage.extra, read_extra(tools, frozenset(_SERVER_TOOLS.values()), "server_tool_use/"))


def encode_usage(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Encode ``usage``. The counts of the cache are always present, other details only if the source has them."""
    drop_unheld_in_answer(usage, losses)
    if usage.total is not None and usage.total != usage.input + usage.output:
        losses.dropped(usage, "total", "accounting")
    # "Total input tokens in a request is the summation of" the three counts (official SDK, ``Message.usage``).
    read, written = usage.cache_read or 0, usage.cache_write or 0
    # Azure counts cached tokens of Grok outside the input (recorded traffic), which makes the difference negative.
    uncached = usage.input - read - written
    body: JsonObject = {
        "input_tokens": uncached if uncached >= 0 else losses.weakened(usage, "input", 0, "accounting"),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": usage.output,
    }
    if usage.reasoning is not None:
        body["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    if usage.cache_write_ttl or usage.server_tools:
        body |= _encode_details(usage, losses)
    return body


def _encode_details(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Encode the cached tokens by duration and the number of server tool calls."""
    body: JsonObject = {}
    by_ttl, counts = usage.cache_write_ttl or {}, usage.server_tools or {}
    # Responses counts 30m and 12h, which have no field here.
    if by_ttl and by_ttl.keys() <= _TTLS.keys():
        body["cache_creation"] = {name: by_ttl.get(ttl, 0) for ttl, name in _TTLS.items()}
    else:
        join_ttls(usage, usage.cache_write, losses)
    if counts and counts.keys() <= _SERVER_TOOLS.keys():
        body["server_tool_use"] = {name: counts.get(family, 0) for family, name in _SERVER_TOOLS.items()}
    elif any(counts.values()):
        losses.dropped(usage, "server_tools", "accounting")
    return body
