"""The recipes in ``examples`` convert a folder of Parquet files on local clusters of processes, and a killed worker loses nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import formatbridge as fb
from tests import fixtures

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow.parquet as pq  # noqa: E402  # after the check

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ARGUMENTS = {"column": "body", "source": "chat_completions", "target": "messages"}
PARTS, ROWS = 4, 50

KILLED_ONCE = """
import os, signal, sys
from pathlib import Path
import formatbridge as fb

mark = Path(sys.argv.pop())

def target_of(id):
    if id == 120 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "messages"

target = fb.Column("id", target_of)
"""
"""The start of a program that kills the worker process in the middle of a partition, once."""
DASK = """
import dask_convert
def convert_partition(*files, convert=dask_convert.convert_partition, **arguments):
    return convert(*files, **(arguments | {"target": target}))
dask_convert.convert_partition = convert_partition
if __name__ == "__main__":
    dask_convert.main()
"""
RAY = """
import ray_convert
class FileConverter(ray_convert.FileConverter):
    def __init__(self, arguments):
        super().__init__(arguments | {"target": target})
ray_convert.FileConverter = FileConverter
ray_convert.main()
"""


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Return a folder with partitions of requests, some of which are invalid or null."""
    bodies = [json.dumps(each.body) for each in fixtures.fixtures("request") if each.format == "chat_completions"]
    folder = tmp_path / "inputs"
    folder.mkdir()
    for part in range(PARTS):
        ids = range(part * ROWS, (part + 1) * ROWS)
        payloads = [None if id % 49 == 7 else "{}" if id % 31 == 3 else bodies[id % len(bodies)] for id in ids]
        pq.write_table(pa.table({"id": list(ids), "body": payloads}), folder / f"part-{part}.parquet")
    return folder


def _results(folder: Path) -> list[tuple[int, str | None, str | None, int]]:
    """Return id, body, error and number of losses of each row, in the order of the ids."""
    rows = [row for path in folder.rglob("*.parquet") for row in pq.read_table(path).to_pylist()]
    return sorted((row["id"], row["converted_body"], row["converted_error"], len(row["converted_losses"] or ())) for row in rows)


def _loop_results(folder: Path) -> list[tuple[int, str | None, str | None, int]]:
    """Return the same of a loop over ``convert_request``."""
    results: list[tuple[int, str | None, str | None, int]] = []
    for path in sorted(folder.glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            try:
                converted = fb.convert_request(row["body"], source="chat_completions", target="messages") if row["body"] else None
            except fb.FormatBridgeError as error:
                results.append((row["id"], None, str(error), 0))
            else:
                body = converted.json().decode() if converted else None
                results.append((row["id"], body, None, len(converted.losses) if converted else 0))
    return results


def _run(script: Path, inputs: Path, outputs: Path, *more: str) -> None:
    """Run a recipe in a new process, as a user does."""
    path = os.pathsep.join(map(str, (ROOT / "src", EXAMPLES)))
    environment = os.environ | {"PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0", "PYSPARK_PYTHON": sys.executable}
    arguments = [str(inputs), str(outputs), "--source", "chat_completions", "--target", "messages", *more]
    result = subprocess.run(
        [sys.executable, str(script), *arguments], env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert result.returncode == 0, result.stderr[-4000:]


@pytest.mark.parametrize(("package", "program"), [("distributed", DASK), ("ray", RAY)], ids=["Dask", "Ray"])
def test_a_killed_worker_loses_nothing(package: str, program: str, inputs: Path, tmp_path: Path) -> None:
    """Machines of a large cluster fail while it runs; the results are those of a loop over convert_request."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    script, mark, outputs = tmp_path / "program.py", tmp_path / "killed", tmp_path / "outputs"
    script.write_text(KILLED_ONCE + program)

    _run(script, inputs, outputs, "--processes", "2", str(mark))

    assert mark.exists()
    assert _results(outputs) == _loop_results(inputs)


def test_spark_converts_every_row_as_convert_request_does(inputs: Path, tmp_path: Path) -> None:
    """A user of Spark runs the recipe as it is."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("pyspark or Java is not installed")

    _run(EXAMPLES / "spark_convert.py", inputs, tmp_path / "outputs")

    assert _results(tmp_path / "outputs") == _loop_results(inputs)


@pytest.fixture
def partitions() -> ModuleType:
    """Return the module of the example that converts one partition."""
    spec = importlib.util.spec_from_file_location("convert_partition", EXAMPLES / "convert_partition.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_partition_that_stops_has_no_result_and_can_be_repeated(partitions: Any, inputs: Path, tmp_path: Path) -> None:
    """A half-written file that looks complete would lose rows without notice."""
    partitions.ROWS = 10
    source, result = inputs / "part-0.parquet", tmp_path / "part-0.parquet"

    def stopped(id: int) -> str:
        if id == 35:
            raise KeyboardInterrupt
        return "messages"

    with pytest.raises(KeyboardInterrupt):
        partitions.convert_partition(source, result, **(ARGUMENTS | {"target": fb.Column("id", stopped)}))

    assert not result.exists()
    assert partitions.convert_partition(source, result, **ARGUMENTS) == result
    assert [row["id"] for row in pq.read_table(result).to_pylist()] == list(range(ROWS))


def test_a_partition_that_has_a_result_is_skipped(partitions: Any, inputs: Path, tmp_path: Path) -> None:
    """The same call continues a run that stopped."""
    result = tmp_path / "part-0.parquet"
    result.write_bytes(b"from an earlier run")

    partitions.convert_partition(inputs / "part-0.parquet", result, **ARGUMENTS)

    assert result.read_bytes() == b"from an earlier run"


def test_a_partition_without_rows_has_a_result_without_rows(partitions: Any, tmp_path: Path) -> None:
    """A reader of the results expects a file for each partition, with the same columns."""
    source = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"id": pa.array([], pa.int64()), "body": pa.array([], pa.string())}), source)

    result = partitions.convert_partition(source, tmp_path / "result.parquet", **ARGUMENTS)

    assert pq.read_table(result).num_rows == 0
    assert "converted_body" in pq.read_schema(result).names
