"""The official SDKs' clients as readers of streams, in process (law 5).

``read`` passes a stream to the official client of its format and returns the answer that the client accumulates, as a body of that format.
``content_of`` returns the fields of a body that a caller reads, so that two bodies can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

JsonObject = dict[str, Any]

_current: list[bytes] = []
"""The pieces of the stream that the next call reads. The clients are shared, because they are slow to create."""


class ClientRefusesError(Exception):
    """The official client raised, or returned less than a whole answer."""


def read(stream: bytes, format: str, *, size: int | None = None) -> JsonObject:
    """Return the answer of the official client for a stream that arrives in pieces of some size, or at once."""
    pieces = [stream] if size is None else [stream[at : at + size] for at in range(0, len(stream), size)]
    _current[:] = pieces
    try:
        return _READERS[format]()
    except Exception as error:
        raise ClientRefusesError(f"{type(error).__name__}: {error}") from error


def failures(stream: bytes, format: str) -> dict[str, str | None]:
    """Return, by the method with which the official client reads a stream, the error that it raises; None if it raises none."""
    result: dict[str, str | None] = {}
    for call, ask in _CALLS[format].items():
        _current[:] = [stream]
        try:
            for _ in ask():
                pass
            result[call] = None
        except Exception as error:
            result[call] = f"{type(error).__name__}: {error}"
    return result


def content_of(body: JsonObject, format: str) -> JsonObject:
    """Return the content of an answer: texts, reasoning parts, refusals, calls with their arguments, finish reason and usage."""
    return _CONTENT[format](body)


@cache
def _http_client() -> Any:
    httpx2 = pytest.importorskip("httpx2", reason="the official clients' transport is not installed")

    def answer(_: Any) -> Any:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(list(_current)))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


@cache
def _openai() -> Any:
    openai = pytest.importorskip("openai", reason="the official SDK 'openai' is not installed")
    return openai.OpenAI(api_key="k", http_client=_http_client(), max_retries=0)


@cache
def _anthropic() -> Any:
    anthropic = pytest.importorskip("anthropic", reason="the official SDK 'anthropic' is not installed")
    return anthropic.Anthropic(api_key="k", http_client=_http_client(), max_retries=0)


@cache
def _genai() -> Any:
    genai = pytest.importorskip("google.genai", reason="the official SDK 'google-genai' is not installed")
    retry = genai.types.HttpRetryOptions(attempts=1)
    return genai.Client(api_key="k", http_options=genai.types.HttpOptions(httpx_client=_http_client(), retry_options=retry))


# Reading.


def _read_chat_completions() -> JsonObject:
    with _openai().chat.completions.stream(model="m", messages=[{"role": "user", "content": "a"}]) as reading:
        for _ in reading:
            pass
        body = _as_json(reading.current_completion_snapshot)
    for choice in body["choices"]:
        if choice.get("finish_reason") is None:
            raise ClientRefusesError("a choice without its end")
    return body


def _read_messages() -> JsonObject:
    with _anthropic().beta.messages.stream(model="m", max_tokens=1, messages=[{"role": "user", "content": "a"}]) as reading:
        kinds = [event.type for event in reading]
        body = _as_json(reading.get_final_message())
    if kinds[-1] != "message_stop":
        raise ClientRefusesError(f"the last event is {kinds[-1]}")
    return body


def _read_responses() -> JsonObject:
    with _openai().responses.stream(model="m", input="a") as reading:
        reported = list(reading)
    if reported[-1].type not in ("response.completed", "response.incomplete", "response.failed"):
        raise ClientRefusesError(f"the last event is {reported[-1].type}")
    body = _as_json(reported[-1].response)
    if reported[-1].type == "response.failed":
        raise ClientRefusesError(f"failed: {body['error']['message']}")
    return body


def _read_generate_content() -> JsonObject:
    from google.genai import types

    config = types.GenerateContentConfig(automatic_continuation=False)
    result: JsonObject = {"candidates": {}}
    for chunk in _genai().models.generate_content_stream(model="m", contents="x", config=config):
        body = json.loads(chunk.model_dump_json(by_alias=True, exclude_none=True))
        for candidate in body.pop("candidates", ()):
            known = result["candidates"].setdefault(candidate.get("index", 0), {"content": {"parts": []}})
            known["content"]["parts"] += (candidate.pop("content", None) or {}).get("parts") or []
            known |= candidate
        result |= body
    if any("finishReason" not in each for each in result["candidates"].values()):
        raise ClientRefusesError("a candidate without its end")
    return result | {"candidates": [each for _, each in sorted(result["candidates"].items())]}


def _as_json(model: Any) -> JsonObject:
    result: JsonObject = model.model_dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    return result


_READERS: dict[str, Callable[[], JsonObject]] = {
    "chat_completions": _read_chat_completions,
    "messages": _read_messages,
    "responses": _read_responses,
    "generate_content": _read_generate_content,
}


_TURN = [{"role": "user", "content": "a"}]


def _through(manager: Any) -> Iterator[Any]:
    with manager as reading:
        yield from reading


_CALLS: dict[str, dict[str, Callable[[], Iterator[Any]]]] = {
    "chat_completions": {
        "create": lambda: iter(_openai().chat.completions.create(model="m", messages=_TURN, stream=True)),
        "stream": lambda: _through(_openai().chat.completions.stream(model="m", messages=_TURN)),
    },
    "messages": {
        "create": lambda: iter(_anthropic().messages.create(model="m", max_tokens=1, messages=_TURN, stream=True)),
        "stream": lambda: _through(_anthropic().messages.stream(model="m", max_tokens=1, messages=_TURN)),
    },
    "responses": {
        "create": lambda: iter(_openai().responses.create(model="m", input="a", stream=True)),
        "stream": lambda: _through(_openai().responses.stream(model="m", input="a")),
    },
    "generate_content": {
        "generate_content_stream": lambda: iter(_genai().models.generate_content_stream(model="m", contents="a")),
        "send_message_stream": lambda: iter(_genai().chats.create(model="m").send_message_stream("a")),
    },
}
"""Format to the methods with which its official client reads a stream."""


# The content of answers.


def _arguments(text: Any) -> Any:
    """Return arguments as values, because some clients parse them; text that is no JSON stays text."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _content_of_chat_completions(body: JsonObject) -> JsonObject:
    choices = []
    for choice in body["choices"]:
        message = choice["message"]
        calls = []
        for call in message.get("tool_calls") or ():
            inner = call.get("function") or call.get("custom") or {}
            calls.append([call["id"], inner["name"], _arguments(inner.get("arguments", inner.get("input")))])
        choices.append(
            {
                "text": message.get("content") or "",
                "thoughts": message.get("reasoning_content") or "",
                "refusal": message.get("refusal") or "",
                "calls": calls,
                "finish": choice["finish_reason"],
            }
        )
    return {"model": body.get("model"), "choices": choices, "usage": _counts(body, "prompt_tokens", "completion_tokens")}


