"""What a client raises, and when it retries."""

from __future__ import annotations

import asyncio
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge import errors, formats, ir
from formatbridge.convert.input import read_error_body
from tests.support.laws import Sample, recorded, shipped
from tests.support.servers import KEY, Peer, Received, Server, answer_of, body_of, events_of, framed, read, stream_of

REQUEST = body_of("requests", "messages")


class StillClock(fb.Clock):
    """A clock that advances only while the client sleeps; ``slept`` has the seconds."""

    def __init__(self, jitter: float = 1.0) -> None:
        self.slept: list[float] = []
        self._jitter = jitter

    def now(self) -> float:
        return 1000.0 + sum(self.slept)

    def time(self) -> float:
        return 1_800_000_000.0

    def jitter(self) -> float:
        return self._jitter

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.slept.append(seconds)


def client_of(serve: Callable[[httpx.Request], httpx.Response], **settings: Any) -> fb.Client:
    """Return a client whose calls ``serve`` answers."""
    settings.setdefault("clock", StillClock())
    return fb.Client("https://relay.test", KEY, http_client=httpx.Client(transport=httpx.MockTransport(serve)), **settings)


def always(status: int, body: Any = None, headers: dict[str, str] | None = None) -> Callable[[httpx.Request], httpx.Response]:
    """Return a server that always sends the same answer."""
    content = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    return lambda _: httpx.Response(status, content=content, headers=headers)


def raised(client: fb.Client, *, stream: bool = False) -> Any:
    """Return the error of a call."""
    with pytest.raises(fb.APIError) as caught:
        read(client) if stream else client.send(REQUEST, "messages")
    return caught.value


CLASSES = {
    400: fb.BadRequestError, 401: fb.AuthenticationError, 402: fb.QuotaExceededError, 403: fb.PermissionDeniedError,
    404: fb.NotFoundError, 408: fb.APIStatusError, 413: fb.RequestTooLargeError, 418: fb.APIStatusError, 422: fb.BadRequestError,
    429: fb.RateLimitError, 500: fb.InternalServerError, 501: fb.InternalServerError, 503: fb.OverloadedError, 524: fb.InternalServerError,
    529: fb.OverloadedError,
}  # fmt: skip


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", CLASSES)
def test_each_status_has_its_class(status: int, stream: bool) -> None:
    """Code that catches a class does not compare numbers."""
    error = raised(client_of(always(status, {"error": {"message": "no"}}), retry=0), stream=stream)

    assert type(error) is CLASSES[status]
    assert error.status == status


