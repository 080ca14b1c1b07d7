"""What a page says is quoted as it is told."""

from __future__ import annotations

from typing import Any

import formatbridge as fb


def _answer(**more: str) -> dict[str, Any]:
    cited = {"url": "https://rome.example", "title": "Rome", "start_index": 0, "end_index": 12, **more}
    message = {"role": "assistant", "content": "Rome is old.", "annotations": [{"type": "url_citation", "url_citation": cited}]}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": message}]}


def test_a_known_quotation_stands_where_messages_has_it() -> None:
    """Some servers tell the cited text of a page beside its address."""
    made = fb.convert_response(_answer(content="Founded in 753 BC."), source="chat_completions", target="messages")

    assert made.body["content"][0]["citations"][0]["cited_text"] == "Founded in 753 BC."
