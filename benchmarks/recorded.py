"""``python -m benchmarks recorded``: the conversion of recorded traffic, body by body, compared with ``json`` and the peers.

Every recorded request, answer and stream is converted to the three other formats, bytes in and bytes out. Its time is a multiple of that
of ``json.dumps(json.loads(body))`` of the same body. A stream is read event by event, and compared with ``json`` of each event. All work on
one body is interleaved in one process; each figure is the best of the rounds' medians. The clock is the CPU time of the process: a reading
of a small body is too short to average out other programs. A peer is compared if it does not raise. Whether its output is complete is not
examined.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import formatbridge
from benchmarks.bodies import MODEL
from benchmarks.cases import conversion
from benchmarks.cases_streams import convert as convert_stream
from benchmarks.cases_streams import json_of_events
from benchmarks.measure import Effort, Work, first_cpu_seconds, frozen_objects, medians_among_frozen
from benchmarks.payloads import PAYLOADS
from benchmarks.peers import PEERS, UnsupportedError
from benchmarks.peers_streams import STREAM_PEERS
from benchmarks.recordings import KINDS, Recording, reads_of

DIRECTIONS = tuple(permutations(formatbridge.FORMATS, 2))

THOROUGH = Effort(rounds=3, seconds=0, readings=1, starts=5, batch=0.0015)
QUICK = Effort(rounds=1, seconds=0, readings=1, starts=1, batch=0.0005)

NOT_INSTALLED = "not installed"
NO_DIRECTION = "has none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One body in one direction. Figures are multiples of json's time.

    ``figure`` is None if formatbridge rejects the body; then ``error`` is the name of the exception. ``peers``: a figure, the exception's
    name, or why there is no conversion.
    """

    name: str
    kind: str
    source: str
    target: str
    agent: str | None
    size: int
    json_seconds: float = 0.0
    figure: float | None = None
    error: str = ""
    peers: dict[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstConversion:
    """The CPU time of the first conversion in a fresh process, after ``import formatbridge``."""

    kind: str
    source: str
    target: str
    seconds: float
    figure: float
    """A multiple of the CPU time of ``import pydantic, httpx``."""


def measurements(recordings: Iterable[Recording], effort: Effort) -> Iterator[Measurement]:
    """Measure each recording in its three directions."""
    conversions = _peer_conversions()
    with _without_network(), frozen_objects():
        for recording in recordings:
            for source, target in DIRECTIONS:
                if source == recording.format:
                    yield _measure(recording, target, conversions[recording.kind, source, target], effort)


def _measure(recording: Recording, target: str, peers: dict[str, Callable[[Any], Any] | str], effort: Effort) -> Measurement:
    body, source = recording.body, recording.format
    read: Any = reads_of(body) if recording.kind == "stream" else body
    works = _stream_works(source, target, read) if recording.kind == "stream" else _body_works(recording, target)
    words: dict[str, str] = {}
    for name, convert in peers.items():
        if isinstance(convert, str):
            words[name] = convert
        else:
            works[name] = _bound_to(convert, read)
    words |= {name: word for name, work in works.items() if (word := _exception_of(work))}
    times = medians_among_frozen({name: work for name, work in works.items() if name not in words}, effort, time.process_time)
    ratios = {name: seconds / times["json"] for name, seconds in times.items()}
    return Measurement(
        name=recording.name,
        kind=recording.kind,
        source=source,
        target=target,
        agent=recording.agent,
        size=len(body),
        json_seconds=times["json"],
        figure=ratios.get("formatbridge"),
        error=words.get("formatbridge", ""),
        peers={name: ratios[name] if name in ratios else words[name] for name in peers},
    )


def _body_works(recording: Recording, target: str) -> dict[str, Work]:
    body = recording.body
    work: Work = conversion(recording.kind, recording.format, target, body, recording.model)
    return {"json": lambda: json.dumps(json.loads(body)), "formatbridge": work}


def _stream_works(source: str, target: str, reads: list[bytes]) -> dict[str, Work]:
    return {"json": json_of_events(reads), "formatbridge": lambda: convert_stream(source, target, reads)}


def _bound_to(convert: Callable[[Any], Any], read: Any) -> Work:
    return lambda: convert(read)


def _exception_of(work: Work) -> str:
    """Run work once; return the name of the exception that it raises. Nothing that a peer prints is shown."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            work()
    except Exception as error:
        return type(error).__name__
    return ""


def _peer_conversions() -> dict[tuple[str, str, str], dict[str, Callable[[Any], Any] | str]]:
    """Return by kind, source and target each peer's conversion, or why there is none."""
    logging.disable()  # a peer logs each loss, which takes longer than its conversion
    conversions: dict[tuple[str, str, str], dict[str, Callable[[Any], Any] | str]] = {}
    for kind in KINDS:
        for source, target in DIRECTIONS:
            row = conversions[kind, source, target] = {}
            for name in PEERS:
                try:
                    is_stream = kind == "stream"
                    row[name] = STREAM_PEERS[name](source, target) if is_stream else PEERS[name](kind, source, target)
                except (ImportError, UnsupportedError) as error:
                    row[name] = NOT_INSTALLED if isinstance(error, ImportError) else NO_DIRECTION
    return conversions


@contextlib.contextmanager
def _without_network() -> Iterator[None]:
    """Refuse connections: a peer downloads the images that a body links to, which is not conversion."""
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def refuse(*arguments: object, **more: object) -> None:
        del arguments, more
        raise OSError("the benchmark allows no network")

    socket.socket.connect = socket.getaddrinfo = refuse  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        socket.socket.connect, socket.getaddrinfo = connect, lookup  # type: ignore[method-assign]


def first_conversions(effort: Effort) -> Iterator[FirstConversion]:
    """Measure the first conversion of a small body, for each kind and direction."""
    for kind, payload in {"request": "tiny", "response": "response"}.items():
        setups: dict[str, str] = {}
        for source, target in DIRECTIONS:
            body = PAYLOADS[payload].bytes(source)
            model = f", model={MODEL!r}" if kind == "request" and source == "generate_content" else ""
            call = f"formatbridge.convert_{kind}(body, source={source!r}, target={target!r}{model}).json()"
            setups[f"{source}/{target}"] = f"import formatbridge\nbody = {body!r}\nwork = lambda: {call}"
        base, times = first_cpu_seconds("import pydantic, httpx", setups, "work()", effort)
        for direction, seconds in times.items():
            source, target = direction.split("/")
            yield FirstConversion(kind=kind, source=source, target=target, seconds=seconds, figure=seconds / base)
