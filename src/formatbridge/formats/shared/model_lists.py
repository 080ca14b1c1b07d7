"""The list of models that chat_completions and responses share, and the times of the other lists."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from formatbridge import ir
from formatbridge.formats.shared.held_fields import DropUnheld
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_MODEL = frozenset({"id", "object", "created", "owned_by", "shutdown_date", "name", "description"})
INPUT_LIMITS = ("context_length", "context_window", "max_context_length", "max_model_len", "max_input_tokens")
"""Fields with the longest context in tokens: OpenRouter and Together, Groq, Mistral, vLLM, LiteLLM. The first above 0 counts.

Source: the API references that the fixtures ``limits_*`` name.
"""
OUTPUT_LIMITS = ("max_completion_tokens", "max_output_tokens", "top_provider/max_completion_tokens")
"""Fields with the longest answer in tokens: Groq, LiteLLM, OpenRouter (fixtures ``limits_*``). The first above 0 counts."""
_TOP_CONTEXT = "top_provider/context_length"
"""The longest context at the first of several providers, which may be shorter than that of the model."""
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_EPOCH = datetime(1970, 1, 1)  # without a time zone, because addition and formatting then take two thirds of the time


def decode_data_list(body: JsonObject, format: ir.FormatName) -> ir.ModelList:
    """Decode ``{"object": "list", "data": [...]}``."""
    models = [_decode_model(raw, f"/data/{index}") for index, raw in enumerate(body["data"] or ())]
    return ir.ModelList(format=format, models=models, extra=read_extra(body, frozenset({"object", "data"})))


def _decode_model(raw: JsonObject, src: str) -> ir.Model:
    # {"id": "m", "object": "model", "created": 1, "owned_by": "openai"}; the limits are fields of other servers.
    extra = read_extra(raw, _MODEL)
    top = raw.get("top_provider")
    if extra is not None and isinstance(top, dict):
        del extra["top_provider"]
        extra |= read_extra(top, frozenset(), "top_provider/") or {}
    input_limit, output_limit = _take_limit(extra, INPUT_LIMITS), _take_limit(extra, OUTPUT_LIMITS)
    if extra is not None and extra.get(_TOP_CONTEXT) == input_limit is not None:
        del extra[_TOP_CONTEXT]
    return ir.Model(
        id=raw["id"],
        display_name=raw.get("name"),
        description=raw.get("description"),
        created=raw.get("created"),
        owner=raw.get("owned_by"),
        input_limit=input_limit,
        output_limit=output_limit,
        retires_at=raw.get("shutdown_date"),
        src=src,
        extra=extra or None,
    )


def _take_limit(extra: JsonObject | None, names: tuple[str, ...]) -> int | None:
    """Remove a limit from the unmodelled fields, with all that repeat it, and return it; None if no field has a count."""
    if extra is None:
        return None
    counts = {name: extra[name] for name in names if type(extra.get(name)) is int and extra[name] >= 0}
    limit = next(filter(None, counts.values()), next(iter(counts.values()), None))
    for name, count in counts.items():
        if count == limit:
            del extra[name]
    return limit


def encode_data_list(models: ir.ModelList, drop_unheld: DropUnheld, losses: Ledger) -> JsonObject:
    """Encode ``{"object": "list", "data": [...]}``, which has only ids, times and owners."""
    drop_unheld(models, losses)
    return {
        "object": "list",
        "data": [_encode_model(model, f"/data/{index}", drop_unheld, losses) for index, model in enumerate(models.models)],
    }


def _encode_model(model: ir.Model, pointer: str, drop_unheld: DropUnheld, losses: Ledger) -> JsonObject:
    drop_unheld(model, losses)
    # Both fields are required (official SDK, ``Model``).
    if model.created is None:
        created = losses.added(f"{pointer}/created", 0)
    else:  # the format has whole seconds only
        created = losses.changed(model, "created", int(model.created), severity="info")
    owner = model.owner if model.owner is not None else losses.added(f"{pointer}/owned_by", "")
    result: JsonObject = {"id": model.id, "object": "model", "created": created, "owned_by": owner}
    if model.retires_at is not None:
        result["shutdown_date"] = model.retires_at
    return result


def time_of(text: str) -> float | None:
    """Return an RFC 3339 time as seconds since the epoch; without a time zone it is UTC. None if the text is no such time."""
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def encode_time(node: ir.Response | ir.Model, seconds: float, losses: Ledger) -> str:
    """Return the time of a node as RFC 3339 text. A time outside its years, such as one in milliseconds, becomes the nearest."""
    if _FIRST_SECOND <= seconds <= _LAST_SECOND:
        return rfc3339_of(seconds)
    nearest = rfc3339_of(min(max(seconds, _FIRST_SECOND), _LAST_SECOND))
    return str(losses.changed(node, "created", nearest, "out_of_range", severity="info"))


def rfc3339_of(seconds: float) -> str:
    """Return seconds since the epoch, between the years 1 and 9999, as an RFC 3339 time in UTC."""
    return f"{(_EPOCH + timedelta(0, seconds)).isoformat()}Z"
