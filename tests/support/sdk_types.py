"""Reads type annotations as JSON shapes, the same for the official SDKs' types and for the wire models."""

import collections.abc
import datetime
import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import typing_extensions
from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from formatbridge.validation.wire_base import Open, Unknown

REQUIRED = {typing.Required, typing_extensions.Required}
NOT_REQUIRED = {typing.NotRequired, typing_extensions.NotRequired}
WRAPPERS = REQUIRED | NOT_REQUIRED | {typing_extensions.ReadOnly, typing.ClassVar}
UNIONS = {typing.Union, types.UnionType}
MAPS = {dict, collections.abc.Mapping, collections.abc.MutableMapping}
ARRAYS = {list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable}
SCALARS: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (bytes, "string"),
    (datetime.date, "string"),
    (enum.Enum, "string"),
    (types.NoneType, "null"),
)
"""Python types and their JSON kinds, subclasses before their parents."""


@dataclass(frozen=True)
class Shape:
    """The values that one place of a body may have: the members of a union, sorted by their JSON kind.

    Types that are never sent (open files, paths, Python classes) are left out: they are conveniences of an SDK.
    """

    objects: tuple[type, ...]
    items: tuple[Any, ...]
    """Annotations of the array items, of all array members together; empty if the place accepts no array."""
    values: tuple[Any, ...]
    """Annotations of the values under free keys; empty if the place accepts no such map."""
    scalars: frozenset[str]
    """JSON kinds of the simple values: string, integer, number, boolean, null."""
    words: frozenset[str]
    """The literal strings; the place is closed only if `scalars` has no string."""
    is_free: bool
    """Any JSON is accepted."""
    absent: Mapping[str, str | None]
    """Keys that distinguish the members, and the value of an object without the key."""

    @property
    def is_closed(self) -> bool:
        """Only certain strings are accepted, as for a tag."""
        return bool(self.words) and "string" not in self.scalars and not self.is_free

    @property
    def takes_any_object(self) -> bool:
        return self.is_free or any(value in (Any, object) for value in self.values)


@dataclass(frozen=True)
class Field:
    """One field of an object type: its name on the wire, every name that is read, and its values."""

    name: str
    names: frozenset[str]
    annotation: Any
    is_required: bool

    @functools.cached_property
    def shape(self) -> Shape:
        return shape(self.annotation)


def shape(*annotations: Any) -> Shape:
    """Return the shape of annotations, as if they were members of one union."""
    leaves = [leaf for annotation in annotations for leaf in _leaves(annotation)]
    closed = [leaf for leaf in leaves if not isinstance(leaf, Open)]
    literals = [word for leaf in closed if typing.get_origin(leaf) is typing.Literal for word in typing.get_args(leaf)]
    return Shape(
        objects=tuple(dict.fromkeys(leaf for leaf in closed if _is_object(leaf))),
        items=tuple(_argument(leaf, 0) for leaf in closed if _origin(leaf) in ARRAYS),
        values=tuple(_argument(leaf, 1) for leaf in closed if _origin(leaf) in MAPS),
        scalars=frozenset(filter(None, (*map(_scalar, closed), *(_literal_kind(word) for word in literals)))),
        words=frozenset(word for word in literals if isinstance(word, str)),
        is_free=any(leaf in (Any, object) for leaf in closed),
        absent={leaf.key: leaf.absent for leaf in leaves if isinstance(leaf, Open)},
    )


@functools.cache
def fields(object_type: type) -> tuple[Field, ...]:
    """List the fields of a TypedDict or a model, those of its parents first."""
    if issubclass(object_type, BaseModel):
        hints = _model_hints(object_type)
        return tuple(_model_field(name, info, hints[name]) for name, info in object_type.model_fields.items())
    hints = typing.get_type_hints(object_type, include_extras=True)
    required = object_type.__required_keys__  # type: ignore[attr-defined]  # what makes it a TypedDict
    return tuple(_key(name, hint, name in required) for name, hint in hints.items())


@functools.cache
def field_by_name(object_type: type) -> Mapping[str, Field]:
    """Look up a type's fields by any name that is read."""
    return {name: field for field in fields(object_type) for name in field.names}


def _model_hints(model: type[BaseModel]) -> dict[str, Any]:
    """Resolve the annotations of a model's fields only; those of an SDK's base classes cannot be resolved."""
    hints: dict[str, Any] = {}
    for base in reversed(model.__mro__):
        annotations = {name: hint for name, hint in inspect.get_annotations(base).items() if name in model.model_fields}
        names = vars(sys.modules[base.__module__])
        bearer = types.SimpleNamespace(__annotations__=annotations)
        hints |= typing.get_type_hints(bearer, globalns=names, include_extras=True)
    return hints


def _model_field(name: str, info: FieldInfo, hint: Any) -> Field:
    validation = info.validation_alias
    choices = validation.choices if isinstance(validation, AliasChoices) else [validation, info.alias]
    aliases = [choice for choice in choices if isinstance(choice, str)]
    return Field(
        name=aliases[0] if aliases else name, names=frozenset((name, *aliases)), annotation=hint, is_required=info.is_required()
    )


def _key(name: str, hint: Any, is_required: bool) -> Field:
    """Read one key of a TypedDict, which may have another name on the wire (`PropertyInfo(alias=...)`)."""
    marks = list(_marks(hint))
    aliases = [alias for alias in (getattr(mark, "alias", None) for mark in marks) if isinstance(alias, str)]
    return Field(
        name=aliases[0] if aliases else name,
        names=frozenset((name, *aliases)),
        annotation=hint,
        is_required=(is_required or not REQUIRED.isdisjoint(marks)) and NOT_REQUIRED.isdisjoint(marks),
    )


def _marks(hint: Any) -> Iterator[Any]:
    """Yield the wrappers of a type: `Required`, and the metadata of `Annotated`."""
    origin = typing.get_origin(hint)
    if origin in WRAPPERS:
        yield origin
        yield from _marks(typing.get_args(hint)[0])
    elif origin is typing.Annotated:
        yield from hint.__metadata__
        yield from _marks(hint.__origin__)


def _leaves(annotation: Any) -> Iterator[Any]:
    """Yield the members of a union, unwrapped, and the `Open` markers around them."""
    origin = typing.get_origin(annotation)
    if isinstance(annotation, typing_extensions.TypeAliasType):
        yield from _leaves(annotation.__value__)
    elif origin is typing.Annotated:
        yield from (mark for mark in annotation.__metadata__ if isinstance(mark, Open))
        yield from _leaves(annotation.__origin__)
    elif origin in WRAPPERS or origin in UNIONS:
        for member in typing.get_args(annotation):
            yield from _leaves(member)
    else:
        yield annotation


def _is_object(leaf: Any) -> bool:
    is_model = isinstance(leaf, type) and issubclass(leaf, BaseModel) and leaf is not Unknown
    return is_model or typing_extensions.is_typeddict(leaf)


def _origin(leaf: Any) -> Any:
    return typing.get_origin(leaf) or leaf


def _argument(leaf: Any, index: int) -> Any:
    arguments = typing.get_args(leaf)
    return arguments[index] if index < len(arguments) else Any


def _scalar(leaf: Any) -> str | None:
    if not isinstance(leaf, type) or typing_extensions.is_typeddict(leaf):
        return None
    return next((kind for python_type, kind in SCALARS if issubclass(leaf, python_type)), None)


def _literal_kind(word: object) -> str | None:
    """Name the kind of a literal that is no string; string literals are kept as words."""
    return None if isinstance(word, str) else _scalar(type(word))
