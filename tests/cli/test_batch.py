"""The command line over many bodies: inputs, outputs, failures, interruption and continuation."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.cli.main import main

Captured = pytest.CaptureFixture[bytes]
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 7}
CONVERT = ("convert", "--from", "openai", "--kind", "request", "--to", "anthropic")
INVALID = b'{"model": 5}\n'
requires_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here that is always full")
requires_signals = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal here")


def _request(number: int) -> dict[str, Any]:
    return REQUEST | {"messages": [{"role": "user", "content": f"question {number}"}]}


def _lines(count: int) -> bytes:
    return b"".join(json.dumps(_request(number)).encode() + b"\n" for number in range(count))


def _questions(path: Path) -> list[str]:
    return [json.loads(line)["messages"][0]["content"] for line in path.read_bytes().splitlines()]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(3) + b"\n" + INVALID + _lines(1))
    return path


def test_each_line_is_converted_like_a_body(tmp_path: Path, capfdbinary: Captured) -> None:
    """The lines of the output are those of the library, in the order of the input."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(300))

    assert main([*CONVERT, str(path)]) == 0

    out, report = capfdbinary.readouterr()
    converted = [
        fb.convert_request(_request(number), source="chat_completions", target="messages").json() + b"\n" for number in range(300)
    ]
    assert out == b"".join(converted)
    assert report.splitlines()[-2:] == [
        "lossy  dropped  /seed  ×300  the target has no place for it".encode(),
        b"formatbridge: 300 converted",
    ]


def test_json_lines_come_from_standard_input(monkeypatch: pytest.MonkeyPatch, capfdbinary: Captured) -> None:
    """A pipe has no name that shows what it holds."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_lines(2))))

    assert main([*CONVERT, "-", "--jsonl", "--report", "none"]) == 0

    assert capfdbinary.readouterr().out.count(b"\n") == 2


def test_an_invalid_line_stops_without_output(log: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    """Part of a file looks like a whole one."""
    output = tmp_path / "out.jsonl"
    output.write_bytes(b"before")

    assert main([*CONVERT, str(log), "-o", str(output)]) == 2
    error = capfdbinary.readouterr().err
    assert main([*CONVERT, str(log)]) == 2

    assert error.startswith(f"formatbridge: {log}:5: chat_completions request: ".encode())
    assert capfdbinary.readouterr().out == b""
    assert output.read_bytes() == b"before"
    assert {path.name for path in tmp_path.iterdir()} == {"log.jsonl", "out.jsonl"}


def test_failed_lines_are_written_with_their_reason(log: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    """One bad line of a million must not stop the others, and it can be repaired and converted again."""
    output, failed = tmp_path / "out.jsonl", tmp_path / "failed.jsonl"

    assert main([*CONVERT, str(log), "-o", str(output), "--failed", str(failed), "--report", "json"]) == 2

    record = json.loads(failed.read_bytes())
    assert (record["file"], record["line"], record["body"]) == (str(log), 5, INVALID.decode().strip())
    assert "/model is 5" in record["reason"]
    assert len(_questions(output)) == 4
    report = json.loads(capfdbinary.readouterr().err)
    assert (report["converted"], report["failed"], report["skipped"]) == (4, 1, 0)
    assert [(group["pattern"], group["count"]) for group in report["groups"]] == [("/seed", 4)]


@pytest.mark.parametrize("failed", [True, False])
def test_losses_above_raise_on_are_failures_with_status_one(failed: bool, tmp_path: Path, capfdbinary: Captured) -> None:
    """A script separates invalid lines from losses by the status."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(2))
    options = ["--failed", str(tmp_path / "failed.jsonl")] if failed else []

    assert main([*CONVERT, str(path), "--raise-on", "lossy", *options]) == 1

    out, report = capfdbinary.readouterr()
    assert out == b""
    assert (b"log.jsonl:1: conversion loses /seed" in report) != failed


