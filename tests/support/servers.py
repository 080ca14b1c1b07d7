"""A server on a real socket, for tests that need one: truncation, slow bytes, floods. It also has answers of all four formats."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import formatbridge as fb

FIXTURES = Path(__file__).parents[2] / "fixtures"
KEY = "sk-canary-0123456789"
Framing = Literal["close", "length", "chunked"]
FRAMINGS: tuple[Framing, ...] = ("close", "length", "chunked")


def body_of(kind: str, format: fb.Format, case: str = "text_plain") -> dict[str, Any]:
    """Return the body of a fixture with a model; generate_content has it in its URL."""
    body: dict[str, Any] = json.loads((FIXTURES / kind / format / f"{case}.json").read_text(encoding="utf-8"))["body"]
    return {"model": "m-large", **body} if kind == "requests" else body


def answer_of(format: fb.Format) -> dict[str, Any]:
    """Return a whole answer."""
    return body_of("responses", format)


def stream_of(format: fb.Format) -> bytes:
    """Return the same answer as a stream."""
    return b"".join(fb.replay_response(answer_of(format), source=format))


def format_of(path: str) -> fb.Format:
    """Return the format of an endpoint."""
    if "/v1beta/" in path:
        return "generate_content"
    return next(name for end, name in _ENDPOINTS.items() if path.partition("?")[0].endswith(end))


_ENDPOINTS: dict[str, fb.Format] = {"/chat/completions": "chat_completions", "/messages": "messages", "/responses": "responses"}


@dataclass(frozen=True)
class Received:
    """One request that the server got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    raw: bytes = field(repr=False, default=b"")

    @property
    def is_stream(self) -> bool:
        """Whether it asks for a stream."""
        return ":stream" in self.path or bool(self.body and json.loads(self.body).get("stream"))


class Peer:
    """The server's side of one connection; ``pause``: seconds to wait before each read of a body."""

    def __init__(self, connection: socket.socket, is_stopping: threading.Event, pause: float = 0) -> None:
        self._connection = connection
        self._is_stopping = is_stopping
        self._held = b""
        self.pause = pause

    def send(self, data: bytes) -> None:
        """Send bytes at once."""
        self._connection.sendall(data)

    def drip(self, data: Iterable[int], seconds: float) -> None:
        """Send bytes one by one, with a pause in seconds, until the other side closes the connection."""
        for byte in data:
            self.send(bytes([byte]))
            if self._is_stopping.wait(seconds):
                return

    def wait(self, seconds: float) -> None:
        """Wait for a time, or until the server stops."""
        self._is_stopping.wait(seconds)

    def receive(self) -> Received | None:
        """Read a request; None if the other side has closed the connection."""
        while b"\r\n\r\n" not in self._held:
            if not self._more():
                return None
        head, _, self._held = self._held.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        while len(self._held) < length:
            if self.pause and self._is_stopping.wait(self.pause):
                return None
            if not self._more():
                return None
        body, self._held = self._held[:length], self._held[length:]
        method, path, _ = first.split(" ")
        return Received(method, path, headers, body, head + body)

    def _more(self) -> bool:
        piece = self._connection.recv(65536)
        self._held += piece
        return bool(piece)


Answer = Callable[[Peer, Received], bool]
"""Answers one request and returns whether the connection stays open."""


class Server:
    """Listens on 127.0.0.1, one thread for each connection. ``requests``: those that it got; ``connections``: their number.

    ``pause``: seconds to wait before each read of a request's body.
    """

    def __init__(self, answer: Answer, *, pause: float = 0) -> None:
        self._pause = pause
        self.answer = answer
        self.requests: list[Received] = []
        self.connections = 0
        self._is_stopping = threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=2048)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._is_stopping.set()
        self._listener.close()
        for connection in self._open:
            connection.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        peer = Peer(connection, self._is_stopping, self._pause)
        try:
            while (request := peer.receive()) is not None:
                self.requests.append(request)
                if not self.answer(peer, request):
                    break
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side went away, which is what many tests are about
        finally:
            connection.close()


def head(status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    """Write the headers of an answer; ``_`` in their names stands for ``-``."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def whole(body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    """Write a whole answer with its length."""
    return head(status, kind, Content_Length=str(len(body)), **headers) + body


def framed(body: bytes, framing: Framing, upto: int | None = None) -> bytes:
    """Write a stream in a framing; with ``upto`` only that many bytes of it, although the framing promises more."""
    sent = body if upto is None else body[:upto]
    kind = "text/event-stream"
    if framing == "close":
        return head(200, kind, Connection="close") + sent
    if framing == "length":
        return head(200, kind, Content_Length=str(len(body))) + sent
    end = b"\r\n0\r\n\r\n" if upto is None else b""
    return head(200, kind, Transfer_Encoding="chunked") + b"%x\r\n" % len(body) + sent + end


def relay(peer: Peer, request: Received) -> bool:
    """Answer in the format of the endpoint, whole or streamed, and stay open."""
    format = format_of(request.path)
    if request.path.endswith(":countTokens"):
        counted = {"object": "response.input_tokens", "input_tokens": 7}
        peer.send(whole(fb.convert_count_response(counted, source="responses", target=format).json(), x_request_id="r-1"))
    elif request.is_stream:
        peer.send(framed(stream_of(format), "chunked"))
    else:
        peer.send(whole(json.dumps(answer_of(format)).encode(), x_request_id="r-1"))
    return True


def read(client: fb.Client, format: fb.Format = "messages", via: fb.Format | None = None) -> list[Any]:
    """Return all events of a stream."""
    with client.stream(body_of("requests", format), format, via) as stream:
        return list(stream)


def events_of(data: bytes) -> Iterator[bytes]:
    """Split a stream into its events."""
    separator = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
    yield from (event + separator for event in data.split(separator) if event)
