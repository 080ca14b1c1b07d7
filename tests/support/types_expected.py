"""The types that a type checker infers for public calls. ``test_types`` checks this file with mypy and pyright; nothing runs it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, Literal, assert_type

import httpx
import httpx2
import openai.types.chat
from pydantic import BaseModel

import formatbridge as fb
from formatbridge.client.transport import RelayTransport
from formatbridge.formats.chat_completions import wire as chat
from formatbridge.formats.generate_content import wire as gemini
from formatbridge.formats.messages import wire as messages
from formatbridge.formats.responses import wire as responses
from formatbridge.testing import Fail, FakeRelay, FaultTransport


def requests(body: bytes) -> None:
    """A request has the model of its target."""
    assert_type(fb.convert_request(body, target="chat_completions").parse(), chat.Request)
    assert_type(fb.convert_request(body, target="messages").parse(), messages.Request)
    assert_type(fb.convert_request(body, target="responses").parse(), responses.Request)
    assert_type(fb.convert_request(body, target="generate_content").parse(), gemini.Request)
    assert_type(fb.convert_request(body, source="messages", target="responses", model="m"), fb.ConvertedRequest[responses.Request])
    assert_type(fb.convert_request(body, target="messages").body, dict[str, Any])


def other_targets(body: bytes, name: str, spec: fb.FormatSpec, format: fb.Format) -> None:
    """Without a literal name the model is not known. A registered name, or one from a configuration, is marked as such."""
    assert_type(fb.convert_request(body, target=fb.RegisteredName(name)), fb.ConvertedRequest[BaseModel])
    assert_type(fb.convert_request(body, target=fb.Target(fb.RegisteredName(name))), fb.ConvertedRequest[BaseModel])
    assert_type(fb.convert_request(body, target=fb.Target(spec)).parse(), BaseModel)
    assert_type(fb.convert_request(body, target=spec).parse(), BaseModel)
    assert_type(fb.convert_request(body, target=format).parse(), BaseModel)


def answers(body: bytes) -> None:
    """A failed answer is an error, so ``parse`` may return either until the caller checks the class."""
    converted = fb.convert_response(body, target="messages")
    assert_type(converted.parse(), messages.Response | messages.Error)
    if not isinstance(converted, fb.ConvertedError):
        assert_type(converted.parse(), messages.Response)
    assert_type(fb.convert_error(body, target="responses", status=429).parse(), responses.Error)
    assert_type(fb.convert_models(body, target="generate_content").parse(), gemini.ModelList)


def token_counts(body: bytes) -> None:
    """A request and an answer have the models of their target."""
    request = fb.convert_count_request(body, source="chat_completions", target="responses")
    assert_type(request.parse(), responses.CountRequest)
    assert_type(fb.convert_count_request(body, source="messages", target="messages").parse(), messages.CountRequest)
    assert_type(fb.convert_count_request(body, source="messages", target="generate_content").parse(), gemini.CountRequest)
    assert_type(fb.convert_count_response(body, source="messages", target="generate_content").parse(), gemini.CountResponse)


async def counted_tokens(client: fb.Client, async_client: fb.AsyncClient, request: messages.CountRequest) -> None:
    """The answer is in the format of the caller."""
    assert_type(client.count_tokens(request), fb.CountReply[messages.CountResponse])
    assert_type(client.count_tokens({}, "responses", "messages").parse(), responses.CountResponse)
    assert_type(client.count_tokens({}, "generate_content").input_tokens, int)
    assert_type(await async_client.count_tokens(request, via="responses"), fb.CountReply[messages.CountResponse])


def streams(chunks: Iterable[bytes], async_chunks: AsyncIterable[bytes]) -> None:
    """Events are the union of their format; a collected answer has the model of its target."""
    assert_type(fb.iter_events(chunks, format="messages"), Iterator[messages.StreamEvent])
    assert_type(fb.iter_events(async_chunks, format="responses"), AsyncIterator[responses.StreamEvent])
    assert_type(fb.collect_stream(chunks, source="messages"), fb.Converted[messages.Response])
    assert_type(fb.collect_stream(chunks, source="messages", target="responses").parse(), responses.Response)
    converter = fb.StreamConverter(source="messages", target="chat_completions")
    assert_type(converter.response().parse(), chat.Response)


async def async_streams(chunks: AsyncIterable[bytes]) -> None:
    """An async stream is collected by an awaitable."""
    assert_type(await fb.collect_stream(chunks, source="messages", target="responses"), fb.Converted[responses.Response])
    assert_type((await fb.collect_stream(chunks, source="chat_completions")).parse(), chat.Response)


def known_targets(body: bytes, prices: dict[str, Any], custom: fb.Dialect) -> None:
    """A ``Target`` with a literal name has the typed models of its format."""
    facts = fb.ModelFacts(output_limit=8192, reasoning="effort", efforts=("low", "high"))
    assert_type(facts.output_limit, int | None)
    assert_type(facts.refuses, frozenset[str])
    assert_type(fb.load_model_facts(prices), dict[str, fb.ModelFacts])
    assert_type(fb.load_model_facts({"m": facts}, kind="facts"), dict[str, fb.ModelFacts])
    assert_type(fb.load_model_facts(body), dict[str, fb.ModelFacts])
    target = fb.Target("chat_completions", dialect="openrouter", model=facts)
    assert_type(target.dialect, str | fb.Dialect | None)
    assert_type(fb.dialects.openrouter, fb.Dialect)
    assert_type(custom.rules["messages"], fb.DialectRules)
    assert_type(target.format, Literal["chat_completions"])
    assert_type(fb.convert_request(body, target=target), fb.ConvertedRequest[chat.Request])
    assert_type(fb.convert_request(body, target=fb.Target("messages", dialect=custom)).parse(), messages.Request)
    assert_type(fb.convert_request(body, target=fb.Target("responses")).parse(), responses.Request)
    assert_type(fb.convert_request(body, target=fb.Target("generate_content")).parse(), gemini.Request)
    assert_type(fb.convert_models(body, target=fb.Target("messages")).parse(), messages.ModelList)
    assert_type(fb.convert_error(body, target=fb.Target("messages"), status=400).parse(), messages.Error)
    assert_type(fb.StreamConverter(source="messages", target=target).response().parse(), chat.Response)
    assert_type(fb.Bridge(target, via="messages").open(body), fb.Exchange[chat.Response])
    with fb.Client("https://relay.example", profile=fb.RelayProfile(dialect=custom)) as client:
        assert_type(client.send({}, "messages", via=target).parse(), messages.Response)


def names_of_results(body: bytes, converted: fb.Converted[BaseModel], detected: fb.Detection, target: fb.Target) -> None:
    """The format of a result is accepted as the format of the next call."""
    assert_type(fb.convert_request(body, source=converted.target, target="messages").parse(), messages.Request)
    assert_type(fb.convert_request(body, source=detected.format, target=target).body, dict[str, Any])


def explanations(body: bytes) -> None:
    """An explanation has its sentences and the converted request."""
    explanation = fb.explain(body, target=fb.Target("responses"), model="m")
    assert_type(explanation, fb.Explanation)
    assert_type(str(explanation), str)


class Frame:
    """A data frame as Polars and pandas have it."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return requested_schema


