"""Streams of generate_content, folded: events to the whole body that they add up to, in the vendor's own terms, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from formatbridge.formats.generate_content.reasoning import decode_signature, is_carried
from formatbridge.formats.generate_content.stream_pieces import Gathered, PartialCalls, Sources
from formatbridge.formats.shared.choices import unique_numbers
from formatbridge.jsontext.pointers import Path, continued, index_in
from formatbridge.jsontext.types import JsonObject

_SOURCES = ("groundingMetadata", "citationMetadata")
_PAGES = "urlContextMetadata"
_LISTS = (*_SOURCES, _PAGES)
"""Fields of a candidate whose lists may go on from event to event; how, the vendor does not say."""
NOTHING: JsonObject = {"text": ""}
"""The part of an event that brings none. The official client's chats forget a turn of which one event has no parts."""


def fold_stream(told: Iterable[JsonObject]) -> JsonObject | None:
    """Fold events: texts, lists and calls go on, the rest is told once or last. None where nobody knows what they add up to."""
    body: JsonObject = {}
    candidates: dict[int, _Candidate] = {}
    for raw in told:
        if raw.get("error"):
            return None
        body |= {key: value for key, value in raw.items() if value is not None and (key != "candidates" or value == [])}
        for piece in raw.get("candidates") or ():
            if not candidates.setdefault(piece.get("index") or 0, _Candidate()).grow(piece):
                return None
    if not body and not candidates:
        return None
    return body | ({"candidates": [each.body() for _, each in sorted(candidates.items())]} if candidates else {})


class _Candidate:
    """One candidate as far as it has come.

    ``_texts``: the pieces of each part, of those that are text; ``_lists``: what it rests on, event by event; ``_calls``: those in pieces.
    """

    def __init__(self) -> None:
        self._outer: JsonObject = {}
        self._content: JsonObject | None = None
        self._parts: list[JsonObject] = []
        self._texts: list[list[str]] = []
        self._tokens: JsonObject = {}
        self._lists: list[JsonObject] = []
        self._calls = PartialCalls()
        self._is_apart = False  # an empty text stands behind the last part, a thought

    def grow(self, piece: JsonObject) -> bool:
        """Add a piece; false where its lists of tokens do not match those before."""
        if not self._weigh(piece.get("logprobsResult") or {}):
            return False
        self._outer |= {
            key: value
            for key, value in piece.items()
            if value is not None and key != "content" and (value != {} or key not in self._outer)
        }
        lists = {name: piece[name] for name in _LISTS if piece.get(name)}
        if lists:
            self._lists.append(lists)
        if "content" not in piece:
            return True
        content = piece["content"] or {}
        self._content = (self._content or {}) | content
        for at, part in enumerate(content.get("parts") or ()):
            self._take(part, is_first=at == 0)
        return True

    def _take(self, part: JsonObject, *, is_first: bool) -> None:
        """Take a part, or a piece of a call; behind the end of such a one an empty call is none, but what stands beside it counts."""
        call = part.get("functionCall")
        if call is None or part.get("text") is not None:
            self._end_calls()
            self._add(part, is_first=is_first)
        elif self._calls or call.get("willContinue") or call.get("partialArgs"):
            for whole in self._calls.take(part):
                self._add(whole, is_first=False)
        elif any(call.values()):
            self._add(part, is_first=False)
        elif len(part) > 1:
            self._add(NOTHING | {key: value for key, value in part.items() if key != "functionCall"}, is_first=is_first)

    def _end_calls(self) -> None:
        for call in self._calls.end():
            self._add(call, is_first=False)

    def _weigh(self, told: JsonObject) -> bool:
        """Add the tokens of an event, which go on from event to event; false where their lists would not match any more."""
        known = self._tokens
        if told and known and {key: type(value) for key, value in told.items()} != {key: type(known[key]) for key in known}:
            return False
        for key, value in told.items():
            if isinstance(value, list):
                known.setdefault(key, []).extend(value)
            else:
                known[key] = value
        return True

    def _add(self, part: JsonObject, *, is_first: bool) -> None:
        """Add a part; the first of an event goes on with the text before it, where their flags agree and no token has ended that.

        An empty text is none, but between two thoughts.
        """
        text = part.get("text")
        before = self._parts[-1] if self._parts else {}
        is_same = "text" in before and ("thoughtSignature" not in before or _is_carried(before)) and _goes_on(before, part)
        if self._is_apart and is_same:
            self._parts += [NOTHING]
            self._texts += [[""]]
        elif is_first and is_same and isinstance(text, str):
            self._texts[-1].append(text)
            return
        self._is_apart = False
        if part == NOTHING and before:
            self._is_apart = bool(before.get("thought"))
            return
        if before == NOTHING and not any(self._texts[-1]):
            self._parts.pop(), self._texts.pop()
        self._parts.append(part)
        self._texts.append([text] if isinstance(text, str) else [])

    def body(self) -> JsonObject:
        """Return the candidate as a whole answer has it."""
        self._end_calls()
        self._outer |= self._gathered() | ({"logprobsResult": self._tokens} if self._tokens else {})
        if self._content is None:
            return self._outer
        parts = [part | ({"text": "".join(texts)} if texts else {}) for part, texts in zip(self._parts, self._texts, strict=True)]
        return {"content": self._content | ({"parts": parts} if "parts" in self._content else {})} | self._outer

    def _gathered(self) -> JsonObject:
        """Put the lists together that came in pieces; those that only came again stay as they are."""
        sources, pages = Sources(), Gathered()
        for lists in self._lists:
            sources.feed(lists)
            pages.feed(lists.get(_PAGES) or {})
        whole = sources.told | {_PAGES: pages.told}
        told = {name: [lists[name] for lists in self._lists if name in lists] for name in _LISTS}
        return {name: whole[name] for name, pieces in told.items() if any(piece != pieces[0] for piece in pieces)}


