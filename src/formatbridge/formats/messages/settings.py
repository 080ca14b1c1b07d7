"""Settings of Anthropic Messages: flat settings in a table, and nested settings by functions.

``encode_limit`` is here alone, because only this format requires ``max_tokens``.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

from formatbridge import ir
from formatbridge.formats.messages.content import supported_ttl
from formatbridge.formats.messages.reasoning import SMALLEST_BUDGET
from formatbridge.formats.shared.settings import Ranges, drop_cache_options, drop_setting, encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

SETTINGS = FieldTable(
    {
        "temperature": "temperature",
        "top_p": "top_p",
        "top_k": "top_k",
        "stop": "stop_sequences",
        "max_tokens": "max_tokens",
        "automatic_cache": "cache_control",
    }
)

# Source: the API reference of the version 2023-06-01, Messages: both are from 0 to 1. OpenAI's temperature goes to 2.
RANGES: Ranges = {"temperature": (0.0, 1.0), "top_p": (0.0, 1.0)}

# Source: the official SDK, ``service_tier``. The tier ``fast`` is here the field ``speed``.
TIERS = ValueTable(("auto", "auto"), ("standard", "standard_only"))

_VERSION_WITHOUT_SAMPLING = "2026-10-21"
"""The version of the API without the sampling parameters. Source: the official SDK of 2026-11, ``MessageCreateParams``."""
_SAMPLING = ("temperature", "top_p", "top_k")
_MIN_TOP_P_WITH_THINKING = 0.95
"""The smallest ``top_p`` that the server accepts with thinking. Source: Anthropic's page "Extended thinking"; SEMOSS/Semoss#1655."""
_LONGEST_USER_ID = 256
"""The length of ``metadata.user_id`` in characters. Source: the vendor's reference, Messages, ``metadata.user_id``: "maxLength 256"."""
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_NOT_FLAT = frozenset({"stop", "tier", "user", "safety_identifier", "compact_at", "prompt_cache_options", "automatic_cache"})
_ENCODED = _NOT_FLAT | {"max_tokens", "parallel_tool_calls", "top_k"}
"""Settings that are encoded without the table."""
_ENCODED_WITH_SAMPLING = _ENCODED | {*_SAMPLING}


def decode_nested_settings(body: JsonObject, settings: JsonObject) -> JsonObject | None:
    """Decode the settings that are objects or depend on several fields; return their unread fields."""
    unread: JsonObject = {}
    if "service_tier" in body or "speed" in body:
        _decode_tier(body, settings, unread)
    metadata = body.get("metadata")
    if metadata:
        # ``user_id`` is the only field of ``metadata`` (official SDK, ``MetadataParam``); other formats have labels there.
        if metadata.get("user_id") is not None:
            settings["user"] = metadata["user_id"]
        unread |= read_extra(metadata, frozenset({"user_id"}), "metadata/") or {}
    choice = body.get("tool_choice")
    if choice and isinstance(choice.get("disable_parallel_tool_use"), bool):
        settings["parallel_tool_calls"] = not choice["disable_parallel_tool_use"]
    if body.get("context_management"):
        _decode_context_management(body["context_management"], settings, unread)
    return unread or None


def encode_limit(request: ir.Request, budget: int | None, losses: Ledger, options: Options) -> int:
    """Encode ``max_tokens``, which is required. ``budget``: the tokens for reasoning, which are added to the default."""
    limit, cache = request.settings.get("max_tokens"), request.settings.get("prompt_cache_options")
    # "Set to `0` to populate the prompt cache without generating a response" (official SDK, ``max_tokens``).
    if cache and cache.get("prewarm"):
        if limit is not None:
            losses.dropped(request, "max_tokens", "excluded", severity="info")
        return 0
    if limit is not None:
        return limit
    # ``max_tokens`` is required (official SDK), and "Thinking tokens count toward" it. So the default is added to the budget.
    reserved = max(SMALLEST_BUDGET, budget) if budget else 0
    default: int = losses.added("/max_tokens", options.default_max_tokens + reserved)
    return default


def encode_settings(request: ir.Request, body: JsonObject, is_restricted: bool, losses: Ledger, options: Options) -> None:
    """Encode the settings into a body. ``is_restricted``: the request turns thinking on, for a server that restricts sampling then."""
    settings, encoded = request.settings, _ENCODED_WITH_SAMPLING
    accepts_sampling = options.messages_version < _VERSION_WITHOUT_SAMPLING
    if is_restricted or not accepts_sampling:
        _encode_restricted_sampling(request, body, accepts_sampling, losses)
    else:
        encoded = _ENCODED | _default_sampling(settings) if "top_p" in settings and "temperature" in settings else _ENCODED
        if settings.get("top_k") is not None:
            body["top_k"] = _encode_top_k(request, settings["top_k"], losses)
    encode_flat_settings(request, SETTINGS, body, losses, encoded, RANGES)
    if _NOT_FLAT.isdisjoint(settings):
        return
    if settings.get("automatic_cache"):
        body |= _encode_automatic_cache(request, settings["automatic_cache"], losses)
    if settings.get("stop"):
        body |= _encode_stop(request, settings["stop"], losses)
    if settings.get("tier") is not None:
        body |= _encode_tier(request, settings["tier"], losses)
    body |= _encode_user(request, losses)
    if "compact_at" in settings:
        threshold = settings["compact_at"]
        trigger = {} if threshold is None else {"trigger": {"type": "input_tokens", "value": threshold}}
        body["context_management"] = {"edits": [{"type": "compact_20260112"} | trigger]}
    drop_cache_options(request, losses, kept="prewarm")


