"""Deviations of real relays, by name. A fake relay with a quirk changes its answers in the same manner.

Some quirks change answers, some change failures and have no effect without one, some change the list of models.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.events import DONE, Event

Quirk = Literal[
    "done_in_messages",
    "empty_output_in_completed",
    "eof_without_terminal",
    "error_in_200",
    "float_created_at",
    "html_502",
    "nil_error_type",
    "no_message_delta",
    "no_models_prefix",
    "openai_errors_on_gemini",
    "ping_comments",
    "success_false_200",
    "trailing_slash_307",
    "usage_both_families",
]

QUIRKS: Mapping[Quirk, str] = {
    "done_in_messages": "a messages stream ends in [DONE] as well",
    "empty_output_in_completed": "the last event of a responses stream has no output",
    "eof_without_terminal": "a stream ends cleanly without its terminal event, as after a timeout of the relay",
    "error_in_200": "a failure has status 200 and its error body",
    "float_created_at": "a responses body counts fractions of seconds in created_at",
    "html_502": "a failure is an HTML page with status 502",
    "nil_error_type": "the type of a messages error is `<nil>`",
    "no_message_delta": "a messages stream has no message_delta, hence no stop reason and no final usage",
    "no_models_prefix": "names in the list of models lack their prefix, and all other fields are null",
    "openai_errors_on_gemini": "a failure of generate_content has the body of chat_completions",
    "ping_comments": "comments are sent between the events, except in generate_content",
    "success_false_200": 'a failure is {"success": false} with status 200',
    "trailing_slash_307": "a path without a slash at its end is redirected to the same with one",
    "usage_both_families": "usage of chat_completions and responses has the fields of both; those of chat_completions have the numbers",
}
"""Each quirk and its effect."""

Quirks = Collection[Quirk]

_TERMINAL = ("message_delta", "message_stop", "response.completed", "response.incomplete", "response.failed")
_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


def apply_answer_quirks(body: JsonObject, format: fb.Format, quirks: Quirks) -> JsonObject:
    """Return a whole answer with the quirks."""
    if "usage_both_families" in quirks and isinstance(body.get("usage"), dict):
        body = body | {"usage": _both_families(body["usage"], format)}
    if "float_created_at" in quirks and "created_at" in body:
        body = body | {"created_at": body["created_at"] + 0.25}
    return body


def apply_stream_quirks(events: Sequence[Event], format: fb.Format, quirks: Quirks) -> list[Event]:
    """Return the events of a stream with the quirks."""
    result = [each for event in events for each in _event_with_quirks(event, format, quirks)]
    if "done_in_messages" in quirks and format == "messages":
        result.append(DONE)
    if "eof_without_terminal" in quirks:
        result = [kept for event in result for kept in _without_terminal(event)]
    if "ping_comments" in quirks and format != "generate_content":
        result = [each for event in result for each in (Event(None, ": PING"), event)]
    return result


def _event_with_quirks(event: Event, format: fb.Format, quirks: Quirks) -> list[Event]:
    if "no_message_delta" in quirks and event.name == "message_delta":
        return []
    if not isinstance(event.data, dict):
        return [event]
    data = event.data
    if isinstance(data.get("response"), dict):
        answer = apply_answer_quirks(data["response"], format, quirks)
        if "empty_output_in_completed" in quirks and event.name == "response.completed":
            answer = answer | {"output": []}
        data = data | {"response": answer}
    elif format == "chat_completions":
        data = apply_answer_quirks(data, format, quirks)
    return [Event(event.name, data)]


def _without_terminal(event: Event) -> list[Event]:
    """Return an event without the end of the stream; no event if it has no other content."""
    if event == DONE or event.name in _TERMINAL:
        return []
    if not isinstance(event.data, dict) or event.name:
        return [event]
    choices = event.data.get("choices")
    if choices is not None and (not choices or choices[0].get("finish_reason")):
        return []
    candidates = event.data.get("candidates") or [{}]
    if not candidates[0].get("finishReason"):
        return [event]
    kept = {key: value for key, value in candidates[0].items() if key != "finishReason"}
    return [Event(None, {**event.data, "candidates": [kept]})] if kept.get("content", {}).get("parts") else []


def _both_families(usage: JsonObject, format: fb.Format) -> JsonObject:
    """Return usage with the fields of chat_completions and responses, with the numbers in those of chat_completions."""
    names = ("prompt_tokens", "completion_tokens") if format == "chat_completions" else ("input_tokens", "output_tokens")
    input_tokens, output_tokens = (usage.get(name, 0) for name in names)
    input_details = usage.get(f"{names[0]}_details") or {"cached_tokens": 0}
    output_details = usage.get(f"{names[1]}_details") or {"reasoning_tokens": 0}
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "prompt_tokens_details": input_details,
        "completion_tokens_details": output_details,
        "input_tokens": 0,
        "output_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def apply_error_quirks(status: int, body: Any, message: str, format: fb.Format | None, quirks: Quirks) -> tuple[int, Any]:
    """Return status and body of a failure with the quirks; a string is HTML."""
    if "html_502" in quirks:
        return 502, _PAGE
    if "success_false_200" in quirks:
        return 200, {"success": False, "message": message}
    if "openai_errors_on_gemini" in quirks and format == "generate_content":
        body = fb.convert_error(body, source="generate_content", target="chat_completions", status=status).body
    if "nil_error_type" in quirks and format == "messages" and isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body | {"error": body["error"] | {"type": "<nil>"}}
    return (200 if "error_in_200" in quirks else status), body


def apply_models_quirks(body: JsonObject, format: fb.Format, quirks: Quirks) -> JsonObject:
    """Return a list of models with the quirks."""
    if "no_models_prefix" not in quirks or format != "generate_content":
        return body
    models = [dict.fromkeys(model) | {"name": model["name"].removeprefix("models/")} for model in body["models"]]
    return {"models": models, "nextPageToken": None}
