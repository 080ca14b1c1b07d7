"""Limits of a client: n - 1 and n are accepted, n + 1 raises."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.client.decompression import Decompressor, UnreadableBodyError
from tests.support.servers import KEY, answer_of, body_of, stream_of

REQUEST = body_of("requests", "messages")
BODY = json.dumps(answer_of("messages")).encode()
around = pytest.mark.parametrize("over", [-1, 0, 1], ids=["n-1", "n", "n+1"])
PACKERS: dict[str, Callable[[bytes], bytes]] = {"identity": bytes, "gzip": gzip.compress, "deflate": zlib.compress}


class Pieces(httpx.SyncByteStream):
    """A body as a socket returns it, compressed, 40 bytes at a time."""

    def __init__(self, *data: bytes | Exception) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.data:
            if isinstance(piece, Exception):
                raise piece
            yield from (piece[at : at + 40] for at in range(0, len(piece), 40))


def _client(status: int, *body: bytes | Exception, headers: dict[str, str] | None = None, **settings: Any) -> fb.Client:
    """Return a client whose every call gets this answer."""
    inner = httpx.MockTransport(lambda _: httpx.Response(status, headers=headers, stream=Pieces(*body)))
    return fb.Client("https://relay.test", KEY, retry=0, http_client=httpx.Client(transport=inner), **settings)


@around
@pytest.mark.parametrize("encoding", PACKERS)
def test_an_answer_is_read_up_to_its_limit_in_every_encoding(encoding: str, over: int) -> None:
    """The size after decompression counts."""
    limits = fb.Limits(max_response_bytes=len(BODY) - over)
    client = _client(200, PACKERS[encoding](BODY), headers={"content-encoding": encoding}, limits=limits)

    if over <= 0:
        assert client.send(REQUEST, "messages").native == answer_of("messages")
    else:
        with pytest.raises(fb.UnexpectedResponseError, match=f"longer than {len(BODY) - 1} bytes"):
            client.send(REQUEST, "messages")


@around
@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("format", ["messages", "responses"])
def test_a_stream_is_read_up_to_its_limit_in_every_encoding(format: fb.Format, encoding: str, over: int) -> None:
    """Beyond the limit the stream fails, and the part that arrived is kept."""
    data = stream_of("messages")
    limits = fb.Limits(max_response_bytes=len(data) - over)
    client = _client(200, PACKERS[encoding](data), headers={"content-encoding": encoding}, limits=limits)
    seen: list[Any] = []

    def follow() -> None:
        with client.stream(body_of("requests", format), format, "messages") as stream:
            seen.extend(stream)

    if over <= 0:
        follow()
    else:
        with pytest.raises((fb.StreamError, fb.UnexpectedResponseError), match=f"longer than {len(data) - 1} bytes") as caught:
            follow()
        assert not seen or getattr(caught.value, "partial", None) is not None
    assert seen or encoding != "identity"


MIB = 1024 * 1024
TAILS = {"zeros": b"\0", "text": b"more", "half a head": b"\x1f", "a head after other bytes": b"x\x1f\x8b"}


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_bytes_after_the_end_of_a_compressed_body_are_ignored(encoding: str, tail: str) -> None:
    """Some programs append zeros to compressed data."""
    client = _client(200, PACKERS[encoding](BODY) + TAILS[tail] * 50, headers={"content-encoding": encoding})

    assert client.send(REQUEST, "messages").native == answer_of("messages")


def test_several_gzip_members_are_one_body_at_any_split() -> None:
    """The format allows it, and programs that append to a file or compress in parallel write it."""
    data = gzip.compress(BODY[:50]) + gzip.compress(b"") + gzip.compress(BODY[50:])

    for at in range(1, len(data)):
        opener = Decompressor("gzip", len(BODY))
        assert opener.feed(data[:at]) + opener.feed(data[at:]) == BODY


@pytest.mark.parametrize("window", [-15, 15, 31], ids=["bare", "deflate", "gzip"])
def test_a_compressed_body_is_decompressed_to_its_last_byte(window: int) -> None:
    """A piece of compressed data may end within a run of equal bytes that continues in the next piece."""
    for size in range(512 * 1024, 512 * 1024 + 300, 7):
        packer = zlib.compressobj(9, zlib.DEFLATED, window)
        opener = Decompressor("gzip" if window == 31 else "deflate", MIB)

        opened = opener.feed(packer.compress(b"a" * size) + packer.flush())

        assert (len(opened), opener.is_truncated) == (size, False)


ENDLESS = {"behind the end": gzip.compress(BODY) + bytes(2 * MIB), "in empty bodies": gzip.compress(b"") * (MIB // 10)}


@pytest.mark.parametrize("case", ENDLESS)
def test_compressed_bytes_count_even_if_they_decompress_to_nothing(case: str) -> None:
    """A server that sends them without end would keep the client busy until the time limit."""
    opener, data = Decompressor("gzip", 1000), ENDLESS[case]
    for at in range(0, MIB, 4096):
        opener.feed(data[at : at + 4096])

    with pytest.raises(UnreadableBodyError, match="longer than 1000 bytes"):
        opener.feed(data[MIB : MIB + 4096])


def test_ignored_bytes_are_not_kept() -> None:
    """It would cost memory, and time that grows with its square."""
    opener = Decompressor("gzip", 8 * MIB)
    opener.feed(gzip.compress(BODY))
    tracemalloc.start()
    try:
        for _ in range(64):
            opener.feed(bytes(MIB // 16))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < MIB


@pytest.mark.parametrize("encoding", PACKERS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_error_is_read_in_every_encoding(stream: bool, encoding: str) -> None:
    """Proxies compress answers; the code in the error decides whether to retry."""
    packed = PACKERS[encoding](b'{"error": {"message": "no", "code": "model_not_found"}}')
    client = _client(503, packed, headers={"content-encoding": encoding})

    with pytest.raises(fb.OverloadedError) as caught:
        client.stream(REQUEST, "messages").__enter__() if stream else client.send(REQUEST, "messages")

    assert caught.value.code == "model_not_found"


def test_an_error_that_decompresses_above_the_limit_is_an_error() -> None:
    """A decompression bomb with status 429 is still an error of status 429."""
    bomb = gzip.compress(b" " * 100_000)
    client = _client(
        429, bomb, headers={"content-encoding": "gzip", "retry-after": "7"}, limits=fb.Limits(max_response_bytes=50_000)
    )

    with pytest.raises(fb.RateLimitError) as caught:
        client.send(REQUEST, "messages")

    assert caught.value.retry_after == 7


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "broken",
    [httpx.ReadError("x"), httpx.RemoteProtocolError("x"), httpx.ReadTimeout("x"), OSError("x")],
    ids=lambda broken: type(broken).__name__,
)
def test_an_error_with_a_truncated_body_keeps_its_status(broken: Exception, stream: bool) -> None:
    """The status and the time to wait arrived before the body."""
    client = _client(429, b'{"error": {"mess', broken, headers={"retry-after": "7", "x-request-id": "r-1"})

    with pytest.raises(fb.RateLimitError) as caught:
        client.stream(REQUEST, "messages").__enter__() if stream else client.send(REQUEST, "messages")

    assert (caught.value.status, caught.value.retry_after, caught.value.request_id) == (429, 7, "r-1")


UNEXPECTED = {
    "a status": (400, b'{"error":{"message":"no"}}', False),
    "a page in place of an answer": (200, b"<html>no, not today</html>", False),
    "an error in place of an answer": (200, b'{"error":{"message":"no"}}', False),
    "another body in place of an answer": (200, b'{"answer":"no, not today"}', False),
    "a number in place of an answer": (200, b"1234567890", False),
    "a page in place of a stream": (200, b"<html>no, not today</html>", True),
    "an error in place of a stream": (200, b'{"error":{"message":"no"}}', True),
    "another body in place of a stream": (200, b'{"answer":"no, not today"}', True),
}


@around
@pytest.mark.parametrize("case", UNEXPECTED)
def test_an_error_body_is_kept_up_to_the_limit(case: str, over: int) -> None:
    """A user who stores errors limits their size; the rest is read for its code and discarded."""
    status, body, stream = UNEXPECTED[case]
    limit = len(body) - over
    client = _client(status, body, limits=fb.Limits(max_error_body=limit))

    with pytest.raises(fb.APIStatusError) as caught:
        client.stream(REQUEST, "messages").__enter__() if stream else client.send(REQUEST, "messages")

    assert len(caught.value.body) == min(limit, len(body))


@pytest.mark.parametrize("size", [90_000, 2_000_000])
def test_the_whole_error_body_is_kept_within_the_limit(size: int) -> None:
    """A gateway that passes errors on needs the whole body."""
    body = json.dumps({"error": {"message": "a" * size}}).encode()
    client = _client(400, *[body[at : at + 65536] for at in range(0, len(body), 65536)], limits=fb.Limits(max_error_body=3_000_000))

    with pytest.raises(fb.BadRequestError) as caught:
        client.send(REQUEST, "messages")

    assert caught.value.body == body


def test_no_error_body_is_kept_with_a_limit_of_zero() -> None:
    """Some applications must not store what a server sent."""
    with pytest.raises(fb.BadRequestError) as caught:
        _client(400, b'{"error": {"message": "no"}}', limits=fb.Limits(max_error_body=0)).send(REQUEST, "messages")

    assert caught.value.body == b""


@around
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_headers_are_accepted_up_to_their_limit(stream: bool, over: int) -> None:
    """Names and values are counted."""
    headers = {"x-one": "a" * 50, "x-two": "b" * 50}
    size = sum(len(name) + len(value) for name, value in headers.items())
    data = stream_of("messages") if stream else BODY
    client = _client(200, data, headers=headers, limits=fb.Limits(max_header_bytes=size - over))

    if over <= 0:
        assert client.stream(REQUEST, "messages").__enter__().response() if stream else client.send(REQUEST, "messages")
    else:
        with pytest.raises(fb.APIConnectionError, match=f"the headers have {size} bytes, expected at most {size - 1}") as caught:
            client.stream(REQUEST, "messages").__enter__() if stream else client.send(REQUEST, "messages")
        assert caught.value.phase == "headers"


@around
@pytest.mark.parametrize("limit", [0, 1, 3])
def test_redirects_are_followed_up_to_their_limit(limit: int, over: int) -> None:
    """A relay may have moved twice; redirects without end are refused."""
    hops = max(0, limit + over)
    calls: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request.url.path)
        if len(calls) <= hops:
            return httpx.Response(307, headers={"location": f"/v1/messages/{len(calls)}"})
        return httpx.Response(200, content=BODY)

    http_client = httpx.Client(transport=httpx.MockTransport(serve))
    client = fb.Client("https://relay.test", KEY, http_client=http_client, limits=fb.Limits(max_redirects=limit))

    if hops <= limit:
        assert client.send(REQUEST, "messages").status == 200
    else:
        with pytest.raises(fb.APIConnectionError, match=f"redirected more than {limit} times"):
            client.send(REQUEST, "messages")
    assert len(calls) == min(hops, limit) + 1
