"""Results of tool calls in generate_content: an object that the function returned, and media beside it."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge.formats.generate_content.ids import Calls
from formatbridge.formats.generate_content.parts import decode_returned, encode_part
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_signature
from formatbridge.formats.generate_content.surroundings import Surroundings
from formatbridge.formats.shared.parts import is_plain, weigh_unknown
from formatbridge.formats.shared.tool_arguments import read_lossless_object
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.codec import dumps, may_hold_infinity
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import ITSELF, Ledger

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
        made.extra, made.id_made = joined({ITSELF: name or ""}, made.extra), True
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
        made.content += weigh_unknown([part for part in returned if part is not None])


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
    if result.extra:
        losses.extras(result)
    if result.cache:
        losses.dropped(result.cache, severity="info")
    name = result.name or around.name_of(result)
    if name is None:
        name = losses.changed(result, "", _name_from(result.call_id), "orphan", severity="impossible")
    first = result.content[0] if len(result.content) == 1 else None
    media: list[JsonObject] | None = None
    if type(first) is ir.Text and is_plain(first):  # nothing can be lost with it
        text = first.text
    else:
        words, media = _encode_result_content(result.content, at, losses)
        text = "\n".join(words)
        if len(words) > 1:
            losses.changed(result, "content", text, "flattened", severity="info")
    if result.id_made or result.call_id in around.made_ids:
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
