"""The gateway next to a bare proxy: the time that each request costs in the process, and the memory after many requests.

``python -m benchmarks.gateway [--quick]`` prints two tables. The relay is a process that sends the same answer to every request. Both
applications are called in this process over ASGI, so that the server in front of them, which they share, is not measured. The bare proxy
forwards bytes with the same HTTP library and reads nothing in them.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import httpx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import formatbridge as fb  # noqa: E402  # after the path of the project

TEXT = "The tallest waterfall in Norway is Vinnufossen, which falls 860 metres. "
EVENTS = 200
REQUESTS = 10_000
HEADERS = [(b"content-type", b"application/json"), (b"authorization", b"Bearer sk-local-0123456789")]


def request_body(turns: int, *, stream: bool) -> bytes:
    """Return a chat_completions request of so many turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": TEXT * 4} for at in range(turns)]
    return json.dumps({"model": "m-large", "max_tokens": 99, "stream": stream, "messages": messages}).encode()


def answers(format: str) -> tuple[bytes, bytes]:
    """Return an answer, whole and as a stream of ``EVENTS`` deltas."""
    chunk: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-large"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": "falls "} for _ in range(EVENTS))]
    chunks = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    chunks += [{**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}]
    stream = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in chunks) + b"data: [DONE]\n\n"
    whole = fb.collect_stream([stream], source="chat_completions", target=format).json()
    return whole, b"".join(fb.convert_stream([stream], source="chat_completions", target=format))


def serve(format: str) -> None:
    """Serve on a free port, which is printed first, until terminated: each event of a stream is one chunk."""
    whole, stream = answers(format)
    events = [event + b"\n\n" for event in stream.split(b"\n\n") if event]
    chunked = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
            )
            body = await reader.readexactly(length)
            if b'"stream": true' in body or b'"stream":true' in body or b":stream" in head:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + chunked)
            else:
                start = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(whole)
                writer.write(start + whole)
            await writer.drain()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def relay(format: str) -> Iterator[str]:
    """Run the relay in a process and yield its base URL."""
    code = f"from benchmarks import gateway; gateway.serve({format!r})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src"), *filter(None, sys.path)])}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


class BareProxy:
    """An ASGI application that forwards bytes."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._client = httpx.AsyncClient(timeout=None)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Forward one request."""
        body = (await receive())["body"]
        url = self._base_url + scope["path"]
        async with self._client.stream("POST", url, content=body, headers=list(scope["headers"])) as response:
            kept = [(b"content-type", response.headers["content-type"].encode())]
            await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def call(app: Any, body: bytes) -> int:
    """Call an application, and return the number of bytes of its answer."""
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "query_string": b"", "headers": HEADERS}
    scope["raw_path"] = b"/v1/chat/completions"
    is_sent, size = False, 0

    async def receive() -> Any:
        nonlocal is_sent
        if is_sent:
            await asyncio.Event().wait()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal size
        if message["type"] == "http.response.start" and message["status"] != 200:
            raise RuntimeError(f"the answer has status {message['status']}, expected 200")
        size += len(message.get("body", b""))

    await app(scope, receive, send)
    return size


async def seconds_each(apps: dict[str, Any], body: bytes, count: int) -> dict[str, tuple[float, float]]:
    """Return the CPU and wall time of a request by application: the medians of ``count`` readings, taken in turn."""
    readings: dict[str, list[tuple[float, float]]] = {name: [] for name in apps}
    for app in apps.values():
        for _ in range(20):
            await call(app, body)
    for _ in range(count):
        for name, app in apps.items():
            cpu, wall = process_time(), perf_counter()
            await call(app, body)
            readings[name].append((process_time() - cpu, perf_counter() - wall))
    return {name: (statistics.median(r[0] for r in each), statistics.median(r[1] for r in each)) for name, each in readings.items()}


async def overhead(count: int) -> None:
    """Print what a request costs in each application."""
    with relay("chat_completions") as same, relay("messages") as other:
        apps: dict[str, Any] = {
            "bare proxy": BareProxy(same),
            "gateway, same format": fb.Gateway(same, "sk-local-0123456789"),
            "gateway, via messages": fb.Gateway(other, "sk-local-0123456789", via="messages"),
        }
        print("| request | application | CPU, ms | more than the proxy, ms | wall time, ms |\n| --- | --- | --- | --- | --- |")
        for turns, stream in ((1, False), (40, False), (1, True)):
            body = request_body(turns, stream=stream)
            figures = await seconds_each(apps, body, count)
            what = f"{len(body) / 1000:.1f} kB" + (f", stream of {EVENTS} events" if stream else "")
            base = figures["bare proxy"][0]
            for name, (cpu, wall) in figures.items():
                print(f"| {what} | {name} | {cpu * 1e3:.2f} | {(cpu - base) * 1e3:.2f} | {wall * 1e3:.2f} |")


async def memory(count: int) -> None:
    """Print the number of memory blocks of Python after many requests, one in ten of them a stream."""
    print("\n| requests via messages | blocks | more than before |\n| --- | --- | --- |")
    with relay("messages") as url:
        app = fb.Gateway(url, "sk-local-0123456789", via="messages")
        bodies = [request_body(2, stream=stream) for stream in (False, True)]
        for at in range(200):
            await call(app, bodies[at % 10 == 0])
        gc.collect()
        before = sys.getallocatedblocks()
        for done in range(0, count + 1, count // 5):
            gc.collect()
            blocks = sys.getallocatedblocks()
            print(f"| {done:,} | {blocks:,} | {blocks - before:,} |", flush=True)
            for at in range(count // 5 if done < count else 0):
                await call(app, bodies[at % 10 == 0])


def main() -> None:
    """Print both tables."""
    is_quick = "--quick" in sys.argv
    asyncio.run(overhead(100 if is_quick else 600))
    asyncio.run(memory(1000 if is_quick else REQUESTS))


if __name__ == "__main__":
    main()
