"""Settings of a messages request: flat ones in a table, and those with a shape of their own."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats.messages.content import nearest_ttl
from formatbridge.formats.shared.settings import Ranges, drop_cache_options, drop_setting, encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
from formatbridge.formats.shared.unmodelled_fields import rest
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

RANGES: Ranges = {"temperature": (0.0, 1.0), "top_p": (0.0, 1.0)}

TIERS = ValueTable(("auto", "auto"), ("standard", "standard_only"))

_WITHOUT_SAMPLING = "2026-10-21"
_SAMPLING = ("temperature", "top_p", "top_k")
_LEAST_TOP_P_THINKING = 0.95
_SHAPED = frozenset({"stop", "tier", "user", "safety_identifier", "compact_at", "prompt_cache_options", "automatic_cache"})
_DONE = _SHAPED | {"max_tokens", "parallel_tool_calls", "top_k"}
_DONE_WITH_SAMPLING = _DONE | {*_SAMPLING}


def decode_shaped_settings(body: JsonObject, settings: JsonObject) -> JsonObject | None:
    """Read the settings that are more than a name and a value; return what is left of those that only partly have a counterpart."""
    left: JsonObject = {}
    if "service_tier" in body or "speed" in body:
        _decode_tier(body, settings, left)
    metadata = body.get("metadata")
    if metadata:
        if metadata.get("user_id") is not None:
            settings["user"] = metadata["user_id"]
        left |= rest(metadata, frozenset({"user_id"}), "metadata/") or {}
    choice = body.get("tool_choice")
    if choice and isinstance(choice.get("disable_parallel_tool_use"), bool):
        settings["parallel_tool_calls"] = not choice["disable_parallel_tool_use"]
    if body.get("context_management"):
        _decode_context_management(body["context_management"], settings, left)
    return left or None


def _decode_tier(body: JsonObject, settings: JsonObject, left: JsonObject) -> None:
    tier, speed = body.get("service_tier"), body.get("speed")
    if speed == "fast":
        settings["tier"] = "fast"
        if tier is not None:
            settings["additional_tier"] = TIERS.canonical.get(tier, tier)
        return
    if speed is not None:
        left["speed"] = speed
    if tier is not None:
        settings["tier"] = TIERS.canonical.get(tier, tier)


def _decode_context_management(raw: JsonObject, settings: JsonObject, left: JsonObject) -> None:
    """Read when to compact; every other edit is this format's own."""
    left |= rest(raw, frozenset({"edits"}), "context_management/") or {}
    for index, edit in enumerate(raw.get("edits") or ()):
        place = f"context_management/edits/{index}"
        trigger = (edit.get("trigger") or {}) if edit.get("type") == "compact_20260112" else None
        if trigger is None or "compact_at" in settings or trigger.get("type") not in (None, "input_tokens"):
            left[place] = edit
            continue
        settings["compact_at"] = trigger.get("value")
        left |= rest(edit, frozenset({"type", "trigger"}), f"{place}/") or {}
        left |= rest(trigger, frozenset({"type", "value"}), f"{place}/trigger/") or {}


def encode_limit(request: ir.Request, budget: int, losses: Ledger, options: Options) -> int:
    """Write the limit of the answer in tokens, which is required. ``budget``: what reasoning needs on top of a default."""
    limit, cache = request.settings.get("max_tokens"), request.settings.get("prompt_cache_options")
    if cache and cache.get("prewarm"):
        if limit is not None:
            losses.dropped(request, "max_tokens", "excluded", severity="info")
        return 0
    if limit is not None:
        return limit
    made: int = losses.added("/max_tokens", options.default_max_tokens + budget)
    return made


def encode_settings(request: ir.Request, body: JsonObject, thinks: bool, losses: Ledger, options: Options) -> None:
    """Write the settings into a body. ``thinks``: the model is to think first."""
    settings, done = request.settings, _DONE_WITH_SAMPLING
    if options.messages_version >= _WITHOUT_SAMPLING:
        _drop_sampling(request, losses)
    elif thinks:
        _encode_sampling_beside_thinking(request, body, losses)
    else:
        done = _DONE
        if settings.get("top_k") is not None:
            body["top_k"] = _encode_top_k(request, settings["top_k"], losses)
    encode_flat_settings(request, SETTINGS, body, losses, done, RANGES)
    if _SHAPED.isdisjoint(settings):
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


def _drop_sampling(request: ir.Request, losses: Ledger) -> None:
    """Note what the dialect of 2023-06-01 has and the newer one refuses."""
    for name in _SAMPLING:
        if name in request.settings:
            drop_setting(request, name, request.settings[name], losses)  # type: ignore[literal-required]  # the three names


def _encode_top_k(request: ir.Request, top_k: float, losses: Ledger) -> int:
    whole = int(top_k)
    if whole != top_k:
        losses.changed(request, "top_k", whole, "out_of_range")
    return whole


def _encode_sampling_beside_thinking(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Write what little the server lets be chosen where the model thinks: ``top_p`` near 1.

    A temperature of 1 is what happens anyway, any other is refused; it is never written, for some models refuse both beside each other.
    """
    for name in _SAMPLING:
        value: Any = request.settings.get(name)
        if value is None or (name == "temperature" and value == 1):
            continue
        if name == "top_p" and _LEAST_TOP_P_THINKING <= value <= 1:
            body[name] = value
        else:
            losses.dropped(request, name, "excluded")


def _encode_stop(request: ir.Request, stop: list[str], losses: Ledger) -> JsonObject:
    kept = [text for text in stop if text.strip()]
    if len(kept) < len(stop):
        losses.changed(request, "stop", kept, "out_of_range")
    return {"stop_sequences": kept} if kept else {}


def _encode_automatic_cache(request: ir.Request, mark: JsonObject, losses: Ledger) -> JsonObject:
    """Write the mark of the whole request; another duration than the format's becomes the next longer one."""
    ttl = nearest_ttl(mark.get("ttl"))
    if ttl != mark.get("ttl"):
        mark = mark | {"ttl": losses.changed(request, "automatic_cache/ttl", ttl, severity="info")}
    return {"cache_control": {"type": "ephemeral"} | mark}


def _encode_tier(request: ir.Request, tier: str, losses: Ledger) -> JsonObject:
    if tier in TIERS.wire:
        return {"service_tier": TIERS.wire[tier]}
    if tier == "priority":
        return {"service_tier": losses.changed(request, "tier", "auto")}
    if tier in ("fast", "ultrafast"):
        fast: JsonObject = losses.changed(request, "tier", {"speed": "fast"})
        return fast
    losses.dropped(request, "tier")
    return {}


def _encode_user(request: ir.Request, losses: Ledger) -> JsonObject:
    """Write who the end user is; of two names for it the safety identifier goes first."""
    user, safety = request.settings.get("user"), request.settings.get("safety_identifier")
    if user is not None and safety is not None and user != safety:
        losses.dropped(request, "user", severity="info")
    name = safety if safety is not None else user
    return {} if name is None else {"metadata": {"user_id": name}}
