"""A plain conversation is written as any other would be; it only takes less time."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formatbridge import FORMATS, ir
from formatbridge.bodies import read_checked
from formatbridge.formats import load
from formatbridge.formats._talk import ITS_CALLS, talk_of
from formatbridge.formats._tools import adapt_tools
from formatbridge.losses import Ledger
from formatbridge.options import DEFAULT_OPTIONS, Options
from tests.directions import CROSSINGS
from tests.fixtures import Fixture, fixtures

OPTIONS = (DEFAULT_OPTIONS, Options(mid_system="hoist"), Options(messages_version="2026-10-21"))
_USE = [
    ir.Message("assistant", [ir.Text("a"), ir.ToolCall("c_1", "f", '{"a":1}'), ir.ToolCall("c_2", "g", {"b": [2.5]})]),
    ir.Message("tool", [ir.ToolResult("c_1", [ir.Text("r")])]),
    ir.Message("user", [ir.ToolResult("c_2", [ir.Text("s")], name="g")]),
]
CASES = [pytest.param(fixture, id=str(fixture)) for fixture in fixtures("request")]


def _both_ways(request: ir.Request, target: ir.Format, options: Options) -> list[tuple[str, Any, Any, Any]]:
    """Write a request with its talk and without; return the body in its order, the losses, the additions and the names of each."""
    made = []
    for talk in (talk_of(request), None):
        ledger, far = Ledger({}, load(request.format).SPELLING), load(target)
        adapted, names = adapt_tools(request, far.TOOL_RULES, ledger, talk)
        body = far.encode_request(adapted, ledger, options, talk if adapted.messages is request.messages else None)
        made.append((json.dumps(body), ledger.losses, ledger.additions, names))
    return made


@pytest.mark.parametrize("fixture", CASES)
def test_a_talk_is_written_as_any_conversation(fixture: Fixture) -> None:
    """What only the short way loses of a request, or moves, would be found by nobody."""
    near = load(fixture.format)
    _, body = read_checked(fixture.body, near, "request")
    request = near.decode_request(body, model="m", stream=None)
    if talk_of(request) is None:  # its settings and tools beside some other words
        request.messages = [ir.Message("system", [ir.Text("S")]), ir.Message("user", [ir.Text("U")]), *_USE]

    for target, options in product(FORMATS, OPTIONS):
        if target != fixture.format:
            short, long = _both_ways(request, target, options)
            assert short == long


_TEXTS = st.sampled_from(["", " ", "a", "b\n", "ü"])
_ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
_MARKED: dict[str, Any] = {"cache": ir.CacheMark(), "id": "i", "extra": {"x": 1}}
_MARKS = st.sampled_from(["cache", "extra"])
_WORDS = st.builds(ir.Text, _TEXTS) | st.builds(lambda name: ir.Text("m", **{name: _MARKED[name]}), st.sampled_from([*_MARKED]))
_CALLS = st.builds(ir.ToolCall, st.sampled_from("cd"), st.just("f"), st.sampled_from(["{}", '{"a":1,"a":2}', "[]", ""]))
_OUTPUTS = st.lists(_WORDS, min_size=1, max_size=2)
_RESULTS = st.builds(ir.ToolResult, st.sampled_from("cd"), _OUTPUTS, name=st.sampled_from([None, "f", "g"]), is_error=st.booleans())
_ODD_CALLS = st.builds(lambda name: ir.ToolCall("c", "f", "{}", **{name: _MARKED[name]}), _MARKS)
_ODD_CALLS |= st.builds(ir.ToolCall, st.just("c"), st.just("f"), st.just("x"), kind=st.just("custom"))
_ODD_RESULTS = st.builds(lambda name: ir.ToolResult("c", [ir.Text("r")], **{name: _MARKED[name]}), _MARKS)
_ANY_PART = _WORDS | _CALLS | _RESULTS | _ODD_CALLS | _ODD_RESULTS
_MESSAGES = st.one_of(
    st.builds(ir.Message, _ROLES, st.lists(_WORDS, max_size=2)),
    st.builds(ir.Message, _ROLES, st.lists(_ANY_PART, max_size=3)),
    st.builds(ir.Message, st.just("assistant"), st.lists(_CALLS, min_size=1, max_size=2)),
    st.builds(ir.Message, st.sampled_from(["user", "tool"]), st.lists(_RESULTS, min_size=1, max_size=2)),
)


def _in_turns(words: list[ir.Text]) -> list[ir.Message]:
    """Give texts to user and model in turns, the last to the user; the first is an instruction, if it would be the model's."""
    made = [ir.Message("assistant" if (len(words) - at) % 2 == 0 else "user", [word]) for at, word in enumerate(words)]
    if made[0].role == "assistant":
        made[0].role = "system"
    return made


