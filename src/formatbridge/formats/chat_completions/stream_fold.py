"""The chunks of a stream of chat_completions to the whole body that they add up to, in the vendor's own terms, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

JsonObject = dict[str, Any]

_GROWING = frozenset({"content", "refusal", "reasoning_content", "reasoning"})
_LISTS = frozenset({"annotations", "images"})
"""Fields of a message whose items come one after the other."""
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
        body |= _news({key: value for key, value in raw.items() if key not in _PADDING}, body)
        for piece in raw.get("choices") or ():
            index = piece.get("index") or 0
            if not choices.setdefault(index, _Choice(index)).grow(piece):
                return None
    if not choices:
        return None
    return {"object": _WHOLE} | body | {"choices": [choice.body() for _, choice in sorted(choices.items())]}


class _Choice:
    """One choice as far as it has come."""

    def __init__(self, index: int) -> None:
        self._outer: JsonObject = {"index": index}
        self._message: JsonObject = {}
        self._pieces: dict[str, list[str]] = {}
        self._calls: list[tuple[JsonObject, list[str]]] = []
        self._logprobs: JsonObject = {}

    def grow(self, piece: JsonObject) -> bool:
        """Add a piece; false where it bends the rules."""
        for key, value in (piece.get("delta") or {}).items():
            if value is None:
                self._message.setdefault(key)
            elif not self._add(key, value):
                return False
        for key, tokens in (piece.get("logprobs") or {}).items():
            if not isinstance(tokens, list | None):
                return False
            self._logprobs[key] = self._logprobs.get(key) if tokens is None else [*(self._logprobs.get(key) or ()), *tokens]
        told = {key: value for key, value in piece.items() if key != "delta" and (key != "logprobs" or value is None)}
        self._outer |= _news(told, self._outer)
        return True

    def _add(self, key: str, value: Any) -> bool:
        if key in _GROWING and isinstance(value, str):
            self._pieces.setdefault(key, []).append(value)
            return not self._message.get(key)
        if key == "tool_calls" and value:
            return all(self._call(raw) for raw in value)
        if key in _LISTS and isinstance(value, list):
            self._message[key] = [*(self._message.get(key) or ()), *value]
            return True
        is_new = self._message.get(key) in (None, value) and key not in self._pieces
        self._message[key] = value
        return is_new

    def _call(self, raw: JsonObject) -> bool:
        """Add to a call; false where it is not the one that its index names, or says again what it is."""
        at, kind = raw.get("index"), _kind(raw)
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
        return kind in call and again.items() <= call.items() and named.items() <= call[kind].items()

    def body(self) -> JsonObject:
        """Return the choice as a whole answer has it."""
        message = self._message | {key: "".join(pieces) for key, pieces in self._pieces.items()}
        calls = [_joined(call, pieces) for call, pieces in self._calls]
        made: JsonObject = {"message": message | ({"tool_calls": calls} if calls else {})}
        return made | self._outer | ({"logprobs": self._logprobs} if self._logprobs else {})


def _news(told: JsonObject, known: JsonObject) -> JsonObject:
    """Return the fields of a piece that say something, or as much as is known: what says nothing (null, empty, 0) replaces nothing."""
    return {key: value for key, value in told.items() if value or value is False or not known.get(key)}


def _joined(call: JsonObject, pieces: list[str]) -> JsonObject:
    kind = _kind(call)
    return call | {kind: call[kind] | ({_ARGUMENTS[kind]: "".join(pieces)} if pieces else {})}


def _kind(call: JsonObject) -> str:
    return "custom" if call.get("custom") else "function"


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the chunks that fold to a body: each choice in one piece, its end, and usage last."""
    head = {key: value for key, value in body.items() if key not in ("choices", "usage")} | {"object": _CHUNK}
    pieces: list[JsonObject] = []
    for index, choice in enumerate(body.get("choices") or ()):
        number = choice.get("index", index)
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
