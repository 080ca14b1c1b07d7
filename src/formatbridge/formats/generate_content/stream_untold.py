"""Streams of generate_content, read: what the end of a candidate would tell, for one that breaks off before it."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.stream_choice import Choice
from formatbridge.formats.shared.unmodelled_fields import joined
from formatbridge.ir import events


def untold(choice: Choice) -> list[events.Event]:
    """Return what the end would tell: what the candidate rests on, the chances of tokens, calls by half; the choice stays as it is."""
    made: list[events.Event] = []
    unread = choice.cite(made)
    if choice.tokens:
        made += _weighed(choice)
    if left := joined(unread, choice.partial.left_over(choice.place) if choice.partial else None):
        made.append(events.Meta(left, choice.index))
    return made


def _weighed(choice: Choice) -> list[events.Event]:
    """Return what tells the chances of tokens that wait for a text, with one of their own where none is open."""
    tokens, texts = [*choice.tokens], choice.open_texts
    number = texts[0] if texts else choice.parts
    begun: list[events.Event] = [] if texts else [events.PartStart(choice.index, number, ir.Text("", choice.at))]
    return [*begun, events.Delta(choice.index, number, "", tokens)]