def _with_uses(messages: list[ir.Message], at: int, uses: list[_Use]) -> list[ir.Message]:
    """Put calls and their results behind a turn of the user's: each use has calls, whether it says something first, whether results come at
    once. Ids count anew in every use where the calls say so.
    """
    made: list[ir.Message] = []
    for number, (asked, speaks, at_once) in enumerate(uses):
        calls = [
            ir.ToolCall(f"c{place}" if is_anew else f"c.{number}.{place}", name, given)
            for place, (name, given, is_anew) in enumerate(asked)
        ]
        results: list[ir.Part] = [ir.ToolResult(call.id, [ir.Text("r")], name=call.name) for call in calls]
        made.append(ir.Message("assistant", [*([ir.Text("t")] if speaks else []), *calls]))
        made += [ir.Message("user", results)] if at_once else [ir.Message("tool", [result]) for result in results]
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    place = users[at % len(users)] + 1
    return messages[:place] + made + messages[place:]


_SAID = st.lists(st.builds(ir.Text, st.sampled_from(["a", "b\n", "ü"])), min_size=1, max_size=5)
_ARGUMENTS = st.sampled_from(['{"a":[1]}', '{"a":1,"a":2}', "no JSON", "", '{"a":9007199254740993}', {"a": [2.5]}])
_ASKED = st.tuples(st.sampled_from(["f", "g", "not legal"]), _ARGUMENTS, st.booleans())
_Use = tuple[list[tuple[str, Any, bool]], bool, bool]
_USES = st.lists(st.tuples(st.lists(_ASKED, min_size=1, max_size=3), st.booleans(), st.booleans()), max_size=3)
_TALKS = st.builds(_with_uses, st.builds(_in_turns, _SAID), st.integers(0, 4), _USES)
_TOOLS = st.sampled_from(
    [[], [ir.FunctionTool("f")], [ir.FunctionTool("not legal"), ir.CustomTool(name="c")], [ir.CustomTool(name="c")]]
)
_CHOICES = st.sampled_from([
    None, ir.ToolChoice(mode="required"), ir.ToolChoice(mode="named", names=["f"]), ir.ToolChoice(mode="allowed", names=["f"]),
    ir.ToolChoice(mode="validated"),
])  # fmt: skip


@given(_TALKS, _TOOLS, _CHOICES, st.sampled_from(OPTIONS))
def test_texts_and_tools_in_turns_are_a_talk(
    messages: list[ir.Message], tools: list[ir.Tool], choice: ir.ToolChoice | None, options: Options
) -> None:
    """Else nobody would go the short way."""
    for source, target in CROSSINGS:
        request = ir.Request(source, "m", False, messages, tools, choice)
        assert talk_of(request) is not None
        short, long = _both_ways(request, target, options)
        assert short == long


@given(st.lists(_MESSAGES, max_size=5), st.sampled_from(CROSSINGS), st.sampled_from(OPTIONS))
def test_only_what_needs_nothing_is_a_talk(messages: list[ir.Message], pair: tuple[ir.Format, ir.Format], options: Options) -> None:
    """Whatever some target moves, merges, drops or reports is no talk, but for calls; for the rest both ways are one."""
    source, target = pair
    request = ir.Request(source, "m", False, messages)
    talk = talk_of(request)
    if talk is not None:
        short, long = _both_ways(request, target, options)
        assert short == long
        lost_of_calls = {"duplicate_keys", "invalid_arguments", "repeated_id"} if talk[ITS_CALLS] else set()
        assert {loss.code for loss in short[1]} <= lost_of_calls


