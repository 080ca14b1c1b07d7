"""Reasons for which a converted request breaks a rule of its vendor although the conversion is right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from formatbridge import Loss
from formatbridge.testing.vendor_rules import Facts
from formatbridge.testing.vendor_rules import broken_rules as server_rules
from tests.support.laws import Sample

_PAIRS = frozenset({"unanswered_call", "orphan_result"})
_REPORTED = {
    "no_messages": {"no_turns", "no_content"},
    "no_input": {"no_turns", "no_content"},
    "no_contents": {"no_turns", "no_content"},
    "second_result": {"orphan"},
    "call_turn": {"orphan", "first_turn"},
}
"""Rules to the codes of losses that report a request which breaks them."""


def is_omission(rule: str, sample: Sample, losses: Iterable[Loss]) -> bool:
    """Return whether a converted request breaks a rule because of what the request of the caller lacks.

    Some servers have the model in the URL. A request without a turn that the target can hold is reported as ``no_turns``
    or ``no_content``, as impossible.
    A call without a result, a result without its call, or a second result of a call stays as the caller sent it. So does a conversation
    that begins with a call, which is reported as ``first_turn``.
    """
    if rule == "no_model":
        return not sample.body.get("model")
    if rule in _PAIRS:
        return _lacks_a_call_or_a_result(sample)
    return not _REPORTED.get(rule, set()).isdisjoint(loss.code for loss in losses)


def _lacks_a_call_or_a_result(sample: Sample) -> bool:
    """Return whether the vendor of the caller's format rejects the request for the same reason. Gemini accepts a last call."""
    if sample.format == "generate_content":
        return any("functionCall" in part for part in sample.body["contents"][-1]["parts"])
    format: Any = sample.format
    return not _PAIRS.isdisjoint(rule.name for rule, _ in server_rules(format, sample.body, Facts()))
