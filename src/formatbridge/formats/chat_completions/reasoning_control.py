"""The settings of reasoning of all servers, as two tables: how each setting is decoded, and which of them one server reads.

OpenAI's field ``reasoning_effort`` has an effort only. Other servers read an object with a budget, or whether the model reasons.
A field of another server is a row of ``_SETTINGS``. Servers that read the same fields are a row of ``_CONTROLS``.

Source: recorded requests to DeepSeek, GLM, Groq, Kimi, OpenRouter, Qwen, SGLang and vLLM, 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from formatbridge import ir
from formatbridge.dialect import DialectRules, ReasoningControl
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
_Field = Literal["effort", "budget", "mode", "visibility"]


class _Setting(NamedTuple):
    """A setting in a request, and the field of ``ir.ReasoningConfig`` that it sets."""

    pointer: str
    """The field of the request, and its member after a slash."""
    field: _Field
    words: Mapping[Any, str] = {}
    """The values of the setting to the canonical values, of which the first is encoded; empty for a number."""


_EFFORTS = {effort: effort for effort in ir.EFFORT_ORDER}
_TYPES = {"enabled": "on", "disabled": "off", "adaptive": "adaptive", "auto": "adaptive"}
_FLAG = {True: "on", False: "off"}
_SETTINGS = (
    _Setting("reasoning_effort", "effort", _EFFORTS),  # OpenAI (fixture reasoning_effort)
    _Setting("reasoning/effort", "effort", _EFFORTS),  # OpenRouter (fixture switch_reasoning_effort)
    _Setting("reasoning/max_tokens", "budget"),
    _Setting("thinking/budget_tokens", "budget"),
    _Setting("thinking_budget", "budget"),  # Qwen
    _Setting("reasoning_budget_tokens", "budget"),  # llama.cpp (tools/server/server-common.cpp, oaicompat_chat_params_parse)
    _Setting("thinking_budget_tokens", "budget"),  # llama.cpp
    _Setting("thinking_token_budget", "budget"),  # vLLM (vllm-project/vllm#20859)
    # DeepSeek, GLM and Kimi read the field of Anthropic (fixtures switch_thinking, switch_thinking_off).
    _Setting("thinking/type", "mode", _TYPES),
    _Setting("reasoning/enabled", "mode", _FLAG),
    _Setting("enable_thinking", "mode", _FLAG),
    # Arguments of chat templates. Which one a template reads depends on the model (docs.vllm.ai/en/stable/features/reasoning_outputs).
    _Setting("chat_template_kwargs/enable_thinking", "mode", _FLAG),
    _Setting("chat_template_kwargs/thinking", "mode", _FLAG),
    # These servers show reasoning by default (openrouter.ai/docs/use-cases/reasoning-tokens; Groq's SDK, ``include_reasoning``).
    # So only the request to hide it is decoded.
    _Setting("reasoning/exclude", "visibility", {True: "hide"}),
    _Setting("include_reasoning", "visibility", {False: "hide"}),
    _Setting("reasoning_format", "visibility", {"hidden": "hide"}),
)  # fmt: skip
"""The settings of all servers. If several contradict each other, the first is valid."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """The settings that the servers with one control read: the pointer of each, or an empty text for none."""

    effort: str = ""
    mode: str = ""
    """Whether the model reasons."""
    budget: str = ""
    visibility: str = ""
    aliases: frozenset[str] = frozenset()
    """Settings that are read, and never written."""
    on: Literal["on", "adaptive"] = "on"
    """The mode that turns reasoning on."""
    requires_mode: bool = False
    """Whether an effort has the mode next to it."""
    is_exclusive: bool = False
    """Whether the server rejects an effort together with the mode or a budget."""
    may_ignore_effort: bool = False
    """Whether models of the server that have a budget ignore an effort. They get a budget in its place."""
    may_combine: bool = False
    """Whether the server reads an effort and a budget in one request."""
    is_object: bool = False
    """Whether all settings are members of one object, which has one of effort, budget and mode."""

    @property
    def units(self) -> frozenset[str]:
        """In which units a request sets the amount of reasoning of a model with a budget: ``effort``, ``budget`` or both."""
        effort = {"effort"} if self.effort and not self.may_ignore_effort else set()
        return frozenset(effort | ({"budget"} if self.budget else set()))

    @property
    def amounts(self) -> frozenset[str]:
        """The settings for the amount of reasoning. Whether the answer shows it is another setting."""
        return frozenset({self.effort, self.mode, self.budget, *self.aliases}) - {""}


_EFFORT, _TYPE, _FLAG_OF_TEMPLATE = "reasoning_effort", "thinking/type", "chat_template_kwargs/enable_thinking"
_OTHER_FLAGS = frozenset({"chat_template_kwargs/thinking"})
_KWARG_OR_EFFORT = Control(effort=_EFFORT, mode=_FLAG_OF_TEMPLATE, aliases=_OTHER_FLAGS)
_KWARG_OR_BUDGET = replace(_KWARG_OR_EFFORT, may_combine=True, may_ignore_effort=True)
_CONTROLS: Mapping[ReasoningControl, Control] = {
    "reasoning_effort": Control(effort=_EFFORT),
    "reasoning": Control(
        effort="reasoning/effort",
        budget="reasoning/max_tokens",
        mode="reasoning/enabled",
        visibility="reasoning/exclude",
        is_object=True,
    ),
    "reasoning_toggle": Control(effort=_EFFORT, mode="reasoning/enabled"),
    "thinking_and_effort": Control(effort=_EFFORT, mode=_TYPE, requires_mode=True),
    "thinking_or_effort": Control(effort=_EFFORT, mode=_TYPE, budget="thinking/budget_tokens", is_exclusive=True),
    "thinking_type_or_effort": Control(effort=_EFFORT, mode=_TYPE, is_exclusive=True),
    "thinking_adaptive": Control(mode=_TYPE, on="adaptive"),
    "enable_thinking": Control(
        effort=_EFFORT, mode="enable_thinking", budget="thinking_budget", requires_mode=True, may_ignore_effort=True
    ),
    "kwarg_or_effort": _KWARG_OR_EFFORT,
    # Older versions of llama.cpp ignore the newer name of the budget (ggml-org/llama.cpp#20297, #28182).
    "kwarg_or_budget_tokens": replace(
        _KWARG_OR_BUDGET, budget="thinking_budget_tokens", aliases=_OTHER_FLAGS | {"reasoning_budget_tokens"}
    ),
    "kwarg_or_token_budget": replace(_KWARG_OR_BUDGET, budget="thinking_token_budget"),
    "none": Control(),
}


def _members_of(*fields: _Field) -> dict[str, frozenset[str]]:
    """Return the fields of a request with settings, to their members that are settings; none if the field itself is one."""
    places = [setting.pointer.partition("/")[::2] for setting in _SETTINGS if setting.field in fields]
    return {name: frozenset(member for other, member in places if other == name and member) for name, _ in places}


_AMOUNTS = _members_of("effort", "budget", "mode")
_MEMBERS = _members_of("effort", "budget", "mode", "visibility")
CONFIG_FIELDS = frozenset(_MEMBERS)
"""Fields of a request with reasoning settings."""
CONFIG_OBJECTS = {name: members for name, members in _MEMBERS.items() if members}
"""Those of them that are objects, to their members with settings."""
CONFIG_PLACES = {
    f"ReasoningConfig.{field}": tuple(setting.pointer for setting in _SETTINGS if setting.field == field)
    for field in ("effort", "budget", "mode", "visibility")
}
"""Canonical fields to the settings for them, for the report."""


def read_settings(body: JsonObject) -> Iterator[tuple[str, Any, _Field, Any]]:
    """Yield each setting that is not null: its pointer, its value, the canonical field, and the canonical value or None."""
    for pointer, field, words in _SETTINGS:
        name, _, member = pointer.partition("/")
        value = (body.get(name) or {}).get(member) if member else body.get(name)
        if value is None:
            continue
        if field != "budget":
            yield pointer, value, field, words.get(value) if isinstance(value, str | bool) else None
        # 0 turns reasoning off, and -1 leaves the amount to the model (ai.google.dev/gemini-api/docs/thinking).
        elif value > 0:
            yield pointer, value, "budget", value
        else:
            yield pointer, value, "mode", "off" if value == 0 else "adaptive"


def control_of(rules: DialectRules | None) -> Control:
    """Return the settings that a server reads; those of OpenAI's server if it has no other ones."""
    return _CONTROLS[(rules and rules.reasoning_control) or "reasoning_effort"]