class Batch:
    """A record batch as pyarrow has it."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return (None, None)


def data_sets(lines: list[bytes], frame: Frame, batches: Iterator[Batch], untyped: Any) -> None:
    """A line of a batch file has either a body or an error. Tables may be of any library, with or without types."""
    for line in fb.convert_batch(lines, source="messages", target="responses"):
        assert_type(line, fb.BatchLine)
        assert_type(line.json, bytes | None)
        assert_type(line.custom_id, str | None)
        assert_type(line.losses, tuple[fb.Loss, ...])
        assert_type(line.error, fb.FormatBridgeError | None)
    for batch in fb.convert_table(untyped, column="body", source=fb.Column("format"), target="messages"):
        assert_type(batch, Any)
    vendors = fb.Column("vendor", {"claude": "messages", "gemini": "generate_content"})
    fb.convert_table(frame, column="body", target=vendors, model=fb.Column("model"), stream=fb.Column("stream", bool))
    fb.convert_table(batches, column="body", kind="error", target="messages", status=fb.Column("code", {"busy": 503}))
    assert_type(fb.Column("code", {"busy": 503}).value_of("busy"), int)
    assert_type(fb.Column[str]("format").value_of("x"), str)


def reports(converted: fb.Converted[BaseModel]) -> None:
    """Losses, additions and their groups are values with attributes."""
    assert_type(fb.summarize(converted.losses), tuple[fb.LossGroup, ...])
    assert_type(fb.summarize(converted.losses)[0].example, fb.Loss)
    assert_type(converted.additions, tuple[fb.Addition, ...])
    assert_type(fb.detect_format(b"{}").is_sure, bool)
    assert_type(fb.telemetry.genai_attributes(b"{}"), dict[str, Any])


def bridges(body: bytes) -> None:
    """Answers have the model of the caller's format."""
    exchange = fb.Bridge("messages", via="responses").open(body)
    assert_type(exchange, fb.Exchange[messages.Response])
    assert_type(exchange.stream().response().parse(), messages.Response)


