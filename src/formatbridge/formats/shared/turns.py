"""Functions of encoders for the turns of a conversation: leading instructions, a final turn of the model, and no turn at all."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.shared.tool_results import with_results_in_place
from formatbridge.report.ledger import Ledger, null_ledger

_COMPLETE_TURN = "a complete turn of the model"
"""What a final turn of the model becomes if the target does not continue it. Its text stays."""


def leading_instructions(messages: list[ir.Message]) -> int:
    """Count the messages of the system prompt: the instructions before the first turn."""
    for count, message in enumerate(messages):
        if message.role not in ("system", "developer") or message.tools or message.effort:
            return count
    return len(messages)


def without_billing_header(request: ir.Request, beginning: str, losses: Ledger) -> ir.Request:
    """Return a request without the billing header of its client; the same object if it has none.

    The header is a text of one line with this beginning, first in the system prompt. A longer text stays: it may be an instruction.
    """
    # vLLM and CLIProxyAPI remove it, too: it changes often, which would invalidate the prefix of the prompt that a server caches.
    first = request.messages[0] if request.messages else None
    if first is None or first.role != "system" or not first.parts:
        return request
    header = first.parts[0]
    if not isinstance(header, ir.Text) or not header.text.startswith(beginning) or "\n" in header.text.rstrip():
        return request
    losses.dropped(header, code="billing_header")
    rest = [replace(first, parts=first.parts[1:])] if len(first.parts) > 1 else []
    return replace(request, messages=[*rest, *request.messages[1:]])


def note_empty(message: ir.Message, losses: Ledger) -> None:
    """Note that an empty turn is left out. A turn with parts is not noted here: each of its parts was noted."""
    if _is_blank(message):
        losses.changed(message, "", "", "empty")


def note_prefill(request: ir.Request, losses: Ledger) -> None:
    """Note that the target does not continue a final turn of the model, as the source's server does (prefill)."""
    # Anthropic's server continues a final text of the model (its SDK, ``messages``); OpenAI and Google document no such thing.
    last = request.messages[-1] if request.messages else None
    if last is not None and last.parts and ends_with_answer(request):
        losses.changed(last, "", _COMPLETE_TURN, "prefill")


def without_final_answers(request: ir.Request, code: str, losses: Ledger) -> ir.Request:
    """Leave out the turns of the model after the last one of the user. A request without a turn of the user stays."""
    # A result after such a turn may belong to an earlier call, and encoders move it there.
    in_order = with_results_in_place(request.messages, null_ledger(), joins_turns=False)
    end = max((index for index, message in enumerate(in_order, 1) if message.role in ("user", "tool")), default=len(in_order))
    final = {message.src for message in in_order[end:] if message.role == "assistant"}
    for message in request.messages:
        if message.src in final:
            losses.dropped(message, code=code, severity="lossy")
            losses.extras(message)
            for part in message.parts:  # each may be another item of Responses
                losses.dropped(part, code=code, severity="lossy")
    return replace(request, messages=[each for each in request.messages if each.src not in final]) if final else request


def ends_with_answer(request: ir.Request) -> bool:
    """Return whether the last turn is an answer of the model without calls."""
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "assistant":
        return False
    return not any(isinstance(part, ir.ToolCall | ir.Hosted) for part in last.parts)


def note_no_turns(request: ir.Request, losses: Ledger) -> None:
    """Note that the conversation has no turn to answer, or that no content of its turns is left. No turn is added."""
    turns = [message for message in request.messages if message.role not in ("system", "developer")]
    if turns:
        losses.changed(turns[-1], "", [], "no_content")
    elif request.messages:
        losses.changed(request.messages[-1], "", [], "no_turns")
    else:
        losses.weakened(request, "messages", [], "no_turns")


def with_instructions_first(messages: list[ir.Message], losses: Ledger) -> list[ir.Message]:
    """Return a conversation with all instructions at the start. Their configuration stays in its place."""
    leading = leading_instructions(messages)
    first, others = messages[:leading], []
    for message in messages[leading:]:
        if message.role not in ("system", "developer") or not message.parts:
            others.append(message)
            continue
        if not _is_blank(message):
            losses.changed(message, "", "system", "moved")
        first.append(replace(message, tools=None, effort=None))
        if message.tools or message.effort:
            others.append(replace(message, parts=[], extra=None))
    return first + others


def _is_blank(message: ir.Message) -> bool:
    """Return whether a turn has nothing but empty texts."""
    return not any(type(part) is not ir.Text or part.text for part in message.parts)