def test_a_directory_is_converted_into_a_directory(tmp_path: Path) -> None:
    """Names and levels of the inputs stay; other files are left out."""
    source, output = tmp_path / "in", tmp_path / "out"
    (source / "deep").mkdir(parents=True)
    (source / "a.json").write_text(json.dumps(REQUEST))
    (source / "deep" / "b.jsonl").write_bytes(_lines(2))
    (source / "empty.jsonl").write_bytes(b"")
    (source / "notes.txt").write_text("no body")

    assert main([*CONVERT, str(source), "-o", str(output), "--pretty", "--report", "none"]) == 0

    files = {str(path.relative_to(output)): path.read_bytes() for path in output.rglob("*") if path.is_file()}
    assert {name: data.count(b"\n") > 5 for name, data in files.items()} == {
        "a.json": True, "deep/b.jsonl": False, "empty.jsonl": False
    }  # fmt: skip
    assert files["deep/b.jsonl"].count(b"\n") == 2


def test_patterns_and_files_make_one_output(tmp_path: Path) -> None:
    """A shell that does not expand patterns leaves them to the command."""
    for name in ("a1.json", "a2.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(REQUEST))

    assert main([*CONVERT, str(tmp_path / "a*.json"), str(tmp_path / "b.json"), "-o", str(tmp_path / "all.jsonl")]) == 0

    assert len(_questions(tmp_path / "all.jsonl")) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{tmp}/none"], "{tmp}/none has no file whose name ends in .json, .jsonl, .ndjson"),
        (["{tmp}/*.nothing"], "no file matches {tmp}/*.nothing"),
        (["{tmp}/missing.jsonl"], "{tmp}/missing.jsonl: cannot be read: No such file or directory"),
        (["{tmp}/missing.json"], "{tmp}/missing.json: No such file or directory"),
        (["{tmp}/x/a.json", "{tmp}/y/a.json", "-o", "{tmp}/out/"], "{tmp}/x/a.json and {tmp}/y/a.json have the same output"),
        (["{tmp}/x/a.json", "{tmp}/y/a.json", "-o", "{tmp}/o.json"], "-o {tmp}/o.json: several bodies need a directory"),
        (["{tmp}/x", "--resume"], "--resume needs the file or the directory to continue: add -o"),
        (["{tmp}/x", "--jobs", "0"], "--jobs is 0, expected 1 or more"),
        (["{tmp}/x", "--diff"], "--diff compares one body"),
        (["{tmp}/x", "--status", "404"], "--status has no effect on a body of kind request, expected error"),
        (["{tmp}/x", "--batch", "--stream"], "--kind has no effect with --batch"),
    ],
)
def test_inputs_that_cannot_be_used_are_reported(arguments: list[str], message: str, tmp_path: Path, capfdbinary: Captured) -> None:
    """Exit status 2, the reason, and no output."""
    for name in ("none", "x", "y"):
        (tmp_path / name).mkdir()
    for name in ("x", "y"):
        (tmp_path / name / "a.json").write_text(json.dumps(REQUEST))

    assert main([*CONVERT, *(argument.format(tmp=tmp_path) for argument in arguments)]) == 2

    out, error = capfdbinary.readouterr()
    assert out == b""
    assert error.decode().startswith(f"formatbridge: {message.format(tmp=tmp_path)}")


