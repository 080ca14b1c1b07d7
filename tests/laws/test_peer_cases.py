"""Cases from the tests of ten other translators hold.

The cases and the code that checks them are outside this repository, in ``shared/cases`` next to the project's folder.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache
from typing import Any

import pytest

import formatbridge as fb
from tests.support.worked_cases import FOLDER

CASES_FILE = FOLDER / "peers.jsonl"
RUNNER_FILE = FOLDER / "run_peers.py"


UNSIGNED_REASONING = (
    "cliproxy:codex/claude/codex_claude_request_test.go:TestConvertClaudeRequestToCodex_AssistantGrokSignatureToReasoningItem"
)
"""The case expects a reasoning item from reasoning without a token, which OpenAI rejects: it holds with an option, not by default."""


def _cases() -> list[dict[str, Any]]:
    """Return the cases in the order of their file; none without the file."""
    if not (CASES_FILE.is_file() and RUNNER_FILE.is_file()):
        return []
    return [json.loads(line) for line in CASES_FILE.read_text(encoding="utf-8").splitlines()]


@cache
def _runner() -> Any:
    """Load the module that converts and checks a case, from its file."""
    spec = importlib.util.spec_from_file_location("run_peers", RUNNER_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _shown(value: Any) -> str:
    return "missing" if value is _runner().MISSING else json.dumps(value)[:200]


ALL = _cases()
DEFAULTS = [case for case in ALL if case["id"] != UNSIGNED_REASONING]


@pytest.mark.skipif(not ALL, reason=f"no peers.jsonl with run_peers.py in {str(FOLDER)!r}")
@pytest.mark.parametrize("case", DEFAULTS, ids=lambda case: case["id"])
def test_a_case_of_another_translator_holds(case: dict[str, Any]) -> None:
    """Each value that the other project expects is at its pointer in the conversion of the same input."""
    runner = _runner()

    document = runner.convert(case)

    wrong = [
        f"{pointer} {operator} {json.dumps(expected)}, is {_shown(runner.get(document, pointer))}"
        for pointer, operator, expected in case["expect"]
        if not runner.holds(document, pointer, operator, expected)
    ]
    assert wrong == []


@pytest.mark.skipif(not ALL, reason=f"no peers.jsonl with run_peers.py in {str(FOLDER)!r}")
def test_the_case_with_unsigned_reasoning_holds_with_the_option_for_it() -> None:
    """A caller whose server reads reasoning without a token selects the item with the option."""
    (case,) = [case for case in ALL if case["id"] == UNSIGNED_REASONING]

    body = fb.convert_request(
        case["input"], source=case["from"], target=case["to"], options=fb.Options(unsigned_reasoning="item")
    ).body

    assert [_runner().holds(body, *expectation) for expectation in case["expect"]] == [True]
