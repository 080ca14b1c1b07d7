"""Measure time and memory. All works of a comparison are interleaved, and the result is a ratio.

Machines differ and have other load, so no absolute time is reported, except that of ``json`` for orientation.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter

Work = Callable[[], object]
Clock = Callable[[], float]

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long to measure: rounds, of which the best counts; seconds of a round; its smallest number of readings; starts of a process.

    ``batch``: the shortest reading in seconds; short work is repeated until it takes as long.
    """

    rounds: int
    seconds: float
    readings: int
    starts: int
    batch: float = 0.004


THOROUGH = Effort(rounds=3, seconds=1.0, readings=5, starts=10)
QUICK = Effort(rounds=1, seconds=0.2, readings=3, starts=3)


def user_seconds() -> float:
    """Return the CPU time of this process in user mode, in seconds. Without the module ``resource`` it is wall time.

    Work on megabytes is measured with it: the time in which the kernel provides new pages of memory depends on the allocator.
    """
    try:
        import resource
    except ImportError:
        return perf_counter()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def medians(works: Mapping[str, Work], effort: Effort, clock: Clock = perf_counter) -> dict[str, float]:
    """Return the seconds of each piece of work: the best of the rounds' medians for the first, and a multiple of it for the others.

    The multiple is the median of the ratios of adjacent readings. On a shared machine the processor may be twice as fast in one second
    as in the next, so the medians of two works cannot be compared.

    The garbage collector stays on, as in applications. Objects that exist before are frozen, and the garbage of a work is collected before
    the next reading. Short work runs once before it is measured, because another work may have replaced the processor's caches. The order
    of the works changes from reading to reading.
    """
    with frozen_objects():
        return medians_among_frozen(works, effort, clock)


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Exclude the objects that exist now from garbage collection."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def medians_among_frozen(works: Mapping[str, Work], effort: Effort, clock: Clock = perf_counter) -> dict[str, float]:
    """Return what ``medians`` returns. The caller has frozen the objects, once for thousands of measurements."""
    first = next(iter(works))
    batches = {name: _batch(works[name], effort.batch) for name in works}
    rounds = [_round(works, batches, effort, clock) for _ in range(effort.rounds)]
    best = min(statistics.median(readings[first]) for readings in rounds)
    return {name: best * statistics.median(_ratios(rounds, name, first)) for name in works}


def _ratios(rounds: list[dict[str, list[float]]], name: str, first: str) -> list[float]:
    return [time / max(other, 1e-9) for readings in rounds for time, other in zip(readings[name], readings[first], strict=True)]


def _round(works: Mapping[str, Work], batches: Mapping[str, int], effort: Effort, clock: Clock) -> dict[str, list[float]]:
    names = list(works)
    readings: dict[str, list[float]] = {name: [] for name in names}
    end = perf_counter() + effort.seconds
    for turn in count():
        if turn >= effort.readings and perf_counter() > end:
            break
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            gc.collect(1)
            if batches[name] > 1:
                works[name]()
            readings[name].append(seconds(works[name], batches[name], clock))
    return readings


def seconds(work: Work, times: int = 1, clock: Clock = perf_counter) -> float:
    """Return the mean time of a run in seconds."""
    start = clock()
    for _ in range(times):
        work()
    return (clock() - start) / times


def _batch(work: Work, span: float) -> int:
    work()
    return max(1, math.ceil(span / max(min(seconds(work), seconds(work)), 1e-7)))


def exponent(small: float, large: float, factor: float) -> float:
    """Return the exponent with which time grows with the size: 1 is linear, 2 quadratic."""
    return math.log(large / small) / math.log(factor)


def peak_memory(kind: str, source: str, target: str, document: bytes, warmer: bytes) -> tuple[float, float]:
    """Return the peak of memory while a document is converted, as multiples of the size of the document, which is not counted.

    The first is what Python allocates (tracemalloc: exact, without the buffers of the parser in Rust), the second the growth of the
    resident set (complete, in coarse steps). Each is measured in a new process, after a conversion of ``warmer``.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "document.json"), Path(folder, "warmer.json")]
        for path, content in zip(paths, (document, warmer), strict=True):
            path.write_bytes(content)
        script = "import sys; from benchmarks import cases; cases.print_peak(*sys.argv[1:])"
        peaks = [_python(script, gauge, "/".join((kind, source, target)), *map(str, paths)) for gauge in ("traced", "resident")]
    return peaks[0] / len(document), peaks[1] / len(document)


def traced_peak(work: Work) -> int:
    """Return the peak of what Python allocates."""
    import tracemalloc

    tracemalloc.start()
    work()
    return tracemalloc.get_traced_memory()[1]


def resident_peak(work: Work) -> int:
    """Return the growth of the resident set. If its high-water mark cannot be reset, return the growth of the mark."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        work()
        return _status("VmHWM") - before
    except OSError:
        before = resident_most()
        work()
        return resident_most() - before


def resident_most() -> int:
    """Return the high-water mark of the resident set."""
    try:
        return _status("VmHWM")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def first_cpu_seconds(base: str, setups: Mapping[str, str], script: str, effort: Effort) -> tuple[float, dict[str, float]]:
    """Return the CPU seconds of the script ``base`` and, by name, those of ``script`` after each of the setups.

    Each runs in a new interpreter, whose start is not counted. Scripts are interleaved; the best run counts.
    """
    of_base = math.inf
    best = dict.fromkeys(setups, math.inf)
    for _ in range(effort.starts):
        of_base = min(of_base, _python(_cpu_timed("", base)))
        for name, setup in setups.items():
            best[name] = min(best[name], _python(_cpu_timed(setup, script)))
    return of_base, best


def _cpu_timed(setup: str, script: str) -> str:
    return f"import time\n{setup}\nstart = time.process_time()\n{script}\nprint(time.process_time() - start)"


def import_times(scripts: Mapping[str, str], effort: Effort) -> dict[str, float]:
    """Return the seconds of each script in a fresh interpreter, without its start. Scripts are interleaved; the best run counts."""
    best = dict.fromkeys(scripts, math.inf)
    for _ in range(effort.starts):
        for name, script in scripts.items():
            timed = f"import time\nstart = time.perf_counter()\n{script}\nprint(time.perf_counter() - start)"
            best[name] = min(best[name], _python(timed))
    return best


def _python(script: str, *arguments: str) -> float:
    """Run a script in a new interpreter with the path of this one; return the number that it prints."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    return float(done.stdout)
