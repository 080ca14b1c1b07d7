"""The output of an answer: what a turn in a request's history has, and ids, citations, probabilities and carried tokens besides."""

from __future__ import annotations

from collections import deque

from formatbridge import ir
from formatbridge.formats.responses.calls import encode_answer_call
from formatbridge.formats.responses.citations import encode_citations, shift
from formatbridge.formats.responses.content import decode_item, kind_of, settle
from formatbridge.formats.responses.hosted_content import encode_generated_image, encode_hosted, has_item
from formatbridge.formats.responses.ids import ItemIds
from formatbridge.formats.responses.reasoning import carry_token, encode_answer_reasoning, encode_item
from formatbridge.formats.shared.logprobs import PendingTokens, decode_tokens, drop_tokens, encode_tokens
from formatbridge.formats.shared.parts import encode_opaque
from formatbridge.formats.shared.unmodelled_fields import gathered
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger


def decode_answer(items: list[JsonObject]) -> tuple[list[ir.Part], list[ir.TokenLogprob] | None, JsonObject | None]:
    """Read the output: its parts, the probabilities of their tokens, and what belongs to no part, by pointer from the root."""
    parts: list[ir.Part] = []
    tokens: list[ir.TokenLogprob] = []
    extra: JsonObject | None = None
    length = 0
    for index, raw in enumerate(items):
        kind = raw.get("type")
        if type(kind) is not str:
            kind = kind_of(raw)
        leftover = decode_item(raw, kind, f"/output/{index}", parts)
        if leftover:
            extra = gathered(extra, leftover)
        if kind == "message":
            length = take_message(parts, raw["content"], tokens, length)
    settle(parts)
    return parts, tokens or None, extra


def encode_answer(choice: ir.Choice, ids: ItemIds, losses: Ledger, options: Options) -> list[JsonObject]:
    """Write the output of an answer."""
    return _Encoder(choice, ids, losses, options).encode()


def take_message(parts: list[ir.Part], content: str | list[JsonObject], tokens: list[ir.TokenLogprob], start: int) -> int:
    """Go through the message that was read last: citations count from the start of the answer, probabilities belong to all of it.

    Returns where the next one starts.
    """
    size = 1 if isinstance(content, str) else len(content)
    for part in parts[len(parts) - size :]:
        if type(part) is ir.Text:
            if part.citations and start:
                shift(part.citations, start)
            start += len(part.text)
            if part.extra and part.extra.get("logprobs"):
                tokens += decode_tokens(part.extra.pop("logprobs"), f"{part.src}/logprobs")
    return start


