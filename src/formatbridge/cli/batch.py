"""Many bodies in one command: from files and JSON lines to files or standard output, in several processes if asked for."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from functools import cache
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import formatbridge as fb
from formatbridge.cli.conversions import Conversion, check_kind
from formatbridge.cli.inputs import STDIN, Body, Source, read_bodies
from formatbridge.cli.outputs import AtomicFile, FailureFile, Output, PartialFile, PipeOutput, State, handled_signals, read_state
from formatbridge.cli.report import LossKey, Report
from formatbridge.cli.terminal import indented, shown_progress

_CHUNK_BODIES, _CHUNK_BYTES = 128, 1_000_000
"""Bodies and bytes that are converted together, and sent to a process together."""
_SAVE_SECONDS = 1.0
"""Time between two states of a partial file."""
_NO_PART_OF_CONVERSION = frozenset({"argv", "command", "compact", "diff", "failed", "files", "jobs", "output", "report", "resume"})


class Target(NamedTuple):
    """One output and its inputs. ``path``: None for standard output. ``state``: what an earlier run wrote."""

    path: Path | None
    sources: Sequence[Source]
    is_lines: bool
    state: State | None = None


class Chunk(NamedTuple):
    """Consecutive bodies of one target, by its index."""

    target: int
    bodies: list[Body]


class Outcome(NamedTuple):
    """The converted body, or why there is none. ``is_lossy``: the losses exceed ``--raise-on``."""

    text: bytes
    error: str = ""
    is_lossy: bool = False


Results = tuple[list[Outcome], Counter[LossKey]]


class _StoppedError(Exception):
    """The first failure without ``--failed``. ``status``: the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def run_batch(arguments: argparse.Namespace, report: Report, sources: Sequence[Source]) -> int:
    """Convert the bodies of many inputs and return the exit status."""
    _check_options(arguments)
    batch = _Batch(arguments, sources)
    total = sum(source.size() for target in batch.targets for source in target.sources)
    try:
        with handled_signals(), shown_progress(total) as progress, closing(batch.run()) as steps:
            for size, converted, failed in steps:
                progress.update(size, converted, failed)
    except _StoppedError as error:
        report.write(error=f"{error}{batch.note_on_resume()}")
        return error.status
    report.write_summary(batch.converted, batch.failed, batch.skipped, batch.losses, arguments.failed)
    return 2 if batch.failed > batch.lossy else 1 if batch.lossy else 0


def check_single(arguments: argparse.Namespace) -> None:
    """Reject options that have no effect on an input of one body."""
    _check_common(arguments)
    if arguments.jobs > 1:
        raise fb.ConfigurationError("--jobs needs several inputs or JSON lines, and this is one body: leave out --jobs")


def _check_common(arguments: argparse.Namespace) -> None:
    if arguments.requests and not arguments.batch:
        raise fb.ConfigurationError("--requests has an effect only with --batch: add --batch, or leave out --requests")
    if arguments.jobs < 1:
        raise fb.ConfigurationError(f"--jobs is {arguments.jobs}, expected 1 or more")


def _check_options(arguments: argparse.Namespace) -> None:
    """Reject options that exclude each other, or have no effect on the bodies."""
    _check_common(arguments)
    if arguments.batch:
        _check_batch_file(arguments)
    elif arguments.kind is not None:
        check_kind(arguments, arguments.kind)
    if arguments.requests == STDIN:
        raise fb.ConfigurationError("--requests cannot be standard input, because the requests are not read in order: pass a file")
    if arguments.diff:
        raise fb.ConfigurationError("--diff compares one body: pass one JSON file, and --at for a part of it")
    if arguments.resume and arguments.output in (None, STDIN):
        raise fb.ConfigurationError("--resume needs the file or the directory to continue: add -o PATH")


def _check_batch_file(arguments: argparse.Namespace) -> None:
    if arguments.source is None:
        raise fb.ConfigurationError("--batch needs the format of the batch file: add --from, such as --from messages")
    for name in ("kind", "status", "stream"):
        if getattr(arguments, name) is not None:
            raise fb.ConfigurationError(
                f"--{name} has no effect with --batch, whose lines have their kind, status and streaming: leave out --{name}"
            )


