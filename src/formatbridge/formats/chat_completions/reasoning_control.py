"""Encode reasoning settings in the field that one server reads. The dialect names that field.

OpenAI's field ``reasoning_effort`` has an effort only. Other servers read an object with a budget, or whether the model reasons.
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.dialect import ReasoningControl
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.shared.settings import (
    add_reasoning_off,
    drop_amount,
    drop_reasoning_settings,
    encode_effort,
    is_reasoning_off,
)
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_UNSUPPORTED = "unsupported_by_server"
_CONTROLS_WITH_EFFORT = frozenset(
    {"reasoning_toggle", "thinking_and_effort", "thinking_or_effort", "thinking_type_or_effort", "kwarg_or_effort"}
)
"""Controls with the field ``reasoning_effort`` for an effort, and another field for on/off or a budget."""
_CONTROLS_WITH_BUDGET = frozenset({"thinking_or_effort", "enable_thinking"})
"""Controls with a field for a budget next to on/off."""


def encode_reasoning_control(config: ir.ReasoningConfig, control: ReasoningControl, losses: Ledger) -> JsonObject:
    """Encode the reasoning settings of a request in the fields that a server reads."""
    if control == "reasoning":
        return _encode_object(config, losses)
    drop_unheld(config, losses)
    has_effort = config.effort not in (None, "none") and config.mode in (None, "on", "adaptive")
    if control == "reasoning_effort" or (control in _CONTROLS_WITH_EFFORT and has_effort):
        effort = encode_effort(config, losses)
        thinking_field = {"thinking": {"type": "enabled"}} if control == "thinking_and_effort" else {}
        return thinking_field | {"reasoning_effort": effort} if effort else {}
    budget = config.budget if control in _CONTROLS_WITH_BUDGET else None
    is_on = _is_reasoning_on(config, budget, losses)
    return {} if is_on is None else _encode_toggle(control, is_on, budget if is_on else None)


def encode_reasoning_off(config: ir.ReasoningConfig | None, losses: Ledger) -> JsonObject:
    """Turn reasoning off, because the server rejects it with a forced tool call."""
    control = (losses.dialect.reasoning_control if losses.dialect is not None else None) or "reasoning_effort"
    if config is not None and is_reasoning_off(config):
        return encode_reasoning_control(config, control, losses)
    if config is not None:
        drop_unheld(config, losses)
        if config.mode is not None:
            losses.changed(config, "mode", "off", "excluded")
        drop_reasoning_settings(config, losses)
    return add_reasoning_off(encode_reasoning_control(ir.ReasoningConfig(mode="off"), control, losses), losses)


def _encode_toggle(control: ReasoningControl, is_on: bool, budget: int | None) -> JsonObject:
    match control:
        case "reasoning_toggle":
            return {"reasoning": {"enabled": is_on}}
        case "thinking_adaptive":
            return {"thinking": {"type": "adaptive" if is_on else "disabled"}}
        case "thinking_and_effort" | "thinking_or_effort" | "thinking_type_or_effort":
            thinking: JsonObject = {"type": "enabled" if is_on else "disabled"}
            return {"thinking": thinking | ({"budget_tokens": budget} if budget else {})}
        case "enable_thinking":
            return {"enable_thinking": is_on} | ({"thinking_budget": budget} if budget else {})
        case "enable_thinking_kwarg" | "kwarg_or_effort":
            return {"chat_template_kwargs": {"enable_thinking": is_on}}
        case _:
            return {}


def _encode_object(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Encode the settings as an object that has either an effort or a budget."""
    # The reasoning is in the answer unless ``exclude`` is set (openrouter.ai/docs/use-cases/reasoning-tokens).
    if config.show in ("concise", "detailed"):
        losses.changed(config, "show", True, severity="info")
    if config.extra:
        losses.extras(config)
    exclude: JsonObject = {"exclude": True} if config.show == "hide" else {}
    if config.mode in ("off", "between_tools") or config.effort is not None:
        effort = encode_effort(config, losses)
        return {"reasoning": {"effort": effort, **exclude}} if effort else {}
    if config.budget is not None:
        return {"reasoning": {"max_tokens": config.budget, **exclude}}
    if config.mode is not None:
        return {"reasoning": {"enabled": True, **exclude}}
    return {"reasoning": exclude} if exclude else {}


def _is_reasoning_on(config: ir.ReasoningConfig, budget: int | None, losses: Ledger) -> bool | None:
    """Return whether the model reasons; None if the request does not set it. ``budget``: the budget that is encoded, too."""
    if config.mode == "off" or config.effort == "none":
        drop_amount(config, losses)
        return False
    if config.mode == "between_tools":
        losses.changed(config, "mode", False, _UNSUPPORTED)
        drop_amount(config, losses)
        return False
    if config.effort is not None:
        losses.changed(config, "effort", True, _UNSUPPORTED)
    if config.budget is not None and budget is None:
        losses.changed(config, "budget", True, _UNSUPPORTED)
    return True if config.mode is not None or config.effort is not None or config.budget is not None else None
