"""Reasoning of Anthropic Messages: blocks of thinking, and the settings ``thinking`` and ``effort``."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.messages.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.reasoning_tokens import carries_call_token, decode_token, drop_unsigned, encode_token, keeps_id
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})
"""The values of ``effort`` in this format."""
SMALLEST_BUDGET = 1024
"""The smallest ``budget_tokens`` that the server accepts. Source: the official SDK, ``ThinkingConfigEnabledParam``: ">= 1024"."""

_THINKING = frozenset({"type", "thinking", "signature"})
_REDACTED = frozenset({"type", "data"})
_CONFIGS = {
    "on": frozenset({"type", "budget_tokens", "display"}),
    "adaptive": frozenset({"type", "display"}),
    "off": frozenset({"type"}),
    "between_tools": frozenset({"type"}),
}
"""Modes to the keys of ``thinking`` that the decoder reads."""
_MODES = {"enabled": "on", "adaptive": "adaptive", "disabled": "off", "between_tools": "between_tools"}
_SHOWN = {"summarized": "auto", "omitted": "hide"}
"""Values of ``thinking.display`` to canonical values of ``show``."""


def decode_thinking(raw: JsonObject, src: str) -> ir.Reasoning:
    """Decode a ``thinking`` block. It may have a signature and no text."""
    token = raw.get("signature")
    reasoning = ir.Reasoning(text=raw["thinking"], src=src, extra=read_extra(raw, _THINKING))
    if token:
        reasoning.signature = decode_token(token, "messages", "thinking", f"{src}/signature")
    return reasoning


def decode_redacted(raw: JsonObject, src: str) -> ir.Reasoning:
    """Decode a ``redacted_thinking`` block, which has only a reasoning token."""
    token = decode_token(raw["data"], "messages", "redacted", f"{src}/data")
    return ir.Reasoning(signature=token, src=src, extra=read_extra(raw, _REDACTED))


def bind_call_tokens(parts: list[ir.Part]) -> list[ir.Part]:
    """Move each carried token of a tool call or a text to that part, which follows the token. Returns the parts."""
    bound: list[ir.Part] = []
    for part in parts:
        last = bound[-1] if bound else None
        if isinstance(last, ir.Reasoning) and carries_call_token(last) and isinstance(part, ir.ToolCall | ir.Text | ir.Hosted):
            part.signature = last.signature
            bound.pop()
        bound.append(part)
    return bound


def encode_reasoning(part: ir.Reasoning, losses: Ledger) -> JsonObject | None:
    """Encode reasoning of a request as a block; None if its issuer is not Anthropic, because the server rejects it."""
    token = part.signature
    if token is None or token.issuer != "messages":
        if part.text and losses.dialect is not None and losses.dialect.unsigned_reasoning:
            return _encode_unsigned(part, losses)
        drop_unsigned(part, losses)
        return None
    drop_unheld(part, losses)
    return _encode_block(part, token.token)


def _encode_unsigned(part: ir.Reasoning, losses: Ledger) -> JsonObject:
    """Encode reasoning without a token of this format, for a server that does not verify signatures."""
    drop_unheld(part, losses)
    if part.signature:
        losses.dropped(part.signature, code="foreign_signature")
    drop_field(part, "id", losses)
    return {"type": "thinking", "thinking": part.text, "signature": ""}


def encode_answer_reasoning(part: ir.Reasoning, losses: Ledger, options: Options) -> JsonObject | None:
    """Encode reasoning of a response as a block. A foreign token is carried; reasoning without a token has an empty signature."""
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
    is_signed = part.signature is not None and part.signature.issuer == "messages" and part.signature.kind == "thinking"
    if part.text or is_signed:
        return {"type": "thinking", "thinking": part.text, "signature": token}
    return {"type": "redacted_thinking", "data": token}


def encode_carried_token(token: ir.Signature | None, losses: Ledger, options: Options) -> JsonObject | None:
    """Encode the token of a tool call or a text as a separate block. The caller emits it before the block of the part."""
    if token is None:
        return None
    if not options.carry_reasoning:
        losses.dropped(token, code="foreign_signature")
        return None
    return {"type": "redacted_thinking", "data": encode_token(token, "messages", kind="call")}


# Settings.


def decode_reasoning_config(body: JsonObject) -> tuple[ir.ReasoningConfig | None, JsonObject | None]:
    """Decode ``thinking`` and ``effort``; return also the fields that are unread."""
    thinking, effort = body.get("thinking"), (body.get("output_config") or {}).get("effort")
    unread = {"output_config/effort": effort} if effort is not None and effort not in EFFORTS else None
    known = None if unread else effort
    if thinking is None:
        return (ir.ReasoningConfig(effort=known) if known else None), unread
    kind = thinking.get("type")
    mode = _MODES.get(kind) if isinstance(kind, str) else "on" if kind is None else None
    if mode is None:
        return (ir.ReasoningConfig(effort=known) if known else None), merge_extra(unread, {"thinking": thinking})
    fields = _CONFIGS[mode]
    display = thinking.get("display") if "display" in fields else None
    config = ir.ReasoningConfig(
        mode=mode,  # type: ignore[arg-type]  # the values of the table
        effort=known,
        budget=thinking.get("budget_tokens") if "budget_tokens" in fields else None,
        show=_SHOWN.get(display, "auto") if display is not None else None,  # type: ignore[arg-type]  # the values of the table
        extra=read_extra(thinking, fields, "thinking/"),
    )
    return config, merge_extra(unread, {"thinking/display": display} if display is not None and display not in _SHOWN else None)


def encode_reasoning_config(config: ir.ReasoningConfig, limit: int, rejects_thinking: bool, losses: Ledger) -> JsonObject:
    """Encode the settings of reasoning as ``thinking`` and ``output_config``.

    ``limit``: the maximum number of tokens of the response. ``rejects_thinking``: the server rejects thinking with the rest of the request.
    """
    drop_unheld(config, losses)
    if is_disabled(config):
        for name in ("effort", "budget"):
            if getattr(config, name) not in (None, "none"):
                losses.dropped(config, name, "excluded")
        if config.show not in (None, "hide"):
            losses.dropped(config, "show", "excluded", severity="info")
        return {"thinking": {"type": "disabled"}}
    if rejects_thinking:
        _drop_config(config, losses)
        return {}
    effort = encode_effort(config, losses)
    thinking = _encode_budget(config, limit, losses) or _encode_mode(config, effort, losses)
    if thinking is not None and config.show is not None and thinking["type"] in ("enabled", "adaptive"):
        thinking["display"] = "omitted" if config.show == "hide" else "summarized"
        if config.show in ("concise", "detailed"):
            losses.changed(config, "show", "summarized", severity="info")
    body: JsonObject = {"thinking": thinking} if thinking else {}
    return body | {"output_config": {"effort": effort}} if effort else body


def is_disabled(config: ir.ReasoningConfig) -> bool:
    """Return whether the settings turn reasoning off. Its other settings have no effect then."""
    return config.mode == "off" or (config.effort == "none" and config.mode is None)


def reserved_tokens(budget: int | None) -> int:
    """Return how many tokens of the response a budget needs, at least the minimum of the server; 0 without a budget."""
    return max(SMALLEST_BUDGET, budget) if budget else 0


def encode_effort(node: ir.ReasoningConfig | ir.Message, losses: Ledger) -> str | None:
    """Encode an effort. Lower values become ``low``, other unknown values are dropped."""
    effort = node.effort
    if effort in ("none", "minimal"):
        return str(losses.changed(node, "effort", "low"))
    if effort is not None and effort not in EFFORTS:
        losses.dropped(node, "effort")
        return None
    return effort


def _drop_config(config: ir.ReasoningConfig, losses: Ledger) -> None:
    """Note that all settings are dropped: the server rejects thinking with a forced tool call or without earlier thinking."""
    for name in ("effort", "budget", "show"):
        if getattr(config, name) not in (None, "hide"):
            losses.dropped(config, name, "excluded")
    if config.mode is not None and config.budget is None and config.effort is None:
        losses.dropped(config, "mode", "excluded")


def _encode_budget(config: ir.ReasoningConfig, limit: int, losses: Ledger) -> JsonObject | None:
    """Encode a budget of at least 1024 tokens and below the limit of the response; None without a budget or if the limit is too low.

    Source of both bounds: the official SDK, ``ThinkingConfigEnabledParam.budget_tokens``.
    """
    budget = config.budget
    if budget is None:
        return None
    allowed = max(SMALLEST_BUDGET, min(budget, limit - 1))
    if allowed >= limit:
        losses.dropped(config, "budget", "out_of_range")
        return None
    if allowed != budget:
        losses.changed(config, "budget", allowed, "out_of_range")
    return {"type": "enabled", "budget_tokens": allowed}


def _encode_mode(config: ir.ReasoningConfig, effort: str | None, losses: Ledger) -> JsonObject | None:
    if config.mode == "between_tools":
        return {"type": "between_tools"}
    if config.mode == "adaptive" or effort is not None or (config.mode == "on" and config.budget is None):
        return {"type": "adaptive"}
    if config.show in (None, "hide") or config.budget is not None:
        if config.show is not None and config.budget is not None:
            losses.dropped(config, "show", "excluded")
        return None
    return {"type": losses.added("/thinking/type", "adaptive", "reasoning is shown only if the model reasons")}
