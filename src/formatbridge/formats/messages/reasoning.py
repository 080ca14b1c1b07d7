"""Reasoning in messages: blocks of thinking with a signature, blocks that only the server reads, and how much to think."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import carries_call_token, decode_token, drop_unsigned, encode_token, keeps_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

TAKEN_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
"""The words of effort that this format has."""
_LEAST_BUDGET = 1024

_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})
_CONFIGS = {
    "on": frozenset({"type", "budget_tokens", "display"}),
    "adaptive": frozenset({"type", "display"}),
    "off": frozenset({"type"}),
    "between_tools": frozenset({"type"}),
}
_MODES = {"enabled": "on", "adaptive": "adaptive", "disabled": "off", "between_tools": "between_tools"}
_SHOWN = {"summarized": "auto", "omitted": "hide"}


def decode_thinking(raw: JsonObject, src: str) -> ir.Reasoning:
    """Read a block of thinking; an empty one with a signature is reasoning too."""
    token = raw.get("signature")
    thought = ir.Reasoning(text=raw["thinking"], src=src, extra=rest(raw, _THINKING))
    if token:
        thought.signature = decode_token(token, "messages", "thinking", f"{src}/signature")
    return thought


def decode_redacted(raw: JsonObject, src: str) -> ir.Reasoning:
    """Read a block that holds nothing but a token."""
    token = decode_token(raw["data"], "messages", "redacted", f"{src}/data")
    return ir.Reasoning(signature=token, src=src, extra=rest(raw, _REDACTED))


def bind_call_tokens(parts: list[ir.Part]) -> list[ir.Part]:
    """Give a token that was carried for a call or a text back to the part that follows it."""
    made: list[ir.Part] = []
    for part in parts:
        before = made[-1] if made else None
        if isinstance(before, ir.Reasoning) and carries_call_token(before) and isinstance(part, ir.ToolCall | ir.Text | ir.Hosted):
            part.signature = before.signature
            made.pop()
        made.append(part)
    return made


def encode_reasoning(part: ir.Reasoning, losses: Ledger) -> JsonObject | None:
    """Write reasoning into a request, which takes only what its own vendor signed."""
    token = part.signature
    if token is None or token.issuer != "messages":
        drop_unsigned(part, losses)
        return None
    drop_unheld(part, losses)
    return _encode_block(part, token.token)


def encode_answer_reasoning(part: ir.Reasoning, losses: Ledger, options: Options) -> JsonObject | None:
    """Write reasoning into an answer: foreign tokens travel tagged, what nobody signed has an empty signature."""
    token = part.signature
    if token is not None and token.issuer != "messages" and not options.carry_reasoning:
        losses.dropped(token, code="foreign_signature")
        token = None
    drop_unheld_in_answer(part, losses)
    if not keeps_id(token, part.id, "messages"):
        drop_field(part, "id", losses)
    if token is None and not part.text:
        return None
    return _encode_block(part, "" if token is None else encode_token(token, "messages"))


def _encode_block(part: ir.Reasoning, token: str) -> JsonObject:
    signed = part.signature is not None and part.signature.issuer == "messages" and part.signature.kind == "thinking"
    if part.text or signed:
        return {"type": "thinking", "thinking": part.text, "signature": token}
    return {"type": "redacted_thinking", "data": token}


def encode_carrier(token: ir.Signature | None, losses: Ledger, options: Options) -> JsonObject | None:
    """Write the token of a call or a text, which has no slot for it, as a block to stand directly before it."""
    if token is None:
        return None
    if not options.carry_reasoning:
        losses.dropped(token, code="foreign_signature")
        return None
    return {"type": "redacted_thinking", "data": encode_token(token, "messages", kind="call")}


# How much to think.


def decode_reasoning_config(body: JsonObject) -> tuple[ir.ReasoningConfig | None, JsonObject | None]:
    """Read ``thinking`` and the effort; the second value is what is left of both."""
    thinking, effort = body.get("thinking"), (body.get("output_config") or {}).get("effort")
    unread = {"output_config/effort": effort} if effort is not None and effort not in TAKEN_EFFORTS else None
    known = None if unread else effort
    if thinking is None:
        return (ir.ReasoningConfig(effort=known) if known else None), unread
    kind = thinking.get("type")
    mode = _MODES.get(kind) if isinstance(kind, str) else "on" if kind is None else None
    if mode is None:
        return (ir.ReasoningConfig(effort=known) if known else None), joined(unread, {"thinking": thinking})
    fields = _CONFIGS[mode]
    display = thinking.get("display") if "display" in fields else None
    config = ir.ReasoningConfig(
        mode=mode,  # type: ignore[arg-type]  # the values of the table
        effort=known,
        budget=thinking.get("budget_tokens") if "budget_tokens" in fields else None,
        show=_SHOWN.get(display, "auto") if display is not None else None,  # type: ignore[arg-type]  # likewise
        extra=rest(thinking, fields, "thinking/"),
    )
    return config, joined(unread, {"thinking/display": display} if display is not None and display not in _SHOWN else None)


def encode_reasoning_config(config: ir.ReasoningConfig, limit: int, barred: bool, losses: Ledger) -> JsonObject:
    """Write how much to think as ``thinking`` and an effort. ``limit``: tokens of the answer; ``barred``: the server refuses to think."""
    drop_unheld(config, losses)
    if turns_off(config):
        for name in ("effort", "budget"):
            if getattr(config, name) not in (None, "none"):
                losses.dropped(config, name, "excluded")
        if config.show not in (None, "hide"):
            losses.dropped(config, "show", "excluded", severity="info")
        return {"thinking": {"type": "disabled"}}
    if barred:
        _drop_config(config, losses)
        return {}
    effort = encode_word_of_effort(config, losses)
    thinking = _encode_budget(config, limit, losses) or _encode_mode(config, effort, losses)
    if thinking is not None and config.show is not None and thinking["type"] in ("enabled", "adaptive"):
        thinking["display"] = "omitted" if config.show == "hide" else "summarized"
        if config.show in ("concise", "detailed"):
            losses.changed(config, "show", "summarized", severity="info")
    made: JsonObject = {"thinking": thinking} if thinking else {}
    return made | {"output_config": {"effort": effort}} if effort else made


def turns_off(config: ir.ReasoningConfig) -> bool:
    """Say whether the model must not think, whatever else is asked."""
    return config.mode == "off" or (config.effort == "none" and config.mode is None)


def tokens_of(budget: int | None) -> int:
    """Return what a budget takes of an answer as it is written where nothing limits that: no less than the server demands."""
    return max(_LEAST_BUDGET, budget) if budget else 0


def encode_word_of_effort(node: ir.ReasoningConfig | ir.Message, losses: Ledger) -> str | None:
    """Write an effort; below the lowest word stands the lowest, and some server's own word is lost."""
    effort = node.effort
    if effort in ("none", "minimal"):
        return str(losses.changed(node, "effort", "low"))
    if effort is not None and effort not in TAKEN_EFFORTS:
        losses.dropped(node, "effort")
        return None
    return effort


