"""Schemas of Gemini, decoded to JSON Schema, and the settings of the output: format, modalities, audio and images.

Schemas are encoded without a change, because the format has separate fields for JSON Schema. References are kept and not expanded, so
the result is as large as the source.

``decode_schema`` is here alone, because only this format has a dialect of JSON Schema.
"""

from __future__ import annotations

import json
import re
from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.reasoning import enum_name
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.schemas import MAX_NODES, note_enforced
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

# Source: the official SDK, ``Type`` and ``Schema``, and the vendor's protocol definitions for the numbers.
_TYPES = ("TYPE_UNSPECIFIED", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_INTEGER = r"-?(0|[1-9]\d{0,18})"
_NUMBERS = {"INTEGER": re.compile(_INTEGER), "NUMBER": re.compile(rf"{_INTEGER}(\.\d{{1,16}})?([eE][+-]?\d{{1,2}})?")}
"""Number types to their JSON notation, with no more digits than a 64-bit number has."""
_UNCHANGED = frozenset({"description", "title", "pattern", "required"})
# Limits of 64-bit integers, which proto3 JSON writes as text. Numbers are doubles, so 1 comes back as 1.0.
_COUNTS = frozenset({"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"})
_LIMITS = frozenset({"minimum", "maximum"})
_SUBSCHEMA = frozenset({"items", "additionalProperties", "not"})
_SUBSCHEMA_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_REFERENCES = ("ref", "$ref")
_SUBSCHEMA_MAPS = {"properties": "properties", "defs": "$defs", "$defs": "$defs"}

_Pending = list[tuple[Any, JsonObject]]


def decode_schema(schema: JsonObject) -> tuple[JsonObject, bool]:
    """Decode a schema to JSON Schema; the flag is false if it is too large to decode all of it."""
    # {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": true}}, "propertyOrdering": ["a"]}
    # A list of pending nodes and not a recursion, because a schema may be nested as deep as a body.
    root: JsonObject = {}
    pending: _Pending = [(schema, root)]
    count = 0
    while pending:
        raw, node = pending.pop()
        count += 1
        if count > MAX_NODES:
            node.update(raw)
        else:
            _decode_node(raw, node, pending)
    return root, count <= MAX_NODES


def _decode_node(raw: JsonObject, node: JsonObject, pending: _Pending) -> None:
    """Decode the keywords of one schema object. Its subschemas are appended to ``pending``."""
    for key, value in raw.items():
        if value is None and key not in ("default", "example"):
            continue
        if key in _UNCHANGED:
            node[key] = value
        elif key in _SUBSCHEMA and isinstance(value, dict):
            node[key] = _append_pending(value, pending)
        elif key in _SUBSCHEMA_LISTS and isinstance(value, list):
            node[key] = [_append_pending(item, pending) if isinstance(item, dict) else item for item in value]
        elif key in _SUBSCHEMA_MAPS and isinstance(value, dict):
            node[_SUBSCHEMA_MAPS[key]] = {
                name: _append_pending(item, pending) if isinstance(item, dict) else item for name, item in value.items()
            }
        else:
            _decode_keyword(key, value, raw, node)
    # After all keywords, because null is allowed in several of them.
    if raw.get("nullable"):
        _allow_null(node)
    if "propertyOrdering" in node:
        _order_properties(node)


def _append_pending(raw: JsonObject, pending: _Pending) -> JsonObject:
    """Return an empty object for a subschema and append both to ``pending``."""
    node: JsonObject = {}
    pending.append((raw, node))
    return node


def _decode_keyword(key: str, value: Any, raw: JsonObject, node: JsonObject) -> None:
    """Decode a keyword that holds no subschema."""
    match key:
        case "type":
            _decode_type(value, node)
        case "enum":
            _decode_enum(value, raw, node)
        case "format":
            _decode_string_format(value, raw, node)
        case "ref":
            # "The value should be a valid reference to a child of the root `defs`" (official SDK, ``Schema.ref``).
            node["$ref"] = f"#/$defs/{value[7:]}" if value.startswith("#/defs/") else value
        case "example":
            node["examples"] = [value]
        case "nullable":
            _decode_nullable(value, raw, node)
        case _:
            is_integer = (key in _COUNTS and isinstance(value, str)) or (
                key in _LIMITS and isinstance(value, float) and value.is_integer()
            )
            node[key] = int(value) if is_integer else value


def _decode_type(value: Any, node: JsonObject) -> None:
    """Decode a type, or a list of types."""
    if isinstance(value, list):
        node["type"] = [enum_name(item).lower() for item in value]
        return
    name = value if value in _TYPES else enum_name(value, _TYPES)
    if name != "TYPE_UNSPECIFIED":
        node["type"] = name.lower()


def _decode_enum(value: Any, raw: JsonObject, node: JsonObject) -> None:
    """Decode the allowed values. This dialect writes numbers as strings, which JSON Schema needs as numbers."""
    # "{type:INTEGER, format:enum, enum:["101", "201"]}" (official SDK, ``Schema.enum``, whose values are strings)
    raw_types = raw.get("type")
    types = {enum_name(kind, _TYPES) for kind in (raw_types if isinstance(raw_types, list) else [raw_types])} - {"NULL"}
    node["enum"] = (
        [_parse_number(item, types) for item in value] if types and types <= _NUMBERS.keys() and isinstance(value, list) else value
    )


def _parse_number(text: Any, types: set[str]) -> Any:
    """Return the JSON number in a string if it has one of the types, otherwise the string."""
    if not isinstance(text, str) or not any(_NUMBERS[kind].fullmatch(text) for kind in types):
        return text
    return json.loads(text)


def _decode_string_format(value: Any, raw: JsonObject, node: JsonObject) -> None:
    """Decode a format; ``enum`` is dropped, because the list of values is enough."""
    if value != "enum" or "enum" not in raw:
        node["format"] = value


def _decode_nullable(value: Any, raw: JsonObject, node: JsonObject) -> None:
    """Keep ``nullable`` if ``_allow_null`` cannot express it, because the schema has no restriction."""
    if value and not raw.keys() & {"type", "anyOf", "enum", *_REFERENCES}:
        node["nullable"] = value


def _order_properties(node: JsonObject) -> None:
    """Sort the properties by ``propertyOrdering``, others last. The keyword stays if it names an unknown property, or one twice."""
    # JSON Schema has no order of properties, but models write them in that of the schema (OpenAI, "Structured outputs", "Key ordering").
    order, properties = node["propertyOrdering"], node.get("properties", {})
    if not isinstance(order, list) or not isinstance(properties, dict):
        return
    names = [name for name in order if isinstance(name, str) and name in properties]
    if names:
        node["properties"] = {name: properties[name] for name in (*names, *properties)}
    if len(set(names)) == len(order):
        del node["propertyOrdering"]


def _allow_null(node: JsonObject) -> None:
    """Allow null in each keyword that restricts the value; a reference becomes one of two variants."""
    if "$ref" in node and "anyOf" not in node:
        node["anyOf"] = [{"$ref": node.pop("$ref")}]
    elif "$ref" in node and "allOf" not in node:  # both apply
        node["allOf"] = [{"anyOf": [{"$ref": node.pop("$ref")}, {"type": "null"}]}]
    type_name = node.get("type")
    if isinstance(type_name, str) and type_name != "null":
        node["type"] = [type_name, "null"]
    elif isinstance(type_name, list) and "null" not in type_name:
        node["type"] = [*type_name, "null"]
    if isinstance(node.get("anyOf"), list):
        node["anyOf"] = [*node["anyOf"], {"type": "null"}]
    if isinstance(node.get("enum"), list) and None not in node["enum"]:
        node["enum"] = [*node["enum"], None]


_AT = "/generationConfig"
_JSON = "application/json"
_TEXT_FORMAT = frozenset({"mimeType", "schema"})
_JSON_TYPES, _TEXT_TYPES = (_JSON, "APPLICATION_JSON"), ("text/plain", "TEXT_PLAIN")
"""Media types of ``responseFormat``, each with the equivalent name of the vendor's enumeration."""
_MODALITIES = ("MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO")
_VOICE = "Kore"
"""The voice that replaces one of another vendor. Google's documentation has it in its examples ("Speech generation")."""


def decode_format(config: JsonObject) -> tuple[ir.OutputFormat | None, JsonObject | None]:
    """Decode the output format from whichever fields have it; the second value is the unread fields, by pointer."""
    # {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}; ``responseSchema`` has the dialect
    # instead, and ``responseFormat`` replaces all three (official SDK, ``GenerationConfig``).
    mime = config.get("responseMimeType")
    output_format, unread = _decode_response_format(config.get("responseFormat") or [])
    schema, src = _decode_schema_fields(config, unread)
    if mime not in (None, "text/plain", _JSON) or (mime == "text/plain" and schema is not None):
        unread["responseMimeType"] = mime
    if output_format is not None and (schema is not None or mime == _JSON):
        unread[output_format.src.removeprefix(f"{_AT}/")] = True
    unread_fields = {f"{_AT[1:]}/{pointer}": value for pointer, value in unread.items()} or None
    if schema is not None:
        return ir.OutputFormat(type="json_schema", schema=schema, src=src), unread_fields
    if mime == _JSON:
        return ir.OutputFormat(type="json_object", src=f"{_AT}/responseMimeType"), unread_fields
    return output_format, unread_fields


def _decode_schema_fields(config: JsonObject, unread: JsonObject) -> tuple[JsonObject | None, str]:
    """Decode the field with a JSON Schema, or else the one in Google's dialect; also return the pointer of the field."""
    schema, dialect = config.get("responseJsonSchema"), config.get("responseSchema")
    src, is_complete = f"{_AT}/responseJsonSchema", False
    if not isinstance(schema, dict):
        if schema is not None:
            unread["responseJsonSchema"] = schema
        schema = None
        if dialect is not None and config.get("responseMimeType") in (None, _JSON):
            schema, is_complete = decode_schema(dialect)
            src = f"{_AT}/responseSchema"
    if dialect is not None and not is_complete:
        unread["responseSchema"] = dialect
    return schema, src


def _decode_response_format(formats: list[JsonObject]) -> tuple[ir.OutputFormat | None, JsonObject]:
    """Decode ``responseFormat``: the first text format in the list; the others are unread."""
    output_format: ir.OutputFormat | None = None
    unread: JsonObject = {}
    for index, item in enumerate(formats):
        text = item.get("text")
        unread |= read_extra(item, frozenset({"text"}), f"responseFormat/{index}/") or {}
        if text is None:
            continue
        mime, schema = text.get("mimeType"), text.get("schema")
        if output_format is not None or mime not in _JSON_TYPES or not isinstance(schema, dict | None):
            if mime not in _TEXT_TYPES or schema is not None:
                unread[f"responseFormat/{index}/text"] = text
            else:
                unread |= read_extra(text, _TEXT_FORMAT, f"responseFormat/{index}/text/") or {}
            continue
        output_format = ir.OutputFormat(
            type="json_object" if schema is None else "json_schema",
            schema=schema,
            src=f"{_AT}/responseFormat/{index}/text",
            extra=read_extra(text, _TEXT_FORMAT),
        )
    return output_format, unread


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Encode the output format; the server always enforces a schema ("Structured outputs")."""
    drop_unheld(format, losses)
    if format.type == "text":
        return {}
    # A schema requires this media type (official SDK, ``GenerationConfig.response_schema``).
    fields: JsonObject = {"responseMimeType": _JSON}
    if format.type == "json_schema":
        if format.schema is not None:
            fields["responseJsonSchema"] = format.schema
        note_enforced(format, losses)
    return fields


def decode_modalities(raw: list[str | int]) -> list[str]:
    """Decode the output modalities in lower case; an unspecified one is text."""
    names = [enum_name(item, _MODALITIES).lower() for item in raw]
    return ["text" if name == "modality_unspecified" else name for name in names]


def encode_modalities(request: ir.Request, image_tools: list[ir.HostedTool], losses: Ledger) -> JsonObject:
    """Encode the output modalities; an image generation tool becomes a modality."""
    # Text alone is the default. With an image, the text must be listed, too.
    modalities = list(request.settings.get("modalities") or [])
    fields: JsonObject = {}
    for tool in image_tools:
        losses.extras(tool)
        drop_field(tool, "cache", losses)
        modalities = losses.changed(tool, "", list(dict.fromkeys([*(modalities or ["text"]), "image"])), "weaker_form")
    if modalities and modalities != ["text"]:
        fields["responseModalities"] = [modality.upper() for modality in modalities]
    return fields


def decode_audio_output(raw: JsonObject) -> ir.AudioOutput:
    """Decode the voice of audio output; several speakers are an unmodelled field."""
    # {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}, "languageCode": "en"}
    voice = raw.get("voiceConfig") or {}
    prebuilt = voice.get("prebuiltVoiceConfig") or {}
    name = prebuilt.get("voiceName")
    known = frozenset({"prebuiltVoiceConfig", "voice"}) if name is None else frozenset({"prebuiltVoiceConfig"})
    return ir.AudioOutput(
        voice=name if name is not None else voice.get("voice"),
        language=raw.get("languageCode"),
        voice_vendor="google",
        src=f"{_AT}/speechConfig",
        extra=merge_extra(
            read_extra(raw, frozenset({"voiceConfig", "languageCode"})),
            read_extra(voice, known, "voiceConfig/"),
            read_extra(prebuilt, frozenset({"voiceName"}), "voiceConfig/prebuiltVoiceConfig/"),
        ),
    )


def encode_audio_output(audio: ir.AudioOutput, losses: Ledger) -> JsonObject:
    """Encode the voice of audio output; a voice of another vendor is replaced by one of this vendor."""
    drop_unheld(audio, losses)
    fields: JsonObject = {}
    if audio.voice is not None:
        fields["voiceConfig"] = {"prebuiltVoiceConfig": {"voiceName": losses.changed(audio, "voice", _VOICE)}}
    if audio.language is not None:
        fields["languageCode"] = audio.language
    return {"speechConfig": fields} if fields else {}


def decode_image_output(raw: JsonObject) -> ir.ImageOutput:
    """Decode the shape of image output."""
    # {"aspectRatio": "16:9", "imageSize": "2K"}
    extra = read_extra(raw, frozenset({"aspectRatio", "imageSize"}))
    return ir.ImageOutput(aspect_ratio=raw.get("aspectRatio"), size=raw.get("imageSize"), src=f"{_AT}/imageConfig", extra=extra)


def encode_image_output(image: ir.ImageOutput, losses: Ledger) -> JsonObject:
    """Encode the shape of image output."""
    drop_unheld(image, losses)
    fields = {"aspectRatio": image.aspect_ratio, "imageSize": image.size}
    present = {key: value for key, value in fields.items() if value is not None}
    return {"imageConfig": present} if present else {}
