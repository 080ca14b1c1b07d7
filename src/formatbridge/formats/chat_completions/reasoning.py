"""Reasoning in chat_completions: one text under several names, and details that keep tokens with their origin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeGuard

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import (
    decode_token,
    drop_empty,
    encode_token,
    id_of,
    is_native_token,
    is_placeholder,
    native_token,
)
from formatbridge.formats.shared.settings import EFFORTS, encode_effort
from formatbridge.formats.shared.unmodelled_fields import gathered, joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_HOMES: tuple[tuple[str, ir.Format], ...] = (
    ("anthropic-", "messages"),
    ("openai-responses-", "responses"),
    ("xai-responses-", "responses"),
    ("google-", "generate_content"),
)
_ORIGINS: dict[ir.FormatName, str] = {
    "messages": "anthropic-claude-v1",
    "responses": "openai-responses-v1",
    "generate_content": "google-gemini-v1",
    "chat_completions": "unknown",
}
_TEXT_ALONE = ("reasoning_content", "reasoning")
REASONING = frozenset({*_TEXT_ALONE, "reasoning_details", "thinking_blocks"})
"""The names that a message has for it."""

_MODES = {"enabled": "on", "disabled": "off", "adaptive": "adaptive", "auto": "adaptive"}
_SWITCH_MEMBERS: dict[str, frozenset[str]] = {
    "reasoning": frozenset({"effort", "max_tokens", "enabled", "exclude"}),
    "thinking": frozenset({"type", "budget_tokens"}),
    "chat_template_kwargs": frozenset({"enable_thinking", "thinking"}),
}
SWITCHES = frozenset(
    {*_SWITCH_MEMBERS, "reasoning_effort", "thinking_budget", "enable_thinking", "include_reasoning", "reasoning_format"}
)
"""The names that a request has for how much to think and what to show of it; the vendor's own is ``reasoning_effort``."""

_COUNTED = re.compile(r"rs_\d{1,5}")
"""The ids that ``_encode_thought`` makes, which name nothing."""
_DETAIL = frozenset({"type", "id", "text", "summary", "data", "signature", "index"})
_TEXTS = frozenset({"id", "text", "summary", "data", "signature", "format"})
_HIDDEN: dict[ir.Format, ir.SignatureKind] = {
    "messages": "redacted",
    "responses": "encrypted",
    "generate_content": "thought",
}


def decode_reasoning(raw: JsonObject, src: str, *, is_piece: bool = False) -> tuple[list[ir.Reasoning], JsonObject | None]:
    """Read reasoning from the first name that has any; another name that says something else is left over.

    ``is_piece``: others came before, so a detail stands where its index says, and what a block is depends on those before:
    ``Blocks`` reads them.
    """
    details, blocks = raw.get("reasoning_details"), raw.get("thinking_blocks") if not is_piece else None
    parts = _decode_details(details, f"{src}/reasoning_details", is_piece=is_piece) if details else []
    leftover: JsonObject = {}
    if blocks:
        parts, leftover = _with_blocks(parts, raw, src)
    texts = texts_of(parts)
    for name in _TEXT_ALONE:
        text = raw.get(name)
        if not text:
            continue
        if not texts and isinstance(text, str):
            parts.insert(0, ir.Reasoning(text=text, src=f"{src}/{name}"))
            texts = [text]
        elif not is_same(text, texts):
            leftover[name] = text
    return parts, leftover or None


def _with_blocks(details: list[ir.Reasoning], raw: JsonObject, src: str) -> tuple[list[ir.Reasoning], JsonObject]:
    """Return the thoughts of a message that has blocks as well, and what is left of these."""
    blocks, leftover = decode_blocks(raw["thinking_blocks"], f"{src}/thinking_blocks")
    text = next((raw[name] for name in _TEXT_ALONE if raw.get(name)), None)
    told = choose(details, text, blocks)
    if told is None:
        return details, {"thinking_blocks": raw["thinking_blocks"]}
    return told, leftover


