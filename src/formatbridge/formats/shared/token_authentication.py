"""Seals of carried tokens for ``Options(token_key=...)``: checked after decoding and created before encoding.

Every tagged token of a request, of an answer and of a stream is checked, in every pair of formats. A token without a valid seal is
removed from its part and reported. Each format writes such a part as one without a token. A token that came without a tag is not
checked, because only its vendor can do that.
"""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.shared.reasoning_tokens import is_verified, seal_key
from formatbridge.ir import events
from formatbridge.report.ledger import Ledger

_HIDDEN = ("redacted", "encrypted")


def check_request_tokens(request: ir.Request, key: bytes, losses: Ledger) -> ir.Request:
    """Return a request without the tokens that are not sealed with the key."""
    messages = [replace(message, parts=_checked_parts(message.parts, key, losses)) for message in request.messages]
    return replace(request, messages=messages)


def check_response_tokens(response: ir.Response, key: bytes, losses: Ledger) -> ir.Response:
    """Return an answer without the tokens that are not sealed with the key. The encoder seals the remaining tokens again."""
    choices = [replace(choice, parts=_checked_parts(choice.parts, key, losses)) for choice in response.choices]
    return replace(response, choices=choices)


def check_event_tokens(new_events: list[events.Event], key: bytes) -> list[events.Event]:
    """Return events without the tokens that are not sealed with the key. ``check_response_tokens`` reports these in the whole answer."""
    return [result for event in new_events if (result := _checked_event(event, key)) is not None]


def _checked_event(event: events.Event, key: bytes) -> events.Event | None:
    """Return an event without a token that is not sealed; None if the event has nothing else."""
    match event:
        case events.PartStart():
            part = _checked(event.part, key, None)
            return event if part is event.part else replace(event, part=part)
        case events.PartEnd() if event.part is not None:
            part = _checked(event.part, key, None)
            return event if part is event.part else replace(event, part=part)
        # The next two events have a token that was sent after its part, or next to it.
        case events.SignatureUpdate(signature=signature) if not _seals(signature, key):
            return None
        case events.PartUpdate(signature=ir.Signature() as signature) if not _seals(signature, key):
            bare = replace(event, signature=None)
            return bare if bare.citation or bare.transcript or bare.extra else None
    return event


def _checked_parts(parts: list[ir.Part], key: bytes, losses: Ledger) -> list[ir.Part]:
    return [_checked(part, key, losses) for part in parts]


def _checked(part: ir.Part, key: bytes, losses: Ledger | None) -> ir.Part:
    """Return a part without its token, if that is not sealed; for a tool result, also without such tokens of its content."""
    if isinstance(part, ir.ToolResult):
        content = [_checked(inner, key, losses) for inner in part.content]
        if any(a is not b for a, b in zip(part.content, content, strict=True)):
            part = replace(part, content=content)
    signature: ir.Signature | None = getattr(part, "signature", None)
    if signature is None or _seals(signature, key):
        return part
    if losses is not None:
        is_hidden = isinstance(part, ir.Reasoning) and not part.text and signature.kind in _HIDDEN
        losses.dropped(part if is_hidden else signature, code="unverified_token")
    return replace(part, signature=None)  # type: ignore[arg-type]  # only parts that may have one come here


def _seals(signature: ir.Signature, key: bytes) -> bool:
    """Return whether a token is verified, and set the key that seals its tag if it is."""
    if not is_verified(signature, key):
        return False
    signature.seal_key = seal_key(signature, key)
    return True
