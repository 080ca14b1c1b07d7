"""``python -m benchmarks.scale``: the recorded requests, repeated, in one process, in several, on Dask and on Ray Data.

It writes the requests to Parquet files, converts each to another format with ``fb.convert_table``, compares all results with a plain loop
over ``convert_request``, and prints the throughput. The clock starts when the workers have started and have converted their first rows.
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
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from convert_partition import ROWS, convert_partition

import formatbridge as fb
from benchmarks import recordings

TARGETS = dict(zip(fb.FORMATS, (*fb.FORMATS[1:], fb.FORMATS[0]), strict=True))
"""Each format and the one that its requests are converted to."""
ARGUMENTS = {
    "column": "body",
    "source": fb.Column("format"),
    "target": fb.Column("format", TARGETS),
    "model": fb.Column("model"),
}
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

    inputs: Path
    outputs: Path
    processes: int

    def files(self) -> list[tuple[Path, Path]]:
        """Return each file of the data set with that of its result."""
        return [(path, self.outputs / path.name) for path in sorted((self.inputs / "all").iterdir())]


def rows() -> list[dict[str, Any]]:
    """Return the recorded requests as rows."""
    return [
        {"body": each.body.decode("utf-8", "replace"), "format": each.format, "model": each.model}
        for each in recordings.recordings("request")
    ]


def write_data_set(folder: Path, payloads: int, partitions: int) -> None:
    """Write the requests in turn to Parquet files, until there are enough.

    The folder ``first`` has a few requests of each format, for the start of workers.
    """
    requests = rows()
    for name in ("all", "first"):
        (folder / name).mkdir(parents=True)
    first = pa.Table.from_pylist([{"id": id, **row} for id, row in enumerate(requests[::10])])
    for number in range(partitions):
        ids = range(number, payloads, partitions)
        table = pa.Table.from_pylist([{"id": id, **requests[id % len(requests)]} for id in ids])
        pq.write_table(table, folder / "all" / f"part-{number:04}.parquet", compression="zstd", row_group_size=ROWS)
        pq.write_table(first, folder / "first" / f"part-{number:04}.parquet")


def plain_results() -> list[dict[str, Any]]:
    """Return the results of a loop over ``convert_request`` for each distinct request, as rows of the result."""
    results = []
    for row in rows():
        try:
            converted = fb.convert_request(row["body"], source=row["format"], target=TARGETS[row["format"]], model=row["model"])
        except fb.FormatBridgeError as error:
            results.append({"body": None, "path": None, "losses": None, "additions": None, "error": str(error)})
            continue
        losses = [loss.to_dict() | {"before": _text(loss.before), "after": _text(loss.after)} for loss in converted.losses]
        additions = [addition.to_dict() | {"value": _text(addition.value)} for addition in converted.additions]
        body = converted.json().decode()
        results.append({"body": body, "path": converted.path, "losses": losses, "additions": additions, "error": None})
    return results


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def check_results(folder: Path, payloads: int, expected: list[dict[str, Any]]) -> None:
    """End the run unless the files have each id once, with the result of the plain loop."""
    seen: set[int] = set()
    for path in folder.rglob("*.parquet"):
        for batch in pq.ParquetFile(path).iter_batches(ROWS):
            ids = batch["id"].to_pylist()
            for name in ("body", "path", "losses", "additions", "error"):
                for id, value in zip(ids, batch[f"converted_{name}"].to_pylist(), strict=True):
                    if value != expected[id % len(expected)][name]:
                        raise SystemExit(f"row {id}: {name} differs from the plain loop")
            if seen.intersection(ids):
                raise SystemExit(f"{path.name} has rows that another file has")
            seen.update(ids)
    if seen != set(range(payloads)):
        raise SystemExit(f"{len(seen):,} rows in {folder.name}, expected {payloads:,}")


def run_loop(job: Job) -> Reading:
    """Convert with a bare loop over ``convert_request`` that reads the report, without reading and writing files."""
    requests = rows()
    count = sum(pq.ParquetFile(source).metadata.num_rows for source, _ in job.files())
    before = Stopwatch()
    _convert_bare(requests[0])
    start, watch = before.read()[0], Stopwatch()
    for number in range(count):
        _convert_bare(requests[number % len(requests)])
    return Reading("bare loop", 1, start, *watch.read())


def _convert_bare(row: dict[str, Any]) -> None:
    try:
        converted = fb.convert_request(row["body"], source=row["format"], target=TARGETS[row["format"]], model=row["model"])
    except fb.FormatBridgeError:
        return
    converted.json(), converted.losses, converted.additions


def run_processes(job: Job, count: int) -> Reading:
    """Convert the files in processes that have nothing in common, the machine's limit for the same work."""
    before = Stopwatch()
    with ProcessPoolExecutor(count, get_context("spawn")) as pool:
        list(pool.map(partial(_first, job), range(2 * count)))
        start, watch = before.read()[0], Stopwatch()
        list(pool.map(_convert_file, job.files()))
        spent = watch.read()
    return Reading("one process" if count == 1 else "processes", count, start, *spent)


