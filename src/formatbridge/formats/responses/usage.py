"""Tokens of an answer of responses; cached and reasoning tokens are counted in, as in the canonical model."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.formats.shared.usage import count_reasoning_in, details, either
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_NAMES = (
    ("input_tokens", "prompt_tokens"),
    ("output_tokens", "completion_tokens"),
)
_DETAILS = (
    ("input_tokens_details", "prompt_tokens_details"),
    ("output_tokens_details", "completion_tokens_details"),
)
_USAGE = frozenset({"total_tokens", *(name for pair in _NAMES + _DETAILS for name in pair)})
_SENT = frozenset({
    "cached_tokens", "cache_write_tokens", "cache_write_tokens_details", "text_tokens", "audio_tokens", "image_tokens",
})  # fmt: skip
_MADE = frozenset({"reasoning_tokens", "text_tokens", "audio_tokens", "image_tokens"})
ALIASES = (
    *(alias for _, alias in _NAMES),
    *(f"{_DETAILS[0][1]}/{name}" for name in _SENT), *(f"{_DETAILS[1][1]}/{name}" for name in _MADE),
)  # fmt: skip
"""Where counts stand, by pointer, that other names may contradict."""
_PLAIN = frozenset({"total_tokens", "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"})
_PLAIN_SENT = frozenset({"cached_tokens", "cache_write_tokens"})
_PLAIN_MADE = frozenset({"reasoning_tokens"})
_TTLS = {"30m": "ttl_30m_tokens", "12h": "ttl_12h_tokens"}


def decode_usage(raw: JsonObject, src: str) -> ir.Usage:
    """Read the usage under the vendor's names or those of chat completions; where both differ, the one that says more."""
    sent, made = raw.get("input_tokens_details") or {}, raw.get("output_tokens_details") or {}
    if _PLAIN.issuperset(raw) and _PLAIN_SENT.issuperset(sent) and _PLAIN_MADE.issuperset(made):
        # Nothing stands under the other names, and no counts but these: what follows below would find nothing more.
        written, thought = sent.get("cache_write_tokens"), made.get("reasoning_tokens")
        total, read = raw.get("total_tokens") or None, sent.get("cached_tokens")
        usage = ir.Usage(raw.get("input_tokens") or 0, raw.get("output_tokens") or 0, total, read, written, thought, src)
    else:
        usage = _decode_any(raw, src)
    if usage.reasoning:
        count_reasoning_in(usage)
    return usage


def _decode_any(raw: JsonObject, src: str) -> ir.Usage:
    leftover: JsonObject = {}
    (sent_count, made_count) = (either(raw, names, leftover) or 0 for names in _NAMES)
    sent_at, sent = details(raw, *_DETAILS[0], "cached_tokens", leftover)
    made_at, made = details(raw, *_DETAILS[1], "reasoning_tokens", leftover)
    split = sent.get("cache_write_tokens_details") or {}
    ttl = {label: split[key] for label, key in _TTLS.items() if split.get(key) is not None}
    written = sent.get("cache_write_tokens")
    return ir.Usage(
        input=sent_count,
        output=made_count,
        total=raw.get("total_tokens") or None,
        cache_read=sent.get("cached_tokens"),
        cache_write=written if written is not None or not ttl else sum(ttl.values()),
        cache_write_ttl=ttl or None,
        reasoning=made.get("reasoning_tokens"),
        input_modality=_modality(sent),
        output_modality=_modality(made),
        src=src,
        extra=joined(
            rest(raw, _USAGE),
            leftover,
            rest(sent, _SENT, f"{sent_at}/"),
            rest(split, frozenset(_TTLS.values()), f"{sent_at}/cache_write_tokens_details/"),
            rest(made, _MADE, f"{made_at}/"),
        ),
    )


def encode_usage(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Write the usage; both objects of details are demanded, with zeros for what is not known."""
    drop_unheld_in_answer(usage, losses)
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cache_read or 0, "cache_write_tokens": usage.cache_write or 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": usage.total if usage.total is not None else usage.input + usage.output,
    }


def _modality(details: JsonObject) -> dict[str, int] | None:
    found = {word: count for word in ("text", "audio", "image") if (count := details.get(f"{word}_tokens"))}
    return found or None
