"""Streams of chat_completions, folded: chunks to the whole body that they add up to, in the vendor's own terms, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from formatbridge.formats.chat_completions.fold_thoughts import Detail, FoldedThoughts, news
from formatbridge.formats.chat_completions.stream_state import kind_of_call
from formatbridge.formats.shared.choices import in_order, told_apart
from formatbridge.formats.shared.tool_arguments import read_object
from formatbridge.formats.shared.unmodelled_fields import Pieces, says_something
from formatbridge.jsontext.pointers import Path, continued, index_in
from formatbridge.jsontext.types import JsonObject

_GROWING = frozenset({"content", "refusal", "reasoning_content", "reasoning"})
_LISTS = frozenset({"annotations", "images"})
"""Fields of a message whose items come one after the other."""
_THOUGHTS = frozenset({"reasoning_details", "thinking_blocks"})
"""Fields of a message whose items come in pieces."""
_ENDS = ("content", "refusal", "tool_calls", "function_call")
"""Fields of a message that end a thought."""
_KNOWN = _GROWING | _LISTS | {"role", "audio", "tool_calls", "function_call"}
"""Fields of a message that have rules of their own; of others nobody knows how they grow."""
_SOUND = frozenset({"data", "transcript"})
"""Fields of a sound that grow."""
_ARGUMENTS = {"function": "arguments", "custom": "input"}
_WHOLE, _CHUNK = "chat.completion", "chat.completion.chunk"
_PADDING = frozenset({"choices", "obfuscation", "object"})


def fold_stream(told: Iterable[JsonObject]) -> JsonObject | None:
    """Fold chunks as the vendor's client does; None where they bend the rules, so that nobody knows what they add up to."""
    body: JsonObject = {}
    choices: dict[int, _Choice] = {}
    for raw in told:
        if raw.get("error"):
            return None
        body |= news({key: value for key, value in raw.items() if key not in _PADDING}, body)
        for piece in raw.get("choices") or ():
            index = piece.get("index") or 0
            if not choices.setdefault(index, _Choice(index)).grow(piece):
                return None
    if not choices or not all(choice.is_clear for choice in choices.values()):
        return None
    return {"object": _WHOLE} | body | {"choices": [choice.body() for choice in in_order(choices)]}


