"""Settings of Chat Completions requests. A table maps flat settings, and functions map the others.

``decode_counted_logprobs`` and ``encode_streaming`` are here alone: ``logprobs`` may be a number, and usage in a stream is optional.
"""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats.shared.settings import drop_setting, encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
from formatbridge.formats.shared.unmodelled_fields import merge_extra
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
"""Canonical names of flat settings, by names of compatible servers (fixture sampling_other_names). They are decoded, but never encoded."""

TIERS = ValueTable(
    ("auto", "auto"), ("standard", "default"), ("flex", "flex"), ("scale", "scale"), ("priority", "priority"), ("fast", "fast")
)

_NOT_FLAT = frozenset({"stop", "tier", "stream_options", "prompt_cache_options"})
"""Settings that are neither flat nor encoded with other fields."""
_HANDLED = _NOT_FLAT | {"modalities", "usage_in_stream", "max_tokens", "parallel_tool_calls"}
"""Settings that are encoded here or with other fields, and not by ``encode_flat_settings``."""
_MOST_STOPS = 4
"""The server rejects more stop sequences. Source: the official SDK, ``CompletionCreateParams.stop``: "Up to 4 sequences"."""
_OBFUSCATION = "include_obfuscation"


def decode_nested_settings(body: JsonObject, settings: JsonObject) -> JsonObject | None:
    """Decode the settings that are not flat. Return values that contradict another field, by pointer."""
    unread: JsonObject | None = None
    # ``max_tokens`` is "deprecated in favor of `max_completion_tokens`" (official SDK). With both, the current name is valid.
    limit = body.get("max_tokens")
    if limit is not None:
        if "max_tokens" in settings:
            unread = {"max_tokens": limit} if limit != settings["max_tokens"] else None
        else:
            settings["max_tokens"] = limit
    # ``random_seed`` is a field of Mistral's servers, ``top_k`` one of vLLM's (fixture sampling_other_names).
    for wire, name in OTHER_NAMES.items():
        value = body.get(wire)
        if value is not None and settings.setdefault(name, value) != value:
            unread = merge_extra(unread, {wire: value})
    stop = body.get("stop")
    if stop:
        settings["stop"] = [stop] if isinstance(stop, str) else stop
    tier = body.get("service_tier")
    if tier:
        settings["tier"] = TIERS.canonical.get(tier, tier)
    for name, wire in (("modalities", "modalities"), ("automatic_cache", "cache_control")):
        if body.get(wire):
            settings[name] = body[wire]
    options = body.get("stream_options")
    if options:
        _decode_stream_options(options, settings)
    return unread


def decode_counted_logprobs(settings: Any) -> None:
    """Decode ``logprobs`` if it is a number, which is how many alternatives the response has for each token."""
    count = settings["logprobs"]
    settings["logprobs"] = count > 0
    if count:
        settings.setdefault("top_logprobs", count)


def _decode_stream_options(options: JsonObject, settings: JsonObject) -> None:
    """Decode the options of a stream. Null is the same as no value."""
    usage = options.get("include_usage")
    if usage is not None:
        settings["usage_in_stream"] = bool(usage)
    others = {key: value for key, value in options.items() if key != "include_usage" and value is not None}
    if others:
        settings["stream_options"] = others


