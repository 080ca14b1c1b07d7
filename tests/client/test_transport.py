"""The SDK transport: an official SDK sends its format, the endpoint uses another, and the SDK sees no difference."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
import traceback
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import QUIRKS, Answer, Cut, Fail, Failure, FakeRelay, FaultTransport, ToolCall
from tests.support import official_sdks
from tests.support.directions import PAIRS
from tests.support.servers import Peer, Received, Server, whole
from tests.support.servers import relay as answering
from tests.testing.test_fake_relay import ANSWER, BODIES, EXPECTED, FORMATS, PATHS

RELAY_KEY, VENDOR_KEY = "sk-canary-relay", "sk-canary-vendor"
VENDOR = "https://vendor.test"
whole_and_streamed = pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
every_pair = pytest.mark.parametrize(("format", "via"), PAIRS, ids=[f"{format}-via-{via}" for format, via in PAIRS])


def relay_of(script: Any = ANSWER, **settings: Any) -> FakeRelay:
    return FakeRelay(script, api_key=RELAY_KEY, **settings)


def joined(format: fb.Format, via: fb.Format, relay: Any, **settings: Any) -> Any:
    """Return the official SDK of a format over an endpoint of ``via``."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via=via, inner=relay, **settings)
    return official_sdks.sdk(format, VENDOR, VENDOR_KEY, httpx2.Client(transport=transport))


@whole_and_streamed
@every_pair
def test_an_sdk_gets_the_same_answer_from_any_endpoint(format: fb.Format, via: fb.Format, is_streaming: bool) -> None:
    """Text, calls and usage are those of the script, and the endpoint has the selected format."""
    relay = relay_of()

    received = official_sdks.ask(format, joined(format, via, relay), is_streaming=is_streaming)

    assert received == EXPECTED
    assert (relay.requests[0].format, relay.requests[0].stream) == (via, is_streaming)


@whole_and_streamed
@every_pair
def test_an_async_sdk_gets_the_same_answer_from_any_endpoint(format: fb.Format, via: fb.Format, is_streaming: bool) -> None:
    """The async transport has the same logic."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via=via, inner=relay_of())

    async def exchange() -> official_sdks.SdkAnswer:
        async with httpx2.AsyncClient(transport=transport) as http_client:
            return await official_sdks.ask_async(
                format, official_sdks.sdk(format, VENDOR, VENDOR_KEY, http_client), is_streaming=is_streaming
            )

    assert asyncio.run(exchange()) == EXPECTED


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@whole_and_streamed
@every_pair
def test_a_transport_serves_httpx_clients(format: fb.Format, via: fb.Format, is_streaming: bool, is_async: bool) -> None:
    """Older SDKs use this library, and callers of a format without an SDK."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via=via, inner=relay_of())
    path, body = PATHS[format], BODIES[format]
    if is_streaming and format == "generate_content":
        path = path.replace(":g", ":streamG") + "?alt=sse"
    elif is_streaming:
        body = body | {"stream": True}

    async def post() -> bytes:
        async with httpx.AsyncClient(transport=transport) as client:
            return (await client.post(VENDOR + path, json=body)).content

    if is_async:
        content = asyncio.run(post())
    else:
        with httpx.Client(transport=transport) as client:
            content = client.post(VENDOR + path, json=body).content

    if is_streaming:
        answer = fb.collect_stream([content], source=format, target="messages").body
    else:
        answer = fb.convert_response(content, source=format, target="messages").body
    assert next(block["text"] for block in answer["content"] if block["type"] == "text") == ANSWER.text


def test_a_transport_serves_an_sdk_with_an_httpx_client() -> None:
    """One official SDK accepts clients of httpx only."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=relay_of())

    received = official_sdks.ask(
        "responses", official_sdks.sdk("responses", VENDOR, VENDOR_KEY, httpx.Client(transport=transport)), is_streaming=True
    )

    assert received == EXPECTED


@whole_and_streamed
@every_pair
def test_one_header_has_the_key_and_none_has_the_key_of_the_sdk(format: fb.Format, via: fb.Format, is_streaming: bool) -> None:
    """A vendor's key in the environment of an SDK must not reach a relay, nor the relay's key the vendor."""
    relay = relay_of()

    official_sdks.ask(format, joined(format, via, relay), is_streaming=is_streaming)

    assert relay.leaks(VENDOR_KEY) == []
    assert relay.leaks(RELAY_KEY) == []
    assert relay.misdirected == []
    assert relay.requests[0].headers["authorization"] == f"Bearer {RELAY_KEY}"


@pytest.mark.parametrize("format", FORMATS)
def test_without_a_key_the_key_of_the_sdk_is_sent(format: fb.Format, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may set the key of the relay in the SDK."""
    monkeypatch.delenv("FORMATBRIDGE_API_KEY", raising=False)
    relay = relay_of()
    http_client = httpx2.Client(transport=fb.transport("https://relay.test", via="messages", inner=relay))

    received = official_sdks.ask(format, official_sdks.sdk(format, VENDOR, RELAY_KEY, http_client), is_streaming=False)

    assert received == EXPECTED
    assert relay.leaks(RELAY_KEY) == []


