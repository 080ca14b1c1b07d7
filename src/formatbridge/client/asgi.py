"""Requests and responses of ASGI: the body of a request with its limits, and the messages of a response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qs, quote

from formatbridge.client.calls import KEY_HEADERS
from formatbridge.client.deadlines import AsyncDeadline, DeadlineError
from formatbridge.client.decompression import Decompressor, UnreadableBodyError
from formatbridge.client.sdk_requests import RejectedRequestError, SDKRequest, SDKResponse
from formatbridge.client.secrets import Headers
from formatbridge.convert.masking import Mask

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_ENCODINGS = ("", "identity", "gzip", "x-gzip", "deflate")
_ORIGIN = "http://gateway"
_NOT_FORWARDED = frozenset({"expect", "forwarded", "origin", "proxy-authenticate", "referer", "via", "x-real-ip"})
"""Headers about the connection to the gateway, and about who opened it."""
_NOT_RETURNED = frozenset(
    {"alt-svc", "date", "nel", "proxy-authenticate", "report-to", "server", "strict-transport-security", "vary", "via"}
)
"""Headers about the endpoint's server; the gateway's server has other values."""
_STREAM_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}
"""Headers with which proxies do not buffer a stream (nginx.org/en/docs/http/ngx_http_proxy_module.html, proxy_buffering)."""


class ClientDisconnectedError(Exception):
    """The client closed the connection, or did not read for a long time. The gateway ends the request without a response."""


def request_of(scope: Scope) -> SDKRequest:
    """Return the request without its body. A key in the query becomes a key header.

    Google documents the former (cloud.google.com/api-keys/docs/overview).
    """
    headers = Headers()
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    for name in headers.pop("connection", "").split(","):  # names of headers for this connection, RFC 9110 section 7.6.1
        headers.pop(name.strip().lower(), None)
    query = scope.get("query_string", b"").decode("latin-1")
    key = parse_qs(query).get("key") if "key=" in query else None
    if key and headers.keys().isdisjoint(KEY_HEADERS):
        headers[KEY_HEADERS[0]] = key[0]
    raw_path = scope.get("raw_path")
    path = raw_path.decode("latin-1").partition("?")[0] if raw_path else quote(scope["path"])
    return SDKRequest(scope["method"], _ORIGIN + path, headers, b"")


def with_body(request: SDKRequest, body: bytes) -> SDKRequest:
    """Return a request with its body, without the headers that describe the connection to the gateway."""
    kept = {name: value for name, value in request.headers.items() if name not in _NOT_FORWARDED and name[:12] != "x-forwarded-"}
    return SDKRequest(request.method, request.url, Headers(kept), body)


async def read_body(request: SDKRequest, receive: Receive, max_bytes: int, seconds: float | None) -> bytes:
    """Read and decompress the body of a request. ``seconds``: the limit for each chunk.

    Raises ``RejectedRequestError`` beyond the limits or for an unknown encoding, and ``ClientDisconnectedError``.
    """
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        problem = f"the body is encoded as {encoding[:40]!r}, expected gzip, deflate or no encoding"
        raise RejectedRequestError(415, problem, headers={"accept-encoding": "gzip, deflate"})
    too_long = RejectedRequestError(413, f"the body exceeds the limit of {max_bytes} bytes")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > max_bytes:
        raise too_long
    decompressor = Decompressor(encoding, max_bytes)
    pieces: list[bytes] = []
    deadline = AsyncDeadline()
    try:
        while True:
            message = await deadline.within(seconds, receive())
            if message["type"] == "http.disconnect":
                raise ClientDisconnectedError
            pieces.append(decompressor.feed(message.get("body", b"")))
            if not message.get("more_body", False):
                break
    except DeadlineError:
        raise RejectedRequestError(408, f"no byte of the body within {seconds} seconds") from None
    except UnreadableBodyError as error:
        raise (too_long if "limit" in error.reason else RejectedRequestError(400, f"the body {error.reason}")) from None
    finally:
        deadline.stop()
    if decompressor.is_truncated:
        raise RejectedRequestError(400, f"the body is incomplete: its {encoding} data has no end")
    return b"".join(pieces)


class ResponseSender:
    """Sends one response. ``seconds``: how long the client may read nothing; None: no limit.

    ``scope``: the cancel scope to cancel after that time. ``has_started``: whether the status was sent.
    """

    def __init__(self, send: Send, seconds: float | None) -> None:
        self._send = send
        self._seconds = seconds
        self._deadline = AsyncDeadline()
        self.scope: Any = None
        self.has_started = False

    async def send_whole(self, response: SDKResponse) -> None:
        """Send a whole response, without the key."""
        content = response.answer_mask.answer(response.content)
        await self.start(response.status, {**response.headers, "content-length": str(len(content))})
        await self.send_chunk(content, is_last=True)

    async def start_stream(self, response: SDKResponse) -> None:
        """Send the status and headers of a stream."""
        await self.start(response.status, {**response.headers, **_STREAM_HEADERS})

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status and headers."""
        self.has_started = True
        kept = [
            (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
            for name, value in headers.items()
            if name not in _NOT_RETURNED and not name.startswith("access-control-")
        ]
        await self._send_message({"type": "http.response.start", "status": status, "headers": kept})

    async def send_chunk(self, chunk: bytes, *, is_last: bool = False) -> None:
        """Send a part of the body."""
        await self._send_message({"type": "http.response.body", "body": chunk, "more_body": not is_last})

    async def _send_message(self, message: Message) -> None:
        self._deadline.start(self._seconds, self.scope)
        try:
            await self._send(message)
        except OSError:  # servers raise an OSError after a disconnect, ASGI 2.4
            raise ClientDisconnectedError from None
        finally:
            self._deadline.pause()

    def close(self) -> None:
        """Stop the timer."""
        self._deadline.stop()


async def reject_websocket(scope: Scope, receive: Receive, send: Send, rejected: SDKResponse) -> None:
    """Reject a websocket: with an error response where the server can send one, else with a close."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008, "reason": "formatbridge does not serve websockets, use HTTP"})
        return
    headers = [(name.encode(), value.encode()) for name, value in rejected.headers.items()]
    await send({"type": "websocket.http.response.start", "status": rejected.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": rejected.content, "more_body": False})


def without_key(chunk: bytes, mask: Mask) -> bytes:
    """Return a chunk of a stream without the key."""
    return mask.answer(chunk) if mask else chunk
