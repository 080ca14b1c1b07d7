"""Synthetic streams: two answers, the same on every machine, in each of the four formats as the vendors send them.

The fields that the vendors send with every piece are included, because they are most of the bytes: fingerprints, tiers, padding of random
length (``obfuscation``, and in messages spaces before the last brace), and sequence numbers. Nothing here uses ``formatbridge``.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.payloads import text

JsonObject = dict[str, Any]
Named = tuple[str, JsonObject]

CREATED = 1790000000
DONE = b"data: [DONE]\n\n"
_SEED = "streams"
_PIECE = re.compile(r"\s*[^\s]{1,8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedCall:
    """A tool call with the pieces of its arguments, which are JSON text."""

    id: str
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedAnswer:
    """The pieces of a streamed answer in no format."""

    text: tuple[str, ...] = ()
    calls: tuple[StreamedCall, ...] = ()
    thinking: tuple[str, ...] = ()
    """Reasoning before the text; only messages has it."""
    size_of_event: int = 45
    """Characters of an event of generate_content, which has larger pieces."""


def pieces(whole: str) -> tuple[str, ...]:
    """Split a text into pieces of the size of tokens."""
    return tuple(_PIECE.findall(whole))


@cache
def text_answer(*, deltas: int = 600) -> StreamedAnswer:
    """Return text in ``deltas`` pieces."""
    dice = random.Random(f"{_SEED}/text")
    return StreamedAnswer(text=pieces(text(dice, deltas * 9))[:deltas])


@cache
def letters(*, deltas: int) -> StreamedAnswer:
    """Return text in ``deltas`` pieces of six random letters, so that no piece can be shared."""
    dice = random.Random(f"{_SEED}/letters")
    return StreamedAnswer(text=tuple("".join(dice.choices(string.ascii_lowercase, k=6)) for _ in range(deltas)), size_of_event=6)


@cache
def calling_answer(*, calls: int = 3, size: int = 1500) -> StreamedAnswer:
    """Return tool calls, each of which writes a file of ``size`` characters, after some reasoning."""
    dice = random.Random(f"{_SEED}/calls")
    streamed = []
    for number in range(calls):
        arguments = {"path": f"src/package/module_{number}.py", "mode": "w", "lines": [3, 40], "content": text(dice, size)}
        streamed.append(
            StreamedCall(id=f"call_{number}AbCdEfGhIjKlMnOpQrSt", name="write_file", arguments=pieces(json.dumps(arguments)))
        )
    return StreamedAnswer(calls=tuple(streamed), thinking=pieces(text(dice, 600)))


@cache
def one_call(*, deltas: int) -> StreamedAnswer:
    """Return a call whose arguments are in ``deltas`` pieces."""
    whole = json.dumps({"content": "".join(text_answer(deltas=deltas).text)})
    step = -(-len(whole) // deltas)
    cut = tuple(whole[at : at + step] for at in range(0, len(whole), step))
    return StreamedAnswer(calls=(StreamedCall(id="call_0AbCdEfGhIjKlMnOpQrSt", name="write_file", arguments=cut),))


def one_piece(*, size: int) -> StreamedAnswer:
    """Return text of ``size`` characters in one piece."""
    return StreamedAnswer(text=("All in one go. " * (size // 15),), size_of_event=size)


def chat_completions(answer: StreamedAnswer) -> list[bytes]:
    """Write an answer in chat_completions: its events, one for each read."""
    dice = random.Random(_SEED)
    envelope = {"id": "chatcmpl-DBk3lQ7vXyZ0Fh2mNpR8sTuV", "object": "chat.completion.chunk", "created": CREATED}
    envelope |= {"model": "m-large-2026-08-06", "service_tier": "default", "system_fingerprint": "fp_07871e2ad8"}

    def chunk(delta: JsonObject, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event(None, envelope | {"choices": [choice], "usage": None, "obfuscation": _padding(dice)})

    chunks = [chunk({"role": "assistant", "content": "" if answer.text else None, "refusal": None})]
    chunks += [chunk({"content": piece}) for piece in answer.text]
    for index, call in enumerate(answer.calls):
        opening = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        chunks.append(chunk({"tool_calls": [opening]}))
        chunks += [chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in call.arguments]
    usage = {"prompt_tokens": 364, "completion_tokens": _count(answer), "total_tokens": 364 + _count(answer)}
    usage |= {
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    last = _event(None, envelope | {"choices": [], "usage": usage, "obfuscation": _padding(dice)})
    return [*chunks, chunk({}, "tool_calls" if answer.calls else "stop"), last, DONE]


def messages(answer: StreamedAnswer) -> list[bytes]:
    """Write an answer in messages."""
    dice = random.Random(_SEED)
    return [_event(name, {"type": name, **fields}, spaces=dice.randrange(16)) for name, fields in _messages(answer)]


def _messages(answer: StreamedAnswer) -> Iterator[Named]:
    usage = {"input_tokens": 364, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    head = {
        "model": "m-large-20261001",
        "id": "msg_01Gf2WbQx8mPz4RtYuVnKsLd",
        "type": "message",
        "role": "assistant",
        "content": [],
    }
    first = usage | {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}, "output_tokens": 3}
    yield (
        "message_start",
        {"message": head | {"stop_reason": None, "stop_sequence": None, "usage": first | {"service_tier": "standard"}}},
    )
    for index, (block, deltas) in enumerate(_blocks(answer)):
        yield "content_block_start", {"index": index, "content_block": block}
        for number, delta in enumerate(deltas):
            if number % 200 == 1:
                yield "ping", {}
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    ended = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": usage | {"output_tokens": _count(answer)}}
    yield "message_stop", {}


def _blocks(answer: StreamedAnswer) -> Iterator[tuple[JsonObject, list[JsonObject]]]:
    """Yield the opening of each block and its deltas."""
    if answer.thinking:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in answer.thinking]
        signature = {"type": "signature_delta", "signature": "EqQBCkYICxgCKkDz" * 24}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if answer.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in answer.text]
    for call in answer.calls:
        block = {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *call.arguments)]


def responses(answer: StreamedAnswer) -> list[bytes]:
    """Write an answer in responses."""
    return [
        _event(name, {"type": name, **fields, "sequence_number": number})
        for number, (name, fields) in enumerate(_responses(answer))
    ]


def _responses(answer: StreamedAnswer) -> Iterator[Named]:
    running = _response("in_progress")
    yield "response.created", {"response": running}
    yield "response.in_progress", {"response": running}
    output: list[JsonObject] = []
    for events in [_message_events(answer.text)] * bool(answer.text) + [_call_events(call) for call in answer.calls]:
        place = {"output_index": len(output)}
        for name, fields in events:
            yield name, fields | place
            if name == "response.output_item.done":
                output.append(fields["item"])
    count = _count(answer)
    usage = {"input_tokens": 364, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": count, "total_tokens": 364 + count}
    usage |= {"output_tokens_details": {"reasoning_tokens": 0}}
    yield (
        "response.completed",
        {"response": _response("completed") | {"completed_at": CREATED + 9, "output": output, "usage": usage}},
    )


def _response(status: str) -> JsonObject:
    """Return the body that the first events and the last one repeat."""
    nothing = ("completed_at", "error", "incomplete_details", "instructions", "max_output_tokens", "max_tool_calls", "moderation")
    body = {"id": "resp_0296f1f2e122877d0169fb7c5f6ab8819c90", "object": "response", "created_at": CREATED, "status": status}
    body |= {
        "background": False,
        **dict.fromkeys(nothing),
        "model": "m-large-2026-04-14",
        "output": [],
        "parallel_tool_calls": True,
    }
    body |= {"frequency_penalty": 0.0, "presence_penalty": 0.0, "previous_response_id": None, "prompt_cache_key": None}
    body |= {"reasoning": {"effort": None, "summary": None}, "safety_identifier": None, "service_tier": "default", "store": False}
    body |= {"temperature": 1.0, "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tool_choice": "auto", "tools": []}
    return body | {"top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "usage": None, "user": None, "metadata": {}}


def _message_events(text: tuple[str, ...]) -> Iterator[Named]:
    dice = random.Random(_SEED)
    id = "msg_0296f1f2e122877d0169fb7c617028819c86e025"
    place = {"content_index": 0, "item_id": id}
    item = {"id": id, "type": "message", "status": "in_progress", "content": [], "role": "assistant"}
    part = {"type": "output_text", "annotations": [], "logprobs": []}
    whole = "".join(text)
    yield "response.output_item.added", {"item": item}
    yield "response.content_part.added", place | {"part": part | {"text": ""}}
    for piece in text:
        yield "response.output_text.delta", place | {"delta": piece, "logprobs": [], "obfuscation": _padding(dice)}
    yield "response.output_text.done", place | {"logprobs": [], "text": whole}
    yield "response.content_part.done", place | {"part": part | {"text": whole}}
    yield "response.output_item.done", {"item": item | {"status": "completed", "content": [part | {"text": whole}]}}


def _call_events(call: StreamedCall) -> Iterator[Named]:
    dice = random.Random(call.id)
    id = f"fc_0daca400c2cf33c9006a{call.id}"
    item = {"id": id, "type": "function_call", "status": "in_progress", "arguments": "", "call_id": call.id, "name": call.name}
    whole = "".join(call.arguments)
    yield "response.output_item.added", {"item": item}
    for piece in call.arguments:
        yield "response.function_call_arguments.delta", {"delta": piece, "item_id": id, "obfuscation": _padding(dice)}
    yield "response.function_call_arguments.done", {"arguments": whole, "item_id": id}
    yield "response.output_item.done", {"item": item | {"status": "completed", "arguments": whole}}


def generate_content(answer: StreamedAnswer) -> list[bytes]:
    """Write an answer in generate_content: events have more text, and whole calls."""
    whole = "".join(answer.text)
    parts: list[JsonObject] = [{"text": whole[at : at + answer.size_of_event]} for at in range(0, len(whole), answer.size_of_event)]
    for call in answer.calls:
        parts.append({"functionCall": {"name": call.name, "args": json.loads("".join(call.arguments)), "id": call.id}})
    events, count = [], 0
    for number, part in enumerate([*parts, {"text": ""}]):
        count += len(json.dumps(part)) // 4
        candidate: JsonObject = {"content": {"parts": [part], "role": "model"}, "index": 0}
        if number == len(parts):
            candidate["finishReason"] = "STOP"
        events.append(_crlf_event({"candidates": [candidate], **_counted(count)}))
    return events


def _counted(count: int) -> JsonObject:
    usage = {"promptTokenCount": 364, "candidatesTokenCount": count, "totalTokenCount": 364 + count}
    usage |= {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 364}], "serviceTier": "standard"}
    return {"usageMetadata": usage, "modelVersion": "m-large-3.5", "responseId": "FyIhav7bJNyw4-EP6eCsqA0"}


STREAMS: dict[str, Callable[[StreamedAnswer], list[bytes]]] = {
    "chat_completions": chat_completions,
    "messages": messages,
    "responses": responses,
    "generate_content": generate_content,
}
"""Format to the function that writes an answer in it."""


def data_of(read: bytes) -> bytes:
    """Return the JSON of an event; empty for the event that only ends a stream."""
    return b"" if read == DONE else read[read.index(b"data: ") + 6 :].rstrip()


def _event(name: str | None, fields: JsonObject, *, spaces: int = 0) -> bytes:
    data = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    padded = f"{data[:-1]}{' ' * spaces}}}"
    return f"event: {name}\ndata: {padded}\n\n".encode() if name else f"data: {padded}\n\n".encode()


def _crlf_event(fields: JsonObject) -> bytes:
    return f"data: {json.dumps(fields, ensure_ascii=False, separators=(',', ': '))}\r\n\r\n".encode()


def _padding(dice: random.Random) -> str:
    return "".join(dice.choices(string.ascii_letters + string.digits, k=dice.randrange(3, 16)))


def _count(answer: StreamedAnswer) -> int:
    return len(answer.text) + len(answer.thinking) + sum(len(call.arguments) for call in answer.calls)
