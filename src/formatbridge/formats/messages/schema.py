"""Output formats of Anthropic Messages, and the JSON Schema that its server enforces.

Keywords that the server does not enforce move into the description, because the model may follow them there. Source:
``transform_schema`` of Anthropic's SDK of 2026-11.

``encode_schema`` and ``encode_json_mode`` are here alone, because this server enforces fewer keywords and has no JSON mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from formatbridge import ir
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.shared.schemas import MAX_NODES, description_with, keyword_line, note_enforced
from formatbridge.formats.shared.settings import JSON_INSTRUCTION
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape, unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import REPLACES_JSON_MODE

# Source: the official SDK, ``lib/_parse/_transform.py``, ``SupportedStringFormats``. Other formats go into the description there.
# Source of these rules: ``transform_schema`` of the official SDK (``anthropic/lib/_parse/_transform.py``), which clients apply.
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"})
_LABELS = frozenset({"$schema", "$id", "$comment", "$anchor"})
_UNIONS = ("anyOf", "oneOf", "allOf")
_VALUE_KEYWORDS = frozenset({"type", "$ref", "enum", "const", *_UNIONS})
"""Keywords that define the allowed values."""
_TYPES = {type(None): ("null",), bool: ("boolean",), str: ("string",), int: ("integer", "number"), float: ("number",)}
"""Python types of literals to the names of their JSON Schema types."""
_OF_OBJECTS, _OF_ARRAYS = frozenset({"properties", "additionalProperties"}), frozenset({"items", "prefixItems"})
"""Keywords that imply a type. ``required`` does not: with it alone, the closed object would have required keys but no properties."""
_SAME_NAMES: Mapping[str, str] = {}
_Work = list[tuple[Any, str, str, Any, Any, bool]]
"""Subschemas to encode, each with its place below the source node, such as ``schema/properties/a``, and its pointer in the target; then
the container of the result, the key in it, and ``is_fragment``."""


def encode_schema(
    schema: JsonObject,
    node: ir.OutputFormat | ir.FunctionTool,
    field: str,
    pointer: str,
    losses: Ledger,
    names: Mapping[str, str] = _SAME_NAMES,
) -> JsonObject:
    """Encode a schema as the server enforces it.

    ``node`` and ``field``: where it is in the source; ``pointer``: its pointer in the target. ``names``: the new names that its
    properties get later; the pointers of additions have them already.
    """
    holder: JsonObject = {}
    work: _Work = [(schema, field, pointer, holder, "schema", False)]
    count = 0
    while work:
        raw, field, pointer, container, key, is_fragment = work.pop()
        count += 1
        if not isinstance(raw, dict) or count > MAX_NODES:
            container[key] = raw
        else:
            container[key] = _Subschema(
                raw, field, pointer, node, losses, is_fragment, names if count == 1 else _SAME_NAMES
            ).encode(work)
    encoded: JsonObject = holder["schema"]
    return encoded


class _Subschema:
    """Encodes one schema object. ``unread`` has the keywords that are not encoded yet.

    ``is_fragment``: a value must match this and other schemas at once, so an object without a type stays open here.
    """

    __slots__ = ("encoded", "field", "is_fragment", "losses", "names", "node", "pointer", "unread")

    def __init__(
        self, raw: JsonObject, field: str, pointer: str, node: Any, losses: Ledger, is_fragment: bool, names: Mapping[str, str]
    ) -> None:
        self.unread, self.is_fragment = dict(raw), is_fragment
        self.encoded: JsonObject = {}
        self.field, self.pointer, self.node, self.losses, self.names = field, pointer, node, losses, names

    def encode(self, work: _Work) -> JsonObject:
        """Return the schema object. Its subschemas are added to ``work``."""
        for name in ("$defs", "definitions"):
            self._encode_map(name, work)
        # ``transform_schema`` keeps nothing next to a reference.
        if "$ref" in self.unread:
            self.encoded["$ref"] = self.unread.pop("$ref")
            for name in self.unread:
                self.losses.dropped(self.node, self._field_of(name), severity="info" if name in _LABELS else "lossy")
            return self.encoded
        kinds = self._encode_type(work)
        self._copy("description", "title")
        if "object" in kinds:
            self._encode_object(work)
        if "string" in kinds and isinstance(self.unread.get("format"), str) and self.unread["format"] in _FORMATS:
            self._copy("format")
        if "array" in kinds:
            self._encode_array(work)
        self._describe_unread()
        return self.encoded

    def _copy(self, *names: str) -> None:
        for name in names:
            if name in self.unread:
                self.encoded[name] = self.unread.pop(name)

    def _encode_map(self, name: str, work: _Work, names: Mapping[str, str] = _SAME_NAMES) -> None:
        if isinstance(self.unread.get(name), dict):
            container = self.encoded[name] = dict.fromkeys(self.unread[name])
            items = self.unread.pop(name).items()
            work += [
                (
                    item,
                    f"{self._field_of(name)}/{escape(key)}",
                    f"{self.pointer}/{name}/{escape(names.get(key, key))}",
                    container,
                    key,
                    False,
                )
                for key, item in items
            ]

    def _encode_type(self, work: _Work) -> list[Any]:
        """Encode the keywords that define the allowed values: literals, a union, or types. Return the types whose keywords are encoded.

        ``transform_schema`` writes no type together with literals or a union. If they do not imply the type, it goes into the description.
        """
        kind = self.unread.pop("type", None)
        if kind is None:
            kind = self._implied_type()
        kinds = kind if isinstance(kind, list) else [kind]
        literals = self._encode_literals()
        # "Schema must have a 'type', 'anyOf', 'oneOf', or 'allOf' field" or literals: never two of them (``transform_schema``).
        union = next((name for name in _UNIONS if isinstance(self.unread.get(name), list)), None)
        if union is None and not literals:
            if kind is not None:
                self.encoded["type"] = kind
            return kinds
        variants = self.unread.pop(union) if union else []
        lacks_properties = "properties" not in self.unread  # then only the variants define an object
        if kind is not None:
            if literals:
                is_implied = all(_has_type(value, kinds) for value in literals)
            else:
                variants, is_implied = _with_type(variants, kind) if lacks_properties else (variants, False)
            if not is_implied:
                self.unread["type"] = kind
        if union:
            self._encode_union(union, variants, lacks_properties, work)
            if lacks_properties and self.unread.get("additionalProperties") is False:
                del self.unread["additionalProperties"]  # the encoded variants are closed too
        return [] if literals or lacks_properties else kinds

    def _implied_type(self) -> str | list[str] | None:
        """Return the type that the keywords imply, which ``transform_schema`` requires; None if another keyword defines the values."""
        if self.is_fragment or not _VALUE_KEYWORDS.isdisjoint(self.unread):
            return None
        kinds = [
            kind for kind, keywords in (("object", _OF_OBJECTS), ("array", _OF_ARRAYS)) if not keywords.isdisjoint(self.unread)
        ]
        if not kinds:
            return None
        implied: str | list[str] = kinds[0] if len(kinds) == 1 else kinds
        self.losses.added(f"{self.pointer}/type", implied)
        return implied

    def _encode_literals(self) -> list[Any]:
        """Encode ``enum`` and ``const``, and return their values."""
        literals: list[Any] = []
        choices = self.unread.get("enum")
        if isinstance(choices, list) and choices and all(map(_is_scalar, choices)):
            literals += choices
            self._copy("enum")
        if "const" in self.unread and _is_scalar(self.unread["const"]):
            literals.append(self.unread["const"])
            self._copy("const")
        return literals

    def _encode_union(self, name: str, variants: list[Any], lacks_properties: bool, work: _Work) -> None:
        is_fragment = self.is_fragment or name == "allOf" or not lacks_properties
        # The server has no ``oneOf``: ``transform_schema`` writes it as ``anyOf``.
        wire = "anyOf" if name == "oneOf" else name
        container = self.encoded[wire] = [None] * len(variants)
        if wire != name:
            self.losses.changed(self.node, self._field_of(name), "anyOf")
        work += [
            (item, f"{self._field_of(name)}/{index}", f"{self.pointer}/{wire}/{index}", container, index, is_fragment)
            for index, item in enumerate(variants)
        ]

    def _encode_object(self, work: _Work) -> None:
        """Encode the keywords of an object. Objects are closed, so an open object without properties allows only ``{}`` in the target."""
        if "properties" not in self.unread and self.unread.get("additionalProperties") is None:
            self.losses.changed(self.node, self.field, {"type": "object", "additionalProperties": False})
        self.unread.setdefault("properties", {})
        self._encode_map("properties", work, self.names)
        # "For 'object' type, 'additionalProperties' must be explicitly set to false" (BerriAI/litellm#35808).
        others = self.unread.pop("additionalProperties", None)
        if others is None:
            self.losses.added(f"{self.pointer}/additionalProperties", False)
        elif others is not False:
            self.losses.changed(self.node, self._field_of("additionalProperties"), False)
        self.encoded["additionalProperties"] = False
        self._copy("required")

    def _encode_array(self, work: _Work) -> None:
        # With prefixItems, items is the schema of the remaining items only.
        if isinstance(self.unread.get("items"), dict | bool) and "prefixItems" not in self.unread:
            work.append((self.unread.pop("items"), self._field_of("items"), f"{self.pointer}/items", self.encoded, "items", False))
        # "minItems" of more than 1 is described only (``transform_schema``).
        if self.unread.get("minItems") in (0, 1):
            self._copy("minItems")

    def _describe_unread(self) -> None:
        """Add the unread keywords to the description."""
        # "we add them to the description so that the model *might* follow them" (``transform_schema``).
        lines = []
        for name, value in self.unread.items():
            if name in _LABELS:
                self.losses.dropped(self.node, self._field_of(name), severity="info")
                continue
            lines.append(keyword_line(name, value))
            self.losses.changed(self.node, self._field_of(name), lines[-1], "schema_keyword")
        if lines:
            self.encoded["description"] = description_with(self.encoded.get("description"), lines)

    def _field_of(self, name: str) -> str:
        return f"{self.field}/{escape(name)}"


def _with_type(variants: list[Any], kind: Any) -> tuple[list[Any], bool]:
    """Add the type of a union to its variants without one. Returns the variants, and whether all of them imply the type."""
    kinds = kind if isinstance(kind, list) else [kind]
    typed = [item | {"type": kind} if isinstance(item, dict) and _VALUE_KEYWORDS.isdisjoint(item) else item for item in variants]
    return typed, all(isinstance(item, dict) and "type" in item and _is_within(item["type"], kinds) for item in typed)


def _is_within(kind: Any, kinds: list[Any]) -> bool:
    return all(each in kinds for each in kind) if isinstance(kind, list) else kind in kinds


def _has_type(value: Any, kinds: list[Any]) -> bool:
    """Return whether a literal has one of the types."""
    if type(value) is float and value.is_integer():  # in JSON Schema 1.0 is an integer
        return "integer" in kinds or "number" in kinds
    return any(name in kinds for name in _TYPES[type(value)])


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def is_recursive(schema: JsonObject | None) -> bool:
    """Return whether a schema contains a reference to a schema around it, directly or through other references.

    The server rejects such a schema if it must enforce it: "Circular reference detected in schema definitions"
    (egonSchiele/agency-lang#487, experientiallabs/experiential#804). It accepts the schema for a tool without ``strict``
    (langchain4j/langchain4j#5097).
    """
    if not _has_reference(schema):
        return False
    is_done: dict[int, bool] = {}  # by the ``id()`` of a schema; False while the schemas inside are read
    work: list[tuple[Any, bool]] = [(schema, False)]
    while work:
        node, is_end = work.pop()
        state = is_done.get(id(node))
        if is_end:
            is_done[id(node)] = True
        elif state is False:
            return True
        elif state is None:
            is_done[id(node)] = False
            work.append((node, True))
            inner = node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
            work += [(value, False) for value in inner if isinstance(value, dict | list)]
            target = _referenced(schema, node)
            if target is not None:
                work.append((target, False))
    return False


def _has_reference(schema: JsonObject | None) -> bool:
    """Return whether a schema has any reference. Most have none, so this saves time."""
    nodes: list[Any] = [schema]
    for node in nodes:
        if type(node) is dict:
            if "$ref" in node:
                return True
            nodes += [value for value in node.values() if type(value) is dict or type(value) is list]
        elif type(node) is list:
            nodes += [value for value in node if type(value) is dict or type(value) is list]
    return False


def _referenced(schema: Any, node: Any) -> JsonObject | None:
    """Return the schema to which the reference of a node leads; None without a reference into the same schema."""
    reference = node.get("$ref") if isinstance(node, dict) else None
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    for step in reference.split("/")[1:]:
        schema = schema.get(unescape(unquote(step))) if isinstance(schema, dict) else None
    return schema if isinstance(schema, dict) else None


_INSTRUCTION_WITH_SCHEMA = f"{JSON_INSTRUCTION} It must match this JSON Schema: "

_SCHEMA_AT = "/output_config/format/schema"


def decode_format(body: JsonObject) -> tuple[ir.OutputFormat | None, JsonObject | None]:
    """Decode ``output_config.format``, or the older field ``output_format``; return also the unread fields."""
    current, older = (body.get("output_config") or {}).get("format"), body.get("output_format")
    # ``output_format`` is the name of the first beta. If both are set, the current name is valid.
    raw, src = (current, "/output_config/format") if current else (older, "/output_format")
    unread = {"output_format": older} if current and older and older != current else None
    if not raw:
        return None, unread
    if raw.get("type") != "json_schema":
        return None, merge_extra(unread, {src[1:]: raw})
    extra = read_extra(raw, frozenset({"type", "schema"}))
    # The server enforces every schema (platform.claude.com/docs/en/build-with-claude/structured-outputs).
    # OpenAI's does so only with ``strict`` (its SDK).
    return ir.OutputFormat(type="json_schema", schema=raw["schema"], strict=True, src=src, extra=extra), unread


def encode_json_mode(format: ir.OutputFormat, system: list[JsonObject], losses: Ledger, options: Options) -> list[JsonObject]:
    """Return the blocks of the system prompt. For a JSON mode, an instruction to write JSON is added.

    The format has no such mode (official SDK, ``OutputConfigParam``). Without the instruction the caller may get prose. A recursive
    schema is written into the instruction.
    """
    if format.type == "text" or _is_enforced(format):
        return system
    if options.json_mode == "drop":
        losses.dropped(format, severity="impossible")
        return system
    instruction = JSON_INSTRUCTION if format.schema is None else _INSTRUCTION_WITH_SCHEMA + dumps(format.schema).decode()
    losses.changed(format, "", instruction, "json_mode")
    block: JsonObject = {"type": "text", "text": instruction}
    pointer, added = (f"/system/{len(system)}", block) if system else ("/system", instruction)
    losses.added(pointer, added, REPLACES_JSON_MODE)
    return [*system, block]


def _is_enforced(format: ir.OutputFormat) -> bool:
    """Return whether the server can enforce an output format."""
    return format.type == "json_schema" and format.schema is not None and not is_recursive(format.schema)


def encode_format(format: ir.OutputFormat, losses: Ledger) -> JsonObject:
    """Encode an output format with a schema, which the server always enforces. ``encode_json_mode`` encodes the others."""
    if format.type == "text" or format.schema is None or not _is_enforced(format):  # the server has no field for it
        losses.extras(format)
        return {}
    drop_unheld(format, losses)
    note_enforced(format, losses)
    schema = encode_schema(format.schema, format, "schema", _SCHEMA_AT, losses)
    return {"format": {"type": "json_schema", "schema": schema}}
