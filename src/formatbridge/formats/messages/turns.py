"""The order of a conversation in messages: which turns merge, where results go, and where instructions may stand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from formatbridge import ir
from formatbridge.formats.messages.content import (
    encode_instruction,
    encode_said,
    sole_text,
    with_blanks_joined,
)
from formatbridge.formats.messages.parts import as_blocks, collapse, encode_part, encode_text
from formatbridge.formats.messages.reasoning import encode_word_of_effort
from formatbridge.formats.messages.results import encode_result
from formatbridge.formats.messages.tools import encode_tool
from formatbridge.formats.shared.tool_arguments import NOT_READ, read_all_objects
from formatbridge.formats.shared.tool_results import note_orphan
from formatbridge.formats.shared.turns import note_empty
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

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
            if message.extra:
                self.losses.extras(message)
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
                if part.id_made:
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
        if result.id_made:
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
        if message.effort:
            self.losses.dropped(message, "effort", severity="impossible")


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
