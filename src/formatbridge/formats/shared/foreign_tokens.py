"""Remove carried tokens of other vendors from a request that stays in its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from formatbridge import ir
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.reasoning_tokens import binding_of, is_verified, may_hold_tag
from formatbridge.jsontext.codec import checked
from formatbridge.jsontext.pointers import unescape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, resolve
from formatbridge.report.losses import Severity

_LABELS = frozenset({"type", "role", "id", "index", "format", "thought", "status"})
"""Members of a part that are no content."""
_SIGNED = frozenset({"thinking", "reasoning"})
"""Types of reasoning in messages and responses, whose servers refuse it without their token."""
_GONE = object()
"""A marker in a list for an item that is removed later."""


Removed = Mapping[str, list[int]]
"""The indexes of the items that were removed from the lists of a body, in ascending order, by the pointer of the list."""


def original_pointer(pointer: str, removed: Removed) -> str:
    """Translate a pointer into a body without some items to one into the original body."""
    original = ""
    for step in pointer.split("/")[1:]:
        if original not in removed:
            original = f"{original}/{step}"
            continue
        index = int(step)
        for gone in removed[original]:
            index += gone <= index
        original = f"{original}/{index}"
    return original


def without_foreign_tokens(
    raw: JsonObject, body: JsonObject, format: FormatSpec, text: object, losses: Ledger, key: bytes | None
) -> tuple[JsonObject, Removed]:
    """Return a request without the tokens of other vendors, and note each; the same object if it has none. Also return the removed items.

    An object that is empty without its token is removed too, and so is reasoning that the server accepts only with its token. A carried
    token of this format is restored, with the id to which it is sealed. ``body``: the validated request. ``text``: the request as the
    caller passed it, which matters if it is text. ``key``: carried tokens that are not sealed with it are removed too; None: seals are not
    checked.
    """
    # A client sends back a converted answer with carried tokens, and this request goes to the vendor of its format directly.
    # That server would reject the token of another vendor (anthropics/anthropic-sdk-python#1598, openai/codex#8128).
    if isinstance(text, bytes | bytearray | str) and not may_hold_tag(text):
        return raw, {}
    tokens = _carried(raw, body, format)
    if not tokens:
        return raw, {}
    result: JsonObject = checked(raw)
    emptied: dict[str, list[Any]] = {}
    has_lost = False
    for pointer, signature in tokens.items():
        code = "foreign_signature" if signature.issuer != format.name else "unverified_token"
        if signature.issuer == format.name and (key is None or is_verified(signature, key)):
            owner, last = _steps_to(result, pointer)[-1]
            owner[last] = signature.token
            if binding_of(signature) == "item":
                owner["id"] = signature.item_id
            continue
        has_lost = True
        gone, turn = _take_out(result, pointer, emptied)
        severity: Severity = "info" if gone == pointer and code == "foreign_signature" else "lossy"  # the signed text stays
        losses.dropped_at(gone, code, severity=severity)
        if turn is not None:
            losses.dropped_at(turn, "empty")
    removed = {
        list_pointer: [index for index, item in enumerate(items) if item is _GONE] for list_pointer, items in emptied.items()
    }
    for items in emptied.values():
        items[:] = [item for item in items if item is not _GONE]
    return format.repair_history(result, losses) if has_lost else result, removed


def _carried(raw: JsonObject, body: JsonObject, format: FormatSpec) -> dict[str, ir.Signature]:
    """Return the tagged tokens of a request, by pointer."""
    tokens: dict[str, ir.Signature] = {}
    for signature in _signatures(format.decode_request(body, model=None, stream=None)):
        pointer, token = resolve(raw, signature.src, format.field_paths)
        if isinstance(token, str) and token != signature.token:
            tokens[pointer] = signature
    return tokens


def _signatures(request: ir.Request) -> Iterator[ir.Signature]:
    for message in request.messages:
        for part in message.parts:
            for each in (part, *part.content) if isinstance(part, ir.ToolResult) else (part,):
                signature = getattr(each, "signature", None)
                if signature is not None:
                    yield signature


def _steps_to(body: JsonObject, pointer: str) -> list[tuple[Any, Any]]:
    """Return the objects and lists on the path to a value, each with the key or index of the next step."""
    steps: list[tuple[Any, Any]] = []
    node: Any = body
    for step in pointer.split("/")[1:]:
        key = int(step) if isinstance(node, list) else unescape(step)
        steps.append((node, key))
        node = node[key]
    return steps


def _take_out(body: JsonObject, pointer: str, emptied: dict[str, list[Any]]) -> tuple[str, str | None]:
    """Remove a token from a body, and its part if that is empty or rejected without it.

    Return the pointer of the removed value, and of the turn, if that was removed too. Lists keep their length until all tokens are
    removed.
    """
    # /messages/1/content/0/signature: after the token, its block is removed if it is empty now, then the content, then the turn.
    levels, steps = _steps_to(body, pointer), pointer.split("/")
    del levels[-1][0][levels[-1][1]]
    depth, gone = len(levels) - 1, pointer
    turn = None
    while depth > 1 and not _has_content(levels[depth][0]):
        owner, key = levels[depth - 1]
        if isinstance(owner, list):
            owner[key] = _GONE
            emptied["/".join(steps[:depth])] = owner
        else:
            del owner[key]
        removed = "/".join(steps[: depth + 1])
        if depth == 2:
            turn = removed
        elif not isinstance(levels[depth][0], list):
            gone = removed
        depth -= 1
    return (turn, None) if turn is not None and gone == pointer else (gone, turn)


def _has_content(node: Any) -> bool:
    """Return whether a list or an object still has content."""
    if isinstance(node, list):
        return any(item is not _GONE for item in node)
    return node.get("type") not in _SIGNED and any(value for key, value in node.items() if key not in _LABELS)
