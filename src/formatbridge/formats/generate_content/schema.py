"""The vendor's schema dialect, read as JSON Schema. The other way needs nothing: JSON Schema has fields of its own here.

References stay references and nothing is written out in their place, so the result is as large as the source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.reasoning import word_of
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.tool_arguments import MOST_NODES
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_TYPES = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_INTEGER = r"-?(0|[1-9]\d{0,18})"
_NUMBERS = {"INTEGER": re.compile(_INTEGER), "NUMBER": re.compile(rf"{_INTEGER}(\.\d{{1,16}})?([eE][+-]?\d{{1,2}})?")}
"""Kinds of numbers to how JSON spells them, in no more digits than one of 64 bits has."""
_UNCHANGED = frozenset({"description", "title", "pattern", "required"})
_COUNTS = frozenset({"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"})
_LIMITS = frozenset({"minimum", "maximum"})
_ONE = frozenset({"items", "additionalProperties", "not"})
_MANY = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_REFERENCES = ("ref", "$ref")
_NAMED = {"properties": "properties", "defs": "$defs", "$defs": "$defs"}

_Pending = list[tuple[Any, JsonObject]]


def decode_schema(schema: JsonObject) -> tuple[JsonObject, bool]:
    """Read a schema as JSON Schema; the flag says that it was read to its end."""
    root: JsonObject = {}
    pending: _Pending = [(schema, root)]
    read = 0
    while pending:
        raw, made = pending.pop()
        read += 1
        if read > MOST_NODES:
            made.update(raw)
        else:
            _decode_node(raw, made, pending)
    return root, read <= MOST_NODES


def _decode_node(raw: JsonObject, made: JsonObject, pending: _Pending) -> None:
    for key, value in raw.items():
        if value is None and key not in ("default", "example"):
            continue
        if key in _UNCHANGED:
            made[key] = value
        elif key in _ONE and isinstance(value, dict):
            made[key] = _later(value, pending)
        elif key in _MANY and isinstance(value, list):
            made[key] = [_later(item, pending) if isinstance(item, dict) else item for item in value]
        elif key in _NAMED and isinstance(value, dict):
            made[_NAMED[key]] = {name: _later(item, pending) if isinstance(item, dict) else item for name, item in value.items()}
        else:
            _decode_keyword(key, value, raw, made)
    if raw.get("nullable"):
        _allow_null(made)
    if "propertyOrdering" in made:
        _put_in_order(made)


def _later(raw: JsonObject, pending: _Pending) -> JsonObject:
    made: JsonObject = {}
    pending.append((raw, made))
    return made


def _decode_keyword(key: str, value: Any, raw: JsonObject, made: JsonObject) -> None:
    decode = _KEYWORDS.get(key)
    if decode is not None:
        decode(value, raw, made)
    elif (key in _COUNTS and isinstance(value, str)) or (key in _LIMITS and isinstance(value, float) and value.is_integer()):
        made[key] = int(value)
    else:
        made[key] = value


def _decode_type(value: Any, raw: JsonObject, made: JsonObject) -> None:
    del raw
    if isinstance(value, list):
        made["type"] = [word_of(item).lower() for item in value]
        return
    word = value if value in _TYPES else word_of(value, _TYPES)
    if word != "TYPE_UNSPECIFIED":
        made["type"] = word.lower()


def _decode_enum(value: Any, raw: JsonObject, made: JsonObject) -> None:
    """Read the values that are allowed, which this dialect writes as texts, those of numbers too: these are numbers elsewhere."""
    kinds = raw.get("type")
    words = {word_of(kind, _TYPES) for kind in (kinds if isinstance(kinds, list) else [kinds])} - {"NULL"}
    made["enum"] = (
        [_number(item, words) for item in value] if words and words <= _NUMBERS.keys() and isinstance(value, list) else value
    )


def _number(text: Any, kinds: set[str]) -> Any:
    """Return the number that a text spells as JSON does, if it is one of these kinds; else the text."""
    if not isinstance(text, str) or not any(_NUMBERS[kind].fullmatch(text) for kind in kinds):
        return text
    return json.loads(text)


def _decode_format(value: Any, raw: JsonObject, made: JsonObject) -> None:
    if value != "enum" or "enum" not in raw:
        made["format"] = value


def _decode_reference(value: Any, raw: JsonObject, made: JsonObject) -> None:
    del raw
    made["$ref"] = f"#/$defs/{value[7:]}" if value.startswith("#/defs/") else value


def _decode_example(value: Any, raw: JsonObject, made: JsonObject) -> None:
    del raw
    made["examples"] = [value]


def _decode_nullable(value: Any, raw: JsonObject, made: JsonObject) -> None:
    """Keep what ``_allow_null`` cannot say: null is allowed anyway where nothing is demanded."""
    if value and not raw.keys() & {"type", "anyOf", "enum", *_REFERENCES}:
        made["nullable"] = value


_KEYWORDS: dict[str, Callable[[Any, JsonObject, JsonObject], None]] = {
    "type": _decode_type,
    "enum": _decode_enum,
    "format": _decode_format,
    "ref": _decode_reference,
    "example": _decode_example,
    "nullable": _decode_nullable,
}


def _put_in_order(made: JsonObject) -> None:
    """Let the properties stand in the order that is asked for, others last; one that names no property, or one twice, stays, too."""
    order, properties = made["propertyOrdering"], made.get("properties", {})
    if not isinstance(order, list) or not isinstance(properties, dict):
        return
    names = [name for name in order if isinstance(name, str) and name in properties]
    if names:
        made["properties"] = {name: properties[name] for name in (*names, *properties)}
    if len(set(names)) == len(order):
        del made["propertyOrdering"]


def _allow_null(made: JsonObject) -> None:
    """Allow null wherever something is demanded; what a reference demands is one of two variants then."""
    if "$ref" in made and "anyOf" not in made:
        made["anyOf"] = [{"$ref": made.pop("$ref")}]
    elif "$ref" in made and "allOf" not in made:  # both are demanded
        made["allOf"] = [{"anyOf": [{"$ref": made.pop("$ref")}, {"type": "null"}]}]
    kind = made.get("type")
    if isinstance(kind, str) and kind != "null":
        made["type"] = [kind, "null"]
    elif isinstance(kind, list) and "null" not in kind:
        made["type"] = [*kind, "null"]
    if isinstance(made.get("anyOf"), list):
        made["anyOf"] = [*made["anyOf"], {"type": "null"}]
    if isinstance(made.get("enum"), list) and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]


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
    drop_unheld(format, losses)
    if format.type == "text":
        return {}
    made: JsonObject = {"responseMimeType": _JSON}
    if format.type == "json_schema":
        if format.schema is not None:
            made["responseJsonSchema"] = format.schema
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
        drop_field(tool, "cache", losses)
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
    drop_unheld(audio, losses)
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
    drop_unheld(image, losses)
    made = {"aspectRatio": image.aspect_ratio, "imageSize": image.size}
    known = {key: value for key, value in made.items() if value is not None}
    return {"imageConfig": known} if known else {}
