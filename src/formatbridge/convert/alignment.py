"""Decide which items of a list to send when a request stays in its format and is adapted to a server.

Three versions of a list are compared: that of the *caller*, the *common* one that the encoder writes for any server, and the one that it
writes for this *server*. Only what differs between the last two is applied to the caller's items.

1. ``item_matching.py`` finds from which of the caller's items each encoded item comes. Items that have one in common are a group.
2. For most groups, each version has one item. The caller's item is then changed as the common item is for the server. The other cases:

   ==============================================  ===================================================================================
   an item is not encoded, such as reasoning       it stays next to its neighbours
   there is no item for the server                 the caller's items are removed
   the encoded items are of another kind           those for the server replace the caller's items
   the common items equal those for the server     the caller's items stay
   there are only items for the server             the caller's item stays if there is one, of its kind; otherwise they replace it
   the encoder splits an item                      it is changed if one item for the server remains; otherwise they replace it
   the encoder joins items                         each is changed as its parts are, if their origins are known; otherwise replaced
   the encoder joins items for this server only    the first is changed, and the others are removed
   ==============================================  ===================================================================================

3. Encoded items that are in no group are new.

Example, for a server that requires a system message and does not read ``detail``::

    caller    user: "Look", image with detail, x_id
    common    user: "Look", image with detail
    server    system: "";  user: "Look", image
    to send   system: "" (new);  user: "Look", image, x_id (changed)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from formatbridge.convert.item_matching import ListVersions, Matches, is_same_kind, match_items, values_in
from formatbridge.jsontext.codec import dumps


@dataclass(frozen=True, slots=True)
class Item:
    """One item to send: an item of the caller, which may be changed, or a new one."""

    caller_index: int
    """The index in the caller's list of this item, or of the item that a new one replaces; -1 if it replaces none."""
    server_index: int
    """The index of the encoder's item for the server; -1 if it does not write the item."""
    is_new: bool = False
    common: Any = None
    """The encoded item for any server; None if it is new or stays as it is."""
    server: Any = None
    """The encoded item for the server; None if it stays as it is."""


@dataclass(slots=True)
class _Group:
    """The indexes of items that belong together: those of the caller, and those that the encoder wrote from them."""

    caller: list[int]
    common: list[int] = field(default_factory=list)
    server: list[int] = field(default_factory=list)


def align(lists: ListVersions) -> list[Item] | None:
    """Return the items to send, in order; None if an item cannot be matched with certainty.

    Items stay in the order of the caller, unless the encoder orders or joins them for this server.
    """
    matches = match_items(lists)
    if matches is None:
        return None
    groups = _groups(len(lists.caller), matches)
    unwritten = [group.caller[0] for group in groups if not group.common and not group.server]
    if unwritten and _may_be_written([lists.caller[index] for index in unwritten], lists):
        return None  # the encoder may have joined one of them with another item
    items = [
        Item(-1, index, is_new=True, server=lists.server[index])
        for index in matches.new
        if not any(covers(lists.caller[other], lists.server[index]) for other in unwritten)
    ]
    for group in groups:
        if group.server:
            items += _items_of_group(group, lists)
    is_in_order = not matches.new and not _is_rearranged(groups)
    items.sort(key=lambda item: (item.caller_index if is_in_order else 0, item.server_index))
    return _with_unwritten(items, unwritten)


def _groups(count: int, matches: Matches) -> list[_Group]:
    """Return the groups of the items of the caller. An encoded item with texts of several items joins their groups."""
    groups = [_Group([index]) for index in range(count)]
    for indexes in (*matches.common, *matches.server):
        joined = [groups[index] for index in sorted(indexes)]
        for other in joined[1:]:
            if other is not joined[0]:
                joined[0].caller = sorted({*joined[0].caller, *other.caller})
                for index in other.caller:
                    groups[index] = joined[0]
    for common, indexes in enumerate(matches.common):
        if indexes:
            groups[min(indexes)].common.append(common)
    for server, indexes in enumerate(matches.server):
        if indexes:
            groups[min(indexes)].server.append(server)
    return [group for index, group in enumerate(groups) if index == group.caller[0]]


def _is_rearranged(groups: list[_Group]) -> bool:
    """Return whether the encoder orders or joins items for this server differently than for any server."""
    written = [group for group in groups if group.server]
    in_common_order = sorted((group for group in written if group.common), key=lambda group: group.common[0])
    order = [group.server[0] for group in in_common_order]
    return order != sorted(order) or any(
        len(group.common) != len(group.server) or group.server[-1] - group.server[0] >= len(group.server) for group in written
    )


def _items_of_group(group: _Group, lists: ListVersions) -> list[Item]:
    """Return the items to send for a group with items for the server."""
    if len(group.caller) == 1:
        return _items_of_one(group, lists)
    common, server = _encoded(group, lists)
    identity = lists.origins.identity
    if not common or not all(is_same_kind(lists.caller[index], item, identity) for index in group.caller for item in common):
        return _replacement(group, lists)
    if dumps(common) == dumps(server):
        return [Item(index, group.server[0]) for index in group.caller]
    if len(common) == len(server) == 1:
        items = _separated(group, common[0], server[0], lists)
        return _replacement(group, lists) if items is None else items
    if len(server) == 1 and all(len(lists.origins_of(item)) == 1 for item in common):  # only this server requires joined items
        return [Item(group.caller[0], group.server[0], common=common[0], server=server[0])]
    return _replacement(group, lists)


