"""What a relay or an intermediary may try: redirects, oversized bodies, and leaks of the key."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import gc
import gzip
import json
import logging
import os
import pickle
import time
import traceback
import tracemalloc
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.convert.masking import Secret
from formatbridge.testing import FakeRelay
from tests.support.servers import (
    KEY,
    Peer,
    Received,
    Server,
    answer_of,
    body_of,
    events_of,
    framed,
    head,
    read,
    relay,
    stream_of,
    whole,
)

REQUEST = body_of("requests", "messages")
PROMPT = b"tallest waterfall"


def _redirect(status: int, to: str) -> Any:
    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(whole(b"", status, Location=to))
        return True

    return answer


@pytest.mark.parametrize("kind", ["own", "httpx", "httpx2"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_gets_no_key_and_no_prompt(status: int, kind: str) -> None:
    """An attacker who controls a path of the relay must get neither the key nor the prompt."""
    library: Any = {"httpx": httpx, "httpx2": httpx2}.get(kind)
    with Server(relay) as other, Server(_redirect(status, f"{other.url}/v1/messages")) as server:
        http_client = library.Client(follow_redirects=True) if library else None
        client = fb.Client(server.url, KEY, http_client=http_client, headers={"X-Api-Key": KEY})
        with pytest.raises(fb.APIConnectionError) as caught:
            client.send(REQUEST, "messages")

    assert caught.value.phase == "redirect"
    assert other.connections == 0
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_origin_is_followed_twice(status: int) -> None:
    """Relays redirect for a slash at the end of a path."""
    hops = iter(["/v1/messages/", "/v2/messages", None])

    def answer(peer: Peer, request: Received) -> bool:
        to = next(hops)
        return _redirect(status, to)(peer, request) if to else relay(peer, request)

    with Server(answer) as server, fb.Client(server.url, KEY) as client:
        client.send(REQUEST, "messages")

    assert [request.path for request in server.requests] == ["/v1/messages", "/v1/messages/", "/v2/messages"]
    assert {request.body for request in server.requests} == {server.requests[0].body}


@pytest.mark.parametrize(
    "to", ["/v1/messages", "", "//u:p@127.0.0.1/", "//other.test/", "https://127.0.0.1/", "http://[", "\\\\other.test\\"]
)
def test_circular_and_invalid_redirects_are_refused(to: str) -> None:
    """In a circle, to another host by an incomplete URL, to another scheme, or without a location."""
    with Server(_redirect(307, to)) as server:
        client = fb.Client(server.url, KEY)
        with pytest.raises(fb.APIConnectionError) as caught:
            client.send(REQUEST, "messages")

    assert caught.value.phase == "redirect"
    assert len(server.requests) <= 3


def test_a_key_is_sent_in_its_header_to_its_origin_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    """No log, error, repr or traceback contains the key, even if the relay repeats it."""
    caplog.set_level(logging.DEBUG)
    reported: list[str] = []

    def answer(peer: Peer, _request: Received) -> bool:
        echo = {"error": {"message": f"bad key {KEY}", "type": KEY, "code": KEY, "param": KEY}, "request_id": KEY}
        peer.send(whole(json.dumps(echo).encode(), 401))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY) as client:
        for streams in (False, True):
            with pytest.raises(fb.AuthenticationError) as caught:
                read(client) if streams else client.send(REQUEST, "messages")
            error = caught.value
            shown = traceback.TracebackException.from_exception(error, capture_locals=True)
            reported += [str(error), repr(error), repr(vars(error)), "".join(shown.format()), repr(error.as_format("responses"))]
            reported.append(repr(pickle.dumps(error)))
        reported += [repr(client), repr(vars(client)), str(client), repr(client.prepare(REQUEST, "messages"))]
    reported += [record.getMessage() + repr(vars(record)) for record in caplog.records]

    assert server.requests[0].raw.count(KEY.encode()) == 1
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert [text for text in reported if KEY in text] == []
    assert any("***" in text for text in reported)


def test_prompts_are_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Logs are read by more people than conversations."""
    caplog.set_level(logging.DEBUG)
    with Server(relay) as server, fb.Client(server.url, KEY) as client:
        client.send(REQUEST, "messages", "responses")
        with client.stream(REQUEST, "messages") as stream:
            list(stream)

    ours = [record for record in caplog.records if record.name == "formatbridge"]
    assert [record.levelname for record in ours if record.levelname == "INFO"] == ["INFO"] * 2
    assert "messages via responses" in ours[0].getMessage() + ours[1].getMessage()
    assert [record for record in caplog.records if PROMPT.decode() in record.getMessage()] == []


