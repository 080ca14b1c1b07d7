"""Truncated streams on a socket: at every byte and in three framings, truncation raises."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Iterator

import httpx
import pytest

import formatbridge as fb
from tests.support.servers import FRAMINGS, KEY, Framing, Peer, Received, Server, answer_of, body_of, framed, stream_of

LAST = {
    "chat_completions": b'"finish_reason":"stop"',
    "messages": b'"stop_reason":"end_turn"',
    "responses": b'"response.completed"',
    "generate_content": b'"finishReason":"STOP"',
}
"""The last event with a finish reason; many servers send nothing after it, so a connection that closes there looks complete."""


def _is_complete(sent: bytes, data: bytes, format: fb.Format, framing: Framing) -> bool:
    """Return whether some bytes of a stream may count as a whole answer; with a length or chunks only all bytes do."""
    if framing == "length":
        return sent == data
    if framing == "chunked":  # and here the last chunk is missing
        return sent == data and format != "generate_content"
    last = sent.replace(b"\r\n", b"\n").rpartition(b"\n\n")[2].strip()  # what has no blank line behind it
    reported = last.rpartition(b"data:")[2].strip()
    return (last == b"" or reported == b"[DONE]" or _is_json(reported)) and LAST[format] in sent


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class _Cutter:
    """Serves the first ``upto`` bytes of a stream on a socket."""

    def __init__(self, data: bytes, framing: Framing) -> None:
        self.data, self.framing, self.upto = data, framing, 0

    def __call__(self, peer: Peer, _request: Received) -> bool:
        peer.send(framed(self.data, self.framing, self.upto))
        return False


class _Pieces(httpx.SyncByteStream):
    """A truncated body: its end is silent, or the HTTP library raises."""

    def __init__(self, data: bytes, framing: Framing) -> None:
        self.data, self.framing = data, framing

    def __iter__(self) -> Iterator[bytes]:
        if self.data:
            yield self.data
        if self.framing != "close":
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


class _Wire(httpx.BaseTransport):
    """The same in the process for every byte of every stream, with the errors of the HTTP library."""

    def __init__(self, data: bytes, framing: Framing) -> None:
        self.data, self.framing, self.upto = data, framing, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        is_whole = self.framing == "length" and self.upto == len(self.data)
        stream = _Pieces(self.data[: self.upto], "close" if is_whole else self.framing)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=stream, request=request)


def _read(client: fb.Client, format: fb.Format, via: fb.Format) -> tuple[int, Exception | None]:
    seen = 0
    try:
        with client.stream(body_of("requests", format), format, via) as stream:
            for _ in stream:
                seen += 1
    except Exception as error:  # whatever comes is the finding
        return seen, error
    return seen, None


async def _read_async(client: fb.AsyncClient, format: fb.Format, via: fb.Format) -> tuple[int, Exception | None]:
    seen = 0
    try:
        async with client.stream(body_of("requests", format), format, via) as stream:
            async for _ in stream:
                seen += 1
    except Exception as error:  # whatever comes is the finding
        return seen, error
    return seen, None


def _faults(outcomes: list[tuple[int, int, Exception | None]], data: bytes, format: fb.Format, framing: Framing) -> list[str]:
    """Yield the outcomes that the law forbids."""
    problems = []
    for upto, seen, error in outcomes:
        is_complete = _is_complete(data[:upto], data, format, framing)
        if not is_complete and not isinstance(error, fb.TruncatedStreamError):
            problems.append(f"cut at {upto}: {error!r} after {seen} events")
        elif isinstance(error, fb.StreamError) and seen and error.partial is None:
            problems.append(f"cut at {upto}: no partial after {seen} events")
        elif is_complete and error is not None:
            problems.append(f"complete at {upto}: {error!r}")
    return problems


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_truncation_at_any_byte_raises(via: fb.Format, framing: Framing) -> None:
    """A proxy times out or a process dies: half an answer must never pass for a whole one."""
    data = stream_of(via)
    wire = _Wire(data, framing)
    client = fb.Client("https://relay.test", KEY, retry=0, http_client=httpx.Client(transport=wire))

    outcomes = []
    for upto in range(len(data) + 1):
        wire.upto = upto
        outcomes.append((upto, *_read(client, via, via)))

    assert _faults(outcomes, data, via, framing) == []


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_truncation_on_a_socket_raises(via: fb.Format, framing: Framing) -> None:
    """The same if the HTTP library detects the truncation, at every 31st byte and at each of the last."""
    data = stream_of(via)
    cutter = _Cutter(data, framing)
    with Server(cutter) as server, fb.Client(server.url, KEY, retry=0) as client:
        outcomes = []
        for upto in (*range(0, len(data), 31), *range(len(data) - 9, len(data) + 1)):
            cutter.upto = upto
            outcomes.append((upto, *_read(client, via, via)))

    assert _faults(outcomes, data, via, framing) == []


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_truncation_raises_for_async_callers_in_another_format(via: fb.Format, framing: Framing) -> None:
    """The same with a conversion and the async client, at every 31st byte."""
    data = stream_of(via)
    target: fb.Format = "messages" if via != "messages" else "responses"
    cutter = _Cutter(data, framing)

    async def read_all(url: str) -> list[tuple[int, int, Exception | None]]:
        outcomes = []
        async with fb.AsyncClient(url, KEY, retry=0) as client:
            for upto in range(0, len(data), 31):
                cutter.upto = upto
                outcomes.append((upto, *await _read_async(client, target, via)))
        return outcomes

    with Server(cutter) as server:
        outcomes = asyncio.run(read_all(server.url))

    assert _faults(outcomes, data, via, framing) == []


def test_a_truncation_before_the_first_event_is_retried() -> None:
    """Nothing was returned yet, so nothing is returned twice."""
    data = stream_of("messages")
    sent = iter((0, 10, None))

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(framed(data, "close", next(sent)))
        return False

    with Server(answer) as server:
        client = fb.Client(server.url, KEY, retry=fb.Retry(base=0))
        with client.stream(body_of("requests", "messages"), "messages") as stream:
            text = "".join(stream.text())

    assert stream.attempts == 3
    assert text


def test_nothing_is_retried_after_the_first_event() -> None:
    """A second attempt would return the beginning twice."""
    cutter = _Cutter(stream_of("messages"), "chunked")
    cutter.upto = len(cutter.data) // 2
    with Server(cutter) as server, fb.Client(server.url, KEY, retry=5) as client:
        seen, error = _read(client, "messages", "messages")

    assert seen
    assert isinstance(error, fb.TruncatedStreamError)
    assert len(server.requests) == 1


CLOSING = fb.Options(on_truncated="close")
TEXT = "Vinnufossen, at 865 metres."


def _closing(data: bytes, framing: Framing) -> fb.Client:
    """Return a client that closes truncated streams, and whose streams break after a number of bytes."""
    wire = _Wire(data + b" ", framing)
    wire.upto = len(data)
    return fb.Client("https://relay.test", KEY, retry=0, options=CLOSING, http_client=httpx.Client(transport=wire))


def _before_the_end(via: fb.Format) -> bytes:
    """Return the events of a stream before the one with its finish reason."""
    data = stream_of(via)
    separator = b"\r\n\r\n" if via == "generate_content" else b"\n\n"
    return data[: data.rindex(separator, 0, data.index(LAST[via])) + len(separator)]


@pytest.mark.parametrize("torn", [b"", b'data: {"id'], ids=["between events", "inside an event"])
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize(
    ("format", "via"), [(source, target) for source in fb.FORMATS for target in fb.FORMATS if source != target]
)
def test_a_truncated_stream_is_closed_in_another_format(format: fb.Format, via: fb.Format, framing: Framing, torn: bytes) -> None:
    """The caller gets the part that arrived and an end, whether the HTTP library raised or not."""
    client = _closing(_before_the_end(via) + torn, framing)

    with client.stream(body_of("requests", format), format, via) as stream:
        text = "".join(event.model_dump_json(exclude_unset=True) for event in stream)
        answer = json.dumps(stream.response().body)

    assert TEXT in text
    for message in (text, answer):
        assert any(f'"{word}"' in message for word in ("length", "max_tokens", "max_output_tokens", "MAX_TOKENS"))


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_truncation_in_the_same_format_raises_even_with_close(format: fb.Format, framing: Framing) -> None:
    """The stream was passed on unchanged, so no end was written."""
    seen, error = _read(_closing(_before_the_end(format), framing), format, format)

    assert seen
    assert isinstance(error, fb.TruncatedStreamError)


@pytest.mark.parametrize("options", [fb.Options(), CLOSING], ids=["told", "closed"])
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("format", ["messages", "responses"])
def test_invalid_data_before_a_truncation_raises_and_is_never_closed(
    format: fb.Format, framing: Framing, options: fb.Options
) -> None:
    """A proxy that wrote its page into a stream and closed the connection sent no answer that reached its token limit."""
    client = _closing(_before_the_end("messages") + b"data: <html>\n\n", framing).with_options(options=options)

    seen, error = _read(client, format, "messages")

    assert seen
    assert isinstance(error, fb.StreamDecodeError)
    assert error.snippet == b"<html>"
    assert error.partial is not None


def test_no_end_event_is_returned_before_a_truncation_raises() -> None:
    """An answer may look complete when its connection breaks, and an end event would confirm that."""
    data = stream_of("generate_content")
    wire = _Wire(data, "chunked")
    wire.upto = len(data)
    client = fb.Client("https://relay.test", KEY, retry=0, http_client=httpx.Client(transport=wire))
    seen: list[str] = []

    def follow() -> None:
        with client.stream(body_of("requests", "messages"), "messages", "generate_content") as stream:
            seen.extend(event.model_dump()["type"] for event in stream)

    with pytest.raises(fb.TruncatedStreamError):
        follow()

    assert "content_block_delta" in seen
    assert "message_stop" not in seen


@pytest.mark.parametrize("via", ["chat_completions", "generate_content"])
def test_a_connection_error_after_a_finish_reason_names_the_missing_event(via: fb.Format) -> None:
    """A user looks for the reason in a log: the message has that of any truncation, and the cause of the break."""
    expected = {"chat_completions": "finish_reason, or [DONE]", "generate_content": "finishReason"}[via]
    wire = _Wire(stream_of(via).removesuffix(b"data: [DONE]\n\n"), "chunked")
    wire.upto = len(wire.data)
    client = fb.Client("https://relay.test", KEY, retry=0, http_client=httpx.Client(transport=wire))

    _, error = _read(client, via, via)

    assert isinstance(error, fb.TruncatedStreamError)
    assert f"expected {expected}" in str(error)
    assert "RemoteProtocolError" in str(error)


PACKINGS = {"gzip": ("gzip", 31), "deflate": ("deflate", 15), "deflate without its frame": ("deflate", -15)}
every_packing = pytest.mark.parametrize("packing", PACKINGS)


def _packed(data: bytes, packing: str, *, has_end: bool) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, PACKINGS[packing][1])
    return packer.compress(data) + packer.flush(zlib.Z_FINISH if has_end else zlib.Z_SYNC_FLUSH)


def _packing_client(body: bytes, packing: str, calls: list[object] | None = None) -> fb.Client:
    """Return a client whose calls get compressed bytes as they come from a socket, with a silent end."""

    def answer(request: httpx.Request) -> httpx.Response:
        if calls is not None:
            calls.append(request)
        return httpx.Response(200, headers={"content-encoding": PACKINGS[packing][0]}, stream=_Pieces(body, "close"))

    http_client = httpx.Client(transport=httpx.MockTransport(answer))
    return fb.Client("https://relay.test", KEY, retry=fb.Retry(max=1, base=0), http_client=http_client)


@every_packing
@pytest.mark.parametrize("via", ["chat_completions", "generate_content"])
@pytest.mark.parametrize("format", ["chat_completions", "generate_content"])
def test_a_compressed_stream_without_its_end_is_truncated(format: fb.Format, via: fb.Format, packing: str) -> None:
    """Usage may follow a finish reason; compressed data shows whether more was to come."""
    data = stream_of(via).removesuffix(b"data: [DONE]\n\n")

    for has_end in (True, False):
        seen, error = _read(_packing_client(_packed(data, packing, has_end=has_end), packing), format, via)

        assert seen
        assert error is None if has_end else isinstance(error, fb.TruncatedStreamError)


@every_packing
def test_a_compressed_stream_is_complete_after_its_last_event(packing: str) -> None:
    """A stream with its end event is complete."""
    seen, error = _read(_packing_client(_packed(stream_of("messages"), packing, has_end=False), packing), "messages", "messages")

    assert seen
    assert error is None


@every_packing
@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_a_compressed_answer_without_its_end_is_truncated(is_stream: bool, packing: str) -> None:
    """Its checksum is missing, and another attempt may get a complete one."""
    calls: list[object] = []
    client = _packing_client(_packed(json.dumps(answer_of("messages")).encode(), packing, has_end=False), packing, calls)

    def call() -> None:
        if not is_stream:
            client.send(body_of("requests", "messages"), "messages")
        client.stream(body_of("requests", "messages"), "messages").__enter__()

    with pytest.raises(fb.APIConnectionError, match="before its compression did"):
        call()

    assert len(calls) == 2