@pytest.mark.parametrize("name", ["", "/*"], ids=["directory", "pattern"])
def test_a_broken_symbolic_link_is_an_input_that_cannot_be_read(name: str, tmp_path: Path, capfdbinary: Captured) -> None:
    """A link to a disk that is not mounted must not look like a complete conversion."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.json").write_text(json.dumps(REQUEST))
    (logs / "b.json").symlink_to("nowhere.json")

    assert main([*CONVERT, f"{logs}{name}", "-o", str(tmp_path / "out")]) == 2

    error = capfdbinary.readouterr().err.decode()
    assert error.startswith(f"formatbridge: {logs / 'b.json'}: cannot be read: No such file or directory")


def test_a_file_that_disappears_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process cleans up while the command runs."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(REQUEST))
    size = Path.stat

    def stat(path: Path, **options: Any) -> os.stat_result:
        result = size(path, **options)
        if path.name == "b.json" and sys._getframe(1).f_code.co_name == "size":
            path.unlink()
        return result

    monkeypatch.setattr(Path, "stat", stat)
    failed = tmp_path / "failed"

    assert main([*CONVERT, str(tmp_path), "-o", str(tmp_path / "out"), "--failed", str(failed)]) == 2

    assert json.loads(failed.read_bytes())["reason"] == "cannot be read: No such file or directory"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.json"]


@requires_full
def test_a_full_disk_is_reported_with_the_file(log: Path, capfdbinary: Captured) -> None:
    """The name shows which disk is full."""
    log.write_bytes(_lines(3))

    assert main([*CONVERT, str(log), "-o", "/dev/full"]) == 2

    assert capfdbinary.readouterr().err == b"formatbridge: /dev/full: No space left on device\n"


def test_one_body_is_written_to_a_file_or_a_directory(tmp_path: Path, capfdbinary: Captured) -> None:
    """``-o`` is the same for one body as for many."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(REQUEST))
    (tmp_path / "out").mkdir()

    assert main([*CONVERT, str(path), "-o", str(tmp_path / "b.json"), "--pretty"]) == 0
    assert main([*CONVERT, str(path), "-o", str(tmp_path / "out")]) == 0
    assert main([*CONVERT, str(path), "-o", str(tmp_path / "c.json"), "--raise-on", "lossy"]) == 1

    assert (tmp_path / "b.json").read_bytes().count(b"\n") > 5
    assert (tmp_path / "out" / "a.json").read_bytes().count(b"\n") == 1
    assert not (tmp_path / "c.json").exists()
    assert capfdbinary.readouterr().out == b""


def test_several_processes_write_lines_in_the_order_of_the_input(tmp_path: Path, capfdbinary: Captured) -> None:
    """The output does not depend on ``--jobs``."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(700))

    assert main([*CONVERT, str(path), "-o", str(tmp_path / "two.jsonl"), "--jobs", "2"]) == 0
    assert main([*CONVERT, str(path), "-o", str(tmp_path / "one.jsonl")]) == 0

    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert "×700".encode() in capfdbinary.readouterr().err


def test_a_stopped_run_is_continued(log: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    """The line is repaired, and what was converted is not converted again."""
    output = tmp_path / "out.jsonl"
    command = [*CONVERT, str(log), "-o", str(output), "--resume"]

    assert main(command) == 2
    assert not output.exists()
    assert b"the same command continues after 3 bodies" in capfdbinary.readouterr().err
    log.write_bytes(_lines(3) + b"\n" + _lines(2))
    assert main(command) == 0

    assert _questions(output) == ["question 0", "question 1", "question 2", "question 0", "question 1"]
    assert b"2 converted, 3 skipped, already in the output" in capfdbinary.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"log.jsonl", "out.jsonl"}
    assert main(command) == 0
    assert b"0 converted, 1 skipped" in capfdbinary.readouterr().err


@pytest.mark.parametrize("failed", ["log.jsonl", "link.jsonl", "out.jsonl"])
def test_a_file_of_failures_that_is_an_input_or_output_is_rejected(
    failed: str, log: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    """It would overwrite the user's data, also through a link to it."""
    before = log.read_bytes()
    (tmp_path / "link.jsonl").symlink_to(log)
    command = [*CONVERT, str(log), "-o", str(tmp_path / "out.jsonl"), "--failed", str(tmp_path / failed)]

    assert main(command) == 2

    assert log.read_bytes() == before
    assert b"choose another file" in capfdbinary.readouterr().err


def test_an_output_that_is_older_than_its_input_is_written_again(tmp_path: Path) -> None:
    """A line was appended after the first run."""
    path, output = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(_lines(1))
    command = [*CONVERT, str(path), "-o", str(output), "--resume"]
    assert main(command) == 0
    path.write_bytes(_lines(2))
    later = output.stat().st_mtime + 10
    os.utime(path, (later, later))

    assert main(command) == 0

    assert len(_questions(output)) == 2


