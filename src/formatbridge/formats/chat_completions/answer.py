"""The message of an answer: what a turn in a request's history has, and citations, images, sound and carried tokens besides."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.chat_completions.calls import encode_answer_call
from formatbridge.formats.chat_completions.citations import decode_citations, encode_citations
from formatbridge.formats.chat_completions.content import (
    BESIDE,
    MESSAGE,
    decode_images,
    decode_said,
    note_order,
)
from formatbridge.formats.chat_completions.joints import Joints, is_dropped
from formatbridge.formats.chat_completions.reasoning import encode_answer_reasoning
from formatbridge.formats.chat_completions.tokens import encode_call_token, is_image, is_sound
from formatbridge.formats.shared.media import Sound, is_samples, write_data_url
from formatbridge.formats.shared.parts import drop_id, encode_opaque, is_plain
from formatbridge.formats.shared.unique_names import made_call_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest, says_something
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options, Severity
from formatbridge.report.ledger import Ledger

_KNOWN = MESSAGE | BESIDE | {"annotations", "audio", "images"}
_SAID = MESSAGE
_AUDIO = frozenset({"id", "data", "transcript"})
_NONE_BEFORE: Mapping[str, int] = {}


def decode_answer(
    raw: JsonObject, src: str, answer_id: str, position: int, before: Mapping[str, int] = _NONE_BEFORE
) -> tuple[list[ir.Part], JsonObject | None]:
    """Read the message of a choice; the second value is what no part can hold, by pointer relative to the message.

    Calls without an id get one from the answer's id, so that two answers in one history do not collide; where that is missing too, from
    what they say. ``before``: how many items of a list came before those of this message, which is a piece then.
    """
    parts, leftover = decode_said(raw, src, answer_id)
    if not answer_id and (raw.get("tool_calls") or raw.get("function_call")):
        _give_ids(parts, position)
    if _SAID.issuperset(raw):  # nothing that only an answer has
        return parts, leftover
    uncited = decode_citations(raw.get("annotations") or [], parts, src, before.get("annotations", 0))
    parts += decode_images(raw.get("images"), src, before.get("images", 0))
    audio = raw.get("audio")
    if audio and says_something(audio):
        parts.append(_decode_audio(audio, f"{src}/audio"))
    return parts, joined(rest(raw, _KNOWN), leftover, uncited)


def _give_ids(parts: list[ir.Part], position: int) -> None:
    calls = [part for part in parts if isinstance(part, ir.ToolCall)]
    for number, call in enumerate(calls):
        if call.id_made:
            call.id = made_call_id(position, number, call.name, call.arguments)


def encode_answer(parts: list[ir.Part], at: str, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    """Write the message of a choice. ``at`` is its pointer in the target, for what is added to it."""
    if len(parts) > 1:
        note_order(parts, losses, carry=options.carry_reasoning)
        if options.carry_reasoning:
            _note_tokens(parts, losses)
        _note_media(parts, losses)
    return _encode_parts(parts, at, answer_id, losses, options)


def _note_tokens(parts: list[ir.Part], losses: Ledger) -> None:
    """Note tokens that come home to another part: the details have them before the one text, or the first call where there is none."""
    held: ir.Text | None = None
    seen_call = seen_visible = False
    for part in parts:
        has_text = isinstance(part, ir.Text) and bool(part.text)
        if held is not None and (has_text or (isinstance(part, ir.ToolCall) and not held.text)):
            losses.changed(held.signature, "", None, "position_lost")
            held = None
        if isinstance(part, ir.Text | ir.Media) and part.signature and not is_image(part):
            if seen_visible or (seen_call and not has_text):
                losses.changed(part.signature, "", None, "position_lost")
            elif isinstance(part, ir.Text):
                held = part
        seen_call = seen_call or isinstance(part, ir.ToolCall)
        seen_visible = seen_visible or isinstance(part, ir.Text | ir.Refusal | ir.Media)


def _encode_parts(parts: list[ir.Part], at: str, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    """Write parts of any kind."""
    message: JsonObject = {"role": "assistant", "content": None, "refusal": None}
    texts: list[str] = []
    joints = Joints()
    calls: list[JsonObject] = []
    sounds: list[ir.Media] = []
    for part in parts:
        kind = type(part)
        if kind is ir.Text and is_plain(part):  # type: ignore[arg-type]  # the test before it says so
            texts += (joints.take(part.text), part.text)  # type: ignore[union-attr, arg-type]
        elif kind is ir.ToolCall:
            if part.id_made:  # type: ignore[union-attr]
                losses.added(f"{at}/tool_calls/{len(calls)}/id", part.id)  # type: ignore[union-attr]
            calls.append(encode_answer_call(part, losses, options))  # type: ignore[arg-type]
        elif kind is ir.Media:
            _encode_media(part, message, sounds, losses, options)  # type: ignore[arg-type]
        else:
            text = _encode_other(part, losses)
            if text is not None:
                texts += (joints.take(text), text)
            elif is_dropped(part):
                joints.part()
    if texts:
        message["content"] = "".join(texts)
    if sounds:
        message["audio"] = _encode_sounds(sounds, at, answer_id, losses)
    return _with_rest(message, parts, calls, joints, losses, options)


def _with_rest(
    message: JsonObject, parts: list[ir.Part], calls: list[JsonObject], joints: Joints, losses: Ledger, options: Options
) -> JsonObject:
    """Add what has a place of its own in the message: refusal, reasoning, calls, citations."""
    refusals: list[str] = []
    thinks = is_cited = False
    for part in parts:
        if isinstance(part, ir.ToolCall):
            continue
        if isinstance(part, ir.Text):
            is_cited = is_cited or bool(part.citations)
            thinks = thinks or part.signature is not None
        elif isinstance(part, ir.Refusal):
            refusals.append(part.text)
        else:
            thinks = thinks or isinstance(part, ir.Reasoning) or (part.signature is not None and not is_image(part))
    if refusals:
        message["refusal"] = "".join(refusals)
    if thinks:
        message |= encode_answer_reasoning(parts, losses, options)
    if calls:
        message["tool_calls"] = calls
    annotations = encode_citations(parts, joints, losses) if is_cited else None
    if annotations:
        message["annotations"] = annotations
    return message


def _encode_other(part: ir.Part, losses: Ledger) -> str | None:
    """Return what a part puts into the text of the message."""
    if isinstance(part, ir.Text):
        drop_id(part, losses)
        if part.extra:
            losses.extras(part)
        if part.cache:
            losses.dropped(part.cache, severity="info")
        return part.text
    if isinstance(part, ir.Opaque | ir.Hosted):
        text = encode_opaque(part, losses)
        return text.text if text else None
    if isinstance(part, ir.ToolResult):
        losses.dropped(part, code="orphan")
    if isinstance(part, ir.Refusal):
        drop_id(part, losses)
        if part.extra:
            losses.extras(part)
    return None


# Images and sound.


def _decode_audio(raw: JsonObject, src: str) -> ir.Media:
    return ir.Media(
        kind="audio",
        data=raw.get("data"),
        transcript=raw.get("transcript"),
        id=raw.get("id") or None,
        src=src,
        extra=rest(raw, _AUDIO),
    )


def _note_media(parts: list[ir.Part], losses: Ledger) -> None:
    """Note media that stand before text or calls: the message has them behind both."""
    media: list[ir.Part] = []
    for part in parts:
        if type(part) is ir.Media:
            media.append(part)
        elif media and (isinstance(part, ir.ToolCall) or (isinstance(part, ir.Text | ir.Refusal) and part.text)):
            for each in media:
                losses.changed(each, "", None, "position_lost")
            media.clear()


def _encode_media(part: ir.Media, message: JsonObject, sounds: list[ir.Media], losses: Ledger, options: Options) -> None:
    """Put an image where the message has room for it, and a sound beside the others."""
    if part.extra:
        losses.extras(part)
    if part.cache:
        losses.dropped(part.cache, severity="info")
    if not (is_image(part) or is_sound(part)):
        losses.dropped(part, code="unsupported_media", severity="impossible")
        return
    if part.filename is not None:
        losses.dropped(part, "filename", severity="info")
    if part.detail not in (None, "auto"):
        losses.dropped(part, "detail", severity="info")
    if is_image(part):
        drop_id(part, losses)
        url = part.url if part.url is not None else write_data_url(part.mime or "image/png", part.data or "")
        image: JsonObject = {"type": "image_url", "image_url": {"url": url}}
        message.setdefault("images", []).append(image | encode_call_token(part.signature, losses, options))
    else:
        sounds.append(part)


def _encode_sounds(sounds: list[ir.Media], at: str, answer_id: str, losses: Ledger) -> JsonObject:
    """Write the one sound that a message has room for; samples that go on are of it."""
    sound, words = Sound(), ""
    pieces: list[str] = []
    for part in sounds:
        piece = sound.take(part.mime, part.data or "")
        if piece is None:
            losses.dropped(part, code="unsupported_media", severity="impossible")
            continue
        severity: Severity = "lossy" if part.mime and is_samples(part.mime) else "info"
        if part.mime is not None and len(sounds) > 1:  # it says which of them go on
            losses.changed(part, "mime", None, "weaker_carrier", severity=severity)
        elif part.mime is not None:
            losses.dropped(part, "mime", severity=severity)
        if pieces:
            drop_id(part, losses)
        pieces.append(piece)
        words += part.transcript or ""
    return {
        "id": sounds[0].id or losses.added(f"{at}/audio/id", f"audio_{answer_id}"),
        "data": "".join([*pieces, sound.rest()]),
        "expires_at": losses.added(f"{at}/audio/expires_at", 0),
        "transcript": words or losses.added(f"{at}/audio/transcript", ""),
    }
