"""The kind of an error there and back: between all formats, in streams and in answers that failed."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

import formatbridge as fb
from formatbridge import FORMATS, formats, ir
from formatbridge.formats.shared.errors import QUOTA_CODES
from formatbridge.report.ledger import null_ledger
from tests.directions import CROSSINGS

KINDS: tuple[ir.ErrorKind, ...] = get_args(ir.ErrorKind)
COARSER: dict[tuple[str, ir.ErrorKind], ir.ErrorKind] = {
    ("messages", "too_large"): "invalid_request",
    ("messages", "cancelled"): "server",
    ("generate_content", "billing"): "permission",
    ("generate_content", "too_large"): "invalid_request",
}
"""The kinds that a format has no word for, and what it says in a stream, where no HTTP status stands beside the word."""


def stream_of(format: str, kind: ir.ErrorKind) -> bytes:
    """Return a stream of a format in which an error comes, in the format's own words for its kind."""
    _, body = formats.load(format).encode_error(ir.Error(kind=kind, message="no"), null_ledger())
    event = {"type": "error", **body} if format == "responses" else body
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def through(source: str, target: str, stream: bytes) -> tuple[bytes, fb.StreamConverter]:
    converter = fb.StreamConverter(source=source, target=target)
    return converter.feed(stream) + converter.finish(), converter


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_format_reads_in_a_stream_the_kind_that_it_writes(format: str, kind: ir.ErrorKind) -> None:
    """A relay may be the reader of what this library wrote."""
    _, read = through(format, format, stream_of(format, kind))

    assert read.error is not None
    assert read.error.kind == COARSER.get((format, kind), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("source", "target"), CROSSINGS)
def test_an_error_in_a_stream_is_of_the_same_kind_there_and_back(source: str, target: str, kind: ir.ErrorKind) -> None:
    """SDKs send some calls again and others not; a kind that the target cannot say is reported."""
    there, first = through(source, target, stream_of(source, kind))
    _, second = through(target, source, there)

    assert first.error is not None
    assert second.error is not None
    assert second.error.message == "no"
    assert second.error.kind == COARSER.get((target, first.error.kind), first.error.kind)
    assert second.error.kind == first.error.kind or tells_kind(first.losses)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [format for format in FORMATS if format != "responses"])
def test_an_answer_that_failed_becomes_an_error_of_its_kind(target: str, kind: ir.ErrorKind) -> None:
    """The codes inside such an answer are few; its type says the rest."""
    answer = ir.Response("responses", "resp_1", "m", [], 1, error=ir.Error(kind=kind, message="no"))
    failed = formats.load("responses").encode_response(answer, null_ledger(), fb.Options(), None)

    made = fb.convert_response(failed, source="responses", target=target)

    assert isinstance(made, fb.ConvertedError)
    read = formats.load(target).decode_error(made.body, status=made.status)
    assert (read.kind, read.message) == (kind, "no") or tells_kind(made.losses)


@pytest.mark.parametrize("message", ["", "cancelled", "stopped by hand"])
def test_what_is_said_of_a_cancelled_answer_stays(message: str) -> None:
    """An answer that was cancelled has a status for that, but no room for words."""
    event = {"error": {"code": 499, "status": "CANCELLED", "message": message}}

    there, _ = through("generate_content", "responses", b"data: " + json.dumps(event).encode() + b"\n\n")
    back, read = through("responses", "generate_content", there)

    assert read.error is not None
    assert read.error.kind == "cancelled"
    assert message in back.decode()


@pytest.mark.parametrize("status", [400, 401, 402, 403, 500])
@pytest.mark.parametrize("code", sorted(QUOTA_CODES))
def test_an_empty_account_is_one_in_a_body_and_in_a_stream(code: str, status: int) -> None:
    """Relays choose the status as they like; who pays for the account has to hear of it either way."""
    body = {"error": {"message": "no", "type": "new_api_error", "code": code}}

    whole = fb.convert_error(body, source="chat_completions", target="messages", status=status)
    _, streamed = through("chat_completions", "messages", b"data: " + json.dumps(body).encode() + b"\n\n")

    assert whole.body["error"]["type"] == "billing_error"
    assert streamed.error is not None
    assert streamed.error.kind == "billing"


def tells_kind(losses: tuple[fb.Loss, ...]) -> bool:
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
    """It is what an operator asks the relay about."""
    stream = b"data: " + json.dumps(event).encode() + b"\n\n"

    there, read = through("responses", "messages", stream)
    _, own = through("responses", "responses", stream)

    assert read.error is not None
    assert read.error.request_id == "req_1"
    assert '"request_id":"req_1"' in there.decode()
    assert "/request_id" not in {loss.path for loss in read.response().losses}
    assert (own.response().body["request_id"], own.response().losses) == ("req_1", ())