SHAPES: dict[str, tuple[Any, tuple[str | None, str | int | None, str | None]]] = {
    "detail": ({"error": {"message": "no", "type": "t", "param": "p", "code": "c"}}, ("t", "c", "p")),
    "messages": ({"type": "error", "error": {"type": "t", "message": "no"}, "request_id": "r"}, ("t", None, None)),
    "nil type": ({"type": "error", "error": {"type": "<nil>", "message": "no"}}, (None, None, None)),
    "relay": ({"error": {"message": "no (request id: r)", "type": "new_api_error", "code": ""}}, ("new_api_error", None, None)),
    "status": ({"error": {"code": 429, "message": "no", "status": "RESOURCE_EXHAUSTED"}}, ("RESOURCE_EXHAUSTED", 429, None)),
    "list": ([{"error": {"message": "no", "code": 7}}], (None, 7, None)),
    "text": ({"error": "no"}, (None, None, None)),
    "message": ({"message": "no", "code": "x"}, (None, "x", None)),
    "failed": ({"success": False, "message": "no"}, (None, None, None)),
    "detail only": ({"detail": "no"}, (None, None, None)),
    "plain": (b"no", (None, None, None)),
    "a list of details": ({"detail": [{"loc": ["body", "model"], "msg": ": no"}]}, (None, None, None)),
    "errors": ({"errors": [{"message": ": no"}]}, (None, None, None)),
    "nested": ({"error": {"error": {"message": ": no"}}}, (None, None, None)),
    "an empty message": ({"error": {"message": "", "reason": ": no"}}, (None, None, None)),
    "a message that is no text": ({"error": {"message": {"text": ": no"}, "code": {"x": 1}, "type": 5}}, (None, None, None)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_is_read_by_its_shape(shape: str) -> None:
    """Relays send errors of any shape from any endpoint."""
    body, (type, code, param) = SHAPES[shape]

    error = raised(client_of(always(429, body), retry=0))

    assert (error.type, error.code, error.param) == (type, code, param)
    assert ": no" in str(error)
    assert error.request_id == ("r" if shape in ("messages", "relay") else None)


@pytest.mark.parametrize("format", fb.FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_converts_to_any_format(shape: str, format: fb.Format) -> None:
    """A gateway answers its callers in their format, whatever the relay sent."""
    error = raised(client_of(always(429, SHAPES[shape][0]), retry=0))

    status, body = error.as_format(format)

    assert status == 429
    assert "no" in body["error"]["message"]
    assert fb.convert_error(body, source=format, target=format, status=status).body == body


UNEXPECTED: dict[str, bytes] = {
    "empty": b"",
    "html": b"<!doctype html><html>",
    "text": b"OK",
    "null": b"null",
    "array": b"[]",
    "number": b"1",
    "not utf-8": b'{"a": "\xff"}',
    "nan": b'{"a": NaN}',
    "deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "digits": b'{"a": ' + b"9" * 5000 + b"}",
    "error": b'{"error": {"message": "no", "code": "model_not_found"}}',
    "failed": b'{"success": false, "message": "no"}',
    "messages error": b'{"type": "error", "error": {"type": "overloaded_error", "message": "no"}}',
    "no answer": b"{}",
}


@pytest.mark.parametrize("body", [{}, [], [1, 2], {"errors": []}, {"error": {}}, {"error": {"message": None}}, {"a": {"b": "c"}}])
def test_an_error_of_unknown_shape_is_shown_unchanged(body: Any) -> None:
    """An error without a message would not help."""
    text = json.dumps(body, separators=(",", ":"))

    error = raised(client_of(always(400, text.encode()), retry=0))

    assert str(error) == f"400: {text}"
    assert [error.as_format(format)[1]["error"]["message"] for format in fb.FORMATS] == [text] * 4


@pytest.mark.parametrize("format", fb.FORMATS)
@pytest.mark.parametrize("body", UNEXPECTED)
def test_an_unexpected_response_converts_to_any_format(body: str, format: fb.Format) -> None:
    """The caller of a gateway reads errors of one shape, and the message must not be empty."""
    error = raised(client_of(always(200, UNEXPECTED[body]), retry=0))

    assert error.as_format(format)[1]["error"]["message"]


@pytest.mark.parametrize(
    "body", [{"message": "no (request id: r-9)"}, {"error": {"message": "no (request id: r-9)"}}], ids=["bare", "usual"]
)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_request_id_in_an_error_message_becomes_a_field(body: dict[str, Any], format: fb.Format) -> None:
    """The support of the relay needs it, and it does not belong to the message."""
    error = raised(client_of(always(400, body), retry=0))

    result = error.as_format(format)[1]

    assert error.request_id == "r-9"
    assert (result["error"]["message"], result["request_id"]) == ("no", "r-9")


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "insufficient_user_quota", fb.QuotaExceededError),
        (403, "pre_consume_token_quota_failed", fb.QuotaExceededError),
        (403, "access_denied", fb.PermissionDeniedError),
        (429, "insufficient_quota", fb.RateLimitError),
    ],
)
def test_a_quota_error_has_a_separate_class(status: int, code: str, expected: type) -> None:
    """An account without credit needs no new key."""
    assert type(raised(client_of(always(status, {"error": {"message": "no", "code": code}}), retry=0))) is expected


EVENTLESS = ("empty", "array", "null", "number", "text")
"""Bodies in which a stream reader finds no event."""


