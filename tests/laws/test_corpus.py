"""Every recorded body is valid in its format, and can be converted to every other one."""

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import formatbridge as fb
from formatbridge import FORMATS
from formatbridge.errors import FormatBridgeError, TruncatedStreamError
from formatbridge.validation.validators import dict_validator
from tests import corpus

MODEL_NAMES = {"request": "Request", "response": "Response", "error": "Error", "models": "ModelList"}


@corpus.requires_corpus
@pytest.mark.parametrize("kind", MODEL_NAMES)
@pytest.mark.parametrize("format_name", FORMATS)
def test_recorded_bodies_are_valid_in_their_format(format_name: fb.Format, kind: str) -> None:
    """Bodies of real clients and servers are accepted; the test fails if a model is too strict.

    A request that its server rejected may be rejected here.
    """
    model = _model(format_name, kind)

    refusals = [refusal for entry, body in _bodies(format_name, kind) for refusal in _refusals(model, entry, body)]

    assert not refusals, "\n".join([f"{len(refusals)} refusals", *refusals])


def _bodies(format_name: fb.Format, kind: str) -> Iterator[tuple[corpus.Entry, Any]]:
    """Yield the whole JSON bodies; an answer in an array counts as its elements."""
    for entry in corpus.entries(format_name, kind):
        if entry.is_curated or entry.framing == "sse":
            continue
        body = entry.json()
        for value in body if isinstance(body, list) else [body]:
            if not (entry.was_refused and kind == "request") and not _is_one_model(value, kind):
                yield entry, value


def _is_one_model(value: Any, kind: str) -> bool:
    """Return whether a body is the answer of the endpoint for one model, which is no list."""
    return kind == "models" and value.get("object") == "model"


@corpus.requires_corpus
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("format_name", FORMATS)
def test_a_recorded_body_is_rejected_only_if_its_vendor_rejected_it(format_name: fb.Format, target: fb.Format) -> None:
    """Requests that real servers accept are accepted. The caller has paid for an answer, so its valid fields are read."""
    answers = [each for kind in ("response", "models", "error") for each in _bodies(format_name, kind)]
    requests = [(entry, entry.bytes()) for entry in corpus.entries(format_name, "request") if not entry.was_refused]
    rejected = []
    for entry, body in [*answers, *requests]:
        try:
            _convert(entry, body, target).losses  # noqa: B018  # the report must be readable, too
        except FormatBridgeError as error:
            rejected.append(f"{entry.path}: {error}")

    assert rejected == []


@corpus.requires_corpus
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("format_name", FORMATS)
def test_no_event_of_a_recorded_stream_is_rejected(format_name: fb.Format, target: fb.Format) -> None:
    """A stream may be truncated, but no event of it is rejected."""
    rejected = []
    for entry in corpus.entries(format_name, "stream"):
        converter = fb.StreamConverter(source=format_name, target=target)
        try:
            converter.feed(entry.bytes())
            converter.finish()
        except TruncatedStreamError:
            continue
        except FormatBridgeError as error:
            rejected.append(f"{entry.path}: {error}")

    assert rejected == []


def _convert(entry: corpus.Entry, body: Any, target: fb.Format) -> fb.Converted:
    match entry.kind:
        case "request":
            return fb.convert_request(body, source=entry.format, target=target, model=entry.url_model or entry.model or "m")
        case "response":
            return fb.convert_response(body, source=entry.format, target=target)
        case "models":
            return fb.convert_models(body, source=entry.format, target=target)
        case _:
            return fb.convert_error(body, source=entry.format, target=target, status=entry.http_status or 400)


def _refusals(model: type[BaseModel], entry: corpus.Entry, body: Any) -> Iterator[str]:
    for reader, validate in (("model", model.model_validate), ("validator", _validator(model))):
        try:
            validate(body)
        except ValidationError as error:
            for problem in error.errors(include_url=False):
                place = "/".join(str(step) for step in problem["loc"])
                yield f"{entry.path}: {reader}: /{place} {problem['msg']}, found {problem['input']!r:.60}"


def _model(format_name: fb.Format, kind: str) -> type[BaseModel]:
    wire = importlib.import_module(f"formatbridge.formats.{format_name}.wire")
    model: type[BaseModel] = getattr(wire, MODEL_NAMES[kind])
    return model


@functools.cache
def _validator(model: type[BaseModel]) -> Callable[[Any], Any]:
    return dict_validator(model)
