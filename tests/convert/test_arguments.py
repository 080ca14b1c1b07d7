"""Arguments of public functions: an invalid value raises at once, with the name of the argument (law 13)."""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Literal

import pytest

import formatbridge as fb
from tests.support.directions import PAIRS
from tests.support.servers import KEY, answer_of, body_of, stream_of

ERROR = {"error": {"message": "slow down", "type": "rate_limit_error"}}


def _request(source: fb.Format = "chat_completions", target: fb.Format = "messages", **raw: Any) -> fb.ConvertedRequest:
    return fb.convert_request(body_of("requests", source), source=source, target=target, **raw)


def _error(status: Any, target: fb.Format = "messages") -> fb.ConvertedError:
    return fb.convert_error(ERROR, source="chat_completions", target=target, status=status)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (5, "model is 5, expected a string or None"),
        (True, "model is True, expected a string or None"),
        (b"m", "model is a bytes, expected a string or None"),
        ([], "model is a list, expected a string or None"),
        ("m\ud800", "model holds a lone surrogate, expected valid Unicode"),
    ],
)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_model_that_is_no_valid_text_is_rejected(source: fb.Format, target: fb.Format, model: Any, text: str) -> None:
    """A number would be sent as the model's name, and half a surrogate pair is no UTF-8."""
    with pytest.raises(fb.ConfigurationError, match=f"^{re.escape(text)}$"):
        _request(source, target, model=model)


@pytest.mark.parametrize("stream", ["false", "", 0, 1, [], b"x"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda stream: _request(stream=stream),
        lambda stream: fb.Bridge("messages", via="responses").open(body_of("requests", "messages"), stream=stream),
        lambda stream: _client().prepare(body_of("requests", "messages"), "messages", stream=stream),
    ],
    ids=["convert_request", "Bridge.open", "Client.prepare"],
)
def test_stream_must_be_true_false_or_none(ask: Callable[[Any], Any], stream: Any) -> None:
    """``stream="false"`` from a query string would be true."""
    with pytest.raises(fb.ConfigurationError, match=r"^stream is .*, expected True, False or None$"):
        ask(stream)


def _client() -> fb.Client:
    return fb.Client("https://relay.example", KEY)


@pytest.mark.parametrize("status", [None, True, "429", 429.0, -1, 0, 99, 199, 600, 10**30, {}, b"429"])
def test_a_status_below_200_or_above_599_is_rejected(status: Any) -> None:
    """An invalid status would be passed on, and the server that answers with it would fail."""
    with pytest.raises(fb.ConfigurationError, match=r"^status is .*, expected an HTTP status from 200 to 599$"):
        _error(status)


def test_swapped_arguments_of_an_error_raise() -> None:
    """``error(body, status)`` looks as correct as ``error(status, body)``."""
    exchange = fb.Bridge("messages", via="chat_completions").open(body_of("requests", "messages"))

    with pytest.raises(fb.ConfigurationError, match="status is a dict, expected an HTTP status"):
        exchange.error(ERROR, 429)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("status", [200, 302])
def test_an_error_with_a_success_status_gets_an_error_status(source: fb.Format, target: fb.Format, status: int) -> None:
    """Relays answer 200 with an error in the body; a gateway that passes the status on would report a success."""
    body = {"type": "error", "error": {"message": "slow down", "type": "rate_limit_error", "status": "RESOURCE_EXHAUSTED"}}

    converted = fb.convert_error(body, source=source, target=target, status=status)

    assert converted.status == 429
    assert converted.body["error"]["message"] == "slow down"
    assert source != target or (converted.body == body and not converted.losses)


def test_an_http_status_of_the_standard_library_is_accepted() -> None:
    """``HTTPStatus`` is an integer, and the result has a simple one."""
    result = _error(HTTPStatus.TOO_MANY_REQUESTS, "chat_completions")

    assert type(result.status) is int
    assert result.status == 429


READERS: dict[str, Callable[[Any], Any]] = {
    "convert_stream": lambda chunks: b"".join(fb.convert_stream(chunks, source="messages", target="responses")),
    "collect_stream": lambda chunks: fb.collect_stream(chunks, source="messages"),
    "iter_events": lambda chunks: list(fb.iter_events(chunks, format="messages")),
}
"""The three functions that read a stream, each to its end."""


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        (b"data: {}\n\n", "chunks is a bytes, expected an iterable of bytes, such as a list of them"),
        (bytearray(b"data"), "chunks is a bytearray, expected an iterable of bytes, such as a list of them"),
        (memoryview(b"data"), "chunks is a memoryview, expected an iterable of bytes, such as a list of them"),
        ("data: {}\n\n", "chunks is a str, expected an iterable of bytes, such as a list of them"),
        (None, "chunks is None, expected an iterable of bytes"),
        (5, "chunks is an int, expected an iterable of bytes"),
        (["data: {}\n\n"], "chunk is a str, expected bytes"),
        ([5], "chunk is an int, expected bytes"),
        ([None], "chunk is None, expected bytes"),
        ({"data": 1}, "chunk is a str, expected bytes"),
    ],
)
def test_chunks_of_a_stream_must_be_bytes(read: Callable[[Any], Any], chunks: Any, text: str) -> None:
    """Bytes are an iterable of numbers, and a response read as text is one of strings."""
    with pytest.raises(fb.ConfigurationError, match=f"^{re.escape(text)}$"):
        read(chunks)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_chunks_of_a_stream_may_be_any_buffer(read: Callable[[Any], Any], kind: Callable[[bytes], Any]) -> None:
    """Servers return various buffers, not always contiguous."""
    stream = stream_of("messages")

    assert read([kind(stream[:40]), kind(stream[40:])])
    assert read([memoryview(bytes(2 * len(stream)))[:0], memoryview(b"".join(bytes([byte, 0]) for byte in stream))[::2]])


