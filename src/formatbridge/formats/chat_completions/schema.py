"""Output formats of Chat Completions: text, JSON and audio.

Modalities and audio are here, because this format and Gemini can return audio (official SDKs, ``modalities``, ``response_modalities``).
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.shared.schemas import encode_strict, note_root
from formatbridge.formats.shared.settings import JSON_INSTRUCTION, has_any_object
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_SCHEMA = frozenset({"schema", "name", "description", "strict"})
_INLINE = _SCHEMA | {"type", "json_schema"}
_VOICE = "alloy"
"""The voice that replaces one of another vendor: the first in the list of OpenAI's SDK, ``ChatCompletionAudioParam``."""


def decode_format(raw: JsonObject) -> ir.OutputFormat:
    """Decode ``response_format``. An unknown type becomes an unmodelled field."""
    kind = raw.get("type")
    if kind not in ("text", "json_object", "json_schema"):
        return ir.OutputFormat(type="text", src="/response_format", extra={WHOLE_NODE: raw})
    # Together's servers read the schema next to the type (fixture ``output_schema_next_to_type_only``).
    schema = (raw.get("json_schema") or raw) if kind == "json_schema" else {}
    if schema is raw:
        outer, inner = read_extra(raw, _INLINE), None
    else:
        outer = read_extra(raw, {"type", "json_schema"} if schema else {"type"})
        inner = read_extra(schema, _SCHEMA, "json_schema/")
    return ir.OutputFormat(
        type=kind,
        schema=schema.get("schema"),
        name=schema.get("name"),
        description=schema.get("description"),
        strict=schema.get("strict"),
        src="/response_format",
        extra=merge_extra(outer, inner),
    )


def encode_format(format: ir.OutputFormat, losses: Ledger, options: Options) -> JsonObject:
    """Encode an output format as ``response_format``; JSON mode only for a server that has it, or a schema of any object."""
    drop_unheld(format, losses)
    if format.type == "text":
        return {}
    if format.type == "json_object" and not has_any_object(losses.dialect):
        if options.json_mode == "drop":
            losses.dropped(format, severity="impossible")
        else:  # ``encode_request`` writes the instruction
            losses.changed(format, "", JSON_INSTRUCTION, "json_mode")
        return {}
    if format.type == "json_object":
        return {"response_format": {"type": "json_object"}}
    note_root(format, losses)
    # ``name`` is required (official SDK, ``ResponseFormatJSONSchema``). No other format has a name.
    pointer = "/response_format/json_schema/name"
    schema: JsonObject = {"name": format.name or losses.added(pointer, "response")}
    if format.description is not None:
        schema["description"] = format.description
    if format.schema is not None:
        schema["schema"] = format.schema
    if format.strict is not None:
        encode_strict(format, schema, "schema", losses)
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def encode_modalities(request: ir.Request, losses: Ledger) -> JsonObject:
    """Encode the modalities of a response, and the settings of its audio."""
    body: JsonObject = {}
    requested = request.settings.get("modalities") or []
    supported = [modality for modality in requested if modality in ("text", "audio")]
    for index, modality in enumerate(requested):
        if modality not in ("text", "audio"):
            losses.dropped(request, f"modalities.{index}", "unsupported_media")
    if "audio" in supported:
        # "To request that this model generate both text and audio responses": ``["text", "audio"]`` (official SDK, ``modalities``).
        body["modalities"] = supported if "text" in supported else ["text", *supported]
    audio = request.audio or (ir.AudioOutput() if "audio" in supported else None)
    return body | encode_audio_output(audio, losses) if audio else body


def decode_audio_output(raw: JsonObject) -> ir.AudioOutput:
    """Decode ``audio``, the settings of a response's audio."""
    extra = read_extra(raw, frozenset({"voice", "format"}))
    return ir.AudioOutput(voice=raw.get("voice"), format=raw.get("format"), src="/audio", extra=extra)


def encode_audio_output(audio: ir.AudioOutput, losses: Ledger) -> JsonObject:
    """Encode the settings of a response's audio; a voice of another vendor is replaced by one of OpenAI's."""
    drop_unheld(audio, losses)
    # ``voice`` and ``format`` are required (official SDK, ``ChatCompletionAudioParam``).
    voice = audio.voice or losses.added("/audio/voice", _VOICE, "required for audio responses")
    if audio.voice and audio.voice_vendor is not None:
        voice = losses.changed(audio, "voice", _VOICE)
    format = audio.format or losses.added("/audio/format", "wav", "required for audio responses")
    return {"audio": {"voice": voice, "format": format}}
