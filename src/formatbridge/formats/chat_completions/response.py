"""Answers of chat_completions."""

from __future__ import annotations

from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.chat_completions.answer import decode_answer, encode_answer
from formatbridge.formats.chat_completions.errors import decode_error, told_failure
from formatbridge.formats.chat_completions.finish import decode_finish, encode_finish
from formatbridge.formats.chat_completions.usage import decode_usage, encode_usage
from formatbridge.formats.format import Context
from formatbridge.formats.shared.choices import numbered
from formatbridge.formats.shared.logprobs import decode_tokens, encode_tokens
from formatbridge.formats.shared.parts import refusal_of
from formatbridge.formats.shared.unique_names import encode_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.ir import events
from formatbridge.jsontext.pointers import KNOWN, known_places
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_index = attrgetter("index")
_RESPONSE = frozenset({"id", "object", "created", "model", "choices", "usage"})
_PLACES = known_places("/choices", "message")
_CHOICE = frozenset({"index", "message", "finish_reason", "logprobs"})
LOGPROBS = frozenset({"content", "refusal"})
"""The members of a choice's log probabilities."""


def decode_response(body: JsonObject) -> ir.Response:
    """Read a whole answer."""
    usage, given, told = body.get("usage"), body.get("id") or None, body["choices"]
    numbers = numbered([at if raw.get("index") is None else raw["index"] for at, raw in enumerate(told)])
    choices = [_decode_choice(raw, at, numbers[at], given or "") for at, raw in enumerate(told)]
    counts = decode_usage(usage, "/usage") if usage else None
    extra = None if _RESPONSE.issuperset(body) else rest(body, _RESPONSE)
    made = ir.Response("chat_completions", given, body.get("model"), choices, body.get("created"), counts, extra)
    if "error" in body or (len(told) == 1 and ("error" in told[0] or told[0].get("finish_reason") == "error")):
        made.error = failure_of(body)
        if made.extra and isinstance(body.get("error"), dict | str):
            made.extra.pop("error", None)
        if made.error and made.error.src and choices[0].extra:
            choices[0].extra.pop("error", None)
    return made


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return what went wrong on the way."""
    failure, at = told_failure(body)
    if not failure:
        return None
    error = decode_error({"error": failure}, status=None)
    error.src = at
    return error


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Write a whole answer."""
    del context  # nothing in an answer of this format repeats the request
    if response.extra:
        losses.extras(response)
    body = encode_head(response, losses, options)
    choices = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    body["choices"] = [_encode_choice(choice, index, body["id"], losses, options) for index, choice in enumerate(choices)]
    if response.usage:
        body["usage"] = encode_usage(response.usage, losses)
    return body


def encode_head(response: ir.Response | events.Start, losses: Ledger, options: Options) -> JsonObject:
    """Write what stands at the top of an answer and of every chunk of a stream."""
    return {
        "id": encode_id(response.id, "chatcmpl-") or losses.added("/id", "chatcmpl-0"),
        "object": "chat.completion",
        "created": _encode_created(response, losses, options),
        "model": response.model if response.model is not None else losses.added("/model", ""),
    }


def _encode_created(response: ir.Response | events.Start, losses: Ledger, options: Options) -> int:
    """Write the time of an answer in whole seconds; nothing reads a clock."""
    if response.created is None:
        created: int = losses.added("/created", options.created or 0)
        return created
    whole = int(response.created)
    if whole != response.created:
        losses.changed(response, "created", whole, severity="info")
    return whole


def _decode_choice(raw: JsonObject, position: int, number: int, answer_id: str) -> ir.Choice:
    src, place = _PLACES[position] if position < KNOWN else (f"/choices/{position}", f"/choices/{position}/message")
    parts, unread = decode_answer(raw.get("message") or {}, place, answer_id, position)
    choice = ir.Choice(parts, decode_finish(raw, parts, src), number, src)
    if unread:
        choice.extra = {f"message/{pointer}": value for pointer, value in unread.items()}
    if raw.get("logprobs"):
        _decode_logprobs(raw["logprobs"], choice)
    if not _CHOICE.issuperset(raw):
        is_read = choice.finish is not None and choice.finish.stop_sequence is not None
        choice.extra = joined(choice.extra, rest(raw, _CHOICE | {"stop_reason"} if is_read else _CHOICE))
    return choice


def _encode_choice(choice: ir.Choice, index: int, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    if choice.extra:
        losses.extras(choice)
    refusal = refusal_of(choice.finish, choice.parts, losses)
    message = encode_answer(choice.parts, f"/choices/{index}/message", answer_id, losses, options)
    if refusal is not None:
        message["refusal"] = refusal
    has_calls, has_refusal = "tool_calls" in message, message["refusal"] is not None and refusal is None
    finish = encode_finish(choice.finish, has_calls, has_refusal, f"/choices/{index}", losses)
    logprobs = encode_logprobs(choice.logprobs, choice.refusal_logprobs, losses)
    return {"index": index, "message": message, "finish_reason": finish, "logprobs": logprobs}


def _decode_logprobs(raw: JsonObject, choice: ir.Choice) -> None:
    """Read the log probabilities of a choice."""
    at = f"{choice.src}/logprobs"
    choice.logprobs = decode_tokens(raw.get("content") or (), f"{at}/content") or None
    choice.refusal_logprobs = decode_tokens(raw.get("refusal") or (), f"{at}/refusal") or None
    choice.extra = joined(choice.extra, rest(raw, LOGPROBS, "logprobs/"))


def encode_logprobs(
    content: list[ir.TokenLogprob] | None, refusal: list[ir.TokenLogprob] | None, losses: Ledger
) -> JsonObject | None:
    """Write the log probabilities of a text and of a refusal; None where there are neither."""
    if content is None and refusal is None:
        return None
    return {
        "content": None if content is None else encode_tokens(content, losses),
        "refusal": None if refusal is None else encode_tokens(refusal, losses),
    }
