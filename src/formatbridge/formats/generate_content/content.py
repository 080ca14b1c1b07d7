"""Turns, tool calls and results of generate_content: decode and encode side by side.

A turn is an ordered list of parts, as in the canonical model. Calls mostly come without ids; their results then belong to the next
unanswered call of the same name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from formatbridge import ir
from formatbridge.formats._arguments import encode_arguments_object
from formatbridge.formats._codec import dumps
from formatbridge.formats._extra import joined, rest
from formatbridge.formats._parts import drop_citations, encode_opaque
from formatbridge.formats.generate_content.parts import (
    DECODE_PART,
    decode_bare,
    decode_code,
    decode_code_result,
    decode_text,
    encode_code,
    encode_media,
    encode_text,
    runs_python,
)
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_reasoning, encode_signature
from formatbridge.losses import Ledger

JsonObject = dict[str, Any]

CONTENT = frozenset({"role", "parts"})
_CALL_PART = frozenset({"functionCall", "thoughtSignature"})
_CALL = frozenset({"id", "name", "args"})
_RESULT_PART = frozenset({"functionResponse", "thoughtSignature"})
_RESULT = frozenset({"id", "name", "response", "parts"})
_ROLES: dict[str | None, ir.Role] = {"model": "assistant", "assistant": "assistant", "system": "system"}
_EXACT = 2**53
"""Integers beyond this are not exact in a double."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is known about the turn that parts are written for.

    ``names``: tools by the ids of their calls. ``is_answer``: it is a response's. ``carries``: it keeps tokens of other formats, tagged.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    is_answer: bool = False
    carries: bool = False


class Calls:
    """The calls of a conversation: ids for those that have none, and which call a result answers."""

    __slots__ = ("_answered", "_code", "_names", "_prefix", "_taken", "_waiting")

    def __init__(self, contents: Iterable[JsonObject], prefix: str = "call_") -> None:
        self._prefix = prefix
        self._names: dict[str, str] = {}
        self._waiting: dict[str, deque[str]] = {}
        self._answered: set[str] = set()
        self._code = ""
        self._taken = {
            call["id"]
            for content in contents
            for part in content.get("parts") or ()
            if (call := part.get("functionCall")) is not None and call.get("id")
        }

    def make_id(self, place: str) -> str:
        """Return the id of a thing at a place that has none; the same for the same place, and never one that is taken."""
        made = f"{self._prefix}{place}"
        while made in self._taken:
            made += "_x"
        return made

    def note(self, call_id: str, name: str) -> None:
        """Remember a call that waits for its result."""
        self._names[call_id] = name
        self._waiting.setdefault(name, deque()).append(call_id)

    def answer(self, call_id: str | None, name: str) -> str | None:
        """Return the id of the call that a result answers: its own, else the first unanswered one of that name; None: there is none."""
        waiting = self._waiting.get(name)
        while not call_id and waiting:
            first = waiting.popleft()
            call_id = None if first in self._answered else first
        if call_id:
            self._answered.add(call_id)
        return call_id or None

    def name_of(self, call_id: str) -> str | None:
        """Return the name of a call."""
        return self._names.get(call_id)

    def code_id(self, place: str | None) -> str:
        """Return the id of a run of code: a new one for a place, else that of the last run."""
        if place is not None:
            self._code = f"code_{place}"
        return self._code or "code"


def decode_message(raw: JsonObject, index: int, calls: Calls) -> ir.Message:
    """Read one turn of the contents; without a role it is the user's."""
    src = f"/contents/{index}"
    parts = decode_parts(raw, src, f"{index}_", calls)
    role = _ROLES.get(raw.get("role"), "user")
    if role == "user" and parts and all(type(part) is ir.ToolResult for part in parts):
        role = "tool"
    return ir.Message(role=role, parts=parts, src=src, extra=rest(raw, CONTENT))


def encode_message(message: ir.Message, contents: list[JsonObject], turn: Turn, losses: Ledger) -> None:
    """Add one turn to the contents; results that follow results join them."""
    if message.extra:
        losses.extras(message)
    joins = bool(contents) and _is_results(message.parts) and _holds_results(contents[-1]["parts"])
    parts: list[JsonObject] = contents[-1]["parts"] if joins else []
    place, before = f"/contents/{len(contents) - joins}/parts", len(parts)
    encode_parts(message.parts, parts, place, turn, losses)
    if len(parts) == before:
        if not any(type(part) is not ir.Text or part.text for part in message.parts):
            losses.dropped(message, code="empty", severity="info")
    elif not joins:
        contents.append({"role": "model" if message.role == "assistant" else "user", "parts": parts})


def _is_results(parts: list[ir.Part]) -> bool:
    return bool(parts) and all(type(part) is ir.ToolResult for part in parts)


