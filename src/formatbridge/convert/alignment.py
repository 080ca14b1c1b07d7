"""Align the lists of three bodies: that of the caller, and two that the encoder wrote from it, for any server and for one server."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any

from formatbridge.convert.origins import Origins
from formatbridge.formats.format import ItemIdentity
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import to_snake, value_at


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


@dataclass(slots=True)
class _Group:
    """Items that belong together: those of the caller, and those in which the encoder writes their texts."""

    raw: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


def aligned(raw: list[Any], before: list[Any], after: list[Any], pointer: str, origins: Origins) -> list[Item] | None:
    """Return the items to send, in order; None if an item cannot be matched with certainty.

    ``raw``: the caller's list at ``pointer``; ``before`` and ``after``: the list as the encoder wrote it for any server and for this one.
    Items stay in the order of the caller, unless the encoder orders or joins them for this server.
    """
    sources = [origins.indexes(item, pointer) for item in before]
    targets = [origins.indexes(item, pointer) for item in after]
    identity = origins.identity
    is_tools = pointer[1:] in identity.tool_lists
    others = _Others(raw, before, after, identity, is_tools)
    if not others.link(sources, targets):
        return None
    groups = _groups(len(raw), sources, targets)
    unwritten = [group.raw[0] for group in groups if not group.before and not group.after]
    if unwritten and _may_be_written([raw[index] for index in unwritten], before, origins):
        return None  # the encoder may have joined one of them with another item
    entries: dict[int, list[tuple[int, Item]]] = {}  # by the index in ``after``
    for index in others.new:
        if not any(covers(raw[other], after[index]) for other in unwritten):
            entries[index] = [(-1, Item(None, index, after=after[index]))]
    for group in groups:
        for place, item in _placed(group, raw, before, after, pointer, origins) if group.after else ():
            entries.setdefault(item.index if item.raw is None else group.after[0], []).append((place, item))
    placed = [entry for index in range(len(after)) for entry in entries.get(index, ())]
    if not others.new and not _is_rearranged(groups):
        placed.sort(key=lambda each: each[0])
    return _with_unwritten(placed, unwritten)


def _is_rearranged(groups: list[_Group]) -> bool:
    """Return whether the encoder orders or joins items for this server differently than for any server."""
    kept = sorted((group for group in groups if group.before and group.after), key=lambda group: group.before[0])
    order = [group.after[0] for group in kept]
    is_divided = any(group.after and group.after[-1] - group.after[0] >= len(group.after) for group in groups)
    return is_divided or order != sorted(order) or any(group.after and len(group.before) != len(group.after) for group in groups)


class _Others:
    """Matches items that have no text in common: the caller's items without a kept text, and items that only the encoder wrote."""

    def __init__(self, raw: list[Any], before: list[Any], after: list[Any], identity: ItemIdentity, is_tools: bool) -> None:
        self._raw, self._before, self._after, self._identity, self._is_tools = raw, before, after, identity, is_tools
        self._label, self._call = partial(_tool_label if is_tools else _kind, identity=identity), partial(_call, identity=identity)
        self.new: set[int] = set()
        """The indexes of the items for the server that are new."""

    def link(self, sources: list[set[int]], targets: list[set[int]]) -> bool:
        """Fill the empty sets of ``sources`` and ``targets`` with indexes of the caller's items. Return False if a match is ambiguous."""
        self._link_calls(self._before, sources)
        self._link_calls(self._after, targets)
        known = {index for indexes in (*sources, *targets) for index in indexes}
        raw = [index for index in range(len(self._raw)) if index not in known]
        # A result may be an item of another kind, which has its call in common with the one of the caller.
        for common in (self._call, self._label):
            of_raw = _grouped(self._raw, (index for index in raw if not any(index in indexes for indexes in sources)), common)
            of_before = _grouped(self._before, (index for index, indexes in enumerate(sources) if not indexes), common)
            for key in of_raw.keys() & of_before.keys() - ({None} if common is self._call else set()):
                pairs = _paired(
                    [self._raw[index] for index in of_raw[key]],
                    [self._before[index] for index in of_before[key]],
                    self._identity.words,
                )
                if pairs is None:
                    return False
                for index, source in pairs:
                    sources[of_before[key][source]] = {of_raw[key][index]}
        if self._is_tools:
            self._link_invalid_names(sources)
        written = {index for indexes in targets for index in indexes}
        old = _grouped(self._before, (index for index, indexes in enumerate(sources) if indexes.isdisjoint(written)), self._label)
        new = _grouped(self._after, (index for index, indexes in enumerate(targets) if not indexes), self._label)
        for label, indexes in new.items():
            links = self._links(indexes, old.get(label, []))
            for index, source in links.items():
                targets[index] = set(sources[source])
            self.new.update(index for index in indexes if index not in links)
        if self._is_tools:
            self._link_renamed(sources, targets)
        self._link_unwritten(sources, targets)
        return True

    def _link_calls(self, items: list[Any], links: list[set[int]]) -> None:
        """Link results without a kept text to the only item of the caller for the same call, which may have media in another item."""
        of_raw = _grouped(self._raw, range(len(self._raw)), self._call)
        for index, item in enumerate(items):
            call = None if links[index] else self._call(item)
            if call is not None and len(of_raw.get(call, ())) == 1:
                links[index] = set(of_raw[call])

    def _links(self, indexes: list[int], sources: list[int]) -> dict[int, int]:
        """Match items for the server with the same items for any server: identical items first if the counts differ."""
        if len(indexes) == len(sources):
            return dict(zip(indexes, sources, strict=True))
        rest: dict[bytes, list[int]] = {}
        for source in sources:
            rest.setdefault(dumps(self._before[source]), []).append(source)
        texts = {index: dumps(self._after[index]) for index in indexes}
        links = {index: rest[text].pop(0) for index, text in texts.items() if rest.get(text)}
        unequal = [index for index in indexes if index not in links]
        others = [source for source in sources if source not in links.values()]
        pairs = _paired([self._after[each] for each in unequal], [self._before[each] for each in others], self._identity.words)
        return links | {unequal[index]: others[source] for index, source in pairs or ()}

    def _link_unwritten(self, sources: list[set[int]], targets: list[set[int]]) -> None:
        """Link items without a role, such as reasoning, that the encoder writes for this server only and with another text."""
        linked = {index for indexes in (*sources, *targets) for index in indexes}
        of_raw = _grouped(self._raw, (index for index in range(len(self._raw)) if index not in linked), self._label)
        of_new = _grouped(self._after, sorted(self.new), self._label)
        for label, indexes in of_new.items():
            has_role = not isinstance(label, tuple) or label[0] is not None
            if not has_role and len(of_raw.get(label, ())) == len(indexes):
                for index, source in zip(indexes, of_raw[label], strict=True):
                    targets[index] = {source}
                    self.new.discard(index)

    def _link_invalid_names(self, sources: list[set[int]]) -> None:
        """Link the caller's tools whose names the encoder changes for any server with those of their kind that have other names."""
        known = {index for indexes in sources for index in indexes}
        rest = [index for index in range(len(self._raw)) if index not in known]
        renamed = [index for index, indexes in enumerate(sources) if not indexes]
        if [_kind(self._raw[index], self._identity) for index in rest] == [
            _kind(self._before[index], self._identity) for index in renamed
        ]:
            for index, source in zip(rest, renamed, strict=True):
                sources[source] = {index}

    def _link_renamed(self, sources: list[set[int]], targets: list[set[int]]) -> None:
        """Link new tools with those of their kind that have no tool for the server: their names have changed."""
        written = {index for indexes in targets for index in indexes}
        rest = [index for index, indexes in enumerate(sources) if indexes and indexes.isdisjoint(written)]
        new = sorted(self.new)
        kinds = [
            [_kind(items[index], self._identity) for index in each] for items, each in ((self._after, new), (self._before, rest))
        ]
        if kinds[0] == kinds[1]:
            for index, source in zip(new, rest, strict=True):
                targets[index] = set(sources[source])
                self.new.discard(index)


