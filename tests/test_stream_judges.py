"""Law 5 for streams: the official client of the target reads every converted stream to its end, to the answer that we collect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest

import formatbridge as fb
from tests.corpus import Entry, entries, requires_corpus
from tests.sdk_clients import ClientRefusesError, differences, read, said

PAIRS = list(permutations(fb.FORMATS, 2))
SMALL = 2_000
"""Bytes of a stream that is also read byte by byte."""

CUT_SHORT = "vercel-ai--responses-openai-image-generation-tool-1"
"""A recording whose image was cut short, with dots in its base64, before it was stored; a client that decodes it must refuse."""


@requires_corpus
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_official_client_reads_every_recorded_stream_as_we_do(source: str, target: str) -> None:
    """Who points an official client at a bridge gets the answer that the bridge reports, and an error where there was one."""
    found = [
        f"{entry.path}: {fault}"
        for entry in entries(source, "stream")
        if CUT_SHORT not in entry.path or target != "generate_content"
        for fault in _faults(entry, target)
    ]

    assert found == []


def _faults(entry: Entry, target: str) -> Iterator[str]:
    converter = fb.StreamConverter(source=entry.format, target=target)
    try:
        made = converter.feed(entry.bytes()) + converter.finish()
    except fb.StreamError:
        return  # cut, or not of its format: there is no answer to agree on
    for size in (None, 1) if len(made) < SMALL else (None,):
        try:
            body = read(made, target, size=size)
        except ClientRefusesError as error:
            if not converter.error:
                yield f"refused: {error}"
            continue
        if converter.error:
            yield "an error became an answer"
        else:
            yield from differences(said(body, target), said(fb.collect_stream([made], source=target).body, target))
