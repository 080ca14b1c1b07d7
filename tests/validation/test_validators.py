"""Validators accept what the wire models accept, and return bodies unchanged."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from formatbridge.convert.input import wire_model
from formatbridge.validation.validators import dict_validator
from formatbridge.validation.wire_base import Wire
from tests.fixtures import Fixture, fixtures
from tests.support.for_each import for_each

FAULTS: list[Any] = [None, 1.5, 10**30, 2**53 + 1, "no such thing", [], {"type": "no such thing"}]


def _accepts(validate: Callable[[Any], Any], body: Any) -> bool:
    try:
        validate(body)
    except ValidationError:
        return False
    return True


def _spoiled(body: Any) -> Iterator[Any]:
    """Yield copies of a body, each with one invalid value."""
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


@for_each("fixture", fixtures())
def test_a_validator_accepts_what_the_model_accepts(fixture: Fixture) -> None:
    """Users validate with models and conversions with validators: both must agree for each invalid value."""
    model = wire_model(fixture.format, fixture.kind)
    validate = dict_validator(model)

    for body in (fixture.body, *_spoiled(fixture.body)):
        assert _accepts(validate, body) == _accepts(model.model_validate, body)


def test_a_valid_body_is_returned_without_a_copy() -> None:
    """A copy costs time and memory, and may lose the order of keys, on which prompt caches depend."""
    body = {"temperature": 1, "messages": [{"content": "Hi", "role": "user"}], "model": "m", "unknown_field": {"a": [1]}}

    assert dict_validator(wire_model("chat_completions", "request"))(body) is body


def test_an_alternative_key_becomes_the_documented_one() -> None:
    """Servers of generate_content accept snake_case, decoders read camelCase."""
    body = {"system_instruction": {"parts": [{"text": "Be brief."}]}, "contents": [{"parts": [{"text": "Hi"}]}]}

    validated = dict_validator(wire_model("generate_content", "request"))(body)

    assert validated == {"systemInstruction": body["system_instruction"], "contents": body["contents"]}
    assert "system_instruction" in body


def test_an_integer_beyond_64_bits_becomes_a_double() -> None:
    """JSON parsers of other languages have no larger integers."""
    body = {"id": "a", "choices": [], "created": 10**30}

    validated = dict_validator(wire_model("chat_completions", "response"))(body)

    assert repr(validated["created"]) == "1e+30"
    assert body["created"] == 10**30


@pytest.mark.parametrize("value", [5, None, "x", []])
def test_only_an_object_is_valid(value: Any) -> None:
    """Arguments of another type are a common mistake of callers."""
    assert not _accepts(dict_validator(wire_model("chat_completions", "request")), value)


def test_core_schemas_have_the_expected_layout() -> None:
    """``validators`` rewrites core schemas; this test fails first if a pydantic release changes their layout."""

    class Outer(Wire):
        number: int
        optional: str | None = None

    schema = TypeAdapter(Outer).core_schema
    inner: Any = schema["schema"]

    assert (schema["type"], inner["type"]) == ("model", "model-fields")
    assert [field["type"] for field in inner["fields"].values()] == ["model-field", "model-field"]
    assert [field["schema"]["type"] for field in inner["fields"].values()] == ["int", "default"]
