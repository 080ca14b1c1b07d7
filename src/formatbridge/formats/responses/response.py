"""Answers of responses."""

from __future__ import annotations

from operator import attrgetter

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._extra import joined, rest
from formatbridge.formats._ids import encode_id
from formatbridge.formats._protocol import Context
from formatbridge.formats.responses.answer import decode_answer, encode_answer
from formatbridge.formats.responses.errors import decode_failure, encode_failure, says_cancelled, take_request_id
from formatbridge.formats.responses.finish import as_ended, decode_finish, encode_finish, refusal_of
from formatbridge.formats.responses.usage import decode_usage, encode_usage
from formatbridge.losses import Ledger
from formatbridge.options import Options

RESPONSE_FIELDS = frozenset({"id", "object", "created_at", "model", "output", "usage", "status", "incomplete_details", "error"})
_index = attrgetter("index")
_ECHOED = (
    "background", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id",
    "prompt_cache_key", "reasoning", "safety_identifier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p",
    "truncation", "user",
)  # fmt: skip
"""Fields of a request that its answer repeats as they were."""


def decode_response(body: JsonObject) -> ir.Response:
    """Read a whole answer. One that failed has its error beside what came before."""
    usage, status, error = body.get("usage"), body.get("status"), body.get("error")
    parts, logprobs, leftover = decode_answer(body["output"])
    failure = failure_of(body)
    finish = decode_finish(body) if not failure or body.get("incomplete_details") else None
    choices = [ir.Choice(parts, finish, 0, "/output", leftover, logprobs)]
    counts = decode_usage(usage, "/usage") if usage else None
    extra = rest(body, RESPONSE_FIELDS)
    made = ir.Response("responses", body["id"], body.get("model"), choices, body.get("created_at"), counts, extra)
    made.error = failure
    if failure:
        take_request_id(failure, extra)
        made.extra = joined(extra, {"status": status} if error and status not in (None, "failed", "cancelled") else None)
    return made


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return what went wrong on the way; one that was cancelled failed, too."""
    error, status = body.get("error"), body.get("status")
    if error or status == "failed":
        return decode_failure(error or {})
    return ir.Error(kind="cancelled", message=status) if status == "cancelled" else None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Write a whole answer; what it repeats of its request comes from ``context``, else it says what happens anyway."""
    if response.extra:
        losses.extras(response)
    made_id = encode_id(response.id, "resp_") or losses.added("/id", "resp_0")
    choices = response.choices
    first, *others = choices if len(choices) == 1 else sorted(choices, key=_index) or [ir.Choice(parts=[])]
    for choice in others:
        losses.dropped(choice, code="single_answer", severity="impossible")
    if first.extra:
        losses.extras(first)
    if first.refusal_logprobs:
        losses.dropped(first, "refusal_logprobs")
    finish = first.finish
    refusal = refusal_of(finish, first.parts, losses)
    ended = encode_finish(finish, first.parts, losses)
    if refusal:
        first = ir.Choice(parts=[*first.parts, refusal], logprobs=first.logprobs, src=first.src)
    if response.error and says_cancelled(response.error):
        ended = {"status": "cancelled", "error": None, "incomplete_details": None}
    elif response.error:
        ended = {"status": "failed", "error": encode_failure(response.error, losses), "incomplete_details": None}
    elif finish is None or finish.raw is None:
        losses.added("/status", ended["status"])
    body: JsonObject = {
        "id": made_id,
        "object": "response",
        "created_at": _encode_created(response, losses, options),
        **ended,
        "model": response.model if response.model is not None else losses.added("/model", ""),
        "output": as_ended(
            encode_answer(first, f"{made_id.removeprefix('resp_')}_", losses, options),
            finish,
            has_failed=response.error is not None,
        ),
        **_encode_echo(context, losses),
    }
    if response.usage:
        body["usage"] = encode_usage(response.usage, losses)
    return body


def _encode_created(response: ir.Response, losses: Ledger, options: Options) -> int | float:
    """Write the time of an answer in seconds; nothing reads a clock."""
    created = response.created
    if created is None:
        added: int = losses.added("/created_at", options.created or 0)
        return added
    return int(created) if created == int(created) else created


def _encode_echo(context: Context | None, losses: Ledger) -> JsonObject:
    """Repeat what the caller asked for, where the caller spoke this format."""
    made: JsonObject = {}
    if context and context.source == "responses":
        asked = context.body
        made = {key: asked[key] for key in _ECHOED if asked.get(key) is not None}
    if "parallel_tool_calls" not in made:  # which an answer must have, and so the next two
        made["parallel_tool_calls"] = losses.added("/parallel_tool_calls", True)
    if "tool_choice" not in made:
        made["tool_choice"] = losses.added("/tool_choice", "auto")
    if "tools" not in made:
        made["tools"] = losses.added("/tools", [])
    return made
