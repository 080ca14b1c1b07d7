"""``examples/notebook.ipynb`` runs, and its stored output is current.

``python -m tests.project.test_notebook`` runs and stores it. The tests need nbclient and ipykernel, and are skipped without them.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
TIMEOUT = 120
"""The time limit of a cell in seconds, for a busy machine."""


def executed() -> Any:
    """Run the notebook with the library of this working copy and return it with its output."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=TIMEOUT, record_timing=False)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    client.execute(env=environment)
    notebook.metadata.pop("language_info", None)  # it has the version of Python
    return notebook


@pytest.fixture(scope="module")
def notebook() -> Any:
    return executed()


def _outputs(notebook: Any) -> list[Any]:
    return [[dict(output) for output in cell.get("outputs", [])] for cell in notebook.cells]


def test_the_stored_output_of_the_notebook_is_current(notebook: Any) -> None:
    """Most readers see the notebook on a web page, which does not run it."""
    stored = pytest.importorskip("nbformat").read(NOTEBOOK, as_version=4)

    assert _outputs(notebook) == _outputs(stored)


def test_results_are_shown_as_html(notebook: Any) -> None:
    """The last value of a cell is shown without a call."""
    shown = {
        cell.source.splitlines()[-1]: output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "execute_result"
    }

    assert list(shown) == ["detection", "converted", "converted.losses", "converted.losses[0]", "reply"]
    assert all("<script" not in fragment for fragment in shown.values())
    assert "fb-impossible" in shown["converted"]
    assert "sk-fake" not in str(notebook)


if __name__ == "__main__":
    import_module("nbformat").write(executed(), NOTEBOOK)
