"""What all wire models share: the base class, the open union, and the checker that validates without building models.

Wire models say what a format's JSON looks like, in the format's own spelling. They are open: a field nobody has heard of stays
on the model, and a union member nobody has heard of becomes ``Unknown``. They are strict: ``"5"`` is no integer and ``1`` no flag.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import takewhile
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from formatbridge._json import JsonObject
from formatbridge.formats._limits import EXACT

_Made = TypeVar("_Made", bound="Wire")

Int = Annotated[int, Ge(-(2**63)), Le(2**63 - 1)]
"""A JSON integer that fits 64 bits, signed; what every vendor's server can read."""

Count = Annotated[int, Ge(0), Le(2**63 - 1)]
"""A JSON integer of 0 or more that fits 64 bits."""

WHOLE = "whole"
"""Label of the second reading of a number, as an integer: what is wrong with it the first one says as well."""


class Numeric:
    """Marks a float as a JSON number: finite, and from ``least`` to ``most`` where they are given. An integer of 64 bits stays one.

    Readers in other languages take ``1767225600.0`` for no integer.
    """

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self.least = least
        self.most = most

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        number = core_schema.float_schema(allow_inf_nan=False, ge=self.least, le=self.most)
        least, most = -(2**63) if self.least is None else self.least, 2**63 - 1 if self.most is None else self.most
        return core_schema.union_schema([number, (core_schema.int_schema(ge=least, le=most), WHOLE)])

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonObject:
        return handler(core_schema.float_schema(ge=self.least, le=self.most))


Number = Annotated[float, Numeric()]
"""A finite JSON number; an integer stays one."""


class Wire(BaseModel):
    """One JSON object of a format: the vendor's field names, unknown fields kept, no coercion.

    A field whose name on the wire is no Python name is set by either.
    """

    USUAL: ClassVar[frozenset[str]] = frozenset()
    """Fields of a whole body beside which most bodies have no others, on the wire; such bodies are checked faster. Empty: not said."""

    SPOKEN: ClassVar[frozenset[str]] = frozenset()
    """Usual fields of a request that need no check where its format's ``decode_texts`` has read them."""

    model_config = ConfigDict(
        extra="allow", strict=True, defer_build=True, protected_namespaces=(), serialize_by_alias=True, populate_by_name=True
    )

    if not typing.TYPE_CHECKING and "serialize_by_alias" not in ConfigDict.__annotations__:  # pydantic 2.10

        def model_dump(self, **options: Any) -> JsonObject:
            return super().model_dump(**{"by_alias": True} | options)

        def model_dump_json(self, **options: Any) -> str:
            return super().model_dump_json(**{"by_alias": True} | options)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let what a caller's subclass has for a default count as set."""
        schema = handler(source)
        told = _told(cls)
        return core_schema.no_info_after_validator_function(partial(_count, told), schema) if told else schema

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """Make a model of what is known to be valid."""
        made = super().model_construct(_fields_set, **values)
        return made if _fields_set else _count(_told(cls), made)


AT_ONCE = ConfigDict(defer_build=False)
"""The configuration of whole bodies: built when their module loads, which web frameworks that take them as bodies rely on."""


def _told(model: type[Wire]) -> list[str]:
    """Return the fields whose default says something. Our own models have no default but None, which is "not said"."""
    return [name for name, field in model.model_fields.items() if not field.is_required() and field.default is not None]


def _count(told: list[str], model: _Made) -> _Made:
    model.model_fields_set.update(told)
    return model


class Unknown(Wire):
    """A union member that this version does not know; kept whole."""


class Open:
    """Marks a union of models as told apart by one key, with ``Unknown`` for every other value of it.

    ``Part = Annotated[TextPart | ImagePart | Unknown, Open("type")]``. The key's values are read from the members' ``Literal``
    annotations. An object without the key counts as the value that ``having`` names for the first other key it has, or else as
    ``absent``, or else as unknown. Without ``Unknown`` the union is closed: an unknown value is refused by its name. ``is_named``: nearly
    all have the key, where some may count as another value without it; so those without it are read with a second look.
    """

    def __init__(
        self, key: str, *, absent: str | None = None, having: Mapping[str, str] = MappingProxyType({}), is_named: bool = False
    ) -> None:
        self.key = key
        self.absent = absent
        self.having = having
        self.is_named = is_named or absent is None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices: dict[str, CoreSchema] = {}
        for member in typing.get_args(source):
            schema = handler.generate_schema(member)
            for value in ("?",) if member is Unknown else _literals(member, self.key):
                choices[value] = schema
        metadata = {"key": self.key} if self.is_named else {}
        return core_schema.tagged_union_schema(choices, _discriminator(self, choices), metadata=metadata)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonObject:
        """Let ``Unknown`` take what no other member is asked for; as it stands it takes every object."""
        choices = schema["choices"]
        if "?" not in choices:
            return handler(schema)
        known = [name for name in choices if name != "?"]
        arms: list[JsonObject] = []
        for name, choice in choices.items():
            arm = handler(choice) | self._limits(name, known)
            if arm not in arms:
                arms.append(arm)
        return {"anyOf": arms}

    def _limits(self, name: str, known: list[str]) -> JsonObject:
        """Say in JSON Schema what the discriminator says of ``Unknown``, and of a member that other keys come before."""
        lacked = list(takewhile(lambda key: self.having[key] != name, self.having))
        if name == "?":
            named: JsonObject = {"type": "string", "not": {"enum": known}}
        elif lacked and name in self.having.values():
            named = {"const": name}
        else:
            return {}
        has_key: JsonObject = {"properties": {self.key: named}, "required": [self.key]}
        if name == "?" and self.absent:
            return has_key
        return {"anyOf": [has_key, {"properties": {key: {"type": "null"} for key in (self.key, *lacked)}}]}


