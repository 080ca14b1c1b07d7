"""JSON Schema as the server of messages enforces it: what it cannot enforce moves into the description.

Follows the official SDK's ``transform_schema`` of 2026-11: the model may still heed a bound that it reads.
"""

from __future__ import annotations

import json
from typing import Any

from formatbridge import ir
from formatbridge.formats.messages.content import as_blocks
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.shared.tool_arguments import MOST_NODES
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import REASONS

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"})
_LABELS = frozenset({"$schema", "$id", "$comment", "$anchor"})
_UNIONS = ("anyOf", "oneOf", "allOf")
_SAYING = frozenset({"type", "$ref", "enum", "const", *_UNIONS})
"""What says which values there are."""
_TYPES = {type(None): ("null",), bool: ("boolean",), str: ("string",), int: ("integer", "number"), float: ("number",)}
"""Type of a literal to the names of its types."""
_OF_OBJECTS, _OF_ARRAYS = frozenset({"properties", "additionalProperties"}), frozenset({"items", "prefixItems"})
"""Keywords that give a type away where none is named. ``required`` alone does not: no closed object has what it must have then."""
_Work = list[tuple[Any, str, str, Any, Any, bool]]


def encode_schema(schema: JsonObject, node: ir.OutputFormat | ir.FunctionTool, field: str, at: str, losses: Ledger) -> JsonObject:
    """Write a schema that the server enforces; ``node`` and ``field`` say where it came from, ``at`` is its pointer in the target."""
    holder: JsonObject = {}
    work: _Work = [(schema, field, at, holder, "made", False)]
    seen = 0
    while work:
        given, pointer, at, container, key, is_fragment = work.pop()
        seen += 1
        if not isinstance(given, dict) or seen > MOST_NODES:
            container[key] = given
        else:
            container[key] = _Subschema(given, pointer, at, node, losses, is_fragment).encode(work)
    made: JsonObject = holder["made"]
    return made


