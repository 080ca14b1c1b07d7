"""Compares an SDK's types with the wire models and lists missing fields."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support import sdk_types
from tests.support.sdk_types import Shape

Variant = tuple[tuple[str, str | None], ...]
"""One choice of tag values of an SDK's object; None stands for a tag that is absent or null."""


@dataclass(frozen=True)
class Finding:
    """A field or member of an SDK's types that the wire models lack."""

    place: str
    """Class and field of the wire model, dotted: ``Request.betas``."""
    trouble: str
    origin: str
    """The SDK's type, and the path to it from a root."""

    def __str__(self) -> str:
        return f"{self.place}: {self.trouble} [{self.origin}]"


@dataclass(frozen=True)
class Pair:
    """A place that both sides describe."""

    sdk: Shape
    ours: Shape
    place: str
    origin: str

    def below(self, sdk: Iterable[Any], ours: Iterable[Any], step: str) -> "Pair":
        return Pair(sdk_types.shape(*sdk), sdk_types.shape(*ours), self.place, self.origin + step)

    def finding(self, trouble: str) -> Finding:
        return Finding(self.place, trouble, self.origin)


@dataclass(frozen=True)
class Match:
    """An SDK's object type and the wire model that reads it, distinguished from its siblings by some tags."""

    sdk: type
    ours: type
    tags: frozenset[str]
    path: str


Step = Finding | Pair | Match


def walk(roots: Iterable[tuple[str, Any, Any]]) -> list[Finding]:
    """Compare roots (name, the SDK's annotation, the wire model's) and all below; each problem of a place is reported once."""
    queue = collections.deque[Step](Pair(sdk_types.shape(sdk), sdk_types.shape(ours), name, name) for name, sdk, ours in roots)
    result: dict[tuple[str, str], Finding] = {}
    seen: set[tuple[type, type]] = set()
    while queue:
        match queue.popleft():
            case Finding() as finding:
                result.setdefault((finding.place, finding.trouble), finding)
            case Pair() as pair:
                queue.extend(_compare(pair))
            case Match() as match if (match.sdk, match.ours) not in seen:
                seen.add((match.sdk, match.ours))
                queue.extend(_open(match))
    return sorted(result.values(), key=lambda finding: finding.place)


def _open(match: Match) -> Iterator[Step]:
    """Compare the fields of a matched object.

    An SDK allows null for a field that is optional in Python; if the wire model requires the field, that has no meaning.
    """
    known = sdk_types.field_by_name(match.ours)
    for field in sdk_types.fields(match.sdk):
        place = f"{match.ours.__name__}.{field.name}"
        origin = f"{match.sdk.__name__}, {match.path}.{field.name}"
        ours = known.get(field.name)
        if ours is None:
            yield Finding(place, "unknown field", origin)
        elif field.name not in match.tags:
            sdk = field.shape
            if ours.is_required and not field.is_required:
                sdk = dataclasses.replace(sdk, scalars=sdk.scalars - {"null"})
            yield Pair(sdk, ours.shape, place, origin)


def _compare(pair: Pair) -> Iterator[Step]:
    yield from _compare_objects(pair)
    yield from _compare_containers(pair)
    if not pair.ours.is_free:
        yield from _compare_scalars(pair)


def _compare_objects(pair: Pair) -> Iterator[Step]:
    if pair.ours.objects:
        for sdk_object in pair.sdk.objects:
            yield from _find_members(sdk_object, pair)
    elif pair.ours.takes_any_object:
        if pair.sdk.objects and not pair.sdk.takes_any_object:
            yield pair.finding(f"free-form, typed in the SDK: {_names(pair.sdk.objects)}")
    elif pair.ours.values:
        for field in (field for sdk_object in pair.sdk.objects for field in sdk_types.fields(sdk_object)):
            yield pair.below([field.annotation], pair.ours.values, f".{field.name}")
    elif pair.sdk.objects:
        yield pair.finding(f"takes no object: {_names(pair.sdk.objects)}")


