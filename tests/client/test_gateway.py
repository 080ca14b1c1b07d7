"""A gateway serves every format over any endpoint: answers, streams, model lists and errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import Body, Failure, FakeRelay
from tests.support import official_sdks
from tests.support.directions import PAIRS
from tests.support.gateway_server import CALLER_KEY, RELAY_KEY, Reply, call, gateway_over, http_client
from tests.testing.test_fake_relay import ANSWER, BODIES, EXPECTED, FORMATS, PATHS

whole_and_streamed = pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
COUNT_PATHS = {"messages": ["/v1/messages/count_tokens"], "responses": ["/v1/responses/input_tokens"]}
every_pair = pytest.mark.parametrize(("format", "via"), PAIRS, ids=[f"{format}-via-{via}" for format, via in PAIRS])


def relay_of(script: Any = ANSWER, **settings: Any) -> FakeRelay:
    return FakeRelay(script, api_key=RELAY_KEY, **settings)


def sdk_of(format: fb.Format, app: Any, key: str = CALLER_KEY) -> Any:
    """Return the official SDK of a format with a gateway in the process as its base URL."""
    return official_sdks.sdk(format, "http://gateway.test", key, http_client(app))


def request_of(format: fb.Format, *, is_streaming: bool = False, **fields: Any) -> tuple[str, str, bytes]:
    """Return path, query and body of a request."""
    path, body = PATHS[format], {**BODIES[format], **fields}
    if is_streaming and format == "generate_content":
        return path.replace(":g", ":streamG"), "alt=sse", json.dumps(body).encode()
    return path, "", json.dumps(body | {"stream": True} if is_streaming else body).encode()


def post(app: Any, format: fb.Format, *, is_streaming: bool = False, headers: Any = None, **fields: Any) -> Reply:
    """Post a request of a format to a gateway."""
    path, query, body = request_of(format, is_streaming=is_streaming, **fields)
    return asyncio.run(call(app, path, body, headers=headers or {}, query=query))


@whole_and_streamed
@every_pair
def test_an_sdk_gets_the_same_answer_from_any_endpoint(format: fb.Format, via: fb.Format, is_streaming: bool) -> None:
    """The application of a team uses one SDK, its relay another format."""
    relay = relay_of()

    answer = asyncio.run(official_sdks.ask_async(format, sdk_of(format, gateway_over(relay, via=via)), is_streaming=is_streaming))

    assert answer == EXPECTED
    assert (relay.requests[0].format, relay.requests[0].stream) == (via, is_streaming)
    assert relay.leaks(CALLER_KEY) == relay.leaks(RELAY_KEY) == []


@pytest.mark.parametrize("format", FORMATS)
def test_without_via_each_format_has_its_endpoint(format: fb.Format) -> None:
    """A relay with all endpoints converts nothing."""
    relay = relay_of()

    assert asyncio.run(official_sdks.ask_async(format, sdk_of(format, gateway_over(relay)), is_streaming=True)) == EXPECTED
    assert relay.requests[0].format == format


def test_without_via_a_missing_endpoint_is_replaced_by_the_first() -> None:
    """The host of one vendor has only its format."""
    relay = relay_of()
    profile = fb.RelayProfile(base_url=relay.base_url, paths={"messages": "/v1/messages", "models": "/v1/models"})
    app = fb.Gateway(profile, RELAY_KEY, http_client=relay.async_http_client())

    for format in FORMATS:
        assert asyncio.run(official_sdks.ask_async(format, sdk_of(format, app), is_streaming=False)) == EXPECTED

    assert {request.format for request in relay.requests} == {"messages"}


@every_pair
def test_models_are_listed_in_the_format_of_the_sdk(format: fb.Format, via: fb.Format) -> None:
    """Chat interfaces fill their menu of models from the list."""
    app = gateway_over(relay_of(models=["a", "b-2"]), via=via)

    assert asyncio.run(official_sdks.model_ids_async(format, sdk_of(format, app))) == ["a", "b-2"]


@every_pair
def test_an_error_keeps_status_message_wait_and_request_id(format: fb.Format, via: fb.Format) -> None:
    """The SDK of the caller decides by these whether and when to repeat the request."""
    app = gateway_over(relay_of(Failure(429, "slow down", retry_after=7)), via=via)

    reply = post(app, format)

    error = json.loads(reply.content)["error"]
    assert (reply.status, error["message"], reply.headers["retry-after"]) == (429, "slow down", "7")
    sdk = {"messages": "request-id", "generate_content": "x-oneapi-request-id"}
    assert reply.headers[sdk.get(format, "x-request-id")] == "fake-1"


@every_pair
def test_an_error_in_a_stream_ends_it_in_the_format_of_the_caller(format: fb.Format, via: fb.Format) -> None:
    """An overload in the middle of an answer must not look like its end."""
    app = gateway_over(relay_of((Failure(529, "overloaded", after=3), ANSWER)), via=via)

    reply = post(app, format, is_streaming=True)

    assert (reply.status, reply.headers["content-type"], reply.is_complete) == (200, "text/event-stream", True)
    with pytest.raises(fb.StreamFailedError, match="overloaded"):
        fb.collect_stream([reply.content], source=format)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/embeddings", 404),
        ("GET", "/", 404),
        ("POST", "/v1/messages/batches", 404),
        ("POST", "/v1/responses/compact", 404),
        ("POST", "/v1beta/models/m:embedContent", 404),
        ("GET", "/v1/messages", 405),
        ("DELETE", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
    ],
)
def test_other_requests_get_an_error_in_the_format_of_the_path(method: str, path: str, status: int) -> None:
    """An SDK has more endpoints than a gateway, and reads only errors of its format."""
    relay = relay_of()

    reply = asyncio.run(call(gateway_over(relay, via="messages"), path, b"{}", method=method))

    body = json.loads(reply.content)
    formats = {"messages": "type" in body, "generate_content": "status" in body["error"]}
    assert (reply.status, relay.requests) == (status, [])
    assert path in body["error"]["message"]
    assert formats == {"messages": "messages" in path, "generate_content": "v1beta" in path}
    assert path in body["error"]["message"]
    assert reply.headers["x-should-retry"] == "false"
    assert ("allow" in reply.headers) == (status == 405)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/responses/input_tokens"])
def test_a_path_that_is_not_served_is_no_missing_model(path: str) -> None:
    """A program would ask its user for another model; OpenAI's server has this code for an unknown URL."""
    relay = relay_of()

    reply = asyncio.run(call(gateway_over(relay, via="chat_completions"), path, b'{"model": "m", "input": "x"}'))

    error = json.loads(reply.content)["error"]
    assert (reply.status, error["type"], error["code"]) == (404, "invalid_request_error", "unknown_url")
    assert relay.requests == []


