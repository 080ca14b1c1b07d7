"""Usage of Gemini: the prompt count excludes the input of server tools, and the candidates count excludes reasoning.

Source: the official SDK, ``GenerateContentResponseUsageMetadata``.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.generate_content.reasoning import enum_name
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.formats.shared.usage import join_ttls
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_COUNTS = frozenset({
    "promptTokenCount", "candidatesTokenCount", "totalTokenCount", "cachedContentTokenCount", "thoughtsTokenCount",
    "toolUsePromptTokenCount",
})  # fmt: skip
_USAGE = _COUNTS | {"promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails"}
# Source: the official SDK, ``MediaModality``, and the numbers of the vendor's protocol definitions.
_MODALITIES = ("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT")
# Modalities that Chat Completions counts, too: no images in the output, and no video and no documents at all.
# Source: OpenAI's SDK, ``CompletionUsage``; images of the input: recorded traffic.
_SHARED = {
    "promptTokensDetails": frozenset({"text", "image", "audio"}),
    "candidatesTokensDetails": frozenset({"text", "audio"}),
    "cacheTokensDetails": frozenset({"text", "image", "audio"}),
}


def decode_usage(raw: JsonObject, src: str) -> ir.Usage:
    """Decode usage. If the total excludes the reasoning count, the server includes it in the candidates count."""
    # {"promptTokenCount": 20, "candidatesTokenCount": 8, "thoughtsTokenCount": 5, "toolUsePromptTokenCount": 3,
    #  "cachedContentTokenCount": 0, "totalTokenCount": 36, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 20}]}
    prompt, tools = raw.get("promptTokenCount") or 0, raw.get("toolUsePromptTokenCount")
    candidates, reasoning, total = raw.get("candidatesTokenCount") or 0, raw.get("thoughtsTokenCount"), raw.get("totalTokenCount")
    # python-genai, GenerateContentResponseUsageMetadata: the total is the sum of prompt, candidates, tool use and reasoning.
    includes_reasoning = bool(reasoning) and total == prompt + (tools or 0) + candidates
    output = candidates if includes_reasoning else candidates + (reasoning or 0)
    usage = ir.Usage(prompt + (tools or 0), output, total or None, raw.get("cachedContentTokenCount"), None, reasoning, src)
    usage.tool_prompt = tools
    if not _COUNTS.issuperset(raw):
        _decode_details(raw, usage, prompt, usage.output - (reasoning or 0))
    return usage


def encode_usage(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Encode usage; details that the source does not have are not added."""
    drop_unheld_in_answer(usage, losses)
    if usage.cache_write_ttl:
        join_ttls(usage, None, losses)
    # The format counts only tokens that are read from a cache. Those written stay in the prompt count.
    if usage.cache_write:
        losses.changed(usage, "cache_write", None, "accounting")
    # Reasoning may be counted outside the output (fixture usage_reasoning_next_to_output), which would make the difference negative.
    if usage.reasoning and usage.reasoning > usage.output:
        losses.weakened(usage, "output", 0, "accounting")
    counts: JsonObject = {
        "promptTokenCount": max(0, usage.input - (usage.tool_prompt or 0)),
        "candidatesTokenCount": max(0, usage.output - (usage.reasoning or 0)),
        "totalTokenCount": usage.total if usage.total is not None else usage.input + usage.output,
    }
    if usage.cache_read is not None:
        counts["cachedContentTokenCount"] = usage.cache_read
    if usage.reasoning is not None:
        counts["thoughtsTokenCount"] = usage.reasoning
    if usage.tool_prompt is not None:
        counts["toolUsePromptTokenCount"] = usage.tool_prompt
    if usage.input_modality or usage.output_modality or usage.cached_modality:
        counts |= _encode_modalities(usage.input_modality, "promptTokensDetails")
        counts |= _encode_modalities(usage.output_modality, "candidatesTokensDetails")
        counts |= _encode_modalities(usage.cached_modality, "cacheTokensDetails")
    return counts


def _decode_details(raw: JsonObject, usage: ir.Usage, prompt: int, output: int) -> None:
    """Decode the fields other than counts: tokens by modality, and unmodelled fields."""
    unread: JsonObject = {}
    if "promptTokensDetails" in raw:
        usage.input_modality = _decode_modalities(raw, "promptTokensDetails", prompt, unread)
    if "candidatesTokensDetails" in raw:
        usage.output_modality = _decode_modalities(raw, "candidatesTokensDetails", output, unread)
    if "cacheTokensDetails" in raw:
        usage.cached_modality = _decode_modalities(raw, "cacheTokensDetails", None, unread)
    extra = read_extra(raw, _USAGE)
    usage.extra = merge_extra(extra, unread) if unread else extra


def _decode_modalities(raw: JsonObject, name: str, total: int | None, unread: JsonObject) -> dict[str, int] | None:
    """Decode tokens by modality, without zeros. A repeated modality is unread, and so is one that no other format counts, such as video.

    If the list has no text, the text count is the total minus the others. Then only the name of an unread modality is lost.
    """
    details = raw.get(name)
    if not details:
        return None
    counts: dict[str, int] = {}
    items = [(enum_name(item.get("modality"), _MODALITIES).lower(), item.get("tokenCount") or 0, item) for item in details]
    # The list may have only the other modalities (fixture responses/generate_content/usage_modalities_no_text).
    text_count = (total or 0) - sum(count for _, count, _ in items)
    is_text_missing = text_count > 0 and all(modality != "text" for modality, _, _ in items)
    for index, (modality, count, item) in enumerate(items):
        unread |= read_extra(item, frozenset({"modality", "tokenCount"}), f"{name}/{index}/") or {}
        if modality not in counts and modality in _SHARED[name]:
            counts[modality] = count
        elif is_text_missing and "modality" in item:
            unread[f"{name}/{index}/modality"] = item["modality"]
        else:
            unread[f"{name}/{index}"] = item
    if is_text_missing:
        counts["text"] = text_count
    return {modality: count for modality, count in counts.items() if count} or None


def _encode_modalities(counts: dict[str, int] | None, name: str) -> JsonObject:
    """Encode tokens by modality."""
    details = [{"modality": modality.upper(), "tokenCount": count} for modality, count in (counts or {}).items() if count]
    return {name: details} if details else {}
