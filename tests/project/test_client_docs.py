"""The examples of docs/client.md and docs/gateway.md run as they stand, against a relay on a socket."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import formatbridge as fb
from tests.support.servers import KEY, Answer, Framing, Peer, Received, Server, framed, relay, stream_of, whole

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = [
    example
    for page in ("client.md", "gateway.md")
    for example in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """People copy examples before they read."""
    with Server(relay) as server:
        monkeypatch.setenv("FORMATBRIDGE_BASE_URL", server.url)
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY)
        exec(compile(EXAMPLES[number], f"example {number}", "exec"), {"__name__": "example"})

    printed = capsys.readouterr().out
    assert printed
    assert KEY not in printed


def _through_the_gateway(
    answer: Answer, *, is_stream: bool, monkeypatch: pytest.MonkeyPatch, via: str = "chat_completions", **more: Any
) -> list[Any]:
    """Return what the gateway of the page tells a caller whose relay answers so: a status and the bytes."""
    (gateway,) = [example.replace('via="chat_completions"', f"via={via!r}") for example in EXAMPLES if "def answer(" in example]
    names: dict[str, Any] = {"__name__": "example"}
    request = {"model": "m", "max_tokens": 9, "stream": is_stream, "messages": [{"role": "user", "content": "hi"}], **more}
    with Server(relay) as server:
        monkeypatch.setenv("FORMATBRIDGE_BASE_URL", server.url)
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY)
        exec(compile(gateway, "gateway.md", "exec"), names)
        server.answer = answer
        return list(names["answer"](json.dumps(request).encode()))


@pytest.mark.parametrize("left", [b"data: [DONE]\n\n", b"]\n\n"], ids=["before the last event", "inside it"])
@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_the_gateway_reports_a_truncated_stream_to_its_reader(
    framing: Framing, left: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The HTTP library raises a separate error, where a copied example must not end without a word."""

    def cut(peer: Peer, _request: Received) -> bool:
        data = stream_of("chat_completions")
        peer.send(framed(data, framing, len(data) - len(left)))
        return False

    status, *reported = _through_the_gateway(cut, is_stream=True, monkeypatch=monkeypatch)

    assert status == 200
    assert b"".join(reported).count(b"event: error") == 1
    with pytest.raises(fb.StreamFailedError):
        fb.collect_stream(reported, source="messages")


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


def test_the_gateway_reports_an_html_page_to_the_reader_of_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status has left when that shows; an error event has not."""
    status, *reported = _through_the_gateway(_page, is_stream=True, monkeypatch=monkeypatch)

    assert status == 200
    assert b"event: error" in b"".join(reported)


DOCUMENT = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}


def _unasked(_peer: Peer, _request: Received) -> bool:
    raise AssertionError("the relay was asked")


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("via", "more", "text"),
    [
        ("chat_completions", {"messages": [{"role": "user", "content": [DOCUMENT]}]}, "/messages/0/content/0"),
        ("generate_content", {"model": ""}, "model"),
        ("chat_completions", {"messages": None}, "/messages"),
    ],
    ids=["lost", "no model", "none of the format"],
)
def test_the_gateway_refuses_what_cannot_be_sent(
    via: str, more: dict[str, Any], text: str, is_stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emptied prompt would be answered and billed, and the caller would wonder; what he sent is his to repair."""
    status, body = _through_the_gateway(_unasked, is_stream=is_stream, monkeypatch=monkeypatch, via=via, **more)

    assert status == 400
    assert json.loads(body)["error"]["type"] == "invalid_request_error"
    assert text in json.loads(body)["error"]["message"]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_the_gateway_returns_an_answer_with_any_losses(is_stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second choice that the caller's format has no room for must not cost him the first."""
    message = [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for at, text in enumerate("AB")
    ]
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": message}
    stream = b"".join(fb.replay_response(body, source="chat_completions"))

    def two(peer: Peer, _request: Received) -> bool:
        peer.send(whole(stream, kind="text/event-stream") if is_stream else whole(json.dumps(body).encode()))
        return True

    status, *reported = _through_the_gateway(two, is_stream=is_stream, monkeypatch=monkeypatch)

    answer = fb.collect_stream(reported, source="messages").body if is_stream else json.loads(b"".join(reported))
    assert (status, answer["content"]) == (200, [{"type": "text", "text": "A"}])


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
def test_the_gateway_refuses_a_thread_as_the_sdk_expects(is_stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anthropic's tool runner asks for a thread, and sends the whole conversation where the server has none."""
    status, body = _through_the_gateway(_unasked, is_stream=is_stream, monkeypatch=monkeypatch, thread={"type": "create"})

    assert status == 400
    assert json.loads(body)["error"]["details"]["error_code"] == "thread_unsupported_request"


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [200, 401])
def test_the_gateway_hides_its_key(status: int, is_stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relays echo keys in their errors, and a gateway hands errors on to other people."""

    def echo(peer: Peer, _request: Received) -> bool:
        text = json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
        if is_stream and status == 200:
            peer.send(whole(b"data: " + text + b"\n\n", kind="text/event-stream"))
        else:
            peer.send(whole(text, status))
        return True

    _, *text = _through_the_gateway(echo, is_stream=is_stream, monkeypatch=monkeypatch)

    assert b"bad key ***" in b"".join(text)
    assert KEY.encode() not in b"".join(text)
