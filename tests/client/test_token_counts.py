"""Token counts through clients, the transport of official SDKs and gateways, over endpoints of all formats."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Failure, FakeRelay
from tests.client.test_gateway import relay_of, sdk_of
from tests.client.test_transport import VENDOR, VENDOR_KEY, joined
from tests.support import official_sdks
from tests.support.gateway_server import CALLER_KEY, RELAY_KEY, call, gateway_over
from tests.testing.test_fake_relay import BODIES, KEY

COUNTING: tuple[fb.Format, ...] = ("messages", "responses", "generate_content")
PATHS = {
    "messages": "/v1/messages/count_tokens",
    "responses": "/v1/responses/input_tokens",
    "generate_content": "/v1beta/models/m:countTokens",
}
ANSWERS: dict[str, dict[str, Any]] = {
    "messages": {"input_tokens": 42},
    "responses": {"object": "response.input_tokens", "input_tokens": 42},
    "generate_content": {"totalTokens": 42},
}
every_pair = pytest.mark.parametrize(("format", "via"), [(format, via) for format in COUNTING for via in COUNTING])
every_format = pytest.mark.parametrize("format", COUNTING)


def words(body: dict[str, Any]) -> int:
    """Count the words of a request in the format of chat_completions."""
    return sum(len(message["content"].split()) for message in body["messages"])


def client_of(relay: FakeRelay, **settings: Any) -> fb.Client:
    return fb.Client(relay.base_url, RELAY_KEY, http_client=relay.http_client(), **settings)


def post(app: Any, format: fb.Format, body: Any, path: str = "") -> Any:
    """Post a request for a token count to a gateway, and return its answer."""
    headers = {"anthropic-version": "2023-06-01"} if format == "messages" else {}
    return asyncio.run(call(app, path or PATHS[format], json.dumps(body).encode(), headers=headers))


# Clients.


@every_pair
def test_a_client_returns_the_count_in_the_format_of_the_caller(format: fb.Format, via: fb.Format) -> None:
    """The same request is counted first and sent afterwards."""
    relay = relay_of(count_tokens=42)

    with client_of(relay) as client:
        reply = client.count_tokens(BODIES[format], format, via, model="m")

    assert (reply.body, reply.input_tokens, reply.format) == (ANSWERS[format], 42, format)
    assert type(reply.parse()).__module__ == f"formatbridge.formats.{format}.wire.counts"
    assert (reply.status, reply.attempts, reply.request_id, reply.native) == (200, 1, "fake-1", ANSWERS[via])
    assert (relay.requests[0].url, relay.requests[0].format) == (relay.base_url + PATHS[via], via)
    assert relay.requests[0].body == {key: value for key, value in reply.request.body.items() if key != "stream"}
    assert {loss.code for loss in reply.losses} <= {"not_counted"}


@every_pair
def test_an_async_client_returns_the_same(format: fb.Format, via: fb.Format) -> None:
    """One flow serves both clients."""
    relay = relay_of(count_tokens=42)

    async def count() -> fb.CountReply:
        async with fb.AsyncClient(relay.base_url, RELAY_KEY, http_client=relay.async_http_client()) as client:
            return await client.count_tokens(BODIES[format], format, via, model="m")

    assert asyncio.run(count()).body == ANSWERS[format]


@every_format
def test_a_typed_request_needs_no_format(format: fb.Format) -> None:
    """A caller passes the model of a whole request, or that of a request for a count."""
    from importlib import import_module

    wire = import_module(f"formatbridge.formats.{format}.wire")
    fields = {key: value for key, value in BODIES[format].items() if key != "max_tokens"}
    relay = relay_of(count_tokens=42)

    with client_of(relay) as client:
        for kind in (wire.CountRequest, wire.Request):
            assert client.count_tokens(kind(**fields), via="responses", model="m").body == ANSWERS[format]


def test_a_chat_request_gets_the_answer_of_the_endpoint() -> None:
    """Chat Completions has no answer with a token count."""
    with client_of(relay_of(count_tokens=42)) as client:
        reply = client.count_tokens(BODIES["chat_completions"], "chat_completions", "generate_content")

    assert (reply.body, reply.input_tokens, reply.format) == ({"totalTokens": 42}, 42, "generate_content")


def test_an_endpoint_without_a_count_is_a_configuration_error() -> None:
    """Nothing is sent, and the message names both alternatives."""
    relay = relay_of()

    with (
        client_of(relay) as client,
        pytest.raises(fb.ConfigurationError, match="cannot count tokens, expected count_tokens= or an"),
    ):
        client.count_tokens(BODIES["messages"], "messages", "chat_completions")

    assert relay.requests == []


@every_format
def test_the_function_of_the_caller_counts_for_an_endpoint_that_cannot(format: fb.Format) -> None:
    """A tokenizer of the caller gets the request as the endpoint would get it."""
    relay = relay_of()
    seen: list[dict[str, Any]] = []

    def counter(body: dict[str, Any]) -> int:
        seen.append(body)
        return words(body)

    with client_of(relay, count_tokens=counter) as client:
        reply = client.count_tokens(BODIES[format], format, "chat_completions", model="m")

    assert seen == [{"model": "m", "messages": [{"role": "user", "content": "hi"}]}]
    assert (reply.input_tokens, reply.attempts, reply.native, reply.request_id) == (1, 0, {}, None)
    assert (reply.format, relay.requests) == (format, [])


def test_the_function_of_the_caller_gets_the_request_in_the_dialect_of_the_server() -> None:
    """An estimate counts what would be sent."""
    seen: list[dict[str, Any]] = []

    def remember(body: dict[str, Any]) -> int:
        seen.append(body)
        return 1

    request = {"model": "m", "input": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}]}

    with client_of(relay_of(), count_tokens=remember) as client:
        client.count_tokens(request, "responses", fb.Target("chat_completions", dialect="deepseek"))
    with client_of(relay_of(), count_tokens=remember, profile=fb.RelayProfile(dialect="deepseek")) as client:
        client.count_tokens(request, "responses", "chat_completions")

    assert [[message["role"] for message in body["messages"]] for body in seen] == [["system", "user"]] * 2


def test_the_function_of_the_caller_is_not_used_for_an_endpoint_that_counts() -> None:
    """The vendor counts exactly, an estimate does not."""
    with client_of(relay_of(count_tokens=42), count_tokens=lambda _: 1) as client:
        assert client.count_tokens(BODIES["messages"], "messages").input_tokens == 42


def test_a_relay_without_the_path_cannot_count() -> None:
    """Many relays serve a format without its endpoint for token counts."""
    relay = relay_of()
    profile = fb.RelayProfile(count_paths={"responses": "/count"})

    assert (profile.count_path("responses"), profile.count_path("messages")) == ("/count", None)
    with (
        client_of(relay, profile=profile) as client,
        pytest.raises(fb.ConfigurationError, match="the messages endpoint cannot count tokens"),
    ):
        client.count_tokens(BODIES["messages"], "messages")
    with client_of(relay, profile=profile, count_tokens=lambda body: len(body["messages"])) as client:
        assert client.count_tokens(BODIES["messages"], "messages").body == {"input_tokens": 1}


@pytest.mark.parametrize("result", [-1, 1.5, True, None])
def test_a_function_that_returns_no_count_is_a_configuration_error(result: Any) -> None:
    """A function that returns the tokens themselves is a common mistake."""
    with client_of(relay_of(), count_tokens=lambda _: result) as client, pytest.raises(fb.ConfigurationError, match="a number of"):
        client.count_tokens(BODIES["messages"], "messages", "chat_completions")


def test_a_failed_count_is_repeated_and_raises_its_error() -> None:
    """The retries and errors are those of ``send``."""
    relay = relay_of([Failure(429, "slow down"), Failure(400, "too many images")], count_tokens=42)

    with client_of(relay, retry=fb.Retry(max=1, base=0)) as client, pytest.raises(fb.BadRequestError, match="too many images"):
        client.count_tokens(BODIES["responses"], "responses", "messages")

    assert len(relay.requests) == 2


def test_an_answer_without_a_count_is_unexpected() -> None:
    """A proxy may answer every path."""
    http_client = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, json={"ok": True})))

    with (
        fb.Client("https://relay.test", http_client=http_client) as client,
        pytest.raises(fb.UnexpectedResponseError, match="/input_tokens is missing"),
    ):
        client.count_tokens(BODIES["messages"], "messages")


# Official SDKs, over the transport and over a gateway.


@every_pair
def test_the_method_of_an_sdk_counts_over_any_endpoint(format: fb.Format, via: fb.Format) -> None:
    """A chat interface shows the length of a prompt before it is sent."""
    relay = relay_of(count_tokens=42)

    assert official_sdks.count(format, joined(format, via, relay)) == 42
    assert (relay.requests[0].format, relay.requests[0].url) == (
        via,
        relay.base_url + PATHS[via].replace("models/m:", "models/m-large:"),
    )
    assert relay.leaks(VENDOR_KEY) == []


@every_pair
def test_the_method_of_an_async_sdk_counts_over_any_endpoint(format: fb.Format, via: fb.Format) -> None:
    """One flow serves both."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via=via, inner=relay_of(count_tokens=42))

    async def count() -> int:
        async with httpx2.AsyncClient(transport=transport) as http_client:
            return await official_sdks.count_async(format, official_sdks.sdk(format, VENDOR, VENDOR_KEY, http_client))

    assert asyncio.run(count()) == 42


