"""A vendor's reasoning token goes to nobody but that vendor, whichever formats an answer and the next request go through."""

from __future__ import annotations

import base64
import json
from itertools import permutations
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures

TAGS = ("fb1|", base64.b64encode(b"fb1|").decode()[:4])


def _history(answer: dict[str, Any], format: str) -> dict[str, Any]:
    """Return the request that goes on from an answer, as a caller builds it."""
    ask = {"role": "user", "content": "And then?"}
    match format:
        case "messages":
            return {"model": "m", "max_tokens": 9, "messages": [ask, {"role": "assistant", "content": answer["content"]}, ask]}
        case "responses":
            return {"model": "m", "input": [ask, *answer["output"], ask]}
        case "chat_completions":
            return {"model": "m", "messages": [ask, answer["choices"][0]["message"], ask]}
        case _:
            said = {"role": "user", "parts": [{"text": "And then?"}]}
            return {"contents": [said, answer["candidates"][0]["content"], said]}


@pytest.mark.parametrize(("home", "format"), list(permutations(fb.FORMATS, 2)))
def test_a_carried_token_ends_where_its_conversation_is_taken_up_by_another_vendor(home: str, format: str) -> None:
    """It matters when one conversation goes to another vendor from one turn to the next: the server refuses a token it never made."""
    carried = 0
    for fixture in fixtures("response", home):
        made = fb.convert_response(fixture.body, source=home, target=format)
        if made.kind != "response" or not any(tag in json.dumps(made.body) for tag in TAGS):
            continue
        carried += 1
        given = _history(made.body, format)
        before = json.dumps(given)

        for body in (given, before.encode()):
            sent = fb.convert_request(body, source=format, target=format, model="m")

            assert not any(tag in json.dumps(sent.body) for tag in TAGS)
            assert "foreign_signature" in {loss.code for loss in sent.losses}
            fb.convert_request(sent.body, source=format, target=home, model="m")
        assert json.dumps(given) == before
    assert carried or (home, format) == ("generate_content", "chat_completions")  # where the slot is its own vendor's


def test_a_request_without_carried_tokens_stays_the_same_word_for_word() -> None:
    """A token that begins like a tag, and is none, is its vendor's own."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "fb1|nobody|thinking|c2ln"}
    body = _history({"content": [thought, {"type": "text", "text": "one"}]}, "messages")

    sent = fb.convert_request(body, source="messages", target="messages")

    assert (sent.body, sent.losses) == (body, ())


TAGGED = "fb1|messages|thinking|c2ln"


def test_what_says_something_without_its_token_stays() -> None:
    """A call or a run of code is of use without the token on it; only what was there for the token goes with it."""
    tagged = base64.b64encode(TAGGED.encode()).decode()
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "c", "type": "function", "function": function, "extra_content": {"google": {"thought_signature": TAGGED}}}
    chat = {"model": "m", "messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}
    code = {"executableCode": {"code": "1", "language": "PYTHON"}, "thoughtSignature": tagged}
    contents = {"contents": [{"role": "model", "parts": [code, {"text": "", "thoughtSignature": tagged}]}]}

    sent = fb.convert_request(chat, source="chat_completions", target="chat_completions")
    parts = fb.convert_request(contents, source="generate_content", target="generate_content", model="m")

    assert sent.body["messages"][0]["tool_calls"] == [{"id": "c", "type": "function", "function": function}]
    assert [loss.path for loss in sent.losses] == ["/messages/0/tool_calls/0/extra_content"]
    assert parts.body["contents"][0]["parts"] == [{"executableCode": code["executableCode"]}]
    assert {loss.path for loss in parts.losses} == {"/contents/0/parts/0/thoughtSignature", "/contents/0/parts/1"}


def test_words_of_the_caller_are_no_tokens() -> None:
    """Arguments, schemas and labels may have any text under any name."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"data": TAGGED, "deep": {"signature": TAGGED}}}
    body = _history({"content": [call]}, "messages") | {"metadata": {"user_id": TAGGED}}

    sent = fb.convert_request(body, source="messages", target="messages")

    assert (sent.body, sent.losses) == (body, ())
