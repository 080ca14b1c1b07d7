"""The shape of the answer in chat_completions: text, JSON, speech."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.shared.settings import note_root
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_SCHEMA = frozenset({"schema", "name", "description", "strict"})
_INLINE = _SCHEMA | {"type", "json_schema"}
_VOICE = "alloy"
"""A voice that the vendor has always had; another vendor's names mean nothing to it."""


def decode_format(raw: JsonObject) -> ir.OutputFormat:
    """Read the form that the answer must have; one that is not known is left over."""
    kind = raw.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        return ir.OutputFormat(type="text", src="/response_format", extra={WHOLE_NODE: raw})
    schema = (raw.get("json_schema") or raw) if kind == "json_schema" else {}
    if schema is raw:
        outer, inner = rest(raw, _INLINE), None
    else:
        outer = rest(raw, {"type", "json_schema"} if schema else {"type"})
        inner = rest(schema, _SCHEMA, "json_schema/")
    return ir.OutputFormat(
        type=kind,
        schema=schema.get("schema"),
        name=schema.get("name"),
        description=schema.get("description"),
        strict=schema.get("strict"),
        src="/response_format",
        extra=joined(outer, inner),
    )


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Write the form that the answer must have."""
    drop_unheld(format, losses)
    if format.type == "text":
        return {}
    if format.type == "json_object":
        return {"response_format": {"type": "json_object"}}
    note_root(format, losses)
    place = "/response_format/json_schema/name"
    made: JsonObject = {"name": format.name or losses.added(place, "response")}
    if format.description is not None:
        made["description"] = format.description
    if format.schema is not None:
        made["schema"] = format.schema
    if format.strict is not None:
        made["strict"] = format.strict
    return {"response_format": {"type": "json_schema", "json_schema": made}}


def encode_modalities(request: ir.Request, losses: Ledger) -> JsonObject:
    """Write what else than text the answer may hold, and the voice of a spoken one."""
    body: JsonObject = {}
    wanted = request.settings.get("modalities") or []
    kept = [word for word in wanted if word in ("text", "audio")]
    for index, word in enumerate(wanted):
        if word not in ("text", "audio"):
            losses.dropped(request, f"modalities.{index}", "unsupported_media", severity="impossible")
    if "audio" in kept:
        body["modalities"] = kept if "text" in kept else ["text", *kept]
    audio = request.audio or (ir.AudioOutput() if "audio" in kept else None)
    return body | encode_audio_output(audio, request.format, losses) if audio else body


def decode_audio_output(raw: JsonObject) -> ir.AudioOutput:
    """Read the voice of a spoken answer."""
    extra = rest(raw, frozenset({"voice", "format"}))
    return ir.AudioOutput(voice=raw.get("voice"), format=raw.get("format"), src="/audio", extra=extra)


def encode_audio_output(audio: ir.AudioOutput, source: ir.FormatName, losses: Ledger) -> JsonObject:
    """Write the voice of a spoken answer and the format of its sound. ``source``: of which format the name of the voice is."""
    drop_unheld(audio, losses)
    voice = audio.voice or losses.added("/audio/voice", _VOICE, "required for spoken answers")
    if source == "generate_content" and audio.voice:
        voice = losses.changed(audio, "voice", _VOICE)
    format = audio.format or losses.added("/audio/format", "wav", "required for spoken answers")
    return {"audio": {"voice": voice, "format": format}}