def test_base_url_and_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same variables as for the client."""
    monkeypatch.setenv("FORMATBRIDGE_BASE_URL", "https://relay.test/team")
    monkeypatch.setenv("FORMATBRIDGE_API_KEY", RELAY_KEY)
    relay = relay_of(base_url="https://relay.test/team")
    http_client = httpx2.Client(transport=fb.transport(via="chat_completions", inner=relay))

    received = official_sdks.ask("messages", official_sdks.sdk("messages", VENDOR, VENDOR_KEY, http_client), is_streaming=False)

    assert received == EXPECTED


def test_a_key_may_change_between_requests() -> None:
    """Keys rotate while a service runs."""
    keys = iter([RELAY_KEY, "sk-canary-next"])
    relay = relay_of()
    transport = fb.transport("https://relay.test", lambda: next(keys), via="responses", inner=relay)
    client = official_sdks.sdk("messages", VENDOR, VENDOR_KEY, httpx2.Client(transport=transport))

    official_sdks.ask("messages", client, is_streaming=False)

    with pytest.raises(official_sdks.anthropic.AuthenticationError):
        official_sdks.ask("messages", client, is_streaming=False)


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_url": "ftp://relay.test"},
        {"base_url": None},
        {"api_key": "sk-\nx"},
        {"via": "telepathy"},
        {"profile": "nobody"},
        {"profile": fb.RelayProfile(paths={"messages": "/v1/messages"})},
        {"headers": {"x y": "z"}},
        {"options": {}},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_invalid_transport_is_rejected_by_the_constructor(wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised at the line with the mistake, not by the SDK later."""
    monkeypatch.delenv("FORMATBRIDGE_BASE_URL", raising=False)

    with pytest.raises((fb.ConfigurationError, fb.UnknownFormatError)) as raised:
        fb.transport(**{"base_url": "https://relay.test", "via": "responses"} | wrong)

    assert "sk-" not in str(raised.value)


@every_pair
def test_an_error_answer_raises_the_exception_of_the_sdk(format: fb.Format, via: fb.Format) -> None:
    """Code that catches the vendor's errors still works, with the time to wait and the request id."""
    relay = relay_of(Failure(429, "slow down", retry_after=7))

    with pytest.raises(Exception, match="slow down") as raised:
        official_sdks.ask(format, joined(format, via, relay), is_streaming=True)

    answer = raised.value.response  # type: ignore[attr-defined]  # every SDK has it on its error
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "7"
    if format != "generate_content":
        assert raised.value.request_id == "fake-1"  # type: ignore[attr-defined]  # these SDKs have it


def test_an_error_has_the_status_and_type_of_the_vendor_of_the_sdk() -> None:
    """Vendors have different statuses for one kind of error."""
    relay = relay_of(Failure(503, "too much to do", code="overloaded_error"))

    with pytest.raises(official_sdks.anthropic.APIStatusError) as raised:
        official_sdks.ask("messages", joined("messages", "chat_completions", relay), is_streaming=False)

    assert raised.value.status_code == 529
    assert raised.value.body["error"]["type"] == "overloaded_error"


@every_pair
def test_an_error_in_the_stream_is_raised(format: fb.Format, via: fb.Format) -> None:
    """The status was 200 before the error occurred."""
    relay = relay_of((Failure(529, "too much to do", after=3), ANSWER))

    with pytest.raises(Exception, match="too much to do"):
        official_sdks.ask(format, joined(format, via, relay), is_streaming=True)


@every_pair
def test_a_truncated_stream_is_never_an_answer(format: fb.Format, via: fb.Format) -> None:
    """The official SDKs take most truncated streams for complete ones; here each one raises."""
    relay = relay_of(ANSWER, quirks=["eof_without_terminal"])

    with pytest.raises(Exception, match="ended before"):
        official_sdks.ask(format, joined(format, via, relay), is_streaming=True)


ENDS = {
    "chat_completions": b'"finish_reason":"tool_calls"',
    "messages": b'"stop_reason":"tool_use"',
    "responses": b"event: response.completed",
    "generate_content": b'"finishReason":"STOP"',
}
"""Format to the bytes that complete an answer in its stream."""


@pytest.mark.parametrize("framing", ["close", "chunked"])
@every_pair
def test_each_truncation_is_an_error_of_the_sdk(format: fb.Format, via: fb.Format, framing: Any) -> None:
    """Some SDKs take the part before a closed connection for an answer, or raise the error of the HTTP library."""
    answer = Answer(text="Rome is sunny.", tool_calls=[ToolCall("now")])
    whole = relay_of(answer).handle_request(_streaming_request(via)).read()
    cuts = range(0, whole.index(ENDS[via]), 7)
    faults = [Cut(at, framing=framing, calls=call) for call, at in enumerate(cuts, 1)]
    client = joined(format, via, FaultTransport(relay_of(answer), *faults))
    silent: list[int] = []

    for at in cuts:
        with contextlib.suppress(*SDK_ERRORS):
            official_sdks.ask(format, client, is_streaming=True)
            silent.append(at)

    assert silent == []


SDK_ERRORS = (official_sdks.anthropic.APIError, official_sdks.openai.APIError, official_sdks.genai.errors.APIError)
"""The exceptions that the SDKs raise."""


