"""Turns of generate_content: decode and encode side by side.

A turn is an ordered list of parts, as in the canonical model. Calls mostly come without ids; their results then belong to the next
unanswered call of the same name.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from formatbridge import ir
from formatbridge.formats.generate_content.content import DECODE_PART, Surroundings, decode_bare, decode_text, encode_part
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.hosted_tools import decode_code, decode_code_result
from formatbridge.formats.generate_content.reasoning import decode_carried, encode_signature, is_late, set_apart, sign_thoughts
from formatbridge.formats.generate_content.tool_calls import Calls, decode_call, decode_result, encode_call, encode_result
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import is_only_text, join_texts, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import bound_to
from formatbridge.formats.shared.turns import note_empty
from formatbridge.formats.shared.unmodelled_fields import gathered, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

CONTENT = frozenset({"role", "parts"})
_ASKS_NOTHING = frozenset({
    "audioTranscription", "mediaResolution", "partMetadata", "thought", "toolCall", "toolResponse", "videoMetadata",
})  # fmt: skip
"""Qualities of a part that has no data, and what the vendor's own tools did."""
_ROLES: dict[str | None, ir.Role] = {"model": "assistant", "assistant": "assistant", "system": "system"}


def decode_message(raw: JsonObject, src: str, calls: Calls, last: ir.Message | None = None) -> ir.Message:
    """Read one turn of the contents; without a role it is the user's. ``last``: the turn of the model's that it may go on with."""
    role = _ROLES.get(raw.get("role"), "user")
    if last is not None and role == "assistant":
        _go_on(last, raw, src, calls)
        return last
    parts = decode_parts(raw.get("parts"), src, calls)
    extra = None if CONTENT.issuperset(raw) else rest(raw, CONTENT)
    if role == "user" and parts and type(parts[0]) is ir.ToolResult and (len(parts) == 1 or _is_results(parts)):
        return ir.Message("tool", parts, src, extra)
    return ir.Message(role, set_unknown_severity(parts, _ASKS_NOTHING) if role == "user" else parts, src, extra)


def _go_on(turn: ir.Message, raw: JsonObject, src: str, calls: Calls) -> None:
    """Add a content to the turn of the model's before it; text goes on with text."""
    parts, at = turn.parts, len(turn.parts)
    decode_parts(raw.get("parts"), src, calls, parts)
    whole = join_texts(parts[at - 1], parts[at]) if 0 < at < len(parts) else None
    if whole is not None:
        whole.src = parts[at].src  # a loss of joined text is one of its end
        parts[at - 1 : at + 1] = [whole]
    turn.extra = gathered(turn.extra, rest(raw, CONTENT, f"{src}/"))


def encode_message(message: ir.Message, contents: list[JsonObject], around: Surroundings, losses: Ledger) -> None:
    """Add one turn to the contents; results that follow results join them, and so does what the model says twice in a row.

    The server takes a call only directly behind a turn of the user's, and results only with results: what is behind them in their turn
    becomes one of its own.
    """
    role, given = "model" if message.role == "assistant" else "user", message.parts
    if len(given) > 1 and type(given[0]) is ir.ToolResult and not _is_results(given):
        results = list(takewhile(lambda part: type(part) is ir.ToolResult, given))
        for run in (results, given[len(results) :]):
            encode_message(replace(message, parts=run), contents, around, losses)
        return
    first, last = given[0] if given else None, contents[-1] if contents else None
    if last is None:
        joins = False
    elif type(first) is ir.ToolResult:
        joins = _holds_results(last["parts"])
    else:
        joins = role == "model" == last["role"]
    if type(first) is ir.Text and len(given) == 1 and first.text and is_only_text(first) and not joins:  # one text and nothing else
        contents.append({"role": role, "parts": [{"text": first.text}]})
        return
    parts: list[JsonObject] = last["parts"] if joins and last else []
    before = len(parts)
    encode_parts(given, parts, f"/contents/{len(contents) - joins}/parts", around, losses)
    if len(parts) == before:
        note_empty(message, losses)
    elif not joins:
        contents.append({"role": role, "parts": parts})


def encode_instruction(message: ir.Message, instructions: list[JsonObject], around: Surroundings, losses: Ledger) -> None:
    """Add the texts of an instruction; it takes nothing else."""
    for part in message.parts:
        if type(part) is ir.Text and is_only_text(part):
            instructions += [{"text": part.text}] if part.text else []
            continue
        if isinstance(part, ir.Media):
            losses.dropped(part, code="unsupported_media", severity="impossible")
            continue
        at = f"/systemInstruction/parts/{len(instructions)}"
        if isinstance(part, ir.ToolCall | ir.ToolResult):
            instructions += _encode_exchange(part, at, around, losses)
        else:
            instructions += encode_part(part, at, around, losses)


def _is_results(parts: list[ir.Part]) -> bool:
    return all(type(part) is ir.ToolResult for part in parts)


def _holds_results(parts: list[JsonObject]) -> bool:
    return "functionResponse" in parts[0] and "functionResponse" in parts[-1]


