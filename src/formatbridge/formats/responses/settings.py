"""Settings of Responses requests: a table of flat settings, and functions for the others."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.shared.settings import drop_setting, encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.ledger import Ledger

SETTINGS = FieldTable(
    {
        "temperature": "temperature",
        "top_p": "top_p",
        "top_logprobs": "top_logprobs",
        "max_tokens": "max_output_tokens",
        "parallel_tool_calls": "parallel_tool_calls",
        "user": "user",
        "safety_identifier": "safety_identifier",
        "metadata": "metadata",
        "store": "store",
        "moderation": "moderation",
        "prompt_cache_key": "prompt_cache_key",
        "prompt_cache_retention": "prompt_cache_retention",
    }
)

# Source: the official SDK, ``ResponseCreateParams.service_tier``; the canonical ``standard`` is ``default`` here.
TIERS = ValueTable(
    ("auto", "auto"), ("standard", "default"), ("flex", "flex"), ("scale", "scale"), ("priority", "priority"), ("fast", "fast"),
    ("ultrafast", "ultrafast"),
)  # fmt: skip

OTHER_FIELDS = {
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "seed": "seed",
    "top_k": "top_k",
    "cache_control": "automatic_cache",
}
"""Canonical names of settings, by fields that only compatible servers have. The servers that read them: ``docs/dialects.md``."""

FIELDS = frozenset({
    "service_tier", "text", "prompt_cache_options", "context_management", "include", "stream_options", "stop", *OTHER_FIELDS,
})  # fmt: skip
"""Request fields that are not flat settings."""

_NOT_FLAT = frozenset({
    "tier", "verbosity", "prompt_cache_options", "compact_at", "logprobs", "stream_options", "max_tokens", "store", "parallel_tool_calls",
})  # fmt: skip
"""Canonical settings that ``SETTINGS`` does not encode; ``parallel_tool_calls`` and ``store`` are encoded in ``request``."""

LOGPROBS = "message.output_text.logprobs"
"""The value of ``include`` that requests log probabilities."""
ENCRYPTED_CONTENT = "reasoning.encrypted_content"
"""The value of ``include`` that requests the encrypted content of reasoning."""
_MIN_OUTPUT_TOKENS = 16
"""The server of OpenAI rejects a lower limit with ``integer_below_min_value`` (braintrustdata/lingua#186)."""
_CACHE = ("mode", "ttl", "comparison_response_id")


def decode_nested_settings(body: JsonObject, settings: JsonObject) -> JsonObject | None:
    """Decode the settings that are not flat; return the unmodelled fields, by pointer."""
    if FIELDS.isdisjoint(body):
        return None
    # {"service_tier": "default", "text": {"verbosity": "low"}, "include": ["message.output_text.logprobs"],
    #  "context_management": [{"type": "compaction", "compact_threshold": 200000}], "prompt_cache_options": {"ttl": "30m"}}
    tier, text = body.get("service_tier"), body.get("text") or {}
    if tier is not None:
        settings["tier"] = TIERS.canonical.get(tier, tier)
    if text.get("verbosity") is not None:
        settings["verbosity"] = text["verbosity"]
    settings |= {name: body[field] for field, name in OTHER_FIELDS.items() if body.get(field) is not None}
    if stop := body.get("stop"):
        settings["stop"] = [stop] if isinstance(stop, str) else stop
    options = {key: value for key, value in (body.get("stream_options") or {}).items() if value is not None}
    if options:
        settings["stream_options"] = options
    return merge_extra(
        read_extra(text, frozenset({"format", "verbosity"}), "text/"),
        _decode_cache_options(body.get("prompt_cache_options"), settings),
        _decode_include(body.get("include"), settings),
        _decode_compaction(body.get("context_management"), settings),
    )


def encode_settings(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Encode the settings into a request body."""
    settings = request.settings
    encode_flat_settings(request, SETTINGS, body, losses, _NOT_FLAT)
    if _NOT_FLAT.isdisjoint(settings):
        return
    limit, tier = settings.get("max_tokens"), settings.get("tier")
    # A limit of 0 is the request of Anthropic Messages to fill the cache (its SDK, ``max_tokens``), which is ``prewarm`` here.
    if limit:
        # For a server with another minimum, the limit has been raised before.
        has_minimum = losses.dialect is None or losses.dialect.smallest_max_tokens is None
        body["max_output_tokens"] = _raise_limit(request, losses) if has_minimum and limit < _MIN_OUTPUT_TOKENS else limit
    if tier is not None:
        body |= _encode_tier(request, tier, losses)
    if limit == 0 or settings.get("prompt_cache_options"):
        body |= _encode_cache_options(request, losses)
    if settings.get("logprobs"):
        body |= _encode_logprobs(request, losses)
    # Anthropic's edit may have no threshold either: the server then has a default (its SDK, ``BetaCompact20260112EditParam``).
    if "compact_at" in settings:
        limit = settings["compact_at"]
        body["context_management"] = [{"type": "compaction"} | ({"compact_threshold": limit} if limit else {})]
    options = settings.get("stream_options")
    if options:
        body |= _encode_stream_options(request, options, losses)


def _encode_logprobs(request: ir.Request, losses: Ledger) -> JsonObject:
    """Encode the request for log probabilities: a value of ``include`` (official SDK), or a flag for servers that have one."""
    rules = losses.dialect
    if rules is not None and rules.has_logprobs_flag:
        flag: JsonObject = {"logprobs": True}
        if request.format == "responses":
            losses.weakened(request, "logprobs", flag, "unsupported_by_server", severity="info")
        return flag
    if rules is not None and rules.includes is not None and LOGPROBS not in rules.includes:
        number = request.settings.get("top_logprobs")  # the server has the number only
        if number:
            losses.changed(request, "logprobs", {"top_logprobs": number}, "unsupported_by_server", severity="info")
        else:
            losses.dropped(request, "logprobs", "rejected_by_server")
        return {}
    return {"include": [LOGPROBS]}


def _decode_include(raw: list[str] | None, settings: JsonObject) -> JsonObject | None:
    """Decode ``include``. Other formats always return reasoning tokens, so that value is not kept."""
    unread: JsonObject = {}
    for index, value in enumerate(raw or ()):
        if value == LOGPROBS:
            settings["logprobs"] = True
        elif value != ENCRYPTED_CONTENT:
            unread[f"include/{index}"] = value
    return unread or None


def _decode_compaction(raw: list[JsonObject] | None, settings: JsonObject) -> JsonObject | None:
    unread: JsonObject = {}
    for index, rule in enumerate(raw or ()):
        if rule["type"] == "compaction" and "compact_at" not in settings:
            settings["compact_at"] = rule.get("compact_threshold")
            unread |= read_extra(rule, frozenset({"type", "compact_threshold"}), f"context_management/{index}/") or {}
        else:
            unread[f"context_management/{index}"] = rule
    return unread or None


def _decode_cache_options(raw: JsonObject | None, settings: JsonObject) -> JsonObject | None:
    """Decode the cache options. In other formats, ``prewarm`` is a limit of 0 output tokens, unless the request has another limit."""
    if not raw:
        return None
    # ``prewarm``: "Prepares the prompt cache without generating output" (official SDK, ``PromptCacheOptions``).
    known = {key: raw[key] for key in _CACHE if raw.get(key) is not None}
    if raw.get("prewarm") and settings.setdefault("max_tokens", 0):
        known["prewarm"] = True
    if known:
        settings["prompt_cache_options"] = known
    return read_extra(raw, frozenset({*_CACHE, "prewarm"}), "prompt_cache_options/")


def _encode_cache_options(request: ir.Request, losses: Ledger) -> JsonObject:
    options = request.settings.get("prompt_cache_options") or {}
    encoded = {key: options[key] for key in ("mode", "ttl") if options.get(key) is not None}
    # ``comparison_response_id`` is an id of the server that stored the response (official SDK, ``PromptCacheOptions``).
    for key in sorted(options.keys() - {"mode", "ttl", "prewarm"}):
        losses.dropped(request, f"prompt_cache_options.{key}", severity="info")
    if options.get("prewarm") or request.settings.get("max_tokens") == 0:
        encoded["prewarm"] = True
    return {"prompt_cache_options": encoded} if encoded else {}


def _raise_limit(request: ir.Request, losses: Ledger) -> JsonValue:
    """Return the lowest limit that the server accepts, with a note; a caller that only checks the connection sends a lower one."""
    return losses.changed(request, "max_tokens", _MIN_OUTPUT_TOKENS, "out_of_range", severity="info")


def _encode_tier(request: ir.Request, tier: str, losses: Ledger) -> JsonObject:
    value = TIERS.wire.get(tier)
    if value is None:
        drop_setting(request, "tier", tier, losses)
        return {}
    return {"service_tier": value}


def _encode_stream_options(request: ir.Request, options: JsonObject, losses: Ledger) -> JsonObject:
    # ``include_usage`` of Chat Completions has no field here, because the last event always has the usage.
    for key in sorted(options.keys() - {"include_obfuscation"}):
        losses.dropped(request, f"stream_options.{key}", severity="info")
    flag = options.get("include_obfuscation")
    return {} if flag is None else {"stream_options": {"include_obfuscation": flag}}
