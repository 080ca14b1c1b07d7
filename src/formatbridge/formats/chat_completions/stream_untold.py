"""Streams of chat_completions, read: what the end of a choice would tell, for one that breaks off before it."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.chat_completions.stream_calls import opened
from formatbridge.formats.chat_completions.stream_choice import Choice
from formatbridge.formats.shared.unmodelled_fields import joined
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import unfold


def untold(choice: Choice, answer_id: str) -> list[events.Event]:
    """Return what the end would tell: what nobody knows of open parts, and the parts that have not opened; the choice stays as it is."""
    extras: dict[int, JsonObject | None] = {} if choice.open is None else {choice.open[1]: choice.more}
    if calls := choice.calls:
        extras |= {number: calls.unread.get(slot) for slot, number in calls.open.items()}
    made: list[events.Event] = [events.PartMeta(choice.index, at, extra=extra) for at, extra in extras.items() if extra]
    for number, part in enumerate(_waiting(choice, answer_id), len(choice.parts)):
        made += unfold(choice.index, number, part)[:-1]
    return made


def _waiting(choice: Choice, answer_id: str) -> list[ir.Part]:
    """Return the parts that the end of the choice would open: a text for citations, calls by half, and a text for a token."""
    parts: list[ir.Part] = []
    if choice.notes:
        parts.append(ir.Text("", f"/choices/{choice.index}/message/content", citations=[*choice.notes]))
    if calls := choice.calls:
        for number, (slot, held) in enumerate(calls.waiting.items(), calls.count):
            call = opened(held, slot, number, choice.index, answer_id)
            extra = joined(call.extra, calls.unread.get(slot))
            parts.append(replace(call, arguments="".join(held.pieces), extra=extra))
    if choice.beside is not None:
        parts.append(ir.Text("", choice.beside.src, signature=choice.beside))
    return parts
