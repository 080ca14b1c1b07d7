"""Usage in generate_content: the prompt leaves out what the server's tools read, the candidates leave out reasoning."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.generate_content.reasoning import word_of
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.formats.shared.usage import join_ttls
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_COUNTS = frozenset({
    "promptTokenCount", "candidatesTokenCount", "totalTokenCount", "cachedContentTokenCount", "thoughtsTokenCount",
    "toolUsePromptTokenCount",
})  # fmt: skip
_USAGE = _COUNTS | {"promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails"}
_MODALITIES = ("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT")
_SHARED = {
    "promptTokensDetails": frozenset({"text", "image", "audio"}),
    "candidatesTokensDetails": frozenset({"text", "audio"}),
    "cacheTokensDetails": frozenset({"text", "image", "audio"}),
}
_UNCOUNTED = ("accepted_prediction", "rejected_prediction", "server_tools")


def decode_usage(raw: JsonObject, src: str) -> ir.Usage:
    """Read usage. A total without the thoughts says that this server counts them among the candidates."""
    prompt, tools = raw.get("promptTokenCount") or 0, raw.get("toolUsePromptTokenCount")
    made, thoughts, total = raw.get("candidatesTokenCount") or 0, raw.get("thoughtsTokenCount"), raw.get("totalTokenCount")
    includes_thoughts = bool(thoughts) and total == prompt + (tools or 0) + made
    output = made if includes_thoughts else made + (thoughts or 0)
    usage = ir.Usage(prompt + (tools or 0), output, total or None, raw.get("cachedContentTokenCount"), None, thoughts, src)
    usage.tool_prompt = tools
    if not _COUNTS.issuperset(raw):
        _decode_details(raw, usage, prompt, usage.output - (thoughts or 0))
    return usage


def _decode_details(raw: JsonObject, usage: ir.Usage, prompt: int, spoken: int) -> None:
    """Read what usage has beside the counts: tokens by modality, and what no other format counts."""
    unread: JsonObject = {}
    if "promptTokensDetails" in raw:
        usage.input_modality = _decode_modalities(raw, "promptTokensDetails", prompt, unread)
    if "candidatesTokensDetails" in raw:
        usage.output_modality = _decode_modalities(raw, "candidatesTokensDetails", spoken, unread)
    if "cacheTokensDetails" in raw:
        usage.cached_modality = _decode_modalities(raw, "cacheTokensDetails", None, unread)
    extra = rest(raw, _USAGE)
    usage.extra = joined(extra, unread) if unread else extra


def _decode_modalities(raw: JsonObject, name: str, total: int | None, unread: JsonObject) -> dict[str, int] | None:
    """Read tokens by modality, but for zeros. A second count of one is left unread, and so is what no other format counts: video, say.

    Of a list without text, text is what the others leave of the total; of those that no other format counts, only the word is lost then.
    """
    told = raw.get(name)
    if not told:
        return None
    if len(told) == 1 and len(told[0]) == 2 and told[0].get("modality") == "TEXT" and told[0].get("tokenCount"):  # nearly always
        return {"text": told[0]["tokenCount"]}
    counts: dict[str, int] = {}
    items = [(word_of(item.get("modality"), _MODALITIES).lower(), item.get("tokenCount") or 0, item) for item in told]
    left = (total or 0) - sum(count for _, count, _ in items)
    is_counted = left > 0 and all(word != "text" for word, _, _ in items)
    for index, (word, count, item) in enumerate(items):
        unread |= rest(item, frozenset({"modality", "tokenCount"}), f"{name}/{index}/") or {}
        if word not in counts and word in _SHARED[name]:
            counts[word] = count
        elif is_counted and "modality" in item:
            unread[f"{name}/{index}/modality"] = item["modality"]
        else:
            unread[f"{name}/{index}"] = item
    if is_counted:
        counts["text"] = left
    return {word: count for word, count in counts.items() if count} or None


def encode_usage(usage: ir.Usage, losses: Ledger) -> JsonObject:
    """Write usage; details that the source did not give are not invented."""
    drop_unheld_in_answer(usage, losses)
    if usage.cache_write_ttl:
        join_ttls(usage, None, losses)
    if usage.cache_write:
        losses.changed(usage, "cache_write", None, "accounting", severity="info")
    if usage.reasoning and usage.reasoning > usage.output:
        losses.changed(usage, "output", 0, "accounting", severity="info")
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


def _encode_modalities(counts: dict[str, int] | None, name: str) -> JsonObject:
    made = [{"modality": word.upper(), "tokenCount": count} for word, count in (counts or {}).items() if count]
    return {name: made} if made else {}
