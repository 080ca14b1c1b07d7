"""Opaque reasoning tokens: where they are at home, and the tag that carries one through another format's slot.

A tagged token is ``fb1|<home>|<kind>|<token>``; in generate_content, whose slot is bytes, the base64 of that text. Untagged means native.
One that is sealed to an item has the item's id behind it, after another bar: ``fb1|responses|encrypted|<token>|<id>``; so has one that a
server of chat_completions bound to a call. A bar in the id is ``~1`` there, and a tilde ``~0``. One that was found on the wire of another
format, in a slot that names its home, has that format last: ``fb1|generate_content|call|<token>|chat_completions``.
With ``Options(token_key=...)`` a seal follows the kind, after a dot: ``fb1|messages|thinking.<32 hexadecimal digits>|<token>``.
"""

from __future__ import annotations

import base64
import hmac
import re
from typing import cast, get_args

from formatbridge import ir
from formatbridge.formats.shared.parts import drop_id
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_TAG = "fb1|"
_TAG_IN_BYTES = base64.b64encode(_TAG.encode()).decode()[:4]
_KINDS = ("thinking", "redacted", "encrypted", "thought", "call")
_SEALING = frozenset({"responses", "generate_content"})  # whose tokens are sealed to an item, or bound to a call
_BUILT_IN = frozenset(get_args(ir.Format))
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_FROM_OUTSIDE = ":"
"""Precedes the last piece of a tag that names a format from outside: a piece without it is a built-in format or part of the token."""

PLACEHOLDER = "skip_thought_signature_validator"
"""Google's token for a function call that no Gemini model made: its server then checks no signature. Source: "Thought Signatures", FAQ."""
_PLACEHOLDER_WORDS = (PLACEHOLDER, "context_engineering_is_the_way_to_go")  # the page names both
_PLACEHOLDERS = frozenset(
    spelling for word in _PLACEHOLDER_WORDS for spelling in (word, base64.b64encode(word.encode()).decode())
)  # fmt: skip


def is_placeholder(token: str) -> bool:
    """Return whether a token of generate_content is a placeholder: the word, as most clients send it, or its base64."""
    return token in _PLACEHOLDERS


def decode_token(
    token: str, home: ir.FormatName, kind: ir.SignatureKind, src: str, item: str | None = None, found: ir.FormatName | None = None
) -> ir.Signature:
    """Read a token out of a slot of ``home``: a tagged one gets its own home and kind back.

    ``item``: the id of the item around it; ``found``: on whose wire, where the slot names the home.
    """
    text = token
    if home == "generate_content" and token.startswith(_TAG_IN_BYTES):
        try:
            text = base64.b64decode(token, validate=True).decode()
        except ValueError:  # no base64, or no text
            text = token
    if text.startswith(_TAG):
        pieces = text.split("|", 3)
        if len(pieces) == 4 and _NAME.fullmatch(pieces[1]) and pieces[2].partition(".")[0] in _KINDS:
            known, said = pieces[1], cast(ir.SignatureKind, pieces[2].partition(".")[0])
            inner, wire = _split_wire(pieces[3], known)
            inner, sealed = _split_item(inner) if known in _SEALING else (inner, None)
            return ir.Signature(home=known, kind=said, token=inner, src=src, item=sealed, found=wire, carried=text)
    wire = found if found != home else None
    return ir.Signature(home=home, kind=kind, token=token, src=src, item=item if home in _SEALING else None, found=wire)


def _split_wire(text: str, home: ir.FormatName) -> tuple[str, ir.FormatName | None]:
    """Split a token from the wire on which it was found; its own home stands there where it was found on no other."""
    inner, _, last = text.rpartition("|")
    if not _names_format(last):
        return text, None
    wire = last.removeprefix(_FROM_OUTSIDE)
    return inner, wire if wire != home else None


def _with_wire(text: str, signature: ir.Signature) -> str:
    """Write behind a token on which wire it was found, if that is not its home's, or if the token looks as if it said so."""
    if signature.found is None and not _names_format(text.rpartition("|")[2]):
        return text
    wire = signature.found or signature.home
    return f"{text}|{wire}" if wire in _BUILT_IN else f"{text}|{_FROM_OUTSIDE}{wire}"


def _names_format(piece: str) -> bool:
    """Return whether the last piece of a tag names a format."""
    return piece in _BUILT_IN or piece[:1] == _FROM_OUTSIDE


def is_at_home(signature: ir.Signature, slot: ir.FormatName) -> bool:
    """Say whether a token may go into a request of a format: it was minted there, or it was found there."""
    return slot in (signature.home, signature.found)


def _split_item(text: str) -> tuple[str, str | None]:
    """Split a token that may be sealed to an item from the item's id."""
    token, bar, item = text.rpartition("|")
    return (token, item.replace("~1", "|").replace("~0", "~") or None) if bar else (text, None)


def _with_item(signature: ir.Signature) -> str:
    """Write a token with the id of its item, if it has one, behind it; an empty one where the token itself has a bar."""
    if signature.home not in _SEALING or (signature.item is None and "|" not in signature.token):
        return signature.token
    item = (signature.item or "").replace("~", "~0").replace("|", "~1")
    return f"{signature.token}|{item}"


