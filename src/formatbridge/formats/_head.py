"""What an answer says of itself at the start of its stream, or behind it."""

from __future__ import annotations

from dataclasses import replace

from formatbridge._json import JsonObject
from formatbridge.ir import events


def head_of(raw: JsonObject, time: str) -> tuple[str | None, str | None, float | None]:
    """Return the id, the model and the time that an object names; what is of another type names nothing, as in events that nobody knows.

    ``time``: the key of the last, in seconds since the epoch.
    """
    id, model, created = raw.get("id"), raw.get("model"), raw.get(time)
    return (
        id if isinstance(id, str) and id else None,
        model if isinstance(model, str) and model else None,
        created if isinstance(created, int | float) and not isinstance(created, bool) else None,
    )


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
