"""Convert a folder of Parquet files with Ray Data, on a cluster of local processes.

    python examples/ray_convert.py INPUT OUTPUT --source chat_completions --target messages --processes 4

For a cluster of several machines, call ``ray.init(address="auto")`` and install formatbridge on the workers. Ray repeats the tasks of a
worker that was killed. Tasks for whole files are faster, and the same call continues a run that stopped:

    ray.get([ray.remote(convert_partition).remote(source_file, result_file, **arguments) for source_file, result_file in files])
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import ray

import formatbridge as fb

ROWS = 1024
"""Rows of one call."""


def convert(rows: pa.Table, arguments: dict[str, Any]) -> Iterator[pa.Table]:
    """Convert some rows of the data set."""
    for batch in fb.convert_table(rows, **arguments):
        yield pa.Table.from_batches([batch])


def main() -> None:
    parser = argparse.ArgumentParser(description="Convert a folder of Parquet files with a column of requests.")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--column", default="body")
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--processes", type=int)
    asked = parser.parse_args()

    ray.init(num_cpus=asked.processes, include_dashboard=False)
    arguments = {"column": asked.column, "source": asked.source, "target": asked.target}
    rows = ray.data.read_parquet(asked.input)
    results = rows.map_batches(
        convert, fn_args=[arguments], batch_size=ROWS, batch_format="pyarrow", zero_copy_batch=True, udf_modifying_row_count=False
    )
    results.write_parquet(asked.output)


if __name__ == "__main__":
    main()
