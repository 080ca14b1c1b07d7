"""The library gives the same results on Python 3.14, the version in the bundle of the playground."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conversions import digest

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node")


def test_python_3_14_converts_every_fixture_as_this_python_does() -> None:
    """A release of Python changes annotations, dataclasses and error messages."""
    if NODE is None:
        pytest.skip("node is not installed")
    if not (ROOT / "docs" / "playground" / "bundle" / "manifest.json").exists():
        pytest.skip("the bundle of the playground is not built: python -m docs.playground.build")

    script = ROOT / "tests" / "javascript" / "digest.mjs"
    result = subprocess.run([NODE, str(script), str(ROOT)], capture_output=True, text=True, check=False, timeout=300)

    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.split(maxsplit=1) == ["3.14", f"{digest(str(ROOT / 'fixtures'))}\n"]
