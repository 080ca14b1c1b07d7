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
    arguments = parser.parse_args()
    passed = failed = 0
    for case in (*cases("requests"), *cases("responses")):
        if (case.kind == "stream") != arguments.streams or (
            arguments.format and arguments.format not in (case.source, case.target)
        ):
            continue
        if (arguments.source or case.source) != case.source or (arguments.target or case.target) != case.target:
            continue
        if arguments.id and not case.id.startswith(arguments.id):
            continue
        try:
            result = complaints(case)
        except Exception:
            result = [traceback.format_exc(limit=-3)]
        passed, failed = passed + (not result), failed + bool(result)
        if result:
            print(f"{case.id} {case.kind} {case.source} -> {case.target}", *result, sep="\n   ")
    print(f"{passed} passed, {failed} failed")


if __name__ == "__main__":
    main()