@pytest.mark.parametrize(
    ("body", "stream"), [(body, False) for body in UNEXPECTED] + [(body, True) for body in UNEXPECTED if body not in EVENTLESS]
)
def test_status_200_without_an_answer_is_an_error(body: str, stream: bool) -> None:
    """A relay that fails with status 200 must not give an empty answer to the caller."""
    error = raised(client_of(always(200, UNEXPECTED[body]), retry=0), stream=stream)

    assert type(error) is fb.UnexpectedResponseError
    assert error.status == 200
    assert error.as_format("chat_completions")[0] >= 400


@pytest.mark.parametrize("body", ["<html>no</html>", '{"x":1}', "[]"])
def test_a_missing_answer_has_a_general_message_for_the_end_user(body: str) -> None:
    """The pointers of missing fields are for the operator of a gateway."""
    error = raised(client_of(always(200, body.encode()), retry=0))

    status, result = error.as_format("messages")

    assert status == 502
    assert result["error"]["message"] == "no usable answer came from upstream"


BARE = {
    "code and message": ({"code": 500, "message": "boom"}, "boom"),
    "message": ({"error": None, "message": "boom"}, "boom"),
    "detail": ({"detail": "Not Found"}, "Not Found"),
    "no success": ({"success": False, "message": "boom"}, "boom"),
    "nothing": ({}, "no answer"),
    "unknown": ({"msg": "boom", "status": "error"}, "no answer"),
}
"""Objects without a field of an answer, and the message of the error for each."""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("via", fb.FORMATS)
@pytest.mark.parametrize("case", BARE)
def test_an_object_that_is_not_an_answer_raises_in_any_format(case: str, via: fb.Format, stream: bool) -> None:
    """One format requires no field, so an object without content would be an empty answer."""
    body, reported = BARE[case]
    client = client_of(always(200, body), retry=0)

    with pytest.raises(fb.UnexpectedResponseError, match=reported):
        read(client, "messages", via) if stream else client.send(REQUEST, "messages", via)


def test_an_undefined_http_status_becomes_500() -> None:
    """HTTP allows three digits, and some hosts use undefined numbers; a gateway answers with a defined one."""
    error = raised(client_of(always(999, {"error": {"message": "no"}}), retry=0))

    assert error.status == 999
    assert [error.as_format(format)[0] for format in fb.FORMATS] == [500] * 4


@pytest.mark.parametrize("body", EVENTLESS)
def test_a_stream_without_events_is_truncated(body: str) -> None:
    """A stream without events is no answer."""
    client = client_of(always(200, UNEXPECTED[body]), retry=0)

    with pytest.raises((fb.StreamError, fb.UnexpectedResponseError)):
        read(client)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("via", fb.FORMATS)
@pytest.mark.parametrize("body", [b"", b" \n", b"null", b"[]", b"true", b"hello", b"<html>Sign in</html>"])
def test_a_whole_success_without_an_answer_is_not_tried_again(body: bytes, via: fb.Format, stream: bool) -> None:
    """The relay has answered; the same request would get the same body, and may be billed again."""
    calls: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(200, content=body)

    client = client_of(serve, retry=fb.Retry(max=2, base=0))

    with pytest.raises(fb.UnexpectedResponseError):
        read(client, "messages", via) if stream else client.send(REQUEST, "messages", via)
    assert len(calls) == 1


@pytest.mark.parametrize("body", [b"", b": ping\n\n", b"hel"])
def test_a_stream_truncated_before_its_first_event_is_retried(body: bytes) -> None:
    """A body that ends with its connection may be truncated, and one of comments only was not complete."""
    calls: list[bytes] = []

    def answer(peer: Peer, _request: Received) -> bool:
        calls.append(body)
        peer.send(framed(body, "chunked" if body.startswith(b":") else "close"))
        return False

    with (
        Server(answer) as server,
        fb.Client(server.url, KEY, retry=fb.Retry(max=2, base=0)) as client,
        pytest.raises(fb.TruncatedStreamError),
    ):
        read(client)

    assert len(calls) == 3


