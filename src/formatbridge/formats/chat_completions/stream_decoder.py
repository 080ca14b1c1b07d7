"""Decoder for Chat Completions stream chunks: several choices interleaved, usage at the end, ``[DONE]`` last.

A delta names no part. A text continues until another kind of content comes, and calls differ by their index. Servers break all of these
rules: usage comes anywhere, and the role in every delta or never. Indexes are missing or used again, and the end comes twice or not at all.
Each of these is a fixture: ``usage_*``, ``text_role_*``, ``tools_index_*`` and ``finish_*``.
"""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.chat_completions.citations import decode_citations
from formatbridge.formats.chat_completions.content import decode_part
from formatbridge.formats.chat_completions.conversation import decode_images
from formatbridge.formats.chat_completions.errors import decode_error, find_error
from formatbridge.formats.chat_completions.reasoning import (
    LIST_FIELDS,
    REASONING_FIELDS,
    SIGNATURE_FIELDS,
    decode_extra_content,
    decode_message_signature,
    decode_reasoning,
    detail_index,
)
from formatbridge.formats.chat_completions.response import LOGPROBS, decode_finish
from formatbridge.formats.chat_completions.stream_reasoning import BlockDecoder, DecodedBlock, is_encrypted
from formatbridge.formats.chat_completions.stream_state import CallState, Choice, StreamedCalls, arguments_of
from formatbridge.formats.chat_completions.usage import decode_usage
from formatbridge.formats.format import EndReason
from formatbridge.formats.shared.choices import ChoiceNumbers, fill_missing_head, read_id_model_time
from formatbridge.formats.shared.errors import is_bare_error
from formatbridge.formats.shared.logprobs import decode_tokens
from formatbridge.formats.shared.unmodelled_fields import extend_extra, has_values, merge_extra, read_extra
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject

_HEAD = frozenset({"id", "object", "created", "model", "choices", "usage", "obfuscation"})
_CHUNK = _HEAD | {"error"}
_CHOICE = frozenset({"index", "delta", "finish_reason", "logprobs", "stop_reason"})
_DELTA = REASONING_FIELDS | {"role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio", "images"}
_TEXT_ONLY = frozenset({"role", "content"})
_BEFORE_REFUSAL = REASONING_FIELDS | SIGNATURE_FIELDS | _TEXT_ONLY
_AUDIO = frozenset({"id", "data", "transcript"})


