"""Responses of Chat Completions.

``encode_head`` is here because each chunk of a stream repeats these fields, and log probabilities because a choice has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.chat_completions.citations import TextSeparators, decode_citations, encode_citations, separates_texts
from formatbridge.formats.chat_completions.content import AudioJoiner, is_audio, is_image, is_samples
from formatbridge.formats.chat_completions.conversation import MESSAGE, decode_images, decode_parts, note_order
from formatbridge.formats.chat_completions.errors import decode_error, find_error
from formatbridge.formats.chat_completions.holds import drop_unheld_in_answer
from formatbridge.formats.chat_completions.reasoning import SIGNATURE_FIELDS, encode_answer_reasoning, encode_answer_signature
from formatbridge.formats.chat_completions.tool_calls import encode_answer_call
from formatbridge.formats.chat_completions.usage import decode_usage, encode_usage
from formatbridge.formats.format import Context
from formatbridge.formats.shared.choices import assign_numbers
from formatbridge.formats.shared.finish_reasons import explanation_of, note_finish
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.logprobs import decode_tokens, encode_tokens
from formatbridge.formats.shared.media import write_data_url
from formatbridge.formats.shared.names import derive_call_id, encode_id
from formatbridge.formats.shared.parts import encode_opaque
from formatbridge.formats.shared.unmodelled_fields import has_values, merge_extra, read_extra
from formatbridge.ir import events
from formatbridge.jsontext.pointers import PRECOMPUTED, precomputed_pointers
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity

_index = attrgetter("index")
_RESPONSE = frozenset({"id", "object", "created", "model", "choices", "usage"})
_POINTERS = precomputed_pointers("/choices", "message")
_CHOICE = frozenset({"index", "message", "finish_reason", "logprobs"})
LOGPROBS = frozenset({"content", "refusal"})
"""Keys of a choice's log probabilities that the decoder reads."""


def decode_response(body: JsonObject) -> ir.Response:
    """Decode a whole response."""
    answer_id, raws = body.get("id") or None, body["choices"]
    # A choice without an index has that of its position; ``assign_numbers`` makes the indexes unique.
    numbers = assign_numbers([position if raw.get("index") is None else raw["index"] for position, raw in enumerate(raws)])
    choices = [_decode_choice(raw, position, numbers[position], answer_id or "") for position, raw in enumerate(raws)]
    usage = decode_usage(body["usage"], "/usage") if body.get("usage") else None
    extra = None if _RESPONSE.issuperset(body) else read_extra(body, _RESPONSE)
    response = ir.Response("chat_completions", answer_id, body.get("model"), choices, body.get("created"), usage, extra)
    # A response with status 200 may report a failure; ``find_error`` has the places and their sources.
    if "error" in body or (len(raws) == 1 and ("error" in raws[0] or raws[0].get("finish_reason") == "error")):
        response.error = failure_of(body)
        if response.extra and isinstance(body.get("error"), dict | str):
            response.extra.pop("error", None)
        if response.error and response.error.src and choices[0].extra:
            choices[0].extra.pop("error", None)
    return response


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return the error that a response reports, if there is one."""
    failure, src = find_error(body)
    if not failure:
        return None
    error = decode_error({"error": failure}, status=None)
    error.src = src
    return error


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Encode a whole response."""
    drop_unheld_in_answer(response, losses)
    body = encode_head(response, losses, options, context)
    choices = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    # "The index of the choice in the list of choices" (official SDK, ``Choice.index``), so the indexes have no gaps.
    body["choices"] = [_encode_choice(choice, index, body["id"], losses, options) for index, choice in enumerate(choices)]
    if response.usage:
        body["usage"] = encode_usage(response.usage, losses)
    return body