def test_a_secret_is_not_shown() -> None:
    """Tools that know nothing of keys print, copy, pickle and serialise settings."""

    @dataclasses.dataclass
    class Settings:
        key: Secret

    secret = Secret(KEY)
    shown = [
        repr(secret), str(secret), f"{secret}", f"{secret!r:>40}", repr(pickle.dumps(secret)), repr(copy.deepcopy(secret)),
        repr(dataclasses.asdict(Settings(secret))), json.dumps({"key": secret}, default=str),
    ]  # fmt: skip

    assert [text for text in shown if KEY in text] == []
    assert not hasattr(secret, "__dict__")


@pytest.mark.parametrize("key", ["a\r\nX: y", "a\nb", "a\x00b", "schlüssel", "a b", "\x7f", "☃", "a\tb"])
def test_a_key_is_visible_ascii_or_refused(key: str) -> None:
    """Other characters would add a second header, or cause an error of another library that shows the key."""
    with pytest.raises(fb.ConfigurationError) as caught:
        fb.Client("https://relay.test", key)

    assert key not in str(caught.value)


def test_white_space_around_a_key_is_removed_with_a_warning() -> None:
    """A key from a file ends in a line end."""
    with Server(relay) as server, pytest.warns(UserWarning, match="white space"), fb.Client(server.url, f" {KEY}\n") as client:
        client.send(REQUEST, "messages")

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


SPACED = f" {KEY}"


def _client_with_spaced_key() -> fb.Client:
    """Return a client whose key is a function."""
    return fb.Client("https://relay.test", lambda: SPACED, http_client=FakeRelay(api_key=KEY).http_client())


KEYED: dict[str, Callable[[], object]] = {
    "a client": lambda: fb.Client("https://relay.test", SPACED),
    "an async client": lambda: fb.AsyncClient("https://relay.test", SPACED),
    "a transport": lambda: fb.transport("https://relay.test", SPACED, via="messages"),
    "a call": lambda: _client_with_spaced_key().prepare(REQUEST, "messages"),
    "a stream": lambda: _client_with_spaced_key().stream(REQUEST, "messages"),
    "the list of models": lambda: _client_with_spaced_key().models(),
}


@pytest.mark.parametrize("act", KEYED)
def test_the_warning_about_white_space_names_the_line_of_the_caller(act: str) -> None:
    """A warning about a line of this library would not show where to correct the key."""
    with pytest.warns(UserWarning, match="white space") as reported:
        KEYED[act]()

    assert [warning.filename for warning in reported if warning.category is UserWarning] == [__file__]


def test_a_key_may_change_from_call_to_call() -> None:
    """Keys rotate while a service runs."""
    keys = iter(("sk-first-000", "sk-second-00", "bad\nkey"))
    with Server(relay) as server, fb.Client(server.url, lambda: next(keys)) as client:
        client.send(REQUEST, "messages")
        client.send(REQUEST, "messages")
        with pytest.raises(fb.ConfigurationError):
            client.send(REQUEST, "messages")

    assert [request.headers["authorization"] for request in server.requests] == ["Bearer sk-first-000", "Bearer sk-second-00"]


