"""Reasoning of Gemini: parts with the flag ``thought``, ``thinkingConfig``, and thought signatures.

Any part may have a signature (official SDK, ``Part``), and only the order of the parts shows what it signs.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import decode_token, drop_empty, encode_token, is_placeholder, is_tagged, keeps_id
from formatbridge.formats.shared.settings import drop_amount
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import SHOWN

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


TEXT_PART = frozenset({"text", "thought", "thoughtSignature"})
"""Fields that the decoders read in a part with text, which is visible or reasoning."""
_CONFIG = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
# Source: the official SDK, ``ThinkingLevel``.
_LEVELS: dict[str, ir.Effort] = {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high", "XHIGH": "xhigh"}


def decode_reasoning(raw: JsonObject, src: str) -> ir.Reasoning:
    """Decode a text part with the flag ``thought``."""
    # {"text": "Let me see.", "thought": true}
    part = ir.Reasoning(text=raw["text"], src=src, extra=read_extra(raw, TEXT_PART))
    if "thoughtSignature" in raw:
        part.signature = decode_signature(raw, src)
    return part


def encode_reasoning(part: ir.Reasoning, losses: Ledger, *, carries_tokens: bool) -> JsonObject | None:
    """Encode reasoning; if it is only a token that no reader of the target can use, return None."""
    drop_unheld(part, losses)
    if not part.text and not carries_tokens and part.signature and part.signature.issuer != "generate_content":
        drop_empty(part, losses)
        return None
    if not (carries_tokens and keeps_id(part.signature, part.id, "generate_content")):
        drop_field(part, "id", losses)
    if part.signature is None:
        return {"text": part.text, "thought": True} if part.text else None
    token = encode_signature(part.signature, losses, carries_tokens=carries_tokens)
    return {"text": part.text, "thought": True} | token if part.text or token else None


def decode_reasoning_config(raw: JsonObject) -> ir.ReasoningConfig:
    """Decode ``thinkingConfig``: a budget of 0 is off, and -1 leaves it to the model."""
    # {"thinkingBudget": 1024, "includeThoughts": true} or {"thinkingLevel": "HIGH"}
    # "0 is DISABLED. -1 is AUTOMATIC" (official SDK, ``ThinkingConfig``).
    budget, level, shown = raw.get("thinkingBudget"), enum_name(raw.get("thinkingLevel")), raw.get("includeThoughts")
    unread: JsonObject = {}
    if budget is not None and budget < -1:
        unread["thinkingBudget"] = budget
    if level and level not in _LEVELS and level not in ("THINKING_LEVEL_UNSPECIFIED", "0"):
        unread["thinkingLevel"] = raw["thinkingLevel"]
    return ir.ReasoningConfig(
        mode=None if budget is None or budget < -1 else "off" if budget == 0 else "adaptive" if budget == -1 else "on",
        effort=_LEVELS.get(level),
        budget=budget if budget is not None and budget > 0 else None,
        visibility=None if shown is None else "auto" if shown else "hide",
        src="/generationConfig/thinkingConfig",
        extra=merge_extra(unread or None, read_extra(raw, _CONFIG)),
    )


def encode_reasoning_config(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Encode ``thinkingConfig``; budget and level exclude each other, and the budget has priority."""
    drop_unheld(config, losses)
    fields: JsonObject = _encode_amount(config, losses)
    # By default the server returns no reasoning. It rejects the flag if reasoning is off (lobehub/lobehub#7985).
    if config.visibility is None and fields and fields.get("thinkingBudget") != 0:
        fields["includeThoughts"] = losses.added("/generationConfig/thinkingConfig/includeThoughts", True, SHOWN)
    elif config.visibility == "hide":
        fields["includeThoughts"] = False
    elif config.visibility is not None and fields.get("thinkingBudget") == 0:
        losses.dropped(config, "visibility", "without_reasoning", severity="info")
    elif config.visibility is not None:
        fields["includeThoughts"] = True
        if config.visibility != "auto":
            losses.changed(config, "visibility", True, severity="info")
    return {"thinkingConfig": fields} if fields else {}


def _encode_off(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Turn reasoning off; a budget or an effort is dropped."""
    drop_amount(config, losses)
    if config.mode == "between_tools":
        losses.changed(config, "mode", 0)
    return {"thinkingBudget": 0}


def _encode_amount(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Encode the budget or the level."""
    # "You can only set only one of thinking budget and thinking level" (sterlp/eclipse-peon-ai#115).
    if config.mode in ("off", "between_tools"):
        return _encode_off(config, losses)
    if config.budget is not None:
        if config.effort != "none":
            losses.dropped(config, "effort", "other_amount")
        return {"thinkingBudget": config.budget}
    if config.effort is None:
        if config.mode == "on":  # without an amount
            losses.changed(config, "mode", -1)
        return {"thinkingBudget": -1} if config.mode in ("adaptive", "on") else {}
    if config.effort == "none":
        return {"thinkingBudget": 0}
    if config.effort == "max":
        return {"thinkingLevel": losses.changed(config, "effort", "XHIGH")}
    level = config.effort.upper()
    if level not in _LEVELS:
        losses.dropped(config, "effort")
        return {}
    return {"thinkingLevel": level}


def enum_name(value: str | int | None, numbered: Sequence[str] = ()) -> str:
    """Return the name of an enumeration value in upper case; "" if it is None.

    The official SDK compares names without regard to case (``CaseInSensitiveEnum``), and recorded Vertex responses have numbers.

    ``numbered``: the names in the order of their numbers in the vendor's protocol definitions. A number without a name stays a number.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value.upper()
    return numbered[value] if 0 <= value < len(numbered) else str(value)
