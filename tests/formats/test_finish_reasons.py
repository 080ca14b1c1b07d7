"""Finish reasons and the status of answers: what the target shows, and what is reported as changed."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb


def test_the_finish_reason_of_an_answer_without_candidates_is_reported() -> None:
    """No reason is stated, so the normal end that the target shows is a loss; its pointer is that of the answer."""
    converted = fb.convert_response({"modelVersion": "m"}, source="generate_content", target="chat_completions")

    assert [(loss.path, loss.code) for loss in converted.losses] == [("", "finish_reason")]


OTHERS = ("chat_completions", "messages", "generate_content")


def _answer(**fields: Any) -> dict[str, Any]:
    """Return a small answer of responses."""
    text = {"type": "output_text", "text": "Hi", "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [message],
    } | fields


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_the_status_of_an_unfinished_answer_is_reported(status: str, target: fb.Format) -> None:
    """The target shows ``stop`` or ``pause_turn``, and the report has the real status."""
    body = _answer(status=status)

    converted = fb.convert_response(body, source="responses", target=target)

    assert [(loss.path, loss.kind, loss.severity, loss.before) for loss in converted.losses if loss.path == "/status"] == [
        ("/status", "changed", "lossy", status)
    ]


@pytest.mark.parametrize("target", OTHERS)
def test_unknown_details_of_an_unfinished_answer_are_reported(target: fb.Format) -> None:
    """With a reason and without one."""
    for details in ({"reason": "max_output_tokens", "new": 1}, {"new": 1}):
        body = _answer(status="incomplete", incomplete_details=details)

        converted = fb.convert_response(body, source="responses", target=target)

        assert "/incomplete_details/new" in {loss.path for loss in converted.losses}
