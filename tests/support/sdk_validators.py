"""Validators from the official SDKs' types, as strict as a vendor's server.

pydantic validates; this module makes its schemas strict. The types alone accept values that no server accepts: items of an ``Iterable`` are
not validated, an unknown key is dropped, ``"5"`` is a number, and an unknown member of a closed enum is only a warning. A union of thirty
members reports thirty errors. Here a union selects a member by the kind of JSON and then by the tag, so that one member reports.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Optional, cast

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import SchemaValidator

Schema = dict[str, Any]
"""One of pydantic's core schemas, read as simple data."""

MARK = "\0"
"""The beginning of a step of an error's location that names a member of a union, and no place of the body."""

RIVAL = f"{MARK}#"
"""The beginning of such a step if no tag distinguishes the members, so that all of them report."""

TAGS = ("type", "role")
"""The keys that distinguish objects."""

SCALARS = {"str", "int", "float", "bool"}
SHELLS = {
    "default": "schema",
    "model": "schema",
    "function-before": "schema",
    "function-after": "schema",
    "function-wrap": "schema",
    "json-or-python": "json_schema",
    "lax-or-strict": "lax_schema",
}
"""Schemas around another one, and the key of the inner schema. The SDKs' functions warn or convert; none of them rejects JSON."""

PYTHON_ONLY = {"is-instance", "custom-error"}
"""Union members for open files, paths or Python classes; conveniences of an SDK that are never sent."""

KINDS = {
    "str": "string",
    "bytes": "string",
    "datetime": "string",
    "enum": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "generator": "array",
    "none": "null",
}
"""Schemas and the kind of JSON that they accept; all others accept objects."""


BASE64 = "^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$"
"""Base64 in either alphabet, with or without padding."""


def validator(annotation: Any) -> SchemaValidator:
    """Compile a type of an SDK. The validator rejects a value or not; its result is not used."""
    adapter = TypeAdapter(Optional[annotation], config=ConfigDict(arbitrary_types_allowed=True))  # noqa: UP045  # a typed dict has no |
    return SchemaValidator(_Tightening(cast(Schema, adapter.core_schema)).result)