@pytest.mark.parametrize("model", [{}, {"model": ""}, {"model": None}], ids=["missing", "empty", "null"])
@pytest.mark.parametrize("via", FORMATS)
@pytest.mark.parametrize("format", [format for format in FORMATS if format != "generate_content"])
def test_a_request_without_a_model_is_refused(format: str, via: str, model: dict[str, Any]) -> None:
    """The relay would get a request for the model "", and its error would not name the cause."""
    relay = relay_of()
    body = {key: value for key, value in BODIES[format].items() if key != "model"} | model

    for path in (PATHS[format], *COUNT_PATHS.get(format, ())):
        reply = asyncio.run(call(gateway_over(relay, via=via, count_tokens=len), path, json.dumps(body).encode()))

        error = json.loads(reply.content)["error"]
        assert (reply.status, error["type"]) == (400, "invalid_request_error")
        assert "/model is" in error["message"]
    assert relay.requests == []


@whole_and_streamed
def test_a_request_for_a_thread_gets_the_error_that_the_sdk_expects(is_streaming: bool) -> None:
    """The tool runner of Anthropic requests a thread, and sends the whole conversation if the server has none."""
    relay = relay_of()

    reply = post(gateway_over(relay, via="chat_completions"), "messages", is_streaming=is_streaming, thread={"type": "create"})

    assert (reply.status, relay.requests) == (400, [])
    assert json.loads(reply.content)["error"]["details"]["error_code"] == "thread_unsupported_request"


DOCUMENT = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}


@whole_and_streamed
@pytest.mark.parametrize(
    ("fields", "message"),
    [({"messages": [{"role": "user", "content": [DOCUMENT]}]}, "/messages/0/content/0"), ({"messages": None}, "/messages")],
    ids=["impossible", "invalid"],
)
def test_a_gateway_rejects_a_request_with_an_impossible_loss(fields: dict[str, Any], message: str, is_streaming: bool) -> None:
    """The relay would answer an emptied prompt, and bill it."""
    relay = relay_of()

    reply = post(gateway_over(relay, via="chat_completions"), "messages", is_streaming=is_streaming, **fields)

    assert (reply.status, relay.requests) == (400, [])
    assert json.loads(reply.content)["error"]["type"] == "invalid_request_error"
    assert message in json.loads(reply.content)["error"]["message"]


