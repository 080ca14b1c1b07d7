"""Commands: JSON in, JSON out, the report on standard error, and exit statuses for scripts."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.cli.main import main
from formatbridge.convert.wire_models import models_of
from formatbridge.testing.relay_server import served

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 7}


class _Input(io.TextIOWrapper):
    def __init__(self, value: Any) -> None:
        super().__init__(io.BytesIO(value if isinstance(value, bytes) else json.dumps(value).encode()))


def _give(monkeypatch: pytest.MonkeyPatch, value: Any) -> None:
    monkeypatch.setattr(sys, "stdin", _Input(value))


def test_a_body_from_standard_input_is_converted_with_the_report_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A shell pipes one request into another tool, and a person reads what was lost."""
    _give(monkeypatch, REQUEST)

    status = main(["convert", "--from", "chat_completions", "--to", "messages", "--kind", "request"])

    out, reported = capfdbinary.readouterr()
    assert status == 0
    assert json.loads(out)["max_tokens"] == 4096
    assert b"/seed" in reported
    assert b"/max_tokens" in reported


def test_the_report_can_be_json(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A script reads the losses."""
    _give(monkeypatch, REQUEST)

    main(["convert", "--from", "chat_completions", "--to", "messages", "--kind", "request", "--report", "json"])

    report = json.loads(capfdbinary.readouterr().err)
    assert [loss["path"] for loss in report["losses"]] == ["/seed"]
    assert [item["path"] for item in report["additions"]] == ["/max_tokens"]


def test_a_loss_at_raise_on_gives_exit_status_one_and_no_output(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A pipeline must stop before a value is lost."""
    _give(monkeypatch, REQUEST)

    status = main(["convert", "--from", "chat_completions", "--to", "messages", "--kind", "request", "--raise-on", "lossy"])

    out, reported = capfdbinary.readouterr()
    assert status == 1
    assert out == b""
    assert b"/seed" in reported


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"model": 5, "messages": []}'])
def test_invalid_input_gives_exit_status_two_and_its_location(
    text: bytes, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A user who typed the command sees where the fault is."""
    _give(monkeypatch, text)

    status = main(["convert", "--from", "chat_completions", "--to", "messages", "--kind", "request"])

    out, reported = capfdbinary.readouterr()
    assert status == 2
    assert out == b""
    assert reported.startswith(b"formatbridge: chat_completions request: ")


def test_format_and_kind_are_detected_and_reported(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What was detected is on standard error."""
    _give(monkeypatch, {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]})

    status = main(["convert", "--to", "chat_completions", "--model", "m"])

    out, reported = capfdbinary.readouterr()
    assert status == 0
    assert json.loads(out)["messages"] == [{"role": "user", "content": "hi"}]
    assert b"read as generate_content request" in reported


