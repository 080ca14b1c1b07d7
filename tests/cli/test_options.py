"""Options of the command line, and what a command prints when it fails."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.cli.main import main
from formatbridge.cli.parser import build_parser, options_of
from formatbridge.testing import Answer, Failure, FakeRelay, ToolCall
from formatbridge.testing.relay_server import served
from tests.support.servers import body_of, stream_of

Captured = pytest.CaptureFixture[bytes]
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
LATER = [*ASKED["messages"], {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go on."}]
SIGNED = body_of("responses", "messages", "reasoning_signed")
BUSY = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n'


def _run(monkeypatch: pytest.MonkeyPatch, raw: Any, *arguments: str) -> int:
    """Run a command with text on its standard input."""
    content = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    return main(arguments)


OPTIONS: dict[str, tuple[str, Any, tuple[str, ...], Callable[[Any], Any], Any, Any]] = {
    "--default-max-tokens": ("request chat_completions messages", ASKED, ("77",), lambda body: body["max_tokens"], 77, 4096),
    "--stream": ("request chat_completions messages", ASKED, (), lambda body: body.get("stream"), True, None),
    "--model": ("request chat_completions messages", ASKED, ("m-other",), lambda body: body["model"], "m-other", "m"),
    "--messages-version": (
        "request chat_completions messages",
        ASKED | {"temperature": 0.5},
        ("2026-10-21",),
        lambda body: body.get("temperature"),
        None,
        0.5,
    ),
    "--mid-system": (
        "request chat_completions responses",
        ASKED | {"messages": LATER},
        ("hoist",),
        lambda body: [item["role"] for item in body["input"]],
        ["user", "user"],
        ["user", "system", "user"],
    ),
    "--unsigned-reasoning": (
        "request chat_completions responses",
        ASKED | {"messages": [*ASKED["messages"], {"role": "assistant", "reasoning_content": "Hm.", "content": "Yes."}]},
        ("text",),
        lambda body: [item["content"] for item in body["input"]],
        ["hi", "Hm.", "Yes."],
        ["hi", "Yes."],
    ),
    "--created": ("response messages chat_completions", SIGNED, ("7",), lambda body: body["created"], 7, 0),
    "--drop-reasoning": ("response messages chat_completions", SIGNED, (), lambda body: "fb1|" in json.dumps(body), False, True),
    "--status": (
        "error chat_completions generate_content",
        {"error": {"message": "no"}},
        ("429",),
        lambda body: body["error"]["status"],
        "RESOURCE_EXHAUSTED",
        "INVALID_ARGUMENT",
    ),
}
"""Option to the conversion (kind, source, target), the body, the value of the option, where it shows, and the result with and without it.


