"""Run the worked cases and print what each is missing: ``python -m tests.cases_run --format messages``."""

from __future__ import annotations

import argparse
import traceback

from tests.support.worked_cases import cases, complaints


def main() -> None:
    """Print the failing cases and a count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--format", help="only cases with this source or target")
    parser.add_argument("--source")
    parser.add_argument("--target")
    parser.add_argument("--id")
    parser.add_argument("--streams", action="store_true", help="the cases of streams instead")
    given = parser.parse_args()
    passed = failed = 0
    for case in (*cases("requests"), *cases("responses")):
        if (case.kind == "stream") != given.streams or (given.format and given.format not in (case.source, case.target)):
            continue
        if (given.source or case.source) != case.source or (given.target or case.target) != case.target:
            continue
        if given.id and not case.id.startswith(given.id):
            continue
        try:
            found = complaints(case)
        except Exception:
            found = [traceback.format_exc(limit=-3)]
        passed, failed = passed + (not found), failed + bool(found)
        if found:
            print(f"{case.id} {case.kind} {case.source} -> {case.target}", *found, sep="\n   ")
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main()
