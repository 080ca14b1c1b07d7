"""Batch files of vendors are converted line by line, and nothing of a line is lost without a report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types.beta.messages.beta_message_batch_individual_response import BetaMessageBatchIndividualResponse
from google.genai.types import GenerateContentResponse, JobError
from pydantic import TypeAdapter

import formatbridge as fb
from formatbridge import ir
from tests import fixtures
from tests.support.for_each import for_each
from tests.support.judges import problems
from tests.toy_format import LINES

IDS = {"chat_completions": "custom_id", "responses": "custom_id", "messages": "custom_id", "generate_content": "key"}
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "How deep is the fjord?"}]}
RESPONSE = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "1,308 m."}, "finish_reason": "stop"}],
}
URLS = {"chat_completions": "/v1/chat/completions", "responses": "/v1/responses"}


def _request_line(format: ir.FormatName, id: str, body: Any) -> dict[str, Any]:
    """Write a request line as the vendor documents it."""
    if format in URLS:
        return {"custom_id": id, "method": "POST", "url": URLS[format], "body": body}
    return {"custom_id": id, "params": body} if format == "messages" else {"key": id, "request": body}


def _response_line(format: ir.FormatName, id: str, body: Any) -> dict[str, Any]:
    """Write the line of an answer as the vendor documents it."""
    if format in URLS:
        response = {"status_code": 200, "request_id": "req_1", "body": body}
        return {"id": "batch_req_1", "custom_id": id, "response": response, "error": None}
    if format == "messages":
        return {"custom_id": id, "result": {"type": "succeeded", "message": body}}
    return {"key": id, "response": body}


def _error_line(format: fb.Format, id: str, status: int, body: Any) -> dict[str, Any]:
    if format in URLS:
        return {"id": "b", "custom_id": id, "response": {"status_code": status, "request_id": "r", "body": body}, "error": None}
    if format == "messages":
        return {"custom_id": id, "result": {"type": "errored", "error": body}}
    return {"key": id, "error": body["error"]}


def _body_of(format: fb.Format, line: dict[str, Any], kind: str) -> Any:
    if kind == "request":
        return line["body"] if format in URLS else line["params"] if format == "messages" else line["request"]
    if format in URLS:
        return line["response"]["body"]
    return line["result"]["message"] if format == "messages" else line["response"]


def _convert(line: Any, source: ir.FormatName, target: ir.FormatName, **arguments: Any) -> fb.BatchLine:
    """Convert one line."""
    text = line if isinstance(line, str) else json.dumps(line)
    (converted,) = fb.convert_batch([text], source=source, target=target, **arguments)
    return converted


@pytest.mark.parametrize("target", fb.FORMATS)
@for_each("fixture", fixtures.fixtures("request"))
def test_a_request_line_is_converted_as_its_body_and_keeps_its_id(fixture: fixtures.Fixture, target: fb.Format) -> None:
    """A batch is the same conversion for many requests, so both report the same losses."""
    line = _convert(_request_line(fixture.format, "call-1", fixture.body), fixture.format, target, model=fixture.model or "m")
    alone: fb.ConvertedRequest | None
    try:
        alone = fb.convert_request(
            fixture.body,
            source=fixture.format,
            target=target,
            stream=False,
            model=None if fixture.body.get("model") else fixture.model or "m",
        )
    except fb.FormatBridgeError:
        alone = None
    if alone is None:
        assert (line.error is None, line.json) == (False, None)
        return

    assert line.error is None
    assert line.json is not None
    result = json.loads(line.json)
    assert (line.custom_id, line.kind, result[IDS[target]]) == ("call-1", "request", "call-1")
    assert _body_of(target, result, "request") == alone.body
    at = _body_pointer(fixture.format, "request")
    batch = [f"{at}/{key}" for key in ("stream", "stream_options") if fixture.body.get("stream") is True and fixture.body.get(key)]
    batch += [f"{at}/model"] if fixture.body.get("model") and "model" not in alone.body else []
    assert [loss.path for loss in line.losses] == batch + [at + loss.path for loss in alone.losses]
    assert line.model == alone.model


def _body_pointer(format: ir.FormatName, kind: str) -> str:
    if kind == "request":
        return "/body" if format in URLS else "/params" if format == "messages" else "/request"
    return "/response/body" if format in URLS else "/result/message" if format == "messages" else "/response"


@pytest.mark.parametrize("target", fb.FORMATS)
@for_each("fixture", fixtures.fixtures("response"))
def test_a_result_line_is_a_valid_result_of_the_target(fixture: fixtures.Fixture, target: fb.Format) -> None:
    """The reader of the target's result files, such as its SDK, reads the converted file."""
    line = _convert(_response_line(fixture.format, "call-1", fixture.body), fixture.format, target)
    if line.error is not None or line.kind != "response":
        assert line.json is None or _is_error(target, json.loads(line.json))
        return

    result = json.loads(line.json or b"")
    assert result[IDS[target]] == "call-1"
    if _is_error(target, result):
        return
    body = _body_of(target, result, "response")
    assert body == fixture.convert(target).body
    if target == fixture.format:
        assert result == _response_line(target, "call-1", fixture.body)
    elif target == "messages":
        assert problems("messages", "response", body) == []
        BetaMessageBatchIndividualResponse.model_validate(result)
    elif target == "generate_content":
        GenerateContentResponse.model_validate(body)


