"""Align the lists of three bodies: that of the caller, and two that the encoder wrote from it, for any server and for one server."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import to_snake


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a list for a server."""

    raw: int | None
    """Its index in the list of the caller; None for a new item."""
    index: int
    """Its index in the list for the server as the encoder wrote it; -1 if the encoder does not write it."""
    before: Any = None
    """The item for any server; None if it is new or stays as it is."""
    after: Any = None
    """The item for the server; None if it stays as it is."""


def aligned(raw: list[Any], before: list[Any], after: list[Any], *, is_tools: bool) -> list[Item] | None:
    """Return the items of the list for the server in their order; None if it cannot be decided which items of the caller they are.

    Items stay in the order of the caller if the two lists of the encoder have the same items. ``is_tools``: names are unique, and items may
    come from other fields.
    """
    sources = _written_as(raw, before, is_tools=is_tools)
    if sources is None:
        return None
    links = _links(before, after, is_tools=is_tools)
    unwritten = sorted({*range(len(raw))} - {index for indexes in sources.values() for index in indexes})
    placed: list[tuple[int, Item]] = []
    for index, item in enumerate(after):
        source = links.get(index)
        if source is not None:
            items = _placed(sources.get(source, []), index, before[source], item)
        elif _has(raw, unwritten, item):
            items = []
        else:  # an item that is new, or that the caller has in another form
            items = [(-1, Item(None, index, after=item))] if is_tools or not unwritten else None
        if items is None:
            return None
        placed += items
    # What is left out and not from the caller's list is another form of one of its items, or comes from another field.
    if not is_tools and any(source not in sources and source not in links.values() for source in range(len(before))):
        return None
    if [links.get(index) for index in range(len(after))] == [*range(len(before))]:
        placed.sort(key=lambda each: each[0])
    return _with_unwritten(placed, unwritten)


def _placed(sources: list[int], index: int, before: Any, after: Any) -> list[tuple[int, Item]] | None:
    """Return the items of the caller for one item for the server, each with its index in the list of the caller; None if it is unknown.

    ``sources``: their indexes in the list of the caller, several if the encoder has joined them.
    """
    if dumps(before) == dumps(after):
        return [(source, Item(source, index)) for source in sources]  # none: the caller has it in another form or in another field
    if len(sources) == 1:
        return [(sources[0], Item(sources[0], index, before, after))]
    return [(sources[0], Item(None, index, after=after))] if sources else None


def _with_unwritten(placed: list[tuple[int, Item]], unwritten: list[int]) -> list[Item]:
    """Return items with those that the encoder does not write, each after the item before it in the list of the caller."""
    result = [*placed]
    for index in unwritten:
        earlier = [at for at, (place, _) in enumerate(result) if 0 <= place < index]
        result.insert(max(earlier, key=lambda at: result[at][0], default=-1) + 1, (index, Item(index, -1)))
    return [item for _, item in result]


def _has(raw: list[Any], indexes: list[int], item: Any) -> bool:
    """Return whether one of some items of the caller has all of another item already."""
    return any(covers(raw[index], item) for index in indexes)


def _written_as(raw: list[Any], before: list[Any], *, is_tools: bool) -> dict[int, list[int]] | None:
    """Return the indexes in ``raw`` of each item of ``before``: several, if the encoder has joined them; None if they cannot be decided.

    Each list may have items that the other one does not have.
    """
    present, written = _by_kind(raw), _by_kind(before)
    both = written.keys() & present.keys()
    only_one = present.keys() - both and written.keys() - both
    if any(len(present[kind]) != len(written[kind]) for kind in both) or (only_one and not is_tools):
        return _with_common_values(raw, before)
    return {one: [index] for kind in both for one, index in zip(written[kind], present[kind], strict=True)}


def _by_kind(items: list[Any]) -> dict[Hashable, list[int]]:
    """Return the indexes of the items of each kind."""
    result: dict[Hashable, list[int]] = {}
    for index, item in enumerate(items):
        result.setdefault(_kind(item), []).append(index)
    return result


def _with_common_values(raw: list[Any], before: list[Any]) -> dict[int, list[int]] | None:
    """Return the indexes in ``raw`` of each item of ``before`` of the same kind and with the most common values."""
    values, written = ([{*map(repr, _values(item))} for item in items] for items in (raw, before))
    kinds, written_kinds = ([_kind(item) for item in items] for items in (raw, before))
    pairs: dict[int, list[int]] = {}
    last: dict[Hashable, int] = {}
    for index, kind in enumerate(kinds):
        common = {at: len(values[index] & written[at]) for at, other in enumerate(written_kinds) if other == kind}
        most = max(common.values(), default=0)
        if most:
            # Of several equal items, this is the one after the last one.
            candidates = [at for at, count in common.items() if count == most]
            at = next((at for at in candidates if at > last.get(kind, -1)), candidates[-1])
            last[kind] = at
            pairs.setdefault(at, []).append(index)
    others = {*range(len(raw))} - {index for indexes in pairs.values() for index in indexes}
    if any(not values[index].isdisjoint(written[at]) for index in others for at in range(len(before)) if at not in pairs):
        return None  # the encoder may have written the one as the other
    return pairs