def _decode_details(raw: list[JsonObject], src: str, *, is_piece: bool) -> list[ir.Reasoning]:
    """Read the details; adjacent ones of one id are one thought and its token. An id that only counts is as good as none."""
    parts: list[ir.Reasoning] = []
    last_id: str | None = None
    for index, detail in enumerate(raw):
        place = index_of(detail) if is_piece else None
        part = _decode_detail(detail, f"{src}/{index if place is None else place}")
        given = part.id
        last = parts[-1] if parts and given and given == last_id else None
        if last is not None and last.signature is None:
            _join(last, part)
        else:
            parts.append(part)
        last_id = given
    for part in parts:
        if _COUNTED.fullmatch(part.id or ""):
            part.id = None
            if part.signature and part.signature.issuer == "generate_content":
                part.signature.item = None
    return parts


def index_of(detail: JsonObject) -> int | None:
    """Return the index of a detail; None where it has none."""
    index = detail.get("index")
    return index if isinstance(index, int) else None


def _join(thought: ir.Reasoning, more: ir.Reasoning) -> None:
    """Add to a thought what another detail says of it."""
    thought.text = f"{thought.text}\n\n{more.text}" if thought.text and more.text else thought.text or more.text
    thought.signature = more.signature
    if more.extra:
        thought.extra = gathered(thought.extra, {f"{more.src}/{pointer}": value for pointer, value in more.extra.items()})


def _decode_detail(detail: JsonObject, src: str) -> ir.Reasoning:
    """Read one detail. Nothing holds those of kinds that nobody knows to a shape: what is no text where one is expected stays as it is."""
    unread = {key: value for key, value in detail.items() if key in _TEXTS and value is not None and not isinstance(value, str)}
    raw = {key: value for key, value in detail.items() if key not in unread} if unread else detail
    word, text, summary = raw.get("format") or "", raw.get("text") or "", raw.get("summary") or ""
    home: ir.Format = next((home for prefix, home in _HOMES if word.startswith(prefix)), "chat_completions")
    slot = "signature" if raw.get("signature") else "data"
    kind: ir.SignatureKind = "thinking" if slot == "signature" else _HIDDEN.get(home, "encrypted")
    token = raw.get(slot)
    if slot == "signature" and raw.get("data"):
        unread["data"] = raw["data"]
    if text and summary not in ("", text):
        unread["summary"] = summary
    known = _DETAIL | {"format"} if word in ("", _ORIGINS[home]) else _DETAIL
    return ir.Reasoning(
        text=text or summary,
        summary="summary" in raw,
        signature=decode_token(token, home, kind, f"{src}/{slot}", raw.get("id") or None, "chat_completions") if token else None,
        id=raw.get("id") or None,
        src=src,
        extra=joined(rest(raw, known), unread),
    )


def encode_reasoning(parts: list[ir.Reasoning], losses: Ledger) -> JsonObject:
    """Write the reasoning of a turn in a request: its text once, and the tokens that are at home here."""
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
            vendor = _ORIGINS.get(part.signature.issuer, part.signature.issuer) if part.signature.received_in else None
            details += _encode_thought(part, token, vendor, len(details))
    body: JsonObject = {"reasoning_content": "\n\n".join(texts)} if texts else {}
    return body | ({"reasoning_details": details} if details else {})


def encode_answer_reasoning(parts: list[ir.Part], losses: Ledger, options: Options) -> JsonObject:
    """Write the reasoning of an answer: its text once, and every token in a detail that names its origin.

    Where there are details, all thoughts stand in them, so that each comes home with its own token and id.
    """
    texts: list[str] = []
    details: list[JsonObject] = []
    has_details = False
    beside = next((part for part in parts if isinstance(part, ir.Text) and goes_beside(part)), None)
    for part in parts:
        if part is beside:
            continue
        if isinstance(part, ir.Reasoning):
            drop_unheld_in_answer(part, losses)
            if part.text:
                texts.append(part.text)
            token, format = _carry(part.signature, losses, options)
            if part.text or token:
                details += _encode_thought(part, token, format, len(details))
                has_details = has_details or token is not None or part.id is not None
            else:
                drop_field(part, "id", losses)
        elif (isinstance(part, ir.Text) or is_sound(part)) and part.signature:
            token, format = _carry(part.signature, losses, options, kind="call")
            if token is not None:
                details.append({"type": "reasoning.encrypted", "data": token, "format": format, "index": len(details)})
                has_details = True
    body: JsonObject = {"reasoning_content": "\n\n".join(texts)} if texts else {}
    outer = encode_call_token(beside.signature, losses, options) if beside else {}
    return body | ({"reasoning_details": details} if has_details else {}) | outer


