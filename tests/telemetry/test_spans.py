"""Spans of calls: one for each call of a client, a transport and a gateway, whole and streamed, sync and async."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Failure, FakeRelay
from tests.support import official_sdks
from tests.support.exchanges import every_pair, send, send_async, whole_and_streamed
from tests.support.gateway_server import RELAY_KEY, call, gateway_over
from tests.support.genai_schema import STRUCTURED, check
from tests.support.servers import KEY, body_of, stream_of
from tests.testing.test_fake_relay import ANSWER, BODIES, PATHS

trace = pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk")
XAI = replace(fb.PROFILES["relay"], dialect="xai")
KEYS = (KEY, RELAY_KEY, "sk-canary-vendor")


class Spans:
    """A tracer, and the spans that it recorded."""

    def __init__(self) -> None:
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self._exporter = InMemorySpanExporter()
        provider = trace.TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test", schema_url=fb.telemetry.SCHEMA_URL)

    def one(self) -> Any:
        """Return the only span, after a check of what holds for every span."""
        (span,) = self._exporter.get_finished_spans()
        attributes: dict[str, Any] = dict(span.attributes or {})
        check(attributes)
        assert span.kind.name == "CLIENT"
        assert span.name == f"{attributes['gen_ai.operation.name']} {attributes['gen_ai.request.model']}"
        assert attributes["server.address"]
        assert attributes["server.port"] in (80, 443)
        assert ("error.type" in attributes) == (span.status.status_code.name == "ERROR")
        assert not any(key in span.to_json() for key in KEYS)
        assert not span.events
        return span


@pytest.fixture
def spans() -> Spans:
    return Spans()


def client_of(spans: Spans, relay: Any, **settings: Any) -> fb.Client:
    """Return a client that traces, over a relay in memory."""
    http_client = httpx.Client(transport=relay)
    return fb.Client("https://relay.test", RELAY_KEY, http_client=http_client, tracer=spans.tracer, retry=0, **settings)


def _any(relay: FakeRelay) -> Any:
    """Return a relay as a type that checkers accept for a transport of either library."""
    return relay


def relay_of(script: Any = ANSWER, **settings: Any) -> FakeRelay:
    return FakeRelay(script, api_key=RELAY_KEY, **settings)


def _judge_answer(span: Any, via: fb.Format, *, is_streaming: bool) -> None:
    """Compare a span with the scripted answer, which every endpoint gives in its format."""
    attributes = span.attributes
    assert span.status.status_code.name == "UNSET"
    assert attributes["gen_ai.operation.name"] == ("generate_content" if via == "generate_content" else "chat")
    assert attributes["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert attributes.get("gen_ai.request.stream", False) is is_streaming
    assert ("gen_ai.response.time_to_first_chunk" in attributes) is is_streaming
    assert not attributes.keys() & STRUCTURED.keys()


@whole_and_streamed
@every_pair
def test_a_client_records_a_span_for_each_call(format: fb.Format, via: fb.Format, is_streaming: bool, spans: Spans) -> None:
    """The span describes the call to the endpoint, in the format of the endpoint."""
    asks_for_usage = {"stream_options": {"include_usage": True}} if is_streaming and format == "chat_completions" else {}

    with client_of(spans, relay_of()) as client:
        send(client, body_of("requests", format) | asks_for_usage, format, via, is_streaming=is_streaming)

    _judge_answer(spans.one(), via, is_streaming=is_streaming)


@whole_and_streamed
def test_an_async_client_records_the_same_span(is_streaming: bool, spans: Spans) -> None:
    """Both clients share one flow."""

    async def run() -> None:
        http_client = httpx.AsyncClient(transport=_any(relay_of()))
        async with fb.AsyncClient("https://relay.test", RELAY_KEY, http_client=http_client, tracer=spans.tracer) as client:
            await send_async(client, body_of("requests", "messages"), "messages", "responses", is_streaming=is_streaming)

    asyncio.run(run())

    _judge_answer(spans.one(), "responses", is_streaming=is_streaming)


@whole_and_streamed
@every_pair
def test_a_transport_records_a_span_for_each_call_of_an_sdk(
    format: fb.Format, via: fb.Format, is_streaming: bool, spans: Spans
) -> None:
    """An application that keeps its SDK gets the spans without an instrumentation of that SDK."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via=via, inner=relay_of(), tracer=spans.tracer)
    sdk = official_sdks.sdk(format, "https://vendor.test", "sk-canary-vendor", httpx2.Client(transport=transport))

    official_sdks.ask(format, sdk, is_streaming=is_streaming)

    _judge_answer(spans.one(), via, is_streaming=is_streaming)


@whole_and_streamed
def test_a_gateway_records_a_span_for_each_call_to_the_relay(is_streaming: bool, spans: Spans) -> None:
    """The operator of a gateway sees the usage of all clients."""
    app = gateway_over(relay_of(), via="responses", tracer=spans.tracer)
    body = json.dumps({**BODIES["messages"], "stream": is_streaming}).encode()

    reply = asyncio.run(call(app, PATHS["messages"], body))

    assert reply.status == 200
    _judge_answer(spans.one(), "responses", is_streaming=is_streaming)