@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
def test_the_key_of_the_client_replaces_the_key_of_the_http_client(library: Any) -> None:
    """There is one header with one key: that of this client."""
    with Server(relay) as server, library.Client(auth=("u", "p"), headers={"Authorization": "Bearer other"}) as http_client:
        fb.Client(server.url, KEY, http_client=http_client).send(REQUEST, "messages")
        fb.Client(server.url, "", http_client=http_client).send(REQUEST, "messages")

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[1].headers["authorization"] != f"Bearer {KEY}"


VENDOR_KEYS = {"authorization": "Bearer other", "x-api-key": "other-1", "x-goog-api-key": "other-2", "api-key": "other-3"}


@pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
@pytest.mark.parametrize("name", ["authorization", "x-api-key", "x-goog-api-key", "x-relay-key"])
def test_only_the_key_of_the_client_is_sent(name: str, library: Any) -> None:
    """A client for a vendor is passed: the relay gets one key, and not that of the vendor."""
    profile = fb.RelayProfile(auth={"messages": name, "models": name})
    with Server(relay) as server, library.Client(headers={**VENDOR_KEYS, "x-team": "blue"}) as http_client:
        fb.Client(server.url, KEY, profile=profile, http_client=http_client).send(REQUEST, "messages")

    sent = server.requests[0].headers
    assert [header for header in (*VENDOR_KEYS, "x-relay-key") if header in sent] == [name]
    assert KEY in sent[name]
    assert b"other" not in server.requests[0].raw
    assert sent["x-team"] == "blue"


def test_without_a_key_the_key_of_the_http_client_is_sent() -> None:
    """The client that was passed may have the key, and this client adds none."""
    with Server(relay) as server, httpx.Client(headers={"x-api-key": "theirs"}) as http_client:
        fb.Client(server.url, "", headers={"x-session-token": "s-1"}, http_client=http_client).send(REQUEST, "messages")

    assert server.requests[0].headers["x-api-key"] == "theirs"
    assert server.requests[0].headers["x-session-token"] == "s-1"


@contextmanager
def _at_most(size: int) -> Iterator[None]:
    """Check that memory grows by at most a number of bytes, the memory of the server included, after a first call."""
    with Server(relay) as server, fb.Client(server.url, KEY) as client:
        read(client)
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= size


def _bomb(encoding: str) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if encoding == "gzip" else 15)
    piece = b" " * 1024 * 1024
    return b"".join([packer.compress(piece) for _ in range(300)]) + packer.flush()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_decompression_stops_at_the_limit(encoding: str, streams: bool) -> None:
    """300 KB that would become 300 MB are not decompressed."""
    data = _bomb(encoding)

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(whole(data, Content_Encoding=encoding))
        return False

    with (
        _at_most(8 * 1024 * 1024),
        Server(answer) as server,
        fb.Client(server.url, KEY) as client,
        pytest.raises(fb.UnexpectedResponseError, match="compressed"),
    ):
        read(client) if streams else client.send(REQUEST, "messages")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
def test_a_compressed_answer_is_read(encoding: str) -> None:
    """Compression is requested except for streams."""
    answer_body = json.dumps(answer_of("messages")).encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = {
        "gzip": gzip.compress(answer_body),
        "deflate": zlib.compress(answer_body),
        "raw deflate": packer.compress(answer_body) + packer.flush(),
    }

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(whole(packed[encoding], Content_Encoding=encoding.removeprefix("raw ")))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY) as client:
        reply = client.send(REQUEST, "messages")
        client.stream(REQUEST, "messages").__enter__().close()

    assert reply.native == answer_of("messages")
    assert [request.headers["accept-encoding"] for request in server.requests] == ["gzip, deflate", "identity"]