def _holds_results(parts: list[JsonObject]) -> bool:
    return "functionResponse" in parts[0] and "functionResponse" in parts[-1]


def decode_parts(raw: JsonObject, src: str, place: str, calls: Calls) -> list[ir.Part]:
    """Read the parts of a turn or an answer. ``place`` begins the names of its parts within the conversation, for ids."""
    return [
        part
        for index, item in enumerate(raw.get("parts") or ())
        if (part := decode_part(item, f"{src}/parts/{index}", f"{place}{index}", calls)) is not None
    ]


def decode_part(raw: JsonObject, src: str, place: str, calls: Calls) -> ir.Part | None:
    """Read one part; None where it says nothing."""
    if raw.get("text") is not None:
        return decode_text(raw, src)
    if raw.get("functionCall") is not None:
        return decode_call(raw, src, place, calls)
    if raw.get("functionResponse") is not None:
        return decode_result(raw, src, place, calls)
    if raw.get("executableCode") is not None:
        return decode_code(raw, src, calls.code_id(place))
    if raw.get("codeExecutionResult") is not None:
        return decode_code_result(raw, src, calls.code_id(None))
    for member, decode in DECODE_PART.items():
        if raw.get(member) is not None:
            return decode(raw, src)
    return decode_bare(raw, src)


def encode_parts(parts: list[ir.Part], made: list[JsonObject], at: str, turn: Turn, losses: Ledger) -> None:
    """Add the parts of a turn or an answer to a list; ``at`` is the list's pointer in the target.

    A token that another format kept in a block of its own goes to the part that follows, where it came from.
    """
    waiting: ir.Signature | None = None
    for part in parts:
        if waiting is None and type(part) is ir.Reasoning and _belongs_to_next(part):
            waiting = part.signature
            continue
        encoded = encode_part(part, f"{at}/{len(made)}", turn, losses)
        if waiting is not None:
            token = encode_signature(waiting, losses, carry=turn.carries)
            if encoded and "thoughtSignature" not in encoded[0]:
                encoded[0] |= token
            elif token:
                made.append({"text": ""} | token)
            waiting = None
        made += encoded
    if waiting is not None and (token := encode_signature(waiting, losses, carry=turn.carries)):
        made.append({"text": ""} | token)


def _belongs_to_next(part: ir.Reasoning) -> bool:
    signature = part.signature
    return not part.text and signature is not None and signature.kind == "call" and signature.home == "generate_content"


def encode_part(part: ir.Part, at: str, turn: Turn, losses: Ledger) -> list[JsonObject]:
    """Write one part; mostly one here too. ``at`` is its pointer in the target."""
    made: JsonObject | None
    match part:
        case ir.Text():
            if not turn.is_answer:
                _note_history(part, losses)
            made = encode_text(part, losses, carry=turn.carries)
        case ir.Media():
            made = encode_media(part, at, losses, carry=turn.carries)
        case ir.Reasoning():
            made = encode_reasoning(part, losses, carry=turn.carries)
        case ir.ToolCall():
            made = encode_call(part, losses, carry=turn.carries)
        case ir.ToolResult():
            made = encode_result(part, at, turn, losses)
        case ir.Refusal():
            made = _encode_refusal(part, turn, losses)
        case ir.Opaque() | ir.Hosted():
            return _encode_foreign(part, turn, losses)
        case _:
            assert_never(part)
    return [made] if made else []


def _note_history(part: ir.Text, losses: Ledger) -> None:
    """Note what only answers have here: a request's text is cited and weighed nowhere."""
    if part.citations:
        drop_citations(part, losses)
    if part.logprobs:
        losses.dropped(part, "logprobs", severity="info")


def _encode_refusal(part: ir.Refusal, turn: Turn, losses: Ledger) -> JsonObject | None:
    """Write a refusal as text; of an answer the finish reason tells that it is one."""
    if part.extra:
        losses.extras(part)
    if not turn.is_answer:
        losses.changed(part, "text", part.text, "flattened")
    return {"text": part.text} if part.text else None


def _encode_foreign(part: ir.Opaque | ir.Hosted, turn: Turn, losses: Ledger) -> list[JsonObject]:
    if turn.is_answer and isinstance(part, ir.Hosted) and part.family == "code" and runs_python(part):
        return encode_code(part, losses, carry=turn.carries)
    text = encode_opaque(part, losses)
    return [{"text": text.text}] if text else []


# Calls and their results.


