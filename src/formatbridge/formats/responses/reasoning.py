"""Reasoning items of Responses: a summary or the reasoning text, and encrypted content, which may carry a token of another format.

``encode_carried_token`` and ``encode_reasoning_item`` are public, because a token of any part is written as a reasoning item.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import decode_token, drop_unsigned, encode_token, id_of, is_native_token
from formatbridge.formats.shared.settings import EFFORTS, effort_setting, encode_effort
from formatbridge.formats.shared.unmodelled_fields import extend_extra, merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

# Keys that the decoder reads; it keeps all others in ``extra``, for the report and for the same format.
_ITEM = frozenset({"type", "id", "summary", "content", "encrypted_content"})
_PART = frozenset({"type", "text"})
_CONFIG = frozenset({"effort", "summary", "generate_summary"})
PARAGRAPH = "\n\n"
"""What is between two parts of a summary or of a text: each is a paragraph (fixture reasoning_summary)."""


def decode_reasoning(raw: JsonObject, src: str) -> ir.Reasoning:
    """Decode a reasoning item. Its text has priority over its summary; a different summary then stays as an unmodelled field."""
    # {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "..."}],
    #  "content": [{"type": "reasoning_text", "text": "..."}], "encrypted_content": "gAAAA..."}
    summary, content, token = raw.get("summary") or [], raw.get("content") or [], raw.get("encrypted_content")
    # Both lists may be present: the summary is not the text of the reasoning (openai-python, ResponseReasoningItem).
    text = _join(content) if content else ""
    summary_text = _join(summary) if summary else ""
    signature = decode_token(token, "responses", "encrypted", f"{src}/encrypted_content", raw.get("id")) if token else None
    part = ir.Reasoning(text or summary_text, src, signature, not text, raw.get("id"))
    other_summary = {"summary": summary} if text and summary_text and summary_text != text else None
    unread = None if other_summary else _unread_fields(summary, "summary")
    if other_summary or unread or content or not _ITEM.issuperset(raw):
        part.extra = merge_extra(read_extra(raw, _ITEM), other_summary, _unread_fields(content, "content"), unread)
    return part


def encode_reasoning(part: ir.Reasoning, losses: Ledger, options: Options) -> JsonObject | None:
    """Encode reasoning as an item of a request; None if all of it is dropped.

    The server looks up an item without encrypted content by its id. It rejects an id that it has not stored (vercel/ai#7543,
    openai/openai-agents-python#919). So no id is generated here. For reasoning without a token of this format, the options decide.
    """
    signature, rules = part.signature, losses.dialect
    if rules is not None and rules.encrypted_reasoning_is_text:
        return _encode_as_text(part, losses)
    reads_tokens = rules is None or rules.reads_encrypted_reasoning
    if signature is not None and is_native_token(signature, "responses") and reads_tokens:
        drop_unheld(part, losses)
        # OpenAI needs no id next to the token (openai/codex#3390), other servers do (dotnet/extensions#7628). So it stays.
        item_id = id_of(part)
        item: JsonObject = {"type": "reasoning", "id": item_id} if item_id else {"type": "reasoning"}
        return item | {"summary": _summary(part.text), "encrypted_content": signature.token}
    # Servers of open models, such as vLLM, read reasoning without a token (``docs/dialects.md``, ``accepts_unsigned_reasoning``).
    reads_unsigned = rules is not None and rules.accepts_unsigned_reasoning
    if not part.text or (options.unsigned_reasoning == "drop" and not reads_unsigned):
        drop_unsigned(part, losses)
        return None
    return _encode_unsigned(part, losses, options)


def _encode_as_text(part: ir.Reasoning, losses: Ledger) -> JsonObject | None:
    """Encode reasoning for a server that reads the encrypted content of an item as its text; None without a text.

    Its answers have the same text as summary and as encrypted content. Source: ``docs/dialects.md``, ``encrypted_reasoning_is_text``.
    """
    if not part.text:
        drop_unsigned(part, losses)
        return None
    drop_unheld(part, losses)
    item: JsonObject = {"type": "reasoning"}
    signature = part.signature
    if signature is not None and is_native_token(signature, "responses"):
        item = item | ({"id": item_id} if (item_id := id_of(part)) else {})
        if signature.token != part.text:
            losses.dropped(signature, code="unsupported_by_server")
    else:
        drop_field(part, "id", losses)
        if signature is not None:
            losses.dropped(signature, code="foreign_signature")
    return item | {"summary": _summary(part.text), "encrypted_content": part.text}


def _encode_unsigned(part: ir.Reasoning, losses: Ledger, options: Options) -> JsonObject:
    """Encode reasoning without a token of this format as an assistant message, or as an item without encrypted content."""
    drop_unheld(part, losses)
    if part.signature:
        is_foreign = not is_native_token(part.signature, "responses")
        losses.dropped(part.signature, code="foreign_signature" if is_foreign else "unsupported_by_server")
    drop_field(part, "id", losses)
    if options.unsigned_reasoning == "item" or (losses.dialect is not None and losses.dialect.accepts_unsigned_reasoning):
        return {"type": "reasoning", "summary": _summary(part.text)}
    losses.changed(part, "", part.text, "flattened")
    return {"type": "message", "role": "assistant", "content": part.text}


def encode_answer_reasoning(part: ir.Reasoning, index: int, ids: ItemIds, losses: Ledger, options: Options) -> JsonObject | None:
    """Encode reasoning as an output item of a response, which carries tokens of other formats for the next request."""
    drop_unheld_in_answer(part, losses)
    token = encode_carried_token(part.signature, losses, options) if part.signature else None
    if part.text or token:
        return encode_reasoning_item(part.text, token, index, ids, id_of(part))
    drop_field(part, "id", losses)
    return None


def encode_carried_token(
    signature: ir.Signature | None, losses: Ledger, options: Options, kind: ir.SignatureKind | None = None
) -> str | None:
    """Encode a token as the encrypted content of a response. With the kind ``call``, it belongs to the next item."""
    if signature is None:
        return None
    # Clients send back ``encrypted_content`` unchanged (official SDK, ``include``).
    # So a tagged token of another vendor comes with the next request.
    if signature.issuer != "responses" and not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return None
    return encode_token(signature, "responses", kind=kind, carries_tokens=options.carry_reasoning)


def encode_reasoning_item(text: str, token: str | None, index: int, ids: ItemIds, item_id: str | None = None) -> JsonObject:
    """Encode an output item of type ``reasoning``, which requires an id; an item with only a token has an empty summary."""
    item: JsonObject = {"type": "reasoning", "id": item_id or ids.generate("rs", index), "summary": _summary(text)}
    if token:
        item["encrypted_content"] = token
    return item


def _summary(text: str) -> list[JsonObject]:
    # ``summary`` is required, but may be empty (official SDK, ``ResponseReasoningItem``).
    return [{"type": "summary_text", "text": text}] if text else []


def _join(parts: list[JsonObject]) -> str:
    if len(parts) == 1:
        text = parts[0].get("text")
        return text if isinstance(text, str) else ""
    return PARAGRAPH.join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _unread_fields(parts: list[JsonObject], field: str) -> JsonObject | None:
    """Return the unread fields of the parts of a list, by pointer; a part without a text is unread as a whole."""
    unread: JsonObject | None = None
    for index, part in enumerate(parts):
        if isinstance(part.get("text"), str):
            if not _PART.issuperset(part):
                unread = extend_extra(unread, read_extra(part, _PART, f"{field}/{index}/"))
        else:
            unread = extend_extra(unread, {f"{field}/{index}": part})
    return unread


def decode_reasoning_config(raw: JsonObject) -> ir.ReasoningConfig:
    """Decode the effort and the summary setting; unknown values become unmodelled fields."""
    # {"effort": "high", "summary": "auto"}; ``generate_summary`` is the deprecated name (official SDK, ``Reasoning``).
    effort, summary, older = raw.get("effort"), raw.get("summary"), raw.get("generate_summary")
    show = summary if summary is not None else older
    unread = {
        "effort": effort if effort not in EFFORTS else None,
        "summary": summary if summary not in ("auto", "concise", "detailed") else None,
        "generate_summary": older if older != show or older not in ("auto", "concise", "detailed") else None,
    }
    return ir.ReasoningConfig(
        effort=effort if effort in EFFORTS else None,
        visibility=show if show in ("auto", "concise", "detailed") else None,
        src="/reasoning",
        extra=merge_extra(read_extra(raw, _CONFIG), {key: value for key, value in unread.items() if value is not None}),
    )


def encode_reasoning_config(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Encode the effort and the summary setting; a summary is opt-in (OpenAI, "Reasoning models", guide)."""
    drop_unheld(config, losses)
    fields = _encode_amount(config, losses)
    # A summary requires a verified organization, so only a caller that requests one gets it (continuedev/continue#9607).
    if config.visibility not in (None, "hide"):
        if losses.dialect is not None and "reasoning/summary" in losses.dialect.ignores_nested:
            losses.dropped(config, "visibility", "ignored_by_server", severity="info")
        else:
            fields["summary"] = config.visibility
    return {"reasoning": fields} if fields else {}


def _encode_amount(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Encode the effort; or the budget, for a server that has budgets."""
    has_budgets = losses.dialect is not None and losses.dialect.reasoning_control == "reasoning"
    if has_budgets and config.budget is not None and effort_setting(config)[0] == "budget":
        return {"max_tokens": config.budget}
    effort = encode_effort(config, losses)
    return {"effort": effort} if effort else {}
