"""Streams of chat_completions, read: blocks of thoughts as parts, what they show and which thought their tokens sign."""

from __future__ import annotations

from formatbridge.formats.chat_completions.stream_state import Choice
from formatbridge.formats.chat_completions.stream_thinking_blocks import Blocks, Item
from formatbridge.ir import events


def feed_block(choice: Choice, item: Item, made: list[events.Event]) -> None:
    """Take an entry of the blocks of a choice."""
    blocks, part, step = choice.blocks, item.part, item.step
    assert blocks is not None
    if item.raw["type"] != "thinking" and step.kind == "new":
        choice.add(part, made)  # hidden, and whole
        return
    if part.extra and step.kind != "over" and not (item.shows and step.kind == "new"):
        choice.keep_beside(part.src, part.extra)
    if item.shows:
        if step.kind == "new" and choice.open_thought == blocks.thought:
            choice.leave(made)
        blocks.thought = choice.enter("reasoning", part, made)
        blocks.grow(choice.thoughts, part.text)
        made.append(events.Delta(choice.index, blocks.thought, part.text))
    if step.kind == "over" or (step.ends and part.signature is not None and not step.signs):
        blocks.leave(item)
    if step.ends:
        _end_block(choice, blocks, item, made)


def _end_block(choice: Choice, blocks: Blocks, item: Item, made: list[events.Event]) -> None:
    """End a block: it closes the thought that it shows, and its token signs whichever has its text."""
    thoughts, text = choice.thoughts, blocks.text(item.step.number)
    number = thoughts.whose(text, choice.open_thought) if text else None
    if not text and choice.open_thought is None and not thoughts.has_unsigned:
        number = choice.enter("reasoning", item.part, made)
    token = item.part.signature if item.step.signs else None
    if number is None and token is not None:
        blocks.leave(item)
    elif number is not None and token is not None:
        told = events.PartMeta if number == choice.open_thought else events.Signed
        made.append(told(choice.index, number, signature=token))
    if item.shows or (number is not None and number == choice.open_thought):
        choice.leave(made)
    if number is not None and token is not None:
        thoughts.sign(number)
