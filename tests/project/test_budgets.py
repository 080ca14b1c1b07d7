"""Limits on the length of functions and files."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

from formatbridge import FORMATS

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


def test_no_function_has_more_than_sixteen_decisions() -> None:
    """A reader must know which case applies. Linters count statements only, and a conditional expression is a case as well."""
    assert [name for count, name in _decisions() if count > 16] == []


def _decisions() -> list[tuple[int, str]]:
    """Return the decisions in every function, without those of nested ones, and its name.

    Each condition, operand after the first of ``and`` or ``or``, loop, handler of an exception and pattern is one.
    """
    return [
        (sum(map(_decisions_of, _nodes_of(node))), f"{path.relative_to(SOURCE)}:{node.name}")
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _nodes_of(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in a function, without those of nested functions and classes."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            yield from _nodes_of(node)


def _decisions_of(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.IfExp() | ast.For() | ast.AsyncFor() | ast.While() | ast.ExceptHandler():
            return 1
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return len(node.ifs)
        case ast.match_case():
            is_default = isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None and node.guard is None
            return 0 if is_default else 1
    return 0


def test_the_median_function_has_at_most_ten_lines() -> None:
    """The median is at most 10 lines, and 95 of 100 functions have at most 40."""
    lengths = sorted(length for length, _ in _functions())

    assert statistics.median(lengths) <= 10
    assert lengths[int(len(lengths) * 0.95)] <= 40


def test_no_file_is_longer_than_six_hundred_lines() -> None:
    """A file has one subject; in a longer one, readers search."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}

    assert {str(path.relative_to(SOURCE)): count for path, count in lengths.items() if count > 600} == {}


def test_decode_and_encode_of_the_same_thing_fit_on_a_screen() -> None:
    """At most 50 lines are between the two, so that a reader who changes one sees the other."""
    folders = (*FORMATS, "shared")
    assert [pair for folder in folders for path in SOURCE.glob(f"formats/{folder}/*.py") for pair in _distant_pairs(path)] == []


def _distant_pairs(path: Path) -> list[str]:
    """Return the decoders of a file, if more than 50 lines are between them and their counterparts."""
    statements = ast.parse(path.read_text(encoding="utf-8")).body
    functions = {node.name.lstrip("_"): node for node in statements if isinstance(node, ast.FunctionDef)}
    distant: list[str] = []
    for name, decode in functions.items():
        encode = functions.get(name.replace("decode_", "encode_", 1)) if name.startswith("decode_") else None
        if encode is not None:
            first, second = sorted((decode, encode), key=lambda node: node.lineno)
            distant += [f"{path.relative_to(SOURCE)}:{name}"] * (second.lineno - (first.end_lineno or 0) - 1 > 50)
    return distant
