"""Convert a batch file of one vendor to a batch file of another, and print what the target cannot hold.

    python examples/batch.py openai.jsonl anthropic.jsonl --source chat_completions --target messages

Lines that cannot be converted go to ``anthropic.jsonl.failed`` with the reason, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import formatbridge as fb


def convert_file(source_file: Path, target_file: Path, source: fb.Format, target: fb.Format) -> int:
    """Convert the lines of a file and return how many failed."""
    totals = fb.LossTotals()
    converted = failed = 0
    failed_file = target_file.with_name(f"{target_file.name}.failed")
    with source_file.open("rb") as lines, target_file.open("wb") as output, failed_file.open("w", encoding="utf-8") as rejected:
        for line in fb.convert_batch(lines, source=source, target=target):
            if line.error is not None:
                failed += 1
                reason = {"line": line.number, "custom_id": line.custom_id, "reason": str(line.error)}
                rejected.write(json.dumps(reason) + "\n")
            if line.json is not None:  # a result that failed is still a line of the target
                converted += 1
                output.write(line.json + b"\n")
                totals.add(line.losses)
    for group in totals.groups:
        print(group)
    print(f"{converted} converted, {failed} failed")
    return failed


def main() -> int:
    """Read the arguments and convert the file."""
    parser = argparse.ArgumentParser(description="Convert a batch file.")
    parser.add_argument("source_file", type=Path)
    parser.add_argument("target_file", type=Path)
    parser.add_argument("--source", choices=fb.FORMATS, required=True)
    parser.add_argument("--target", choices=fb.FORMATS, required=True)
    asked = parser.parse_args()
    return 1 if convert_file(asked.source_file, asked.target_file, asked.source, asked.target) else 0


if __name__ == "__main__":
    sys.exit(main())
