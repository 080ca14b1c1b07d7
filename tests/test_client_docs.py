"""The examples of docs/client.md run as they stand, against a relay on a socket."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import formatbridge as fb
from tests.servers import KEY, Answer, Framing, Peer, Received, Server, framed, relay, stream_of, whole

PAGE = Path(__file__).parents[1] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """People copy examples before they read."""
    with Server(relay) as server:
        monkeypatch.setenv("FORMATBRIDGE_BASE_URL", server.url)
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY)
        exec(compile(EXAMPLES[number], f"client.md, example {number}", "exec"), {"__name__": "example"})

    told = capsys.readouterr().out
    assert told
    assert KEY not in told


def _through_the_gateway(answer: Answer, *, is_stream: bool, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what the gateway of the page tells a caller whose relay answers so: a status and the bytes."""
    (gateway,) = [example for example in EXAMPLES if "def answer(" in example]
    names: dict[str, Any] = {"__name__": "example"}
    request = {"model": "m", "max_tokens": 9, "stream": is_stream, "messages": [{"role": "user", "content": "hi"}]}
    with Server(relay) as server:
        monkeypatch.setenv("FORMATBRIDGE_BASE_URL", server.url)
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY)
        exec(compile(gateway, "client.md, gateway", "exec"), names)
        server.answer = answer
        return list(names["answer"](json.dumps(request).encode()))


@pytest.mark.parametrize("left", [b"data: [DONE]\n\n", b"]\n\n"], ids=["before the last event", "inside it"])
@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_the_gateway_tells_the_reader_of_a_stream_that_broke(
    framing: Framing, left: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The HTTP library raises an error of its own, where a copied example must not end without a word."""

    def cut(peer: Peer, _request: Received) -> bool:
        data = stream_of("chat_completions")
        peer.send(framed(data, framing, len(data) - len(left)))
        return False

    status, *told = _through_the_gateway(cut, is_stream=True, monkeypatch=monkeypatch)

    assert status == 200
    assert b"".join(told).count(b"event: error") == 1
    with pytest.raises(fb.StreamFailedError):
        fb.collect_stream(told, source="messages")


def _page(peer: Peer, _request: Received) -> bool:
    peer.send(whole(b"<html>Sign in</html>", kind="text/html"))
    return True


def _hang_up(peer: Peer, _request: Received) -> bool:
    peer.send(whole(b"{" * 99)[:-9])
    return False


@pytest.mark.parametrize("answer", [_page, _hang_up], ids=["page", "cut"])
def test_the_gateway_answers_where_the_relay_did_not(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login page with a 200, or half a body: the caller gets an error of its format, and no status of a success."""
    status, body = _through_the_gateway(answer, is_stream=False, monkeypatch=monkeypatch)

    assert status >= 500
    assert json.loads(body)["type"] == "error"


def test_the_gateway_tells_the_reader_of_a_stream_that_is_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status has left when that shows; an error event has not."""
    status, *told = _through_the_gateway(_page, is_stream=True, monkeypatch=monkeypatch)

    assert status == 200
    assert b"event: error" in b"".join(told)
