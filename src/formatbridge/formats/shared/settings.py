"""Flat settings of requests, the amount of reasoning, final answers that a server continues (prefill), and JSON mode, for every format.

OpenAI's servers require the word "JSON" in the messages of a request with JSON mode. In a format without that mode, an instruction
replaces it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Set
from dataclasses import replace
from typing import Any

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.shared.names import truncate_with_hash
from formatbridge.formats.shared.tables import FieldTable
from formatbridge.formats.shared.turns import leading_instructions
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.loss_rules import rule_of_setting
from formatbridge.report.losses import Severity
from formatbridge.report.reasons import MENTIONS_JSON, REPLACES_JSON_MODE

_CACHE_DEFAULTS = (("mode", "implicit"), ("ttl", "30m"))
"""The defaults of a server that has cache options."""

# "`logprobs` must be set to `true` if this parameter is used" (official SDK, ``CompletionCreateParams.top_logprobs``).
_FOLLOWS = {"top_logprobs": "logprobs"}
"""Settings to the settings that they require. A server that has both rejects the first without the second."""

EXCLUDES_REASONING: Mapping[str, str] = {
    "with_forced_call": "a forced tool call",
    "with_output_format": "an output format",
    "with_functions": "functions",
    "with_final_answer": "a final assistant message",
}
"""Codes of losses to what a server rejects with reasoning."""

Ranges = Mapping[str, tuple[float, float]]
"""Canonical setting to the minimum and the maximum that a target accepts."""

# Source: the official SDK, ``CompletionCreateParams`` and ``ResponseCreateParams``.
_SPECIFIED: Ranges = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "top_logprobs": (0, 20),
}
"""Bounds of OpenAI's specification, for formats that define no others."""

_OTHER_FIELDS = {"automatic_cache": "cache_control"}
"""Settings that only some servers of a format read to their fields, if these have other names."""

# "Set of 16 key-value pairs", 64 and 512 characters; 128 characters for ``safety_identifier`` (official SDK).
_MOST_PAIRS, _LONGEST_KEY, _LONGEST_VALUE = 16, 64, 512
"""The number of metadata pairs that servers accept, and the lengths of keys and values in characters."""
_LONGEST_NAMES = {"user": 64, "safety_identifier": 128}
"""Fields that identify an end user to their maximum length in characters."""
_SIZED = frozenset({"metadata", *_LONGEST_NAMES})
_OLD_RETENTION, _RETENTION = "in-memory", "in_memory"
"""A value of ``prompt_cache_retention`` in older SDKs of OpenAI, which the server rejects, and the correct one (openai-openapi#508)."""

JSON_INSTRUCTION = "Respond with valid JSON only: no other text and no code fence."
"""The instruction in the system prompt that replaces a JSON mode, or that is added to one."""
_JSON_WORD = "json"


def decode_flat_settings(body: dict[str, Any], table: FieldTable, request: ir.Request, others: frozenset[str]) -> bool:
    """Decode the flat settings into ``request``. Return whether the body has no other members than these and ``others``."""
    names, is_flat = table.canonical, True
    settings: dict[str, Any] = request.settings  # type: ignore[assignment]  # built key by key
    for key, value in body.items():
        if key in names:
            if value is not None:
                settings[names[key]] = value
        elif key not in others:
            is_flat = False
    return is_flat


def encode_flat_settings(
    request: ir.Request, table: FieldTable, body: dict[str, Any], losses: Ledger, done: frozenset[str], ranges: Ranges = _SPECIFIED
) -> None:
    """Encode the flat settings that the target has into ``body``, and note the others.

    ``done``: settings that are encoded elsewhere. A number outside its range becomes the nearest one inside.
    """
    # A server of a dialect may read a setting that its format does not have: ``top_k``, for example.
    value: Any
    wire = table.wire
    for name, value in request.settings.items():
        if name in done:
            continue
        key = wire.get(name)
        if key is None and losses.dialect is not None and name in losses.dialect.reads:
            key = _OTHER_FIELDS.get(name, name)
        if key is None:
            drop_setting(request, name, value, losses)
        elif name in _FOLLOWS and _FOLLOWS[name] in wire and not request.settings.get(_FOLLOWS[name]):
            drop_setting_with_code(request, name, "excluded", losses, severity="info")
        else:
            body[key] = clamp(request, name, value, ranges, losses)
    if not _SIZED.isdisjoint(request.settings):
        _cut_to_size(request, wire, body, losses)
    if request.settings.get("prompt_cache_retention") == _OLD_RETENTION and "prompt_cache_retention" in wire:
        name = "prompt_cache_retention"
        body[wire[name]] = losses.changed(request, name, _RETENTION, "out_of_range", severity="info")