"""


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_reaches_the_conversion(option: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """An option that is read and ignored would mislead its user."""
    conversion, raw, value, look, expected, default = OPTIONS[option]
    kind, source, target = conversion.split()
    command = ("convert", "--kind", kind, "--from", source, "--to", target)

    assert _run(monkeypatch, raw, *command) == 0
    without = json.loads(capfdbinary.readouterr().out)
    assert _run(monkeypatch, raw, *command, option, *value) == 0
    result = json.loads(capfdbinary.readouterr().out)

    assert (look(result), look(without)) == (expected, default)


REFUSED = ("convert", "--kind", "request", "--from", "chat_completions", "--to", "messages", "--raise-on", "lossy")


def test_losses_above_raise_on_are_reported(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """The text of the error names a few losses; a script needs all of them, as without the error."""
    losing = ASKED | {"seed": 7, "logit_bias": {"5": 1}, "n": 1}

    assert _run(monkeypatch, losing, *REFUSED, "--report", "json") == 1

    report = json.loads(capfdbinary.readouterr().err)
    assert {loss["path"] for loss in report["losses"]} >= {"/seed", "/logit_bias"}
    assert [item["path"] for item in report["additions"]] == ["/max_tokens"]
    assert report["error"].startswith("conversion loses ")


@pytest.mark.parametrize(("form", "lines"), [("table", 3), ("none", 1)])
def test_losses_above_raise_on_are_reported_in_the_selected_form(
    form: str, lines: int, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """A table for people, nothing with ``--report none``; the error itself is always printed."""
    assert _run(monkeypatch, ASKED | {"seed": 7}, *REFUSED, "--report", form) == 1

    printed = capfdbinary.readouterr().err.decode().splitlines()
    assert len(printed) == lines
    assert printed[-1].startswith("formatbridge: conversion loses /seed")
    assert printed[0].split()[:3] == ["lossy", "dropped", "/seed"] or form == "none"


@pytest.mark.parametrize("streams", [True, False])
def test_losses_of_a_request_are_reported_if_its_answer_fails(
    streams: bool, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """The relay has answered the converted request, and a loss in it may be the reason for the failure."""
    script = "Hello there." if streams else Failure(400, "no such model")
    with served(script, quirks=["eof_without_terminal"] if streams else []) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))
        raw = ("--base-url", relay.base_url, "--from", "chat_completions", "--via", "messages", "--report", "json")

        status = _run(monkeypatch, ASKED | {"seed": 7}, "send", *raw, *(["--stream"] if streams else []))

    report = json.loads(capfdbinary.readouterr().err)
    assert status == 3
    assert {("request", "/seed")} <= {(loss["direction"], loss["path"]) for loss in report["losses"]}
    assert {("request", "/max_tokens")} <= {(item["direction"], item["path"]) for item in report["additions"]}


@pytest.mark.parametrize("streams", [True, False])
def test_the_report_separates_request_and_answer(streams: bool, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """A pointer leads into the request or into the answer; the report states which."""
    message = {}
    for form in ("json", "table"):
        with served("Hello.") as relay:
            monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))
            raw = ("--base-url", relay.base_url, "--from", "responses", "--via", "chat_completions", "--report", form)
            request = {"model": "m", "input": "hi", "truncation": "auto"}
            assert _run(monkeypatch, request, "send", *raw, *(["--stream"] if streams else [])) == 0
        message[form] = capfdbinary.readouterr().err

    report = json.loads(message["json"])
    assert ("request", "/truncation") in [(loss["direction"], loss["path"]) for loss in report["losses"]]
    assert "answer" in [item["direction"] for item in report["additions"]]
    assert {line.split()[0] for line in message["table"].decode().splitlines()} == {"request", "answer"}


def test_a_kind_that_does_not_match_needs_a_format(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """The detection was sure about another kind."""
    assert _run(monkeypatch, ASKED | {"n": 1}, "convert", "--kind", "response", "--to", "messages") == 2

    assert "it may be a chat_completions request or a messages request: pass --from" in capfdbinary.readouterr().err.decode()


def test_a_truncated_stream_of_a_relay_has_exit_status_three(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """A script that sees 3 may try again; 2 would mean that its input is bad."""
    with served("Hello there.", quirks=["eof_without_terminal"]) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))

        status = _run(monkeypatch, ASKED, "send", "--base-url", relay.base_url, "--from", "chat_completions", "--stream")

    out, reported = capfdbinary.readouterr()
    assert status == 3
    assert out.startswith(b"Hello there.")
    assert b"ended before" in reported


COLLECTING = ("stream", "--from", "messages", "--to", "chat_completions", "--collect")


@pytest.mark.parametrize("ending", [BUSY, b""], ids=["failed", "cut"])
def test_collecting_a_truncated_stream_writes_no_body(
    ending: bytes, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """A user who collects to a file must find neither half an answer nor an error event in it."""
    begun = stream_of("messages")
    begun = begun[: begun.index(b"event: message_delta")]

    status = _run(monkeypatch, begun + ending, *COLLECTING)

    out, reported = capfdbinary.readouterr()
    assert status == 2
    assert out == b""
    assert b"busy" in reported if ending else b"ended before" in reported


def test_a_failed_stream_reports_losses_before_the_failure(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """The part before the failure was converted and sent."""
    begun = stream_of("messages").replace(b'"role":"assistant"', b'"role":"assistant","x_new":5')
    begun = begun[: begun.index(b"event: message_delta")]

    status = _run(monkeypatch, begun + BUSY, *COLLECTING, "--report", "json")

    report = json.loads(capfdbinary.readouterr().err)
    assert status == 2
    assert "/x_new" in [loss["path"] for loss in report["losses"]]
    assert "busy" in report["error"]


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_stream_is_collected_in_the_same_format(
    format: fb.Format, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """A user reads a recorded stream as an answer."""
    assert _run(monkeypatch, stream_of(format), "stream", "--from", format, "--to", format, "--collect") == 0

    assert json.loads(capfdbinary.readouterr().out) == fb.collect_stream([stream_of(format)], source=format).body


CUT = stream_of("messages")[:400]
REPORTED_IN_JSON: dict[str, tuple[int, Any, tuple[str, ...], set[str]]] = {
    "done": (0, ASKED, ("convert", "--from", "chat_completions", "--kind", "request", "--to", "messages"), set()),
    "detected": (0, ASKED | {"n": 1}, ("convert", "--to", "messages"), {"read_as"}),
    "in the URL": (0, ASKED | {"n": 1}, ("convert", "--to", "generate_content"), {"read_as", "path"}),
    "refused": (1, ASKED | {"n": 1, "seed": 7}, ("convert", "--to", "messages", "--raise-on", "lossy"), {"read_as", "error"}),
    "an error": (
        0,
        {"type": "error", "error": {"type": "api_error", "message": "x"}},
        ("convert", "--to", "responses"),
        {"read_as", "status"},
    ),
    "bad input": (2, b"{", ("convert", "--to", "messages"), {"error"}),
    "no file": (2, b"", ("convert", "nowhere.json", "--to", "messages"), {"error"}),
    "cut": (2, CUT, ("stream", "--from", "messages", "--to", "responses"), {"error"}),
    "failed": (2, CUT + b"\n\n" + BUSY, ("stream", "--from", "messages", "--to", "responses"), {"error"}),
    "no relay": (3, ASKED, ("send", "--from", "messages", "--via", "messages", "--base-url", "http://127.0.0.1:9"), {"error"}),
}


@pytest.mark.parametrize("case", REPORTED_IN_JSON)
def test_a_json_report_is_one_document(case: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """A script parses all of standard error; a line of text before or after the document would break it."""
    status, raw, command, reported = REPORTED_IN_JSON[case]
    if case == "no relay":
        raw = body_of("requests", "messages")

    assert _run(monkeypatch, raw, *command, "--report", "json") == status

    report = json.loads(capfdbinary.readouterr().err.decode("ascii"))
    assert report.keys() == {"losses", "additions", *reported}


@pytest.mark.parametrize(("stream", "method"), [(True, "streamGenerateContent?alt=sse"), (False, "generateContent")])
def test_what_is_only_in_the_url_is_reported(
    stream: bool, method: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """The model and the stream flag are no longer in the body; a user who sends it by hand must know where they are."""
    command = ("convert", "--from", "chat_completions", "--kind", "request", "--to", "generate_content")
    request = ASKED | {"stream": stream}

    assert _run(monkeypatch, request, *command, "--report", "json") == 0
    report = json.loads(capfdbinary.readouterr().err)
    assert _run(monkeypatch, request, *command) == 0
    table = capfdbinary.readouterr().err.decode()

    assert report["path"] == f"/v1beta/models/m:{method}"
    assert table.endswith(f"/v1beta/models/m:{method}\n")


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_a_url_without_model_and_streaming_is_not_reported(
    target: fb.Format, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """The body has both values."""
    command = ("convert", "--from", "chat_completions", "--kind", "request", "--to", target)

    assert _run(monkeypatch, ASKED, *command, "--report", "json") == 0

    assert "path" not in json.loads(capfdbinary.readouterr().err)


def test_a_truncated_demo_has_exit_status_three(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """As with every command that calls a relay."""
    with served("Hello there.", quirks=["eof_without_terminal"]) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))

        status = _run(monkeypatch, b"", "demo", "--base-url", relay.base_url)

    assert status == 3
    assert b"formatbridge: the bytes ended before" in capfdbinary.readouterr().err


def _run_in_ascii(relay: FakeRelay, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process whose output is not UTF-8, as on some Windows machines."""
    environment = os.environ | {"PYTHONIOENCODING": "cp1252", "FORMATBRIDGE_API_KEY": str(relay.api_key)}
    command = [sys.executable, "-m", "formatbridge", *arguments, "--base-url", relay.base_url]
    return subprocess.run(command, capture_output=True, input=json.dumps(ASKED).encode(), env=environment, check=False)


