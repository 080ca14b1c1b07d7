"""Work is linear: eight times as many items take eight times the work, also if two kinds alternate.

Work is counted in calls of functions, or in executed lines, so that the machine and its load do not matter; the benchmarks measure the time
of real bodies.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, ClassVar

import pytest

import formatbridge as fb
from formatbridge.formats.chat_completions.stream_state import StreamedCalls
from formatbridge.formats.generate_content.stream_fold import URL_CONTEXT
from formatbridge.formats.shared.fold import Fold
from tests.support.alternation import EventPair, Pair, event_pairs, pairs

FEW, FACTOR = 16, 8  # 128 at the most, the number of tools that servers take: more of them are reported one by one
MOST = FACTOR * 1.2

Body = dict[str, Any]


def _named(count: int, **more: Any) -> list[Body]:
    return [{"type": "function", "name": f"f{i}", **more} for i in range(count)]


def _responses(tools: list[Body], *input: Body, **more: Any) -> Body:
    return {"model": "m", "input": [{"role": "user", "content": "x"}, *input], "tools": tools, **more}


def _among(names: list[Body]) -> Body:
    return {"type": "allowed_tools", "mode": "auto", "tools": names}


def _added(tools: list[Body]) -> Body:
    return {"type": "additional_tools", "role": "developer", "tools": tools}


def _servers(count: int) -> list[Body]:
    return [{"type": "mcp", "server_label": f"s{i}", "server_url": "https://mcp.test"} for i in range(count)]


def _calls(ids: list[str]) -> list[Body]:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    results = [{"role": "tool", "tool_call_id": id, "content": "r"} for id in ids]
    return [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def _apart(ids: list[str]) -> list[Body]:
    calls = [turn for id in ids for turn in _calls([id])[:2]]
    return [*calls, {"role": "user", "content": "x"}, *_calls(ids)[2:]]


def _blocks(blocks: list[Body], **more: Any) -> Body:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}], **more}


def _contents(declarations: list[Body], **more: Any) -> Body:
    return {"contents": [{"role": "user", "parts": [{"text": "x"}]}], "tools": [{"functionDeclarations": declarations}], **more}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}}}

MANY: dict[str, tuple[fb.Format, Callable[[int], Body]]] = {
    "allowed tools": ("responses", lambda n: _responses(_named(n), tool_choice=_among(_named(n)))),
    "allowed servers": ("responses", lambda n: _responses(_servers(n), tool_choice=_among(_servers(n)))),
    "tools in one turn": ("responses", lambda n: _responses([], _added(_named(n, parameters=PARAMETERS)))),
    "turns with a tool": ("responses", lambda n: _responses([], *[_added([tool]) for tool in _named(n, parameters=PARAMETERS)])),
    "tools in a namespace": (
        "responses",
        lambda n: _responses(
            [{"type": "namespace", "name": "s", "description": "d", "tools": _named(n)}], tool_choice=_among(_named(n))
        ),
    ),
    "names too long": ("responses", lambda n: _responses([{"type": "function", "name": "x" * 70 + str(i)} for i in range(n)])),
    "unknown items": ("responses", lambda n: _responses([], *[{"type": "novel", "id": f"i{i}", "z": {"k": i}} for i in range(n)])),
    "calls": ("chat_completions", lambda n: {"model": "m", "messages": _calls([f"c{i}" for i in range(n)])}),
    "calls of one id": ("chat_completions", lambda n: {"model": "m", "messages": _calls(["c"] * n)}),
    "ids that collide": (
        "chat_completions",
        lambda n: {"model": "m", "messages": _calls(["a" + chr(0x4E00 + i) for i in range(n)])},
    ),
    "results without calls": (
        "chat_completions",
        lambda n: {"model": "m", "messages": [{"role": "user", "content": "x"}, *_calls([f"c{i}" for i in range(n)])[2:]]},
    ),
    "results apart from their calls": (
        "chat_completions",
        lambda n: {"model": "m", "messages": _apart([f"c{i}" for i in range(n)])},
    ),
    "results apart from their calls of one id": ("chat_completions", lambda n: {"model": "m", "messages": _apart(["c"] * n)}),
    "unknown fields": ("chat_completions", lambda n: {"model": "m", "messages": [], **{f"k{i}": i for i in range(n)}}),
    "definitions": (
        "chat_completions",
        lambda n: {
            "model": "m",
            "messages": [{"role": "user", "content": "x"}],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "f",
                        "parameters": {
                            "type": "object",
                            "$defs": {f"d{i}": {"type": "string"} for i in range(n)},
                            "properties": {f"p{i}": {"$ref": f"#/$defs/d{i}"} for i in range(n)},
                        },
                    },
                }
            ],
        },
    ),
    "cache marks": ("messages", lambda n: _blocks([{"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}] * n)),
    "documents": ("messages", lambda n: _blocks([{"type": "document", "source": {"type": "content", "content": [IMAGE]}}] * n)),
    "unknown blocks": ("messages", lambda n: _blocks([{"type": "novel", "x": {"y": 1}}] * n)),
    "tools of one name": ("messages", lambda n: _blocks([IMAGE], tools=[{"name": "f", "input_schema": PARAMETERS}] * n)),
    "instructions between turns": (
        "messages",
        lambda n: {"model": "m", "max_tokens": 9, "messages": [{"role": role, "content": "x"} for role in ("user", "system")] * n},
    ),
    "allowed functions": (
        "generate_content",
        lambda n: _contents(
            [{"name": f"f{i}"} for i in range(n)],
            toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [f"f{i}" for i in range(n)]}},
        ),
    ),
    "calls without ids": (
        "generate_content",
        lambda n: {
            "contents": [
                {"role": "user", "parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}] * n},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": 1}}}] * n},
            ]
        },
    ),
}


def _work(act: Callable[[], fb.Converted]) -> int:
    """Count the calls of functions, and the steps of generators, of one conversion with its report."""
    count = 0

    def count_call(frame: object, event: str, argument: object) -> None:
        del frame, argument  # what is called does not matter
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        result = act()
        assert result.losses is not None
        assert result.additions is not None
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("what", MANY)
def test_work_is_linear(what: str, target: fb.Format) -> None:
    """A long list that is searched for each of its members takes minutes instead of a second."""
    source, make = MANY[what]

    def work(count: int) -> int:
        text = json.dumps(make(count))
        return _work(lambda: fb.convert_request(text, source=source, target=target, model="m"))

    work(1)  # what is created once exists then

    assert work(FEW * FACTOR) <= work(FEW) * MOST


def _cited(count: int) -> Body:
    """Return a message with a number of pairs of citations, one malformed and one valid."""
    flat = {"type": "url_citation", "url": "https://falls.test"}
    return {"content": "hi", "annotations": [flat, flat | {"url_citation": {"url": "https://falls.test"}}] * count}


def _called(count: int) -> Body:
    """Return a message with a number of calls, of which every other one has no name."""
    return {"tool_calls": [{"id": f"c{i}", "type": "function", "function": {"name": "f"} if i % 2 else {}} for i in range(count)]}


@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "chat_completions"])
@pytest.mark.parametrize("make", [_cited, _called])
def test_work_is_linear_in_malformed_details(make: Callable[[int], Body], target: fb.Format) -> None:
    """Malformed details need a bounded number of validations, and their places in the original body are not searched for."""

    def work(count: int) -> int:
        text = json.dumps({"id": "c", "choices": [{"message": make(count), "finish_reason": "stop"}]})
        return _work(lambda: fb.convert_response(text, source="chat_completions", target=target))

    work(1)

    assert work(FEW * FACTOR) <= work(FEW) * MOST


def _cited_after_text(count: int) -> bytes:
    """Return a stream with a number of pairs of citations, one malformed and one valid."""
    deltas: list[Body] = [{"content": "hi"}, *[{"annotations": [note]} for note in _cited(count)["annotations"]]]
    events: list[Body] = [{"id": "a", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"id": "a", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def _in_pieces(count: int) -> list[bytes]:
    """Return a stream of a number of calls, all begun before the first gets its arguments."""
    begun: list[Body] = [{"id": f"c{i}", "name": "f", "willContinue": True} for i in range(count)]
    ended: list[Body] = [{"id": f"c{i}", "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}]} for i in range(count)]
    parts = [[{"functionCall": call}] for call in (*begun, *ended)]
    events: list[Body] = [{"candidates": [{"content": {"role": "model", "parts": part}}]} for part in parts]
    events.append({"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]})
    return [f"data: {json.dumps(event)}\r\n\r\n".encode() for event in events]


@pytest.mark.parametrize("target", fb.FORMATS)
def test_work_is_linear_in_open_calls(target: fb.Format) -> None:
    """A piece finds its call by its id, however many calls are open."""

    def work(count: int) -> int:
        return _work(lambda: fb.collect_stream(_in_pieces(count), source="generate_content", target=target))

    work(1)

    assert work(FEW * FACTOR) <= work(FEW) * MOST


class _Id(str):
    """The id of a call, which counts its comparisons: a search in C is no call of a function."""

    __slots__ = ()
    compared: ClassVar[list[object]] = []
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        self.compared.append(other)
        return super().__eq__(other)


class _Page(dict[str, Any]):
    """A page that was read, which counts its comparisons."""

    compared: ClassVar[list[object]] = []
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        self.compared.append(other)
        return super().__eq__(other)


def test_a_call_without_index_is_not_searched_for() -> None:
    """Some servers leave out the index; a thousand calls must not need a million comparisons of ids."""
    calls, count = StreamedCalls(), FEW * FACTOR

    slots = [calls.slot_of({"id": _Id(f"c{number}")}, 0) for number in (*range(count), *range(count))]

    assert slots == [*range(count), *range(count)]
    assert len(_Id.compared) <= 4 * count


def test_a_list_in_many_deltas_is_not_searched() -> None:
    """Each event has one more page; a search among all earlier ones takes minutes in the end."""
    pages, count = Fold(URL_CONTEXT), FEW * FACTOR

    for number in (*range(count), 0):
        pages.add({"urlContextMetadata": {"urlMetadata": [_Page(retrievedUrl=f"https://a.test/{number}")]}})

    assert len(pages.to_object()["urlContextMetadata"]["urlMetadata"]) == count
    assert len(_Page.compared) <= count


def _signed_after_text(count: int) -> bytes:
    """Return a stream of a number of reasoning parts, each signed when all have arrived."""
    begun: list[Body] = [{"type": "reasoning.text", "text": "a", "index": i} for i in range(count)]
    signed: list[Body] = [{"type": "reasoning.text", "signature": "s", "index": i} for i in range(count)]
    deltas: list[Body] = [{"reasoning_details": [detail]} for detail in (*begun, *signed)]
    events: list[Body] = [{"id": "a", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"id": "a", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def _blocks_after_text(count: int) -> bytes:
    """Return a stream of reasoning parts as text, each signed by a block when all have arrived, and of one more in as many pieces."""
    deltas: list[Body] = [delta for i in range(count) for delta in ({"reasoning_content": f"t{i}"}, {"content": "x"})]
    deltas += [
        {"thinking_blocks": [{"type": "thinking", "thinking": f"t{i}", "signature": f"s{i}"}]} for i in reversed(range(count))
    ]
    deltas += [{"reasoning_content": "ab", "thinking_blocks": [{"type": "thinking", "thinking": "ab"}]} for _ in range(count)]
    events: list[Body] = [{"id": "a", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events.append({"id": "a", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def _never_stopped(count: int) -> bytes:
    """Return a stream of a number of server calls that are never stopped, each with the result of another."""
    events: list[Body] = []
    for i in range(count):
        call = {"type": "server_tool_use", "id": f"s{i}", "name": "web_search", "input": {}}
        result = {"type": "web_search_tool_result", "tool_use_id": f"z{i}", "content": []}
        events += [
            {"type": "content_block_start", "index": 2 * i + at, "content_block": each} for at, each in enumerate((call, result))
        ]
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    events = [{"type": "message_start", "message": head}, *events, end, {"type": "message_stop"}]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


@pytest.mark.parametrize(
    ("source", "make"),
    [
        ("chat_completions", _signed_after_text),
        ("chat_completions", _blocks_after_text),
        ("chat_completions", _cited_after_text),
        ("messages", _never_stopped),
    ],
)
@pytest.mark.parametrize("target", fb.FORMATS)
def test_work_is_linear_in_pairs(source: fb.Format, make: Callable[[int], bytes], target: fb.Format) -> None:
    """A token finds its reasoning part, and a result its call, in the answer and in the report."""

    def work(count: int) -> int:
        def act() -> fb.Converted:
            converter = fb.StreamConverter(source=source, target=target)
            converter.feed(make(count))
            converter.finish()
            return converter.response()

        return _work(act)

    work(1)

    assert work(FEW * FACTOR) <= work(FEW) * MOST


STEP, LONG_STEP = 2, 12
"""The numbers of alternations: in the first check, and in the second if the first finds growth."""
QUADRATIC = (LONG_STEP // STEP) ** 2
"""How much the second difference of quadratic work grows from the short step to the long one; that of linear work does not grow."""
JITTER = 16
"""Lines that may be executed once, at some number of items; a cost for each pair of items has more at the long step."""


def _lines(act: Callable[[], object]) -> int:
    """Count the executed lines, each iteration of a loop included: a loop without a call in it is no call of a function."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        del frame, event, argument
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def _second_difference(work: Callable[[int], Callable[[], object]], step: int) -> int:
    """Return how much more work the third step takes than the second: 0 if work is linear."""
    short, middle, long = (_lines(work(count * step)) for count in (1, 2, 3))
    return long - 2 * middle + short