@pytest.mark.parametrize("encoding", ["br", "zstd", "x"])
def test_an_encoding_that_was_not_requested_is_rejected(encoding: str) -> None:
    """The size after decompression could not be limited."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(whole(b"xx", Content_Encoding=encoding))
        return True

    with Server(answer) as server:
        client = fb.Client(server.url, KEY)
        with pytest.raises(fb.UnexpectedResponseError, match="was not requested"):
            client.send(REQUEST, "messages")


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_body_is_accepted_up_to_its_limit(over: int) -> None:
    """At n - 1 and n it is read, at n + 1 it is rejected."""
    body = json.dumps(answer_of("messages")).encode()
    client = fb.Client(
        "https://relay.test",
        http_client=httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=body))),
        limits=fb.Limits(max_response_bytes=len(body) - over),
    )

    if over <= 0:
        assert client.send(REQUEST, "messages").status == 200
    else:
        with pytest.raises(fb.UnexpectedResponseError, match="longer than"):
            client.send(REQUEST, "messages")


def test_an_error_body_of_any_size_is_kept_in_part() -> None:
    """20 MB of error must fill neither a log nor the memory of a process that pickles it."""
    body = json.dumps({"error": {"message": "é" * 10_000_000}}, ensure_ascii=False).encode()

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(whole(body, 400))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY) as client, pytest.raises(fb.BadRequestError) as caught:
        client.send(REQUEST, "messages")

    assert len(str(caught.value).encode()) <= 2048
    assert len(caught.value.body) == 64 * 1024
    assert len(pickle.dumps(caught.value)) < 100_000


@pytest.mark.parametrize("size", [20, 200])
def test_headers_beyond_the_limit_raise_without_retry(size: int) -> None:
    """With 2,000 headers the HTTP library or the client stops reading."""
    flood = "".join(f"X-{number}: {'a' * size}\r\n" for number in range(2000)).encode()

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(b"HTTP/1.1 200 OK\r\n" + flood * 2 + b"\r\n")
        return False

    with Server(answer) as server, fb.Client(server.url, KEY) as client, pytest.raises(fb.APIConnectionError) as caught:
        client.send(REQUEST, "messages")

    assert caught.value.phase == "headers"
    assert len(server.requests) == 1


def test_an_endless_line_is_limited_in_memory() -> None:
    """The server sends 64 MB of one event, and then nothing."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(head(200, "text/event-stream") + next(events_of(stream_of("messages"))) + b"data: ")
        for _ in range(100):
            peer.send(b"a" * 1024 * 1024)
        return False

    limit = 64 * 1024 * 1024
    with (
        _at_most(2 * limit),
        Server(answer) as server,
        fb.Client(server.url, KEY) as client,
        pytest.raises(fb.EventTooLargeError) as caught,
    ):
        read(client)

    assert caught.value.limit == limit


@pytest.mark.parametrize(
    "junk", [b"id: 1\n: ping\n\n", b"data:\n\n", b"retry: 5\n\n", b"\n\n\n", b"event: x\n\n", b": OPENROUTER PROCESSING\n\n"]
)
def test_lines_without_an_event_are_ignored(junk: bytes) -> None:
    """Relays send various lines to keep connections open."""
    data = b"\xef\xbb\xbf" + junk + junk.join(events_of(stream_of("messages")))

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(framed(data, "chunked"))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY) as client, client.stream(REQUEST, "messages") as stream:
        seen = list(stream)

    assert len(seen) == len(list(events_of(stream_of("messages"))))


def test_a_connection_is_used_again_after_the_last_event() -> None:
    """A limited number of bytes after the last event is read, so that the next call needs no handshake."""
    with Server(relay) as server, fb.Client(server.url, KEY) as client:
        for format in fb.FORMATS:
            with client.stream(body_of("requests", format), format) as stream:
                list(stream)

    assert (server.connections, len(server.requests)) == (1, 4)