def decode_call(raw: JsonObject, src: str, place: str, calls: Calls) -> ir.ToolCall:
    """Read one tool call."""
    call = raw["functionCall"]
    call_id, name = call.get("id") or calls.make_id(place), call.get("name") or ""
    calls.note(call_id, name)
    return ir.ToolCall(
        id=call_id,
        id_made=not call.get("id"),
        name=name,
        arguments=call.get("args") or {},
        signature=decode_signature(raw, src),
        src=src,
        extra=joined(rest(raw, _CALL_PART), rest(call, _CALL, "functionCall/")),
    )


def encode_call(call: ir.ToolCall, losses: Ledger, *, carry: bool) -> JsonObject:
    """Write one tool call; the server reads its numbers as doubles."""
    if call.extra:
        losses.extras(call)
    if call.cache:
        losses.dropped(call.cache, severity="info")
    arguments = encode_arguments_object(call, losses)
    if _has_inexact_numbers(arguments):
        losses.changed(call, "arguments", arguments, "inexact_number")
    made: JsonObject = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
    return made | encode_signature(call.signature, losses, carry=carry)


def _has_inexact_numbers(value: JsonObject) -> bool:
    pending: list[Any] = [value]
    while pending:
        node = pending.pop()
        for item in node.values() if type(node) is dict else node:
            kind = type(item)
            if kind is dict or kind is list:
                pending.append(item)
            elif kind is int and (item > _EXACT or item < -_EXACT):
                return True
    return False


def decode_result(raw: JsonObject, src: str, place: str, calls: Calls) -> ir.ToolResult:
    """Read what a function returned. One that answers no call is marked on itself."""
    result = raw["functionResponse"]
    name, given = result.get("name") or "", result.get("id")
    call_id = calls.answer(given, name)
    content, is_error = _decode_response(result, f"{src}/functionResponse")
    leftover: JsonObject = {}
    if call_id is None:
        leftover[""] = name
    elif given and name and name != calls.name_of(given):
        leftover["functionResponse/name"] = name
    return ir.ToolResult(
        call_id=call_id or calls.make_id(place),
        name=None if leftover.get("functionResponse/name") else name or None,
        content=content,
        is_error=is_error,
        signature=decode_signature(raw, src),
        src=src,
        extra=joined(leftover or None, rest(raw, _RESULT_PART), rest(result, _RESULT, "functionResponse/")),
    )


def _decode_response(result: JsonObject, src: str) -> tuple[list[ir.Part], bool | None]:
    """Read the object that was returned: its ``output``, its ``error``, or else all of it as JSON text."""
    response = result.get("response")
    content: list[ir.Part] = []
    is_error = None
    if response is not None:
        key = next(iter(response)) if len(response) == 1 else ""
        value, where = (response[key], f"{src}/response/{key}") if key in ("output", "error") else (response, f"{src}/response")
        is_error = True if key == "error" else None
        content = [ir.Text(text=value if isinstance(value, str) else dumps(value).decode(), src=where)]
    for index, item in enumerate(result.get("parts") or ()):
        part = decode_part(item, f"{src}/parts/{index}", "", _NO_CALLS)
        if part is not None:
            content.append(part)
    return content, is_error


_NO_CALLS = Calls([])


def encode_result(result: ir.ToolResult, at: str, turn: Turn, losses: Ledger) -> JsonObject:
    """Write what a tool answered: its text under ``output`` or ``error``, its media beside it."""
    if result.extra:
        losses.extras(result)
    if result.cache:
        losses.dropped(result.cache, severity="info")
    name = result.name or turn.names.get(result.call_id)
    if name is None:
        name = losses.changed(result, "", _name_from(result.call_id), "orphan", severity="impossible")
    words, media = _encode_result_content(result.content, f"{at}/functionResponse/parts", losses)
    text = words[0] if len(words) == 1 else "\n".join(words)
    if len(words) > 1:
        losses.changed(result, "content", text, "flattened", severity="info")
    body: JsonObject = {"id": result.call_id, "name": name, "response": {"error" if result.is_error else "output": text}}
    if media:
        body["parts"] = media
    return {"functionResponse": body} | encode_signature(result.signature, losses, carry=turn.carries)


def _name_from(call_id: str) -> str:
    """Make a name that the vendor allows out of the id of a call that nobody made."""
    legal = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_.:-") else "_" for letter in call_id)[:127]
    return legal if legal[:1].isalpha() or legal[:1] == "_" else f"_{legal}"


def _encode_result_content(parts: list[ir.Part], at: str, losses: Ledger) -> tuple[list[str], list[JsonObject]]:
    words: list[str] = []
    media: list[JsonObject] = []
    for part in parts:
        for made in encode_part(part, f"{at}/{len(media)}", _RESULT_TURN, losses):
            if "text" in made:
                words.append(made["text"])
            else:
                media.append(made)
    return words, media


_RESULT_TURN = Turn()