def carries_call_token(part: ir.Part) -> bool:
    """Say whether a part holds nothing but a token of the part behind it."""
    return type(part) is ir.Reasoning and part.signature is not None and part.signature.kind == "call" and not part.text


def keeps_id(signature: ir.Signature | None, item_id: str | None, slot: ir.FormatName) -> bool:
    """Say whether the id of an item travels in the tag of the token that is sealed to it, in an answer of ``slot``."""
    return signature is not None and signature.item is not None and signature.item == item_id and signature.home != slot


def bound_to(part: ir.Part) -> str | None:
    """Return the id that binds a token on its own to a call.

    Servers of chat_completions tell a token of generate_content so, whose own place is on the call.
    """
    if type(part) is not ir.Reasoning or part.text or part.signature is None or part.signature.home != "generate_content":
        return None
    return part.signature.item


def id_of(part: ir.Reasoning) -> str | None:
    """Return the id that a thought is sealed to, else that of the item that it came in."""
    return (part.signature and part.signature.item) or part.id


def may_hold_tag(text: bytes | bytearray | str) -> bool:
    """Say whether JSON text may have a tagged token in it; quick, for most has none."""
    if isinstance(text, str):
        return _TAG in text or _TAG_IN_BYTES in text
    return _TAG.encode() in text or _TAG_IN_BYTES.encode() in text


def encode_token(signature: ir.Signature, slot: ir.FormatName, *, kind: ir.SignatureKind | None = None) -> str:
    """Write a token into a slot of ``slot``: as it is where it is at home, else tagged. ``kind`` replaces its own in the tag."""
    if is_at_home(signature, slot) and kind is None:
        return signature.token
    text = _tagged(signature, kind or signature.kind)
    return base64.b64encode(text.encode()).decode() if slot == "generate_content" else text


def _tagged(signature: ir.Signature, kind: ir.SignatureKind) -> str:
    """Write a token with its tag: sealed where it has a key for that, else with the seal with which it came."""
    if signature.seal_key is not None:
        return f"{_TAG}{signature.home}|{kind}.{_seal(signature.seal_key, kind)}|{_body_of(signature)}"
    if signature.carried is not None and _seal_in(signature.carried) and kind == signature.kind:
        return signature.carried
    return f"{_TAG}{signature.home}|{kind}|{_body_of(signature)}"


def _body_of(signature: ir.Signature) -> str:
    return _with_wire(_with_item(signature), signature)


# Seals. Two steps, so that what is kept with a token cannot seal another one.


def seal_key(signature: ir.Signature, key: bytes) -> bytes:
    """Return the key that seals the tag of one token, whatever its kind."""
    return _seal_key(key, signature.home, _body_of(signature))


def is_verified(signature: ir.Signature, key: bytes) -> bool:
    """Say whether a token came without a tag, or with one that is sealed with the key."""
    if signature.carried is None:
        return True
    _, home, kind, body = signature.carried.split("|", 3)
    expected = _seal(_seal_key(key, home, body), kind.partition(".")[0])
    return hmac.compare_digest(expected.encode(), _seal_in(signature.carried).encode())


def _seal_in(tagged: str) -> str:
    return tagged.split("|", 3)[2].partition(".")[2]


def _seal_key(key: bytes, home: str, body: str) -> bytes:
    return hmac.digest(key, f"{_TAG}{home}|{body}".encode(), "sha256")


def _seal(key: bytes, kind: str) -> str:
    return hmac.digest(key, kind.encode(), "sha256")[:16].hex()


def native_token(signature: ir.Signature | None, slot: ir.FormatName, losses: Ledger) -> str | None:
    """Return a token for a request, which takes only its own; a foreign one is noted."""
    if signature is None:
        return None
    if is_at_home(signature, slot):
        return signature.token
    losses.dropped(signature, code="foreign_signature")
    return None


def is_carried(signature: ir.Signature, slot: ir.FormatName, options: Options) -> bool:
    """Say whether an answer keeps a token; one that it does not is reported where the whole answer is written."""
    return options.carry_reasoning or signature.home == slot


def drop_token(signature: ir.Signature | None, slot: ir.FormatName, losses: Ledger) -> None:
    """Note that a token stays behind: the part of a request that it belongs to has no place for one, not even for the target's own."""
    if signature is not None:
        losses.dropped(signature, code="no_counterpart" if is_at_home(signature, slot) else "foreign_signature")


def drop_unsigned(part: ir.Reasoning, losses: Ledger) -> None:
    """Note reasoning that has no token of the target, which refuses it without one: its text, its token and its id."""
    if part.extra:
        losses.extras(part)
    if part.text:
        losses.dropped(part, "text", "unsigned_reasoning")
        if part.signature:
            losses.dropped(part.signature, code="foreign_signature")
        drop_id(part, losses)
    elif part.signature:
        drop_empty(part, losses)
    else:
        losses.dropped(part, code="empty", severity="info")


def drop_empty(part: ir.Reasoning, losses: Ledger) -> None:
    """Note reasoning that has a foreign token and no text: hidden reasoning is gone as a whole, of other its proof and its id."""
    signature = part.signature
    if signature and signature.kind in ("redacted", "encrypted"):
        losses.dropped(part, code="foreign_signature")
    elif signature:
        losses.dropped(signature, code="foreign_signature")
        drop_id(part, losses)
