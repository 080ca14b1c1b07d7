"""The fields of an encoded body as the server of a dialect reads them: their names and words, without those that it does not read."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.server_rules import code_of_field, field_of, may_reason, restricts_functions
from formatbridge.formats.shared.settings import is_neutral_setting
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.ledger import Ledger
from formatbridge.report.loss_rules import LOSS_RULES, SETTING_RULES, rule_of_setting
from formatbridge.report.losses import SEVERITY_RANKS, Severity


def rename_for_server(body: JsonObject, request: ir.Request, spec: FormatSpec, losses: Ledger) -> JsonObject:
    """Return an encoded body with the names and words of a server.

    The request was adapted before, so the only fields to leave out are additions of the encoder.
    """
    rules = spec.dialect
    assert rules is not None
    renamed = {rules.names.get(key, key): value for key, value in body.items() if not rules.omits(key, value)}
    renamed = spec.server_requests.adapt_encoded(renamed, request, rules, losses)
    tool_choice = spec.item_identity.tool_choice
    if renamed.get(tool_choice) == "required" and rules.required_word is not None:
        renamed[tool_choice] = rules.required_word
    if len(renamed) < len(body):
        losses.withdraw(renamed)
    return renamed


def _severity_of_field(field: str, value: JsonValue, request: ir.Request, spec: FormatSpec) -> Severity | None:
    """Return the severity of the loss of a field of a body, ``value``; None if it has the default value."""
    if field in SETTING_RULES:
        rule = SETTING_RULES[field]
        return None if rule.is_neutral(value) else rule.severity
    if names := _settings_in(field, request, spec):  # the decoder has translated their words: ``standard_only`` is ``standard``
        settings = [name for name in names if not is_neutral_setting(name, request.settings[name])]  # type: ignore[literal-required]  # its keys
        return max((rule_of_setting(name).severity for name in settings), key=SEVERITY_RANKS.__getitem__, default=None)
    if field in spec.settings.canonical:  # a value without a meaning, which the decoder has left out
        return None
    row = f"Request.{field}"
    rule = LOSS_RULES.get(row) or spec.field_paths.rules.get(row) or rule_of_setting(field)
    return None if rule.is_neutral(value) else rule.severity


def _settings_in(field: str, request: ir.Request, spec: FormatSpec) -> list[str]:
    """Return the settings of a request in a field of a body."""
    first = [name for name, value in request.settings.items() if field_of(name, value, spec) == field]
    return first or [name for name in request.settings if field in _fields_of(name, spec)]


def drop_unread_fields(body: JsonObject, before: JsonObject, request: ir.Request, spec: FormatSpec, losses: Ledger) -> JsonObject:
    """Return a body of a caller in the same format without the fields that the server does not read. ``before``: the caller's body."""
    rules = spec.dialect
    assert rules is not None
    ignored = rules.ignores_while_reasoning if may_reason(request, spec) else frozenset()
    names = {key: field for field in rules.unread | ignored for key in spec.keys_of(field)}
    unread = {key for key in names.keys() & before.keys() if names[key] in ignored or rules.omits(names[key], before[key])}
    unread -= spec.server_requests.reasoning_fields - body.keys()  # another field has their value
    result = {key: value for key, value in body.items() if key not in unread} if unread else body
    for field in sorted(unread):
        if field == spec.item_identity.tool_choice and _is_expressed_by_tools(request.tool_choice):
            continue  # without the other tools, the request has the same effect
        severity = _severity_of_field(names[field], before[field], request, spec)
        if severity is not None:
            losses.dropped(request, field, code_of_field(names[field], rules), severity=severity)
    if not rules.accepts_nulls:
        result = {key: value for key, value in result.items() if value is not None}
    return spec.server_requests.without_unread_values(result, request, rules, losses)


def _fields_of(name: str, spec: FormatSpec) -> list[str]:
    """Return the fields of a body, at its top, that may have a setting."""
    flat = spec.settings.wire.get(name)
    places = (flat,) if flat else spec.field_paths.places.get(f"Request.{name}", (name,))
    return [place.partition("/")[0] for place in places]


def _is_expressed_by_tools(choice: ir.ToolChoice | None) -> bool:
    """Return whether the tools that are left express a choice, so that the request needs none."""
    return choice is not None and (choice.mode == "none" or restricts_functions(choice))
