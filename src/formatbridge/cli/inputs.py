"""The inputs of ``convert``: files, directories, patterns and standard input, and whether each holds one body or JSON lines."""

from __future__ import annotations

import glob
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import formatbridge as fb

STDIN = "-"
"""The name of standard input."""
LINE_SUFFIXES = (".jsonl", ".ndjson")
"""Ends of the names of files with one body a line."""
_SUFFIXES = (".json", *LINE_SUFFIXES)


class Source(NamedTuple):
    """One input. ``name``: for messages. ``relative``: the name of its output in a directory. ``is_lines``: each line is a body."""

    name: str
    relative: Path
    is_lines: bool

    def size(self) -> int:
        """Return the size in bytes; 0 if it is unknown."""
        try:
            return 0 if self.name == STDIN else Path(self.name).stat().st_size
        except OSError:  # reading it reports the error
            return 0


class Body(NamedTuple):
    """One body of an input, as JSON text. ``line``: its line; 0: the input is one body. ``error``: why it cannot be read; else empty."""

    source: Source
    line: int
    text: bytes
    error: str = ""

    @property
    def place(self) -> str:
        """The input and the line, for messages."""
        return f"{self.source.name}:{self.line}" if self.line else self.source.name


def standard_input() -> BinaryIO:
    """Return standard input as a binary stream."""
    if sys.stdin is None:
        raise fb.ConfigurationError("standard input is closed: pass a file")
    return sys.stdin.buffer


def read_file(name: str | None) -> bytes:
    """Return the content of a file; None or ``-``: of standard input."""
    return standard_input().read() if name in (None, STDIN) else Path(name or "").read_bytes()


@contextmanager
def open_input(name: str | None) -> Iterator[BinaryIO]:
    """Open a file for reading; None or ``-``: standard input, which stays open."""
    if name in (None, STDIN):
        yield standard_input()
    else:
        with Path(name or "").open("rb") as file:
            yield file


def expand(names: Sequence[str], *, is_lines: bool) -> list[Source]:
    """Return the inputs that the arguments name, without duplicates. ``is_lines``: all of them are JSON lines."""
    sources: dict[str, Source] = {}
    for name in names or [STDIN]:
        for path, base in _paths(name):
            relative = Path("stdin.jsonl" if is_lines else "stdin.json") if path == STDIN else Path(path).relative_to(base)
            sources.setdefault(path, Source(path, relative, is_lines or path.endswith(LINE_SUFFIXES)))
    return list(sources.values())


def has_many(names: Sequence[str]) -> bool:
    """Return whether the arguments can name more than one input."""
    return len(names) > 1 or any(name != STDIN and (Path(name).is_dir() or _is_pattern(name)) for name in names)


def _is_pattern(name: str) -> bool:
    return glob.has_magic(name) and not Path(name).exists()


def _is_input(file: Path) -> bool:
    """Return whether a file of a directory is an input. A broken symbolic link is one, so that reading it reports the error."""
    return file.is_file() or (file.is_symlink() and not file.exists())


def _paths(name: str) -> Iterator[tuple[str, Path]]:
    """Yield the inputs that one argument names, each with the directory to which the name of its output is relative."""
    path = Path(name)
    if name == STDIN:
        yield name, path
    elif path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.suffix in _SUFFIXES and _is_input(file)]
        if not files:
            raise fb.ConfigurationError(f"{name} has no file whose name ends in {', '.join(_SUFFIXES)}")
        yield from ((str(file), path) for file in files)
    elif _is_pattern(name):
        files = [Path(file) for file in sorted(glob.glob(name, recursive=True)) if _is_input(Path(file))]
        if not files:
            raise fb.ConfigurationError(f"no file matches {name}")
        yield from ((str(file), file.parent) for file in files)
    else:
        yield name, path.parent


def read_bodies(source: Source) -> Iterator[Body]:
    """Yield the bodies of an input. An input that cannot be read ends in a body with the error."""
    line = 0
    try:
        with open_input(source.name) as file:
            if not source.is_lines:
                yield Body(source, 0, file.read())
                return
            for line, text in enumerate(file, 1):
                if not text.isspace():
                    yield Body(source, line, text)
    except OSError as error:
        yield Body(source, line + 1 if source.is_lines and line else 0, b"", f"cannot be read: {error.strerror or error}")