def hiding_setting(rules: DialectRules | None) -> str:
    """Return the setting with which a request for a server hides the reasoning; an empty text if it has none."""
    return (rules and rules.hiding_field) or control_of(rules).visibility


def encode_reasoning_control(config: ir.ReasoningConfig, losses: Ledger) -> JsonObject:
    """Encode the reasoning settings of a request in the fields that a server reads."""
    control = control_of(losses.dialect)
    if control.is_object:
        return _encode_object(config, control, losses)
    drop_unheld(config, losses)
    hiding = hiding_setting(losses.dialect)
    if hiding:
        _note_shown(config, losses)
    is_hidden = hiding and config.visibility == "hide" and not is_reasoning_off(config)
    return _encode_amount(config, control, losses) | (_fields({hiding: _wire_value(hiding, "hide")}) if is_hidden else {})


def _encode_amount(config: ir.ReasoningConfig, control: Control, losses: Ledger) -> JsonObject:
    """Encode how much the model reasons, for a server whose settings are not members of one object."""
    # A budget becomes the nearest effort where the server has an effort only (OpenAI's SDK, ``ReasoningEffort``).
    has_effort = config.effort not in (None, "none") and config.mode in (None, "on", "adaptive")
    if control.effort and (has_effort or not control.mode):
        return _encode_effort(config, control, losses)
    budget = config.budget if control.budget else None
    if budget is not None and losses.dialect is not None and budget < losses.dialect.smallest_budget:
        budget = losses.changed(config, "budget", losses.dialect.smallest_budget, "server_range")
    is_on = _is_reasoning_on(config, budget, losses)
    if is_on is None or not control.mode:
        return {}
    values = {control.mode: _wire_value(control.mode, control.on if is_on else "off")}
    return _fields(values | ({control.budget: budget} if is_on and budget else {}))


