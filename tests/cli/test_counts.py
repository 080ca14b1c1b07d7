"""Token counts from the shell, and facts about the model of a request that is sent."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from formatbridge.cli.main import main
from formatbridge.testing.relay_server import served

ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Tall?"}], "temperature": 0.5}
Captured = pytest.CaptureFixture[str]


def _run(monkeypatch: pytest.MonkeyPatch, body: Any, *arguments: str) -> int:
    """Run a command with JSON on its standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body).encode())))
    return main(arguments)


@pytest.mark.parametrize("via", ["messages", "responses", "generate_content"])
def test_the_number_of_input_tokens_is_written(monkeypatch: pytest.MonkeyPatch, capfd: Captured, via: str) -> None:
    """A script compares the number with a limit before it sends the request."""
    with served("", count_tokens=42) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))
        status = _run(monkeypatch, ASKED, "count", "--from", "openai", "--via", via, "--base-url", relay.base_url)

    out, err = capfd.readouterr()
    assert (status, out) == (0, "42\n"), err
    assert [line.split()[:4] for line in err.splitlines()] == [["request", "info", "dropped", "/temperature"]]


def test_an_endpoint_that_cannot_count_is_named_with_the_option(monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    """Chat Completions has no such endpoint, and a shell has no function to pass."""
    assert _run(monkeypatch, ASKED, "count", "--from", "openai", "--base-url", "http://127.0.0.1:9") == 2

    assert capfd.readouterr().err == (
        "formatbridge: the chat_completions endpoint cannot count tokens, expected --via with another format\n"
    )


def test_losses_are_reported_and_nothing_is_counted_from_the_severity_on(monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    """The number would be that of another request."""
    address = ("--base-url", "http://127.0.0.1:9", "--report", "json")

    assert _run(monkeypatch, ASKED, "count", "--from", "openai", "--via", "messages", *address, "--raise-on", "info") == 1

    report = json.loads(capfd.readouterr().err)
    assert [(loss["direction"], loss["path"]) for loss in report["losses"]] == [("request", "/temperature")]


@pytest.mark.parametrize("source", [("--from", "messages"), ()], ids=["named", "detected"])
def test_a_request_to_count_tokens_is_converted(monkeypatch: pytest.MonkeyPatch, capfd: Captured, source: tuple[str, ...]) -> None:
    """The fields of the answer do not change the count, and the endpoint rejects them."""
    request = {"model": "m", "system": "Be brief.", "messages": ASKED["messages"], "max_tokens": 9}

    assert _run(monkeypatch, request, "convert", "--kind", "count_request", *source, "--to", "responses", "--report", "json") == 0

    out, err = capfd.readouterr()
    assert json.loads(out) == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": "Tall?"}],
    }
    assert [(loss["path"], loss["code"]) for loss in json.loads(err)["losses"]] == [("/max_tokens", "not_counted")]


def test_the_path_of_a_count_in_gemini_is_reported(monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    """The model is in the URL."""
    request = ("convert", "--kind", "count_request", "--from", "messages", "--to", "gemini", "--report", "json")

    assert _run(monkeypatch, {"model": "m", "messages": ASKED["messages"]}, *request) == 0

    assert json.loads(capfd.readouterr().err)["path"] == "/v1beta/models/m:countTokens"


def test_answers_with_token_counts_are_converted_line_by_line(tmp_path: Path, capfd: Captured) -> None:
    """A log has many of them."""
    log = tmp_path / "counts.jsonl"
    log.write_text('{"input_tokens": 3}\n{"input_tokens": 40}\n')

    assert main(["convert", str(log), "--kind", "count_response", "--from", "messages", "--to", "gemini"]) == 0

    assert capfd.readouterr().out == '{"totalTokens":3}\n{"totalTokens":40}\n'


@pytest.mark.parametrize("command", ["send", "count"])
def test_a_request_is_sent_as_its_model_accepts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: Captured, command: str
) -> None:
    """Facts have the same effect on a request that is sent as on one that is converted."""
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps({"m": {"inputs": ["text"], "refuses": ["tools"]}}))
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    request = ASKED | {"tools": [tool], "messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]}]}
    options = ("--facts", str(facts), "--raise-on", "none", "--report", "json")
    with served("A cat.", count_tokens=42) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))
        status = _run(
            monkeypatch, request, command, "--from", "openai", "--via", "messages", "--base-url", relay.base_url, *options
        )
        sent = relay.requests[0].body

    assert status == 0
    assert sent["messages"] == [{"role": "user", "content": "What is it?"}]
    assert "tools" not in sent
    losses = json.loads(capfd.readouterr().err)["losses"]
    assert {"refused_by_model", "unsupported_by_model"} <= {loss["code"] for loss in losses}
