"""Settings of a request: flat ones by table, those with a shape of their own by function."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats.shared.settings import drop_setting, encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
from formatbridge.formats.shared.unmodelled_fields import joined
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

SETTINGS = FieldTable(
    {
        "temperature": "temperature",
        "top_p": "top_p",
        "seed": "seed",
        "presence_penalty": "presence_penalty",
        "frequency_penalty": "frequency_penalty",
        "logprobs": "logprobs",
        "top_logprobs": "top_logprobs",
        "n": "n",
        "max_tokens": "max_completion_tokens",
        "parallel_tool_calls": "parallel_tool_calls",
        "user": "user",
        "safety_identifier": "safety_identifier",
        "metadata": "metadata",
        "verbosity": "verbosity",
        "store": "store",
        "moderation": "moderation",
        "prompt_cache_key": "prompt_cache_key",
        "prompt_cache_options": "prompt_cache_options",
        "prompt_cache_retention": "prompt_cache_retention",
    }
)

OTHER_NAMES = {"random_seed": "seed", "top_k": "top_k"}
"""Names that other servers of this format have for flat settings, to the canonical ones; they are read, never written."""

TIERS = ValueTable(
    ("auto", "auto"),
    ("standard", "default"),
    ("flex", "flex"),
    ("scale", "scale"),
    ("priority", "priority"),
    ("fast", "fast"),
)

_SHAPED = frozenset({"stop", "tier", "stream_options", "prompt_cache_options"})
_DONE = _SHAPED | {"modalities", "usage_in_stream", "max_tokens", "parallel_tool_calls"}
_MOST_STOPS = 4
_OBFUSCATION = "include_obfuscation"


def decode_shaped_settings(body: JsonObject, settings: JsonObject) -> JsonObject | None:
    """Read the settings that are more than a name and a value; return what has no canonical name, by pointer."""
    leftover: JsonObject | None = None
    limit = body.get("max_tokens")
    if limit is not None:
        if "max_tokens" in settings:
            leftover = {"max_tokens": limit} if limit != settings["max_tokens"] else None
        else:
            settings["max_tokens"] = limit
    for wire, name in OTHER_NAMES.items():
        value = body.get(wire)
        if value is not None and settings.setdefault(name, value) != value:
            leftover = joined(leftover, {wire: value})
    stop = body.get("stop")
    if stop:
        settings["stop"] = [stop] if isinstance(stop, str) else stop
    tier = body.get("service_tier")
    if tier:
        settings["tier"] = TIERS.canonical.get(tier, tier)
    told = (("modalities", "modalities"), ("automatic_cache", "cache_control"))
    settings |= {name: body[wire] for name, wire in told if body.get(wire)}
    options = body.get("stream_options")
    if options:
        _decode_stream_options(options, settings)
    return leftover


def decode_counted_logprobs(settings: Any) -> None:
    """Read ``logprobs`` where it is a number: how many alternatives to tell for each token."""
    count = settings["logprobs"]
    settings["logprobs"] = count > 0
    if count:
        settings.setdefault("top_logprobs", count)


def _decode_stream_options(options: JsonObject, settings: JsonObject) -> None:
    """Read how an answer is to come as a stream; what is not said, or null, is no wish."""
    usage = options.get("include_usage")
    if usage is not None:
        settings["usage_in_stream"] = bool(usage)
    others = {key: value for key, value in options.items() if key != "include_usage" and value is not None}
    if others:
        settings["stream_options"] = others


def encode_settings(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Write the settings into a body."""
    settings = request.settings
    encode_flat_settings(request, SETTINGS, body, losses, _DONE)
    limit = settings.get("max_tokens")
    if limit == 0:
        losses.dropped(request, "max_tokens", "out_of_range", severity="impossible")
    elif limit is not None:
        body["max_completion_tokens"] = limit
    if _SHAPED.isdisjoint(settings):
        return
    stop = settings.get("stop")
    if stop:
        body["stop"] = stop if len(stop) <= _MOST_STOPS else losses.changed(request, "stop", stop[:_MOST_STOPS], "too_many")
    tier = settings.get("tier")
    if tier is not None:
        body |= _encode_tier(request, tier, losses)
    cache = settings.get("prompt_cache_options")
    if cache:
        body |= _encode_cache_options(request, cache, losses)
    if "stream_options" in settings:
        _note_stream_options(request, settings["stream_options"], losses)


def encode_streaming(request: ir.Request, losses: Ledger) -> JsonObject:
    """Write that the answer comes as a stream, and how."""
    options: JsonObject = {"include_usage": losses.added("/stream_options/include_usage", True, "the source always reports usage")}
    flag = request.settings.get("stream_options", {}).get(_OBFUSCATION)
    return {"stream": True, "stream_options": options if flag is None else options | {_OBFUSCATION: flag}}


def _note_stream_options(request: ir.Request, options: JsonObject, losses: Ledger) -> None:
    """Note the options of streams that stay behind: those of others, and all where nothing is streamed, for the server refuses them."""
    for key, value in options.items():
        if key != _OBFUSCATION:
            drop_setting(request, "stream_options", {key: value}, losses)
        elif not request.stream:
            losses.dropped(request, f"stream_options.{key}", "excluded", severity="info")


def _encode_tier(request: ir.Request, tier: str, losses: Ledger) -> JsonObject:
    word = TIERS.wire.get(tier)
    if word is None and tier == "ultrafast":
        word = losses.changed(request, "tier", "fast")
    if word is None:
        losses.dropped(request, "tier")
        return {}
    return {"service_tier": word}


def _encode_cache_options(request: ir.Request, cache: JsonObject, losses: Ledger) -> JsonObject:
    made = {key: cache[key] for key in ("mode", "ttl") if cache.get(key) is not None}
    if made.get("ttl") == "12h":
        made["ttl"] = losses.changed(request, "prompt_cache_options.ttl", "30m", severity="info")
    if cache.get("prewarm"):
        losses.dropped(request, "prompt_cache_options.prewarm", severity="impossible")
    for key in sorted(cache.keys() - {"mode", "ttl", "prewarm"}):
        losses.dropped(request, f"prompt_cache_options.{key}", severity="info")
    return {"prompt_cache_options": made} if made else {}
