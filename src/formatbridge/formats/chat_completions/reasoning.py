"""Reasoning of Chat Completions: text, details and thinking blocks in messages, and the settings of a request.

Most functions are here alone: compatible servers have three fields for the text and two for its token, which repeat one another
(fixture reasoning_aliases). Google's token of a message, a call or an image is in ``extra_content`` or ``thought_signature``. Each has one
field for it, so the tokens of several texts of a message become reasoning.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.chat_completions.content import is_audio
from formatbridge.formats.chat_completions.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.chat_completions.reasoning_control import (
    CONFIG_OBJECTS,
    encode_reasoning_control,
    hiding_setting,
    read_settings,
)
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import (
    binding_of,
    decode_token,
    drop_empty,
    encode_token,
    id_of,
    is_native_token,
    is_placeholder,
    native_token,
)
from formatbridge.formats.shared.unmodelled_fields import extend_extra, merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_GOOGLE: ir.Format = "generate_content"
"""The issuer of the tokens in ``extra_content.google``, where Google's OpenAI-compatible server sends them (recorded traffic)."""
SIGNATURE_FIELDS = frozenset({"extra_content", "thought_signature"})
"""Fields of a message with its signature."""
_SLOTS = ("google", "vertex")
"""Keys of ``extra_content`` with such tokens. Vertex AI's OpenAI-compatible server sends the second one (earendil-works/pi#6733, #294)."""


def decode_extra_content(raw: JsonObject, src: str) -> tuple[ir.Signature | None, JsonObject | None]:
    """Decode the signature in the ``extra_content`` of a message, a tool call or an image. Also return its unmodelled fields.

    The wire types do not check an image of an unknown type, so its ``extra_content`` may be any value.
    """
    extra_content = raw.get("extra_content")
    if not isinstance(extra_content, dict):
        return None, None if extra_content is None else {"extra_content": extra_content}
    key = next((key for key in _SLOTS if isinstance(extra_content.get(key), dict)), None)
    if key is None:
        return None, read_extra(extra_content, frozenset(), "extra_content/")
    fields = extra_content[key]
    token = fields.get("thought_signature")
    known = frozenset({"thought_signature"} if isinstance(token, str) else ())
    extra = merge_extra(
        read_extra(extra_content, frozenset({key}), "extra_content/"), read_extra(fields, known, f"extra_content/{key}/")
    )
    # Google documents placeholders for calls of other models (Gemini API, "Thought signatures"). They are no tokens.
    if not token or not known or is_placeholder(token):
        return None, extra
    token_src = f"{src}/extra_content/{key}/thought_signature"
    slot = key if key != _SLOTS[0] else None
    return decode_token(token, _GOOGLE, "thought", token_src, None, "chat_completions", slot), extra


def encode_extra_content(token: str, key: str | None = None) -> JsonObject:
    """Encode a token as ``extra_content``. ``key``: the key of the signature; None is ``google``."""
    return {"extra_content": {key or _SLOTS[0]: {"thought_signature": token}}}


def decode_message_signature(raw: JsonObject, parts: list[ir.Part], src: str) -> JsonObject | None:
    """Decode the signature of a message and add it to one of its parts. Return the unmodelled fields.

    The part is the last text without a signature, else the first such call, else a new empty text. A message may repeat the token as
    ``thought_signature`` (fixture token_next_to_message).
    """
    signature, extra = decode_extra_content(raw, src)
    repeated = raw.get("thought_signature")
    if repeated is not None and (signature is None or repeated not in _tokens_in(raw["extra_content"])):
        extra = merge_extra(extra, {"thought_signature": repeated})
    if signature is None:
        return extra
    calls = [part for part in parts if isinstance(part, ir.ToolCall)]
    candidates: list[ir.Text | ir.ToolCall] = [*(part for part in reversed(parts) if isinstance(part, ir.Text)), *calls]
    signed = next((part for part in candidates if part.signature is None), None)
    if signed is not None:
        signed.signature = signature
    else:
        parts.insert(parts.index(calls[0]) if calls else len(parts), ir.Text("", signature.src, signature=signature))
    return extra


def _tokens_in(extra_content: JsonObject) -> list[Any]:
    """Return the tokens of ``extra_content`` as the body has them, with their tags."""
    return [fields.get("thought_signature") for key in _SLOTS if isinstance(fields := extra_content.get(key), dict)]


