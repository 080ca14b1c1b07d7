"""Lines of the table, their bounds, and the attempt of a work before it is measured."""

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
    """The bound of a case. ``most``: the largest figure. ``faster``: how many times as long a peer takes at least."""

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
"""Name of a case to its bound. Figures of bodies and streams are multiples of the time of json, those of ``client`` of the official SDK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. ``figure`` is None if the work failed; then ``word`` is the reason. ``peers``: the figure or the reason."""

    case: str
    what: str
    figure: float | None = None
    word: str = ""
    peers: dict[str, float | str] = field(default_factory=dict)
    bound: Bound | None = None

    def faults(self) -> list[str]:
        """Return the bounds that do not hold."""
        if self.bound is None or self.figure is None:
            return []
        faults = [f"{self.figure:.3g} > {self.bound.most:g}"] if self.figure > self.bound.most else []
        for name, times in self.bound.faster.items():
            other = self.peers.get(name)
            if isinstance(other, float) and other / self.figure < times:
                faults.append(f"{name} {other / self.figure:.3g}× < {times:g}×")
        return faults

    @property
    def verdict(self) -> str:
        """Return whether the bound holds; empty without a bound."""
        if self.bound is None or self.figure is None:
            return f"skipped: {self.word}" if self.bound else ""
        absent = [name for name in self.bound.faster if self.peers.get(name) == "not installed"]
        return "; ".join(self.faults()) or ("yes" if not absent else f"yes, without {' and '.join(absent)}")


def attempt(work: Callable[[], object], least: float) -> str:
    """Run work once; return the name of its error, or that it loses a part of the content; empty if neither."""
    try:
        result = work()
    except Exception as error:
        return type(error).__name__
    return "loses content" if isinstance(result, bytes) and len(result) < least else ""
