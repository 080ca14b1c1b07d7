"""Reasoning in generate_content: thought parts, a token that may sit on any part, and how much to think."""

from __future__ import annotations

import binascii
import re
from collections.abc import Sequence

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import decode_token, drop_empty, encode_token, is_placeholder, keeps_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.reasons import SHOWN

_URL_SAFE, _STANDARD = re.compile(r"[-_]"), re.compile(r"[+/]")
"""What each alphabet of base64 has alone."""
_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_CONFIG = frozenset({"includeThoughts", "thinkingBudget", "thinkingLevel"})
_SIGNING = ("thinking", "encrypted", "thought")
_LEVELS: dict[str, ir.Effort] = {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high", "XHIGH": "xhigh"}


def decode_signature(raw: JsonObject, src: str) -> ir.Signature | None:
    """Read the token of a part; a placeholder is none."""
    token = raw.get("thoughtSignature")
    if not token or is_placeholder(token):
        return None
    return decode_token(token, "generate_content", "thought", f"{src}/thoughtSignature")


def encode_signature(signature: ir.Signature | None, losses: Ledger, *, carry: bool) -> JsonObject:
    """Write the token of a part: as it is where it is at home, tagged where foreign ones are carried. Always valid base64.

    The official client, which reads what is carried, is strict about that; the server, which gets it back, is not.
    """
    if signature is None:
        return {}
    if signature.issuer == "generate_content" and _is_base64(signature.token, is_strict=carry):
        return {"thoughtSignature": signature.token}
    if carry:
        return {"thoughtSignature": encode_token(signature, "generate_content", kind=signature.kind)}
    losses.dropped(signature, code="foreign_signature")
    return {}


def _is_base64(token: str, *, is_strict: bool) -> bool:
    """Say whether a token is base64, in the standard or the URL-safe alphabet, padded or not.

    ``is_strict``: in one of the two, with no more padding than it needs and no bits left over.
    """
    if not token.isascii():
        return False
    data = token.rstrip("=")
    plain = data.encode().translate(_TO_STANDARD)
    try:
        decoded = binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)
    except binascii.Error:
        return False
    if not is_strict:
        return True
    is_mixed = bool(_URL_SAFE.search(data) and _STANDARD.search(data))
    is_padded = len(token) - len(data) <= -len(data) % 4
    return is_padded and not is_mixed and binascii.b2a_base64(decoded, newline=False).rstrip(b"=") == plain


def encode_reasoning(part: ir.Reasoning, losses: Ledger, *, carry: bool) -> JsonObject | None:
    """Write a thought; one that held only a token for somebody else is gone."""
    drop_unheld(part, losses)
    if not part.text and not carry and part.signature and part.signature.issuer != "generate_content":
        drop_empty(part, losses)
        return None
    if not (carry and keeps_id(part.signature, part.id, "generate_content")):
        drop_field(part, "id", losses)
    if part.signature is None:
        return {"text": part.text, "thought": True} if part.text else None
    token = encode_signature(part.signature, losses, carry=carry)
    return {"text": part.text, "thought": True} | token if part.text or token else None


def is_late(signature: ir.Signature | None) -> bool:
    """Say whether a token of an empty thought signs the thought before it, whose text had left when another format's token came."""
    return signature is not None and signature.issuer != "generate_content" and signature.kind in _SIGNING


def ends_unsigned(made: list[JsonObject]) -> bool:
    """Say whether the last part that was written is a thought without a token."""
    return bool(made and made[-1].get("thought")) and "thoughtSignature" not in made[-1]


def set_apart(part: ir.Part, made: list[JsonObject], behind: list[JsonObject]) -> None:
    """Write a token that stands alone behind a thought without one as no thought, or it would be read as that one's, come late."""
    if made and isinstance(part, ir.Reasoning) and not part.text and is_late(part.signature) and _has_loose(behind):
        made[0].pop("thought", None)


def _has_loose(made: list[JsonObject]) -> bool:
    """Say whether a late token would be read as that of a thought which was written, the last one behind all tokens."""
    for part in reversed(made):
        if "thoughtSignature" in part:
            return False
        if part.get("thought"):
            return True
    return False


def sign_thoughts(parts: list[ir.Part], token: ir.Reasoning) -> bool:
    """Give a late token to the last thought behind all tokens, and make one of its pieces; false where there is no such thought."""
    end = len(parts)
    while end and not isinstance(before := parts[end - 1], ir.Reasoning):
        if getattr(before, "signature", None) is not None:
            return False
        end -= 1
    start = end
    while start and isinstance(before := parts[start - 1], ir.Reasoning) and before.signature is None and not before.extra:
        start -= 1
    thoughts = [part for part in parts[start:end] if isinstance(part, ir.Reasoning)]
    if not thoughts:
        return False
    parts[start:end] = [ir.Reasoning("".join(part.text for part in thoughts), thoughts[0].src, token.signature)]
    return True


