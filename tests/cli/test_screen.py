"""The screen: usage errors, the comparison, colour, the demonstration, and the names of vendors."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.cli import terminal
from formatbridge.cli.demo import demo
from formatbridge.cli.diff import Side, compare, print_rows
from formatbridge.cli.main import main
from formatbridge.cli.parser import ALIASES, build_parser
from tests.support.servers import stream_of

Captured = pytest.CaptureFixture[bytes]
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 7}


class _Terminal(io.TextIOWrapper):
    """Standard output or error that reports itself as a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    def run(self, *arguments: str) -> int:
        """Run a command whose outputs are this terminal."""
        with redirect_stdout(self), redirect_stderr(self):
            return main(arguments)

    def text(self) -> str:
        data = self.buffer
        assert isinstance(data, io.BytesIO)
        return data.getvalue().decode()


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Return a terminal of 80 columns."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return _Terminal()


@pytest.fixture
def request_file(tmp_path: Path) -> str:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(REQUEST))
    return str(path)


def _without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "find_spec", lambda _name: None)


CONVERT = ("convert", "--from", "openai", "--kind", "request", "--to", "anthropic")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convrt"], "formatbridge: argument COMMAND: unknown value 'convrt'; did you mean 'convert'?"),
        (["convert", "--too", "x"], "formatbridge convert: unknown argument '--too'; did you mean '--to'?"),
        (["convert", "--to", "messages", "--jbs", "2"], "formatbridge convert: unknown argument '--jbs'; did you mean '--jobs'?"),
        (["convert"], "formatbridge convert: the following arguments are required: --to"),
        (
            ["convert", "--to", "messages", "--report", "tabel"],
            "formatbridge convert: argument --report: unknown value 'tabel'; did you mean 'table'?",
        ),
        (["convert", "--to", "messages", "--kind", "zzz"], "expected request, response, error, models"),
        (["convert", "--to", "antropic"], "did you mean 'anthropic'?"),
        (["convert", "--to", "mistral"], "did you mean chat_completions@mistral?"),
        (["convert", "--to", "groq"], "did you mean chat_completions@groq or responses@groq?"),
        (["convert", "--to", "openai@openruter"], "perhaps openrouter; expected one of"),
    ],
)
def test_a_usage_error_is_short_and_suggests_the_nearest(arguments: list[str], message: str, capfdbinary: Captured) -> None:
    """The usage of all arguments fills a screen and hides the reason."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)

    lines = capfdbinary.readouterr().err.decode().splitlines()
    assert exit_.value.code == 2
    assert message in lines[0]
    assert len(lines) == 2
    assert lines[1].endswith("--help lists the arguments")


def test_only_a_dialect_that_has_the_format_is_suggested(capfdbinary: Captured) -> None:
    """The next command would be rejected as well."""
    with pytest.raises(SystemExit):
        main(["convert", "--to", "messages@opena"])

    error = capfdbinary.readouterr().err
    assert b"'opena': expected one of anthropic" in error
    assert b"perhaps" not in error


@pytest.mark.parametrize("alias", ALIASES)
def test_a_vendor_name_selects_its_format(alias: str, capfdbinary: Captured) -> None:
    """People know the vendor before they know the names of this library."""
    arguments = build_parser().parse_args(["convert", "--from", alias, "--to", alias])

    assert (arguments.source, arguments.target) == (ALIASES[alias], ALIASES[alias])
    assert main(["schema", f"{alias}.request"]) == 0
    assert json.loads(capfdbinary.readouterr().out)


def test_the_matrix_is_json_on_request(capfdbinary: Captured) -> None:
    """A program creates another table from it."""
    assert main(["matrix", "--json"]) == 0
    features = json.loads(capfdbinary.readouterr().out)
    assert main(["matrix", "--json", "--source", "messages"]) == 0
    of_messages = json.loads(capfdbinary.readouterr().out)

    seed = next(feature for feature in features if feature["feature"] == "seed")
    assert seed["support"] == {
        "chat_completions": "held", "messages": "lossy", "responses": "lossy", "generate_content": "held"
    }  # fmt: skip
    assert set(of_messages[0]["support"]) == {"chat_completions", "responses", "generate_content"}
    assert not any(feature["feature"] == "seed" for feature in of_messages)


def test_a_stream_is_read_from_a_file(tmp_path: Path, capfdbinary: Captured) -> None:
    """A recorded stream needs no redirection."""
    path = tmp_path / "answer.sse"
    path.write_bytes(stream_of("messages"))

    assert main(["stream", str(path), "--from", "messages", "--to", "responses", "--report", "none"]) == 0
    assert b"response.completed" in capfdbinary.readouterr().out
    assert main(["stream", str(tmp_path / "missing"), "--from", "messages", "--to", "responses"]) == 2
    assert capfdbinary.readouterr().err.decode().endswith("missing: No such file or directory\n")


def test_the_comparison_marks_losses_and_additions(request_file: str, capfdbinary: Captured) -> None:
    """A reader sees at once which part of the source the target lacks."""
    assert main([*CONVERT, request_file, "--diff", "--report", "none"]) == 0

    rows = [[side.strip() for side in row.split("│")] for row in capfdbinary.readouterr().out.decode().splitlines()]
    left, right = ([row[side] for row in rows if len(row) > side] for side in (0, 1))
    assert left[left.index('-   "seed": 7') + 1].startswith("-   ^ lossy, dropped: ")
    assert right[right.index('+   "max_tokens": 4096') + 1].startswith("+   ^ added: ")
    assert ['"content": "hi"'] * 2 in rows


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_comparison_fits_the_terminal(width: int) -> None:
    """A row that wraps destroys the columns. A long value, such as an image, is shortened."""
    source = {"image": "A" * 100_000, "words": "to be or not " * 20, "list": [], "deep": {"a": [1, {"b": None}]}}
    losses = [fb.Loss("/deep/a/1", "dropped", "info", "no_counterpart", "the target has no place for it")]
    out = io.StringIO()

    print_rows(compare(Side("messages", source, losses), Side("responses", {}, [])), out, width)

    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width + 4
    assert any("… 100,0" in line for line in lines)
    assert [line[0] for line in lines if "null" in line or "info" in line] == ["-", "-"]


@pytest.mark.parametrize("with_rich", [True, False])
def test_a_terminal_gets_an_indented_body(
    with_rich: bool, request_file: str, screen: _Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People read it in a terminal. Colour needs rich."""
    if not with_rich:
        _without_rich(monkeypatch)

    assert screen.run(*CONVERT, request_file) == 0

    assert ("\x1b[" in screen.text()) is with_rich
    assert screen.text().count("\n") > 8


