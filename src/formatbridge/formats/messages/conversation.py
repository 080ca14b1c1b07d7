"""Turns of Anthropic Messages, and the order of their content blocks.

The documentation demands this order (platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls and
platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages):

- The ``tool_result`` blocks come first in the user turn after the ``tool_use`` blocks.
- Consecutive turns of one role are one turn.
- A mid-conversation system message follows a user turn and precedes an assistant turn.

``TurnEncoder`` is here alone, because only this server rejects blocks and turns in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from formatbridge import ir
from formatbridge.formats.messages.content import (
    DECODE_PART,
    SYSTEM_BLOCK_KINDS,
    decode_content,
    decode_inner_media,
    decode_part,
    encode_content,
    encode_part,
    encode_text,
    simplify_content,
)
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.messages.hosted_tools import decode_hosted
from formatbridge.formats.messages.reasoning import EFFORTS, decode_reasoning, encode_effort, encode_reasoning
from formatbridge.formats.messages.tool_calls import decode_call, decode_result, encode_call, encode_result, encode_result_media
from formatbridge.formats.messages.tools import decode_tool, encode_tool
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import encode_opaque, join_texts, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.tool_arguments import NOTHING_PARSED, ParsedArguments, parse_all_arguments
from formatbridge.formats.shared.tool_results import note_orphan
from formatbridge.formats.shared.turns import note_empty
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_MESSAGE = frozenset({"role", "content"})
_SYSTEM = _MESSAGE | {"output_config"}
_THINKING = frozenset({"thinking", "redacted_thinking"})
"""Types of blocks with reasoning."""
_IDS = {"tool_use": "id", "tool_result": "tool_use_id"}
"""Types of blocks to their field with the id of a tool call."""


def decode_message(raw: JsonObject, src: str) -> ir.Message:
    """Decode an element of ``messages``."""
    role = raw["role"]
    if role == "system":
        return _decode_system_message(raw, src)
    content, content_src = raw["content"], f"{src}/content"
    parts: list[ir.Part] = [ir.Text(content, content_src)] if type(content) is str else decode_parts(content, content_src)
    # An unknown block of the user may be the whole question, so its loss is ``impossible`` elsewhere.
    if role == "user" and type(content) is not str:
        set_unknown_severity(parts)
    return ir.Message(role, parts, src, None if _MESSAGE.issuperset(raw) else read_extra(raw, _MESSAGE))


def encode_instruction(parts: list[ir.Part], losses: Ledger) -> list[JsonObject]:
    """Encode an instruction as the blocks of a system prompt or a system message, which have only text."""
    blocks = []
    for part in _join_blank_texts(parts):
        if type(part) is ir.Media:
            losses.dropped(part, code="unsupported_media")
            continue
        block = encode_part(part, losses)
        if block is not None:
            blocks.append(block)
    return blocks


def decode_parts(content: list[JsonObject], src: str) -> list[ir.Part]:
    """Decode the content blocks of a turn or a response. A block of an unknown type becomes an opaque part."""
    parts: list[ir.Part] = []
    has_call_tokens = False
    for index, raw in enumerate(content):
        part = decode_block(raw, f"{src}/{index}")
        if type(part) is ir.Reasoning and carries_call_token(part):
            has_call_tokens = True
        parts.append(part)
        # A document of blocks is replaced by its text elsewhere, which would lose its images (fixture document_blocks).
        if raw.get("type") == "document":
            parts += decode_inner_media(raw, f"{src}/{index}")
    return _bind_call_tokens(parts) if has_call_tokens else parts


def decode_block(raw: JsonObject, src: str) -> ir.Part:
    """Decode a content block of a turn or a response."""
    kind = raw.get("type")
    decode = _DECODE_BLOCK.get(kind, decode_hosted) if isinstance(kind, str) else decode_hosted
    return decode(raw, src)


def _bind_call_tokens(parts: list[ir.Part]) -> list[ir.Part]:
    """Move each carried token of a tool call or a text to that part, which follows the token. Returns the parts."""
    bound: list[ir.Part] = []
    for part in parts:
        last = bound[-1] if bound else None
        if isinstance(last, ir.Reasoning) and carries_call_token(last) and isinstance(part, ir.ToolCall | ir.Text | ir.Hosted):
            part.signature = last.signature
            bound.pop()
        bound.append(part)
    return bound


def _decode_system_message(raw: JsonObject, src: str) -> ir.Message:
    """Decode a mid-conversation system message. It may also add tools and change the effort."""
    content, config = raw.get("content"), raw.get("output_config") or {}
    parts: list[ir.Part] = []
    tools: list[ir.Tool] = []
    extra = merge_extra(read_extra(raw, _SYSTEM), read_extra(config, frozenset({"effort"}), "output_config/")) or {}
    effort = config.get("effort")
    if effort is not None and effort not in EFFORTS:
        extra["output_config/effort"] = effort
    if isinstance(content, str):
        parts = decode_content(content, f"{src}/content", SYSTEM_BLOCK_KINDS)
    for index, block in enumerate(content if isinstance(content, list) else ()):
        block_src = f"{src}/content/{index}"
        tool = block["tool"] if block.get("type") == "tool_addition" else {}
        definition = tool.get("definition") if tool.get("type") == "tool_definition" else None
        if definition is None:
            parts.append(decode_part(block, block_src, SYSTEM_BLOCK_KINDS))
        else:
            tools.append(decode_tool(definition, f"{block_src}/tool/definition"))
            extra |= read_extra(block, frozenset({"type", "tool"}), f"content/{index}/") or {}
            extra |= read_extra(tool, frozenset({"type", "definition"}), f"content/{index}/tool/") or {}
    return ir.Message(
        role="system", parts=parts, effort=effort if effort in EFFORTS else None, tools=tools or None, src=src, extra=extra or None
    )


@dataclass(slots=True)
class _SystemMessage:
    """A mid-conversation system message and its blocks, which the encoder emits between a user turn and an assistant turn."""

    message: ir.Message
    blocks: list[JsonObject]


class TurnEncoder:
    """Encodes a conversation as turns in the order that the server accepts.

    ``keeps_system_messages``: the target accepts mid-conversation system messages. ``server_tools``: the result of ``server_tools_of`` for
    the tools of the request. ``has_thinking``: the request turns thinking on. ``continues_answers``: the server of the caller's format
    continues a final answer, too.

    Results besides ``turns``: ``moved_to_system`` has the blocks of instructions that have no valid position among the turns.
    ``mcp_servers`` has the MCP servers whose toolsets the system messages add.
    """

    __slots__ = (
        "_continues_answers",
        "_first_assistant",
        "_generated_ids",
        "_has_thinking",
        "_keeps_system_messages",
        "_last_assistant",
        "_losses",
        "_moved_count",
        "_parsed",
        "_pending",
        "_result_counts",
        "_server_tools",
        "_unanswered",
        "mcp_servers",
        "moved_to_system",
        "turns",
    )  # fmt: skip

    def __init__(
        self, losses: Ledger, keeps_system_messages: bool, server_tools: set[str], has_thinking: bool, continues_answers: bool
    ) -> None:
        self.turns: list[JsonObject] = []
        self.moved_to_system: list[JsonObject] = []
        self.mcp_servers: list[JsonObject] = []
        self._losses = losses
        self._keeps_system_messages = keeps_system_messages
        self._server_tools = server_tools
        self._has_thinking = has_thinking
        self._continues_answers = continues_answers
        self._parsed = NOTHING_PARSED
        self._result_counts: list[int] = []  # the number of tool_result blocks of each turn
        self._unanswered: dict[str, list[tuple[int, ir.ToolCall]]] = {}  # by id, calls without a result and the index of their turn
        self._generated_ids: set[str] = set()
        self._pending: list[_SystemMessage] = []
        self._moved_count = 0  # so many of the first pending messages lost their position to a later turn
        self._first_assistant: ir.Message | None = None  # the first turn, if it is an assistant turn
        self._last_assistant: list[ir.Message] = []  # the messages of the last assistant turn

    def encode(self, messages: list[ir.Message], *, has_calls: bool) -> list[JsonObject]:
        """Encode the messages of a conversation and return the turns. ``has_calls``: false if they have neither calls nor results."""
        # ``input`` is an object in this format and text in others. One search for infinities covers the arguments of all calls.
        if has_calls:
            self._parsed = parse_all_arguments(messages)
        for message in messages:
            drop_unheld(message, self._losses)
            role = message.role
            if role == "assistant":
                self._add_assistant(message)
            elif role in ("user", "tool"):
                self._add_user(message)
            else:
                self._add_system_message(message)
        return self._finish()

    def _finish(self) -> list[JsonObject]:
        """Place the pending system messages, trim the prefill, note the losses of the whole conversation, and return the turns."""
        if self._pending:
            self._place_pending()
            for pending in self._pending:
                self._move_to_system(pending)
                self._drop_changes(pending.message)
        if self._last_assistant and self.turns[-1]["role"] == "assistant":
            self._remove_rejected_prefill()
        # Anthropic's server accepts such a conversation, Bedrock's rejected it (anthropics/anthropic-sdk-typescript#622).
        # So the turn is encoded and reported.
        if self._first_assistant is not None and self.turns:
            self._losses.changed(self._first_assistant, "", simplify_content(self.turns[0]["content"]), "first_turn")
        # "Each `tool_use` block must have a corresponding `tool_result` block in the next message" (OpenHands/OpenHands#7512).
        for _, call in chain.from_iterable(self._unanswered.values()):
            note_orphan(call, self._losses)
        if self._generated_ids:
            self._note_generated_ids()
        for turn in self.turns:
            content = turn.get("content")
            if type(content) is list and len(content) == 1:  # only one block can become a string
                turn["content"] = simplify_content(content)
        return self.turns

    def _remove_rejected_prefill(self) -> None:
        """Leave out what the server rejects in a final assistant turn: some thinking, and white space at its end."""
        self._drop_final_thinking()
        content = self.turns[-1]["content"]
        # "final assistant content cannot end with trailing whitespace" (tailcallhq/forgecode#1872).
        if not content:
            self.turns.pop()
        elif content[-1]["type"] == "text":
            self._trim_prefill(content[-1], self._last_assistant[-1])

    def _drop_final_thinking(self) -> None:
        """Leave out the thinking of a final assistant turn that the server rejects there: at its end, or all of it if thinking is off."""
        # "The final block in an assistant message cannot be `thinking`" (router-for-me/CLIProxyAPI#5321). "When thinking is disabled, an
        # `assistant` message in the final position cannot contain `thinking`" (tailcallhq/forgecode#1195).
        content: list[JsonObject] = self.turns[-1]["content"]
        others = [index for index, block in enumerate(content) if block["type"] not in _THINKING]
        if len(others) == len(content) or any(content[index]["type"] == "tool_use" for index in others):
            return
        end = others[-1] + 1 if others else 0
        kept = content[:end] if self._has_thinking else [content[index] for index in others]
        for part in reversed([part for message in self._last_assistant for part in message.parts]):
            if type(part) is ir.Reasoning:
                self._losses.dropped(part, code="prefill")
            elif self._has_thinking and not (type(part) is ir.Text and not part.text.strip()):
                break
        self.turns[-1]["content"] = kept

    def _trim_prefill(self, block: JsonObject, message: ir.Message) -> None:
        """Remove white space from the end of a prefill, which the server rejects there (tailcallhq/forgecode#1872).

        The changed texts are noted. Without a changed text, an answer that no server of the caller's format continues is noted as a whole.
        """
        text = block["text"].rstrip()
        is_changed = text != block["text"]
        block["text"] = text
        is_noted = False
        for part in reversed(message.parts if is_changed else ()):
            if type(part) is ir.Reasoning:
                continue
            if type(part) is not ir.Text:
                break
            kept = part.text.rstrip()
            if kept != part.text:
                self._losses.changed(part, "text", kept, "prefill")
                is_noted = True
            if kept:
                break
        if not is_noted and (is_changed or not self._continues_answers):
            self._losses.changed(message, "", text, "prefill")

    def _note_generated_ids(self) -> None:
        """Note the generated ids as additions, in ``tool_use`` and in ``tool_result`` blocks."""
        for turn_index, turn in enumerate(self.turns):
            content = turn.get("content")
            for index, block in enumerate(content if isinstance(content, list) else ()):
                key = _IDS.get(block["type"])
                if key and block[key] in self._generated_ids:
                    self._losses.added(f"/messages/{turn_index}/content/{index}/{key}", block[key])

    def _add_assistant(self, message: ir.Message) -> None:
        """Add the blocks of an assistant turn."""
        content = _encode_assistant_parts(message.parts, self._losses, self._parsed)
        if not content:
            note_empty(message, self._losses)
            return
        if self._pending:
            self._place_pending()
        if not self.turns:
            self._first_assistant = message
        if not self.turns or self.turns[-1]["role"] != "assistant":
            self._last_assistant = []
        self._last_assistant.append(message)
        turn_index = self._append("assistant", content)
        for part in message.parts:
            if type(part) is ir.ToolCall:
                self._unanswered.setdefault(part.id, []).append((turn_index, part))
                if part.has_generated_id:
                    self._generated_ids.add(part.id)

    def _add_user(self, message: ir.Message) -> None:
        """Add the tool results of a user turn to the turns after their calls, then its other blocks."""
        losses, parts = self._losses, message.parts
        results: list[ir.ToolResult] = []
        has_blank_text = False
        for part in parts:
            if type(part) is ir.ToolResult:
                results.append(part)
            elif type(part) is ir.Text and part.text.isspace():
                has_blank_text = True
        if has_blank_text:
            parts = _join_blank_texts(parts)
        blocks = encode_content([part for part in parts if type(part) is not ir.ToolResult] if results else parts, losses)
        if not blocks and not results:
            note_empty(message, losses)
            return
        self._moved_count = len(self._pending)
        for result in results:
            self._add_result(result)
        if blocks:
            self._append("user", blocks)

    def _add_result(self, result: ir.ToolResult) -> None:
        """Add a ``tool_result`` to the turn after its call, following the other results there.

        Its call is the last one with this id that has no result yet. A result without a call goes into the last turn.
        """
        turns, block, media = self.turns, encode_result(result, self._losses), encode_result_media(result, self._losses)
        if result.has_generated_id:
            self._generated_ids.add(result.call_id)
        calls = self._unanswered.get(result.call_id)
        if not calls:
            note_orphan(result, self._losses)
            turn_index = self._append("user", [])
        else:
            turn_index = calls.pop()[0] + 1
            if turn_index == len(turns):  # the call is in the last turn, so that the result starts a new one
                turns.append({"role": "user", "content": [block, *media]})
                self._result_counts.append(1)
                return
        # Results precede the other blocks of a turn (Anthropic, "Handle tool calls"; fixture results_and_words).
        turns[turn_index]["content"].insert(self._result_counts[turn_index], block)
        turns[turn_index]["content"] += media
        self._result_counts[turn_index] += 1

    def _append(self, role: str, blocks: list[JsonObject]) -> int:
        """Append blocks to the last turn, or to a new one if the last turn has another role. Returns the index of the turn."""
        turns = self.turns
        # "Consecutive `user` or `assistant` turns in your request will be combined" (official SDK, ``messages``).
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
            self._result_counts.append(0)
        return len(turns) - 1

    def _add_system_message(self, message: ir.Message) -> None:
        """Keep an instruction until a position for it is known. Its text goes to the system prompt if the target accepts it only there."""
        blocks = encode_instruction(message.parts, self._losses)
        if not self._keeps_system_messages:
            self._move_to_system(_SystemMessage(message, blocks))
            blocks = []
        if blocks or message.effort or message.tools:
            self._pending.append(_SystemMessage(message, blocks))

    def _add_tools(self, tools: list[ir.Tool], blocks: list[JsonObject], first_index: int) -> None:
        """Add a ``tool_addition`` block for each tool. ``first_index``: the index of the first of the blocks in the content."""
        for tool in tools:
            pointer = f"/messages/{len(self.turns)}/content/{first_index + len(blocks)}/tool/definition"
            definition = encode_tool(tool, pointer, False, self._server_tools, self.mcp_servers, self._losses)
            if definition is not None:
                blocks.append({"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}})

    def _place_pending(self) -> None:
        """Emit the pending system messages as one, if the last turn is a user turn. Else they stay pending."""
        # The server accepts a system message only after a user turn, and no two in a row (module docstring).
        if not self.turns or self.turns[-1]["role"] != "user":
            self._moved_count = len(self._pending)
            return
        turn: JsonObject = {"role": "system"}
        effort = self._last_effort()
        for index, pending in enumerate(self._pending):
            message = pending.message
            self._add_tools(message.tools or [], pending.blocks, len(turn.get("content", ())))
            if pending.blocks:
                turn.setdefault("content", []).extend(pending.blocks)
            if index < self._moved_count and pending.blocks:
                self._losses.changed(message, "", simplify_content(pending.blocks), "moved")
        if effort:
            turn["output_config"] = {"effort": effort}
        self._pending = []
        self._moved_count = 0
        if len(turn) > 1:
            self.turns.append(turn)
            self._result_counts.append(0)

    def _last_effort(self) -> str | None:
        """Encode the last effort of the pending messages. The model generates nothing between them, so the others have no effect."""
        messages = [pending.message for pending in self._pending if pending.message.effort]
        for message in messages[:-1]:
            self._losses.dropped(message, "effort", "too_many", severity="info")
        return encode_effort(messages[-1], self._losses) if messages else None

    def _move_to_system(self, pending: _SystemMessage) -> None:
        """Move the texts of a system message to the system prompt."""
        texts = [block for block in pending.blocks if block["type"] == "text"]
        if texts:
            self._losses.changed(pending.message, "", simplify_content(texts), "moved")
        self.moved_to_system += texts

    def _drop_changes(self, message: ir.Message) -> None:
        """Note that the tools and the effort of a system message are dropped: the system prompt cannot hold them."""
        for tool in message.tools or ():
            self._losses.dropped(tool, code="position_lost", severity="impossible")
        drop_field(message, "effort", self._losses)


def _encode_assistant_parts(parts: list[ir.Part], losses: Ledger, parsed: ParsedArguments) -> list[JsonObject]:
    """Encode the parts of an assistant turn as content blocks. ``parsed``: the arguments of tool calls that are already parsed."""
    blocks: list[JsonObject] = []
    for part in _join_blank_texts(parts):
        if type(part) is ir.ToolCall:
            block: JsonObject | None = encode_call(part, losses, parsed)
        else:
            block = _ENCODE_BLOCK.get(type(part), encode_part)(part, losses)
        if block is not None:
            blocks.append(block)
    return blocks


def _join_blank_texts(parts: list[ir.Part]) -> list[ir.Part]:
    """Return the parts with each blank text joined to the text before or after it.

    Dropping them would remove the line breaks between paragraphs.
    """
    # "text content blocks must contain non-whitespace text" (anthropics/claude-code#23440).
    for part in parts:
        if type(part) is ir.Text and part.text.isspace():
            break
    else:
        return parts
    joined_parts: list[ir.Part] = []
    for part in parts:
        text = join_texts(joined_parts[-1], part) if joined_parts else None
        if text is not None and (part.text.isspace() or joined_parts[-1].text.isspace()):  # type: ignore[union-attr]  # both are texts
            joined_parts[-1] = text
        else:
            joined_parts.append(part)
    return joined_parts


def _encode_foreign(part: ir.Opaque | ir.Hosted, losses: Ledger) -> JsonObject | None:
    if isinstance(part, ir.Opaque) and part.format == "messages" and isinstance(part.raw, dict):
        return part.raw
    text = encode_opaque(part, losses)
    return {"type": "text", "text": text.text} if text and text.text.strip() else None


def _drop_media(part: ir.Media, losses: Ledger) -> None:
    losses.dropped(part, code="unsupported_media")


_DECODE_BLOCK: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    **{kind: decode for kind, decode in DECODE_PART.items() if kind != "tool_reference"},  # only a tool_result contains it
    "thinking": decode_reasoning,
    "redacted_thinking": decode_reasoning,
    "tool_use": decode_call,
    "tool_result": decode_result,
}
"""Types of blocks to their decoders. Any other is a block of a server tool, or an unknown one."""
_ENCODE_BLOCK: dict[type, Callable[[Any, Ledger], JsonObject | None]] = {
    ir.Text: encode_text,
    ir.Reasoning: encode_reasoning,
    ir.Media: _drop_media,
    ir.Opaque: _encode_foreign,
    ir.Hosted: _encode_foreign,
}
"""Types of parts whose encoding in an assistant turn differs from that in a user turn. Tool calls are encoded separately."""
