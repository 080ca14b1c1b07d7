"""``python -m benchmarks.scale``: the recorded requests, repeated, in one process, in several, on Dask and on Ray Data.

It writes the requests to Parquet files, converts each to another format with ``fb.convert_table``, compares all results with those of a
loop over ``convert_request``, and prints the throughput. The clock starts when each worker has converted its first rows.
``--payloads 150000`` is the full run; it takes some minutes. The recordings are those of ``FORMATBRIDGE_CORPUS``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from convert_partition import ROWS, convert_partition

import formatbridge as fb
from benchmarks import recordings
from formatbridge.testing.vendor_rules import SERVER_RULES, Facts, broken_rules

NEXT_FORMAT = dict(zip(fb.FORMATS, (*fb.FORMATS[1:], fb.FORMATS[0]), strict=True))
"""Each format and the one that its requests are converted to."""
TARGETS: dict[str, fb.Format | fb.Target] = {
    **{format: format for format in fb.FORMATS},
    **{
        f"{format}/{name}": fb.Target(format, dialect=name)
        for name, dialect in fb.dialects.DIALECTS.items()
        for format in dialect.rules
    },
}
"""The names of targets in the data set, and the targets."""
ARGUMENTS = {"column": "body", "source": fb.Column("format"), "target": fb.Column("target", TARGETS), "model": fb.Column("model")}
"""The arguments of ``fb.convert_table``."""
PARTITIONS_PER_PROCESS = 8


class Reading(NamedTuple):
    """What one engine needed for all payloads. Wall time suffers from other programs, CPU time much less."""

    engine: str
    processes: int
    start_seconds: float
    """Wall time until each worker has converted its first rows."""
    seconds: float
    """Wall time."""
    cpu_seconds: float
    """CPU time of this process and of all processes that it has started."""


class Stopwatch:
    """Measures wall time and CPU time from its creation on."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()

    def read(self) -> tuple[float, float]:
        """Return the seconds of wall time and of CPU time."""
        return time.perf_counter() - self._wall, _cpu_seconds() - self._cpu


def _cpu_seconds() -> float:
    this = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (this, *this.children(recursive=True)))


class Job(NamedTuple):
    """A data set, and where the results go."""

    requests: list[dict[str, Any]]
    inputs: Path
    outputs: Path
    processes: int

    def files(self) -> list[tuple[Path, Path]]:
        """Return each file of the data set with that of its result."""
        return [(path, self.outputs / path.name) for path in sorted((self.inputs / "all").iterdir())]


def rows(job: str) -> list[dict[str, Any]]:
    """Return the recorded requests as rows, with the names of their targets.

    ``formats``: each request goes to the next format. ``dialects``: it goes to the server for which it was recorded.
    """
    rows = []
    for each in recordings.recordings("request"):
        server = f"{each.format}/{each.dialect}"
        target = NEXT_FORMAT[each.format] if job == "formats" else server if server in TARGETS else each.format
        rows.append({"body": each.body.decode("utf-8", "replace"), "format": each.format, "target": target, "model": each.model})
    return rows


def write_data_set(folder: Path, requests: list[dict[str, Any]], payloads: int, partitions: int) -> None:
    """Write the requests in turn to Parquet files, until there are enough.

    The folder ``first`` has a few requests of each format, for the start of workers.
    """
    for name in ("all", "first"):
        (folder / name).mkdir(parents=True)
    first = pa.Table.from_pylist([{"id": id, **row} for id, row in enumerate(requests[::10])])
    for number in range(partitions):
        ids = range(number, payloads, partitions)
        table = pa.Table.from_pylist([{"id": id, **requests[id % len(requests)]} for id in ids])
        pq.write_table(table, folder / "all" / f"part-{number:04}.parquet", compression="zstd", row_group_size=ROWS)
        pq.write_table(first, folder / "first" / f"part-{number:04}.parquet")


