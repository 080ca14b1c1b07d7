"""Turns of chat_completions: decode and encode side by side.

A message has one content (text or parts), one text of reasoning and its tool calls last; order among the three is not kept. Results are
messages of their own and hold text only.
"""

from __future__ import annotations

from collections.abc import Sequence

from formatbridge import ir
from formatbridge.formats.chat_completions.content import decode_cache_control, decode_content, encode_content, encode_part
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.chat_completions.reasoning import (
    REASONING,
    decode_message_token,
    decode_outer_token,
    decode_reasoning,
    encode_reasoning,
    goes_beside,
    split_token,
)
from formatbridge.formats.chat_completions.tool_calls import (
    decode_call,
    decode_legacy_call,
    decode_result,
    encode_call,
    encode_result,
    encode_result_media,
    flush_media,
)
from formatbridge.formats.shared.media import read_data_url
from formatbridge.formats.shared.parts import is_only_text, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import bound_to, is_native_token
from formatbridge.formats.shared.turns import note_empty
from formatbridge.formats.shared.unmodelled_fields import has_values, joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

MESSAGE = REASONING | {"role", "content", "refusal", "tool_calls", "function_call"}
_IMAGE = frozenset({"type", "image_url", "index", "extra_content"})
_ODD_IMAGE = frozenset({"image_url", "extra_content"})
BESIDE = frozenset({"extra_content", "thought_signature"})
"""The names under which a token stands beside a message."""
_HISTORY = MESSAGE | BESIDE | {"images"}
_RESULT = frozenset({"role", "content", "tool_call_id"})
_WORDS = frozenset({"role", "content"})
_SILENT = _HISTORY | {"audio"}
_PLAIN = frozenset({"role", "content", "refusal", "tool_calls"})


def decode_message(raw: JsonObject, src: str, loose: list[ir.ToolResult]) -> ir.Message:
    """Read one message. ``loose`` takes the results that name no call."""
    message = _decode_role(raw, src, loose)
    if message.extra and "cache_control" in message.extra:
        _mark_last_part(message, raw)
    return message


def _decode_role(raw: JsonObject, src: str, loose: list[ir.ToolResult]) -> ir.Message:
    role, content = raw["role"], raw.get("content")
    if role == "assistant":
        parts, leftover = decode_said(raw, src)
        parts += decode_images(raw.get("images"), src)
        extra = rest(raw, _HISTORY if has_values(raw.get("audio") or {}) else _SILENT)
        return ir.Message("assistant", parts, src, joined(extra, leftover) if leftover else extra)
    if role == "tool" and len(raw) == 3 and type(content) is str and raw.get("tool_call_id"):  # a text and whose answer it is
        result = ir.ToolResult(raw["tool_call_id"], [ir.Text(content, f"{src}/content")], src)
        return ir.Message("tool", [result], src)
    if role in ("tool", "function"):
        result = decode_result(raw, src)
        extra = rest(raw, _WORDS if result.has_generated_id else _RESULT)
        if result.has_generated_id:
            loose.append(result)
        if result.name and extra:
            del extra["name"]
        return ir.Message("tool", [result], src, extra)
    parts = decode_content(content, f"{src}/content")
    return ir.Message(role, parts if type(content) is str else set_unknown_severity(parts), src, rest(raw, _WORDS))


def _mark_last_part(message: ir.Message, raw: JsonObject) -> None:
    """Read a cache mark of a message as one of its last part, which is where it takes effect; a part's own mark stays."""
    last = message.parts[-1] if message.parts else None
    mark = raw["cache_control"]
    if not isinstance(mark, dict) or not all(isinstance(mark.get(key), str | None) for key in ("type", "ttl")):
        return  # no cache mark: it stays a field that is not modelled
    if isinstance(last, ir.Text | ir.Media | ir.ToolCall | ir.ToolResult) and last.cache is None and message.extra:
        last.cache = decode_cache_control(raw, message.src)
        del message.extra["cache_control"]
        message.extra = message.extra or None


