"""Every request that is converted for the server of a dialect is accepted by that server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats.dialects import DIALECTS
from formatbridge.testing.vendor_rules import SERVER_RULES, Facts, broken_rules
from tests.corpus import requires_corpus
from tests.laws.test_vendor_rules import agents
from tests.support.laws import Sample, recorded, shipped

TARGETS = [(name, format) for name, dialect in DIALECTS.items() for format in dialect.rules]
every_target = pytest.mark.parametrize(("name", "target"), TARGETS)


@cache
def _samples(is_recorded: bool) -> tuple[Sample, ...]:
    found: list[Sample] = []
    for format in fb.FORMATS:
        if is_recorded:
            found += [*list(recorded(format, "request"))[::9], *list(agents(format))[::9]]
        else:
            found += shipped(format, "request")
    return tuple(found)


def _convert(sample: Sample, target: fb.Target) -> fb.ConvertedRequest:
    return fb.convert_request(
        sample.body, source=sample.format, target=target, model=sample.body.get("model") or sample.model or "m"
    )


def _refused(samples: tuple[Sample, ...], name: str, target: Any) -> Iterator[str]:
    for sample in samples:
        try:
            converted = _convert(sample, fb.Target(target, dialect=name))
        except fb.InvalidPayloadError:
            continue
        for rule, failure in broken_rules(target, converted.body, Facts(model=converted.model), name):
            if sample.format != target or rule in SERVER_RULES[name][target]:
                yield f"{sample}: {rule.name}: {failure.message[:120]}"


@every_target
def test_the_server_of_a_dialect_accepts_every_converted_fixture(name: str, target: str) -> None:
    assert list(_refused(_samples(False), name, target)) == []


@requires_corpus
@every_target
def test_the_server_of_a_dialect_accepts_converted_recordings(name: str, target: str) -> None:
    assert list(_refused(_samples(True), name, target)) == []


def test_each_dialect_has_a_fake_server() -> None:
    assert {name: set(formats) for name, formats in SERVER_RULES.items()} == {
        name: set(dialect.rules) for name, dialect in DIALECTS.items()
    }