def expected_results(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of a loop over ``convert_request``, as rows of the result."""
    results = []
    for row in requests:
        try:
            converted = _convert_bare(row)
        except fb.FormatBridgeError as error:
            results.append({"body": None, "path": None, "losses": None, "additions": None, "error": str(error)})
            continue
        losses = [loss.to_dict() | {"before": _text(loss.before), "after": _text(loss.after)} for loss in converted.losses]
        additions = [addition.to_dict() | {"value": _text(addition.value)} for addition in converted.additions]
        body = converted.json().decode()
        results.append({"body": body, "path": converted.path, "losses": losses, "additions": additions, "error": None})
    return results


def count_rejected(requests: list[dict[str, Any]], results: list[dict[str, Any]]) -> int:
    """Return the number of results that the fake server of their target rejects.

    A request that stays in its format is tried against the rules of the server only: what else is wrong in it was recorded so.
    """
    rejected = 0
    for row, result in zip(requests, results, strict=True):
        format, _, dialect = row["target"].partition("/")
        body = json.loads(result["body"] or "null")
        facts = Facts(model=row["model"] or (body and body.get("model")) or "")
        broken = broken_rules(format, body, facts, dialect or None) if body else ()
        server_rules = SERVER_RULES[dialect].get(format, ()) if dialect else ()
        rejected += any(row["format"] != format or rule in server_rules for rule, _ in broken)
    return rejected


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def check_results(folder: Path, payloads: int, expected: list[dict[str, Any]]) -> None:
    """End the run unless the files have each id once, with the result of ``convert_request``."""
    seen: set[int] = set()
    for path in folder.rglob("*.parquet"):
        for batch in pq.ParquetFile(path).iter_batches(ROWS):
            ids = batch["id"].to_pylist()
            for name in ("body", "path", "losses", "additions", "error"):
                for id, value in zip(ids, batch[f"converted_{name}"].to_pylist(), strict=True):
                    if value != expected[id % len(expected)][name]:
                        raise SystemExit(f"row {id}: {name} differs from the result of convert_request")
            if seen.intersection(ids):
                raise SystemExit(f"{path.name} has rows that another file has")
            seen.update(ids)
    if seen != set(range(payloads)):
        raise SystemExit(f"{len(seen):,} rows in {folder.name}, expected {payloads:,}")


def run_loop(job: Job) -> Reading:
    """Convert with a bare loop over ``convert_request`` that reads the report, without reading and writing files.

    The rows are those of the files, because text that is read for the first time takes longer than text in the cache of the processor.
    """
    before = Stopwatch()
    rows = [row for source, _ in job.files() for row in pq.read_table(source).to_pylist()]
    _convert_bare(rows[0])
    start, stopwatch = before.read()[0], Stopwatch()
    for row in rows:
        with suppress(fb.FormatBridgeError):
            converted = _convert_bare(row)
            converted.json(), converted.losses, converted.additions
    return Reading("bare loop", 1, start, *stopwatch.read())


def _convert_bare(row: dict[str, Any]) -> fb.ConvertedRequest:
    return fb.convert_request(row["body"], source=row["format"], target=TARGETS[row["target"]], model=row["model"])


def run_table(job: Job) -> Reading:
    """Convert tables that are in memory with ``fb.convert_table``, without reading and writing files."""
    before = Stopwatch()
    tables = [pq.read_table(source) for source, _ in job.files()]
    list(fb.convert_table(pa.Table.from_pylist(job.requests[::10]), **ARGUMENTS))
    start, stopwatch = before.read()[0], Stopwatch()
    for table in tables:
        for _ in fb.convert_table(table, **ARGUMENTS):
            pass
    return Reading("convert_table", 1, start, *stopwatch.read())


def run_processes(job: Job, count: int) -> Reading:
    """Convert the files in processes that have nothing in common, the machine's limit for the same work."""
    before = Stopwatch()
    with ProcessPoolExecutor(count, get_context("spawn")) as pool:
        list(pool.map(partial(_first, job.inputs, job.outputs), range(2 * count)))
        start, stopwatch = before.read()[0], Stopwatch()
        list(pool.map(_convert_file, job.files()))
        spent = stopwatch.read()
    return Reading("one process" if count == 1 else "processes", count, start, *spent)


def _first(inputs: Path, outputs: Path, number: int) -> None:
    """Convert a few rows, so that a process has imported and compiled everything."""
    result = outputs.with_name(f"{outputs.name}-first-{number}")
    convert_partition(inputs / "first" / "part-0000.parquet", result, **ARGUMENTS)
    time.sleep(0.5)  # the other processes take part too


def _convert_file(files: tuple[Path, Path]) -> None:
    convert_partition(*files, **ARGUMENTS)


def run_dask(job: Job) -> Reading:
    """Convert the files on a Dask cluster of local processes, as ``examples/dask_convert.py`` does."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.worker.profile.enabled": False})
    before = Stopwatch()
    with LocalCluster(n_workers=job.processes, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(_first, job.inputs, job.outputs, 0)
        start, stopwatch = before.read()[0], Stopwatch()
        client.gather(client.map(_convert_file, job.files(), pure=False))
        spent = stopwatch.read()
    return Reading("Dask", job.processes, start, *spent)


def run_ray_files(job: Job) -> Reading:
    """Convert the files with Ray Data on a cluster of local processes, as ``examples/ray_convert.py`` does."""
    import ray_convert

    marks = job.outputs.with_name(f"{job.outputs.name}-ready")
    marks.mkdir()

    class FileConverter(ray_convert.FileConverter):  # type: ignore[misc]  # a class without types
        """Waits until each process has converted its first rows, because the clock starts then."""

        def __init__(self, arguments: dict[str, Any]) -> None:
            super().__init__(arguments)
            _first(job.inputs, job.outputs, os.getpid())
            (marks / str(os.getpid())).touch()
            _wait_for(marks, job.processes)

    ray_convert.FileConverter = FileConverter
    converting = Thread(target=lambda: ray_convert.convert_files(job.files(), ARGUMENTS, job.processes).take_all())

    def start() -> None:
        converting.start()
        _wait_for(marks, job.processes)

    return _run_on_ray("Ray Data, files", job, start, converting.join)


def _wait_for(folder: Path, count: int) -> None:
    """Wait until a folder has so many files."""
    while len(list(folder.iterdir())) < count:
        time.sleep(0.01)


def run_ray_rows(job: Job) -> Reading:
    """Convert the rows of the data set with ``map_batches`` of Ray Data."""
    import ray
    from ray_convert import convert_rows

    arguments = {"fn_args": [ARGUMENTS], "batch_size": ROWS, "batch_format": "pyarrow", "zero_copy_batch": True}

    def start() -> None:
        ray.data.read_parquet(str(job.inputs / "first")).map_batches(convert_rows, **arguments).materialize()

    def run() -> None:
        rows = ray.data.read_parquet(str(job.inputs / "all"))
        rows.map_batches(convert_rows, **arguments).write_parquet(str(job.outputs))

    return _run_on_ray("Ray Data, rows", job, start, run)


def _run_on_ray(name: str, job: Job, start: Callable[[], None], run: Callable[[], None]) -> Reading:
    import ray

    before = Stopwatch()
    ray.init(num_cpus=job.processes, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    start()
    start_seconds, stopwatch = before.read()[0], Stopwatch()
    run()
    spent = stopwatch.read()
    ray.shutdown()
    return Reading(name, job.processes, start_seconds, *spent)


ENGINES: dict[str, Callable[[Job], Reading]] = {
    "loop": run_loop,
    "table": run_table,
    "one": partial(run_processes, count=1),
    "processes": lambda job: run_processes(job, job.processes),
    "dask": run_dask,
    "ray-files": run_ray_files,
    "ray-rows": run_ray_rows,
}


def table(readings: list[Reading], payloads: int) -> Iterator[str]:
    """Yield the lines of the table. The last two columns are shares of the throughput of one process for each process."""
    heads = (
        "engine",
        "processes",
        "start, s",
        "wall time, s",
        "payloads per s",
        "CPU per payload, µs",
        "share by wall",
        "share by CPU",
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    one = next((reading for reading in readings if reading.engine == "one process"), readings[0])
    for reading in readings:
        cells = [reading.engine, str(reading.processes), f"{reading.start_seconds:.1f}", f"{reading.seconds:.1f}"]
        cells += [f"{payloads / reading.seconds:,.0f}", f"{reading.cpu_seconds / payloads * 1e6:.0f}"]
        cells += [f"{one.seconds / reading.seconds / reading.processes:.0%}", f"{one.cpu_seconds / reading.cpu_seconds:.0%}"]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--payloads", type=int, default=2_000)
    parser.add_argument(
        "--job", choices=("formats", "dialects"), default="formats", help="convert to other formats, or for one server"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: all; may be repeated")
    asked = parser.parse_args()
    if recordings.absence():
        raise SystemExit(recordings.absence())
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for the workers of Ray
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    requests = rows(asked.job)
    expected = expected_results(requests)
    size = sum(len(row["body"].encode()) for row in requests) / len(requests)
    print(f"{asked.payloads:,} payloads, {len(expected):,} distinct, {size:,.0f} bytes on average")
    print(
        f"{sum(each['body'] is None for each in expected)} invalid, {count_rejected(requests, expected)} rejected by fake servers",
        flush=True,
    )
    readings = []
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name) / "inputs"
        write_data_set(inputs, requests, asked.payloads, PARTITIONS_PER_PROCESS * asked.processes)
        for engine in asked.engine or ENGINES:
            job = Job(requests, inputs, Path(name) / engine, asked.processes)
            job.outputs.mkdir()
            readings.append(ENGINES[engine](job))
            if any(job.outputs.iterdir()):
                check_results(job.outputs, asked.payloads, expected)
                print(f"{readings[-1].engine}: the results equal those of convert_request", file=sys.stderr)
    print("\n".join(table(readings, asked.payloads)))


if __name__ == "__main__":
    main()
