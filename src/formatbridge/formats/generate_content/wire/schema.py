"""The vendor's schema dialect, a subset of OpenAPI 3."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import Int64, Proto, Word
from formatbridge.validation.wire_base import Number


class Schema(Proto):
    """The schema of a value; keys of JSON Schema that are unknown here, such as ``$ref``, are kept unchanged.

    The vendor rejects ``oneOf``, ``allOf``, ``not``, ``const`` and ``$ref``; ``parametersJsonSchema`` accepts some of them.
    Source: official SDK types, 2026-11. Seen: recorded traffic, types in either case.
    """

    additionalProperties: "bool | Schema | None" = None
    defs: "dict[str, Schema] | None" = None
    """At the root only."""
    ref: str | None = None
    """A reference to a child of ``defs``."""
    anyOf: "list[Schema] | None" = None
    default: Any = None
    description: str | None = None
    enum: list[Any] | None = None
    """Strings on the vendor's servers; numbers and null occur where clients send a JSON Schema."""
    example: Any = None
    format: str | None = None
    """float, double, int32, int64, enum, date-time and others."""
    items: "Schema | None" = None
    maxItems: Int64 | None = None
    maxLength: Int64 | None = None
    maxProperties: Int64 | None = None
    maximum: Number | None = None
    minItems: Int64 | None = None
    minLength: Int64 | None = None
    minProperties: Int64 | None = None
    minimum: Number | None = None
    nullable: bool | None = None
    pattern: str | None = None
    properties: "dict[str, Schema] | None" = None
    propertyOrdering: list[str] | None = None
    required: list[str] | None = None
    title: str | None = None
    type: Word | list[str] | None = None
    """STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, OBJECT or NULL, in any case. A list, as in JSON Schema, is rejected
    by the server."""