def _drop_config(config: ir.ReasoningConfig, losses: Ledger) -> None:
    """Note all that was asked about thinking: the vendor refuses it where a call is forced, or where earlier thinking is missing."""
    for name in ("effort", "budget", "show"):
        if getattr(config, name) not in (None, "hide"):
            losses.dropped(config, name, "excluded")
    if config.mode is not None and config.budget is None and config.effort is None:
        losses.dropped(config, "mode", "excluded")


def _encode_budget(config: ir.ReasoningConfig, limit: int, losses: Ledger) -> JsonObject | None:
    """Write a budget, at least 1024 and below the limit of the answer; None where there is none or no room for it."""
    budget = config.budget
    if budget is None:
        return None
    fitting = max(_LEAST_BUDGET, min(budget, limit - 1))
    if fitting >= limit:
        losses.dropped(config, "budget", "out_of_range")
        return None
    if fitting != budget:
        losses.changed(config, "budget", fitting, "out_of_range")
    return {"type": "enabled", "budget_tokens": fitting}


def _encode_mode(config: ir.ReasoningConfig, effort: str | None, losses: Ledger) -> JsonObject | None:
    if config.mode == "between_tools":
        return {"type": "between_tools"}
    if config.mode == "adaptive" or effort is not None or (config.mode == "on" and config.budget is None):
        return {"type": "adaptive"}
    if config.show in (None, "hide") or config.budget is not None:
        if config.show is not None and config.budget is not None:
            losses.dropped(config, "show", "excluded")
        return None
    return {"type": losses.added("/thinking/type", "adaptive", "thoughts are shown only where there are any")}