def _carry(
    signature: ir.Signature | None, losses: Ledger, options: Options, kind: ir.SignatureKind | None = None
) -> tuple[str | None, str | None]:
    """Return a token for an answer and the name of its origin. ``kind`` call: it belongs to what follows."""
    if signature is None:
        return None, None
    if signature.issuer != "chat_completions" and not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return None, None
    return encode_token(signature, "chat_completions", kind=kind), _ORIGINS.get(signature.issuer, signature.issuer)


def _encode_thought(part: ir.Reasoning, token: str | None, format: str | None, index: int) -> list[JsonObject]:
    """Write a thought, its token, or both: in one detail where the token signs the text, else in two of one id."""
    named = {"format": format} if format else {}
    id = id_of(part)
    given = {"id": id} if id is not None else {}
    if token is not None and not part.text:
        return [{"type": "reasoning.encrypted", "data": token, **named, **given, "index": index}]
    if token is not None and part.signature and part.signature.kind == "thinking":
        return [{"type": "reasoning.text", "text": part.text, "signature": token, **named, **given, "index": index}]
    slot = "summary" if part.summary else "text"
    if token is None:
        return [{"type": f"reasoning.{slot}", slot: part.text, **given, "index": index}]
    shared = {"id": id or f"rs_{index}", "index": index}
    return [
        {"type": f"reasoning.{slot}", slot: part.text, **named, **shared},
        {"type": "reasoning.encrypted", "data": token, **named, **shared},
    ]


# How much to think.


def decode_reasoning_config(body: JsonObject) -> tuple[ir.ReasoningConfig | None, JsonObject | None]:
    """Read how much to think, under the names that servers of this format have for it.

    Each server reads one of these names. Where a body has several that contradict each other, the first one in the order of
    ``_read_switches`` counts. The second value is what has no canonical meaning, by pointer.

    Source: recorded requests to DeepSeek, GLM, Groq, Kimi, OpenRouter, Qwen, SGLang and vLLM, 2026-11.
    """
    made: dict[str, Any] = {}
    unread: JsonObject = {}
    for pointer, value, field, meaning in _read_switches(body):
        if value is None:
            continue
        if meaning is None or made.setdefault(field, meaning) != meaning:
            unread[pointer] = value
    for name, known in _SWITCH_MEMBERS.items():
        unread |= rest(body.get(name) or {}, known, f"{name}/") or {}
    return (ir.ReasoningConfig(**made) if made else None), unread or None


def _read_switches(body: JsonObject) -> Iterator[tuple[str, Any, str, Any]]:
    """Yield the pointer and the value of each switch, the canonical field that it sets, and its meaning; None: it has none there."""
    reasoning, thinking, template = (body.get(name) or {} for name in _SWITCH_MEMBERS)
    for pointer, value in (("reasoning_effort", body.get("reasoning_effort")), ("reasoning/effort", reasoning.get("effort"))):
        yield pointer, value, "effort", value if value in EFFORTS else None
    for pointer, value in (
        ("reasoning/max_tokens", reasoning.get("max_tokens")),
        ("thinking/budget_tokens", thinking.get("budget_tokens")),
        ("thinking_budget", body.get("thinking_budget")),
    ):
        if value is None or value > 0:
            yield pointer, value, "budget", value
        else:
            yield pointer, value, "mode", "off" if value == 0 else "adaptive"
    yield "thinking/type", thinking.get("type"), "mode", _MODES.get(thinking.get("type", ""))
    for pointer, value in (
        ("reasoning/enabled", reasoning.get("enabled")),
        ("enable_thinking", body.get("enable_thinking")),
        ("chat_template_kwargs/enable_thinking", template.get("enable_thinking")),
        ("chat_template_kwargs/thinking", template.get("thinking")),
    ):
        yield pointer, value, "mode", {True: "on", False: "off"}.get(value) if isinstance(value, bool) else None
    # To show reasoning is what these servers do anyway, so that only the opposite is read.
    for pointer, value, hidden in (
        ("reasoning/exclude", reasoning.get("exclude"), True),
        ("include_reasoning", body.get("include_reasoning"), False),
        ("reasoning_format", body.get("reasoning_format"), "hidden"),
    ):
        yield pointer, value, "show", "hide" if value == hidden else None


