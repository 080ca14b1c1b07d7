"""The shape of the answer in responses: text or JSON, and how many words it makes."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.shared.settings import note_root
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_FORMAT = frozenset({"type", "name", "description", "schema", "strict"})


def decode_format(raw: JsonObject) -> ir.OutputFormat:
    """Read the form that the answer must have; one that is not known is left over."""
    kind = raw.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        return ir.OutputFormat(type="text", src="/text/format", extra={WHOLE_NODE: raw})
    if kind != "json_schema":
        return ir.OutputFormat(type=kind, src="/text/format", extra=rest(raw, frozenset({"type"})))
    return ir.OutputFormat(
        type="json_schema",
        schema=raw.get("schema"),
        name=raw.get("name"),
        description=raw.get("description"),
        strict=raw.get("strict"),
        src="/text/format",
        extra=rest(raw, _FORMAT),
    )


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Write the form that the answer must have."""
    drop_unheld(format, losses)
    if format.type == "text":
        return {}
    if format.type == "json_object":
        return {"format": {"type": "json_object"}}
    note_root(format, losses)
    name = format.name or losses.added("/text/format/name", "response")
    schema = format.schema if format.schema is not None else losses.added("/text/format/schema", {})
    made: JsonObject = {"type": "json_schema", "name": name, "schema": schema}
    if format.description is not None:
        made["description"] = format.description
    if format.strict is not None:
        made["strict"] = format.strict
    return {"format": made}


def encode_text_config(request: ir.Request, losses: Ledger) -> JsonObject:
    """Write what the answer's text is to look like."""
    made: JsonObject = {}
    format, verbosity = request.output_format, request.settings.get("verbosity")
    if format:
        made |= encode_format(format, losses)
    if verbosity is not None:
        made["verbosity"] = verbosity
    return {"text": made} if made else {}
