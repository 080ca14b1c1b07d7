"""Write the fields of a request under the names that one server reads."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.server_rules import code_of
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.loss_rules import rule_of_setting


def rename_for_server(body: JsonObject, request: ir.Request, spec: FormatSpec, losses: Ledger) -> JsonObject:
    """Return an encoded body with the names and words of a server.

    The request was adapted before, so the only fields to leave out are additions of the encoder.
    """
    rules = spec.dialect
    assert rules is not None
    renamed = {rules.names.get(key, key): value for key, value in body.items() if not rules.omits(key, value)}
    renamed = spec.server_requests.adapt_encoded(renamed, request, rules, losses)
    if renamed.get("tool_choice") == "required" and rules.required_word is not None:
        renamed["tool_choice"] = rules.required_word
    if len(renamed) < len(body):
        losses.withdraw(renamed)
    return renamed


def drop_unread_fields(body: JsonObject, before: JsonObject, request: ir.Request, spec: FormatSpec, losses: Ledger) -> JsonObject:
    """Return a body of a caller in the same format without the fields that the server does not read. ``before``: the caller's body."""
    rules = spec.dialect
    assert rules is not None
    names = {key: field for field in rules.unread for key in spec.keys_of(field)}
    unread = {key for key in names.keys() & before.keys() if rules.omits(names[key], before[key])}
    unread -= spec.server_requests.reasoning_fields - body.keys()  # another field has their value
    result = {key: value for key, value in body.items() if key not in unread} if unread else body
    for field in sorted(unread):
        rule = rule_of_setting(field)
        if before[field] not in (None, [], {}) and not rule.is_neutral(before[field]):
            losses.dropped(request, field, code_of(names[field], rules), severity=rule.severity)
    if not rules.accepts_nulls:
        result = {key: value for key, value in result.items() if value is not None}
    return spec.server_requests.without_unread_values(result, request, rules, losses)
