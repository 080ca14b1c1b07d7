"""The laws of every body hold for requests and answers of token counts too: no silent loss, precise reports, valid bodies."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.convert.bodies import Converted
from tests.corpus import requires_corpus
from tests.fixtures import count_fixtures
from tests.support import judges
from tests.support.laws import (
    Sample,
    nothing_added_is_silent,
    nothing_is_silent,
    recorded,
    report_is_precise,
    shipped,
    unchanged_in_its_format,
)

COUNTING = [name for name in fb.FORMATS if formats.load(name).count is not None]
"""The formats with an endpoint for token counts."""
FIXTURES = [
    *shipped(kind="request"),
    *(Sample(str(each), each.format, "request", each.body, each.model) for each in count_fixtures("count_request")),
]
ANSWERS = [Sample(str(each), each.format, "response", each.body) for each in count_fixtures("count_response")]


def counting(sample: Sample) -> Any:
    """Return the conversion of a request to a request for a token count."""

    def convert(body: Any, target: fb.Format) -> Converted:
        has_model = bool(body.get("model") or (body.get("generateContentRequest") or {}).get("model"))
        return fb.convert_count_request(body, source=sample.format, target=target, model=None if has_model else sample.model or "m")

    return convert


def answering(sample: Sample) -> Any:
    """Return the conversion of an answer."""

    def convert(body: Any, target: fb.Format) -> Converted:
        return fb.convert_count_response(body, source=sample.format, target=target)

    return convert


@pytest.mark.parametrize("target", COUNTING)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_every_loss_of_a_count_request_is_reported(source: fb.Format, target: fb.Format) -> None:
    """A count of less than the request would let a request pass that is too long for the model."""
    breaches = [
        (str(sample), breach)
        for sample in FIXTURES
        if sample.format == source
        for breach in (
            *report_is_precise(sample.body, target, counting(sample)),
            *nothing_is_silent(sample.body, target, counting(sample), 1),
            *(nothing_added_is_silent(sample.body, target, counting(sample)) if source != target else ()),
        )
    ]

    assert breaches == []


@pytest.mark.parametrize("target", COUNTING)
@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_every_loss_of_a_count_answer_is_reported(answer: Sample, target: fb.Format) -> None:
    """Cached tokens cost less, and only some formats count them."""
    assert [
        *report_is_precise(answer.body, target, answering(answer)),
        *nothing_is_silent(answer.body, target, answering(answer)),
        *(nothing_added_is_silent(answer.body, target, answering(answer)) if target != answer.format else ()),
    ] == []


@pytest.mark.parametrize("sample", [sample for sample in FIXTURES if "count_" in sample.id], ids=str)
def test_a_request_stays_as_it_is_in_its_format(sample: Sample) -> None:
    """A gateway in front of the same format changes nothing, except that fields of Vertex AI need a whole request."""
    if "vertex" in sample.id:
        converted = counting(sample)(sample.body, sample.format)
        assert converted.body == {"generateContentRequest": {"model": "models/gemini-2.5-flash", **sample.body}}
        assert converted.losses == converted.additions == ()
    else:
        assert list(unchanged_in_its_format(sample.body, sample.format, counting(sample))) == []


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_stays_as_it_is_in_its_format(answer: Sample) -> None:
    """Fields that the library does not know reach the caller."""
    body = {**answer.body, "new": 1}

    assert list(unchanged_in_its_format(body, answer.format, answering(answer))) == []


@pytest.mark.parametrize("target", COUNTING)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_request_is_valid_for_the_types_of_the_sdk(source: fb.Format, target: fb.Format) -> None:
    """The vendor's server rejects a field that its endpoint does not have."""
    samples = [sample for sample in FIXTURES if sample.format == source != target]

    assert _new_problems(samples, target) == {}


@requires_corpus
@pytest.mark.parametrize("target", COUNTING)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_recorded_requests_can_be_counted_in_any_format(source: fb.Format, target: fb.Format) -> None:
    """Agents count the request that they are about to send."""
    if source == target:
        pytest.skip("the body stays as it is")
    samples = list(recorded(source, "request"))
    breaches = [breach for sample in samples for breach in report_is_precise(sample.body, target, counting(sample))]

    assert breaches == []
    assert _new_problems(samples, target) == {}


def _new_problems(samples: list[Sample], target: fb.Format) -> dict[str, str]:
    """Return what the types of the SDK reject in count requests, and do not reject in the whole requests: one example for each."""
    result: dict[str, str] = {}
    for sample in samples:
        body = counting(sample)(sample.body, target).body
        whole = {} if "generateContentRequest" in sample.body else sample.convert(sample.body, target).body
        known = {judges.shape(problem) for problem in judges.problems(target, "request", whole)} if whole else set()
        for problem in judges.problems(target, "count_request", body):
            shape = judges.shape(problem).removeprefix("/generateContentRequest")
            if shape not in known:
                result.setdefault(shape, str(sample))
    return result


@pytest.mark.parametrize("target", COUNTING)
@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_is_valid_for_the_types_of_the_sdk(answer: Sample, target: fb.Format) -> None:
    """The SDK reads the count from one field."""
    assert judges.problems(target, "count_response", answering(answer)(answer.body, target).body) == []