def _encode_effort(config: ir.ReasoningConfig, control: Control, losses: Ledger) -> JsonObject:
    """Encode an effort, and what the server reads next to it: the budget, or the mode."""
    budget = {control.budget: config.budget} if control.may_combine and config.budget is not None else {}
    effort = encode_effort(replace(config, budget=None) if budget else config, losses)
    mode = _mode_next_to_effort(config, control, losses) if effort and control.requires_mode else {}
    return mode | _fields(({control.effort: effort} if effort else {}) | budget)


def _mode_next_to_effort(config: ir.ReasoningConfig, control: Control, losses: Ledger) -> JsonObject:
    """Return the setting that turns reasoning on, and note it if the request has an effort only."""
    fields = _fields({control.mode: _wire_value(control.mode, control.on)})
    if config.mode is None and losses.dialect is not None:
        for name, value in fields.items():
            losses.added(f"/{name}", value, f"{losses.dialect.server} has it next to an effort")
    return fields


def encode_reasoning_off(config: ir.ReasoningConfig | None, losses: Ledger, code: str) -> JsonObject:
    """Turn reasoning off, because the server rejects it with something else. ``code``: a key of ``EXCLUDES_REASONING``."""
    if config is not None and is_reasoning_off(config):
        return encode_reasoning_control(config, losses)
    fields = encode_reasoning_control(ir.ReasoningConfig(mode="off"), losses)
    if config is None:
        return add_reasoning_off(fields, losses, code)
    drop_unheld(config, losses)
    if config.mode is not None:
        losses.changed(config, "mode", next((value for _, value, *_ in read_settings(fields)), None), code)
    drop_reasoning_settings(config, code, losses)
    return fields if config.mode is not None else add_reasoning_off(fields, losses, code)


def _wire_value(pointer: str, canonical: str) -> Any:
    """Return the value of a setting that has a canonical meaning: a mode, or a visibility."""
    words = next(setting.words for setting in _SETTINGS if setting.pointer == pointer)
    return next(word for word, meaning in words.items() if meaning == canonical)


def _fields(values: Mapping[str, Any]) -> JsonObject:
    """Return the fields of a request with values, by pointer."""
    fields: JsonObject = {}
    for pointer, value in values.items():
        name, _, member = pointer.partition("/")
        fields[name] = fields.get(name, {}) | {member: value} if member else value
    return fields


def _encode_object(config: ir.ReasoningConfig, control: Control, losses: Ledger) -> JsonObject:
    """Encode the settings as an object that has either an effort or a budget."""
    _note_shown(config, losses)
    losses.extras(config)
    hidden = {control.visibility: True} if config.visibility == "hide" else {}
    if config.mode in ("off", "between_tools") or config.effort is not None:
        effort = encode_effort(config, losses)
        return _fields({control.effort: effort} | hidden) if effort else {}
    if config.budget is not None:
        return _fields({control.budget: config.budget} | hidden)
    return _fields(({control.mode: True} if config.mode is not None else {}) | hidden)


def _note_shown(config: ir.ReasoningConfig, losses: Ledger) -> None:
    """Note a summary of some length, for a server that returns the reasoning unless a request hides it."""
    # The reasoning is in the answer unless ``exclude`` is set (openrouter.ai/docs/use-cases/reasoning-tokens).
    if config.visibility in ("concise", "detailed"):
        losses.changed(config, "visibility", True, severity="info")


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
        losses.changed(config, "budget", True, "unstated_budget" if _has_budgets(losses.dialect) else _UNSUPPORTED)
    return True if config.mode is not None or config.effort is not None or config.budget is not None else None