def _grouped(items: list[Any], indexes: Iterable[int], label: Callable[[Any], Hashable]) -> dict[Hashable, list[int]]:
    """Group indexes of items by their label."""
    result: dict[Hashable, list[int]] = {}
    for index in indexes:
        result.setdefault(label(items[index]), []).append(index)
    return result


def _paired(items: list[Any], others: list[Any], words: frozenset[str]) -> list[tuple[int, int]] | None:
    """Pair the indexes of the same items of two lists, in order; None if an item could match several."""
    if len(items) == len(others):
        return [(index, index) for index in range(len(items))]
    values, of_others = ([{*map(repr, _values(item, words))} for item in each] for each in (items, others))
    pairs: list[tuple[int, int]] = []
    for index, present in enumerate(values):
        last = pairs[-1][1] if pairs else -1
        same = next((each for each in range(last + 1, len(others)) if not present.isdisjoint(of_others[each])), None)
        if same is not None:
            pairs.append((index, same))
    rest = [each for index, each in enumerate(values) if index not in {pair[0] for pair in pairs}]
    of_rest = [each for index, each in enumerate(of_others) if index not in {pair[1] for pair in pairs}]
    is_certain = all(each.isdisjoint(other) for each in rest for other in of_others) and all(
        each.isdisjoint(other) for each in values for other in of_rest
    )
    return pairs if is_certain else None


