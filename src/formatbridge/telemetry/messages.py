"""The content of requests and answers in the JSON form of the GenAI semantic conventions: messages, instructions and tools.

The forms of parts, messages and tools are those of ``docs/gen-ai/non-normative/models.py`` in
``open-telemetry/semantic-conventions-genai``. Reasoning tokens (signatures) are left out: only their issuer can read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from formatbridge import ir
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject, JsonValue

FINISH_REASONS: dict[ir.FinishReason, str] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "context_length": "length",
    "tool_calls": "tool_call",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "pause": "pause",
    "compaction": "compaction",
    "error": "error",
    "cancelled": "error",
    "other": "other",
}
"""Canonical finish reasons to those of the conventions. They have no word for ``pause`` and ``other``, and allow others."""


def finish_reason(choice: ir.Choice) -> str:
    """Return the finish reason of a choice; ``error`` where the answer ended without one, as the conventions require."""
    return FINISH_REASONS[choice.finish.reason] if choice.finish is not None else "error"


def is_separate(message: ir.Message) -> bool:
    """Return whether instructions are in a separate field of the request, and not in the chat history."""
    return message.role in ("system", "developer") and not message.src.rpartition("/")[2].isdigit()


def system_instructions(messages: Iterable[ir.Message]) -> list[JsonValue]:
    """Return ``gen_ai.system_instructions``: the parts of the instructions that are separate from the chat history."""
    return [part for message in messages if is_separate(message) for part in _parts(message.parts)]


def input_messages(messages: Iterable[ir.Message]) -> list[JsonValue]:
    """Return ``gen_ai.input.messages``: the chat history, in the order of the request."""
    return [{"role": message.role, "parts": _parts(message.parts)} for message in messages if not is_separate(message)]


def output_messages(choices: Iterable[ir.Choice]) -> list[JsonValue]:
    """Return ``gen_ai.output.messages``: one message for each choice.

    Earlier versions of the JSON Schema require ``finish_reason``; the current one accepts it and deprecates it.
    """
    return [{"role": "assistant", "parts": _parts(choice.parts), "finish_reason": finish_reason(choice)} for choice in choices]


def tool_definitions(tools: Iterable[ir.Tool]) -> list[JsonValue]:
    """Return ``gen_ai.tool.definitions``. Addresses and credentials of MCP servers are left out."""
    return [_tool(tool) for tool in tools]


def _tool(tool: ir.Tool) -> JsonObject:
    match tool:
        case ir.FunctionTool():
            return _set(type="function", name=tool.name, description=tool.description, parameters=tool.parameters)
        case ir.CustomTool():
            return _set(type="custom", name=tool.name, description=tool.description)
        case ir.Namespace():
            return _set(type="namespace", name=tool.name, description=tool.description, tools=tool_definitions(tool.tools))
        case ir.McpServer():
            return _set(type="mcp", name=tool.label, description=tool.description)
        case ir.HostedTool():
            is_shared = tool.family != "other"
            return _set(type=tool.family if is_shared else tool.kind, name=tool.family if is_shared else tool.name or tool.kind)


def _parts(parts: Iterable[ir.Part]) -> list[JsonValue]:
    return [encoded for part in parts for encoded in _ENCODERS[type(part)](part)]


def _text(part: ir.Text) -> list[JsonValue]:
    return [{"type": "text", "content": part.text}] if part.text else []


def _reasoning(part: ir.Reasoning) -> list[JsonValue]:
    """Encode visible reasoning; redacted and encrypted reasoning has no content."""
    return [{"type": "reasoning", "content": part.text}] if part.text else []


def _refusal(part: ir.Refusal) -> list[JsonValue]:
    """Encode a refusal as a part of a type that the conventions do not define, which they allow."""
    return [{"type": "refusal", "content": part.text}]


def _media(part: ir.Media) -> list[JsonValue]:
    common = {"mime_type": part.mime, "modality": part.kind}
    if part.data is not None:
        return [_set(type="blob", **common, content=part.data)]
    if part.url is not None:
        return [_set(type="uri", **common, uri=part.url)]
    return [_set(type="file", **common, file_id=part.file_id)] if part.file_id is not None else []


def _tool_call(part: ir.ToolCall) -> list[JsonValue]:
    id = None if part.has_generated_id else part.id
    arguments = part.arguments if part.kind == "custom" else _json_of(part.arguments or "{}")
    return [_set(type="tool_call", id=id, name=part.name, arguments=arguments)]


def _tool_result(part: ir.ToolResult) -> list[JsonValue]:
    """Encode a result: its text, or a list of several parts."""
    texts = [each.text for each in part.content if isinstance(each, ir.Text)]
    is_text = len(part.content) <= 1 and len(texts) == len(part.content)
    response: JsonValue = "".join(texts) if is_text else _parts(part.content)
    id = None if part.has_generated_id else part.call_id
    return [_set(type="tool_call_response", id=id) | {"response": response} | _set(is_error=part.is_error or None)]


def _hosted(part: ir.Hosted) -> list[JsonValue]:
    """Encode a call that the server executed, its result, or both. Formats name these tools differently, except those of MCP servers."""
    encoded: list[JsonValue] = []
    is_mcp = part.family == "mcp"
    if part.role != "result":
        call = _set(type=part.family, server=part.server, arguments=_json_of(part.arguments) if is_mcp else part.arguments)
        name = (part.name if is_mcp else None) or part.family
        encoded.append({"type": "server_tool_call", "id": part.id, "name": name, "server_tool_call": call})
    if part.role != "call":
        result = _set(type=part.family, output=part.output, error=part.error, status=part.status)
        encoded.append({"type": "server_tool_call_response", "id": part.id, "server_tool_call_response": result})
    return encoded


def _opaque(part: ir.Opaque) -> list[JsonValue]:
    """Encode the type and text of a part that only one format has; the rest may be encrypted.

    Its type contains the name of the format, because the conventions define ``file`` with other fields. They define ``compaction``.
    """
    type = part.label if part.label == "compaction" else f"{part.format}.{part.label or 'unknown'}"
    return [_set(type=type, content=part.text)]


_ENCODERS: dict[type, Callable[[Any], list[JsonValue]]] = {
    ir.Text: _text,
    ir.Reasoning: _reasoning,
    ir.Refusal: _refusal,
    ir.Media: _media,
    ir.ToolCall: _tool_call,
    ir.ToolResult: _tool_result,
    ir.Hosted: _hosted,
    ir.Opaque: _opaque,
}


def _json_of(arguments: str | JsonObject | None) -> JsonValue:
    """Return arguments as JSON values; text that is no JSON stays text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value: JsonValue = codec.loads(arguments)
    except codec.NotJsonError:
        return arguments
    return value


def _set(**fields: JsonValue) -> JsonObject:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}
