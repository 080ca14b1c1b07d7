"""Run the laws over the recorded traffic and print the breaches: ``python -m tests.laws_run --source messages``."""

from __future__ import annotations

import argparse
import re
import time
import traceback
from collections import Counter

from formatbridge import formats
from tests.support.laws import (
    Sample,
    nothing_is_silent,
    recorded,
    report_is_precise,
    shipped,
    there_and_back,
    through_itself,
    unchanged_in_its_format,
)

_INDEX = re.compile(r"/\d+(?=/|$)")


def main() -> None:
    """Print breaches by law, direction and place, the most frequent first."""
    parser = argparse.ArgumentParser()
    for name in ("--source", "--target", "--kind", "--match"):
        parser.add_argument(name)
    parser.add_argument("--limit", type=int, default=10**9)
    parser.add_argument("--per-place", type=int, default=2)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--self", action="store_true", help="decode and encode in the format itself")
    arguments = parser.parse_args()
    result: Counter[tuple[str, ...]] = Counter()
    examples: dict[tuple[str, ...], str] = {}
    bodies, start = 0, time.perf_counter()
    for entry in (*shipped(arguments.source, arguments.kind), *recorded(arguments.source, arguments.kind)):
        if arguments.match and arguments.match not in entry.id:
            continue
        bodies += 1
        if bodies > arguments.limit:
            break
        for row, detail in rows_of(entry, arguments.target, arguments.per_place, arguments.self):
            result[row] += 1
            examples.setdefault(row, f"{entry.id}  {detail}")
    for row, count in result.most_common(arguments.rows):
        print(f"{count:5} {' | '.join(row)}\n        {examples[row][:300]}")
    print(f"{bodies} bodies, {sum(result.values())} breaches in {len(result)} places, {time.perf_counter() - start:.0f} s")


def rows_of(entry: Sample, only: str | None, per_place: int, itself: bool) -> list[tuple[tuple[str, ...], str]]:
    """Return the breaches of one body as rows to count."""
    body, convert = entry.body, through_itself(entry) if itself else entry.convert
    rows: list[tuple[tuple[str, ...], str]] = []
    for target in formats.FORMATS:
        if only not in (None, target) or (itself and target != entry.format):
            continue
        direction = f"{entry.kind} {entry.format} -> {target}"
        try:
            if target == entry.format and not itself:
                breaches = [*unchanged_in_its_format(body, target, convert)]
            else:
                breaches = [
                    *report_is_precise(body, target, convert),
                    *nothing_is_silent(body, target, convert, per_place),
                    *([] if itself else there_and_back(body, entry, target, convert)),
                ]
            rows += [
                ((breach.law, direction, _INDEX.sub("/*", breach.path) or breach.detail), breach.detail) for breach in breaches
            ]
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            rows.append((("0 raised", direction, f"{type(error).__name__} {str(error)[:80]}"), f"{where.name}:{where.lineno}"))
    return rows


if __name__ == "__main__":
    main()
