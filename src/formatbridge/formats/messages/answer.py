"""The content of an answer: what a turn in a request's history has, and citations, server tools and carried tokens besides."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.calls import encode_answer_call
from formatbridge.formats.messages.citations import encode_cited_text, place_citations
from formatbridge.formats.messages.content import decode_blocks
from formatbridge.formats.messages.hosted_content import encode_hosted
from formatbridge.formats.messages.reasoning import encode_answer_reasoning, encode_carrier
from formatbridge.formats.shared.parts import drop_id, encode_opaque, is_plain
from formatbridge.formats.shared.tool_arguments import read_objects
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger


def decode_answer(content: list[JsonObject], src: str) -> list[ir.Part]:
    """Read the blocks of an answer."""
    parts = decode_blocks(content, src)
    place_citations(parts)
    return parts


def encode_answer(parts: list[ir.Part], losses: Ledger, options: Options) -> list[JsonObject]:
    """Write the parts of an answer as blocks."""
    objects = read_objects(parts)
    blocks: list[JsonObject] = []
    offset = 0
    for part in parts:
        if isinstance(part, ir.Text):
            if not is_plain(part):
                blocks += _encode_text(part, offset, len(blocks), losses, options)
            elif part.text:
                blocks.append({"type": "text", "text": part.text})
            offset += len(part.text)
        elif isinstance(part, ir.ToolCall):
            call = encode_answer_call(part, losses, objects)
            carrier = encode_carrier(part.signature, losses, options) if part.signature else None
            if carrier:  # the token that the call came with goes before it
                blocks.append(carrier)
            if part.id_made:
                losses.added(f"/content/{len(blocks)}/id", part.id)
            blocks.append(call)
        elif isinstance(part, ir.Reasoning):
            thought = encode_answer_reasoning(part, losses, options)
            blocks += [thought] if thought else []
        elif isinstance(part, ir.Hosted):
            hosted = encode_hosted(part, losses)
            carrier = encode_carrier(part.signature, losses, options) if hosted else None
            blocks += [carrier, *hosted] if carrier else hosted
        else:
            blocks += _encode_other(part, losses)
    return blocks


def _encode_text(part: ir.Text, offset: int, at: int, losses: Ledger, options: Options) -> list[JsonObject]:
    if part.extra:
        losses.extras(part)
    drop_id(part, losses)
    if part.cache:
        losses.dropped(part.cache, severity="info")
    carrier = encode_carrier(part.signature, losses, options)
    blocks = [carrier] if carrier else []
    if part.citations and part.text:
        return blocks + encode_cited_text(part, offset, at + len(blocks), losses)
    for citation in part.citations or ():
        losses.dropped(citation)
    return [*blocks, {"type": "text", "text": part.text}] if part.text else blocks


def _encode_other(part: ir.Media | ir.Refusal | ir.ToolResult | ir.Opaque, losses: Ledger) -> list[JsonObject]:
    """Write what a block of text can stand for."""
    match part:
        case ir.Refusal():
            drop_id(part, losses)
            if part.extra:
                losses.extras(part)
            block = {"type": "text", "text": part.text}
            losses.changed(part, "", block, "flattened", severity="info")
            return [block] if part.text else []
        case ir.Opaque():
            text = encode_opaque(part, losses)
            return [{"type": "text", "text": text.text}] if text and text.text else []
        case ir.Media():
            losses.dropped(part, code="unsupported_media", severity="impossible")
        case ir.ToolResult():
            losses.dropped(part, code="orphan")
    return []