class StreamDecoder:
    """Decodes the chunks of one stream. ``is_complete``: the stream has ended, or has an error."""

    END = "finish_reason, or [DONE] after a whole response"
    NEVER_REPEATED = frozenset({"name", *LIST_FIELDS})

    def __init__(self) -> None:
        self.is_complete = False
        self.has_unknown_fields = False
        self._pending_start: events.Start | None = events.Start(None, None)
        self._start = events.Start(None, None)  # the start with the values that were emitted
        self._choices: dict[int, Choice] = {}
        self._numbers = ChoiceNumbers()
        self._answer_id = ""
        self._extra: JsonObject = {}
        self._is_over = False
        self._usage: list[events.Event] = []

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Take one chunk, or ``count`` of them joined, and return what it adds."""
        if self._is_over:
            return []
        out: list[events.Event] = []
        self.has_unknown_fields = False
        # Servers send errors in chunks, as whole bodies, or in the shape of another format (fixtures error_bare, error_messages_shape).
        error = self._find_error(raw) or (raw.get("choices") is None and "usage" not in raw and is_bare_error(raw))
        if self._pending_start is not None:
            self._begin(raw, out, is_last=bool(error))
        else:
            # The id and the model may be in the last chunk only (fixture text_named_in_last_event).
            self._start = fill_missing_head(self._start, *read_id_model_time(raw, "created"), out)
        # A chunk without choices has usage, or results of a filter (recorded traffic of Azure and OpenAI).
        for choice in raw.get("choices") or ():
            self._feed_choice(choice, out, count)
        # The last usage is valid: it may grow with each chunk, or follow the finish reason (fixtures usage_cumulative, usage_after_finish).
        if raw.get("usage"):
            self._usage = [events.UsageUpdate(decode_usage(raw["usage"], "/usage"))]
        # An error of another format is the whole event, so its fields are not fields of the response.
        is_chunk = not error or bool(raw.get("choices"))
        if is_chunk and not _CHUNK.issuperset(raw):
            extra = read_extra(raw, _CHUNK) or {}
            self._extra |= {key: value for key, value in extra.items() if value or key not in self._extra}
        if error:
            self._is_over = self.is_complete = True
            bare = {"error": error} if is_chunk else raw
            out += [*self._metadata(), events.Failed(decode_error(bare, status=None))]
        return out

    def _find_error(self, raw: JsonObject) -> JsonObject | str | None:
        """Return the error in a chunk. An error of one of several choices ends only that one; most chunks have one choice."""
        failure, pointer = find_error(raw)
        if failure and pointer and self._choices.keys() - {raw["choices"][0].get("index") or 0}:
            return None
        return failure

    def _begin(self, raw: JsonObject, out: list[events.Event], *, is_last: bool) -> None:
        """Emit the start. Azure first sends a chunk without choices and without an id (fixture text_empty_ids)."""
        assert self._pending_start is not None
        answer_id, model, created = read_id_model_time(raw, "created")
        self._answer_id = answer_id or ""
        known = self._pending_start
        self._pending_start = events.Start(answer_id, known.model or model, known.created or created)
        # A chunk with neither waits for the next one.
        if raw.get("choices") or answer_id or is_last:
            out.append(self._pending_start)
            self._start, self._pending_start = self._pending_start, None

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the pending events. ``[DONE]`` also ends a response without a finish reason, if no call in it is incomplete."""
        out: list[events.Event] = []
        if reason == "truncated":
            out += [] if self._pending_start is None else [self._pending_start]
            out += self._metadata()
            return out + [event for choice in self._choices.values() for event in choice.pending_events(self._answer_id)]
        if reason == "done":  # a truncated stream may have it, too (vercel/ai#19165)
            are_complete = all(choice.finish or choice.is_complete for choice in self._choices.values())
            self.is_complete = self.is_complete or (bool(self._choices) and are_complete)
        reasons = [choice.finish for choice in self._choices.values()]
        if not self._is_over and (self.is_complete or (any(reasons) and None not in reasons)):
            self._end_answer(out)
        self._is_over = self._is_over or reason == "done"  # nothing after [DONE] is read
        if reason == "end_of_bytes" and self._pending_start is not None:
            out.append(self._pending_start)
            self._pending_start = None
        return out

    def _end_answer(self, out: list[events.Event]) -> None:
        self.is_complete = self._is_over = True
        if self._pending_start is not None:
            self._begin({}, out, is_last=True)
        for choice in self._choices.values():
            self._close_text(choice, out)
            self._end_choice(choice, out)
            # Calls and refusals determine the reason, so it is decoded when all parts are known (fixture finish_stop_for_calls).
            finish = decode_finish(
                {"finish_reason": choice.finish, "stop_reason": choice.stop}, choice.parts, f"/choices/{choice.index}"
            )
            if finish.stop_sequence is not None:
                choice.stop = None  # the finish has it
            out.append(events.ChoiceEnd(choice.index, finish))
        out += [*self._metadata(), events.End()]

    def _metadata(self) -> list[events.Event]:
        """Return the unmodelled fields and the usage of the response that have come."""
        fields = [(choice.unmodelled_fields(), choice.index) for choice in self._choices.values()]
        out: list[events.Event] = [events.FieldsUpdate(extra, index) for extra, index in [*fields, (self._extra, None)] if extra]
        return out + self._usage

    def _close_text(self, choice: Choice, out: list[events.Event]) -> None:
        """Close the open part. Citations that came without any text get an empty one."""
        if choice.citations:
            choice.switch_to("text", ir.Text("", f"/choices/{choice.index}/message/content"), out)
        choice.close_part(out)

    def _end_choice(self, choice: Choice, out: list[events.Event]) -> None:
        """End what may continue after the finish reason: audio and calls. Calls get the name or the id that never came."""
        if calls := choice.calls:
            # A call waits for its name and its id, which may follow the arguments (fixture tools_id_after_arguments).
            for slot in list(calls.pending):
                self._open_call(choice, calls, slot, out)
            out += [events.PartEnd(choice.index, number, extra=calls.unknown.get(slot)) for slot, number in calls.open.items()]
        if choice.pending_signature is not None:
            choice.add(ir.Text("", choice.pending_signature.src, signature=choice.pending_signature), out)
        if choice.audio is not None:
            out.append(events.PartEnd(choice.index, choice.audio))

    def _feed_choice(self, raw: JsonObject, out: list[events.Event], count: int = 1) -> None:
        # A missing index is that of the only choice.
        index = raw.get("index") or 0
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = Choice(self._numbers.next(index))
        # One event may have the whole message (fixture message_whole).
        message_key = "message" if raw.get("delta") is None else "delta"
        delta = raw.get(message_key) or {}
        logprobs = raw.get("logprobs")
        if logprobs and delta.get("refusal"):
            delta, logprobs = self._feed_before_refusal(index, message_key, delta, logprobs, out)
        if delta and self._feed_text(choice, delta, out):
            if logprobs and (delta.get("content") or delta.get("refusal")):
                self._feed_logprobs(choice, logprobs, out)  # before what closes their text
                logprobs = None
            self._feed_others(choice, delta, out)
        if logprobs:
            self._feed_logprobs(choice, logprobs, out)
        if not (_CHOICE.issuperset(raw) and _DELTA.issuperset(delta)):
            self._keep_unknown(choice, raw, delta, message_key, count)
        if raw.get("stop_reason") is not None:
            choice.stop = raw["stop_reason"]
        # An empty text is no finish reason. Of two reasons the last one is valid (fixture finish_empty).
        if raw.get("finish_reason"):
            choice.finish = raw["finish_reason"]
            self._close_text(choice, out)

    def _feed_before_refusal(
        self, index: int, message_key: str, delta: JsonObject, logprobs: JsonObject, out: list[events.Event]
    ) -> tuple[JsonObject, JsonObject]:
        """Decode the text of a delta and its tokens, because a refusal closes the text. Return what remains of both."""
        if not (logprobs.get("content") and delta.get("content")):
            return delta, logprobs
        first = {key: value for key, value in delta.items() if key in _BEFORE_REFUSAL}
        self._feed_choice({"index": index, message_key: first, "logprobs": {"content": logprobs["content"]}}, out)
        others = {key: value for key, value in delta.items() if key not in first}
        return others, {key: value for key, value in logprobs.items() if key != "content"}

    def _keep_unknown(self, choice: Choice, raw: JsonObject, delta: JsonObject, message_key: str, count: int) -> None:
        """Keep the unmodelled fields of a choice and its delta, including those next to a signature."""
        outer = None if SIGNATURE_FIELDS.isdisjoint(delta) else decode_message_signature(delta, [], "")
        outer = outer and {f"message/{name}": value for name, value in outer.items()}
        fields = merge_extra(
            read_extra(delta, _DELTA | SIGNATURE_FIELDS, "message/"), outer, read_extra(raw, _CHOICE | {message_key})
        )
        choice.unknown.take(fields, count)
        self.has_unknown_fields = self.has_unknown_fields or bool(fields)

    def _feed_text(self, choice: Choice, delta: JsonObject, out: list[events.Event]) -> bool:
        """Take reasoning, text and a refusal; return whether the delta may have more."""
        content = delta.get("content")
        if _TEXT_ONLY.issuperset(delta):  # nearly always
            if content:
                self._feed_content(choice, content, out)
            return False
        # Google's compatible server sends the signature of a text in its last delta (fixture ``token_next_to_text``).
        if "extra_content" in delta:
            self._feed_message_signature(choice, delta, out)
        if not REASONING_FIELDS.isdisjoint(delta):
            self._feed_reasoning(choice, delta, out)
        if content:
            self._feed_content(choice, content, out)
        if delta.get("refusal"):
            refusal = ir.Refusal(text="", src=f"/choices/{choice.index}/message/refusal")
            choice.add_text("refusal", refusal, delta["refusal"], out)
        return True

    def _feed_message_signature(self, choice: Choice, delta: JsonObject, out: list[events.Event]) -> None:
        """Take the signature of a message, which may be repeated. It waits for a text or a call; after a text, for the end."""
        signature, _ = decode_extra_content(delta, f"/choices/{choice.index}/message")
        if signature is None or signature.token == choice.latest_token:
            return
        choice.latest_token = signature.token
        # The earlier token belongs to nothing that followed, so it gets an empty text.
        if choice.pending_signature is not None:
            choice.add(ir.Text("", signature.src, signature=choice.pending_signature), out)
        choice.pending_signature = signature

    def _feed_content(self, choice: Choice, content: str | list[JsonObject] | JsonObject, out: list[events.Event]) -> None:
        content = dumps(content).decode() if isinstance(content, dict) else content
        if isinstance(content, str):
            choice.add_text("text", ir.Text("", f"/choices/{choice.index}/message/content"), content, out)
            return
        # Some servers send content as a list of parts, with reasoning in it (fixtures text_parts, reasoning_parts).
        for raw in content:
            before, at = len(choice.parts), choice.items.get("content", 0)
            part = decode_part(raw, f"/choices/{choice.index}/message/content/{at}")
            if isinstance(part, ir.Reasoning):
                self._feed_reasoning_part(choice, part, None, out)
            elif isinstance(part, ir.Text) and not (part.extra or part.cache):
                choice.add_text("text", ir.Text("", part.src), part.text, out)
            else:
                choice.add(part, out)
            choice.items["content"] = at + len(choice.parts) - before  # an item that continues the part before has no number

    def _feed_others(self, choice: Choice, delta: JsonObject, out: list[events.Event]) -> None:
        """Take calls, citations, images and audio."""
        for position, call in enumerate(delta.get("tool_calls") or ()):
            self._feed_call(choice, call, position, out)
        # Deprecated since ``tool_calls`` (official SDK, ``ChoiceDeltaFunctionCall``). It has one call, so its index is 0.
        if has_values(delta.get("function_call") or {}):
            self._feed_call(choice, {"index": 0, "function": delta["function_call"]}, 0, out)
        if not delta.keys() & {"annotations", "audio", "images"}:
            return
        src = f"/choices/{choice.index}/message"
        counts = choice.items
        if annotations := delta.get("annotations"):
            text = ir.Text("")
            unread = decode_citations(annotations, text, src, counts.get("annotations", 0))
            choice.add_citations(text.citations or [], out)
            choice.extra = extend_extra(choice.extra, {f"message/{key}": value for key, value in unread.items()})
            counts["annotations"] = counts.get("annotations", 0) + len(annotations)
        if images := delta.get("images"):
            for part in decode_images(images, src, counts.get("images", 0)):
                choice.add(part, out)
            counts["images"] = counts.get("images", 0) + len(images)
        if has_values(delta.get("audio") or {}):
            self._feed_audio(choice, delta["audio"], f"{src}/audio", out)

    def _feed_audio(self, choice: Choice, raw: JsonObject, src: str, out: list[events.Event]) -> None:
        """Add to the audio, of which a message has one: it continues whatever comes between its pieces."""
        number, audio_id = choice.audio, raw.get("id") or None
        known = choice.parts[number] if number is not None else None
        # ``expires_at`` comes in the last audio delta, which may follow the finish reason (official SDK, ``ChoiceDeltaAudio``).
        is_renamed = isinstance(known, ir.Media) and audio_id is not None and audio_id != known.id
        choice.extra = extend_extra(choice.extra, read_extra(raw, _AUDIO - {"id"} if is_renamed else _AUDIO, "message/audio/"))
        # Text may come between the pieces of the audio (fixture audio_interleaved).
        if number is None:
            number = choice.audio = choice.start(ir.Media(kind="audio", data="", id=audio_id, src=src), out)
        if raw.get("data"):
            out.append(events.Delta(choice.index, number, raw["data"]))
        if raw.get("transcript"):
            out.append(events.PartUpdate(choice.index, number, transcript=raw["transcript"]))

    def _feed_logprobs(self, choice: Choice, raw: JsonObject, out: list[events.Event]) -> None:
        """Emit the log probabilities of a text or a refusal, in the delta of their text if there is one."""
        src = f"/choices/{choice.index}"
        for name, kind, part in (
            ("content", "text", ir.Text("", f"{src}/message/content")),
            ("refusal", "refusal", ir.Refusal(text="", src=f"{src}/message/refusal")),
        ):
            if not raw.get(name):
                continue
            # Servers send log probabilities with the text, or alone in an empty delta (fixture logprobs_empty_delta).
            number = choice.part_of_logprobs(kind)
            number = choice.switch_to(kind, part, out) if number is None else number
            tokens = decode_tokens(raw[name], f"{src}/logprobs/{name}", choice.logprob_counts.get(name, 0))
            choice.logprob_counts[name] = choice.logprob_counts.get(name, 0) + len(tokens)
            last = out[-1] if out else None
            if isinstance(last, events.Delta) and last.index == number:
                last.logprobs = tokens
            else:
                out.append(events.Delta(choice.index, number, "", tokens))
        if not LOGPROBS.issuperset(raw):
            choice.extra = extend_extra(choice.extra, read_extra(raw, LOGPROBS, "logprobs/"))

    def _feed_reasoning(self, choice: Choice, delta: JsonObject, out: list[events.Event]) -> None:
        src = f"/choices/{choice.index}/message"
        parts, extra = decode_reasoning(delta, src, is_piece=True)
        decoder, blocks = choice.blocks, list[DecodedBlock]()
        if decoder is not None or delta.get("thinking_blocks"):
            decoder = choice.blocks = decoder or BlockDecoder()
            blocks, parts, more = decoder.take(delta, parts, src, choice.reasoning, choice.open_reasoning)
            extra = merge_extra(extra, more)
        details = delta.get("reasoning_details") or ()
        indexes = {f"{src}/reasoning_details/{index}": index for index in map(detail_index, details)}
        if extra:
            choice.extra = extend_extra(choice.extra, {f"message/{name}": value for name, value in extra.items()})
        for part in parts:
            self._feed_reasoning_part(choice, part, indexes.get(part.src), out)
        if decoder is not None:
            for block in blocks:
                self._feed_block(choice, decoder, block, out)
            decoder.note_open_part(choice.open_reasoning)

    def _feed_reasoning_part(self, choice: Choice, part: ir.Reasoning, index: int | None, out: list[events.Event]) -> None:
        """Sign a closed part, emit encrypted reasoning, or add to the open reasoning. ``index``: that of a detail."""
        texts, opened = choice.reasoning, choice.open_reasoning
        signed = texts.signed_part(index, part, opened)
        if signed is not None and part.signature is not None:
            out.append(events.SignatureUpdate(choice.index, signed, part.signature))
            choice.keep_item_extra(part.src, part.extra or {})
            return
        if not choice.has_open_id(part):
            if is_encrypted(part):
                choice.add(part, out)
                return
            if opened is not None and texts.is_other_detail(index):
                choice.close_part(out)
        if not texts.repeats_closed(part) and (choice.open_reasoning is not None or not texts.is_separator(part)):
            self._add_reasoning(choice, part, index, out)

    def _add_reasoning(self, choice: Choice, part: ir.Reasoning, index: int | None, out: list[events.Event]) -> None:
        """Add to the open reasoning, or open it. It ends with its signature, or with a detail that repeats its whole text."""
        texts, is_repeated = choice.reasoning, False
        if choice.open_reasoning is not None:
            is_repeated = texts.repeats_open(part)
            if part.extra:
                choice.keep_extra(part.src, part.extra)
        number = choice.switch_to("reasoning", part, out)
        text = "" if is_repeated else texts.add_part(part, index)
        texts.note_detail(index, number, part)
        if text:
            out.append(events.Delta(choice.index, number, text))
        if part.signature is not None:
            out.append(events.PartUpdate(choice.index, number, signature=part.signature))
        if part.signature is not None or is_repeated:
            opened = choice.parts[number]  # a detail with the whole text may bring its id
            is_unchanged = isinstance(opened, ir.Reasoning) and (opened.id, opened.is_summary) == (part.id, part.is_summary)
            choice.end_part(None if is_unchanged else replace(part, text=texts.text(), src=opened.src), out)

    def _feed_block(self, choice: Choice, decoder: BlockDecoder, block: DecodedBlock, out: list[events.Event]) -> None:
        """Take an entry of ``thinking_blocks``."""
        part, step = block.part, block.step
        if block.raw["type"] != "thinking" and step.kind == "new":
            choice.add(part, out)  # hidden, and whole
            return
        if part.extra and step.kind != "unclear" and not (block.is_new and step.kind == "new"):
            choice.keep_item_extra(part.src, part.extra)
        if block.is_new:
            if step.kind == "new" and choice.open_reasoning == decoder.part:
                choice.close_part(out)
            decoder.part = choice.switch_to("reasoning", part, out)
            choice.reasoning.add(part.text)
            out.append(events.Delta(choice.index, decoder.part, part.text))
        if step.kind == "unclear" or (step.ends_block and part.signature is not None and not step.signs_block):
            decoder.keep_as_unmodelled(block)
        if step.ends_block:
            self._end_block(choice, decoder, block, out)

    def _end_block(self, choice: Choice, decoder: BlockDecoder, block: DecodedBlock, out: list[events.Event]) -> None:
        """End a block: it closes the part that it makes, and its signature is for the part with its text."""
        texts, text = choice.reasoning, decoder.text(block.step.number)
        number = texts.part_with_text(text, choice.open_reasoning) if text else None
        if not text and choice.open_reasoning is None and not texts.unsigned:
            number = choice.switch_to("reasoning", block.part, out)
        token = block.part.signature if block.step.signs_block else None
        if number is None and token is not None:
            decoder.keep_as_unmodelled(block)
        elif number is not None and token is not None:
            event = events.PartUpdate if number == choice.open_reasoning else events.SignatureUpdate
            out.append(event(choice.index, number, signature=token))
        if block.is_new or (number is not None and number == choice.open_reasoning):
            choice.close_part(out)
        if number is not None and token is not None:
            texts.sign(number)

    def _feed_call(self, choice: Choice, raw: JsonObject, position: int, out: list[events.Event]) -> None:
        """Add to the call that an index names, or to the next one at that index."""
        calls = choice.calls = choice.calls or StreamedCalls()
        slot = calls.slot_of(raw, position)
        calls.keep_unknown_fields(raw, slot)
        number = calls.open.get(slot)
        if number is None:
            call = calls.pending.setdefault(slot, CallState())
            calls.keep_changed_names(raw, slot, call)
            call.take(raw)
            if call.id and call.name:
                self._open_call(choice, calls, slot, out)
            return
        calls.keep_changed_names(raw, slot, calls.begun[slot])
        if text := arguments_of(raw):
            calls.begun[slot].pieces.append(text)
            out.append(events.Delta(choice.index, number, text))
        signature, _ = decode_extra_content(raw, f"/choices/{choice.index}/message/tool_calls/{slot}")
        # The signature of a call may come in a delta after its arguments (fixture tools_signature).
        if signature is not None:
            out.append(events.PartUpdate(choice.index, number, signature=signature))

    def _open_call(self, choice: Choice, calls: StreamedCalls, slot: int, out: list[events.Event]) -> None:
        state = calls.pending.pop(slot)
        choice.close_part(out)
        call = state.to_call(slot, calls.count, choice.index, self._answer_id)
        calls.count += 1
        number = calls.open[slot] = choice.start(call, out)
        calls.begun[slot] = state
        if text := "".join(state.pieces):
            out.append(events.Delta(choice.index, number, text))