def test_no_color_removes_colour(request_file: str, screen: _Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """https://no-color.org"""
    monkeypatch.setenv("NO_COLOR", "1")

    assert screen.run(*CONVERT, request_file) == 0

    assert "\x1b[3" not in screen.text()


def test_compact_is_one_line_on_a_terminal(request_file: str, screen: _Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user copies it into another command."""
    _without_rich(monkeypatch)

    assert screen.run(*CONVERT, request_file, "--compact", "--report", "none") == 0

    assert screen.text().count("\n") == 1


@pytest.mark.parametrize("with_rich", [True, False])
def test_a_batch_shows_its_progress(with_rich: bool, tmp_path: Path, screen: _Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run must not look like a command that hangs. The progress is gone at the end."""
    if not with_rich:
        _without_rich(monkeypatch)
    monkeypatch.setattr(terminal, "_REFRESH_SECONDS", 0)
    (tmp_path / "log.jsonl").write_text(f"{json.dumps(REQUEST)}\n" * 400)

    assert screen.run(*CONVERT, str(tmp_path / "log.jsonl"), "-o", str(tmp_path / "out.jsonl")) == 0

    assert "400 converted" in screen.text().splitlines()[-1]
    assert "%" in screen.text()
    assert with_rich or "converted\x1b[K" in screen.text()


@pytest.mark.parametrize("via", fb.FORMATS)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_the_demonstration_shows_any_pair_in_detail(format: fb.Format, via: fb.Format) -> None:
    """Bodies before and after, events, the call and its result, the text, the report."""
    out = io.StringIO()

    demo(out, pair=(format, via))

    text = out.getvalue()
    assert [line[:2] for line in text.splitlines() if line[:1].isdigit() and line[1:2] == "."] == ["1.", "2.", "3.", "4.", "5."]
    assert text.count("\ntext: It is sunny in Rome, at 24 degrees.\n") == 1
    assert 'get_weather({"city": "Rome"}) returns' in text
    assert "The report: what each conversion lost" in text


@pytest.mark.parametrize(
    ("arguments", "pair"),
    [
        ([], "chat_completions messages"),
        (["--from", "gemini"], "generate_content chat_completions"),
        (["--to", "openai"], "messages chat_completions"),
    ],
)
def test_the_demonstration_has_a_default_pair(arguments: list[str], pair: str, capfdbinary: Captured) -> None:
    """One option is enough."""
    assert main(["demo", *arguments]) == 0

    assert capfdbinary.readouterr().out.decode().splitlines()[3].replace("│", "").split() == pair.split()
