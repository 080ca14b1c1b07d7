"""Documentation and code use the words of ``docs/glossary.md``, of the vendors, of HTTP and of Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.private_words import (
    FOLDERS,
    blocks_of,
    blocks_with_python,
    in_folder,
    in_identifier,
    in_module,
    in_package,
    in_prose,
    new_names,
    prose_in_module,
    sentences_of,
)

ROOT = Path(__file__).parents[2]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")))}

FROM_CODE = {"docs/models.md", "docs/losses.md", "docs/mappings.md"}
"""Pages whose tables come from docstrings and reasons; remove a page when its package is in ``COVERED``."""

COVERED = sorted(path.stem for path in (ROOT / "src" / "formatbridge").iterdir() if path.name not in {"__pycache__", "py.typed"})
"""All packages and modules (``python -m tests.private_words`` lists the private words in each)."""

LONGEST_SENTENCE = 30


def _blocks(page: str) -> list[str]:
    text = PAGES[page].read_text(encoding="utf-8")
    if page in FROM_CODE or page.startswith("docs/pairs/"):
        text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*<.*$", lambda line: re.sub(r"<[^>]+>", "\n\n", line[0]), text, flags=re.MULTILINE)  # the tags of HTML
    return list(blocks_of(text))


@pytest.mark.parametrize("page", PAGES)
def test_documentation_has_no_private_words(page: str) -> None:
    """A new reader knows the words of the vendors, and no others."""
    assert [(word, block.strip()[:90]) for block in _blocks(page) for word in in_prose(block)] == []


@pytest.mark.parametrize("page", PAGES)
def test_documentation_has_no_sentence_of_more_than_thirty_words(page: str) -> None:
    """Many readers read English as a second language."""
    sentences = [sentence for block in _blocks(page) for sentence in sentences_of(block)]

    assert [" ".join(sentence) for sentence in sentences if len(sentence) > LONGEST_SENTENCE] == []


@pytest.mark.parametrize("page", PAGES)
def test_examples_have_no_private_words(page: str) -> None:
    """Users copy the examples with their names and comments."""
    examples = blocks_with_python(PAGES[page].read_text(encoding="utf-8"))
    names = [word for example in examples for _, name in new_names(ast.parse(example)) for word in in_identifier(name)]

    assert names + [word for example in examples for _, text in prose_in_module(example) for word in in_prose(text)] == []


@pytest.mark.parametrize("package", COVERED)
def test_a_covered_package_has_no_private_words(package: str) -> None:
    """Names, comments, docstrings and messages use the words of the glossary."""
    assert in_package(package) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_tests_benchmarks_and_examples_have_no_private_words(folder: str) -> None:
    """A developer reads the tests to learn what the library promises."""
    assert in_folder(folder) == []


def test_each_test_states_when_its_promise_matters() -> None:
    """A developer whose change fails a test learns from its docstring which user would notice."""
    tests = [
        (path.relative_to(ROOT).as_posix(), node)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]

    assert [(path, node.name) for path, node in tests if not ast.get_docstring(node)] == []


def test_names_of_fixtures_have_no_private_words() -> None:
    """A failing test shows the name of its fixture, and a developer infers the case from it."""
    stems = {path.name.partition(".")[0] for path in (ROOT / "fixtures").rglob("*.*")}

    assert [word for stem in sorted(stems) for word in in_identifier(stem)] == []


def test_the_glossary_has_one_sentence_for_each_word() -> None:
    """A reader looks up one word."""
    rows = re.findall(r"^\| (.*?) \| (.*) \|$", PAGES["docs/glossary.md"].read_text(encoding="utf-8"), re.MULTILINE)[2:]
    words = [word for word, _ in rows]

    assert words == sorted(words, key=str.casefold)
    assert len(words) >= 40
    assert [word for word, meaning in rows if len(list(sentences_of(meaning))) != 1 or not meaning.endswith(".")] == []


@pytest.mark.parametrize(
    "text", ["a body in plain text", 'the error "not found"', "`own` is a field", "404 Not Found", "recorded traffic"]
)
def test_ordinary_words_are_accepted(text: str) -> None:
    """A check with false positives is switched off."""
    assert in_prose(text) == []


def test_private_words_are_detected_in_every_part_of_a_module(tmp_path: Path) -> None:
    """Names, comments, docstrings and messages are all read."""
    path = tmp_path / "spoken.py"
    lines = ['"""Brings tools home."""', "def bring_home(near):", "    # told", '    raise ValueError("a stray part of it")']
    path.write_text("\n".join(lines), encoding="utf-8")

    words = [re.findall(r"'(\w+)'", word)[0] for word in in_module(path)]

    assert sorted(words) == ["home", "home", "near", "spoken", "stray", "told"]


@pytest.mark.parametrize(
    "name", ["NotFoundError", "include_thoughts", "thought_signature", "thoughts_token_count", "Recorded", "timeline"]
)
def test_names_of_vendors_and_http_are_accepted(name: str) -> None:
    """Wire models keep the names of the vendors' documentation."""
    assert in_identifier(name) == []
