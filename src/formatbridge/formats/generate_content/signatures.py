"""Thought signatures of Gemini: any part may have one (official SDK, ``Part``), and only the order of the parts shows what it signs."""

from __future__ import annotations

import base64
import binascii
import re

from formatbridge import ir
from formatbridge.formats.shared.reasoning_tokens import decode_token, encode_token, is_placeholder, is_tagged
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_URL_SAFE, _STANDARD = re.compile(r"[-_]"), re.compile(r"[+/]")
"""Characters that only one alphabet of base64 has."""
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_SIGNING = ("thinking", "encrypted", "thought")


def decode_signature(raw: JsonObject, src: str) -> ir.Signature | None:
    """Decode the thought signature of a part; a placeholder is no signature."""
    # The placeholder replaces a missing signature in a request, so it is the signature of nothing (``add_placeholders``).
    token = raw.get("thoughtSignature")
    if not token or is_placeholder(token):
        return None
    return decode_token(token, "generate_content", "thought", f"{src}/thoughtSignature")


def encode_signature(signature: ir.Signature | None, losses: Ledger, *, carries_tokens: bool) -> JsonObject:
    """Encode the signature of a part as valid base64. A token that needs a tag is tagged if ``carries_tokens`` is true.

    Without ``carries_tokens`` a token of another format is dropped.
    The official client rejects invalid base64, because the field has the type ``bytes`` (google-genai, ``Part``).
    """
    if signature is None:
        return {}
    has_tag = carries_tokens and is_tagged(signature, "generate_content", carries_tokens=True)
    if signature.issuer == "generate_content" and not has_tag and _is_base64(signature.token, is_strict=carries_tokens):
        return {"thoughtSignature": signature.token}
    if carries_tokens:
        tagged = encode_token(signature, "generate_content", kind=signature.kind)
        return {"thoughtSignature": base64.b64encode(tagged.encode()).decode()}
    losses.dropped(signature, code="foreign_signature")
    return {}


def _is_base64(token: str, *, is_strict: bool) -> bool:
    """Return whether a token is base64, in the standard or the URL-safe alphabet, padded or not.

    ``is_strict``: one alphabet only, no more padding than necessary, and no unused bits that are set.
    """
    if not token.isascii():
        return False
    # A token of a response must return unchanged, and clients decode and encode it (see above). With unused bits it would change.
    digits = token.rstrip("=")
    standard = digits.encode().translate(_TO_STANDARD)
    try:
        decoded = binascii.a2b_base64(standard + b"=" * (-len(standard) % 4), strict_mode=True)
    except binascii.Error:
        return False
    if not is_strict:
        return True
    is_mixed = bool(_URL_SAFE.search(digits) and _STANDARD.search(digits))
    is_padded = len(token) - len(digits) <= -len(digits) % 4
    return is_padded and not is_mixed and binascii.b2a_base64(decoded, newline=False).rstrip(b"=") == standard


def signs_earlier_reasoning(signature: ir.Signature | None) -> bool:
    """Return whether a token on empty reasoning signs the reasoning before it.

    A stream writes such a token if the text was sent before another format's token came.
    """
    return signature is not None and signature.issuer != "generate_content" and signature.kind in _SIGNING


def ends_in_unsigned_reasoning(parts: list[JsonObject]) -> bool:
    """Return whether the last encoded part is reasoning without a token."""
    return bool(parts and parts[-1].get("thought")) and "thoughtSignature" not in parts[-1]


def belongs_to_earlier_reasoning(signature: ir.Signature | None) -> bool:
    """Return whether a token belongs to reasoning of another format, which precedes the part that has the token."""
    return signature is not None and signature.issuer != "generate_content" and signature.kind != "call"


def has_carried_token(part: JsonObject) -> bool:
    """Return whether an encoded part is reasoning with the token of another format."""
    return bool(part.get("thought")) and "thoughtSignature" in part and belongs_to_earlier_reasoning(decode_signature(part, ""))


def accepts_token(part: JsonObject) -> bool:
    """Return whether an encoded part can have the token of the reasoning before it: a call or visible text without a token.

    The vendor puts a token there ("Thought signatures"). Clients drop a part that is empty reasoning with a token (tried with the Vercel AI
    SDK and opencode).
    """
    is_kind = "functionCall" in part or bool(part.get("text") and not part.get("thought"))
    return is_kind and "thoughtSignature" not in part
