"""Law 14: the result of a conversion has no value in common with a later one, so a caller may change it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats.dialects import DIALECTS
from tests.fixtures import Fixture, fixtures
from tests.support.directions import DIRECTIONS

SERVERS = [(name, format) for name, dialect in DIALECTS.items() for format in dialect.rules]


def _spoil(value: Any) -> None:
    """Add an entry to each object and each array, at any depth."""
    if isinstance(value, dict):
        for member in value.values():
            _spoil(member)
        value["spoiled"] = True
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.append("spoiled")


def _is_changed_by_an_earlier_result(fixture: Fixture, target: Any) -> bool:
    """Return whether the second of two conversions differs from the first one, whose values the caller changes in between."""
    try:
        first = replace(fixture, body=copy.deepcopy(fixture.body)).convert(target)
    except fb.FormatBridgeError:
        return False
    text, additions = first.json(), copy.deepcopy(first.additions)
    _spoil(first.body)
    for addition in first.additions:
        _spoil(addition.value)
    second = replace(fixture, body=copy.deepcopy(fixture.body)).convert(target)
    return (second.json(), second.additions) != (text, additions)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_changed_result_changes_no_later_conversion(source: fb.Format, target: fb.Format) -> None:
    """Applications add fields to the body before they send it, in a process that converts many."""
    changed = [str(each) for each in fixtures() if each.format == source and _is_changed_by_an_earlier_result(each, target)]

    assert changed == []


@pytest.mark.parametrize(("server", "target"), SERVERS)
def test_a_changed_request_for_a_server_changes_no_later_one(server: str, target: fb.Format) -> None:
    """The same for the values that a dialect adds, from each other format."""
    requests = [each for each in fixtures("request") if each.format != target]
    changed = [str(each) for each in requests[::4] if _is_changed_by_an_earlier_result(each, fb.Target(target, dialect=server))]

    assert changed == []
