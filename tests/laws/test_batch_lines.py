"""The laws of bodies hold for the lines of batch files: no field of an envelope disappears without a report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from anthropic.types.messages import MessageBatchIndividualResponse
from anthropic.types.messages.batch_create_params import Request
from google.genai.types import InlinedResponse
from pydantic import BaseModel, ConfigDict, TypeAdapter

import formatbridge as fb
from formatbridge import ir
from formatbridge.testing.vendor_rules import Facts, broken_rules
from tests.corpus import requires_corpus
from tests.fixtures import BatchFixture, batch_fixtures
from tests.support.directions import DIRECTIONS
from tests.support.judges import problems
from tests.support.laws import (
    Breach,
    Convert,
    nothing_added_is_silent,
    nothing_is_silent,
    recorded,
    shipped,
    unchanged_in_its_format,
)
from tests.support.vendor_rules import is_omission

OPENAI = ("chat_completions", "responses")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _OpenAIRequest(_Strict):
    """``BatchRequestInput`` of OpenAI's OpenAPI document; the SDK has no type for it."""

    custom_id: str
    method: str
    url: str
    body: dict[str, Any]


class _OpenAIResponse(_Strict):
    status_code: int
    request_id: str
    body: dict[str, Any]


class _OpenAIError(_Strict):
    code: str
    message: str


class _OpenAIResult(_Strict):
    """``BatchRequestOutput`` of OpenAI's OpenAPI document; the SDK has no type for it."""

    id: str
    custom_id: str
    response: _OpenAIResponse | None
    error: _OpenAIError | None


@dataclass(frozen=True)
class _Line:
    """A converted line with the attributes of a converted body that the laws read."""

    body: Any
    losses: tuple[fb.Loss, ...]
    additions: tuple[fb.Addition, ...]
    source: ir.FormatName
    kind: str | None


def _converter(fixture: BatchFixture) -> Convert:
    def convert(line: Any, target: ir.FormatName) -> fb.Converted:
        result = fixture.convert_like(line, target)
        if result.error is not None:
            raise result.error
        return cast(
            fb.Converted, _Line(json.loads(result.json or b""), result.losses, result.additions, fixture.format, result.kind)
        )

    return convert


def _request_line(format: fb.Format, id: str, body: Any) -> dict[str, Any]:
    """Write a request line as the vendor documents it."""
    if format == "messages":
        return {"custom_id": id, "params": body}
    if format == "generate_content":
        return {"key": id, "request": body}
    url = "/v1/responses" if format == "responses" else "/v1/chat/completions"
    return {"custom_id": id, "method": "POST", "url": url, "body": body}


PAIRS = [(fixture, target) for fixture in batch_fixtures() for target in fb.FORMATS]


@pytest.mark.parametrize(("fixture", "target"), PAIRS, ids=str)
def test_every_loss_of_a_batch_line_is_reported(fixture: BatchFixture, target: fb.Format) -> None:
    """Laws 1 and 2 for the whole line: users who account for a batch need the ids and statuses of the envelope."""
    convert = _converter(fixture)

    breaches = [*nothing_is_silent(fixture.line, target, convert), *nothing_added_is_silent(fixture.line, target, convert)]

    assert breaches == []


@pytest.mark.parametrize("fixture", batch_fixtures(), ids=str)
def test_a_line_converted_to_its_format_is_the_line(fixture: BatchFixture) -> None:
    """Law 3: a file that needs no conversion is unchanged."""
    breaches: list[Breach] = list(unchanged_in_its_format(fixture.line, fixture.format, _converter(fixture)))

    assert breaches == []


@pytest.mark.parametrize(("fixture", "target"), PAIRS, ids=str)
def test_an_id_and_the_kind_of_a_line_survive_a_round_trip(fixture: BatchFixture, target: fb.Format) -> None:
    """Callers match results to requests by the id, and send again what was not processed."""
    line = fixture.convert(target)

    (again,) = fb.convert_batch([line.json or b""], source=target, target=fixture.format, model="m")

    assert again.error is None
    is_failed_by_vertex = line.kind == "unprocessed" and "failed" in fixture.stem
    assert is_failed_by_vertex or again.kind == line.kind
    if line.custom_id and not any(loss.code == "renamed" for loss in line.losses):
        assert (again.custom_id, _id(json.loads(again.json or b""))) == (line.custom_id, line.custom_id)


