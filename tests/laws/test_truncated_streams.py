"""The official SDKs raise for every truncated stream of every pair of formats: in Python, and in JavaScript where there is node."""

from __future__ import annotations

import base64
import json
import subprocess

import pytest

import formatbridge as fb
from tests.support.directions import PAIRS
from tests.support.javascript_sdks import installed
from tests.support.sdk_clients import failures
from tests.support.truncated_streams import MESSAGE, truncated_streams

RUN_SECONDS = 60


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_python_sdk_raises_for_every_truncated_stream(source: fb.Format, target: fb.Format) -> None:
    """A program must not take half an answer for a whole one, with any method of reading."""
    result = [
        f"{each.id}, {sdk_call}: {outcome}"
        for each in truncated_streams(source, target)
        for sdk_call, outcome in failures(each.body, target).items()
        if MESSAGE not in (outcome or "")
    ]

    assert result == []


def test_the_javascript_sdks_raise_for_every_truncated_stream(pytestconfig: pytest.Config) -> None:
    """The same for programs in JavaScript; one node process serves and reads all streams."""
    place = installed(pytestconfig, "read_streams.mjs")
    cases = [each for source, target in PAIRS for each in truncated_streams(source, target)]
    values = [{"format": each.format, "body": base64.b64encode(each.body).decode()} for each in cases]

    ran = subprocess.run(
        ["node", str(place / "read_streams.mjs")],
        input=json.dumps(values).encode(),
        capture_output=True,
        timeout=RUN_SECONDS,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr.decode()[-2000:]
    outcomes = json.loads(ran.stdout)
    assert [set(outcome) for outcome in outcomes] == [_JAVASCRIPT_CALLS[each.format] for each in cases]
    result = [
        f"{each.id} -> {each.format}, {sdk_call}: {error}"
        for each, outcome in zip(cases, outcomes, strict=True)
        for sdk_call, error in outcome.items()
        if MESSAGE not in (error or "")
    ]
    assert result == []


_JAVASCRIPT_CALLS = {
    "chat_completions": {"create", "stream"},
    "messages": {"create", "stream"},
    "responses": {"create", "stream"},
    "generate_content": {"generateContentStream", "sendMessageStream"},
}
"""The methods of reading a stream in each SDK for JavaScript."""


def test_every_format_is_read_in_javascript() -> None:
    """A format without a JavaScript test would pass."""
    assert set(_JAVASCRIPT_CALLS) == set(fb.FORMATS)
