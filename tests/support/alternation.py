"""Bodies and streams in which two kinds of turn, part, tool, citation or event alternate, generated from the fixtures.

A list of objects in a fixture is named by its path, with a star for each index. The events of a stream are such a list too. Its kinds are
the objects that any fixture has there, one for each role, type and content. A new fixture adds its kinds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any, TypeVar

from formatbridge import ir
from tests.fixtures import Fixture, fixtures, streams
from tests.support.stream_laws import read

Path = tuple[str | int, ...]
T = TypeVar("T")

COMMON, COMMON_EVENTS = 3, 1
"""The number of kinds of a place, the most frequent ones, that alternate with every kind there; the others alternate with these only."""

NUMBERED = frozenset(
    {"approval_request_id", "call_id", "id", "item_id", "mcp_server_name", "name", "server_label", "server_name", "tool_call_id"}
    | {"tool_use_id"}
)
"""The keys by which objects refer to each other; each repetition has other values."""

_FREE = frozenset({"args", "arguments", "inputSchema", "input_schema", "parameters", "parametersJsonSchema", "schema"})
"""The keys of JSON of the caller, such as schemas: its lists have no kinds."""


@dataclass(frozen=True)
class Kind:
    """An object of a list, and its fixture."""

    name: str
    node: dict[str, Any]
    fixture: Fixture
    path: Path
    """The path of the list."""


@dataclass(frozen=True)
class Pair:
    """Two kinds of the same place, or one kind twice."""

    place: str
    first: Kind
    second: Kind

    def __str__(self) -> str:
        return f"{self.place}: {self.first.name} and {self.second.name}"

    @property
    def fixture(self) -> Fixture:
        """The fixture whose list is replaced: the smaller one."""
        return self._host.fixture

    @property
    def _host(self) -> Kind:
        return min(self.first, self.second, key=lambda kind: len(str(kind.fixture.body)))

    def text(self, count: int) -> str:
        """Return the body with ``count`` alternations of both kinds in place of the list."""
        items = [numbered(kind.node, number) for number in range(count) for kind in (self.first, self.second)]
        return json.dumps(_with(self.fixture.body, self._host.path, items))


def pairs(kind: str, format: ir.FormatName) -> Iterator[Pair]:
    """Yield the pairs of kinds of each place in the bodies of a kind and a format."""
    for place, kinds in _places(kind, format).items():
        for first, second in _paired(kinds, COMMON):
            yield Pair(place, first, second)


def _paired(kinds: Sequence[T], count: int) -> Iterator[tuple[T, T]]:
    """Yield each kind with itself, the ``count`` most frequent ones with each other, and the others with these."""
    common, others = kinds[:count], kinds[count:]
    yield from ((kind, kind) for kind in kinds)
    yield from combinations(common, 2)
    yield from product(common, others)


@cache
def _places(kind: str, format: ir.FormatName) -> dict[str, list[Kind]]:
    """Return the kinds of each place, the most frequent ones first."""
    result: dict[str, dict[str, list[Kind]]] = {}
    for fixture in fixtures(kind, format):
        for path, nodes in _lists(fixture.body, ()):
            place = result.setdefault("/".join("*" if isinstance(step, int) else step for step in path), {})
            for node in nodes:
                name = name_of(node)
                if name is not None:
                    place.setdefault(name, []).append(Kind(name, node, fixture, path))
    return {place: [same[0] for same in sorted(kinds.values(), key=len, reverse=True)] for place, kinds in result.items()}


def name_of(node: dict[str, Any]) -> str | None:
    """Name the kind of an object: its role, type and content, or else its keys; None for a turn with parts of several kinds."""
    role, type_ = node.get("role"), node.get("type")
    if role is None:
        return str(type_) if isinstance(type_, str) else " + ".join(sorted(node))
    content = node.get("content") if "content" in node else node.get("parts")
    if not isinstance(content, list):
        inside = {type(content).__name__}  # text, or nothing
    else:
        inside = {str(name_of(part)) if isinstance(part, dict) else type(part).__name__ for part in content}
    if len(inside) > 1:
        return None
    return " ".join([str(role), *inside, *(["tool_calls"] if node.get("tool_calls") else [])])


def _lists(node: Any, path: Path) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """Yield the lists of objects in a body, except those in JSON of the caller."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key not in _FREE:
                yield from _lists(value, (*path, key))
    elif isinstance(node, list):
        if node and all(isinstance(item, dict) for item in node):
            yield path, node
        for index, item in enumerate(node):
            yield from _lists(item, (*path, index))


def _with(body: dict[str, Any], path: Path, items: list[Any]) -> dict[str, Any]:
    result = deepcopy(body)
    node: Any = result
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = items
    return result


