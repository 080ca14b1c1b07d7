"""Model lists, token counts (``POST /v1/messages/count_tokens``) and batch lines of Anthropic Messages.

Batch lines are members of ``requests``, or results. Sources: Anthropic, "Batch processing"; the official SDK's types
``MessageBatchIndividualResponse`` and ``MessageBatchResult``. They are decoded here and not in ``shared``, because results have a type in
place of an HTTP status.
"""

from __future__ import annotations

import re
from typing import get_args

from formatbridge import ir
from formatbridge.formats.format import CountSpec
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.shared.batch_lines import BatchItem, BatchLayout, Unprocessed
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.model_lists import encode_time, rfc3339_of, time_of
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_LIST = frozenset({"data", "has_more", "first_id", "last_id"})
_MODEL = frozenset({
    "type", "id", "display_name", "created_at", "lifecycle", "retires_at", "max_input_tokens", "max_tokens",
})  # fmt: skip


def decode_models(body: JsonObject) -> ir.ModelList:
    """Decode a page of a model list."""
    return ir.ModelList(
        format="messages",
        models=[_decode_model(raw, f"/data/{index}") for index, raw in enumerate(body["data"] or ())],
        has_more=body.get("has_more"),
        first_id=body.get("first_id"),
        last_id=body.get("last_id"),
        extra=read_extra(body, _LIST),
    )


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Encode a page of a model list."""
    drop_unheld_in_answer(models, losses)
    data = [_encode_model(model, f"/data/{index}", losses) for index, model in enumerate(models.models)]
    more = models.has_more if models.has_more is not None else bool(models.next_page)
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"data": data, "has_more": more, "first_id": models.first_id or first, "last_id": models.last_id or last}


def _decode_model(raw: JsonObject, src: str) -> ir.Model:
    created_at = raw.get("created_at")
    created = time_of(created_at) if created_at is not None else None
    extra = read_extra(raw, _MODEL)
    if created_at is not None and created is None:
        extra = (extra or {}) | {"created_at": created_at}
    return ir.Model(
        id=raw["id"],
        display_name=raw.get("display_name"),
        created=created,
        input_limit=raw.get("max_input_tokens"),
        output_limit=raw.get("max_tokens"),
        lifecycle=raw.get("lifecycle"),
        retires_at=raw.get("retires_at"),
        src=src,
        extra=extra,
    )


def _encode_model(model: ir.Model, pointer: str, losses: Ledger) -> JsonObject:
    drop_unheld_in_answer(model, losses)
    body: JsonObject = {
        "type": "model",
        "id": model.id,
        "display_name": model.display_name or losses.added(f"{pointer}/display_name", model.id),
        "created_at": losses.added(f"{pointer}/created_at", rfc3339_of(0))
        if model.created is None
        else encode_time(model, model.created, losses),
        "lifecycle": model.lifecycle or losses.added(f"{pointer}/lifecycle", "active"),
    }
    retires = model.retires_at
    if retires is not None and time_of(retires) is None:
        drop_field(model, "retires_at", losses)
        retires = None
    optional = {"retires_at": retires, "max_input_tokens": model.input_limit, "max_tokens": model.output_limit}
    return body | {key: value for key, value in optional.items() if value is not None}


_UNCOUNTED = frozenset({
    "max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier", "inference_geo", "container",
    "diagnostics", "fallbacks", "fallback_credit_token", "anthropic_version", "anthropic_beta",
})  # fmt: skip
"""The server rejects them, for example ``max_tokens`` (Wei-Shaw/sub2api#4913). Source: ``MessageCountTokensParams`` of the official SDK.

``thread`` is not one of them: it stands for messages that the server stores, and without it the count is wrong.
"""
_COUNT_ANSWER = frozenset({"input_tokens"})


def decode_count(body: JsonObject) -> ir.TokenCount:
    """Decode the answer of the endpoint that counts tokens."""
    return ir.TokenCount(body["input_tokens"], extra=read_extra(body, _COUNT_ANSWER))


def encode_count(count: ir.TokenCount, losses: Ledger) -> JsonObject:
    """Encode the answer of the endpoint that counts tokens."""
    drop_unheld_in_answer(count, losses)
    return {"input_tokens": count.input}


COUNT = CountSpec(
    path="/v1/messages/count_tokens",
    sdk_path=re.compile(r".*/v1/messages/count_tokens"),
    description="/v1/messages/count_tokens",
    uncounted=_UNCOUNTED,
    settings=frozenset({"parallel_tool_calls", "automatic_cache"}),
    decode_response=decode_count,
    encode_response=encode_count,
)
"""The endpoint that counts tokens."""


def _decode_batch_line(raw: JsonObject) -> BatchItem | None:
    """Decode a member of ``requests``, or a result."""
    result = raw.get("result")
    if "params" in raw:
        return BatchItem(kind="request", pointer="/params", body=raw["params"])
    if not isinstance(result, dict):
        return None
    known = frozenset({"/result/type"})
    match result.get("type"):
        case "succeeded":
            return BatchItem(kind="response", pointer="/result/message", body=result.get("message"), known=known)
        case "errored":
            return BatchItem(kind="error", pointer="/result/error", body=result.get("error"), known=known)
        case "canceled" | "expired" as reason:
            return BatchItem(kind="unprocessed", pointer="/result/type", reason=reason)
        case _:
            return None


def _encode_batch_request(id: str, body: JsonObject) -> JsonObject:
    """Encode a request as a member of ``requests``."""
    return {"custom_id": id, "params": body}


def _encode_batch_response(id: str, body: JsonObject) -> JsonObject:
    """Encode an answer as a result."""
    return {"custom_id": id, "result": {"type": "succeeded", "message": body}}


def _encode_batch_error(id: str, status: int, body: JsonObject) -> JsonObject:
    """Encode an error as a result. The HTTP status follows from the type of the error."""
    del status
    return {"custom_id": id, "result": {"type": "errored", "error": body}}


def _encode_batch_unprocessed(id: str, reason: Unprocessed, message: str) -> JsonObject:
    """Encode the result of a request that was not processed. Only a failure has a message."""
    if reason == "failed":
        error = {"type": "error", "error": {"type": "api_error", "message": message or "This request was not processed."}}
        return {"custom_id": id, "result": {"type": "errored", "error": error}}
    assert reason in get_args(Unprocessed)
    return {"custom_id": id, "result": {"type": reason}}


BATCH = BatchLayout(
    id_field="custom_id",
    read=_decode_batch_line,
    write_request=_encode_batch_request,
    write_response=_encode_batch_response,
    write_error=_encode_batch_error,
    write_unprocessed=_encode_batch_unprocessed,
    request_pointer="/params",
    response_pointer="/result/message",
    error_pointer="/result/error",
    has_status=False,
    # Source: Anthropic, API reference of message batches; the limit also in anthropics/anthropic-sdk-python#984.
    id_pattern=re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    longest_id=64,
)
"""The layout of batch lines."""
