"""Memory for pointers is bounded by the size of a body."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import formatbridge as fb

Body = dict[str, Any]


def _peak(act: Callable[[], object]) -> int:
    """Return the largest number of bytes that were in use at a time."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("half", ["", "\\ud83d"], ids=["whole", "replaced"])
@pytest.mark.parametrize("written", [json.loads, str.encode], ids=["dict", "text"])
@pytest.mark.parametrize("target", ["chat_completions", "messages"])
def test_pointers_share_the_memory_of_a_long_key(target: fb.Format, written: Callable[[str], Any], half: str) -> None:
    """A pointer is created only for a loss: with 1 MB over 20,000 objects, all pointers would need 20 GB."""
    key, inner = "k" * 100_000, ",".join(["{}"] * 2_000)
    text = f'{{"model": "m{half}", "messages": [{{"role": "user", "content": "x"}}], "novel": {{"{key}": [{inner}]}}}}'

    def act() -> None:
        converted = fb.convert_request(written(text), source="chat_completions", target=target)
        assert converted.losses is not None
        assert converted.additions is not None

    act()  # what is created once exists then

    assert _peak(act) < 40 * len(text)
