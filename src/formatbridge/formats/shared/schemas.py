"""Adapt a schema to what servers accept: unions at its root, and ``strict``.

Some servers reject a union at the root of a function's parameters. This module merges it into one object schema. OpenAI's servers accept
``strict`` only if each object has ``additionalProperties: false``. This module adds it where it is missing.

Anthropic: ``input_schema does not support oneOf, allOf, or anyOf at the top level`` (anthropics/claude-code#40075). OpenAI: ``schema must
have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level`` (langchain-ai/langchainjs#9804,
nspady/google-calendar-mcp#39). Below the root all three are allowed. The merged schema has the properties of all members. It does
not state which properties belong together, and a property that only some members restrict is restricted for all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.shared.parts import is_same_list
from formatbridge.jsontext.depth import dump_sorted
from formatbridge.jsontext.pointers import escape, unescape
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import CLOSED

UNIONS = ("anyOf", "oneOf", "allOf")
_SCHEMAS_BY_NAME = ("properties", "$defs", "definitions")
"""Keywords whose value has schemas by name."""

_ROOT = "root_unions"
"""The key in ``$defs`` of the unions of the root, for references into them."""
MAX_NODES = 20_000
"""How many schemas within a schema are read. Further schemas stay unchanged."""
_MAX_MEMBERS = 1_000
"""How many members of unions are read, including those of nested unions and of references. Further members have no effect."""
_MAX_LEVELS = 16
"""How deep unions and references within each other are read. Deeper unions have no effect, so that the time stays linear."""
_MERGED = frozenset({"type", "properties", "required", *UNIONS})
_KEYWORDS_REJECTED_WITH_STRICT = frozenset(
    {"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties", "propertyNames"}
)
"""Keywords that OpenAI's servers reject with ``strict``. Source: that of ``_allows_strict``."""
_CONDITION = frozenset({"if", "then", "else"})
_LABELS = frozenset({"title", "description", "$schema", "$id", "$comment"})
"""Keywords of a member that do not apply to the merged schema."""


def has_root_union(schema: JsonObject) -> bool:
    """Return whether a schema has a union at its root."""
    return any(name in schema for name in UNIONS)


def _allows_strict(schema: JsonObject) -> bool:
    """Return whether OpenAI's servers accept a schema with ``strict``.

    "'required' is required to be supplied and to be an array including every key in properties" (BerriAI/litellm#38211), and
    "'additionalProperties' is required to be supplied and to be false" (agentscope-ai/agentscope-java#2548). The root is an object, and
    some keywords are not supported (developers.openai.com/api/docs/guides/structured-outputs, Supported schemas). Anthropic's servers
    accept optional properties with ``strict``.
    """
    pending: list[Any] = [schema]
    nodes = 0
    while pending and nodes < MAX_NODES:
        node = pending.pop()
        nodes += 1
        if not isinstance(node, dict):
            continue
        properties, required = node.get("properties"), node.get("required")
        properties = properties if isinstance(properties, dict) else {}
        required = required if isinstance(required, list) else []
        is_closed = node.get("additionalProperties") is False and all(name in required for name in properties)
        if (_is_object(node) and not is_closed) or not _KEYWORDS_REJECTED_WITH_STRICT.isdisjoint(node):
            return False
        options, definitions = node.get("anyOf") or [], [node.get(name) or {} for name in ("$defs", "definitions")]
        if not isinstance(options, list) or not all(isinstance(each, dict) for each in definitions):
            return False
        pending += [node.get("items"), *properties.values(), *options]
        pending += [value for each in definitions for value in each.values()]
    return schema.get("type") == "object"


