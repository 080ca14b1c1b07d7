"""Rules of vendors for requests that no type states, as functions from a request to the rules that it breaks.

Source: the vendors' documentation and the messages of their rejections.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from formatbridge import Loss
from formatbridge.testing.vendor_rules import Facts
from formatbridge.testing.vendor_rules import broken_rules as server_rules
from tests.support.laws import Sample

JsonObject = dict[str, Any]
Rules = dict[str, Callable[[JsonObject], bool]]
"""The error of a server for a request, and whether it certainly occurs."""


def broken_rules(format: str, body: JsonObject) -> Iterator[str]:
    """Yield the errors of the server of a format for a request."""
    yield from (event for event, is_broken in _RULES[format].items() if is_broken(body))


def _are_unique(names: Iterable[str]) -> bool:
    reported = list(names)
    return len(reported) == len(set(reported))


def _thinks(body: JsonObject) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _blocks(body: JsonObject) -> Iterator[JsonObject]:
    """Yield the blocks of a request, those of results included."""
    pending = [message.get("content") for message in body["messages"]] + [body.get("system")]
    for content in pending:  # which grows in the loop
        for block in content if isinstance(content, list) else ():
            yield block
            pending.append(block.get("content"))


def _fetches_else(body: JsonObject) -> bool:
    """Return whether a URL ends in the extension of another file than an image or PDF."""
    sources = [block["source"] for block in _blocks(body) if block["type"] in ("image", "document")]
    return any(source["type"] == "url" and _OTHER.search(source["url"]) for source in sources)


def _begins_without_thinking(messages: list[JsonObject]) -> bool:
    """Return whether the current answer, whose calls were just answered, begins without thinking."""
    while messages and messages[-1]["role"] == "user" and not isinstance(messages[-1]["content"], str):
        if messages[-1]["content"][0]["type"] != "tool_result":
            return False
        messages = messages[:-1]
    last = messages[-1] if messages else {"role": "user"}
    return last["role"] == "assistant" and (isinstance(last["content"], str) or "thinking" not in last["content"][0]["type"])


def _text_of(message: JsonObject) -> str:
    """Return the text at the end of a message."""
    content = message["content"]
    return content if isinstance(content, str) else str(content[-1].get("text", ""))


def _parts(turns: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Yield the parts of turns and of results that are lists of parts."""
    for turn in turns:
        for content in (turn.get("content"), turn.get("output")):
            yield from content if isinstance(content, list) else ()


def _answers_elsewhere(messages: list[JsonObject]) -> bool:
    """Return whether a result with a call is not directly after it, or after other results there."""
    request: dict[str, int] = {}
    source: set[str] = set()
    for message in messages:
        call_id = message.get("tool_call_id", "")
        if message["role"] == "tool" and request.get(call_id):
            request[call_id] -= 1
            if call_id not in source:
                return True
        elif message["role"] != "tool":
            source = {call["id"] for call in message.get("tool_calls") or ()}
        for call in message.get("tool_calls") or ():
            request[call["id"]] = request.get(call["id"], 0) + 1
    return False


_OTHER = re.compile(r"\.(mp3|wav|mp4|mov|docx|csv|txt|html|json|svg|tiff)$", re.IGNORECASE)

_MESSAGES: Rules = {
    "temperature may only be set to 1 when thinking is enabled": lambda body: _thinks(body) and body.get("temperature", 1) != 1,
    "top_p must be 0.95 to 1 when thinking is enabled": lambda body: _thinks(body) and not 0.95 <= body.get("top_p", 1) <= 1,
    "top_k must be unset when thinking is enabled": lambda body: _thinks(body) and "top_k" in body,
    "thinking may not be enabled when tool_choice forces tool use": lambda body: (
        _thinks(body) and body.get("tool_choice", {}).get("type") in ("any", "tool")
    ),
    "max_tokens must be greater than thinking.budget_tokens": lambda body: (
        body["max_tokens"] <= (body.get("thinking") or {}).get("budget_tokens", -1)
    ),
    "tool_choice may only be specified while providing tools": lambda body: "tool_choice" in body and not body.get("tools"),
    "tool names must be unique": lambda body: not _are_unique(tool["name"] for tool in body.get("tools") or () if tool.get("name")),
    "`tool_use` ids must be unique": lambda body: (
        not _are_unique(block["id"] for block in _blocks(body) if block["type"] == "tool_use")
    ),
    "expected thinking at the start of the final assistant message": lambda body: (
        (body.get("thinking") or {}).get("type") == "enabled" and _begins_without_thinking(body["messages"])
    ),
    "text content blocks must be non-empty": lambda body: (
        not all(block["text"].strip() for block in _blocks(body) if block["type"] == "text")
    ),
    "final assistant content cannot end with trailing whitespace": lambda body: (
        (body["messages"] or [{}])[-1].get("role") == "assistant" and _text_of(body["messages"][-1])[-1:].isspace()
    ),
    "unable to download the file: not an image or PDF": _fetches_else,
    "stop_sequences: each must contain non-whitespace": lambda body: (
        not all(text.strip() for text in body.get("stop_sequences") or ())
    ),
}

