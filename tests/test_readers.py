"""Bodies are read as their checker reads them, and are not copied where it would change nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from pydantic import ValidationError

from formatbridge.bodies import wire_model
from formatbridge.formats._wire import checker, reader
from tests.fixtures import Fixture, fixtures

FAULTS: list[Any] = [None, 1.5, 10**30, 2**53 + 1, "no such thing", [], {"type": "no such thing"}]
CASES = [pytest.param(fixture, id=str(fixture)) for fixture in fixtures()]


@cache
def _read(format: str, kind: Any) -> Callable[[Any], Any]:
    model = wire_model(format, kind)
    return reader(model, model.USUAL)  # type: ignore[attr-defined]  # as all models of bodies have


@cache
def _check(format: str, kind: Any) -> Callable[[Any], Any]:
    return checker(wire_model(format, kind)).validate_python


def _outcome(read: Callable[[Any], Any], body: Any) -> str:
    """Return what is made of a body, or what is wrong with it, as text that tells 1 from 1.0."""
    try:
        return json.dumps(read(body), sort_keys=True)
    except ValidationError as error:
        return json.dumps(error.errors(include_url=False, include_input=False), default=str)


def _spoiled(body: Any) -> Iterator[Any]:
    """Yield a body once for each value in it, that value spoiled."""
    whole = copy.deepcopy(body)
    pending, count = [whole], 0
    while pending:
        node = pending.pop()
        for key, value in list(node.items()) if isinstance(node, dict) else list(enumerate(node)):
            node[key] = FAULTS[count % len(FAULTS)]
            count += 1
            yield whole
            node[key] = value
            if isinstance(value, dict | list):
                pending.append(value)


@pytest.mark.parametrize("fixture", CASES)
def test_a_body_is_read_as_its_checker_reads_it(fixture: Fixture) -> None:
    """What only one of the two refused, or changed, would depend on which of them happens to come first."""
    read, check = _read(fixture.format, fixture.kind), _check(fixture.format, fixture.kind)

    for body in (fixture.body, *_spoiled(fixture.body)):
        assert _outcome(read, body) == _outcome(check, body)


def test_what_is_sound_is_not_copied() -> None:
    """The copy is a fifth and more of what the check costs."""
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 1, "of_nobody": {"a": [1]}}

    assert _read("chat_completions", "request")(body) is body


def test_an_integer_beyond_64_bits_becomes_a_double() -> None:
    """So it is for the checker, and readers in other languages have nothing else."""
    body = {"id": "a", "choices": [], "created": 10**30}

    made = _read("chat_completions", "response")(body)

    assert repr(made["created"]) == "1e+30"
    assert body["created"] == 10**30