def _is_error(format: fb.Format, line: dict[str, Any]) -> bool:
    if format in URLS:
        return bool(line["error"]) or line["response"]["status_code"] >= 400
    return line["result"]["type"] != "succeeded" if format == "messages" else "error" in line


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_an_error_line_becomes_an_error_line_of_the_target(source: fb.Format, target: fb.Format) -> None:
    """A program that retries failed requests finds them in any vendor's file."""
    bodies = {each.format: each for each in fixtures.fixtures("error") if each.stem == "rate_limit"}
    fixture = bodies[source]

    line = _convert(_error_line(source, "call-1", fixture.status or 429, fixture.body), source, target)

    assert (line.error, line.kind) == (None, "error")
    result = json.loads(line.json or b"")
    assert _is_error(target, result)
    if target == "messages":
        assert result["result"]["error"]["error"]["type"] == "rate_limit_error"
        BetaMessageBatchIndividualResponse.model_validate(result)
    elif target == "generate_content":
        assert result["error"]["code"] == 429
        TypeAdapter(JobError).validate_python({key: result["error"][key] for key in ("code", "message")})
    else:
        assert result["response"]["status_code"] == 429


UNPROCESSED = {
    "chat_completions": {"id": "b", "custom_id": "x", "response": None, "error": {"code": "batch_expired", "message": "too late"}},
    "responses": {"id": "b", "custom_id": "x", "response": None, "error": {"code": "batch_expired", "message": "too late"}},
    "messages": {"custom_id": "x", "result": {"type": "expired"}},
    "generate_content": {"key": "x", "error": {"code": 4, "message": "too late"}},
}


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_an_expired_batch_line_stays_expired(source: fb.Format, target: fb.Format) -> None:
    """It was not processed and not paid for, unlike a failed one, so a caller sends it again."""
    line = _convert(UNPROCESSED[source], source, target)

    assert (line.error, line.kind) == (None, "unprocessed")
    again = _convert((line.json or b"").decode(), target, source)
    expected = json.loads(json.dumps(UNPROCESSED[source]))
    result = json.loads(again.json or b"")
    for each in (expected, result):
        each.pop("id", None)
        each.get("error", {}).pop("message", None)
    assert result == expected


def test_a_message_that_the_target_cannot_hold_is_reported() -> None:
    """Anthropic's result of an expired request has no text."""
    line = _convert(UNPROCESSED["chat_completions"], "chat_completions", "messages")

    assert [(loss.path, loss.before) for loss in line.losses] == [("/error/message", "too late"), ("/id", "b")]


def test_fields_of_the_envelope_that_the_target_lacks_are_reported() -> None:
    """Nothing of a line may disappear without a report, the envelope included."""
    line = _response_line("chat_completions", "a", RESPONSE)
    line["response"]["extra"] = {"region": "eu"}
    line["note"] = "mine"

    losses = {loss.path: loss.before for loss in _convert(line, "chat_completions", "messages").losses}

    assert losses["/note"] == "mine"
    assert losses["/response/extra"] == {"region": "eu"}
    assert losses["/response/request_id"] == "req_1"
    assert losses["/id"] == "batch_req_1"


def test_an_id_that_the_target_rejects_is_changed_and_reported() -> None:
    """Anthropic accepts letters, digits, hyphens and underscores, at most 64."""
    line = _convert(_request_line("chat_completions", "row 7/é" + "x" * 80, REQUEST), "chat_completions", "messages")

    new = json.loads(line.json or b"")["custom_id"]
    assert len(new) == 64
    assert new.isascii()
    assert line.custom_id == "row 7/é" + "x" * 80
    assert [(loss.path, loss.code, loss.after) for loss in line.losses if loss.path == "/custom_id"] == [
        ("/custom_id", "renamed", new)
    ]