def _streaming_request(format: fb.Format) -> httpx2.Request:
    body, path = dict(BODIES[format]), PATHS[format]
    if format == "generate_content":
        path = path.replace(":g", ":streamG") + "?alt=sse"
    else:
        body["stream"] = True
    headers = {"authorization": f"Bearer {RELAY_KEY}", "vendor-version": "2023-06-01"}
    return httpx2.Request("POST", "https://relay.test" + path, json=body, headers=headers)


def test_connection_errors_are_those_of_the_library() -> None:
    """The SDKs retry after the errors of the HTTP library."""
    broken = FaultTransport(relay_of(), Fail("connect"))

    with pytest.raises(official_sdks.openai.APIConnectionError):
        official_sdks.ask("responses", joined("responses", "messages", broken), is_streaming=False)


def test_a_transport_does_not_send_a_request_with_an_impossible_loss() -> None:
    """The default options raise on an impossible loss, and the SDK does not retry."""
    relay = relay_of()
    client = joined("chat_completions", "messages", relay).with_options(max_retries=2)
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}

    with pytest.raises(official_sdks.openai.BadRequestError, match="conversion loses"):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": [audio]}])

    assert relay.requests == []


def test_an_invalid_request_gets_an_error_of_the_vendor() -> None:
    """An SDK does not validate all of a request."""
    relay = relay_of()

    with pytest.raises(official_sdks.anthropic.BadRequestError, match="/messages"):
        joined("messages", "responses", relay).messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": 5}])

    assert relay.requests == []


def test_an_endpoint_without_counterpart_is_a_404() -> None:
    """An SDK has more endpoints than a relay."""
    relay = relay_of()

    with pytest.raises(official_sdks.openai.NotFoundError, match="formatbridge does not convert POST /v1/embeddings"):
        joined("chat_completions", "messages", relay).embeddings.create(model="m", input="x")
    with pytest.raises(official_sdks.anthropic.NotFoundError, match="formatbridge does not convert GET /v1/messages/batches"):
        joined("messages", "responses", relay).messages.batches.list()

    assert relay.requests == []


@every_pair
def test_models_are_listed_in_the_format_of_the_sdk(format: fb.Format, via: fb.Format) -> None:
    """The relay has one list in one format."""
    relay = relay_of(models=["m-large", "m-small"])

    assert official_sdks.model_ids(joined(format, via, relay)) == ["m-large", "m-small"]
    assert relay.requests[0].url == "https://relay.test/v1beta/models"


@whole_and_streamed
def test_an_answer_without_a_time_gets_that_of_now(is_streaming: bool) -> None:
    """Applications sort and expire answers by it; a time of the caller takes precedence."""
    now = int(time.time())
    problems = []

    for options in (None, fb.Options(created=7)):
        client = joined("chat_completions", "messages", relay_of(["Hi."]), options=options)
        answer = client.chat.completions.create(model="m", messages=official_sdks.TURN, stream=is_streaming)
        problems.append(next(iter(answer)).created if is_streaming else answer.created)

    assert problems[0] in range(now, now + 60)
    assert problems[1] == 7


SOCKETS: dict[str, Any] = {
    "responses": lambda client: client.responses.connect(),
    "realtime": lambda client: client.realtime.connect(model="m"),
}


@pytest.mark.parametrize("socket", SOCKETS)
def test_a_websocket_of_an_sdk_uses_the_base_url_and_key_of_the_sdk(socket: str) -> None:
    """A websocket is no request of the HTTP client. With the documented construction neither the vendor nor the relay gets a real key."""

    def refuse(peer: Peer, _request: Received) -> bool:
        peer.send(whole(b"{}", 404))
        return False

    with Server(refuse) as server:
        http_client = httpx2.Client(transport=fb.transport(server.url, RELAY_KEY, via="messages"))
        client = official_sdks.openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", http_client=http_client)
        with pytest.raises(Exception, match="404"):
            SOCKETS[socket](client).enter()

    (request,) = server.requests
    assert request.path.startswith(f"/v1/{socket}")
    assert request.headers["authorization"] == "Bearer unused"


OTHER_LISTS = {
    "openai": {"object": "list", "data": [{"id": "m-large", "object": "model", "created": 1, "owned_by": "x"}]},
    "anthropic": {
        "data": [{"type": "model", "id": "m-large", "display_name": "Large", "created_at": "2026-01-01T00:00:00Z"}],
        "has_more": False,
        "first_id": "m-large",
        "last_id": "m-large",
    },
}


@pytest.mark.parametrize("shape", OTHER_LISTS)
@every_pair
def test_models_are_listed_by_a_relay_that_has_another_list(format: fb.Format, via: fb.Format, shape: str) -> None:
    """Many relays have the list of one format only, at the path of that format."""
    requested: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requested.append(request.url.path)
        result = request.url.path == "/v1/models"
        return httpx2.Response(200, json=OTHER_LISTS[shape]) if result else httpx2.Response(404, json={"error": {"message": "no"}})

    assert official_sdks.model_ids(joined(format, via, httpx2.MockTransport(answer))) == ["m-large"]
    assert requested == ["/v1beta/models", "/v1/models"]


def test_a_relay_without_a_list_of_models_is_an_error() -> None:
    """Each path is requested once."""
    requested: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requested.append(request.url.path)
        return httpx2.Response(404, json={"error": {"message": "no such path"}})

    with pytest.raises(official_sdks.openai.NotFoundError, match="no such path"):
        joined("responses", "messages", httpx2.MockTransport(answer)).models.list()
    assert requested == ["/v1beta/models", "/v1/models"]