def clamp(request: ir.Request, name: str, value: Any, ranges: Ranges, losses: Ledger, code: str = "out_of_range") -> Any:
    """Return a setting; note a number outside its range, which becomes the nearest one inside."""
    bounds = ranges.get(name)
    if bounds is None or bounds[0] <= value <= bounds[1]:
        return value
    return losses.changed(request, name, min(max(value, bounds[0]), bounds[1]), code)


def _cut_to_size(request: ir.Request, wire: Mapping[str, str], body: dict[str, Any], losses: Ledger) -> None:
    """Encode settings of limited length: metadata, and ids of the end user, which stay unique when they are shortened."""
    settings = request.settings
    if (metadata := settings.get("metadata")) and "metadata" in wire:
        body[wire["metadata"]] = _fitting(request, metadata, losses)
    for name, longest in _LONGEST_NAMES.items():
        value: Any = settings.get(name)
        if value is not None and name in wire and len(value) > longest:
            body[wire[name]] = losses.changed(
                request, name, truncate_with_hash(value, longest, value), "out_of_range", severity="info"
            )


def _fitting(request: ir.Request, metadata: Mapping[str, str], losses: Ledger) -> dict[str, str]:
    """Return the metadata that the target accepts: the first pairs, without long keys, with the beginnings of long values."""
    # A long value keeps its beginning, but a shortened key would be another key.
    kept: dict[str, str] = {}
    for key, value in metadata.items():
        field = f"metadata/{escape(key)}"
        if len(key) > _LONGEST_KEY or len(kept) == _MOST_PAIRS:
            losses.dropped(request, field, "too_many" if len(key) <= _LONGEST_KEY else "out_of_range", severity="info")
        elif len(value) > _LONGEST_VALUE:
            kept[key] = losses.changed(request, field, value[:_LONGEST_VALUE], "out_of_range", severity="info")
        else:
            kept[key] = value
    return kept


def drop_cache_options(request: ir.Request, losses: Ledger, kept: str = "") -> None:
    """Note that the cache options are lost, except the option ``kept``. A request that only fills the cache wants no answer."""
    for name, value in (request.settings.get("prompt_cache_options") or {}).items():
        if value is not None and value is not False and name != kept and (name, value) not in _CACHE_DEFAULTS:
            severity: Severity = "impossible" if name == "prewarm" else "info"
            losses.dropped(request, f"prompt_cache_options.{name}", severity=severity)


def drop_setting(request: ir.Request, name: str, value: Any, losses: Ledger) -> None:
    """Note that a setting is lost, unless its value equals the default of the target."""
    rule = rule_of_setting(name)
    if rule.by_member:
        for member_key, member in value.items() if isinstance(value, dict) else enumerate(value):
            if not rule.is_neutral(member):
                losses.dropped(request, f"{name}/{escape(str(member_key))}", rule.code, severity=rule.severity)
        return
    if is_neutral_setting(name, value):
        return
    if rule.kind == "changed":
        losses.changed(request, name, rule.after, rule.code, severity=rule.severity)
    else:
        losses.dropped(request, name, rule.code, severity=rule.severity)


def drop_setting_with_code(
    request: ir.Request, name: str, code: str, losses: Ledger, *, place: str = "", severity: Severity | None = None
) -> None:
    """Note with a code that a setting is lost, unless its value equals the default of the target.

    ``place``: the name of the field in the report, if it is not ``name``. ``severity``: None is that of the setting.
    """
    rule = rule_of_setting(name)
    if name in request.settings and not is_neutral_setting(name, request.settings[name]):  # type: ignore[literal-required]  # its key
        losses.dropped(request, place or name, code, severity=severity or rule.severity)


def without_settings(request: ir.Request, names: Set[str], code: str, losses: Ledger) -> ir.Request:
    """Return a request without settings, by their canonical names; note each with a code."""
    for name in sorted(names & request.settings.keys()):
        drop_setting_with_code(request, name, code, losses)
    kept = {name: value for name, value in request.settings.items() if name not in names}
    return request if kept == request.settings else replace(request, settings=kept)  # type: ignore[arg-type]  # the same keys


