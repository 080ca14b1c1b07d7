"""Streams of responses, read: what the end would tell of the answer and of open items, for one that breaks off before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.formats.responses.citations import shift
from formatbridge.formats.responses.content import decode_part
from formatbridge.formats.responses.conversation import as_text, decode_item
from formatbridge.formats.responses.response import RESPONSE_FIELDS
from formatbridge.formats.responses.stream_order import Items, length_of
from formatbridge.formats.responses.stream_parts import GROWING, Item, Slot, Teller, cited, new_among
from formatbridge.formats.shared.logprobs import decode_tokens
from formatbridge.formats.shared.reasoning_tokens import carries_call_token
from formatbridge.formats.shared.unmodelled_fields import gathered, joined, rest
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject
from formatbridge.streaming.replay import GROWS, unfold

_MESSAGE = frozenset({"type", "role", "content", "id", "status"})
_WORDS = ("output_text", "refusal")
_THOUGHT = frozenset({"type", "text"})


def untold(items: Items, tell: Teller, head: JsonObject) -> list[events.Event]:
    """Return what the end would tell, or would tell otherwise. ``head``: the answer as its first events have it. All stays as it is."""
    made: list[events.Event] = []
    new: list[tuple[tuple[int, int], ir.Part]] = [] if tell.token is None else [(tell.place, as_text(tell.token))]
    extra: JsonObject | None = None
    start = 0
    for item in sorted(items.all, key=lambda item: item.at):
        if item.is_closed:
            start += item.length
            continue
        parts, leftover = _so_far(item)
        extra = gathered(extra, leftover)
        for at, part in parts:
            slot = item.slots.get(at)
            if slot is None:
                new += [((item.at, at), as_text(part) if carries_call_token(part) else part)] if _says_something(part) else []
            elif not slot.is_closed:
                made += _settled(slot, _placed(part, start + slot.start), _waiting(item, slot, start))
        start += length_of(item)
    for number, (place, part) in enumerate(new, tell.count):
        made += _opened(number, place, part)
    fields = ((extra, 0), (rest(head, RESPONSE_FIELDS), None))
    return [*made, *(events.Meta(told, choice) for told, choice in fields if told)]


# Items as far as they have come.


def _so_far(item: Item) -> tuple[list[tuple[int, ir.Part]], JsonObject | None]:
    """Read an open item: its parts by their place, and what belongs to none. One that is done may still wait for others."""
    src = f"/output/{item.at}"
    done = next((raw["item"] for slot, raw in item.waiting if slot is None), None)
    if done is not None:
        return _read(done, item.kind, src)
    if item.kind == "message":
        return _words(item, src), rest(item.added, _MESSAGE, f"{src}/")
    if item.kind == "reasoning":
        return [(0, _thought(item, src))], None
    if item.kind == "image_generation_call":
        return [], {src: item.added} if item.added else None
    raw = {key: value for key, value in (item.overheard() or item.added).items() if key != "status"}
    if field := GROWING.get(item.kind):
        raw[field] = raw.get(field) or ""
    return _read(raw, item.kind, src) if raw.get("type") else ([], None)


def _read(raw: JsonObject, kind: str, src: str) -> tuple[list[tuple[int, ir.Part]], JsonObject | None]:
    parts: list[ir.Part] = []
    leftover = decode_item(raw, kind, src, parts)
    return [*enumerate(parts)], leftover


def _words(item: Item, src: str) -> list[tuple[int, ir.Part]]:
    """Read the parts of a message; one that only grew is as its deltas told it."""
    told = dict.fromkeys((at for at, slot in item.slots.items() if not slot.is_closed), None)
    known: dict[int, JsonObject | None] = {**told, **{at: raw for (_, at), raw in item.told.items()}}
    return [
        (at, item.slots[at].part if raw is None else _word(raw, f"{src}/content/{at}", item.id))
        for at, raw in sorted(known.items())
    ]


def _word(raw: JsonObject, src: str, item_id: str | None) -> ir.Part:
    """Read a part of a message; one that no model writes is told as it came."""
    kind = raw.get("type")
    return decode_part(raw, src, item_id) if kind in _WORDS else ir.Opaque(format="responses", raw=raw, what=str(kind), src=src)


def _thought(item: Item, src: str) -> ir.Reasoning:
    """Read a thought with what the events of its parts had beside the text; the text itself where no delta told any."""
    raw = {key: value for key, value in item.added.items() if key not in ("status", "summary", "content")}
    parts: list[ir.Part] = []
    decode_item({"type": "reasoning", "id": item.id, **raw}, "reasoning", src, parts)
    made = parts[0]
    assert isinstance(made, ir.Reasoning)
    for (name, at), part in item.told.items():
        made.extra = joined(made.extra, rest(part, _THOUGHT, f"{name}/{at}/"))
    if not item.slots:
        name = "content" if any(name == "content" for name, _ in item.told) else "summary"
        texts = [str(part.get("text") or "") for (each, _), part in sorted(item.told.items()) if each == name]
        made.text, made.summary = "\n\n".join(filter(None, texts)), name == "summary"
    return made


# Parts.


def _placed(part: ir.Part, start: int) -> ir.Part:
    """Return a part that was just read with the places of its citations counted from the start of the answer."""
    if isinstance(part, ir.Text) and part.citations:
        shift(part.citations, start)
    return part


def _waiting(item: Item, slot: Slot, start: int) -> list[ir.Citation]:
    """Return the citations of a part that wait for the messages before its own."""
    return [citation for each, raw in item.waiting if each is slot for citation in cited(slot, raw, start)]


def _settled(slot: Slot, whole: ir.Part, citations: list[ir.Citation]) -> Iterator[events.Event]:
    """Yield what remains to be told of an open part, as if it were whole; a text that says less than its deltas is not."""
    yield from (events.PartMeta(0, slot.number, citation=citation) for citation in citations)
    tokens = _tokens(whole)
    if tokens and not slot.tokens:
        yield events.Delta(0, slot.number, "", tokens)
    if type(whole) is not type(slot.part):
        yield events.PartMeta(0, slot.number, extra=getattr(whole, "extra", None))
        return
    told, known = "".join(slot.pieces), [*slot.citations, *citations]
    more: dict[str, Any] = {}
    text = getattr(whole, grows := GROWS.get(type(whole), ""), None)
    if isinstance(text, str) and not text.startswith(told):
        more[grows] = told
    if isinstance(whole, ir.Text):
        more["citations"] = [*known, *new_among(whole.citations or [], known)] or None
    if isinstance(slot.part, ir.Reasoning):
        more["summary"] = slot.part.summary
    tell = Teller()
    tell.settle(replace(slot, pieces=[*slot.pieces], citations=known), replace(whole, **more))
    yield from tell.made


def _tokens(part: ir.Part) -> list[ir.TokenLogprob] | None:
    """Take the probabilities from a part that was just read."""
    given = part.extra.pop("logprobs", None) if isinstance(part, ir.Text) and part.extra else None
    return decode_tokens(given, f"{part.src}/logprobs") if given else None


def _says_something(part: ir.Part) -> bool:
    return not isinstance(part, ir.Reasoning) or bool(part.text or part.signature or part.extra)


def _opened(number: int, place: tuple[int, int], part: ir.Part) -> Iterator[events.Event]:
    """Yield what opens a part that no event has opened yet; it stays open."""
    tokens = _tokens(part)
    for event in unfold(0, number, part, tokens)[:-1]:
        yield replace(event, place=place) if isinstance(event, events.PartStart) else event