class _Batch:
    """The state of one run: what is converted, what failed, and the losses by place."""

    def __init__(self, arguments: argparse.Namespace, sources: Sequence[Source]) -> None:
        self.converted = self.failed = self.lossy = self.skipped = 0
        self.losses: Counter[LossKey] = Counter()
        self._arguments = arguments
        self._conversion = _fingerprint(arguments, sources)
        self._size = 0
        self._state = State(0, 0, 0, self._conversion)
        self._saved_at = monotonic()
        self.targets: list[Target] = []
        done: list[Source] = []
        targets = _targets(sources, arguments.output)
        _check_files(arguments, targets)
        for target in targets:
            state = read_state(target.path, self._conversion) if arguments.resume and target.path else None
            if arguments.resume and state is None and _is_done(target):
                self.skipped += len(target.sources)
                done += target.sources
            else:
                self.targets.append(target._replace(state=state))
        kept = _kept_failures(arguments.failed, done, self.targets) if arguments.resume else b""
        self._failures = FailureFile(Path(arguments.failed) if arguments.failed else None, kept)

    def run(self) -> Generator[tuple[int, int, int]]:
        """Convert everything. Yield the bytes read, the bodies converted and the failures after each chunk."""
        try:
            with closing(self._results()) as results:
                for index, group in groupby(results, lambda result: result[0].target):
                    yield from self._fill(self.targets[index], group)
        finally:
            self._failures.close()

    def _fill(self, target: Target, results: Iterable[tuple[Chunk, Results]]) -> Generator[tuple[int, int, int]]:
        """Write one output. It is published if all of its bodies are converted or recorded as failures."""
        output = self._output_of(target)
        before = self.converted
        try:
            output.open()
            for chunk, (outcomes, losses) in results:
                self._write(chunk, outcomes, output, is_indented=self._arguments.pretty and not target.is_lines)
                self.losses.update(losses)
                if monotonic() - self._saved_at > _SAVE_SECONDS:
                    self._save(output)
                yield self._size, self.converted, self.failed
        except BaseException:
            self._save(output)
            output.discard()
            raise
        if target.is_lines or self.converted > before:
            output.commit()
        else:  # its only body failed
            output.remove()

    def note_on_resume(self) -> str:
        """Return the end of the message of a run that stopped: how to continue it."""
        if not self._arguments.resume:
            return ""
        return f"; the same command continues after {self._state.bodies:,} bodies of this output"

    def _output_of(self, target: Target) -> Output:
        self._state = target.state or State(0, 0, self._failures.size, self._conversion)
        self.skipped += self._state.bodies
        if target.path is None:
            return PipeOutput(is_buffered=self._failures.path is None)
        if self._arguments.resume and (target.path.is_file() or not target.path.exists()):
            return PartialFile(target.path, target.state)
        return AtomicFile(target.path)

    def _write(self, chunk: Chunk, outcomes: Sequence[Outcome], output: Output, *, is_indented: bool) -> None:
        """Write the results of a chunk and count them."""
        bodies = self._state.bodies
        try:
            for body, outcome in zip(chunk.bodies, outcomes, strict=True):
                self._size += len(body.text)
                if outcome.error:
                    self._fail(body, outcome)
                else:
                    output.write((indented(outcome.text).encode() if is_indented else outcome.text) + b"\n")
                    self.converted += 1
                bodies += 1
        except _StoppedError:
            self._set_state(bodies, output)
            raise
        self._set_state(bodies, output)
        if isinstance(output, PipeOutput) and self._failures.path is not None:
            sys.stdout.buffer.flush()

    def _set_state(self, bodies: int, output: Output) -> None:
        """Set the state from which ``--resume`` continues, in one assignment: an interrupt never leaves parts of two states."""
        size = output.size if isinstance(output, PartialFile) else 0
        self._state = State(bodies, size, self._failures.size, self._conversion)

    def _fail(self, body: Body, outcome: Outcome) -> None:
        if self._failures.path is None:
            raise _StoppedError(f"{body.place}: {outcome.error}", 1 if outcome.is_lossy else 2)
        self.failed += 1
        self.lossy += outcome.is_lossy
        record = {"file": body.source.name, "line": body.line, "reason": outcome.error}
        self._failures.add(record | ({"body": body.text.decode("utf-8", "replace").strip()} if body.line else {}))

    def _save(self, output: Output) -> None:
        """Write the state of a partial file. On a full disk there is no state: the next run starts again."""
        self._saved_at = monotonic()
        if isinstance(output, PartialFile):
            with suppress(OSError):
                output.save(self._state)

    def _chunks(self) -> Iterator[Chunk]:
        """Yield the bodies of all targets in chunks, without those that an earlier run converted."""
        is_live = self._arguments.jobs == 1
        for index, target in enumerate(self.targets):
            skipped = target.state.bodies if target.state else 0
            bodies: list[Body] = []
            size = 0
            for body in (body for source in target.sources for body in read_bodies(source)):
                if skipped:
                    skipped -= 1
                    self._size += len(body.text)
                    continue
                bodies.append(body)
                size += len(body.text)
                is_full = len(bodies) >= _CHUNK_BODIES or size >= _CHUNK_BYTES
                if is_full or (is_live and body.source.name == STDIN):  # the lines of a pipe are converted as they arrive
                    yield Chunk(index, bodies)
                    bodies, size = [], 0
            yield Chunk(index, bodies)  # even an empty one: an input without bodies has an output

    def _results(self) -> Generator[tuple[Chunk, Results]]:
        if self._arguments.jobs > 1:
            return _in_processes(self._chunks(), self._arguments)
        return _in_this_process(self._chunks(), self._arguments)