def test_a_stream_ends_with_its_last_event_if_the_server_keeps_the_connection() -> None:
    """The answer is complete, even if the connection stays open."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(head(200, "text/event-stream", Transfer_Encoding="chunked"))
        data = stream_of("chat_completions")
        peer.send(b"%x\r\n%b\r\n" % (len(data), data))
        peer.wait(10)
        return False

    with Server(answer) as server, fb.Client(server.url, KEY) as client:
        begun = time.monotonic()
        with client.stream(REQUEST, "messages", "chat_completions") as stream:
            text = "".join(stream.text())

    assert text
    assert time.monotonic() - begun < 1


def test_abandoning_a_stream_closes_the_connection() -> None:
    """An answer without a reader is billed."""
    sent: list[int] = []

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(head(200, "text/event-stream") + next(events_of(stream_of("messages"))))
        try:
            for number in range(500):
                peer.send(b": still here\n\n")
                sent.append(number)
                peer.wait(0.01)
        finally:
            sent.append(-1)
        return False

    with Server(answer) as server, fb.Client(server.url, KEY) as client:
        with client.stream(REQUEST, "messages") as stream:
            next(iter(stream))
        deadline = time.monotonic() + 2
        while sent[-1:] != [-1] and time.monotonic() < deadline:
            time.sleep(0.01)

    assert sent[-1] == -1
    assert len(sent) < 100


def test_the_warning_about_an_open_stream_names_its_line() -> None:
    """A connection that is not returned is noticed only when the pool is empty."""
    with Server(relay) as server, fb.Client(server.url, KEY) as client:
        stream = client.stream(REQUEST, "messages").__enter__()

        with pytest.warns(ResourceWarning, match=r"test_security\.py:\d+ was not closed"):
            del stream


def test_an_unreferenced_async_stream_releases_its_connection() -> None:
    """The same in an event loop, for which the garbage collector cannot wait."""

    async def call(url: str) -> str:
        http_client = httpx.AsyncClient(limits=httpx.Limits(max_connections=1))
        async with http_client:
            client = fb.AsyncClient(url, KEY, http_client=http_client, timeout=fb.Timeout(pool=1))
            stream = await client.stream(REQUEST, "messages").__aenter__()
            with pytest.warns(ResourceWarning, match="was not closed"):
                del stream
            return (await client.send(REQUEST, "messages")).text()

    with Server(relay) as server:
        assert asyncio.run(call(server.url))


def test_a_stream_keeps_its_client() -> None:
    """``Client().stream()`` in one line must not lose its connections to the garbage collector."""
    with Server(relay) as server, fb.Client(server.url, KEY).stream(REQUEST, "messages") as stream:
        assert list(stream)


def test_one_client_serves_several_event_loops() -> None:
    """Tests, notebooks and scripts call ``asyncio.run`` again and again."""
    with warnings.catch_warnings(), Server(relay) as server:
        warnings.simplefilter("ignore", ResourceWarning)  # the connections that went with the first loops
        client = fb.AsyncClient(server.url, KEY)
        texts = [asyncio.run(client.send(REQUEST, "messages")).text() for _ in range(3)]

    assert len(set(texts)) == 1
    assert server.connections == 3


def test_connections_of_a_closed_event_loop_are_freed() -> None:
    """A script that calls ``asyncio.run`` for each request would run out of sockets."""
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def call(client: fb.AsyncClient) -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await client.send(REQUEST, "messages")

    with warnings.catch_warnings(), Server(relay) as server:
        warnings.simplefilter("ignore", ResourceWarning)  # the connections that went with their loops
        client = fb.AsyncClient(server.url, KEY)
        for _ in range(4):
            asyncio.run(call(client))
        gc.collect()

    assert sum(loop() is not None for loop in loops) <= 1


def test_a_child_process_does_not_use_its_parents_connection() -> None:
    """Two processes on one socket would read one another's answers."""
    with Server(relay) as server, fb.Client(server.url, KEY) as client:
        client.send(REQUEST, "messages")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking next to the server's threads
            child = os.fork()
        if child == 0:
            try:
                client.send(REQUEST, "messages")
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        client.send(REQUEST, "messages")

    assert status == 0
    assert server.connections == 2