def numbered(node: Any, number: int, indexes: frozenset[str] = frozenset()) -> Any:
    """Return a copy whose ids and names end in a number, which is also its index if it has one among ``indexes``."""
    if isinstance(node, dict):
        return {key: _numbered_value(key, value, number, indexes) for key, value in node.items()}
    if isinstance(node, list):
        return [numbered(item, number, indexes) for item in node]
    return node


def _numbered_value(key: str, value: Any, number: int, indexes: frozenset[str]) -> Any:
    if key in NUMBERED and isinstance(value, str):
        return f"{value}_{number:05d}"
    if key in indexes and isinstance(value, int):
        return number
    return numbered(value, number, indexes)


@dataclass(frozen=True)
class EventPair:
    """Two kinds of event of a format, or one kind twice."""

    format: ir.FormatName
    first: dict[str, Any]
    second: dict[str, Any]

    def __str__(self) -> str:
        return f"{event_name(self.format, self.first)} and {event_name(self.format, self.second)}"

    def reads(self, count: int) -> list[bytes]:
        """Return a stream with ``count`` alternations of both kinds between its beginning and its end, one event for each read."""
        beginning, end = _frame(self.format)
        repeated = [_numbered_event(self.format, event, number) for number in range(count) for event in (self.first, self.second)]
        return [
            *(_written(event) for event in (*beginning, *repeated, *end)),
            *([_DONE] if self.format == "chat_completions" else []),
        ]


_DONE = b"data: [DONE]\n\n"
_BEGINNINGS = frozenset({"message_start", "response.created"})
_ENDS = frozenset({"message_delta", "message_stop", "response.completed"})
_UNREPEATED = _BEGINNINGS | _ENDS | {"error", "response.failed", "response.incomplete"}
_INDEXES = frozenset({"index", "output_index"})
_PROGRESS = re.compile(r"response\.\w+_call\.\w+$")
"""The progress of a server call, which has one kind for all tools."""


def event_pairs(format: ir.FormatName) -> Iterator[EventPair]:
    """Yield the pairs of kinds of event of a format."""
    for first, second in _paired(_event_kinds(format), COMMON_EVENTS):
        yield EventPair(format, first, second)


@cache
def _event_kinds(format: ir.FormatName) -> tuple[dict[str, Any], ...]:
    """Return the kinds of event, the most frequent ones first."""
    kinds: dict[str, list[dict[str, Any]]] = {}
    for stream in streams(format):
        in_stream = {event_name(format, event): event for event in _events(stream.data) if event.get("type") not in _UNREPEATED}
        for name, event in in_stream.items():
            if name:
                kinds.setdefault(name, []).append(event)
    return tuple(same[0] for same in sorted(kinds.values(), key=len, reverse=True))


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    for event in read(data):
        try:
            value = json.loads(event.data)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def event_name(format: ir.FormatName, event: dict[str, Any]) -> str:
    """Name the kind of an event: its type and what it opens; of an event without a type, the fields of its delta or parts."""
    if format in ("messages", "responses"):
        opened: dict[str, Any] = next(
            (event[key] for key in ("content_block", "delta", "item", "part") if isinstance(event.get(key), dict)), {}
        )
        return f"{_PROGRESS.sub('response.*_call.*', str(event.get('type')))} {opened.get('type', '')}".strip()
    choice: dict[str, Any] = next(iter(event.get("choices") or event.get("candidates") or ()), {})
    delta, parts = choice.get("delta") or {}, (choice.get("content") or {}).get("parts") or ()
    keys = [*(key for part in parts for key in part), *(key for key, value in {**choice, **delta}.items() if value is not None)]
    calls = [key for call in delta.get("tool_calls") or () for key in call if key == "id"]
    return " + ".join(sorted({*keys, *calls} - {"index", "role", "delta", "content" if parts else ""}))


def _numbered_event(format: ir.FormatName, event: dict[str, Any], number: int) -> dict[str, Any]:
    """Number the ids of an event and the index of its object, which is not that of its choice."""
    if format != "chat_completions":
        body: dict[str, Any] = numbered(event, number, _INDEXES if format != "generate_content" else frozenset())
        return body
    choices = [
        {**choice, "delta": numbered(choice["delta"], number, _INDEXES)} if isinstance(choice.get("delta"), dict) else choice
        for choice in event.get("choices") or ()
    ]
    return event | ({"choices": choices} if choices else {})


def _frame(format: ir.FormatName) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the events before and after the alternating ones: those of a stream of plain text."""
    events = list(_events(next(stream.data for stream in streams(format) if stream.stem == "text_plain")))
    if format in ("messages", "responses"):
        return [event for event in events if event["type"] in _BEGINNINGS], [event for event in events if event["type"] in _ENDS]
    return events[:1], [event for event in events if "finish" in event_name(format, event)]


def _written(event: dict[str, Any]) -> bytes:
    name = f"event: {event['type']}\n" if isinstance(event.get("type"), str) else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()
