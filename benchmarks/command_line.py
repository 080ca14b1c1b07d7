"""The command ``convert`` next to the bare library call: the CPU time of each line of a file with 20,000 recorded requests.

``python -m benchmarks.command_line [--quick]`` prints a table. A bare call parses a line, converts it, writes its JSON
and reads its losses, as the command does for its summary. Both run in this process, so imports do not count.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr
from itertools import cycle, islice, permutations
from pathlib import Path
from time import process_time

import formatbridge as fb
from benchmarks.recordings import absence, recordings
from formatbridge.cli.main import main

LINES = 20_000
ROUNDS = 3


def lines_of(format: str) -> list[bytes]:
    """Return the recorded requests of a format that all targets accept, each as one line."""
    lines = []
    for recording in recordings("request"):
        if recording.format == format and recording.agent is None:
            try:
                for target in fb.FORMATS:
                    fb.convert_request(recording.body, source=format, target=target, model="m")
            except fb.FormatBridgeError:
                continue
            lines.append(fb.convert_request(recording.body, source=format, target=format, model="m").json() + b"\n")
    return lines


def bare(path: Path, source: str, target: str, *, reads_losses: bool) -> None:
    """Convert each line with the library."""
    with path.open("rb") as lines:
        for line in lines:
            converted = fb.convert_request(line, source=source, target=target, model="m")
            converted.json()
            if reads_losses:
                len(converted.losses)


def command(path: Path, source: str, target: str, report: str) -> None:
    """Convert the file with the command."""
    output = ["-o", str(path.with_suffix(".out")), "--model", "m", "--report", report]
    with redirect_stderr(io.StringIO()):
        assert main(["convert", str(path), "--from", source, "--kind", "request", "--to", target, *output]) == 0


def cpu_seconds(*works: Callable[[], None]) -> list[float]:
    """Return the least CPU time of each work, which take turns."""
    least = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for at, work in enumerate(works):
            begins = process_time()
            work()
            least[at] = min(least[at], process_time() - begins)
    return least


def run(count: int) -> None:
    """Print a row for each direction, and the ratios of the sums."""
    print("| direction | bare call, µs | command, µs | ratio | ratio without losses |\n|---|---|---|---|---|")
    sums = [0.0] * 4
    with tempfile.TemporaryDirectory() as folder:
        for source, target in permutations(fb.FORMATS, 2):
            path = Path(folder, f"{source}.jsonl")
            if not path.exists():
                path.write_bytes(b"".join(islice(cycle(lines_of(source)), count)))
            seconds = cpu_seconds(
                lambda path=path, source=source, target=target: bare(path, source, target, reads_losses=True),
                lambda path=path, source=source, target=target: command(path, source, target, "table"),
                lambda path=path, source=source, target=target: bare(path, source, target, reads_losses=False),
                lambda path=path, source=source, target=target: command(path, source, target, "none"),
            )
            sums = [total + each for total, each in zip(sums, seconds, strict=True)]
            _print_row(f"{source} → {target}", [1e6 * each / count for each in seconds])
    _print_row("all", [1e6 * each / count / 12 for each in sums])


def _print_row(name: str, micros: list[float]) -> None:
    with_losses, without = micros[1] / micros[0], micros[3] / micros[2]
    print(f"| {name} | {micros[0]:.0f} | {micros[1]:.0f} | {with_losses:.2f} | {without:.2f} |", flush=True)


if __name__ == "__main__":
    if reason := absence():
        sys.exit(reason)
    run(LINES // 10 if "--quick" in sys.argv[1:] else LINES)
