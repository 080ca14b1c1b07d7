"""The grammars of streams, and the checker that compares streams with them."""

from __future__ import annotations

import pytest

import formatbridge as fb
from formatbridge import formats, ir
from tests import fixtures
from tests.support.grammar_check import check
from tests.support.stream_grammar import GRAMMARS, Moves

MACHINES = [
    (grammar.format, name, moves)
    for grammar in GRAMMARS.values()
    for name, moves in [
        ("stream", grammar.stream),
        *((f"{each.name} {kind}", moves) for each in grammar.series for kind, moves in each.kinds.items()),
    ]
]
WITHOUT: dict[ir.Format, list[int]] = {
    "chat_completions": [1, 3, 5, 7],
    "messages": [2],
    "responses": [],
    "generate_content": [0, 1, 2],
}
TWICE: dict[ir.Format, list[int]] = {
    "chat_completions": [1, 3, 5],
    "messages": [2, 5, 8],
    "responses": [],
    "generate_content": [0, 1, 2],
}
"""The events of the streams below that are optional: without one, or with one twice, a stream is still valid."""


def _events(format: ir.Format) -> list[bytes]:
    source: ir.Format = "messages" if format != "messages" else "responses"
    answer = next(each.body for each in fixtures.fixtures("response", source) if each.stem == "tools_parallel")
    end = GRAMMARS[format].line_end * 2
    stream = b"".join(fb.replay_response(answer, source=source, target=format))
    return [event + end for event in stream.split(end)[:-1]]


@pytest.mark.parametrize(("format", "name", "moves"), MACHINES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_state_can_be_reached_and_is_described(format: fb.Format, name: str, moves: Moves) -> None:
    """A state that no other state leads to, or without a row, is a mistake in the table."""
    reached = {next(iter(moves))} | {following for words in moves.values() for following in words.values()}

    assert reached == set(moves), (format, name)


def test_every_format_has_a_grammar() -> None:
    """A fifth format without a grammar would be written without a check."""
    assert tuple(GRAMMARS) == formats.FORMATS


@pytest.mark.parametrize("format", formats.FORMATS)
def test_a_stream_without_one_of_its_events_is_noticed(format: ir.Format) -> None:
    """The test of law 8: the checker finds mistakes."""
    events = _events(format)

    audio = [at for at in range(len(events)) if not check(b"".join(events[:at] + events[at + 1 :]), format)]

    assert check(b"".join(events), format) == []
    assert audio == WITHOUT[format]


@pytest.mark.parametrize("format", formats.FORMATS)
def test_a_stream_with_one_of_its_events_twice_is_noticed(format: ir.Format) -> None:
    """One start, one end, and everything once."""
    events = _events(format)

    audio = [at for at in range(len(events)) if not check(b"".join(events[: at + 1] + events[at:]), format)]

    assert audio == TWICE[format]


@pytest.mark.parametrize("format", formats.FORMATS)
def test_framing_that_the_official_client_cannot_read_is_noticed(format: ir.Format) -> None:
    """Comments, other line ends, several data lines and a missing blank line are read but never written."""
    stream, end = b"".join(_events(format)), GRAMMARS[format].line_end
    other = b"\r\n" if end == b"\n" else b"\n"

    for bent in (
        stream[: -len(end)],
        stream.replace(end, other),
        b": ping" + end * 2 + stream,
        stream.replace(b":{", b":" + end + b"data: {"),
    ):
        assert check(bent, format)