@whole_and_streamed
def test_an_answer_with_losses_is_sent(is_streaming: bool) -> None:
    """A second choice that the caller's format cannot hold must not cost the first."""
    choices = [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for at, text in enumerate("AB")
    ]
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    app = gateway_over(relay_of(Body(body, "chat_completions")), via="chat_completions")

    reply = post(app, "messages", is_streaming=is_streaming)

    answer = fb.collect_stream([reply.content], source="messages").body if is_streaming else json.loads(reply.content)
    assert (reply.status, answer["content"]) == (200, [{"type": "text", "text": "A"}])


def test_a_model_with_a_slash_keeps_its_name() -> None:
    """Servers decode the path before the application sees it."""
    relay = relay_of(models=["deepseek/r1"])

    reply = asyncio.run(
        call(
            gateway_over(relay, via="chat_completions"),
            "/v1beta/models/deepseek%2Fr1:generateContent",
            json.dumps(BODIES["generate_content"]).encode(),
        )
    )

    assert (reply.status, relay.requests[0].model) == (200, "deepseek/r1")


@pytest.mark.parametrize("action", ["generateContent", "streamGenerateContent"])
@pytest.mark.parametrize("colon", [":", "%3A", "%3a"])
def test_an_escaped_colon_of_a_path_is_a_colon(colon: str, action: str) -> None:
    """Libraries that build a path of several parts escape each, and the model may have a colon too."""
    relay = relay_of()
    path = f"/v1beta/models/llama3{colon}8b{colon}{action}"

    reply = asyncio.run(call(gateway_over(relay, via="messages"), path, json.dumps(BODIES["generate_content"]).encode()))

    assert (reply.status, relay.requests[0].model) == (200, "llama3:8b")


def test_a_server_that_sends_only_the_decoded_path_is_served() -> None:
    """``raw_path`` is optional in ASGI."""
    relay, reply = relay_of(), Reply()
    app = gateway_over(relay, via="messages")

    async def without_raw_path(scope: Any, receive: Any, send: Any) -> None:
        await app({key: value for key, value in scope.items() if key != "raw_path"}, receive, send)

    path, query, body = request_of("generate_content")
    asyncio.run(call(without_raw_path, path, body, query=query, reply=reply))

    assert (reply.status, len(relay.requests)) == (200, 1)


@pytest.mark.parametrize("path", ["/llm/v1/messages", "//host/v1/messages", "/v1/messages/"])
def test_a_mounted_gateway_finds_the_endpoint(path: str) -> None:
    """Starlette passes the whole path to a mounted application."""
    body = json.dumps(BODIES["messages"]).encode()

    assert asyncio.run(call(gateway_over(relay_of(), via="responses"), path, body)).status == 200


@pytest.mark.parametrize("library", ["starlette", "fastapi"])
def test_a_web_framework_mounts_it(library: str) -> None:
    """An existing application gets the endpoints at a path."""
    pytest.importorskip(library)
    app: Any
    if library == "fastapi":
        import fastapi

        app = fastapi.FastAPI()
    else:
        import starlette.applications

        app = starlette.applications.Starlette()
    app.mount("/llm", gateway_over(relay_of(), via="messages"))
    client = official_sdks.sdk("chat_completions", "http://gateway.test/llm", CALLER_KEY, http_client(app))

    assert asyncio.run(official_sdks.ask_async("chat_completions", client, is_streaming=True)) == EXPECTED


@whole_and_streamed
def test_losses_are_reported(is_streaming: bool) -> None:
    """The operator wants to know what callers lose."""
    reported: list[fb.Converted] = []
    app = gateway_over(relay_of(), via="messages", on_losses=reported.append)

    post(app, "chat_completions", is_streaming=is_streaming, seed=7)
    post(app, "messages")

    assert [[loss.path for loss in converted.losses] for converted in reported if converted.source == "chat_completions"] == [
        ["/seed"]
    ]
    assert all(converted.losses for converted in reported)


