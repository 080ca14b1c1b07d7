"""The laws hold for requests that combine the conversations and the settings of several fixtures.

One fixture has one feature. Defects of the adaptation to a server are in combinations, such as the same image in two items of which one is
removed.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats.dialects import DIALECTS
from formatbridge.testing.vendor_rules import Facts, broken_rules
from tests.laws.test_dialect_laws import BY_VALUE
from tests.support.laws import Breach, Sample, nothing_added_is_silent, nothing_is_silent, once, report_is_precise, shipped
from tests.support.pointers import ABSENT, value_at

REQUESTS = 20
"""The number of requests for each server. Each has another seed, so that a failure repeats."""
_FIELDS = {"chat_completions": "messages", "messages": "messages", "responses": "input", "generate_content": "contents"}
_FACTS = [
    None,
    fb.ModelFacts(inputs=frozenset({"text"})),
    fb.ModelFacts(reasoning="none"),
    fb.ModelFacts(refuses=frozenset({"tools"})),
]
_KEPT_BY_VALUE = {
    "/effort": "an unknown effort is kept",
    "/thinkingLevel": "an unknown level is kept",
    "/mode": "an unknown mode is kept",
    "/include/0": "an unknown word is kept",
    "/allowed_callers/0": "an unknown caller is kept",
    "/defer_loading": "an explicit default passes unchanged",
    "/name": "a changed name is that of another server",
    "/mcp_server_name": "a changed name is that of another server",
    "/media_type": "the server reads media of another type",
}
"""Ends of pointers to values that are lost, and why other values in their place are not."""
_SILENT_BY_VALUE = {"/thinking_budget": "another field has precedence", "/tool_choice": "a free choice is the default"}
"""Ends of pointers to values whose change has no effect, and why."""


def _mixed(samples: list[Sample], choose: random.Random) -> Sample:
    """Return a request with the conversations of two or three others, one of which may be within another, and their settings."""
    first, *others = choose.sample(samples, choose.randint(2, 3))
    field = _FIELDS[first.format]
    body = copy.deepcopy(first.body)
    for other in others:
        added = copy.deepcopy(other.body)
        items = body[field]
        at = choose.choice([len(items), choose.randint(0, len(items))])
        body[field] = [*items[:at], *added.pop(field), *items[at:]]
        for key, value in added.items():
            if key == "tools" and isinstance(value, list) and isinstance(body.get(key), list):
                body[key] += [tool for tool in value if tool not in body[key]]
            elif choose.random() < 0.6:
                body.setdefault(key, value)
    return replace(first, id="+".join(each.id for each in (first, *others)), body=body)


def _breaches(sample: Sample, name: str, format: Any, target: Any) -> Iterator[Breach]:
    convert = once(sample.convert, sample.body)
    for law in (nothing_is_silent(sample.body, target, convert, per_place=1), report_is_precise(sample.body, target, convert)):
        yield from (breach for breach in law if not breach.path.endswith(_EXEMPT.get(breach.law, ())))
    yield from nothing_added_is_silent(sample.body, target, convert)
    converted = convert(sample.body, target)
    for addition in converted.additions:
        if value_at(converted.body, addition.path) is ABSENT:
            yield Breach("2 added nowhere", addition.path, addition.why)
    of_server = (None, name) if sample.format == format else (None,)
    source: Any = sample.format
    known = {rule.name for each in of_server for rule, _ in broken_rules(source, sample.body, Facts(), each)}
    known |= _UNKNOWN_TO_THE_RELAY
    for rule, failure in broken_rules(format, converted.body, Facts(), name):
        if rule.name not in known:
            yield Breach(f"rejected: {rule.name}", "", failure.message)


_EXEMPT = {"2 claimed lost": tuple(_KEPT_BY_VALUE), "1 silent": tuple(_SILENT_BY_VALUE)}
_UNKNOWN_TO_THE_RELAY = {"forced_call", "orphan_result", "unanswered_call", "second_result", "call_turn", "thinking_first"}
"""Rules that depend on what the relay does not know, or on results that a fixture or the mixture separates from their calls.

It does not know whether the model reasons, and which calls the server has stored.
"""


@functools.cache
def _samples(format: fb.Format) -> list[Sample]:
    return [
        each
        for each in shipped(format, "request")
        if isinstance(each.body.get(_FIELDS[format]), list) and each.id.split("-")[1] not in BY_VALUE
    ]


@pytest.mark.parametrize(
    ("name", "format"), [(name, format) for name, dialect in DIALECTS.items() for format in dialect.rules if format in _FIELDS]
)
def test_a_combination_of_fixtures_loses_nothing_in_silence(name: str, format: Any) -> None:
    """For each server in its format and from others, with and without facts about the model."""
    breaches: list[str] = []
    for seed in range(REQUESTS):
        choose = random.Random(f"{name} {format} {seed}")
        sample = _mixed(_samples(format if seed % 2 else choose.choice(fb.FORMATS)), choose)
        target: Any = fb.Target(format, dialect=name, model=choose.choice(_FACTS))
        with contextlib.suppress(fb.InvalidPayloadError):
            breaches += [f"{seed} {sample.id}: {breach}" for breach in _breaches(sample, name, format, target)]

    assert breaches == []
