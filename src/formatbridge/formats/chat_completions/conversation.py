"""Messages of Chat Completions.

A message has one content, which is a text or a list of parts, one reasoning text, and tool calls. Their order is lost. Each tool result
is a separate message, which has text only.

``note_order`` and ``decode_images`` are here alone, because a message has separate fields for its calls and its images.
"""

from __future__ import annotations

from collections.abc import Sequence

from formatbridge import ir
from formatbridge.formats.chat_completions.content import decode_content, encode_content, encode_part, media_of_url
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.chat_completions.reasoning import (
    REASONING_FIELDS,
    SIGNATURE_FIELDS,
    decode_extra_content,
    decode_message_signature,
    decode_reasoning,
    encode_message_signature,
    encode_reasoning,
    has_message_signature,
    separate_bound_token,
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
from formatbridge.formats.shared.parts import decode_cache_control, set_unknown_severity
from formatbridge.formats.shared.reasoning_tokens import bound_to, is_native_token
from formatbridge.formats.shared.turns import note_empty
from formatbridge.formats.shared.unmodelled_fields import has_values, merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

MESSAGE = REASONING_FIELDS | {"role", "content", "refusal", "tool_calls", "function_call"}
_IMAGE_KEYS = frozenset({"type", "image_url", "index", "extra_content"})
_UNTYPED_IMAGE = frozenset({"image_url", "extra_content"})
_ASSISTANT = MESSAGE | SIGNATURE_FIELDS | {"images"}
_RESULT = frozenset({"role", "content", "tool_call_id"})
_CONTENT = frozenset({"role", "content"})
_ASSISTANT_AND_AUDIO = _ASSISTANT | {"audio"}


def decode_message(raw: JsonObject, src: str, unpaired: list[ir.ToolResult]) -> ir.Message:
    """Decode a message. Results without the id of a call are added to ``unpaired``."""
    role, content = raw["role"], raw.get("content")
    if role == "assistant":
        message = _decode_assistant(raw, src)
    # The role ``function`` is deprecated (official SDK, ``ChatCompletionFunctionMessageParam``). Its results have a name and no id.
    elif role in ("tool", "function"):
        message = _decode_result(raw, src, unpaired)
    else:
        parts = decode_content(content, f"{src}/content")
        if type(content) is not str:
            set_unknown_severity(parts)
        message = ir.Message(role, parts, src, None if _CONTENT.issuperset(raw) else read_extra(raw, _CONTENT))
    if message.extra and "cache_control" in message.extra:
        _mark_last_part(message, raw)
    return message


def _decode_assistant(raw: JsonObject, src: str) -> ir.Message:
    parts, unread = decode_parts(raw, src)
    # No official type has ``images``. Relays put the model's images there, and clients send them back (fixture assistant_images).
    parts += decode_images(raw.get("images"), src)
    known = _ASSISTANT if has_values(raw.get("audio") or {}) else _ASSISTANT_AND_AUDIO  # empty audio is no loss
    extra = read_extra(raw, known)
    return ir.Message("assistant", parts, src, merge_extra(extra, unread) if unread else extra)


def _decode_result(raw: JsonObject, src: str, unpaired: list[ir.ToolResult]) -> ir.Message:
    result = decode_result(raw, src)
    extra = read_extra(raw, _CONTENT if result.has_generated_id else _RESULT)
    if result.has_generated_id:
        unpaired.append(result)
    # ``decode_result`` has read the name. In a ``tool`` message with an id, ``name`` is an unmodelled field.
    if result.name and extra:
        del extra["name"]
    return ir.Message("tool", [result], src, extra)


def _mark_last_part(message: ir.Message, raw: JsonObject) -> None:
    """Move the cache mark of a message to its last part, where it has the same effect. A part with a mark keeps that."""
    last = message.parts[-1] if message.parts else None
    mark = raw["cache_control"]
    if not isinstance(mark, dict) or not all(isinstance(mark.get(key), str | None) for key in ("type", "ttl")):
        return  # no cache mark, so it stays an unmodelled field
    # Proxies document the mark of a message as a mark at its end (fixture cache_control_messages).
    if isinstance(last, ir.Text | ir.Media | ir.ToolCall | ir.ToolResult) and last.cache is None and message.extra:
        last.cache = decode_cache_control(raw, message.src)
        del message.extra["cache_control"]
        message.extra = message.extra or None


def encode_message(message: ir.Message, losses: Ledger, generated_ids: set[str], media: list[JsonObject]) -> list[JsonObject]:
    """Encode a message as one or more: one for each of its results, and then one for its other parts.

    Ids of calls and results without an id in the source are added to ``generated_ids``. Media of results are added to ``media``,
    because they must follow the last result.
    """
    role, parts = message.role, message.parts
    if role in ("assistant", "system", "developer"):
        is_assistant = role == "assistant"
        encoded = _encode_assistant_parts(parts, losses, generated_ids) if is_assistant else _encode_instruction(message, losses)
        if encoded is None:
            note_empty(message, losses)
        return [encoded] if encoded else []
    results = [part for part in parts if type(part) is ir.ToolResult]
    if not results:
        return [{"role": "user" if role == "tool" else role, "content": encode_content(parts, losses)}]
    others = [part for part in parts if type(part) is not ir.ToolResult]
    generated_ids.update(result.call_id for result in results if result.has_generated_id)
    messages = [encode_result(result, losses) for result in results]
    # A ``tool`` message has text only, so media follow all results of the turn in a user message (requests fixture tool_result_image).
    for result in results:
        media += encode_result_media(result, losses)
    if others:
        messages += flush_media(media)
        messages.append({"role": "user" if role == "tool" else role, "content": encode_content(others, losses)})
    return messages


def _encode_instruction(message: ir.Message, losses: Ledger) -> JsonObject | None:
    """Encode a system or developer message, which has text only. Return None if no text remains."""
    texts = []
    for part in message.parts:
        # Instructions have text only (official SDK, ``ChatCompletionSystemMessageParam.content``).
        if type(part) is ir.Media:
            losses.dropped(part, code="unsupported_media")
        else:
            texts.append(part)
    content = encode_content(texts, losses)
    return {"role": message.role, "content": content} if content or any(type(part) is ir.Text for part in texts) else None


def decode_parts(raw: JsonObject, src: str, answer_id: str | None = None) -> tuple[list[ir.Part], JsonObject | None]:
    """Decode an assistant message: reasoning, content, refusal and tool calls, in this order. Also return unread reasoning fields.

    ``answer_id``: the id of the response, for generated ids of calls; None in a request.
    """
    parts: list[ir.Part] = []
    unread: JsonObject | None = None
    if not REASONING_FIELDS.isdisjoint(raw):
        reasoning, unread = decode_reasoning(raw, src)
        parts += reasoning
    content, calls = raw.get("content"), raw.get("tool_calls")
    # Cloudflare's servers return the JSON of a schema as an object instead of a text (fixture content_object).
    if content or type(content) is dict:
        parts += decode_content(content, f"{src}/content")
    if raw.get("refusal"):
        parts.append(ir.Refusal(text=raw["refusal"], src=f"{src}/refusal"))
    if calls:
        for index, call in enumerate(calls):
            parts.append(decode_call(call, f"{src}/tool_calls/{index}", answer_id))
    # Deprecated since ``tool_calls``, but clients still send it (fixtures legacy_functions, tools_legacy).
    legacy = raw.get("function_call")
    if legacy and legacy.get("name"):
        parts.append(decode_legacy_call(legacy, f"{src}/function_call", answer_id))
    # Some servers send ``function_call`` with empty values where there is no call (fixture members_unset).
    elif legacy and has_values(legacy):
        unread = merge_extra(unread, read_extra(legacy, frozenset({"name"}), "function_call/"))
    # The empty text is a part, because encoders leave out a message without any part (fixture ``turns_empty_only``).
    if not parts and content == "":
        parts = [ir.Text(text="", src=f"{src}/content")]
    if not SIGNATURE_FIELDS.isdisjoint(raw):
        unread = merge_extra(unread, decode_message_signature(raw, parts, src))
    return parts, unread


def _encode_assistant_parts(parts: list[ir.Part], losses: Ledger, generated_ids: set[str]) -> JsonObject | None:
    """Encode an assistant message of a request. Return None if nothing remains."""
    visible: list[ir.Part] = []
    calls: list[JsonObject] = []
    reasoning: list[ir.Reasoning] = []
    for part in parts:
        if isinstance(part, ir.ToolCall):
            call, token = separate_bound_token(part)
            calls.append(encode_call(call, losses))
            reasoning += token
            if part.has_generated_id:
                generated_ids.add(part.id)
        elif isinstance(part, ir.Reasoning):
            reasoning.append(part)
        else:
            visible.append(part)
    if len(parts) > 1:
        note_order(parts, losses, carries_tokens=False)
    visible, reasoning, signature = encode_message_signature(visible, reasoning, losses)
    message: JsonObject = {"role": "assistant", "content": _encode_assistant_content(visible, losses) if visible else ""}
    if reasoning:
        message |= encode_reasoning(reasoning, losses)
    message |= signature
    if calls:
        message["tool_calls"] = calls
    # ``content`` is "required unless `tool_calls` or `function_call` is specified" (official SDK, assistant message).
    if message["content"] == "" and calls:
        message["content"] = None
    if len(message) > 2 or message["content"] or any(isinstance(part, ir.Text) for part in visible):
        return message
    return None


def note_order(parts: list[ir.Part], losses: Ledger, *, carries_tokens: bool) -> None:
    """Note text after a tool call, and reasoning after a call or visible content.

    A message of this format does not keep the order of its parts. ``carries_tokens``: tokens of other formats are carried.
    """
    seen_call = seen_visible = False
    for part in parts:
        if isinstance(part, ir.ToolCall):
            seen_call = True
        elif isinstance(part, ir.Reasoning):
            if seen_call or seen_visible:
                _note_moved_reasoning(part, losses, carries_tokens)
        elif isinstance(part, ir.Text):
            if seen_call and part.text:
                losses.weakened(part, "text", part.text, "position_lost")
            seen_visible = seen_visible or bool(part.text or part.signature)
        elif isinstance(part, ir.Refusal | ir.Media):
            seen_visible = True


def _note_moved_reasoning(part: ir.Reasoning, losses: Ledger, carries_tokens: bool) -> None:
    """Note that reasoning, or a token without text, precedes the parts that it followed."""
    if part.text:
        losses.weakened(part, "text", part.text, "position_lost")
    elif (
        part.signature
        and not (has_message_signature(part) or bound_to(part))
        and (carries_tokens or is_native_token(part.signature, "chat_completions"))
    ):
        losses.changed(part, "", None, "position_lost")


def _encode_assistant_content(parts: Sequence[ir.Part], losses: Ledger) -> str | list[JsonObject] | None:
    content = [encoded for part in parts if (encoded := _encode_assistant_part(part, losses)) is not None]
    if len(content) == 1 and content[0].keys() == {"type", "text"}:
        text: str = content[0]["text"]
        return text
    return content or ""


def _encode_assistant_part(part: ir.Part, losses: Ledger) -> JsonObject | None:
    if isinstance(part, ir.Refusal):
        drop_unheld(part, losses)
        return {"type": "refusal", "refusal": part.text}
    # Assistant messages have texts and refusals only (official SDK, ``ContentArrayOfContentPart``).
    if isinstance(part, ir.Media):
        losses.dropped(part, code="unsupported_media")
        return None
    return encode_part(part, losses)


def decode_images(raw: list[JsonObject] | None, src: str, first: int = 0) -> list[ir.Part]:
    """Decode the images of an assistant message. ``first``: the number of the images in earlier deltas."""
    return [_decode_image(image, f"{src}/images/{index}") for index, image in enumerate(raw or (), first)]


def _decode_image(raw: JsonObject, src: str) -> ir.Part:
    """Decode an image. Its index only repeats its position. Without a URL it becomes an opaque part, whatever its type is."""
    image = raw.get("image_url")
    if isinstance(image, str):  # without the object around it (fixture images_bare_url)
        image = {"url": image}
    if not isinstance(image, dict) or not isinstance(url := image.get("url"), str):
        return ir.Opaque(format="chat_completions", raw=raw, label=str(raw.get("type")), src=src)
    media = media_of_url("image", url, src)
    media.signature, extra = decode_extra_content(raw, src)
    # Some servers number images. In an image without a type only an integer can be such a number (fixture images_odd).
    known = (
        _IMAGE_KEYS
        if raw.get("type") == "image_url"
        else _UNTYPED_IMAGE | ({"index"} if isinstance(raw.get("index"), int) else set())
    )
    media.extra = merge_extra(read_extra(raw, known), extra, read_extra(image, frozenset({"url"}), "image_url/"))
    return media
