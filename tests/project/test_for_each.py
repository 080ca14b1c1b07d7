"""The helper of tests that runs one item for many values."""

from __future__ import annotations

import inspect

import pytest

from tests.support.for_each import for_each


def test_each_value_is_tried_until_one_fails() -> None:
    """A test that silently left out values would hide a defect; a developer needs the value that fails."""
    tried: list[tuple[int, str]] = []

    @for_each("value", [1, 2, 3])
    def test(value: int, other: str) -> None:
        tried.append((value, other))
        assert value != 2

    with pytest.raises(AssertionError) as caught:
        test(other="x")

    assert tried == [(1, "x"), (2, "x")]
    assert caught.value.__notes__ == ["value: 2"]
    assert list(inspect.signature(test).parameters) == ["other"]


def test_a_test_without_values_fails() -> None:
    """A list of fixtures may be empty by mistake."""
    with pytest.raises(AssertionError):
        for_each("value", [])(print)()