@pytest.mark.parametrize("library", [httpx, httpx2])
@pytest.mark.parametrize("status", [200, 404])
def test_a_response_of_the_transport_has_raw_bytes(library: Any, status: int) -> None:
    """Proxies and caches copy the bytes as they arrive."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=relay_of())
    path = PATHS["responses"] if status == 200 else "/v1/embeddings"

    async def read() -> tuple[int, bytes, str]:
        async with (
            library.AsyncClient(transport=transport) as client,
            client.stream("POST", VENDOR + path, json=BODIES["responses"]) as response,
        ):
            return (
                response.status_code,
                b"".join([chunk async for chunk in response.aiter_raw()]),
                response.headers["content-length"],
            )

    with library.Client(transport=transport) as client, client.stream("POST", VENDOR + path, json=BODIES["responses"]) as response:
        raw = b"".join(response.iter_raw())

    assert response.status_code == status
    assert json.loads(raw)["object" if status == 200 else "error"]
    assert asyncio.run(read())[::2] == (status, str(len(raw)))


def test_one_model_is_selected_from_the_list_or_is_a_404() -> None:
    """The relay has no endpoint for a single model."""
    relay = relay_of(models=["m-large", "m/x"])

    assert joined("messages", "responses", relay).models.retrieve("m-large").id == "m-large"
    assert joined("responses", "messages", relay).models.retrieve("m/x").id == "m/x"
    assert joined("generate_content", "messages", relay).models.get(model="m-large").name == "models/m-large"
    with pytest.raises(official_sdks.openai.NotFoundError, match="no model 'm-tiny'"):
        joined("responses", "messages", relay).models.retrieve("m-tiny")


@pytest.mark.parametrize("model", official_sdks.AWKWARD_IDS)
def test_a_model_s_id_may_hold_colons_and_slashes(model: str) -> None:
    """Relays have such ids for local, tuned and routed models, and the SDKs escape them in part or not at all."""
    relay = relay_of("Hello", models=[model, "m"])
    google = joined("generate_content", "chat_completions", relay).models

    pieces = list(google.generate_content_stream(model=model, contents="hi"))

    assert "".join(piece.text or "" for piece in pieces) == google.generate_content(model=model, contents="hi").text == "Hello"
    assert [request.model for request in relay.requests] == [model, model]
    assert google.get(model=model).name == f"models/{model}"
    assert [joined(format, "messages", relay).models.retrieve(model).id for format in ("responses", "messages")] == [model, model]


def test_a_models_path_may_be_below_a_path_of_that_name() -> None:
    """Some servers have such a base URL."""
    answer = httpx.Client(transport=fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=relay_of())).get(
        f"{VENDOR}/models/models"
    )

    assert [model["id"] for model in answer.json()["data"]] == ["m-large", "m-small"]


@pytest.mark.parametrize("quirk", QUIRKS)
@whole_and_streamed
@every_pair
def test_no_quirk_of_a_relay_is_taken_for_an_answer(format: fb.Format, via: fb.Format, is_streaming: bool, quirk: Any) -> None:
    """With every quirk of a relay the SDK gets the content or raises; a failure never looks like an answer."""
    relay = relay_of([Failure(500, "broken"), ANSWER], quirks=[quirk])
    client = joined(format, via, relay)

    with pytest.raises(Exception, match=r"broken|502"):
        official_sdks.ask(format, client, is_streaming=is_streaming)
    if quirk == "eof_without_terminal" and is_streaming:
        with pytest.raises(Exception, match="ended before"):
            official_sdks.ask(format, client, is_streaming=True)
    elif not (quirk == "empty_output_in_completed" and format == via == "responses"):  # where nothing is converted, it passes
        received = official_sdks.ask(format, client, is_streaming=is_streaming)
        assert (received.text, received.calls) == (EXPECTED.text, EXPECTED.calls)


@pytest.mark.parametrize(
    ("location", "is_followed"),
    [
        ("/v1/responses/", True),
        ("https://relay.test/other", True),
        ("https://evil.test/v1/responses", False),
        ("http://relay.test/v1/responses", False),
        ("https://relay.test:8443/v1/responses", False),
        ("//evil.test/v1/responses", False),
        ("", False),
    ],
)
def test_only_a_redirect_within_the_origin_is_followed(location: str, is_followed: bool) -> None:
    """Key and prompt are sent to the relay only."""
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        if len(seen) == 1:
            return httpx2.Response(307, headers={"location": location})
        return httpx2.Response(200, json={**BODY, "status": "completed"})

    client = joined("chat_completions", "responses", httpx2.MockTransport(answer))

    if is_followed:
        assert client.chat.completions.create(model="m", messages=official_sdks.TURN).choices[0].message.content == "Hi."
    else:
        with pytest.raises(official_sdks.openai.InternalServerError, match="307: the relay sent a redirect"):
            client.chat.completions.create(model="m", messages=official_sdks.TURN)
        assert len(seen) == 1


BODY: dict[str, Any] = fb.convert_response(
    {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
        "content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    source="messages",
    target="responses",
).body  # fmt: skip


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_change_the_request_is_not_followed(status: int) -> None:
    """A POST would become a GET."""
    inner = httpx2.MockTransport(lambda _: httpx2.Response(status, headers={"location": "/v1/x"}))

    with pytest.raises(official_sdks.openai.InternalServerError, match=f"{status}: the relay sent a redirect"):
        official_sdks.ask("responses", joined("responses", "messages", inner), is_streaming=False)


@pytest.mark.parametrize("size", [2**16, 2**16 + 1])
@pytest.mark.parametrize("status", [200, 307, 500])
def test_an_sdk_gets_an_error_for_headers_above_the_limit(status: int, size: int) -> None:
    """An SDK gets no more headers than the client accepts, and such a redirect is not followed."""
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        response = httpx2.Response(status if len(seen) == 1 else 200, headers={"location": "/v1/x"}, json=BODY)
        response.headers["x-flood"] = "a" * (
            size - sum(len(name) + len(value) for name, value in response.headers.raw) - len("x-flood")
        )
        return response

    client = joined("responses", "responses", httpx2.MockTransport(answer))

    if size > 2**16:
        with pytest.raises(
            official_sdks.openai.InternalServerError, match=f"the headers have {size} bytes, expected at most 65536"
        ):
            official_sdks.ask("responses", client, is_streaming=False)
    elif status == 500:
        with pytest.raises(official_sdks.openai.InternalServerError, match="500"):
            official_sdks.ask("responses", client, is_streaming=False)
    else:
        assert client.responses.create(model="m", input="x").output_text == "Hi."
    assert len(seen) == (2 if status == 307 and size == 2**16 else 1)


def test_an_endless_redirect_is_an_error_after_two_steps() -> None:
    """The server redirects for ever, and two redirects are followed."""
    inner = httpx2.MockTransport(lambda _: httpx2.Response(308, headers={"location": "/v1/x"}))

    with pytest.raises(official_sdks.openai.InternalServerError, match="redirected more than 2 times"):
        official_sdks.ask("responses", joined("responses", "messages", inner), is_streaming=False)


@pytest.mark.parametrize(
    ("content", "text"), [(b"<html>", "is HTML or XML"), (b"", "is empty"), (b"[]", "is a"), (b'{"a":1}', "is no answer")]
)
def test_an_sdk_gets_an_error_for_status_200_without_an_answer(content: bytes, text: str) -> None:
    """A status of 200 is no proof of an answer."""
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, content=content))

    with pytest.raises(official_sdks.openai.InternalServerError, match=text):
        official_sdks.ask("responses", joined("responses", "messages", inner), is_streaming=False)


class Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body of pieces for clients of both kinds; ``is_closed``: whether it was released."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self.pieces = pieces
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def exchange(inner: Any, *, is_async: bool, is_streaming: bool = False) -> Any:
    """Send a request in responses over an endpoint of messages."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=inner)

    async def ask() -> Any:
        async with httpx2.AsyncClient(transport=transport) as http_client:
            client = official_sdks.sdk("responses", VENDOR, VENDOR_KEY, http_client)
            return await official_sdks.ask_async("responses", client, is_streaming=is_streaming)

    if is_async:
        return asyncio.run(ask())
    client = official_sdks.sdk("responses", VENDOR, VENDOR_KEY, httpx2.Client(transport=transport))
    return official_sdks.ask("responses", client, is_streaming=is_streaming)


