"""Bodies of a conversation and of an answer in the four formats, with only the fields that all four have.

There is one exception: a request with ``oddity`` has a setting that most other formats do not have, so that the report has a loss.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

MODEL = "claude-sonnet-4-5"
JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool definition."""

    name: str
    description: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message. ``role`` is user, assistant or tool; ``images`` are PNG files in base64."""

    role: str
    text: str = ""
    images: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    answers: Call | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A request in no format."""

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    oddity: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response in no format."""

    text: str
    calls: tuple[Call, ...]


def chat_request(conversation: Conversation) -> JsonObject:
    """Write a request in chat_completions."""
    body: JsonObject = {
        "model": MODEL,
        "messages": [{"role": "system", "content": conversation.system}, *map(_chat_message, conversation.turns)],
        "max_completion_tokens": 4096,
        "temperature": 0.7,
    }
    if conversation.oddity:
        body["seed"] = 7
    if conversation.tools:
        body["tools"] = [{"type": "function", "function": _declared(tool, "parameters")} for tool in conversation.tools]
        body["tool_choice"] = "auto"
    return body


def _chat_message(turn: Turn) -> JsonObject:
    if turn.answers:
        return {"role": "tool", "tool_call_id": turn.answers.id, "content": turn.text}
    if turn.images:
        urls = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}} for image in turn.images]
        return {"role": turn.role, "content": [{"type": "text", "text": turn.text}, *urls]}
    message: JsonObject = {"role": turn.role, "content": turn.text or None}
    return message | ({"tool_calls": [*map(_chat_call, turn.calls)]} if turn.calls else {})


def _chat_call(call: Call) -> JsonObject:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def _declared(tool: Tool, schema_key: str) -> JsonObject:
    return {"name": tool.name, "description": tool.description, schema_key: tool.schema}


def messages_request(conversation: Conversation) -> JsonObject:
    """Write a request in messages; results of parallel calls share a message."""
    merged = groupby(conversation.turns, key=lambda turn: turn.role if turn.role == "tool" else id(turn))
    body: JsonObject = {
        "model": MODEL,
        "max_tokens": 4096,
        "system": conversation.system,
        "messages": [_messages_message(list(turns)) for _, turns in merged],
        "temperature": 0.7,
    }
    if conversation.oddity:
        body["top_k"] = 40
    if conversation.tools:
        body["tools"] = [_declared(tool, "input_schema") for tool in conversation.tools]
        body["tool_choice"] = {"type": "auto"}
    return body


def _messages_message(turns: list[Turn]) -> JsonObject:
    turn = turns[0]
    if turn.role == "tool":
        results = [(turn.answers.id, turn.text) for turn in turns if turn.answers]
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results]}
    if not turn.images and not turn.calls:
        return {"role": turn.role, "content": turn.text}
    blocks: list[JsonObject] = [{"type": "text", "text": turn.text}] if turn.text else []
    for image in turn.images:
        blocks.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}})
    return {"role": turn.role, "content": [*blocks, *map(_messages_call, turn.calls)]}


def _messages_call(call: Call) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def responses_request(conversation: Conversation) -> JsonObject:
    """Write a request in responses."""
    body: JsonObject = {
        "model": MODEL,
        "instructions": conversation.system,
        "input": [item for turn in conversation.turns for item in _responses_items(turn)],
        "max_output_tokens": 4096,
        "temperature": 0.7,
    }
    if conversation.oddity:
        body["truncation"] = "auto"
    if conversation.tools:
        body["tools"] = [{"type": "function", **_declared(tool, "parameters"), "strict": False} for tool in conversation.tools]
        body["tool_choice"] = "auto"
    return body


def _responses_items(turn: Turn) -> list[JsonObject]:
    if turn.answers:
        return [{"type": "function_call_output", "call_id": turn.answers.id, "output": turn.text}]
    kind = "output_text" if turn.role == "assistant" else "input_text"
    parts: list[JsonObject] = [{"type": kind, "text": turn.text}] if turn.text else []
    for image in turn.images:
        parts.append({"type": "input_image", "image_url": f"data:image/png;base64,{image}", "detail": "auto"})
    message: list[JsonObject] = [{"type": "message", "role": turn.role, "content": parts}] if parts else []
    return [*message, *map(_responses_call, turn.calls)]


def _responses_call(call: Call) -> JsonObject:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json.dumps(call.arguments)}


def generate_request(conversation: Conversation) -> JsonObject:
    """Write a request in generate_content; results of parallel calls share a content."""
    merged = groupby(conversation.turns, key=lambda turn: turn.role if turn.role == "tool" else id(turn))
    body: JsonObject = {
        "systemInstruction": {"parts": [{"text": conversation.system}]},
        "contents": [_generate_content(list(turns)) for _, turns in merged],
        "generationConfig": {"temperature": 0.7, "maxOutputTokens": 4096},
    }
    if conversation.oddity:
        body["generationConfig"]["topK"] = 40
    if conversation.tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool, "parameters") for tool in conversation.tools]}]
        body["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}
    return body


def _generate_content(turns: list[Turn]) -> JsonObject:
    turn = turns[0]
    if turn.role == "tool":
        results = [(turn.answers, {"output": turn.text}) for turn in turns if turn.answers]
        parts = [{"functionResponse": {"id": call.id, "name": call.name, "response": output}} for call, output in results]
        return {"role": "user", "parts": parts}
    parts: list[JsonObject] = [{"text": turn.text}] if turn.text else []
    for image in turn.images:
        parts.append({"inlineData": {"mimeType": "image/png", "data": image}})
    return {"role": "model" if turn.role == "assistant" else "user", "parts": [*parts, *map(_generate_call, turn.calls)]}


def _generate_call(call: Call) -> JsonObject:
    return {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}


def chat_response(answer: Answer) -> JsonObject:
    """Write a response in chat_completions."""
    message = {"role": "assistant", "content": answer.text, "refusal": None, "tool_calls": [*map(_chat_call, answer.calls)]}
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1_741_569_952,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": {
            "prompt_tokens": 1900,
            "completion_tokens": 1000,
            "total_tokens": 2900,
            "prompt_tokens_details": {"cached_tokens": 1200, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
    }


def messages_response(answer: Answer) -> JsonObject:
    """Write a response in messages."""
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": answer.text}, *map(_messages_call, answer.calls)],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 700, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1200, "output_tokens": 1000},
    }


def responses_response(answer: Answer) -> JsonObject:
    """Write a response in responses."""
    content = [{"type": "output_text", "text": answer.text, "annotations": []}]
    message = {"type": "message", "id": "msg_67ccd2bf17f0819081ff3bb2cf6508e6", "status": "completed", "role": "assistant"}
    calls = [{**_responses_call(call), "id": f"fc_{call.id}", "status": "completed"} for call in answer.calls]
    return {
        "id": "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        "object": "response",
        "created_at": 1_741_476_542,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": MODEL,
        "output": [{**message, "content": content}, *calls],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 1900,
            "input_tokens_details": {"cached_tokens": 1200},
            "output_tokens": 1000,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2900,
        },
    }


def generate_response(answer: Answer) -> JsonObject:
    """Write a response in generate_content."""
    content = {"role": "model", "parts": [{"text": answer.text}, *map(_generate_call, answer.calls)]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 1900,
            "cachedContentTokenCount": 1200,
            "candidatesTokenCount": 1000,
            "totalTokenCount": 2900,
        },
        "modelVersion": MODEL,
        "responseId": "fZ3zZ4GgNqWxmNAP1Zeb8AY",
    }


BODIES: dict[tuple[str, str], Callable[[Any], JsonObject]] = {
    ("request", "chat_completions"): chat_request,
    ("request", "messages"): messages_request,
    ("request", "responses"): responses_request,
    ("request", "generate_content"): generate_request,
    ("response", "chat_completions"): chat_response,
    ("response", "messages"): messages_response,
    ("response", "responses"): responses_response,
    ("response", "generate_content"): generate_response,
}
"""Kind of document and format to the function that writes it."""
