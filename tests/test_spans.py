"""What is cited is said again beside its citation in some formats, but not without end."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb


def _answer(length: int, citations: int) -> dict[str, Any]:
    """Return an answer whose citations each cite nearly all of its text."""
    cited = [
        {"type": "url_citation", "url_citation": {"start_index": at, "end_index": length, "title": "T", "url": "https://a.test/"}}
        for at in range(citations)
    ]
    message = {"role": "assistant", "content": "x" * length, "annotations": cited}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_a_text_that_thousands_cite_is_said_a_few_times_at_most(target: str) -> None:
    """Else half a megabyte becomes hundreds, and two of them more than a machine has."""
    body = _answer(50_000, 1_500)

    made = fb.convert_response(body, source="chat_completions", target=target)

    assert len(made.json()) < 12 * len(json.dumps(body))
    assert made.parse()


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_what_a_few_citations_cite_stands_beside_each(target: str) -> None:
    """Readers show it with the source, and do not count characters themselves."""
    made = fb.convert_response(_answer(20, 3), source="chat_completions", target=target)

    assert made.json().count(b'"' + b"x" * 18 + b'"') >= 1
