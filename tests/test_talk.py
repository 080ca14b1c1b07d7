"""The simplest conversation is written as any other would be; it only takes less time."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formatbridge import FORMATS, ir
from formatbridge.bodies import read_checked
from formatbridge.formats import load
from formatbridge.formats._talk import talk_of
from formatbridge.losses import Ledger
from formatbridge.options import DEFAULT_OPTIONS, Options
from tests.fixtures import Fixture, fixtures

OPTIONS = (DEFAULT_OPTIONS, Options(mid_system="hoist"), Options(messages_version="2026-10-21"))
PAIRS = list(permutations(FORMATS, 2))
CASES = [pytest.param(fixture, id=str(fixture)) for fixture in fixtures("request")]


def _both_ways(request: ir.Request, target: str, options: Options) -> list[tuple[str, Any, Any]]:
    """Write a request with its talk and without; return the body in its order, the losses and the additions of each."""
    made = []
    for talk in (talk_of(request), None):
        ledger = Ledger({}, load(request.format).SPELLING)
        body = load(target).encode_request(request, ledger, options, talk)
        made.append((json.dumps(body), ledger.losses, ledger.additions))
    return made


@pytest.mark.parametrize("fixture", CASES)
def test_a_talk_is_written_as_any_conversation(fixture: Fixture) -> None:
    """What only the short way loses of a request, or moves, would be found by nobody."""
    near = load(fixture.format)
    _, body = read_checked(fixture.body, near, "request")
    request = replace(near.decode_request(body, model="m", stream=None), tools=[], tool_choice=None)
    if talk_of(request) is None:  # its settings beside some other words
        request.messages = [ir.Message("system", [ir.Text("S")]), ir.Message("user", [ir.Text("U")])]

    for target, options in product(FORMATS, OPTIONS):
        if target != fixture.format:
            short, long = _both_ways(request, target, options)
            assert short == long


_TEXTS = st.sampled_from(["", " ", "a", "b\n", "ü"])
_ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
_MARKED: dict[str, Any] = {"cache": ir.CacheMark(), "id": "i", "extra": {"x": 1}}
_PARTS = st.builds(ir.Text, _TEXTS) | st.builds(lambda name: ir.Text("m", **{name: _MARKED[name]}), st.sampled_from([*_MARKED]))
_MESSAGES = st.builds(
    ir.Message, _ROLES, st.lists(_PARTS, max_size=2).filter(lambda parts: len(parts) != 2 or len(parts[0].text) < 2)
)


def _in_turns(words: list[ir.Text], first: ir.Role) -> list[ir.Message]:
    """Give texts to user and model in turns, the last to the user; the first to somebody, if it would be the model's."""
    made = [ir.Message("assistant" if (len(words) - at) % 2 == 0 else "user", [word]) for at, word in enumerate(words)]
    if made[0].role == "assistant":
        made[0].role = first
    return made


_WORDS = st.lists(st.builds(ir.Text, st.sampled_from(["a", "b\n", "ü"])), min_size=1, max_size=5)


@given(st.builds(_in_turns, _WORDS, st.sampled_from(["system", "assistant"])), st.sampled_from(OPTIONS))
def test_texts_in_turns_are_a_talk(messages: list[ir.Message], options: Options) -> None:
    """Else nobody would go the short way."""
    for source, target in PAIRS:
        request = ir.Request(source, "m", False, messages)
        assert talk_of(request) is not None
        short, long = _both_ways(request, target, options)
        assert short == long


@given(st.lists(_MESSAGES, max_size=5), st.sampled_from(PAIRS), st.sampled_from(OPTIONS))
def test_only_what_needs_nothing_is_a_talk(messages: list[ir.Message], pair: tuple[ir.Format, ir.Format], options: Options) -> None:
    """Whatever some target moves, merges, drops or reports is no talk; for the rest both ways are one."""
    source, target = pair
    request = ir.Request(source, "m", False, messages)
    if talk_of(request) is not None:
        short, long = _both_ways(request, target, options)
        assert short == long
        assert not short[1]


_ASK, _BLANK = ir.Message("user", [ir.Text("a")]), ir.Message("user", [ir.Text(" \n")])
_ANSWER = ir.Message("assistant", [ir.Text("b")])
_LATE, _CALL = ir.Message("system", [ir.Text("s")]), ir.Message("assistant", [ir.ToolCall("c", "f", "{}")])
_NO_TALKS = {
    "nothing": [],
    "a blank turn": [_BLANK],
    "the model's last word": [_ASK, _ANSWER],
    "one side twice": [_ASK, _ASK],
    "a call": [_ASK, _CALL, _ASK],
    "late instructions": [_ANSWER, _ASK, _LATE, _ANSWER, _ASK],
}


@pytest.mark.parametrize("messages", _NO_TALKS.values(), ids=_NO_TALKS)
def test_what_a_target_treats_its_own_way_is_no_talk(messages: list[ir.Message]) -> None:
    """Such turns are merged, moved or noted by the long way alone."""
    assert talk_of(ir.Request("messages", "m", False, messages)) is None


def test_tools_end_a_talk() -> None:
    """Their names may have to change, and with them those of calls."""
    assert talk_of(ir.Request("messages", "m", False, [_LATE, _ASK])) == ("s", [("user", "a")])
    assert talk_of(ir.Request("messages", "m", False, [_LATE, _ASK], tools=[ir.FunctionTool("f")])) is None