def test_different_ids_stay_different_if_they_are_changed() -> None:
    """Two results with one id cannot be matched to their requests, and Anthropic rejects such a batch."""
    ids = ["row 1", "row/1", "row_1", *(f"{'x' * 70}{number}" for number in range(20_000))]
    lines = (json.dumps(_request_line("chat_completions", id, REQUEST)) for id in ids)

    new = {
        json.loads(line.json or b"")["custom_id"] for line in fb.convert_batch(lines, source="chat_completions", target="messages")
    }

    assert len(new) == len(ids)
    assert max(map(len, new)) <= 64


@pytest.mark.parametrize("id", [{}, {"key": None}, {"key": ""}])
def test_a_line_without_an_id_gets_one_from_its_number(id: dict[str, Any]) -> None:
    """Vertex AI has no keys; other vendors require an id, which must be the same in each run."""
    line = id | {"request": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}}

    _, second = fb.convert_batch(["{}", json.dumps(line)], source="generate_content", target="messages", model="m")

    assert second.custom_id is None
    assert json.loads(second.json or b"")["custom_id"] == "line-2"
    assert (second.additions[0].path, second.additions[0].value) == ("/custom_id", "line-2")


def test_an_id_that_is_no_text_is_rejected() -> None:
    """OpenAI and Anthropic reject it, and a converted id must still match the caller's records."""
    line = _convert(_request_line("chat_completions", "a", REQUEST) | {"custom_id": 7}, "chat_completions", "messages")

    assert isinstance(line.error, fb.InvalidPayloadError)
    assert line.error.problems == (("/custom_id", "is 7, expected a string"),)


def test_ids_that_openai_has_besides_the_callers_are_additions() -> None:
    """A reader of OpenAI's result files expects them, and no other vendor has them."""
    line = _convert(_response_line("messages", "a", _anthropic_message()), "messages", "chat_completions")

    result = json.loads(line.json or b"")
    ids = {"/id": result["id"], "/response/request_id": result["response"]["request_id"]}
    assert ids == {"/id": "batch_req_a", "/response/request_id": "req_a"}
    assert {addition.path: addition.value for addition in line.additions if addition.path in ids} == ids


def _anthropic_message() -> Any:
    return fb.convert_response(RESPONSE, source="chat_completions", target="messages").body


def test_lines_are_converted_as_they_are_read() -> None:
    """A file may be larger than the memory."""
    text = json.dumps(_request_line("chat_completions", "a", REQUEST))
    read: list[int] = []

    def lines() -> Iterator[str]:
        for number in range(1000):
            read.append(number)
            yield text

    converted = fb.convert_batch(lines(), source="chat_completions", target="messages")
    assert read == []
    next(converted)
    next(converted)

    assert read == [0, 1]


def test_problems_of_a_body_have_pointers_into_the_line() -> None:
    """A caller finds the value in the file, as with the losses."""
    body = {"model": "m", "messages": [{"role": "user"}]}

    line = _convert(_request_line("chat_completions", "a", body), "chat_completions", "messages")

    assert isinstance(line.error, fb.InvalidPayloadError)
    assert [pointer for pointer, _ in line.error.problems] == ["/body/messages/0/content"]


@pytest.mark.parametrize("body", ["<html>Bad gateway</html>", None, ["no"]])
def test_an_error_whose_body_is_no_object_is_converted(body: Any) -> None:
    """A proxy in front of the server writes HTML."""
    line = _convert(_error_line("chat_completions", "a", 502, body), "chat_completions", "messages")

    assert (line.error, line.kind) == (None, "error")
    assert json.loads(line.json or b"")["result"]["error"]["error"]["type"] == "api_error"


def test_a_batch_continues_after_a_line_that_is_invalid() -> None:
    """One bad line in a million must not stop the file, and its number leads to it."""
    good = json.dumps(_request_line("chat_completions", "a", REQUEST))

    lines = list(
        fb.convert_batch([good, "", "{", '["x"]', '{"a": 1}', good.encode()], source="chat_completions", target="responses")
    )

    assert [line.number for line in lines] == [1, 3, 4, 5, 6]
    assert [line.error is None for line in lines] == [True, False, False, False, True]
    assert [line.json for line in lines[1:4]] == [None, None, None]
    assert str(lines[1].error).startswith("chat_completions batch line: body is not JSON")
    assert str(lines[2].error) == "chat_completions batch line: body is an array, expected an object"
    expected = "expected a result, or a request in the field 'body'"
    assert str(lines[3].error) == f"chat_completions batch line: body is no line of a batch file of chat_completions, {expected}"