def encode_strict(node: ir.FunctionTool | ir.OutputFormat, holder: JsonObject, key: str, losses: Ledger) -> None:
    """Encode ``strict`` next to the schema at a key, for OpenAI's servers.

    Objects without ``additionalProperties`` get false, as in Anthropic's SDK (``lib/_parse/_transform.py``). If the servers accept the
    schema only without ``strict``, that becomes false.
    """
    schema = holder.get(key)
    holder["strict"] = node.strict
    if not node.strict or schema is None or _allows_strict(schema):
        return
    closed_objects: list[JsonObject] = []
    closed = _close_objects(schema, closed_objects)
    if _allows_strict(closed):
        holder[key] = closed
        for each in closed_objects:
            losses.added_in(each, "additionalProperties", False, CLOSED)
    else:
        holder["strict"] = losses.changed(node, "strict", False, "not_strict")


def keyword_line(name: str, value: JsonValue) -> str:
    """Return a keyword of a schema as it is written in a description."""
    return f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def description_with(description: Any, lines: Sequence[str]) -> str:
    """Return the description of a schema with keywords. The model might follow them there."""
    keywords = "{" + ", ".join(lines) + "}"
    return f"{description}\n\n{keywords}" if description else keywords


def describe_format(format: ir.OutputFormat, rules: DialectRules, losses: Ledger) -> ir.OutputFormat:
    """Return an output format with the keywords that a server rejects in the descriptions; the same object if nothing changes."""
    keywords = rules.rejects_in_schemas | (rules.rejects_in_strict_schemas if format.strict else frozenset())
    if not keywords or format.schema is None:
        return format
    schema = _describe_keywords(format.schema, "schema", keywords, format, losses)
    return format if schema == format.schema else replace(format, schema=schema)


def describe_parameters(tool: ir.Tool, rules: DialectRules, losses: Ledger) -> ir.Tool:
    """Return a tool with the keywords that a server rejects with ``strict`` in the descriptions; the same object if nothing changes."""
    if isinstance(tool, ir.Namespace):
        tools = [describe_parameters(inner, rules, losses) for inner in tool.tools]
        return tool if is_same_list(tools, tool.tools) else replace(tool, tools=tools)  # type: ignore[arg-type]  # the same classes
    if not isinstance(tool, ir.FunctionTool) or not tool.strict or tool.parameters is None:
        return tool
    parameters = _describe_keywords(tool.parameters, "parameters", rules.rejects_in_strict_schemas, tool, losses)
    return tool if parameters == tool.parameters else replace(tool, parameters=parameters)


def _describe_keywords(
    node: Any, field: str, keywords: frozenset[str], holder: ir.OutputFormat | ir.FunctionTool, losses: Ledger
) -> Any:
    """Return a schema with keywords in the description. ``field``: where it is in its holder."""
    if not isinstance(node, dict):
        return node
    result: JsonObject = {name: value for name, value in node.items() if name not in keywords}
    lines = [
        losses.changed(holder, f"{field}/{name}", keyword_line(name, node[name]), "schema_keyword")
        for name in node
        if name in keywords
    ]
    if lines:
        result["description"] = description_with(node.get("description"), lines)
    for name in _SCHEMAS_BY_NAME:
        if isinstance(result.get(name), dict):
            result[name] = {
                key: _describe_keywords(each, f"{field}/{name}/{escape(key)}", keywords, holder, losses)
                for key, each in result[name].items()
            }
    for name in UNIONS:
        if isinstance(result.get(name), list):
            result[name] = [
                _describe_keywords(each, f"{field}/{name}/{index}", keywords, holder, losses)
                for index, each in enumerate(result[name])
            ]
    if "items" in result:
        result["items"] = _describe_keywords(result["items"], f"{field}/items", keywords, holder, losses)
    return result


def note_enforced(format: ir.OutputFormat, losses: Ledger) -> None:
    """Note that a schema which the source's server need not follow is enforced, because the target's server enforces every schema."""
    if format.strict is False:
        losses.changed(format, "strict", True)


def note_root(format: ir.OutputFormat, losses: Ledger) -> None:
    """Note a schema whose root is no object: it is encoded unchanged, and OpenAI's server rejects it.

    Wrapping it in an object would change the answer that the caller reads. A root without a type may be an object.
    Source: developers.openai.com/api/docs/guides/structured-outputs, "Root objects must not be anyOf".
    """
    kind = format.schema.get("type") if format.schema else None
    if kind is not None and kind != "object" and not (isinstance(kind, list) and "object" in kind):
        losses.changed(format, "schema/type", kind, "out_of_range")