def _has_budgets(rules: DialectRules | None) -> bool:
    """Return whether a server reads a budget for models about which facts state that they have one."""
    return rules is not None and any(_CONTROLS[each].budget for each in rules.controls_of_models.values())


def with_settings_of_server(body: JsonObject, encoded: JsonObject, rules: DialectRules | None, is_invalid: bool) -> JsonObject:
    """Return a request with the settings of reasoning that a server reads: those of the body, or else those of an encoded request.

    The settings of the body stay if the server reads each of them with this value, unless ``is_invalid``.
    """
    body = _with_hiding_setting(body, encoded, rules)
    if not is_invalid and (rules is None or _reads_settings_of(body, encoded, rules)):
        return body
    objects = {pointer.partition("/")[0] for pointer in _read_by(rules)}
    body = _without_amounts(body, objects & encoded.keys() if control_of(rules).is_exclusive else objects)
    for name in encoded:
        if name in CONFIG_FIELDS:
            others = body.get(name)
            body = body | {name: others | encoded[name] if isinstance(others, dict) else encoded[name]}
    return body


def _with_hiding_setting(body: JsonObject, encoded: JsonObject, rules: DialectRules | None) -> JsonObject:
    """Return a request that hides the reasoning in the field of the server, in place of the fields for it that the server does not read.

    Without such a field, members of objects are left out here, and fields with the others that the server does not read.
    """
    hiding = hiding_setting(rules)
    is_missing = hiding != "" and hiding not in body
    for pointer, value, field, meaning in [*read_settings(body)]:
        name, _, member = pointer.partition("/")
        is_unread = rules is not None and pointer != hiding and (member or (is_missing and name in rules.unread))
        # The other value of a flag shows the reasoning, as every server does by default.
        if field == "visibility" and is_unread and (meaning == "hide" or isinstance(value, bool)):
            others = {key: value for key, value in body[name].items() if key != member} if member else {}
            kept = {key: value for key, value in body.items() if key != name}
            body = kept | ({name: others} if others else {}) | {key: encoded[key] for key in encoded.keys() & {hiding}}
    return body


def _reads_settings_of(body: JsonObject, encoded: JsonObject, rules: DialectRules) -> bool:
    """Return whether a server reads each setting of reasoning in a body, with the value that the encoded request has."""
    present, written = _amounts_in(body), _amounts_in(encoded)
    if (written and not present) or (_turns_off(encoded) and not _turns_off(body)):
        return False
    if any(written.get(key, value) != value for key, value in present.items()) or not present.keys() <= _read_by(rules):
        return False
    control = control_of(rules)
    if control.effort in present and control.budget in present and not control.may_combine:
        return False
    return _EFFORT not in present or _reads_effort(present, control, rules)


def _reads_effort(present: Mapping[str, Any], control: Control, rules: DialectRules) -> bool:
    """Return whether a server reads the effort of a body. ``present``: the settings for the amount of reasoning."""
    # Without the mode, an effort of none has no effect (BerriAI/litellm#27453), and some models of Qwen do not reason
    # (earendil-works/pi#2769).
    ignores_effort = control.may_ignore_effort or present[_EFFORT] == "none"
    if control.requires_mode and control.mode not in present and ignores_effort:
        return False
    is_known = rules.efforts is None or present[_EFFORT] in rules.efforts
    return is_known and not (control.is_exclusive and len(present) > 1)


def _read_by(rules: DialectRules | None) -> frozenset[str]:
    """Return the settings for the amount of reasoning that a server reads, for one of its models or for all."""
    # Many servers pass arguments to chat templates without documentation, which the callers of such servers know.
    is_unknown = rules is not None and rules.reasoning_control is None and "chat_template_kwargs" not in rules.unread
    if is_unknown:
        return _CONTROLS["kwarg_or_effort"].amounts
    others = [] if rules is None else [_CONTROLS[each].amounts for each in rules.controls_of_models.values()]
    return control_of(rules).amounts.union(*others)


def _amounts_in(body: JsonObject) -> dict[str, Any]:
    """Return the settings for the amount of reasoning, by pointer."""
    return {pointer: value for pointer, value, field, _ in read_settings(body) if field != "visibility"}


def _turns_off(body: JsonObject) -> bool:
    return any(meaning in ("off", "none") for *_, meaning in read_settings(body))


def _without_amounts(body: JsonObject, objects: Set[str]) -> JsonObject:
    """Return a request without the amount of reasoning. Of the objects for it, only ``objects`` keep their other members."""
    result: JsonObject = {}
    for name, value in body.items():
        members = _AMOUNTS.get(name)
        if members is None:
            result[name] = value
        elif isinstance(value, dict) and name in objects:
            others = {key: member for key, member in value.items() if key not in members}
            result |= {name: others} if others else {}
    return result
