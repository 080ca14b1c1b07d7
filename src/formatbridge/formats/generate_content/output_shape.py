"""The shape of the answer in generate_content: text, JSON, speech, pictures."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.schema import decode_schema
from formatbridge.formats.generate_content.words import word_of
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_AT = "/generationConfig"
_JSON = "application/json"
_TEXT_FORMAT = frozenset({"mimeType", "schema"})
_JSON_WORDS, _TEXT_WORDS = (_JSON, "APPLICATION_JSON"), ("text/plain", "TEXT_PLAIN")
"""Media types of ``responseFormat``, and the words of the vendor's enum that mean the same."""
_MODALITIES = ("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO")
_VOICE = "Kore"
"""The vendor's own example of a voice; other vendors' names mean nothing to it."""


def decode_format(config: JsonObject) -> tuple[ir.OutputFormat | None, JsonObject | None]:
    """Read the shape of the answer from whichever fields give it; the second value is what they leave unread, by pointer."""
    mime = config.get("responseMimeType")
    plain, dialect = config.get("responseJsonSchema"), config.get("responseSchema")
    found, unread = _decode_response_format(config.get("responseFormat") or [])
    schema = plain if isinstance(plain, dict) else None
    src = f"{_AT}/responseJsonSchema"
    if schema is None and plain is not None:
        unread["responseJsonSchema"] = plain
    if dialect is not None and (schema is not None or mime not in (None, _JSON)):
        unread["responseSchema"] = dialect
    elif dialect is not None:
        schema, is_whole = decode_schema(dialect)
        src = f"{_AT}/responseSchema"
        if not is_whole:
            unread["responseSchema"] = dialect
    if mime not in (None, "text/plain", _JSON) or (mime == "text/plain" and schema is not None):
        unread["responseMimeType"] = mime
    if found is not None and (schema is not None or mime == _JSON):
        unread[found.src.removeprefix(f"{_AT}/")] = True
    leftover = {f"{_AT[1:]}/{pointer}": value for pointer, value in unread.items()} or None
    if schema is not None:
        return ir.OutputFormat(type="json_schema", schema=schema, src=src), leftover
    if mime == _JSON:
        return ir.OutputFormat(type="json_object", src=f"{_AT}/responseMimeType"), leftover
    return found, leftover


def _decode_response_format(formats: list[JsonObject]) -> tuple[ir.OutputFormat | None, JsonObject]:
    """Read the newer list of formats: the first text in it; the rest is left over."""
    found: ir.OutputFormat | None = None
    unread: JsonObject = {}
    for index, item in enumerate(formats):
        text = item.get("text")
        unread |= rest(item, frozenset({"text"}), f"responseFormat/{index}/") or {}
        if text is None:
            continue
        mime, schema = text.get("mimeType"), text.get("schema")
        if found is not None or mime not in _JSON_WORDS or not isinstance(schema, dict | None):
            if mime not in _TEXT_WORDS or schema is not None:
                unread[f"responseFormat/{index}/text"] = text
            else:
                unread |= rest(text, _TEXT_FORMAT, f"responseFormat/{index}/text/") or {}
            continue
        found = ir.OutputFormat(
            type="json_object" if schema is None else "json_schema",
            schema=schema,
            src=f"{_AT}/responseFormat/{index}/text",
            extra=rest(text, _TEXT_FORMAT),
        )
    return found, unread


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Write the shape of the answer; a schema here is always kept to."""
    if format.extra:
        losses.extras(format)
    if format.type == "text":
        return {}
    made: JsonObject = {"responseMimeType": _JSON}
    if format.type == "json_schema":
        if format.schema is not None:
            made["responseJsonSchema"] = format.schema
        if format.name is not None:
            losses.dropped(format, "name", severity="info")
        if format.description is not None:
            losses.dropped(format, "description")
        if format.strict is False:
            losses.changed(format, "strict", True)
    return made


def decode_modalities(raw: list[str | int]) -> list[str]:
    """Read what the answer may hold, in lower case; where that is not said, it is text."""
    words = [word_of(item, _MODALITIES).lower() for item in raw]
    return ["text" if word == "modality_unspecified" else word for word in words]


def encode_modalities(request: ir.Request, drawing: list[ir.HostedTool], losses: Ledger) -> JsonObject:
    """Write what the answer may hold; a tool that draws is a modality here."""
    words = list(request.settings.get("modalities") or [])
    made: JsonObject = {}
    for tool in drawing:
        if tool.extra:
            losses.extras(tool)
        if tool.cache:
            losses.dropped(tool.cache, severity="info")
        words = losses.changed(tool, "", list(dict.fromkeys([*(words or ["text"]), "image"])), "weaker_carrier")
    if words and words != ["text"]:
        made["responseModalities"] = [word.upper() for word in words]
    return made


def decode_audio_output(raw: JsonObject) -> ir.AudioOutput:
    """Read the voice of a spoken answer; several speakers are this format's own."""
    voice = raw.get("voiceConfig") or {}
    prebuilt = voice.get("prebuiltVoiceConfig") or {}
    name = prebuilt.get("voiceName")
    known = frozenset({"prebuiltVoiceConfig", "voice"}) if name is None else frozenset({"prebuiltVoiceConfig"})
    return ir.AudioOutput(
        voice=name if name is not None else voice.get("voice"),
        language=raw.get("languageCode"),
        src=f"{_AT}/speechConfig",
        extra=joined(
            rest(raw, frozenset({"voiceConfig", "languageCode"})),
            rest(voice, known, "voiceConfig/"),
            rest(prebuilt, frozenset({"voiceName"}), "voiceConfig/prebuiltVoiceConfig/"),
        ),
    )


def encode_audio_output(audio: ir.AudioOutput, losses: Ledger) -> JsonObject:
    """Write the voice of a spoken answer: another vendor's becomes one that this vendor has."""
    if audio.extra:
        losses.extras(audio)
    if audio.format is not None:
        losses.dropped(audio, "format")
    made: JsonObject = {}
    if audio.voice is not None:
        made["voiceConfig"] = {"prebuiltVoiceConfig": {"voiceName": losses.changed(audio, "voice", _VOICE)}}
    if audio.language is not None:
        made["languageCode"] = audio.language
    return {"speechConfig": made} if made else {}


def decode_image_output(raw: JsonObject) -> ir.ImageOutput:
    """Read the shape of a drawn answer."""
    extra = rest(raw, frozenset({"aspectRatio", "imageSize"}))
    return ir.ImageOutput(aspect_ratio=raw.get("aspectRatio"), size=raw.get("imageSize"), src=f"{_AT}/imageConfig", extra=extra)


def encode_image_output(image: ir.ImageOutput, losses: Ledger) -> JsonObject:
    """Write the shape of a drawn answer."""
    if image.extra:
        losses.extras(image)
    made = {"aspectRatio": image.aspect_ratio, "imageSize": image.size}
    known = {key: value for key, value in made.items() if value is not None}
    return {"imageConfig": known} if known else {}