def without_members(body: JsonObject, field: str, members: Container[str]) -> JsonObject:
    """Return a body without some members of an object with settings, and without the object if it has no others."""
    others = {key: value for key, value in body[field].items() if key not in members}
    return {key: value for key, value in body.items() if key != field} | ({field: others} if others else {})


def with_read_fields(request: ir.Request, rules: DialectRules) -> ir.Request:
    """Return a request with the unmodelled fields that the server reads, such as ``logit_bias``, as settings."""
    extra = request.extra or {}
    read = {name: extra[name] for name in sorted(rules.reads & extra.keys())}
    if not read:
        return request
    settings: dict[str, Any] = {**request.settings, **read}
    others = {name: value for name, value in extra.items() if name not in read}
    return replace(request, settings=settings, extra=others or None)  # type: ignore[arg-type]  # more keys


def is_neutral_setting(name: str, value: object) -> bool:
    """Return whether a setting has the default value. None turns a setting on whose value the server chooses: ``compact_at``."""
    return value is not None and rule_of_setting(name).is_neutral(value)


EFFORTS: frozenset[str] = frozenset(ir.EFFORT_ORDER)
"""The canonical values of effort. Only single servers have other values."""

# No vendor documents these budgets. They are those of CLIProxyAPI: an effort becomes its limit, and that limit the same effort.
ANCHORS: tuple[tuple[int, ir.Effort], ...] = (
    (512, "minimal"), (1024, "low"), (8192, "medium"), (24576, "high"), (32768, "xhigh"), (65536, "max"),
)  # fmt: skip
"""The largest budget in tokens of each effort; the last one has no limit."""


def effort_of_budget(budget: int) -> ir.Effort:
    """Return the effort that corresponds to a budget in tokens."""
    return next((effort for limit, effort in ANCHORS if budget <= limit), "max")


def is_reasoning_off(config: ir.ReasoningConfig) -> bool:
    """Return whether the settings turn reasoning off. Their other settings have no effect then."""
    return config.mode == "off" or (config.effort == "none" and config.mode is None)


def drop_reasoning_settings(config: ir.ReasoningConfig, code: str, losses: Ledger) -> None:
    """Note that all settings of reasoning are dropped. ``code``: why the server rejects reasoning with the rest of the request."""
    losses.dropped(config, "effort", code)
    losses.dropped(config, "budget", code)
    drop_visibility(config, code, losses)
    if config.budget is None:
        losses.dropped(config, "mode", code)


def drop_visibility(config: ir.ReasoningConfig, code: str, losses: Ledger, *, severity: Severity = "lossy") -> None:
    """Note that the visibility of reasoning is dropped. Without reasoning, hiding it has no effect."""
    if config.visibility != "hide":
        losses.dropped(config, "visibility", code, severity=severity)


def forced_call_excludes_reasoning(losses: Ledger) -> bool:
    """Return whether the server that receives the request rejects a forced tool call unless reasoning is off."""
    return losses.dialect is not None and losses.dialect.forced_call_excludes_reasoning


def has_output_format(request: ir.Request) -> bool:
    """Return whether the answer must have a format: JSON, or that of a schema."""
    return request.output_format is not None and request.output_format.type != "text"


def continues_each_answer(rules: DialectRules | None) -> bool:
    """Return whether a server continues each final answer, and rejects one with reasoning."""
    return rules is not None and rules.prefill_excludes_reasoning and rules.prefill_field is None


def continues_answers(rules: DialectRules | None) -> bool:
    """Return whether a server continues a final answer, by itself or with a field."""
    return rules is not None and (
        rules.prefill_field is not None or bool(rules.continuation_fields) or continues_each_answer(rules)
    )


def add_reasoning_off(fields: JsonObject, losses: Ledger, code: str = "with_forced_call") -> JsonObject:
    """Return fields that turn reasoning off, and note that they are added. ``code``: a key of ``EXCLUDES_REASONING``."""
    assert losses.dialect is not None
    why = f"{losses.dialect.server} rejects {EXCLUDES_REASONING[code]} with reasoning"
    return {name: losses.added(f"/{name}", value, why) for name, value in fields.items()}