@whole_and_streamed
def test_content_is_recorded_only_on_request(is_streaming: bool, spans: Spans) -> None:
    """Structured values are JSON text on spans, which every version of OpenTelemetry accepts."""
    with client_of(spans, relay_of(), trace_content=True) as client:
        send(client, body_of("requests", "messages"), "messages", "chat_completions", is_streaming=is_streaming)

    attributes = spans.one().attributes
    assert json.loads(attributes["gen_ai.input.messages"])[-1]["role"] in ("user", "tool")
    assert json.loads(attributes["gen_ai.output.messages"])[0]["finish_reason"] == "tool_call"


@whole_and_streamed
def test_an_error_answer_fails_the_span_with_the_servers_code(is_streaming: bool, spans: Spans) -> None:
    """Error rates are counted by ``error.type``. Messages of servers repeat parts of the request, so they count as content."""
    relay = relay_of([Failure(429, "your prompt was: secret")])

    with client_of(spans, relay) as client, pytest.raises(fb.RateLimitError):
        send(client, body_of("requests", "messages"), "messages", "messages", is_streaming=is_streaming)

    span = spans.one()
    assert (span.attributes["error.type"], span.status.description) == ("rate_limit_error", None)


def test_the_description_of_an_error_is_content(spans: Spans) -> None:
    """A user who records messages may also read the server's answer to them."""
    with client_of(spans, relay_of([Failure(429, "slow down")]), trace_content=True) as client, pytest.raises(fb.RateLimitError):
        send(client, body_of("requests", "messages"), "messages", "messages", is_streaming=False)

    assert "slow down" in spans.one().status.description


def test_retries_are_part_of_one_span(spans: Spans) -> None:
    """The conventions: a span covers the logical operation with all its retries."""
    http_client = httpx.Client(transport=_any(relay_of([Failure(503, "busy"), ANSWER])))
    with fb.Client(
        "https://relay.test", RELAY_KEY, http_client=http_client, tracer=spans.tracer, retry=fb.Retry(1, base=0)
    ) as client:
        send(client, body_of("requests", "messages"), "messages", "messages", is_streaming=False)

    assert "error.type" not in spans.one().attributes


