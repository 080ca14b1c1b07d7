"""Answers of chat_completions."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.chat_completions.citations import Joints, decode_citations, encode_citations, is_dropped
from formatbridge.formats.chat_completions.conversation import BESIDE, MESSAGE, decode_images, decode_said, note_order
from formatbridge.formats.chat_completions.errors import decode_error, told_failure
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.chat_completions.reasoning import encode_answer_reasoning, encode_call_token, is_image, is_sound
from formatbridge.formats.chat_completions.tool_calls import encode_answer_call
from formatbridge.formats.chat_completions.usage import decode_usage, encode_usage
from formatbridge.formats.format import Context
from formatbridge.formats.shared.choices import numbered
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.logprobs import decode_tokens, encode_tokens
from formatbridge.formats.shared.media import AudioJoiner, is_samples, write_data_url
from formatbridge.formats.shared.parts import encode_opaque, is_only_text, note_finish, refusal_of
from formatbridge.formats.shared.unique_names import derive_call_id, encode_id
from formatbridge.formats.shared.unmodelled_fields import has_values, joined, rest
from formatbridge.ir import events
from formatbridge.jsontext.pointers import PRECOMPUTED, precomputed_pointers
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity

_index = attrgetter("index")
_RESPONSE = frozenset({"id", "object", "created", "model", "choices", "usage"})
_PLACES = precomputed_pointers("/choices", "message")
_CHOICE = frozenset({"index", "message", "finish_reason", "logprobs"})
LOGPROBS = frozenset({"content", "refusal"})
"""The members of a choice's log probabilities."""


def decode_response(body: JsonObject) -> ir.Response:
    """Read a whole answer."""
    usage, given, told = body.get("usage"), body.get("id") or None, body["choices"]
    numbers = numbered([at if raw.get("index") is None else raw["index"] for at, raw in enumerate(told)])
    choices = [_decode_choice(raw, at, numbers[at], given or "") for at, raw in enumerate(told)]
    counts = decode_usage(usage, "/usage") if usage else None
    extra = None if _RESPONSE.issuperset(body) else rest(body, _RESPONSE)
    made = ir.Response("chat_completions", given, body.get("model"), choices, body.get("created"), counts, extra)
    if "error" in body or (len(told) == 1 and ("error" in told[0] or told[0].get("finish_reason") == "error")):
        made.error = failure_of(body)
        if made.extra and isinstance(body.get("error"), dict | str):
            made.extra.pop("error", None)
        if made.error and made.error.src and choices[0].extra:
            choices[0].extra.pop("error", None)
    return made


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return what went wrong on the way."""
    failure, at = told_failure(body)
    if not failure:
        return None
    error = decode_error({"error": failure}, status=None)
    error.src = at
    return error


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Write a whole answer."""
    del context  # nothing in an answer of this format repeats the request
    drop_unheld_in_answer(response, losses)
    body = encode_head(response, losses, options)
    choices = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    body["choices"] = [_encode_choice(choice, index, body["id"], losses, options) for index, choice in enumerate(choices)]
    if response.usage:
        body["usage"] = encode_usage(response.usage, losses)
    return body


def encode_head(response: ir.Response | events.Start, losses: Ledger, options: Options) -> JsonObject:
    """Write what stands at the top of an answer and of every chunk of a stream."""
    return {
        "id": encode_id(response.id, "chatcmpl-") or losses.added("/id", "chatcmpl-0"),
        "object": "chat.completion",
        "created": _encode_created(response, losses, options),
        "model": response.model if response.model is not None else losses.added("/model", ""),
    }


def _encode_created(response: ir.Response | events.Start, losses: Ledger, options: Options) -> int:
    """Write the time of an answer in whole seconds; nothing reads a clock."""
    if response.created is None:
        created: int = losses.added("/created", options.created or 0)
        return created
    whole = int(response.created)
    if whole != response.created:
        losses.changed(response, "created", whole, severity="info")
    return whole


def _decode_choice(raw: JsonObject, position: int, number: int, answer_id: str) -> ir.Choice:
    src, place = _PLACES[position] if position < PRECOMPUTED else (f"/choices/{position}", f"/choices/{position}/message")
    parts, unread = decode_answer(raw.get("message") or {}, place, answer_id, position)
    choice = ir.Choice(parts, decode_finish(raw, parts, src), number, src)
    if unread:
        choice.extra = {f"message/{pointer}": value for pointer, value in unread.items()}
    if raw.get("logprobs"):
        _decode_logprobs(raw["logprobs"], choice)
    if not _CHOICE.issuperset(raw):
        is_read = choice.finish is not None and choice.finish.stop_sequence is not None
        choice.extra = joined(choice.extra, rest(raw, _CHOICE | {"stop_reason"} if is_read else _CHOICE))
    return choice


