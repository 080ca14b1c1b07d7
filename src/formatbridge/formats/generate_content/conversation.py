"""Contents of Gemini as messages: decode and encode side by side.

A content is an ordered list of parts, like a message of the canonical model. Calls mostly come without ids (recorded traffic). A
result without an id then belongs to the next unanswered call with its name.

``encode_instruction`` and ``encode_parts`` are here because instructions are one field, and tokens may move between parts.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from formatbridge import ir
from formatbridge.formats.generate_content.content import EncodeContext, decode_part, encode_part
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.generate_content.reasoning import belongs_to_earlier_reasoning, encode_signature, signs_earlier_reasoning
from formatbridge.formats.generate_content.tool_calls import (
    ConversationCalls,
    decode_call,
    decode_result,
    encode_call,
    encode_result,
)
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.parts import join_texts, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import bound_to
from formatbridge.formats.shared.turns import note_empty
from formatbridge.formats.shared.unmodelled_fields import extend_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

CONTENT = frozenset({"role", "parts"})
_NO_CONTENT = frozenset({
    "audioTranscription", "mediaResolution", "partMetadata", "thought", "toolCall", "toolResponse", "videoMetadata",
})  # fmt: skip
"""Keys of parts without content for the model: qualifying fields, and calls of the vendor's server tools."""
# "Must be either 'user' or 'model'" (official SDK, ``Content.role``). The names of other formats are read, too.
_ROLES: dict[str | None, ir.Role] = {"model": "assistant", "assistant": "assistant", "system": "system"}


def decode_message(raw: JsonObject, src: str, calls: ConversationCalls, last: ir.Message | None = None) -> ir.Message:
    """Decode one content; without a role it is a user message. ``last``: the message before it, if the model wrote that."""
    # {"role": "user", "parts": [{"text": "Hello"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}
    role = _ROLES.get(raw.get("role"), "user")
    if last is not None and role == "assistant":
        _continue_turn(last, raw, src, calls)
        return last
    parts = decode_parts(raw.get("parts"), src, calls)
    extra = None if CONTENT.issuperset(raw) else read_extra(raw, CONTENT)
    if role == "user" and parts and type(parts[0]) is ir.ToolResult and (len(parts) == 1 or _is_results(parts)):
        return ir.Message("tool", parts, src, extra)
    return ir.Message(role, set_unknown_severity(parts, _NO_CONTENT) if role == "user" else parts, src, extra)


def _continue_turn(message: ir.Message, raw: JsonObject, src: str, calls: ConversationCalls) -> None:
    """Append a content of the model to the message before it; adjacent texts are combined."""
    parts, count = message.parts, len(message.parts)
    decode_parts(raw.get("parts"), src, calls, parts)
    combined = join_texts(parts[count - 1], parts[count]) if 0 < count < len(parts) else None
    if combined is not None:
        combined.src = parts[count].src  # a loss of the combined text is reported at its end
        parts[count - 1 : count + 1] = [combined]
    message.extra = extend_extra(message.extra, read_extra(raw, CONTENT, f"{src}/"))


def encode_message(message: ir.Message, contents: list[JsonObject], context: EncodeContext, losses: Ledger) -> None:
    """Append one message to the contents; adjacent results are combined, and so are adjacent messages of the model.

    The server accepts a call only directly after a user turn, and no other parts in a turn with results. Parts that follow results in
    their message therefore become a separate content.
    """
    # "function call turn comes immediately after a user turn" (google-gemini/gemini-cli#11814). All responses of a turn are
    # in one content (cloudwego/eino-ext#571), which has nothing else (anomalyco/opencode#43479).
    role, parts = "model" if message.role == "assistant" else "user", message.parts
    if len(parts) > 1 and type(parts[0]) is ir.ToolResult and not _is_results(parts):
        results = list(takewhile(lambda part: type(part) is ir.ToolResult, parts))
        for run in (results, parts[len(results) :]):
            encode_message(replace(message, parts=run), contents, context, losses)
        return
    first, last = parts[0] if parts else None, contents[-1] if contents else None
    if last is None:
        is_joined = False
    elif type(first) is ir.ToolResult:
        is_joined = _holds_results(last["parts"])
    else:
        is_joined = role == "model" == last["role"]
    written: list[JsonObject] = last["parts"] if is_joined and last else []
    count = len(written)
    encode_parts(parts, written, f"/contents/{len(contents) - is_joined}/parts", context, losses)
    if len(written) == count:
        note_empty(message, losses)
    elif not is_joined:
        contents.append({"role": role, "parts": written})