def has_message_signature(part: ir.Part) -> bool:
    """Return whether a part has the signature of a message of this format: a text, or reasoning without text."""
    if not isinstance(part, ir.Text | ir.Reasoning) or part.signature is None:
        return False
    token = part.signature
    is_of_message = isinstance(part, ir.Text) or (token.kind == "call" and not part.text)
    return is_of_message and token.issuer == _GOOGLE and token.received_in == "chat_completions"


def encode_message_signature(
    visible: list[ir.Part], reasoning: list[ir.Reasoning], losses: Ledger
) -> tuple[list[ir.Part], list[ir.Reasoning], JsonObject]:
    """Encode the signature of an assistant message in a request. Also return the other visible parts and reasoning.

    A message has one signature; the tokens of other texts become reasoning.
    """
    signed = [part for part in (*visible, *reasoning) if has_message_signature(part)]
    if not signed:
        return visible, reasoning, {}
    first, *others = signed
    if isinstance(first, ir.Reasoning):
        drop_field(first, "id", losses)
    remaining = [part for part in reasoning if part is not first]
    remaining += [ir.Reasoning("", part.src, part.signature) for part in others if isinstance(part, ir.Text)]
    unsigned: list[ir.Part] = []
    for part in visible:
        if not isinstance(part, ir.Text) or not has_message_signature(part):
            unsigned.append(part)
        elif part.text:
            unsigned.append(replace(part, signature=None))
    token: ir.Signature = first.signature  # type: ignore[union-attr, assignment]  # it has a signature
    return unsigned, remaining, encode_extra_content(token.token, token.received_key)


def separate_bound_token(call: ir.ToolCall) -> tuple[ir.ToolCall, list[ir.Reasoning]]:
    """Separate the token of a call from the call, if it came in a detail with the id of the call, because it returns in a detail.

    The token has the id that the call has now. Source: recorded traffic of OpenRouter (fixture reasoning_bound).
    """
    token = call.signature
    if token is None or token.item_id is None or token.received_in != "chat_completions":
        return call, []
    return replace(call, signature=None), [ir.Reasoning("", token.src, replace(token, item_id=call.id))]


def encode_answer_signature(signature: ir.Signature | None, losses: Ledger, options: Options) -> JsonObject:
    """Encode the signature of a tool call, an image or a message in a response. Other issuers' tokens are carried in the same field."""
    if signature is None:
        return {}
    if not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return {}
    is_native = signature.issuer == _GOOGLE
    return encode_extra_content(
        signature.token if is_native else encode_token(signature, "chat_completions"), signature.received_key
    )


TEXT_FIELDS = ("reasoning_content", "reasoning")
"""Fields of a message with the text of its reasoning."""
LIST_FIELDS = ("reasoning_details", "thinking_blocks")
"""Fields of a message with its reasoning as a list of objects."""
REASONING_FIELDS = frozenset({*TEXT_FIELDS, *LIST_FIELDS})
"""Fields of a message with reasoning. A server sends one of them, or several with the same reasoning (fixture reasoning_aliases)."""

_ISSUERS: tuple[tuple[str, ir.Format], ...] = (
    ("anthropic-", "messages"),
    ("openai-responses-", "responses"),
    ("xai-responses-", "responses"),
    ("google-", _GOOGLE),
)
"""The issuer of a detail's token, by the prefix of the detail's ``format``. Source: recorded traffic."""
_DETAIL_FORMATS: dict[ir.FormatName, str] = {
    "messages": "anthropic-claude-v1",
    "responses": "openai-responses-v1",
    _GOOGLE: "google-gemini-v1",
    "chat_completions": "unknown",
}
"""The ``format`` of encoded details, by issuer."""
_DATA_KINDS: dict[ir.Format, ir.SignatureKind] = {"messages": "redacted", "responses": "encrypted", _GOOGLE: "thought"}
"""The kind of a token in ``data``, by issuer."""
_DETAIL = frozenset({"type", "id", "text", "summary", "data", "signature", "index"})
_DETAIL_STRINGS = frozenset({"id", "text", "summary", "data", "signature", "format"})
_GENERATED_ID = re.compile(r"rs_\d{1,5}")
"""The ids that ``_encode_details`` generates."""

_BLOCKS: dict[str, tuple[str, ir.SignatureKind, frozenset[str]]] = {
    "thinking": ("signature", "thinking", frozenset({"type", "thinking", "signature"})),
    "redacted_thinking": ("data", "redacted", frozenset({"type", "data"})),
}
"""Types of thinking blocks to the field with the token, the kind of the token, and the keys that the decoder reads."""
BLOCK_TYPES = frozenset(_BLOCKS)
"""Known types of thinking blocks, which are blocks of Messages."""


