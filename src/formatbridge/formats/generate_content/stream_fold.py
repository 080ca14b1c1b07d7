"""The events of a stream of generate_content to the whole body that they add up to, in the vendor's own terms, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from formatbridge.formats._choices import told_apart

JsonObject = dict[str, Any]

_LISTS = ("groundingMetadata", "citationMetadata", "urlContextMetadata")
"""Fields of a candidate whose lists may go on from event to event; how, the vendor does not say."""
_PIECEMEAL = frozenset({"willContinue", "partialArgs"})
NOTHING: JsonObject = {"text": ""}
"""The part of an event that brings none. The official client's chats forget a turn of which one event has no parts."""


def fold_stream(told: Iterable[JsonObject]) -> JsonObject | None:
    """Fold events: texts go on, the rest is told once or last. None where a list or a call comes in pieces."""
    body: JsonObject = {}
    candidates: dict[int, _Candidate] = {}
    for raw in told:
        if raw.get("error"):
            return None
        body |= {key: value for key, value in raw.items() if value is not None and key != "candidates"}
        for piece in raw.get("candidates") or ():
            if not candidates.setdefault(piece.get("index") or 0, _Candidate()).grow(piece):
                return None
    if not body and not candidates:
        return None
    return ({"candidates": [each.body() for _, each in sorted(candidates.items())]} if candidates else {}) | body


class _Candidate:
    """One candidate as far as it has come. ``_texts``: the pieces of each part, of those that are text."""

    def __init__(self) -> None:
        self._outer: JsonObject = {}
        self._content: JsonObject | None = None
        self._parts: list[JsonObject] = []
        self._texts: list[list[str]] = []
        self._tokens: JsonObject = {}

    def grow(self, piece: JsonObject) -> bool:
        """Add a piece; false where a list or a call would have to be put together."""
        outer = self._outer
        if any(outer.get(name) and piece.get(name) and outer[name] != piece[name] for name in _LISTS):
            return False
        if not self._weigh(piece.get("logprobsResult") or {}):
            return False
        outer |= {key: value for key, value in piece.items() if value is not None and key != "content"}
        if "content" not in piece:
            return True
        content = piece["content"] or {}
        self._content = (self._content or {}) | content
        for at, part in enumerate(content.get("parts") or ()):
            call = part.get("functionCall")
            if call is not None and (_PIECEMEAL & call.keys() or not any(call.values())):
                return False
            self._add(part, is_first=at == 0)
        return True

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
        """Add a part; the first of an event goes on with the text before it, where their flags agree and no token has ended that."""
        text = part.get("text")
        before = self._parts[-1] if self._parts else {}
        goes_on = is_first and "text" in before and "thoughtSignature" not in before and _flags(part) == _flags(before)
        if goes_on and isinstance(text, str):
            self._texts[-1].append(text)
            return
        if part == NOTHING and before:
            return
        if before == NOTHING and not any(self._texts[-1]):
            self._parts.pop(), self._texts.pop()
        self._parts.append(part)
        self._texts.append([text] if isinstance(text, str) else [])

    def body(self) -> JsonObject:
        """Return the candidate as a whole answer has it."""
        self._outer |= {"logprobsResult": self._tokens} if self._tokens else {}
        if self._content is None:
            return self._outer
        parts = [part | ({"text": "".join(texts)} if texts else {}) for part, texts in zip(self._parts, self._texts, strict=True)]
        return {"content": self._content | ({"parts": parts} if "parts" in self._content else {})} | self._outer


def _flags(part: JsonObject) -> JsonObject:
    return {key: value for key, value in part.items() if key != "text"}


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the events that fold to a body: each part in one piece, then all else. Texts that would go on as one stay in one event."""
    envelope = {key: body[key] for key in ("modelVersion", "responseId", "createTime") if key in body}
    made: list[JsonObject] = []
    ends: list[JsonObject] = []
    candidates = body.get("candidates") or []
    numbers = told_apart([candidate.get("index") or 0 for candidate in candidates])
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
        if "text" in part and "text" in before and (_flags(part) == _flags(before) or before == NOTHING):
            made[-1].append(part)
        else:
            made.append([part])
    return made
