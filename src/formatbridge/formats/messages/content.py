"""Turns of messages: decode and encode side by side.

A turn is an ordered list of blocks. Results stand first in the user's turn after the calls; turns of one role that follow each other
are one turn; instructions in mid-conversation stand between a turn of the user and one of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from formatbridge import ir
from formatbridge.formats.messages.calls import decode_call, encode_call
from formatbridge.formats.messages.hosted_content import (
    decode_code_result,
    decode_hosted_call,
    decode_mcp_call,
    decode_mcp_result,
    decode_web_result,
)
from formatbridge.formats.messages.parts import (
    DECODE_PART,
    INSTRUCTION_KINDS,
    decode_content,
    decode_inner_media,
    decode_opaque,
    decode_part,
    encode_part,
    encode_refusal,
    encode_text,
)
from formatbridge.formats.messages.reasoning import (
    TAKEN_EFFORTS,
    bind_call_tokens,
    decode_redacted,
    decode_thinking,
    encode_reasoning,
)
from formatbridge.formats.messages.results import decode_result
from formatbridge.formats.messages.tools import decode_tool
from formatbridge.formats.shared.parts import encode_opaque, is_plain, join_texts, weigh_unknown
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.tool_arguments import Objects
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_MESSAGE = frozenset({"role", "content"})
_SYSTEM = _MESSAGE | {"output_config"}


def decode_message(raw: JsonObject, src: str) -> ir.Message:
    """Read one turn."""
    role = raw["role"]
    if role == "system":
        return _decode_instruction(raw, src)
    content, place = raw["content"], f"{src}/content"
    parts: list[ir.Part] = [ir.Text(content, place)] if type(content) is str else decode_blocks(content, place)
    if role == "user" and type(content) is not str:
        weigh_unknown(parts)
    return ir.Message(role, parts, src, rest(raw, _MESSAGE) if len(raw) > 2 else None)


def decode_blocks(content: list[JsonObject], src: str) -> list[ir.Part]:
    """Read the blocks of a turn or of an answer; a kind that is not known stays as it is."""
    parts: list[ir.Part] = []
    carries = False
    for index, raw in enumerate(content):
        kind = raw.get("type")
        if kind == "text" and len(raw) == 2:  # its text is required, so there is nothing else
            parts.append(ir.Text(raw["text"], f"{src}/{index}"))
            continue
        part = decode_block(raw, f"{src}/{index}")
        if type(part) is ir.Reasoning and carries_call_token(part):
            carries = True
        parts.append(part)
        if kind == "document":
            parts += decode_inner_media(raw, f"{src}/{index}")
    return bind_call_tokens(parts) if carries else parts


def decode_block(raw: JsonObject, src: str) -> ir.Part:
    """Read one block of a turn or of an answer."""
    kind = raw.get("type")
    decode = _DECODE_BLOCK.get(kind, decode_opaque) if isinstance(kind, str) else decode_opaque
    return decode(raw, src)


def _decode_instruction(raw: JsonObject, src: str) -> ir.Message:
    """Read an instruction in mid-conversation, which may also bring tools and change the effort."""
    content, config = raw.get("content"), raw.get("output_config") or {}
    parts: list[ir.Part] = []
    tools: list[ir.Tool] = []
    extra = joined(rest(raw, _SYSTEM), rest(config, frozenset({"effort"}), "output_config/")) or {}
    effort = config.get("effort")
    if effort is not None and effort not in TAKEN_EFFORTS:
        extra["output_config/effort"] = effort
    if isinstance(content, str):
        parts = decode_content(content, f"{src}/content", INSTRUCTION_KINDS)
    for index, block in enumerate(content if isinstance(content, list) else ()):
        place = f"{src}/content/{index}"
        tool = block["tool"] if block.get("type") == "tool_addition" else {}
        definition = tool.get("definition") if tool.get("type") == "tool_definition" else None
        if definition is None:
            parts.append(decode_part(block, place, INSTRUCTION_KINDS))
        else:
            tools.append(decode_tool(definition, f"{place}/tool/definition"))
            extra |= rest(block, frozenset({"type", "tool"}), f"content/{index}/") or {}
            extra |= rest(tool, frozenset({"type", "definition"}), f"content/{index}/tool/") or {}
    return ir.Message(
        role="system",
        parts=parts,
        effort=effort if effort in TAKEN_EFFORTS else None,
        tools=tools or None,
        src=src,
        extra=extra or None,
    )


def encode_instruction(parts: list[ir.Part], losses: Ledger) -> list[JsonObject]:
    """Write an instruction, which is text and nothing else."""
    made = []
    for part in with_blanks_joined(parts):
        if type(part) is ir.Media:
            losses.dropped(part, code="unsupported_media", severity="impossible")
            continue
        block = encode_text(part, losses) if type(part) is ir.Text else encode_part(part, losses)
        if block is not None:
            made.append(block)
    return made


def encode_said(parts: list[ir.Part], losses: Ledger, objects: Objects) -> list[JsonObject]:
    """Write a turn of the model's for a request's history. ``objects``: the arguments of its calls, as far as they have been read."""
    made: list[JsonObject] = []
    block: JsonObject | None
    for part in with_blanks_joined(parts):
        kind = type(part)
        if kind is ir.ToolCall:
            block = encode_call(part, losses, objects)  # type: ignore[arg-type]  # the test says so
        else:
            block = encode_text(part, losses) if kind is ir.Text else _ENCODE_BLOCK[kind](part, losses)  # type: ignore[arg-type]  # the test says so
        if block is not None:
            made.append(block)
    return made


def with_blanks_joined(parts: list[ir.Part]) -> list[ir.Part]:
    """Return parts in which no blank text stands alone beside another text: the server refuses it, and a paragraph would lose its end."""
    if len(parts) == 1 or not any(type(part) is ir.Text and part.text.isspace() for part in parts):
        return parts
    made: list[ir.Part] = []
    for part in parts:
        whole = join_texts(made[-1], part) if made else None
        if whole is not None and (part.text.isspace() or made[-1].text.isspace()):  # type: ignore[union-attr]  # both are texts
            made[-1] = whole
        else:
            made.append(part)
    return made


def sole_text(parts: list[ir.Part]) -> str | None:
    """Return the text of parts that are one text, not blank, and nothing else; None where they are not."""
    if len(parts) != 1 or type(parts[0]) is not ir.Text or not is_plain(parts[0]):
        return None
    text = parts[0].text
    return text if text and not text.isspace() else None


def _encode_foreign(part: ir.Opaque | ir.Hosted, losses: Ledger) -> JsonObject | None:
    text = encode_opaque(part, losses)
    return {"type": "text", "text": text.text} if text and text.text.strip() else None


def _drop_media(part: ir.Media, losses: Ledger) -> None:
    losses.dropped(part, code="unsupported_media", severity="impossible")


def _drop_part(part: ir.Part, losses: Ledger) -> None:
    losses.dropped(part, code="orphan", severity="impossible")


_DECODE_BLOCK: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    **{kind: decode for kind, decode in DECODE_PART.items() if kind != "tool_reference"},  # which stands in results only
    "thinking": decode_thinking,
    "redacted_thinking": decode_redacted,
    "tool_use": decode_call,
    "tool_result": decode_result,
    "server_tool_use": decode_hosted_call,
    "mcp_tool_use": decode_mcp_call,
    "mcp_tool_result": decode_mcp_result,
    "web_search_tool_result": decode_web_result,
    "web_fetch_tool_result": decode_web_result,
    "code_execution_tool_result": decode_code_result,
}
_ENCODE_BLOCK: dict[type, Callable[[Any, Ledger], JsonObject | None]] = {
    ir.Text: encode_text,
    ir.Reasoning: encode_reasoning,
    ir.Refusal: encode_refusal,
    ir.Media: _drop_media,
    ir.Opaque: _encode_foreign,
    ir.Hosted: _encode_foreign,
    ir.ToolResult: _drop_part,
}