sync_and_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@sync_and_async
@pytest.mark.parametrize(
    "pieces",
    [[b"data: {nonsense}\n\n"], [b"data: 5\n\n"], [b"data: {}\n\n", b"data: 5"]],
    ids=["garbage", "a number", "at the end"],
)
def test_invalid_data_in_a_stream_is_an_sdk_error(pieces: list[bytes], is_async: bool) -> None:
    """The SDKs would raise the error of a JSON parser."""
    body = Pieces(*pieces)
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=body))

    with pytest.raises(
        (official_sdks.openai.APIConnectionError, httpx2.RemoteProtocolError), match=r"Connection error|event at byte"
    ):
        exchange(inner, is_async=is_async, is_streaming=True)

    assert body.is_closed


@sync_and_async
def test_a_truncated_body_releases_its_connection(is_async: bool) -> None:
    """A pool without connections would block all calls."""
    body = Pieces(b"{", httpx2.ReadError("gone"))

    with pytest.raises(official_sdks.openai.APIConnectionError):
        exchange(httpx2.MockTransport(lambda _: httpx2.Response(200, stream=body)), is_async=is_async)

    assert body.is_closed


@sync_and_async
def test_a_redirect_releases_its_connection(is_async: bool) -> None:
    """The answer after the redirect counts."""
    body, relay = Pieces(b"moved"), relay_of(quirks=["trailing_slash_307"])

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/v1/messages":
            return httpx2.Response(307, headers={"location": "/v1/messages/"}, stream=body)
        result = relay.handle_request(request)
        return httpx2.Response(result.status_code, headers=result.headers, content=result.read())

    assert exchange(httpx2.MockTransport(answer), is_async=is_async) == EXPECTED
    assert body.is_closed


