"""Decoder for Gemini streams: each event is a partial response, whose parts continue those of the event before.

No event marks the end. A response is complete when each candidate has a finish reason, and even then more may follow. Citations and
usage apply to the whole response, so they are complete at the end of the bytes. Source: recorded streams.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.format import EndReason
from formatbridge.formats.generate_content.content import decode_part
from formatbridge.formats.generate_content.conversation import CONTENT
from formatbridge.formats.generate_content.errors import decode_error
from formatbridge.formats.generate_content.reasoning import belongs_to_earlier_reasoning, signs_earlier_reasoning
from formatbridge.formats.generate_content.response import NO_REASON, decode_blocked, decode_finish, decode_logprobs
from formatbridge.formats.generate_content.stream_fold import PartialCalls
from formatbridge.formats.generate_content.stream_state import Choice
from formatbridge.formats.generate_content.tool_calls import ConversationCalls, decode_call, decode_result
from formatbridge.formats.generate_content.usage import decode_usage
from formatbridge.formats.shared.choices import fill_missing_head
from formatbridge.formats.shared.errors import is_bare_error
from formatbridge.formats.shared.model_lists import time_of
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import unfold

_COMMON = frozenset({"candidates", "modelVersion", "responseId", "usageMetadata"})
_EVENT = _COMMON | {"createTime", "promptFeedback"}
_FEEDBACK = frozenset({"blockReason", "blockReasonMessage"})
_CONTENT = frozenset({"content", "index"})
_CITATIONS = frozenset({"groundingMetadata", "citationMetadata"})
_CANDIDATE = _CONTENT | _CITATIONS | {"finishReason", "finishMessage", "logprobsResult"}
_URL_CONTEXT = "urlContextMetadata"
_TEXT = frozenset({"text", "thought"})


class StreamDecoder:
    """Decodes the events of one stream. ``is_complete``: every candidate has a finish reason, or the prompt was blocked."""

    END = "finishReason"
    NEVER_REPEATED: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.is_complete = False
        self.has_unknown_fields = False  # always: the last value of an unknown field is valid, so none accumulates
        self._start = events.Start(None, None)  # the emitted one; later chunks supply its missing fields
        self._pending_start: events.Start | None = self._start
        self._choices: dict[int, Choice] = {}
        self._running: set[int] = set()  # the candidates without a finish reason
        self._id: str | None = None
        self._usage: JsonObject | None = None
        self._feedback: JsonObject = {}
        self._extra: JsonObject = {}
        self._is_over = False

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Decode one event, or ``count`` events with joined texts, and return what it adds."""
        # {"candidates": [{"content": {"parts": [{"text": "Hel"}], "role": "model"}, "index": 0}], "modelVersion": "m",
        #  "usageMetadata": {"promptTokenCount": 20, "totalTokenCount": 22}, "responseId": "r"}
        del count  # nothing accumulates but text
        if self._is_over or not raw:  # an empty one keeps the connection alive
            return []
        out: list[events.Event] = []
        is_common = _COMMON.issuperset(raw)
        is_error = not is_common and (raw.get("error") or (_EVENT.isdisjoint(raw) and is_bare_error(raw)))
        self._feed_head(raw, out, is_common=is_common, is_error=bool(is_error))
        if is_error:
            self._is_over = self.is_complete = True
            return [*out, *self._metadata(), events.Failed(decode_error(raw, status=None))]
        for candidate in raw.get("candidates") or ():
            self._feed_candidate(candidate, out)
        # Every event has the counts so far, so the last ones are valid.
        self._usage = raw.get("usageMetadata") or self._usage
        if not is_common:
            self._feed_others(raw)
        # More events may follow the finish reason (fixture finish_text_behind), so the end is emitted at the end of the bytes.
        self.is_complete = self._is_blocked() or bool(self._choices and not self._running)
        return out

    def _feed_head(self, raw: JsonObject, out: list[events.Event], *, is_common: bool, is_error: bool) -> None:
        """Emit the start of the response, or add to it what a later event has."""
        if self._pending_start is None:
            # The id and the model may be in the last event only (fixture text_named_in_last_event).
            if not (is_common and self._start.id and self._start.model):
                self._start = fill_missing_head(
                    self._start, raw.get("responseId"), raw.get("modelVersion"), self._decode_time(raw), out
                )
        elif is_error:
            self._begin({}, out)
        elif not _EVENT.isdisjoint(raw):  # unmodelled events do not begin a response
            self._begin(raw, out)

    def _is_blocked(self) -> bool:
        """Return whether the prompt was blocked; without candidates the message alone shows it."""
        # The server may block a prompt after the first text (fixture blocked_midway); then no finish reason follows.
        return bool(self._feedback.get("blockReason") or (not self._choices and self._feedback.get("blockReasonMessage")))

    def _feed_others(self, raw: JsonObject) -> None:
        """Decode the fields that few events have: feedback on the prompt, and unmodelled fields."""
        if raw.get("promptFeedback"):
            self._feedback |= {key: value for key, value in raw["promptFeedback"].items() if value is not None}
        self._extra |= read_extra(raw, _EVENT) or {}

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the pending events. ``[DONE]`` has no meaning in this format."""
        if reason == "truncated":
            return self._pending_events()
        out: list[events.Event] = []
        if reason == "done":
            return out
        if self.is_complete and not self._is_over:
            self._end_response(out)
        elif self._pending_start is not None:
            out.append(self._pending_start)
            self._pending_start = None
        return out

    def _end_response(self, out: list[events.Event]) -> None:
        """Emit the ends of all candidates, the metadata, and the end of the response."""
        self._is_over = True
        # A canonical stream ends its candidates before its usage and its metadata, whatever the order of the events was.
        for _, choice in sorted(self._choices.items()):
            self._end_choice(choice, out)
        if not self._choices:
            out.append(events.ChoiceEnd(0, decode_blocked(self._feedback)))
        if self._feedback:
            self._extra |= self._feedback_fields() or {}
        out += [*self._metadata(), events.End()]

    def _pending_events(self) -> list[events.Event]:
        """Return the pending events of a stream that stops here."""
        out = [] if self._pending_start is None else [self._pending_start]
        held_back = [event for _, choice in sorted(self._choices.items()) for event in choice.pending_events()]
        feedback = self._feedback_fields()
        return [*out, *self._metadata(), *held_back, *([events.FieldsUpdate(feedback)] if feedback else [])]

    def _metadata(self) -> list[events.Event]:
        """Return the fields and the usage of the response that are known."""
        out: list[events.Event] = [
            events.FieldsUpdate(choice.extra, index) for index, choice in sorted(self._choices.items()) if choice.extra
        ]
        if self._extra:
            out.append(events.FieldsUpdate(self._extra))
        if self._usage:
            out.append(events.UsageUpdate(decode_usage(self._usage, "/usageMetadata")))
        return out

    def _feedback_fields(self) -> JsonObject | None:
        """Return the fields of the feedback on the prompt, without the block reason if that is a finish reason."""
        is_blocked = self.is_complete and (not self._choices or bool(self._running))
        return read_extra(self._feedback, _FEEDBACK if is_blocked else frozenset(), "promptFeedback/")

    def _begin(self, event: JsonObject, out: list[events.Event]) -> None:
        """Emit the start of the response."""
        # Ids of calls that have none are derived from the id of the response, so both are known from the first event on.
        self._pending_start = None
        self._id, self._usage = event.get("responseId") or None, event.get("usageMetadata") or None
        counts = decode_usage(self._usage, "/usageMetadata") if self._usage else None
        self._start = events.Start(self._id, event.get("modelVersion"), self._decode_time(event), counts)
        out.append(self._start)

    def _decode_time(self, event: JsonObject) -> float | None:
        """Decode the time of the response, unless it is known; an invalid time stays an unmodelled field."""
        time = event.get("createTime")
        if not time or self._start.created is not None:
            return None
        created = time_of(time)
        if created is None:
            self._extra["createTime"] = time
        return created

    def _feed_candidate(self, raw: JsonObject, out: list[events.Event]) -> None:
        """Decode one candidate of an event."""
        # The only candidate may have no index, and its content no role (fixture text_bare_candidates).
        index = raw.get("index") or 0
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = Choice(index, f"/candidates/{index}", ConversationCalls((), self._id, index))
            self._running.add(index)
        content = raw.get("content")
        if content:
            for part in content.get("parts") or ():
                self._feed_part(choice, part, out)
            if not CONTENT.issuperset(content):
                choice.extra |= read_extra(content, CONTENT, "content/") or {}
        if not _CONTENT.issuperset(raw):
            self._feed_other_fields(choice, raw, out)

    def _feed_other_fields(self, choice: Choice, raw: JsonObject, out: list[events.Event]) -> None:
        """Decode the other fields of a candidate."""
        if raw.get("finishReason") not in NO_REASON:
            choice.finish["finishReason"] = raw["finishReason"]
            self._running.discard(choice.index)
        if raw.get("finishMessage"):
            choice.finish["finishMessage"] = raw["finishMessage"]
        # Sources come with the text that they belong to, or at the end (fixtures citations_midway, citations_behind_code).
        if not _CITATIONS.isdisjoint(raw):
            choice.citations.add(raw)
        if raw.get("logprobsResult"):
            self._feed_logprobs(choice, raw["logprobsResult"], out)
        if not _CANDIDATE.issuperset(raw):
            fields = read_extra(raw, _CANDIDATE) or {}
            if _URL_CONTEXT in fields:
                choice.url_context.add(fields)
                fields |= choice.url_context.to_object()
            choice.extra |= fields

    def _feed_logprobs(self, choice: Choice, raw: JsonObject, out: list[events.Event]) -> None:
        """Emit log probabilities with the text of their event; if it has none, with the next or the last."""
        src, before = f"{choice.src}/logprobsResult", choice.token_count
        tokens, extra = decode_logprobs(raw, src, before)
        choice.extra |= {f"logprobsResult/{pointer}": value for pointer, value in (extra or {}).items()}
        choice.tokens += tokens or ()
        choice.token_count = before + len(tokens or ())
        # Log probabilities have no place in the text. Those of an event belong to the text of that event.
        deltas = (event for event in reversed(out) if isinstance(event, events.Delta) and event.choice == choice.index)
        text = next((delta for delta in deltas if delta.index in choice.texts), None)
        if text is not None:
            text.logprobs, choice.tokens = choice.tokens, []

    def _feed_part(self, choice: Choice, raw: JsonObject, out: list[events.Event]) -> None:
        """Decode one part of an event."""
        if raw.get("functionCall") is not None and raw.get("text") is None:
            self._feed_call(choice, raw, out)
            return
        # Another part ends the calls in pieces, even if their last piece announced a further one.
        if choice.partial:
            self._end_calls(choice, out)
        text = raw.get("text")
        if text is None:
            src = choice.next_src
            is_result = raw.get("functionResponse") is not None
            part = decode_result(raw, src, choice.calls) if is_result else decode_part(raw, src, choice.calls.code_id)
            if part is not None:
                self._add_whole_part(choice, part, out)
        elif _TEXT.issuperset(raw):
            self._add_text(choice, ir.Reasoning if raw.get("thought") else ir.Text, text, out)
        else:
            self._feed_text_with_fields(choice, raw, out)

    def _feed_text_with_fields(self, choice: Choice, raw: JsonObject, out: list[events.Event]) -> None:
        """Decode text with a token or with unmodelled fields as a separate part.

        Exception: the encoder puts a token of another format on a separate part if its text was sent before.
        """
        # {"text": "", "thought": true, "thoughtSignature": "ZmIx..."}: see ``_SendOrder`` for what such a part signs.
        part = decode_part(raw, choice.next_src, choice.calls.code_id)
        assert isinstance(part, ir.Text | ir.Reasoning)
        if part.text and isinstance(part, ir.Text) and belongs_to_earlier_reasoning(part.signature):
            self._take_carried(choice, part, out)
            self._close_text(choice, out)
        signature, has_only_token = part.signature, not part.text and not part.extra
        kind = ir.Reasoning if raw.get("thought") else ir.Text
        if signature is None and not part.extra:
            self._add_text(choice, type(part), part.text, out)
        elif has_only_token and signs_earlier_reasoning(signature) and choice.open is not None and choice.open[0] is kind:
            out.append(events.PartUpdate(choice.index, choice.open[1], signature=signature))
            self._close_text(choice, out)
            choice.unsigned = None
        elif (
            has_only_token
            and signature is not None
            and signs_earlier_reasoning(signature)
            and kind is ir.Reasoning
            and choice.unsigned is not None
        ):
            out.append(events.SignatureUpdate(choice.index, choice.unsigned, signature))
            choice.unsigned = None
        else:
            self._add_whole_part(choice, part, out)

    def _take_carried(self, choice: Choice, part: ir.Text | ir.ToolCall, out: list[events.Event]) -> None:
        """Move the token of another format from a part to the reasoning before it, or to a separate reasoning part."""
        signature, part.signature = part.signature, None
        assert signature is not None
        if signs_earlier_reasoning(signature) and choice.open is not None and choice.open[0] is ir.Reasoning:
            out.append(events.PartUpdate(choice.index, choice.open[1], signature=signature))
            self._close_text(choice, out)
            choice.unsigned = None
        elif signs_earlier_reasoning(signature) and choice.unsigned is not None:
            out.append(events.SignatureUpdate(choice.index, choice.unsigned, signature))
            choice.unsigned = None
        else:
            self._add_whole_part(choice, ir.Reasoning("", signature.src, signature), out)
            choice.token_parts += 1

    def _add_text(self, choice: Choice, kind: type[ir.Text | ir.Reasoning], text: str, out: list[events.Event]) -> None:
        """Add text to the open part of a kind; another kind closes it and opens the next. An empty text separates reasoning."""
        # Servers send empty texts at the end (fixture text_empty_end). Only our encoder sends one between reasoning parts.
        if not text:
            if kind is ir.Text and choice.open is not None and choice.open[0] is ir.Reasoning:
                self._close_text(choice, out)
            return
        number = self._open_text(choice, kind, out)
        out.append(events.Delta(choice.index, number, text))
        if kind is ir.Text:
            choice.texts[number].append(text)

    def _open_text(self, choice: Choice, kind: type[ir.Text | ir.Reasoning], out: list[events.Event]) -> int:
        """Return the number of the open part of a kind."""
        if choice.open is not None and choice.open[0] is kind:
            return choice.open[1]
        self._close_text(choice, out)
        number = choice.parts
        out.append(events.PartStart(choice.index, number, kind("", choice.next_src)))
        choice.parts += 1
        choice.open = (kind, number)
        if kind is ir.Text:
            choice.texts[number] = []
        else:
            choice.unsigned = number
        return number

    def _close_text(self, choice: Choice, out: list[events.Event]) -> None:
        """Close the open text, and the text before a token without text."""
        if choice.before is not None:
            out.append(events.PartEnd(choice.index, choice.before))
            choice.before = None
        if choice.open is not None:
            out.append(events.PartEnd(choice.index, choice.open[1]))
            choice.open = None

    def _add_whole_part(self, choice: Choice, part: ir.Part, out: list[events.Event]) -> None:
        """Decode a part in one piece. A text stays open until the next part comes, because its citations may follow it.

        A text that only has a token does not close the text before it.
        """
        # The token of the last text comes on an empty text after it (fixture reasoning_token_on_text).
        has_only_token = isinstance(part, ir.Text) and not part.text and choice.before is None
        if has_only_token and choice.open is not None and choice.open[1] in choice.texts:
            choice.before, choice.open = choice.open[1], None
        else:
            self._close_text(choice, out)
        if isinstance(part, ir.Reasoning) or getattr(part, "signature", None) is not None:
            choice.unsigned = None
        if isinstance(part, ir.Text):
            choice.texts[choice.parts] = [part.text]
        unfolded = unfold(choice.index, choice.parts, part, is_ours=True)
        if isinstance(part, ir.Text):
            choice.open = (None, choice.parts)
            unfolded.pop()
        out += unfolded
        choice.parts += 1

    def _feed_call(self, choice: Choice, raw: JsonObject, out: list[events.Event]) -> None:
        """Emit a function call, or add a piece to a call in pieces."""
        # Only the Vertex API sends arguments in pieces: "not supported in Gemini API" (official SDK, ``FunctionCall``).
        call = raw["functionCall"]
        if choice.partial or call.get("willContinue") or call.get("partialArgs"):
            if choice.partial is None:
                choice.partial = PartialCalls()
            for part in choice.partial.take(raw):
                self._add_call(choice, part, out)
        elif any(call.values()):
            self._add_call(choice, raw, out)
        elif len(raw) > 1:  # an empty call ends a call in pieces; its other fields are valid
            others = {key: value for key, value in raw.items() if key != "functionCall"}
            self._feed_text_with_fields(choice, {"text": ""} | others, out)

    def _end_calls(self, choice: Choice, out: list[events.Event]) -> None:
        """Emit the calls in pieces that are still open."""
        for part in choice.partial.end() if choice.partial else ():
            self._add_call(choice, part, out)

    def _add_call(self, choice: Choice, raw: JsonObject, out: list[events.Event]) -> None:
        """Emit one call."""
        call = decode_call(raw, choice.next_src, choice.calls)
        choice.has_calls = True
        if belongs_to_earlier_reasoning(call.signature):
            self._take_carried(choice, call, out)
        self._close_text(choice, out)
        out += unfold(choice.index, choice.parts, call, is_ours=True)
        choice.parts += 1

    def _end_choice(self, choice: Choice, out: list[events.Event]) -> None:
        """End a candidate: emit its citations, close its open parts, and emit its finish reason."""
        if choice.partial:
            self._end_calls(choice, out)
        extra = choice.cite(out)
        # Without a text, the log probabilities are those of calls, and an empty text has them (fixture ``logprobs_before_calls_only``).
        if choice.tokens:
            number = choice.open_texts[0] if choice.open_texts else self._open_text(choice, ir.Text, out)
            out.append(events.Delta(choice.index, number, "", choice.tokens))
        self._close_text(choice, out)
        is_ended = "finishReason" in choice.finish
        finish = decode_finish(choice.finish, choice.has_calls, choice.src) if is_ended else decode_blocked(self._feedback)
        if extra:
            choice.extra |= extra
        out.append(events.ChoiceEnd(choice.index, finish))