class _Subschema:
    """One schema object on its way: ``left`` holds the keywords that have no place yet.

    ``is_fragment``: it is one of several that a value is held to at once, so nothing in it may be closed that was not.
    """

    __slots__ = ("at", "is_fragment", "left", "losses", "made", "node", "pointer")

    def __init__(self, given: JsonObject, pointer: str, at: str, node: Any, losses: Ledger, is_fragment: bool) -> None:
        self.left, self.is_fragment = dict(given), is_fragment
        self.made: JsonObject = {}
        self.pointer, self.at, self.node, self.losses = pointer, at, node, losses

    def encode(self, work: _Work) -> JsonObject:
        """Return the schema as the server takes it; its subschemas are added to ``work``."""
        for name in ("$defs", "definitions"):
            self._take_map(name, work)
        if "$ref" in self.left:
            self.made["$ref"] = self.left.pop("$ref")
            for name in self.left:
                self.losses.dropped(self.node, self._place(name), severity=_severity(name))
            return self.made
        kinds = self._take_kind(work)
        self._take("description", "title")
        if "object" in kinds:
            self._take_object(work)
        if "string" in kinds and isinstance(self.left.get("format"), str) and self.left["format"] in _FORMATS:
            self._take("format")
        if "array" in kinds:
            self._take_array(work)
        self._describe_rest()
        return self.made

    def _take(self, *names: str) -> None:
        for name in names:
            if name in self.left:
                self.made[name] = self.left.pop(name)

    def _take_map(self, name: str, work: _Work) -> None:
        if isinstance(self.left.get(name), dict):
            made = self.made[name] = dict.fromkeys(self.left[name])
            items = self.left.pop(name).items()
            work += [
                (item, f"{self._place(name)}/{escape(key)}", f"{self.at}/{name}/{escape(key)}", made, key, False)
                for key, item in items
            ]

    def _take_kind(self, work: _Work) -> list[Any]:
        """Take over what says which values there are: literals, a union, or types. Return the types whose keywords may follow.

        Beside literals or a union the server takes no type: what that says and they do not goes into the description.
        """
        kind = self.left.pop("type", None)
        if kind is None:
            kind = self._guess_type()
        kinds = kind if isinstance(kind, list) else [kind]
        literals = self._take_literals()
        union = next((name for name in _UNIONS if isinstance(self.left.get(name), list)), None)
        if union is None and not literals:
            if kind is not None:
                self.made["type"] = kind
            return kinds
        variants = self.left.pop(union) if union else []
        is_whole = "properties" not in self.left  # what such an object may hold, its variants say
        if kind is not None:
            if literals:
                is_said = all(_is_of(value, kinds) for value in literals)
            else:
                variants, is_said = _with_type(variants, kind) if is_whole else (variants, False)
            if not is_said:
                self.left["type"] = kind
        if union:
            self._take_union(union, variants, is_whole, work)
            if is_whole and self.left.get("additionalProperties") is False:
                del self.left["additionalProperties"]  # they are closed as well
        return [] if literals or is_whole else kinds

    def _guess_type(self) -> str | list[str] | None:
        """Return the type that keywords give away, which the server wants to be named; None where something else says it, or nothing."""
        if self.is_fragment or not _SAYING.isdisjoint(self.left):
            return None
        kinds = [kind for kind, words in (("object", _OF_OBJECTS), ("array", _OF_ARRAYS)) if not words.isdisjoint(self.left)]
        if not kinds:
            return None
        guessed: str | list[str] = kinds[0] if len(kinds) == 1 else kinds
        self.losses.added(f"{self.at}/type", guessed)
        return guessed

    def _take_literals(self) -> list[Any]:
        """Take over the values that are listed, and return them."""
        found: list[Any] = []
        choices = self.left.get("enum")
        if isinstance(choices, list) and choices and all(map(_is_plain, choices)):
            found += choices
            self._take("enum")
        if "const" in self.left and _is_plain(self.left["const"]):
            found.append(self.left["const"])
            self._take("const")
        return found

    def _take_union(self, name: str, variants: list[Any], is_whole: bool, work: _Work) -> None:
        is_fragment = self.is_fragment or name == "allOf" or not is_whole
        wire = "anyOf" if name == "oneOf" else name
        made = self.made[wire] = [None] * len(variants)
        if wire != name:
            self.losses.changed(self.node, self._place(name), "anyOf")
        work += [
            (item, f"{self._place(name)}/{index}", f"{self.at}/{wire}/{index}", made, index, is_fragment)
            for index, item in enumerate(variants)
        ]

    def _take_object(self, work: _Work) -> None:
        """Take over an object, which is closed here: one that names no properties and was open can only be empty now."""
        if "properties" not in self.left and self.left.get("additionalProperties") is None:
            self.losses.changed(self.node, self.pointer, {"type": "object", "additionalProperties": False})
        self.left.setdefault("properties", {})
        self._take_map("properties", work)
        others = self.left.pop("additionalProperties", None)
        if others is None:
            self.losses.added(f"{self.at}/additionalProperties", False)
        elif others is not False:
            self.losses.changed(self.node, self._place("additionalProperties"), False)
        self.made["additionalProperties"] = False
        self._take("required")

    def _take_array(self, work: _Work) -> None:
        # Beside items that each have a schema of their own it is about those behind them.
        if isinstance(self.left.get("items"), dict | bool) and "prefixItems" not in self.left:
            work.append((self.left.pop("items"), self._place("items"), f"{self.at}/items", self.made, "items", False))
        if self.left.get("minItems") in (0, 1):
            self._take("minItems")

    def _describe_rest(self) -> None:
        """Put the keywords that are left into the description."""
        told = []
        for name, value in self.left.items():
            if name in _LABELS:
                self.losses.dropped(self.node, self._place(name), severity="info")
                continue
            told.append(f"{name}: {_words(value)}")
            self.losses.changed(self.node, self._place(name), told[-1], "schema_keyword")
        if told:
            before = self.made.get("description")
            joined = "{" + ", ".join(told) + "}"
            self.made["description"] = f"{before}\n\n{joined}" if before else joined

    def _place(self, name: str) -> str:
        return f"{self.pointer}/{escape(name)}"


def _severity(name: str) -> Any:
    return "info" if name in _LABELS else "lossy"


def _with_type(variants: list[Any], kind: Any) -> tuple[list[Any], bool]:
    """Give the variants of a union the type that stood beside them, where they have none; say whether all of them have it now."""
    kinds = kind if isinstance(kind, list) else [kind]
    made = [item | {"type": kind} if isinstance(item, dict) and _SAYING.isdisjoint(item) else item for item in variants]
    return made, all(isinstance(item, dict) and "type" in item and _within(item["type"], kinds) for item in made)


def _within(kind: Any, kinds: list[Any]) -> bool:
    return all(each in kinds for each in kind) if isinstance(kind, list) else kind in kinds


def _is_of(value: Any, kinds: list[Any]) -> bool:
    """Say whether a literal is of one of some types."""
    if type(value) is float and value.is_integer():  # 1.0 is an integer, too
        return "integer" in kinds or "number" in kinds
    return any(name in kinds for name in _TYPES[type(value)])


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
    if format.type == "text" or format.schema is None:  # an instruction stands for the rest
        if format.extra:
            losses.extras(format)
        return {}
    drop_unheld(format, losses)
    if format.strict is False:
        losses.changed(format, "strict", True)
    schema = encode_schema(format.schema, format, "schema", _SCHEMA_AT, losses)
    return {"format": {"type": "json_schema", "schema": schema}}
