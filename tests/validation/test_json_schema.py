"""The JSON Schema of a typed model accepts and rejects the same bodies as the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped]  # has no types
import pytest
from pydantic import TypeAdapter, ValidationError

import formatbridge as fb
from formatbridge.convert.input import wire_model
from formatbridge.formats.chat_completions.wire import tools as chat_completions
from formatbridge.formats.format import Kind
from formatbridge.formats.generate_content.wire import Content
from formatbridge.formats.messages.wire import tools as messages
from formatbridge.formats.messages.wire.messages import Block
from formatbridge.formats.responses.wire.items import Item
from tests.fixtures import Fixture, fixtures
from tests.support.for_each import for_each
from tests.support.pointers import leaves, with_value

DOCUMENTED = [each for each in fixtures() if "snake_case" not in each.stem and not each.is_malformed]
"""Bodies in the documented notation, which is the one that a schema names."""

STRANGE: tuple[Any, ...] = (None, 5, "zz", [1], {})


@cache
def _schema(shape: Any) -> Any:
    return jsonschema.Draft202012Validator(TypeAdapter(shape).json_schema())


@for_each("fixture", [each for each in fixtures() if not each.is_malformed])
def test_a_schema_accepts_every_body_of_its_format(fixture: Fixture) -> None:
    """A gateway validates bodies with the schema."""
    _schema(wire_model(fixture.format, fixture.kind)).validate(fixture.body)


@pytest.mark.parametrize(
    "body", [{"modelVersion": "m"}, {"model_version": "m"}, {"response_id": "r"}, {"candidates": None}, {}, {"x": 1}]
)
def test_a_schema_and_its_model_accept_the_same_answers(body: dict[str, Any]) -> None:
    """In generate_content every field may be absent, in either notation; an object without any identifying field is rejected."""
    model = wire_model("generate_content", "response")

    assert _schema(model).is_valid(body) == _is_read(model, body)


@pytest.mark.parametrize("kind", ["request", "response", "error", "models"])
@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_schema_refuses_what_the_model_refuses(format: fb.Format, kind: str) -> None:
    """A block of a known kind without its text is no block of an unknown kind."""
    model = wire_model(format, cast(Kind, kind))
    schema, verdicts = _schema(model), []

    for path, body in _broken(format, kind):
        verdicts.append((_is_read(model, body), schema.is_valid(body)))
        assert verdicts[-1][0] == verdicts[-1][1], f"{path}: {verdicts[-1]}"

    assert (False, False) in verdicts


def _broken(format: fb.Format, kind: str) -> Iterator[tuple[str, Any]]:
    """Yield each body with one leaf changed, once for every place."""
    seen = set()
    for fixture in DOCUMENTED:
        if (fixture.format, fixture.kind) != (format, kind):
            continue
        for path, _ in leaves(fixture.body):
            place = re.sub(r"/\d+(?=/|$)", "/*", path)
            if place not in seen:
                seen.add(place)
                yield from ((f"{fixture}{path}", with_value(fixture.body, path, strange)) for strange in STRANGE)


def _is_read(model: Any, body: Any) -> bool:
    try:
        model.model_validate(body)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("union", "value"),
    [
        (Block, {"type": "new", "text": 5}),
        (Block, {"text": 5}),
        (Block, {"type": None}),
        (messages.Tool, {"name": "f", "input_schema": {}}),
        (chat_completions.Tool, {"name": "f"}),
        (Item, {"id": "msg_1"}),
    ],
)
def test_a_schema_accepts_unknown_kinds(union: Any, value: Any) -> None:
    """Servers send new kinds before users update the schema."""
    assert _schema(union).is_valid(value)


@pytest.mark.parametrize(
    ("union", "value"),
    [
        (Block, {"type": "text"}),
        (Block, {"type": "text", "text": 5}),
        (Block, {"type": 5}),
        (Block, "text"),
        (messages.Tool, {"input_schema": {}}),
        (chat_completions.Tool, {"function": {}}),
        (Item, {"id": "msg_1", "role": "user"}),
    ],
)
def test_a_schema_refuses_a_known_kind_that_is_broken(union: Any, value: Any) -> None:
    """Otherwise it would check nothing: every invalid block would count as a new kind."""
    assert not _schema(union).is_valid(value)


@pytest.mark.parametrize("parts", [{"text": "hi"}, [{"text": "hi"}]])
def test_a_schema_accepts_one_part_in_place_of_a_list(parts: Any) -> None:
    """The vendor's server reads a single object as a list of one, and so does the model."""
    assert _schema(Content).is_valid({"parts": parts})
    assert not _schema(Content).is_valid({"parts": {"text": 5}})
