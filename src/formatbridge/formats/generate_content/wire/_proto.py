"""What the models of this format share: its JSON is proto3 JSON, which spells some things in more than one way."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, AliasGenerator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_snake
from pydantic_core import CoreSchema, core_schema

from formatbridge.jsontext.types import JsonObject
from formatbridge.validation.wire_base import Int, Number, Wire

T = TypeVar("T")


def _spellings(name: str) -> str | AliasChoices:
    """Name the keys under which a field may come: as documented, or in snake_case."""
    snake = to_snake(name)
    return name if snake == name else AliasChoices(name, snake)


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


class _OneOrMore:
    """Takes one object for a list of it, and says both shapes in JSON Schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_as_list, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonObject:
        several = handler(schema)
        return {"anyOf": [several, several["items"]]}


class Proto(Wire):
    """One message of this format; each field is also read under its snake_case name.

    When both spellings come, the camelCase one wins and the other stays as an unknown field.
    JSON Schema names the documented spelling alone.
    Seen: recorded traffic, ``inline_data``, ``parameters_json_schema`` and others.
    """

    # The spellings have the name already; to look for it once more costs time.
    model_config = ConfigDict(alias_generator=AliasGenerator(validation_alias=_spellings), populate_by_name=False)


Word = str | int
"""A value of an enumeration: its name, in any case, or its number. Open: servers send new names."""

Int64 = Int | Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")]
"""A 64-bit integer; proto3 JSON writes it as decimal text, people write a number."""

Double = Number | Literal["NaN", "Infinity", "-Infinity"]
"""A number computed by the server; proto3 JSON has words for what JSON numbers cannot say."""

Repeated = Annotated[list[T], _OneOrMore()]
"""A list of objects; a single object counts as a list of one, as it does for the vendor's server.

Source: widespread request code, ``"contents": {"parts": {"text": "Hi"}}``. Not in recorded traffic.
"""
