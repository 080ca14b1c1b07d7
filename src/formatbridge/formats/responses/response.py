"""Answers of responses."""

from __future__ import annotations

from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.responses.answer import decode_answer, encode_answer
from formatbridge.formats.responses.errors import decode_failure, encode_failure, says_cancelled, take_request_id
from formatbridge.formats.responses.finish import as_ended, decode_finish, encode_finish, refusal_of, status_of_last
from formatbridge.formats.responses.ids import ItemIds
from formatbridge.formats.responses.usage import decode_usage, encode_usage
from formatbridge.formats.shared.unique_names import encode_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

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
    choice = ir.Choice(parts, finish, 0, "/output", leftover, logprobs)
    counts = decode_usage(usage, "/usage") if usage else None
    extra = rest(body, RESPONSE_FIELDS)
    made = ir.Response("responses", body.get("id"), body.get("model"), [choice], body.get("created_at"), counts, extra)
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
    choice = _only_choice(response, losses)
    finish = choice.finish
    refusal = refusal_of(finish, choice.parts, losses)
    ended, last = encode_finish(finish, choice.parts, losses), status_of_last(finish, choice.parts)
    if refusal:
        choice = ir.Choice(parts=[*choice.parts, refusal], logprobs=choice.logprobs, src=choice.src)
    if response.error:
        ended = _encode_failed(response.error, losses)
    elif finish is None or finish.raw is None:
        losses.added("/status", ended["status"])
    ids = ItemIds("/output", f"{made_id.removeprefix('resp_')}_", losses)
    created = _encode_created(response, losses, options)
    model = response.model if response.model is not None else losses.added("/model", "")
    output = encode_answer(choice, ids, losses, options)
    body: JsonObject = {
        "id": made_id,
        "object": "response",
        "created_at": created,
        **ended,
        "model": model,
        "output": as_ended(output, "incomplete" if response.error else last),
        **_encode_echo(context, losses),
    }
    if response.usage:
        body["usage"] = encode_usage(response.usage, losses)
    return body


def _only_choice(response: ir.Response, losses: Ledger) -> ir.Choice:
    """Return the first of several answers; this format gives one."""
    choice, *others = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    for other in others:
        losses.dropped(other, code="single_answer", severity="impossible")
    if choice.extra:
        losses.extras(choice)
    if choice.refusal_logprobs:
        losses.dropped(choice, "refusal_logprobs")
    return choice


def _encode_failed(error: ir.Error, losses: Ledger) -> JsonObject:
    """Write how an answer ended that failed on the way, or was cancelled."""
    if says_cancelled(error):
        return {"status": "cancelled", "error": None, "incomplete_details": None}
    return {"status": "failed", "error": encode_failure(error, losses), "incomplete_details": None}


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
