"""Streams of messages, read: what the end of the blocks would tell, for one that breaks off before it."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.messages.conversation import decode_block
from formatbridge.formats.messages.stream_blocks import Block, Blocks, with_input
from formatbridge.formats.shared.unmodelled_fields import joined
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.streaming.replay import unfold


def untold(blocks: Blocks) -> list[events.Event]:
    """Return what the end would tell of open blocks, and of thoughts that may yet be the token of another part; all stays as it is."""
    made: list[events.Event] = []
    waiting = [blocks.carrier] if blocks.carrier is not None else []
    for block in blocks.open:
        if block.number is not None:
            made += _untold_of(block, blocks)
        elif isinstance(block.part, ir.Reasoning):
            waiting.append(replace(block.part, signature=block.token, extra=joined(block.part.extra, block.unknown.whole())))
    said = [part for part in waiting if part.signature or part.extra]
    for number, part in enumerate(said, blocks.part_count):
        made += unfold(0, number, part)[:-1]
    return made


def _untold_of(block: Block, blocks: Blocks) -> list[events.Event]:
    number, unknown = block.number or 0, block.unknown.whole() or None
    made: list[events.Event] = []
    match block.kind:
        case "text" if block.citations:
            made = blocks.placed_citations(block)
        case "tool_use" if not block.size and block.raw["input"]:
            made = [events.Delta(0, number, dumps(block.raw["input"]).decode())]
        case "input" if block.pieces or block.raw["input"]:
            return [events.PartEnd(0, number, with_input(block), unknown)]
        case "whole" if block.raw.get("type") == "compaction":
            return [events.PartEnd(0, number, decode_block(block.raw, block.src), unknown)]
    return [*made, events.PartMeta(0, number, extra=unknown)] if unknown else made