@every_pair
def test_the_method_of_an_sdk_counts_over_a_gateway(format: fb.Format, via: fb.Format) -> None:
    """An agent counts through the gateway of its team before it compacts a conversation."""
    relay = relay_of(count_tokens=42)

    assert asyncio.run(official_sdks.count_async(format, sdk_of(format, gateway_over(relay, via=via)))) == 42
    assert relay.requests[0].format == via
    assert relay.leaks(CALLER_KEY) == relay.leaks(RELAY_KEY) == []


@every_format
def test_an_sdk_gets_the_estimate_of_the_caller_for_chat_completions(format: fb.Format) -> None:
    """Agents count tokens whatever the endpoint behind them is."""
    relay = relay_of()
    app = gateway_over(relay, via="chat_completions", count_tokens=words)

    assert official_sdks.count(format, joined(format, "chat_completions", relay, count_tokens=words)) == 6
    assert asyncio.run(official_sdks.count_async(format, sdk_of(format, app))) == 6
    assert relay.requests == []


@every_format
def test_an_sdk_gets_a_clear_error_without_an_estimate(format: fb.Format) -> None:
    """The error is that of a missing endpoint, in the format of the SDK, and is not repeated."""
    relay = relay_of()
    app = gateway_over(relay, via="chat_completions")

    reply = post(app, format, BODIES[format])

    body = json.loads(reply.content)
    assert (reply.status, reply.headers["x-should-retry"], relay.requests) == (404, "false", [])
    assert "chat_completions endpoint cannot count tokens" in body["error"]["message"]
    assert ("type" in body, "status" in body["error"]) == (format == "messages", format == "generate_content")
    with pytest.raises(Exception, match="chat_completions endpoint cannot count tokens") as raised:
        official_sdks.count(format, joined(format, "chat_completions", relay))
    assert "formatbridge" not in type(raised.value).__module__