def encode_head(response: ir.Response | events.Start, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Encode the fields that a response and every chunk of a stream begin with."""
    return {
        # ``id``, ``created`` and ``model`` are required (official SDK, ``ChatCompletion``). The prefix: recorded traffic of OpenAI.
        "id": encode_id(response.id, "chatcmpl-", context) or losses.added("/id", "chatcmpl-0"),
        "object": "chat.completion",
        "created": _encode_created(response, losses, options),
        "model": response.model if response.model is not None else losses.added("/model", ""),
    }


def _encode_created(response: ir.Response | events.Start, losses: Ledger, options: Options) -> int:
    """Encode the time of a response in whole seconds. If it is unknown, it comes from the options: the library reads no clock."""
    if response.created is None:
        return int(losses.added("/created", options.created or 0))
    return int(losses.changed(response, "created", int(response.created), severity="info"))


def _decode_choice(raw: JsonObject, position: int, number: int, answer_id: str) -> ir.Choice:
    src, message_src = _POINTERS[position] if position < PRECOMPUTED else (f"/choices/{position}", f"/choices/{position}/message")
    parts, unread = decode_answer(raw.get("message") or {}, message_src, answer_id, position)
    choice = ir.Choice(parts, decode_finish(raw, parts, src), number, src)
    if unread:
        choice.extra = {f"message/{pointer}": value for pointer, value in unread.items()}
    if raw.get("logprobs"):
        _decode_logprobs(raw["logprobs"], choice)
    if not _CHOICE.issuperset(raw):
        is_read = choice.finish is not None and choice.finish.stop_sequence is not None
        choice.extra = merge_extra(choice.extra, read_extra(raw, _CHOICE | {"stop_reason"} if is_read else _CHOICE))
    return choice


def _encode_choice(choice: ir.Choice, index: int, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    drop_unheld_in_answer(choice, losses)
    refusal = explanation_of(choice.finish, choice.parts, losses)
    message = encode_answer(choice.parts, f"/choices/{index}/message", answer_id, losses, options)
    if refusal is not None:
        message["refusal"] = refusal
    # The explanation of a blocked answer is no refusal of the model, so it does not change the finish reason.
    has_calls, has_refusal = "tool_calls" in message, message["refusal"] is not None and refusal is None
    finish = encode_finish(choice.finish, has_calls, has_refusal, f"/choices/{index}", losses)
    logprobs = encode_logprobs(choice.logprobs, choice.refusal_logprobs, losses)
    return {"index": index, "message": message, "finish_reason": finish, "logprobs": logprobs}


_KNOWN = MESSAGE | SIGNATURE_FIELDS | {"annotations", "audio", "images"}
_AUDIO = frozenset({"id", "data", "transcript"})


def decode_answer(raw: JsonObject, src: str, answer_id: str, position: int) -> tuple[list[ir.Part], JsonObject | None]:
    """Decode the message of a choice. Also return its unmodelled fields, by pointer relative to the message.

    Ids of calls without one are generated from the id of the response. So ids of two responses in one conversation differ. If that is
    missing too, they are generated from name and arguments.
    """
    parts, unread = decode_parts(raw, src, answer_id)
    if not answer_id and (raw.get("tool_calls") or raw.get("function_call")):
        for number, call in enumerate(part for part in parts if isinstance(part, ir.ToolCall)):
            if call.has_generated_id:
                call.id = derive_call_id(position, number, call.name, call.arguments)
    if MESSAGE.issuperset(raw):  # no field that only responses have
        return parts, unread
    # An annotation has offsets in ``content`` (official SDK, ``AnnotationURLCitation``), so without a text it has no part.
    text = next((part for part in parts if isinstance(part, ir.Text)), None)
    uncited = decode_citations(raw.get("annotations") or [], text, src)
    parts += decode_images(raw.get("images"), src)
    audio = raw.get("audio")
    if audio and has_values(audio):
        parts.append(_decode_audio(audio, f"{src}/audio"))
    return parts, merge_extra(read_extra(raw, _KNOWN), unread, uncited)


def encode_answer(parts: list[ir.Part], pointer: str, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    """Encode the message of a choice. ``pointer``: its pointer in the encoded response, for additions."""
    if len(parts) > 1:
        note_order(parts, losses, carries_tokens=options.carry_reasoning)
        if options.carry_reasoning:
            _note_moved_tokens(parts, losses)
        _note_moved_media(parts, losses)
    return _encode_parts(parts, pointer, answer_id, losses, options)


def _note_moved_tokens(parts: list[ir.Part], losses: Ledger) -> None:
    """Note tokens that a later request restores to another part.

    Details with tokens precede the only text of the message, or its first call if there is no text.
    """
    signed: ir.Text | None = None
    seen_call = seen_visible = False
    for part in parts:
        has_text = isinstance(part, ir.Text) and bool(part.text)
        if signed is not None and (has_text or (isinstance(part, ir.ToolCall) and not signed.text)):
            losses.changed(signed.signature, "", None, "position_lost")
            signed = None
        if isinstance(part, ir.Text | ir.Media) and part.signature and not is_image(part):
            if seen_visible or (seen_call and not has_text):
                losses.changed(part.signature, "", None, "position_lost")
            elif isinstance(part, ir.Text):
                signed = part
        seen_call = seen_call or isinstance(part, ir.ToolCall)
        seen_visible = seen_visible or isinstance(part, ir.Text | ir.Refusal | ir.Media)


def _encode_parts(parts: list[ir.Part], pointer: str, answer_id: str, losses: Ledger, options: Options) -> JsonObject:
    """Encode the parts of a message."""
    message: JsonObject = {"role": "assistant", "content": None, "refusal": None}
    texts: list[str] = []
    separators = TextSeparators()
    calls: list[JsonObject] = []
    audio_parts: list[ir.Media] = []
    for part in parts:
        if isinstance(part, ir.ToolCall):
            if part.has_generated_id:
                losses.added(f"{pointer}/tool_calls/{len(calls)}/id", part.id)
            calls.append(encode_answer_call(part, losses, options))
        elif isinstance(part, ir.Media):
            _encode_media(part, message, audio_parts, losses, options)
        else:
            text = _encode_as_text(part, losses)
            if text is not None:
                texts += (separators.take(text), text)
            elif separates_texts(part):
                separators.separate()
    if texts:
        message["content"] = "".join(texts)
    if audio_parts:
        message["audio"] = _encode_audio(audio_parts, pointer, answer_id, losses)
    return _add_other_fields(message, parts, calls, separators, losses, options)


def _add_other_fields(
    message: JsonObject, parts: list[ir.Part], calls: list[JsonObject], separators: TextSeparators, losses: Ledger, options: Options
) -> JsonObject:
    """Add the fields of a message other than its content and media: refusal, reasoning, tool calls, citations."""
    refusals: list[str] = []
    has_reasoning = is_cited = False
    for part in parts:
        if isinstance(part, ir.ToolCall):
            continue
        if isinstance(part, ir.Text):
            is_cited = is_cited or bool(part.citations)
            has_reasoning = has_reasoning or part.signature is not None
        elif isinstance(part, ir.Refusal):
            refusals.append(part.text)
        else:
            is_signed = not isinstance(part, ir.Reasoning) and part.signature is not None and not is_image(part)
            has_reasoning = has_reasoning or isinstance(part, ir.Reasoning) or is_signed
    if refusals:
        message["refusal"] = "".join(refusals)
    if has_reasoning:
        message |= encode_answer_reasoning(parts, losses, options)
    if calls:
        message["tool_calls"] = calls
    annotations = encode_citations(parts, separators, losses) if is_cited else None
    if annotations:
        message["annotations"] = annotations
    return message


def _encode_as_text(part: ir.Part, losses: Ledger) -> str | None:
    """Return the text of a part that the content of the message gets, if any."""
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


def _decode_audio(raw: JsonObject, src: str) -> ir.Media:
    return ir.Media(
        kind="audio",
        data=raw.get("data"),
        transcript=raw.get("transcript"),
        id=raw.get("id") or None,
        src=src,
        extra=read_extra(raw, _AUDIO),
    )


def _note_moved_media(parts: list[ir.Part], losses: Ledger) -> None:
    """Note media before texts or calls, because a message of this format has its media after both."""
    media: list[ir.Part] = []
    for part in parts:
        if type(part) is ir.Media:
            media.append(part)
        elif media and (isinstance(part, ir.ToolCall) or (isinstance(part, ir.Text | ir.Refusal) and part.text)):
            for each in media:
                losses.changed(each, "", None, "position_lost")
            media.clear()


def _encode_media(part: ir.Media, message: JsonObject, audio_parts: list[ir.Media], losses: Ledger, options: Options) -> None:
    """Add an image to the message, or a part with audio to ``audio_parts``."""
    drop_unheld_in_answer(part, losses)
    if not (is_image(part) or is_audio(part)):
        losses.dropped(part, code="unsupported_media")
        return
    # A level of detail is a setting of input images (official SDK, ``ImageURL.detail``).
    if part.detail not in (None, "auto"):
        losses.dropped(part, "detail", severity="info")
    if is_image(part):
        drop_field(part, "id", losses)
        url = part.url if part.url is not None else write_data_url(part.mime or "image/png", part.data or "")
        image: JsonObject = {"type": "image_url", "image_url": {"url": url}}
        message.setdefault("images", []).append(image | encode_answer_signature(part.signature, losses, options))
    else:
        audio_parts.append(part)


def _encode_audio(audio_parts: list[ir.Media], pointer: str, answer_id: str, losses: Ledger) -> JsonObject:
    """Encode the audio of a message, which has only one. Raw samples are joined, and other audio after the first is dropped."""
    joiner, transcript = AudioJoiner(), ""
    pieces: list[str] = []
    for part in audio_parts:
        piece = joiner.take(part.mime, part.data or "")
        if piece is None:
            losses.dropped(part, code="unsupported_media")
            continue
        severity: Severity = "lossy" if part.mime and is_samples(part.mime) else "info"
        if len(audio_parts) > 1:  # the type shows which parts are joined, so it is not dropped alone
            losses.changed(part, "mime", None, "weaker_form", severity=severity)
        else:
            losses.dropped(part, "mime", severity=severity)
        if pieces:
            drop_field(part, "id", losses)
        pieces.append(piece)
        transcript += part.transcript or ""
    return {
        # All four fields are required (official SDK, ``ChatCompletionAudio``).
        "id": audio_parts[0].id or losses.added(f"{pointer}/audio/id", f"audio_{answer_id}"),
        "data": "".join([*pieces, joiner.remaining()]),
        "expires_at": losses.added(f"{pointer}/audio/expires_at", 0),
        "transcript": transcript or losses.added(f"{pointer}/audio/transcript", ""),
    }


FINISH: Mapping[str, ir.FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}
"""The canonical reasons, by ``finish_reason``; ``error`` is of relays (fixture error_on_chunk). An unknown value is ``other``."""

_FINAL = frozenset({"length", "tool_calls", "function_call", "content_filter"})
"""Values that are valid whatever the message contains."""

_VALUE_OF_FINISH: Mapping[ir.FinishReason, tuple[str, bool]] = {
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
"""The ``finish_reason`` of each canonical reason, and whether it is exact."""


def decode_finish(raw: JsonObject, parts: list[ir.Part], src: str) -> ir.Finish:
    """Decode the finish reason of a choice. If the message has calls or a refusal, these determine the reason instead of ``stop``."""
    value: str = raw.get("finish_reason") or ""
    # A limit or a filter ended the answer, whatever it contains (fixture finish_length_calls).
    if value in _FINAL:
        return ir.Finish(FINISH[value], value, False, src)
    reason = FINISH.get(value, "other") if value else "stop"
    stop, kinds = raw.get("stop_reason"), set(map(type, parts))
    # Servers send ``stop`` with calls (sgl-project/sglang#2877), and OpenAI if the choice names a tool (vllm-project/vllm#25054).
    if reason in ("stop", "other") and ir.ToolCall in kinds:
        reason = "tool_calls"
    elif reason == "stop" and ir.Refusal in kinds:
        reason = "refusal"
    # vLLM sends the matched stop sequence as ``stop_reason``, or the id of a token (fixture finish_stop_sequence).
    elif reason == "stop" and isinstance(stop, str):
        reason = "stop_sequence"
    return ir.Finish(
        reason=reason,
        raw=value or None,
        is_specific=bool(value) and (value not in FINISH or FINISH[value] != reason) and reason not in ("refusal", "stop_sequence"),
        stop_sequence=stop if isinstance(stop, str) and reason == "stop_sequence" else None,
        src=src,
    )


def encode_finish(finish: ir.Finish | None, has_calls: bool, has_refusal: bool, pointer: str, losses: Ledger) -> str:
    """Encode a finish reason. It is ``tool_calls`` only if the message has calls. ``pointer``: the pointer of the encoded choice."""
    if finish is None:
        return str(losses.added(f"{pointer}/finish_reason", "tool_calls" if has_calls else "stop"))
    value, is_exact = _VALUE_OF_FINISH[finish.reason]
    if finish.reason == "refusal" and has_refusal:
        value = "stop"
    # Coding agents continue only after ``tool_calls`` (openvinotoolkit/model_server#3927).
    if has_calls and value == "stop":
        value = "tool_calls"
    elif finish.reason == "tool_calls" and not has_calls:  # this format cannot express the calls
        value, is_exact = "stop", False
    note_finish(finish, value, is_exact, losses)
    drop_unheld_in_answer(finish, losses)
    return value if finish.raw is not None else str(losses.added(f"{pointer}/finish_reason", value))


def mark_unfinished(body: JsonObject) -> JsonObject:
    """Return the response of a truncated stream, without finish reasons."""
    for choice in body["choices"]:
        choice["finish_reason"] = None
    return body


def _decode_logprobs(raw: JsonObject, choice: ir.Choice) -> None:
    """Decode the log probabilities of a choice."""
    src = f"{choice.src}/logprobs"
    choice.logprobs = decode_tokens(raw.get("content") or (), f"{src}/content") or None
    choice.refusal_logprobs = decode_tokens(raw.get("refusal") or (), f"{src}/refusal") or None
    choice.extra = merge_extra(choice.extra, read_extra(raw, LOGPROBS, "logprobs/"))


def encode_logprobs(
    content: list[ir.TokenLogprob] | None, refusal: list[ir.TokenLogprob] | None, losses: Ledger
) -> JsonObject | None:
    """Encode the log probabilities of a text and of a refusal. Return None if there are neither."""
    if content is None and refusal is None:
        return None
    return {
        "content": None if content is None else encode_tokens(content, losses),
        "refusal": None if refusal is None else encode_tokens(refusal, losses),
    }