_ASK, _BLANK = ir.Message("user", [ir.Text("a")]), ir.Message("user", [ir.Text(" \n")])
_ANSWER = ir.Message("assistant", [ir.Text("b")])
_LATE, _CALL = ir.Message("system", [ir.Text("s")]), ir.Message("assistant", [ir.ToolCall("c", "f", "{}")])
_RESULT = ir.Message("tool", [ir.ToolResult("c", [ir.Text("r")])])
_TWICE = ir.Message("assistant", [ir.ToolCall("c", "f", "{}"), ir.ToolCall("c", "g", "{}")])
_NO_TALKS = {
    "nothing": [],
    "a blank turn": [_BLANK],
    "the model's last word": [_ASK, _ANSWER],
    "one side twice": [_ASK, _ASK],
    "a call without a result": [_ASK, _CALL, _ASK],
    "a call at the end": [_ASK, _CALL],
    "a result without a call": [_ASK, _RESULT],
    "a result twice": [_ASK, _CALL, _RESULT, _RESULT],
    "two calls of one id": [_ASK, _TWICE, _RESULT, _RESULT],
    "words behind results": [_ASK, _CALL, _RESULT, _ASK],
    "late instructions": [_ANSWER, _ASK, _LATE, _ANSWER, _ASK],
}


@pytest.mark.parametrize("messages", _NO_TALKS.values(), ids=_NO_TALKS)
def test_what_a_target_treats_its_own_way_is_no_talk(messages: list[ir.Message]) -> None:
    """Such turns are merged, moved or noted by the long way alone."""
    assert talk_of(ir.Request("messages", "m", False, messages)) is None


_PLAIN: dict[type, set[str]] = {
    ir.Message: {"role", "parts", "src"},
    ir.Text: {"text", "src"},
    ir.ToolCall: {"id", "name", "arguments", "src"},
    ir.ToolResult: {"content", "src"},
}
"""What each node of a talk has; its other fields say more."""
_SAYS: dict[str, Any] = {
    "extra": {"x": 1}, "cache": ir.CacheMark(), "signature": ir.Signature(home="messages", kind="call", token="t"), "id": "i",
    "id_made": True, "kind": "custom", "namespace": "n", "item_id": "i", "call_id": "another", "name": "another", "is_error": True,
    "citations": [ir.Citation(kind="web")], "logprobs": [ir.TokenLogprob(token="t", logprob=0)], "effort": "low",
    "tools": [ir.FunctionTool("f")],
}  # fmt: skip
"""A value of each such field."""
_MORE = [(kind, field.name) for kind, plain in _PLAIN.items() for field in fields(kind) if field.name not in plain]


def _nodes(messages: list[ir.Message]) -> Iterator[Any]:
    """Yield the nodes of a conversation."""
    for message in messages:
        yield message
        for part in message.parts:
            yield part
            yield from part.content if isinstance(part, ir.ToolResult) else ()


@pytest.mark.parametrize(("kind", "name"), _MORE, ids=[f"{kind.__name__}.{name}" for kind, name in _MORE])
def test_a_node_that_says_more_ends_a_talk(kind: type, name: str) -> None:
    """The short way writes nothing of it; so a field that is new in the canonical model has to be looked at, too."""
    talk = [_ASK, ir.Message("assistant", [ir.Text("t"), ir.ToolCall("c", "f", "{}")]), _RESULT]
    assert talk_of(ir.Request("messages", "m", False, talk)) is not None

    places = [place for place, node in enumerate(_nodes(talk)) if type(node) is kind]
    assert places
    for place in places:
        marked = copy.deepcopy(talk)
        setattr(list(_nodes(marked))[place], name, _SAYS[name])
        assert talk_of(ir.Request("messages", "m", False, marked)) is None


def test_a_talk_has_its_system_prompt_apart() -> None:
    """No target has it among the turns."""
    assert talk_of(ir.Request("messages", "m", False, [_LATE, _ASK])) == ([_LATE, _ASK], "s", [_ASK], [])
