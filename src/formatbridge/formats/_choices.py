"""Which of several choices a format writes that has room for one: the first by number, whichever comes first."""

from __future__ import annotations

from formatbridge.ir import events


class FirstChoice:
    """Passes on the events of choice 0, or, where a stream ends without one, of the first choice that there is.

    What comes of others before the first event of choice 0 is kept so long. ``number``: the choice that is written; None: not known yet.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._kept: list[events.PartEvent] = []

    def feed(self, event: events.Event) -> list[events.Event]:
        """Take an event and return those that are to be written now."""
        if isinstance(event, events.PartEvent):
            return self._take(event)
        if self._kept and isinstance(event, events.End | events.Failed):
            self.number = min(kept.choice for kept in self._kept)
            return [*(kept for kept in self._kept if kept.choice == self.number), event]
        return [event]

    def _take(self, event: events.PartEvent) -> list[events.Event]:
        if self.number is None:
            if event.choice:
                self._kept.append(event)
                return []
            self.number, self._kept = event.choice, []
        return [event] if event.choice == self.number else []
