"""Law 1 for fields of other objects: each field name of a wire model, in an object of each kind."""

from __future__ import annotations

import binascii
import json
import pkgutil
import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import count
from typing import Any

import pytest
from pydantic import BaseModel

import formatbridge as fb
from formatbridge import formats
from formatbridge.convert.input import check
from tests.support.laws import Sample, shipped
from tests.support.pointers import is_at_or_below, objects, value_at, with_value

KINDS = ("request", "response", "error", "models")

NO_CONTENT = {
    ("chat_completions", "/object"): "the kind of the body, which its other fields show",
    ("messages", "/type"): "the kind of the body, which its other fields show",
    ("generate_content", "/model"): "the caller names another",
    ("generate_content", "/systemInstruction/role"): "the role, which the place shows",
    ("generate_content", "/system_instruction/role"): "the role, which the place shows",
    ("generate_content", "/candidates/*/content/role"): "the role: an answer is from the model",
}
"""Formats and places of texts that may disappear, and why."""

FREE = frozenset({
    "$defs", "args", "arguments", "input_schema", "metadata", "parameters", "properties", "responseJsonSchema", "responseSchema", "schema",
})  # fmt: skip
"""Members with free names: no format has a meaning for them."""

MOST_TEXTS, MOST_OBJECTS = 32, 64
"""The number of names that are tried at once: so few that one of them can hardly hide another."""

_INDEX = re.compile(r"/\d+(?=/|$)")
_BASE64 = re.compile(r'"([\w+/-]{8,}={0,2})"')


@cache
def _names(format: fb.Format) -> tuple[str, ...]:
    """Return each field name of a wire model of a format."""
    package = import_module(f"formatbridge.formats.{format}.wire")
    modules = [
        package,
        *(import_module(f"{package.__name__}.{problems.name}") for problems in pkgutil.iter_modules(package.__path__)),
    ]
    models = {
        value for module in modules for value in vars(module).values() if isinstance(value, type) and issubclass(value, BaseModel)
    }
    fields = [(name, field) for model in models for name, field in model.model_fields.items()]
    return tuple(sorted({field.serialization_alias or field.alias or name for name, field in fields}))


def _kinds_of_object(format: fb.Format, kind: str) -> Iterator[tuple[Sample, str]]:
    """Yield the place of an object of each kind, in the smallest fixture that has one."""
    seen = set()
    for sample in sorted(shipped(format, kind), key=lambda sample: len(json.dumps(sample.body))):
        for place in objects(sample.body):
            node = value_at(sample.body, place)
            # Types of one shape are distinguished by their members.
            members = frozenset(node) if "/parts/" in place else None
            sign = (_INDEX.sub("/*", place), repr(node.get("type")), node.get("role"), members)
            if sign not in seen and FREE.isdisjoint(place.split("/")):
                seen.add(sign)
                yield sample, place


def _batches(sample: Sample, place: str, most: int, value: Any) -> Iterator[dict[str, Any]]:
    """Yield new members for an object, each with a unique value; none that the type of the object rejects."""
    node = value_at(sample.body, place)
    absent = [name for name in _names(sample.format) if node.get(name) is None]
    total = -(-len(absent) // most)
    numbers = count()
    for first in range(total):
        added = {name: value(f"zz{next(numbers)}zz") for name in absent[first::total]}
        if not _is_accepted(sample, place, added):
            added = {name: new for name, new in added.items() if _is_accepted(sample, place, {name: new})}
        if added:
            yield added


def _is_accepted(sample: Sample, place: str, added: dict[str, Any]) -> bool:
    try:
        check(_with(sample, place, added), sample.format, sample.kind)  # type: ignore[arg-type]  # by name
    except fb.InvalidPayloadError:
        return False
    return True


def _with(sample: Sample, place: str, added: dict[str, Any]) -> Any:
    return with_value(sample.body, place, value_at(sample.body, place) | added)


def _silent(sample: Sample, place: str, added: dict[str, str], target: fb.Format) -> set[str]:
    """Return the names whose texts are neither in the output nor at, above or below a loss; none if they are rejected together."""
    try:
        converted = sample.convert(_with(sample, place, added), target)
    except fb.FormatBridgeError:
        return set() if len(added) == 1 else set(added)
    paths = [loss.path for loss in converted.losses]
    if any(is_at_or_below(place, path) for path in paths):
        return set()
    text, reported = (
        _legible(converted.body),
        {path[len(place) + 1 :].partition("/")[0] for path in paths if is_at_or_below(path, place)},
    )
    return {name for name, mark in added.items() if name not in reported and mark not in text}


def _legible(body: Any) -> str:
    """Return a body as text with the content of its tokens: some carry another format's token in base64."""
    text = json.dumps(body)
    return text + "".join(_decoded(token) for token in _BASE64.findall(text))


def _decoded(token: str) -> str:
    try:
        return b64decode(token + "=" * (-len(token) % 4)).decode(errors="replace")
    except binascii.Error:
        return ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", formats.FORMATS)
def test_a_field_of_another_object_is_converted_or_reported(format: fb.Format, kind: str) -> None:
    """For example a text part with an ``image_url``: a field that its type does not have must not disappear."""
    result = set()
    for sample, place in _kinds_of_object(format, kind):
        for added in _batches(sample, place, MOST_TEXTS, str):
            for target in formats.FORMATS:
                names = _silent(sample, place, added, target) if target != format else set()
                alone = {name for name in names if _silent(sample, place, {name: added[name]}, target)}
                at = _INDEX.sub("/*", place)
                result |= {f"{sample}: {at}/{name} -> {target}" for name in alone if (format, f"{at}/{name}") not in NO_CONTENT}

    assert sorted(result) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", formats.FORMATS)
def test_a_field_of_another_object_may_have_any_value(format: fb.Format, kind: str) -> None:
    """The type of its object does not describe it, so it may have any value."""
    problems = []
    for sample, place in _kinds_of_object(format, kind):
        for added in _batches(sample, place, MOST_OBJECTS, lambda mark: {"k": mark}):
            body = _with(sample, place, added)
            for target in formats.FORMATS:
                try:
                    assert sample.convert(body, target).losses is not None
                except fb.FormatBridgeError:
                    continue
                except Exception as error:
                    problems.append(f"{sample}: {place} {sorted(added)} -> {target}: {error!r}")

    assert problems == []
