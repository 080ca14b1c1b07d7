"""The worked cases hold, except those that ``docs/decisions.md`` argues against."""

from __future__ import annotations

import pytest

from tests.support.worked_cases import FOLDER, Case, cases, complaints

ARGUED_AGAINST = frozenset({"call-16", "img-05", "mix-05", "rsn-04", "tool-08", "stream-gemini-error-chunk"})
"""Ids of cases with another decision; each is in docs/decisions.md with its reason."""

ALL = [*cases("requests"), *cases("responses")]


@pytest.mark.skipif(not ALL, reason=f"no worked cases in {str(FOLDER)!r}")
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_a_worked_case_holds(case: Case) -> None:
    """The cases have the rules of translation as data."""
    if case.id in ARGUED_AGAINST:
        pytest.skip("decided otherwise: docs/decisions.md")

    assert complaints(case) == []
