"""Fold of streams of Anthropic Messages: the events to the response that they add up to, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from formatbridge.formats.messages.stream_decoder import EVENTS, is_error_event
from formatbridge.formats.messages.stream_state import with_type
from formatbridge.formats.shared.fold import ConflictError, Fold, Table
from formatbridge.formats.shared.tool_arguments import parse_object
from formatbridge.formats.shared.unmodelled_fields import Pieces, read_extra, unknown_event
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import Path, index_in
from formatbridge.jsontext.types import JsonObject

_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "signature_delta": "signature",
    "citations_delta": "citation",
}
"""Types of deltas to their field."""
_MEMBERS = frozenset({"type", "index", "content_block", "delta", "message"})
"""Known fields of ``message_start`` and of block events. Any other field is a field of the response."""
_STOP = ("stop_reason", "stop_sequence", "stop_details")


def fold_stream(events: Iterable[JsonObject]) -> JsonObject | None:
    """Fold the events of a stream as Anthropic's SDK does; None if they violate its rules, because the response is unknown then.

    An event of an unknown type becomes a field of the response.
    """
    body: Fold | None = None
    blocks: list[Fold] = []
    fields = Pieces()
    try:
        for event in events:
            kind, index = event.get("type"), event.get("index")
            if kind not in EVENTS and not is_error_event(event):
                fields.take(unknown_event(event))
                continue
            match kind:
                case "message_start" if body is None:
                    body = Fold(_MESSAGE, event["message"])
                    blocks += [Fold(_BLOCK, block) for block in event["message"].get("content") or ()]
                # The SDK appends each block, so another index has no defined place (``accumulate_event`` of the official SDK).
                case "content_block_start" if body is not None and index == len(blocks):
                    blocks.append(Fold(_BLOCK, event["content_block"]))
                case "content_block_delta" if isinstance(index, int) and 0 <= index < len(blocks):
                    _add_delta(blocks[index], with_type(event["delta"]))
                case "message_delta" | "message_stop" if body is not None:
                    body.add({key: value for key, value in event.items() if key not in ("type", "delta")})
                    body.add(event.get("delta") or {})
                    continue
                case "content_block_stop" | "ping":
                    pass
                case _:
                    return None
            fields.take(read_extra(event, _MEMBERS))
        content = [_whole_block(block) for block in blocks]
    except ConflictError:
        return None
    return None if body is None else body.to_object() | fields.to_object() | {"content": content}


def _add_delta(block: Fold, delta: JsonObject) -> None:
    """Add a delta to its block. Unknown fields, and deltas of an unknown type, become fields of the block."""
    kind = delta.get("type")
    field = _DELTAS.get(kind or "", "")
    # Its content is complete, so it replaces that of the start.
    if kind == "compaction_delta":
        block.add({key: value for key, value in delta.items() if key != "type"})
    elif kind is None or field:
        block.unknown.take(read_extra(delta, {"type", field}))
        block.add({"citations": [delta["citation"]]} if field == "citation" else {field: delta.get(field)} if field else {})
    else:
        block.unknown.take({kind: delta})


def _whole_block(block: Fold) -> JsonObject:
    """Return a complete block. Raises ``ConflictError`` if its input is not a JSON object."""
    text = "".join(block.texts.pop("partial_json", ()))
    whole = block.to_object()
    if text.strip():
        whole["input"], has_repeated_keys = parse_object(text)
        if whole["input"] is None or has_repeated_keys:
            raise ConflictError("input")
    return whole


# Counts are cumulative: the last one that is not null is valid (Anthropic, "Streaming messages").
_USAGE = Table({}, other="last", null="ignore")
_MESSAGE = Table({"usage": _USAGE}, other="last", null="first")
_BLOCK = Table({"text": "text", "thinking": "text", "partial_json": "text", "citations": "list"}, other="last", null="first")


def response_path(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return the path in the response for a path in an event. ``lengths``: the lengths of the lists that earlier events began."""
    block: Path = ("content", index_in(event, "index"))
    match event.get("type"), path:
        case "content_block_delta", ("delta", "citation", *subpath):
            citations = (*block, "citations")
            return (*citations, lengths.get(citations, 0), *subpath)
        case ("content_block_start", ("content_block", *subpath)) | ("content_block_delta", ("delta", *subpath)):
            return (*block, *subpath)
        case (("content_block_start" | "content_block_delta"), ()):
            return block
        case ("message_start", ("message", *subpath)) | ("message_delta", ("delta", *subpath)):
            return tuple(subpath)
    return path


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return events that fold to a body: each block with one delta of each type, then the stop reason and the usage."""
    start = body | {"content": []} | {key: None for key in _STOP if key in body}
    events: list[JsonObject] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(body.get("content") or ()):
        start_block, deltas = _unfold_block(block)
        events.append({"type": "content_block_start", "index": index, "content_block": start_block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {key: body[key] for key in _STOP if key in body}
    usage = {"usage": body["usage"]} if "usage" in body else {}
    return [*events, {"type": "message_delta", "delta": stop, **usage}, {"type": "message_stop"}]


def _unfold_block(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return the start of a block and its deltas, as Anthropic streams it ("Streaming messages"). A block of another type has no deltas."""
    kind = block.get("type")
    if kind == "text" and block.get("text"):
        citations = [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or ()]
        start = block | {"text": ""} | ({"citations": []} if citations else {})
        return start, [*citations, {"type": "text_delta", "text": block["text"]}]
    if kind == "thinking":
        thinking = [{"type": "thinking_delta", "thinking": block["thinking"]}] if block.get("thinking") else []
        signature = [{"type": "signature_delta", "signature": block["signature"]}] if block.get("signature") else []
        return block | {"thinking": ""} | ({"signature": ""} if signature else {}), thinking + signature
    if block.get("input") and isinstance(block["input"], dict):
        return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": dumps(block["input"]).decode()}]
    return block, []
