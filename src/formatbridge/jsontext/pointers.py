"""The steps of JSON pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def escape(key: str) -> str:
    """Write a key as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def unescape(step: str) -> str:
    """Read one step of a JSON pointer back as a key."""
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def prefixes(pointer: str) -> Iterator[str]:
    """Return a pointer and those of the values that contain its value."""
    steps = pointer.split("/")
    return ("/".join(steps[:length]) for length in range(1, len(steps) + 1))


Path = tuple[str | int, ...]
"""The keys and indexes that lead from a body to a value."""


def pointer_of(path: Path) -> str:
    """Write a path as a JSON pointer."""
    return "".join(f"/{escape(step) if isinstance(step, str) else step}" for step in path)


def shift_index(pointer: str, list_field: str, first: int, count: int) -> str:
    """Add ``count`` to the index of a pointer into a list of a body, for items from index ``first`` on.

    ``list_field``: the steps to the list, with slashes: ``messages``, or ``messages/0/content``.
    """
    steps, place = pointer.split("/"), list_field.count("/") + 2  # "/messages/0/content"
    if len(steps) > place and steps[1:place] == list_field.split("/") and int(steps[place]) >= first:
        steps[place] = str(int(steps[place]) + count)
    return "/".join(steps)


def value_at(body: Any, path: Path) -> Any:
    """Return the value at a path; None where the body has none."""
    for step in path:
        if not (step in body if isinstance(body, dict) else isinstance(body, list) and isinstance(step, int) and step < len(body)):
            return None
        body = body[step]
    return body


def index_in(raw: Mapping[str, Any], key: str) -> int:
    """Return the integer under a key of an object; 0 where there is none."""
    value = raw.get(key)
    return value if type(value) is int else 0


def continued(place: Path, lengths: Mapping[Path, int]) -> Path:
    """Return the path in the whole answer of a path in one chunk: add to its first list index the items that came before (``lengths``)."""
    for depth in range(2, len(place)):
        step = place[depth]
        if isinstance(step, int):
            return (*place[:depth], step + lengths.get(place[:depth], 0), *place[depth + 1 :])
    return place


PRECOMPUTED = 64
"""List items whose pointers are precomputed, because building them takes a measurable share of the time of a small request."""


def precomputed_pointers(above: str, below: str) -> tuple[tuple[str, str], ...]:
    """Return the pointers of the first items of a list, each with the pointer of a member of it."""
    return tuple((f"{above}/{index}", f"{above}/{index}/{below}") for index in range(PRECOMPUTED))


def to_snake(key: str) -> str:
    """Convert a camelCase key to snake_case."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)


def camel_and_snake(key: str) -> tuple[str, ...]:
    """Return a camelCase key and its form in snake_case; one key if both are the same."""
    snake = to_snake(key)
    return (key,) if snake == key else (key, snake)


Place = tuple["Place", str | int] | tuple[()]
"""A place in a body, as a pair of the parent's place and the last step; empty for the body itself.

A walk through a body builds one pair per value. A pointer string per value would copy every key above it.
"""


def pointer_to(place: Place) -> str:
    """Write the pointer of a place."""
    steps: list[str] = []
    while place:
        place, step = place
        steps.append(f"/{escape(step) if isinstance(step, str) else step}")
    return "".join(reversed(steps))


def objects_in(body: Any) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a body, each with its place."""
    pending: list[tuple[Place, Any]] = [((), body)]
    while pending:
        place, node = pending.pop()
        if isinstance(node, dict):
            yield place, node
            pending += [((place, key), item) for key, item in node.items()]
        elif isinstance(node, list):
            pending += [((place, index), item) for index, item in enumerate(node)]


def is_below(pointer: str, rank: int, ranks: Mapping[str, int]) -> bool:
    """Return whether a pointer is below another one of the same rank or a higher one."""
    end = pointer.rfind("/")
    while end >= 0:
        if ranks.get(pointer[:end], -1) >= rank:
            return True
        end = pointer.rfind("/", 0, end)
    return False
