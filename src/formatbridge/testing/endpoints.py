"""The endpoints of a fake relay: routing and checks of a request (key, version header, body), and the scripted answer in their format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.events import Event, Quirks, apply_answer_quirks, apply_stream_quirks, read_events, split_deltas
from formatbridge.testing.script import Answer, Body, Failure

_POSTS: Mapping[str, fb.Format] = {
    "/v1/chat/completions": "chat_completions",
    "/v1/messages": "messages",
    "/v1/responses": "responses",
}
_COUNTS: Mapping[str, fb.Format] = {"/v1/messages/count_tokens": "messages", "/v1/responses/input_tokens": "responses"}
_COUNT_TOKENS = re.compile(r"/(?:v1beta|v1)/models/(?P<model>.+):countTokens")
_GENERATE = re.compile(r"/(?:v1beta|v1)/models/(?P<model>.+):(?P<method>generateContent|streamGenerateContent)")
_MODEL = re.compile(r"/(?P<version>v1|v1beta)/models(?:/(?P<model>.+))?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_VERSION_HEADERS = ("vendor-version", "anthropic-version")
_KEY_HEADERS: Mapping[fb.Format, tuple[str, ...]] = {"messages": ("x-api-key",), "generate_content": ("x-goog-api-key",)}
"""Headers that may contain the key instead of the bearer header; they have precedence."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint of a request. ``model`` and ``stream``: from the path; ``is_array``: the stream is a JSON array."""

    kind: Literal["answer", "count", "models"]
    format: fb.Format
    model: str = ""
    stream: bool | None = None
    is_array: bool = False


class RejectedByRelayError(Exception):
    """The relay rejects the request. This exception stays in the package."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def find_endpoint(method: str, url: str, prefix: str, headers: Mapping[str, str]) -> Endpoint | None:
    """Return the endpoint of a request; None if there is none. ``prefix``: the path of the relay's base URL."""
    split = urlsplit(url)
    path = split.path.removesuffix("/")
    if not path.startswith(prefix):
        return None
    path = path.removeprefix(prefix)
    if method == "POST" and path in _POSTS:
        return Endpoint("answer", _POSTS[path])
    generate = _GENERATE.fullmatch(path)
    if method == "POST" and generate:
        streams = generate["method"] == "streamGenerateContent"
        is_array = streams and parse_qs(split.query).get("alt") != ["sse"]
        return Endpoint("answer", "generate_content", unquote(generate["model"]), streams, is_array)
    if method == "POST" and path in _COUNTS:
        return Endpoint("count", _COUNTS[path])
    count = _COUNT_TOKENS.fullmatch(path)
    if method == "POST" and count:
        return Endpoint("count", "generate_content", unquote(count["model"]))
    match = _MODEL.fullmatch(path)
    if method == "GET" and match:
        return Endpoint("models", _list_format(match["version"], headers), unquote(match["model"] or ""))
    return None


def _list_format(version: str, headers: Mapping[str, str]) -> fb.Format:
    """Return the format of a list of models. One path serves two formats; the headers decide."""
    if version == "v1beta":
        return "generate_content"
    return "messages" if "x-api-key" in headers or "anthropic-version" in headers else "chat_completions"


def check_key(endpoint: Endpoint, headers: Mapping[str, str], key: str | None) -> None:
    """Reject a request without the key, or with a wrong one. Without a ``key`` every request passes."""
    if key is None:
        return
    key_in_header = next((headers[name] for name in _KEY_HEADERS.get(endpoint.format, ()) if name in headers), None)
    if key_in_header is None:
        scheme, _, key_in_header = headers.get("authorization", "").partition(" ")
        key_in_header = key_in_header if scheme.lower() == "bearer" else ""
    if key_in_header != key:
        problem = "no key, expected authorization: Bearer <key>" if not key_in_header else "an unknown key"
        raise RejectedByRelayError(Failure(401, f"found {problem}", type="authentication_error", code="invalid_api_key"))


def check_version(endpoint: Endpoint, headers: Mapping[str, str]) -> None:
    """Reject a messages request without a version header."""
    if endpoint.kind == "models" or endpoint.format != "messages":
        return
    versions = {name: headers[name] for name in _VERSION_HEADERS if name in headers}
    wrong = [f"{name} is {value!r}" for name, value in versions.items() if not _DATE.fullmatch(value)]
    if wrong or not versions:
        problem = wrong[0] if wrong else f"{' or '.join(_VERSION_HEADERS)} is missing"
        raise RejectedByRelayError(_invalid(f"the header {problem}, expected a date such as 2023-06-01"))


def check_body(endpoint: Endpoint, content: bytes, target: fb.Format) -> fb.ConvertedRequest:
    """Return the request in the target format; reject a body that does not match the endpoint's format."""
    with _rejecting_invalid():
        return fb.convert_request(
            content, source=endpoint.format, target=target, model=endpoint.model or None, stream=endpoint.stream
        )


