"""Streams of generate_content, read: each event is a small answer, whose parts go on where those of the last one stopped.

No event marks the end: an answer is over when each of its candidates has said why, and even then more may follow. Sources and usage
count for the whole answer, so the last word on them comes at the end of the bytes.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.content import decode_text
from formatbridge.formats.generate_content.conversation import CONTENT, decode_rarer_part
from formatbridge.formats.generate_content.errors import decode_error
from formatbridge.formats.generate_content.reasoning import is_carried, is_late
from formatbridge.formats.generate_content.response import UNSAID, decode_blocked, decode_finish, decode_logprobs
from formatbridge.formats.generate_content.stream_choice import Choice
from formatbridge.formats.generate_content.stream_pieces import Gathered, PartialCalls, Sources
from formatbridge.formats.generate_content.stream_untold import untold
from formatbridge.formats.generate_content.tool_calls import Calls, decode_call, decode_result
from formatbridge.formats.generate_content.usage import decode_usage
from formatbridge.formats.shared.choices import fill_missing_head
from formatbridge.formats.shared.errors import is_bare_error
from formatbridge.formats.shared.model_lists import time_of
from formatbridge.formats.shared.unmodelled_fields import rest
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import unfold

_USUAL = frozenset({"candidates", "modelVersion", "responseId", "usageMetadata"})
_EVENT = _USUAL | {"createTime", "promptFeedback"}
_FEEDBACK = frozenset({"blockReason", "blockReasonMessage"})
_PLAIN = frozenset({"content", "index"})
_SOURCES = frozenset({"groundingMetadata", "citationMetadata"})
_CANDIDATE = _PLAIN | _SOURCES | {"finishReason", "finishMessage", "logprobsResult"}
_PAGES = "urlContextMetadata"
_TEXT = frozenset({"text", "thought"})


class StreamDecoder:
    """Reads the events of one stream. ``is_complete``: every candidate has said why it ended, or the prompt was blocked."""

    END = "finishReason"
    tells_more = False  # of fields that nobody knows the last counts

    def __init__(self) -> None:
        self.is_complete = False
        self._told = events.Start(None, None)
        self.start: events.Start | None = self._told
        self._choices: dict[int, Choice] = {}
        self._running: set[int] = set()  # the candidates that have not said why they ended
        self._id: str | None = None
        self._usage: JsonObject | None = None
        self._feedback: JsonObject = {}
        self._extra: JsonObject = {}
        self._growing: list[str] | None = None  # the pieces of the visible text that grew last
        self._is_over = False

    def feed(self, raw: JsonObject) -> list[events.Event]:
        """Take one event and return what happened."""
        if self._is_over or not raw:  # an empty one keeps the connection alive
            return []
        made: list[events.Event] = []
        is_usual = _USUAL.issuperset(raw)
        is_error = not is_usual and (raw.get("error") or (_EVENT.isdisjoint(raw) and is_bare_error(raw)))
        if self.start is not None:
            if is_usual or is_error or not _EVENT.isdisjoint(raw):  # what nobody knows begins no answer
                self._begin({} if is_error else raw, made)
        elif not (is_usual and self._told.id and self._told.model):
            self._told = fill_missing_head(self._told, raw.get("responseId"), raw.get("modelVersion"), self._time(raw), made)
        if is_error:
            self._is_over = self.is_complete = True
            return [*made, *self.beside(), events.Failed(decode_error(raw, status=None))]
        for candidate in raw.get("candidates") or ():
            self._feed_candidate(candidate, made)
        self._usage = raw.get("usageMetadata") or self._usage
        if not is_usual:
            self._feed_rarer(raw)
        self.is_complete = self._is_blocked() or bool(self._choices and not self._running)
        return made

    def _is_blocked(self) -> bool:
        """Return whether the prompt was blocked; the message alone states it where no candidate came."""
        return bool(self._feedback.get("blockReason") or (not self._choices and self._feedback.get("blockReasonMessage")))

    def _feed_rarer(self, raw: JsonObject) -> None:
        """Take what few events have: feedback on the prompt, and what nobody knows."""
        if raw.get("promptFeedback"):
            self._feedback |= {key: value for key, value in raw["promptFeedback"].items() if value is not None}
        self._extra |= rest(raw, _EVENT) or {}

    def grow(self, text: str) -> None:
        """Take another piece of the last event's text."""
        if self._growing is not None:
            self._growing.append(text)

    def recount(self, raw: JsonObject) -> None:
        """Take what the answer costs so far."""
        self._usage = raw.get("usageMetadata") or self._usage

    def done(self) -> list[events.Event]:
        """Take ``[DONE]``, which this format does not have: it says nothing."""
        return []

    def finish(self) -> list[events.Event]:
        """Take the end of the bytes."""
        if self._is_over or not self.is_complete:
            return []
        self._is_over = True
        made: list[events.Event] = []
        for _, choice in sorted(self._choices.items()):
            self._close(choice, made)
        if not self._choices:
            made.append(events.Finished(0, decode_blocked(self._feedback)))
        if self._feedback:
            self._extra |= self._unread_feedback() or {}
        return [*made, *self.beside(), events.End()]

    def untold(self) -> list[events.Event]:
        """Return what the end would tell, or would tell otherwise: sources, chances of tokens, calls by half, the prompt's feedback."""
        made = [event for _, choice in sorted(self._choices.items()) for event in untold(choice)]
        feedback = self._unread_feedback()
        return [*made, events.Meta(feedback)] if feedback else made

    def beside(self) -> list[events.Event]:
        """Return what is known of the answer beside its parts and will not change."""
        made: list[events.Event] = [
            events.Meta(choice.extra, index) for index, choice in sorted(self._choices.items()) if choice.extra
        ]
        if self._extra:
            made.append(events.Meta(self._extra))
        if self._usage:
            made.append(events.UsageTold(decode_usage(self._usage, "/usageMetadata")))
        return made

    def _unread_feedback(self) -> JsonObject | None:
        """Return what the prompt's feedback says beside the reason of an end that it brought."""
        is_blocked = self.is_complete and (not self._choices or bool(self._running))
        return rest(self._feedback, _FEEDBACK if is_blocked else frozenset(), "promptFeedback/")

    def _begin(self, event: JsonObject, made: list[events.Event]) -> None:
        self.start = None
        self._id, self._usage = event.get("responseId") or None, event.get("usageMetadata") or None
        counts = decode_usage(self._usage, "/usageMetadata") if self._usage else None
        self._told = events.Start(self._id, event.get("modelVersion"), self._time(event), counts)
        made.append(self._told)

    def _time(self, event: JsonObject) -> float | None:
        """Read when the answer was made, unless that is known; what is no time stays as it is."""
        time = event.get("createTime")
        if not time or self._told.created is not None:
            return None
        created = time_of(time)
        if created is None:
            self._extra["createTime"] = time
        return created

    # One candidate of one event.

    def _feed_candidate(self, raw: JsonObject, made: list[events.Event]) -> None:
        index = raw.get("index") or 0
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = Choice(index, f"/candidates/{index}", Calls((), self._id, index))
            self._running.add(index)
        content = raw.get("content")
        if content:
            for part in content.get("parts") or ():
                self._feed_part(choice, part, made)
            if not CONTENT.issuperset(content):
                choice.extra |= rest(content, CONTENT, "content/") or {}
        if not _PLAIN.issuperset(raw):
            self._feed_rest(choice, raw, made)

    def _feed_rest(self, choice: Choice, raw: JsonObject, made: list[events.Event]) -> None:
        """Take what an event says about its candidate beside the content."""
        if raw.get("finishReason") not in UNSAID:
            choice.finish["finishReason"] = raw["finishReason"]
            self._running.discard(choice.index)
        if raw.get("finishMessage"):
            choice.finish["finishMessage"] = raw["finishMessage"]
        if not _SOURCES.isdisjoint(raw):
            choice.sources = choice.sources or Sources()
            choice.sources.feed(raw)
        if raw.get("logprobsResult"):
            self._feed_logprobs(choice, raw["logprobsResult"], made)
        if not _CANDIDATE.issuperset(raw):
            told = rest(raw, _CANDIDATE) or {}
            if _PAGES in told:
                choice.pages = choice.pages or Gathered()
                choice.pages.feed(told[_PAGES])
                told[_PAGES] = choice.pages.told
            choice.extra |= told

    def _feed_logprobs(self, choice: Choice, raw: JsonObject, made: list[events.Event]) -> None:
        """Tell the chances of tokens with the text of their event; where it has none, with the next or the last."""
        src, before = f"{choice.src}/logprobsResult", choice.weighed
        tokens, unread = decode_logprobs(raw, src, before)
        choice.extra |= {f"logprobsResult/{pointer}": value for pointer, value in (unread or {}).items()}
        choice.tokens += tokens or ()
        choice.weighed = before + len(tokens or ())
        deltas = (event for event in reversed(made) if isinstance(event, events.Delta) and event.choice == choice.index)
        text = next((delta for delta in deltas if delta.index in choice.texts), None)
        if text is not None:
            text.logprobs, choice.tokens = choice.tokens, []

    def _feed_part(self, choice: Choice, raw: JsonObject, made: list[events.Event]) -> None:
        if raw.get("functionCall") is not None and raw.get("text") is None:
            self._feed_call(choice, raw, made)
            return
        if choice.partial:
            self._end_calls(choice, made)
        text = raw.get("text")
        if text is None:
            at = choice.at
            part = (decode_result if raw.get("functionResponse") is not None else decode_rarer_part)(raw, at, choice.calls)
            if part is not None:
                self._whole(choice, part, made)
        elif _TEXT.issuperset(raw):
            self._grow(choice, ir.Reasoning if raw.get("thought") else ir.Text, text, made)
        else:
            self._feed_marked_text(choice, raw, made)

    def _feed_marked_text(self, choice: Choice, raw: JsonObject, made: list[events.Event]) -> None:
        """Take text with a token or with something unknown: a part of its own.

        But a token that another format put on a part came apart from its text only because that had left already.
        """
        part = decode_text(raw, choice.at)
        assert isinstance(part, ir.Text | ir.Reasoning)
        if part.text and isinstance(part, ir.Text) and is_carried(part.signature):
            self._take_carried(choice, part, made)
            self._close_text(choice, made)
        signature, is_bare = part.signature, not part.text and not part.extra
        kind = ir.Reasoning if raw.get("thought") else ir.Text
        if signature is None and not part.extra:
            self._grow(choice, type(part), part.text, made)
        elif is_bare and is_late(signature) and choice.open is not None and choice.open[0] is kind:
            made.append(events.PartMeta(choice.index, choice.open[1], signature=signature))
            self._close_text(choice, made)
            choice.loose = None
        elif is_bare and signature is not None and is_late(signature) and kind is ir.Reasoning and choice.loose is not None:
            made.append(events.Signed(choice.index, choice.loose, signature))
            choice.loose = None
        else:
            self._whole(choice, part, made)

    def _take_carried(self, choice: Choice, part: ir.Text | ir.ToolCall, made: list[events.Event]) -> None:
        """Take the token of another format's reasoning off the part that follows, as if it had come on an empty thought before."""
        signature, part.signature = part.signature, None
        assert signature is not None
        if is_late(signature) and choice.open is not None and choice.open[0] is ir.Reasoning:
            made.append(events.PartMeta(choice.index, choice.open[1], signature=signature))
            self._close_text(choice, made)
            choice.loose = None
        elif is_late(signature) and choice.loose is not None:
            made.append(events.Signed(choice.index, choice.loose, signature))
            choice.loose = None
        else:
            self._whole(choice, ir.Reasoning("", signature.src, signature), made)
            choice.tokens_apart += 1

    def _grow(self, choice: Choice, kind: type[ir.Text | ir.Reasoning], text: str, made: list[events.Event]) -> None:
        """Add text to the open part of a kind; another kind closes it and opens the next. An empty text parts two thoughts."""
        if not text:
            if kind is ir.Text and choice.open is not None and choice.open[0] is ir.Reasoning:
                self._close_text(choice, made)
            return
        number = self._text(choice, kind, made)
        made.append(events.Delta(choice.index, number, text))
        self._growing = choice.texts[number] if kind is ir.Text else None
        self.grow(text)

    def _text(self, choice: Choice, kind: type[ir.Text | ir.Reasoning], made: list[events.Event]) -> int:
        """Return the number of the open part of a kind."""
        if choice.open is not None and choice.open[0] is kind:
            return choice.open[1]
        self._close_text(choice, made)
        number = choice.parts
        made.append(events.PartStart(choice.index, number, kind("", choice.at)))
        choice.parts += 1
        choice.open = (kind, number)
        if kind is ir.Text:
            choice.texts[number] = []
        else:
            choice.loose = number
        return number

    def _close_text(self, choice: Choice, made: list[events.Event]) -> None:
        if choice.behind is not None:
            made.append(events.PartEnd(choice.index, choice.behind))
            choice.behind = None
        if choice.open is not None:
            made.append(events.PartEnd(choice.index, choice.open[1]))
            choice.open = None

    def _whole(self, choice: Choice, part: ir.Part, made: list[events.Event]) -> None:
        """Take a part that comes in one piece. A text stays open until the next part comes: its sources may be told behind it.

        A text that is but a token is no next part.
        """
        is_bare = isinstance(part, ir.Text) and not part.text and choice.behind is None
        if is_bare and choice.open is not None and choice.open[1] in choice.texts:
            choice.behind, choice.open = choice.open[1], None
        else:
            self._close_text(choice, made)
        if isinstance(part, ir.Reasoning) or getattr(part, "signature", None) is not None:
            choice.loose = None
        if isinstance(part, ir.Text):
            choice.texts[choice.parts] = [part.text]
        told = unfold(choice.index, choice.parts, part, is_ours=True)
        if isinstance(part, ir.Text):
            choice.open = (None, choice.parts)
            told.pop()
        made += told
        choice.parts += 1

    # Calls.

    def _feed_call(self, choice: Choice, raw: JsonObject, made: list[events.Event]) -> None:
        call = raw["functionCall"]
        if choice.partial or call.get("willContinue") or call.get("partialArgs"):
            if choice.partial is None:
                choice.partial = PartialCalls()
            for part in choice.partial.take(raw):
                self._call(choice, part, made)
        elif any(call.values()):
            self._call(choice, raw, made)
        elif len(raw) > 1:  # behind the end of a call in pieces an empty one is none, but what stands beside it counts
            others = {key: value for key, value in raw.items() if key != "functionCall"}
            self._feed_marked_text(choice, {"text": ""} | others, made)

    def _end_calls(self, choice: Choice, made: list[events.Event]) -> None:
        for part in choice.partial.end() if choice.partial else ():
            self._call(choice, part, made)

    def _call(self, choice: Choice, raw: JsonObject, made: list[events.Event]) -> None:
        call = decode_call(raw, choice.at, choice.calls)
        choice.called = [call]
        if is_carried(call.signature):
            self._take_carried(choice, call, made)
        self._close_text(choice, made)
        made += unfold(choice.index, choice.parts, call, is_ours=True)
        choice.parts += 1

    def _close(self, choice: Choice, made: list[events.Event]) -> None:
        """End a candidate: what it rests on, whatever is open, and why."""
        if choice.partial:
            self._end_calls(choice, made)
        unread = choice.cite(made)
        if choice.tokens:
            number = choice.open_texts[0] if choice.open_texts else self._text(choice, ir.Text, made)
            made.append(events.Delta(choice.index, number, "", choice.tokens))
        self._close_text(choice, made)
        is_ended = "finishReason" in choice.finish
        finish = decode_finish(choice.finish, choice.called, choice.src) if is_ended else decode_blocked(self._feedback)
        if unread:
            choice.extra |= unread
        made.append(events.Finished(choice.index, finish))
