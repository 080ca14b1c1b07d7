"""Find the items of the caller from which the encoder wrote the items of a list.

``alignment.py`` compares three versions of a list; ``Matches`` states from which of the caller's items each encoded item comes.
There are four criteria, the most certain first. Each is for the items that those before it did not match:

1. Text: an encoded item comes from the caller's items whose texts it contains (``origins.py``).
2. Call: a result comes from the only item of the caller with its call id.
3. Key and order: items with the same role, type and call id, or tools with the same name, are paired in order. If one list has more of
   them, their values decide. If these fit several, the lists cannot be matched.
4. Kind and order: tools whose names the encoder has changed are paired in order if their kinds are the same.

Text and call match the caller's items with both encoded lists. The other two match them with the common list, and the common list with
that for the server: an item for the server comes from the same items as its common item. Without a common item it is new.

Example: the caller sends three items; the server requires a system message::

    caller    0 user "Hi", 1 assistant with call c1, 2 tool c1 with ""
    common    the same: their origins are {0} by text, {1} by text, and {2} by call
    server    system "", and the same: the origins are none, {0}, {1} and {2}; the system message is new
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from formatbridge.convert.origins import Origins
from formatbridge.formats.format import ItemIdentity
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import to_snake, value_at


@dataclass(frozen=True, slots=True)
class ListVersions:
    """One list of a request in its three versions."""

    caller: list[Any]
    common: list[Any]
    """As the encoder writes it for any server."""
    server: list[Any]
    """As the encoder writes it for this server."""
    pointer: str
    """The pointer of the list in the body of the caller."""
    origins: Origins

    def origins_of(self, value: Any) -> set[int]:
        """Return the indexes of the caller's items with the texts of an encoded value."""
        return self.origins.indexes(value, self.pointer)


@dataclass(slots=True)
class Matches:
    """From which of the caller's items the encoded items come."""

    common: list[set[int]]
    """For each common item, the indexes of the caller's items."""
    server: list[set[int]]
    """For each item for the server, the indexes of the caller's items."""
    new: set[int] = field(default_factory=set)
    """The indexes of the items for the server that are neither the caller's nor in the common list."""


def match_items(lists: ListVersions) -> Matches | None:
    """Match the items of three versions of a list; None if a match is ambiguous."""
    matches = Matches([*map(lists.origins_of, lists.common)], [*map(lists.origins_of, lists.server)])
    is_tools = lists.pointer[1:] in lists.origins.identity.tool_lists
    matcher = _Matcher(lists, matches, is_tools)
    matcher.match_by_call(lists.common, matches.common)
    matcher.match_by_call(lists.server, matches.server)
    # A result may be an item of another kind, which has its call in common with the one of the caller.
    if not (matcher.match_common(matcher.call_of) and matcher.match_common(matcher.key_of)):
        return None
    if is_tools:
        matcher.match_tools_with_invalid_names()
    matcher.match_server()
    if is_tools:
        matcher.match_renamed_tools()
    matcher.match_items_without_role()
    return matches