def decode_parts(items: list[JsonObject] | None, src: str, calls: Calls, before: list[ir.Part] | None = None) -> list[ir.Part]:
    """Read the parts of a turn, an answer or a result, behind those ``before``; one that says nothing is none."""
    parts = [] if before is None else before
    for index, item in enumerate(items or ()):
        at = f"{src}/parts/{index}"
        text = item.get("text")
        if text is not None:
            if len(item) == 1:  # nothing but a text: no thought, no token, nothing unknown
                parts.append(ir.Text(text, at))
                continue
            made = decode_text(item, at)
            if made.signature is not None:  # type: ignore[union-attr]  # text or a thought
                decode_carried(parts, made)
            is_late_token = type(made) is ir.Reasoning and item.get("thought") and not text and is_late(made.signature)
            if made.extra or not (is_late_token and sign_thoughts(parts, made)):  # type: ignore[arg-type]  # the test before says so
                parts.append(made)
        elif item.get("functionCall") is not None:
            call = decode_call(item, at, calls)
            if call.signature is not None:
                decode_carried(parts, call)
            parts.append(call)
        elif item.get("functionResponse") is not None:
            parts.append(decode_result(item, at, calls))
        else:
            part = decode_rarer_part(item, at, calls)
            if part is not None:
                parts.append(part)
    return parts


def decode_rarer_part(raw: JsonObject, src: str, calls: Calls) -> ir.Part | None:
    """Read a part that is neither text, nor a call, nor a result of one."""
    if raw.get("executableCode") is not None:
        return decode_code(raw, src, calls.code_id(src))
    if raw.get("codeExecutionResult") is not None:
        return decode_code_result(raw, src, calls.code_id(None))
    for member, decode in DECODE_PART.items():
        if raw.get(member) is not None:
            return decode(raw, src)
    return decode_bare(raw, src)


def encode_parts(parts: list[ir.Part], made: list[JsonObject], at: str, around: Surroundings, losses: Ledger) -> None:
    """Add the parts of a turn or an answer to a list; ``at`` is the list's pointer in the target.

    A token that another format kept in a block of its own goes to the part that follows, where it came from, or to the call that it names.
    """
    waiting: list[JsonObject] = []
    bound: dict[str, JsonObject] = {}
    start = len(made)
    for part in parts:
        if type(part) is ir.Text and not waiting and is_only_text(part):  # it becomes its text
            if part.text:
                made.append({"text": part.text})
            continue
        if type(part) is ir.ToolCall and not waiting and not part.has_generated_id:
            made.append(encode_call(part, around, losses))
            continue
        if type(part) is ir.ToolResult and not waiting:
            made.append(encode_result(part, f"{at}/{len(made)}", around, losses))
            continue
        if type(part) is ir.Reasoning and belongs_to_next(part):
            waiting += _encode_lone_token(part, around, losses)
        elif type(part) is not ir.Reasoning or not _bind(part, parts, bound, around, losses):
            made += _encode_rarer_part(part, made, f"{at}/{len(made)}", waiting, around, losses)
            waiting.clear()
    if waiting:
        made += [{"text": ""} | token for token in waiting]
    if bound:
        _sign_calls(made[start:], bound)


def _encode_rarer_part(
    part: ir.Part, made: list[JsonObject], at: str, waiting: list[JsonObject], around: Surroundings, losses: Ledger
) -> list[JsonObject]:
    """Write a part behind those that were ``made``, with the tokens that wait for it."""
    encoded = (
        _encode_exchange(part, at, around, losses)
        if type(part) is ir.ToolCall or type(part) is ir.ToolResult
        else encode_part(part, at, around, losses)
    )
    set_apart(part, encoded, behind=made)
    if waiting:
        if encoded and "thoughtSignature" not in encoded[0]:
            encoded[0] |= waiting.pop(0)
        encoded += [{"text": ""} | token for token in waiting]
    return encoded


def _bind(part: ir.Reasoning, parts: list[ir.Part], bound: dict[str, JsonObject], around: Surroundings, losses: Ledger) -> bool:
    """Keep a token that names one of the calls without one, for that call; return whether it does.

    ``bound``: the tokens by the ids of their calls, of those that have none yet nothing; what stands under no id says that they were
    looked for.
    """
    call_id = bound_to(part)
    if call_id is None:
        return False
    if not bound:
        bound |= {"": {"": None}, **{call.id: {} for call in parts if type(call) is ir.ToolCall and call.signature is None}}
    if bound.get(call_id) != {}:
        return False
    drop_unheld(part, losses)
    bound[call_id] = encode_signature(part.signature, losses, carry=around.carries)
    return True


def _sign_calls(made: list[JsonObject], bound: dict[str, JsonObject]) -> None:
    for part in made:
        call = part.get("functionCall")
        if call is not None:
            part.update(bound.pop(call["id"], {}))


def belongs_to_next(part: ir.Reasoning) -> bool:
    """Say whether reasoning holds nothing but a token of this format for the part that follows."""
    signature = part.signature
    return not part.text and signature is not None and signature.kind == "call" and signature.issuer == "generate_content"


def _encode_lone_token(part: ir.Reasoning, around: Surroundings, losses: Ledger) -> list[JsonObject]:
    """Write the token of a block that holds nothing else."""
    drop_unheld(part, losses)
    drop_field(part, "id", losses)
    token = encode_signature(part.signature, losses, carry=around.carries)
    return [token] if token else []


def _encode_exchange(part: ir.ToolCall | ir.ToolResult, at: str, around: Surroundings, losses: Ledger) -> list[JsonObject]:
    """Write a call or a result as one part. ``at`` is its pointer in the target."""
    if isinstance(part, ir.ToolResult):
        return [encode_result(part, at, around, losses)]
    if part.has_generated_id:
        around.made_ids.add(part.id)
        losses.added(f"{at}/functionCall/id", part.id)
    return [encode_call(part, around, losses)]
