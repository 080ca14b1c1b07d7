"""Convert a folder of Parquet files with Ray Data on a cluster of local processes, one file for each task.

    python examples/ray_convert.py INPUT OUTPUT --source chat_completions --target messages --processes 4

The same command continues a run that stopped, and Ray repeats the tasks of a worker that was killed. For a cluster of several machines,
call ``ray.init(address="auto")``, and install formatbridge and ``convert_partition.py`` on the workers.

Rows that other steps of Ray Data produce are converted with ``map_batches``. This takes more time, because Ray copies the rows between
its processes:

    rows.map_batches(convert_rows, fn_args=[arguments], batch_format="pyarrow", zero_copy_batch=True)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray
from convert_partition import convert_partition

import formatbridge as fb


class FileConverter:
    """Converts files in one process of the cluster. ``arguments``: those of ``fb.convert_table`` besides the table."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments

    def __call__(self, row: dict[str, str]) -> dict[str, str]:
        """Convert a file. ``row``: its path and that of its result."""
        return {"result": str(convert_partition(Path(row["source"]), Path(row["result"]), **self.arguments))}


def convert_files(files: list[tuple[Path, Path]], arguments: dict[str, Any], processes: int | None = None) -> ray.data.Dataset:
    """Return the data set of the results' paths. Each file is a separate block, so that Ray repeats no other.

    ``processes``: default: one for each CPU of the cluster. Each gets its next file while it converts another, so that it never waits.
    """
    rows = [{"source": str(source_file), "result": str(result_file)} for source_file, result_file in files]
    size = processes or int(ray.cluster_resources()["CPU"])
    pool = ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=2)
    blocks = ray.data.from_items(rows, override_num_blocks=len(rows))
    return blocks.map(FileConverter, fn_constructor_args=[arguments], compute=pool)


def convert_rows(rows: pa.Table, arguments: dict[str, Any]) -> Iterator[pa.Table]:
    """Convert some rows of a data set."""
    for batch in fb.convert_table(rows, **arguments):
        yield pa.Table.from_batches([batch])


def main() -> None:
    parser = argparse.ArgumentParser(description="Convert a folder of Parquet files with a column of requests.")
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--column", default="body")
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--dialect", help="the server that receives the requests, such as groq")
    parser.add_argument("--processes", type=int)
    asked = parser.parse_args()
    names = [path.name for path in sorted(asked.input.glob("*.parquet"))]
    if not names:
        parser.error(f"{asked.input} has no Parquet file")
    target = fb.Target(asked.target, dialect=asked.dialect)

    ray.init(num_cpus=asked.processes, include_dashboard=False)
    asked.output.mkdir(parents=True, exist_ok=True)
    files = [((asked.input / name).resolve(), asked.output.resolve() / name) for name in names]
    for row in convert_files(
        files, {"column": asked.column, "source": asked.source, "target": target}, asked.processes
    ).iter_rows():
        print(row["result"])


if __name__ == "__main__":
    main()
