"""Model lists of Anthropic Messages."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.holds import drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.model_lists import encode_time, text_of, time_of
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
        "created_at": losses.added(f"{pointer}/created_at", text_of(0))
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
