"""Tool calls of generate_content: a name and an object of arguments, mostly without an id."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.ids import Calls
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_signature
from formatbridge.formats.generate_content.surroundings import Surroundings
from formatbridge.formats.shared.parts import note_beside
from formatbridge.formats.shared.reasoning_tokens import PLACEHOLDER
from formatbridge.formats.shared.tool_arguments import EXACT, encode_arguments_object, repeated_keys, wrap_text
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_CALL_PART = frozenset({"functionCall", "thoughtSignature"})
_CALL = frozenset({"id", "name", "args"})


def decode_call(raw: JsonObject, src: str, calls: Calls) -> ir.ToolCall:
    """Read one tool call."""
    call = raw["functionCall"]
    given, name, arguments = call.get("id"), call.get("name"), call.get("args")
    call_id = given or calls.make_id(src, call)
    calls.note(call_id, name or "")
    made = ir.ToolCall(call_id, name or "", arguments or {}, src)
    if given and name and arguments is not None and len(call) == 3 and len(raw) == 1:  # these are all the keys there are
        return made
    if not given:
        made.id_made = True
    if "thoughtSignature" in raw:
        made.signature = decode_signature(raw, src)
    made.extra = joined(rest(raw, _CALL_PART), rest(call, _CALL, "functionCall/"))
    return made


def encode_call(call: ir.ToolCall, around: Surroundings, losses: Ledger) -> JsonObject:
    """Write one tool call; the server reads its numbers as doubles, and free text is the one argument of a function."""
    if call.extra or call.cache or call.item_id is not None or call.namespace is not None:
        _note_call(call, losses)
    if call.kind == "custom":
        arguments: JsonObject = dict(wrap_text(str(call.arguments)))
        losses.changed(call, "", {"functionCall": {"name": call.name}}, "wrapped")
    else:
        arguments = encode_arguments_object(call, losses, around.objects, lost_of_arguments)
    made: JsonObject = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
    return made | encode_signature(call.signature, losses, carry=around.carries) if call.signature else made


def add_placeholders(contents: list[JsonObject], losses: Ledger) -> None:
    """Give the first call of each turn of the model a placeholder where it has no signature.

    Gemini 3 and later refuse a turn whose first call has none; the other calls of a turn need none.
    """
    for index, content in enumerate(contents):
        if content["role"] != "model":
            continue
        for place, part in enumerate(content["parts"]):
            if "functionCall" in part:
                if "thoughtSignature" not in part:
                    part["thoughtSignature"] = losses.added(f"/contents/{index}/parts/{place}/thoughtSignature", PLACEHOLDER)
                break


def _note_call(call: ir.ToolCall, losses: Ledger) -> None:
    """Note what a call has besides its name and arguments."""
    note_beside(call, losses)
    if call.namespace is not None:
        losses.dropped(call, "namespace")


def lost_of_arguments(given: str | JsonObject, arguments: JsonObject) -> str | None:
    """Say what is lost of arguments: of keys that stand twice all but the last, and of integers what a double cannot hold."""
    return repeated_keys(given, arguments) or ("inexact_number" if _has_inexact_numbers(arguments) else None)


def _has_inexact_numbers(arguments: JsonObject) -> bool:
    pending: list[Any] = [arguments]
    while pending:
        node = pending.pop()
        for item in node.values() if type(node) is dict else node:
            kind = type(item)
            if kind is dict or kind is list:
                pending.append(item)
            elif kind is int and (item > EXACT or item < -EXACT):
                return True
    return False
