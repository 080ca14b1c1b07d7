"""Tokens of other vendors in a request that stays in its format: they came with an answer that had crossed over, and go no further."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.reasoning_tokens import is_verified, may_hold_tag
from formatbridge.jsontext.codec import checked
from formatbridge.jsontext.pointers import unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, resolve
from formatbridge.report.losses import Severity

_LABELS = frozenset({"type", "role", "id", "index", "format", "thought", "status"})
"""Members that say nothing by themselves."""
_SIGNED = frozenset({"thinking", "reasoning"})
"""Reasoning of messages and of responses, whose servers refuse it without their own token."""
_GONE = object()
"""Stands in a list for what is taken out of it, until all is."""


def without_foreign_tokens(
    raw: JsonObject, body: JsonObject, format: FormatSpec, text: object, losses: Ledger, key: bytes | None
) -> JsonObject:
    """Return a request without the tokens that other vendors minted, and note each; the same object where it has none.

    What is nothing without its token goes with it, and so does reasoning that the server takes with its own token only. A carried token
    that has come home is written as it was minted, under the id that it is sealed to. ``body``: the request as validated; ``text``: as the
    caller gave it, where that is text. ``key``: a carried token that is not sealed with it goes, too; None: no seal is looked at.
    """
    if isinstance(text, bytes | bytearray | str) and not may_hold_tag(text):
        return raw
    found = _carried(raw, body, format)
    if not found:
        return raw
    made: JsonObject = checked(raw)
    emptied: list[list[Any]] = []
    has_lost = False
    for pointer, signature in found.items():
        code = "foreign_signature" if signature.home != format.name else "unverified_token"
        if signature.home == format.name and (key is None or is_verified(signature, key)):
            owner, last = _way(made, pointer)[-1]
            owner[last] = signature.token
            if signature.item is not None:
                owner["id"] = signature.item
            continue
        has_lost = True
        gone, turn = _take_out(made, pointer, emptied)
        severity: Severity = "info" if gone == pointer and code == "foreign_signature" else "lossy"  # the text that it signed stays
        losses.dropped(ir.Signature(home=signature.home, kind=signature.kind, token="", src=gone), code=code, severity=severity)
        if turn is not None:
            losses.dropped(ir.Opaque(format=format.name, raw={}, src=turn), code="empty", severity="info")
    for items in emptied:
        items[:] = [item for item in items if item is not _GONE]
    return format.repair_history(made, losses) if has_lost else made


def _carried(raw: JsonObject, body: JsonObject, format: FormatSpec) -> dict[str, ir.Signature]:
    """Return the tagged tokens of a request by their pointers in it."""
    found: dict[str, ir.Signature] = {}
    for signature in _signatures(format.decode_request(body, model=None, stream=None)):
        pointer, token = resolve(raw, signature.src, format.field_paths)
        if isinstance(token, str) and token != signature.token:
            found[pointer] = signature
    return found


def _signatures(request: ir.Request) -> Iterator[ir.Signature]:
    for message in request.messages:
        for part in message.parts:
            for each in (part, *part.content) if isinstance(part, ir.ToolResult) else (part,):
                signature = getattr(each, "signature", None)
                if signature is not None:
                    yield signature


def _way(body: JsonObject, pointer: str) -> list[tuple[Any, Any]]:
    """Return each object and list on the way to a value, from the body on, with the key or index of the next step."""
    way: list[tuple[Any, Any]] = []
    node: Any = body
    for step in pointer.split("/")[1:]:
        key = int(step) if isinstance(node, list) else unescape(step)
        way.append((node, key))
        node = node[key]
    return way


def _take_out(body: JsonObject, pointer: str, emptied: list[list[Any]]) -> tuple[str, str | None]:
    """Take a token out of a body, and what is empty or refused without it.

    Returns the pointer of what has gone, and of the turn, where nothing was left of that either. Lists keep their length for now.
    """
    way, steps = _way(body, pointer), pointer.split("/")
    del way[-1][0][way[-1][1]]
    depth, gone = len(way) - 1, pointer
    turn = None
    while depth > 1 and not _says_something(way[depth][0]):
        owner, key = way[depth - 1]
        if isinstance(owner, list):
            owner[key] = _GONE
            emptied.append(owner)
        else:
            del owner[key]
        place = "/".join(steps[: depth + 1])
        if depth == 2:
            turn = place
        elif not isinstance(way[depth][0], list):
            gone = place
        depth -= 1
    return (turn, None) if turn is not None and gone == pointer else (gone, turn)


def _says_something(node: Any) -> bool:
    """Say whether a list or an object is of use without what was taken out."""
    if isinstance(node, list):
        return any(item is not _GONE for item in node)
    return node.get("type") not in _SIGNED and any(value for key, value in node.items() if key not in _LABELS)