def test_a_failed_answer_of_responses_is_an_error_in_other_formats() -> None:
    """The caller's format has no answer that failed."""
    body = body_of("responses", "responses", "finish_failed")
    client = client_of(always(200, body), retry=0)

    with pytest.raises(fb.UnexpectedResponseError) as caught:
        client.send(REQUEST, "messages", "responses")

    assert body["error"]["message"] in str(caught.value)


ENDED_IN_ERROR = {"index": 0, "finish_reason": "error", "error": {"code": 429, "message": "boom"}, "message": {"content": "so far"}}
FAILED_IN_ITS_FORMAT = {
    "chat_completions": {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [ENDED_IN_ERROR]},
    "responses": {
        "id": "r", "object": "response", "created_at": 1, "status": "failed", "model": "m", "output": [],
        "error": {"code": "rate_limit_exceeded", "message": "boom"},
    },
}  # fmt: skip


@pytest.mark.parametrize("format", fb.FORMATS)
@pytest.mark.parametrize("via", FAILED_IN_ITS_FORMAT)
def test_an_answer_that_failed_is_an_error_in_every_format(via: fb.Format, format: fb.Format) -> None:
    """This holds for the same format too, and for the one that can express failures: the caller has no answer."""
    client = client_of(always(200, FAILED_IN_ITS_FORMAT[via]), retry=0)

    with pytest.raises(fb.UnexpectedResponseError, match="boom") as caught:
        client.send(body_of("requests", format), format, via)

    assert caught.value.kind == "rate_limit"
    assert caught.value.as_format("messages") == (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "boom"}})


def _error_stream(*before: bytes) -> bytes:
    error = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    return b"".join(before) + error


def test_an_error_as_first_event_is_retried() -> None:
    """No event was returned yet, so an overload in a stream is treated as one in an answer."""
    bodies = iter((_error_stream(), _error_stream(b": PING\n\n"), stream_of("messages")))
    client = client_of(lambda _: httpx.Response(200, content=next(bodies)))

    with client.stream(REQUEST, "messages") as stream:
        text = "".join(stream.text())

    assert text
    assert stream.attempts == 3


FIRST_ERRORS = {
    "chat_completions": b'data: {"error":{"message":"busy","type":"server_error","code":"overloaded_error"}}\n\n',
    "messages": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
    "responses": b'data: {"type":"error","code":"rate_limit_exceeded","message":"busy","param":null}\n\n',
    "generate_content": b'data: {"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}\n\n',
}


@pytest.mark.parametrize("via", FIRST_ERRORS)
def test_an_error_as_first_event_has_its_details(via: fb.Format) -> None:
    """In any format, and it converts to any other."""
    client = client_of(always(200, FIRST_ERRORS[via]), retry=0)

    with pytest.raises(fb.UnexpectedResponseError, match="busy") as caught:
        read(client, "messages", via)

    status, body = caught.value.as_format("messages")
    assert caught.value.kind in ("overloaded", "rate_limit")
    assert status in (429, 503, 529)
    assert body["error"]["message"] == "busy"


def test_a_truncated_stream_is_closed_with_the_option() -> None:
    """``on_truncated="close"`` ends the answer as one that reached its token limit."""
    data = stream_of("chat_completions")
    cut = data[: data.index(b'"finish_reason":"stop"')]
    options = fb.Options(on_truncated="close")

    events = read(client_of(always(200, cut), options=options), "messages", "chat_completions")

    assert events[-1].type == "message_stop"
    assert events[-2].delta.stop_reason == "max_tokens"


@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_error_in_mid_stream_ends_it(format: fb.Format) -> None:
    """The part that arrived is valid; the error follows the last event and has the answer so far."""
    begun = list(events_of(stream_of("messages")))[:3]
    client = client_of(always(200, _error_stream(*begun)), retry=5)
    seen = []

    def follow() -> None:
        with client.stream(body_of("requests", format), format, "messages") as stream:
            for event in stream:
                seen.append(event)

    with pytest.raises(fb.StreamFailedError) as caught:
        follow()

    assert caught.value.error.kind == "overloaded"
    assert caught.value.partial is not None
    assert len(seen) >= 1


