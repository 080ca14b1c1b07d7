"""Bodies are read as their checker reads them, and are not copied where it would change nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from pydantic import ValidationError

from formatbridge import FORMATS
from formatbridge.convert.input import wire_model
from formatbridge.validation.validators import checker, reader
from tests.fixtures import Fixture, fixtures

FAULTS: list[Any] = [None, 1.5, 10**30, 2**53 + 1, "no such thing", [], {"type": "no such thing"}]
CASES = [pytest.param(fixture, id=str(fixture)) for fixture in fixtures()]


@cache
def _read(format: str, kind: Any) -> Callable[[Any], Any]:
    model = wire_model(format, kind)
    return reader(model, model.USUAL).read  # type: ignore[attr-defined]  # as all models of bodies have


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


@pytest.mark.parametrize("format", FORMATS)
def test_usual_fields_are_fields(format: str) -> None:
    """One that the model does not have would be checked by nobody."""
    model = wire_model(format, "request")
    names = {field.alias or name for name, field in model.model_fields.items()}
    assert names >= model.USUAL  # type: ignore[attr-defined]  # as all models of bodies have


@pytest.mark.parametrize(
    ("beside", "is_taken_itself"), [({}, True), ({"labels": {"a": "b"}}, False), ({"cachedContent": None}, False)]
)
def test_the_order_of_a_schema_hangs_on_nothing_else(beside: dict[str, Any], is_taken_itself: bool) -> None:
    """The model reads its keywords, and caches of prompts hold only what is written as before."""
    turns = [{"role": "user", "parts": [{"text": "Hi"}]}]
    rare = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "pattern": "p", "minLength": "3", "example": "E"}}}
    plain = {"type": "OBJECT", "properties": {"b": {"type": "STRING", "description": "d"}}}
    read = _read("generate_content", "request")

    orders = []
    for schema in (rare, plain):
        body = {"contents": turns, "generationConfig": {"responseSchema": schema}, **beside}
        orders.append(json.dumps(read(body)["generationConfig"]["responseSchema"]))
        if schema is plain:
            assert (read(body) is body) == is_taken_itself
    assert orders[0].index("example") < orders[0].index("pattern")
    assert orders[1].index("type") < orders[1].index("properties")


def test_what_is_no_object_is_refused_as_the_checker_does() -> None:
    """Whoever hands in a number hears what is wrong with it."""
    values: list[Any] = [5, None, "x", []]
    for value in values:
        assert _outcome(_read("chat_completions", "request"), value) == _outcome(_check("chat_completions", "request"), value)
    nothing = {"contents": [], "tools": [{"functionDeclarations": [None]}]}
    assert _outcome(reader(wire_model("generate_content", "request")).read, nothing) == _outcome(
        _check("generate_content", "request"), nothing
    )
