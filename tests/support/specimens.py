"""A body for each field and each union member of a type, for fields that no recording has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formatbridge.validation.wire_base import Unknown
from tests.support.sdk_types import Field, fields, shape

SCALARS: dict[str, Any] = {"boolean": True, "integer": 1, "number": 1, "null": None}
"""A value of each kind except text."""

TEXTS = {
    "arguments": '{"a": 1}',
    "b64_json": "iVBORw0KGgo=",
    "data": "iVBORw0KGgo=",
    "document_url": "https://example.org/a.pdf",
    "input_audio": "UklGRiQAAABXQVZF",
    "file_data": "data:application/pdf;base64,JVBERi0=",
    "file_url": "https://example.org/a.pdf",
    "image_url": "https://example.org/a.png",
    "media_type": "image/png",
    "mimeType": "image/png",
    "result": "iVBORw0KGgo=",
    "thoughtSignature": "c2lnbg==",
    "url": "https://example.org/a.png",
}
"""Texts with a syntax."""

DEEPEST = 8


def specimens(root: type) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the smallest body of a type, and for each of its fields, at any depth, one with each of its possible values.

    Of each object there is one more, with all fields at once. Each body comes with the path of its special value. Types do not nest in
    themselves.
    """
    for path, value in _each(root, "", ()):
        if isinstance(value, dict):
            yield path, value


def _each(annotation: Any, name: str, above: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """Yield each possible value of a place."""
    place = shape(annotation)
    for member in place.objects:
        if member is not Unknown:
            yield from _each_object(member, above)
    for item in place.items:
        yield from ((f"[]{path}", [value]) for path, value in _each(item, name, above))
    for inner in place.values:
        yield from (("{}" + path, {"k": value}) for path, value in _each(inner, "k", above))
    yield from ((word, word) for word in sorted(place.words))
    if "string" in place.scalars and not place.is_closed:
        yield "text", TEXTS.get(name, f"{name}_x")
    yield from ((kind, SCALARS[kind]) for kind in sorted(place.scalars & SCALARS.keys()) if kind != "null")
    if place.is_free:
        yield "anything", {"k": "x"}


def _each_object(member: type, above: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the smallest object of a type, one with all its fields, and one with each possible value of each of them."""
    smallest = _smallest_object(member, above)
    yield member.__name__, smallest
    if member in above or len(above) == DEEPEST:
        return
    whole = {field.name: _smallest(field.annotation, field.name, (*above, member)) for field in fields(member)}
    yield f"{member.__name__} in full", whole
    for field in fields(member):
        for path, value in _each(field.annotation, field.name, (*above, member)):
            if value != smallest.get(field.name):
                yield f"{member.__name__}.{field.name}={path}", smallest | {field.name: value}


def _smallest_object(member: type, above: tuple[type, ...]) -> dict[str, Any]:
    if member in above:
        return {}
    return {field.name: _smallest(field.annotation, field.name, (*above, member)) for field in fields(member) if _is_needed(field)}


def _is_needed(field: Field) -> bool:
    """Return whether an object requires a field; a field with a default that distinguishes it from others is required."""
    return field.is_required or (field.shape.is_closed and len(field.shape.words) == 1)


def _smallest(annotation: Any, name: str, above: tuple[type, ...]) -> Any:
    place = shape(annotation)
    if place.is_closed:
        return min(place.words)
    if "string" in place.scalars:
        return TEXTS.get(name, f"{name}_x")
    if known := [member for member in place.objects if member is not Unknown]:
        return _smallest_object(known[0], above)
    if place.items:
        return [_smallest(place.items[0], name, above)]
    return next((SCALARS[kind] for kind in sorted(place.scalars & SCALARS.keys())), {})
