"""Accumulating is linear: eight times the pieces take eight times as long.

``test_growth`` counts calls, so it does not see copies. Both times are of one run, in CPU time; a copy for each piece makes the longer one
many times what is allowed here.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats import chat_completions, messages
from formatbridge.formats.chat_completions.stream_decoder import StreamDecoder

FEW, FACTOR = 500, 8
MOST = FACTOR * 2

Body = dict[str, Any]
Act = Callable[[], object]


def _chunk(delta: Body, **more: Any) -> Body:
    return {"id": "a", "choices": [{"index": 0, "delta": delta, **more}]}


def _deltas(deltas: list[Body]) -> list[Body]:
    return [*(_chunk(delta) for delta in deltas), _chunk({}, finish_reason="stop")]


def _cited(index: int) -> list[Body]:
    cited = {"type": "web_search_result_location", "url": f"https://a.test/{index}", "cited_text": "c", "encrypted_index": "e"}
    deltas = [{"type": "text_delta", "text": "a"}, {"type": "citations_delta", "citation": cited}]
    start = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
    return [start, *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)]


def _answer(events: list[Body]) -> list[Body]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    return [{"type": "message_start", "message": head}, *events, end, {"type": "message_stop"}]


def _closed_from_behind(count: int) -> list[Body]:
    """Return an answer of a number of texts, all open at once; the first one gets a delta whenever another one closes."""
    longer = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
    ends = [[longer, {"type": "content_block_stop", "index": index}] for index in reversed(range(count))]
    return _answer([event for each in (*map(_cited, range(count)), *ends) for event in each])


def _model_turns(count: int) -> Body:
    return {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}, *[{"role": "model", "parts": [{"text": "a"}], "z": 1}] * count]
    }


def _assistant_items(count: int) -> list[Body]:
    item = {"type": "message", "role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": "a"}]}
    return [{"role": "user", "content": "x"}, *[item] * count]


def _output(count: int) -> Body:
    content = [{"type": "output_text", "text": "a", "annotations": []}]
    item = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "phase": "final_answer", "content": content}
    return {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [item] * count}


def _documents(count: int) -> Body:
    block = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [block] * count}]}


def _request(source: fb.Format, target: fb.Format, body: Body) -> Act:
    return lambda: fb.convert_request(body, source=source, target=target, model="m").additions


def _stream(source: fb.Format, target: fb.Format, events: list[Body]) -> Act:
    data = b"".join(f"event: {event.get('type', '')}\ndata: {json.dumps(event)}\n\n".encode() for event in events)

    def act() -> object:
        converter = fb.StreamConverter(source=source, target=target)
        converter.feed(data)
        converter.finish()
        return converter.response().losses

    return act


def _decoded(events: list[Body]) -> Act:
    def act() -> object:
        decoder = StreamDecoder()
        return [decoder.feed(event) for event in events]

    return act


def _folded(format: Any, events: list[Body]) -> Act:
    return lambda: format.fold_stream(events)


def _texts(count: int) -> list[Body]:
    return [_chunk({"content": "a"}, logprobs={"content": [{"token": "a", "logprob": -1.0}]}) for _ in range(count)]


NOTE = {"type": "url_citation", "url_citation": {"url": "https://a.test", "title": "t", "start_index": 0, "end_index": 1}}
IMAGE = {"type": "image_url", "image_url": {"url": "https://a.test/a.png"}}

CALL = {"type": "function_call", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "output": "r"}


def _results_of_no_call(count: int) -> Body:
    """Return calls, and as many results that name none of them, but a namespace that no call has."""
    calls = [CALL | {"call_id": f"c{index}"} for index in range(count)]
    return {"model": "m", "input": [{"role": "user", "content": "x"}, *calls, *[RESULT | {"namespace": "other"}] * count]}


MANY: dict[str, Callable[[int], Act]] = {
    "items with a field": lambda n: _request("responses", "messages", {"model": "m", "input": _assistant_items(n)}),
    "items of an answer": lambda n: lambda: fb.convert_response(_output(n), source="responses", target="messages").losses,
    "contents with a field": lambda n: _request("generate_content", "messages", _model_turns(n)),
    "files without a name": lambda n: _request("messages", "chat_completions", _documents(8 * n)),
    "results of no call": lambda n: _request("responses", "messages", _results_of_no_call(n)),
    "unknown annotations": lambda n: _stream("chat_completions", "messages", _deltas([{"annotations": [{"type": "novel"}]}] * n)),
    "unknown fields of chunks": lambda n: _decoded([{**_chunk({"content": "a"}), f"k{i}": i} for i in range(n)]),
    "unknown fields of audio": lambda n: _folded(chat_completions, _deltas([{"audio": {f"k{i}": i}} for i in range(4 * n)])),
    "images": lambda n: _folded(chat_completions, _deltas([{"images": [IMAGE]}] * 8 * n)),
    "log probabilities": lambda n: _folded(chat_completions, _texts(8 * n)),
    "citations before a text": lambda n: _decoded(_deltas([{"annotations": [NOTE]}] * 8 * n)),
    "images that are cited": lambda n: _decoded(_deltas([{"images": [IMAGE]}] * n + [{"annotations": [NOTE]}] * n)),
    "citations of a text": lambda n: _folded(messages, _answer([*_cited(0), *_cited(0)[2:] * 8 * n])),
    "texts that close from behind": lambda n: _stream("messages", "responses", _closed_from_behind(n)),
}


def _time(act: Act) -> float:
    """Return the best time of a function in seconds."""
    taken = []
    gc.disable()  # what it looks through grows with all that is alive
    try:
        for _ in range(3):
            before = time.process_time()
            act()
            taken.append(time.process_time() - before)
    finally:
        gc.enable()
    return min(taken)


@pytest.mark.parametrize("what", MANY)
def test_time_is_linear_in_the_number_of_pieces(what: str) -> None:
    """A list or an object that is copied for each addition takes a minute instead of a second."""
    make = MANY[what]
    make(1)()  # what is created once exists then

    few, many = _time(make(FEW)), _time(make(FEW * FACTOR))

    assert many <= few * MOST