def test_resume_rejects_an_output_that_is_the_input(tmp_path: Path, capfdbinary: Captured) -> None:
    """Otherwise the input would count as converted."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(1))

    assert main([*CONVERT, str(path), "-o", str(path), "--resume"]) == 2

    assert b"is an input and an output" in capfdbinary.readouterr().err


def test_a_pointer_without_a_leading_slash_is_rejected(log: Path, capfdbinary: Captured) -> None:
    """Such a pointer names no value, so the whole body would be converted."""
    assert main([*CONVERT, str(log), "--at", "foo"]) == 2

    assert b"--at is 'foo', expected a JSON pointer such as /foo" in capfdbinary.readouterr().err


def test_a_run_with_other_arguments_is_not_continued(log: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    """The file would have results of two different conversions."""
    output = ["-o", str(tmp_path / "out.jsonl"), "--resume"]
    assert main([*CONVERT, str(log), *output]) == 2

    assert main([*CONVERT, str(log), "--default-max-tokens", "9", *output]) == 2

    assert b"was written with other arguments, remove it to start again" in capfdbinary.readouterr().err


def test_failures_of_a_continued_run_are_kept(tmp_path: Path) -> None:
    """The file of failures has each failed body once."""
    source, failed = tmp_path / "in", tmp_path / "failed.jsonl"
    source.mkdir()
    (source / "a.jsonl").write_bytes(INVALID + _lines(1))
    (source / "b.json").write_bytes(INVALID)
    command = [*CONVERT, str(source), "-o", str(tmp_path / "out"), "--failed", str(failed), "--resume"]

    assert main(command) == 2
    assert main(command) == 2

    assert [json.loads(line)["file"] for line in failed.read_bytes().splitlines()] == [
        str(source / name) for name in ("a.jsonl", "b.json")
    ]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.jsonl"]


def _restore_signals() -> None:
    """Undo what the parent of the tests ignores, such as ``nohup``: a child inherits it."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


