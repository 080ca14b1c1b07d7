"""A fake relay on a socket of this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

from formatbridge.testing import FakeRelay


@contextlib.contextmanager
def served(script: Any, **settings: Any) -> Iterator[FakeRelay]:
    """Serve a fake relay on 127.0.0.1; its ``base_url`` says where."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    relay = FakeRelay(script, base_url=f"http://127.0.0.1:{server.server_port}", **settings)
    server.relay = relay  # type: ignore[attr-defined]  # the handler knows the server alone
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Hands a request to the relay and sends its answer in chunks, one for each piece."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        relay: FakeRelay = self.server.relay  # type: ignore[attr-defined]  # see above
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = httpx.Request(self.command, relay.base_url + self.path, headers=dict(self.headers), content=content)
        answer = relay.handle_request(request)
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in answer.stream:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = _answer  # the names are the standard library's

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