def test_hundreds_of_streams_run_concurrently_and_can_be_cancelled() -> None:
    """All are served; those that are cancelled in the middle return their connections."""
    begun = list(events_of(stream_of("messages")))
    hanging = REQUEST | {"model": "m-hanging"}
    hung: list[object] = []

    def answer(peer: Peer, request: Received) -> bool:
        if b"m-hanging" not in request.body:
            peer.send(framed(b"".join(begun), "chunked"))
            return True
        peer.send(head(200, "text/event-stream", Transfer_Encoding="chunked") + b"%x\r\n%b\r\n" % (len(begun[0]), begun[0]))
        peer.wait(30)
        return False

    async def read(client: fb.AsyncClient, *, hangs: bool) -> int:
        seen = 0
        async with client.stream(hanging if hangs else REQUEST, "messages") as stream:
            async for event in stream:
                seen += 1
                if hangs:
                    hung.append(event)
        return seen

    async def call(url: str) -> list[int]:
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=200), timeout=None) as http_client:
            client = fb.AsyncClient(url, KEY, http_client=http_client, timeout=fb.Timeout(pool=30))
            seen = await asyncio.gather(*(read(client, hangs=False) for _ in range(200)))
            tasks = [asyncio.ensure_future(read(client, hangs=True)) for _ in range(100)]
            async with asyncio.timeout(30):
                while len(hung) < len(tasks):
                    await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(error, asyncio.CancelledError) for error in ended)
            again = await asyncio.gather(*(read(client, hangs=False) for _ in range(100)))
            return seen + again

    with Server(answer) as server:
        seen = asyncio.run(call(server.url))

    assert set(seen) == {len(begun)}


def test_a_cancelled_stream_gives_its_connection_back() -> None:
    """At any point of waiting: the next call gets the only connection of the pool."""

    def answer(peer: Peer, request: Received) -> bool:
        if not request.is_stream:
            return relay(peer, request)
        peer.send(head(200, "text/event-stream") + next(events_of(stream_of("messages"))))
        peer.wait(5)
        return False

    async def read(client: fb.AsyncClient) -> None:
        async with client.stream(REQUEST, "messages") as stream:
            async for _ in stream:
                pass

    async def call(url: str) -> list[str]:
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=1)) as http_client:
            client = fb.AsyncClient(url, KEY, http_client=http_client, timeout=fb.Timeout(pool=1))
            texts = []
            for after in (0, 0.001, 0.01, 0.1):
                task = asyncio.ensure_future(read(client))
                await asyncio.sleep(after)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                texts.append((await client.send(REQUEST, "messages")).text())
            return texts

    with Server(answer) as server:
        texts = asyncio.run(call(server.url))

    assert len(texts) == 4
    assert all(texts)


def test_threads_may_share_a_client() -> None:
    """Sixteen threads use one client, and each gets its answer."""

    def answer(peer: Peer, request: Received) -> bool:
        body = answer_of("messages")
        body["content"][0]["text"] = json.loads(request.body)["messages"][0]["content"]
        peer.send(whole(json.dumps(body).encode()))
        return True

    def ask(number: int) -> bool:
        text = f"question {number}"
        return client.messages(model="m", max_tokens=9, messages=[{"role": "user", "content": text}]).text() == text

    with Server(answer) as server, fb.Client(server.url, KEY) as client, ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(ask, range(400)))

    assert all(outcomes)
    assert server.connections <= 16


def test_a_call_on_a_closed_idle_connection_is_retried() -> None:
    """Servers may close idle connections between the check and the request."""
    answers = iter((True, False, True))

    def answer(peer: Peer, request: Received) -> bool:
        return relay(peer, request) if next(answers) else False

    with Server(answer) as server, fb.Client(server.url, KEY, retry=fb.Retry(base=0)) as client:
        client.send(REQUEST, "messages")
        reply = client.send(REQUEST, "messages")

    assert reply.attempts == 2


