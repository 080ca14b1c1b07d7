"""``python -m benchmarks.clients``: a thousand streams at once, this client beside the official one, each in a process of its own.

The server, in a third process, sends 20 events of chat_completions, 10 ms apart. Wall and CPU seconds, errors, the most memory held.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

STREAMS, EVENTS, APART = 1000, 20, 0.01
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
PEERS = ("formatbridge", "formatbridge via another format", "openai")


def _events() -> list[bytes]:
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = [{"index": 0, "delta": {"role": "assistant", "content": f"word {number} "}} for number in range(EVENTS)]
    deltas[-1]["finish_reason"] = "stop"
    chunks = [json.dumps(head | {"choices": [delta]}).encode() for delta in deltas]
    return [b"data: " + chunk + b"\n\n" for chunk in (*chunks, b"[DONE]")]


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    events = _events()
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for event in events:
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(APART)
            writer.write(b"0\r\n\r\n")
    except (OSError, asyncio.IncompleteReadError):
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _ours(url: str, format: str) -> Callable[[], Awaitable[int]]:
    import formatbridge as fb

    client = fb.AsyncClient(url, "sk-0123456789", timeout=fb.Timeout(connect=60))
    request = REQUEST if format == "chat_completions" else REQUEST | {"max_tokens": 9}

    async def read() -> int:
        async with client.stream(request, format, "chat_completions") as stream:
            return len([event async for event in stream])

    return read


def _official(url: str) -> Callable[[], Awaitable[int]]:
    import openai

    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-0123456789", timeout=60)

    async def read() -> int:
        async with await client.chat.completions.create(stream=True, **REQUEST) as stream:
            return len([event async for event in stream])

    return read


async def _measure(peer: str, url: str) -> str:
    read = _official(url) if peer == "openai" else _ours(url, "chat_completions" if peer == "formatbridge" else "messages")
    expected = await read()
    wall, cpu = time.perf_counter(), time.process_time()
    seen = await asyncio.gather(*(read() for _ in range(STREAMS)), return_exceptions=True)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    faults = sum(found != expected for found in seen)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"| {peer} | {wall:.1f} | {cpu:.1f} | {faults} | {memory:.0f} |"


def main() -> None:
    """Print the table; one row for each client."""
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(_serve())
    elif len(sys.argv) > 2:
        print(asyncio.run(_measure(sys.argv[1], sys.argv[2])))
    else:
        again = [sys.executable, "-m", "benchmarks.clients"]
        with subprocess.Popen([*again, "serve"], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            print(
                f"| {STREAMS} streams of {EVENTS} events | wall s | CPU s | faults | MB |\n| --- | --- | --- | --- | --- |",
                flush=True,
            )
            for peer in PEERS:
                subprocess.run([*again, peer, url], check=False)
            server.terminate()


if __name__ == "__main__":
    main()