def decode_reasoning(raw: JsonObject, src: str, *, is_piece: bool = False) -> tuple[list[ir.Reasoning], JsonObject | None]:
    """Decode the reasoning of a message from the first field that has any. Also return the fields with other reasoning.

    ``is_piece``: this is a delta, in which the index of a detail gives its position. ``stream_reasoning`` decodes its blocks, because
    their meaning depends on earlier deltas.
    """
    # OpenRouter sends reasoning twice, as ``reasoning`` and ``reasoning_details`` (recorded traffic). LiteLLM sends ``thinking_blocks``
    # and ``reasoning_content`` (fixture reasoning_blocks). The field with tokens is decoded; a repeated text is no loss.
    details, blocks = raw.get("reasoning_details"), raw.get("thinking_blocks") if not is_piece else None
    parts = _decode_details(details, f"{src}/reasoning_details", is_piece=is_piece) if details else []
    unread: JsonObject = {}
    if blocks:
        parts, unread = _choose_details_or_blocks(parts, raw, src)
    texts = texts_in(parts)
    for name in TEXT_FIELDS:
        text = raw.get(name)
        if not text:
            continue
        if not texts and isinstance(text, str):
            parts.insert(0, ir.Reasoning(text=text, src=f"{src}/{name}"))
            texts = [text]
        elif not is_join_of(text, texts):
            unread[name] = text
    return parts, unread or None


def reasoning_text(raw: JsonObject) -> Any:
    """Return the reasoning of a message or a delta that is in a field with text; None if there is none."""
    return next((raw[name] for name in TEXT_FIELDS if raw.get(name)), None)


def _choose_details_or_blocks(details: list[ir.Reasoning], raw: JsonObject, src: str) -> tuple[list[ir.Reasoning], JsonObject]:
    """Return the reasoning of a message that has thinking blocks, and the unread blocks.

    If details have the same reasoning as the blocks, they are decoded. If only a text has it, the blocks are decoded, because a text has
    no tokens. Blocks with other reasoning are unread.
    """
    blocks, unread = decode_thinking_blocks(raw["thinking_blocks"], f"{src}/thinking_blocks")
    text, texts = reasoning_text(raw), texts_in(blocks)
    if details and details_repeat_blocks(details, blocks):
        return details, unread
    if not details and (not text or not texts or is_join_of(text, texts)):
        return blocks, unread
    return details, {"thinking_blocks": raw["thinking_blocks"]}


def encode_reasoning(parts: list[ir.Reasoning], losses: Ledger) -> JsonObject:
    """Encode the reasoning of a message in a request: its text, and a detail for each token of this format."""
    texts: list[str] = []
    details: list[JsonObject] = []
    for part in parts:
        drop_unheld(part, losses)
        is_native = part.signature is not None and is_native_token(part.signature, "chat_completions")
        if not is_native:
            drop_field(part, "id", losses)
        if part.text:
            texts.append(part.text)
        elif part.signature and not is_native:
            drop_empty(part, losses)
            continue
        token = native_token(part.signature, "chat_completions", losses)
        if token is not None and part.signature is not None:
            issuer = part.signature.issuer
            format = _DETAIL_FORMATS.get(issuer, issuer) if part.signature.received_in else None
            details += _encode_details(part, token, format, len(details))
    body: JsonObject = {"reasoning_content": "\n\n".join(texts)} if texts else {}
    return body | ({"reasoning_details": details} if details else {})


def encode_answer_reasoning(parts: list[ir.Part], losses: Ledger, options: Options) -> JsonObject:
    """Encode the reasoning of a response: its text, and details with every token and its issuer.

    If any detail is needed, there are details for all reasoning. So the next request can restore each token with its text and id.
    """
    texts: list[str] = []
    details: list[JsonObject] = []
    has_details = False
    signed = next((part for part in parts if isinstance(part, ir.Text) and has_message_signature(part)), None)
    for part in parts:
        if part is signed:
            continue
        if isinstance(part, ir.Reasoning):
            drop_unheld_in_answer(part, losses)
            if part.text:
                texts.append(part.text)
            token, format = _encode_detail_token(part.signature, losses, options)
            if part.text or token:
                details += _encode_details(part, token, format, len(details))
                has_details = has_details or token is not None or part.id is not None
            else:
                drop_field(part, "id", losses)
        elif isinstance(part, ir.Text) or is_audio(part):
            token, format = _encode_detail_token(part.signature, losses, options, kind="call")
            if token is not None:
                details.append({"type": "reasoning.encrypted", "data": token, "format": format, "index": len(details)})
                has_details = True
    body: JsonObject = {"reasoning_content": "\n\n".join(texts)} if texts else {}
    message_signature = encode_answer_signature(signed.signature, losses, options) if signed else {}
    return body | ({"reasoning_details": details} if has_details else {}) | message_signature