@requires_signals
@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_leaves_no_partial_output(number: str, status: int, jobs: str, tmp_path: Path) -> None:
    """Ctrl-C, a service manager, a terminal that was closed: as if the command had not begun."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "formatbridge", *CONVERT, "-", "--jsonl", "-o", str(tmp_path / "out.jsonl"), "--jobs", jobs]
    with subprocess.Popen(command, stdin=reader, stderr=subprocess.PIPE, preexec_fn=_restore_signals) as process:  # noqa: PLW1509
        try:
            os.write(writer, _lines(300))
            deadline = time.monotonic() + 20
            while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
                if jobs == "2":
                    os.write(writer, _lines(50))
                time.sleep(0.05)
            assert list(tmp_path.iterdir())
            process.send_signal(getattr(signal, number))
            _, error = process.communicate(timeout=30)
        finally:
            process.kill()
            os.close(writer)
            os.close(reader)

    assert (process.returncode, error) == (status, b"")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_ends_a_batch(tmp_path: Path) -> None:
    """As in a pipe to ``head``, which closes its input."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(_lines(3000))
    command = [sys.executable, "-m", "formatbridge", *CONVERT, str(path), "--failed", str(tmp_path / "failed"), "--report", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read()

    assert (process.wait(), error) == (0, b"")


BATCH = ("convert", "--batch", "--from", "openai", "--to", "anthropic")


def _batch_line(number: int, **more: Any) -> dict[str, Any]:
    body = _request(number) | more
    return {"custom_id": f"row-{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}


def test_a_batch_file_of_a_vendor_becomes_that_of_another(tmp_path: Path, capfdbinary: Captured) -> None:
    """The output can be sent to the vendor as it is; a bad line is in the file of failures with its pointer."""
    source, output, failed = (tmp_path / name for name in ("openai.jsonl", "anthropic.jsonl", "failed.jsonl"))
    lines = [_batch_line(0), _batch_line(1, messages=5), _batch_line(2)]
    source.write_bytes(b"\n".join(json.dumps(line).encode() for line in lines) + b"\n")

    assert main([*BATCH, str(source), "-o", str(output), "--failed", str(failed)]) == 2

    converted = [json.loads(line) for line in output.read_bytes().splitlines()]
    assert [line["custom_id"] for line in converted] == ["row-0", "row-2"]
    assert [line["params"]["messages"][0]["content"] for line in converted] == ["question 0", "question 2"]
    record = json.loads(failed.read_bytes())
    assert (record["line"], json.loads(record["body"])["custom_id"]) == (2, "row-1")
    assert "/body/messages is 5" in record["reason"]
    report = capfdbinary.readouterr().err.decode()
    assert "/body/seed  ×2" in report
    assert report.endswith(f"formatbridge: 2 converted, 1 failed, see {failed}\n")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_lines_without_an_id_get_one_from_their_number_in_the_file(jobs: str, tmp_path: Path) -> None:
    """The number is that of the line in its file, also in a process that converts a part of it."""
    source, output = tmp_path / "vertex.jsonl", tmp_path / "anthropic.jsonl"
    line = json.dumps({"request": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}}).encode() + b"\n"
    source.write_bytes(b"\n" + line * 300)
    command = ["convert", "--batch", "--from", "gemini", "--to", "anthropic", "--model", "m", str(source), "--jobs", jobs]

    assert main([*command, "-o", str(output), "--report", "none"]) == 0

    ids = [json.loads(text)["custom_id"] for text in output.read_bytes().splitlines()]
    assert ids == [f"line-{number}" for number in range(2, 302)]


def test_a_batch_file_needs_the_name_of_its_format(tmp_path: Path, capfdbinary: Captured) -> None:
    """An envelope alone does not show the endpoint of each result."""
    source = tmp_path / "openai.jsonl"
    source.write_text(json.dumps(_batch_line(0)))

    assert main(["convert", "--batch", "--to", "anthropic", str(source)]) == 2

    assert b"add --from" in capfdbinary.readouterr().err


def test_a_batch_file_without_its_option_is_recognized(tmp_path: Path, capfdbinary: Captured) -> None:
    """The envelope hides the body from detection, and the message states the option."""
    source = tmp_path / "openai.jsonl"
    source.write_text(json.dumps(_batch_line(0)))

    assert main(["convert", "--to", "anthropic", str(source)]) == 2

    assert b"it looks like a line of a batch file: pass --batch and --from" in capfdbinary.readouterr().err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_results_of_a_batch_get_the_names_of_their_requests_back(tmp_path: Path, jobs: str) -> None:
    """Anthropic accepts neither the names of these tools nor these ids, and the program that reads the results has no other."""
    tool = {"type": "function", "function": {"name": "a/b c", "parameters": {"type": "object", "properties": {}}}}
    asked, sent, answered, restored = (
        tmp_path / name for name in ("asked.jsonl", "sent.jsonl", "answered.jsonl", "restored.jsonl")
    )
    lines = [_batch_line(number, tools=[tool]) | {"custom_id": f"row {number}"} for number in range(3)]
    asked.write_text("\n".join(map(json.dumps, lines)))
    assert main([*BATCH, str(asked), "-o", str(sent), "--report", "none"]) == 0
    results = []
    for request in map(json.loads, sent.read_text().splitlines()):
        call = {"type": "tool_use", "id": "toolu_1", "name": request["params"]["tools"][0]["name"], "input": {}}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [call], "usage": usage}
        results.append(json.dumps({"custom_id": request["custom_id"], "result": {"type": "succeeded", "message": message}}))
    answered.write_text("\n".join(reversed(results)))
    command = ("convert", "--batch", "--from", "anthropic", "--to", "openai", "--requests", str(asked), "--jobs", jobs)

    assert main([*command, str(answered), "-o", str(restored)]) == 0

    converted = [json.loads(line) for line in restored.read_text().splitlines()]
    assert [line["custom_id"] for line in converted] == ["row 2", "row 1", "row 0"]
    calls = [line["response"]["body"]["choices"][0]["message"]["tool_calls"][0] for line in converted]
    assert [call["function"]["name"] for call in calls] == ["a/b c"] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--requests", "r.jsonl"), b"--requests has an effect only with --batch"),
        (("--batch", "--from", "anthropic", "--requests", "-"), b"--requests cannot be standard input"),
        (("--batch", "--from", "anthropic", "--requests", "missing.jsonl"), b"missing.jsonl: No such file"),
    ],
)
def test_an_invalid_use_of_the_requests_option_is_a_usage_error(
    options: tuple[str, ...], message: bytes, tmp_path: Path, capfdbinary: Captured
) -> None:
    """They would have no effect, or are read more than once."""
    (tmp_path / "a.jsonl").write_text("{}")

    assert main(["convert", "--to", "openai", *options, str(tmp_path / "a.jsonl")]) == 2

    assert message in capfdbinary.readouterr().err
