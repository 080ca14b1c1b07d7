"""Compares written streams with the grammar of their format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from formatbridge.jsontext import codec
from formatbridge.streaming.sse import DONE, StreamReader
from tests.support.stream_grammar import GRAMMARS, Grammar, Moves, Series

JsonObject = dict[str, Any]


def check(stream: bytes, format: str) -> list[str]:
    """Return the violations of the grammar in a whole stream, in its order; none if it is valid."""
    grammar = GRAMMARS[format]
    checker = _Checker(grammar)
    result = list(_frame_faults(stream, grammar))
    for number, data in enumerate(_datas(stream)):
        raw = _parsed(data)
        before = len(checker.faults)
        if data == DONE:
            checker.move("[DONE]")
        elif raw is None:
            checker.expect(False, "is no JSON object")
        elif "error" in raw and format != "responses":
            checker.move("error")
        else:
            _READERS[format](checker, raw)
            checker.hold_constant(raw)
        checker.faults[before:] = [f"event {number}: {fault}" for fault in checker.faults[before:]]
    return result + checker.faults + list(checker.unended())


def _datas(stream: bytes) -> list[bytes]:
    reader = StreamReader()
    return [event.data for event in (*reader.feed(stream), *reader.finish())]


def _parsed(data: bytes) -> JsonObject | None:
    try:
        value = codec.loads(data)
    except codec.NotJsonError:
        return None
    return value if isinstance(value, dict) else None


def _frame_faults(stream: bytes, grammar: Grammar) -> Iterator[str]:
    """Yield the lines of a stream that the official client of its format cannot read."""
    blank = grammar.line_end * 2
    if not stream.endswith(blank):
        yield "the last event lacks its blank line"
    for number, event in enumerate(stream.split(blank)[:-1]):
        *names, data = event.split(grammar.line_end)
        if not data.startswith(b"data: ") or b"\n" in data or b"\r" in data:
            yield f"event {number} is not one data line"
        elif not grammar.is_named and names:
            yield f"event {number} has other lines than its data"
        elif grammar.is_named and names != [b"event: " + str((_parsed(data[6:]) or {}).get("type")).encode()]:
            yield f"event {number} is not named by its type"


class _Checker:
    """Applies the grammar to one stream; a transition that no table allows is a fault, and changes no state."""

    def __init__(self, grammar: Grammar) -> None:
        self.faults: list[str] = []
        self.repeats = grammar.repeats
        self._grammar = grammar
        self._state = next(iter(grammar.stream))
        self._series: Mapping[str, Series] = {series.name: series for series in grammar.series}
        self._things: dict[tuple[str, tuple[int, ...]], tuple[str, str]] = {}
        self._latest: dict[str, tuple[int, ...]] = {}
        self._constants: dict[str, Any] = {}
        self.number = 0
        self.ended: dict[tuple[int, ...], JsonObject] = {}
        self.accumulated: dict[tuple[int, ...], list[str]] = {}
        self.ids: dict[tuple[int, ...], Any] = {}

    def expect(self, is_right: bool, fault: str) -> None:
        """Note a fault unless a condition holds."""
        if not is_right:
            self.faults.append(fault)

    def move(self, word: str) -> None:
        """Apply a transition to the stream."""
        self._state = self._after(self._grammar.stream, self._state, word, "the stream")

    def move_thing(self, name: str, key: tuple[int, ...], word: str, kind: str | None = None) -> None:
        """Apply a transition to an object of the stream; ``kind``: it opens, and has that kind."""
        series = self._series[name]
        if kind is not None:
            self._open(series, key, kind if kind in series.kinds else "*")
        if (name, key) not in self._things:
            self.faults.append(f"{word} of {name} {key[-1]}, which is not there")
            return
        kind, state = self._things[name, key]
        self._things[name, key] = kind, self._after(series.kinds[kind], state, word, f"{name} {key[-1]}")

    def has(self, name: str, key: tuple[int, ...]) -> bool:
        """Return whether an object has opened."""
        return (name, key) in self._things

    def _open(self, series: Series, key: tuple[int, ...], kind: str) -> None:
        before = sum(name == series.name and other[:-1] == key[:-1] for name, other in self._things)
        self.expect(key[-1] == before or not series.in_order, f"{series.name} {key[-1]}, expected {before}")
        latest = self._things.get((series.name, self._latest.get(series.name, ())))
        if series.one_at_a_time and latest:
            self.expect(latest[1] == series.over, f"{series.name} {key[-1]} opens while another one is open")
        self._latest[series.name] = key
        self._things[series.name, key] = kind, next(iter(series.kinds[kind]))

    def _after(self, moves: Moves, state: str, word: str, what: str) -> str:
        if word not in moves[state]:
            self.faults.append(f"{word} of {what} in the state {state}")
            return state
        return moves[state][word]

    def hold_constant(self, raw: JsonObject) -> None:
        """Compare the members that are constant within a stream."""
        for name in self._grammar.constant:
            value: Any = raw
            for step in name.split("."):
                value = value.get(step) if isinstance(value, dict) else None
            if value is not None:
                known = self._constants.setdefault(name, value)
                self.expect(known == value, f"{name} changes")

    def unended(self) -> Iterator[str]:
        """Return the objects that are open at the end of the bytes; after a failure some may be open."""
        if self._state not in ("done", "failed"):
            yield f"the stream is over in the state {self._state}"
        if self._state == "done":
            for (name, key), (_, state) in self._things.items():
                if state != self._series[name].over:
                    yield f"{name} {key[-1]} is over in the state {state}"


def _read_chunk(checker: _Checker, raw: JsonObject) -> None:
    """Read a chunk of chat_completions: of one choice, and of one kind."""
    if not raw["choices"]:
        checker.move("usage")
        checker.expect("usage" in raw, "neither a choice nor usage")
    for choice in raw["choices"]:
        checker.move("chunk")
        key, delta = (choice["index"],), choice["delta"]
        is_first = not checker.has("choice", key)
        words = ["role"] if delta.get("role") and not delta.get("content") else list(delta)
        words += [name for name in ("finish_reason", "logprobs") if choice.get(name) is not None]
        checker.expect(len(words) == 1, f"a chunk of {len(words)} kinds: {' '.join(words)}")
        for word in words:
            checker.move_thing("choice", key, word, "*" if is_first and word == words[0] else None)
        for call in delta.get("tool_calls") or ():
            _read_call(checker, (*key, call["index"]), call)
        for name, list_name, word in _NUMBERED:
            for item in delta.get(list_name) or ():
                checker.move_thing(name, (*key, item.get("index", -1)), word if word in item else f"no {word}", "*")


_NUMBERED = (("image", "images", "image_url"), ("detail", "reasoning_details", "type"))
"""Lists that the official client accumulates by index: the object, its list, and the required member."""


def _read_call(checker: _Checker, key: tuple[int, ...], call: JsonObject) -> None:
    body = call.get("function") or call.get("custom") or {}
    if not checker.has("call", key):
        has_all = all((call.get("id"), call.get("type"), body.get("name")))
        checker.move_thing("call", key, "id, type and name" if has_all else "less than id, type and name", "*")
    else:
        checker.expect(not {"id", "type"} & call.keys() and "name" not in body, f"call {key[-1]} is named again")
        checker.move_thing("call", key, "extra_content" if "extra_content" in call else "arguments")


def _read_block_event(checker: _Checker, raw: JsonObject) -> None:
    """Read an event of messages."""
    kind = raw["type"]
    if not kind.startswith("content_block"):
        checker.move(kind)
        if kind == "message_start":
            checker.expect(not raw["message"]["content"] and raw["message"]["stop_reason"] is None, "a start that is no start")
        elif kind == "message_delta":
            checker.expect(bool(raw["delta"]["stop_reason"]), "an end without its reason")
        return
    checker.move("block")
    key = (raw["index"],)
    if kind == "content_block_start":
        checker.move_thing("block", key, kind, raw["content_block"]["type"])
        checker.expect(not raw["content_block"].get("input"), "a block that has its input before its deltas")
        return
    checker.move_thing("block", key, raw["delta"]["type"] if "delta" in raw else kind)


_QUIET = {"incomplete": "cancelled"}
"""Kind of last event to another status that it may have, which has no event."""


def _read_item_event(checker: _Checker, raw: JsonObject) -> None:
    """Read an event of responses."""
    kind = raw["type"].removeprefix("response.")
    checker.expect(raw.get("sequence_number") == checker.number, f"sequence number {raw.get('sequence_number')}")
    checker.number += 1
    if "output_index" not in raw:
        checker.move(kind)
        if kind in ("completed", "incomplete", "failed"):
            checker.expect(
                raw["response"]["status"] in (kind, _QUIET.get(kind)), f"{kind} with the status {raw['response']['status']}"
            )
            output = [item for _, item in sorted(checker.ended.items())]
            checker.expect(raw["response"]["output"] == output, "an output that is not what its items were")
        return
    checker.move("item")
    key, item = (raw["output_index"],), raw.get("item") or {}
    checker.move_thing("item", key, kind, item["type"] if kind == "output_item.added" else None)
    item_id = raw.get("item_id") or item.get("id")
    checker.expect(checker.ids.setdefault(key, item_id) == item_id, f"the id of item {key[0]} changes")
    if kind.endswith(".delta"):
        checker.accumulated.setdefault(key, []).append(raw["delta"])
    elif kind in checker.repeats:
        text = "".join(checker.accumulated.pop(key, ()))
        checker.expect(raw[checker.repeats[kind]] == text, f"{kind} does not repeat its deltas")
    if kind == "output_item.done":
        checker.ended[key] = item


def _read_small_answer(checker: _Checker, raw: JsonObject) -> None:
    """Read an event of generate_content: the last one has the finish reasons, the sources and the usage."""
    ends = [candidate.get("finishReason") for candidate in raw.get("candidates") or ()]
    checker.expect(bool(ends), "an event without candidates")
    checker.move("last event" if any(ends) else "event")
    checker.expect("usageMetadata" not in raw or any(ends), "usage before the end")
    for candidate in raw["candidates"]:
        key, content = (candidate["index"],), candidate["content"]
        checker.expect(content.get("role") == "model", "content without its role")
        checker.expect("groundingMetadata" not in candidate or "finishReason" in candidate, "sources before the end")
        parts = [
            part for part, following in pairwise([*content["parts"], {}]) if part != {"text": ""} or not following.get("thought")
        ]
        parts = [] if parts == [{"text": ""}] else parts
        checker.expect(bool(content["parts"]), "an event without parts, of which the official chats forget their turn")
        word = "finishReason" if "finishReason" in candidate else "parts" if parts else "logprobsResult"
        checker.expect(word in candidate or word == "parts", "an empty candidate")
        checker.move_thing("candidate", key, word, None if checker.has("candidate", key) else "*")
        for part in parts:
            checker.expect(_is_valid(part), "a part with no content, or with more than one")


_DATA = frozenset({
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall",
    "toolResponse",
})  # fmt: skip


def _is_valid(part: JsonObject) -> bool:
    """Return whether a part has one data member with a value; of a call, all of it."""
    is_empty = part in ({"text": ""}, {"text": "", "thought": True})
    is_whole = "functionCall" not in part or isinstance(part["functionCall"].get("args"), dict)
    return len(_DATA & part.keys()) == 1 and is_whole and not is_empty


_READERS: Mapping[str, Callable[[_Checker, JsonObject], None]] = {
    "chat_completions": _read_chunk,
    "messages": _read_block_event,
    "responses": _read_item_event,
    "generate_content": _read_small_answer,
}
