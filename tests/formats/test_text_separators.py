"""A blank line replaces a dropped call of a hosted tool in the text of chat_completions."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats.chat_completions.citations import TextSeparators

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "falls"}}
RESULT = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CITATION = {
    "type": "web_search_result_location",
    "url": "https://a.example",
    "title": "a",
    "encrypted_index": "x",
    "cited_text": "865 m",
}


def _answer(*content: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    return head | {"content": list(content), "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text} | more


def _message(answer: dict[str, Any], is_streamed: bool) -> Any:
    if is_streamed:
        chunks = fb.convert_stream(fb.replay_response(answer, source="messages"), source="messages", target="chat_completions")
        body = fb.collect_stream(chunks, source="chat_completions").body
    else:
        body = fb.convert_response(answer, source="messages", target="chat_completions").body
    return body["choices"][0]["message"]


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([_text("Let me look."), SEARCH, RESULT, _text("It is 865 m.")], "Let me look.\n\nIt is 865 m."),
        ([_text("Let me look.\n"), SEARCH, RESULT, _text("\nIt is 865 m.")], "Let me look.\n\nIt is 865 m."),
        ([_text("Let me look.\n"), SEARCH, RESULT, _text("It is 865 m.")], "Let me look.\n\nIt is 865 m."),
        ([SEARCH, RESULT, _text("It is 865 m.")], "It is 865 m."),
        ([_text("Let me look."), SEARCH, RESULT], "Let me look."),
        ([_text("It is "), _text("865 m.")], "It is 865 m."),
        ([_text("a"), SEARCH, RESULT, SEARCH | {"id": "srvtoolu_2"}, _text("b"), _text("c")], "a\n\nbc"),
    ],
)
def test_a_blank_line_replaces_a_dropped_hosted_tool_call(content: list[dict[str, Any]], expected: str, is_streamed: bool) -> None:
    """Texts that only citations separate are one text."""
    assert _message(_answer(*content), is_streamed)["content"] == expected


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "stream"])
def test_citations_count_the_blank_line(is_streamed: bool) -> None:
    """Offsets refer to the content that the caller has."""
    message = _message(_answer(_text("Let me look."), SEARCH, RESULT, _text("865 m", citations=[CITATION])), is_streamed)

    span = message["annotations"][0]["url_citation"]
    assert message["content"][span["start_index"] : span["end_index"]] == "865 m"


@pytest.mark.parametrize("pieces", [["a\n", "\n", "b"], ["a", "\n\n", "b"], ["a\n\n", "b"]])
def test_the_blank_line_does_not_depend_on_deltas(pieces: list[str]) -> None:
    """A server may split its deltas anywhere."""
    separators, result = TextSeparators(), ""
    for piece in pieces[:-1]:
        result += separators.take(piece) + piece
    separators.separate()
    result += separators.take(pieces[-1]) + pieces[-1]

    assert result == "a\n\n\nb"
