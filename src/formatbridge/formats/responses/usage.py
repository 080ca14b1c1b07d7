"""Token usage of Responses.

As in the canonical model, the counts include cached tokens and reasoning tokens (official SDK, ``ResponseUsage``).
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.formats.shared.usage import count_reasoning_in, read_count, read_details
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_NAMES = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
_DETAILS = (("input_tokens_details", "prompt_tokens_details"), ("output_tokens_details", "completion_tokens_details"))
# Keys that the decoder reads; it keeps all others in ``extra``, for the report and for the same format.
_USAGE = frozenset({"total_tokens", *(name for pair in _NAMES + _DETAILS for name in pair)})
_INPUT_DETAILS = frozenset({
    "cached_tokens", "cache_write_tokens", "cache_write_tokens_details", "text_tokens", "audio_tokens", "image_tokens",
})  # fmt: skip
_OUTPUT_DETAILS = frozenset({"reasoning_tokens", "text_tokens", "audio_tokens", "image_tokens"})
ALIASES = (
    *(alias for _, alias in _NAMES),
    *(f"{_DETAILS[0][1]}/{name}" for name in _INPUT_DETAILS), *(f"{_DETAILS[1][1]}/{name}" for name in _OUTPUT_DETAILS),
)  # fmt: skip
"""Pointers of the alternative names, whose counts may differ from those of OpenAI's names."""
# The fields of the official SDK's ``ResponseUsage``. Most responses have no others.
_OFFICIAL = frozenset({"total_tokens", "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"})
_OFFICIAL_INPUT = frozenset({"cached_tokens", "cache_write_tokens"})
_OFFICIAL_OUTPUT = frozenset({"reasoning_tokens"})
# The durations of ``prompt_cache_options.ttl`` (official SDK, ``PromptCacheOptions``); Anthropic's are 5m and 1h.
_TTLS = {"30m": "ttl_30m_tokens", "12h": "ttl_12h_tokens"}


def decode_usage(raw: JsonObject, src: str) -> ir.Usage:
    """Decode the usage under the names of Responses or Chat Completions; of two counts, the first that is not zero is used."""
    # {"input_tokens": 20, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    #  "output_tokens": 8, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 28}
    input_details, output_details = raw.get("input_tokens_details") or {}, raw.get("output_tokens_details") or {}
    if _OFFICIAL.issuperset(raw) and _OFFICIAL_INPUT.issuperset(input_details) and _OFFICIAL_OUTPUT.issuperset(output_details):
        # All names are official, so ``_decode_any`` would return the same.
        cache_write, reasoning = input_details.get("cache_write_tokens"), output_details.get("reasoning_tokens")
        total, cache_read = raw.get("total_tokens") or None, input_details.get("cached_tokens")
        usage = ir.Usage(
            raw.get("input_tokens") or 0, raw.get("output_tokens") or 0, total, cache_read, cache_write, reasoning, src
        )
    else:
        usage = _decode_any(raw, src)
    # Relays rename the counts of servers that count reasoning separately (fixture ``usage_reasoning_next_to_output``).
    if usage.reasoning:
        count_reasoning_in(usage)
    return usage


def _decode_any(raw: JsonObject, src: str) -> ir.Usage:
    unread: JsonObject = {}
    # Relays also answer with the names of Chat Completions (fixture usage_chat_names).
    (input_tokens, output_tokens) = (read_count(raw, names, unread) or 0 for names in _NAMES)
    input_path, input_details = read_details(raw, *_DETAILS[0], "cached_tokens", unread)
    output_path, output_details = read_details(raw, *_DETAILS[1], "reasoning_tokens", unread)
    # The counts by retention are in openai-python, InputTokensDetailsCacheWriteTokensDetails; both are optional here.
    write_details = input_details.get("cache_write_tokens_details") or {}
    ttls = {label: write_details[key] for label, key in _TTLS.items() if write_details.get(key) is not None}
    cache_write = input_details.get("cache_write_tokens")
    return ir.Usage(
        input=input_tokens,
        output=output_tokens,
        total=raw.get("total_tokens") or None,
        cache_read=input_details.get("cached_tokens"),
        cache_write=cache_write if cache_write is not None or not ttls else sum(ttls.values()),
        cache_write_ttl=ttls or None,
        reasoning=output_details.get("reasoning_tokens"),
        input_modality=_modality(input_details),
        output_modality=_modality(output_details),
        src=src,
        extra=merge_extra(
            read_extra(raw, _USAGE),
            unread,
            read_extra(input_details, _INPUT_DETAILS, f"{input_path}/"),
            read_extra(write_details, frozenset(_TTLS.values()), f"{input_path}/cache_write_tokens_details/"),
            read_extra(output_details, _OUTPUT_DETAILS, f"{output_path}/"),
        ),
    )


def encode_usage(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Encode the usage. Both objects of details are required (openai-python, ``ResponseUsage``); unknown counts are 0."""
    drop_unheld_in_answer(usage, losses)
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read or 0, "cache_write_tokens": usage.cache_write or 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": usage.total if usage.total is not None else usage.input + usage.output,
    }


def _modality(details: JsonObject) -> dict[str, int] | None:
    counts = {modality: count for modality in ("text", "audio", "image") if (count := details.get(f"{modality}_tokens"))}
    return counts or None
