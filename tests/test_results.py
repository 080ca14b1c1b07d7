"""Which results answer a call: towards every target the same ones are told to answer none."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

Part = dict[str, Any]

CALL: Part = {"functionCall": {"id": "1", "name": "f", "args": {}}}
RESULT: Part = {"functionResponse": {"id": "1", "name": "f", "response": {"output": "x"}}}
OTHERS = [format for format in fb.FORMATS if format != "generate_content"]


def _orphans(turns: list[tuple[str, list[Part]]], target: str) -> set[str]:
    contents = [{"role": role, "parts": parts} for role, parts in turns]
    made = fb.convert_request({"contents": contents}, source="generate_content", target=target, model="m")
    return {loss.path for loss in made.losses if (loss.kind, loss.severity, loss.code) == ("changed", "impossible", "orphan")}


@pytest.mark.parametrize("target", OTHERS)
def test_a_call_in_a_turn_of_the_user_has_no_result(target: str) -> None:
    """The model alone calls; a server has never heard of a call that the user made."""
    assert _orphans([("user", [{"text": "q"}, CALL]), ("user", [RESULT])], target) == {"/contents/1/parts/0"}


@pytest.mark.parametrize("target", OTHERS)
def test_a_result_in_a_turn_of_the_model_answers_no_call(target: str) -> None:
    """It is not written, so the user's own result of the same call is the one that counts."""
    assert _orphans([("user", [{"text": "q"}]), ("model", [CALL, RESULT]), ("user", [RESULT])], target) == set()


@pytest.mark.parametrize("target", OTHERS)
def test_a_second_result_of_a_call_is_an_orphan(target: str) -> None:
    """Every server refuses it; where it stands before its call, too."""
    once = [("user", [{"text": "q"}]), ("model", [CALL]), ("user", [RESULT])]

    assert _orphans(once, target) == set()
    assert _orphans([*once, ("user", [{"text": "z"}, RESULT])], target) == {"/contents/3/parts/1"}
    early = [("user", [{"text": "q"}, RESULT]), *once[1:2]]
    assert _orphans(early, target) == {"/contents/0/parts/1", "/contents/1/parts/0"}


@pytest.mark.parametrize("target", OTHERS)
def test_a_call_without_a_result_is_an_orphan(target: str) -> None:
    """Every server refuses it, whether it is the last word, one of several, or left behind; a result is never made up."""
    asked: list[tuple[str, list[Part]]] = [("user", [{"text": "q"}])]
    other = {"functionCall": {"id": "2", "name": "f", "args": {}}}

    assert _orphans([*asked, ("model", [CALL])], target) == {"/contents/1/parts/0"}
    assert _orphans([*asked, ("model", [CALL, other]), ("user", [RESULT])], target) == {"/contents/1/parts/1"}
    assert _orphans([*asked, ("model", [CALL]), ("user", [{"text": "z"}])], target) == {"/contents/1/parts/0"}
    assert _orphans([*asked, ("model", [CALL]), ("model", [other]), ("user", [RESULT])], target) == {"/contents/2/parts/0"}
