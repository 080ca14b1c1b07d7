"""The merge rules of streams: what the pieces of one field add up to."""

from __future__ import annotations

from typing import Any

import pytest

from formatbridge.formats.shared.fold import ConflictError, Fold, Rule, Table


def _fold(rule: Rule, *values: Any) -> Any:
    """Return what values of one field add up to; None is null, for which another rule holds."""
    fold = Fold(Table({"key": rule}, other="ignore", null="first"))
    for value in values:
        fold.add({"key": value, "other": value})
    whole = fold.whole()
    assert "other" not in whole
    return whole.get("key")


@pytest.mark.parametrize(
    ("rule", "values", "whole"),
    [
        ("ignore", ["a", None], None),
        ("first", ["a", "b"], "a"),
        ("last", ["a", ""], ""),
        ("filled", ["a", "", 0, {}], "a"),
        ("filled", ["a", False], False),
        ("equal", ["a", "a", None], "a"),
        ("empty", [{}], {}),
        ("text", ["ha", "ha"], "haha"),
        ("text", [None, "a"], "a"),
        ("list", [[1], [], [1]], [1, 1]),
        ("unique", [[1], [1, 2], [3]], [1, 2, 3]),
        ("unknown", ["a", "b"], "ab"),
        (
            Table({"text": "text"}, other="last", null="ignore"),
            [{"text": "a", "n": 1}, {"text": "b", "n": 2}],
            {"text": "ab", "n": 2},
        ),
    ],
)
def test_each_rule_merges_the_values_of_a_field(rule: Rule, values: list[Any], whole: Any) -> None:
    """A format's table is read as these rules."""
    assert _fold(rule, *values) == whole


@pytest.mark.parametrize(
    ("rule", "values"), [("equal", ["a", "b"]), ("empty", ["a"]), ("text", ["a", ["b"]]), ("text", [["a"], "b"])]
)
def test_a_contradiction_makes_the_whole_unknown(rule: Rule, values: list[Any]) -> None:
    """No guess is better than the way over the canonical model."""
    with pytest.raises(ConflictError):
        _fold(rule, *values)


def test_the_pieces_stay_unchanged() -> None:
    """Law 14: the events belong to the caller."""
    pieces: list[dict[str, Any]] = [{"items": [1], "object": {"items": [1]}}, {"items": [2], "object": {"items": [2]}}]
    inner = Table({}, other="list", null="first")
    fold = Fold(Table({"object": inner}, other="list", null="first"), pieces[0])

    fold.add(pieces[1])

    assert fold.whole() == {"items": [1, 2], "object": {"items": [1, 2]}}
    assert pieces == [{"items": [1], "object": {"items": [1]}}, {"items": [2], "object": {"items": [2]}}]
