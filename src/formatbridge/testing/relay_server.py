"""A fake relay behind a real socket of this machine, for tests that need one and for trying the library without a key."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from formatbridge.testing.fake_relay import FakeRelay


class RelayServer(ThreadingHTTPServer):
    """Serves a fake relay, one thread for each connection. The arguments are those of ``FakeRelay``; ``relay.base_url`` has the port."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, script: Any, *, host: str = "127.0.0.1", port: int = 0, **settings: Any) -> None:
        super().__init__((host, port), _Handler)
        self.relay = FakeRelay(script, base_url=f"http://{host}:{self.server_port}", **settings)


@contextlib.contextmanager
def served(script: Any, **settings: Any) -> Iterator[FakeRelay]:
    """Serve a fake relay on 127.0.0.1 in another thread."""
    server = RelayServer(script, **settings)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.relay
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Passes a request to the relay and sends its answer in chunks. A fault of the script closes the connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: RelayServer

    def _answer(self) -> None:
        import httpx

        relay = self.server.relay
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = httpx.Request(self.command, relay.base_url + self.path, headers=dict(self.headers), content=content)
        try:
            answer = relay.handle_request(request)
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in answer.stream:
                if piece:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except (httpx.TransportError, ConnectionError):
            self.close_connection = True

    do_GET = do_POST = _answer  # the names are the standard library's

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
