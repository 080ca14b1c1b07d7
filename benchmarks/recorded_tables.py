"""The results of ``python -m benchmarks recorded``: summaries by direction, by agent and by peer, as tables and as JSON."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS
from benchmarks.recorded import DIRECTIONS, NO_DIRECTION, NOT_INSTALLED, FirstConversion, Measurement
from benchmarks.recordings import KINDS

ALL = "all directions"
ANY_PEER = "any peer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of formatbridge over some bodies, as multiples of json's time. ``total``: the sum of times over the sum of json's."""

    bodies: int
    rejected: int
    median: float
    p90: float
    total: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A peer over the bodies that both convert. ``median``: how many times as long as formatbridge the peer takes."""

    compared: int
    failed: int
    faster: int
    median: float

    @property
    def share(self) -> float:
        """The share of compared bodies where the peer is faster."""
        return self.faster / self.compared


def summary_of(measured: Sequence[Measurement]) -> Summary | None:
    """Summarise the bodies that formatbridge converts; None if there are none."""
    figures = [(each.figure, each.json_seconds) for each in measured if each.figure is not None]
    if not figures:
        return None
    ratios = sorted(figure for figure, _ in figures)
    return Summary(
        bodies=len(ratios),
        rejected=len(measured) - len(ratios),
        median=statistics.median(ratios),
        p90=ratios[min(len(ratios) - 1, int(0.9 * len(ratios)))],
        total=sum(figure * seconds for figure, seconds in figures) / sum(seconds for _, seconds in figures),
    )


def comparison_of(measured: Sequence[Measurement], peer: str) -> Comparison | str:
    """Compare a peer, or the fastest of all; return a reason if nothing can be compared."""
    ratios: list[float] = []
    failed = 0
    words = set()
    for each in measured:
        if each.figure is None:
            continue
        results = each.peers.values() if peer == ANY_PEER else [each.peers[peer]]
        figures = [figure for figure in results if isinstance(figure, float)]
        reasons = {word for word in results if isinstance(word, str)}
        if figures:
            ratios.append(min(figures) / each.figure)
        else:
            words |= reasons
            failed += bool(reasons - {NOT_INSTALLED, NO_DIRECTION})
    if not ratios:
        return " ".join(sorted(words & {NOT_INSTALLED, NO_DIRECTION})) or ("fails" if failed else "")
    faster = sum(ratio < 1 for ratio in ratios)
    return Comparison(compared=len(ratios), failed=failed, faster=faster, median=statistics.median(ratios))


def lines(measured: Sequence[Measurement], first: Sequence[FirstConversion]) -> Iterator[str]:
    """Yield the tables."""
    for kind in KINDS:
        of_kind = [each for each in measured if each.kind == kind]
        if of_kind:
            yield from _direction_table(kind, of_kind)
            yield from _peer_table(kind, of_kind)
    if agents := sorted({each.agent for each in measured if each.agent}):
        yield from _agent_table(agents, measured)
    if first:
        yield from _first_table(first)


def _direction_table(kind: str, measured: Sequence[Measurement]) -> Iterator[str]:
    rows = []
    for what, group in _by_direction(measured):
        summary = summary_of(group)
        if summary is not None:
            figures = (f"{figure:.2f}" for figure in (summary.median, summary.p90, summary.total))
            rows.append((what, str(summary.bodies), str(summary.rejected), *figures))
    heads = (f"recorded {kind}s", "bodies", "rejected", "median", "p90", "sum")
    yield from _table(heads, rows)


def _peer_table(kind: str, measured: Sequence[Measurement]) -> Iterator[str]:
    names = (*PEERS, ANY_PEER)
    rows = [
        (what, *(_comparison_cell(comparison_of(group, name)) for name in names))
        for what, group in _by_direction(measured)
        if group
    ]
    yield from _table((f"recorded {kind}s where a peer is faster", *names), rows)


def _comparison_cell(comparison: Comparison | str) -> str:
    if isinstance(comparison, str):
        return comparison
    fails = f", fails on {comparison.failed}" if comparison.failed else ""
    return f"{comparison.share:.0%} of {comparison.compared} (median {comparison.median:.1f}×{fails})"


def _agent_table(agents: Sequence[str], measured: Sequence[Measurement]) -> Iterator[str]:
    rows = []
    for agent in agents:
        of_agent = [each for each in measured if each.agent == agent]
        for what, group in _by_direction(of_agent):
            summary = summary_of(group) if what != ALL else None
            if summary is not None:
                peers = (_comparison_cell(comparison_of(group, name)) for name in PEERS)
                rows.append((agent, what, str(summary.bodies), str(summary.rejected), f"{summary.median:.2f}", *peers))
    yield from _table(("requests of agents", "direction", "bodies", "rejected", "median", *PEERS), rows)


def _first_table(first: Sequence[FirstConversion]) -> Iterator[str]:
    rows = [(each.kind, f"{each.source} → {each.target}", f"{each.figure:.2f}", f"{each.seconds * 1e3:.1f}") for each in first]
    yield from _table(("first conversion in a process", "direction", "CPU / `import pydantic, httpx`", "CPU ms here"), rows)


def _by_direction(measured: Sequence[Measurement]) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield the text of the first column with its measurements: each direction, then all of them."""
    for source, target in DIRECTIONS:
        yield f"{source} → {target}", [each for each in measured if (each.source, each.target) == (source, target)]
    yield ALL, list(measured)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for cells in (heads, tuple("---" for _ in heads), *rows):
        yield f"| {' | '.join(cells)} |"
    yield ""


def write_json(path: Path, about: dict[str, Any], measured: Sequence[Measurement], first: Sequence[FirstConversion]) -> None:
    """Write the summaries and each measurement, so that a later run can be compared body by body."""
    summaries: list[dict[str, Any]] = []
    for kind in KINDS:
        for what, group in _by_direction([each for each in measured if each.kind == kind]):
            summary = summary_of(group)
            if summary is not None:
                comparisons = {name: comparison_of(group, name) for name in (*PEERS, ANY_PEER)}
                peers = {name: each if isinstance(each, str) else asdict(each) for name, each in comparisons.items()}
                summaries.append({"kind": kind, "direction": what, **asdict(summary), "peers": peers})
    content = {
        "about": about,
        "summaries": summaries,
        "first_conversions": [asdict(each) for each in first],
        "measurements": [asdict(each) for each in measured],
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
