"""Fold the events of a Gemini stream to the ``GenerateContentResponse`` that they accumulate to, and unfold it.

Arguments of function calls come in pieces, as values at JSON paths; they are complete when the call or the candidate ends.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from formatbridge.errors import StreamDecodeError
from formatbridge.formats.generate_content.reasoning import belongs_to_earlier_reasoning, decode_signature
from formatbridge.formats.shared.choices import assign_numbers_if_repeated
from formatbridge.formats.shared.fold import ConflictError, Fold, Table
from formatbridge.formats.shared.unmodelled_fields import read_extra
from formatbridge.jsontext.depth import MAX_DEPTH
from formatbridge.jsontext.pointers import Path, continued, index_in
from formatbridge.jsontext.types import EXACT, JsonObject

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


# The two notations of a member, and an index (RFC 9535, sections 2.3 and 2.5).
_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\[\"((?:[^\"\\]|\\.)*)\"\]")
# The fields of a piece (python-genai, PartialArg).
_VALUES = ("stringValue", "numberValue", "boolValue")
_NAMES = {bool: "boolValue", type(None): "nullValue"}
_ARGUMENT = frozenset({"jsonPath", "willContinue", "nullValue", *_VALUES})
_CALL = frozenset({"id", "name", "args", "partialArgs", "willContinue"})


class _PartialCall:
    """A function call in pieces: each piece names a JSON path, and the strings for one path are concatenated.

    ``is_truncated``: the stream ended before the call.
    """

    def __init__(self, part: JsonObject) -> None:
        self._part = {key: value for key, value in part.items() if key != "functionCall"}
        self._call: JsonObject = {}
        self._values: dict[str, Any] = {}
        self.is_ended = False
        self.is_truncated = False

    @property
    def id(self) -> str | None:
        """The id of the call; None before a piece has one."""
        return self._call.get("id") or None

    def feed(self, part: JsonObject) -> None:
        """Add a piece. ``willContinue`` means that another one follows."""
        # {"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.city", "stringValue": "Ro", "willContinue": true}],
        #  "willContinue": true}}, then {"functionCall": {"partialArgs": [{"jsonPath": "$.city", "stringValue": "me"}]}}
        call: JsonObject = part["functionCall"]
        self._part |= {key: value for key, value in part.items() if key != "functionCall" and value is not None}
        self._call |= read_extra(call, {"partialArgs", "willContinue"}) or {}
        for piece in call.get("partialArgs") or ():
            path = piece.get("jsonPath") or ""
            unread = read_extra(piece, _ARGUMENT) or {}
            self._call |= {f"partialArgs/{key}" if key in _CALL else key: value for key, value in unread.items()}
            name = next((name for name in _VALUES if piece.get(name) is not None), None)
            known = self._values.get(path)
            if name == "stringValue" and isinstance(known, list):
                known.append(piece[name])
            elif name is not None or piece.get("nullValue") is not None or not piece.get("willContinue"):
                self._values[path] = [piece[name]] if name == "stringValue" else _as_integer(piece[name]) if name else None
        self.is_ended = not call.get("willContinue")

    def pending_part(self) -> JsonObject:
        """Return the pending call with its pieces as they were received."""
        pieces = [
            {"jsonPath": path, "stringValue": "".join(value)}
            if isinstance(value, list)
            else {"jsonPath": path, _NAMES.get(type(value), "numberValue"): value}
            for path, value in self._values.items()
        ]
        return self._part | {"functionCall": self._call | ({"partialArgs": pieces} if pieces else {})}

    def to_part(self) -> JsonObject:
        """Return the call as a part in one piece."""
        call: JsonObject = {"args": dict(self._call.get("args") or {})} | ({"willContinue": True} if self.is_truncated else {})
        for path, value in self._values.items():
            _set_value(call, path, "".join(value) if isinstance(value, list) else value)
        return self._part | {"functionCall": self._call | call}


class PartialCalls:
    """The calls in pieces of one candidate, whose pieces may alternate. They are returned in the order in which they began.

    A piece belongs to the call with its id. One without an id or a name continues the call of the piece before, or the last open one.
    """

    def __init__(self) -> None:
        self._begun: deque[_PartialCall] = deque()  # in order; an ended call stays until those before it have ended
        self._open: dict[str, _PartialCall] = {}  # open calls by id
        self._unnamed: _PartialCall | None = None  # the open call without an id, if no other began after it
        self._latest: _PartialCall | None = None

    def __bool__(self) -> bool:
        return bool(self._begun)

    def take(self, part: JsonObject) -> list[JsonObject]:
        """Add a piece, or a whole call after others, and return the calls that are complete now."""
        raw: JsonObject = part["functionCall"]
        call = self._open_of(raw)
        if call is None:
            if not any(raw.values()):  # the end of a call that has ended
                return []
            call = self._begin(part)
        call.feed(part)
        self._latest = call
        self._unnamed = call if not call.id and not call.is_ended else None if call is self._unnamed else self._unnamed
        if call.id and not call.is_ended:
            self._open[call.id] = call
        elif call.id:
            self._open.pop(call.id, None)
        return self._ended()

    def end(self) -> list[JsonObject]:
        """End the open calls and return them with ``willContinue``."""
        for call in self._begun:
            call.is_truncated = not call.is_ended
            call.is_ended = True
        self._open, self._unnamed = {}, None
        return self._ended()

    def unread(self, first: int) -> JsonObject:
        """Return the pending calls by pointer from their candidate; ``first``: the place of the next part."""
        return {f"content/parts/{index}": call.pending_part() for index, call in enumerate(self._begun, first)}

    def _open_of(self, raw: JsonObject) -> _PartialCall | None:
        """Return the open call that a piece continues; the id may come after the name."""
        if raw.get("id"):
            return self._open.get(raw["id"]) or (None if raw.get("name") else self._unnamed)
        if raw.get("name"):
            return None
        if not any(raw.values()) or (self._latest is not None and not self._latest.is_ended):
            return self._latest
        return next((call for call in reversed(self._begun) if not call.is_ended), None)

    def _begin(self, part: JsonObject) -> _PartialCall:
        """Begin a call. An open one without an id ends, because no later piece can name it."""
        if self._unnamed is not None:
            self._unnamed.is_ended = True
            self._unnamed = None
        self._begun.append(_PartialCall(part))
        return self._begun[-1]

    def _ended(self) -> list[JsonObject]:
        """Remove and return the calls that have ended, up to the first open one."""
        ended: list[JsonObject] = []
        while self._begun and self._begun[0].is_ended:
            call = self._begun.popleft()
            ended.append(call.to_part())
            self._latest = None if call is self._latest else self._latest
        return ended


def _as_integer(value: Any) -> Any:
    """Return an integral number as an integer, because validation decodes every number as a double."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT else value


