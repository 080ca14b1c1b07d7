"""Names and ids that fit another format: legal characters, limited length, unique; also the names of a function's properties.

Properties are renamed in the schema and in calls, and restored in answers. Only properties of the outermost object are renamed, and not
those of nested objects. Source: Anthropic's server rejects ``filter[id]`` with "Property keys should match pattern
'^[a-zA-Z0-9_.-]{1,64}$'" (ComposioHQ/composio#3500, decocms/studio#6874).
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from formatbridge import ir
from formatbridge.formats.format import Context, ToolRules
from formatbridge.formats.shared.schemas import UNIONS, fold_root_union
from formatbridge.formats.shared.tool_arguments import parse_arguments_of, read_object
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import escape, unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def with_legal_letters(name: str, longest: int | None) -> str:
    """Return a name in characters that every format takes. A name that is too long ends in a hash, so that it stays unique."""
    legal = _ILLEGAL.sub("_", name)
    return legal if longest is None or len(legal) <= longest else truncate_with_hash(legal, longest, name)


def truncate_with_hash(text: str, longest: int, whole: str, *, digits: int = 8) -> str:
    """Return the beginning of a text that is too long, and a hash of ``whole``. ``digits``: the hexadecimal digits of the hash."""
    return f"{text[: longest - digits - 1]}_{sha256(whole.encode()).hexdigest()[:digits]}"


class UniqueNames:
    """Makes names unique: appends a number to a name that is taken."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def unique(self, name: str, *taken: Container[str], longest: int | None = None) -> str:
        """Return a name that is not taken. Numbers continue after the last similar name."""
        result, count = name, self._last.get(name, 1)
        while any(result in names for names in taken):
            count += 1
            tail = f"_{count}"
            result = f"{name if longest is None else name[: longest - len(tail)]}{tail}"
        self._last[name] = count
        return result


_PREFIXES = ("chatcmpl-", "msg_", "resp_")


def encode_id(raw: str | None, prefix: str, context: Context | None) -> str | None:
    """Return an id with the target's prefix that contains the source's id; None if there is none.

    The id of an answer in the caller's format stays as it is: the caller may refer to it.
    """
    if not raw:
        return None
    if context is not None and context.is_same_format:
        return raw
    # "msg_1" becomes "resp_msg_1" in Responses, and "msg_1" again in Messages, so a stored id is the same after both conversions.
    if prefix and prefix not in raw:  # the common case: the id was not created from an id of the target
        return f"{prefix}{raw}"
    for known in _PREFIXES:
        if raw.startswith(known):
            inner = raw.removeprefix(known)
            if inner.startswith(_PREFIXES) and inner.startswith(prefix):
                return inner
            break
    return raw if raw.startswith(prefix) else f"{prefix}{raw}"


def derive_call_id(*facts: Any) -> str:
    """Return an id for a call in an answer without an id, from all that distinguishes the call from those of other answers."""
    return f"call_{sha256(dumps(facts)).hexdigest()[:24]}"


_KEYED_BY_NAME = frozenset({"properties", "dependentSchemas", "dependentRequired", "dependencies"})
_LISTS_OF_NAMES = frozenset({"required"})
_SAME_OBJECT = frozenset({"if", "then", "else", "not"})
"""Keywords whose schemas describe the same object."""


def has_legal_properties(schema: JsonObject | None, rules: ToolRules) -> bool:
    """Return whether the target allows the names of all properties. A root union, which is rare, is folded as the target folds it."""
    if not schema or rules.property_name is None:
        return True
    properties = _folded(schema).get("properties")
    if not properties or not isinstance(properties, dict):
        return True
    # Identifiers are legal. Most names are, so this saves time in each request with tools.
    text, longest = "".join(properties), rules.longest_property_name
    has_short_names = len(text) <= longest or max(map(len, properties)) <= longest
    if text.isidentifier() and text.isascii() and has_short_names and "" not in properties:
        return True
    return all(map(rules.property_name.fullmatch, properties))


