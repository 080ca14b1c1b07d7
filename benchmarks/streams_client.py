"""A thousand streams at once: the asynchronous client compared with that of the official SDK, in separate processes, with a local server.

The server, a third process, sends the first event of each answer, and the others when all streams are open. So the streams are concurrent.
Time is that of all streams. Memory has two figures: the growth of the resident set after one stream, and the largest resident set of the
process.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import formatbridge
from benchmarks.measure import ROOT, Effort, resident_most, resident_peak
from benchmarks.rows import BOUNDS, Bound, Row
from benchmarks.streams import chat_completions, text_answer

STREAMS_AT_ONCE = 1_000
EVENTS = 20
PATIENCE = 30.0
"""Seconds that the server waits until all streams are open."""

_DELTAS = EVENTS - 4
"""The other events open the answer, end it, have the usage and end the stream."""
_TEXT = "".join(text_answer(deltas=_DELTAS).text)
_QUESTION: Any = [{"role": "user", "content": "hi"}]
_ALONE = "alone"
"""Name of a model whose answer does not wait for other streams."""


def client_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure both clients in turn and compare the best of their runs."""
    word = _absence()
    what = f"{STREAMS_AT_ONCE:,} streams of {EVENTS} events at once"
    if word:
        yield Row(case=case, what=what, word=word, bound=BOUNDS["client"])
        return
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    for _ in range(effort.rounds):
        for name, figures in runs.items():
            figures.append(_run(name))
    best = {name: {gauge: min(run[gauge] for run in figures) for gauge in figures[0]} for name, figures in runs.items()}
    library, official = best["formatbridge"], best["openai"]
    failed = max(run["errors"] for run in runs["formatbridge"])
    yield Row(case=case, what=f"{what}: errors", figure=failed, bound=Bound(most=0))
    for gauge, unit, scale in (("seconds", "s", 1.0), ("bytes in all", "MB", 1e6), ("bytes of growth", "MB", 1e6)):
        label = f"{what}: {gauge} / openai SDK's ({library[gauge] / scale:.3g} / {official[gauge] / scale:.3g} {unit} here)"
        yield Row(case=case, what=label, figure=library[gauge] / official[gauge], bound=BOUNDS["client"])
    across = best["formatbridge, through messages"]
    label = f"{what}, in messages through chat_completions: seconds / openai SDK's, which stays in chat_completions"
    yield Row(case=case, what=label, figure=across["seconds"] / official["seconds"])
    yield Row(case=case, what=f"{what}: errors of the openai SDK", figure=max(run["errors"] for run in runs["openai"]))


def _absence() -> str:
    """Return the name of a missing package; empty if all are installed."""
    if not hasattr(formatbridge, "AsyncClient"):
        return "no AsyncClient here"
    return "" if importlib.util.find_spec("openai") else "openai is not installed"


def _run(name: str) -> dict[str, float]:
    """Run one client with a new server."""
    with _server() as base_url:
        done = subprocess.run(_script(f"measure({name!r}, {base_url!r})"), capture_output=True, text=True, check=True, **_HERE)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _script(call: str) -> list[str]:
    return [sys.executable, "-c", f"from benchmarks import streams_client; streams_client.{call}"]


_HERE: dict[str, Any] = {"cwd": ROOT, "env": os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}}


@contextmanager
def _server() -> Iterator[str]:
    with subprocess.Popen(_script("serve()"), stdout=subprocess.PIPE, text=True, **_HERE) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


def measure(name: str, base_url: str) -> None:
    """Run the streams of a client in this process and print the figures."""
    _allow_files()
    run = CLIENTS[name]
    asyncio.run(run(base_url, _ALONE, 1))
    figures: dict[str, float] = {}

    def work() -> None:
        start = perf_counter()
        figures["errors"] = asyncio.run(run(base_url, "m-large", STREAMS_AT_ONCE))
        figures["seconds"] = perf_counter() - start

    figures["bytes of growth"] = resident_peak(work)
    figures["bytes in all"] = resident_most()
    print(json.dumps(figures))


async def _formatbridge(base_url: str, model: str, count: int, *, format: str = "chat_completions") -> int:
    request = {"model": model, "max_tokens": 99, "messages": _QUESTION}
    async with formatbridge.AsyncClient(base_url, "sk-local", retry=0) as client:  # type: ignore[attr-defined]  # may be absent

        async def one() -> str:
            async with client.stream(request, format, "chat_completions") as stream:
                return "".join([piece async for piece in stream.text()])

        return await _failures(one, count)


async def _across(base_url: str, model: str, count: int) -> int:
    return await _formatbridge(base_url, model, count, format="messages")


async def _openai(base_url: str, model: str, count: int) -> int:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=f"{base_url}/v1", api_key="sk-local", max_retries=0) as client:

        async def one() -> str:
            stream = await client.chat.completions.create(model=model, max_tokens=99, messages=_QUESTION, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

        return await _failures(one, count)


async def _failures(one: Callable[[], Awaitable[str]], count: int) -> int:
    """Run ``count`` streams at once; return how many raised or had another text."""
    texts = await asyncio.gather(*(one() for _ in range(count)), return_exceptions=True)
    return sum(text != _TEXT for text in texts)


CLIENTS: dict[str, Callable[[str, str, int], Awaitable[int]]] = {
    "formatbridge": _formatbridge,
    "openai": _openai,
    "formatbridge, through messages": _across,
}
"""Name to a function that runs a number of streams of a model at a base URL and returns how many failed."""


def serve() -> None:
    """Serve on a free port, which is printed first, until terminated."""
    _allow_files()
    asyncio.run(_serve())


async def _serve() -> None:
    answers = _ConcurrentAnswers()
    server = await asyncio.start_server(answers.answer, "127.0.0.1", 0, backlog=2 * STREAMS_AT_ONCE)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class _ConcurrentAnswers:
    """Streams that continue when all of them are open."""

    def __init__(self) -> None:
        self._count = 0
        self._is_complete = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer each request of a connection."""
        async for body in _bodies(reader):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            first, *others = _EVENTS
            await _send(writer, first)
            if json.loads(body)["model"] != _ALONE:
                await self._join()
            for event in others:
                await _send(writer, event)
            writer.write(b"0\r\n\r\n")
        writer.close()

    async def _join(self) -> None:
        self._count += 1
        if self._count == STREAMS_AT_ONCE:
            self._is_complete.set()
        try:
            await asyncio.wait_for(self._is_complete.wait(), PATIENCE)
        except TimeoutError:
            self._is_complete.set()


_EVENTS = chat_completions(text_answer(deltas=_DELTAS))


async def _bodies(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the body of each request of a connection."""
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        yield await reader.readexactly(int(size.partition(b":")[2]))


async def _send(writer: asyncio.StreamWriter, event: bytes) -> None:
    """Write one event as a chunk and let the others write theirs."""
    writer.write(b"%x\r\n%b\r\n" % (len(event), event))
    await writer.drain()
    await asyncio.sleep(0)


def _allow_files() -> None:
    """Raise the limit of open files to the largest allowed value. Each connection is a file. Systems without ``resource`` have no limit."""
    try:
        import resource
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
