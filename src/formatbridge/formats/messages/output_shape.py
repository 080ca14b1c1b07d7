"""The shape of the answer in messages: text, or JSON by a schema."""

from __future__ import annotations

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._extra import joined, rest
from formatbridge.formats.messages.schema import encode_schema
from formatbridge.losses import Ledger

_SCHEMA_AT = "/output_config/format/schema"


def decode_format(body: JsonObject) -> tuple[ir.OutputFormat | None, JsonObject | None]:
    """Read the shape of the answer from its place of today or from the older one."""
    today, older = (body.get("output_config") or {}).get("format"), body.get("output_format")
    raw, src = (today, "/output_config/format") if today else (older, "/output_format")
    left = {"output_format": older} if today and older and older != today else None
    if not raw:
        return None, left
    if raw.get("type") != "json_schema":
        return None, joined(left, {src[1:]: raw})
    extra = rest(raw, frozenset({"type", "schema"}))
    return ir.OutputFormat(type="json_schema", schema=raw["schema"], strict=True, src=src, extra=extra), left


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Write the shape of the answer; a schema here is always kept to."""
    if format.type == "text":
        if format.extra:
            losses.extras(format)
        return {}
    if format.schema is None:
        losses.dropped(format)
        return {}
    if format.extra:
        losses.extras(format)
    if format.name is not None:
        losses.dropped(format, "name", severity="info")
    if format.description is not None:
        losses.dropped(format, "description")
    if format.strict is False:
        losses.changed(format, "strict", True)
    schema = encode_schema(format.schema, format, "schema", _SCHEMA_AT, losses)
    return {"format": {"type": "json_schema", "schema": schema}}
