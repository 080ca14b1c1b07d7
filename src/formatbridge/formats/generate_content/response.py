"""Answers of generate_content."""

from __future__ import annotations

from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.generate_content.answer import decode_answer, encode_answer
from formatbridge.formats.generate_content.citations import decode_citations, encode_citations
from formatbridge.formats.generate_content.content import CONTENT
from formatbridge.formats.generate_content.errors import decode_error
from formatbridge.formats.generate_content.finish import UNSAID, decode_blocked, decode_finish, encode_finish
from formatbridge.formats.generate_content.logprobs import Average, decode_logprobs, encode_logprobs
from formatbridge.formats.generate_content.usage import decode_usage, encode_usage
from formatbridge.formats.shared.choices import numbered
from formatbridge.formats.shared.model_lists import encode_time, time_of
from formatbridge.formats.shared.unique_names import encode_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_index = attrgetter("index")
_RESPONSE = frozenset({"candidates", "createTime", "modelVersion", "promptFeedback", "responseId", "usageMetadata"})
_FEEDBACK = frozenset({"blockReason", "blockReasonMessage"})
_PLAIN_CANDIDATE = frozenset({"content", "finishReason", "finishMessage", "index"})
_CANDIDATE = _PLAIN_CANDIDATE | {"logprobsResult", "groundingMetadata", "citationMetadata"}


def decode_response(body: JsonObject) -> ir.Response:
    """Read a whole answer; a prompt that was blocked is a choice without parts, an error in its place is one."""
    usage, time, feedback = body.get("usageMetadata"), body.get("createTime"), body.get("promptFeedback") or {}
    created = time_of(time) if time else None
    given = body.get("responseId") or None
    told = body.get("candidates") or ()
    numbers = numbered([raw.get("index") or 0 for raw in told])
    choices = [_decode_choice(raw, f"/candidates/{at}", numbers[at], given) for at, raw in enumerate(told)]
    error = failure_of(body)
    blocked = [each for each in choices if each.finish and each.finish.raw in UNSAID] if feedback.get("blockReason") else []
    for each in blocked:
        if each.finish and each.finish.message:
            each.extra = joined(each.extra, {"finishMessage": each.finish.message})
        each.finish = decode_blocked(feedback)
    if not choices and not error:
        blocked = choices = [_decode_missing(feedback)]
    if blocked:
        feedback = {key: value for key, value in feedback.items() if key not in _FEEDBACK}
    extra = rest(body, _RESPONSE if not error else _RESPONSE | {"error"})
    if feedback or (time and created is None):
        extra = joined(
            extra, rest(feedback, frozenset(), "promptFeedback/"), {"createTime": time} if time and created is None else None
        )
    counts = decode_usage(usage, "/usageMetadata") if usage else None
    return ir.Response("generate_content", given, body.get("modelVersion"), choices, created, counts, extra, error)


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return what went wrong on the way; servers say it beside the answer, or in its place."""
    return decode_error({"error": body["error"]}, status=None) if body.get("error") else None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Write a whole answer."""
    del context  # nothing in an answer of this format repeats the request
    if response.extra:
        losses.extras(response)
    choices = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    body: JsonObject = {"candidates": [_encode_choice(choice, place, losses, options) for place, choice in enumerate(choices)]}
    if response.usage:
        body["usageMetadata"] = encode_usage(response.usage, losses)
    if response.model is not None:
        body["modelVersion"] = response.model
    given = encode_id(response.id, "")
    if given is not None:
        body["responseId"] = given
    created = response.created if response.created is not None else options.created
    if created is not None:
        body["createTime"] = encode_time(response, created, losses)
    return body


def _decode_missing(feedback: JsonObject) -> ir.Choice:
    """Make the choice of an answer that has none."""
    if feedback.get("blockReason") is not None or feedback.get("blockReasonMessage"):
        return ir.Choice(parts=[], finish=decode_blocked(feedback), src="/promptFeedback")
    src = "/promptFeedback" if feedback else ""
    return ir.Choice(parts=[], finish=ir.Finish(reason="other", src=src), src=src)


def _decode_choice(raw: JsonObject, src: str, number: int, response_id: str | None) -> ir.Choice:
    content = raw.get("content") or {}
    parts = decode_answer(content, f"{src}/content", response_id, number)
    choice = ir.Choice(parts, decode_finish(raw, parts, src), number, src)
    if raw.keys() <= _PLAIN_CANDIDATE and content.keys() <= CONTENT:  # neither logprobs, nor citations, nor anything unknown
        return choice
    choice.logprobs, unread = decode_logprobs(raw.get("logprobsResult") or {}, f"{src}/logprobsResult")
    choice.extra = joined(
        rest(raw, _CANDIDATE),
        rest(content, CONTENT, "content/"),
        {f"logprobsResult/{pointer}": value for pointer, value in (unread or {}).items()} or None,
        decode_citations(raw, parts, src),
    )
    return choice


def _encode_choice(choice: ir.Choice, place: int, losses: Ledger, options: Options) -> JsonObject:
    if choice.extra:
        losses.extras(choice)
    kinds = set(map(type, choice.parts))
    parts = encode_answer(choice, kinds, f"/candidates/{place}/content/parts", losses, options)
    made: JsonObject = {"content": {"role": "model", "parts": parts}}
    made |= encode_finish(choice.finish, ir.ToolCall in kinds, f"/candidates/{place}", losses)
    made["index"] = choice.index
    grounding = encode_citations(choice.parts, losses)
    if grounding:
        made["groundingMetadata"] = grounding
    if choice.logprobs:
        made |= Average(choice.logprobs).told() | {"logprobsResult": encode_logprobs(choice.logprobs, losses)}
    if choice.refusal_logprobs:
        losses.dropped(choice, "refusal_logprobs")
    return made
