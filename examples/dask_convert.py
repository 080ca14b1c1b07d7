"""Convert a folder of Parquet files on a Dask cluster of local processes, one file for each task.

    python examples/dask_convert.py INPUT OUTPUT --source chat_completions --target messages --processes 4

The same command continues a run that stopped. For a cluster of several machines, pass the address of its scheduler to ``Client``, and
install formatbridge and ``convert_partition.py`` on the workers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dask
from convert_partition import convert_partition
from distributed import Client, LocalCluster, as_completed

import formatbridge as fb


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

    asked.output.mkdir(parents=True, exist_ok=True)
    # Dask's profiler interrupts each worker every 10 ms, which takes a sixth of the CPU time of a conversion.
    dask.config.set({"distributed.worker.profile.enabled": False})
    cluster = LocalCluster(n_workers=asked.processes, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        tasks = client.map(
            convert_partition,
            [asked.input / name for name in names],
            [asked.output / name for name in names],
            pure=False,  # the result is a file, which may have been deleted since an earlier call
            column=asked.column,
            source=asked.source,
            target=target,
        )
        for task in as_completed(tasks):
            print(task.result())


if __name__ == "__main__":
    main()
