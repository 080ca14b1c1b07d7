"""The functions that convert requests and answers of token counts."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.formats.messages import wire as messages
from tests.testing.test_fake_relay import BODIES

CHAT = BODIES["chat_completions"] | {"max_tokens": 9, "temperature": 0.5, "stream": True, "n": 2, "user": "u"}
WRAPPED = {"generateContentRequest": {"model": "models/m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}}


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("messages", "/v1/messages/count_tokens"),
        ("responses", "/v1/responses/input_tokens"),
        ("generate_content", "/v1beta/models/a%2Fb:countTokens"),
    ],
)
def test_a_chat_completions_request_becomes_a_count_request(target: fb.Format, path: str) -> None:
    """Chat Completions has no endpoint for token counts, and its requests are the most common."""
    converted = fb.convert_count_request(CHAT, source="chat_completions", target=target, model="a/b")

    assert (converted.path, converted.kind, converted.stream, converted.model) == (path, "count_request", False, "a/b")
    assert "hi" in str(converted.body)
    assert {(loss.path, loss.severity, loss.code) for loss in converted.losses} == {
        (f"/{name}", "info", "not_counted") for name in ("max_tokens", "temperature", "stream", "n", "user")
    }
    assert converted.additions == ()


@pytest.mark.parametrize("source", fb.FORMATS)
def test_chat_completions_is_no_target(source: fb.Format) -> None:
    """The message names the other formats."""
    expected = "chat_completions has no endpoint that counts tokens: use one of messages, responses, generate_content"

    with pytest.raises(fb.ConfigurationError, match=expected):
        fb.convert_count_request(BODIES[source], source=source, target="chat_completions", model="m")
    with pytest.raises(fb.ConfigurationError, match=expected):
        fb.convert_count_response({"totalTokens": 1}, source="generate_content", target="chat_completions")
    with pytest.raises(fb.ConfigurationError, match=expected):
        fb.convert_count_response({}, source="chat_completions", target="messages")


@pytest.mark.parametrize("format", ["messages", "responses"])
def test_a_whole_request_is_reduced_in_the_same_format(format: fb.Format) -> None:
    """The server rejects a limit, and accepts a field that this library does not know."""
    limit = {"messages": "max_tokens", "responses": "max_output_tokens"}[format]
    body = BODIES[format] | {limit: 9, "temperature": 1, "new_field": {"a": 1}}

    converted = fb.convert_count_request(body, source=format, target=format)

    assert converted.body == {key: value for key, value in body.items() if key not in (limit, "temperature")}
    assert {loss.path for loss in converted.losses} == {f"/{limit}", "/temperature"}


def test_a_count_of_a_whole_gemini_request_wraps_the_request() -> None:
    """The server accepts ``contents`` alone, or a whole request with its model."""
    body = BODIES["generate_content"] | {"generationConfig": {"temperature": 1}}

    whole = fb.convert_count_request(body, source="generate_content", target="generate_content", model="m")
    contents = fb.convert_count_request(BODIES["generate_content"], source="generate_content", target="generate_content", model="m")

    assert (whole.body, whole.losses) == ({"generateContentRequest": {"model": "models/m", **body}}, ())
    assert contents.body == BODIES["generate_content"]


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_losses_and_errors_point_into_the_wrapped_request(target: fb.Format) -> None:
    """The caller finds the place in the body that was sent."""
    wrapped = {"generate_content_request": {**WRAPPED["generateContentRequest"], "cachedContent": "cachedContents/1"}}

    converted = fb.convert_count_request(wrapped, source="generate_content", target=target)

    assert [loss.path for loss in converted.losses] == ["/generate_content_request/cachedContent"]
    assert converted.model == "m"
    assert pickle.loads(pickle.dumps(converted)).losses == converted.losses
    with pytest.raises(fb.InvalidPayloadError, match="/generateContentRequest/contents is missing"):
        fb.convert_count_request({"generateContentRequest": {}}, source="generate_content", target=target, model="m")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (WRAPPED | {"contents": []}, "/contents is not allowed together with generateContentRequest"),
        ({"generateContentRequest": []}, "/generateContentRequest is an array, expected an object"),
        ({}, "/contents is missing"),
    ],
)
def test_an_ambiguous_or_empty_request_is_refused(body: Any, problem: str) -> None:
    """The server rejects both forms together, and none."""
    with pytest.raises(fb.InvalidPayloadError, match=problem):
        fb.convert_count_request(body, source="generate_content", target="messages", model="m")


def test_a_model_is_required_where_the_url_has_it() -> None:
    """The path cannot be built without it."""
    with pytest.raises(fb.ConfigurationError, match="generate_content needs a model"):
        fb.convert_count_request({"input": "hi"}, source="responses", target="generate_content")


@pytest.mark.parametrize("source", ["messages", "responses"])
def test_a_model_can_be_replaced(source: fb.Format) -> None:
    """A router counts for another model than the caller named."""
    assert fb.convert_count_request(BODIES[source], source=source, target=source, model="other").body["model"] == "other"


def test_state_of_a_server_is_an_impossible_loss() -> None:
    """A count without the earlier turns would be too low."""
    body = BODIES["responses"] | {"previous_response_id": "resp_1"}

    with pytest.raises(fb.LossyConversionError, match="/previous_response_id"):
        fb.convert_count_request(body, source="responses", target="messages", options=fb.Options(raise_on="impossible"))


def test_a_typed_request_of_either_kind_is_accepted() -> None:
    """The model of a whole request is the one that the caller sends next."""
    turn: Any = [{"role": "user", "content": "hi"}]

    for model in (messages.CountRequest(model="m", messages=turn), messages.Request(model="m", max_tokens=1, messages=turn)):
        converted = fb.convert_count_request(model, source="messages", target="responses")
        assert converted.body["input"][0]["content"] == "hi"


@pytest.mark.parametrize(
    ("source", "body"),
    [
        ("messages", {"input_tokens": None}),
        ("responses", {"object": "response.input_tokens"}),
        ("generate_content", {"totalTokens": "many"}),
        ("generate_content", {"error": {"code": 400, "message": "no"}}),
        ("messages", {"input_tokens": -1}),
    ],
)
def test_an_answer_without_a_count_is_refused(source: fb.Format, body: Any) -> None:
    """A count of 0 would let every request pass."""
    with pytest.raises(fb.InvalidPayloadError):
        fb.convert_count_response(body, source=source, target="responses" if source == "messages" else "messages")


def test_a_malformed_detail_does_not_hide_the_count() -> None:
    """Answers are read leniently."""
    body = {"totalTokens": 7, "promptTokensDetails": "none", "cachedContentTokenCount": 0}

    converted = fb.convert_count_response(body, source="generate_content", target="messages")

    assert converted.body == {"input_tokens": 7}
    assert [(loss.path, loss.code) for loss in converted.losses] == [("/promptTokensDetails", "malformed")]


def test_a_carried_token_of_another_format_is_not_sent() -> None:
    """The history of a conversation may have reasoning of another vendor."""
    thinking = {"type": "thinking", "thinking": "x", "signature": "fb1|responses|encrypted|abc"}
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [thinking, {"type": "text", "text": "b"}]}]

    converted = fb.convert_count_request({"model": "m", "messages": turns}, source="messages", target="messages")

    assert "fb1|" not in converted.json().decode()
    assert {loss.code for loss in converted.losses} == {"foreign_signature"}


def test_a_dialect_and_facts_about_the_model_change_the_request() -> None:
    """What the server drops of a request is not part of the count."""
    body = BODIES["responses"] | {"reasoning": {"effort": "high"}, "max_output_tokens": 500}
    facts = fb.ModelFacts(reasoning="none", output_limit=50)

    for target in ("messages", "responses"):
        converted = fb.convert_count_request(body, source="responses", target=fb.Target(target, model=facts))
        assert converted.body.keys() & {"thinking", "reasoning", "max_output_tokens", "max_tokens"} == set()
        assert {loss.code for loss in converted.losses} == {"not_counted", "no_reasoning"}


def test_what_a_server_requires_in_a_conversation_is_counted() -> None:
    """DeepSeek requires thinking next to a call; a count of another conversation than the request has would be wrong."""
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "noon"}
    question = {"role": "user", "content": "What time is it?"}
    body = {"model": "m", "messages": [question, {"role": "assistant", "tool_calls": [call]}, result]}
    target = fb.Target("messages", dialect="deepseek")

    request = fb.convert_request(body, source="chat_completions", target=target)
    count = fb.convert_count_request(body, source="chat_completions", target=target)

    assert count.body["messages"] == request.body["messages"]
    assert [addition.path for addition in count.additions] == ["/messages/1/content/0"]


def test_facts_about_the_model_apply_to_a_wrapped_request() -> None:
    """The report points into the body that was sent."""
    config = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 512}}}
    body = {"generateContentRequest": {**WRAPPED["generateContentRequest"], **config}}
    target = fb.Target("generate_content", model=fb.ModelFacts(reasoning="none"))

    converted = fb.convert_count_request(body, source="generate_content", target=target)

    assert converted.body == WRAPPED
    assert [(loss.path, loss.code) for loss in converted.losses] == [
        ("/generateContentRequest/generationConfig/thinkingConfig/thinkingBudget", "no_reasoning")
    ]