def _close_objects(node: Any, closed_objects: list[JsonObject]) -> Any:
    """Return a schema whose objects without ``additionalProperties`` get false. These are added to ``closed_objects``."""
    if not isinstance(node, dict):
        return node
    result: JsonObject = dict(node)
    for name in _SCHEMAS_BY_NAME:
        if isinstance(node.get(name), dict):
            result[name] = {key: _close_objects(each, closed_objects) for key, each in node[name].items()}
    if isinstance(node.get("anyOf"), list):
        result["anyOf"] = [_close_objects(each, closed_objects) for each in node["anyOf"]]
    if "items" in node:
        result["items"] = _close_objects(node["items"], closed_objects)
    if _is_object(node) and "additionalProperties" not in node:
        result["additionalProperties"] = False
        closed_objects.append(result)
    return result


def _is_object(node: JsonObject) -> bool:
    kind = node.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node


def fold_root_union(schema: JsonObject) -> JsonObject:
    """Return an object schema without a union at its root. References into the unions then lead to their copies in ``$defs``."""
    folded = {"type": "object"} | _Folding(schema).fold(schema, 0)
    text = dump_sorted(folded)
    if not any(f'"#/{name}/' in text for name in UNIONS):
        return folded
    unions = {name: schema[name] for name in UNIONS if name in schema}
    definitions: Any = folded.get("$defs")
    known = definitions if isinstance(definitions, dict) else {}
    moved: JsonObject = _move_references(folded | {"$defs": known | {_ROOT: unions}})
    return moved