@pytest.mark.parametrize("begun", [0, 3], ids=["at once", "in the middle"])
def test_an_error_in_a_stream_equals_that_of_a_call(begun: int) -> None:
    """Relays add the request id to the message, and use types that no vendor has."""
    error = b'event: error\ndata: {"type":"error","error":{"type":"<nil>","message":"busy (request id: r1)"}}\n\n'
    client = client_of(always(200, b"".join([*events_of(stream_of("messages"))][:begun]) + error), retry=0)

    with pytest.raises((fb.UnexpectedResponseError, fb.StreamFailedError)) as caught:
        read(client, "messages", "messages")

    reported: Any = caught.value.error if isinstance(caught.value, fb.StreamFailedError) else caught.value
    assert (reported.type, reported.request_id) == (None, "r1")
    assert str(caught.value).count("r1") == (0 if begun else 1)


@pytest.mark.parametrize("message", [{"a": 1}, ["a"], 7], ids=repr)
@pytest.mark.parametrize("via", fb.FORMATS)
def test_an_error_in_a_stream_raises_with_any_message(via: fb.Format, message: Any) -> None:
    """A message that is no text is reported as JSON."""
    error = b"data: " + json.dumps({"error": {"message": message}}).encode() + b"\n\n"

    with pytest.raises(fb.UnexpectedResponseError) as caught:
        read(client_of(always(200, error), retry=0), "messages", via)

    assert json.dumps(message, separators=(",", ":")) in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"data: {not json}\n\n", b'data: {"a": "\xff"}\n\n', b"data: [1]\n\n", b"data: <html>" + b"a" * 5000 + b"\n\n"],
    ids=["no json", "no utf-8", "no object", "a long page"],
)
def test_an_invalid_event_is_reported_with_its_offset(data: bytes) -> None:
    """A user has to find it in a log of megabytes."""
    begun = next(events_of(stream_of("messages")))
    client = client_of(always(200, begun + data + data))

    with pytest.raises(fb.StreamDecodeError) as caught:
        read(client)

    assert caught.value.offset >= len(begun)
    assert caught.value.snippet == data.removeprefix(b"data: ").rstrip()[:200]
    assert caught.value.partial is not None


STATUSES = {200: False, 400: False, 401: False, 404: False, 408: True, 409: True, 425: True, 429: True, 500: True, 501: False,
            502: True, 503: True, 504: True, 524: True, 529: True}  # fmt: skip


@pytest.mark.parametrize("status", STATUSES)
def test_only_temporary_errors_are_retried(status: int) -> None:
    """A request at fault fails again."""
    calls = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(status, json={"error": {"message": "no"}})

    raised(client_of(serve))

    assert len(calls) == (3 if STATUSES[status] else 1)


@pytest.mark.parametrize(
    ("status", "code", "headers", "count"),
    [
        (503, "model_not_found", {}, 1),
        (429, "insufficient_user_quota", {}, 1),
        (429, "insufficient_quota", {}, 1),
        (500, "invalid_api_type", {}, 1),
        (503, "access_denied", {}, 1),
        (503, "get_channel_failed", {}, 3),
        (503, "get_channel_failed", {"x-should-retry": "false"}, 1),
        (503, "model_not_found", {"x-should-retry": "true"}, 3),
        (400, None, {"x-should-retry": "true"}, 3),
    ],
)
def test_the_should_retry_header_has_precedence_over_code_and_status(
    status: int, code: str | None, headers: dict[str, str], count: int
) -> None:
    """A model that does not exist now will not exist in a second."""
    calls = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return httpx.Response(status, json={"error": {"message": "no", "code": code}}, headers=headers)

    raised(client_of(serve))

    assert len(calls) == count


