"""The demonstration command."""

from __future__ import annotations

import io

import pytest

import formatbridge as fb
from formatbridge.cli.demo import DIRECTIONS, demo, fake_relay, run
from formatbridge.testing import FakeRelay
from formatbridge.testing.relay_server import served


def test_the_demonstration_runs_in_every_format_over_every_endpoint() -> None:
    """It shows a call, its result, the answer and a loss, four times, and no socket is opened."""
    out = io.StringIO()

    demo(out)

    printed = out.getvalue()
    assert printed.count('  call   get_weather({"city": "Rome"})\n') == 4
    assert printed.count("  model  It is sunny in Rome, at 24 degrees.\n") == 4
    assert [line.split(": ")[0] for line in printed.splitlines() if line.startswith("  lost")] == [
        "  lost   /seed",
        "  lost   /stop_sequences",
        "  lost   /truncation",
        "  lost   /generationConfig/topK",
    ]


def test_the_demonstration_runs_on_a_relay_at_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same over the network; the key is in the environment, and the first model of the relay is used."""
    with served("I do not know that.", models=["m-far"]) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))
        out = io.StringIO()

        demo(out, base_url=relay.base_url)

    assert out.getvalue().count("  model  I do not know that.\n") == 4
    assert {request.model for request in relay.requests if request.method == "POST"} == {"m-far"}


def test_the_demo_has_every_format_as_source_and_as_target() -> None:
    """Each of the formats is shown as source and as target."""
    assert {format for format, _ in DIRECTIONS} == {via for _, via in DIRECTIONS} == set(fb.FORMATS)


def test_the_demo_returns_reasoning_to_the_relay() -> None:
    """The reasoning that the relay issued returns to it in all four conversations."""
    relay = fake_relay()
    with relay.http_client() as http_client, fb.Client(relay.base_url, relay.api_key, http_client=http_client) as client:
        run(client, None, "m-large", io.StringIO())

    assert relay.steps_left == 0
    assert [b"Zm9yIG15IGV5ZXMgb25seQ==" in request.content for request in relay.requests] == [False, True] * 4


def test_the_demo_accepts_an_answer_without_a_tool_call() -> None:
    """A real model may answer without a call."""
    relay, out = FakeRelay("I do not know that.", models=["m-shy"]), io.StringIO()
    with relay.http_client() as http_client, fb.Client(relay.base_url, relay.api_key, http_client=http_client) as client:
        run(client, None, None, out)

    assert out.getvalue().count("  model  I do not know that.\n") == 4
    assert {request.model for request in relay.requests if request.method == "POST"} == {"m-shy"}


def test_the_error_about_a_relay_without_models_names_the_option() -> None:
    """The list is empty, and the user named no model."""
    relay = FakeRelay(models=[])

    with (
        relay.http_client() as http_client,
        fb.Client(relay.base_url, relay.api_key, http_client=http_client) as client,
        pytest.raises(fb.ConfigurationError, match="pass --model"),
    ):
        run(client, None, None, io.StringIO())