@pytest.mark.parametrize("chunk", ["data", {}, 5, None, [b"data"]])
def test_an_invalid_chunk_does_not_change_the_converter(chunk: Any) -> None:
    """The mistake is the caller's and no fault of the stream; the caller may correct it and continue."""
    converter, stream = fb.StreamConverter(source="messages", target="responses"), stream_of("messages")
    converted = converter.feed(stream[:100])

    with pytest.raises(fb.ConfigurationError, match=r"^chunk is .*, expected bytes$"):
        converter.feed(chunk)

    converted += converter.feed(stream[100:]) + converter.finish()
    assert converted == b"".join(fb.convert_stream([stream], source="messages", target="responses"))


CONVERSIONS: dict[str, Callable[[Any, fb.Format], Any]] = {
    "request": lambda body, source: fb.convert_request(body, source=source, target="responses"),
    "response": lambda body, source: fb.convert_response(body, source=source, target="responses"),
    "replay": lambda body, source: fb.replay_response(body, source=source, target="responses"),
    "error": lambda body, source: fb.convert_error(body, source=source, target="responses", status=400),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_typed_model_of_another_format_is_rejected(name: str) -> None:
    """Two formats share most names of fields: read as the other one, a request would lose its system prompt without a report."""
    from formatbridge.formats.messages import wire

    kind: Any = {"request": wire.Request, "error": wire.Error}.get(name, wire.Response)
    body = {"request": body_of("requests", "messages"), "error": {"type": "error", **ERROR}}.get(name, answer_of("messages"))
    model = kind.model_validate(body)

    CONVERSIONS[name](model, "messages")
    with pytest.raises(fb.ConfigurationError, match="source is 'chat_completions' and the body a messages model"):
        CONVERSIONS[name](model, "chat_completions")


def test_a_pydantic_model_of_the_caller_is_accepted_as_a_body() -> None:
    """A service has pydantic models, and subclasses of those of this library."""
    from pydantic import BaseModel

    from formatbridge.formats.messages import wire

    class Ours(BaseModel):
        model: str = "m"
        max_tokens: int = 5
        messages: list[dict[str, str]]

    class Theirs(wire.Request):
        pass

    fields: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}

    for body in (Ours(**fields), Theirs(**fields)):
        assert fb.convert_request(body, source="messages", target="responses").body["model"] == "m"


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("model", ["m", "models/m"])
@pytest.mark.parametrize("is_in_body", [False, True])
def test_the_model_of_a_request_is_the_one_in_its_body_and_its_path(target: fb.Format, model: str, is_in_body: bool) -> None:
    """One vendor writes ``models/m`` in its URL; a user who logs the model expects the requested name."""
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]} | ({"model": "other"} if is_in_body else {})

    converted = fb.convert_request(body, source="generate_content", target=target, model=model)

    if target == "generate_content":
        assert converted.path == "/v1beta/models/m:generateContent"
        assert converted.body.get("model", model) == converted.model == model
        assert ("model" in converted.body) == is_in_body
    else:
        assert converted.body["model"] == converted.model == "m"


@pytest.mark.parametrize("name", ["default_max_tokens", "created"])
def test_an_integer_option_with_too_many_digits_is_rejected(name: str) -> None:
    """Python raises on the text of an integer of more than 4,300 digits."""
    with pytest.raises(fb.ConfigurationError, match=f"^{name} is an integer of [0-9]+ bits, expected"):
        fb.Options(**{name: 10**5000})  # type: ignore[arg-type]  # one of the two


def test_a_missing_model_of_the_url_raises() -> None:
    """The path would be incomplete."""
    body = {"messages": [{"role": "user", "content": "hi"}]}

    with pytest.raises(fb.ConfigurationError, match="model="):
        fb.convert_request(body, source="chat_completions", target="generate_content")


@pytest.mark.parametrize(
    "wrong",
    [
        {"raise_on": "never"}, {"carry_reasoning": 1}, {"default_max_tokens": 0}, {"default_max_tokens": "9"},
        {"default_max_tokens": True}, {"on_truncated": "x"}, {"created": -1}, {"created": 1.5}, {"mid_system": []},
        {"messages_version": "2023"}, {"messages_version": None}, {"messages_version": "2023-13-01"},
    ],
)  # fmt: skip
def test_every_option_is_checked(wrong: dict[str, Any]) -> None:
    """An invalid option is reported at once, not noticed in an answer."""
    with pytest.raises(fb.ConfigurationError, match=next(iter(wrong))):
        fb.Options(**wrong)


def test_a_target_with_an_explicit_parameter_is_the_same_target() -> None:
    """The parameter is for type checkers."""
    assert fb.Target[Literal["messages"]]("messages") == fb.Target("messages")
