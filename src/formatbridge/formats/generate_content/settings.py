"""Settings of a request: flat ones by table, those with a shape of their own by function."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.reasoning import word_of
from formatbridge.formats.shared.settings import drop_cache_options, drop_setting, encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
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

TIERS = ValueTable(("standard", "standard"), ("flex", "flex"), ("priority", "priority"))

_MOST_STOPS = 5
_LARGEST_SEED = 2**31 - 1
"""The server takes signed integers of 32 bits. Source: the vendor's discovery document, v1beta, ``GenerationConfig.seed``."""
_DONE = frozenset({
    "stop", "max_tokens", "modalities", "metadata", "tier", "additional_tier", "prompt_cache_options", "parallel_tool_calls",
})  # fmt: skip


def decode_shaped_settings(body: JsonObject, settings: JsonObject) -> JsonObject | None:
    """Read the settings that stand beside ``generationConfig``; return what has no canonical name, by pointer."""
    leftover: JsonObject | None = None
    if body.get("labels"):
        settings["metadata"] = body["labels"]
    if body.get("serviceTier") is not None:
        tier = word_of(body["serviceTier"], ("UNSPECIFIED",)).removeprefix("SERVICE_TIER_").lower()
        if tier in TIERS.canonical:
            settings["tier"] = TIERS.canonical[tier]
        elif tier not in ("", "unspecified"):
            leftover = {"serviceTier": body["serviceTier"]}
    return leftover


def encode_settings(request: ir.Request, config: JsonObject, losses: Ledger) -> None:
    """Write the settings into ``generationConfig``, all but those that stand beside it."""
    settings = request.settings
    encode_flat_settings(request, SETTINGS, config, losses, _DONE)
    if "seed" in config and not -_LARGEST_SEED - 1 <= config["seed"] <= _LARGEST_SEED:
        del config["seed"]  # the nearest one is as good as none
        losses.dropped(request, "seed", "out_of_range")
    if "prompt_cache_options" in settings:
        drop_cache_options(request, losses)
    limit, stop = settings.get("max_tokens"), settings.get("stop")
    if limit == 0:
        losses.dropped(request, "max_tokens", "out_of_range", severity="impossible")
    elif limit is not None:
        config["maxOutputTokens"] = limit
    if stop:
        config["stopSequences"] = (
            stop if len(stop) <= _MOST_STOPS else losses.changed(request, "stop", stop[:_MOST_STOPS], "too_many")
        )


def encode_settings_beside(request: ir.Request, body: JsonObject, losses: Ledger) -> None:
    """Write the settings that stand beside ``generationConfig`` into a body.

    Metadata has no place: the vendor's Developer API refuses ``labels``, which only its Vertex API has.
    """
    settings = request.settings
    if settings.get("metadata"):
        losses.dropped(request, "metadata", severity="info")
    if "tier" in settings:
        body |= _encode_tier(request, losses)


def _encode_tier(request: ir.Request, losses: Ledger) -> JsonObject:
    """Write the tier; where it is a speed that nobody has here, the one beside that."""
    made: JsonObject = {}
    settings = request.settings
    for name, tier in (("tier", settings.get("tier")), ("additional_tier", settings.get("additional_tier"))):
        word = TIERS.wire.get(tier) if tier is not None and not made else None
        if word is not None:
            made["serviceTier"] = word
        elif tier is not None:
            drop_setting(request, name, tier, losses)
    return made