def legal_properties(tool: ir.FunctionTool, rules: ToolRules, losses: Ledger) -> dict[str, str] | None:
    """Return the target's names of a function's properties by those of the caller; None if the target allows all of them.

    Each new name is reported.
    """
    if tool.parameters is None or has_legal_properties(tool.parameters, rules):
        return None
    assert rules.property_name is not None
    properties: JsonObject = _folded(tool.parameters)["properties"]
    taken = {name for name in properties if rules.property_name.fullmatch(name)}
    names: dict[str, str] = {}
    unique_names = UniqueNames()
    at_root = tool.parameters.get("properties")
    for name in properties:
        if name in taken:
            continue
        new = unique_names.unique(
            with_legal_letters(name, rules.longest_property_name) or "_", taken, longest=rules.longest_property_name
        )
        taken.add(new)
        names[name] = new
        is_at_root = isinstance(at_root, dict) and name in at_root
        losses.changed(tool, f"parameters/properties/{escape(name)}" if is_at_root else "parameters", new, "renamed")
    required = tool.parameters.get("required")
    for index, name in enumerate(required if isinstance(required, list) else ()):
        if isinstance(name, str) and name in names:
            losses.changed(tool, f"parameters/required/{index}", names[name], "renamed", severity="info")
    return names


def rename_properties(schema: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Return the schema of a function's arguments with other names of properties, in references to them too."""
    renamed = _renamed(schema, names)
    return _with_references(renamed, names) if '"#/properties/' in dumps(renamed).decode() else renamed


def rename_arguments(arguments: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Return arguments with other names of properties; unchanged if two would have the same name."""
    renamed = {names.get(name, name): value for name, value in arguments.items()}
    return renamed if len(renamed) == len(arguments) else arguments


def rename_arguments_of(call: ir.ToolCall, names: Mapping[str, str]) -> str | JsonObject:
    """Return the arguments of a call with other names of properties. Text that is no object, or needs more checks, is unchanged."""
    arguments = call.arguments if isinstance(call.arguments, dict) else parse_arguments_of((call,)).get(id(call))
    if arguments is None or names.keys().isdisjoint(arguments):
        return call.arguments
    return rename_arguments(arguments, names)


def rename_arguments_text(text: str, names: Mapping[str, str]) -> str:
    """Return arguments as text with other names of properties. Text that is no object is unchanged."""
    arguments = read_object(text)
    if arguments is None or names.keys().isdisjoint(arguments):
        return text
    return dumps(rename_arguments(arguments, names)).decode()


def _folded(schema: JsonObject) -> JsonObject:
    return schema if schema.keys().isdisjoint(UNIONS) else fold_root_union(schema)


def _renamed(schema: JsonObject, names: Mapping[str, str]) -> JsonObject:
    result = dict(schema)
    for key, value in schema.items():
        if key in _KEYED_BY_NAME and isinstance(value, dict):
            result[key] = {
                names.get(name, name): _renamed_list(item, names) if isinstance(item, list) else item
                for name, item in value.items()
            }
        elif key in _LISTS_OF_NAMES and isinstance(value, list):
            result[key] = _renamed_list(value, names)
        elif key in _SAME_OBJECT and isinstance(value, dict):
            result[key] = _renamed(value, names)
    return result


def _renamed_list(items: list[Any], names: Mapping[str, str]) -> list[Any]:
    return [names.get(item, item) if isinstance(item, str) else item for item in items]


def _with_references(node: Any, names: Mapping[str, str]) -> Any:
    """Return a schema whose references to properties have their new names."""
    if isinstance(node, list):
        return [_with_references(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    result = {key: _with_references(value, names) for key, value in node.items()}
    reference = result.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/properties/"):
        first, *rest = reference.removeprefix("#/properties/").split("/")
        name = unescape(unquote(first))
        result["$ref"] = "/".join(("#/properties", escape(names.get(name, name)), *rest)) if name in names else reference
    return result
