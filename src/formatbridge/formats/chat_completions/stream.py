"""Streams of chat_completions: chunks with deltas, several choices side by side, usage after the end, ``[DONE]`` last.

A delta names no part: text follows text until another kind comes, calls are told apart by their index. Servers break every rule of this:
usage comes anywhere, the role in every delta or never, indexes are missing or used again, the end comes twice or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from formatbridge import ir
from formatbridge._codec import dumps
from formatbridge.formats._extra import joined, rest
from formatbridge.formats._logprobs import decode_tokens
from formatbridge.formats._signatures import decode_token
from formatbridge.formats.chat_completions.answer import decode_message
from formatbridge.formats.chat_completions.content import call_stem
from formatbridge.formats.chat_completions.finish import decode_finish
from formatbridge.formats.chat_completions.parts import decode_content
from formatbridge.formats.chat_completions.reasoning import decode_reasoning
from formatbridge.formats.chat_completions.response import LOGPROBS, decode_error
from formatbridge.formats.chat_completions.usage import decode_usage
from formatbridge.ir import events
from formatbridge.streaming.collect import unfold

JsonObject = dict[str, Any]

_CHUNK = frozenset({"id", "object", "created", "model", "choices", "usage", "error", "obfuscation"})
_CHOICE = frozenset({"index", "delta", "finish_reason", "logprobs", "stop_reason"})
_DELTA = frozenset({
    "role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning", "reasoning_details", "annotations",
    "audio", "images",
})  # fmt: skip
_WORDS = frozenset({"role", "content"})


@dataclass(slots=True)
class _Choice:
    """One choice as far as it has come. ``open``: the kind and number of the part that text goes to.

    ``ids``: the calls by slot; ``latest``: the slot that an index named last; ``tokens``: how many log probabilities came, by their kind.
    """

    index: int
    parts: int = 0
    open: tuple[str, int] | None = None
    calls: dict[int, int] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, JsonObject] = field(default_factory=dict)
    kinds: list[ir.Part] = field(default_factory=list)
    finish: JsonObject | None = None
    is_closed: bool = False
    tokens: dict[str, int] = field(default_factory=dict)
    extra: JsonObject | None = None


class StreamDecoder:
    """Reads the chunks of one stream. ``is_complete``: the stream said that it is over."""

    END = "finish_reason or [DONE]"

    def __init__(self) -> None:
        self.is_complete = False
        self._choices: dict[int, _Choice] = {}
        self._answer_id: str | None = None
        self._extra: JsonObject = {}
        self._has_failed = False
        self._tail: list[events.Event] = []

    def feed(self, raw: JsonObject) -> list[events.Event]:
        """Take one chunk and return what happened."""
        if self._has_failed:
            return []
        made: list[events.Event] = []
        if self._answer_id is None:
            self._answer_id = raw.get("id") or ""
            made.append(events.Start(raw.get("id") or None, raw.get("model") or None, raw.get("created")))
        for choice in raw.get("choices") or ():
            self._feed_choice(choice, made)
        if raw.get("usage"):
            self._tail = [events.UsageTold(decode_usage(raw["usage"], "/usage"))]
        if not _CHUNK.issuperset(raw):
            self._extra |= rest(raw, _CHUNK) or {}
        if raw.get("error") or (raw.get("choices") is None and "usage" not in raw and ("message" in raw or "detail" in raw)):
            self._has_failed = self.is_complete = True
            made.append(events.Failed(decode_error(raw, status=None)))
        return made

    def grow(self, text: str) -> None:
        """Take another piece of the last event's text: nothing here depends on how much came."""

    def done(self) -> list[events.Event]:
        """Take ``[DONE]``: whatever is open is over."""
        self.is_complete = True
        return []

    def finish(self) -> list[events.Event]:
        """Take the end of the bytes; complete where a choice gave its reason or ``[DONE]`` came."""
        if self._has_failed:
            return []
        if not self.is_complete and not any(choice.finish for choice in self._choices.values()):
            return []
        if any(choice.finish is None for choice in self._choices.values()) and not self.is_complete:
            return []
        self.is_complete = True
        made: list[events.Event] = []
        for choice in self._choices.values():
            self._close(choice, made)
            finish = decode_finish(choice.finish or {}, choice.kinds, f"/choices/{choice.index}")
            made.append(events.Finished(choice.index, finish, choice.extra))
        if self._extra:
            made.append(events.Meta(self._extra))
        return [*made, *self._tail, events.End()]

    # One choice of one chunk.

    def _feed_choice(self, raw: JsonObject, made: list[events.Event]) -> None:
        index = raw.get("index") or 0
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _Choice(index)
        delta = raw.get("delta") or {}
        if delta:
            self._feed_delta(choice, delta, made)
        if raw.get("logprobs"):
            self._feed_logprobs(choice, raw["logprobs"], made)
        if not _CHOICE.issuperset(raw):
            choice.extra = joined(choice.extra, rest(raw, _CHOICE))
        if raw.get("finish_reason"):
            choice.finish = {key: raw.get(key) for key in ("finish_reason", "stop_reason")}
            self._close(choice, made)

    def _feed_delta(self, choice: _Choice, delta: JsonObject, made: list[events.Event]) -> None:
        content = delta.get("content")
        if _WORDS.issuperset(delta):  # the usual case: nothing but text
            if content:
                self._feed_content(choice, content, made)
            return
        if delta.keys() & {"reasoning_content", "reasoning", "reasoning_details"}:
            self._feed_thoughts(choice, delta, made)
        if content:
            self._feed_content(choice, content, made)
        if delta.get("refusal"):
            self._grow(choice, "refusal", ir.Refusal(text=""), delta["refusal"], made)
        for position, call in enumerate(delta.get("tool_calls") or ()):
            self._feed_call(choice, call, position, made)
        if any((delta.get("function_call") or {}).values()):  # some servers send an empty one to say that there is none
            self._feed_call(choice, {"index": 0, "function": delta["function_call"]}, 0, made)
        if delta.keys() & {"annotations", "audio", "images"}:
            self._feed_rest(choice, delta, made)
        if not _DELTA.issuperset(delta):
            extra = rest(delta, _DELTA, "message/")
            choice.extra = joined(choice.extra, extra)

    def _feed_thoughts(self, choice: _Choice, delta: JsonObject, made: list[events.Event]) -> None:
        parts, _ = decode_reasoning(delta, f"/choices/{choice.index}/message")
        for part in parts:
            if not isinstance(part, ir.Reasoning):
                continue
            if part.signature and part.signature.kind != "thinking" and not part.text:  # a block of its own, which signs no text
                self._whole(choice, part, made)
            else:
                self._grow(choice, "reasoning", part, part.text, made)

    def _feed_content(self, choice: _Choice, content: str | list[JsonObject], made: list[events.Event]) -> None:
        if isinstance(content, str):
            self._grow(choice, "text", ir.Text("", f"/choices/{choice.index}/message/content"), content, made)
            return
        for part in decode_content(content, f"/choices/{choice.index}/message/content"):
            if isinstance(part, ir.Reasoning):
                self._grow(choice, "reasoning", part, part.text, made)
            elif isinstance(part, ir.Text):
                self._grow(choice, "text", ir.Text("", part.src), part.text, made)
            else:
                self._whole(choice, part, made)

    def _grow(self, choice: _Choice, kind: str, part: ir.Part, text: str, made: list[events.Event]) -> None:
        """Add text to the open part of a kind; a token says that a thought is over."""
        number = self._open(choice, kind, part, made)
        if text:
            made.append(events.Delta(choice.index, number, text))
        if isinstance(part, ir.Reasoning) and part.signature:
            made.append(events.PartMeta(choice.index, number, signature=part.signature))
            self._close_text(choice, made)

    def _open(self, choice: _Choice, kind: str, part: ir.Part, made: list[events.Event]) -> int:
        """Return the number of the open part of a kind; another kind closes what is open and opens the next."""
        if choice.open is None or choice.open[0] != kind:
            self._close_text(choice, made)
            if isinstance(part, ir.Reasoning):
                part = ir.Reasoning(src=part.src, summary=part.summary, id=part.id, extra=part.extra)
            choice.open = (kind, self._start(choice, part, made))
        return choice.open[1]

    def _start(self, choice: _Choice, part: ir.Part, made: list[events.Event]) -> int:
        number, choice.parts = choice.parts, choice.parts + 1
        choice.kinds.append(part)
        made.append(events.PartStart(choice.index, number, part))
        return number

    def _whole(self, choice: _Choice, part: ir.Part, made: list[events.Event]) -> None:
        """Take a part that comes in one piece."""
        self._close_text(choice, made)
        made += unfold(choice.index, choice.parts, part)
        choice.parts += 1
        choice.kinds.append(part)

    def _close_text(self, choice: _Choice, made: list[events.Event]) -> None:
        if choice.open is not None:
            made.append(events.PartEnd(choice.index, choice.open[1]))
            choice.open = None

    # Tool calls.

    def _feed_call(self, choice: _Choice, raw: JsonObject, position: int, made: list[events.Event]) -> None:
        """Add to the call that an index names; an index that is used again with another id begins a new call."""
        slot = self._slot(choice, raw, position)
        body = raw.get("custom") or raw.get("function") or {}
        text = body.get("input") if raw.get("custom") else body.get("arguments")
        text = text if isinstance(text, str) else dumps(text).decode() if text else ""
        if slot in choice.calls:
            if text:
                made.append(events.Delta(choice.index, choice.calls[slot], text))
            token = ((raw.get("extra_content") or {}).get("google") or {}).get("thought_signature")
            if token:
                place = f"/choices/{choice.index}/message/tool_calls/{slot}/extra_content/google/thought_signature"
                signature = decode_token(token, "generate_content", "thought", place)
                made.append(events.PartMeta(choice.index, choice.calls[slot], signature=signature))
            return
        held = choice.waiting.setdefault(slot, {"text": "", "kind": "function"})
        held["id"] = raw.get("id") or held.get("id")
        held["name"] = body.get("name") or held.get("name")
        held["kind"] = "custom" if raw.get("custom") else held["kind"]
        held["extra"] = raw.get("extra_content") or held.get("extra")
        held["text"] += text
        if held["id"] and held["name"]:
            self._open_call(choice, slot, made)

    def _slot(self, choice: _Choice, raw: JsonObject, position: int) -> int:
        """Find the slot of a call. Some servers leave the index out, and some use one again for a call with another id."""
        index, call_id = raw.get("index"), raw.get("id")
        known, slot = choice.ids, choice.latest.get(index, index) if index is not None else None
        if slot is None:
            latest = max(known, default=-1)
            slot = next((at for at, held in known.items() if held == call_id), latest + 1) if call_id else max(latest, position, 0)
        elif call_id and known.get(slot) not in (None, "", call_id):
            slot = next((at for at, held in known.items() if held == call_id), max(known) + 1)
        known.setdefault(slot, "")
        if index is not None:
            choice.latest[index] = slot
        if call_id:
            known[slot] = call_id
        return int(slot)

    def _open_call(self, choice: _Choice, slot: int, made: list[events.Event]) -> None:
        held = choice.waiting.pop(slot)
        self._close_text(choice, made)
        made_id = f"{call_stem(self._answer_id or '', choice.index)}_{slot}"
        message = {"role": "assistant", "tool_calls": [_call_of(held, made_id)]}
        parts, _ = decode_message(message, f"/choices/{choice.index}/message", self._answer_id or "", choice.index)
        call = parts[0]
        assert isinstance(call, ir.ToolCall)
        call.arguments, call.src = "", f"/choices/{choice.index}/message/tool_calls/{len(choice.calls)}"
        call.id_made = not held["id"]
        choice.calls[slot] = self._start(choice, call, made)
        if held["text"]:
            made.append(events.Delta(choice.index, choice.calls[slot], held["text"]))

    # What comes rarely.

    def _feed_rest(self, choice: _Choice, delta: JsonObject, made: list[events.Event]) -> None:
        """Take citations, images and sound, which deltas bring whole or in pieces."""
        src = f"/choices/{choice.index}/message"
        text = next((number for number, part in enumerate(choice.kinds) if isinstance(part, ir.Text)), None)
        given = {key: delta[key] for key in ("annotations", "images") if delta.get(key)}
        parts, unread = decode_message({"role": "assistant", "content": "x", **given}, src, "", choice.index)
        if text is not None and isinstance(parts[0], ir.Text):
            made += [events.PartMeta(choice.index, text, citation=citation) for citation in parts[0].citations or ()]
        choice.extra = joined(choice.extra, {f"message/{key}": value for key, value in (unread or {}).items()})
        for part in parts[1:]:
            self._whole(choice, part, made)
        if delta.get("audio"):
            self._feed_audio(choice, delta["audio"], made)

    def _feed_audio(self, choice: _Choice, raw: JsonObject, made: list[events.Event]) -> None:
        src = f"/choices/{choice.index}/message/audio"
        if choice.open is None or choice.open[0] != "audio":
            self._close_text(choice, made)
            part = ir.Media(kind="audio", data="", id=raw.get("id"), src=src)
            choice.open = ("audio", self._start(choice, part, made))
        if raw.get("data"):
            made.append(events.Delta(choice.index, choice.open[1], raw["data"]))
        if raw.get("transcript"):
            made.append(events.PartMeta(choice.index, choice.open[1], transcript=raw["transcript"]))

    def _feed_logprobs(self, choice: _Choice, raw: JsonObject, made: list[events.Event]) -> None:
        """Hand on the tokens of a text or a refusal, with the delta that brought them where there is one."""
        place = f"/choices/{choice.index}"
        for name, kind, part in (
            ("content", "text", ir.Text("", f"{place}/message/content")),
            ("refusal", "refusal", ir.Refusal(text="")),
        ):
            given = raw.get(name)
            if not given:
                continue
            keeps = choice.open is not None and (
                kind == "text" or choice.open[0] == kind
            )  # whatever is open has tokens of its text
            number = choice.open[1] if choice.open and keeps else self._open(choice, kind, part, made)
            tokens = decode_tokens(given, f"{place}/logprobs/{name}", choice.tokens.get(name, 0))
            choice.tokens[name] = choice.tokens.get(name, 0) + len(tokens)
            last = made[-1] if made else None
            if isinstance(last, events.Delta) and last.index == number:
                last.logprobs = tokens
            else:
                made.append(events.Delta(choice.index, number, "", tokens))
        if not LOGPROBS.issuperset(raw):
            choice.extra = joined(choice.extra, rest(raw, LOGPROBS, "logprobs/"))

    def _close(self, choice: _Choice, made: list[events.Event]) -> None:
        """Close whatever is open, once; calls that never got a name or an id get one."""
        if choice.is_closed and not choice.open:
            return
        choice.is_closed = True
        for slot in list(choice.waiting):
            held = choice.waiting[slot]
            held["name"] = held.get("name") or ""
            self._open_call(choice, slot, made)
        self._close_text(choice, made)
        made += [events.PartEnd(choice.index, number) for number in choice.calls.values()]
        choice.calls = {}


def _call_of(held: JsonObject, made_id: str) -> JsonObject:
    """Put a held call into the shape that a whole answer has."""
    body = {"name": held["name"], "input" if held["kind"] == "custom" else "arguments": ""}
    call = {"id": held["id"] or made_id, "type": held["kind"], held["kind"]: body}
    return call | ({"extra_content": held["extra"]} if held.get("extra") else {})
