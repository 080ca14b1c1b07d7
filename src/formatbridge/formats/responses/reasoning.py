"""Reasoning items: a summary or the text itself, and one sealed token, which may be another format's."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import decode_token, drop_unsigned, encode_token, id_of, is_native_token
from formatbridge.formats.shared.settings import EFFORTS, encode_effort
from formatbridge.formats.shared.unmodelled_fields import gathered, joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_ITEM = frozenset({"type", "id", "summary", "content", "encrypted_content"})
_PART = frozenset({"type", "text"})
_CONFIG = frozenset({"effort", "summary", "generate_summary"})


def decode_reasoning(raw: JsonObject, src: str) -> ir.Reasoning:
    """Read a reasoning item. The text itself goes before a summary of it, which is then left over unless it says the same."""
    summary, content, token = raw.get("summary") or [], raw.get("content") or [], raw.get("encrypted_content")
    thought = _join(content) if content else ""
    digest = _join(summary) if summary else ""
    signature = decode_token(token, "responses", "encrypted", f"{src}/encrypted_content", raw.get("id")) if token else None
    made = ir.Reasoning(thought or digest, src, signature, not thought, raw.get("id"))
    leftover = {"summary": summary} if thought and digest and digest != thought else None
    unread = None if leftover else _unread(summary, "summary")
    if leftover or unread or content or not _ITEM.issuperset(raw):
        made.extra = joined(rest(raw, _ITEM), leftover, _unread(content, "content"), unread)
    return made


def encode_reasoning(part: ir.Reasoning, losses: Ledger, options: Options) -> JsonObject | None:
    """Write reasoning for a request; None where nothing is left.

    The server looks up an item without a token by its id, and refuses an id that it has not stored (vercel/ai#7543,
    openai/openai-agents-python#919). So no id is made here, and reasoning without a token of this format follows the options.
    """
    signature = part.signature
    if signature is not None and is_native_token(signature, "responses"):
        drop_unheld(part, losses)
        item_id = id_of(part)
        item: JsonObject = {"type": "reasoning", "id": item_id} if item_id else {"type": "reasoning"}
        return item | {"summary": _summary(part.text), "encrypted_content": signature.token}
    if not part.text or options.unsigned_reasoning == "drop":
        drop_unsigned(part, losses)
        return None
    return _encode_unsigned(part, losses, options)


def _encode_unsigned(part: ir.Reasoning, losses: Ledger, options: Options) -> JsonObject:
    """Write reasoning without a token of this format as text of the assistant, or as an item that only open servers read."""
    drop_unheld(part, losses)
    if part.signature:
        losses.dropped(part.signature, code="foreign_signature")
    drop_field(part, "id", losses)
    if options.unsigned_reasoning == "item":
        return {"type": "reasoning", "summary": _summary(part.text)}
    losses.changed(part, "", part.text, "flattened")
    return {"type": "message", "role": "assistant", "content": part.text}


def encode_answer_reasoning(part: ir.Reasoning, index: int, ids: ItemIds, losses: Ledger, options: Options) -> JsonObject | None:
    """Write reasoning for an answer, which keeps other formats' tokens for the next request."""
    drop_unheld_in_answer(part, losses)
    token = carry_token(part.signature, losses, options) if part.signature else None
    if part.text or token:
        return encode_item(part.text, token, index, ids, id_of(part))
    drop_field(part, "id", losses)
    return None


def carry_token(
    signature: ir.Signature | None, losses: Ledger, options: Options, kind: ir.SignatureKind | None = None
) -> str | None:
    """Write a token into the sealed slot of an answer. ``kind`` call: it belongs to the item that follows."""
    if signature is None:
        return None
    if signature.issuer != "responses" and not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return None
    return encode_token(signature, "responses", kind=kind)


def encode_item(text: str, token: str | None, index: int, ids: ItemIds, item_id: str | None = None) -> JsonObject:
    """Write a reasoning item of an answer, which always has an id; an empty summary says that there is only the token."""
    item: JsonObject = {"type": "reasoning", "id": item_id or ids.make("rs", index), "summary": _summary(text)}
    if token:
        item["encrypted_content"] = token
    return item


def _summary(text: str) -> list[JsonObject]:
    return [{"type": "summary_text", "text": text}] if text else []


def _join(parts: list[JsonObject]) -> str:
    if len(parts) == 1:
        text = parts[0].get("text")
        return text if isinstance(text, str) else ""
    return "\n\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _unread(parts: list[JsonObject], at: str) -> JsonObject | None:
    """Return what the texts of a list leave out; parts of other kinds that have no text, as a whole."""
    found: JsonObject | None = None
    for index, part in enumerate(parts):
        if isinstance(part.get("text"), str):
            if not _PART.issuperset(part):
                found = gathered(found, rest(part, _PART, f"{at}/{index}/"))
        else:
            found = gathered(found, {f"{at}/{index}": part})
    return found


# How much to think.


def decode_reasoning_config(raw: JsonObject) -> ir.ReasoningConfig:
    """Read how much to think and what to show of it; words that are not known are left over."""
    effort, summary, older = raw.get("effort"), raw.get("summary"), raw.get("generate_summary")
    show = summary if summary is not None else older
    unread = {
        "effort": effort if effort not in EFFORTS else None,
        "summary": summary if summary not in ("auto", "concise", "detailed") else None,
        "generate_summary": older if older != show or older not in ("auto", "concise", "detailed") else None,
    }
    return ir.ReasoningConfig(
        effort=effort if effort in EFFORTS else None,
        show=show if show in ("auto", "concise", "detailed") else None,
        src="/reasoning",
        extra=joined(rest(raw, _CONFIG), {key: value for key, value in unread.items() if value is not None}),
    )


def encode_reasoning_config(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Write how much to think and what to show of it; nothing is shown unless asked for."""
    drop_unheld(config, losses)
    effort = encode_effort(config, losses)
    made: JsonObject = {"effort": effort} if effort else {}
    if config.show not in (None, "hide"):
        made["summary"] = config.show
    return {"reasoning": made} if made else {}
