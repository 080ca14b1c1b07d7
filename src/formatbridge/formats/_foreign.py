"""Tokens of other vendors in a request that stays in its format: they came with an answer that had crossed over, and go no further."""

from __future__ import annotations

from typing import Any

from formatbridge import ir
from formatbridge._codec import checked
from formatbridge.formats._signatures import decode_token, may_hold_tag
from formatbridge.losses import Ledger, escape

JsonObject = dict[str, Any]

_SLOTS = frozenset({"signature", "data", "encrypted_content", "thoughtSignature", "thought_signature"})
"""Where the formats keep tokens."""
_FREE = frozenset({"input", "args", "arguments", "response", "parameters", "input_schema", "schema", "metadata"})
"""Objects that are the caller's own words, in which nothing is a token."""
_LABELS = frozenset({"type", "id", "index", "format", "thought", "status"})
"""Members that say nothing by themselves."""


def without_foreign_tokens(raw: JsonObject, format: ir.Format, text: object, losses: Ledger) -> JsonObject:
    """Return a request without the tokens that other vendors minted, and note each; the same object where it has none.

    What is nothing without its token goes with it, and so does a thought of messages, whose server takes signed ones only.
    ``text``: the request as the caller gave it, where that is text.
    """
    if isinstance(text, bytes | bytearray | str) and not may_hold_tag(text):
        return raw
    found = _tokens(raw, format)
    if not found:
        return raw
    made: JsonObject = checked(raw)
    for signature in reversed(found):  # from the last to the first, so that what goes moves nothing that is still to go
        gone = _remove(made, signature.src)
        losses.dropped(ir.Signature(home=signature.home, kind=signature.kind, token="", src=gone), code="foreign_signature")
    return made


def _tokens(raw: JsonObject, format: ir.Format) -> list[ir.Signature]:
    """Return the tokens that are at home elsewhere, in the order of the body."""
    found: list[ir.Signature] = []
    pending: list[tuple[str, Any]] = [("", raw)]
    while pending:
        pointer, node = pending.pop()
        members = list(node.items() if isinstance(node, dict) else enumerate(node))
        for key, value in reversed(members):
            if isinstance(value, list) or (isinstance(value, dict) and key not in _FREE):
                pending.append((f"{pointer}/{escape(str(key))}", value))
        for key, value in members:
            if key in _SLOTS and isinstance(value, str):
                signature = decode_token(value, format, "thinking", f"{pointer}/{key}")
                if signature.home != format or signature.token != value:
                    found.append(signature)
    return found


def _remove(body: JsonObject, pointer: str) -> str:
    """Take a token out of a body, and what is empty or refused without it; return the pointer of what has gone."""
    steps = pointer.split("/")[1:]
    nodes: list[Any] = [body]
    for step in steps[:-1]:
        nodes.append(nodes[-1][int(step)] if isinstance(nodes[-1], list) else nodes[-1][step])
    del nodes[-1][steps[-1]]
    depth = len(steps) - 1
    while depth and not _says_something(nodes[depth]):
        parent, step = nodes[depth - 1], steps[depth - 1]
        del parent[int(step) if isinstance(parent, list) else step]
        depth -= 1
        if isinstance(parent, list):
            break
    return "/" + "/".join(steps[: depth + 1])


def _says_something(node: JsonObject) -> bool:
    """Say whether an object is of use without its token."""
    return node.get("type") != "thinking" and any(value for key, value in node.items() if key not in _LABELS)
