"""A gateway behind a real socket of this machine, and calls of an ASGI application in the process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import FakeRelay

RELAY_KEY, CALLER_KEY = "sk-canary-relay", "sk-canary-caller"


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """Run an ASGI application with uvicorn and yield its base URL."""
    uvicorn = pytest.importorskip("uvicorn", reason="the ASGI server is not installed")
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        until(lambda: bool(server.started))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


def until(holds: Any, seconds: float = 10) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.01)


def free_port() -> int:
    """Return a port of this machine on which no program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def post_when_ready(url: str, body: Any) -> httpx.Response:
    """Send a request as soon as a server listens, and return its response."""
    replies: list[httpx.Response] = []

    def is_ready() -> bool:
        try:
            replies.append(httpx.post(url, json=body, timeout=30))
        except httpx.ConnectError:
            time.sleep(0.05)
            return False
        return True

    until(is_ready, 30)
    return replies[0]


def gateway_over(relay: FakeRelay, api_key: Any = RELAY_KEY, **settings: Any) -> fb.Gateway:
    """Return a gateway over a fake relay in the process."""
    return fb.Gateway(relay.base_url, api_key, http_client=relay.async_http_client(), **settings)


def http_client(app: Any) -> httpx2.AsyncClient:
    """Return a client that calls an ASGI application in the process."""
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app))


@dataclass
class Reply:
    """What an ASGI application sent; ``chunks``: the parts of the body."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    is_complete: bool = False

    @property
    def content(self) -> bytes:
        """The whole body."""
        return b"".join(self.chunks)


def scope_of(method: str, path: str, headers: Mapping[str, str], query: str = "") -> dict[str, Any]:
    """Return the scope of an HTTP request."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": raw,
    }


async def call(
    app: Any,
    path: str,
    body: bytes | list[bytes] = b"",
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    query: str = "",
    disconnects: asyncio.Event | None = None,
    on_chunk: Any = None,
    reply: Reply | None = None,
) -> Reply:
    """Call an ASGI application. ``disconnects``: the client disconnects when it is set; ``on_chunk`` is awaited with each chunk."""
    reply = reply or Reply()
    parts = [body] if isinstance(body, bytes) else list(body)
    messages: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": part, "more_body": index < len(parts) - 1} for index, part in enumerate(parts)]
    )
    disconnects = disconnects or asyncio.Event()

    async def receive() -> dict[str, Any]:
        message = next(messages, None)
        if message is None:
            await disconnects.wait()
            return {"type": "http.disconnect"}
        return message

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        reply.chunks.append(message["body"])
        reply.is_complete = not message.get("more_body", False)
        if on_chunk is not None:
            await on_chunk(message["body"])

    await app(scope_of(method, path, headers or {}, query), receive, send)
    return reply
