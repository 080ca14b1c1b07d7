"""A scripted answer in the format of an endpoint: whole, or as the events of a stream."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.endpoints import Endpoint, check_body, error_body
from formatbridge.testing.events import Event, read_events, split_deltas
from formatbridge.testing.quirks import Quirk, apply_answer_quirks, apply_stream_quirks
from formatbridge.testing.script import Answer, Body, Failure

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

    def whole(self, quirks: Collection[Quirk]) -> tuple[int, JsonObject]:
        """Return the status and the body. A failed answer is an error in formats that cannot represent it."""
        converted = fb.convert_response(self.body, source=self.source, target=self.target, request=self.request, options=_CREATED)
        if isinstance(converted, fb.ConvertedError):
            return converted.status, converted.body
        return 200, apply_answer_quirks(self._without_tokens(converted.body), self.target, quirks)

    def streamed(self, quirks: Collection[Quirk], longest_delta: int, failure: Failure | None) -> list[Event]:
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