def _encode_choice(choice: ir.Choice, index: int, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    drop_unheld_in_answer(choice, losses)
    refusal = refusal_of(choice.finish, choice.parts, losses)
    message = encode_answer(choice.parts, f"/choices/{index}/message", answer_id, losses, options)
    if refusal is not None:
        message["refusal"] = refusal
    has_calls, has_refusal = "tool_calls" in message, message["refusal"] is not None and refusal is None
    finish = encode_finish(choice.finish, has_calls, has_refusal, f"/choices/{index}", losses)
    logprobs = encode_logprobs(choice.logprobs, choice.refusal_logprobs, losses)
    return {"index": index, "message": message, "finish_reason": finish, "logprobs": logprobs}


def _decode_logprobs(raw: JsonObject, choice: ir.Choice) -> None:
    """Read the log probabilities of a choice."""
    at = f"{choice.src}/logprobs"
    choice.logprobs = decode_tokens(raw.get("content") or (), f"{at}/content") or None
    choice.refusal_logprobs = decode_tokens(raw.get("refusal") or (), f"{at}/refusal") or None
    choice.extra = joined(choice.extra, rest(raw, LOGPROBS, "logprobs/"))


def encode_logprobs(
    content: list[ir.TokenLogprob] | None, refusal: list[ir.TokenLogprob] | None, losses: Ledger
) -> JsonObject | None:
    """Write the log probabilities of a text and of a refusal; None where there are neither."""
    if content is None and refusal is None:
        return None
    return {
        "content": None if content is None else encode_tokens(content, losses),
        "refusal": None if refusal is None else encode_tokens(refusal, losses),
    }


_KNOWN = MESSAGE | BESIDE | {"annotations", "audio", "images"}
_SAID = MESSAGE
_AUDIO = frozenset({"id", "data", "transcript"})
_NONE_BEFORE: Mapping[str, int] = {}


def decode_answer(
    raw: JsonObject, src: str, answer_id: str, position: int, before: Mapping[str, int] = _NONE_BEFORE
) -> tuple[list[ir.Part], JsonObject | None]:
    """Read the message of a choice; the second value is what no part can hold, by pointer relative to the message.

    Calls without an id get one from the answer's id, so that two answers in one history do not collide; where that is missing too, from
    what they say. ``before``: how many items of a list came before those of this message, which is a piece then.
    """
    parts, leftover = decode_said(raw, src, answer_id)
    if not answer_id and (raw.get("tool_calls") or raw.get("function_call")):
        _give_ids(parts, position)
    if _SAID.issuperset(raw):  # nothing that only an answer has
        return parts, leftover
    uncited = decode_citations(raw.get("annotations") or [], parts, src, before.get("annotations", 0))
    parts += decode_images(raw.get("images"), src, before.get("images", 0))
    audio = raw.get("audio")
    if audio and has_values(audio):
        parts.append(_decode_audio(audio, f"{src}/audio"))
    return parts, joined(rest(raw, _KNOWN), leftover, uncited)


def _give_ids(parts: list[ir.Part], position: int) -> None:
    calls = [part for part in parts if isinstance(part, ir.ToolCall)]
    for number, call in enumerate(calls):
        if call.has_generated_id:
            call.id = derive_call_id(position, number, call.name, call.arguments)


def encode_answer(parts: list[ir.Part], at: str, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    """Write the message of a choice. ``at`` is its pointer in the target, for what is added to it."""
    if len(parts) > 1:
        note_order(parts, losses, carry=options.carry_reasoning)
        if options.carry_reasoning:
            _note_tokens(parts, losses)
        _note_media(parts, losses)
    return _encode_parts(parts, at, answer_id, losses, options)


def _note_tokens(parts: list[ir.Part], losses: Ledger) -> None:
    """Note tokens that come home to another part: the details have them before the one text, or the first call where there is none."""
    held: ir.Text | None = None
    seen_call = seen_visible = False
    for part in parts:
        has_text = isinstance(part, ir.Text) and bool(part.text)
        if held is not None and (has_text or (isinstance(part, ir.ToolCall) and not held.text)):
            losses.changed(held.signature, "", None, "position_lost")
            held = None
        if isinstance(part, ir.Text | ir.Media) and part.signature and not is_image(part):
            if seen_visible or (seen_call and not has_text):
                losses.changed(part.signature, "", None, "position_lost")
            elif isinstance(part, ir.Text):
                held = part
        seen_call = seen_call or isinstance(part, ir.ToolCall)
        seen_visible = seen_visible or isinstance(part, ir.Text | ir.Refusal | ir.Media)


def _encode_parts(parts: list[ir.Part], at: str, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    """Write parts of any kind."""
    message: JsonObject = {"role": "assistant", "content": None, "refusal": None}
    texts: list[str] = []
    joints = Joints()
    calls: list[JsonObject] = []
    sounds: list[ir.Media] = []
    for part in parts:
        kind = type(part)
        if kind is ir.Text and is_only_text(part):  # type: ignore[arg-type]  # the test before it says so
            texts += (joints.take(part.text), part.text)  # type: ignore[union-attr, arg-type]
        elif kind is ir.ToolCall:
            if part.has_generated_id:  # type: ignore[union-attr]
                losses.added(f"{at}/tool_calls/{len(calls)}/id", part.id)  # type: ignore[union-attr]
            calls.append(encode_answer_call(part, losses, options))  # type: ignore[arg-type]
        elif kind is ir.Media:
            _encode_media(part, message, sounds, losses, options)  # type: ignore[arg-type]
        else:
            text = _encode_other(part, losses)
            if text is not None:
                texts += (joints.take(text), text)
            elif is_dropped(part):
                joints.part()
    if texts:
        message["content"] = "".join(texts)
    if sounds:
        message["audio"] = _encode_sounds(sounds, at, answer_id, losses)
    return _with_rest(message, parts, calls, joints, losses, options)


def _with_rest(
    message: JsonObject, parts: list[ir.Part], calls: list[JsonObject], joints: Joints, losses: Ledger, options: Options
) -> JsonObject:
    """Add what has a place of its own in the message: refusal, reasoning, calls, citations."""
    refusals: list[str] = []
    thinks = is_cited = False
    for part in parts:
        if isinstance(part, ir.ToolCall):
            continue
        if isinstance(part, ir.Text):
            is_cited = is_cited or bool(part.citations)
            thinks = thinks or part.signature is not None
        elif isinstance(part, ir.Refusal):
            refusals.append(part.text)
        else:
            thinks = thinks or isinstance(part, ir.Reasoning) or (part.signature is not None and not is_image(part))
    if refusals:
        message["refusal"] = "".join(refusals)
    if thinks:
        message |= encode_answer_reasoning(parts, losses, options)
    if calls:
        message["tool_calls"] = calls
    annotations = encode_citations(parts, joints, losses) if is_cited else None
    if annotations:
        message["annotations"] = annotations
    return message


def _encode_other(part: ir.Part, losses: Ledger) -> str | None:
    """Return what a part puts into the text of the message."""
    if isinstance(part, ir.Text):
        drop_unheld_in_answer(part, losses)
        return part.text
    if isinstance(part, ir.Opaque | ir.Hosted):
        text = encode_opaque(part, losses)
        return text.text if text else None
    if isinstance(part, ir.ToolResult):
        losses.dropped(part, code="orphan")
    if isinstance(part, ir.Refusal):
        drop_unheld_in_answer(part, losses)
    return None


# Images and sound.


def _decode_audio(raw: JsonObject, src: str) -> ir.Media:
    return ir.Media(
        kind="audio",
        data=raw.get("data"),
        transcript=raw.get("transcript"),
        id=raw.get("id") or None,
        src=src,
        extra=rest(raw, _AUDIO),
    )


def _note_media(parts: list[ir.Part], losses: Ledger) -> None:
    """Note media that stand before text or calls: the message has them behind both."""
    media: list[ir.Part] = []
    for part in parts:
        if type(part) is ir.Media:
            media.append(part)
        elif media and (isinstance(part, ir.ToolCall) or (isinstance(part, ir.Text | ir.Refusal) and part.text)):
            for each in media:
                losses.changed(each, "", None, "position_lost")
            media.clear()


def _encode_media(part: ir.Media, message: JsonObject, sounds: list[ir.Media], losses: Ledger, options: Options) -> None:
    """Put an image where the message has room for it, and a sound beside the others."""
    drop_unheld_in_answer(part, losses)
    if not (is_image(part) or is_sound(part)):
        losses.dropped(part, code="unsupported_media", severity="impossible")
        return
    if part.detail not in (None, "auto"):
        losses.dropped(part, "detail", severity="info")
    if is_image(part):
        drop_field(part, "id", losses)
        url = part.url if part.url is not None else write_data_url(part.mime or "image/png", part.data or "")
        image: JsonObject = {"type": "image_url", "image_url": {"url": url}}
        message.setdefault("images", []).append(image | encode_call_token(part.signature, losses, options))
    else:
        sounds.append(part)


def _encode_sounds(sounds: list[ir.Media], at: str, answer_id: str, losses: Ledger) -> JsonObject:
    """Write the one sound that a message has room for; samples that go on are of it."""
    sound, words = AudioJoiner(), ""
    pieces: list[str] = []
    for part in sounds:
        piece = sound.take(part.mime, part.data or "")
        if piece is None:
            losses.dropped(part, code="unsupported_media", severity="impossible")
            continue
        severity: Severity = "lossy" if part.mime and is_samples(part.mime) else "info"
        if part.mime is not None and len(sounds) > 1:  # it says which of them go on
            losses.changed(part, "mime", None, "weaker_carrier", severity=severity)
        elif part.mime is not None:
            losses.dropped(part, "mime", severity=severity)
        if pieces:
            drop_field(part, "id", losses)
        pieces.append(piece)
        words += part.transcript or ""
    return {
        "id": sounds[0].id or losses.added(f"{at}/audio/id", f"audio_{answer_id}"),
        "data": "".join([*pieces, sound.rest()]),
        "expires_at": losses.added(f"{at}/audio/expires_at", 0),
        "transcript": words or losses.added(f"{at}/audio/transcript", ""),
    }


FINISH: Mapping[str, ir.FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}
"""The wire's words to ours, one of them of relays; any other is ``other``, none at all is inferred from the content."""

_PLAIN = frozenset({"length", "tool_calls", "function_call", "content_filter"})

WORDS: Mapping[ir.FinishReason, tuple[str, bool]] = {
    "stop": ("stop", True),
    "stop_sequence": ("stop", False),
    "length": ("length", True),
    "context_length": ("length", False),
    "tool_calls": ("tool_calls", True),
    "content_filter": ("content_filter", True),
    "refusal": ("content_filter", True),
    "pause": ("stop", False),
    "compaction": ("length", False),
    "error": ("stop", False),
    "cancelled": ("stop", False),
    "other": ("stop", False),
}
"""Our words to the wire's, and whether nothing is lost by that."""


def decode_finish(raw: JsonObject, parts: list[ir.Part], src: str) -> ir.Finish:
    """Read why a choice ended. What it holds beats what it says: with calls it ended for calls, with a refusal it refused."""
    word: str = raw.get("finish_reason") or ""
    if word in _PLAIN:  # which nothing else can contradict
        return ir.Finish(FINISH[word], word, False, src)
    reason = FINISH.get(word, "other") if word else "stop"
    stop, kinds = raw.get("stop_reason"), set(map(type, parts))
    if reason in ("stop", "other") and ir.ToolCall in kinds:
        reason = "tool_calls"
    elif reason == "stop" and ir.Refusal in kinds:
        reason = "refusal"
    elif reason == "stop" and isinstance(stop, str):
        reason = "stop_sequence"
    return ir.Finish(
        reason=reason,
        raw=word or None,
        is_specific=bool(word) and (word not in FINISH or FINISH[word] != reason) and reason not in ("refusal", "stop_sequence"),
        stop_sequence=stop if isinstance(stop, str) and reason == "stop_sequence" else None,
        src=src,
    )


def encode_finish(finish: ir.Finish | None, has_calls: bool, has_refusal: bool, at: str, losses: Ledger) -> str:
    """Write why a choice ended; ``at`` is its pointer in the target. ``tool_calls`` and calls come together or not at all."""
    if finish is None:
        made = "tool_calls" if has_calls else "stop"
        return str(losses.added(f"{at}/finish_reason", made))
    word, is_exact = WORDS[finish.reason]
    if finish.reason == "refusal" and has_refusal:
        word = "stop"
    if has_calls and word == "stop":  # whatever that stands for: clients run calls for the other word alone
        word = "tool_calls"
    elif finish.reason == "tool_calls" and not has_calls:  # they were of a kind that cannot be said here
        word, is_exact = "stop", False
    note_finish(finish, word, is_exact, losses)
    drop_unheld_in_answer(finish, losses)
    return word if finish.raw is not None else str(losses.added(f"{at}/finish_reason", word))


def unfinished(body: JsonObject) -> JsonObject:
    """Return an answer as one that has not ended: it may still, or it was cut."""
    for choice in body["choices"]:
        choice["finish_reason"] = None
    return body