def _decode_tier(body: JsonObject, settings: JsonObject, unread: JsonObject) -> None:
    tier, speed = body.get("service_tier"), body.get("speed")
    if speed == "fast":
        settings["tier"] = "fast"
        if tier is not None:
            settings["additional_tier"] = TIERS.canonical.get(tier, tier)
        return
    if speed is not None:
        unread["speed"] = speed
    if tier is not None:
        settings["tier"] = TIERS.canonical.get(tier, tier)


def _encode_tier(request: ir.Request, tier: str, losses: Ledger) -> JsonObject:
    if tier in TIERS.wire:
        return {"service_tier": TIERS.wire[tier]}
    # ``auto`` uses the priority tier if the account has one (official SDK, ``service_tier``).
    if tier == "priority":
        return {"service_tier": losses.changed(request, "tier", "auto")}
    if tier in ("fast", "ultrafast"):
        fast: JsonObject = losses.changed(request, "tier", {"speed": "fast"})
        return fast
    losses.dropped(request, "tier")
    return {}


def _decode_context_management(raw: JsonObject, settings: JsonObject, unread: JsonObject) -> None:
    """Decode the threshold of compaction. No other format has the other edits."""
    unread |= read_extra(raw, frozenset({"edits"}), "context_management/") or {}
    for index, edit in enumerate(raw.get("edits") or ()):
        pointer = f"context_management/edits/{index}"
        # Responses has the same setting as ``compact_threshold``. The other edits of this format have no counterpart.
        trigger = (edit.get("trigger") or {}) if edit.get("type") == "compact_20260112" else None
        if trigger is None or "compact_at" in settings or trigger.get("type") not in (None, "input_tokens"):
            unread[pointer] = edit
            continue
        settings["compact_at"] = trigger.get("value")
        unread |= read_extra(edit, frozenset({"type", "trigger"}), f"{pointer}/") or {}
        unread |= read_extra(trigger, frozenset({"type", "value"}), f"{pointer}/trigger/") or {}


def _encode_top_k(request: ir.Request, top_k: float, losses: Ledger) -> int:
    # ``top_k`` is an integer here (API reference of 2023-06-01). Google's SDK has a float (``GenerateContentConfig.top_k``).
    integer = int(top_k)
    if integer != top_k:
        losses.changed(request, "top_k", integer, "out_of_range")
    return integer


def _encode_restricted_sampling(request: ir.Request, body: JsonObject, accepts_sampling: bool, losses: Ledger) -> None:
    """Encode the sampling parameters that the server accepts with thinking: only ``top_p`` from 0.95 to 1. Some versions accept none.

    "`temperature` may only be set to 1 when thinking is enabled" (MartialBE/one-hub#529). 1 is the default and is left out, because some
    models reject requests with both parameters.
    """
    for name in _SAMPLING:
        value: Any = request.settings.get(name)
        if value is None or (accepts_sampling and name == "temperature" and value == 1):
            continue
        if not accepts_sampling:
            drop_setting(request, name, value, losses)
        elif name == "top_p" and _MIN_TOP_P_WITH_THINKING <= value <= 1:
            body[name] = value
        else:
            losses.dropped(request, name, "with_reasoning")


def _default_sampling(settings: ir.Settings) -> frozenset[str]:
    """Return ``temperature`` or ``top_p`` if it is the default and the request has the other, too.

    Newer models reject requests with both parameters (BerriAI/litellm#15097, open-webui/pipelines#546). 1 is the default of each.
    """
    temperature, top_p = settings.get("temperature"), settings.get("top_p")
    if top_p == 1 and temperature is not None:
        return frozenset({"top_p"})
    return frozenset({"temperature"}) if temperature == 1 and top_p is not None else frozenset()


def _encode_stop(request: ir.Request, stop: list[str], losses: Ledger) -> JsonObject:
    # The server rejects others: "each stop sequence must contain non-whitespace" (BerriAI/litellm#3286).
    kept = [text for text in stop if text.strip()]
    if len(kept) < len(stop):
        losses.changed(request, "stop", kept, "out_of_range")
    return {"stop_sequences": kept} if kept else {}


def _encode_automatic_cache(request: ir.Request, mark: JsonObject, losses: Ledger) -> JsonObject:
    """Encode the automatic cache mark of the request. A duration that this format lacks becomes the next longer one."""
    ttl = supported_ttl(mark.get("ttl"))
    if ttl != mark.get("ttl"):
        mark = mark | {"ttl": losses.changed(request, "automatic_cache/ttl", ttl, severity="info")}
    return {"cache_control": {"type": "ephemeral"} | mark}


def _encode_user(request: ir.Request, losses: Ledger) -> JsonObject:
    """Encode the id of the end user. If there are two, the safety identifier is used.

    An email address and an id that is too long become a hash, so that end users stay distinct.
    """
    user, safety = request.settings.get("user"), request.settings.get("safety_identifier")
    if user is not None and safety is not None and user != safety:
        losses.dropped(request, "user", severity="info")
    # OpenAI replaces ``user`` by ``safety_identifier`` (official SDK of OpenAI, ``user``), so the newer field is valid.
    name, user_id = ("user", user) if safety is None else ("safety_identifier", safety)
    if user_id is None:
        return {}
    # "user_id appears to contain an email address. Please send a uuid or hash value instead" (BerriAI/litellm#10106).
    code = "email_address" if _EMAIL.search(user_id) else "out_of_range" if len(user_id) > _LONGEST_USER_ID else None
    if code is not None:
        hashed = sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()
        user_id = losses.changed(request, name, hashed, code, severity="info")
    return {"metadata": {"user_id": user_id}}