def kind_of(value: Any) -> str:
    """Name the kind of a JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


class _Tightening:
    """The strict version of a schema and of the definitions that it shares."""

    def __init__(self, schema: Schema) -> None:
        self.definitions: dict[str, Schema] = {each["ref"]: each for each in schema.get("definitions", ())}
        shared = [self.tight(each) | {"ref": ref} for ref, each in self.definitions.items()]
        main = schema["schema"] if schema["type"] == "definitions" else schema
        self.result: Any = {"type": "definitions", "definitions": shared, "schema": self.tight(main)}

    def tight(self, schema: Schema) -> Schema:
        """Return a schema that accepts JSON of this shape and nothing else."""
        match schema["type"]:
            case "default":
                return {"type": "default", "schema": self.tight(schema["schema"]), "default": None}
            case shell if shell in SHELLS:
                return self.tight(schema[SHELLS[shell]])
            case "nullable":
                return {"type": "nullable", "schema": self.tight(schema["schema"])}
            case "union":
                return self._union(list(self._members(schema)))
            case "typed-dict" | "model-fields":
                return self._object(schema)
            case "list" | "generator":
                return {"type": "list", "items_schema": self.tight(schema.get("items_schema", {"type": "any"}))}
            case "dict":
                return {"type": "dict", "values_schema": self.tight(schema.get("values_schema", {"type": "any"}))}
            case _:
                return _without_metadata(schema)

    def _object(self, schema: Schema) -> Schema:
        fields = {name: field | {"schema": self.tight(field["schema"])} for name, field in schema["fields"].items()}
        extras: Schema = {"extra_behavior": "forbid"}
        if "extras_schema" in schema:
            extras = {"extra_behavior": "allow", "extras_schema": self.tight(schema["extras_schema"])}
        return {"type": schema["type"], "fields": fields} | extras

    def _members(self, schema: Schema | tuple[Schema, str]) -> Iterator[Schema]:
        """Yield the members of a union, also of the unions inside it."""
        schema = schema[0] if isinstance(schema, tuple) else schema
        bare = self._bare(schema)
        if bare["type"] == "union":
            for choice in bare["choices"]:
                yield from self._members(choice)
        elif bare["type"] == "nullable":
            yield {"type": "none"}
            yield from self._members(bare["schema"])
        elif bare["type"] not in PYTHON_ONLY:
            yield schema

    def _union(self, members: list[Schema]) -> Schema:
        """Select the members by the kind of JSON first."""
        if any(self._bare(member)["type"] == "any" for member in members):
            return {"type": "any"}
        by_kind: dict[str, list[Schema]] = {}
        for member in members:
            for kind in self._kinds(member):
                by_kind.setdefault(kind, []).append(member)
        if "object" in by_kind:
            by_kind["object"] = self._as_sent(by_kind["object"])
        choices = {f"{MARK}kind={kind}": self._by_tag(group, TAGS) for kind, group in by_kind.items()}
        return {"type": "tagged-union", "choices": choices, "discriminator": _tag_of("kind")}

    def _as_sent(self, objects: list[Schema]) -> list[Schema]:
        """Drop the models of answers if the types of requests are next to them: an SDK accepts both and sends the latter."""
        types = [self._bare(each)["type"] for each in objects]
        return [each for each, kind in zip(objects, types, strict=True) if kind != "model-fields" or "typed-dict" not in types]

    def _by_tag(self, members: list[Schema], keys: tuple[str, ...]) -> Schema:
        """Select among objects by a key; without a suitable key, try one after the other."""
        if len(members) == 1:
            return self.tight(members[0])
        if not keys:
            rivals = [(self.tight(member), f"{RIVAL}{index}") for index, member in enumerate(members)]
            return {"type": "union", "choices": rivals, "mode": "left_to_right"}
        words = [self._words(member, keys[0]) for member in members]
        if not all(words):
            return self._by_tag(members, keys[1:])
        choices = {
            f"{MARK}{keys[0]}={word}": self._by_tag(
                [m for m, values in zip(members, words, strict=True) if word in values], keys[1:]
            )
            for word in sorted(set().union(*words), key=str)
        }
        return {"type": "tagged-union", "choices": choices, "discriminator": _tag_of(keys[0])}

    def _words(self, member: Schema, key: str) -> set[str | None]:
        """Return the words that a member accepts at a key, with None if it may be absent; an empty set if it accepts any."""
        field = self._bare(member).get("fields", {}).get(key)
        if field is None:
            return set()
        schema, is_optional = field["schema"], not field.get("required", field["schema"]["type"] != "default")
        while schema["type"] in ("default", "nullable"):
            schema, is_optional = schema["schema"], True
        words = set(schema["expected"]) if schema["type"] == "literal" else set()
        return words | {None} if words and is_optional else words

    def _kinds(self, member: Schema) -> Iterable[str]:
        bare = self._bare(member)
        if bare["type"] == "literal":
            return dict.fromkeys(kind_of(word) for word in bare["expected"])
        return [KINDS.get(bare["type"], "object")]

    def _bare(self, schema: Schema) -> Schema:
        """Return the schema inside wrappers and references."""
        while True:
            if schema["type"] in SHELLS:
                schema = schema[SHELLS[schema["type"]]]
            elif schema["type"] == "definition-ref":
                schema = self.definitions[schema["schema_ref"]]
            else:
                return schema


def _without_metadata(schema: Schema) -> Schema:
    match schema["type"]:
        case scalar if scalar in SCALARS:
            return {key: value for key, value in schema.items() if key not in ("ref", "metadata")} | {"strict": True}
        case "enum":
            return {"type": "literal", "expected": _words_of_enum(schema["members"])}
        case "bytes":
            return {"type": "str", "strict": True, "pattern": BASE64}
        case _:
            return {key: value for key, value in schema.items() if key not in ("ref", "metadata", "serialization")}


def _words_of_enum(members: Iterable[Any]) -> list[str]:
    """List an enum's words also in upper and lower case: the only SDK with enums accepts both."""
    words = [str(member.value) for member in members]
    return list(dict.fromkeys(value for word in words for value in (word, word.upper(), word.lower())))


def _tag_of(key: str) -> Callable[[Any], str]:
    """Return a function that names a value's member; a value without a readable tag is named by its kind."""

    def tag(value: Any) -> str:
        if key == "kind" or not isinstance(value, Mapping):
            return f"{MARK}kind={kind_of(value)}"
        return f"{MARK}{key}={value.get(key)}"

    return tag