Glance = Callable[[Any, Callable[[Any], Any]], Any]
"""Looks at a value: takes it, or hands it to what validates it in full."""


class Plain:
    """Marks values of which many can be told to be sound at a glance; those the checker takes without a second look.

    ``glance`` is given a value and what validates it in full, and returns what to take: at a glance only what the model accepts, and only
    what means the same. It is for objects that may have dozens of fields and mostly have two: looking for each of the others costs
    more than looking at those that are there. ``sound``: which values ``reader`` may leave as they are: those that are valid, those that
    the glance takes (where the order of keys counts, which the checker does not keep), or none, for the glance writes them anew.
    """

    def __init__(self, glance: Glance, *, sound: Literal["valid", "plain", "none"] = "valid") -> None:
        self.glance = glance
        self.sound = sound

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            _in_full, handler(source), metadata={"glance": self.glance, "sound": self.sound}
        )


def _nothing(value: Any) -> None:
    """Take nothing at a glance."""
    del value


def _in_full(value: Any, validate: Callable[[Any], Any]) -> Any:
    return validate(value)


def _only_at_a_glance(glance: Glance) -> CoreSchema:
    def demand(value: Any) -> Any:
        if glance(value, _nothing) is None:
            raise ValueError("this needs a second look")
        return value

    return core_schema.no_info_plain_validator_function(demand)


def _literals(member: type[BaseModel], key: str) -> list[str]:
    annotation = member.model_fields[key].annotation
    arms = typing.get_args(annotation) if typing.get_origin(annotation) is not Literal else (annotation,)
    return [value for arm in arms if typing.get_origin(arm) is Literal for value in typing.get_args(arm)]


def _discriminator(union: Open, choices: Mapping[str, object]) -> Callable[[Any], str | None]:
    """Name the member that reads a value; an unknown name goes to ``Unknown``, where there is one, and what is no name nowhere."""
    key, otherwise, having, is_open = union.key, union.absent or "?", tuple(union.having.items()), "?" in choices

    def tag(value: Any) -> str | None:
        found = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        if type(found) is str and found in choices:  # nearly always
            return found
        if found is None:
            found = otherwise
            for other, name in having:
                if (value.get(other) if isinstance(value, dict) else getattr(value, other, None)) is not None:
                    found = name
                    break
        if not isinstance(found, str):
            return None
        return found if found in choices or not is_open else "?"

    tag.__name__ = key  # the validator's errors name the function: this makes them name the key
    return tag


def checker(shape: Any) -> SchemaValidator:
    """Compile a model, or a union of some, to a validator that returns plain dicts in the vendor's spelling and builds no model objects.

    It refuses what the model refuses and costs half as much. Unknown keys are kept; absent fields stay absent.
    """
    return SchemaValidator(dicts_of(shape))


def dicts_of(shape: Any) -> Any:
    """Return the core schema of a model, or of a union of some, with a typed dict of the same fields for each model."""
    return _as_dicts(TypeAdapter(shape).core_schema)


class Reader(NamedTuple):
    """Reads values of one shape as ``checker`` does, but returns one itself, not a copy, where nothing in it is to be changed."""

    read: Callable[[Any], Any]
    """Returns a value or what means the same; raises ``ValidationError`` where it is not of the shape."""
    is_sound: Callable[[Any], bool]
    """Says whether ``read`` returns a value itself. One that is not sound may be valid all the same."""
    in_full: Callable[[Any], Any]
    """Reads what is not sound."""
    is_sound_beside: Callable[[Any], bool]
    """Says whether an object would be sound if those of its fields were that are ``read elsewhere``."""


def reader(shape: Any, usual: frozenset[str] = frozenset(), elsewhere: frozenset[str] = frozenset()) -> Reader:
    """Return what reads values of a shape.

    ``usual``: fields beside which most objects of this shape have no others. Those objects are not asked for the others; what else there is
    is read in full, with a validator that is made for the first of its kind. ``elsewhere``: usual fields that others may have read.
    """
    schema = dicts_of(shape)
    made = cache(lambda: checker(shape).validate_python if not usual or _rewrites(schema) else reader(shape).read)
    is_sound = _usual_and_sound(schema, usual, usual) if usual else SchemaValidator(_as_it_is(schema)).isinstance_python
    is_sound_beside = _usual_and_sound(schema, usual, usual - elsewhere) if elsewhere else is_sound

    def in_full(value: Any) -> Any:
        return made()(value)

    def read(value: Any) -> Any:
        return value if is_sound(value) else in_full(value)

    return Reader(read, is_sound, in_full, is_sound_beside)


