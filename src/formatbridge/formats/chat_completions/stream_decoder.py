"""Streams of chat_completions, read: chunks with deltas, several choices side by side, usage after the end, ``[DONE]`` last.

A delta names no part: text follows text until another kind comes, calls are told apart by their index. Servers break every rule of this:
usage comes anywhere, the role in every delta or never, indexes are missing or used again, the end comes twice or not at all.
"""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.chat_completions.content import decode_part
from formatbridge.formats.chat_completions.conversation import BESIDE
from formatbridge.formats.chat_completions.errors import decode_error, told_failure
from formatbridge.formats.chat_completions.reasoning import REASONING, decode_outer_token, decode_reasoning, index_of
from formatbridge.formats.chat_completions.response import LOGPROBS, decode_finish
from formatbridge.formats.chat_completions.stream_block_parts import feed_block
from formatbridge.formats.chat_completions.stream_calls import Calls, Held, opened, text_of
from formatbridge.formats.chat_completions.stream_choice import Choice
from formatbridge.formats.chat_completions.stream_extras import beside_token, feed_rest, feed_token
from formatbridge.formats.chat_completions.stream_thinking_blocks import Blocks, Item
from formatbridge.formats.chat_completions.stream_thoughts import Thoughts
from formatbridge.formats.chat_completions.stream_untold import untold
from formatbridge.formats.chat_completions.usage import decode_usage
from formatbridge.formats.shared.choices import Numbers, fill_missing_head, head_of
from formatbridge.formats.shared.errors import is_bare_error
from formatbridge.formats.shared.logprobs import decode_tokens
from formatbridge.formats.shared.unmodelled_fields import Pieces, gathered, has_values, joined, rest
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject

_HEAD = frozenset({"id", "object", "created", "model", "choices", "usage", "obfuscation"})
_CHUNK = _HEAD | {"error"}
_CHOICE = frozenset({"index", "delta", "finish_reason", "logprobs", "stop_reason"})
_DELTA = REASONING | {"role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio", "images"}
_WORDS = frozenset({"role", "content"})
_BEFORE_REFUSAL = REASONING | BESIDE | _WORDS