def _content_of_messages(body: JsonObject) -> JsonObject:
    blocks = body["content"]
    used = [block for block in blocks if block["type"] in ("tool_use", "server_tool_use", "mcp_tool_use")]
    return {
        "model": body["model"],
        "text": "".join(block["text"] for block in blocks if block["type"] == "text"),
        "thoughts": [[block["thinking"], block["signature"]] for block in blocks if block["type"] == "thinking"],
        "sealed": [block["data"] for block in blocks if block["type"] == "redacted_thinking"],
        "calls": [[block["id"], block["name"], _arguments(block["input"])] for block in used],
        "kinds": [block["type"] for block in blocks],
        "finish": body["stop_reason"],
        "usage": _counts(body, "input_tokens", "output_tokens", "cache_read_input_tokens"),
    }


def _content_of_responses(body: JsonObject) -> JsonObject:
    items = []
    for item in body["output"]:
        known = {key: item.get(key) for key in ("type", "id", "call_id", "name", "encrypted_content", "status", "input", "code")}
        words = [[part.get("text"), part.get("refusal")] for part in item.get("content") or ()]
        summary = [part["text"] for part in item.get("summary") or ()]
        items.append(known | {"arguments": _arguments(item.get("arguments")), "words": words, "summary": summary})
    usage = _counts(body, "input_tokens", "output_tokens")
    return {"model": body["model"], "status": body["status"], "items": items, "usage": usage}


def _content_of_generate_content(body: JsonObject) -> JsonObject:
    choices = []
    for candidate in body["candidates"]:
        parts = candidate["content"]["parts"]
        texts = [part for part in parts if "text" in part]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        choices.append(
            {
                "text": "".join(part["text"] for part in texts if not part.get("thought")),
                "thoughts": "".join(part["text"] for part in texts if part.get("thought")),
                "tokens": [part["thoughtSignature"] for part in parts if "thoughtSignature" in part],
                "calls": [[call.get("id"), call["name"], call.get("args") or {}] for call in calls],
                "finish": candidate["finishReason"],
            }
        )
    counts = _counts({"usage": body.get("usageMetadata")}, "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    return {"model": body.get("modelVersion"), "choices": choices, "usage": counts}


def _counts(body: JsonObject, *names: str) -> list[int]:
    usage = body.get("usage") or {}
    return [usage.get(name) or 0 for name in names]


_CONTENT: dict[str, Callable[[JsonObject], JsonObject]] = {
    "chat_completions": _content_of_chat_completions,
    "messages": _content_of_messages,
    "responses": _content_of_responses,
    "generate_content": _content_of_generate_content,
}


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield the places where two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            yield from differences(one.get(key), other.get(key), f"{path}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differences(a, b, f"{path}/{index}")
    elif one != other:
        yield f"{path} {repr(one)[:100]} is {repr(other)[:100]}"