def texts_in(parts: list[ir.Reasoning]) -> list[str]:
    """Return the texts of reasoning parts that have one."""
    return [part.text for part in parts if part.text]


def is_join_of(text: Any, texts: list[str]) -> bool:
    """Return whether a text consists of other texts, joined by nothing, a line break or a blank line."""
    return text in ("".join(texts), "\n\n".join(texts), "\n".join(texts))


def _decode_details(raw: list[JsonObject], src: str, *, is_piece: bool) -> list[ir.Reasoning]:
    """Decode details. Adjacent details with one id are a text and its token. Generated ids are removed."""
    parts: list[ir.Reasoning] = []
    # ``_encode_details`` splits a text and its encrypted token into two details with one id.
    # Clients send both back (openrouter.ai/docs/use-cases/reasoning-tokens).
    last_id: str | None = None
    for index, detail in enumerate(raw):
        detail_number = detail_index(detail) if is_piece else None
        part = _decode_detail(detail, f"{src}/{index if detail_number is None else detail_number}")
        last = parts[-1] if parts and part.id and part.id == last_id else None
        if last is not None and last.signature is None:
            _merge_detail(last, part)
        else:
            parts.append(part)
        last_id = part.id
    for part in parts:
        if _GENERATED_ID.fullmatch(part.id or ""):
            part.id = None
            if part.signature and binding_of(part.signature) == "call":
                part.signature.item_id = None
    return parts


def _encode_details(part: ir.Reasoning, token: str | None, format: str | None, index: int) -> list[JsonObject]:
    """Encode reasoning as one detail. A text with a token that does not sign it becomes two details with the same id."""
    issuer = {"format": format} if format else {}
    id = id_of(part)
    known_id = {"id": id} if id is not None else {}
    if token is not None and not part.text:
        return [{"type": "reasoning.encrypted", "data": token, **issuer, **known_id, "index": index}]
    if token is not None and part.signature and part.signature.kind == "thinking":
        return [{"type": "reasoning.text", "text": part.text, "signature": token, **issuer, **known_id, "index": index}]
    slot = "summary" if part.is_summary else "text"
    if token is None:
        return [{"type": f"reasoning.{slot}", slot: part.text, **known_id, "index": index}]
    # ``_decode_details`` joins a text and a token that does not sign it by their id, when a client sends them back.
    shared = {"id": id or f"rs_{index}", "index": index}
    return [
        {"type": f"reasoning.{slot}", slot: part.text, **issuer, **shared},
        {"type": "reasoning.encrypted", "data": token, **issuer, **shared},
    ]


def detail_index(detail: JsonObject) -> int | None:
    """Return the index of a detail, or None if it has none."""
    index = detail.get("index")
    return index if isinstance(index, int) else None


def _merge_detail(part: ir.Reasoning, detail: ir.Reasoning) -> None:
    """Add the text, the token and the unmodelled fields of another detail to a reasoning part."""
    part.text = f"{part.text}\n\n{detail.text}" if part.text and detail.text else part.text or detail.text
    part.signature = detail.signature
    if detail.extra:
        part.extra = extend_extra(part.extra, {f"{detail.src}/{pointer}": value for pointer, value in detail.extra.items()})


def _values_of_other_types(detail: JsonObject) -> JsonObject:
    """Return the values of fields for strings that are no strings."""
    return {key: value for key, value in detail.items() if key in _DETAIL_STRINGS and not isinstance(value, str | None)}