def _compare_containers(pair: Pair) -> Iterator[Step]:
    sdk, ours = pair.sdk, pair.ours
    if sdk.items and (ours.items or ours.is_free):
        yield pair.below(sdk.items, ours.items or [Any], "[]")
    elif sdk.items:
        yield pair.finding("takes no array")
    if sdk.values and (ours.values or ours.is_free):
        yield pair.below(sdk.values, ours.values or [Any], "{}")
    elif sdk.values and not ours.objects:
        yield pair.finding("takes no object")


def _compare_scalars(pair: Pair) -> Iterator[Step]:
    taken = pair.ours.scalars | ({"integer"} if "number" in pair.ours.scalars else set())
    for kind in sorted(pair.sdk.scalars - taken):
        if kind != "string" or not pair.ours.words:
            yield pair.finding(f"takes no {kind}")
    if pair.ours.words and "string" not in taken and "string" in pair.sdk.scalars:
        yield pair.finding(f"takes no string but {sorted(pair.ours.words)}")
    if "string" not in taken and not pair.sdk.words <= pair.ours.words:
        yield pair.finding(f"does not take {sorted(pair.sdk.words - pair.ours.words)}")


def _find_members(sdk_object: type, pair: Pair) -> Iterator[Step]:
    """Find the wire model for each choice of an object's tags."""
    for variant in _variants(sdk_object, pair.ours):
        members = [member for member in pair.ours.objects if _reads(member, variant, pair.ours)]
        best = max(members, key=lambda member: _likeness(sdk_object, member), default=None)
        tags = frozenset(key for key, _ in variant)
        if best is None or (len(pair.ours.objects) > 1 and not tags and _is_stranger(sdk_object, best)):
            reported = ", ".join(f"{key}={word}" for key, word in variant) or sdk_object.__name__
            yield Finding(f"{pair.place}({reported})", "no such member", f"{sdk_object.__name__}, {pair.origin}")
        else:
            yield Match(sdk_object, best, tags, pair.origin.rpartition(", ")[2])


def _variants(sdk_object: type, ours: Shape) -> Iterator[Variant]:
    """Yield the choices of tag values; a tag is a key with closed values in the SDK and in a wire model."""
    choices: dict[str, list[str | None]] = {key: [None] for key in ours.absent}
    for field in sdk_types.fields(sdk_object):
        if field.shape.is_closed and any(_closes(member, field.name) for member in ours.objects):
            choices[field.name] = [*sorted(field.shape.words), *([] if field.is_required else [None])]
        else:
            choices.pop(field.name, None)
    keys = list(choices)
    for values in itertools.product(*choices.values()):
        yield tuple(zip(keys, values, strict=True))


def _closes(member: type, name: str) -> bool:
    field = sdk_types.field_by_name(member).get(name)
    return field is not None and field.shape.is_closed


def _reads(member: type, variant: Variant, union: Shape) -> bool:
    """Return whether the union, or the member itself, accepts an object with these tags for this member."""
    return all(_reads_tag(member, key, union.absent.get(key) if word is None else word, union) for key, word in variant)


def _reads_tag(member: type, key: str, word: str | None, union: Shape) -> bool:
    field = sdk_types.field_by_name(member).get(key)
    if field is None:
        return key not in union.absent
    if word is None:
        return key not in union.absent and not field.is_required
    return not field.shape.is_closed or word in field.shape.words


def _likeness(sdk_object: type, member: type) -> tuple[int, int]:
    """Rank a member: by the number of shared fields, then by the fewest others."""
    known = sdk_types.field_by_name(member)
    return sum(field.name in known for field in sdk_types.fields(sdk_object)), -len(known)


def _is_stranger(sdk_object: type, member: type) -> bool:
    return bool(sdk_types.fields(sdk_object)) and not _likeness(sdk_object, member)[0]


def _names(objects: Iterable[type]) -> str:
    return ", ".join(sorted(sdk_object.__name__ for sdk_object in objects))
