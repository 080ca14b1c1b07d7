"""Settings of a Gemini request: flat ones by a table, others by functions.

``encode_top_level_settings`` is here alone, because only here some settings are outside ``generationConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.generate_content.reasoning import enum_name
from formatbridge.formats.shared.settings import drop_cache_options, drop_setting, encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

SETTINGS = FieldTable(
    {
        "temperature": "temperature",
        "top_p": "topP",
        "top_k": "topK",
        "seed": "seed",
        "presence_penalty": "presencePenalty",
        "frequency_penalty": "frequencyPenalty",
        "logprobs": "responseLogprobs",
        "top_logprobs": "logprobs",
        "n": "candidateCount",
        "stop": "stopSequences",
        "max_tokens": "maxOutputTokens",
    }
)
"""Settings in ``generationConfig``."""

# Source: the official SDK, ``ServiceTier``.
TIERS = ValueTable(("standard", "standard"), ("flex", "flex"), ("priority", "priority"))

_MOST_STOPS = 5
"""The server rejects more stop sequences. Source: the vendor's reference, ``GenerationConfig.stopSequences``: "up to 5"."""
_LARGEST_SEED = 2**31 - 1
"""The server takes signed integers of 32 bits. Source: the vendor's discovery document, v1beta, ``GenerationConfig.seed``."""
_NOT_FLAT = frozenset({
    "stop", "max_tokens", "modalities", "metadata", "tier", "additional_tier", "prompt_cache_options", "parallel_tool_calls",
})  # fmt: skip


def decode_nested_settings(body: JsonObject, settings: JsonObject) -> JsonObject | None:
    """Decode the settings outside ``generationConfig``; return the unread fields, by pointer."""
    # {"labels": {"team": "search"}, "serviceTier": "flex"}
    unread: JsonObject | None = None
    if body.get("labels"):
        settings["metadata"] = body["labels"]
    if body.get("serviceTier") is not None:
        tier = enum_name(body["serviceTier"], ("UNSPECIFIED",)).removeprefix("SERVICE_TIER_").lower()
        if tier in TIERS.canonical:
            settings["tier"] = TIERS.canonical[tier]
        elif tier not in ("", "unspecified"):
            unread = {"serviceTier": body["serviceTier"]}
    return unread


def encode_settings(request: ir.Request, config: JsonObject, losses: Ledger) -> None:
    """Encode the settings in ``generationConfig``."""
    settings = request.settings
    encode_flat_settings(request, SETTINGS, config, losses, _NOT_FLAT)
    if "seed" in config and not -_LARGEST_SEED - 1 <= config["seed"] <= _LARGEST_SEED:
        del config["seed"]  # a replacement has no benefit
        losses.dropped(request, "seed", "out_of_range")
    if "prompt_cache_options" in settings:
        drop_cache_options(request, losses)
    limit, stop = settings.get("max_tokens"), settings.get("stop")
    # A limit of 0 only fills the cache in Anthropic Messages (its SDK, ``max_tokens``). Without it, this server would generate an answer.
    if limit == 0:
        losses.dropped(request, "max_tokens", "out_of_range", severity="impossible")
    elif limit is not None:
        config["maxOutputTokens"] = limit
    if stop:
        config["stopSequences"] = (
            stop if len(stop) <= _MOST_STOPS else losses.changed(request, "stop", stop[:_MOST_STOPS], "too_many")
        )


def encode_top_level_settings(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Encode the settings outside ``generationConfig``.

    Metadata is dropped, because the Gemini API rejected ``labels`` (googleapis/python-genai#2296). A dialect may have them, as the Vertex
    API does.
    """
    settings = request.settings
    if settings.get("metadata") and losses.dialect is not None and losses.dialect.accepts_labels:
        body["labels"] = _encode_labels(request, settings["metadata"], losses)
    elif settings.get("metadata"):
        losses.dropped(request, "metadata", severity="info")
    if "tier" in settings or "additional_tier" in settings:
        body |= _encode_tier(request, losses)


def _encode_labels(request: ir.Request, metadata: Mapping[str, str], losses: Ledger) -> JsonObject:
    """Encode metadata as labels. Vertex AI rejects other keys and values.

    Source: cloud.google.com/vertex-ai/generative-ai/docs/multimodal/add-labels-to-api-calls, "Requirements for labels".
    """
    labels: JsonObject = {}
    for key, value in metadata.items():
        if key[:1].isalpha() and _is_label(key) and _is_label(value):
            labels[key] = value
        else:
            losses.dropped(request, f"metadata/{escape(key)}", "rejected_by_server", severity="info")
    return labels


def _is_label(text: str) -> bool:
    """Return whether a text has at most 63 lower-case letters of any script, digits, hyphens and underscores."""
    return len(text) <= 63 and all(char in "-_" or (char.isalnum() and not char.isupper()) for char in text)


def _encode_tier(request: ir.Request, losses: Ledger) -> JsonObject:
    """Encode the service tier; if the format has no such tier, encode the additional one."""
    fields: JsonObject = {}
    settings = request.settings
    for name, tier in (("tier", settings.get("tier")), ("additional_tier", settings.get("additional_tier"))):
        value = TIERS.wire.get(tier) if tier is not None and not fields else None
        if value is not None:
            fields["serviceTier"] = value
        elif tier is not None:
            drop_setting(request, name, tier, losses)
    return fields