@pytest.mark.parametrize(
    "command",
    [("send", "--from", "chat_completions", "--via", "messages", "--stream"), ("models",), ("demo",)],
    ids=lambda command: command[0],
)
def test_the_output_is_utf_8_whatever_the_encoding_of_the_terminal(command: tuple[str, ...]) -> None:
    """A model may return any character. A code page lacks many of them, and the command must not fail."""
    with served("Snow \N{SNOWMAN} here.", models=["m-\N{SNOWMAN}"]) as relay:
        done = _run_in_ascii(relay, *command)

    assert done.returncode == 0, done.stderr
    assert "\N{SNOWMAN}" in done.stdout.decode()


def test_a_warning_is_part_of_a_report_in_json(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """A key that was read from a file ends in a line end. Python would print a warning before the document."""
    with served("Hello there.") as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", f"{relay.api_key}\n")
        raw = ("--base-url", relay.base_url, "--from", "chat_completions", "--report", "json")

        assert _run(monkeypatch, ASKED, "send", *raw) == 0

    report = json.loads(capfdbinary.readouterr().err)
    assert report == {"losses": [], "additions": [], "warnings": ["api_key has white space around it, which was removed"]}


@pytest.mark.parametrize(
    "command", [("send", "--base-url", "http://127.0.0.1:9"), ("convert", "--kind", "request", "--to", "generate_content")]
)
def test_the_error_about_a_missing_model_names_the_option(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """The name of a Python argument does not help in a shell."""
    request = {"contents": [{"parts": [{"text": "hi"}]}]}

    assert _run(monkeypatch, request, *command, "--from", "generate_content", "--report", "none") == 2

    assert capfdbinary.readouterr().err == b"formatbridge: generate_content needs a model: pass --model\n"


def test_the_report_on_an_error_answer_has_its_fields(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """A script waits for ``retry_after`` seconds and does not parse sentences."""
    with served(Failure(429, "slow down", code="busy", retry_after=77)) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", "sk-fake")
        status = _run(monkeypatch, ASKED, "send", "--from", "chat_completions", "--base-url", relay.base_url, "--report", "json")

    printed = json.loads(capfdbinary.readouterr().err)
    assert status == 3
    assert (printed["status"], printed["code"], printed["retry_after"]) == (429, "busy", 77)


@pytest.mark.parametrize(("floor", "status"), [("impossible", 1), ("none", 0)])
def test_raise_on_sets_which_losses_send_accepts(monkeypatch: pytest.MonkeyPatch, floor: str, status: int) -> None:
    """A user who accepts the losses can send the request."""
    request = ASKED | {"n": 2}
    with served("Hello") as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", "sk-fake")
        result = _run(
            monkeypatch,
            request,
            "send",
            "--from",
            "chat_completions",
            "--via",
            "messages",
            "--base-url",
            relay.base_url,
            "--raise-on",
            floor,
        )

    assert result == status


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_stream_without_text_has_a_note(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured, form: str) -> None:
    """An answer with tool calls only has no text to write."""
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    with served(Answer(tool_calls=[ToolCall("look")])) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", "sk-fake")
        options = ("--base-url", relay.base_url, "--stream", "--report", form)
        assert _run(monkeypatch, ASKED | {"tools": [tool]}, "send", "--from", "chat_completions", *options) == 0

    out, err = capfdbinary.readouterr()
    assert out == b""
    assert b"the answer has no text" in err


def test_a_stream_without_an_event_has_no_report(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """Additions to an answer that was not written do not concern the user."""
    assert _run(monkeypatch, b"", "stream", "--from", "messages", "--to", "chat_completions", "--report", "json") == 2

    printed = json.loads(capfdbinary.readouterr().err)
    assert (printed["losses"], printed["additions"]) == ([], [])


def test_a_truncated_stream_ends_as_configured(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """An option of a conversion has the same name in every command."""
    data = stream_of("messages")
    cut = data[: data.index(b"event: message_delta")]

    result = ("stream", "--from", "messages", "--to", "chat_completions", "--report", "none")

    assert _run(monkeypatch, cut, *result) == 2
    assert _run(monkeypatch, cut, *result, "--on-truncated", "close", "--created", "5") == 0
    assert capfdbinary.readouterr().out.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("command", [("send", "--from", "messages"), ("models",)])
def test_the_error_about_a_missing_base_url_names_the_option(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """The shell has no Python arguments and no profiles."""
    monkeypatch.delenv("FORMATBRIDGE_BASE_URL", raising=False)

    assert _run(monkeypatch, ASKED, *command) == 2

    assert capfdbinary.readouterr().err == b"formatbridge: base_url is missing, expected --base-url or FORMATBRIDGE_BASE_URL\n"


@pytest.mark.parametrize("option", [field.name for field in fields(fb.Options)])
def test_every_option_of_a_conversion_has_an_argument(option: str) -> None:
    """An option that only Python code can set is not available to a shell."""
    arguments = build_parser().parse_args(["convert", "--to", "messages"])

    assert getattr(options_of(arguments), option) == getattr(fb.Options(), option)
    assert hasattr(arguments, option)


@pytest.mark.parametrize(("option", "value"), [("unsigned_reasoning", "item"), ("unsigned_calls", "leave"), ("json_mode", "drop")])
def test_each_choice_of_an_argument_sets_its_option(option: str, value: str) -> None:
    """A script that names an option gets that conversion."""
    arguments = build_parser().parse_args(["convert", "--to", "messages", f"--{option.replace('_', '-')}", value])

    assert getattr(options_of(arguments), option) == value


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "request",
            ("--requests", "requests.jsonl"),
            "--requests has an effect only with --batch: add --batch, or leave out --requests",
        ),
        ("request", ("--status", "404"), "--status has no effect on a body of kind request, expected error"),
        ("request", ("--jobs", "0"), "--jobs is 0, expected 1 or more"),
        ("request", ("--jobs", "3"), "--jobs needs several inputs or JSON lines, and this is one body: leave out --jobs"),
        ("response", ("--model", "m"), "--model has no effect on a body of kind response, expected request or count_request"),
        ("response", ("--stream",), "--stream has no effect on a body of kind response, expected request"),
    ],
)
def test_an_option_without_effect_is_a_usage_error(
    kind: str, options: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured
) -> None:
    """A user who passes an option expects its effect. The kind may also be detected."""
    body, source, target = (ASKED, "chat_completions", "messages") if kind == "request" else (SIGNED, "messages", "responses")

    for named in (("--kind", kind), ()):
        assert _run(monkeypatch, body, "convert", "--from", source, "--to", target, *named, *options) == 2

        out, error = capfdbinary.readouterr()
        assert (out, error.decode()) == (b"", f"formatbridge: {message}\n")


@pytest.mark.parametrize("option", [("--from", "gemini"), ("--to", "gemini")])
def test_a_pair_of_formats_and_all_formats_exclude_each_other(option: tuple[str, str], capfdbinary: Captured) -> None:
    """``--all`` runs every format, so a pair has no effect."""
    assert main(["demo", "--all", *option]) == 2

    message = b"--all cannot be combined with --from or --to: leave out --all for one pair of formats"
    assert capfdbinary.readouterr().err == b"formatbridge: %b\n" % message


def test_the_demonstration_of_a_dialect_is_a_usage_error(capfdbinary: Captured) -> None:
    """The message is in the words of the command line."""
    assert main(["demo", "--to", "openai@openrouter"]) == 2

    error = capfdbinary.readouterr().err
    assert error.startswith(b"formatbridge: the demonstration has no dialects and no registered formats: use one of chat_")