def test_a_body_inside_a_file_is_selected_by_pointer(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Logs and fixtures keep the body next to other things."""
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"about": "x", "body": REQUEST}))

    assert main(["convert", str(file), "--at", "/body", "--to", "responses"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["model"] == "m"
    assert main(["convert", str(file), "--at", "/nobody", "--to", "responses"]) == 2


def test_detect_prints_format_and_reasons(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A user has a payload from a log and does not know its format."""
    _give(monkeypatch, {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"})

    assert main(["detect"]) == 0
    result = json.loads(capfdbinary.readouterr().out)
    assert (result["format"], result["kind"]) == ("messages", "response")
    assert result["reasons"]


def test_detect_gives_exit_status_one_for_an_unknown_format(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A shell script reads the status, as that of ``grep``."""
    _give(monkeypatch, {"text": "hello"})

    assert main(["detect"]) == 1
    assert json.loads(capfdbinary.readouterr().out)["format"] is None


@pytest.mark.parametrize("format", fb.FORMATS)
def test_every_model_has_a_json_schema(format: fb.Format, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Another language generates its types from it."""
    names = models_of(format)
    for name in ("request", "response", "error", "models", *names):
        assert main(["schema", f"{format}.{name}"]) == 0
        assert json.loads(capfdbinary.readouterr().out)


def test_an_ambiguous_body_is_not_converted(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A wrong guess would be a wrong conversion with exit status 0."""
    _give(monkeypatch, {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]})

    assert main(["convert", "--to", "responses"]) == 2
    assert capfdbinary.readouterr().err.endswith(b"it may be a messages request or a chat_completions request: pass --from\n")


def test_an_unknown_schema_is_refused_with_the_known_ones(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A typing error."""
    assert main(["schema", "chat.request"]) == 2
    assert b"expected FORMAT, FORMAT.KIND or FORMAT.MODEL of chat_completions" in capfdbinary.readouterr().err
    assert main(["schema", "mesages.request"]) == 2
    assert b"did you mean 'messages'?" in capfdbinary.readouterr().err


def test_the_error_for_a_misspelt_model_suggests_similar_names(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Of two hundred names the right one is nearly always among the three suggestions."""
    assert main(["schema", "messages.TextBlok"]) == 2
    printed = capfdbinary.readouterr().err
    assert b"no model 'TextBlok': perhaps TextBlock" in printed
    assert b"`formatbridge schema messages` names them all" in printed


@pytest.mark.parametrize("format", fb.FORMATS)
def test_schema_with_a_format_lists_its_models(format: fb.Format, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A user who reuses the models looks for one of them; each name has a schema."""
    assert main(["schema", format]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    named = dict(line.split("  ", 1) for line in lines)

    wire = import_module(f"formatbridge.formats.{format}.wire")
    models = {f"{format}.{name}" for name in wire.__all__ if isinstance(getattr(wire, name), type)}
    assert list(named)[:2] == [f"{format}.Request", f"{format}.Response"]
    assert models <= named.keys()
    assert all(about.strip() for about in named.values())


def test_the_matrix_can_be_read_by_source(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A user wants to know what a conversion from one format loses."""
    assert main(["matrix"]) == 0
    whole = capfdbinary.readouterr().out.decode()
    assert main(["matrix", "--source", "messages"]) == 0
    output = capfdbinary.readouterr().out.decode()

    assert "budget" in whole
    assert "seed" in whole
    assert "seed" not in output


def _stream() -> bytes:
    answer: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    answer |= {"content": [{"type": "text", "text": "Eternal."}], "usage": {"input_tokens": 12, "output_tokens": 3}}
    return b"".join(fb.replay_response(answer, source="messages"))


def test_a_stream_is_converted_from_standard_input_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A pipe shows a recorded stream in another format."""
    _give(monkeypatch, _stream())

    status = main(["stream", "--from", "messages", "--to", "chat_completions", "--report", "none"])

    out, _ = capfdbinary.readouterr()
    assert status == 0
    assert out == b"".join(fb.convert_stream([_stream()], source="messages", target="chat_completions"))


def test_a_stream_is_collected_to_one_answer_and_replayed(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """``--collect`` writes the whole answer, ``--replay`` reads one."""
    _give(monkeypatch, _stream())
    assert main(["stream", "--from", "messages", "--to", "chat_completions", "--collect"]) == 0
    answer = json.loads(capfdbinary.readouterr().out)
    _give(monkeypatch, answer)
    assert main(["stream", "--from", "chat_completions", "--to", "chat_completions", "--replay"]) == 0

    assert answer["choices"][0]["message"]["content"] == "Eternal."
    assert b"Eternal." in capfdbinary.readouterr().out


def test_a_stream_that_failed_gives_a_failure_status(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A model that fails in the middle of an answer is reported in the target's format, and to the script by exit status 2."""
    _give(monkeypatch, b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n')

    status = main(["stream", "--from", "messages", "--to", "chat_completions"])

    out, reported = capfdbinary.readouterr()
    assert status == 2
    assert b"busy" in out
    assert b"busy" in reported


def test_a_replay_reports_what_it_loses(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """What the target cannot hold is reported on standard error, as for a conversion."""
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "x_new": 5}
    _give(monkeypatch, answer | {"choices": [{"index": 0, "message": {"content": "A"}, "finish_reason": "stop"}]})

    status = main(["stream", "--from", "chat_completions", "--to", "messages", "--replay"])

    assert status == 0
    assert b"/x_new" in capfdbinary.readouterr().err


@pytest.mark.parametrize("target", ["responses", "messages"])
def test_a_replay_of_an_answer_that_failed_gives_a_failure_status(
    target: fb.Format, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A script gets the same failure as from the live stream; what the stream contains is not reported as lost."""
    message: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "incomplete"}
    message |= {"content": [{"type": "output_text", "text": "Vinnu", "annotations": []}]}
    answer: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "failed"}
    answer |= {"error": {"code": "server_error", "message": "busy"}, "output": [message]}
    _give(monkeypatch, answer)

    status = main(["stream", "--from", "responses", "--to", target, "--replay"])

    out, reported = capfdbinary.readouterr()
    assert status == 2
    assert (b"Vinnu" in out, b"busy" in out, b"the stream failed, server: busy" in reported) == (True, True, True)
    assert b"/output/0/content" not in reported


def test_a_truncated_stream_fails_the_command(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A script must not take half an answer for a whole one: the reader of the target gets an error event, the script exit status 2."""
    _give(monkeypatch, _stream()[:-60])

    status = main(["stream", "--from", "messages", "--to", "chat_completions"])

    out, reported = capfdbinary.readouterr()
    assert status == 2
    assert b"error" in out
    assert b"ended before" in reported


@pytest.mark.parametrize("extra", [[], ["--collect"]])
def test_a_stream_is_written_to_a_file(extra: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The file has what standard output would have."""
    source, output = tmp_path / "answer.sse", tmp_path / "new" / "converted"
    source.write_bytes(_stream())
    command = ["stream", str(source), "--from", "messages", "--to", "chat_completions", *extra]
    assert main(command) == 0
    expected = capfdbinary.readouterr().out

    status = main([*command, "-o", str(output)])

    assert (status, capfdbinary.readouterr().out) == (0, b"")
    assert output.read_bytes() == expected


def test_a_truncated_stream_leaves_no_file(tmp_path: Path) -> None:
    """A script that ignores the exit status must not read half an answer. An earlier file stays as it was."""
    source, output = tmp_path / "answer.sse", tmp_path / "converted.sse"
    source.write_bytes(_stream()[:-60])
    command = ["stream", str(source), "--from", "messages", "--to", "chat_completions", "-o", str(output)]

    assert main(command) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["answer.sse"]
    output.write_bytes(b"earlier")
    assert main(command) == 2
    assert output.read_bytes() == b"earlier"


def test_a_stream_that_loses_too_much_ends_in_an_error_event(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The reader of a pipe gets an end or an error event; the script gets exit status 1."""
    _give(monkeypatch, b'event: made_up\ndata: {"type": "made_up", "x": 1}\n\n' + _stream())

    status = main(["stream", "--from", "messages", "--to", "chat_completions", "--raise-on", "lossy"])

    out, reported = capfdbinary.readouterr()
    assert status == 1
    assert out.count(b'"error"') == 1
    assert b"[DONE]" not in out
    assert b"conversion loses" in reported


def test_a_stream_whose_input_breaks_ends_in_an_error_event(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A disk or a terminal that has gone is handled like a broken connection."""
    _give(monkeypatch, _stream())
    pieces = iter([_stream()[:-60]])

    def read(_size: int) -> bytes:
        for piece in pieces:
            return piece
        raise OSError("input/output error")

    monkeypatch.setattr(sys.stdin.buffer, "read1", read)

    status = main(["stream", "--from", "messages", "--to", "chat_completions"])

    out, reported = capfdbinary.readouterr()
    assert status == 2
    assert out.count(b'"error"') == 1
    assert b"input/output error" in reported


def test_the_demo_command_shows_every_format(capfd: pytest.CaptureFixture[str]) -> None:
    """A new user runs this first; it needs no relay, no key and no network."""
    assert main(["demo", "--all"]) == 0

    assert capfd.readouterr().out.count("sunny in Rome, at 24") == 4


def test_a_request_is_sent_and_answered_in_its_format(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A user tries a relay from the shell: an answer, a stream, and its models."""
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 1}
    with served(["Hello.", "Hello again."], models=["m-far"]) as relay:
        monkeypatch.setenv("FORMATBRIDGE_API_KEY", str(relay.api_key))
        monkeypatch.setenv("FORMATBRIDGE_BASE_URL", relay.base_url)
        sending = ["send", "--from", "chat_completions", "--via", "messages"]
        _give(monkeypatch, request)
        assert main(sending) == 0
        answer, report = capfd.readouterr()
        _give(monkeypatch, request)
        assert main([*sending, "--stream"]) == 0
        text = capfd.readouterr().out
        assert main(["models"]) == 0
        models = capfd.readouterr().out

    assert json.loads(answer)["choices"][0]["message"]["content"] == "Hello."
    assert "/seed" in report
    assert text == "Hello again.\n"
    assert [model["id"] for model in json.loads(models)] == ["m-far"]


def test_an_unreachable_relay_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """There is no traceback, and the exit status differs from that of bad input."""
    monkeypatch.setenv("FORMATBRIDGE_BASE_URL", "http://127.0.0.1:9")

    assert main(["models"]) == 3

    assert "127.0.0.1" in capfd.readouterr().err


def test_an_interrupt_shows_no_traceback(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Shells use 130 for a command that was interrupted."""

    def interrupted(_file: str | None) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr("formatbridge.cli.commands.read_file", interrupted)

    assert main(["detect"]) == 130
    assert capfd.readouterr().err == ""


def test_a_closed_pipe_ends_a_command_without_a_message() -> None:
    """As in a pipe to ``head``, which closes its input."""
    command = [sys.executable, "-m", "formatbridge", "schema", "responses.request"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()

        printed = process.stderr.read()

    assert (process.wait(), printed) == (0, b"")


def _in_a_shell(redirection: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command with standard streams as a shell sets them."""
    script = f'exec "$0" -m formatbridge "$@" {redirection}'
    return subprocess.run(["/bin/sh", "-c", script, sys.executable, *arguments], capture_output=True, input=b"", check=False)


@pytest.fixture
def request_file(tmp_path: Path) -> str:
    file = tmp_path / "request.json"
    file.write_text(json.dumps(REQUEST))
    return str(file)


CONVERT = ("convert", "--from", "chat_completions", "--kind", "request", "--to", "messages")
requires_shell = pytest.mark.skipif(not Path("/bin/sh").exists(), reason="no shell to close streams with")
requires_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")


@requires_shell
@pytest.mark.parametrize("command", [CONVERT, ("stream", "--from", "messages", "--to", "responses"), ("detect",)])
def test_a_closed_standard_input_is_an_input_error(command: tuple[str, ...]) -> None:
    """Services start commands without standard input; exit status 1 would mean losses."""
    done = _in_a_shell("<&-", *command)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"formatbridge: standard input is closed: pass a file\n"


@requires_shell
@pytest.mark.parametrize("command", [CONVERT, ("matrix",), ("schema", "messages.request"), ("demo",)])
def test_a_closed_standard_output_is_an_output_error(command: tuple[str, ...], request_file: str) -> None:
    """The output cannot be written: no success, and no traceback."""
    done = _in_a_shell(">&-", *command, *([request_file] if command is CONVERT else []))

    assert done.returncode == 2
    assert done.stderr == b"formatbridge: standard output is closed\n"


@requires_shell
@pytest.mark.parametrize("form", ["table", "json"])
def test_with_standard_error_closed_the_report_is_not_written_to_standard_output(form: str, request_file: str) -> None:
    """A daemon has no standard error; its output must be the body and nothing else."""
    done = _in_a_shell("2>&-", *CONVERT, "--report", form, request_file)

    assert done.returncode == 0
    assert json.loads(done.stdout)["max_tokens"] == 4096


@requires_shell
def test_with_standard_error_closed_a_usage_error_is_not_written_to_standard_output() -> None:
    """A script that closed its standard error has a typing error."""
    done = _in_a_shell("2>&-", "convert", "--nonsense")

    assert (done.returncode, done.stdout) == (2, b"")


@requires_shell
@requires_full
@pytest.mark.parametrize("command", [("--help",), ("--version",), ("convert", "--help")])
def test_a_help_text_that_cannot_be_written_is_a_failure(command: tuple[str, ...]) -> None:
    """A script that writes the help text to a file must not take an empty file for it."""
    full, closed = _in_a_shell(">/dev/full", *command), _in_a_shell(">&-", *command)

    assert (full.returncode, closed.returncode) == (2, 2)
    assert full.stderr == b"formatbridge: standard input or output: No space left on device\n"
    assert closed.stderr == b"formatbridge: standard output is closed\n"


@requires_shell
@requires_full
def test_the_message_about_a_full_disk_has_no_error_number(request_file: str) -> None:
    """A user reads the reason, not the number of an error of the system."""
    done = _in_a_shell(">/dev/full", *CONVERT, request_file)

    assert done.returncode == 2
    assert done.stderr == b"formatbridge: standard input or output: No space left on device\n"


@requires_shell
@requires_full
def test_a_report_that_cannot_be_written_fails_after_a_complete_body(request_file: str) -> None:
    """The disk of the log is full: the body is complete, and the exit status reports a failure, but not a loss."""
    done = _in_a_shell("2>/dev/full", *CONVERT, request_file)

    assert done.returncode == 2
    assert json.loads(done.stdout)["max_tokens"] == 4096


@requires_shell
@requires_full
@pytest.mark.parametrize("command", [CONVERT, ("schema", "messages.request")])
def test_a_body_that_cannot_be_written_is_a_failure(command: tuple[str, ...], request_file: str) -> None:
    """The disk is full: one line of error, and no message of the interpreter after it."""
    done = _in_a_shell(">/dev/full", *command, *([request_file] if command is CONVERT else []))

    assert done.returncode == 2
    assert done.stderr.startswith(b"formatbridge: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("raw", "text", "value"),
    [
        ((), b"x", "unknown payload: body is not JSON"),
        (("--from", "messages"), b"x", "messages payload: body is not JSON"),
        (("--kind", "request"), b"x", "unknown request: body is not JSON"),
        ((), b"{}", "cannot detect the format or kind of the body: pass --from and --kind"),
        (("--from", "messages"), b"{}", "cannot detect the format or kind of the body: pass --kind"),
        (("--kind", "request"), b"{}", "cannot detect the format or kind of the body: pass --from"),
    ],
)
def test_the_error_names_only_missing_options(
    raw: tuple[str, ...], text: bytes, value: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The message must not ask for an option that the user has passed."""
    _give(monkeypatch, text)

    assert main(["convert", "--to", "responses", *raw]) == 2
    assert capfdbinary.readouterr().err.decode().startswith(f"formatbridge: {value}")


def test_an_invalid_status_is_bad_input(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The status has a digit too many."""
    _give(monkeypatch, {"error": {"message": "no"}})

    assert main(["convert", "--from", "messages", "--kind", "error", "--to", "responses", "--status", "4290"]) == 2
    assert b"status is 4290, expected an HTTP status" in capfdbinary.readouterr().err
