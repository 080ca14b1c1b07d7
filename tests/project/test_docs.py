"""The documentation agrees with the code, and its examples run."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

import formatbridge as fb
from formatbridge import ir
from formatbridge.cli.parser import build_parser
from formatbridge.report.losses import Change, Severity
from formatbridge.report.reasons import REASONS
from formatbridge.testing import QUIRKS, FakeRelay
from formatbridge.testing.relay_server import served
from tests.documents import DOCS, DOCUMENTS

ROOT = Path(__file__).parents[2]
_BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_generated_from_tables_is_current(name: str) -> None:
    """After a change of a table: ``python -m tests.documents``."""
    assert (DOCS / name).read_text(encoding="utf-8") == DOCUMENTS[name]()


def test_every_canonical_type_is_described() -> None:
    """A reader of the code looks up a type."""
    text = (DOCS / "canonical-model.md").read_text(encoding="utf-8")

    aliases = {
        "Format",
        "FormatName",
        "RegisteredName",
        "JsonObject",
        "JsonValue",
        "Node",
        "Part",
        "Role",
        "Effort",
        "EFFORT_ORDER",
        "Tool",
        "MediaKind",
        "SignatureKind",
        "FinishReason",
        "ErrorKind",
        "ErrorFamily",
    }
    assert [name for name in ir.__all__ if name not in aliases and f"`ir.{name}`" not in text] == []


def test_reasons_are_short() -> None:
    """A reason is read in a table: under ten words, and the same words for one code."""
    assert [why for why in REASONS.values() if len(why.split()) >= 10] == []


def test_every_block_of_the_readme_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    """A new user copies these blocks first, in this order."""
    names: dict[str, Any] = {}
    printed = ""
    with served(["Eternal.", "Eternal."]) as relay:
        names["api_key"] = relay.api_key
        for block in _BLOCKS:
            exec(compile(block.replace("https://relay.example", relay.base_url), "README.md", "exec"), names)
            printed += capsys.readouterr().out

    assert [line for line in _BLOCKS[1].splitlines() if line.startswith("# ")] == [f"# {line}" for line in printed.splitlines()[:3]]
    assert "data: [DONE]" in printed


@pytest.mark.parametrize(("expression", "value"), re.findall(r"^(\S.*\S)  # ([('\d].*)$", "\n".join(_BLOCKS), re.MULTILINE))
def test_a_value_in_the_readme_is_the_one_that_its_expression_has(expression: str, value: str) -> None:
    """A comment after an expression has its value."""
    names: dict[str, Any] = {}
    for block in (*_BLOCKS[:3], *(block for block in _BLOCKS if expression in block and "api_key" not in block)):
        exec(compile(block, "README.md", "exec"), names)

    assert eval(expression, names) == ast.literal_eval(value)


def test_the_readme_shows_the_fields_of_the_converted_body() -> None:
    """The body is shortened there."""
    names: dict[str, Any] = {}
    exec(compile(_BLOCKS[0], "README.md", "exec"), names)

    assert re.findall(r"'(\w+)':", re.findall(r"converted.body  # (.*)", _BLOCKS[0])[0]) == list(names["converted"].body)


@pytest.mark.parametrize("is_broken", [False, True], ids=["truncated", "broken"])
def test_the_stream_function_of_the_readme_ends_a_truncated_stream_with_an_error_event(is_broken: bool) -> None:
    """Users copy it into services."""
    names: dict[str, Any] = {}
    for block in _BLOCKS[:5]:
        exec(compile(block, "README.md", "exec"), names)
    chunks = list(fb.replay_response(names["answer"], source="messages"))[:3]

    assert b'"error"' in b"".join(names["convert"](_breaking(chunks) if is_broken else chunks))


def _breaking(chunks: list[bytes]) -> Iterator[bytes]:
    yield from chunks
    raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


def test_the_example_of_the_canonical_model_runs() -> None:
    """Users who store conversations start from this example."""
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "canonical-model.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}

    exec(compile(example, "canonical-model.md", "exec"), names)

    assert names["request"].messages[1].parts == [ir.Text("Hi", src="/messages/1/content")]
    assert {"model": "m", "max_tokens": 4096, "system": "Be brief."}.items() <= names["converted"].items()
    assert [loss.path for loss in names["losses"].losses] == ["/seed"]
    assert (names["result"].kind, names["result"].body["error"]["message"]) == ("error", "boom")


_NEEDS_ARROW = pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed")


@pytest.mark.parametrize(
    "name", ["start.md", "convert-a-log.md", "convert-a-batch.md", "model-facts.md", pytest.param("scale.md", marks=_NEEDS_ARROW)]
)
def test_the_blocks_of_a_page_run_in_order_and_print_what_the_page_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Users follow these pages step by step."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python)?\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    printed = ""
    for language, block in blocks:
        if language:
            exec(compile(block, name, "exec"), names)
            printed = capsys.readouterr().out
        elif printed:
            assert printed.rstrip("\n") == block.rstrip("\n")
            printed = ""
    assert not printed


def test_the_blocks_of_the_page_on_telemetry_run_in_order() -> None:
    """The last one calls a relay and records a span."""
    pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "telemetry.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}

    with served(["Hello."]) as relay:
        names["api_key"] = relay.api_key
        for block in blocks:
            exec(compile(block.replace("https://relay.example", relay.base_url), "telemetry.md", "exec"), names)

    assert names["span"].attributes["gen_ai.provider.name"] == "openai"


def test_the_reference_has_every_public_name() -> None:
    """A name may be added or removed."""
    text = (DOCS / "reference.md").read_text(encoding="utf-8")

    assert sorted(re.findall(r"^::: formatbridge\.(\w+)$", text, re.MULTILINE)) == sorted([*fb.__all__, "ir", "testing"])


def test_every_link_between_documents_has_a_target() -> None:
    """A file may be moved."""
    for page in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


_PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md"))
_FOLDERS = ("src", "tests", "docs", "benchmarks", "examples", "fixtures")
_FILES = [f"/{path.relative_to(ROOT).as_posix()}/" for folder in _FOLDERS for path in (ROOT / folder).rglob("*")]


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    """A file may be moved."""
    phrases = " ".join(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)))
    names = re.findall(r"(?<!\S)(?:[\w/<>]+\.py|(?:src|tests|benchmarks|fixtures)/[\w./<>]+)(?!\S)", phrases)

    assert [name for name in names if not _exists(re.sub(r"<\w+>", "messages", name).strip("/"))] == []


def _exists(path: str) -> bool:
    return any(f"/{path}/" in file for file in _FILES)


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_every_code_of_a_loss_that_a_page_names_exists(page: Path) -> None:
    """Users compare codes in their programs."""
    phrases = re.findall(r"\breport(?:ed as|s it as| them as| has) `(\w+)`|`(\w+)` is reported", page.read_text(encoding="utf-8"))

    assert {code for pair in phrases for code in pair if code} - {*REASONS, *get_args(Severity), *get_args(Change)} == set()


def run(page: str) -> dict[str, Any]:
    """Run the blocks of a page in order, in one namespace, and return its names."""
    names: dict[str, Any] = {}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL), 1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    return names


def test_the_page_about_testing_runs() -> None:
    """A user copies a block."""
    for sdk in ("openai", "anthropic"):
        pytest.importorskip(sdk)

    names = run("testing.md")

    names["test_the_weather"](FakeRelay())


def test_the_page_lists_every_quirk() -> None:
    """A quirk that no page lists is not used."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", (DOCS / "testing.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert dict(rows) == dict(QUIRKS)


def test_the_page_about_the_official_sdks_runs() -> None:
    """A user copies a block."""
    for sdk in ("openai", "anthropic", "google.genai"):
        pytest.importorskip(sdk)

    run("official-sdks.md")


PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_each_option_of_a_command_and_no_other(command: str) -> None:
    """An option may be added, renamed or removed."""
    actions = [action for action in COMMANDS[command]._actions if action.dest != "help"]
    options = {option for action in actions for option in action.option_strings}
    places = {str(action.metavar or action.dest).upper() for action in actions if not action.option_strings}
    choices = {str(choice) for action in actions for choice in action.choices or ()}

    assert set(re.findall(r"(?<![\w-])(?:--[a-z][a-z-]+|-[a-z]\b)", SECTIONS[command])) == options
    assert [place for place in places if f"`{place.split('[')[0]}`" not in SECTIONS[command]] == []
    assert [choice for choice in choices if f"`{choice}`" not in PAGE] == []
    assert f"| [`{command}`](#{command}) |" in PAGE


@pytest.mark.parametrize("line", re.findall(r"^formatbridge (.*)$", PAGE, re.MULTILINE))
def test_each_command_on_the_page_is_parsed(line: str) -> None:
    """Users copy examples before they read."""
    arguments = shlex.split(line.partition(" <")[0])

    assert build_parser().parse_args(arguments).command == arguments[0]


def test_the_page_about_the_gateway_runs() -> None:
    """A user copies a block."""
    pytest.importorskip("starlette")

    run("gateway.md")