class _Encoder:
    """Writes the parts of an answer as items; adjacent words become one message."""

    __slots__ = ("_ids", "_items", "_length", "_losses", "_options", "_parts", "_results", "_tokens", "_used")

    def __init__(self, choice: ir.Choice, ids: ItemIds, losses: Ledger, options: Options) -> None:
        self._parts = choice.parts
        self._tokens = PendingTokens(choice.logprobs) if choice.logprobs else None
        self._ids = ids
        self._losses = losses
        self._options = options
        self._items: list[JsonObject] = []
        self._length = 0
        self._used: set[int] = set()
        self._results: dict[tuple[str, str], deque[int]] | None = None

    def encode(self) -> list[JsonObject]:
        """Write all items."""
        words: list[ir.Text | ir.Refusal] = []
        for index, part in enumerate(self._parts):
            if type(part) is ir.Text or type(part) is ir.Refusal:
                words = self._add_words(index, part, words)
                continue
            if words:
                self._write_words(words)
                words = []
            if type(part) is ir.ToolCall and part.signature is None:
                self._items.append(encode_answer_call(part, len(self._items), self._ids, self._losses))
            elif type(part) is ir.Opaque:
                text = encode_opaque(part, self._losses)
                words = [text] if text else []
            else:
                self._write_part(index, part)
        if words:
            self._write_words(words)
        if self._tokens:
            drop_tokens(self._tokens.rest(), self._losses)  # of calls, say, or of the end
        return self._items

    def _add_words(self, index: int, part: ir.Text | ir.Refusal, words: list[ir.Text | ir.Refusal]) -> list[ir.Text | ir.Refusal]:
        """Add words to those of their message, which goes out first if they belong to the next one; return what waits."""
        token = part.signature if type(part) is ir.Text else None
        if words and (token or words[-1].id != part.id):
            self._write_words(words)
            words = []
        if token:
            self._write_token(token, "call" if part.text or self._thinks_after(index) else None)
        if part.text or (type(part) is ir.Text and part.citations):
            words.append(part)
        elif part.extra:
            self._losses.extras(part)
        return words

    def _thinks_after(self, index: int) -> bool:
        """Say whether a reasoning item or nothing follows, so that a token left alone there comes home to an empty text."""
        if index + 1 == len(self._parts):
            return True
        part = self._parts[index + 1]
        return isinstance(part, ir.Reasoning) or (not isinstance(part, ir.Refusal) and part.signature is not None)

    def _write_part(self, index: int, part: ir.Part) -> None:
        losses, at, made = self._losses, len(self._items), None
        if isinstance(part, ir.Reasoning):  # which has a slot for its token
            made = encode_answer_reasoning(part, at, self._ids, losses, self._options)
            self._items += [made] if made else []
            return
        if index in self._used:
            return
        if isinstance(part, ir.Hosted) and not has_item(part):
            encode_opaque(part, losses)
            return
        if not isinstance(part, ir.Refusal) and part.signature and has_item(part):
            self._write_token(part.signature, "call")
            at = len(self._items)
        if isinstance(part, ir.ToolCall):
            made = encode_answer_call(part, at, self._ids, losses)
        elif isinstance(part, ir.Media):
            made = encode_generated_image(part, at, self._ids, losses)
        elif isinstance(part, ir.Hosted):
            made = self._encode_hosted(index, part, at)
        else:
            losses.dropped(part, code="orphan", severity="impossible")
        if made:
            self._items.append(made)

    def _write_token(self, signature: ir.Signature, kind: ir.SignatureKind | None) -> None:
        """Write the token of a part that has no slot for it as an item of its own before that part."""
        token = carry_token(signature, self._losses, self._options, kind)
        if token:
            self._items.append(encode_item("", token, len(self._items), self._ids, signature.item))

    def _encode_hosted(self, index: int, part: ir.Hosted, at: int) -> JsonObject:
        """Write a call of the server's together with its result, wherever that stands."""
        place = None if part.role == "both" else self._result_of(index, part)
        if place is None:
            return encode_hosted(part, None, at, self._ids, self._losses)
        self._used.add(place)
        result = self._parts[place]
        assert isinstance(result, ir.Hosted)
        if result.id != part.id:
            self._losses.changed(result, "id", part.id, "orphan", severity="info")
        return encode_hosted(part, result, at, self._ids, self._losses)

    def _result_of(self, index: int, call: ir.Hosted) -> int | None:
        """Find the result of a call: the one of its id, else the one directly behind it."""
        if self._results is None:
            self._results = _results_in(self._parts)
        places = self._results.get((call.family, call.id), deque())
        while places and (places[0] <= index or places[0] in self._used):
            places.popleft()
        if places:
            return places[0]
        behind = self._parts[index + 1] if index + 1 < len(self._parts) else None
        is_its_own = isinstance(behind, ir.Hosted) and behind.role == "result" and behind.family == call.family
        return index + 1 if is_its_own and index + 1 not in self._used else None

    def _write_words(self, parts: list[ir.Text | ir.Refusal]) -> None:
        """Write adjacent words as one message, adjacent texts as one part of it; but a carried token is of its own text alone."""
        content: list[JsonObject] = []
        run: list[ir.Text] = []
        for part in parts:
            if run and (type(part) is ir.Refusal or (run[0].signature and self._options.carry_reasoning)):
                content.append(self._encode_texts(run))
                run = []
            if type(part) is ir.Text:
                run.append(part)
                continue
            if part.extra:
                self._losses.extras(part)
            content.append({"type": "refusal", "refusal": part.text})
        if run:
            content.append(self._encode_texts(run))
        made_id = parts[0].id or self._ids.make("msg", len(self._items))
        self._items.append(_message(made_id, content))

    def _encode_texts(self, parts: list[ir.Text]) -> JsonObject:
        losses = self._losses
        text = parts[0].text if len(parts) == 1 else "".join(part.text for part in parts)
        annotations: list[JsonObject] = []
        for part in parts:
            if part.extra:
                losses.extras(part)
            if part.cache:
                losses.dropped(part.cache, severity="info")
            if part.citations:
                annotations += encode_citations(part.citations, self._length, len(text), losses)
        self._length += len(text)
        taken: list[ir.TokenLogprob] = []
        if self._tokens:
            passed, taken = self._tokens.take(text)
            drop_tokens(passed, losses)
        return {
            "type": "output_text",
            "text": text,
            "annotations": annotations,
            "logprobs": encode_tokens(taken, losses, needs_bytes=True) if taken else [],
        }


def _message(made_id: str, content: list[JsonObject]) -> JsonObject:
    return {"id": made_id, "type": "message", "role": "assistant", "status": "completed", "content": content}


def _results_in(parts: list[ir.Part]) -> dict[tuple[str, str], deque[int]]:
    """Return where the results of the server's calls stand, by family and id."""
    made: dict[tuple[str, str], deque[int]] = {}
    for place, part in enumerate(parts):
        if isinstance(part, ir.Hosted) and part.role == "result":
            made.setdefault((part.family, part.id), deque()).append(place)
    return made