def encode_effort(config: ir.ReasoningConfig, losses: Ledger) -> ir.Effort | None:
    """Return the reasoning configuration as one value of effort that the server accepts, for formats without a budget.

    None: the request has no reasoning configuration, or the server has no such effort.
    """
    name, effort = effort_setting(config)
    if effort is None:
        return None
    if name == "mode" and effort == "none":
        drop_amount(config, losses)
    elif name == "effort" and config.budget is not None:
        losses.dropped(config, "budget", "other_amount")
    accepted = effort_for_server(effort, losses.dialect)
    # One note has the effort that is written, even if both the format and the server have no such value.
    if accepted is None:
        losses.dropped(config, name, "unsupported_by_server")
    elif accepted != effort:
        losses.changed(config, name, accepted, "unsupported_by_server")
    elif name == "budget" or (name == "mode" and config.mode != "off"):
        losses.changed(config, name, accepted)
    return accepted


def effort_setting(config: ir.ReasoningConfig) -> tuple[str, ir.Effort | None]:
    """Return the setting with the amount of reasoning, and the effort that corresponds to it; None if no setting has it."""
    # Turned off takes precedence over effort and budget. Only Anthropic has reasoning between tools only (its SDK,
    # ``ThinkingConfigBetweenToolsParam``); other servers reason in every step or in none.
    if config.mode in ("off", "between_tools"):
        return "mode", "none"
    if config.effort is not None:
        return "effort", config.effort
    if config.budget is not None:
        return "budget", effort_of_budget(config.budget)
    return "mode", None if config.mode is None else "high"  # the model decides, or the request has no amount


def effort_for_server(effort: ir.Effort, rules: DialectRules | None) -> ir.Effort | None:
    """Return an effort, or the one that the server has in its place; None for ``none``, or if the server has no other effort."""
    if rules is None or rules.efforts is None or effort in rules.efforts:
        return effort
    # "No reasoning" is no amount: the lowest amount would turn reasoning on.
    if effort == "none":
        return None
    order = ir.EFFORT_ORDER
    amounts = [each for each in order if each in rules.efforts and each != "none"]
    replaced = [each for each in amounts if each == rules.replaced_efforts.get(effort)]
    return min(replaced or amounts, key=lambda each: abs(order.index(each) - order.index(effort)), default=None)


def drop_amount(config: ir.ReasoningConfig, losses: Ledger) -> None:
    """Note the amount of reasoning of a request that turns reasoning off."""
    if config.effort != "none":
        losses.dropped(config, "effort", "without_reasoning")
    losses.dropped(config, "budget", "without_reasoning")


def has_any_object(rules: DialectRules | None) -> bool:
    """Return whether a server has JSON mode, or a schema of any object in its place; otherwise an instruction replaces it."""
    return rules is None or rules.accepts_any_object


def lacks_json_word(messages: list[ir.Message], format: ir.OutputFormat) -> bool:
    """Return whether OpenAI's servers reject a conversation with JSON mode, because it does not mention JSON.

    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'" (StefanBratanov/jvm-openai#15).
    ``responses`` requires the word in ``input`` and not in ``instructions`` (Wei-Shaw/sub2api#3337).
    """
    return format.type == "json_object" and bool(messages) and not any(map(_mentions_json, messages))


def with_json_instruction(messages: list[ir.Message], format: ir.OutputFormat) -> list[ir.Message]:
    """Return a conversation that mentions JSON if the request has JSON mode; the same object if nothing changes."""
    if not lacks_json_word(messages, format):
        return messages
    leading = leading_instructions(messages)
    return [*messages[:leading], ir.Message("system", [ir.Text(JSON_INSTRUCTION)], ""), *messages[leading:]]


def note_json_instruction(messages: list[JsonObject], pointer: str, losses: Ledger) -> None:
    """Note the added instruction in encoded messages, which are at ``pointer`` in the body. No other message mentions JSON."""
    why = MENTIONS_JSON if has_any_object(losses.dialect) else REPLACES_JSON_MODE
    for index, message in enumerate(messages):
        if is_json_instruction(message):
            losses.added(f"{pointer}/{index}", message, why)


def is_json_instruction(message: JsonObject) -> bool:
    """Return whether an encoded message is the instruction."""
    content = message.get("content")
    return content == JSON_INSTRUCTION or (
        isinstance(content, list) and len(content) == 1 and content[0].get("text") == JSON_INSTRUCTION
    )


def _mentions_json(message: ir.Message) -> bool:
    for part in message.parts:
        for each in part.content if isinstance(part, ir.ToolResult) else (part,):
            if isinstance(each, ir.Text) and _JSON_WORD in each.text.lower():
                return True
    return False
