"""The billing header that Claude Code puts first in the system prompt of messages."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb

HEADER = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=4f1;"}
PROMPT = {"type": "text", "text": "You are an agent."}
STRIP = fb.Options(strip_billing_header=True)


def _request(system: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 99, "system": system, "messages": [{"role": "user", "content": "q"}]}


@pytest.mark.parametrize("target", [name for name in fb.FORMATS if name != "messages"])
def test_it_is_left_out_where_the_caller_wants_it_so(target: str) -> None:
    """It changes from call to call, and a cache that goes by the beginning of the prompt finds nothing."""
    made = fb.convert_request(_request([HEADER, PROMPT]), source="messages", target=target, options=STRIP)

    assert made.body == fb.convert_request(_request([PROMPT]), source="messages", target=target).body
    assert [(loss.path, loss.kind, loss.severity, loss.code) for loss in made.losses] == [
        ("/system/0", "dropped", "info", "billing_header")
    ]


@pytest.mark.parametrize("system", [[HEADER], HEADER["text"]])
def test_a_system_prompt_of_nothing_else_is_left_out(system: Any) -> None:
    """An empty instruction is none."""
    made = fb.convert_request(_request(system), source="messages", target="chat_completions", options=STRIP)

    assert [message["role"] for message in made.body["messages"]] == ["user"]


@pytest.mark.parametrize(
    "system", [[PROMPT, HEADER], "Explain x-anthropic-billing-header: to me.", f"{HEADER['text']}\nNever delete files."]
)
def test_any_other_text_stays(system: Any) -> None:
    """Only the first text that begins so is the header."""
    kept = fb.convert_request(_request(system), source="messages", target="responses", options=STRIP)

    assert kept.body == fb.convert_request(_request(system), source="messages", target="responses").body


def test_it_stays_in_its_own_format_and_by_default() -> None:
    """Anthropic's servers read it."""
    body = _request([HEADER, PROMPT])

    assert fb.convert_request(body, source="messages", target="messages", options=STRIP).body == body
    assert HEADER["text"] in fb.convert_request(body, source="messages", target="responses").json().decode()
