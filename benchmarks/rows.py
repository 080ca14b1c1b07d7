"""What a line of the table is, the bounds that its figure is held against, and what is tried before it is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

DIRECTIONS = (
    ("chat_completions", "messages"),
    ("messages", "chat_completions"),
    ("chat_completions", "responses"),
    ("responses", "chat_completions"),
    ("chat_completions", "generate_content"),
    ("generate_content", "chat_completions"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What architecture.md promises of a case. ``most``: the figure is at most so much; ``faster``: a peer takes so many times as long."""

    most: float
    faster: dict[str, float] = field(default_factory=dict)


BOUNDS: dict[str, Bound] = {
    "tiny": Bound(most=1.6, faster={"linguafranca": 1.6, "rosetta": 5}),
    "agent": Bound(most=1.0, faster={"linguafranca": 2.5, "rosetta": 3}),
    "conversation": Bound(most=1.0, faster={"linguafranca": 2.2, "rosetta": 2.3}),
    "images": Bound(most=0.35, faster={"linguafranca": 8, "rosetta": 4}),
    "response": Bound(most=1.0, faster={"linguafranca": 2.5, "rosetta": 4}),
    "tool_calls": Bound(most=1.0, faster={"linguafranca": 2.5, "rosetta": 4}),
    "stream": Bound(most=0.85, faster={"linguafranca": 2, "rosetta": 1.2}),
    "stream through responses or generate_content": Bound(most=1.0, faster={"linguafranca": 2, "rosetta": 1.2}),
    "client": Bound(most=1.0),
    "growth": Bound(most=1.25),
    "memory conversation": Bound(most=7),
    "memory images": Bound(most=3.6),
    "import": Bound(most=0.45),
}
"""Name of a case to its bound; of ``tiny`` to ``stream…`` the figure is a multiple of json's time, of ``client`` of the official SDK's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. ``figure`` is None where the work failed; ``word`` then says why. ``peers``: time or the word."""

    case: str
    what: str
    figure: float | None = None
    word: str = ""
    peers: dict[str, float | str] = field(default_factory=dict)
    bound: Bound | None = None

    def faults(self) -> list[str]:
        """Say what does not keep the bound."""
        if self.bound is None or self.figure is None:
            return []
        found = [f"{self.figure:.3g} > {self.bound.most:g}"] if self.figure > self.bound.most else []
        for name, times in self.bound.faster.items():
            other = self.peers.get(name)
            if isinstance(other, float) and other / self.figure < times:
                found.append(f"{name} {other / self.figure:.3g}× < {times:g}×")
        return found

    @property
    def verdict(self) -> str:
        """Say whether the bound holds; nothing where there is none."""
        if self.bound is None or self.figure is None:
            return f"skipped: {self.word}" if self.bound else ""
        absent = [name for name in self.bound.faster if self.peers.get(name) == "not installed"]
        return "; ".join(self.faults()) or ("yes" if not absent else f"yes, without {' and '.join(absent)}")


def attempt(work: Callable[[], object], least: float) -> str:
    """Run work once; return a word for what is wrong: the error's name, or that it loses a part of the content."""
    try:
        made = work()
    except Exception as error:
        return type(error).__name__
    return "loses content" if isinstance(made, bytes) and len(made) < least else ""