def _links(before: list[Any], after: list[Any], *, is_tools: bool) -> dict[int, int]:
    """Return the index in ``before`` of each item of ``after`` that is the same item, changed or not.

    Equal items come first. Next are changed items between the same equal ones, and last those of the same kind with a common value.
    """
    links: dict[int, int] = {}
    old, new = [dumps(item) for item in before], [dumps(item) for item in after]
    equal: dict[bytes, list[int]] = {}
    for source, text in enumerate(old):
        equal.setdefault(text, []).append(source)
    for index, text in enumerate(new):
        if equal.get(text):
            links[index] = equal[text].pop(0)
    moved = moved_indexes([*links.values()])
    anchors = [(index, source) for index, source in links.items() if source not in moved]
    linked = {*links.values()}
    for (index, source), (next_index, next_source) in pairwise([(-1, -1), *anchors, (len(after), len(before))]):
        changed = [each for each in range(index + 1, next_index) if each not in links]
        candidates = [each for each in range(source + 1, next_source) if each not in linked]
        if _have_same_places([before[each] for each in candidates], [after[each] for each in changed], is_tools=is_tools):
            links.update(zip(changed, candidates, strict=True))
            linked.update(candidates)
    sources = [source for source in range(len(before)) if source not in linked]
    for index in range(len(after)):
        if index not in links:
            same = next((each for each in sources if _is_same(before[each], after[index], is_tools=is_tools)), None)
            if same is not None:
                links[index] = same
                sources.remove(same)
    _sort_by_kind(links, [_tool_label(item) if is_tools else _kind(item) for item in before])
    return links


def _sort_by_kind(links: dict[int, int], kinds: list[Hashable]) -> None:
    """Exchange links of items of one kind, of which the encoder keeps the order. ``kinds``: of the linked items."""
    indexes_of_kind: dict[Hashable, list[int]] = {}
    for index in sorted(links):
        indexes_of_kind.setdefault(kinds[links[index]], []).append(index)
    for indexes in indexes_of_kind.values():
        links.update(zip(indexes, sorted(links[index] for index in indexes), strict=True))


def _have_same_places(before: list[Any], after: list[Any], *, is_tools: bool) -> bool:
    """Return whether changed items are at the places of others: a message of its role, and a tool of its name."""
    if is_tools:
        return [*map(_tool_label, before)] == [*map(_tool_label, after)]
    return [*map(_role, before)] == [*map(_role, after)]


def _is_same(before: Any, after: Any, *, is_tools: bool) -> bool:
    """Return whether two items are a tool of one name, or of one kind and with a common value."""
    if is_tools:
        return _tool_label(before) == _tool_label(after)
    return _kind(before) == _kind(after) and not {*map(repr, _values(before))}.isdisjoint(map(repr, _values(after)))


def moved_indexes(indexes: list[int]) -> set[int]:
    """Return the indexes that are not in ascending order with the most others."""
    blocks = SequenceMatcher(None, sorted(indexes), indexes, autojunk=False).get_matching_blocks()
    return set(indexes) - {index for block in blocks for index in indexes[block.b : block.b + block.size]}


def _tool_label(tool: Any) -> Hashable:
    """Return the name of a tool, or the kind of one without a name."""
    # {"type": "function", "function": {"name": "f"}}, {"type": "mcp", "server_label": "docs"},
    # {"functionDeclarations": [{"name": "f"}]}, {"name": "f", "input_schema": {...}}
    if not isinstance(tool, dict):
        return None
    function = tool.get("function") or tool.get("custom")
    name = tool.get("name") or tool.get("server_label") or (function.get("name") if isinstance(function, dict) else None)
    return name if isinstance(name, str) else _kind(tool)


def _role(item: Any) -> str | None:
    """Return the role of a message. Each server has one of two roles for instructions."""
    role = item.get("role") if isinstance(item, dict) else None
    return ("system" if role == "developer" else role) if isinstance(role, str) else None


def _kind(item: Any) -> Hashable:
    """Return what distinguishes an item of a list from its neighbours."""
    if not isinstance(item, dict):
        return None
    role, kind = item.get("role"), item.get("type")
    if (
        role is None and kind is None
    ):  # Gemini: {"googleSearch": {}}, or "google_search"; {"functionCall": {...}, "thoughtSignature": ""}
        return to_snake(next((key for key, value in item.items() if isinstance(value, dict)), next(iter(item), "")))
    if kind == "message" or (
        kind == "custom" and "input_schema" in item
    ):  # the default of Responses, and that of tools of Messages
        kind = None
    # The encoder writes another variant of the types of tools that a server runs.
    kind = _VARIANT.sub("", kind) if isinstance(kind, str) else None
    call = item.get("tool_call_id", item.get("call_id"))
    return _role(item), kind, call if isinstance(call, str) else None


_VARIANT = re.compile(r"(_preview|_bm25|_regex)?(_\d{8}|_\d{4}_\d{2}_\d{2})?$")
"""The variant in the type of a tool: ``web_search_20260318``, ``web_search_preview_2025_03_11``, ``tool_search_tool_bm25``."""


def _values(value: Any) -> Iterator[Any]:
    """Yield the texts and numbers of a value, but for roles, types and states."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key not in ("role", "type", "status", "detail"):
                yield from _values(member)
    elif isinstance(value, list):
        for member in value:
            yield from _values(member)
    elif value not in (None, "", True, False):
        yield value


def covers(raw: Any, value: Any) -> bool:
    """Return whether a value of the caller has all of another value already."""
    if isinstance(raw, dict) and isinstance(value, dict):
        return all(key in raw and covers(raw[key], member) for key, member in value.items())
    return type(raw) is type(value) and bool(raw == value)