def _flags(part: JsonObject) -> JsonObject:
    return {key: value for key, value in part.items() if key != "text"}


def _goes_on(before: JsonObject, part: JsonObject) -> bool:
    """Say whether a text has the flags of the one before, but for a token of the reasoning that preceded that."""
    flags = _flags(before)
    return _flags(part) == (flags if not _is_carried(before) else {key: flags[key] for key in flags if key != "thoughtSignature"})


def _is_carried(part: JsonObject) -> bool:
    """Say whether a visible text has the token of another format's reasoning, which says nothing about the text and does not end it."""
    is_marked = "thoughtSignature" in part and bool(part.get("text")) and not part.get("thought")
    return is_marked and is_carried(decode_signature(part, ""))


def place_of(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return where the whole answer has what stands at a path in an event; of a list that goes on, behind what is known of it."""
    match path:
        case ("candidates", int(at), *rest) if isinstance(event["candidates"][at], dict):
            return continued(("candidates", index_in(event["candidates"][at], "index"), *rest), lengths)
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the events that fold to a body: each part in one piece, then all else. Texts that would go on as one stay in one event."""
    envelope = {key: body[key] for key in ("modelVersion", "responseId", "createTime") if key in body}
    made: list[JsonObject] = []
    ends: list[JsonObject] = []
    candidates = body.get("candidates") or []
    numbers = unique_numbers([candidate.get("index") or 0 for candidate in candidates])
    for number, candidate in zip(numbers, candidates, strict=True):
        content = candidate.get("content")
        index = {"index": number} if number or "index" in candidate else {}
        groups = _groups((content or {}).get("parts") or [])
        made += [envelope | {"candidates": [{"content": content | {"parts": parts}} | index]} for parts in groups]
        ends.append(candidate | ({"content": content | {"parts": [NOTHING]}} if groups else {}) | index)
    return [*made, body | ({"candidates": ends} if ends else {})]


def _groups(parts: list[JsonObject]) -> list[list[JsonObject]]:
    made: list[list[JsonObject]] = []
    for part in parts:
        before = made[-1][-1] if made else {}
        if "text" in part and "text" in before and (_goes_on(before, part) or before == NOTHING):
            made[-1].append(part)
        else:
            made.append([part])
    return made