@sync_and_async
def test_a_long_error_body_is_not_read_to_its_end(is_async: bool) -> None:
    """The beginning of an error is enough."""
    body = Pieces(*[b"x" * 2**15] * 10)

    with pytest.raises(official_sdks.openai.InternalServerError) as failed:
        exchange(httpx2.MockTransport(lambda _: httpx2.Response(500, stream=body)), is_async=is_async)

    assert len(str(failed.value)) < 10_000


def test_an_answer_that_failed_is_an_error_of_the_sdk() -> None:
    """One format has failures with status 200."""
    failed = BODY | {"status": "failed", "output": [], "error": {"code": "server_error", "message": "out of luck"}}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, json=failed))

    with pytest.raises(official_sdks.anthropic.APIStatusError, match="out of luck") as raised:
        official_sdks.ask("messages", joined("messages", "responses", inner), is_streaming=False)

    assert raised.value.status_code == 500


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"success": False, "message": "get user group failed"}, "get user group failed"),
        ({"models": 5}, "is no list of models"),
        ({"foo": 1}, "is no list of models"),
        ({"message": "maintenance"}, "maintenance"),
    ],
)
def test_an_invalid_list_of_models_is_an_error(body: dict[str, Any], text: str) -> None:
    """A status of 200 is no proof of a list."""
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, json=body))

    with pytest.raises(official_sdks.openai.InternalServerError, match=text):
        joined("responses", "messages", inner).models.list()


def test_the_status_in_an_error_body_selects_the_exception() -> None:
    """Some relays answer each request with status 200, and have the status in the body."""
    body = {"code": 401, "message": "token expired", "data": None}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, json=body))

    with pytest.raises(official_sdks.openai.AuthenticationError, match="token expired"):
        joined("responses", "messages", inner).models.list()


def test_a_list_of_models_in_another_format_is_read() -> None:
    """Some relays serve the list of chat_completions at the path of generate_content."""
    listed = {"object": "list", "data": [{"id": "a", "object": "model", "created": 0, "owned_by": "x"}]}
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, json=listed))

    assert official_sdks.model_ids(joined("generate_content", "messages", inner)) == ["a"]


def test_without_a_key_no_key_header_is_sent() -> None:
    """Local relays need no key."""
    relay = FakeRelay("Hello", api_key=None)
    with httpx.Client(transport=fb.transport("https://relay.test", via="messages", inner=relay)) as client:
        client.post(f"{VENDOR}/v1/responses", json=BODIES["responses"])

    assert "authorization" not in relay.requests[0].headers


def _endless(piece: bytes) -> httpx2.MockTransport:
    class Endless(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield piece

    return httpx2.MockTransport(lambda request: httpx2.Response(500 if b"fail" in request.content else 200, stream=Endless()))


def test_an_endless_answer_is_read_up_to_a_limit() -> None:
    """The beginning of an error is enough; a success beyond the limit is no answer."""
    client = joined("responses", "messages", _endless(b"x" * 2**20))

    with pytest.raises(official_sdks.openai.InternalServerError) as failed:
        client.responses.create(model="m", input="fail")
    with pytest.raises(official_sdks.openai.InternalServerError, match="longer than 268435456 bytes"):
        client.responses.create(model="m", input="x")

    assert len(str(failed.value)) < 10_000


def test_an_endpoint_that_cannot_stream_is_replayed() -> None:
    """The profile has no streaming, and the SDK still gets a stream."""
    relay = relay_of()
    profile = fb.RelayProfile(plain_only=frozenset({"messages"}))

    received = official_sdks.ask("responses", joined("responses", "messages", relay, profile=profile), is_streaming=True)

    assert received == EXPECTED
    assert relay.requests[0].stream is False


def test_a_profile_sets_key_and_version_headers() -> None:
    """Hosts of vendors have other headers and paths."""
    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(401, json={"type": "error", "error": {"type": "authentication_error", "message": "no"}})

    client = joined("responses", "messages", httpx2.MockTransport(answer), profile="messages", headers={"x-team": "a"})
    with pytest.raises(official_sdks.openai.AuthenticationError):
        official_sdks.ask("responses", client, is_streaming=False)

    headers = seen[0].headers
    assert headers["x-api-key"] == RELAY_KEY
    assert headers["anthropic-version"] == "2023-06-01"
    assert headers["x-team"] == "a"
    assert "authorization" not in headers
    assert "vendor-version" not in headers


def test_vendor_headers_are_forwarded_in_the_same_format_only() -> None:
    """A beta header has a meaning only if both formats are the same."""
    relay = relay_of()
    betas = {"anthropic-beta": "x-2026", "x-trace": "7"}

    for via in ("messages", "responses"):
        client = joined("messages", via, relay).with_options(default_headers=betas)
        official_sdks.ask("messages", client, is_streaming=False)

    same, other = (request.headers for request in relay.requests)
    assert (same["anthropic-beta"], same["x-trace"], other["x-trace"]) == ("x-2026", "7", "7")
    assert same["vendor-version"] == same["anthropic-version"] != "2023-06-01"
    assert not [name for name in other if name.startswith(("anthropic-", "x-stainless-"))]


@whole_and_streamed
def test_losses_are_reported(is_streaming: bool) -> None:
    """The losses of the request come first, then those of the answer."""
    converted: list[fb.Converted] = []
    client = joined("chat_completions", "messages", relay_of(), on_convert=converted.append)

    answer = client.chat.completions.create(model="m", messages=official_sdks.TURN, seed=7, stream=is_streaming)
    list(answer)

    assert [(result.kind, result.source, result.target) for result in converted] == [
        ("request", "chat_completions", "messages"),
        ("response", "messages", "chat_completions"),
    ]
    assert [loss.path for loss in converted[0].losses] == ["/seed"]


def test_an_abandoned_stream_is_closed_and_its_losses_are_reported() -> None:
    """A user may have read enough."""
    converted: list[fb.Converted] = []
    client = joined("responses", "chat_completions", relay_of(), on_convert=converted.append)

    with client.responses.create(model="m", input="x", stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                break

    assert converted[1].body["output"][-1]["content"][0]["text"] == ANSWER.text[:16]


def test_a_stream_is_converted_as_it_arrives() -> None:
    """A user reads the beginning before the end has arrived."""
    pieces = [bytes(piece) for piece in relay_of().handle_request(_streaming_request("chat_completions")).stream]
    values: list[bytes] = []

    class Slow(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for piece in pieces:
                values.append(piece)
                yield piece

    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Slow()))
    stream = joined("messages", "chat_completions", inner).messages.create(
        model="m", max_tokens=9, messages=official_sdks.TURN, stream=True
    )

    first = next(event for event in stream if event.type == "content_block_delta")

    assert first.delta.thinking == ANSWER.reasoning[:16]
    assert len(values) < len(pieces) / 2


def test_reasoning_tokens_return_over_two_turns() -> None:
    """A signature of the endpoint's vendor is in the SDK's history with a tag, and returns to its issuer."""
    relay = relay_of(
        [Answer(reasoning="Look it up.", signature="c2lnbmVk", tool_calls=[ToolCall("now", id="call_1")]), "It is noon."]
    )
    client = joined("messages", "chat_completions", relay)
    tools = [{"name": "now", "input_schema": {"type": "object"}}]
    first = client.messages.create(model="m", max_tokens=9, messages=official_sdks.TURN, tools=tools)
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "12:00"}
    history = [
        *official_sdks.TURN,
        {"role": "assistant", "content": first.to_dict()["content"]},
        {"role": "user", "content": [result]},
    ]

    second = client.messages.create(model="m", max_tokens=9, messages=history, tools=tools)

    assert second.content[0].text == "It is noon."
    assert "c2lnbmVk" in json.dumps(relay.requests[1].body)
    assert "fb1|" not in json.dumps(relay.requests[1].body)