def encode_message(message: ir.Message, losses: Ledger, made_ids: set[str], media: list[JsonObject]) -> list[JsonObject]:
    """Write one turn: its results first, each a message, then the rest.

    ``made_ids`` takes the ids of its calls and results to which the source gave none; ``media`` the media of its results, which wait
    until no more results follow.
    """
    role, parts = message.role, message.parts
    first = parts[0] if len(parts) == 1 else None
    if type(first) is ir.Text and is_only_text(first):  # one text and nothing else
        return [{"role": "user" if role == "tool" else role, "content": first.text}]
    if role in ("assistant", "system", "developer"):
        made = encode_said(parts, losses, made_ids) if role == "assistant" else _encode_instruction(message, losses)
        if made is None:
            note_empty(message, losses)
        return [made] if made else []
    results = [part for part in parts if type(part) is ir.ToolResult]
    if not results:
        return [{"role": "user" if role == "tool" else role, "content": encode_content(parts, losses)}]
    others = [part for part in parts if type(part) is not ir.ToolResult]
    made_ids.update(result.call_id for result in results if result.has_generated_id)
    messages = [encode_result(result, losses) for result in results]
    for result in results:
        media += encode_result_media(result, losses)
    if others:
        messages += flush_media(media)
        messages.append({"role": "user" if role == "tool" else role, "content": encode_content(others, losses)})
    return messages


def _encode_instruction(message: ir.Message, losses: Ledger) -> JsonObject | None:
    """Write an instruction, which is text and nothing else."""
    words = []
    for part in message.parts:
        if type(part) is ir.Media:
            losses.dropped(part, code="unsupported_media", severity="impossible")
        else:
            words.append(part)
    content = encode_content(words, losses)
    return {"role": message.role, "content": content} if content else None


# What the model said, in a request's history or in a response.


def decode_said(raw: JsonObject, src: str, answer_id: str | None = None) -> tuple[list[ir.Part], JsonObject | None]:
    """Read what a model said: reasoning, content, refusal, calls, in that order; and what is left of the reasoning's aliases.

    ``answer_id`` goes into the ids of calls that have none; None: this is a request, where their place tells them apart.
    """
    parts: list[ir.Part] = []
    leftover: JsonObject | None = None
    is_usual = _PLAIN.issuperset(raw)
    if not (is_usual or REASONING.isdisjoint(raw)):
        thoughts, leftover = decode_reasoning(raw, src)
        parts += thoughts
    content, given = raw.get("content"), raw.get("tool_calls")
    if content or type(content) is dict:
        parts += decode_content(content, f"{src}/content")
    if raw.get("refusal"):
        parts.append(ir.Refusal(text=raw["refusal"], src=f"{src}/refusal"))
    if given:
        for index, call in enumerate(given):
            parts.append(decode_call(call, f"{src}/tool_calls/{index}", answer_id))
    legacy = None if is_usual else raw.get("function_call")
    if legacy and legacy.get("name"):
        parts.append(decode_legacy_call(legacy, f"{src}/function_call", answer_id))
    elif legacy and has_values(legacy):
        leftover = joined(leftover, rest(legacy, frozenset({"name"}), "function_call/"))
    if not parts and content == "":
        parts = [ir.Text(text="", src=f"{src}/content")]
    if not (is_usual or BESIDE.isdisjoint(raw)):
        leftover = joined(leftover, decode_message_token(raw, parts, src))
    return parts, leftover


