"""Exchanges between two formats: a request to the target, and its answer back, with the tool names of the request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.convert.bodies import ConvertedError
from formatbridge.convert.bridge import Exchange
from formatbridge.convert.input import wire_model
from tests.support.directions import PAIRS
from tests.support.servers import answer_of, body_of, stream_of


@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_answer_stream_and_error_are_in_the_format_of_the_request(format: fb.Format, via: fb.Format) -> None:
    """Answer, stream and error return in the format of the request."""
    exchange = fb.Bridge(format, via=via).open(body_of("requests", format), stream=True)

    answer = exchange.response(answer_of(via))
    converter = exchange.stream()
    streamed = converter.feed(stream_of(via)) + converter.finish()
    error = exchange.error(429, {"error": {"message": "slow down", "code": None}})

    assert (exchange.request.target, exchange.request.stream) == (via, True)
    wire_model(format, "response").model_validate(answer.body)
    assert list(fb.iter_events([streamed], format=format))
    assert (error.status, error.target) == (429, format)
    assert "slow down" in json.dumps(error.body)


def test_the_name_of_a_renamed_tool_is_restored() -> None:
    """The target allows no dots in names, and the caller's code knows only the original name."""
    name = "files.read" + "x" * 60
    tool = {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}}
    exchange = fb.Bridge("responses", via="chat_completions").open({"model": "m", "input": "hi", "tools": [tool]})
    renamed = exchange.request.body["tools"][0]["function"]["name"]
    call = {"id": "c", "type": "function", "function": {"name": renamed, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}

    returned = exchange.response({"id": "x", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})

    assert renamed != name
    assert [item["name"] for item in returned.body["output"] if item["type"] == "function_call"] == [name]


def test_raise_on_does_not_apply_to_an_error() -> None:
    """A caller who forbids losses still needs the error."""
    bridge = fb.Bridge("messages", via="chat_completions", options=fb.Options(raise_on="info"))
    exchange = bridge.open({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})

    error = exchange.error(400, {"error": {"message": "no", "param": "x", "code": "y", "type": "z"}})

    assert error.losses
    assert error.status == 400


IN_A_SUCCESS = {
    "object": {"error": {"message": "bad", "code": "model_not_found", "type": "t"}},
    "list": [{"error": {"message": "bad", "code": "model_not_found", "type": "t"}}],
    "text": b'{"error": {"message": "bad", "code": "model_not_found", "type": "t"}}',
}


@pytest.mark.parametrize("case", IN_A_SUCCESS)
@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_an_error_in_the_place_of_an_answer_is_an_error(format: fb.Format, via: fb.Format, case: str) -> None:
    """Relays fail with status 200; their message must not be hidden by a missing field, whatever is lost."""
    exchange = fb.Bridge(format, via=via).open(body_of("requests", format), model="m")
    strict = Exchange(exchange.request, fb.Options(raise_on="info"))

    answer = strict.response(IN_A_SUCCESS[case])

    assert isinstance(answer, ConvertedError)
    assert (answer.status, answer.kind, answer.body["error"]["message"]) == (404, "error", "bad")


@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize("body", [{"code": 500, "message": "bad"}, {"success": False, "message": "bad"}, {"detail": "bad"}])
def test_an_error_without_a_type_is_an_error(source: fb.Format, body: dict[str, object]) -> None:
    """Servers before a relay have various shapes of errors."""
    converted = fb.convert_response(body, source=source, target="messages" if source != "messages" else "responses")

    assert isinstance(converted, ConvertedError)
    assert converted.body["error"]["message"] == "bad"


@pytest.mark.parametrize("source", fb.FORMATS)
@pytest.mark.parametrize("body", [{}, {"success": True, "data": []}, {"msg": "x", "status": "error"}, {"error": None}])
def test_a_body_that_is_no_answer_and_no_error_is_refused(source: fb.Format, body: dict[str, object]) -> None:
    """An empty answer would be reported as a success."""
    for target in fb.FORMATS:
        with pytest.raises(fb.InvalidPayloadError, match=f"{source} response"):
            fb.convert_response(body, source=source, target=target)


def test_streams_of_one_exchange_are_independent() -> None:
    """A second attempt begins with a new converter."""
    exchange = fb.Bridge("messages", via="chat_completions").open(body_of("requests", "messages"), stream=True)

    first = exchange.stream()
    first.feed(stream_of("chat_completions")[:300])
    second = exchange.stream()

    assert second.feed(stream_of("chat_completions")) + second.finish()
    assert second is not first


def test_a_bridge_between_unknown_formats_is_refused() -> None:
    """A misspelled format is reported before any request."""
    with pytest.raises(fb.UnknownFormatError):
        fb.Bridge(fb.RegisteredName("message"), via="chat_completions")
    with pytest.raises(fb.UnknownFormatError):
        fb.Bridge("messages", via=fb.RegisteredName("chat"))


def test_repr_of_a_bridge_shows_its_formats() -> None:
    """A debugger or a log shows it, without prompts."""
    bridge = fb.Bridge("messages", via="responses")

    assert repr(bridge) == "Bridge('messages', via='responses')"
    assert repr(bridge.open(body_of("requests", "messages"))) == "<Exchange messages via responses>"


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_an_exchange_raises_on_what_its_answer_loses(streams: bool) -> None:
    """The options of a bridge hold for request and answer; those of the answer may differ."""
    strict, lenient = fb.Options(raise_on="info"), fb.Options()
    bridge = fb.Bridge("chat_completions", via="messages", options=strict)
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 9}
    answer = answer_of("messages") | {"x_new": 5}
    stream = b"".join(fb.replay_response(answer, source="messages"))

    def bring(exchange: Exchange) -> fb.Converted:
        if not streams:
            return exchange.response(answer)
        converter = exchange.stream()
        converter.feed(stream)
        converter.finish()
        return converter.response()

    with pytest.raises(fb.LossyConversionError, match="/x_new"):
        bring(bridge.open(request))
    assert "/x_new" in [loss.path for loss in bring(bridge.open(request, answer_options=lenient)).losses]


_CONVERT_BACK: dict[str, Callable[..., Any]] = {
    "convert_response": lambda **ends: fb.convert_response(answer_of(ends["source"]), **ends),
    "StreamConverter": fb.StreamConverter,
    "collect_stream": lambda **ends: fb.collect_stream([stream_of(ends["source"])], **ends),
    "replay_response": lambda **ends: fb.replay_response(answer_of(ends["source"]), **ends),
}


@pytest.mark.parametrize(
    ("source", "target"), [("responses", "messages"), ("chat_completions", "responses"), ("messages", "chat_completions")]
)
@pytest.mark.parametrize("name", _CONVERT_BACK)
def test_a_request_of_another_exchange_is_refused(name: str, source: fb.Format, target: fb.Format) -> None:
    """Tools and echoed fields of another exchange would return with the answer, without a report."""
    request = fb.convert_request(body_of("requests", "messages"), source="messages", target="chat_completions")

    with pytest.raises(fb.ConfigurationError, match="request was converted from messages to chat_completions"):
        _CONVERT_BACK[name](source=source, target=target, request=request)


@pytest.mark.parametrize("name", _CONVERT_BACK)
def test_a_request_of_the_same_exchange_is_accepted(name: str) -> None:
    """Its target is the format of the answer."""
    request = fb.convert_request(body_of("requests", "messages"), source="messages", target="chat_completions")

    _CONVERT_BACK[name](source="chat_completions", target="messages", request=request)
