"""Turns of messages: decode and encode side by side.

A turn is an ordered list of blocks. Results stand first in the user's turn after the calls; turns of one role that follow each other
are one turn; instructions in mid-conversation stand between a turn of the user and one of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from formatbridge import ir
from formatbridge.formats.messages.content import (
    DECODE_PART,
    INSTRUCTION_KINDS,
    as_blocks,
    collapse,
    decode_content,
    decode_inner_media,
    decode_opaque,
    decode_part,
    encode_part,
    encode_refusal,
    encode_text,
)
from formatbridge.formats.messages.holds import drop_unheld
from formatbridge.formats.messages.hosted_tools import (
    decode_code_result,
    decode_hosted_call,
    decode_mcp_call,
    decode_mcp_result,
    decode_web_result,
)
from formatbridge.formats.messages.reasoning import (
    TAKEN_EFFORTS,
    bind_call_tokens,
    decode_redacted,
    decode_thinking,
    encode_reasoning,
    encode_word_of_effort,
)
from formatbridge.formats.messages.tool_calls import decode_call, decode_result, encode_call, encode_result
from formatbridge.formats.messages.tools import decode_tool, encode_tool
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import encode_opaque, is_only_text, join_texts, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.tool_arguments import NOT_READ, Objects, read_all_objects
from formatbridge.formats.shared.tool_results import note_orphan
from formatbridge.formats.shared.turns import note_empty
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
        set_unknown_severity(parts)
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
    if len(parts) != 1 or type(parts[0]) is not ir.Text or not is_only_text(parts[0]):
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


_IDS = {"tool_use": "id", "tool_result": "tool_use_id"}


@dataclass(slots=True)
class _Instruction:
    """Instructions that wait for their place: behind a turn of the user, before the model's next one."""

    message: ir.Message
    blocks: list[JsonObject]