class _Matcher:
    """Fills the matches of items that have no text in common."""

    def __init__(self, lists: ListVersions, matches: Matches, is_tools: bool) -> None:
        self._lists, self._matches, self._identity = lists, matches, lists.origins.identity
        self.key_of: Callable[[Any], Hashable] = partial(_tool_name if is_tools else kind_of, identity=self._identity)
        """Returns what an item has in common with its other versions."""
        self.call_of: Callable[[Any], Hashable] = partial(_call_of, identity=self._identity)

    def match_by_call(self, items: list[Any], origins: list[set[int]]) -> None:
        """Match encoded items without an origin with the only item of the caller that has the same call id."""
        callers = _by_key(self._lists.caller, range(len(self._lists.caller)), self.call_of)
        for index, item in enumerate(items):
            same_call = () if origins[index] else callers.get(self.call_of(item), ())
            if len(same_call) == 1:
                origins[index] = {*same_call}

    def match_common(self, key_of: Callable[[Any], Hashable]) -> bool:
        """Match the caller's items and common items that have the same key. Return False if a match is ambiguous."""
        lists, origins = self._lists, self._matches.common
        callers = _by_key(lists.caller, self._unmatched(origins, self._matches.server), key_of)
        commons = _by_key(lists.common, _without_origin(origins), key_of)
        for key in callers.keys() & commons.keys():
            pairs = self._pairs(lists.caller, callers[key], lists.common, commons[key])
            if pairs is None:
                return False
            for caller, common in pairs.items():
                origins[common] = {caller}
        return True

    def match_server(self) -> None:
        """Match items for the server with common items that have the same key; those without a match are new."""
        lists, matches = self._lists, self._matches
        commons = _by_key(lists.common, self._commons_without_server(), self.key_of)
        for key, indexes in _by_key(lists.server, _without_origin(matches.server), self.key_of).items():
            pairs = self._pairs_with_common(indexes, commons.get(key, []))
            for server, common in pairs.items():
                matches.server[server] = {*matches.common[common]}
            matches.new.update(index for index in indexes if index not in pairs)

    def _pairs_with_common(self, servers: list[int], commons: list[int]) -> dict[int, int]:
        """Pair items for the server with common ones. If the counts differ, identical items are paired first."""
        if len(servers) == len(commons):
            return dict(zip(servers, commons, strict=True))
        by_json: dict[bytes, list[int]] = {}
        for index in commons:
            by_json.setdefault(dumps(self._lists.common[index]), []).append(index)
        identical = {index: same.pop(0) for index in servers if (same := by_json.get(dumps(self._lists.server[index])))}
        other_servers = [index for index in servers if index not in identical]
        other_commons = [index for index in commons if index not in identical.values()]
        return identical | (self._pairs(self._lists.server, other_servers, self._lists.common, other_commons) or {})

    def match_items_without_role(self) -> None:
        """Match items without a role, such as reasoning, that the encoder writes for this server only and with another text."""
        lists, matches = self._lists, self._matches
        callers = _by_key(lists.caller, self._unmatched(matches.common, matches.server), self.key_of)
        for kind, indexes in _by_key(lists.server, sorted(matches.new), self.key_of).items():
            same_kind = callers.get(kind, ())
            if isinstance(kind, ItemKind) and kind.role is None and len(same_kind) == len(indexes):
                for server, caller in zip(indexes, same_kind, strict=True):
                    matches.server[server] = {caller}
                    matches.new.discard(server)

    def match_tools_with_invalid_names(self) -> None:
        """Match tools whose names the encoder changes for any server, in order."""
        callers, commons = self._unmatched(self._matches.common), _without_origin(self._matches.common)
        if self._kinds(self._lists.caller, callers) == self._kinds(self._lists.common, commons):
            for caller, common in zip(callers, commons, strict=True):
                self._matches.common[common] = {caller}

    def match_renamed_tools(self) -> None:
        """Match tools whose names the encoder changes for this server, in order."""
        matches, servers = self._matches, sorted(self._matches.new)
        commons = [index for index in self._commons_without_server() if matches.common[index]]
        if self._kinds(self._lists.server, servers) == self._kinds(self._lists.common, commons):
            for server, common in zip(servers, commons, strict=True):
                matches.server[server] = {*matches.common[common]}
            matches.new.clear()

    def _unmatched(self, *origins: list[set[int]]) -> list[int]:
        """Return the indexes of the caller's items from which no encoded item comes."""
        matched = {index for each in origins for indexes in each for index in indexes}
        return [index for index in range(len(self._lists.caller)) if index not in matched]

    def _commons_without_server(self) -> list[int]:
        """Return the indexes of the common items whose origins, if they have any, have no item for the server."""
        written = {index for indexes in self._matches.server for index in indexes}
        return [index for index, indexes in enumerate(self._matches.common) if indexes.isdisjoint(written)]

    def _kinds(self, items: list[Any], indexes: list[int]) -> list[Hashable]:
        return [kind_of(items[index], self._identity) for index in indexes]

    def _pairs(self, items: list[Any], indexes: list[int], others: list[Any], of_others: list[int]) -> dict[int, int] | None:
        """Pair indexes of two lists as ``_paired`` does."""
        pairs = _paired([items[index] for index in indexes], [others[index] for index in of_others], self._identity.words)
        return None if pairs is None else {indexes[first]: of_others[second] for first, second in pairs.items()}


def _without_origin(origins: list[set[int]]) -> list[int]:
    return [index for index, indexes in enumerate(origins) if not indexes]


