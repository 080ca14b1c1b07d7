"""Convert the recorded traffic, validate it with the official types and print what they reject.

``python -m tests.judges_run --target messages``.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from formatbridge import formats, ir
from formatbridge.errors import InvalidPayloadError
from tests.support.judges import baseline_problems, problems, shape
from tests.support.laws import Sample, recorded, through_itself


class Row(NamedTuple):
    """What is counted: a direction between two formats, and the shape of a problem in it."""

    direction: str
    shape: str


def main() -> None:
    """Print problems by direction and shape, the most frequent first, each with an example file."""
    arguments = _parser().parse_args()
    result: Counter[Row] = Counter()
    examples: dict[Row, str] = {}
    conversions, start = 0, time.perf_counter()
    for entry in islice(_whole_bodies(arguments.source, arguments.kind, arguments.match), arguments.limit):
        for target in formats.FORMATS:
            is_wanted = arguments.target in (None, target) and (target == entry.format) == arguments.self
            if not is_wanted or not _loads(entry.format, target):
                continue
            conversions += 1
            for row, detail in _rows(entry, target, is_gross=arguments.gross).items():
                result[row] += 1
                examples.setdefault(row, f"{entry.id}  {detail}")
    for row, count in result.most_common(arguments.rows):
        print(f"{count:5} {row.direction} | {row.shape}\n        {examples[row][:300]}")
    took = time.perf_counter() - start
    print(f"{conversions} conversions, {result.total()} problems of {len(result)} shapes, {took:.0f} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", choices=formats.FORMATS)
    parser.add_argument("--target", choices=formats.FORMATS)
    parser.add_argument("--kind", choices=("request", "response", "error", "models"), help="default: all of them")
    parser.add_argument("--match", default="", help="only files whose path contains this")
    parser.add_argument("--limit", type=int, help="how many files to convert")
    parser.add_argument("--rows", type=int, default=60, help="how many shapes to print")
    parser.add_argument("--self", action="store_true", help="decode and encode in the format itself")
    parser.add_argument("--gross", action="store_true", help="also problems of recorded bodies of the target")
    return parser


def _whole_bodies(source: ir.Format | None, kind: str | None, match: str) -> Iterator[Sample]:
    return (entry for entry in recorded(source, kind) if match in entry.id)


def _rows(entry: Sample, target: ir.Format, *, is_gross: bool) -> dict[Row, str]:
    """Convert one file and return the shapes of its problems, each once, with the first problem in full."""
    direction = f"{entry.kind} {entry.format} -> {target}"
    rows: dict[Row, str] = {}
    body = entry.body
    for value in body if isinstance(body, list) and entry.kind != "error" else [body]:
        for event, detail in _complaints(entry, value, target, is_gross=is_gross):
            rows.setdefault(Row(direction, event), detail)
    return rows


def _complaints(entry: Sample, value: Any, target: ir.Format, *, is_gross: bool) -> Iterator[tuple[str, str]]:
    """Yield shapes and problems. A conversion that rejects the body or fails is one problem, so that nothing is skipped."""
    try:
        result = (through_itself(entry) if target == entry.format else entry.convert)(value, target)
    except InvalidPayloadError as error:
        yield f"refused before the conversion, as {error.format} {error.kind}", str(error)
        return
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        yield f"raises {type(error).__name__}: {error!s:.80}", f"{where.filename}:{where.lineno}"
        return
    known = frozenset() if is_gross else baseline_problems(target, result.kind)
    for problem in problems(target, result.kind, result.body):
        if shape(problem) not in known:
            yield shape(problem), problem


@cache
def _loads(*names: str) -> bool:
    """Return whether the formats can be imported and convert; print once why not."""
    for name in names:
        try:
            formats.load(name).tool_rules  # noqa: B018  # what a half-written format lacks
        except Exception as error:
            _regret(name, f"{type(error).__name__}: {error}")
            return False
    return True


@cache
def _regret(name: str, why: str) -> None:
    print(f"{name} cannot be loaded: {why}")


if __name__ == "__main__":
    main()