def test_a_line_of_another_endpoint_is_rejected() -> None:
    """OpenAI's files for both formats differ only in the URL, and the bodies have fields of the same names."""
    line = _convert(_request_line("responses", "a", {"model": "m", "input": "hi"}), "chat_completions", "messages")

    assert isinstance(line.error, fb.InvalidPayloadError)
    assert line.error.problems == (("/url", "is the string '/v1/responses', expected /v1/chat/completions"),)


def test_a_result_that_cannot_be_converted_becomes_an_error_of_the_target() -> None:
    """The reader of the target's file must find a result for each request that the vendor answered."""
    line = _convert(_response_line("chat_completions", "a", {"choices": "none"}), "chat_completions", "messages")

    assert line.error is not None
    result = json.loads(line.json or b"")
    assert result["custom_id"] == "a"
    assert result["result"]["type"] == "errored"


def test_losses_that_are_too_severe_fail_their_line_only() -> None:
    """``raise_on`` decides line by line."""
    body = REQUEST | {"n": 3}
    options = fb.Options(raise_on="impossible")

    line = _convert(_request_line("chat_completions", "a", body), "chat_completions", "messages", options=options)

    assert isinstance(line.error, fb.LossyConversionError)
    assert [loss.path for loss in line.error.losses] == ["/body/n"]
    assert line.json is None


def test_losses_of_the_envelope_count_for_raise_on() -> None:
    """A caller who accepts no loss accepts none in the envelope."""
    line = _request_line("chat_completions", "a", REQUEST) | {"note": "mine"}

    converted = _convert(line, "chat_completions", "responses", options=fb.Options(raise_on="info"))

    assert isinstance(converted.error, fb.LossyConversionError)
    assert [loss.path for loss in converted.error.losses] == ["/note"]


def test_one_text_instead_of_lines_is_rejected() -> None:
    """A file's whole text would be read character by character."""
    with pytest.raises(fb.ConfigurationError, match="lines is a str, expected an iterable of lines"):
        fb.convert_batch("{}", source="messages", target="responses")


@pytest.mark.parametrize("lines", [None, 7, [b"{}", 7], [{"custom_id": "a"}]])
def test_lines_that_are_no_text_are_rejected(lines: Any) -> None:
    """A caller who parsed the lines before learns what is expected."""
    with pytest.raises(fb.ConfigurationError, match="expected"):
        list(fb.convert_batch(lines, source="chat_completions", target="messages"))


@pytest.mark.parametrize("target", ["chat_completions", "responses", "messages"])
def test_a_request_without_a_model_fails_its_line(target: fb.Format) -> None:
    """These vendors reject a batch in which a request names no model."""
    line = json.dumps(_request_line("generate_content", "a", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}))

    (failed,) = fb.convert_batch([line], source="generate_content", target=target)
    (converted,) = fb.convert_batch([line], source="generate_content", target=target, model="m")

    assert failed.json is None
    assert str(failed.error) == "a request of the file has no model: pass model="
    assert converted.error is None


def test_totals_count_the_losses_of_all_lines_in_groups() -> None:
    """A report over a million lines has one line for each field."""
    body = REQUEST | {"seed": 1}
    text = json.dumps(_request_line("chat_completions", "a", body))
    totals = fb.LossTotals()

    for line in fb.convert_batch([text] * 5, source="chat_completions", target="messages"):
        totals.add(line.losses)

    assert [(group.pattern, group.count) for group in totals.groups if group.pattern == "/body/seed"] == [("/body/seed", 5)]


def test_the_requests_of_a_batch_are_written_for_a_dialect() -> None:
    """A server that reads the format may read its batch files too."""
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
    line = json.dumps(_request_line("messages", "a", body))
    target = fb.Target("chat_completions", dialect="mistral")

    (converted,) = fb.convert_batch([line], source="messages", target=target)

    alone = fb.convert_request(body, source="messages", target=target)
    assert json.loads(converted.json or b"")["body"] == alone.body
    assert "max_tokens" in alone.body


def test_a_format_without_batch_files_is_rejected() -> None:
    """A format from outside may have none."""
    with pytest.raises(fb.ConfigurationError, match=" has no batch files: use one of "):
        fb.convert_batch([], source=LINES, target="messages")


def test_a_line_can_be_written_as_json() -> None:
    """A line without a body has its error as a message."""
    good = json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": []}})

    lines = [line.to_dict() for line in fb.convert_batch([good, "{"], source="chat_completions", target="messages")]

    first, second = json.loads(json.dumps(lines))
    assert first["custom_id"] == "a"
    assert first["body"]["custom_id"] == "a"
    assert second["body"] is None
    assert "JSON" in second["error"]
