"""The events of a stream of messages to the whole body that they add up to, in the vendor's own terms, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from formatbridge._codec import dumps
from formatbridge.formats._arguments import parse_object

JsonObject = dict[str, Any]

_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "input"}
"""Kind of delta to the field of its block that it adds to."""
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Kind of delta to its own field that has the piece."""
_STOP = ("stop_reason", "stop_sequence", "stop_details")


def fold_stream(told: Iterable[JsonObject]) -> JsonObject | None:
    """Fold events as the vendor's client does; None where they bend the rules, so that nobody knows what they add up to."""
    body: JsonObject | None = None
    blocks: list[JsonObject] = []
    pieces: dict[tuple[int, str], list[str]] = {}
    for raw in told:
        match raw.get("type"):
            case "message_start" if body is None:
                body = dict(raw["message"])
                blocks = [dict(block) for block in body.get("content") or ()]
            case "content_block_start" if body is not None and raw.get("index") == len(blocks):
                blocks.append(dict(raw["content_block"]))
            case "content_block_delta" if raw.get("index") in range(len(blocks)):
                if not _grow(blocks[raw["index"]], raw["index"], raw["delta"], pieces):
                    return None
            case "message_delta" if body is not None:
                _update(body, raw)
            case "message_stop" if body is not None:
                body |= {key: value for key, value in raw.items() if key != "type"}
            case "content_block_stop" | "ping":
                pass
            case _:
                return None
    if body is None or not _join(blocks, pieces):
        return None
    return body | {"content": blocks}


def _grow(block: JsonObject, index: int, delta: JsonObject, pieces: dict[tuple[int, str], list[str]]) -> bool:
    """Add a delta to its block; false where the delta is not known."""
    kind = delta.get("type")
    if kind in _GROWING:
        if not delta.keys() <= {"type", _PIECES[kind]}:
            return False
        pieces.setdefault((index, _GROWING[kind]), []).append(delta.get(_PIECES[kind]) or "")
    elif kind == "signature_delta":
        block["signature"] = delta.get("signature")
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
    elif kind == "compaction_delta":
        block |= {key: value for key, value in delta.items() if key != "type"}
    else:
        return False
    return True


def _join(blocks: list[JsonObject], pieces: dict[tuple[int, str], list[str]]) -> bool:
    """Put the pieces of texts and inputs together; false where an input is no object."""
    for (index, field), parts in pieces.items():
        whole = "".join(parts)
        if field != "input":
            blocks[index][field] = (blocks[index].get(field) or "") + whole
        elif whole.strip():
            given, is_repeated = parse_object(whole)
            if given is None or is_repeated:
                return False
            blocks[index][field] = given
    return True


def _update(body: JsonObject, raw: JsonObject) -> None:
    """Take how the answer ended, what it cost, and whatever else the end tells."""
    told = {key: value for key, value in raw.items() if key not in ("type", "delta", "usage")}
    body |= told | {key: value for key, value in (raw.get("delta") or {}).items() if value is not None or key not in body}
    if raw.get("usage"):
        body["usage"] = (body.get("usage") or {}) | {key: value for key, value in raw["usage"].items() if value is not None}


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