class ChunkConverter:
    """Converts the bodies of a chunk and counts their losses by place."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._conversion = Conversion(arguments, raises_on_losses=True)

    def close(self) -> None:
        """Close the file of ``--requests``."""
        self._conversion.close()

    def convert(self, bodies: Sequence[Body]) -> Results:
        """Convert the bodies. One that cannot be converted has an error in place of a text."""
        losses: Counter[LossKey] = Counter()
        return [self._outcome(body, losses) for body in bodies], losses

    def _outcome(self, body: Body, losses: Counter[LossKey]) -> Outcome:
        if body.error:
            return Outcome(b"", body.error)
        conversion = self._conversion
        try:
            text, lost = conversion.convert(conversion.text(body.text), body.line)
        except fb.LossyConversionError as error:
            return Outcome(b"", str(error), is_lossy=True)
        except fb.FormatBridgeError as error:
            return Outcome(b"", str(error))
        for loss in lost:
            losses[loss.path, loss.kind, loss.severity, loss.code, loss.why] += 1
        return Outcome(text)


def _ignore_interrupt() -> None:
    """Ignore the interrupt of the terminal in a worker process, because the main process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _converter_for(argv: tuple[str, ...]) -> ChunkConverter:
    """Return the converter of a worker process for the arguments of the command line, which it parses once."""
    from formatbridge.cli.parser import build_parser

    return ChunkConverter(build_parser().parse_args(argv))


def _convert_in_worker(argv: tuple[str, ...], bodies: Sequence[Body]) -> Results:
    return _converter_for(argv).convert(bodies)


def _in_this_process(chunks: Iterable[Chunk], arguments: argparse.Namespace) -> Generator[tuple[Chunk, Results]]:
    with closing(ChunkConverter(arguments)) as converter:
        for chunk in chunks:
            yield chunk, converter.convert(chunk.bodies)