def _may_be_written(items: list[Any], before: list[Any], origins: Origins) -> bool:
    """Return whether the encoder may have written one of some items of the caller.

    It has if all texts and numbers of the item are in the encoding, or one text is in a text that the encoder has created from others.
    """
    words = origins.identity.words
    numbers = {value for item in before for value in _values(item, words) if not isinstance(value, str)}
    text = "\n".join(value for item in before for value in _values(item, words) if isinstance(value, str))
    created = "\n".join(origins.texts(before, is_known=False))
    for item in items:
        values = [*_values(item, words)]
        if values and all(value in text if isinstance(value, str) else value in numbers for value in values):
            return True
        if any(each in created for is_known in (False, True) for each in origins.texts(item, is_known=is_known)):
            return True
    return False


def _values(value: Any, words: frozenset[str]) -> Iterator[Any]:
    """Yield the texts and numbers of a value, but for those in fields with words of the format."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key not in words:
                yield from _values(member, words)
    elif isinstance(value, list):
        for member in value:
            yield from _values(member, words)
    elif value not in (None, "", True, False):
        yield value


def _groups(count: int, sources: list[set[int]], targets: list[set[int]]) -> list[_Group]:
    """Return the groups of the items of the caller. An item of the encoder with texts of several items joins their groups."""
    groups = [_Group([index]) for index in range(count)]
    for indexes in (*sources, *targets):
        joined = [groups[index] for index in sorted(indexes)]
        for other in joined[1:]:
            if other is not joined[0]:
                joined[0].raw = sorted({*joined[0].raw, *other.raw})
                for index in other.raw:
                    groups[index] = joined[0]
    for name, items in (("before", sources), ("after", targets)):
        for index, indexes in enumerate(items):
            if indexes:
                getattr(groups[min(indexes)], name).append(index)
    return [group for index, group in enumerate(groups) if index == group.raw[0]]


def _replaced(group: _Group, after: list[Any]) -> list[tuple[int, Item]]:
    """Return the items for the server of a group, which replace those of the caller."""
    return [(group.raw[0], Item(None, index, after=after[index])) for index in group.after]


def _placed(
    group: _Group, raw: list[Any], before: list[Any], after: list[Any], pointer: str, origins: Origins
) -> list[tuple[int, Item]]:
    """Return the items of a group to send, each with the index of the caller's item that it replaces."""
    first, at, identity = group.raw[0], group.after[0], origins.identity
    old, new = [before[index] for index in group.before], [after[index] for index in group.after]
    added = _replaced(group, after)
    is_converted = not all(_is_same_kind(raw[source], item, identity) for source in group.raw for item in old)
    if dumps(old) == dumps(new):
        is_kept = not is_converted or (len(old) > 1 and len(group.raw) == 1 and _is_same_kind(raw[first], old[0], identity))
        return [(source, Item(source, at)) for source in group.raw] if is_kept else added
    if len(group.raw) == 1 and len(old) > 1 and new:  # the encoder has split an item
        added = added if len(new) > 1 else []
    if len(group.raw) == len(new) == 1 < len(old) and all(_is_same_kind(raw[first], each, identity) for each in (old[0], new[0])):
        return [(first, Item(first, at, old[0], new[0]))]  # the server reads nothing of the other items
    if is_converted:
        return added
    if not old:  # the encoder writes it for this server only
        is_same = len(group.raw) == len(new) == 1 and _is_same_kind(raw[first], new[0], identity)
        return [(first, Item(first, at))] if is_same else added
    if len(old) == 1 and len(group.raw) == 1:
        return [(first, Item(first, at, old[0], new[0])), *added[1:]]
    if len(old) == len(new) == 1:
        parts = _separated(group, old[0], new[0], pointer, origins)
        return added if parts is None else [(source, Item(source, at, *pair)) for source, pair in parts.items()]
    if len(new) == 1 and all(len(origins.indexes(item, pointer)) == 1 for item in old):  # only this server requires joined items
        return [(first, Item(first, at, old[0], new[0]))]
    return added