def _items_of_one(group: _Group, lists: ListVersions) -> list[Item]:
    """Return the items to send for one item of the caller, which the encoder may split, convert, or write for this server only."""
    caller, (common, server), identity = group.caller[0], _encoded(group, lists), lists.origins.identity
    unchanged = Item(caller, group.server[0])
    if not common:
        is_kept = len(server) == 1 and is_same_kind(lists.caller[caller], server[0], identity)
        return [unchanged] if is_kept else _replacement(group, lists)
    is_converted = not is_same_kind(lists.caller[caller], common[0], identity)
    if dumps(common) == dumps(server):
        return _replacement(group, lists) if is_converted else [unchanged]
    changed = Item(caller, group.server[0], common=common[0], server=server[0])
    if len(common) == 1:
        return _replacement(group, lists) if is_converted else [changed, *_replacement(group, lists)[1:]]
    if len(server) > 1:
        return _replacement(group, lists)
    # The encoder splits the item, and the server reads only one part of it.
    return [] if is_converted or not is_same_kind(lists.caller[caller], server[0], identity) else [changed]


def _encoded(group: _Group, lists: ListVersions) -> tuple[list[Any], list[Any]]:
    """Return the common items of a group and those for the server."""
    return [lists.common[index] for index in group.common], [lists.server[index] for index in group.server]


def _replacement(group: _Group, lists: ListVersions) -> list[Item]:
    """Return the items for the server of a group, which replace those of the caller."""
    return [Item(group.caller[0], index, is_new=True, server=lists.server[index]) for index in group.server]


def _separated(group: _Group, common: Any, server: Any, lists: ListVersions) -> list[Item] | None:
    """Divide joined items into one item for each of the caller, by the origins of their parts; None if a part has several.

    An item of the caller without a part for the server is left out.
    """
    if not isinstance(common, dict) or not isinstance(server, dict):
        return None
    field = next((key for key, value in common.items() if isinstance(value, list)), "")
    parts = as_list(server.get(field), common.get(field, []), lists.origins.identity.text_type)
    if parts is None:
        return None
    common_origins, server_origins = [*map(lists.origins_of, common[field])], [*map(lists.origins_of, parts)]
    if len(common_origins) == len(server_origins):  # a part may have no text that the encoder keeps
        pairs = [*zip(common_origins, server_origins, strict=True)]
        common_origins, server_origins = [first or second for first, second in pairs], [second or first for first, second in pairs]
    if any(len(indexes) != 1 for indexes in (*common_origins, *server_origins)):
        return None
    items: list[Item] = []
    for index in group.caller:
        old = [part for part, indexes in zip(common[field], common_origins, strict=True) if indexes == {index}]
        new = [part for part, indexes in zip(parts, server_origins, strict=True) if indexes == {index}]
        if new:
            items.append(Item(index, group.server[0], common=common | {field: old}, server=server | {field: new}))
    return items


def as_list(value: Any, parts: list[Any], text_type: str | None) -> list[Any] | None:
    """Return a text as the list with one text, of the type that other parts have; None for other values that are not lists.

    ``text_type``: the type if no other part has a text.
    """
    if isinstance(value, list):
        return value
    if value == "":
        return []
    types = (part.get("type") for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
    type = next(types, text_type)
    return [{"type": type, "text": value}] if type is not None and isinstance(value, str) else None


def _may_be_written(items: list[Any], lists: ListVersions) -> bool:
    """Return whether the encoder may have written one of some items of the caller.

    It has if all texts and numbers of the item are in the encoding, or one text is in a text that the encoder has created from others.
    No encoder joins texts of several tools, so that a short text in a longer one of another tool proves nothing.
    """
    words = lists.origins.identity.words
    # A text is searched among the texts of tools, and in the joined texts of other items.
    searchable = set[str] if lists.pointer[1:] in lists.origins.identity.tool_lists else "\n".join
    encoded = [*values_in(lists.common, words)]
    numbers = {value for value in encoded if not isinstance(value, str)}
    text = searchable(value for value in encoded if isinstance(value, str))
    created = searchable(lists.origins.texts(lists.common, is_known=False))
    for item in items:
        values = [*values_in(item, words)]
        if values and all(value in text if isinstance(value, str) else value in numbers for value in values):
            return True
        if any(value in created for is_known in (False, True) for value in lists.origins.texts(item, is_known=is_known)):
            return True
    return False


def _with_unwritten(items: list[Item], unwritten: list[int]) -> list[Item]:
    """Return items with those that the encoder does not write, each next to the item before or after it in the list of the caller."""
    result = [*items]
    for index in unwritten:
        earlier = [position for position, item in enumerate(result) if 0 <= item.caller_index < index]
        later = [position for position, item in enumerate(result) if item.caller_index > index]
        if earlier:
            position = max(earlier, key=lambda each: result[each].caller_index) + 1
        else:
            position = min(later, key=lambda each: result[each].caller_index, default=len(result))
        result.insert(position, Item(index, -1))
    return result


def moved_indexes(indexes: list[int]) -> set[int]:
    """Return the indexes that come after a greater one or before a smaller one."""
    greatest = [*accumulate(indexes, max)]
    smallest = [*accumulate(reversed(indexes), min)][::-1]
    return {index for index, high, low in zip(indexes, greatest, smallest, strict=True) if index < high or index > low}


def covers(raw: Any, value: Any) -> bool:
    """Return whether the caller's value already contains another value. A text may be a list of one."""
    if isinstance(raw, dict) and isinstance(value, dict):
        return all(key in raw and covers(raw[key], member) for key, member in value.items())
    return (type(raw) is type(value) and bool(raw == value)) or (isinstance(raw, str) and value == [raw])