def test_the_relay_s_echo_of_the_key_is_masked() -> None:
    """Some servers repeat the key in their errors, and errors are written to logs."""
    relay = relay_of(Failure(401, f"unknown key {RELAY_KEY}"))

    with pytest.raises(official_sdks.openai.AuthenticationError) as raised:
        official_sdks.ask("responses", joined("responses", "messages", relay), is_streaming=False)

    assert RELAY_KEY not in str(raised.value)


def test_a_transport_shows_no_key() -> None:
    """It may be in a log, or in a traceback with local variables."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via="messages", headers={"x-token": RELAY_KEY})

    shown = f"{transport!r} {transport} {[getattr(transport, name) for name in transport.__slots__]!r}"

    assert "RelayTransport('https://relay.test', via='messages')" in shown
    assert RELAY_KEY not in shown


def test_without_an_inner_transport_that_of_the_library_is_created_and_closed() -> None:
    """A real socket, on a port without a server."""
    url, body = f"{VENDOR}/v1/responses", BODIES["responses"]
    transport = fb.transport("http://127.0.0.1:9", RELAY_KEY, via="messages")

    async def post() -> None:
        async with httpx.AsyncClient(transport=transport) as client:
            await client.post(url, json=body)

    with httpx2.Client(transport=transport) as client, pytest.raises(httpx2.ConnectError):
        client.post(url, json=body)
    with pytest.raises(httpx.ConnectError):
        asyncio.run(post())


@every_pair
def test_no_error_of_a_stream_shows_the_key(format: fb.Format, via: fb.Format) -> None:
    """The key arrived in a success, after words of the answer."""
    relay = relay_of((Failure(401, f"unknown key {RELAY_KEY}", code=RELAY_KEY, after=3), ANSWER))

    with pytest.raises(SDK_ERRORS) as raised:
        official_sdks.ask(format, joined(format, via, relay), is_streaming=True)

    assert RELAY_KEY not in f"{raised.value} {vars(raised.value)}"


@sync_and_async
def test_a_traceback_with_its_locals_shows_no_key(is_async: bool) -> None:
    """Tools that collect errors also collect local variables; here no server listens."""
    transport = fb.transport("http://127.0.0.1:9", RELAY_KEY, via="messages", headers={"x-token": RELAY_KEY})
    url, body = f"{VENDOR}/v1/responses", BODIES["responses"]

    async def post() -> None:
        async with httpx.AsyncClient(transport=transport) as client:
            await client.post(url, json=body)

    with pytest.raises((httpx.ConnectError, httpx2.ConnectError)) as raised:
        asyncio.run(post()) if is_async else httpx2.Client(transport=transport).post(url, json=body)

    shown = "".join(traceback.TracebackException.from_exception(raised.value, capture_locals=True).format())
    assert RELAY_KEY not in shown


def test_a_child_process_does_not_use_its_parents_connection() -> None:
    """Two processes on one socket would read one another's answers."""
    url, body = f"{VENDOR}/v1/messages", BODIES["messages"]
    with Server(answering) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking next to the server's threads
        client = httpx.Client(transport=fb.transport(server.url, RELAY_KEY, via="messages"))
        client.post(url, json=body)
        child = os.fork()
        if child == 0:
            try:
                os._exit(client.post(url, json=body).status_code != 200)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        client.post(url, json=body)

    assert status == 0
    assert server.connections == 2