def _separated(group: _Group, before: Any, after: Any, pointer: str, origins: Origins) -> dict[int, tuple[Any, Any]] | None:
    """Split a joined item into one item per item of the caller, for any server and for one; None if a part has several origins.

    An item of the caller without a part for the server is left out.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    key = next((key for key, value in before.items() if isinstance(value, list)), None)
    parts = as_list(after.get(key), before[key], origins.identity.text_type) if key is not None else None
    if key is None or parts is None:
        return None
    sources = [origins.indexes(part, pointer) for part in before[key]]
    targets = [origins.indexes(part, pointer) for part in parts]
    if len(sources) == len(targets):  # a part may have no text that the encoder keeps
        sources, targets = (
            [a or b for a, b in zip(sources, targets, strict=True)],
            [b or a for a, b in zip(sources, targets, strict=True)],
        )
    if any(len(indexes) != 1 for indexes in (*sources, *targets)):
        return None
    result: dict[int, tuple[Any, Any]] = {}
    for source in group.raw:
        old = [part for part, indexes in zip(before[key], sources, strict=True) if indexes == {source}]
        new = [part for part, indexes in zip(parts, targets, strict=True) if indexes == {source}]
        if new:
            result[source] = (before | {key: old}, after | {key: new})
    return result


def as_list(value: Any, parts: list[Any], text_type: str | None) -> list[Any] | None:
    """Return a text as the list with one text, of the type that other parts have; None for other values that are not lists.

    ``text_type``: the type if no other part has a text.
    """
    if isinstance(value, list):
        return value
    kinds = (part.get("type") for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
    kind = next(kinds, text_type)
    if value == "":
        return []
    return [{"type": kind, "text": value}] if kind is not None and isinstance(value, str) else None


def _with_unwritten(placed: list[tuple[int, Item]], unwritten: list[int]) -> list[Item]:
    """Return items with those that the encoder does not write, each next to the item before or after it in the list of the caller."""
    result = [*placed]
    for index in unwritten:
        earlier = [at for at, (place, _) in enumerate(result) if 0 <= place < index]
        later = [at for at, (place, _) in enumerate(result) if place > index]
        if earlier:
            at = max(earlier, key=lambda each: result[each][0]) + 1
        else:
            at = min(later, key=lambda each: result[each][0], default=len(result))
        result.insert(at, (index, Item(index, -1)))
    return [item for _, item in result]


def moved_indexes(indexes: list[int]) -> set[int]:
    """Return the indexes that come after a greater one or before a smaller one."""
    greatest = [*accumulate(indexes, max)]
    smallest = [*accumulate(reversed(indexes), min)][::-1]
    return {index for index, high, low in zip(indexes, greatest, smallest, strict=True) if index < high or index > low}


def _tool_label(tool: Any, identity: ItemIdentity) -> Hashable:
    """Return the name of a tool, or the kind of one without a name."""
    names = (value_at(tool, tuple(place.split("/"))) for place in identity.tool_names)
    return next((name for name in names if isinstance(name, str)), None) or _kind(tool, identity)


def _kind(item: Any, identity: ItemIdentity) -> Hashable:
    """Return what distinguishes an item of a list from its neighbours."""
    if not isinstance(item, dict):
        return None
    role, kind = item.get(identity.role), item.get(identity.type)
    if isinstance(kind, str) and kind in identity.default_types:
        kind = None
    # Gemini: {"googleSearch": {}}, or "google_search"; {"functionCall": {...}, "thoughtSignature": ""}
    if role is None and identity.content in item:
        role = identity.default_role
    if role is None and kind is None:
        return to_snake(next((key for key, value in item.items() if isinstance(value, dict)), next(iter(item), "")))
    role = identity.same_roles.get(role, role) if isinstance(role, str) else None
    kind = kind if isinstance(kind, str) else None
    if kind is not None and identity.type_variant is not None:
        kind = identity.type_variant.sub("", kind)
    return role, kind, _call(item, identity)


def _is_same_kind(raw: Any, item: Any, identity: ItemIdentity) -> bool:
    """Return whether an item of the caller is of the kind that the encoder writes. Results of legacy roles have no id of a call."""
    role = raw.get(identity.role) if isinstance(raw, dict) else None
    is_legacy = isinstance(role, str) and role in identity.same_roles and _call(raw, identity) is None
    if is_legacy and isinstance(item, dict):
        item = {key: value for key, value in item.items() if key not in identity.call_ids}
    return bool(_kind(raw, identity) == _kind(item, identity))


def _call(item: Any, identity: ItemIdentity) -> str | None:
    """Return the id of the call to which an item belongs."""
    ids = [item.get(key) for key in identity.call_ids] if isinstance(item, dict) else []
    return next((id for id in ids if isinstance(id, str)), None)


def covers(raw: Any, value: Any) -> bool:
    """Return whether the caller's value already contains another value."""
    if isinstance(raw, dict) and isinstance(value, dict):
        return all(key in raw and covers(raw[key], member) for key, member in value.items())
    return type(raw) is type(value) and bool(raw == value)
