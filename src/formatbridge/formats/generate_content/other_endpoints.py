"""Model lists, token counts (``POST /v1beta/models/{model}:countTokens``) and batch lines of Gemini.

Batch lines of the Gemini API have ``key`` and ``request``, and in results ``response`` or ``error``. Those of Vertex AI have no key, and
in results ``status``, ``processed_time`` and a copy of the request. Sources: Google, "Batch API"; Vertex AI, "Batch inference from Cloud
Storage"; the official SDK's type ``JobError``. They are decoded here and not in ``shared``, because errors have numbers of
``google.rpc.Code`` in place of HTTP statuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from formatbridge import ir
from formatbridge.formats.format import CountSpec
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.shared.batch_lines import BatchItem, BatchLayout, Unprocessed
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.model_lists import time_of
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.pointers import camel_and_snake
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

# The official SDK reads any of these lists: base models, tuned models, or those of the Vertex API (``_transformers.py``).
_LISTS = ("models", "tunedModels", "publisherModels")
_MODEL = frozenset({
    "name", "displayName", "description", "version", "inputTokenLimit", "outputTokenLimit", "supportedGenerationMethods",
})  # fmt: skip
MODEL_LIST_KEYS = tuple(key for name in (*_LISTS, "nextPageToken") for key in camel_and_snake(name))
"""The keys of a page, in camelCase and in snake_case (protobuf.dev/programming-guides/json)."""
_COLLECTIONS = ("models/", "tunedModels/", "publishers/")
"""Beginnings of the full name of a model."""
_METHODS = ("generateContent", "streamGenerateContent")


def decode_models(body: JsonObject) -> ir.ModelList:
    """Decode one page of models, under any of its names."""
    token = body.get("nextPageToken")
    return ir.ModelList(
        format="generate_content",
        models=[_decode_model(raw, f"/{name}/{index}") for name in _LISTS for index, raw in enumerate(body.get(name) or ())],
        has_more=bool(token) if token is not None else None,
        next_page=token or None,
        extra=read_extra(body, frozenset({*_LISTS, "nextPageToken"})),
    )


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Encode one page of models."""
    drop_unheld_in_answer(models, losses)
    if not models.next_page:
        drop_field(models, "has_more", losses)
    body: JsonObject = {"models": [_encode_model(model, f"/models/{index}", losses) for index, model in enumerate(models.models)]}
    return body | ({"nextPageToken": models.next_page} if models.next_page else {})


def _decode_model(raw: JsonObject, src: str) -> ir.Model:
    """Decode one model."""
    # {"name": "models/m", "displayName": "M", "inputTokenLimit": 1048576, "supportedGenerationMethods": ["generateContent"]}
    name, created_text = raw["name"].removeprefix("models/"), raw.get("createTime")
    created = time_of(created_text) if created_text else None
    known = (
        _MODEL | ({"baseModelId"} if raw.get("baseModelId") == name else set()) | ({"createTime"} if created is not None else set())
    )
    return ir.Model(
        id=name,
        display_name=raw.get("displayName"),
        description=raw.get("description"),
        version=raw.get("version"),
        created=created,
        input_limit=raw.get("inputTokenLimit"),
        output_limit=raw.get("outputTokenLimit"),
        methods=raw.get("supportedGenerationMethods"),
        src=src,
        extra=read_extra(raw, known),
    )


def _encode_model(model: ir.Model, pointer: str, losses: Ledger) -> JsonObject:
    """Encode one model; ``pointer`` is its pointer in the target."""
    drop_unheld_in_answer(model, losses)
    methods = model.methods
    # Other formats have no counterpart. The two methods are those of this library.
    if methods is None:
        methods = losses.added(f"{pointer}/supportedGenerationMethods", [*_METHODS])
    is_full = model.id.startswith(_COLLECTIONS)
    fields = {
        "name": model.id if is_full else f"models/{model.id}",
        "version": model.version,
        "displayName": model.display_name,
        "description": model.description,
        "inputTokenLimit": model.input_limit,
        "outputTokenLimit": model.output_limit,
        "supportedGenerationMethods": methods,
    }
    return {key: value for key, value in fields.items() if value is not None}


_COUNT_REQUEST_FIELD = "generateContentRequest"
_UNCOUNTED = frozenset({"stream", "safetySettings", "modelArmorConfig", "labels", "serviceTier", "store", "outputConfig"})
"""Fields of a request that the model does not read. The method accepts them in ``generateContentRequest``
(ai.google.dev/api/tokens).
"""
# Source: the official SDK, ``models._CountTokensConfig_to_vertex``.
_TOP_FIELDS = frozenset({"contents", "systemInstruction", "tools", "generationConfig"})
_COUNT_ANSWER = frozenset({"totalTokens"})
_IN_URL = frozenset({"model", "stream"})


def encode_count_request(body: JsonObject, model: str) -> JsonObject:
    """Return the count request for a request of this format. The field ``contents`` is only for requests that have nothing else.

    Source: https://ai.google.dev/api/tokens, which requires either ``contents`` or ``generateContentRequest``.
    """
    # {"generateContentRequest": {"model": "models/m", "contents": [...], "tools": [...]}}; there the model is required.
    fields = {key: value for key, value in body.items() if key not in _IN_URL and value is not None}
    if fields.keys() == {"contents"}:
        return body
    return {_COUNT_REQUEST_FIELD: {"model": model if model.startswith(_COLLECTIONS) else f"models/{model}", **fields}}


