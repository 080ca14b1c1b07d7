"""The examples of docs/client.md run unchanged, against a relay on a socket."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.servers import KEY, Server, relay

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = [
    example
    for page in ("client.md",)
    for example in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_example_of_the_client_page_runs(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Users copy examples before they read."""
    with Server(relay) as server:
        monkeypatch.setenv("FORMATBRIDGE_BASE_URL", server.url)
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY)
        exec(compile(EXAMPLES[number], f"example {number}", "exec"), {"__name__": "example"})

    printed = capsys.readouterr().out
    assert printed
    assert KEY not in printed