def _decode_detail(detail: JsonObject, src: str) -> ir.Reasoning:
    """Decode one detail. The wire types do not check details of unknown types, so values that are no strings are unread."""
    unread = _values_of_other_types(detail)
    raw = {key: value for key, value in detail.items() if key not in unread} if unread else detail
    format, text, summary = raw.get("format") or "", raw.get("text") or "", raw.get("summary") or ""
    issuer: ir.Format = next((issuer for prefix, issuer in _ISSUERS if format.startswith(prefix)), "chat_completions")
    # A signature signs the text of its detail: Anthropic. ``data`` has no text: OpenAI, redacted thinking of Anthropic.
    # Sources: recorded traffic of OpenRouter; fixture reasoning_redacted.
    slot, kind = "data", _DATA_KINDS.get(issuer, "encrypted")
    if raw.get("signature"):
        slot, kind = "signature", "thinking"
        if raw.get("data"):
            unread["data"] = raw["data"]
    if text and summary not in ("", text):
        unread["summary"] = summary
    known = _DETAIL | {"format"} if format in ("", _DETAIL_FORMATS[issuer]) else _DETAIL
    token, id = raw.get(slot), raw.get("id") or None
    return ir.Reasoning(
        text=text or summary,
        is_summary="summary" in raw,
        signature=decode_token(token, issuer, kind, f"{src}/{slot}", id, "chat_completions") if token else None,
        id=id,
        src=src,
        extra=merge_extra(read_extra(raw, known), unread),
    )


def _encode_detail_token(
    signature: ir.Signature | None, losses: Ledger, options: Options, kind: ir.SignatureKind | None = None
) -> tuple[str | None, str | None]:
    """Return the token of a detail in a response, and its ``format``. ``kind``: ``call`` if it belongs to the next part."""
    if signature is None:
        return None, None
    # The client returns the detail in its next request, which restores the token for its issuer.
    # Source: openrouter.ai/docs/use-cases/reasoning-tokens.
    if signature.issuer != "chat_completions" and not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return None, None
    return encode_token(signature, "chat_completions", kind=kind), _DETAIL_FORMATS.get(signature.issuer, signature.issuer)


def decode_thinking_blocks(raw: list[JsonObject], src: str) -> tuple[list[ir.Reasoning], JsonObject]:
    """Decode the blocks of a message that are not empty. Also return blocks of unknown types."""
    parts: list[ir.Reasoning] = []
    unread: JsonObject = {}
    for index, block in enumerate(raw):
        if block.get("type") not in BLOCK_TYPES:
            unread[f"thinking_blocks/{index}"] = block
            continue
        part = decode_thinking_block(block, f"{src}/{index}")
        if part.text or part.signature or part.extra:
            parts.append(part)
    return parts, unread


def decode_thinking_block(block: JsonObject, src: str) -> ir.Reasoning:
    """Decode a block of a known type."""
    type = block["type"]
    slot, kind, known = _BLOCKS[type]
    token = block.get(slot)
    signature = decode_token(token, "messages", kind, f"{src}/{slot}", None, "chat_completions") if token else None
    text = block.get("thinking") or "" if type == "thinking" else ""
    return ir.Reasoning(text, src, signature, extra=read_extra(block, known))


def details_repeat_blocks(details: list[ir.Reasoning], blocks: list[ir.Reasoning]) -> bool:
    """Return whether details have all the texts and tokens of thinking blocks."""
    if not details or any(block.extra for block in blocks):
        return False
    tokens, tokens_of_blocks = ([part.signature.token for part in parts if part.signature] for parts in (details, blocks))
    return texts_in(details) == texts_in(blocks) and tokens == tokens_of_blocks


def decode_reasoning_config(body: JsonObject) -> tuple[ir.ReasoningConfig | None, JsonObject | None]:
    """Decode the reasoning settings of a request. Also return values without a canonical meaning, by pointer.

    Each server reads one of these fields. If several contradict each other, the first in the table of settings is valid.
    """
    config: dict[str, Any] = {}
    unread: JsonObject = {}
    for pointer, value, field, meaning in read_settings(body):
        is_on = field == "budget" or meaning in ("on", "adaptive")
        contradicts_effort = is_on and config.get("effort") == "none"
        if meaning is None or contradicts_effort or config.setdefault(field, meaning) != meaning:
            unread[pointer] = value
    for name, known in CONFIG_OBJECTS.items():
        unread |= read_extra(body.get(name) or {}, known, f"{name}/") or {}
    return (ir.ReasoningConfig(**config) if config else None), unread or None


def encode_reasoning_config(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Encode the reasoning settings of a request as ``reasoning_effort``, or in the fields that the server reads instead."""
    # OpenAI's answers have no reasoning (official SDK, ``ChatCompletionMessage``), so hiding it is no loss there.
    if config.visibility == "hide" and losses.dialect is not None and not hiding_setting(losses.dialect):
        losses.dropped(config, "visibility", severity="info")
    return encode_reasoning_control(config, losses)
