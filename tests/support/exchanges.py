"""Exchanges through a client: every pair of formats, and an answer that is requested whole or streamed."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.support.directions import PAIRS

every_pair = pytest.mark.parametrize(("format", "via"), PAIRS, ids=[f"{format}-via-{via}" for format, via in PAIRS])
whole_and_streamed = pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])


def send(client: fb.Client, request: Any, format: Any, via: Any, *, is_streaming: bool) -> Any:
    """Send a request and return the body of its answer; a stream is accumulated."""
    if not is_streaming:
        return client.send(request, format, via).body
    with client.stream(request, format, via) as stream:
        return stream.response().body


async def send_async(client: fb.AsyncClient, request: Any, format: Any, via: Any, *, is_streaming: bool) -> Any:
    """Send a request with the async client and return the body of its answer."""
    if not is_streaming:
        return (await client.send(request, format, via)).body
    async with client.stream(request, format, via) as stream:
        return (await stream.response()).body
