"""Measure how fast the library is and print the figures. Nothing is asserted; the exit status is 0.

``python -m benchmarks``: one table of all synthetic cases; ``--quick``, ``--case NAME``.
``python -m benchmarks recorded``: tables over recorded traffic, in three to five minutes. ``--sample N`` takes N bodies of each format
and each agent, ``--quick`` one short round, ``--json FILE`` writes every figure. The folder of the recordings is named by
``FORMATBRIDGE_CORPUS`` (default: ``shared/corpus`` next to the project's folder). Without it the run prints a reason and measures nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from benchmarks import recorded, recorded_tables, recordings
from benchmarks.cases import CASES
from benchmarks.measure import QUICK, THOROUGH, Effort
from benchmarks.peers import PEERS, versions
from benchmarks.rows import Row

HEADS = ("case", "what", "figure", *PEERS, "bound", "holds?")


def table(cases: list[str], effort: Effort) -> Iterator[str]:
    """Yield the table's lines as they are measured."""
    yield _line(HEADS)
    yield _line("---" for _ in HEADS)
    kept = total = skipped = 0
    for case in cases:
        for row in rows(case, effort):
            yield _line(cells(row))
            if row.bound:
                total += row.figure is not None
                skipped += row.figure is None
                kept += row.figure is not None and not row.faults()
    yield ""
    yield f"{kept} of {total} measured bounds hold; {skipped} could not be measured."


def rows(case: str, effort: Effort) -> Iterator[Row]:
    """Yield the rows of a case. If the library raises, the last row has the error."""
    try:
        yield from CASES[case](case, effort)
    except Exception as error:
        yield Row(case=case, what="stopped", word=f"{type(error).__name__}: {error}".splitlines()[0][:80])


def _line(cells: Iterator[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def cells(row: Row) -> tuple[str, ...]:
    """Return a row's cells: figures, and for a peer in brackets how many times as long it takes."""
    figure = f"{row.figure:.2f}" if row.figure is not None else row.word
    return (row.case, row.what, figure, *(_peer(row, name) for name in PEERS), _bound(row), row.verdict)


def _peer(row: Row, name: str) -> str:
    other = row.peers.get(name, "")
    if isinstance(other, str) or row.figure is None:
        return other if isinstance(other, str) else f"{other:.2f}"
    return f"{other:.2f} ({other / row.figure:.1f}×)"


def _bound(row: Row) -> str:
    if row.bound is None:
        return ""
    return "; ".join([f"≤ {row.bound.most:g}", *(f"{name} {times:g}×" for name, times in row.bound.faster.items())])


def environment() -> str:
    """Return the date, the machine and the versions of a run."""
    names = ", ".join(f"{name} {installed}" for name, installed in versions().items())
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"pydantic {version('pydantic')}, {names}."
    )


def introduction() -> str:
    """Return the environment of the run, and how to read the table."""
    return (
        f"{environment()}\n"
        "Requests, responses and streams: time in multiples of `json.dumps(json.loads(body))` of the same body, or of each event of "
        "the same stream; in brackets, how many times as long as formatbridge a peer takes.\n"
    )


def run_recorded(effort: Effort, sample: int | None, output: Path | None) -> None:
    """Measure recorded traffic, print the tables and write the figures to a file."""
    reason = recordings.absence()
    if reason:
        print(f"skipped: {reason}")
        return
    start = perf_counter()
    bodies = [each for kind in recordings.KINDS for each in recordings.sample(recordings.recordings(kind), sample)]
    measured = list(recorded.measurements(bodies, effort))
    first = list(recorded.first_conversions(effort))
    size = sum(len(each.body) for each in bodies)
    print(
        f"{environment()}\n{len(bodies)} recorded bodies, {size:,} bytes{'' if sample is None else ' (a sample)'}, "
        f"{len(measured)} conversions, measured in {math.ceil(perf_counter() - start)} s.\n"
        "Time in multiples of `json.dumps(json.loads(body))` of the same body; sum: all bodies' time over all bodies' json time. "
        "A peer is compared where it does not raise; in brackets, how many times as long as formatbridge it takes.\n"
    )
    for line in recorded_tables.lines(measured, first):
        print(line)
    if output:
        about = {"environment": environment(), "sample": sample, "versions": versions()}
        recorded_tables.write_json(output, about, measured, first)


def main() -> int:
    """Run the benchmark that the arguments name and print its figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure how fast formatbridge is, compared with json and with its peers."
    )
    parser.add_argument("suite", nargs="?", choices=("synthetic", "recorded"), default="synthetic", help="what to convert")
    parser.add_argument("--quick", action="store_true", help="one short round: rough figures in less time")
    parser.add_argument("--case", choices=CASES, action="append", metavar="NAME", help=f"only this one of: {', '.join(CASES)}")
    parser.add_argument("--sample", type=int, metavar="N", help="recorded: only N bodies of each kind, format and agent")
    parser.add_argument("--json", type=Path, metavar="FILE", help="recorded: write all figures to this file")
    asked = parser.parse_args()
    if asked.suite == "recorded" and asked.case:
        parser.error("--case belongs to the synthetic payloads")
    if asked.suite == "synthetic" and (asked.sample is not None or asked.json):
        parser.error("--sample and --json belong to recorded traffic")
    warnings.simplefilter("ignore")  # a peer warns at each loss
    if asked.suite == "recorded":
        run_recorded(recorded.QUICK if asked.quick else recorded.THOROUGH, asked.sample, asked.json)
        return 0
    print(introduction())
    for line in table(asked.case or list(CASES), QUICK if asked.quick else THOROUGH):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
