"""Exchanges over a socket: every pair of formats, whole and streamed, sync and async, both HTTP libraries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import FakeRelay
from formatbridge.testing.relay_server import served
from tests.client.test_fake_relay import ANSWER, EXPECTED, request_of, summary_of
from tests.support import official_sdks
from tests.support.exchanges import every_pair

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
every_library = pytest.mark.parametrize("library", LIBRARIES)


@pytest.fixture(scope="module")
def relay() -> Iterator[FakeRelay]:
    with served(ANSWER) as relay:
        yield relay


@every_library
@every_pair
def test_a_client_gets_the_scripted_answer_over_a_socket(format: fb.Format, via: fb.Format, library: str, relay: FakeRelay) -> None:
    """As an answer and as a stream."""
    with LIBRARIES[library].Client() as http_client, fb.Client(relay.base_url, relay.api_key, http_client=http_client) as client:
        whole = client.send(request_of(format, is_streaming=False), format, via)
        with client.stream(request_of(format, is_streaming=True), format, via) as stream:
            streamed = stream.response()

    assert summary_of(whole.body, format) == summary_of(streamed.body, format) == EXPECTED


@every_library
@every_pair
def test_an_async_client_gets_the_scripted_answer_over_a_socket(
    format: fb.Format, via: fb.Format, library: str, relay: FakeRelay
) -> None:
    """As an answer and as a stream."""

    async def exchange() -> list[Any]:
        async with (
            LIBRARIES[library].AsyncClient() as http_client,
            fb.AsyncClient(relay.base_url, relay.api_key, http_client=http_client) as client,
        ):
            whole = await client.send(request_of(format, is_streaming=False), format, via)
            async with client.stream(request_of(format, is_streaming=True), format, via) as stream:
                return [whole.body, (await stream.response()).body]

    assert [summary_of(body, format) for body in asyncio.run(exchange())] == [EXPECTED, EXPECTED]


@every_pair
def test_an_official_sdk_gets_the_scripted_answer_over_a_socket(format: fb.Format, via: fb.Format, relay: FakeRelay) -> None:
    """The transport wraps the socket transport of the HTTP library."""
    with httpx2.Client(transport=fb.transport(relay.base_url, relay.api_key, via=via)) as http_client:
        client = official_sdks.sdk(format, "https://vendor.test", "sk-vendor", http_client)

        result = [official_sdks.ask(format, client, is_streaming=is_streaming) for is_streaming in (False, True)]

    assert result == [official_sdks.SdkAnswer(*EXPECTED[:1], tuple(EXPECTED[1]), *EXPECTED[2:])] * 2


@every_pair
def test_an_async_official_sdk_gets_the_scripted_answer_over_a_socket(format: fb.Format, via: fb.Format, relay: FakeRelay) -> None:
    """The transport wraps the socket transport of the HTTP library."""

    async def exchange() -> list[official_sdks.SdkAnswer]:
        transport = fb.transport(relay.base_url, relay.api_key, via=via)
        async with httpx2.AsyncClient(transport=transport) as http_client:
            client = official_sdks.sdk(format, "https://vendor.test", "sk-vendor", http_client)
            return [await official_sdks.ask_async(format, client, is_streaming=is_streaming) for is_streaming in (False, True)]

    assert asyncio.run(exchange()) == [official_sdks.SdkAnswer(*EXPECTED[:1], tuple(EXPECTED[1]), *EXPECTED[2:])] * 2


def test_an_async_sdk_works_in_several_event_loops(relay: FakeRelay) -> None:
    """A notebook or a worker runs one task after another; the connections of the first loop cannot be used in the second."""
    http_client = httpx2.AsyncClient(transport=fb.transport(relay.base_url, relay.api_key, via="messages"))
    client = official_sdks.sdk("responses", "https://vendor.test", "sk-vendor", http_client)

    result = [asyncio.run(official_sdks.ask_async("responses", client, is_streaming=True)) for _ in range(3)]

    assert result == [official_sdks.SdkAnswer(*EXPECTED[:1], tuple(EXPECTED[1]), *EXPECTED[2:])] * 3
