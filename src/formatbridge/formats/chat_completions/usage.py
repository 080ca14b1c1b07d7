"""Usage of Chat Completions, whose prompt includes cached tokens and whose completion includes reasoning."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.formats.shared.usage import count_reasoning_in, read_count, read_details
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

DETAILS = (("prompt_tokens_details", "input_tokens_details"), ("completion_tokens_details", "output_tokens_details"))
"""The names of the details of input and of output."""
_INPUT_TOTALS = ("prompt_tokens", "input_tokens")
_OUTPUT_TOTALS = ("completion_tokens", "output_tokens")
_CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
_WRITTEN = ("cache_creation_input_tokens",)
_MISSED = "prompt_cache_miss_tokens"
_COMMON = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"})
"""Keys of most usages, which have nothing else."""
_USAGE = _COMMON | {*_INPUT_TOTALS, *_OUTPUT_TOTALS, *_CACHED, *_WRITTEN, _MISSED, *(alias for _, alias in DETAILS)}
_INPUT = frozenset({"cached_tokens", "cache_write_tokens", "text_tokens", "audio_tokens", "image_tokens", "video_tokens"})
_OUTPUT = frozenset({
    "reasoning_tokens", "text_tokens", "audio_tokens", "image_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens",
})  # fmt: skip
_COMMON_INPUT = frozenset({"cached_tokens", "cache_write_tokens", "audio_tokens"})
_COMMON_OUTPUT = frozenset({"reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens", "audio_tokens"})
ALIASES = (
    _INPUT_TOTALS[1], _OUTPUT_TOTALS[1], *_CACHED, *_WRITTEN, _MISSED,
    *(f"{DETAILS[0][1]}/{name}" for name in _INPUT), *(f"{DETAILS[1][1]}/{name}" for name in _OUTPUT),
)  # fmt: skip
"""Pointers of counts that have another name too, whose value may differ."""
_MODALITIES = {"text_tokens": "text", "audio_tokens": "audio", "image_tokens": "image", "video_tokens": "video"}


def decode_usage(raw: JsonObject, src: str) -> ir.Usage:
    """Decode usage, with the names of any compatible server.

    If two names of one count have different values, the first that is not zero is valid.
    """
    unread: JsonObject = {}
    prompt_at, prompt = read_details(raw, *DETAILS[0], "cached_tokens", unread)
    completion_at, completion = read_details(raw, *DETAILS[1], "reasoning_tokens", unread)
    usage = ir.Usage(
        read_count(raw, _INPUT_TOTALS, unread) or 0,
        read_count(raw, _OUTPUT_TOTALS, unread) or 0,
        raw.get("total_tokens") or None,
        # Some servers have cached tokens at the top, and zeros in the details (fixture usage_cache_hit).
        read_count(raw, _CACHED, unread, prompt.get("cached_tokens")),
        read_count(raw, _WRITTEN, unread, prompt.get("cache_write_tokens")),
        completion.get("reasoning_tokens"),
        src,
    )
    # DeepSeek counts cache hits and misses (recorded traffic). The latter are no loss if they are the remainder of the input.
    if raw.get(_MISSED) not in (None, 0, usage.input - (usage.cache_read or 0)):
        unread[_MISSED] = raw[_MISSED]
    usage.extra = merge_extra(read_extra(raw, _USAGE), unread)
    _decode_details(usage, prompt, completion, prompt_at, completion_at)
    return usage


def _decode_details(usage: ir.Usage, prompt: JsonObject, completion: JsonObject, prompt_at: str, completion_at: str) -> None:
    """Decode the details other than cached tokens and reasoning. Most responses have no others, or zeros."""
    # Some servers count reasoning separately from the output (fixture ``usage_reasoning_next_to_output``).
    if usage.reasoning:
        count_reasoning_in(usage)
    if prompt and (prompt.get("audio_tokens") or not _COMMON_INPUT.issuperset(prompt)):
        usage.input_modality = _decode_modalities(prompt)
        usage.extra = merge_extra(usage.extra, read_extra(prompt, _INPUT, f"{prompt_at}/"))
    if len(completion) > 1 or usage.reasoning is None:  # not only reasoning
        usage.accepted_prediction = completion.get("accepted_prediction_tokens")
        usage.rejected_prediction = completion.get("rejected_prediction_tokens")
    if completion and (completion.get("audio_tokens") or not _COMMON_OUTPUT.issuperset(completion)):
        usage.output_modality = _decode_modalities(completion)
        usage.extra = merge_extra(usage.extra, read_extra(completion, _OUTPUT, f"{completion_at}/"))


def _decode_modalities(details: JsonObject) -> dict[str, int] | None:
    """Decode the counts by modality, without zeros."""
    return {_MODALITIES[name]: count for name, count in details.items() if name in _MODALITIES and count} or None


def encode_usage(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Encode usage, with only those details that the source has."""
    drop_unheld_in_answer(usage, losses)
    prompt, completion = _encode_prompt_details(usage, losses), _encode_completion_details(usage, losses)
    body: JsonObject = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        # The total of the source stays: it may include tokens that no other count has.
        "total_tokens": usage.total if usage.total is not None else usage.input + usage.output,
    }
    if prompt:
        body["prompt_tokens_details"] = prompt
    if completion:
        body["completion_tokens_details"] = completion
    return body


def _encode_prompt_details(usage: ir.Usage, losses: Ledger) -> JsonObject:
    details: JsonObject = {}
    if usage.cache_read is not None:
        details["cached_tokens"] = usage.cache_read
    if usage.cache_write is not None:
        details["cache_write_tokens"] = usage.cache_write
    if usage.input_modality:
        details |= _encode_modalities(usage, "input_modality", ("text", "audio", "image"), losses)
    return details


def _encode_completion_details(usage: ir.Usage, losses: Ledger) -> JsonObject:
    details: JsonObject = {}
    if usage.reasoning is not None:
        details["reasoning_tokens"] = usage.reasoning
    if usage.accepted_prediction is not None:
        details["accepted_prediction_tokens"] = usage.accepted_prediction
    if usage.rejected_prediction is not None:
        details["rejected_prediction_tokens"] = usage.rejected_prediction
    if usage.output_modality:
        details |= _encode_modalities(usage, "output_modality", ("text", "audio"), losses)
    return details


def _encode_modalities(usage: ir.Usage, field: str, modalities: tuple[str, ...], losses: Ledger) -> dict[str, int]:
    counts: dict[str, int] = getattr(usage, field)
    # The official types have text, audio and image tokens in the input, and text and audio tokens in the output.
    for modality, count in counts.items():
        if modality not in modalities and count:
            losses.dropped(usage, f"{field}.{modality}", "accounting")
    return {f"{modality}_tokens": counts[modality] for modality in modalities if modality in counts}
