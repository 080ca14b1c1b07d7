"""The outputs of ``convert``: files that appear only when they are complete, and partial files that a later run continues."""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, NamedTuple, Protocol

import formatbridge as fb
from formatbridge.cli.inputs import STDIN
from formatbridge.jsontext.types import JsonObject

_SPOOL_BYTES = 8 * 1024 * 1024
"""Size up to which the output for a pipe stays in memory until it is complete."""
_SIGNALS = ("SIGTERM", "SIGHUP")
"""Signals that end the command; SIGHUP: the terminal was closed."""


class Terminated(BaseException):
    """A signal ended the command. ``status``: the exit status, 128 and the number of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


@contextmanager
def handled_signals() -> Iterator[None]:
    """Raise ``Terminated`` on a signal that would end the process, so that incomplete files are removed."""

    def terminate(number: int, _frame: FrameType | None) -> None:
        raise Terminated(number)

    previous = {}
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        with suppress(ValueError):  # only the main thread may set handlers (``signal.signal``)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                previous[number] = signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class Output(Protocol):
    """Where the bodies of a conversion are written."""

    def open(self) -> None:
        """Create the file. ``discard`` removes it, also if a signal interrupts this call."""

    def write(self, text: bytes) -> None:
        """Write bytes."""

    def commit(self) -> None:
        """Publish what was written."""

    def discard(self) -> None:
        """Stop without publishing; only a partial file stays."""

    def remove(self) -> None:
        """Remove what was written."""


class AtomicFile:
    """A file that appears, or replaces the former one, only on ``commit``. Devices and pipes are written directly."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()  # a symbolic link stays one
        self._shown = path
        self._temporary: Path | None = None
        self._file: IO[bytes] = io.BytesIO()

    def open(self) -> None:
        """Create the temporary file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _name_in_errors(self._shown):
            if self.path.exists() and not self.path.is_file():
                self._file = self.path.open("wb")
                return
            # The name is known before the file exists, so that a signal in between leaves no file.
            self._temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
            descriptor = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        self._file = os.fdopen(descriptor, "wb")

    def write(self, text: bytes) -> None:
        """Write bytes to the temporary file."""
        with _name_in_errors(self.path):
            self._file.write(text)

    def commit(self) -> None:
        """Rename the temporary file to its final name."""
        with _name_in_errors(self.path):
            self._file.close()
            if self._temporary is not None:
                self._temporary.chmod(_mode(self.path))
                self._temporary.replace(self.path)

    def discard(self) -> None:
        """Remove the temporary file."""
        with suppress(OSError):  # a full disk fails again when the buffer is written
            self._file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)

    remove = discard


class State(NamedTuple):
    """The position in a partial file: bodies read, its size, the size of the file of failures, and the conversion that wrote it."""

    bodies: int
    size: int
    failed_size: int
    conversion: str


class PartialFile:
    """An output that stays as ``NAME.partial`` if the command stops. Another run with ``--resume`` continues it.

    ``NAME.partial.json`` has the ``State``. Bytes after the size in it are removed when a run continues.
    """

    def __init__(self, path: Path, state: State | None) -> None:
        self.size = state.size if state else 0
        self._shown, self._target = path, path.resolve()
        self._partial, self._state = _partial_names(path)
        self._file: IO[bytes] = io.BytesIO()

    def open(self) -> None:
        """Open the partial file, and remove the bytes after its state."""
        self._target.parent.mkdir(parents=True, exist_ok=True)
        with _name_in_errors(self._shown):
            self._file = self._partial.open("r+b" if self.size else "wb")
            self._file.truncate(self.size)
            self._file.seek(self.size)

    def write(self, text: bytes) -> None:
        """Write bytes to the partial file."""
        with _name_in_errors(self._target):
            self._file.write(text)
        self.size += len(text)

    def save(self, state: State) -> None:
        """Write the state, after the bytes that it counts."""
        with _name_in_errors(self._target):
            self._file.flush()
            temporary = self._state.with_suffix(".tmp")
            temporary.write_text(json.dumps(state._asdict()), encoding="utf-8")
            temporary.replace(self._state)

    def commit(self) -> None:
        """Rename the partial file to its final name."""
        with _name_in_errors(self._target):
            self._file.close()
            self._partial.replace(self._target)
        self._state.unlink(missing_ok=True)

    def discard(self) -> None:
        """Close the partial file and leave it for the next run."""
        with suppress(OSError):
            self._file.close()

    def remove(self) -> None:
        """Remove the partial file and its state."""
        self.discard()
        self._partial.unlink(missing_ok=True)
        self._state.unlink(missing_ok=True)


class PipeOutput:
    """Standard output. ``is_buffered``: what was written stays in a temporary file until ``commit``."""

    def __init__(self, *, is_buffered: bool) -> None:
        self._buffer = tempfile.SpooledTemporaryFile(_SPOOL_BYTES) if is_buffered else None  # noqa: SIM115

    def open(self) -> None:
        """Do nothing, because standard output is open."""

    def write(self, text: bytes) -> None:
        """Write bytes to the temporary file if there is one, else to standard output."""
        if self._buffer is not None:
            self._buffer.write(text)
        else:
            sys.stdout.buffer.write(text)

    def commit(self) -> None:
        """Copy the temporary file to standard output."""
        if self._buffer is not None:
            self._buffer.seek(0)
            shutil.copyfileobj(self._buffer, sys.stdout.buffer)
        sys.stdout.buffer.flush()

    def discard(self) -> None:
        """Drop the temporary file."""
        if self._buffer is not None:
            self._buffer.close()

    remove = discard


class FailureFile:
    """The file of ``--failed``: a JSON line for each body that was not converted. Without a path nothing is written."""

    def __init__(self, path: Path | None, kept: bytes = b"") -> None:
        self.path = path
        self.size = len(kept)
        self._file: IO[bytes] | None = None
        if path is not None:
            with _name_in_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                self._file = path.open("wb", buffering=0)
                self._file.write(kept)

    def add(self, record: JsonObject) -> None:
        """Write one failure."""
        if self._file is not None and self.path is not None:
            line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"
            with _name_in_errors(self.path):
                self._file.write(line)
            self.size += len(line)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def read_state(path: Path, conversion: str) -> State | None:
    """Return the state of a partial file; None if there is none. ``conversion`` must be the one that wrote it."""
    partial, state_path = _partial_names(path)
    if not (state_path.exists() and partial.exists()):
        return None
    try:
        state = State(**json.loads(state_path.read_bytes()))
    except (ValueError, TypeError):
        raise fb.ConfigurationError(f"--resume: {state_path} is not a state file, remove it to start again") from None
    if state.conversion != conversion:
        raise fb.ConfigurationError(f"--resume: {partial} was written with other arguments, remove it to start again")
    if partial.stat().st_size < state.size:
        raise fb.ConfigurationError(f"--resume: {partial} is shorter than its state file expects, remove it to start again")
    return state


def _partial_names(path: Path) -> tuple[Path, Path]:
    target = path.resolve()
    return target.with_name(f"{target.name}.partial"), target.with_name(f"{target.name}.partial.json")


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Add the name of the file to an error of the system."""
    try:
        yield
    except OSError as error:
        if error.filename is None or error.filename != str(path):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def _mode(path: Path) -> int:
    """Return the permissions of a file that exists, or those of a new file."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_to_stdout(text: bytes) -> None:
    """Write bytes to standard output and flush, so that a report that fails later does not lose them."""
    if text:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()


@contextmanager
def opened_output(name: str | None) -> Iterator[Callable[[bytes], None]]:
    """Yield a function that writes bytes to a file, which appears if the context ends without an error.

    ``name``: None or ``-`` for standard output, to which everything is written at once.
    """
    if name in (None, STDIN):
        yield write_to_stdout
        return
    output = AtomicFile(Path(name or ""))
    try:
        with handled_signals():
            output.open()
            yield output.write
            output.commit()
    except BaseException:
        output.discard()
        raise