def _usual_and_sound(schema: Any, usual: frozenset[str], looked_at: frozenset[str]) -> Callable[[Any], bool]:
    """Return what says whether an object has usual fields only, and is sound in those that are to be looked at."""
    is_usual = usual.issuperset
    is_sound = SchemaValidator(_as_it_is(_with_fields(schema, looked_at))).isinstance_python

    def is_usual_and_sound(value: Any) -> bool:
        return type(value) is dict and is_usual(value) and is_sound(value)

    return is_usual_and_sound


def _with_fields(schema: Any, names: frozenset[str]) -> Any:
    """Return the schema of an object with some of its fields, under their documented names."""
    if schema["type"] == "typed-dict":
        fields = {name: field | {"validation_alias": name} for name, field in schema["fields"].items() if name in names}
        return schema | {"fields": fields}
    return schema | {"schema": _with_fields(schema["schema"], names)}


def _rewrites(schema: Any) -> bool:
    """Say whether some values of a schema are never sound, so that to look for what is gains nothing."""
    if isinstance(schema, dict):
        if schema.get("metadata", {}).get("sound") == "none":
            return True
        return any(_rewrites(value) for key, value in schema.items() if key != "metadata")
    return isinstance(schema, list | tuple) and any(map(_rewrites, schema))


def _as_it_is(schema: Any) -> Any:
    """Let a checker's schema take only what it would return as it is, and make as little of it as can be.

    So unknown keys are not looked for unless they may be second names, a number is a double of an exact size, for an integer beyond 64 bits
    would become one, and what has no kind, or an unknown one, is left to the checker where that is rare. What a function validates is never
    sound, unless the function's schema says in its metadata that it ``checks`` and changes nothing, or ``mends`` what its inner schema
    would refuse.
    """
    if not isinstance(schema, dict):
        return type(schema)(map(_as_it_is, schema)) if isinstance(schema, list | tuple) else schema
    made = {key: value if key == "metadata" else _as_it_is(value) for key, value in schema.items()}
    match schema:
        case {"type": "typed-dict", "fields": fields}:
            has_names = any(isinstance(field.get("validation_alias"), list) for field in fields.values())
            return made | {"extra_behavior": "forbid" if has_names else "ignore"}
        case {"type": "typed-dict-field", "validation_alias": [*_]}:
            return {key: value for key, value in made.items() if key != "validation_alias"}
        case {"type": "function-before", "metadata": {"mends": True}}:
            return made["schema"]
        case {"metadata": {"glance": glance, "sound": "plain"}}:
            return _only_at_a_glance(glance)
        case {"metadata": {"checks": True} | {"sound": "valid"}}:
            return made
        case {"type": "function-before" | "function-wrap" | "function-after" | "function-plain"}:
            return _only_at_a_glance(_in_full)
        case {"type": "tagged-union", "metadata": {"key": key}}:
            return made | {"discriminator": key}
        case {"type": "union", "choices": [_, (_, label)]} if label == WHOLE:
            return {"le": EXACT, "ge": -EXACT} | made["choices"][0]
        case _:
            return made


def _as_dicts(schema: Any) -> Any:
    """Turn each model in a core schema into a typed dict of the same fields; iteration order is the schema's own."""
    if isinstance(schema, dict):
        if schema.get("type") == "model":
            return _typed_dict(schema)
        made = {key: value if key == "metadata" else _as_dicts(value) for key, value in schema.items()}
        if schema.get("type") == "function-wrap" and "glance" in schema.get("metadata", ()):
            made["function"] = made["function"] | {"function": schema["metadata"]["glance"]}
        return made
    if isinstance(schema, list | tuple):
        return type(schema)(_as_dicts(item) for item in schema)
    return schema


def _typed_dict(schema: Mapping[str, Any]) -> JsonObject:
    given = schema["schema"]["fields"]
    fields = {field.get("serialization_alias", name): _typed_dict_field(field) for name, field in given.items()}
    made = {"type": "typed-dict", "fields": fields, "extra_behavior": "allow", "config": {"strict": True}}
    return made | ({"ref": schema["ref"]} if "ref" in schema else {})


def _typed_dict_field(field: Mapping[str, Any]) -> JsonObject:
    has_default = field["schema"]["type"] == "default"
    made: JsonObject = {
        "type": "typed-dict-field",
        "schema": _as_dicts(field["schema"]["schema"] if has_default else field["schema"]),
        "required": not has_default,
    }
    return made | ({"validation_alias": field["validation_alias"]} if "validation_alias" in field else {})
