"""Base class and types of the format's models: its JSON is proto3 JSON, which allows several forms of some values."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, AliasGenerator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_snake
from pydantic_core import CoreSchema, core_schema

from formatbridge.jsontext.types import JsonObject
from formatbridge.validation.wire_base import Int, Number, Wire

T = TypeVar("T")


def _key_names(name: str) -> str | AliasChoices:
    """Return the keys of a field: the documented one, and its snake_case form."""
    snake = to_snake(name)
    return name if snake == name else AliasChoices(name, snake)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


class _OneOrMore:
    """Annotates a list that also accepts a single object, and describes both in JSON Schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_as_list, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonObject:
        several = handler(schema)
        return {"anyOf": [several, several["items"]]}


class Proto(Wire):
    """One message of this format; each field is also accepted under its snake_case name.

    If both keys are present, the camelCase one counts and the other stays as an unknown field.
    JSON Schema has the documented key only.
    Seen: recorded traffic, ``inline_data``, ``parameters_json_schema`` and others.
    """

    # The aliases include the field's name, and a second lookup would cost time.
    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=_key_names), populate_by_name=False)


Word = str | int
"""A value of an enumeration: its name, in any case, or its number. The set is open, because servers send new names."""

Int64 = Int | Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")]
"""A 64-bit integer. Proto3 JSON writes it as decimal text; callers often write a number."""

Double = Number | Literal["NaN", "Infinity", "-Infinity"]
"""A number from the server. Proto3 JSON uses strings for values that JSON numbers cannot represent."""

Repeated = Annotated[list[T], _OneOrMore()]
"""A list of objects; a single object counts as a list of one, as on the vendor's server.

Source: widespread request code, ``"contents": {"parts": {"text": "Hi"}}``. Not in recorded traffic.
"""