def _set_value(call: JsonObject, path: str, value: Any) -> None:
    """Set the value at a JSON path of the arguments; missing objects and lists are created."""
    steps = _parse_path(path)
    node: Any = call
    for step, next_step in zip(["args", *steps], [*steps, None], strict=True):
        new = value if next_step is None else [] if isinstance(next_step, int) else {}
        if isinstance(node, dict) and isinstance(step, str):
            if next_step is None or step not in node:
                node[step] = new
        elif isinstance(node, list) and isinstance(step, int) and step <= len(node):
            node[step:] = [new, *node[step + 1 :]] if next_step is None or step == len(node) else node[step:]
        else:
            raise _path_error(path)
        node = node[step]


def _parse_path(path: str) -> list[str | int]:
    """Return the steps of a JSON path; raise ``StreamDecodeError`` if it is invalid or too deep."""
    steps = list(_STEP.finditer(path, 1))
    if path[:1] != "$" or not 0 < len(steps) <= MAX_DEPTH or sum(len(step[0]) for step in steps) != len(path) - 1:
        raise _path_error(path)
    return [int(step[2]) if step[2] else step[1] or re.sub(r"\\(.)", r"\1", step[3] or step[4] or "") for step in steps]


def _path_error(path: str) -> StreamDecodeError:
    """Return the error for a JSON path that is invalid or does not fit the values before it."""
    return StreamDecodeError(
        "has a function call with an invalid jsonPath, expected a path such as $.a[0].b",
        offset=0,
        snippet=path.encode(errors="replace"),
    )