@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_truncated_stream_fails_the_span_and_keeps_the_partial_answer(via: fb.Format, spans: Spans) -> None:
    """Its tokens have been paid for."""
    data = stream_of(via)
    half = httpx.Response(200, content=data[: len(data) // 2], headers={"content-type": "text/event-stream"})
    relay = httpx.MockTransport(lambda _: half)

    with client_of(spans, relay) as client, pytest.raises((fb.StreamError, fb.APIError)):
        send(client, body_of("requests", via), via, via, is_streaming=True)

    span = spans.one()
    assert span.attributes["error.type"] == "TruncatedStreamError"
    assert span.attributes["gen_ai.response.finish_reasons"] == ("error",)


def test_a_stream_that_its_caller_closes_early_is_cancelled(spans: Spans) -> None:
    """A user stops the answer; the span has the part that arrived."""
    with client_of(spans, relay_of()) as client, client.stream(body_of("requests", "messages"), "messages") as stream:
        next(iter(stream))

    span = spans.one()
    assert span.attributes["error.type"] == "cancelled"
    assert span.attributes["gen_ai.response.model"]


def test_a_stream_that_an_sdk_closes_early_is_cancelled(spans: Spans) -> None:
    """The transport ends the span when the SDK closes the response."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via="responses", inner=relay_of(), tracer=spans.tracer)
    body = json.dumps({**BODIES["messages"], "stream": True}).encode()

    with (
        httpx.Client(transport=transport) as client,
        client.stream("POST", f"https://vendor.test{PATHS['messages']}", content=body) as response,
    ):
        next(response.iter_bytes())

    assert spans.one().attributes["error.type"] == "cancelled"


@whole_and_streamed
def test_a_failed_connection_fails_the_span_with_its_exception(is_streaming: bool, spans: Spans) -> None:
    """The driver of a transport passes on the exception of the HTTP library, which the flow does not get."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    transport = fb.transport(
        "https://relay.test", RELAY_KEY, via="responses", inner=httpx.MockTransport(refuse), tracer=spans.tracer
    )
    body = json.dumps({**BODIES["messages"], "stream": is_streaming}).encode()

    with httpx.Client(transport=transport) as client, pytest.raises(httpx.ConnectError):
        client.post(f"https://vendor.test{PATHS['messages']}", content=body)

    assert spans.one().attributes["error.type"] == "ConnectError"


@whole_and_streamed
def test_a_cancelled_task_ends_its_span(is_streaming: bool, spans: Spans) -> None:
    """The exception of a cancelled task interrupts a step, outside of the flow."""

    async def never(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        raise AssertionError(request)

    async def run() -> None:
        http_client = httpx.AsyncClient(transport=httpx.MockTransport(never))
        async with fb.AsyncClient("https://relay.test", RELAY_KEY, http_client=http_client, tracer=spans.tracer) as client:
            sending = send_async(client, body_of("requests", "messages"), "messages", "messages", is_streaming=is_streaming)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(sending, 0.1)

    asyncio.run(run())

    assert spans.one().attributes["error.type"] == "cancelled"


def test_the_current_span_is_the_parent(spans: Spans) -> None:
    """A trace shows which request of the application caused the call."""
    with client_of(spans, relay_of()) as client, spans.tracer.start_as_current_span("outer") as outer:
        send(client, body_of("requests", "messages"), "messages", "messages", is_streaming=False)
        span = spans.one()

    assert span.parent.span_id == outer.get_span_context().span_id


@whole_and_streamed
def test_the_span_is_current_while_the_http_library_works(is_streaming: bool, spans: Spans) -> None:
    """Spans of an instrumentation of httpx become children of the call, and the span before is current again afterwards."""
    from opentelemetry.trace import get_current_span as current

    during: list[Any] = []
    relay = _any(relay_of())

    def observe(request: httpx.Request) -> httpx.Response:
        during.append(current().get_span_context().span_id)
        response: httpx.Response = relay.handle_request(request)
        return response

    http_client = httpx.Client(transport=httpx.MockTransport(observe))
    with fb.Client("https://relay.test", RELAY_KEY, http_client=http_client, tracer=spans.tracer, retry=0) as client:
        before = current()
        send(client, body_of("requests", "messages"), "messages", "responses", is_streaming=is_streaming)
        assert current() is before

    assert during == [spans.one().context.span_id]


def test_the_span_is_current_in_an_async_client_too(spans: Spans) -> None:
    """Calls of several tasks at the same time have separate current spans."""
    from opentelemetry.trace import get_current_span as current

    during: list[int] = []
    relay = _any(relay_of([ANSWER, ANSWER]))

    async def observe(request: httpx.Request) -> httpx.Response:
        first = current().get_span_context().span_id
        await asyncio.sleep(0.01)
        assert current().get_span_context().span_id == first
        during.append(first)
        response: httpx.Response = await relay.handle_async_request(request)
        return response

    async def run() -> None:
        http_client = httpx.AsyncClient(transport=httpx.MockTransport(observe))
        async with fb.AsyncClient("https://relay.test", RELAY_KEY, http_client=http_client, tracer=spans.tracer) as client:
            both = (send_async(client, body_of("requests", "messages"), "messages", "responses", is_streaming=False) for _ in "ab")
            await asyncio.gather(*both)

    asyncio.run(run())

    assert len(set(during)) == 2


def test_the_dialect_of_the_endpoint_names_the_provider(spans: Spans) -> None:
    """A relay of one vendor's format may be the server of another."""
    with client_of(spans, relay_of()) as client:
        client.send(body_of("requests", "messages"), "messages", fb.Target("chat_completions", dialect="mistral"))

    attributes = spans.one().attributes
    assert attributes["gen_ai.provider.name"] == "mistral_ai"
    assert "openai.api.type" not in attributes


def test_the_dialect_of_the_profile_names_the_provider_in_a_client(spans: Spans) -> None:
    """A profile states once which server all calls go to."""
    with client_of(spans, relay_of(), profile=XAI) as client:
        client.send(body_of("requests", "messages"), "messages", "chat_completions")

    assert spans.one().attributes["gen_ai.provider.name"] == "x_ai"


def test_the_dialect_of_the_profile_names_the_provider_in_a_transport(spans: Spans) -> None:
    """The transport takes the same profile as the client."""
    transport = fb.transport(
        "https://relay.test", RELAY_KEY, via="chat_completions", profile=XAI, inner=relay_of(), tracer=spans.tracer
    )
    sdk = official_sdks.sdk("messages", "https://vendor.test", "sk-canary-vendor", httpx2.Client(transport=transport))

    official_sdks.ask("messages", sdk, is_streaming=False)

    assert spans.one().attributes["gen_ai.provider.name"] == "x_ai"


def test_an_invalid_tracer_is_rejected_by_the_constructor() -> None:
    """The error is raised when the client is created, not at its first call."""
    with pytest.raises(fb.ConfigurationError, match="tracer is a str, expected a Tracer of OpenTelemetry"):
        fb.Client("https://relay.test", tracer="otel")  # type: ignore[arg-type]
    with pytest.raises(fb.ConfigurationError, match="trace_content is a str, expected True or False"):
        fb.Client("https://relay.test", trace_content="yes")  # type: ignore[arg-type]


def test_a_tracer_without_the_package_of_opentelemetry_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, spans: Spans) -> None:
    """The package is optional; the error names it."""
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)

    with pytest.raises(fb.ConfigurationError, match="pip install opentelemetry-api"):
        fb.Client("https://relay.test", tracer=spans.tracer)


def test_without_a_tracer_opentelemetry_is_not_loaded() -> None:
    """A client that does not trace does not pay for it."""
    import subprocess
    import sys

    code = "import sys, formatbridge as fb; fb.Client('https://relay.test'); print('opentelemetry' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
