"""Limits on the length of functions and files."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "formatbridge"


def _functions() -> list[tuple[int, str]]:
    """Return the length in lines of every function, without its decorators, and its name."""
    return [
        ((node.end_lineno or 0) - node.lineno + 1, f"{path.relative_to(SOURCE)}:{node.name}")
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_no_function_is_longer_than_sixty_lines() -> None:
    """A reader understands what fits on a screen."""
    assert [name for length, name in _functions() if length > 60] == []


def test_functions_are_short_as_a_rule() -> None:
    """The median is at most 10 lines, and 95 of 100 functions have at most 40."""
    lengths = sorted(length for length, _ in _functions())

    assert statistics.median(lengths) <= 10
    assert lengths[int(len(lengths) * 0.95)] <= 40


def test_no_file_is_longer_than_six_hundred_lines() -> None:
    """A file has one subject; in a longer one, readers search."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}

    assert {str(path.relative_to(SOURCE)): count for path, count in lengths.items() if count > 600} == {}