def _by_key(items: list[Any], indexes: Iterable[int], key_of: Callable[[Any], Hashable]) -> dict[Hashable, list[int]]:
    """Group indexes of items by their key. Items without a key are left out."""
    result: dict[Hashable, list[int]] = {}
    for index in indexes:
        key = key_of(items[index])
        if key is not None:
            result.setdefault(key, []).append(index)
    return result


def _paired(items: list[Any], others: list[Any], words: frozenset[str]) -> dict[int, int] | None:
    """Pair the indexes of the same items of two lists, in order; None if an item could match several.

    Lists of different lengths are paired by common values: texts and numbers.
    """
    if len(items) == len(others):
        return {index: index for index in range(len(items))}
    values, values_of_others = ([{*map(repr, values_in(item, words))} for item in each] for each in (items, others))
    pairs: dict[int, int] = {}
    start = 0
    for index, present in enumerate(values):
        same = next((each for each in range(start, len(others)) if not present.isdisjoint(values_of_others[each])), None)
        if same is not None:
            pairs[index], start = same, same + 1
    paired_others = {*pairs.values()}
    unpaired = [each for index, each in enumerate(values) if index not in pairs]
    unpaired_others = [each for index, each in enumerate(values_of_others) if index not in paired_others]
    is_certain = _have_nothing_in_common(unpaired, values_of_others) and _have_nothing_in_common(unpaired_others, values)
    return pairs if is_certain else None


def _have_nothing_in_common(some: list[set[str]], others: list[set[str]]) -> bool:
    return all(each.isdisjoint(other) for each in some for other in others)


def values_in(value: Any, words: frozenset[str]) -> Iterator[Any]:
    """Yield the texts and numbers of a value, but for those in fields with words of the format."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key not in words:
                yield from values_in(member, words)
    elif isinstance(value, list):
        for member in value:
            yield from values_in(member, words)
    elif value not in (None, "", True, False):
        yield value


class ItemKind(NamedTuple):
    """What distinguishes an item with a role or a type from its neighbours."""

    role: str | None
    type: str | None
    call: str | None
    """The id of the call to which the item belongs."""


def kind_of(item: Any, identity: ItemIdentity) -> ItemKind | str:
    """Return the kind of an item; for an item without a role and a type, the name of its main field."""
    if not isinstance(item, dict):
        return type(item).__name__
    role, kind = item.get(identity.role), item.get(identity.type)
    if isinstance(kind, str) and kind in identity.default_types:
        kind = None
    # Gemini: {"googleSearch": {}}, or "google_search"; {"functionCall": {...}, "thoughtSignature": ""}
    if role is None and identity.content in item:
        role = identity.default_role
    if role is None and kind is None:
        return to_snake(next((key for key, value in item.items() if isinstance(value, dict)), next(iter(item), "")))
    role = identity.same_roles.get(role, role) if isinstance(role, str) else None
    if not isinstance(kind, str):
        kind = None
    elif identity.type_variant is not None:
        kind = identity.type_variant.sub("", kind)
    return ItemKind(role, kind, _call_of(item, identity))


def is_same_kind(raw: Any, item: Any, identity: ItemIdentity) -> bool:
    """Return whether an item of the caller is of the kind that the encoder writes. Results of legacy roles have no id of a call."""
    role = raw.get(identity.role) if isinstance(raw, dict) else None
    is_legacy = isinstance(role, str) and role in identity.same_roles and _call_of(raw, identity) is None
    if is_legacy and isinstance(item, dict):
        item = {key: value for key, value in item.items() if key not in identity.call_ids}
    return kind_of(raw, identity) == kind_of(item, identity)


def _tool_name(tool: Any, identity: ItemIdentity) -> Hashable:
    """Return the name of a tool, or the kind of one without a name."""
    names = (value_at(tool, tuple(location.split("/"))) for location in identity.tool_names)
    return next((name for name in names if isinstance(name, str)), None) or kind_of(tool, identity)


def _call_of(item: Any, identity: ItemIdentity) -> str | None:
    """Return the id of the call to which an item belongs."""
    ids = [item.get(key) for key in identity.call_ids] if isinstance(item, dict) else []
    return next((id for id in ids if isinstance(id, str)), None)