def test_requests_are_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG a user sees headers and sizes, and compares them with those that the relay received."""
    caplog.set_level(logging.DEBUG, logger="formatbridge")
    with Server(relay) as server:
        fb.Client(server.url, KEY, headers={"X-Token": KEY}).send(REQUEST, "messages")

    reported = caplog.records[0].getMessage()
    assert "POST" in reported
    assert "'authorization': '***'" in reported
    assert "'x-token': '***'" in reported
    assert KEY not in caplog.text


def test_abandoned_streams_leave_no_connection() -> None:
    """Streams that were left early release sockets and memory."""
    http_client = httpx.Client(limits=httpx.Limits(max_connections=2))
    with Server(relay) as server, http_client:
        client = fb.Client(server.url, KEY, http_client=http_client, timeout=fb.Timeout(pool=1))
        for _ in range(300):
            with client.stream(REQUEST, "messages") as stream:
                next(iter(stream))

        assert client.send(REQUEST, "messages").status == 200


def test_header_names_of_a_user_keep_the_key_to_one_header() -> None:
    """A user who sets the header of the key replaces the key, and there is one header."""
    with Server(relay) as server:
        fb.Client(server.url, KEY, headers={"Authorization": "Bearer sk-written-out"}).send(REQUEST, "messages")

    assert server.requests[0].headers["authorization"] == "Bearer sk-written-out"
    assert KEY.encode() not in server.requests[0].raw


def _chunk(**fields: Any) -> bytes:
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], **fields}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


BEGUN = _chunk(choices=[{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}])
ECHOED = {"message": KEY, "type": KEY, "code": KEY, "param": KEY}
EVENTS = head(200, "text/event-stream")
ECHOES = {
    "a status line": f"garbage {KEY}\r\n\r\n".encode(),
    "plain text for a stream": head(200, "text/plain") + f"upstream said {KEY}".encode(),
    "an event that is none": EVENTS + BEGUN + _chunk(choices=[{"index": KEY, "delta": {}}]),
    "an event that is no JSON": EVENTS + BEGUN + f"data: {KEY}\n\n".encode(),
    "an error event in mid-stream": EVENTS + BEGUN + _chunk(error=ECHOED, request_id=KEY),
    "an error event at once": EVENTS + _chunk(error=ECHOED, request_id=KEY),
    "an error event and its id": EVENTS + b"data: " + json.dumps({"error": ECHOED, "request_id": KEY}).encode() + b"\n\n",
    "an answer that failed": EVENTS + b"event: response.failed\ndata: " + json.dumps(
        {"type": "response.failed", "response": {**answer_of("responses"), "status": "failed", "error": ECHOED}}
    ).encode() + b"\n\n",
    "an event before the end": EVENTS + BEGUN.replace(b"Hi", KEY.encode()),
    "escapes": whole(json.dumps({"error": ECHOED}).replace("0", "\\u0030").encode(), 400),
    "a header": whole(b"{}", 400, x_request_id=KEY),
}  # fmt: skip


@pytest.mark.parametrize("echo", ECHOES)
def test_an_error_never_contains_the_key(echo: str) -> None:
    """In text, attributes, partial answers and pickles; errors are written to logs and sent to other services."""
    format: fb.Format = "responses" if echo == "an answer that failed" else "chat_completions"
    received: list[fb.Attempt] = []

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(ECHOES[echo])
        return False

    caught: Any
    with Server(answer) as server, pytest.raises((fb.APIError, fb.StreamError)) as caught:
        read(fb.Client(server.url, KEY, retry=0, on_attempt=received.append), format)

    error: Any = caught.value
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    events = [str(error), repr(vars(error)), "".join(shown.format()), repr(pickle.dumps(vars(error)))]
    events.append(repr(getattr(getattr(error, "partial", None), "body", None)))
    events += [f"{attempt} {vars(attempt.error) if attempt.error else ''}" for attempt in received]
    assert [text for text in events if KEY in text] == []


CUT_ECHOES: dict[str, Callable[[str], bytes]] = {
    "plain text for a stream": lambda text: EVENTS + text.encode(),
    "an event that is no JSON": lambda text: EVENTS + BEGUN + f"data: {text}\n\n".encode(),
    "an event of another shape": lambda text: EVENTS + BEGUN + _chunk(choices=text),
    "an event with escapes": lambda text: EVENTS + BEGUN + _chunk(choices=text).replace(b"0", b"\\u0030"),
    "an error event": lambda text: EVENTS + BEGUN + _chunk(error={"message": text}),
}


@pytest.mark.parametrize("before", [20, 90, 120, 150, 170, 185, 192, 196, 1980, 2000, 2010, 2020])
@pytest.mark.parametrize("echo", CUT_ECHOES)
def test_a_text_truncated_in_the_key_shows_no_part_of_it(echo: str, before: int) -> None:
    """Errors quote the first bytes of an event; they may end within a key."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(CUT_ECHOES[echo]("x" * before + KEY))
        return False

    caught: Any
    with Server(answer) as server, pytest.raises((fb.APIError, fb.StreamError)) as caught:
        read(fb.Client(server.url, KEY, retry=0), "chat_completions")

    reported = f"{caught.value} {caught.value!r} {vars(caught.value)!r}".replace("\\u0030", "0")
    assert KEY[:8] not in reported


