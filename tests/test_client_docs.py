"""The examples of docs/client.md run as they stand, against a relay on a socket."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.servers import KEY, Server, relay

PAGE = Path(__file__).parents[1] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """People copy examples before they read."""
    with Server(relay) as server:
        monkeypatch.setenv("FORMATBRIDGE_BASE_URL", server.url)
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY)
        exec(compile(EXAMPLES[number], f"client.md, example {number}", "exec"), {"__name__": "example"})

    told = capsys.readouterr().out
    assert told
    assert KEY not in told
