"""``python -m benchmarks``: one table of all cases. Prints, asserts nothing, ends with 0."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

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
    """Yield a case's rows; where the library breaks down half-way, a last one that says so."""
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


def introduction() -> str:
    """Say on what this was measured, and how to read it."""
    names = ", ".join(f"{name} {found}" for name, found in versions().items())
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"pydantic {version('pydantic')}, {names}.\n"
        "Requests, responses and streams: time in multiples of `json.dumps(json.loads(body))` of the same body, or of each event of "
        "the same stream; in brackets, how many times as long as formatbridge a peer takes.\n"
    )


def main() -> int:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="How fast formatbridge is, beside json and its peers."
    )
    parser.add_argument("--quick", action="store_true", help="one short round: rough figures in a few minutes")
    parser.add_argument("--case", choices=CASES, action="append", metavar="NAME", help=f"only this one of: {', '.join(CASES)}")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # a peer warns at each loss
    print(introduction())
    for line in table(asked.case or list(CASES), QUICK if asked.quick else THOROUGH):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