_END_USER: Rules = {
    "user: string too long, at most 64 characters": lambda body: len(body.get("user") or "") > 64,
    "safety_identifier: at most 128 characters": lambda body: len(body.get("safety_identifier") or "") > 128,
}
"""Source: the error of the vendor's server, and the official SDK's documentation, 2026-11."""

_CHAT_COMPLETIONS: Rules = {
    **_END_USER,
    "an assistant message with tool_calls must be followed by tool messages": lambda body: _answers_elsewhere(body["messages"]),
    "tool_choice is only allowed when tools are specified": lambda body: "tool_choice" in body and not body.get("tools"),
    "parallel_tool_calls is only allowed when tools are specified": lambda body: (
        "parallel_tool_calls" in body and not body.get("tools")
    ),
    "top_logprobs is only allowed when logprobs is enabled": lambda body: "top_logprobs" in body and not body.get("logprobs"),
    "stop: at most 4": lambda body: len(body.get("stop") or ()) > 4,
    "tool_calls.id: at most 40 characters": lambda body: any(
        len(call["id"]) > 40 for message in body["messages"] for call in message.get("tool_calls") or ()
    ),
    "missing required parameter: file.filename": lambda body: any(
        "file_data" in part.get("file", ()) and not part["file"].get("filename") for part in _parts(body["messages"])
    ),
}


def _chosen(body: JsonObject) -> set[str]:
    """Return the kinds of the server's tools that a choice names."""
    choice = body.get("tool_choice")
    chosen = choice.get("tools", [choice]) if isinstance(choice, dict) else []
    return {tool["type"] for tool in chosen} - {"function", "custom", "mcp"}


def _tool_types(body: JsonObject) -> set[str]:
    """Return the kinds of the tools of a request, those of its messages included."""
    items = [item for item in body["input"] if item.get("type") == "additional_tools"]
    return {tool["type"] for holder in (body, *items) for tool in holder.get("tools") or ()}


_RESPONSES: Rules = {
    "tool choice not found in 'tools' parameter": lambda body: not _chosen(body) <= _tool_types(body),
    **_END_USER,
    "missing required parameter: filename": lambda body: any(
        "file_data" in part and not part.get("filename") for part in _parts(body["input"])
    ),
    "tool_choice must be specified with tools": lambda body: "tool_choice" in body and not body.get("tools"),
}

_GENERATE_CONTENT: Rules = {
    "function calling config is set without function_declarations": lambda body: (
        "functionCallingConfig" in body.get("toolConfig", {})
        and not any("functionDeclarations" in tool for tool in body.get("tools", ()))
    ),
    "logprobs needs responseLogprobs": lambda body: (
        "logprobs" in body.get("generationConfig", {}) and not body["generationConfig"].get("responseLogprobs")
    ),
    "duplicate function declaration found": lambda body: (
        not _are_unique(each["name"] for tool in body.get("tools", ()) for each in tool.get("functionDeclarations", ()))
    ),
    "stopSequences: at most 5": lambda body: len(body.get("generationConfig", {}).get("stopSequences") or ()) > 5,
    "thinkingBudget and thinkingLevel exclude each other": lambda body: (
        {"thinkingBudget", "thinkingLevel"} <= body.get("generationConfig", {}).get("thinkingConfig", {}).keys()
    ),
}

_RULES = {
    "chat_completions": _CHAT_COMPLETIONS,
    "messages": _MESSAGES,
    "responses": _RESPONSES,
    "generate_content": _GENERATE_CONTENT,
}


_PAIRS = frozenset({"unanswered_call", "orphan_result"})


def is_omission(rule: str, sample: Sample, losses: Iterable[Loss]) -> bool:
    """Return whether a converted request breaks a rule because of what the request of the caller lacks.

    Some servers have the model in the URL. A request without a turn that the target can hold is reported as ``no_turns``, as impossible.
    A call without a result, or a result without its call, stays as the caller sent it.
    """
    if rule == "no_model":
        return not sample.body.get("model")
    if rule in _PAIRS:
        return _lacks_a_call_or_a_result(sample)
    return rule in ("no_messages", "no_input", "no_contents") and "no_turns" in {loss.code for loss in losses}


def _lacks_a_call_or_a_result(sample: Sample) -> bool:
    """Return whether the vendor of the caller's format rejects the request for the same reason. Gemini has no such rule."""
    if sample.format == "generate_content":
        return any("functionCall" in part for part in sample.body["contents"][-1]["parts"])
    format: Any = sample.format
    return not _PAIRS.isdisjoint(rule.name for rule, _ in server_rules(format, sample.body, Facts()))
