"""Validates whole requests, answers, errors and model lists with the vendors' types (law 5).

A problem is one line, ``/messages/0/content/1/type unknown word 'video_url'``: a JSON pointer and the fault. Its shape is the same line
without indexes and free keys. Problems of many bodies are counted by their shape, and those that recorded traffic has are exempt.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, SchemaValidator

from formatbridge.ir import RegisteredName
from tests import corpus
from tests.support import sdk_roots
from tests.support.sdk_validators import MARK, RIVAL, kind_of, validator

ON_PURPOSE: dict[tuple[str, str], frozenset[str]] = {
    ("chat_completions", "request"): frozenset(
        {
            "/messages/*/reasoning_content unknown key",
            "/messages/*/reasoning_details unknown key",
            "/messages/*/tool_calls/*/extra_content unknown key",
            "/messages/*/content/*/type unknown word 'video_url'",
        }
    ),
    ("chat_completions", "response"): frozenset(
        {
            "/choices/*/message/reasoning_content unknown key",
            "/choices/*/message/reasoning_details unknown key",
            "/choices/*/message/images unknown key",
            "/choices/*/message/tool_calls/*/extra_content unknown key",
        }
    ),
    ("messages", "request"): frozenset({"/temperature unknown key", "/top_p unknown key", "/top_k unknown key"}),
}
"""Shapes of fields that no official type has: servers of the format read them, and without them values would be lost."""

FREE_KEYS = ("properties", "defs", "logit_bias", "metadata", "labels", "variables", "attributes", "headers")
"""Fields whose keys are free; a shape does not distinguish them."""

_INDEX = re.compile(r"/\d+(?=[/ ])")
_FREE_KEY = re.compile(rf"/({'|'.join(FREE_KEYS)})/[^/ ]+")


def problems(format: str, kind: str, body: Any) -> list[str]:
    """List the values that the official types reject in a body, without fields that the library writes on purpose.

    ``kind`` is one of ``sdk_roots.KINDS`` or ``COUNT_KINDS``.
    """
    tolerated = ON_PURPOSE.get((format, kind), frozenset())
    return [problem for problem in refusals(format, kind, body) if shape(problem) not in tolerated]


def refusals(format: str, kind: str, body: Any) -> list[str]:
    """List all values that the official types reject in a body, unknown keys included."""
    if not isinstance(body, dict):
        return [f" is {kind_of(body)}"]
    try:
        _validator(format, kind, body.get("stream") is True and kind == "request").validate_python(body)
    except ValidationError as error:
        return lines_of(error)
    return []


def lines_of(error: ValidationError) -> list[str]:
    """Return the problems of a validation as lines."""
    return [_line_of(each) for each in _best(error.errors(include_url=False), 0)]


def shape(problem: str) -> str:
    """Return a problem in which array indexes and free keys are ``*``."""
    return _FREE_KEY.sub(r"/\1/*", _INDEX.sub("/*", problem))


@cache
def baseline_problems(format: str, kind: str) -> frozenset[str]:
    """Return the shapes of values that the official types reject in recorded bodies of the format; a conversion cannot be better."""
    result = (problems(format, kind, body) for body in recorded_bodies(format, kind))
    return frozenset(shape(problem) for each in result for problem in each)


def recorded_bodies(format: str, kind: str) -> Iterator[Any]:
    """Yield the recorded bodies that are whole JSON values, the elements of an array one by one; none edited by hand."""
    for entry in corpus.entries(RegisteredName(format), kind):
        if entry.framing != "sse" and not entry.is_curated:
            body = entry.json()
            yield from body if isinstance(body, list) else [body]


@cache
def _validator(format: str, kind: str, is_streaming: bool) -> SchemaValidator:
    return validator(sdk_roots.root(format, kind, is_streaming=is_streaming))


def _best(errors: list[ErrorDetails], depth: int) -> list[ErrorDetails]:
    """Select the useful errors:

    of an object with a wrong tag the tag only; of several union members the errors of the one with the fewest.
    """
    groups: dict[int | str | None, list[ErrorDetails]] = {}
    for error in errors:
        step = error["loc"][depth] if depth < len(error["loc"]) else None
        groups.setdefault(step, []).append(error)
    wrong_tag = [error for error in errors if error["type"] == "literal_error" and error["loc"][depth:] in (("type",), ("role",))]
    if wrong_tag:
        return wrong_tag[:1]
    kept = {step: group if step is None else _best(group, depth + 1) for step, group in groups.items()}
    rivals = [step for step in kept if isinstance(step, str) and step.startswith(RIVAL)]
    if rivals:
        return min((kept[step] for step in rivals), key=len)
    return [error for group in kept.values() for error in group]


def _line_of(error: ErrorDetails) -> str:
    pointer = _pointer(error["loc"])
    match error["type"]:
        case "missing":
            return f"{pointer} missing"
        case "extra_forbidden":
            return f"{pointer} unknown key"
        case "literal_error" if isinstance(error["input"], str):
            return f"{pointer} unknown word {error['input']!r:.40}"
        case "union_tag_invalid":
            key, _, word = error["ctx"]["tag"].removeprefix(MARK).partition("=")
            return _line_of_tag(pointer, key, word)
        case trouble:
            return f"{pointer} {trouble}, not {kind_of(error['input'])}"


def _line_of_tag(pointer: str, key: str, word: str) -> str:
    if key == "kind":
        return f"{pointer} is {word}"
    return f"{pointer}/{key} missing" if word == "None" else f"{pointer}/{key} unknown word {word!r:.40}"


def _pointer(steps: Iterable[int | str]) -> str:
    places = (str(step) for step in steps if not str(step).startswith(MARK))
    return "".join(f"/{place.replace('~', '~0').replace('/', '~1')}" for place in places)
