"""Output formats of Responses: text, JSON or a JSON schema, and the verbosity.

``encode_text_config`` is here alone, because ``text`` has the verbosity next to the format.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.responses.holds import drop_unheld
from formatbridge.formats.shared.schemas import encode_strict, note_root
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

# Keys that the decoder reads; it keeps all others in ``extra``, for the report and for the same format.
_FORMAT = frozenset({"type", "name", "description", "schema", "strict"})


def decode_format(raw: JsonObject) -> ir.OutputFormat:
    """Decode the format of the output text; an unknown one becomes an unmodelled field."""
    # {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": true}
    kind = raw.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        return ir.OutputFormat(type="text", src="/text/format", extra={WHOLE_NODE: raw})
    if kind != "json_schema":
        return ir.OutputFormat(type=kind, src="/text/format", extra=read_extra(raw, frozenset({"type"})))
    return ir.OutputFormat(
        type="json_schema",
        schema=raw.get("schema"),
        name=raw.get("name"),
        description=raw.get("description"),
        strict=raw.get("strict"),
        src="/text/format",
        extra=read_extra(raw, _FORMAT),
    )


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Encode the format of the output text."""
    drop_unheld(format, losses)
    # "The default format is `{ "type": "text" }`" (official SDK, ``ResponseTextConfig``).
    if format.type == "text":
        return {}
    if format.type == "json_object":
        return {"format": {"type": "json_object"}}
    note_root(format, losses)
    # The name and the schema are required (official SDK, ``ResponseFormatTextJSONSchemaConfig``). Messages and Gemini have no name.
    name = format.name or losses.added("/text/format/name", "response")
    schema = format.schema if format.schema is not None else losses.added("/text/format/schema", {})
    encoded: JsonObject = {"type": "json_schema", "name": name, "schema": schema}
    if format.description is not None:
        encoded["description"] = format.description
    if format.strict is not None:
        encode_strict(format, encoded, "schema", losses)
    return {"format": encoded}


def encode_text_config(request: ir.Request, losses: Ledger) -> JsonObject:
    """Encode ``text``: the format and the verbosity of the output text."""
    text: JsonObject = {}
    format, verbosity = request.output_format, request.settings.get("verbosity")
    if format:
        text |= encode_format(format, losses)
    if verbosity is not None:
        text["verbosity"] = verbosity
    return {"text": text} if text else {}