@every_pair
def test_an_error_of_a_count_keeps_status_and_message(format: fb.Format, via: fb.Format) -> None:
    """The SDK of the caller decides by these whether to repeat the request."""
    app = gateway_over(relay_of(Failure(429, "slow down", retry_after=7)), via=via)

    reply = post(app, format, BODIES[format])

    assert (reply.status, json.loads(reply.content)["error"]["message"], reply.headers["retry-after"]) == (429, "slow down", "7")


def test_a_gateway_counts_in_the_format_of_each_caller_and_reports_losses() -> None:
    """Without ``via`` nothing is converted, but the fields that count endpoints reject are dropped."""
    relay = relay_of(count_tokens=42)
    reported: list[fb.Converted] = []
    app = gateway_over(relay, on_losses=reported.append)

    for format in COUNTING:
        reply = post(app, format, BODIES[format])
        assert (reply.status, json.loads(reply.content)) == (200, ANSWERS[format])

    assert [request.format for request in relay.requests] == list(COUNTING)
    assert [(each.kind, [loss.path for loss in each.losses]) for each in reported] == [("count_request", ["/max_tokens"])]


def test_a_gateway_counts_a_continued_conversation() -> None:
    """The endpoint of another format does not know the earlier turns, and the count includes them."""
    relay = relay_of(["one"], count_tokens=lambda body: len(body["messages"]))
    client = sdk_of("responses", gateway_over(relay, via="messages", memory=fb.InMemoryStore()))

    async def converse() -> int:
        first = await client.responses.create(model="m", input="a")
        counted = await client.responses.input_tokens.count(model="m", input="b", previous_response_id=first.id)
        tokens: int = counted.input_tokens
        return tokens

    assert asyncio.run(converse()) == 3


@every_format
def test_another_method_is_not_allowed(format: fb.Format) -> None:
    """The answer names the allowed method."""
    reply = asyncio.run(call(gateway_over(relay_of(), via="messages"), PATHS[format], b"", method="PUT"))

    assert (reply.status, reply.headers["allow"]) == (405, "POST")


def test_the_fake_relay_rejects_fields_that_do_not_count() -> None:
    """Anthropic's server rejects ``max_tokens`` here, as a caller notices only in production."""
    relay = FakeRelay()
    headers = KEY | {"anthropic-version": "2023-06-01"}

    answer = relay.http_client().post(relay.base_url + PATHS["messages"], headers=headers, json=BODIES["messages"])
    counted = relay.http_client().post(
        relay.base_url + PATHS["messages"], headers=headers, content=b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    )

    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "max_tokens: Extra inputs are not permitted")
    assert counted.json() == {"input_tokens": 15}
