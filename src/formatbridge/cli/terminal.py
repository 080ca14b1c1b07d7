"""What differs on a terminal: colour, indented JSON and a progress bar. ``rich`` is optional and imported only for a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console

SEVERITY_STYLES = {"info": "cyan", "lossy": "yellow", "impossible": "bold red", "added": "green"}
"""The colour of a loss by its severity, and of an addition."""
_REFRESH_SECONDS = 0.5
"""Time between two refreshes of the progress line without rich."""


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def rich_console(stream: TextIO | None) -> Console | None:
    """Return a console of rich for a terminal, or None. rich itself follows ``NO_COLOR``."""
    if not is_terminal(stream) or find_spec("rich") is None:
        return None
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False)


def indented(text: bytes) -> str:
    """Return JSON text with a line for each member."""
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def write_body(text: bytes, *, is_pretty: bool) -> None:
    """Write a body to standard output: indented if asked for, and in colour on a terminal with rich."""
    console = rich_console(sys.stdout)
    if console is not None:
        from rich.json import JSON

        console.print(JSON(text.decode(), indent=2 if is_pretty else None, ensure_ascii=False), soft_wrap=True)
        return
    sys.stdout.buffer.write((indented(text).encode() if is_pretty else text) + b"\n")
    sys.stdout.buffer.flush()


class Progress(Protocol):
    """Shows the progress of a batch."""

    def update(self, size: int, converted: int, failed: int) -> None:
        """Show progress. ``size``: bytes read up to now; the others: counts of bodies."""


class _NoProgress:
    def update(self, size: int, converted: int, failed: int) -> None:
        """Show nothing."""


class _ProgressLine:
    """A line on standard error that is written again and again."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._shown_at = monotonic()

    def update(self, size: int, converted: int, failed: int) -> None:
        """Write the line, at most twice a second."""
        if monotonic() - self._shown_at < _REFRESH_SECONDS:
            return
        self._shown_at = monotonic()
        share = f"{100 * size // self._total:3d} %  " if self._total else ""
        sys.stderr.write(f"\r{share}{counts(converted, failed)}\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line."""
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def counts(converted: int, failed: int) -> str:
    """Return the counts of a batch as text."""
    return f"{converted:,} converted" + (f", {failed:,} failed" if failed else "")


@contextmanager
def shown_progress(total: int) -> Iterator[Progress]:
    """Show progress on standard error while the context is open, if that is a terminal. ``total``: bytes to read; 0: unknown."""
    console = rich_console(sys.stderr)
    if console is not None:
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with Bar(*columns, console=console, transient=True, refresh_per_second=4) as bar:
            task = bar.add_task("", total=total or None)

            class _Bar:
                def update(self, size: int, converted: int, failed: int) -> None:
                    bar.update(task, completed=size, description=counts(converted, failed))

            yield _Bar()
    elif is_terminal(sys.stderr):
        line = _ProgressLine(total)
        try:
            yield line
        finally:
            line.clear()
    else:
        yield _NoProgress()
