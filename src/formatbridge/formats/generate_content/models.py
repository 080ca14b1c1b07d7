"""Model lists of Gemini."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
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


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Encode one page of models."""
    drop_unheld_in_answer(models, losses)
    if not models.next_page:
        drop_field(models, "has_more", losses)
    body: JsonObject = {"models": [_encode_model(model, f"/models/{index}", losses) for index, model in enumerate(models.models)]}
    return body | ({"nextPageToken": models.next_page} if models.next_page else {})


def _encode_model(model: ir.Model, pointer: str, losses: Ledger) -> JsonObject:
    """Encode one model; ``pointer`` is its pointer in the target."""
    drop_unheld_in_answer(model, losses)
    methods = model.methods
    # Other formats have no counterpart. The two methods are those of this library.
    if methods is None:
        methods = losses.added(f"{pointer}/supportedGenerationMethods", [*_METHODS])
    is_full = model.id.startswith(("models/", "tunedModels/", "publishers/"))
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