def test_an_exception_of_a_hook_does_not_change_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    """The answer has been paid for."""

    def fail(converted: fb.Converted) -> None:
        raise RuntimeError(f"no place for {len(converted.losses)}")

    reply = post(gateway_over(relay_of(), via="messages", on_losses=fail), "chat_completions", seed=7)

    assert reply.status == 200
    assert "on_losses raised" in caplog.text


def test_a_stream_is_sent_as_it_arrives() -> None:
    """The reader sees the first words at once."""
    release, arrived = asyncio.Event(), []

    async def chunks() -> Any:
        events = b"".join(fb.replay_response(ANSWER.body("messages", "m", 1), source="messages"))
        half = events.index(b"event: content_block_stop")
        yield events[:half]
        await release.wait()
        yield events[half:]

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=chunks())

    async def read(chunk: bytes) -> None:
        arrived.append(chunk)
        release.set()

    async def exchange() -> Reply:
        client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        app = fb.Gateway("https://relay.test", "", via="messages", http_client=client)
        path, query, body = request_of("chat_completions", is_streaming=True)
        return await asyncio.wait_for(call(app, path, body, query=query, on_chunk=read), 10)

    assert asyncio.run(exchange()).is_complete
    assert len(arrived) > 1


def test_the_lifespan_loads_the_formats_and_closes_the_connections() -> None:
    """A server starts and stops an application, and tests do it many times."""
    sent: list[str] = []
    messages = iter(["lifespan.startup", "lifespan.shutdown"])

    async def run(app: fb.Gateway) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": next(messages)}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        await app({"type": "lifespan"}, receive, send)

    app = gateway_over(relay_of(), via="messages")
    asyncio.run(run(app))

    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert post(app, "messages").status == 200


@pytest.mark.parametrize("has_extension", [False, True])
def test_a_websocket_is_rejected(has_extension: bool) -> None:
    """Some SDKs have a mode over websockets, and must not wait."""
    sent: list[Any] = []

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "websocket", "path": "/v1/responses", "headers": [], "query_string": b""}
        extensions: dict[str, Any] = {"websocket.http.response": {}} if has_extension else {}
        await gateway_over(relay_of(), via="messages")({**scope, "extensions": extensions}, receive, send)

    asyncio.run(run())

    if has_extension:
        assert sent[0]["status"] == 501
        assert b"websocket" in sent[1]["body"]
    else:
        assert [(message["type"], message["code"]) for message in sent] == [("websocket.close", 1008)]
        assert len(sent[0]["reason"]) <= 123


def test_an_unknown_scope_raises() -> None:
    """The ASGI specification demands it."""
    with pytest.raises(ValueError, match="mqtt"):
        asyncio.run(gateway_over(relay_of())({"type": "mqtt"}, None, None))  # type: ignore[arg-type]  # not used


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"profile_or_base_url": 5}, "profile_or_base_url is an int"),
        ({"profile_or_base_url": "ftp://x"}, "base_url has no scheme"),
        ({"api_key": 5}, "api_key is an int"),
        ({"via": "grpc"}, "grpc"),
        ({"timeout": "x"}, "timeout is a str"),
        ({"limits": 5}, "limits is an int"),
        ({"http_client": 5}, "http_client is an int"),
        ({"on_losses": 5}, "on_losses is an int"),
        ({"memory": {}}, "memory is a dict"),
        ({"profile_or_base_url": fb.RelayProfile(base_url="https://x", paths={"models": "/m"})}, "has no endpoint"),
    ],
)
def test_an_invalid_gateway_is_rejected_by_the_constructor(arguments: dict[str, Any], message: str) -> None:
    """A server would start, and fail at the first request."""
    with pytest.raises((fb.ConfigurationError, fb.UnknownFormatError), match=message):
        fb.Gateway(**{"profile_or_base_url": "https://relay.test", **arguments})


def test_a_gateway_takes_its_relay_from_a_url_a_profile_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sources as for the client."""
    monkeypatch.setenv("FORMATBRIDGE_BASE_URL", "https://environment.test")

    assert "https://relay.test" in repr(fb.Gateway("https://relay.test/"))
    assert "https://profile.test" in repr(fb.Gateway(fb.RelayProfile(base_url="https://profile.test")))
    assert str(fb.PROFILES["messages"].base_url) in repr(fb.Gateway("messages"))
    assert "https://environment.test" in repr(fb.Gateway())
