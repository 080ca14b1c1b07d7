"""Base classes of all wire models: ``Wire``, number types, and the open union.

Wire models describe the JSON of a format with the vendor's field names. They are open: an unknown field stays on the model, and an unknown
union member becomes ``Unknown``. They are strict: ``"5"`` is not an integer and ``1`` is not a boolean.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from itertools import takewhile
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from formatbridge.jsontext.types import JsonObject

_Model = TypeVar("_Model", bound="Wire")

Int = Annotated[int, Ge(-(2**63)), Le(2**63 - 1)]
"""A JSON integer that fits 64 bits, signed; every vendor's server can read it."""

Count = Annotated[int, Ge(0), Le(2**63 - 1)]
"""A JSON integer of 0 or more that fits 64 bits."""

INTEGER_LABEL = "whole"
"""Label of the integer arm of ``Number``. Its errors are left out, because the float arm reports the same value."""


class Numeric:
    """Annotates a float as a finite JSON number, from ``minimum`` to ``maximum`` where they are set. A 64-bit integer stays an integer.

    Parsers in other languages reject ``1767225600.0`` as an integer.
    """

    def __init__(self, minimum: int | None = None, maximum: int | None = None) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        number = core_schema.float_schema(allow_inf_nan=False, ge=self.minimum, le=self.maximum)
        minimum, maximum = -(2**63) if self.minimum is None else self.minimum, 2**63 - 1 if self.maximum is None else self.maximum
        return core_schema.union_schema([number, (core_schema.int_schema(ge=minimum, le=maximum), INTEGER_LABEL)])

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonObject:
        return handler(core_schema.float_schema(ge=self.minimum, le=self.maximum))


Number = Annotated[float, Numeric()]
"""A finite JSON number; an integer stays one."""


class Wire(BaseModel):
    """One JSON object of a format: the vendor's field names, unknown fields kept, no coercion.

    A field whose JSON key is not a valid Python name accepts both the key and the Python name.
    """

    ESSENTIAL: ClassVar[tuple[str, ...]] = ()
    """Paths of values that an answer must have, with a star for any index. Other malformed values do not make it unreadable."""

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
        """Treat the defaults of a caller's subclass as set fields."""
        schema = handler(source)
        defaults = _fields_with_default(cls)
        return core_schema.no_info_after_validator_function(partial(_mark_as_set, defaults), schema) if defaults else schema

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """Create a model of valid values, without validation."""
        model = super().model_construct(_fields_set, **values)
        return model if _fields_set else _mark_as_set(_fields_with_default(cls), model)


AT_ONCE = ConfigDict(defer_build=False)
"""The configuration of whole bodies: built when their module loads, because web frameworks that use them as request bodies need that."""


def _fields_with_default(model: type[Wire]) -> list[str]:
    """Return the fields with a default other than None. The library's models have only None, which means "not set"."""
    return [name for name, field in model.model_fields.items() if not field.is_required() and field.default is not None]


def _mark_as_set(defaults: list[str], model: _Model) -> _Model:
    model.model_fields_set.update(defaults)
    return model


class Unknown(Wire):
    """A union member of a type that this version does not model; all its fields are kept."""


class Open:
    """Annotates a union of models with its discriminator, with ``Unknown`` for every other value of that key.

    ``Part = Annotated[TextPart | ImagePart | Unknown, Open("type")]``. The values of the key come from the members' ``Literal``
    annotations. For an object without the key, ``having`` maps other keys to values, and the first key that the object has counts.
    Without such a key the value is ``absent``, or else unknown. A union without ``Unknown`` is closed: an unknown value is an error.
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
        """Restrict ``Unknown`` to objects of no other member; its model alone accepts every object."""
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
        """Return the conditions of the discriminator as JSON Schema, for ``Unknown`` and for a member that ``having`` selects."""
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
    """Return the function that selects the member for a value: ``Unknown`` for an unknown string, None for a tag that is no string."""
    key, otherwise, having, is_open = union.key, union.absent or "?", tuple(union.having.items()), "?" in choices

    def tag(value: Any) -> str | None:
        selected = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        if type(selected) is str and selected in choices:  # the common case
            return selected
        if selected is None:
            selected = otherwise
            for other, name in having:
                if (value.get(other) if isinstance(value, dict) else getattr(value, other, None)) is not None:
                    selected = name
                    break
        if not isinstance(selected, str):
            return None
        return selected if selected in choices or not is_open else "?"

    tag.__name__ = key  # the validator's errors contain the name of the function: now it is the key
    return tag


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose public names are in other modules (PEP 562).

    ``modules`` has the names of each module, separated by white space; a dot before a module means that it is in the package.
    A module is imported at the first use of one of its names, so a service that converts only requests does not build the models of
    responses.
    """
    module_of = {name: module for module, names in modules.items() for name in names.split()}
    public_names = sorted(module_of)

    def getattr_(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return getattr_, lambda: public_names, public_names
