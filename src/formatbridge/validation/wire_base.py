"""What all wire models share: the base class, the open union, and the marks for those who validate without building models.

Wire models say what a format's JSON looks like, in the format's own spelling. They are open: a field nobody has heard of stays
on the model, and a union member nobody has heard of becomes ``Unknown``. They are strict: ``"5"`` is no integer and ``1`` no flag.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import takewhile
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from formatbridge.jsontext.types import JsonObject

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

    ESSENTIAL: ClassVar[tuple[str, ...]] = ()
    """Paths of what an answer cannot be read without, with a star for any index; whatever else is malformed, the answer is read."""

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
    ``absent``, or else as unknown. Without ``Unknown`` the union is closed: an unknown value is refused by its name.
    """

    def __init__(self, key: str, *, absent: str | None = None, having: Mapping[str, str] = MappingProxyType({})) -> None:
        self.key = key
        self.absent = absent
        self.having = having

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices: dict[str, CoreSchema] = {}
        for member in typing.get_args(source):
            schema = handler.generate_schema(member)
            for value in ("?",) if member is Unknown else _literals(member, self.key):
                choices[value] = schema
        return core_schema.tagged_union_schema(choices, _discriminator(self, choices))

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


def lazy_names(package: str, modules: Sequence[str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose public names are in its modules (PEP 562).

    A name is looked up in the modules in their order, each of which is imported when it is first needed: a service that converts requests
    does not build the models of answers.
    """

    def getattr_(name: str) -> Any:
        if not name.startswith("_"):
            for module in modules:
                found = getattr(import_module(f"{package}.{module}"), name, None)
                if found is not None:
                    setattr(sys.modules[package], name, found)
                    return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return getattr_
