"""The laws hold for a body of each field and union member that the wire models or the official types have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.convert.input import check, wire_model
from tests.support.directions import DIRECTIONS
from tests.support.judges import problems
from tests.support.laws import Breach, Sample, nothing_is_silent, once, report_is_precise, there_and_back, unchanged_in_its_format
from tests.support.sdk_roots import root
from tests.support.specimens import specimens

KINDS = ("request", "response", "error", "models")

NO_CONTENT = {
    ("1 silent", "/*/parts/*/thought"): "a part without text, data or token is no reasoning",
    ("1 silent", "/*/*/parts/*/thought"): "a part without text, data or token is no reasoning",
    ("1 silent", "/*/*/content/parts/*/thought"): "a part without text, data or token is no reasoning",
    ("1 silent", "/model"): "the caller passes another model",
    ("1 silent", "/service_tier"): "an unknown tier next to an unknown speed is reported at the pointer of the speed",
    (
        "2 claimed lost",
        "/contents/*/parts/*/thought",
    ): "reasoning in a message of the user is left out as a whole, with flag and text",
    (
        "2 claimed lost",
        "/systemInstruction/parts/*/thought",
    ): "reasoning in a system prompt is left out as a whole, with flag and text",
    (
        "2 claimed lost",
        "/usage/cache_creation/*",
    ): "without a total, the sum of the parts is the total: the parts are lost, their sum is not",
    ("2 claimed lost", "/usage/*/cache_write_tokens_details/*"): "without a total, the sum of the parts is the total",
}
"""Laws and places for which they do not hold, and why."""

REPORTED_ELSEWHERE = {
    "none": "a choice without tools has no effect",
    "auto": "the default",
    "service_tier_x": "see above",
    "implicit": "the default",
    "image/png": "the type of an image without data, or a type that follows from its data",
    "1": "a number within arguments, which are reported as text",
}
"""Values that a round trip does not restore, and why they are not needed."""


@cache
def _samples(source: fb.Format, kind: str, *, official: bool) -> tuple[Sample, ...]:
    """Return a specimen for each field and member of a type, except rejected ones: the wire models have limits that types do not show."""
    results = []
    for pointer, body in specimens(root(source, kind) if official else wire_model(source, kind)):
        try:
            check(body, source, kind)  # type: ignore[arg-type]  # by name
        except fb.InvalidPayloadError:
            continue
        results.append(Sample(pointer, source, kind, body, body.get("model") or "m"))
    return tuple(results)


def _different(source: fb.Format, kind: str) -> list[Sample]:
    """Return the specimens of both types with different bodies: most fields are in both types."""
    samples = (*_samples(source, kind, official=False), *_samples(source, kind, official=True))
    return list({json.dumps(sample.body, sort_keys=True): sample for sample in samples}.values())


def _breaches(sample: Sample, target: fb.Format) -> Iterator[Breach]:
    convert = once(sample.convert, sample.body)
    result = [
        *nothing_is_silent(sample.body, target, convert, per_place=1),
        *report_is_precise(sample.body, target, convert),
        *there_and_back(sample.body, sample, target, convert),
    ]
    for breach in result:
        word = re.fullmatch("'(.*)' gone", breach.detail)
        is_small = word is not None and word[1] in REPORTED_ELSEWHERE
        if not is_small and not any(breach.law == law and _matches(breach.path, place) for law, place in NO_CONTENT):
            yield breach


def _matches(path: str, place: str) -> bool:
    return re.fullmatch(place.replace("*", "[^/]+"), path) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_loss_of_any_field_of_a_type_is_reported(source: fb.Format, target: fb.Format, kind: str) -> None:
    """Laws 1, 2 and 4, before the first server sends the field."""
    samples = _different(source, kind)
    result = [f"{sample}: {breach}" for sample in samples for breach in _breaches(sample, target)]

    assert samples
    assert result[:10] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_valid_body_is_valid_in_the_types_of_the_target(source: fb.Format, target: fb.Format, kind: str) -> None:
    """Law 5, for each field and member of the source's types."""
    results = []
    for sample in _samples(source, kind, official=True):
        if not problems(source, kind, sample.body):
            converted = sample.convert(sample.body, target)
            results += [f"{sample}: {problem}" for problem in problems(target, converted.kind, converted.body)]

    assert results[:10] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", formats.FORMATS)
def test_every_field_of_a_type_is_restored_by_a_round_trip(format: fb.Format, kind: str) -> None:
    """Law 3: a same-format conversion returns the body."""
    samples = _different(format, kind)

    assert [breach for sample in samples for breach in unchanged_in_its_format(sample.body, format, sample.convert)] == []