def check_count_body(endpoint: Endpoint, content: bytes, dialect: str | None = None) -> fb.ConvertedRequest:
    """Return the request to count tokens; reject a body that does not match the endpoint's format, or has fields that do not count.

    Source for the latter: Wei-Shaw/sub2api#4913, "Extra inputs are not permitted". ``dialect``: that of the server. Vertex AI does not have
    ``generateContentRequest`` (the official SDK, ``models._CountTokensConfig_to_vertex``).
    """
    if dialect == "vertex" and endpoint.format == "generate_content" and b'"generateContentRequest"' in content:
        message = 'Invalid JSON payload received. Unknown name "generateContentRequest": Cannot find field.'
        raise RejectedByRelayError(_invalid(message, "/generateContentRequest"))
    with _rejecting_invalid():
        request = fb.convert_count_request(content, source=endpoint.format, target=endpoint.format, model=endpoint.model or None)
    for loss in request.losses:
        if loss.code == "not_counted":
            name = loss.path.removeprefix("/")
            raise RejectedByRelayError(_invalid(f"{name}: Extra inputs are not permitted", loss.path))
    return request


@contextmanager
def _rejecting_invalid() -> Iterator[None]:
    """Reject a request that the library refuses to convert."""
    try:
        yield
    except fb.InvalidPayloadError as error:
        raise RejectedByRelayError(_invalid(str(error), error.problems[0][0])) from None
    except fb.ConfigurationError as error:
        raise RejectedByRelayError(_invalid(str(error), "/model")) from None


def _invalid(message: str, param: str | None = None) -> Failure:
    return Failure(400, message, type="invalid_request_error", code="invalid_request", param=param)


def error_body(failure: Failure, format: fb.Format) -> Any:
    """Return the body of a failure: as scripted, or in a format."""
    if failure.body is not None:
        return failure.body
    body = fb.convert_error(failure.message, source="chat_completions", target="chat_completions", status=failure.status).body
    fields = {"type": failure.type, "code": failure.code, "param": failure.param}
    error = body.get("error", body) | {key: value for key, value in fields.items() if value is not None}
    return fb.convert_error({"error": error}, source="chat_completions", target=format, status=failure.status).body


_CREATED = fb.Options(created=1_767_225_600)
"""The creation time of answers that have none: the beginning of 2026."""


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """A scripted answer for an endpoint.

    ``body`` and ``source``: the scripted answer and its format.
    ``request``: the request in the source format, so that tool names are restored and echoed fields are filled.
    ``has_encrypted_content``: whether reasoning items of responses have their token.
    """

    body: JsonObject
    source: fb.Format
    target: fb.Format
    request: fb.ConvertedRequest
    has_encrypted_content: bool = True

    def whole(self, quirks: Quirks) -> tuple[int, JsonObject]:
        """Return the status and the body. A failed answer is an error in formats that cannot represent it."""
        converted = fb.convert_response(self.body, source=self.source, target=self.target, request=self.request, options=_CREATED)
        if isinstance(converted, fb.ConvertedError):
            return converted.status, converted.body
        return 200, apply_answer_quirks(self._without_tokens(converted.body), self.target, quirks)

    def streamed(self, quirks: Quirks, longest_delta: int, failure: Failure | None) -> list[Event]:
        """Return the events of a stream; with a ``failure`` it ends in an error event after ``failure.after`` events."""
        pieces = fb.replay_response(self.body, source=self.source, options=_CREATED)
        if self.source != self.target:
            pieces = fb.convert_stream(pieces, source=self.source, target=self.target, request=self.request, options=_CREATED)
        read = [Event(event.name, self._without_tokens(event.data)) for event in read_events(pieces)]
        events = split_deltas(read, self.target, longest_delta)
        if failure is not None:
            return [
                *apply_stream_quirks(events[: failure.after], self.target, quirks),
                _error_event(failure, self.target, failure.after or 0),
            ]
        return apply_stream_quirks(events, self.target, quirks)

    def _without_tokens(self, body: Any) -> Any:
        """Return an answer or an event without reasoning tokens, unless ``has_encrypted_content`` is set."""
        return body if self.has_encrypted_content else _without_encrypted_content(body)


def _without_encrypted_content(value: Any) -> Any:
    """Return a copy of a value without the tokens of reasoning items."""
    if isinstance(value, list):
        return [_without_encrypted_content(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = value.keys() - {"encrypted_content"} if value.get("type") == "reasoning" else value.keys()
    return {key: _without_encrypted_content(inner) for key, inner in value.items() if key in kept}


def encoded_answer(
    answer: Answer | Body, endpoint: Endpoint, content: bytes, model: str, number: int, *, has_encrypted_content: bool = True
) -> EncodedAnswer:
    """Return a scripted answer for an endpoint."""
    source = answer.format if isinstance(answer, Body) else "messages"
    body = dict(answer.body) if isinstance(answer, Body) else answer.body(endpoint.format, model, number)
    return EncodedAnswer(body, source, endpoint.format, check_body(endpoint, content, source), has_encrypted_content)


def _error_event(failure: Failure, format: fb.Format, number: int) -> Event:
    """Return an error event in a format."""
    body = error_body(failure, format)
    match format:
        case "messages":
            return Event("error", body)
        case "responses":
            detail = body["error"]
            fields = {"code": detail["code"], "message": detail["message"], "param": detail["param"]}
            return Event("error", {"type": "error", **fields, "sequence_number": number})
        case _:
            return Event(None, body)
