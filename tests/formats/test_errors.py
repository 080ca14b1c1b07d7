"""Errors across formats: kinds, messages, codes, parameters, statuses, and errors in streams and failed answers."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

import formatbridge as fb
from formatbridge import FORMATS, formats, ir
from formatbridge.formats.shared.errors import QUOTA_CODES, decode_error_body, error_family
from formatbridge.report.ledger import null_ledger
from tests.support.directions import DIRECTIONS

OPENAI = ["chat_completions", "responses"]


def error_of(format: fb.Format, word: str) -> dict[str, Any]:
    detail = {"type": word, "message": "no"}
    return {"type": "error", "error": detail} if format == "messages" else {"error": {**detail, "param": None, "code": None}}


@pytest.mark.parametrize("word", ["new_api_error", "upstream_error", "content_policy_violation", "<nil>"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_error_code_that_the_target_cannot_represent_is_reported(source: fb.Format, target: fb.Format, word: str) -> None:
    """Relays have codes that no vendor has, which operators search for."""
    converted = fb.convert_error(error_of(source, word), source=source, target=target, status=400)

    reported = [(loss.path, loss.severity, loss.before) for loss in converted.losses]
    assert reported == ([] if word in converted.json().decode() else [("/error/type", "info", word)])


@pytest.mark.parametrize(
    ("source", "word", "status"),
    [
        ("messages", "overloaded_error", 529),
        ("messages", "billing_error", 402),
        ("messages", "request_too_large", 413),
        ("chat_completions", "insufficient_quota", 402),
        ("chat_completions", "invalid_request_error", 404),
        ("responses", "server_error", 500),
        ("responses", "server_error", 503),
    ],
)
@pytest.mark.parametrize("target", FORMATS)
def test_a_code_that_only_repeats_the_class_of_the_error_is_no_loss(
    source: fb.Format, word: str, status: int, target: fb.Format
) -> None:
    """The target has a type and a status for the class; sometimes two classes have one type."""
    losses = fb.convert_error(error_of(source, word), source=source, target=target, status=status).losses

    is_less_specific = target == "generate_content" and status in (402, 413)
    assert [(loss.path, loss.severity) for loss in losses] == ([("/error/type", "info")] if is_less_specific else [])


@pytest.mark.parametrize(
    ("status", "error_type"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (405, "invalid_request_error"),
        (408, "timeout_error"),
        (409, "conflict_error"),
        (413, "request_too_large"),
        (415, "invalid_request_error"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (501, "api_error"),
        (502, "api_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ],
)
@pytest.mark.parametrize("source", FORMATS)
def test_messages_has_the_documented_error_type_for_each_status(source: fb.Format, status: int, error_type: str) -> None:
    """Anthropic documents one type for each status, and other statuses from 400 to 499 as ``invalid_request_error``."""
    converted = fb.convert_error("no", source=source, target="messages", status=status)

    assert (converted.status, converted.body["error"]["type"]) == (status, error_type)


SHAPES: dict[str, tuple[int, Any]] = {
    "of messages": (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "no"}, "request_id": "req_1"}),
    "with a word": (503, {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}),
    "with a word alone": (200, {"error": {"message": "no", "status": "UNAVAILABLE"}}),
    "with details": (
        429,
        [{"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "7s"}]}}],
    ),
    "in words": (502, {"success": False, "message": "no"}),
}


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_of_a_known_shape_is_read_the_same_at_every_endpoint(shape: str, target: fb.Format) -> None:
    """Relays pass on the error of the server behind them, in its shape."""
    status, body = SHAPES[shape]

    read = [fb.convert_error(body, source=source, target=target, status=status) for source in FORMATS if source != target]

    assert all((result.status, result.body, result.losses) == (read[0].status, read[0].body, read[0].losses) for result in read)
    assert "lossy" not in {loss.severity for result in read for loss in result.losses}


@pytest.mark.parametrize("source", OPENAI)
def test_the_code_of_an_error_decides_without_a_status(source: fb.Format) -> None:
    """An overload that came with status 200 is worth another attempt, other errors of a server less."""
    converted = fb.convert_error(
        {"error": {"message": "no", "status": "UNAVAILABLE"}}, source=source, target="messages", status=200
    )

    assert (converted.status, converted.body["error"]["type"], converted.losses) == (529, "overloaded_error", ())


UNTYPED: dict[str, Any] = {
    "a number for its status": {"param": "p", "code": "c", "status": 400},
    "words for details": {"code": "c", "details": "no, no"},
    "no details": {"param": "p", "code": "c", "details": []},
    "details with a code": {"code": "c", "details": [{"code": "d", "message": "no"}]},
    "a word for its status": {"param": "p", "code": "c", "status": "INVALID_ARGUMENT"},
}


@pytest.mark.parametrize("shape", UNTYPED)
@pytest.mark.parametrize(("source", "target"), [OPENAI, OPENAI[::-1]])
def test_an_error_without_a_type_keeps_its_code_and_its_parameter_where_the_target_has_room(
    shape: str, source: fb.Format, target: fb.Format
) -> None:
    """Azure omits the type. Callers read the code to distinguish a refused prompt, and the parameter to find the field."""
    detail = UNTYPED[shape]
    body = {"error": {"message": "no", "type": None, **detail}}

    converted = fb.convert_error(body, source=source, target=target, status=400)

    assert converted.body["error"]["code"] == "c"
    assert converted.body["error"]["param"] == detail.get("param")
    assert {"/error/code", "/error/param"}.isdisjoint(loss.path for loss in converted.losses)
    assert "lossy" not in {loss.severity for loss in converted.losses}


@pytest.mark.parametrize("shape", [name for name, detail in UNTYPED.items() if "param" in detail])
@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_a_param_that_the_target_cannot_represent_is_reported(shape: str, target: fb.Format) -> None:
    """The model never sees an error, so no loss in it is severe."""
    body = {"error": {"message": "no", **UNTYPED[shape]}}

    losses = fb.convert_error(body, source="chat_completions", target=target, status=400).losses

    assert [loss.severity for loss in losses if loss.path == "/error/param"] == ["info"]


@pytest.mark.parametrize("source", [*OPENAI, "messages"])
@pytest.mark.parametrize("details", ["no, no", [{"code": "d"}]], ids=repr)
def test_error_details_that_are_not_read_are_reported(source: fb.Format, details: Any) -> None:
    """Details have a reason or a time to wait only next to a status name."""
    body = error_of(source, "invalid_request_error")
    body["error"]["details"] = details

    losses = fb.convert_error(body, source=source, target="generate_content", status=400).losses

    assert [(loss.path, loss.kind) for loss in losses] == [("/error/details", "dropped")]


def failed_call(word: str) -> dict[str, Any]:
    error = {"type": word, "content": [{"type": "text", "text": "no such row"}]}
    item = {"type": "mcp_call", "id": "mcp_1", "server_label": "s", "name": "n", "arguments": "{}", "error": error}
    rest = {"status": "completed", "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [item], **rest}


@pytest.mark.parametrize(("word", "is_reported"), [("mcp_tool_execution_error", False), ("mcp_quota_error", True)])
def test_a_new_kind_of_failure_of_a_remote_tool_is_reported(word: str, is_reported: bool) -> None:
    """The other format has one kind of failure: the tool failed."""
    converted = fb.convert_response(failed_call(word), source="responses", target="messages")

    assert ("/output/0/error/type" in {loss.path for loss in converted.losses}) is is_reported


UNKNOWN_SHAPES = [
    {"code": 1001, "msg": "quota used up"},
    {"errors": [{"message": "a"}]},
    {"reason": "no"},
    {"error": {"msg": "x"}},
    {"error": {"message": "", "type": "t", "code": "c", "param": "p"}},
]


@pytest.mark.parametrize("body", UNKNOWN_SHAPES, ids=repr)
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_error_without_a_known_message_field_is_its_message(source: fb.Format, target: fb.Format, body: dict[str, Any]) -> None:
    """Gateways in front of a relay have other shapes. A text in the message is not lost."""
    converted = fb.convert_error(body, source=source, target=target, status=403)

    assert json.loads(converted.body["error"]["message"]) == body
    assert (converted.status, converted.losses) == (403, ())
    converted.parse()


@pytest.mark.parametrize("body", UNKNOWN_SHAPES, ids=repr)
@pytest.mark.parametrize("format", FORMATS)
def test_an_error_of_an_unknown_shape_is_unchanged_in_its_format(format: fb.Format, body: dict[str, Any]) -> None:
    """A caller of that format may know the shape."""
    assert fb.convert_error(body, source=format, target=format, status=403).body == body


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"statusCode": 400, "error": "Bad Request", "message": ["a must be a string"]}, '["a must be a string"]'),
        ({"status": 404, "error": "Not Found", "message": "no handler", "path": "/x"}, "no handler"),
        ({"error": "Unauthorized", "detail": "the token has expired"}, "the token has expired"),
        ({"error": "no such model", "message": ""}, "no such model"),
    ],
)
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_details_of_an_error_have_precedence_over_the_name_of_its_class(
    source: fb.Format, target: fb.Format, message: dict[str, Any], text: str
) -> None:
    """The frameworks of gateways send both, and only the details help."""
    converted = fb.convert_error(message, source=source, target=target, status=400)

    assert converted.body["error"]["message"] == text
    assert "/message" not in {loss.path for loss in converted.losses if loss.before}


@pytest.mark.parametrize(
    ("source", "word", "status"),
    [
        ("messages", "api_error", 424),
        ("messages", "overloaded_error", 425),
        ("messages", "timeout_error", 418),
        ("chat_completions", "server_error", 451),
        ("responses", "server_error", 405),
    ],
)
@pytest.mark.parametrize("target", FORMATS)
def test_a_4xx_status_stays_a_client_error_whatever_the_code(source: fb.Format, word: str, status: int, target: fb.Format) -> None:
    """SDKs retry after a 500, and after none of these."""
    converted = fb.convert_error(error_of(source, word), source=source, target=target, status=status)

    assert converted.status == status
    if target == "generate_content":
        assert converted.body["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("word", [{"a": 1}, ["a"], 7])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_error_of_a_stream_is_understood_whatever_its_type_is(source: fb.Format, target: fb.Format, word: Any) -> None:
    """The call has failed already; a value of a wrong type does not change that."""
    event = b"data: " + json.dumps({"error": {"message": "no", "type": word}}).encode() + b"\n\n"
    converter = fb.StreamConverter(source=source, target=target)

    output = converter.feed(event) + converter.finish()

    assert converter.error is not None
    assert "no" in converter.error.message
    assert b"error" in output


def failed_answer(error: dict[str, Any]) -> dict[str, Any]:
    rest = {"status": "failed", "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "error": error, **rest}


@pytest.mark.parametrize("code", ["insufficient_quota", "insufficient_user_quota", "billing_hard_limit_reached"])
@pytest.mark.parametrize("source", OPENAI)
def test_a_quota_code_is_a_server_error_only_with_its_status(source: fb.Format, code: str) -> None:
    """SDKs retry after a 500, which does not help an account without credit."""
    error = {"code": code, "message": "no"}

    in_place = fb.convert_error({"error": error}, source=source, target="messages", status=200)
    failed = fb.convert_response(failed_answer(error), source="responses", target="messages")

    for result in (in_place, failed):
        assert isinstance(result, fb.ConvertedError)
        assert (result.status, result.body["error"]["type"]) == (402, "billing_error")


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        ("17s", 17),
        ("0.5s", 0.5),
        ("034.074824224s", 34.074824224),
        ("9" * 400 + "s", None),
        ("1e9s", None),
        ("-1s", None),
        (17, None),
    ],
)
def test_a_retry_delay_is_a_finite_number_of_seconds(delay: object, seconds: float | None) -> None:
    """An infinite or negative time is ignored; JSON could not represent it."""
    details = [7, {"@type": "other"}, {"retryDelay": delay}]
    body = {"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED", "details": details}}

    error = decode_error_body(body, status=429, otherwise="status")

    assert error.retry_after == seconds


KINDS: tuple[ir.ErrorKind, ...] = get_args(ir.ErrorKind)
COARSER: dict[tuple[str, ir.ErrorKind], ir.ErrorKind] = {
    ("messages", "cancelled"): "server",
    ("generate_content", "billing"): "permission",
    ("generate_content", "too_large"): "invalid_request",
}
"""The kinds without a name in a format, and the name that its streams have for them, which have no HTTP status."""


def stream_of(format: fb.Format, kind: ir.ErrorKind) -> bytes:
    """Return a stream of a format with an error of a kind, as the format writes it."""
    _, body = formats.load(format).encode_error(ir.Error(kind=kind, message="no"), null_ledger())
    event = {"type": "error", **body} if format == "responses" else body
    return b"data: " + json.dumps(event).encode() + b"\n\n"


@pytest.mark.parametrize("kind", get_args(ir.ErrorKind))
@pytest.mark.parametrize("format", FORMATS)
def test_an_error_body_shows_the_family_of_its_format(format: fb.Format, kind: ir.ErrorKind) -> None:
    """The client decides by the family first, because relays send bodies of any format."""
    spec = formats.load(format)
    _, body = spec.encode_error(ir.Error(kind=kind, message="no"), null_ledger())

    assert error_family(body, body["error"], "detail") == spec.error_family


def through(source: fb.Format, target: fb.Format, stream: bytes) -> tuple[bytes, fb.StreamConverter]:
    converter = fb.StreamConverter(source=source, target=target)
    return converter.feed(stream) + converter.finish(), converter


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_format_reads_in_a_stream_the_kind_that_it_writes(format: fb.Format, kind: ir.ErrorKind) -> None:
    """A relay may read the output of this library."""
    _, read = through(format, format, stream_of(format, kind))

    assert read.error is not None
    assert read.error.kind == COARSER.get((format, kind), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_error_in_a_stream_is_of_the_same_kind_there_and_back(source: fb.Format, target: fb.Format, kind: ir.ErrorKind) -> None:
    """SDKs retry some errors and not others; a kind that the target cannot express is reported."""
    there, first = through(source, target, stream_of(source, kind))
    _, second = through(target, source, there)

    assert first.error is not None
    assert second.error is not None
    assert second.error.message == "no"
    assert second.error.kind == COARSER.get((target, first.error.kind), first.error.kind)
    assert second.error.kind == first.error.kind or reports_kind(first.losses)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [format for format in FORMATS if format != "responses"])
def test_an_answer_that_failed_becomes_an_error_of_its_kind(target: fb.Format, kind: ir.ErrorKind) -> None:
    """The codes in such an answer are few; its type states the kind."""
    answer = ir.Response("responses", "resp_1", "m", [], 1, error=ir.Error(kind=kind, message="no"))
    failed = formats.load("responses").encode_response(answer, null_ledger(), fb.Options(), None)

    converted = fb.convert_response(failed, source="responses", target=target)

    assert isinstance(converted, fb.ConvertedError)
    read = formats.load(target).decode_error(converted.body, status=converted.status)
    assert (read.kind, read.message) == (kind, "no") or reports_kind(converted.losses)


@pytest.mark.parametrize("message", ["", "cancelled", "stopped by hand"])
def test_the_message_of_a_cancelled_answer_is_kept(message: str) -> None:
    """An answer that was cancelled has a status for that, but no field for a message."""
    event = {"error": {"code": 499, "status": "CANCELLED", "message": message}}

    there, _ = through("generate_content", "responses", b"data: " + json.dumps(event).encode() + b"\n\n")
    back, read = through("responses", "generate_content", there)

    assert read.error is not None
    assert read.error.kind == "cancelled"
    assert message in back.decode()


@pytest.mark.parametrize("status", [400, 401, 402, 403, 500])
@pytest.mark.parametrize("code", sorted(QUOTA_CODES))
def test_a_quota_error_has_the_same_kind_in_a_body_and_in_a_stream(code: str, status: int) -> None:
    """Relays choose any status; the owner of the account must see the reason in both cases."""
    body = {"error": {"message": "no", "type": "new_api_error", "code": code}}

    whole = fb.convert_error(body, source="chat_completions", target="messages", status=status)
    _, streamed = through("chat_completions", "messages", b"data: " + json.dumps(body).encode() + b"\n\n")

    assert whole.body["error"]["type"] == "billing_error"
    assert streamed.error is not None
    assert streamed.error.kind == "billing"


def reports_kind(losses: tuple[fb.Loss, ...]) -> bool:
    return any(loss.path in ("/error/type", "/error/status", "/error/code") for loss in losses)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "no", "request_id": "req_1"},
        {"type": "error", "error": {"code": "server_error", "message": "no"}, "request_id": "req_1"},
        {"type": "response.failed", "response": {"error": {"message": "no"}, "output": [], "request_id": "req_1"}},
    ],
)
def test_an_error_in_a_stream_has_the_id_of_its_request(event: dict[str, Any]) -> None:
    """The support of the relay asks for it."""
    stream = b"data: " + json.dumps(event).encode() + b"\n\n"

    there, read = through("responses", "messages", stream)
    _, same_format = through("responses", "responses", stream)

    assert read.error is not None
    assert read.error.request_id == "req_1"
    assert '"request_id":"req_1"' in there.decode()
    assert "/request_id" not in {loss.path for loss in read.response().losses}
    assert (same_format.response().body["request_id"], same_format.response().losses) == ("req_1", ())


def test_an_error_in_place_of_an_answer_is_an_error() -> None:
    """Servers send it with status 200; it must not look like a complete answer."""
    body = {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}

    converted = fb.convert_response(body, source="generate_content", target="messages")

    assert isinstance(converted, fb.ConvertedError)
    assert (converted.status, converted.body["error"]["type"]) == (429, "rate_limit_error")


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
@pytest.mark.parametrize("status", [404, 422, 429, 501, 502, 504, 520])
def test_an_error_keeps_a_status_that_means_the_same_in_the_target(source: fb.Format, target: fb.Format, status: int) -> None:
    """Clients retry by status, and a 502 of a gateway is no 500."""
    converted = fb.convert_error({"error": {"message": "no"}}, source=source, target=target, status=status)

    assert converted.status == status


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_overload_has_the_status_of_the_target(source: fb.Format, target: fb.Format) -> None:
    """Only one vendor has 529, and its clients wait after it."""
    for status in (503, 529):
        converted = fb.convert_error({"error": {"message": "busy"}}, source=source, target=target, status=status)

        assert converted.status == (529 if target == "messages" else 503)


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_a_missing_model_is_404_whatever_the_source_status(target: fb.Format) -> None:
    """One vendor uses 400 for it."""
    body = {"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}}

    converted = fb.convert_error(body, source="responses", target=target, status=400)

    assert converted.status == 404


def _message_of(converted: fb.ConvertedError) -> Any:
    return converted.body["error"]["message"]


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", ""),
        (b"null", ""),
        (b"<html>Bad gateway</html>", "<html>Bad gateway</html>"),
        ([1, None], "[1,null]"),
        ({"error": ["x", None]}, '["x",null]'),
        ({"error": {"message": {"a": True}}}, '{"a":true}'),
        ({"error": {"message": "m", "code": [1]}}, '{"message":"m","code":[1]}'),
    ],
)
def test_an_error_of_any_shape_becomes_a_json_message(source: fb.Format, target: fb.Format, body: Any, message: str) -> None:
    """The same format too, in which it gets the documented shape."""
    converted = fb.convert_error(body, source=source, target=target, status=502)

    assert _message_of(converted) == message
    assert converted.status == 502
    converted.parse()


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_list_of_problems_is_the_message_as_json(source: fb.Format, target: fb.Format) -> None:
    """Frameworks that validate requests send a list."""
    for key in ("detail", "message"):
        converted = fb.convert_error({key: [{"loc": ["body"], "ok": None}]}, source=source, target=target, status=422)

        assert _message_of(converted) == '[{"loc":["body"],"ok":null}]'
        assert converted.losses == ()


OTHERS = ("chat_completions", "messages", "generate_content")


@pytest.mark.parametrize("target", OTHERS)
def test_the_report_of_an_error_in_a_list_points_into_the_list(target: fb.Format) -> None:
    """A stream that was requested without SSE has its error in a list."""
    converted = fb.convert_error([{"error": {"message": "m", "new": 1}}], source="responses", target=target, status=400)

    assert [loss.path for loss in converted.losses] == ["/0/error/new"]


@pytest.mark.parametrize(
    "end", [{"finish_reason": "error", "error": {"code": 502, "message": "gone"}}, {"finish_reason": "error"}, {"error": "gone"}]
)
@pytest.mark.parametrize("target", ["messages", "responses", "generate_content"])
def test_an_answer_that_ends_in_an_error_is_no_success(end: dict[str, Any], target: fb.Format) -> None:
    """Gateways write the error into the choice; a reader must not store half an answer as a whole one."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "The capi"}, "finish_reason": None, **end}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    whole = fb.convert_response(body, source="chat_completions", target=target)
    streamed = fb.StreamConverter(source="chat_completions", target=target)
    streamed.feed(b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(body).encode())

    if target == "responses":
        assert (whole.body["status"], whole.body["output"][0]["content"][0]["text"]) == ("failed", "The capi")
    else:
        assert isinstance(whole, fb.ConvertedError)
    assert streamed.error is not None
    assert ("gone" in whole.json().decode()) is ("error" in end)


def test_an_error_in_one_of_several_streamed_choices_leaves_the_others() -> None:
    """A chunk has one choice at a time, so one choice in a chunk does not mean one in the answer."""

    def chunk(index: int, text: str, **end: Any) -> bytes:
        choice = {"index": index, "delta": {"content": text}, "finish_reason": None, **end}
        return b"data: %s\n\n" % json.dumps({"id": "c", "created": 1, "model": "m", "choices": [choice]}).encode()

    stream = [chunk(0, "half"), chunk(1, "Who"), chunk(0, "", finish_reason="error"), chunk(1, "le.", finish_reason="stop")]

    collected = fb.collect_stream([*stream, b"data: [DONE]\n\n"], source="chat_completions", target="generate_content")

    ends = [(each["content"]["parts"][0]["text"], each["finishReason"]) for each in collected.body["candidates"]]
    assert ends == [("half", "MALFORMED_RESPONSE"), ("Whole.", "STOP")]
