"""The events of a stream as they came, kept in little space until somebody asks what they add up to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from formatbridge.streaming.template import Template


@dataclass(slots=True)
class _Run:
    """Events in a row that differ in their text, and in what is counted, alone. ``last``: the last one, where its counts hold."""

    template: Template
    texts: list[str]
    last: bytes | None

    def events(self) -> Iterator[bytes]:
        """Yield what adds up to the same."""
        texts = self.texts if self.last is None else self.texts[:-1]
        if texts:
            yield self.template.filled("".join(texts))
        if self.last is not None:
            yield self.last


class Record:
    """What a stream brought, event by event; of those that are known by heart no more is kept than their text."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: list[bytes | _Run] = []

    def add(self, data: bytes) -> None:
        """Keep an event."""
        self._told.append(data)

    def go_on(self, template: Template, text: str, data: bytes) -> None:
        """Keep an event that is known by heart, and has that text."""
        run = self._told[-1] if self._told else None
        if not isinstance(run, _Run) or run.template is not template:
            run = _Run(template, self._taken(template), None)
            self._told.append(run)
        run.texts.append(text)
        run.last = data if template.counts_usage else None

    def _taken(self, template: Template) -> list[str]:
        """Take back the latest events that are of a template, from before it was known, and return their texts."""
        texts: list[str] = []
        while self._told and isinstance(data := self._told[-1], bytes) and (text := template.text_of(data)):
            texts.insert(0, text)
            self._told.pop()
        return texts

    def __iter__(self) -> Iterator[bytes]:
        for told in self._told:
            if isinstance(told, bytes):
                yield told
            else:
                yield from told.events()
