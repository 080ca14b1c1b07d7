"""Fold the events of a Gemini stream to the ``GenerateContentResponse`` that they accumulate to, and unfold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from formatbridge.formats.generate_content.signatures import belongs_to_earlier_reasoning, decode_signature
from formatbridge.formats.generate_content.stream_calls import PartialCalls
from formatbridge.formats.shared.choices import assign_numbers_if_repeated
from formatbridge.formats.shared.fold import ConflictError, Fold, Table
from formatbridge.jsontext.pointers import Path, continued, index_in
from formatbridge.jsontext.types import JsonObject

EMPTY_PART: JsonObject = {"text": ""}
"""The part of an event that has no other part. The official client's chats drop a turn if one of its events has no parts.

Source: google-genai, ``chats.py``, ``_validate_content`` and ``_extract_curated_history``.
"""


def fold_stream(events: Iterable[JsonObject]) -> JsonObject | None:
    """Fold events; None if the whole response is unknown, because the vendor documents no rule for it."""
    # The vendor documents no accumulated response, and its client keeps the events. The rules below follow recorded streams.
    body = Fold(_BODY)
    candidates: dict[int, _Candidate] = {}
    try:
        for event in events:
            body.add(event)
            for candidate in event.get("candidates") or ():
                candidates.setdefault(candidate.get("index") or 0, _Candidate()).add(candidate)
        folded = {"candidates": [each.to_object() for _, each in sorted(candidates.items())]} if candidates else {}
    except ConflictError:
        return None
    return body.to_object() | folded or None


class Citations(Fold):
    """The fields of a candidate with citations. The vendor does not document how they continue."""

    __slots__ = ()

    def __init__(self, table: Table | None = None) -> None:
        super().__init__(table or _CITATIONS)

    def add(self, piece: JsonObject) -> None:
        """Add a candidate. An event repeats all earlier chunks of its grounding metadata, or has only new chunks."""
        # The vendor does not document which. A list that begins with all earlier chunks repeats them. Otherwise its chunks are appended,
        # and the indices in its supports are increased.
        added = piece.get("groundingMetadata")
        if added and self.values.get("groundingMetadata"):
            grounding = self.object_of("groundingMetadata", _GROUNDING)
            before = _extend_list(grounding, "groundingChunks", added.get("groundingChunks"))
            supports = added.get("groundingSupports")
            if supports and before:
                supports = [
                    support | {"groundingChunkIndices": [index + before for index in support.get("groundingChunkIndices") or ()]}
                    for support in supports
                ]
            _extend_list(grounding, "groundingSupports", supports)
        super().add(piece)


class _Candidate(Citations):
    """One candidate. ``_has_gap``: an empty text follows the last part, which is reasoning."""

    __slots__ = ("_calls", "_content", "_has_gap", "_parts")

    def __init__(self) -> None:
        super().__init__(_CANDIDATE)
        self._content: JsonObject | None = None
        self._parts: list[Fold] = []
        self._calls = PartialCalls()
        self._has_gap = False

    def add(self, piece: JsonObject) -> None:
        """Add the candidate of one event; raise ``ConflictError`` if its log probabilities have other fields than those before."""
        if added := piece.get("logprobsResult"):
            known = self.values.get("logprobsResult")
            if known and _types_of_fields(known) != _types_of_fields(added):
                raise ConflictError("logprobsResult")
        super().add(piece)
        if "content" in piece:
            content = piece["content"] or {}
            self._content = (self._content or {}) | content
            for position, part in enumerate(content.get("parts") or ()):
                self._take(part, is_first=position == 0)

    def to_object(self) -> JsonObject:
        """Return the candidate as in a whole response."""
        self._end_calls()
        outer = super().to_object()
        if self._content is None:
            return outer
        parts = {"parts": [part.to_object() for part in self._parts]} if "parts" in self._content else {}
        return {"content": self._content | parts} | outer

    def _take(self, part: JsonObject, *, is_first: bool) -> None:
        """Add a part, or a piece of a call. An empty call ends a call in pieces; otherwise only the other fields of its part are added."""
        call = part.get("functionCall")
        if call is None or part.get("text") is not None:
            self._end_calls()
            self._append(part, is_first=is_first)
        elif self._calls or call.get("willContinue") or call.get("partialArgs"):
            for complete in self._calls.take(part):
                self._append(complete, is_first=False)
        elif any(call.values()):
            self._append(part, is_first=False)
        elif len(part) > 1:
            self._append(EMPTY_PART | {key: value for key, value in part.items() if key != "functionCall"}, is_first=is_first)

    def _end_calls(self) -> None:
        """Add the calls that are still open."""
        for call in self._calls.end():
            self._append(call, is_first=False)

    def _append(self, part: JsonObject, *, is_first: bool) -> None:
        """Add a part. The first part of an event continues the text before it, if the flags agree and no signature ended that text.

        An empty text is left out, except between two reasoning parts.
        """
        # Texts of different events are one text that was sent in pieces. Texts of one event are separate parts.
        last = self._parts[-1] if self._parts else Fold(_PART)
        known = last.values
        continues_text = (
            "text" in known and ("thoughtSignature" not in known or _is_carried(known)) and _has_same_flags(known, part)
        )
        if self._has_gap and continues_text:
            self._parts.append(Fold(_PART, EMPTY_PART))
        elif is_first and continues_text and isinstance(part.get("text"), str):
            last.add({"text": part["text"]})
            return
        self._has_gap = part == EMPTY_PART and bool(known.get("thought"))
        if part == EMPTY_PART and known:
            return
        if known == EMPTY_PART and last.to_object() == EMPTY_PART:
            self._parts.pop()
        self._parts.append(Fold(_PART, part))


def _types_of_fields(value: JsonObject) -> dict[str, type]:
    return {name: type(items) for name, items in value.items()}


def _has_same_flags(before: JsonObject, part: JsonObject) -> bool:
    """Return whether a text has the flags of the text before it. A carried token on the text before it is ignored."""
    ignored = ("text", "thoughtSignature") if _is_carried(before) else ("text",)
    flags = {key: value for key, value in before.items() if key not in ignored}
    return flags == {key: value for key, value in part.items() if key != "text"}


def _is_carried(part: JsonObject) -> bool:
    """Return whether a visible text has the token of reasoning of another format. Such a token neither signs nor ends the text."""
    is_marked = "thoughtSignature" in part and bool(part.get("text")) and not part.get("thought")
    return is_marked and belongs_to_earlier_reasoning(decode_signature(part, ""))


def _extend_list(grounding: Fold, key: str, items: list[JsonObject] | None) -> int:
    """Append items to a list. If they begin with all items of the list, append only the rest.

    Return the number of items before them; 0 if they repeat the list.
    """
    if not items:
        return 0
    known = grounding.list_of(key)
    before = 0 if items[: len(known)] == known else len(known)
    known += items if before else items[len(known) :]
    return before


# ``unique``: an event may repeat the entries of a list, so only new ones are added.
_UNION = Table({}, other="unique", null="unique")
_GROUNDING = Table({"groundingChunks": "ignore", "groundingSupports": "ignore"}, other="unique", null="unique")
_CITATIONS = Table({"groundingMetadata": _GROUNDING, "citationMetadata": _UNION}, other="ignore", null="ignore")
URL_CONTEXT = Table({"urlContextMetadata": _UNION}, other="ignore", null="ignore")
"""Rules for the web pages that the server read."""
# ``last``: each event has the counts so far and the names again (fixtures ``usage_running``, ``text_named_in_last_event``).
_BODY = Table({"candidates": "empty_list", "error": "empty"}, other="last", null="ignore")
_LOGPROBS = Table({}, other="list", null="last")
_CANDIDATE = Table(
    {**_CITATIONS.fields, **URL_CONTEXT.fields, "content": "ignore", "logprobsResult": _LOGPROBS},
    other="last_object",
    null="ignore",
)
_PART = Table({"text": "text"}, other="last", null="last")


def response_path(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return the path in the whole response for a path in an event. ``lengths``: the lengths of lists before this event."""
    match path:
        case ("candidates", int(at), *below) if isinstance(event["candidates"][at], dict):
            return continued(("candidates", index_in(event["candidates"][at], "index"), *below), lengths)
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the events that fold to a body: each part in one event, then all other fields.

    Adjacent texts that a decoder would combine stay in one event.
    """
    # As in recorded streams, the last event of a candidate has its fields other than the content.
    envelope = {key: body[key] for key in ("modelVersion", "responseId", "createTime") if key in body}
    events: list[JsonObject] = []
    ends: list[JsonObject] = []
    candidates = body.get("candidates") or []
    indexes = assign_numbers_if_repeated([candidate.get("index") or 0 for candidate in candidates])
    for number, candidate in zip(indexes, candidates, strict=True):
        content = candidate.get("content")
        index = {"index": number} if number or "index" in candidate else {}
        groups: list[list[JsonObject]] = []
        for part in (content or {}).get("parts") or []:
            before = groups[-1][-1] if groups else {}
            if "text" in part and "text" in before and (_has_same_flags(before, part) or before == EMPTY_PART):
                groups[-1].append(part)
            else:
                groups.append([part])
        events += [envelope | {"candidates": [{"content": content | {"parts": parts}} | index]} for parts in groups]
        ends.append(candidate | ({"content": content | {"parts": [EMPTY_PART]}} if groups else {}) | index)
    return [*events, body | ({"candidates": ends} if ends else {})]
