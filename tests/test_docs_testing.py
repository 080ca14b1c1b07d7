"""The pages about the doubles, the official SDKs and the gateway run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from formatbridge.testing import QUIRKS, FakeRelay

DOCS = Path(__file__).parents[1] / "docs"


def run(page: str) -> dict[str, Any]:
    """Run the blocks of a page in order, in one place, and return the names that they leave."""
    names: dict[str, Any] = {}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL), 1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    return names


def test_the_page_about_testing_runs() -> None:
    """Somebody copies a block."""
    for sdk in ("openai", "anthropic"):
        pytest.importorskip(sdk)

    names = run("testing.md")

    names["test_the_weather"](FakeRelay())


def test_the_page_lists_every_quirk() -> None:
    """A quirk that nobody knows of is of no use."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", (DOCS / "testing.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert dict(rows) == dict(QUIRKS)


def test_the_page_about_the_official_sdks_runs() -> None:
    """Somebody copies a block."""
    for sdk in ("openai", "anthropic", "google.genai"):
        pytest.importorskip(sdk)

    run("official-sdks.md")


def test_the_page_about_the_gateway_runs() -> None:
    """Somebody copies a block."""
    pytest.importorskip("starlette")

    run("gateway.md")
