"""Rules of the vendors' servers that no type states: one rule for each reason, one module for each format.

Source: reports of rejected requests, named in each rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import chat_completions, generate_content, messages, responses
from formatbridge.testing.vendor_rules.rule import Facts, Issued, Rule

__all__ = ["RULES", "Facts", "Issued", "Rule", "refusals_of"]

RULES: Mapping[fb.Format, tuple[Rule, ...]] = {
    "chat_completions": chat_completions.RULES,
    "messages": messages.RULES,
    "responses": responses.RULES,
    "generate_content": generate_content.RULES,
}
"""The rules of each format, in the order in which they are checked."""


def broken_rules(format: fb.Format, body: JsonObject, facts: Facts) -> Iterator[tuple[Rule, Failure]]:
    """Yield each rule that a request breaks, with the vendor's error. The body is valid in its format."""
    for rule in RULES[format]:
        failure = rule.check(body, facts)
        if failure is not None:
            yield rule, failure
