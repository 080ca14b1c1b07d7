"""Rules that vendors' servers enforce and that their types do not express.

Each rule has one reason, and each format has one module.

Source: reports of rejected requests, named in each rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import formatbridge as fb
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import chat_completions, generate_content, messages, responses
from formatbridge.testing.vendor_rules.rule import Facts, Issued, Rule
from formatbridge.testing.vendor_rules.servers import RULES_NOT_ENFORCED, SERVER_RULES

__all__ = ["RULES", "SERVER_RULES", "Facts", "Issued", "Rule", "broken_rules"]

RULES: Mapping[fb.Format, tuple[Rule, ...]] = {
    "chat_completions": chat_completions.RULES,
    "messages": messages.RULES,
    "responses": responses.RULES,
    "generate_content": generate_content.RULES,
}
"""The rules of each format, in the order in which they are checked."""


def broken_rules(format: fb.Format, body: JsonObject, facts: Facts, dialect: str | None = None) -> Iterator[tuple[Rule, Failure]]:
    """Yield each rule that a request breaks, with the vendor's error. The body is valid in its format.

    ``dialect``: the server that receives the request; its rules are checked before those of the format.
    """
    server_rules = SERVER_RULES[dialect].get(format, ()) if dialect is not None else ()
    for rule in (*server_rules, *RULES[format]):
        if rule.name in RULES_NOT_ENFORCED.get((dialect, format), ()) and rule not in server_rules:
            continue
        failure = rule.check(body, facts)
        if failure is not None:
            yield rule, failure
