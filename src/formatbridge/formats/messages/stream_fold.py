"""Streams of messages, folded: events to the whole body that they add up to, in the vendor's own terms, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from formatbridge.formats.messages.stream_decoder import EVENTS, is_failure
from formatbridge.formats.messages.stream_state import with_kind
from formatbridge.formats.shared.tool_arguments import parse_object
from formatbridge.formats.shared.unmodelled_fields import Pieces, rest, unknown_event
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import Path, index_in
from formatbridge.jsontext.types import JsonObject

_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "input"}
"""Kind of delta to the field of its block that it adds to."""
_PIECES = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
    "citations_delta": "citation",
}
"""Kind of delta to its own field that has the piece."""
_MEMBERS = frozenset({"type", "index", "content_block", "delta", "message"})
"""What the events of a start, and of a block, have; anything else counts as a field of the answer."""
_STOP = ("stop_reason", "stop_sequence", "stop_details")


def fold_stream(told: Iterable[JsonObject]) -> JsonObject | None:
    """Fold events as the vendor's client does; None where they bend the rules, so that nobody knows what they add up to.

    An event of a kind that nobody knows counts as a field of the answer, and such a delta as one of its block.
    """
    body: JsonObject | None = None
    blocks: list[_Block] = []
    fields = Pieces()
    for raw in told:
        match raw.get("type"):
            case "message_start" if body is None:
                body = dict(raw["message"])
                body |= {"usage": dict(body["usage"])} if body.get("usage") else {}
                blocks = [_Block(block) for block in body.get("content") or ()]
            case "content_block_start" if body is not None and raw.get("index") == len(blocks):
                blocks.append(_Block(raw["content_block"]))
            case "content_block_delta" if raw.get("index") in range(len(blocks)):
                blocks[raw["index"]].grow(with_kind(raw["delta"]))
            case "message_delta" | "message_stop" if body is not None:
                _update(body, raw)
                continue
            case "content_block_stop" | "ping":
                pass
            case kind if kind not in EVENTS and not is_failure(raw):
                fields.take(unknown_event(raw))
                continue
            case _:
                return None
        fields.take(rest(raw, _MEMBERS))
    content = [block.body() for block in blocks]
    return None if body is None or None in content else body | fields.whole() | {"content": content}


class _Block:
    """One block as far as it has come."""

    def __init__(self, raw: JsonObject) -> None:
        self._told = dict(raw)
        self._pieces: dict[str, list[str]] = {}
        self._citations: list[Any] = []
        self._unknown = Pieces()

    def grow(self, delta: JsonObject) -> None:
        """Add a delta; what nobody knows of it counts as a field of the block."""
        kind, told = delta.get("type"), self._told
        if kind in _PIECES and len(delta) > 2:
            self._unknown.take(rest(delta, {"type", _PIECES[kind]}))
        match kind:
            case "text_delta" | "thinking_delta" | "input_json_delta":
                self._pieces.setdefault(_GROWING[kind], []).append(delta.get(_PIECES[kind]) or "")
            case "signature_delta":
                told["signature"] = delta.get("signature")
            case "citations_delta":
                self._citations.append(delta["citation"])
            case "compaction_delta":
                told |= {key: value for key, value in delta.items() if key != "type"}
            case None:
                self._unknown.take(rest(delta, {"type"}))
            case _:
                self._unknown.take({str(kind): delta})

    def body(self) -> JsonObject | None:
        """Return the block as a whole answer has it; None where its input is no object, or what grew no text."""
        made = self._told | self._cited() | self._unknown.whole()
        for field, pieces in self._pieces.items():
            whole = "".join(pieces)
            if field != "input":
                told = made.get(field) or ""
                if not isinstance(told, str):  # a block of a kind that nobody knows
                    return None
                made[field] = told + whole
            elif whole.strip():
                given, is_repeated = parse_object(whole)
                if given is None or is_repeated:
                    return None
                made[field] = given
        return made

    def _cited(self) -> JsonObject:
        return {"citations": [*(self._told.get("citations") or ()), *self._citations]} if self._citations else {}


def _update(body: JsonObject, raw: JsonObject) -> None:
    """Take how the answer ended, what it cost, and whatever else the end, or the stop behind it, tells."""
    delta, usage = (value if isinstance(value := raw.get(key), dict) else {} for key in ("delta", "usage"))
    told = {
        key: value
        for key, value in raw.items()
        if key != "type" and (key not in ("delta", "usage") or value not in (None, delta, usage))
    }
    body |= told | {key: value for key, value in delta.items() if value is not None or key not in body}
    if usage:
        body["usage"] = known = body.get("usage") or {}
        known |= {key: value for key, value in usage.items() if value is not None}


def place_of(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return where the whole answer has what stands at a path in an event."""
    index = index_in(event, "index")
    cited: Path = ("content", index, "citations")
    match event.get("type"), path:
        case "content_block_delta", ("delta", "citation", *rest):
            return (*cited, lengths.get(cited, 0), *rest)
        case "message_start", ("message", *rest):
            return tuple(rest)
        case "content_block_start", ("content_block", *rest):
            return ("content", index, *rest)
        case "content_block_delta", ("delta", *rest):
            return ("content", index, *rest)
        case (("content_block_start" | "content_block_delta"), ()):
            return ("content", index)
        case "message_delta", ("delta", *rest):
            return tuple(rest)
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the events that fold to a body: each block in one piece, then how it ended and what it cost."""
    start = body | {"content": []} | {key: None for key in _STOP if key in body}
    made: list[JsonObject] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(body.get("content") or ()):
        bare, deltas = _unfold_block(block)
        made.append({"type": "content_block_start", "index": index, "content_block": bare})
        made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        made.append({"type": "content_block_stop", "index": index})
    stop = {key: body[key] for key in _STOP if key in body}
    usage = {"usage": body["usage"]} if "usage" in body else {}
    return [*made, {"type": "message_delta", "delta": stop, **usage}, {"type": "message_stop"}]


def _unfold_block(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Take from a block what grows, as the vendor streams it; any other block comes whole with its start."""
    kind = block.get("type")
    if kind == "text" and block.get("text"):
        cited = [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or ()]
        bare = block | {"text": ""} | ({"citations": []} if cited else {})
        return bare, [*cited, {"type": "text_delta", "text": block["text"]}]
    if kind == "thinking":
        thought = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block.get("thinking") else []
        token = [{"type": "signature_delta", "signature": block["signature"]}] if block.get("signature") else []
        return block | {"thinking": ""} | ({"signature": ""} if token else {}), thought + token
    if block.get("input") and isinstance(block["input"], dict):
        return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": dumps(block["input"]).decode()}]
    return block, []