def _id(line: dict[str, Any]) -> Any:
    return line["key"] if "key" in line else line["custom_id"]


@pytest.mark.parametrize(("fixture", "target"), [pair for pair in PAIRS if pair[0].format != pair[1]], ids=str)
def test_a_converted_line_is_valid_in_the_vendors_types(fixture: BatchFixture, target: fb.Format) -> None:
    """The vendor's server and SDK read the converted file."""
    line = fixture.convert(target)

    assert _problems_of_line(target, line.kind or "", json.loads(line.json or b"")) == []


def _problems_of_line(format: fb.Format, kind: str, line: dict[str, Any]) -> list[str]:
    """Validate the envelope and the body of a line with the vendor's types, and list what these reject in the body."""
    if kind == "request":
        if format in OPENAI:
            body: Any = _OpenAIRequest.model_validate(line).body
        elif format == "messages":
            TypeAdapter(Request).validate_python(line)
            body = line["params"]
        else:
            assert line.keys() == {"key", "request"}
            body = line["request"]
        return problems(format, "request", body)
    if format in OPENAI:
        result = _OpenAIResult.model_validate(line)
        assert (result.response is None) != (result.error is None)
        if result.response is None:
            return []
        return problems(format, "response" if result.response.status_code < 400 else "error", result.response.body)
    if format == "messages":
        MessageBatchIndividualResponse.model_validate(line)
        body = line["result"]
        return (
            [*problems(format, "response", body["message"])]
            if body["type"] == "succeeded"
            else (problems(format, "error", body["error"]) if body["type"] == "errored" else [])
        )
    error = {"error": {key: line["error"][key] for key in ("code", "message")}} if "error" in line else {}
    InlinedResponse.model_validate({key: line[key] for key in ("response",) if key in line} | error)
    return problems(format, "response", line["response"]) if "response" in line else []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_no_vendor_rejects_the_requests_of_a_converted_batch(source: fb.Format, target: fb.Format) -> None:
    """A batch fails hours after it was sent, so its requests must be valid before."""
    assert list(_rejections(source, target, is_recorded=False)) == []


@requires_corpus
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_recorded_requests_in_the_lines_of_a_batch_are_converted(source: fb.Format, target: fb.Format) -> None:
    """Real callers send values that no fixture has."""
    assert list(_rejections(source, target, is_recorded=True)) == []


def _rejections(source: fb.Format, target: fb.Format, *, is_recorded: bool) -> Iterator[str]:
    """Yield the problems of the requests of a source as one converted batch: errors, ids, and values that the vendor's server rejects.

    A request that is invalid in its format has an error in its line, and no other line is affected.
    """
    samples = list(recorded(source, "request") if is_recorded else shipped(source, "request"))
    models = [None if sample.body.get("model") else sample.model or "m" for sample in samples]
    lines = [
        json.dumps(_request_line(source, f"request-{number}", sample.body | ({"model": model} if model else {})))
        for number, (sample, model) in enumerate(zip(samples, models, strict=True))
    ]
    assert lines
    results = list(fb.convert_batch(lines, source=source, target=target))
    assert Counter(result.kind for result in results) == {"request": len(lines)}
    for number, (sample, result) in enumerate(zip(samples, results, strict=True)):
        if result.error is not None:
            if not isinstance(result.error, fb.InvalidPayloadError) or not _is_invalid(sample):
                yield f"{sample}: {result.error}"
            continue
        line = json.loads(result.json or b"")
        if _id(line) != f"request-{number}":
            yield f"{sample}: {_id(line)}"
        body = line.get("body") or line.get("params") or line["request"]
        for rule, failure in broken_rules(target, body, Facts(model=result.model)):
            if is_omission(rule.name, sample, result.losses):
                continue
            yield f"{sample}: {rule.name}: {failure.message[:120]}"


def _is_invalid(sample: Any) -> bool:
    """Return whether the request alone is rejected."""
    try:
        sample.convert(sample.body, sample.format)
    except fb.InvalidPayloadError:
        return True
    return False
