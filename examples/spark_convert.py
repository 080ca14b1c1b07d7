"""Convert a folder of Parquet files with Spark. It needs Java 17 and pyspark.

    python examples/spark_convert.py INPUT OUTPUT --source chat_completions --target messages

On a cluster, run it with ``spark-submit`` and install formatbridge on the workers. Spark repeats the tasks of a worker that was killed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

import formatbridge as fb


def main() -> None:
    parser = argparse.ArgumentParser(description="Convert a folder of Parquet files with a column of requests.")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--column", default="body")
    parser.add_argument("--source", required=True)
    parser.add_argument("--target", required=True)
    asked = parser.parse_args()
    arguments = {"column": asked.column, "source": asked.source, "target": asked.target}

    def convert(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return fb.convert_table(batches, **arguments)

    spark = SparkSession.builder.getOrCreate()
    rows = spark.read.parquet(asked.input)
    (no_rows,) = fb.convert_table(to_arrow_schema(rows.schema).empty_table(), **arguments)  # it has the columns of the results
    rows.mapInArrow(convert, from_arrow_schema(no_rows.schema)).write.parquet(asked.output)
    spark.stop()


if __name__ == "__main__":
    main()
