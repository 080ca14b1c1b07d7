"""JSON mode: the instruction that replaces it, and the word "JSON", which OpenAI's servers require in the messages of such a request."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.shared.turns import leading_instructions
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import MENTIONS_JSON, REPLACES_JSON_MODE

INSTRUCTION = "Respond with valid JSON only: no other text and no code fence."
"""The instruction in the system prompt that replaces a JSON mode, or that is added to one."""
_WORD = "json"


def has_any_object(rules: DialectRules | None) -> bool:
    """Return whether a server has JSON mode, or a schema of any object in its place; otherwise an instruction replaces it."""
    return rules is None or rules.accepts_any_object


def lacks_json_word(messages: list[ir.Message], format: ir.OutputFormat | None) -> bool:
    """Return whether OpenAI's servers reject a conversation with JSON mode, because it does not mention JSON.

    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'" (StefanBratanov/jvm-openai#15).
    ``responses`` requires the word in ``input`` and not in ``instructions`` (Wei-Shaw/sub2api#3337).
    """
    return format is not None and format.type == "json_object" and bool(messages) and not any(map(_mentions_json, messages))


def with_json_instruction(messages: list[ir.Message], format: ir.OutputFormat | None) -> list[ir.Message]:
    """Return a conversation that mentions JSON if the request has JSON mode; the same object if nothing changes."""
    if not lacks_json_word(messages, format):
        return messages
    leading = leading_instructions(messages)
    return [*messages[:leading], ir.Message("system", [ir.Text(INSTRUCTION)], ""), *messages[leading:]]


def note_json_instruction(messages: list[JsonObject], pointer: str, losses: Ledger) -> None:
    """Note the added instruction in encoded messages, which are at ``pointer`` in the body. No other message mentions JSON."""
    why = MENTIONS_JSON if has_any_object(losses.dialect) else REPLACES_JSON_MODE
    for index, message in enumerate(messages):
        if is_json_instruction(message):
            losses.added(f"{pointer}/{index}", message, why)


def is_json_instruction(message: JsonObject) -> bool:
    """Return whether an encoded message is the instruction."""
    content = message.get("content")
    return content == INSTRUCTION or (isinstance(content, list) and len(content) == 1 and content[0].get("text") == INSTRUCTION)


def _mentions_json(message: ir.Message) -> bool:
    for part in message.parts:
        for each in part.content if isinstance(part, ir.ToolResult) else (part,):
            if isinstance(each, ir.Text) and _WORD in each.text.lower():
                return True
    return False
