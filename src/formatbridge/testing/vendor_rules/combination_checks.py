"""Rules of servers that reject fields only together with others. Each function returns a rule.

The errors have the status and the words of the servers.
"""

from __future__ import annotations

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule


def format_without_tools(source: str, message: str, *, code: str | None = None) -> Rule:
    """Return a rule for servers that reject an output format next to tools."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("tools") and body.get("response_format")
        return openai_failure(400, message, param="response_format", code=code) if is_refused else None

    return Rule("format_with_tools", "a `response_format` next to `tools`", source, check)