def encode_settings(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Encode the settings into a body."""
    settings = request.settings
    encode_flat_settings(request, SETTINGS, body, losses, _HANDLED)
    if "metadata" in body and request.format != "chat_completions":  # a caller of this format gets the error of the server
        _encode_storage(request, body, losses)
    limit = settings.get("max_tokens")
    # 0 fills the cache of Anthropic's server without an answer (official SDK of Anthropic, ``max_tokens``).
    if limit == 0:
        losses.dropped(request, "max_tokens", "out_of_range", severity="impossible")
    elif limit is not None:
        body["max_completion_tokens"] = limit
    if _NOT_FLAT.isdisjoint(settings):
        return
    stop = settings.get("stop")
    if stop:
        body["stop"] = _with_stops_of_server(request, stop, losses)
    tier = settings.get("tier")
    if tier is not None:
        body |= _encode_tier(request, tier, losses)
    cache = settings.get("prompt_cache_options")
    if cache:
        body |= _encode_cache_options(request, cache, losses)
    if "stream_options" in settings:
        _note_stream_options(request, settings["stream_options"], losses)


def _with_stops_of_server(request: ir.Request, stop: list[str], losses: Ledger) -> list[str]:
    """Return the stop sequences that the server accepts. Those beyond the limit of a dialect have been left out before."""
    rules = losses.dialect
    if len(stop) <= _MOST_STOPS or (rules is not None and (rules.most_stops is not None or not rules.limits_stops)):
        return stop
    losses.changed(request, "stop", stop[:_MOST_STOPS], "too_many")
    return stop[:_MOST_STOPS]


def _encode_storage(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Keep metadata only in a request whose response is stored, as the server of Responses does by default.

    "The 'metadata' parameter is only allowed when 'store' is enabled" (spiceai/spiceai#5231, tmc/langchaingo#1484).
    """
    rules = losses.dialect
    if body.get("store") or (rules is not None and "store" in rules.unread):
        return
    if request.format == "responses" and "store" not in request.settings:
        body["store"] = losses.added("/store", True, "the source's server stores by default")
        return
    if body.pop("metadata"):
        losses.dropped(request, "metadata", "not_stored")


def encode_streaming(request: ir.Request, losses: Ledger) -> JsonObject:
    """Encode ``stream`` and its options."""
    # Without this option a stream has no usage (official SDK, ``include_usage``). Streams of all other formats have it.
    options: JsonObject = {"include_usage": losses.added("/stream_options/include_usage", True, "the source always reports usage")}
    flag = request.settings.get("stream_options", {}).get(_OBFUSCATION)
    return {"stream": True, "stream_options": options if flag is None else options | {_OBFUSCATION: flag}}


def _note_stream_options(request: ir.Request, options: JsonObject, losses: Ledger) -> None:
    """Note unknown stream options, and every option of a request without a stream, because the server rejects those."""
    for key, value in options.items():
        if key != _OBFUSCATION:
            drop_setting(request, "stream_options", {key: value}, losses)
        # "The 'stream_options' parameter is only allowed when 'stream' is enabled" (BerriAI/litellm#5803).
        elif not request.stream:
            losses.dropped(request, f"stream_options.{key}", "excluded", severity="info")


def _encode_tier(request: ir.Request, tier: str, losses: Ledger) -> JsonObject:
    value = TIERS.wire.get(tier)
    # Only Responses has this tier (official SDK, ``service_tier`` of both endpoints). The nearest one here is ``fast``.
    if value is None and tier == "ultrafast":
        value = losses.changed(request, "tier", "fast")
    if value is None:
        losses.dropped(request, "tier")
        return {}
    return {"service_tier": value}


def _encode_cache_options(request: ir.Request, cache: JsonObject, losses: Ledger) -> JsonObject:
    encoded = {key: cache[key] for key in ("mode", "ttl") if cache.get(key) is not None}
    # ``30m`` "is currently the only supported value" (official SDK, ``PromptCacheOptions.ttl``). Responses accepts 12h too.
    if encoded.get("ttl") == "12h":
        encoded["ttl"] = losses.changed(request, "prompt_cache_options.ttl", "30m", severity="info")
    if cache.get("prewarm"):
        losses.dropped(request, "prompt_cache_options.prewarm", severity="impossible")
    for key in sorted(cache.keys() - {"mode", "ttl", "prewarm"}):
        losses.dropped(request, f"prompt_cache_options.{key}", severity="info")
    return {"prompt_cache_options": encoded} if encoded else {}