def _first(job: Job, number: int) -> None:
    """Convert a few rows, so that a process has imported and compiled everything."""
    convert_partition(
        job.inputs / "first" / "part-0000.parquet", job.outputs.with_name(f"{job.outputs.name}-first-{number}"), **ARGUMENTS
    )
    time.sleep(0.5)  # the other processes take part too


def _convert_file(files: tuple[Path, Path]) -> None:
    convert_partition(*files, **ARGUMENTS)


def run_dask(job: Job) -> Reading:
    """Convert the files on a Dask cluster of local processes, as ``examples/dask_convert.py`` does."""
    from distributed import Client, LocalCluster

    before = Stopwatch()
    with (
        LocalCluster(n_workers=job.processes, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(_first, job, 0)
        start, watch = before.read()[0], Stopwatch()
        client.gather(client.map(_convert_file, job.files(), pure=False))
        spent = watch.read()
    return Reading("Dask", job.processes, start, *spent)


def run_ray(job: Job) -> Reading:
    """Convert the data set on a Ray cluster of local processes, as ``examples/ray_convert.py`` does."""
    import ray
    from ray_convert import convert

    before = Stopwatch()
    ray.init(num_cpus=job.processes, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    arguments = {"fn_args": [ARGUMENTS], "batch_size": ROWS, "batch_format": "pyarrow", "zero_copy_batch": True}
    ray.data.read_parquet(str(job.inputs / "first")).map_batches(convert, **arguments).materialize()
    start, watch = before.read()[0], Stopwatch()
    ray.data.read_parquet(str(job.inputs / "all")).map_batches(convert, **arguments).write_parquet(str(job.outputs))
    spent = watch.read()
    ray.shutdown()
    return Reading("Ray Data", job.processes, start, *spent)


ENGINES: dict[str, Callable[[Job], Reading]] = {
    "loop": run_loop,
    "one": partial(run_processes, count=1),
    "processes": lambda job: run_processes(job, job.processes),
    "dask": run_dask,
    "ray": run_ray,
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
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--engine", action="append", choices=ENGINES, help="default: all; may be repeated")
    asked = parser.parse_args()
    if recordings.absence():
        raise SystemExit(recordings.absence())
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for the workers of Ray
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    expected = plain_results()
    readings = []
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name) / "inputs"
        write_data_set(inputs, asked.payloads, PARTITIONS_PER_PROCESS * asked.processes)
        size = sum(len(row["body"].encode()) for row in rows()) / len(rows())
        print(f"{asked.payloads:,} payloads, {len(expected):,} distinct, {size:,.0f} bytes on average", flush=True)
        for engine in asked.engine or ENGINES:
            job = Job(inputs, Path(name) / engine, asked.processes)
            job.outputs.mkdir()
            readings.append(ENGINES[engine](job))
            if engine != "loop":
                check_results(job.outputs, asked.payloads, expected)
                print(f"{readings[-1].engine}: the results equal the plain loop", file=sys.stderr)
    print("\n".join(table(readings, asked.payloads)))


if __name__ == "__main__":
    main()
