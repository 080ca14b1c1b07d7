"""One test item for many values: pytest and its workers need more time for an item than most conversions take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for all values of a parameter in one item. A failure has a note with its value.

    The alternative to ``parametrize`` for hundreds of values that each take about a millisecond. The test must not use fixtures of pytest
    that change in each run, such as ``monkeypatch``.
    """
    values = tuple(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**others: Any) -> None:
            assert values
            for value in values:
                try:
                    test(**{name: value}, **others)
                except BaseException as error:
                    error.add_note(f"{name}: {value}")
                    raise

        signature = inspect.signature(test)
        parameters = [each for each in signature.parameters.values() if each.name != name]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # pytest reads the names of parameters
        return run

    return decorate
