"""The vendor's own schema dialect, a part of OpenAPI 3."""

from typing import Any

from formatbridge.formats.generate_content.wire._proto import Int64, Proto, Word
from formatbridge.validation.wire_base import Number


class Schema(Proto):
    """What a value looks like; keys of plain JSON Schema that are unknown here, such as ``$ref``, are kept as they are.

    The vendor refuses ``oneOf``, ``allOf``, ``not``, ``const`` and ``$ref``; some go in ``parametersJsonSchema``.
    Source: official SDK types, 2026-11. Seen: recorded traffic, types in either case.
    """

    additionalProperties: "bool | Schema | None" = None
    defs: "dict[str, Schema] | None" = None
    """At the root only."""
    ref: str | None = None
    """Points to a child of ``defs``."""
    anyOf: "list[Schema] | None" = None
    default: Any = None
    description: str | None = None
    enum: list[Any] | None = None
    """Text, for the vendor; numbers and null occur where a JSON Schema was handed over as it was."""
    example: Any = None
    format: str | None = None
    """float, double, int32, int64, enum, date-time and what else the server knows."""
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
    """STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, OBJECT or NULL, in any case; a list is JSON Schema's and the server
    refuses it."""