def _in_processes(chunks: Iterator[Chunk], arguments: argparse.Namespace) -> Generator[tuple[Chunk, Results]]:
    """Convert chunks in worker processes. Yield the results in the order of the input; a few chunks are in memory at a time."""
    jobs, argv = arguments.jobs, tuple(arguments.argv)
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _ignore_interrupt)
    pending: deque[tuple[Chunk, Future[Results]]] = deque()
    try:
        for chunk in chunks:
            pending.append((chunk, pool.submit(_convert_in_worker, argv, chunk.bodies)))
            if len(pending) > 2 * jobs:
                first, future = pending.popleft()
                yield first, future.result()
        while pending:
            first, future = pending.popleft()
            yield first, future.result()
    except BrokenProcessPool:
        raise OSError("a process of --jobs ended unexpectedly: try fewer jobs") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _targets(sources: Sequence[Source], output: str | None) -> list[Target]:
    """Return the outputs: one for all inputs, or one for each input if the output is a directory."""
    if output in (None, STDIN):
        return [Target(None, sources, is_lines=True)]
    path = Path(output or "")
    if not is_directory(output or "", len(sources)):
        is_lines = len(sources) > 1 or sources[0].is_lines
        if is_lines and path.suffix == ".json":
            raise fb.ConfigurationError(f"-o {output}: several bodies need a directory or a file that ends in .jsonl")
        return [Target(path, sources, is_lines)]
    targets: dict[Path, Target] = {}
    for source in sources:
        target = Target(path / source.relative, [source], source.is_lines)
        other = targets.setdefault(source.relative, target)
        if other is not target:
            raise fb.ConfigurationError(
                f"{other.sources[0].name} and {source.name} have the same output {target.path}: convert them one by one, or rename one"
            )
    return list(targets.values())


def _check_files(arguments: argparse.Namespace, targets: Sequence[Target]) -> None:
    """Reject a file of failures that is an input or an output, and an output to continue that is an input. They would be overwritten."""
    inputs = {_identity(source.name): source.name for target in targets for source in target.sources if source.name != STDIN}
    outputs = {_identity(target.path): str(target.path) for target in targets if target.path is not None}
    if arguments.failed:
        failed = _identity(arguments.failed)
        if failed in inputs:
            raise fb.ConfigurationError(f"--failed {arguments.failed} is the input {inputs[failed]}: choose another file")
        if failed in outputs:
            raise fb.ConfigurationError(f"--failed {arguments.failed} is the output {outputs[failed]}: choose another file")
    if arguments.resume and (both := inputs.keys() & outputs.keys()):
        raise fb.ConfigurationError(f"--resume: {inputs[min(both)]} is an input and an output: choose another -o")


def _identity(path: str | Path) -> str:
    """Return what is equal for all names of one file: its device and number, or for a new file its path."""
    try:
        facts = Path(path).stat()
    except OSError:
        return str(Path(path).resolve())
    return f"{facts.st_dev}:{facts.st_ino}"


def _is_done(target: Target) -> bool:
    """Return whether an earlier run wrote an output: it exists, and no input is newer."""
    if target.path is None or not target.path.is_file():
        return False
    written = target.path.stat().st_mtime_ns
    with suppress(OSError):  # reading a missing input reports the error
        return all(source.name == STDIN or Path(source.name).stat().st_mtime_ns <= written for source in target.sources)
    return False


def is_directory(output: str, count: int) -> bool:
    """Return whether ``-o`` names a directory: an existing one, a name that ends in a slash, or for several inputs one without suffix."""
    path = Path(output)
    return path.is_dir() or output.endswith(("/", os.sep)) or (count > 1 and not path.suffix and not path.exists())


def _fingerprint(arguments: argparse.Namespace, sources: Sequence[Source]) -> str:
    """Return a hash of the inputs and of the arguments that change the output."""
    values = {name: getattr(value, "name", value) for name, value in vars(arguments).items() if name not in _NO_PART_OF_CONVERSION}
    text = json.dumps([sorted(values.items()), [source.name for source in sources]], default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _kept_failures(name: str | None, done: Sequence[Source], targets: Sequence[Target]) -> bytes:
    """Return the failures of an earlier run that this one does not repeat."""
    if name is None or not Path(name).is_file():
        return b""
    partial = [target for target in targets if target.state]
    data = Path(name).read_bytes()
    if partial and partial[0].state:
        data = data[: partial[0].state.failed_size]
    kept = {source.name for source in [*done, *(source for target in partial for source in target.sources)]}
    return b"".join(line for line in data.splitlines(keepends=True) if line.endswith(b"\n") and _file_of(name, line) in kept)


def _file_of(name: str, line: bytes) -> str:
    """Return the input of a line of a file of failures."""
    try:
        return str(json.loads(line)["file"])
    except (ValueError, KeyError, TypeError):
        raise fb.ConfigurationError(f"--failed {name} is not a file of failures: choose another name, or remove it") from None