def encode_instruction(message: ir.Message, instructions: list[JsonObject], context: EncodeContext, losses: Ledger) -> None:
    """Append the texts of an instruction, which may hold nothing else."""
    # "Currently, text only" (vendor's reference, ``systemInstruction``).
    for part in message.parts:
        if isinstance(part, ir.Media):
            losses.dropped(part, code="unsupported_media")
            continue
        pointer = f"/systemInstruction/parts/{len(instructions)}"
        if isinstance(part, ir.ToolCall | ir.ToolResult):
            instructions += _encode_call_or_result(part, pointer, context, losses)
        else:
            instructions += encode_part(part, pointer, context, losses)


def _is_results(parts: list[ir.Part]) -> bool:
    """Return whether all parts are tool results."""
    return all(type(part) is ir.ToolResult for part in parts)


def _holds_results(parts: list[JsonObject]) -> bool:
    """Return whether a content starts and ends with function responses."""
    return "functionResponse" in parts[0] and "functionResponse" in parts[-1]


def decode_parts(
    items: list[JsonObject] | None, src: str, calls: ConversationCalls, before: list[ir.Part] | None = None
) -> list[ir.Part]:
    """Decode the parts of a content and append them to ``before``; an empty part is left out."""
    parts = [] if before is None else before
    for index, item in enumerate(items or ()):
        part_src = f"{src}/parts/{index}"
        text = item.get("text")
        if text is not None:
            if len(item) == 1:  # only a text
                parts.append(ir.Text(text, part_src))
                continue
            decoded = decode_part(item, part_src, calls.code_id)
            assert isinstance(decoded, ir.Text | ir.Reasoning)
            # A tagged token of another format belongs to the reasoning before this part (``accepts_token``).
            if decoded.signature is not None:
                _decode_carried(parts, decoded)
            # The stream encoder sends such a part if the token came after its reasoning was sent (``signs_earlier_reasoning``).
            is_separate_token = (
                type(decoded) is ir.Reasoning and item.get("thought") and not text and signs_earlier_reasoning(decoded.signature)
            )
            if decoded.extra or not (is_separate_token and _add_token_to_reasoning(parts, decoded)):  # type: ignore[arg-type]  # is reasoning
                parts.append(decoded)
        elif item.get("functionCall") is not None:
            call = decode_call(item, part_src, calls)
            if call.signature is not None:
                _decode_carried(parts, call)
            parts.append(call)
        elif item.get("functionResponse") is not None:
            parts.append(decode_result(item, part_src, calls))
        else:
            part = decode_part(item, part_src, calls.code_id)
            if part is not None:
                parts.append(part)
    return parts


def encode_parts(parts: list[ir.Part], encoded: list[JsonObject], pointer: str, context: EncodeContext, losses: Ledger) -> None:
    """Append the parts of a message or a candidate to a list; ``pointer`` is the list's pointer in the target.

    A reasoning part that is only a token adds the token to the next part, or to the call that it names.
    """
    # Anthropic Messages and Responses have no field for the token of a call (SDKs: ``ToolUseBlock``, ``ResponseFunctionToolCall``).
    # So there it is reasoning before the call.
    tokens: list[JsonObject] = []
    reserved: dict[str, JsonObject] = {}
    start = len(encoded)
    for part in parts:
        if type(part) is ir.ToolCall and not tokens and not part.has_generated_id:
            encoded.append(encode_call(part, context, losses))
            continue
        if type(part) is ir.ToolResult and not tokens:
            encoded.append(encode_result(part, f"{pointer}/{len(encoded)}", context, losses))
            continue
        if type(part) is ir.Reasoning and belongs_to_next(part):
            tokens += _encode_token_for_next(part, context, losses)
        elif type(part) is not ir.Reasoning or not _reserve_for_call(part, parts, reserved, context, losses):
            encoded += _encode_other_part(part, encoded, f"{pointer}/{len(encoded)}", tokens, context, losses)
            tokens.clear()
    # No part follows. The vendor itself sends a token on an empty text at the end (fixture reasoning_token_on_text).
    if tokens:
        encoded += [{"text": ""} | token for token in tokens]
    if reserved:
        _sign_calls(encoded[start:], reserved)


def _decode_carried(parts: list[ir.Part], part: ir.Part) -> None:
    """Move the token of another format from a part to the reasoning before it, or to a separate reasoning part."""
    if not isinstance(part, ir.ToolCall | ir.Text) or (isinstance(part, ir.Text) and not part.text):
        return
    if part.signature is not None and belongs_to_earlier_reasoning(part.signature):
        token = ir.Reasoning("", part.signature.src, part.signature)
        part.signature = None
        if not (signs_earlier_reasoning(token.signature) and _add_token_to_reasoning(parts, token)):
            parts.append(token)