def _is_linear(work: Callable[[int], Callable[[], object]]) -> bool:
    at_first = _second_difference(work, STEP)
    if at_first <= STEP:  # a quarter of a line for each pair of items
        return True
    return _second_difference(work, LONG_STEP) <= QUADRATIC // 3 * max(at_first, JITTER)


def _conversion(kind: str, source: fb.Format, target: fb.Format, pair: Pair) -> Callable[[int], Callable[[], object]]:
    def work(count: int) -> Callable[[], object]:
        text = pair.text(count)

        def act() -> None:
            if kind == "response":
                converted: fb.Converted = fb.convert_response(text, source=source, target=target)
            else:
                converted = fb.convert_request(text, source=source, target=target, model=pair.fixture.model)
            assert converted.losses is not None
            assert converted.json()

        return act

    return work


def _linear_or_rejected(work: Callable[[int], Callable[[], object]]) -> bool:
    try:
        work(1)()  # what is created once exists then
    except fb.InvalidPayloadError:
        return True
    return _is_linear(work)


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize("kind", ["request", "response"])
def test_work_is_linear_when_two_kinds_alternate(kind: str, source: fb.Format, target: fb.Format) -> None:
    """Items that are pending in one kind of turn may be pending through all turns of another, and be examined in each."""
    superlinear = [str(pair) for pair in pairs(kind, source) if not _linear_or_rejected(_conversion(kind, source, target, pair))]

    assert superlinear == []


def _stream_conversion(target: fb.Format, pair: EventPair) -> Callable[[int], Callable[[], object]]:
    def work(count: int) -> Callable[[], object]:
        reads = pair.reads(count)

        def act() -> None:
            converter = fb.StreamConverter(source=pair.format, target=target)
            for result in _outcomes(converter, reads):
                assert result is not None

        return act

    return work


def _outcomes(converter: fb.StreamConverter, reads: list[bytes]) -> Iterator[object]:
    """Convert a stream that may break its grammar, and read all results."""
    try:
        for each in reads:
            yield converter.feed(each)
        yield converter.finish()
        yield converter.response().losses
    except fb.StreamError as error:
        yield error
    yield converter.losses


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_work_is_linear_when_two_kinds_of_event_alternate(source: fb.Format, target: fb.Format) -> None:
    """The last event of a long stream must take as long as the first."""
    superlinear = [str(pair) for pair in event_pairs(source) if not _is_linear(_stream_conversion(target, pair))]

    assert superlinear == []