def encode_reasoning_config(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Write how much to think; what to show of it cannot be said here."""
    drop_unheld(config, losses)
    effort = encode_effort(config, losses)
    return {"reasoning_effort": effort} if effort else {}


KINDS = frozenset({"thinking", "redacted_thinking"})
"""The types of blocks that are known."""
_SLOTS: dict[str, ir.SignatureKind] = {"signature": "thinking", "data": "redacted"}
_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})


def decode_blocks(raw: list[JsonObject], src: str) -> tuple[list[ir.Reasoning], JsonObject]:
    """Read the blocks; one of a kind that is not known is left over."""
    parts: list[ir.Reasoning] = []
    leftover: JsonObject = {}
    for index, block in enumerate(raw):
        if block.get("type") not in KINDS:
            leftover[f"thinking_blocks/{index}"] = block
            continue
        part = decode_block(block, f"{src}/{index}")
        if part.text or part.signature or part.extra:
            parts.append(part)
    return parts, leftover


def decode_block(block: JsonObject, src: str) -> ir.Reasoning:
    """Read a block of a kind that is known."""
    if block["type"] == "thinking":
        return ir.Reasoning(block.get("thinking") or "", src, _token_of(block, "signature", src), extra=rest(block, _THINKING))
    return ir.Reasoning("", src, _token_of(block, "data", src), extra=rest(block, _REDACTED))


def _token_of(block: JsonObject, slot: str, src: str) -> ir.Signature | None:
    token = block.get(slot)
    return decode_token(token, "messages", _SLOTS[slot], f"{src}/{slot}", None, "chat_completions") if token else None


def choose(details: list[ir.Reasoning], text: Any, blocks: list[ir.Reasoning]) -> list[ir.Reasoning] | None:
    """Return whichever carrier keeps the tokens of the thoughts that a message tells more than once; None where the blocks tell others.

    ``text``: the same thoughts without tokens.
    """
    if details:
        return details if is_told_in(details, blocks) else None
    texts = texts_of(blocks)
    return blocks if not (text and texts) or is_same(text, texts) else None


def texts_of(parts: list[ir.Reasoning]) -> list[str]:
    """Return the texts of some thoughts."""
    return [part.text for part in parts if part.text]


def is_same(text: Any, texts: list[str]) -> bool:
    """Say whether a text is that of some thoughts, whatever stands between them."""
    return text in ("".join(texts), "\n\n".join(texts), "\n".join(texts))


def is_told_in(details: list[ir.Reasoning], blocks: list[ir.Reasoning]) -> bool:
    """Say whether details tell all that blocks do."""
    return bool(details) and _gist(blocks) == _gist(details) and not any(block.extra for block in blocks)


def _gist(parts: list[ir.Reasoning]) -> tuple[list[str], list[str]]:
    return texts_of(parts), [part.signature.token for part in parts if part.signature]


def decode_outer_token(raw: JsonObject, src: str) -> tuple[ir.Signature | None, JsonObject | None]:
    """Read the token of a call or an image, which compatible servers put under its vendor's name, and what else stands there.

    An image of a kind that is not known may have anything there.
    """
    outer = raw.get("extra_content")
    if not isinstance(outer, dict):
        return None, None if outer is None else {"extra_content": outer}
    google = outer.get("google")
    if not isinstance(google, dict):
        return None, rest(outer, frozenset(), "extra_content/")
    token = google.get("thought_signature")
    known = frozenset({"thought_signature"} if isinstance(token, str) else ())
    extra = joined(rest(outer, frozenset({"google"}), "extra_content/"), rest(google, known, "extra_content/google/"))
    if not token or not known or is_placeholder(token):
        return None, extra
    place = f"{src}/extra_content/google/thought_signature"
    return decode_token(token, "generate_content", "thought", place, None, "chat_completions"), extra


def encode_outer_token(token: str) -> JsonObject:
    """Write a token where ``decode_outer_token`` reads it."""
    return {"extra_content": {"google": {"thought_signature": token}}}


def decode_message_token(raw: JsonObject, parts: list[ir.Part], src: str) -> JsonObject | None:
    """Give the token beside a message to its text, else to the first call without one, else to an empty text; return what else is there.

    Recorded servers say it once more without its vendor, and call an answer that has one thought.
    """
    signature, extra = decode_outer_token(raw, src)
    again = raw.get("thought_signature")
    if again is not None and (signature is None or again != _outer_token(raw)):
        extra = joined(extra, {"thought_signature": again})
    if signature is None:
        return extra
    calls = [part for part in parts if isinstance(part, ir.ToolCall)]
    holders: list[ir.Text | ir.ToolCall] = [*(part for part in reversed(parts) if isinstance(part, ir.Text)), *calls]
    holder = next((part for part in holders if part.signature is None), None)
    if holder is not None:
        holder.signature = signature
    else:
        parts.insert(parts.index(calls[0]) if calls else len(parts), ir.Text("", signature.src, signature=signature))
    return extra


def split_token(
    visible: list[ir.Part], thoughts: list[ir.Reasoning], losses: Ledger
) -> tuple[list[ir.Part], list[ir.Reasoning], JsonObject]:
    """Write the token that goes beside a turn in a request; return what the turn shows and thinks, with tokens that find no room there."""
    found = [part for part in (*visible, *thoughts) if goes_beside(part)]
    if not found:
        return visible, thoughts, {}
    first, *others = found
    if isinstance(first, ir.Reasoning):
        drop_field(first, "id", losses)
    kept = [part for part in thoughts if part is not first]
    kept += [ir.Reasoning("", part.src, part.signature) for part in others if isinstance(part, ir.Text)]
    shown: list[ir.Part] = []
    for part in visible:
        if not isinstance(part, ir.Text) or not goes_beside(part):
            shown.append(part)
        elif part.text:
            shown.append(replace(part, signature=None))
    return shown, kept, encode_outer_token(first.signature.token)  # type: ignore[union-attr]  # ``goes_beside`` says so


def goes_beside(part: ir.Part) -> bool:
    """Say whether a text, or what stands for one, has a token that was found beside a message of this format."""
    if not isinstance(part, ir.Text | ir.Reasoning) or part.signature is None:
        return False
    token = part.signature
    stands_alone = isinstance(part, ir.Text) or (token.kind == "call" and not part.text)
    return stands_alone and token.issuer == "generate_content" and token.received_in == "chat_completions"


def encode_call_token(signature: ir.Signature | None, losses: Ledger, options: Options) -> JsonObject:
    """Write the token of a tool call where the compatible servers of its vendor put it."""
    if signature is None:
        return {}
    if not options.carry_reasoning:
        losses.dropped(signature, code="foreign_signature")
        return {}
    native = signature.issuer == "generate_content"
    token = signature.token if native else encode_token(signature, "chat_completions")
    return encode_outer_token(token)


def is_image(part: ir.Part) -> TypeGuard[ir.Media]:
    """Say whether a part is one of the images of an answer, which have a place for tokens of their own."""
    return isinstance(part, ir.Media) and part.kind == "image" and part.file_id is None


def is_sound(part: ir.Part) -> TypeGuard[ir.Media]:
    """Say whether a part is of the sound of an answer."""
    return isinstance(part, ir.Media) and part.kind == "audio" and part.data is not None


def _outer_token(raw: JsonObject) -> str | None:
    """Return the token that stands under its vendor's name, as it stands there."""
    token: str | None = ((raw.get("extra_content") or {}).get("google") or {}).get("thought_signature")
    return token