def _move_references(node: Any) -> Any:
    """Return a schema whose references into the unions of the root lead to their copies."""
    if isinstance(node, list):
        return [_move_references(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {name: _move_references(value) for name, value in node.items()}
    reference = result.get("$ref")
    if isinstance(reference, str) and reference.startswith(tuple(f"#/{name}/" for name in UNIONS)):
        result["$ref"] = f"#/$defs/{_ROOT}/{reference[2:]}"
    return result


def fold_parameters(tool: ir.FunctionTool, schema: JsonObject, losses: Ledger) -> JsonObject:
    """Return the schema of a function's arguments without a union at its root; each union is reported."""
    if not has_root_union(schema):
        return schema
    folded = fold_root_union(schema)
    for name in UNIONS:
        if name in schema:
            losses.changed(tool, f"parameters/{name}", folded, "root_union")
    return folded


class _Folding:
    """The state while one schema is folded: the schemas of references, and how many members may still be read."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._remaining_members = _MAX_MEMBERS
        self._referenced: dict[str, JsonObject] = {}

    def fold(self, schema: JsonObject, level: int) -> JsonObject:
        """Return a schema with its unions merged into it."""
        # {"anyOf": [{"properties": {"a": A}, "required": ["a"]}, {"properties": {"b": B}}]} becomes
        # {"properties": {"a": A, "b": B}}: a property that only some members require becomes optional.
        result = {name: value for name, value in schema.items() if name not in UNIONS}
        for name in UNIONS:
            members = schema.get(name)
            if isinstance(members, list) and members:
                folded = [self._fold_member(member, level) for member in members]
                objects = [member for member in _remove_duplicates(folded) if _may_be_object(member)]
                result = (
                    _merge_all_of([result, *objects])
                    if name == "allOf"
                    else _merge_all_of([result, _merge_any_of(objects, result)])
                )
        return result

    def _fold_member(self, member: Any, level: int) -> JsonObject:
        """Return a member as an object schema without unions. A member that is too deep, or beyond the limit, has no effect."""
        self._remaining_members -= 1
        if self._remaining_members < 0 or level >= _MAX_LEVELS or not isinstance(member, dict):
            return {}
        # Two references at each level would double the members, so each reference is read once.
        reference = member.get("$ref")
        if isinstance(reference, str):
            if reference not in self._referenced:
                self._referenced[reference] = {}  # for a reference to itself
                self._referenced[reference] = self._fold_member(self._resolve_reference(reference), level + 1)
            return self._referenced[reference]
        return self.fold(member, level + 1)

    def _resolve_reference(self, reference: str) -> Any:
        """Return the schema of a reference into the same schema; None if it does not exist."""
        node: Any = self._root if reference.startswith("#/") else None
        for step in reference.split("/")[1:]:
            node = node.get(unescape(step)) if isinstance(node, dict) else None
        return node


def _may_be_object(schema: JsonObject) -> bool:
    kind = schema.get("type", "object")
    return "object" in kind if isinstance(kind, list) else kind == "object"


def _merge_any_of(members: Sequence[JsonObject], base: JsonObject) -> JsonObject:
    """Return a schema that accepts each value that at least one member accepts.

    A property that ``base`` also has is restricted only where every member restricts it.
    """
    # A member that does not name a property allows any value of it.
    known = _properties(base)
    variants = _group_properties(members)
    narrowing = {name: each for name, each in variants.items() if name not in known or len(each) == len(members)}
    return _merge(members, narrowing, _build_any_of, set.intersection)


def _merge_all_of(members: Sequence[JsonObject]) -> JsonObject:
    """Return a schema that accepts each value that every member accepts. For other keywords, the first value is used."""
    result = _merge(members, _group_properties(members), _build_all_of, set.union)
    for member in reversed(members):
        if not _CONDITION.isdisjoint(member):  # three parts of one keyword
            result = {name: value for name, value in result.items() if name not in _CONDITION}
        result |= {name: value for name, value in member.items() if name not in _MERGED and name not in _LABELS}
    return members[0] | result


def _merge(
    members: Sequence[JsonObject],
    properties: dict[str, list[Any]],
    combine: Callable[[list[Any]], Any],
    join: Callable[..., set[str]],
) -> JsonObject:
    """Return the properties and required properties of several schemas, and the other keywords that are equal in all of them."""
    result: JsonObject = {}
    if properties:
        result["properties"] = {name: combine(variants) for name, variants in properties.items()}
    required_lists = [dict.fromkeys(_required(member)) for member in members]
    required_names = join(*map(set, required_lists)) if required_lists else set()
    if required_names:
        result["required"] = list(dict.fromkeys(name for each in required_lists for name in each if name in required_names))
    first = members[0] if members else {}
    others = [name for name in first if name not in _MERGED and name not in _LABELS]
    return result | {name: first[name] for name in others if _is_shared(name, members)}


def _is_shared(name: str, members: Sequence[JsonObject]) -> bool:
    """Return whether all schemas have a keyword, with the same value."""
    return all(name in member for member in members) and len({dump_sorted(member[name]) for member in members}) == 1


def _group_properties(members: Sequence[JsonObject]) -> dict[str, list[Any]]:
    variants: dict[str, list[Any]] = {}
    for member in members:
        for name, schema in _properties(member).items():
            variants.setdefault(name, []).append(schema)
    return variants


def _build_any_of(schemas: list[Any]) -> Any:
    """Return a schema that accepts each value that at least one schema accepts."""
    unique = _remove_duplicates(schemas)
    return unique[0] if len(unique) == 1 else {"anyOf": unique}


def _build_all_of(schemas: list[Any]) -> Any:
    """Return a schema that accepts each value that every schema accepts."""
    unique = _remove_duplicates(schemas)
    return unique[0] if len(unique) == 1 else {"allOf": unique}


def _remove_duplicates(schemas: Sequence[Any]) -> list[Any]:
    """Return schemas without duplicates of earlier ones."""
    objects = list({id(schema): schema for schema in schemas}.values())
    return objects if len(objects) == 1 else list({dump_sorted(schema): schema for schema in reversed(objects)}.values())[::-1]


def _properties(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _required(schema: JsonObject) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