def clients(
    client: fb.Client,
    body: dict[str, object],
    request: messages.Request,
    turns: list[openai.types.chat.ChatCompletionMessageParam],
    fields: dict[str, Any],
) -> None:
    """The format is a literal name, or that of a typed request."""
    assert_type(client.send(body, "responses").parse(), responses.Response)
    assert_type(client.send(body, format="generate_content", via="messages"), fb.Reply[gemini.Response])
    assert_type(client.send(request).parse(), messages.Response)
    assert_type(client.messages(model="m").parse(), messages.Response)
    client.messages(model="m", max_tokens=9, temperature=0.5, stream=False, messages=[{"role": "user", "content": "Hi"}])
    client.chat_completions(model="m", messages=turns, metadata={"team": "a"}, **fields)
    assert_type(client.send(body), fb.Reply[BaseModel])
    with client.stream(request) as stream:
        for event in stream:
            assert_type(event, messages.StreamEvent)
        assert_type(stream.response().parse(), messages.Response)


async def async_clients(client: fb.AsyncClient, body: dict[str, object], request: responses.Request) -> None:
    """The async client has the same types."""
    assert_type((await client.send(body, "messages")).parse(), messages.Response)
    assert_type(await client.send(request, via="messages"), fb.Reply[responses.Response])
    assert_type((await client.generate_content("m")).parse(), gemini.Response)
    async with client.stream(body, "chat_completions") as stream:
        async for event in stream:
            assert_type(event, chat.StreamEvent)
        assert_type((await stream.response()).parse(), chat.Response)


def inner_transports(url: str, relay: FakeRelay, mock: httpx.MockTransport) -> None:
    """The transports of both libraries are accepted, those that tests use included."""
    fb.transport(url, via="messages", inner=httpx.HTTPTransport(retries=1))
    fb.transport(url, via="messages", inner=httpx2.AsyncHTTPTransport(retries=1))
    fb.transport(url, via="messages", inner=relay)
    fb.transport(url, via="messages", inner=FaultTransport(mock, Fail("connect", calls=1)))


def transports(url: str) -> None:
    """One transport is valid for the clients of both libraries, and its methods have types."""
    transport = fb.transport(url, via="messages")
    assert_type(transport, RelayTransport)
    assert_type(transport.close(), None)
    httpx.Client(transport=transport)
    httpx.AsyncClient(transport=transport)
    httpx2.Client(transport=transport)
    httpx2.AsyncClient(transport=transport)
