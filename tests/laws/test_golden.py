"""The body and the report of every fixture in every other format are approved goldens.

The goldens are in ``__snapshots__/test_golden``, one file each, losses first: read those first. ``pytest tests/laws/test_golden.py
--snapshot-update`` writes them again. A developer who commits that has read the difference and can explain it.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.location import PyTestLocation

from formatbridge import formats, ir
from formatbridge.convert.batch import BatchLine
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import InvalidPayloadError
from tests.fixtures import (
    BatchFixture,
    Fixture,
    InvalidFixture,
    StreamFixture,
    batch_fixtures,
    count_fixtures,
    fixtures,
    invalid_fixtures,
    streams,
)
from tests.support.layout import layout


class Golden(JSONSnapshotExtension):
    """One JSON file for each golden, keys in the order of the conversion, each loss on a separate line."""

    def serialize(self, data: Any, **_: object) -> str:
        """Write a golden."""
        return f"{layout(data)}\n"

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Return whether a golden is that of a test: only by its name, because all goldens are compared with all tests."""
        return snapshot_location.endswith(_ending(test_location.item))


@cache
def _ending(test: pytest.Item) -> str:
    """Return the end of the path of a test's golden."""
    location = PyTestLocation(test)
    return f"/{location.basename}/{Golden.get_file_basename(test_location=location, index=0)}.{Golden.file_extension}"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(Golden)


DIRECTIONS = [
    pytest.param(fixture, target, id=f"{fixture}-{target}")
    for fixture in fixtures()
    for target in formats.FORMATS
    if target != fixture.format
] + [
    pytest.param(fixture, target, id=f"{fixture}-{target}")
    for fixture in count_fixtures()
    for target in formats.FORMATS
    if target not in (fixture.format, "chat_completions")
]


@pytest.mark.parametrize(("fixture", "target"), DIRECTIONS)
def test_converts_as_approved(fixture: Fixture, target: ir.Format, golden: SnapshotAssertion) -> None:
    """A developer sees every change of a body or its report before a user does."""
    converted = fixture.convert(target)

    assert _as_golden(converted) == golden


STREAMS = [
    pytest.param(fixture, target, id=f"{fixture}-{target}")
    for fixture in streams()
    for target in formats.FORMATS
    if target != fixture.format
]


@pytest.mark.parametrize(("fixture", "target"), STREAMS)
def test_streams_as_approved(fixture: StreamFixture, target: ir.Format, golden: SnapshotAssertion) -> None:
    """A developer sees every change of the events of a stream or its report before a user does."""
    converter = StreamConverter(source=fixture.format, target=target)

    converted = converter.feed(fixture.data) + converter.finish()

    report = {key: value for key, value in _as_golden(converter.response()).items() if key in ("losses", "additions")}
    failed = {"error": converter.error.kind} if converter.error else {}
    assert report | failed | {"stream": re.split(r"(?<=\n\n)|(?<=\r\n\r\n)", converted.decode())[:-1]} == golden


BATCHES = [
    pytest.param(fixture, target, id=f"{fixture}-{target}")
    for fixture in batch_fixtures()
    for target in formats.FORMATS
    if target != fixture.format
]


@pytest.mark.parametrize(("fixture", "target"), BATCHES)
def test_batch_lines_convert_as_approved(fixture: BatchFixture, target: ir.Format, golden: SnapshotAssertion) -> None:
    """A developer sees every change of the envelope of a line or its report before a user does."""
    line = fixture.convert(target)

    assert line.error is None
    assert _report(line) | {"line": json.loads(line.json or b"")} == golden


@pytest.mark.parametrize("fixture", invalid_fixtures(), ids=str)
def test_is_refused_in_approved_words(fixture: InvalidFixture, golden: SnapshotAssertion) -> None:
    """A developer sees every change of a message before a user does."""
    with pytest.raises(InvalidPayloadError) as refusal:
        fixture.convert(fixture.format)

    assert {"text": str(refusal.value), "problems": [list(problem) for problem in refusal.value.problems]} == golden


def _as_golden(converted: Converted) -> dict[str, Any]:
    """Return the parts of a conversion that a reader compares, the losses first."""
    golden = _report(converted)
    if isinstance(converted, ConvertedRequest):
        golden["path"] = converted.path
    if isinstance(converted, ConvertedError):
        golden["status"] = converted.status
    return golden | {"body": converted.body}


def _report(converted: Converted | BatchLine) -> dict[str, Any]:
    """Return the losses and additions of a conversion."""
    losses = [
        {"path": loss.path, "kind": loss.kind, "severity": loss.severity, "code": loss.code, "why": loss.why}
        for loss in converted.losses
    ]
    additions = [{"path": each.path, "value": each.value, "why": each.why} for each in converted.additions]
    return {"losses": losses, "additions": additions}