def encode_said(parts: list[ir.Part], losses: Ledger, made_ids: set[str]) -> JsonObject | None:
    """Write a turn of the model's for a request's history; None where nothing is left of it."""
    visible: list[ir.Part] = []
    calls: list[JsonObject] = []
    thoughts: list[ir.Reasoning] = []
    for part in parts:
        kind = type(part)
        if kind is ir.ToolCall:
            calls.append(encode_call(part, losses))  # type: ignore[arg-type]  # the test says so
            if part.has_generated_id:  # type: ignore[union-attr]
                made_ids.add(part.id)  # type: ignore[union-attr, arg-type]
        elif kind is ir.Reasoning:
            thoughts.append(part)  # type: ignore[arg-type]
        else:
            visible.append(part)
    if len(parts) > 1:
        note_order(parts, losses, carry=False)
    visible, thoughts, beside = split_token(visible, thoughts, losses)
    message: JsonObject = {"role": "assistant", "content": _encode_visible(visible, losses) if visible else ""}
    if thoughts:
        message |= encode_reasoning(thoughts, losses)
    message |= beside
    if calls:
        message["tool_calls"] = calls
    if message["content"] == "" and calls:
        message["content"] = None
    if len(message) > 2 or message["content"] or any(isinstance(part, ir.Text) for part in visible):
        return message
    return None


def note_order(parts: list[ir.Part], losses: Ledger, *, carry: bool) -> None:
    """Note what stands behind a tool call, or thought behind anything visible: the message has one place for each.

    ``carry``: tokens of other formats are kept.
    """
    seen_call = seen_visible = False
    for part in parts:
        kind = type(part)
        if kind is ir.ToolCall:
            seen_call = True
        elif kind is ir.Reasoning:
            if seen_call or seen_visible:
                _note_thought(part, losses, carry)  # type: ignore[arg-type]  # the test says so
        elif kind is ir.Text or kind is ir.Refusal or kind is ir.Media:
            if seen_call and kind is ir.Text and part.text:  # type: ignore[union-attr]
                losses.changed(part, "text", part.text, "position_lost")  # type: ignore[union-attr]
            seen_visible = seen_visible or kind is not ir.Text or bool(part.text or part.signature)  # type: ignore[union-attr]


def _note_thought(part: ir.Reasoning, losses: Ledger, carry: bool) -> None:
    """Note that a thought, or a token that stands for one, comes before what it followed."""
    if part.text:
        losses.changed(part, "text", part.text, "position_lost")
    elif (
        part.signature
        and not (goes_beside(part) or bound_to(part))
        and (carry or is_native_token(part.signature, "chat_completions"))
    ):
        losses.changed(part, "", None, "position_lost")


def _encode_visible(parts: Sequence[ir.Part], losses: Ledger) -> str | list[JsonObject] | None:
    made = [encoded for part in parts if (encoded := _encode_visible_part(part, losses)) is not None]
    if len(made) == 1 and made[0].keys() == {"type", "text"}:
        text: str = made[0]["text"]
        return text
    return made or ""


def _encode_visible_part(part: ir.Part, losses: Ledger) -> JsonObject | None:
    if isinstance(part, ir.Refusal):
        drop_unheld(part, losses)
        return {"type": "refusal", "refusal": part.text}
    if isinstance(part, ir.Media):
        losses.dropped(part, code="unsupported_media", severity="impossible")
        return None
    return encode_part(part, losses)


def decode_images(raw: list[JsonObject] | None, src: str, first: int = 0) -> list[ir.Part]:
    """Read the images of an answer, ``first`` being the number of those before."""
    return [_decode_image(image, f"{src}/images/{index}") for index, image in enumerate(raw or (), first)]


def _decode_image(raw: JsonObject, src: str) -> ir.Part:
    """Read an image; its index only says again where it stands. What is of no known kind is one by its address, or stays as it is."""
    image = raw.get("image_url")
    if isinstance(image, str):  # some servers leave out the object around it
        image = {"url": image}
    if not isinstance(image, dict) or not isinstance(url := image.get("url"), str):
        return ir.Opaque(format="chat_completions", raw=raw, label=str(raw.get("type")), src=src)
    mime, data = read_data_url(url) or (None, None)
    signature, extra = decode_outer_token(raw, src)
    known = _IMAGE if raw.get("type") == "image_url" else _ODD_IMAGE | ({"index"} if isinstance(raw.get("index"), int) else set())
    return ir.Media(
        kind="image",
        mime=mime,
        data=data,
        url=None if data is not None else url,
        signature=signature,
        src=src,
        extra=joined(rest(raw, known), extra, rest(image, frozenset({"url"}), "image_url/")),
    )