class TurnEncoder:
    """Puts turns into the order that the server demands. ``known``: the server tools that are there from the start.

    ``hoisted``: instructions that found no place among them. ``servers``: the remote servers whose tools turns bring.
    """

    __slots__ = (
        "_answer", "_calls", "_known", "_made_ids", "_moved_count", "_objects", "_opening", "_results", "_waiting", "hoisted",
        "is_native", "losses", "servers", "turns",
    )  # fmt: skip

    def __init__(self, losses: Ledger, is_native: bool, known: set[str]) -> None:
        self.losses = losses
        self.is_native = is_native
        self.servers: list[JsonObject] = []
        self._known = known
        self.turns: list[JsonObject] = []
        self.hoisted: list[JsonObject] = []
        self._results: list[int] = []
        self._calls: dict[str, list[tuple[int, ir.ToolCall]]] = {}  # the calls without a result, by id, with their turns
        self._made_ids: set[str] = set()
        self._objects = NOT_READ
        self._waiting: list[_Instruction] = []
        self._moved_count = 0  # length of the prefix of _waiting that a later turn of the source has already overtaken
        self._answer: ir.Message | None = None
        self._opening: ir.Message | None = None  # the first turn, where it is the model's

    def encode(self, messages: list[ir.Message]) -> list[JsonObject]:
        """Write a conversation."""
        self._objects = read_all_objects(messages)
        for message in messages:
            drop_unheld(message, self.losses)
            role = message.role
            if role == "assistant":
                self._add_answer(message)
            elif role in ("user", "tool"):
                self._add_user(message)
            else:
                self._add_instruction(message)
        return self._finish()

    def _finish(self) -> list[JsonObject]:
        """Return the turns. What still waits goes last or to the front; a last turn of the model's is a prefill."""
        if self._waiting:
            self._place_waiting()
            for waiting in self._waiting:
                self._hoist(waiting)
                self._drop_changes(waiting.message)
        if self._answer is not None and self.turns[-1]["role"] == "assistant":
            block = self._blocks(-1)[-1]
            if block["type"] == "text":
                self._trim(block, self._answer)
        if self._opening is not None:
            self.losses.changed(self._opening, "", collapse(self.turns[0]["content"]), "first_turn")
        for _, call in chain.from_iterable(self._calls.values()):
            note_orphan(call, self.losses)
        if self._made_ids:
            self._note_made_ids()
        for turn in self.turns:
            content = turn.get("content")
            if type(content) is list and len(content) == 1:  # no more than one block can collapse
                turn["content"] = collapse(content)
        return self.turns

    def _trim(self, block: JsonObject, answer: ir.Message) -> None:
        """Cut blanks off the end of a prefill, which the server refuses there. It is noted at texts that lose some, else at the turn."""
        text = block["text"].rstrip()
        is_cut = text != block["text"]
        block["text"] = text
        is_noted = False
        for part in reversed(answer.parts if is_cut else ()):
            if type(part) is ir.Reasoning:
                continue
            if type(part) is not ir.Text:
                break
            kept = part.text.rstrip()
            if kept != part.text:
                self.losses.changed(part, "text", kept, "prefill")
                is_noted = True
            if kept:
                break
        if not is_noted:
            self.losses.changed(answer, "", text, "prefill")

    def _note_made_ids(self) -> None:
        """Note the ids that the source does not have, at calls and at results."""
        for index, turn in enumerate(self.turns):
            content = turn.get("content")
            for place, block in enumerate(content if isinstance(content, list) else ()):
                key = _IDS.get(block["type"])
                if key and block[key] in self._made_ids:
                    self.losses.added(f"/messages/{index}/content/{place}/{key}", block[key])

    def _add_answer(self, message: ir.Message) -> None:
        content = sole_text(message.parts) or encode_said(message.parts, self.losses, self._objects)
        if not content:
            note_empty(message, self.losses)
            return
        if self._waiting:
            self._place_waiting()
        self._answer = message
        if not self.turns:
            self._opening = message
        turn = self._turn("assistant", content)
        for part in message.parts:
            if type(part) is ir.ToolCall:
                self._calls.setdefault(part.id, []).append((turn, part))
                if part.has_generated_id:
                    self._made_ids.add(part.id)

    def _add_user(self, message: ir.Message) -> None:
        parts = message.parts
        if len(parts) == 1 and not self._waiting:  # one result or one text, the usual turns
            if type(parts[0]) is ir.ToolResult:
                self._add_result(parts[0])
                return
            text = sole_text(parts)
            if text is not None:
                self._turn("user", text)
                return
        self._add_parts(message)

    def _add_parts(self, message: ir.Message) -> None:
        """Add a turn of any parts: its results behind their calls, then the rest."""
        blocks: list[JsonObject] = []
        results: list[ir.ToolResult] = []
        losses = self.losses
        for part in with_blanks_joined(message.parts):
            if type(part) is ir.ToolResult:
                results.append(part)
                continue
            block = encode_text(part, losses) if type(part) is ir.Text else encode_part(part, losses)
            if block is not None:
                blocks.append(block)
        if not blocks and not results:
            note_empty(message, self.losses)
            return
        self._moved_count = len(self._waiting)
        for result in results:
            self._add_result(result)
        if blocks:
            self._turn("user", blocks)

    def _add_result(self, result: ir.ToolResult) -> None:
        """Put a result behind the others in the turn after the nearest call of its id that has none; without one it stays."""
        turns, block = self.turns, encode_result(result, self.losses)
        if result.has_generated_id:
            self._made_ids.add(result.call_id)
        asked = self._calls.get(result.call_id)
        if not asked:
            note_orphan(result, self.losses)
            turn = self._turn("user", [])
        else:
            turn = asked.pop()[0] + 1
            if turn == len(turns):  # the first result of the last turn
                turns.append({"role": "user", "content": [block]})
                self._results.append(1)
                return
        self._blocks(turn).insert(self._results[turn], block)
        self._results[turn] += 1

    def _turn(self, role: str, content: str | list[JsonObject]) -> int:
        """Put text or blocks at the end of the last turn, a new one where the last is not of this role; return its index."""
        turns = self.turns
        if turns and turns[-1]["role"] == role:
            self._blocks(-1).extend(as_blocks(content))
        else:
            turns.append({"role": role, "content": content})
            self._results.append(0)
        return len(turns) - 1

    def _blocks(self, turn: int) -> list[JsonObject]:
        """Return the blocks of a turn, to change them."""
        blocks = self.turns[turn]["content"] = as_blocks(self.turns[turn]["content"])
        return blocks

    # Instructions.

    def _add_instruction(self, message: ir.Message) -> None:
        blocks = encode_instruction(message.parts, self.losses)
        if not self.is_native:
            self._hoist(_Instruction(message, blocks))
            blocks = []
        if blocks or message.effort or message.tools:
            self._waiting.append(_Instruction(message, blocks))

    def _add_tools(self, tools: list[ir.Tool], blocks: list[JsonObject], before: int) -> None:
        """Add tools to the blocks of an instruction, ``before`` which so many others stand in its turn."""
        for tool in tools:
            at = f"/messages/{len(self.turns)}/content/{before + len(blocks)}/tool/definition"
            definition = encode_tool(tool, at, False, self._known, self.servers, self.losses)
            if definition is not None:
                blocks.append({"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}})

    def _place_waiting(self) -> None:
        """Write the waiting instructions as one turn, if the last turn is the user's; else they wait for the next place."""
        if not self.turns or self.turns[-1]["role"] != "user":
            self._moved_count = len(self._waiting)
            return
        made: JsonObject = {"role": "system"}
        effort = self._last_effort()
        for index, waiting in enumerate(self._waiting):
            message = waiting.message
            self._add_tools(message.tools or [], waiting.blocks, len(made.get("content", ())))
            if waiting.blocks:
                made.setdefault("content", []).extend(waiting.blocks)
            if index < self._moved_count and waiting.blocks:
                self.losses.changed(message, "", collapse(waiting.blocks), "moved")
        if effort:
            made["output_config"] = {"effort": effort}
        self._waiting = []
        self._moved_count = 0
        if len(made) > 1:
            self.turns.append(made)
            self._results.append(0)

    def _last_effort(self) -> str | None:
        """Write the effort that counts from here on: the last one that waits, for nobody answers before it."""
        changes = [waiting.message for waiting in self._waiting if waiting.message.effort]
        for message in changes[:-1]:
            self.losses.dropped(message, "effort", "too_many", severity="info")
        return encode_word_of_effort(changes[-1], self.losses) if changes else None

    def _hoist(self, waiting: _Instruction) -> None:
        """Move instructions to the front."""
        words = [block for block in waiting.blocks if block["type"] == "text"]
        if words:
            self.losses.changed(waiting.message, "", collapse(words), "moved")
        self.hoisted += words

    def _drop_changes(self, message: ir.Message) -> None:
        """Note additions of tools and a change of effort that found no place: they cannot go to the front."""
        for tool in message.tools or ():
            self.losses.dropped(tool, code="position_lost", severity="impossible")
        drop_field(message, "effort", self.losses)


def tools_in(turns: list[JsonObject]) -> list[JsonObject]:
    """Return the definitions of the tools that turns bring."""
    contents = [turn.get("content") for turn in turns if turn["role"] == "system"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block["tool"]["definition"] for block in blocks if block["type"] == "tool_addition"]


def lacks_thinking(turns: list[JsonObject]) -> bool:
    """Say whether the server would look for thinking that is not there: a budget demands it of the answer that is still under way.

    That is the one that the model has begun, with its calls and their results, since the user last said something else.
    """
    answer = False
    for turn in reversed(turns):
        content = turn.get("content") or ()
        kinds = [block["type"] for block in content] if isinstance(content, list) else ["text"]
        if turn["role"] == "assistant":
            if kinds[:1] in (["thinking"], ["redacted_thinking"]):
                return False
            answer = True
        elif turn["role"] == "user" and "tool_result" not in kinds:
            break
    return answer