def _add_token_to_reasoning(parts: list[ir.Part], token: ir.Reasoning) -> bool:
    """Add a token to the last reasoning and join its parts; return false if there is none or another token follows it."""
    # From the end: skip parts without a token up to reasoning, then collect the adjacent reasoning, which is one part.
    end = len(parts)
    while end and not isinstance(before := parts[end - 1], ir.Reasoning):
        if getattr(before, "signature", None) is not None:
            return False
        end -= 1
    start = end
    while start and isinstance(before := parts[start - 1], ir.Reasoning) and before.signature is None and not before.extra:
        start -= 1
    unsigned = [part for part in parts[start:end] if isinstance(part, ir.Reasoning)]
    if not unsigned:
        return False
    parts[start:end] = [ir.Reasoning("".join(part.text for part in unsigned), unsigned[0].src, token.signature)]
    return True


def _encode_other_part(
    part: ir.Part, before: list[JsonObject], pointer: str, tokens: list[JsonObject], context: EncodeContext, losses: Ledger
) -> list[JsonObject]:
    """Encode a part that follows the encoded parts ``before``, and add the pending tokens to it."""
    encoded = (
        _encode_call_or_result(part, pointer, context, losses)
        if type(part) is ir.ToolCall or type(part) is ir.ToolResult
        else encode_part(part, pointer, context, losses)
    )
    if type(part) is ir.Reasoning:
        _separate_token(part, encoded, before)
    if tokens:
        if encoded and "thoughtSignature" not in encoded[0]:
            encoded[0] |= tokens.pop(0)
        encoded += [{"text": ""} | token for token in tokens]
    return encoded


def _separate_token(part: ir.Reasoning, encoded: list[JsonObject], before: list[JsonObject]) -> None:
    """Remove the flag ``thought`` from a token without text if the encoded parts ``before`` include reasoning without a token.

    With the flag, a decoder would assign the token to that reasoning.
    """
    if encoded and not part.text and signs_earlier_reasoning(part.signature) and _has_unsigned_reasoning(before):
        encoded[0].pop("thought", None)


def _has_unsigned_reasoning(parts: list[JsonObject]) -> bool:
    """Return whether the encoded parts include reasoning without a token after the last token."""
    for part in reversed(parts):
        if "thoughtSignature" in part:
            return False
        if part.get("thought"):
            return True
    return False


def _reserve_for_call(
    part: ir.Reasoning, parts: list[ir.Part], reserved: dict[str, JsonObject], context: EncodeContext, losses: Ledger
) -> bool:
    """Reserve a token for the call that it names, if that has none; return whether it does.

    ``reserved``: tokens by call id, with an empty object for each call that has no token. The key "" shows that the calls were collected.
    """
    call_id = bound_to(part)
    if call_id is None:
        return False
    if not reserved:
        reserved |= {"": {"": None}, **{call.id: {} for call in parts if type(call) is ir.ToolCall and call.signature is None}}
    if reserved.get(call_id) != {}:
        return False
    drop_unheld(part, losses)
    reserved[call_id] = encode_signature(part.signature, losses, carries_tokens=context.carries_tokens)
    return True


def _sign_calls(encoded: list[JsonObject], reserved: dict[str, JsonObject]) -> None:
    """Add the reserved tokens to their calls."""
    for part in encoded:
        call = part.get("functionCall")
        if call is not None:
            part.update(reserved.pop(call["id"], {}))


def belongs_to_next(part: ir.Reasoning) -> bool:
    """Return whether reasoning is only a token of this format for the next part."""
    signature = part.signature
    return not part.text and signature is not None and signature.kind == "call" and signature.issuer == "generate_content"


def _encode_token_for_next(part: ir.Reasoning, context: EncodeContext, losses: Ledger) -> list[JsonObject]:
    """Encode the token of a reasoning part without text."""
    drop_unheld(part, losses)
    drop_field(part, "id", losses)
    token = encode_signature(part.signature, losses, carries_tokens=context.carries_tokens)
    return [token] if token else []


def _encode_call_or_result(
    part: ir.ToolCall | ir.ToolResult, pointer: str, context: EncodeContext, losses: Ledger
) -> list[JsonObject]:
    """Encode a call or a result as one part. ``pointer`` is its pointer in the target."""
    if isinstance(part, ir.ToolResult):
        return [encode_result(part, pointer, context, losses)]
    if part.has_generated_id:
        context.generated_ids.add(part.id)
        losses.added(f"{pointer}/functionCall/id", part.id)
    return [encode_call(part, context, losses)]
