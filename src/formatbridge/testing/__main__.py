"""``python -m formatbridge.testing`` serves a fake relay on a local socket, to try the library without a key."""

from __future__ import annotations

import argparse
import sys

from formatbridge.formats.registry import FORMATS
from formatbridge.testing.relay_server import RelayServer
from formatbridge.testing.script import Answer

_REQUESTS = {
    "chat_completions": '{"model": "m-large", "messages": [{"role": "user", "content": "Hi"}]}',
    "messages": '{"model": "m-large", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}',
    "responses": '{"model": "m-large", "input": "Hi"}',
    "generate_content": '{"model": "m-large", "contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}',
}


def main(arguments: list[str] | None = None) -> int:
    """Serve until the process is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m formatbridge.testing", description="Serve a fake relay on a local socket.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8400, help="port to listen on, 0 for a free one (default: %(default)s)")
    parser.add_argument("--answer", default="Hello from the fake relay.", help="text of every answer")
    parser.add_argument("--reasoning", default="", help="reasoning of every answer")
    parser.add_argument("--key", default="sk-fake", help="the key that the relay requires (default: %(default)s)")
    parser.add_argument("--model", action="append", help="an id in the list of models; can be repeated")
    parser.add_argument(
        "--format", choices=FORMATS, default="messages", help="format of the printed examples (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    answer = Answer(text=options.answer, reasoning=options.reasoning)
    models = options.model or ["m-large", "m-small"]
    try:
        server = RelayServer(answer, host=options.host, port=options.port, api_key=options.key, models=models)
    except OSError as error:
        parser.error(f"cannot listen on {options.host}:{options.port}: {error.strerror}")
    with server:
        print(_usage(server.relay.base_url, options.key, options.format), flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _usage(base_url: str, key: str, format: str) -> str:
    """Return how to use the relay."""
    via = next(name for name in FORMATS if name != format)
    return f"""A fake relay serves {", ".join(FORMATS)} at {base_url} (stop it with Ctrl-C).

export FORMATBRIDGE_BASE_URL={base_url} FORMATBRIDGE_API_KEY={key}
python -m formatbridge models
echo '{_REQUESTS[format]}' | python -m formatbridge send --from {format} --via {via}
python examples/gateway.py"""


if __name__ == "__main__":
    sys.exit(main())
