"""A plain answer is written as any other would be; it only takes less time."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formatbridge import FORMATS, ir
from formatbridge.bodies import read_checked
from formatbridge.formats import load
from formatbridge.formats._plain_answer import plain_answer_of
from formatbridge.losses import Ledger
from formatbridge.options import DEFAULT_OPTIONS, Options
from tests.fixtures import Fixture, fixtures

OPTIONS = (DEFAULT_OPTIONS, Options(carry_reasoning=False, created=7))
CASES = [pytest.param(fixture, id=str(fixture)) for fixture in fixtures("response")]


def _both_ways(response: ir.Response, target: ir.Format, options: Options) -> list[tuple[str, Any, Any]]:
    """Write an answer as a plain one and as any; return the body in its order, and what was lost and added, in any order."""
    made = []
    for plain in (plain_answer_of(response), None):
        ledger, far = Ledger({}, load(response.format).SPELLING), load(target)
        body = far.encode_response(response, ledger, options, None, plain)
        made.append((json.dumps(body), sorted(map(repr, ledger.losses)), sorted(map(repr, ledger.additions))))
    return made


@pytest.mark.parametrize("fixture", CASES)
def test_a_plain_answer_is_written_as_any_answer(fixture: Fixture) -> None:
    """What only the short way loses of an answer would be found by nobody."""
    near = load(fixture.format)
    _, body = read_checked(fixture.body, near, "response")
    response = near.decode_response(body)
    if plain_answer_of(response) is None:  # what it has beside some other words
        response.error = None
        response.choices = [ir.Choice([ir.Text("T", "/t"), ir.ToolCall("c", "f", '{"a":1}', "/c")], ir.Finish("stop", "stop"))]

    for target, options in product(FORMATS, OPTIONS):
        if target != fixture.format:
            short, long = _both_ways(response, target, options)
            assert short == long


_PLACE = st.integers(0, 3).map(lambda number: f"/{number}")
_MARKED: dict[str, Any] = {
    "cache": ir.CacheMark(), "extra": {"x": 1}, "signature": ir.Signature(home="messages", kind="thinking", token="t", src="/s"),
}  # fmt: skip
_MARKS = st.none() | st.sampled_from([*_MARKED])
_ARGUMENTS = st.sampled_from(["{}", '{"a":1,"a":2}', "[]", "", '{"n":9007199254740993}', '{"a":1e400}']) | st.just({"a": [1]})


def _marked(part: ir.Text | ir.ToolCall, mark: str | None) -> ir.Text | ir.ToolCall:
    if mark is not None:
        setattr(part, mark, _MARKED[mark])
    return part


_TEXTS = st.builds(ir.Text, st.sampled_from(["", " ", "a"]), _PLACE, id=st.none() | st.just("msg_1"))
_CALLS = st.builds(
    ir.ToolCall, st.sampled_from("cd"), st.just("f"), _ARGUMENTS, _PLACE, id_made=st.booleans(),
    kind=st.sampled_from(["function", "function", "custom"]), namespace=st.none() | st.just("n"), item_id=st.none() | st.just("fc_1"),
)  # fmt: skip
_BARE_CALLS = st.builds(ir.ToolCall, st.sampled_from("cdef"), st.just("f"), _ARGUMENTS, _PLACE, item_id=st.none() | st.just("fc_1"))
_PARTS = st.lists(st.builds(_marked, _TEXTS | _CALLS | _BARE_CALLS, _MARKS) | st.builds(ir.Refusal, text=st.just("R")), max_size=3)
_USUAL_PARTS = st.tuples(_TEXTS, st.lists(_BARE_CALLS, max_size=3, unique_by=lambda call: call.id)).map(
    lambda made: [made[0], *made[1]]
)
_ENDS = st.none() | st.builds(
    ir.Finish, st.sampled_from(["stop", "length", "tool_calls", "refusal", "pause", "stop_sequence"]), st.none() | st.just("stop"),
    st.booleans(), st.just("/e"), st.none() | st.just({"x": 1}), st.none() | st.just("why"), st.none() | st.just("END"),
)  # fmt: skip
_CHOICES = st.lists(st.builds(ir.Choice, _PARTS | _USUAL_PARTS, _ENDS, st.integers(0, 2), st.just("/c")), max_size=2)
_RESPONSES = st.builds(
    ir.Response, st.sampled_from(FORMATS), st.none() | st.just("i"), st.none() | st.just("m"), _CHOICES, st.none() | st.just(5.5),
    st.none() | st.builds(ir.Usage, st.integers(0, 9), st.integers(0, 9)), st.none() | st.just({"x": 1}),
)  # fmt: skip


@pytest.mark.parametrize("target", FORMATS)
@given(response=_RESPONSES)
def test_any_answer_is_written_the_same_both_ways(target: ir.Format, response: ir.Response) -> None:
    """Whatever the look at an answer takes for plain, encoders must lose nothing of."""
    if response.format != target:
        short, long = _both_ways(response, target, DEFAULT_OPTIONS)
        assert short == long


def _text(**more: Any) -> ir.Text:
    return replace(ir.Text("T", "/t"), **more)


def _call(call_id: str = "c", **more: Any) -> ir.ToolCall:
    return replace(ir.ToolCall(call_id, "f", '{"a":1}', f"/{call_id}"), **more)


_TOKENS = [ir.TokenLogprob(token="T", logprob=-0.5)]
_RARER: dict[str, ir.Choice] = {
    **{f"text_{mark}": ir.Choice([_text(**{mark: given}), _call()]) for mark, given in _MARKED.items()},
    **{f"call_{mark}": ir.Choice([_text(), _call(**{mark: given})]) for mark, given in _MARKED.items()},
    "text_empty": ir.Choice([_text(text="")]),
    "text_cited": ir.Choice([_text(citations=[ir.Citation(kind="web", url="https://a.test/", title="A")])]),
    "text_twice": ir.Choice([_text(), _text()]),
    "text_behind": ir.Choice([_call(), _text()]),
    "call_named_apart": ir.Choice([_call(namespace="n")]),
    "call_custom": ir.Choice([_call(kind="custom", arguments="x")]),
    "call_without_id": ir.Choice([_call(id_made=True)]),
    "calls_of_one_id": ir.Choice([_call(), _call()]),
    "item_of_text": ir.Choice([_text(id="msg_1"), _call()]),
    "item_of_first": ir.Choice([_text(), _call(item_id="fc_1"), _call("d")]),
    "item_of_last": ir.Choice([_text(), _call(), _call("d", item_id="fc_1")]),
    "more": ir.Choice([_text()], extra={"x": 1}),
    "tokens": ir.Choice([_text()], logprobs=_TOKENS),
    "tokens_of_refusal": ir.Choice([_text()], refusal_logprobs=_TOKENS),
    "end_more": ir.Choice([_text()], ir.Finish("stop", "stop", extra={"x": 1})),
    "end_explained": ir.Choice([_text()], ir.Finish("content_filter", "content_filter", message="why")),
}


@pytest.mark.parametrize("name", _RARER)
def test_what_is_a_little_more_than_a_plain_answer_is_written_whole(name: str) -> None:
    """Each is a plain answer but for one thing, which the short way would lose."""
    for format, target in product(FORMATS, FORMATS):
        if format != target:
            short, long = _both_ways(ir.Response(format, "i", "m", [_RARER[name]], 1), target, DEFAULT_OPTIONS)
            assert short == long


@pytest.mark.parametrize("target", ["messages", "responses", "generate_content"])
def test_several_answers_and_one_that_failed_are_written_whole(target: ir.Format) -> None:
    """Of several one is written here and there, and an error stands beside what came."""
    choice = ir.Choice([_text()])
    answers = [
        ir.Response("chat_completions", "i", "m", [choice, replace(choice, index=1)], 1),
        ir.Response("chat_completions", "i", "m", [choice], 1, error=ir.Error(kind="server", message="M")),
    ]

    for answer in answers:
        short, long = _both_ways(answer, target, DEFAULT_OPTIONS)
        assert short == long


@pytest.mark.parametrize("name", FORMATS)
def test_the_usual_answer_is_a_plain_one(name: ir.Format) -> None:
    """If none were, all of this would be slow, and no other test would say so."""
    near, bodies = load(name), [fixture.body for fixture in fixtures("response") if fixture.format == name]

    plain = [body for body in bodies if plain_answer_of(near.decode_response(read_checked(body, near, "response")[1]))]

    assert len(plain) > 3