def test_the_base_url_has_the_same_sources_as_in_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument, then the environment, then the profile; an empty argument is an error."""
    monkeypatch.setenv("FORMATBRIDGE_BASE_URL", "https://relay.test")
    profile = fb.RelayProfile(base_url="https://other.test")

    assert "relay.test" in repr(fb.transport(via="messages", profile=profile))
    assert "relay.test" in repr(fb.Client(profile=profile))
    with pytest.raises(fb.ConfigurationError):
        fb.transport("", via="messages")


@pytest.mark.parametrize(
    "inner",
    [object(), 5, "https://proxy.test", httpx.Client(), httpx2.AsyncClient(), httpx.HTTPTransport, print],
    ids=["object", "number", "URL", "client", "async client", "class", "function"],
)
def test_an_invalid_inner_transport_is_rejected_by_the_constructor(inner: Any) -> None:
    """A client uses the transport and is none; the first request, in production, would fail."""
    with pytest.raises(fb.ConfigurationError, match=r"inner is .*, expected a transport of httpx or httpx2"):
        fb.transport("https://relay.test", via="messages", inner=inner)


def test_on_convert_must_be_callable() -> None:
    """The error is raised at once, and not after the answer has been paid for."""
    with pytest.raises(fb.ConfigurationError, match="on_convert is an int, expected a callable"):
        fb.transport("https://relay.test", via="messages", on_convert=5)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    ("inner", "client", "text"),
    [
        (httpx2.AsyncHTTPTransport(), httpx2.Client, "expected a transport for a sync client"),
        (httpx2.HTTPTransport(), httpx2.AsyncClient, "expected a transport for an async client"),
        (httpx.HTTPTransport(), httpx2.Client, "of the other library, expected one of httpx2"),
        (httpx2.AsyncHTTPTransport(), httpx.AsyncClient, "of the other library, expected one of httpx"),
    ],
)
def test_an_inner_transport_of_the_wrong_kind_raises(inner: Any, client: Any, text: str) -> None:
    """The kind of client is known at its first request; nothing has been sent by then."""
    transport = fb.transport("https://relay.test", via="messages", inner=inner)

    async def ask() -> None:
        async with client(transport=transport) as http_client:
            await http_client.post(f"{VENDOR}/v1/messages", json=BODIES["messages"])

    with pytest.raises(fb.ConfigurationError, match=text):
        asyncio.run(ask()) if "Async" in client.__name__ else client(transport=transport).post(f"{VENDOR}/v1/messages", json={})


@pytest.mark.parametrize("via", FORMATS)
def test_an_empty_key_sends_no_key(via: fb.Format) -> None:
    """Only a missing argument means the key of the SDK."""
    relay = FakeRelay("Hello", api_key=None)
    http_client = httpx2.Client(transport=fb.transport("https://relay.test", "", via=via, inner=relay))

    official_sdks.ask("responses", official_sdks.sdk("responses", VENDOR, VENDOR_KEY, http_client), is_streaming=False)

    assert VENDOR_KEY not in str(relay.requests[0].headers)


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "X-Goog-Api-Key"])
def test_an_explicit_key_header_replaces_the_key_of_the_transport(name: str) -> None:
    """With two keys in a request the relay might read either."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(401, json={"error": {"message": "no"}})

    inner, headers = httpx.MockTransport(answer), {name: "written-out"}
    transport = fb.transport("https://relay.test", RELAY_KEY, via="messages", headers=headers, inner=inner)
    httpx.Client(transport=transport).post(f"{VENDOR}/v1/messages", json=BODIES["messages"])
    client = fb.Client("https://relay.test", RELAY_KEY, headers=headers, http_client=httpx.Client(transport=inner))
    with pytest.raises(fb.AuthenticationError):
        client.send(BODIES["messages"], "messages")

    for request in seen:
        assert request.headers[name] == "written-out"
        assert RELAY_KEY not in str(request.headers.raw)


def test_a_profile_sets_the_version_header() -> None:
    """A relay may require another version than the default, and the SDK does not send one."""
    relay = relay_of()
    profile = fb.RelayProfile(messages_version="2024-01-01")

    official_sdks.ask("responses", joined("responses", "messages", relay, profile=profile), is_streaming=False)

    assert relay.requests[0].headers["anthropic-version"] == "2024-01-01"


@pytest.mark.parametrize("path", ["/v1/threads/t1/messages", "/v1/messages/batches", "/v1/images/generations"])
def test_a_path_that_ends_with_the_path_of_an_endpoint_is_a_404(path: str) -> None:
    """Threads have messages too."""
    relay = relay_of()
    with httpx.Client(transport=fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=relay)) as client:
        answer = client.post(VENDOR + path, json={})

    assert answer.status_code == 404
    assert relay.requests == []
