"""The fixture works after it is enabled, and importing the test doubles loads no HTTP library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEST = """
def test_it(fake_relay):
    fake_relay.play("One.", "Two.")
    assert fake_relay.steps_left == 2

def test_each_test_has_a_new_relay(fake_relay):
    assert fake_relay.requests == [] and fake_relay.steps_left is None
"""


def test_the_plugin_provides_the_fixture(tmp_path: Path) -> None:
    """Two lines in a user's tests."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["formatbridge.testing.pytest_plugin"]\n')
    (tmp_path / "test_it.py").write_text(TEST)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )

    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_doubles_load_no_http_library_until_they_are_used() -> None:
    """A user of one library need not install the other."""
    code = "import sys, formatbridge.testing as t; t.FakeRelay('Hi'); print({'httpx', 'httpx2', 'pytest'} & set(sys.modules))"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "set()"