@pytest.mark.parametrize(
    "wrong",
    [
        {"paths": {"messages": "@evil.test/x"}},
        {"paths": {"messages": ".evil.test/x"}},
        {"paths": {"messages": ":8080/x"}},
        {"paths": {"messages": "//evil.test/x"}},
        {"paths": {"messages": "v1/messages"}},
        {"paths": {"messages": "/v1/\r\nx"}},
        {"paths": {"messages": "/v1/%2e%2e/admin"}},
        {"stream_paths": {"messages": "@evil.test/x"}},
        {"plain_only": frozenset({"message"})},
        {"plain_only": "messages"},
        {"request_id_headers": ("x y",)},
        {"request_id_headers": "x-id"},
        {"version_headers": "x-version"},
    ],
    ids=str,
)
def test_a_profile_with_an_unsafe_value_is_rejected(wrong: dict[str, Any]) -> None:
    """A path is appended to the base URL: without its slash it would be a part of the host that gets the key."""
    with pytest.raises(fb.ConfigurationError, match=r"profile|header"):
        fb.RelayProfile(**wrong)


TABLES, NAMES = ("auth", "paths", "stream_paths", "headers"), ("plain_only", "version_headers", "request_id_headers")
WRONG: dict[tuple[str, ...], list[Any]] = {
    TABLES: [None, 5, [], "x", {"messages": []}, {"messages": None}, {5: "x"}],
    NAMES: [None, 5, "x", b"x", [[]], [None]],
    ("name", "messages_version"): [None, 5, []],
    ("base_url",): [5, [], b"x"],
}
OF_ANOTHER_KIND = [(name, wrong) for names, kinds in WRONG.items() for name in names for wrong in kinds]


@pytest.mark.parametrize(("name", "wrong"), OF_ANOTHER_KIND, ids=str)
def test_a_field_of_a_profile_that_is_of_another_kind_is_refused_by_name(name: str, wrong: Any) -> None:
    """Profiles are read from files; an empty field is reported then, and not in the middle of a call."""
    with pytest.raises(fb.ConfigurationError, match=rf"\b{name}\b|profile path of"):
        fb.RelayProfile(**{name: wrong})


def test_header_names_of_a_profile_are_case_insensitive() -> None:
    """Names of headers are case-insensitive."""
    assert fb.RelayProfile(request_id_headers=("X-Trace-Id",)).request_id_headers == ("x-trace-id",)
