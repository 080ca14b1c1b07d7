"""A rule of a vendor's server, and the facts that a rule needs besides the body of the request."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure

_TAG = "fb1|"
"""The beginning of a token of another format, as this library carries it in an answer."""
_TOKEN_KEYS = frozenset({"signature", "data", "encrypted_content", "thoughtSignature", "thought_signature"})


class Issued:
    """Reasoning tokens and ids in the answers of one relay."""

    def __init__(self) -> None:
        self._tokens: set[tuple[fb.Format, str | bytes]] = set()
        self._ids: set[str] = set()

    def note(self, format: fb.Format, value: Any, *, is_stored: bool) -> None:
        """Record the tokens in an answer or in an event, and its ids if the answer is stored."""
        for node in objects(value):
            for key in _TOKEN_KEYS & node.keys():
                if isinstance(node[key], str):
                    self._tokens.add((format, _normal(format, node[key])))
            if is_stored and isinstance(node.get("id"), str):
                self._ids.add(node["id"])

    def has_token(self, format: fb.Format, token: str) -> bool:
        """Return whether the relay issued a token in a format."""
        return (format, _normal(format, token)) in self._tokens

    def has_id(self, id_: object) -> bool:
        """Return whether the relay stores a response or an item."""
        return id_ in self._ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts that a rule needs besides the body.

    ``can_reason``: whether the model has reasoning. ``excludes_functions``: whether it rejects functions with reasoning in
    chat_completions. ``is_verified``: whether the organisation is verified. ``issued``: None if unknown; then nothing is stored, and every
    token without a tag is accepted.
    """

    model: str = ""
    can_reason: bool = True
    excludes_functions: bool = False
    is_verified: bool = True
    issued: Issued | None = None

    def accepts_token(self, format: fb.Format, token: object) -> bool:
        """Return whether the server of a format can read a token."""
        if not isinstance(token, str) or not token or is_tagged(token):
            return False
        return self.issued is None or self.issued.has_token(format, token)

    def stores(self, id_: object) -> bool:
        """Return whether the server has stored a response or an item."""
        return self.issued is not None and self.issued.has_id(id_)


Check = Callable[[JsonObject, Facts], Failure | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason for which a vendor rejects a request that its types allow.

    ``about``: what is rejected, for the documentation. ``source``: reports of it. ``check``: returns the vendor's error for a request that
    breaks the rule, else None.
    """

    name: str
    about: str
    source: str
    check: Check


def is_tagged(token: str) -> bool:
    """Return whether a token has the tag of this library, as text or in base64. No vendor issues such a token."""
    decoded = _decoded(token)
    return token.startswith(_TAG) or (decoded is not None and decoded.startswith(_TAG.encode()))


def objects(value: Any) -> Iterator[JsonObject]:
    """Yield every JSON object in a value, the value itself included."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def items_of(body: JsonObject) -> list[JsonObject]:
    """Return the items of a request of Responses; none if its input is text."""
    items = body.get("input")
    return items if isinstance(items, list) else []


def _normal(format: fb.Format, token: str) -> str | bytes:
    """Return the normal form of a token. Clients of generate_content write its base64 again, in either alphabet."""
    decoded = _decoded(token) if format == "generate_content" else None
    return token if decoded is None else decoded


def _decoded(token: str) -> bytes | None:
    """Decode base64 in the standard or the URL-safe alphabet; return None for other text."""
    text = token.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):  # ValueError: not ASCII
        return None


def is_object_text(text: str) -> bool:
    """Return whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