def is_carried(signature: ir.Signature | None) -> bool:
    """Say whether a token is that of reasoning of another format, which stands on the part that follows the reasoning."""
    return signature is not None and signature.issuer != "generate_content" and signature.kind != "call"


def holds_carried(part: JsonObject) -> bool:
    """Say whether a written part is a thought with a token of another format's reasoning."""
    return bool(part.get("thought")) and "thoughtSignature" in part and is_carried(decode_signature(part, ""))


def has_room(part: JsonObject) -> bool:
    """Say whether the token of the reasoning before a written part may stand on it: a call, or text that is no thought.

    The vendor puts a token there, and clients drop a part that is an empty thought with a token (the Vercel AI SDK and opencode, run).
    """
    is_kind = "functionCall" in part or bool(part.get("text") and not part.get("thought"))
    return is_kind and "thoughtSignature" not in part


def decode_carried(parts: list[ir.Part], part: ir.Part) -> None:
    """Take the token of another format's reasoning off a part that follows, and give it to the reasoning before, or to one of its own."""
    if not isinstance(part, ir.ToolCall | ir.Text) or (isinstance(part, ir.Text) and not part.text):
        return
    if part.signature is not None and is_carried(part.signature):
        token = ir.Reasoning("", part.signature.src, part.signature)
        part.signature = None
        if not (is_late(token.signature) and sign_thoughts(parts, token)):
            parts.append(token)


def decode_reasoning_config(raw: JsonObject) -> ir.ReasoningConfig:
    """Read ``thinkingConfig``: a budget of 0 is off, of -1 up to the model."""
    budget, level, shown = raw.get("thinkingBudget"), word_of(raw.get("thinkingLevel")), raw.get("includeThoughts")
    leftover: JsonObject = {}
    if budget is not None and budget < -1:
        leftover["thinkingBudget"] = budget
    if level and level not in _LEVELS and level not in ("THINKING_LEVEL_UNSPECIFIED", "0"):
        leftover["thinkingLevel"] = raw["thinkingLevel"]
    return ir.ReasoningConfig(
        mode=None if budget is None or budget < -1 else "off" if budget == 0 else "adaptive" if budget == -1 else "on",
        effort=_LEVELS.get(level),
        budget=budget if budget is not None and budget > 0 else None,
        show=None if shown is None else "auto" if shown else "hide",
        src="/generationConfig/thinkingConfig",
        extra=joined(leftover or None, rest(raw, _CONFIG)),
    )


def encode_reasoning_config(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Write ``thinkingConfig``; budget and level exclude each other, and the budget wins."""
    drop_unheld(config, losses)
    made: JsonObject = _encode_amount(config, losses)
    if config.show is None and made and made.get("thinkingBudget") != 0:  # the server shows no reasoning unless it is asked to
        made["includeThoughts"] = losses.added("/generationConfig/thinkingConfig/includeThoughts", True, SHOWN)
    elif config.show == "hide":
        made["includeThoughts"] = False
    elif config.show is not None and made.get("thinkingBudget") == 0:  # the server refuses to show what is off
        losses.dropped(config, "show", "excluded", severity="info")
    elif config.show is not None:
        made["includeThoughts"] = True
        if config.show != "auto":
            losses.changed(config, "show", True, severity="info")
    return {"thinkingConfig": made} if made else {}


def _encode_off(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Turn reasoning off; a budget or an effort beside that is lost."""
    for name in ("effort", "budget"):
        if getattr(config, name) not in (None, "none"):
            losses.dropped(config, name, "excluded")
    if config.mode == "between_tools":
        losses.changed(config, "mode", 0)
    return {"thinkingBudget": 0}


def _encode_amount(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    if config.mode in ("off", "between_tools"):
        return _encode_off(config, losses)
    if config.budget is not None:
        if config.effort not in (None, "none"):
            losses.dropped(config, "effort", "excluded")
        return {"thinkingBudget": config.budget}
    if config.effort is None:
        if config.mode == "on":  # and nobody said how much
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


def word_of(value: str | int | None, numbered: Sequence[str] = ()) -> str:
    """Return the name of an enumeration's value in upper case; "" where nothing was said.

    ``numbered``: the names by number, as the vendor's protocol definitions count them. A number beyond them stays a number.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value.upper()
    return numbered[value] if 0 <= value < len(numbered) else str(value)
