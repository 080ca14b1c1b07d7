"""Tool calls of generate_content: a name and an object of arguments, mostly without an id."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.content import Surroundings, decode_returned, encode_part
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_signature
from formatbridge.formats.shared.parts import is_only_text, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import PLACEHOLDER
from formatbridge.formats.shared.tool_arguments import (
    encode_arguments_object,
    read_lossless_object,
    repeated_keys,
    wrap_text,
)
from formatbridge.formats.shared.unique_names import derive_call_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps, may_hold_infinity
from formatbridge.jsontext.types import EXACT, JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

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
        made.has_generated_id = True
    if "thoughtSignature" in raw:
        made.signature = decode_signature(raw, src)
    made.extra = joined(rest(raw, _CALL_PART), rest(call, _CALL, "functionCall/"))
    return made


def encode_call(call: ir.ToolCall, around: Surroundings, losses: Ledger) -> JsonObject:
    """Write one tool call; the server reads its numbers as doubles, and free text is the one argument of a function."""
    drop_unheld(call, losses)
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


_RESULT_PART = frozenset({"functionResponse", "thoughtSignature"})
_RESULT = frozenset({"id", "name", "response", "parts"})


def decode_result(raw: JsonObject, src: str, calls: Calls) -> ir.ToolResult:
    """Read what a function returned. One that answers no call is marked on itself."""
    result = raw["functionResponse"]
    name, given, response = result.get("name"), result.get("id"), result.get("response")
    call_id, called = calls.answer(given, name or "")
    output = response.get("output") if response and len(response) == 1 else None
    if type(output) is str and given and name and name == called and len(raw) == 1 and len(result) == 3:  # these are all there is
        return ir.ToolResult(given, [ir.Text(output, f"{src}/functionResponse/response/output")], src, name)
    made = ir.ToolResult(call_id or calls.make_id(src, result), [], src, name or None)
    _decode_content(result, f"{src}/functionResponse", made)
    if "thoughtSignature" in raw:
        made.signature = decode_signature(raw, src)
    if len(raw) > 1 or len(result) > 3 or not (given and name and response is not None):  # else these are all there is
        made.extra = joined(made.extra, rest(raw, _RESULT_PART), rest(result, _RESULT, "functionResponse/"))
    if call_id is None:
        made.extra, made.has_generated_id = joined({WHOLE_NODE: name or ""}, made.extra), True
    elif given and name and name != called:
        made.name, made.extra = None, joined({"functionResponse/name": name}, made.extra)
    return made


def _decode_content(result: JsonObject, src: str, made: ir.ToolResult) -> None:
    """Read the object that was returned, and media beside it."""
    response = result.get("response")
    if response is not None:
        words = _decode_response(response, f"{src}/response")
        made.content.append(words)
        if "error" in response and len(response) == 1:
            made.is_error = True
        if "Infinity" in words.text and may_hold_infinity(response):  # which whoever looks for one must find
            made.extra = {"functionResponse/response": response}
    if result.get("parts"):
        returned = [decode_returned(part, f"{src}/parts/{index}") for index, part in enumerate(result["parts"])]
        made.content += set_unknown_severity([part for part in returned if part is not None])


def _decode_response(response: JsonObject, src: str) -> ir.Text:
    """Read the object that was returned: its ``output``, its ``error``, or else all of it as JSON text."""
    value: Any = response
    if len(response) == 1:
        if "output" in response:
            value, src = response["output"], f"{src}/output"
        elif "error" in response:
            value, src = response["error"], f"{src}/error"
    return ir.Text(value if isinstance(value, str) else dumps(value).decode(), src)


def encode_result(result: ir.ToolResult, at: str, around: Surroundings, losses: Ledger) -> JsonObject:
    """Write what a tool answered: the object in its text, or the text under ``output`` or ``error``; its media beside it."""
    drop_unheld(result, losses)
    name = result.name or around.name_of(result)
    if name is None:
        name = losses.changed(result, "", _name_from(result.call_id), "orphan", severity="impossible")
    first = result.content[0] if len(result.content) == 1 else None
    media: list[JsonObject] | None = None
    if type(first) is ir.Text and is_only_text(first):  # nothing can be lost with it
        text = first.text
    else:
        words, media = _encode_result_content(result.content, at, losses)
        text = "\n".join(words)
        if len(words) > 1:
            losses.changed(result, "content", text, "flattened", severity="info")
    if result.has_generated_id or result.call_id in around.made_ids:
        losses.added(f"{at}/functionResponse/id", result.call_id)
    body: JsonObject = {"id": result.call_id, "name": name, "response": _encode_response(text, bool(result.is_error))}
    if media:
        body["parts"] = media
    made = {"functionResponse": body}
    return made | encode_signature(result.signature, losses, carry=around.carries) if result.signature else made


def _encode_response(text: str, is_error: bool) -> JsonObject:
    """Write a text as the object that the function returned.

    A text that is a JSON object is that object, if the object holds all of the text. One with a key ``output`` or ``error`` is not, for
    the server reads these as the output of the function and as its failure. Source: the vendor's reference, ``FunctionResponse.response``.
    """
    value = None if is_error else read_lossless_object(text)
    if value is None or "output" in value or "error" in value:
        return {"error" if is_error else "output": text}
    return value


def _encode_result_content(parts: list[ir.Part], at: str, losses: Ledger) -> tuple[list[str], list[JsonObject]]:
    """Write what a tool answered as its texts and its media, which stand behind them here: a text that stood behind media has moved."""
    words: list[str] = []
    media: list[JsonObject] = []
    around = Surroundings()
    for part in parts:
        for made in encode_part(part, f"{at}/functionResponse/parts/{len(media)}", around, losses):
            if "text" in made:
                words.append(made["text"])
                if media:
                    losses.changed(part, "", made["text"], "moved")
            else:
                media.append(made)
    return words, media


def _name_from(call_id: str) -> str:
    """Make a name that the vendor allows out of the id of a call that nobody made."""
    legal = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_.:-") else "_" for letter in call_id)[:127]
    return legal if legal[:1].isalpha() or legal[:1] == "_" else f"_{legal}"


class Calls:
    """The calls of a conversation: ids for those that have none, and which call a result answers."""

    __slots__ = ("_code", "_contents", "_names", "_number", "_open", "_prefix", "_response_id", "_single", "_taken", "_waiting")

    def __init__(self, contents: Sequence[JsonObject], response_id: str | None = None, number: int | None = None) -> None:
        self._contents = contents
        self._response_id = response_id
        self._number = number
        self._taken: set[str] | None = None  # this and the prefix are worked out when an id must be made
        self._prefix = ""
        self._names: dict[str, str] = {}
        self._single: dict[str, str] | None = {}  # id to name of the calls that wait, while no two have one id
        self._open: dict[str, dict[str, int]] = {}  # id to names to how many calls have no result yet
        self._waiting: dict[str, deque[str]] = {}
        self._code = ""

    def make_id(self, src: str, part: JsonObject) -> str:
        """Return the id of a part that has none; the same for the same pointer, and never one that is taken.

        An answer's begin with what tells it and its candidate from others; where it has no id either, its calls tell it from others.
        """
        taken = self._taken if self._taken is not None else self._look_around()
        made = f"{self._prefix}{_place_of(src)}"
        if self._number is not None and not self._response_id:
            made = derive_call_id(self._number, _place_of(src), part.get("name"), part.get("args"))
        while made in taken:
            made += "_x"
        return made

    def _look_around(self) -> set[str]:
        answer = f"{sha256(self._response_id.encode()).hexdigest()[:16]}_" if self._response_id else ""
        self._prefix = f"call_{answer}" if self._number is None else f"call_{answer}{self._number}_"
        self._taken = {
            call["id"]
            for content in self._contents
            for part in content.get("parts") or ()
            if (call := part.get("functionCall")) is not None and call.get("id")
        }
        return self._taken

    def note(self, call_id: str, name: str) -> None:
        """Remember a call that waits for its result."""
        if self._single is not None and call_id not in self._single:
            self._single[call_id] = name
            return
        self._open_all()
        names = self._open.setdefault(call_id, {})
        names[name] = names.get(name, 0) + 1
        self._waiting.setdefault(name, deque()).append(call_id)

    def _open_all(self) -> None:
        """Keep calls by name, too, from here on: an id alone does not tell them apart."""
        single, self._single = self._single or {}, None
        for call_id, name in single.items():
            self.note(call_id, name)

    def answer(self, call_id: str | None, name: str) -> tuple[str | None, str | None]:
        """Return id and name of the call that a result answers, each None where there is none.

        Of calls that share an id it is an unanswered one of the result's name, else the latest that is unanswered. A result without an id
        answers the first unanswered call of its name.
        """
        if call_id and self._single is not None:
            called = self._single.pop(call_id, None)
            if called is not None:
                self._names[call_id] = called
            return call_id, self._names.get(call_id)
        self._open_all()
        if not call_id:
            call_id = self._first_waiting(name)
            return call_id, None if call_id is None else self._close(call_id, name)
        names = self._open.get(call_id, {})
        return call_id, self._close(call_id, name if name in names else next(reversed(names))) if names else self._names.get(
            call_id
        )

    def _close(self, call_id: str, name: str) -> str:
        names = self._open[call_id]
        names[name] -= 1
        if not names[name]:
            del names[name]
        self._names[call_id] = name
        return name

    def _first_waiting(self, name: str) -> str | None:
        waiting = self._waiting.get(name)
        while waiting:
            first = waiting.popleft()
            if name in self._open[first]:
                return first
        return None

    def code_id(self, src: str | None) -> str:
        """Return the id of a run of code: a new one for the code at a pointer, else that of the last run."""
        if src is not None:
            self._code = f"code_{_place_of(src)}"
        return self._code or "code"


def _place_of(src: str) -> str:
    """Name the place of a part in its conversation or answer by the numbers in its pointer."""
    steps = [step for step in src.split("/") if step.isdecimal()]
    if src.startswith("/candidates/"):
        del steps[0]  # the candidate's own number counts, which may be another
    elif src.startswith("/systemInstruction/"):
        steps.insert(0, "system")
    return "_".join(steps)
