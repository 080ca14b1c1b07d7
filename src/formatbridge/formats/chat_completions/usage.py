"""Usage in chat_completions: the prompt counts cached tokens in, the completion counts reasoning in."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.formats.shared.usage import count_reasoning_in, details, either
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

DETAILS = (
    ("prompt_tokens_details", "input_tokens_details"),
    ("completion_tokens_details", "output_tokens_details"),
)
"""The details of what was sent and of what was made, under either of their names."""
_SENT = ("prompt_tokens", "input_tokens")
_MADE = ("completion_tokens", "output_tokens")
_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
_WRITTEN = ("cache_creation_input_tokens",)
_MISSED = "prompt_cache_miss_tokens"
_PLAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"})
_USAGE = _PLAIN | {*_SENT, *_MADE, *_CACHED, *_WRITTEN, _MISSED, *(alias for _, alias in DETAILS)}
_INPUT = frozenset({"cached_tokens", "cache_write_tokens", "text_tokens", "audio_tokens", "image_tokens", "video_tokens"})
_OUTPUT = frozenset({
    "reasoning_tokens", "text_tokens", "audio_tokens", "image_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens",
})  # fmt: skip
_USUAL_INPUT = frozenset({"cached_tokens", "cache_write_tokens", "audio_tokens"})
_USUAL_OUTPUT = frozenset({"reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens", "audio_tokens"})
ALIASES = (
    _SENT[1], _MADE[1], *_CACHED, *_WRITTEN, _MISSED,
    *(f"{DETAILS[0][1]}/{name}" for name in _INPUT), *(f"{DETAILS[1][1]}/{name}" for name in _OUTPUT),
)  # fmt: skip
"""Where counts stand, by pointer, that other names may contradict."""
_MODALITIES = {"text_tokens": "text", "audio_tokens": "audio", "image_tokens": "image", "video_tokens": "video"}


def decode_usage(raw: JsonObject, src: str) -> ir.Usage:
    """Read usage under all the names that servers give it; where two differ, the first one that is not zero."""
    if not _PLAIN.issuperset(raw):
        return _decode_any(raw, src)
    sent, made = raw.get("prompt_tokens_details") or {}, raw.get("completion_tokens_details") or {}
    usage = ir.Usage(
        raw.get("prompt_tokens") or 0,
        raw.get("completion_tokens") or 0,
        raw.get("total_tokens") or None,
        sent.get("cached_tokens"),
        sent.get("cache_write_tokens"),
        made.get("reasoning_tokens"),
        src,
    )
    if sent or made:
        _decode_details(usage, sent, made)
    return usage


def _decode_any(raw: JsonObject, src: str) -> ir.Usage:
    leftover: JsonObject = {}
    sent_at, sent = details(raw, *DETAILS[0], "cached_tokens", leftover)
    made_at, made = details(raw, *DETAILS[1], "reasoning_tokens", leftover)
    usage = ir.Usage(
        either(raw, _SENT, leftover) or 0,
        either(raw, _MADE, leftover) or 0,
        raw.get("total_tokens") or None,
        either(raw, _CACHED, leftover, sent.get("cached_tokens")),
        either(raw, _WRITTEN, leftover, sent.get("cache_write_tokens")),
        made.get("reasoning_tokens"),
        src,
    )
    if raw.get(_MISSED) not in (None, 0, usage.input - (usage.cache_read or 0)):
        leftover[_MISSED] = raw[_MISSED]
    usage.extra = joined(rest(raw, _USAGE), leftover)
    _decode_details(usage, sent, made, sent_at, made_at)
    return usage


def _decode_details(
    usage: ir.Usage,
    sent: JsonObject,
    made: JsonObject,
    sent_at: str = "prompt_tokens_details",
    made_at: str = "completion_tokens_details",
) -> None:
    """Read what the usual details have beside tokens cached and thought, and what the unusual ones have."""
    if usage.reasoning:
        count_reasoning_in(usage)
    if sent and (sent.get("audio_tokens") or not _USUAL_INPUT.issuperset(sent)):  # a zero, which is usual, counts nothing
        usage.input_modality = _decode_modality(sent)
        usage.extra = joined(usage.extra, rest(sent, _INPUT, f"{sent_at}/"))
    if len(made) > 1 or usage.reasoning is None:  # else there is nothing but reasoning
        usage.accepted_prediction = made.get("accepted_prediction_tokens")
        usage.rejected_prediction = made.get("rejected_prediction_tokens")
    if made and (made.get("audio_tokens") or not _USUAL_OUTPUT.issuperset(made)):
        usage.output_modality = _decode_modality(made)
        usage.extra = joined(usage.extra, rest(made, _OUTPUT, f"{made_at}/"))


def _decode_modality(details: JsonObject) -> dict[str, int] | None:
    """Read tokens by modality, but for zeros."""
    return {_MODALITIES[name]: count for name, count in details.items() if name in _MODALITIES and count} or None


def encode_usage(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Write usage; details that the source did not give are not invented."""
    drop_unheld_in_answer(usage, losses)
    sent, made = _encode_sent(usage, losses), _encode_made(usage, losses)
    body: JsonObject = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total if usage.total is not None else usage.input + usage.output,
    }
    if sent:
        body["prompt_tokens_details"] = sent
    if made:
        body["completion_tokens_details"] = made
    return body


def _encode_sent(usage: ir.Usage, losses: Ledger) -> JsonObject:
    made: JsonObject = {}
    if usage.cache_read is not None:
        made["cached_tokens"] = usage.cache_read
    if usage.cache_write is not None:
        made["cache_write_tokens"] = usage.cache_write
    if usage.input_modality:
        made |= _encode_modality(usage, "input_modality", ("text", "audio", "image"), losses)
    return made


def _encode_made(usage: ir.Usage, losses: Ledger) -> JsonObject:
    made: JsonObject = {}
    if usage.reasoning is not None:
        made["reasoning_tokens"] = usage.reasoning
    if usage.accepted_prediction is not None:
        made["accepted_prediction_tokens"] = usage.accepted_prediction
    if usage.rejected_prediction is not None:
        made["rejected_prediction_tokens"] = usage.rejected_prediction
    if usage.output_modality:
        made |= _encode_modality(usage, "output_modality", ("text", "audio"), losses)
    return made


def _encode_modality(usage: ir.Usage, name: str, words: tuple[str, ...], losses: Ledger) -> dict[str, int]:
    counts: dict[str, int] = getattr(usage, name)
    for word, count in counts.items():
        if word not in words and count:
            losses.dropped(usage, f"{name}.{word}", "accounting", severity="info")
    return {f"{word}_tokens": counts[word] for word in words if word in counts}