@pytest.mark.parametrize(
    ("headers", "slept"),
    [
        ({"retry-after": "2"}, [2, 2]),
        ({"retry-after": "0.5"}, [0.5, 0.5]),
        ({"retry-after-ms": "1500"}, [1.5, 1.5]),
        ({"retry-after-ms": "1500", "retry-after": "9"}, [1.5, 1.5]),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:07 GMT"}, [7, 7]),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, [0, 0]),
        ({"retry-after": "60"}, [60, 60]),
        ({"retry-after": "61"}, []),
        ({"retry-after": "999"}, []),
        ({"retry-after": "4294967295"}, []),
        ({"retry-after": "soon"}, [0.5, 1]),
        ({"retry-after": "-1"}, [0.5, 1]),
        ({}, [0.5, 1]),
    ],
)
def test_retry_after_has_precedence_over_the_backoff(headers: dict[str, str], slept: list[float]) -> None:
    """It is in milliseconds, in seconds or a date. Up to 60 s are waited; above that the error is raised at once."""
    clock = StillClock()

    error = raised(client_of(always(429, {"error": {"message": "no"}}, headers), clock=clock))

    assert clock.slept == slept
    if not slept:
        assert error.retry_after == float(headers["retry-after"])


REFUSED = {"error": {"message": "slow down", "type": "rate_limit_error"}}
FAILED = {
    "id": "r", "object": "response", "status": "failed", "output": [], "error": {"code": "rate_limit_exceeded", "message": "slow down"}
}  # fmt: skip


@pytest.mark.parametrize(
    ("body", "stream"), [(REFUSED, False), (REFUSED, True), (FAILED, False)], ids=["error", "error for a stream", "failed answer"]
)
def test_a_retry_after_date_is_read_with_status_200(body: dict[str, Any], stream: bool) -> None:
    """A relay that sends status 200 may fail later; the date becomes the seconds until then."""
    client = client_of(always(200, body, {"retry-after": "Fri, 15 Jan 2027 08:00:07 GMT"}), retry=0)

    with pytest.raises(fb.UnexpectedResponseError) as caught:
        read(client, "messages", "responses") if stream else client.send(REQUEST, "messages", "responses")

    assert caught.value.retry_after == 7


def test_the_retry_delay_in_an_error_body_is_used() -> None:
    """One vendor has the time there."""
    clock = StillClock()
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}]

    raised(client_of(always(429, {"error": {"code": 429, "message": "no", "status": "X", "details": details}}), clock=clock))

    assert clock.slept == [3, 3]


def test_pauses_double_up_to_a_limit_with_jitter() -> None:
    """A thousand clients must not retry in the same second."""
    clock = StillClock()
    raised(client_of(always(503), retry=fb.Retry(max=7), clock=clock))

    pauses = [fb.Retry().pause(3, random.Random(seed).random()) for seed in range(1000)]

    assert clock.slept == [0.5, 1, 2, 4, 8, 8, 8]
    assert 0 <= min(pauses) < 0.1
    assert 1.9 < max(pauses) <= 2
    assert 0.9 < sum(pauses) / 1000 < 1.1


def test_no_attempt_begins_after_the_budget() -> None:
    """Ten pauses of 60 s would take ten minutes."""
    clock = StillClock()

    raised(client_of(always(429, None, {"retry-after": "50"}), retry=9, clock=clock, timeout=None))

    assert clock.slept == [50, 50]


