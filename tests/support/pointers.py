"""JSON pointers in tests: the value at a pointer, all leaves below one, and a copy with one value changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ABSENT = object()


def value_at(body: Any, pointer: str) -> Any:
    """Return the value that a pointer names, or ``ABSENT``."""
    value = body
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return ABSENT
    return value


def leaves(body: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every leaf with its pointer: strings, numbers, flags and nulls."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield from leaves(value, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(body, list):
        for index, value in enumerate(body):
            yield from leaves(value, f"{pointer}/{index}")
    else:
        yield pointer, body


def objects(body: Any, pointer: str = "") -> Iterator[str]:
    """Yield the pointer of every object, the body's first."""
    if isinstance(body, dict):
        yield pointer
    items: Any = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in items:
        yield from objects(value, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


def with_value(body: Any, pointer: str, new: Any) -> Any:
    """Return a copy that shares all values except those above a changed value or a new key."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return _with_value(body, steps, new)


def _with_value(body: Any, steps: list[str], new: Any) -> Any:
    if not steps:
        return new
    copy = dict(body) if isinstance(body, dict) else list(body)
    key: Any = steps[0] if isinstance(copy, dict) else int(steps[0])
    copy[key] = _with_value(copy[key], steps[1:], new) if len(steps) > 1 else new
    return copy


def without_value(body: Any, pointer: str) -> Any:
    """Return a copy without the value at a pointer, which exists; later items of a list move up."""
    above, _, step = pointer.rpartition("/")
    holder = value_at(body, above)
    key: Any = int(step) if isinstance(holder, list) else step.replace("~1", "/").replace("~0", "~")
    pairs = enumerate(holder) if isinstance(holder, list) else holder.items()
    kept = [(name, value) for name, value in pairs if name != key]
    return with_value(body, above, [value for _, value in kept] if isinstance(holder, list) else dict(kept))


def is_at_or_below(pointer: str, above: str) -> bool:
    """Return whether a pointer names the same place as another or one inside it."""
    return pointer == above or pointer.startswith(f"{above}/")