def decode_count(body: JsonObject) -> ir.TokenCount:
    """Decode the answer of the method that counts tokens."""
    return ir.TokenCount(body["totalTokens"], extra=read_extra(body, _COUNT_ANSWER))


def encode_count(count: ir.TokenCount, losses: Ledger) -> JsonObject:
    """Encode the answer of the method that counts tokens."""
    drop_unheld_in_answer(count, losses)
    return {"totalTokens": count.input}


COUNT = CountSpec(
    path="/v1beta/models/{model}:countTokens",
    sdk_path=re.compile(r".*?/(?P<model>(?:models|tunedModels)/.+):countTokens"),
    description=":countTokens",
    uncounted=_UNCOUNTED,
    request_field=_COUNT_REQUEST_FIELD,
    top_fields=_TOP_FIELDS,
    needless_additions=frozenset({"/generationConfig/thinkingConfig/includeThoughts"}),
    encode_request=encode_count_request,
    decode_response=decode_count,
    encode_response=encode_count,
)
"""The method that counts tokens."""


_HTTP_STATUSES: Mapping[int, int] = {
    1: 499, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 13: 500, 14: 503, 15: 500, 16: 401,
}  # fmt: skip
"""Numbers of ``google.rpc.Code`` to HTTP statuses. Source: googleapis, ``google/rpc/code.proto``."""
_CANCELLED, _DEADLINE_EXCEEDED, _UNKNOWN = 1, 4, 2
_BATCH_REASONS: Mapping[int, Unprocessed] = {_CANCELLED: "canceled", 499: "canceled", _DEADLINE_EXCEEDED: "expired", 504: "expired"}
_BATCH_STATUSES: Mapping[Unprocessed, str] = {"canceled": "CANCELLED", "expired": "DEADLINE_EXCEEDED"}
_BATCH_CODES: Mapping[Unprocessed, int] = {"canceled": _CANCELLED, "expired": _DEADLINE_EXCEEDED, "failed": _UNKNOWN}


def _decode_batch_line(raw: JsonObject) -> BatchItem | None:
    """Decode a line of a request file or of a result file. A result of Vertex AI repeats its request."""
    response, error, status = raw.get("response"), raw.get("error"), raw.get("status")
    if response or (response is not None and not error and not status):
        return BatchItem(kind="response", pointer="/response", body=response)
    if isinstance(error, dict):
        return _decode_failure(error, "/error")
    if isinstance(status, dict) and status:
        return _decode_failure(status, "/status")
    if isinstance(status, str) and status:  # Vertex AI
        return BatchItem(kind="unprocessed", pointer="/status", message=status, message_pointer="/status")
    return BatchItem(kind="request", pointer="/request", body=raw["request"]) if "request" in raw else None


def _decode_failure(error: JsonObject, pointer: str) -> BatchItem:
    """Decode an error. One with a code of cancellation or of a deadline means that the request was not processed."""
    code, message = error.get("code"), error.get("message")
    number = code if type(code) is int else 0
    if number in _BATCH_REASONS and not error.get("details"):
        reason = _BATCH_REASONS[number]
        status = {f"{pointer}/status"} if error.get("status") == _BATCH_STATUSES[reason] else set()
        return BatchItem(
            kind="unprocessed",
            pointer=f"{pointer}/message",
            reason=reason,
            message=message if isinstance(message, str) else "",
            message_pointer=f"{pointer}/message",
            known=frozenset({f"{pointer}/code"} | status),
        )
    http_status = number if 400 <= number <= 599 else _HTTP_STATUSES.get(number, 500)
    body: JsonObject = {"error": error | {"code": http_status}}
    return BatchItem(kind="error", pointer=pointer, body=body, outer="/error", status=http_status, status_pointer=f"{pointer}/code")


def _encode_batch_request(id: str, body: JsonObject) -> JsonObject:
    """Encode a request. The model is an argument of the batch, not of a line."""
    return {"key": id, "request": body}


def _encode_batch_response(id: str, body: JsonObject) -> JsonObject:
    """Encode an answer."""
    return {"key": id, "response": body}


def _encode_batch_error(id: str, status: int, body: JsonObject) -> JsonObject:
    """Encode an error; its code is the HTTP status."""
    return {"key": id, "error": body["error"] | {"code": status}}


def _encode_batch_unprocessed(id: str, reason: Unprocessed, message: str) -> JsonObject:
    """Encode the result of a request that was not processed."""
    return {"key": id, "error": {"code": _BATCH_CODES[reason], "message": message or f"The request was not processed: {reason}."}}


BATCH = BatchLayout(
    id_field="key",
    read=_decode_batch_line,
    write_request=_encode_batch_request,
    write_response=_encode_batch_response,
    write_error=_encode_batch_error,
    write_unprocessed=_encode_batch_unprocessed,
    request_pointer="/request",
    response_pointer="/response",
    error_pointer="",  # the line has the member "error" of the error body
)
"""The layout of batch lines."""
