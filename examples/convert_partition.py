"""Convert one partition of a data set: a Parquet file with a column of requests.

The result is written under another name and renamed when it is complete. A partition whose result exists is skipped, so the same call
continues a run that stopped. Files that end in ``.partial`` are left from processes that were killed, and can be deleted.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

import formatbridge as fb

ROWS = 1024
"""Rows that are in memory at a time."""


def convert_partition(source_file: Path, result_file: Path, **arguments: Any) -> Path:
    """Convert a file. ``arguments``: those of ``fb.convert_table``. Returns the path of the result."""
    if result_file.exists():
        return result_file
    partial_file = result_file.with_name(f"{result_file.name}.{uuid4().hex}.partial")  # unique: two workers may have the same task
    with pq.ParquetFile(source_file) as file:
        batches = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(ROWS))
        results = fb.convert_table(batches, **arguments)
        first = next(results)
        with pq.ParquetWriter(partial_file, first.schema, compression="zstd") as writer:
            for batch in chain([first], results):
                writer.write_batch(batch)
    os.replace(partial_file, result_file)
    return result_file
