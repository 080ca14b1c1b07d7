"""The shape of the answer in messages: text, or JSON by a schema."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.parts import as_blocks
from formatbridge.formats.messages.schema import encode_schema
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import REASONS

INSTRUCTION = "Respond with valid JSON only: no other text and no code fence."
"""What the system prompt says in the place of a JSON mode."""

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


def encode_json_mode(
    format: ir.OutputFormat, system: str | list[JsonObject], losses: Ledger, options: Options
) -> str | list[JsonObject]:
    """Return a system prompt that asks for JSON where the request has a JSON mode, which no server of this format has.

    Without the instruction the model answers in prose, which the caller then fails to parse.
    """
    if not is_json_mode(format):
        return system
    if options.json_mode == "drop":
        losses.dropped(format, severity="impossible")
        return system
    losses.changed(format, "", INSTRUCTION, "json_mode")
    if not system:
        losses.added("/system", INSTRUCTION, REASONS["json_mode"])
        return INSTRUCTION
    blocks = as_blocks(system)
    block: JsonObject = {"type": "text", "text": INSTRUCTION}
    losses.added(f"/system/{len(blocks)}", block, REASONS["json_mode"])
    return [*blocks, block]


def is_json_mode(format: ir.OutputFormat | None) -> bool:
    """Return whether the answer must be JSON of no schema."""
    return format is not None and format.type != "text" and format.schema is None


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Write the shape of the answer; a schema here is always kept to. For JSON without one there is ``encode_json_mode``."""
    if format.extra:
        losses.extras(format)
    if format.type == "text" or format.schema is None:
        return {}
    if format.name is not None:
        losses.dropped(format, "name", severity="info")
    if format.description is not None:
        losses.dropped(format, "description")
    if format.strict is False:
        losses.changed(format, "strict", True)
    schema = encode_schema(format.schema, format, "schema", _SCHEMA_AT, losses)
    return {"format": {"type": "json_schema", "schema": schema}}
