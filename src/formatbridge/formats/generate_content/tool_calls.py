"""Tool calls and results of Gemini: a name and an object of arguments, mostly without an id (recorded traffic).

``ConversationCalls`` and ``add_placeholders`` are here alone: calls may have no ids, and the first call of a turn needs a signature.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.content import EncodeContext, decode_response_part, encode_part
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_signature
from formatbridge.formats.shared.names import derive_call_id
from formatbridge.formats.shared.parts import set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import PLACEHOLDER
from formatbridge.formats.shared.tool_arguments import encode_arguments_object, read_lossless_object, repeated_keys, wrap_text
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.codec import dumps, may_hold_infinity
from formatbridge.jsontext.types import EXACT, JsonObject
from formatbridge.report.ledger import WHOLE_NODE, Ledger

_CALL_PART = frozenset({"functionCall", "thoughtSignature"})
_CALL = frozenset({"id", "name", "args"})


def decode_call(raw: JsonObject, src: str, calls: ConversationCalls) -> ir.ToolCall:
    """Decode one function call."""
    # {"functionCall": {"id": "call_1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "Cg..."}; mostly without an id
    call = raw["functionCall"]
    raw_id, name, arguments = call.get("id"), call.get("name"), call.get("args")
    call_id = raw_id or calls.generate_id(src, call)
    calls.add(call_id, name or "")
    decoded = ir.ToolCall(call_id, name or "", arguments or {}, src)
    if not raw_id:
        decoded.has_generated_id = True
    if "thoughtSignature" in raw:
        decoded.signature = decode_signature(raw, src)
    decoded.extra = merge_extra(read_extra(raw, _CALL_PART), read_extra(call, _CALL, "functionCall/"))
    return decoded


def encode_call(call: ir.ToolCall, context: EncodeContext, losses: Ledger) -> JsonObject:
    """Encode one function call; the server parses numbers as doubles. The text of a custom call becomes one argument."""
    drop_unheld(call, losses)
    if call.kind == "custom":
        arguments: JsonObject = dict(wrap_text(str(call.arguments)))
        losses.changed(call, "", {"functionCall": {"name": call.name}}, "wrapped")
    else:
        arguments = encode_arguments_object(call, losses, context.parsed, _argument_loss)
    part: JsonObject = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
    return part | encode_signature(call.signature, losses, carries_tokens=context.carries_tokens) if call.signature else part


def add_placeholders(contents: list[JsonObject], losses: Ledger) -> None:
    """Add a placeholder to the first call of each model turn that has no signature.

    Gemini 3 and later reject a turn whose first call has no signature; the other calls of a turn need none.
    """
    # Source: the vendor's documentation, "Thought signatures", FAQ, which lists the placeholder for histories of other models.
    for index, content in enumerate(contents):
        if content["role"] != "model":
            continue
        for position, part in enumerate(content["parts"]):
            if "functionCall" in part:
                if "thoughtSignature" not in part:
                    part["thoughtSignature"] = losses.added(f"/contents/{index}/parts/{position}/thoughtSignature", PLACEHOLDER)
                break


def _argument_loss(raw: str | JsonObject, arguments: JsonObject) -> str | None:
    """Return the reason for a loss in arguments: a repeated key, whose last value counts, or an integer beyond a double."""
    return repeated_keys(raw, arguments) or ("inexact_number" if _has_inexact_numbers(arguments) else None)


def _has_inexact_numbers(arguments: JsonObject) -> bool:
    """Return whether an integer in the arguments is too large for a double."""
    # ``args`` is a ``google.protobuf.Struct``, whose numbers are doubles.
    # Source: ai.google.dev/api/python/google/generativeai/protos/FunctionCall.
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


def decode_result(raw: JsonObject, src: str, calls: ConversationCalls) -> ir.ToolResult:
    """Decode one function response. A result without a call gets a generated id and a loss on the whole node."""
    # {"functionResponse": {"id": "call_1", "name": "f", "response": {"output": "12 degrees"}}}
    result = raw["functionResponse"]
    name, raw_id = result.get("name") or "", result.get("id")
    # Ids are optional in this format: a response without one belongs to the next open call of its name (fixture tools_without_ids).
    call_id, call_name = calls.match_result(raw_id, name)
    decoded = ir.ToolResult(call_id or calls.generate_id(src, result), [], src, name or None)
    _decode_content(result, f"{src}/functionResponse", decoded)
    if "thoughtSignature" in raw:
        decoded.signature = decode_signature(raw, src)
    decoded.extra = merge_extra(decoded.extra, read_extra(raw, _RESULT_PART), read_extra(result, _RESULT, "functionResponse/"))
    if call_id is None:
        decoded.extra, decoded.has_generated_id = merge_extra({WHOLE_NODE: name}, decoded.extra), True
    elif name not in ("", call_name):
        decoded.name, decoded.extra = None, merge_extra({"functionResponse/name": name}, decoded.extra)
    return decoded


def encode_result(result: ir.ToolResult, pointer: str, context: EncodeContext, losses: Ledger) -> JsonObject:
    """Encode a tool result. A text with a JSON object is the response, other text its ``output`` or ``error``; media are separate parts."""
    drop_unheld(result, losses)
    name = result.name or context.name_of(result)
    # The name is required, so that of a result without a call is derived from its id.
    if name is None:
        name = losses.changed(result, "", _name_from_id(result.call_id), "orphan", severity="impossible")
    texts, media = _encode_result_content(result.content, pointer, context.keeps_media, losses)
    text = "\n".join(texts)
    if len(texts) > 1:
        losses.changed(result, "content", text, "flattened", severity="info")
    if result.has_generated_id or result.call_id in context.generated_ids:
        losses.added(f"{pointer}/functionResponse/id", result.call_id)
    body: JsonObject = {"id": result.call_id, "name": name, "response": _encode_response_object(text, bool(result.is_error))}
    if media:
        body["parts"] = media
    part = {"functionResponse": body}
    return part | encode_signature(result.signature, losses, carries_tokens=context.carries_tokens) if result.signature else part


def _decode_content(result: JsonObject, src: str, decoded: ir.ToolResult) -> None:
    """Decode the response object and the media of a function response."""
    response = result.get("response")
    if response is not None:
        text = _decode_response_object(response, f"{src}/response")
        decoded.content.append(text)
        if "error" in response and len(response) == 1:
            decoded.is_error = True
        if "Infinity" in text.text and may_hold_infinity(response):  # kept for the check for infinite numbers
            decoded.extra = {"functionResponse/response": response}
    if result.get("parts"):
        returned = [decode_response_part(part, f"{src}/parts/{index}") for index, part in enumerate(result["parts"])]
        decoded.content += set_unknown_severity([part for part in returned if part is not None])


def _encode_result_content(
    parts: list[ir.Part], pointer: str, keeps_media: bool, losses: Ledger
) -> tuple[list[str], list[JsonObject]]:
    """Encode the content of a result as texts and media. The media follow the texts, so a text after media is reported as moved."""
    # Gemini 3 accepts media in ``parts`` of the response (google-gemini/gemini-cli#17068); the text is the response itself.
    texts: list[str] = []
    media: list[JsonObject] = []
    context = EncodeContext(keeps_media=keeps_media)
    for part in parts:
        for encoded in encode_part(part, f"{pointer}/functionResponse/parts/{len(media)}", context, losses):
            if "text" in encoded:
                texts.append(encoded["text"])
                if media:
                    losses.changed(part, "", encoded["text"], "moved")
            else:
                media.append(encoded)
    return texts, media


def _decode_response_object(response: JsonObject, src: str) -> ir.Text:
    """Decode the response object: its only field ``output`` or ``error``, otherwise all of it as JSON text."""
    # "Use "output" key to specify function output and "error" key to specify error details" (official SDK, ``FunctionResponse``).
    value: Any = response
    if len(response) == 1:
        if "output" in response:
            value, src = response["output"], f"{src}/output"
        elif "error" in response:
            value, src = response["error"], f"{src}/error"
    return ir.Text(value if isinstance(value, str) else dumps(value).decode(), src)


def _encode_response_object(text: str, is_error: bool) -> JsonObject:
    """Encode a text as the response object.

    A text with a JSON object becomes that object, if this loses nothing. An object with a key ``output`` or ``error`` stays a text, because
    the server reads these keys as output and error. Source: the vendor's reference, ``FunctionResponse.response``.
    """
    value = None if is_error else read_lossless_object(text)
    if value is None or "output" in value or "error" in value:
        return {"error" if is_error else "output": text}
    return value


def _name_from_id(call_id: str) -> str:
    """Return a valid function name derived from the id of a call that does not exist."""
    # The characters and the length that ``FunctionDeclaration.name`` allows; 127 leave place for the underscore.
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_.:-") else "_" for letter in call_id)[:127]
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"


class ConversationCalls:
    """The calls of a conversation: generates missing ids and matches results to calls."""

    __slots__ = (
        "_by_id",
        "_by_id_and_name",
        "_candidate_number",
        "_contents",
        "_last_code_id",
        "_names",
        "_prefix",
        "_response_id",
        "_unanswered",
        "_used_ids",
    )  # fmt: skip

    def __init__(self, contents: Sequence[JsonObject], response_id: str | None = None, number: int | None = None) -> None:
        self._contents = contents
        self._response_id = response_id
        self._candidate_number = number
        self._used_ids: set[str] | None = None  # collected with the prefix for the first generated id
        self._prefix = ""
        self._names: dict[str, str] = {}  # answered calls, id to name
        self._by_id: dict[str, str] | None = {}  # unanswered calls, id to name, while ids are unique
        self._by_id_and_name: dict[str, dict[str, int]] = {}  # unanswered calls, id to names to their number
        self._unanswered: dict[str, deque[str]] = {}  # ids of unanswered calls by name
        self._last_code_id = ""

    def generate_id(self, src: str, part: JsonObject) -> str:
        """Return an id for a part that has none: the same for the same pointer, and unique.

        The prefix identifies the response and the candidate. Without a response id, the id is derived from the call.
        """
        # The pointer of a call stays the same when turns follow, so the prefix of the prompt stays in the server's cache
        # (ai.google.dev/gemini-api/docs/caching).
        used_ids = self._used_ids if self._used_ids is not None else self._prepare_ids()
        generated_id = f"{self._prefix}{_position(src)}"
        if self._candidate_number is not None and not self._response_id:
            generated_id = derive_call_id(self._candidate_number, _position(src), part.get("name"), part.get("args"))
        while generated_id in used_ids:
            generated_id += "_x"
        return generated_id

    def _prepare_ids(self) -> set[str]:
        """Set the prefix of generated ids; return the ids that the source has."""
        response = f"{sha256(self._response_id.encode()).hexdigest()[:16]}_" if self._response_id else ""
        self._prefix = f"call_{response}" if self._candidate_number is None else f"call_{response}{self._candidate_number}_"
        self._used_ids = {
            call["id"]
            for content in self._contents
            for part in content.get("parts") or ()
            if (call := part.get("functionCall")) is not None and call.get("id")
        }
        return self._used_ids

    def add(self, call_id: str, name: str) -> None:
        """Add a call that has no result yet."""
        # Most conversations have unique ids. Two calls with one id need the slower search by id and name.
        if self._by_id is not None and call_id not in self._by_id:
            self._by_id[call_id] = name
            return
        self._key_by_name()
        names = self._by_id_and_name.setdefault(call_id, {})
        names[name] = names.get(name, 0) + 1
        self._unanswered.setdefault(name, deque()).append(call_id)

    def _key_by_name(self) -> None:
        """From now on keep calls by id and name, because an id alone is not unique."""
        by_id, self._by_id = self._by_id or {}, None
        for call_id, name in by_id.items():
            self.add(call_id, name)

    def match_result(self, call_id: str | None, name: str) -> tuple[str | None, str | None]:
        """Return the id and the name of the call that a result answers, each None if there is none.

        If calls share the id, it is an unanswered one with the result's name, otherwise the latest unanswered one. A result without an id
        answers the first unanswered call of its name.
        """
        if call_id and self._by_id is not None:
            call_name = self._by_id.pop(call_id, None)
            if call_name is not None:
                self._names[call_id] = call_name
            return call_id, self._names.get(call_id)
        self._key_by_name()
        if not call_id:
            call_id = self._first_unanswered(name)
            return call_id, None if call_id is None else self._mark_answered(call_id, name)
        names = self._by_id_and_name.get(call_id, {})
        if not names:
            return call_id, self._names.get(call_id)
        return call_id, self._mark_answered(call_id, name if name in names else next(reversed(names)))

    def _mark_answered(self, call_id: str, name: str) -> str:
        """Mark a call as answered; return its name."""
        names = self._by_id_and_name[call_id]
        names[name] -= 1
        if not names[name]:
            del names[name]
        self._names[call_id] = name
        return name

    def _first_unanswered(self, name: str) -> str | None:
        """Return the id of the first unanswered call of a name."""
        call_ids = self._unanswered.get(name)
        while call_ids:
            call_id = call_ids.popleft()
            if name in self._by_id_and_name[call_id]:
                return call_id
        return None

    def code_id(self, src: str | None) -> str:
        """Return the id of a code execution. ``src``: the pointer of new code, or None for the last code."""
        if src is not None:
            self._last_code_id = f"code_{_position(src)}"
        return self._last_code_id or "code"


def _position(src: str) -> str:
    """Return the position of a part in its conversation or response: the numbers in its pointer."""
    steps = [step for step in src.split("/") if step.isdecimal()]
    if src.startswith("/candidates/"):
        del steps[0]  # the prefix has the candidate's ``index``, which may be another number
    elif src.startswith("/systemInstruction/"):
        steps.insert(0, "system")
    return "_".join(steps)
