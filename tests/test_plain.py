"""What generate_content takes at a glance is what its models take in full."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from formatbridge.formats.generate_content import schema as dialect
from formatbridge.formats.generate_content.plain import is_json_schema, is_plain_schema, plain_content, plain_function
from formatbridge.formats.generate_content.tools import decode_function
from formatbridge.formats.generate_content.wire import Content, FunctionDeclaration, Schema
from formatbridge.validation.validators import checker
from tests.fixtures import fixtures

_CHECKS = {model: checker(list[model]) for model in (Schema, Content)}  # type: ignore[valid-type]  # a variable of types
_STRANGE: tuple[Any, ...] = (None, True, 0, 1.0, 2**60 + 1, "", "x", "null", [], ["x"], [1], {}, {"type": "null"}, {"text": "x"})
_KEYS = (
    "type", "properties", "items", "enum", "required", "minimum", "nullable", "format", "any_of", "role", "parts", "text", "id", "args",
)  # fmt: skip


def _nothing(value: Any) -> None:
    """Stand for reading a value in full, where only those count that need none of it."""
    del value


def _candidates(marks: frozenset[str]) -> Iterator[Any]:
    """Yield the objects of all fixtures that have one of the marks, as they are and with one value changed."""
    for fixture in fixtures("request"):
        for found in _objects(fixture.body):
            if marks.isdisjoint(found):
                continue
            yield found
            dice = random.Random(str(fixture))
            for _ in range(20):
                changed = copy.deepcopy(found)
                dice.choice([*_objects(changed)])[dice.choice(_KEYS)] = copy.deepcopy(dice.choice(_STRANGE))
                yield changed


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


@pytest.mark.parametrize(
    ("model", "is_plain", "marks"),
    [
        (Schema, is_plain_schema, frozenset({"type", "properties", "items"})),
        (Content, lambda value: plain_content(value, _nothing), frozenset({"parts", "role"})),
    ],
)
def test_what_is_plain_is_accepted_as_it_is(model: Any, is_plain: Callable[[Any], object], marks: frozenset[str]) -> None:
    """A predicate that says yes too often would let in what the model refuses, or keep a spelling that the decoder does not know."""
    plain = [value for value in _candidates(marks) if is_plain(value)]

    assert len(plain) > 100
    for value in plain:
        try:
            assert _CHECKS[model].validate_python([value]) == [value]
        except ValidationError as error:
            pytest.fail(f"{value} is refused: {error}")


def test_a_schema_that_is_json_schema_is_read_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading it step by step would say the same."""
    whole = [value for value in _candidates(frozenset({"type"})) if is_json_schema(value)]
    monkeypatch.setattr(dialect, "is_json_schema", lambda _: False)

    read = [dialect.decode_schema(value)[0] for value in whole]

    assert len(whole) > 100
    assert read == whole


def test_a_plain_function_is_read_as_any_other() -> None:
    """The checker hands it on under another name, and nobody may notice."""
    check = checker(list[FunctionDeclaration]).validate_python
    schemas = [value for value in _candidates(frozenset({"properties"})) if is_json_schema(value)]
    functions = [{"name": "f", "description": "Finds.", "parameters": schema} for schema in schemas]

    plain = [plain_function(function, _nothing) for function in functions]

    assert len(plain) > 100
    for given, made in zip(functions, plain, strict=True):
        assert made is not None
        assert decode_function(made, "/tools/0") == decode_function(check([given])[0], "/tools/0")
