"""Every recorded body is read by the models of its own format."""

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from formatbridge import FORMATS
from formatbridge.formats import _checkers
from tests import corpus

MODEL_NAMES = {"request": "Request", "response": "Response", "error": "Error", "models": "ModelList"}


@corpus.requires_corpus
@pytest.mark.parametrize("kind", MODEL_NAMES)
@pytest.mark.parametrize("format_name", FORMATS)
def test_recorded_bodies_validate_as_their_own_format(format_name: str, kind: str) -> None:
    """A body that a real client or server sent is never refused; fails when a model is narrower than the world."""
    model = _model(format_name, kind)

    refusals = [refusal for entry, body in _bodies(format_name, kind) for refusal in _refusals(model, entry, body)]

    assert not refusals, "\n".join([f"{len(refusals)} refusals", *refusals])


def _bodies(format_name: str, kind: str) -> Iterator[tuple[corpus.Entry, Any]]:
    """Yield the bodies that are whole JSON values; an answer framed as an array counts as its elements."""
    for entry in corpus.entries(format_name, kind):
        if entry.is_curated or entry.framing == "sse":
            continue
        body = entry.json()
        for value in body if isinstance(body, list) else [body]:
            yield entry, value


def _refusals(model: type[BaseModel], entry: corpus.Entry, body: Any) -> Iterator[str]:
    for reader, validate in (("model", model.model_validate), ("checker", _checker(model).validate_python)):
        try:
            validate(body)
        except ValidationError as error:
            for problem in error.errors(include_url=False):
                place = "/".join(str(step) for step in problem["loc"])
                yield f"{entry.path}: {reader}: /{place} {problem['msg']}, found {problem['input']!r:.60}"


def _model(format_name: str, kind: str) -> type[BaseModel]:
    wire = importlib.import_module(f"formatbridge.formats.{format_name}.wire")
    model: type[BaseModel] = getattr(wire, MODEL_NAMES[kind])
    return model


@functools.cache
def _checker(model: type[BaseModel]) -> SchemaValidator:
    return _checkers.checker(model)