@pytest.mark.parametrize(("retry", "count"), [(fb.Retry(), 1), (fb.Retry(budget=300), 3)], ids=["default", "larger budget"])
def test_a_read_timeout_leaves_no_budget_by_default(retry: fb.Retry, count: int) -> None:
    """It may be billed twice, and two minutes have passed; a larger ``budget`` allows another attempt."""
    clock, seen = StillClock(), []

    def stall(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        clock.sleep(request.extensions["timeout"]["read"])
        raise httpx.ReadTimeout("nothing came", request=request)

    raised(client_of(stall, clock=clock, retry=retry))

    assert len(seen) == count


@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_request_without_a_model_is_not_sent(via: fb.Format) -> None:
    """No server has the model "", and the URL of one format requires a model."""
    client = client_of(lambda _: pytest.fail("it was sent"))
    body = {"contents": [{"parts": [{"text": "x"}]}]}

    for call in (client.send, client.stream, client.prepare):
        with pytest.raises(fb.ConfigurationError, match="model: pass model="):
            call(body, "generate_content", via)
    assert client.prepare(body, "generate_content", via, model="m").url


def test_no_attempt_begins_without_time_for_it() -> None:
    """A pause that is longer than the rest of the call is not waited."""
    clock = StillClock()

    raised(client_of(always(429, None, {"retry-after": "50"}), retry=9, clock=clock, timeout=30))

    assert clock.slept == []


@pytest.mark.parametrize(
    ("error", "on", "count"),
    [
        (httpx.ConnectError("x"), {"connection"}, 3),
        (httpx.ConnectError("x"), {"timeout", "status"}, 1),
        (httpx.ConnectTimeout("x"), {"connection"}, 3),
        (httpx.ReadTimeout("x"), {"timeout"}, 3),
        (httpx.ReadTimeout("x"), {"connection", "status"}, 1),
        (httpx.RemoteProtocolError("Server disconnected"), {"connection"}, 3),
        (httpx.LocalProtocolError("x"), {"connection"}, 1),
        (httpx.ReadError("x"), {"connection"}, 3),
        (httpx.WriteError("x"), {"connection"}, 3),
        (httpx.PoolTimeout("x"), {"connection"}, 3),
        (httpx.ProxyError("x"), {"connection"}, 3),
    ],
)
def test_a_connection_error_is_retried_as_configured(error: Exception, on: set[fb.RetryCause], count: int) -> None:
    """A timeout after the request was sent may bill it twice; a setting excludes it."""
    calls = []

    def serve(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        raise error

    result = raised(client_of(serve, retry=fb.Retry(on=frozenset(on))))

    assert len(calls) == count
    assert isinstance(result, fb.APIConnectionError)
    assert isinstance(result, fb.APITimeoutError) is isinstance(error, httpx.TimeoutException)


def test_errors_have_no_reference_to_the_http_library() -> None:
    """Its exceptions refer to the request, which has the key and the prompt."""

    def serve(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("x", request=request)

    error = raised(client_of(serve, retry=0))

    assert error.__cause__ is None
    assert error.__context__ is None


def test_exceptions_of_hooks_are_raised_unchanged() -> None:
    """An exception that is not about the connection belongs to the caller."""

    def hook(_request: httpx.Request) -> None:
        raise KeyError("mine")

    same_format = httpx.Client(transport=httpx.MockTransport(always(200)), event_hooks={"request": [hook]})

    with pytest.raises(KeyError, match="mine"):
        fb.Client("https://relay.test", http_client=same_format).send(REQUEST, "messages")


STATUS_ERRORS: list[type[fb.APIStatusError]] = [fb.APIStatusError, *fb.APIStatusError.__subclasses__()]
ERRORS: list[fb.FormatBridgeError] = [
    fb.APIError("no"),
    fb.FormatBridgeError("no"),
    fb.APIConnectionError("no", phase="tls", can_retry=False),
    fb.APITimeoutError("no", kind="idle", phase="body"),
    *(
        kind("no", status=429, code="c", type="t", param="p", request_id="r", retry_after=1.5, body=b"{}", kind="rate_limit")
        for kind in STATUS_ERRORS
    ),
    fb.StreamFailedError(ir.Error(kind="server", message="no")),
    fb.TruncatedStreamError("messages", tail=b"x"),
    fb.StreamDecodeError("is no JSON", offset=3, snippet=b"x"),
    fb.EventTooLargeError(7),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_error_survives_a_pickle(error: fb.FormatBridgeError) -> None:
    """A worker process raises, and its parent reads the error."""
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__


def test_a_clients_error_survives_a_pickle_with_its_formats() -> None:
    """The parent of a worker may be the gateway that answers."""
    error = raised(client_of(always(429, {"error": {"message": "no"}}), retry=0))

    again = pickle.loads(pickle.dumps(error))

    assert again.as_format("messages") == error.as_format("messages")


def test_an_error_without_a_client_has_no_other_format() -> None:
    """There is no body from which it could be written."""
    with pytest.raises(fb.ConfigurationError):
        fb.RateLimitError("no", status=429).as_format("messages")


def test_the_docstring_shows_the_tree_of_errors() -> None:
    """Users read the tree at the top of the file."""
    classes: list[type] = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, fb.FormatBridgeError)
    ]

    assert [kind.__name__ for kind in classes if kind.__name__ not in (errors.__doc__ or "")] == []
    assert [kind.__name__ for kind in classes if kind.__name__ not in fb.__all__] == []


def test_both_clients_raise_the_same() -> None:
    """Sync and async have one flow: the same answers, errors and pauses."""

    async def call(serve: Callable[[httpx.Request], httpx.Response], clock: StillClock) -> str:
        same_format = httpx.AsyncClient(transport=httpx.MockTransport(serve))
        client = fb.AsyncClient("https://relay.test", KEY, http_client=same_format, clock=clock)
        with pytest.raises(fb.APIError) as caught:
            await client.send(REQUEST, "messages")
        return repr(caught.value)

    cases: list[tuple[int, Any]] = [(status, body) for status in CLASSES for body, _ in SHAPES.values()]
    for status, body in [*cases, (200, b"<p>"), (307, b"")]:
        sync, awaited = StillClock(), StillClock()
        result = repr(raised(client_of(always(status, body), clock=sync)))
        assert asyncio.run(call(always(status, body), awaited)) == result
        assert sync.slept == awaited.slept


def test_a_successful_call_makes_one_attempt() -> None:
    """A good answer needs one call and no pause."""
    clock = StillClock()

    reply = client_of(always(200, answer_of("messages")), clock=clock).send(REQUEST, "messages")

    assert (reply.attempts, clock.slept) == (1, [])


@pytest.mark.parametrize("size", [600, 2000, 5000])
def test_an_error_message_has_at_most_two_kibibytes(size: int) -> None:
    """Logs shorten longer lines anywhere; what is reported after the message of the relay counts too."""
    reported = "\N{LATIN SMALL LETTER E WITH ACUTE}" * size
    same_format = httpx.Client(transport=httpx.MockTransport(always(404, {"error": {"message": reported}})))

    error = raised(fb.Client("https://relay.test/v1", KEY, http_client=same_format))

    assert len(str(error).encode()) <= 2048
    assert str(error).endswith("expected a base_url without it")


def test_the_code_of_a_long_error_is_read() -> None:
    """It follows 100 KB of message, more than is kept."""
    body = {"error": {"message": "a" * 100_000, "type": "invalid_request_error", "code": "context_length_exceeded"}}
    inner = httpx.MockTransport(lambda _: httpx.Response(400, json=body))
    client = fb.Client("https://relay.test", http_client=httpx.Client(transport=inner))

    with pytest.raises(fb.BadRequestError) as caught:
        client.send(body_of("requests", "messages"), "messages")

    assert caught.value.code == "context_length_exceeded"
    assert len(caught.value.body) == 64 * 1024
    assert caught.value.as_format("chat_completions")[1]["error"]["code"] == "context_length_exceeded"


@pytest.mark.parametrize("sample", [*shipped(kind="error"), *recorded(kind="error")], ids=str)
def test_client_and_converter_give_an_error_the_same_kind(sample: Sample) -> None:
    """An invalid key may come with status 400; only the details identify it."""
    error = raised(client_of(always(sample.status, sample.body), retry=0))

    format = formats.load(sample.format)
    body, _, _ = read_error_body(sample.body, format.name, [])
    assert error.kind == format.decode_error(body, status=sample.status).kind