class StreamDecoder:
    """Reads the chunks of one stream. ``is_complete``: the stream said that it is over."""

    END = "finish_reason, or [DONE] behind a whole answer"

    def __init__(self) -> None:
        self.is_complete = False
        self.start: events.Start | None = events.Start(None, None)
        self._told = events.Start(None, None)
        self._choices: dict[int, Choice] = {}
        self._numbers = Numbers()
        self._answer_id = ""
        self._extra: JsonObject = {}
        self._is_over = False
        self._growing: Thoughts | Blocks | Held | None = None
        self._more: list[Pieces] = []  # where the fields go that nobody knows, of the last chunk
        self._tail: list[events.Event] = []

    @property
    def tells_more(self) -> bool:
        """Whether the last chunk had fields that nobody knows."""
        return bool(self._more)

    def feed(self, raw: JsonObject) -> list[events.Event]:
        """Take one chunk and return what happened."""
        if self._is_over:
            return []
        made: list[events.Event] = []
        self._growing, self._more = None, []
        error = self._failure_in(raw) or (raw.get("choices") is None and "usage" not in raw and is_bare_error(raw))
        if self.start is not None:
            self._begin(raw, made, is_last=bool(error))
        else:
            self._told = fill_missing_head(self._told, *head_of(raw, "created"), made)
        for choice in raw.get("choices") or ():
            self._feed_choice(choice, made)
        if raw.get("usage"):
            self._tail = [events.UsageTold(decode_usage(raw["usage"], "/usage"))]
        is_chunk = not error or bool(raw.get("choices"))
        if is_chunk and not _CHUNK.issuperset(raw):
            self._keep(rest(raw, _CHUNK) or {})
        if error:
            self._is_over = self.is_complete = True
            bare = {"error": error} if is_chunk else raw
            made += [*self.beside(), events.Failed(decode_error(bare, status=None))]
        return made

    def _keep(self, told: JsonObject) -> None:
        """Keep the fields of a chunk with those of others; what says nothing replaces nothing."""
        self._extra |= {key: value for key, value in told.items() if value or key not in self._extra}

    def _failure_in(self, raw: JsonObject) -> JsonObject | str | None:
        """Return what went wrong; in one of several choices it ends that one, and a chunk mostly brings one of them."""
        failure, at = told_failure(raw)
        if failure and at and self._choices.keys() - {raw["choices"][0].get("index") or 0}:
            return None
        return failure

    def grow(self, text: str) -> None:
        """Take the last event once more, with another piece of its text.

        Kept are thoughts, which may be told again, and arguments, which may break off.
        """
        if self._growing is not None:
            self._growing.add(text)
        for pieces in self._more:
            pieces.again()

    def _begin(self, raw: JsonObject, made: list[events.Event], *, is_last: bool) -> None:
        """Tell who answers. Some servers send something ahead that has no choices yet and may name nobody."""
        assert self.start is not None
        given_id, model, created = head_of(raw, "created")
        self._answer_id = given_id or ""
        known = self.start
        self.start = events.Start(given_id, known.model or model, known.created or created)
        if raw.get("choices") or given_id or is_last:
            made.append(self.start)
            self._told, self.start = self.start, None

    def recount(self, raw: JsonObject) -> None:
        """Take nothing: no event with text counts here."""

    def done(self) -> list[events.Event]:
        """Take ``[DONE]``, behind which nothing counts. It ends what is open, if that says something, and nothing by half."""
        self.is_complete = self.is_complete or self._is_whole()
        happened = self.finish()
        self._is_over = True
        return happened

    def _is_whole(self) -> bool:
        """Say whether an answer without a reason to end can be all. One whose server ran out of time ends in ``[DONE]``, too."""
        return bool(self._choices) and all(choice.finish or choice.is_whole for choice in self._choices.values())

    def finish(self) -> list[events.Event]:
        """Take the end of the bytes; complete where each choice gave its reason or ``[DONE]`` found none by half."""
        if self._is_over:
            return []
        if not self.is_complete and not any(choice.finish for choice in self._choices.values()):
            return []
        if any(choice.finish is None for choice in self._choices.values()) and not self.is_complete:
            return []
        self.is_complete = self._is_over = True
        made: list[events.Event] = []
        if self.start is not None:
            self._begin({}, made, is_last=True)
        for choice in self._choices.values():
            self._close(choice, made)
            self._end(choice, made)
            finish = decode_finish(choice.ending, choice.parts, f"/choices/{choice.index}")
            if finish.stop_sequence is not None:
                choice.stop = None  # that has it
            made.append(events.Finished(choice.index, finish))
        return [*made, *self.beside(), events.End()]

    def untold(self) -> list[events.Event]:
        """Return what the end would tell, or would tell otherwise: of open parts, and of those that wait for one."""
        return [event for choice in self._choices.values() for event in untold(choice, self._answer_id)]

    def beside(self) -> list[events.Event]:
        """Return what is known of the answer beside its parts and will not change."""
        told = [(choice.left_over(), choice.index) for choice in self._choices.values()]
        made: list[events.Event] = [events.Meta(extra, index) for extra, index in [*told, (self._extra, None)] if extra]
        return made + self._tail

    # One choice of one chunk.

    def _feed_choice(self, raw: JsonObject, made: list[events.Event]) -> None:
        index = raw.get("index") or 0
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = Choice(self._numbers.next(index))
        place = "message" if raw.get("delta") is None else "delta"  # some servers answer with the whole message in one event
        delta = raw.get(place) or {}
        told = raw.get("logprobs")
        if (
            told and told.get("content") and delta.get("content") and delta.get("refusal")
        ):  # the tokens go with the text, before it closes
            first = {key: value for key, value in delta.items() if key in _BEFORE_REFUSAL}
            self._feed_choice({"index": index, place: first, "logprobs": {"content": told["content"]}}, made)
            delta, told = ({key: value for key, value in whole.items() if key not in first} for whole in (delta, told))
        if delta and self._feed_words(choice, delta, made):
            if told and (delta.get("content") or delta.get("refusal")):
                self._feed_logprobs(choice, told, made)  # before what closes the text that they are of
                told = None
            self._feed_others(choice, delta, made)
        if told:
            self._feed_logprobs(choice, told, made)
        if not (_CHOICE.issuperset(raw) and _DELTA.issuperset(delta)):
            unread = None if BESIDE.isdisjoint(delta) else beside_token(delta)
            choice.unknown.take(joined(rest(delta, _DELTA | BESIDE, "message/"), unread, rest(raw, _CHOICE | {place})))
            self._more += [choice.unknown] if choice.unknown.latest else []
        if raw.get("stop_reason") is not None:
            choice.stop = raw["stop_reason"]
        if raw.get("finish_reason"):
            choice.finish = raw["finish_reason"]
            self._close(choice, made)

    def _feed_words(self, choice: Choice, delta: JsonObject, made: list[events.Event]) -> bool:
        """Take thoughts, text and a refusal; return whether there may be more."""
        content = delta.get("content")
        if _WORDS.issuperset(delta):  # the usual case: nothing but text
            if content:
                self._feed_content(choice, content, made)
            return False
        if "extra_content" in delta:
            feed_token(choice, delta, made)
        if not REASONING.isdisjoint(delta):
            self._feed_thoughts(choice, delta, made)
        if content:
            self._feed_content(choice, content, made)
        if delta.get("refusal"):
            refusal = ir.Refusal(text="", src=f"/choices/{choice.index}/message/refusal")
            choice.grow("refusal", refusal, delta["refusal"], made)
        return True

    def _feed_others(self, choice: Choice, delta: JsonObject, made: list[events.Event]) -> None:
        """Take calls, and what stands beside the text."""
        for position, call in enumerate(delta.get("tool_calls") or ()):
            self._feed_call(choice, call, position, made)
        if has_values(delta.get("function_call") or {}):
            self._feed_call(choice, {"index": 0, "function": delta["function_call"]}, 0, made)
        if delta.keys() & {"annotations", "audio", "images"}:
            feed_rest(choice, delta, made)

    def _feed_thoughts(self, choice: Choice, delta: JsonObject, made: list[events.Event]) -> None:
        src = f"/choices/{choice.index}/message"
        parts, unread = decode_reasoning(delta, src, is_piece=True)
        blocks = choice.blocks
        items: list[Item] = []
        if blocks is not None or delta.get("thinking_blocks"):
            blocks = choice.blocks = blocks or Blocks()
            items, parts, leftover = blocks.take(delta, parts, src, choice.thoughts, choice.open_thought)
            unread = joined(unread, leftover)
        indexes = {
            f"{src}/reasoning_details/{index_of(detail)}": index_of(detail) for detail in delta.get("reasoning_details") or ()
        }
        if unread:
            choice.extra = gathered(choice.extra, {f"message/{name}": text for name, text in unread.items()})
        for part in parts:
            self._feed_thought(choice, part, made, indexes.get(part.src))
        for item in items:
            feed_block(choice, item, made)
            self._growing = blocks if item.shows else self._growing
        if blocks is not None:
            blocks.follow(choice.open_thought)

    def _feed_content(self, choice: Choice, content: str | list[JsonObject] | JsonObject, made: list[events.Event]) -> None:
        content = dumps(content).decode() if isinstance(content, dict) else content
        if isinstance(content, str):
            choice.grow("text", ir.Text("", f"/choices/{choice.index}/message/content"), content, made)
            return
        for raw in content:
            before, at = len(choice.parts), choice.items.get("content", 0)
            part = decode_part(raw, f"/choices/{choice.index}/message/content/{at}")
            if isinstance(part, ir.Reasoning):
                self._feed_thought(choice, part, made)
            elif isinstance(part, ir.Text) and not (part.extra or part.cache):
                choice.grow("text", ir.Text("", part.src), part.text, made)
            else:
                choice.add(part, made)
            choice.items["content"] = at + len(choice.parts) - before  # what goes on with the part before is no item of its own

    def _feed_thought(self, choice: Choice, part: ir.Reasoning, made: list[events.Event], index: int | None = None) -> None:
        """Add to the open thought; its token ends it, and may come with all of its text once more, which is no text then.

        Another index is that of another thought, and a token alone signs what has its index.
        """
        late = choice.thoughts.signed(index, part, choice.open[1] if choice.open is not None else None)
        if late is not None and part.signature:
            made.append(events.Signed(choice.index, late, part.signature))
            choice.keep_beside(part.src, part.extra or {})
            return
        self._go_on(choice, part, index, made)

    def _go_on(self, choice: Choice, part: ir.Reasoning, index: int | None, made: list[events.Event]) -> None:
        opened = choice.parts[choice.open[1]] if choice.open is not None else None
        is_its_own = part.id is None or not isinstance(opened, ir.Reasoning) or opened.id != part.id
        if part.signature and part.signature.kind != "thinking" and not part.text and is_its_own:
            choice.add(part, made)  # a block of its own, which signs no text
            return
        is_open, thoughts = isinstance(opened, ir.Reasoning), choice.thoughts
        if is_open and is_its_own and thoughts.is_other(index):
            choice.leave(made)
            is_open = False
        is_blank = part.text in ("", "\n\n") and not part.signature and not part.id  # as the line between two thoughts
        if thoughts.is_past(part) or (is_blank and not is_open and not thoughts.is_first):
            return
        if part.extra and is_open:
            choice.keep(part.src, part.extra)
        self._grow_thought(choice, part, index, made, is_again=is_open and thoughts.is_again(part))

    def _grow_thought(
        self, choice: Choice, part: ir.Reasoning, index: int | None, made: list[events.Event], *, is_again: bool
    ) -> None:
        thoughts = choice.thoughts
        number = choice.enter("reasoning", part, made)
        text = "" if is_again else thoughts.grow(part, index)
        thoughts.note(index, number, part)
        if text:
            self._growing = thoughts
            made.append(events.Delta(choice.index, number, text))
        if part.signature is not None:
            made.append(events.PartMeta(choice.index, number, signature=part.signature))
        if part.signature is not None or is_again:
            self._close_thought(choice, part, made)

    def _close_thought(self, choice: Choice, part: ir.Reasoning, made: list[events.Event]) -> None:
        """End the open thought by what tells it whole, and may name it."""
        assert choice.open is not None
        number = choice.open[1]
        opened = choice.parts[number]
        whole = replace(part, text=choice.thoughts.text(), src=opened.src)
        is_known = isinstance(opened, ir.Reasoning) and (opened.id, opened.summary) == (part.id, part.summary)
        made.append(events.PartEnd(choice.index, number, None if is_known else whole, choice.take_more()))
        choice.open = None

    # Tool calls.

    def _feed_call(self, choice: Choice, raw: JsonObject, position: int, made: list[events.Event]) -> None:
        """Add to the call that an index names, or to the next one at that index."""
        calls = choice.calls = choice.calls or Calls()
        slot = calls.slot_of(raw, position)
        calls.note_unread(raw, slot)
        number = calls.open.get(slot)
        if number is None:
            held = calls.waiting.setdefault(slot, Held())
            calls.note_again(raw, slot, held)
            held.take(raw)
            if held.id and held.name:
                self._open_call(choice, calls, slot, made)
            return
        calls.note_again(raw, slot, calls.begun[slot])
        if text := text_of(raw):
            self._growing = calls.begun[slot]
            self._growing.add(text)
            made.append(events.Delta(choice.index, number, text))
        signature, _ = decode_outer_token(raw, f"/choices/{choice.index}/message/tool_calls/{slot}")
        if signature is not None:
            made.append(events.PartMeta(choice.index, number, signature=signature))

    def _open_call(self, choice: Choice, calls: Calls, slot: int, made: list[events.Event]) -> None:
        held = calls.waiting.pop(slot)
        choice.leave(made)
        call = opened(held, slot, calls.count, choice.index, self._answer_id)
        calls.count += 1
        number = calls.open[slot] = choice.start(call, made)
        calls.begun[slot] = held
        if text := "".join(held.pieces):
            made.append(events.Delta(choice.index, number, text))

    def _feed_logprobs(self, choice: Choice, raw: JsonObject, made: list[events.Event]) -> None:
        """Hand on the tokens of a text or a refusal, with the delta that brought them where there is one."""
        place = f"/choices/{choice.index}"
        for name, kind, part in (
            ("content", "text", ir.Text("", f"{place}/message/content")),
            ("refusal", "refusal", ir.Refusal(text="", src=f"{place}/message/refusal")),
        ):
            given = raw.get(name)
            if not given:
                continue
            number = choice.weighed(kind)
            number = choice.enter(kind, part, made) if number is None else number
            tokens = decode_tokens(given, f"{place}/logprobs/{name}", choice.tokens.get(name, 0))
            choice.tokens[name] = choice.tokens.get(name, 0) + len(tokens)
            last = made[-1] if made else None
            if isinstance(last, events.Delta) and last.index == number:
                last.logprobs = tokens
            else:
                made.append(events.Delta(choice.index, number, "", tokens))
        if not LOGPROBS.issuperset(raw):
            choice.extra = gathered(choice.extra, rest(raw, LOGPROBS, "logprobs/"))

    def _close(self, choice: Choice, made: list[events.Event]) -> None:
        """Close the text that is open; citations that waited for one get one."""
        if choice.notes:
            choice.enter("text", ir.Text("", f"/choices/{choice.index}/message/content"), made)
        choice.leave(made)

    def _end(self, choice: Choice, made: list[events.Event]) -> None:
        """End what may go on behind the reason of the end: the sound and the calls, which get the name or the id that never came."""
        if calls := choice.calls:
            for slot in list(calls.waiting):
                self._open_call(choice, calls, slot, made)
            made += [events.PartEnd(choice.index, number, extra=calls.unread.get(slot)) for slot, number in calls.open.items()]
        if choice.beside is not None:
            choice.add(ir.Text("", choice.beside.src, signature=choice.beside), made)
        if choice.sound is not None:
            made.append(events.PartEnd(choice.index, choice.sound))