class _Choice:
    """One choice as far as it has come."""

    def __init__(self, index: int) -> None:
        self._outer: JsonObject = {"index": index}
        self._message: JsonObject = {}
        self._pieces: dict[str, list[str]] = {}
        self._calls: list[tuple[JsonObject, list[str]]] = []
        self._named_again: set[int] = set()
        self._logprobs: JsonObject = {}
        self._details: list[Detail] = []
        self._latest: dict[str, Detail] = {}
        self._thoughts: FoldedThoughts | None = None
        self._sounds: dict[str, list[str]] = {}
        self._fields, self._lists = Pieces(), Pieces()

    def grow(self, piece: JsonObject) -> bool:
        """Add a piece; false where it bends the rules."""
        delta = piece.get("delta") or {}
        if delta.get("reasoning_content") or delta.get("thinking_blocks"):
            self._thoughts = self._thoughts or FoldedThoughts()
            told = self._thoughts.take(delta)
            if told is None:
                return False
            delta = told
        elif self._thoughts is not None and any(delta.get(key) for key in _ENDS):
            self._thoughts.close()
        for key, value in delta.items():
            if value is None:
                self._message.setdefault(key)
            elif not self._add(key, value):
                return False
        for key, tokens in (piece.get("logprobs") or {}).items():
            if not isinstance(tokens, list | None):
                return False
            if tokens is None:
                self._logprobs.setdefault(key)
            else:
                _extend(self._logprobs, key, tokens)
        told = {key: value for key, value in piece.items() if key != "delta" and (key != "logprobs" or value is None)}
        self._lists.take({key: value for key, value in told.items() if isinstance(value, list)})
        self._outer |= news(told, self._outer)
        return True

    def _add(self, key: str, value: Any) -> bool:
        if key in _GROWING and isinstance(value, str):
            self._pieces.setdefault(key, []).append(value)
            return not self._message.get(key)
        if key == "tool_calls" and value:
            return all(self._call(raw) for raw in value)
        if key in _LISTS and isinstance(value, list):
            _extend(self._message, key, value)
            return True
        if key in _THOUGHTS and isinstance(value, list):
            for detail in value:  # blocks are taken apart before
                self._detail(detail)
            return True
        if key not in _KNOWN:
            self._message.setdefault(key)
            self._fields.take({key: value})
            return True
        if key == "audio" and isinstance(value, dict):
            return self._sound(value)
        known = self._message.get(key)
        is_same = known == value and (key == "role" or not value or (isinstance(value, dict) and not says_something(value)))
        is_new = known is None or is_same  # what says something twice is two pieces
        is_new = is_new and key not in self._pieces
        self._message[key] = value
        return is_new and (key != "function_call" or value.get("name") is not None)

    def _sound(self, raw: JsonObject) -> bool:
        """Add to the sound; false where it gets another id."""
        known: JsonObject = self._message.get("audio") or {}
        is_same = raw.get("id") in (None, known.get("id", raw.get("id")))
        for key in _SOUND & raw.keys():
            self._sounds.setdefault(key, []).append(raw[key] or "")
        known |= news(raw, known)
        self._message["audio"] = known
        return is_same

    def _detail(self, raw: JsonObject) -> None:
        """Add to the detail that an index names; one without goes on with the last, and one that is something else is new."""
        at, kind = raw.get("index"), raw.get("type")
        place = repr((at, kind))
        last = self._details[-1] if self._details else None
        detail = self._latest.get(place) if at is not None else last if last and last.is_of(at, kind) else None
        if detail is None or not detail.grow(raw):
            self._latest[place] = detail = Detail(raw)
            self._details.append(detail)

    def _call(self, raw: JsonObject) -> bool:
        """Add to a call; false where it is not the one that its index names, or says again what it is."""
        at, kind = raw.get("index"), kind_of_call(raw)
        body = raw.get(kind) or {}
        text = body.get(_ARGUMENTS[kind])
        if not isinstance(at, int) or not 0 <= at <= len(self._calls) or not isinstance(text, str | None):
            return False
        if at == len(self._calls):
            call = {key: value for key, value in raw.items() if key != "index"}
            self._calls.append((call | {kind: dict(body)}, [] if text is None else [text]))
            return bool(body.get("name"))
        call, pieces = self._calls[at]
        pieces += [] if text is None else [text]
        again = {key: value for key, value in raw.items() if key not in ("index", kind) and value is not None}
        named = {key: value for key, value in body.items() if key != _ARGUMENTS[kind] and value is not None}
        if named.get("name") and not call.get("id"):
            self._named_again.add(at)
        return kind in call and again.items() <= call.items() and named.items() <= call[kind].items()

    @property
    def is_clear(self) -> bool:
        """Whether no call may be two: one that has no id, whose name came again, and whose arguments are no object."""
        return all(read_object("".join(self._calls[at][1])) is not None for at in self._named_again)

    def body(self) -> JsonObject:
        """Return the choice as a whole answer has it."""
        message = self._message | {key: "".join(pieces) for key, pieces in self._pieces.items()} | self._fields.whole()
        if self._sounds:
            message["audio"] = message["audio"] | {key: "".join(pieces) for key, pieces in self._sounds.items()}
        lists = {"tool_calls": [_joined(call, pieces) for call, pieces in self._calls]}
        blocks = self._thoughts.blocks if self._thoughts is not None else []
        lists |= {
            "reasoning_details": [detail.body() for detail in self._details],
            "thinking_blocks": [block.body() for block in blocks],
        }
        made: JsonObject = {"message": message | {key: items for key, items in lists.items() if items}}
        return made | self._outer | self._lists.whole() | ({"logprobs": self._logprobs} if self._logprobs else {})


def _extend(held: JsonObject, key: str, more: list[JsonObject]) -> None:
    """Add to a list that is held under a key, which is nobody else's."""
    known = held[key] = held.get(key) or []
    known += more


def _joined(call: JsonObject, pieces: list[str]) -> JsonObject:
    kind = kind_of_call(call)
    return call | {kind: call[kind] | ({_ARGUMENTS[kind]: "".join(pieces)} if pieces else {})}


def place_of(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return where the whole answer has what stands at a path in an event; of a list that goes on, behind what is known of it."""
    match path:
        case ("choices", int(at), *rest) if isinstance(event["choices"][at], dict):
            rest = ["message", *rest[1:]] if rest[:1] == ["delta"] else rest
            return continued(("choices", index_in(event["choices"][at], "index"), *rest), lengths)
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the chunks that fold to a body: each choice in one piece, its end, and usage last."""
    head = {key: value for key, value in body.items() if key not in ("choices", "usage")} | {"object": _CHUNK}
    pieces: list[JsonObject] = []
    choices = body.get("choices") or []
    given = [index if choice.get("index") is None else choice["index"] for index, choice in enumerate(choices)]
    for number, choice in zip(told_apart(given), choices, strict=True):
        message = choice.get("message") or {}
        delta = dict(message)
        if message.get("tool_calls"):
            delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(message["tool_calls"])]
        told = {"logprobs": choice["logprobs"]} if "logprobs" in choice else {}
        open_end = {"finish_reason": None} if "finish_reason" in choice else {}
        pieces.append({"index": number, "delta": delta} | open_end | told)
        end = {key: value for key, value in choice.items() if key not in ("message", "logprobs")}
        pieces.append(end | {"index": number, "delta": {}})
    made = [head | {"choices": [piece]} for piece in pieces]
    return made + ([head | {"choices": [], "usage": body["usage"]}] if "usage" in body else [])
