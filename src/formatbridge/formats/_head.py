"""What an answer says of itself at the start of its stream, or behind it."""

from __future__ import annotations

from dataclasses import replace

from formatbridge.ir import events


def name_late(
    known: events.Start, id: str | None, model: str | None, created: float | None, made: list[events.Event]
) -> events.Start:
    """Tell what a start left out and an event says now; return what is known from then on. What was told first stays."""
    if known.id and known.model and known.created:
        return known
    told = events.Named(
        id=None if known.id else id or None,
        model=None if known.model else model or None,
        created=None if known.created else created or None,
    )
    if not (told.id or told.model or told.created):
        return known
    made.append(told)
    return replace(known, id=told.id or known.id, model=told.model or known.model, created=told.created or known.created)
