"""The client: any format to any endpoint, whole and streamed, sync and async, with either HTTP library."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import pickle
from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.convert.input import wire_model
from tests.support.directions import PAIRS
from tests.support.pointers import value_at
from tests.support.servers import KEY, Peer, Received, Server, answer_of, body_of, format_of, framed, read, relay, stream_of, whole

LIBRARIES = [httpx, httpx2]
TEXT = answer_of("messages")["content"][0]["text"]


def transport(library: ModuleType, seen: list[Any] | None = None, piece: int = 11) -> Any:
    """Return a transport in memory that answers in the format of the endpoint, a stream in small pieces."""

    class Pieces(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[name-defined,misc]  # either library's
        def __init__(self, data: bytes) -> None:
            self.pieces = [data[at : at + piece] for at in range(0, len(data), piece)]

        def __iter__(self) -> Any:
            return iter(self.pieces)

        async def __aiter__(self) -> Any:
            for part in self.pieces:
                yield part

    def answer(request: Any) -> Any:
        if seen is not None:
            seen.append(request)
        format, body = format_of(request.url.path), json.loads(request.content)
        if body.get("stream") or "stream" in request.url.path:
            return library.Response(200, stream=Pieces(stream_of(format)), headers={"content-type": "text/event-stream"})
        return library.Response(200, json=answer_of(format), headers={"x-request-id": "r-1"})

    return library.MockTransport(answer)


def client_on(library: ModuleType, seen: list[Any] | None = None, **settings: Any) -> fb.Client:
    """Return a client over a transport in memory."""
    return fb.Client("https://relay.test", KEY, http_client=library.Client(transport=transport(library, seen)), **settings)


def async_client_on(library: ModuleType) -> fb.AsyncClient:
    """Return an async client over a transport in memory."""
    return fb.AsyncClient("https://relay.test", KEY, http_client=library.AsyncClient(transport=transport(library)))


def _judge(format: fb.Format, via: fb.Format, reply: fb.Reply, whole: fb.Converted, text: str, events: list[Any]) -> None:
    """Compare an answer with its stream."""
    assert reply.text() == TEXT == text
    assert reply.native == answer_of(via)
    assert isinstance(reply.parse(), wire_model(format, "response"))
    assert type(whole.parse()) is type(reply.parse())
    assert len(events) > 1 or format == "generate_content"


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_any_format_is_sent_to_any_endpoint(format: fb.Format, via: fb.Format, library: ModuleType) -> None:
    """The caller sees one format only, in answers and in streams."""
    client = client_on(library)
    request = body_of("requests", format)

    reply = client.send(request, format, via)
    with client.stream(request, format, via) as stream:
        text = "".join(stream.text())
        whole = stream.response()
    with client.stream(request, format, via) as stream:
        events = list(stream)

    _judge(format, via, reply, whole, text, events)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.__name__)
@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_any_format_is_sent_to_any_endpoint_by_the_async_client(format: fb.Format, via: fb.Format, library: ModuleType) -> None:
    """The async client differs only in ``await``."""

    async def call() -> None:
        client = async_client_on(library)
        request = body_of("requests", format)
        reply = await client.send(request, format, via)
        async with client.stream(request, format, via) as stream:
            text = "".join([piece async for piece in stream.text()])
            whole = await stream.response()
        async with client.stream(request, format, via) as stream:
            events = [event async for event in stream]
        _judge(format, via, reply, whole, text, events)

    asyncio.run(call())


@pytest.mark.parametrize(("format", "via"), PAIRS)
def test_any_format_is_sent_to_any_endpoint_over_a_socket(format: fb.Format, via: fb.Format) -> None:
    """Sync and async, over one connection for all calls."""
    request = body_of("requests", format)

    async def call(url: str) -> str:
        async with fb.AsyncClient(url, KEY) as client, client.stream(request, format, via) as stream:
            return "".join([piece async for piece in stream.text()]) + (await client.send(request, format, via)).text()

    with Server(relay) as server, fb.Client(server.url, KEY) as client:
        with client.stream(request, format, via) as stream:
            text = "".join(stream.text())
        reply = client.send(request, format, via)
        connections = server.connections
        awaited = asyncio.run(call(server.url))

    assert text == reply.text() == TEXT
    assert awaited == TEXT * 2
    assert connections == 1


def _surface(kind: type) -> dict[str, list[str]]:
    """Return the public methods of a class with their parameters, with the names that both clients share."""
    names = {name.replace("__a", "__") if name in ("__aenter__", "__aexit__", "__aiter__") else name: name for name in dir(kind)}
    names = {shared: name for shared, name in names.items() if not name.startswith("_") or name == "__init__"}
    result = {}
    for shared, name in names.items():
        member = inspect.getattr_static(kind, name)
        result[shared] = [str(p) for p in inspect.signature(member).parameters.values()] if callable(member) else ["property"]
    return result


@pytest.mark.parametrize(("sync", "awaited"), [(fb.Client, fb.AsyncClient), (fb.Stream, fb.AsyncStream)])
def test_both_clients_have_the_same_names_and_parameters(sync: type, awaited: type) -> None:
    """A user turns a script into a service."""
    assert _surface(sync) == _surface(awaited)


def test_a_typed_model_names_its_format() -> None:
    """A typed model shows its format, so the caller need not state it."""
    request = wire_model("messages", "request").model_validate(body_of("requests", "messages"))

    reply = client_on(httpx).send(request, via="responses")

    assert reply.format == "messages"


def test_a_dict_requires_its_format() -> None:
    """A guess may be wrong, and the caller would not notice."""
    with pytest.raises(fb.ConfigurationError, match="format is missing"):
        client_on(httpx).send({"model": "m", "messages": []})


def test_a_body_of_the_same_format_is_sent_unchanged() -> None:
    """A field that this version does not know belongs to the caller and the relay."""
    seen: list[Any] = []
    request = body_of("requests", "messages") | {"new_field": {"a": [1, None]}}

    client_on(httpx, seen).send(request, "messages")

    assert json.loads(seen[0].content) == request


def test_the_url_has_model_and_streaming_of_generate_content() -> None:
    """A model or stream flag in the body would be an unknown field to the vendor."""
    seen: list[Any] = []
    client = client_on(httpx, seen)

    client.generate_content("models/m 1/é", contents=[{"parts": [{"text": "hi"}]}])
    with client.stream({"contents": [{"parts": [{"text": "hi"}]}]}, "generate_content", model="tunedModels/x") as stream:
        list(stream)

    assert seen[0].url.raw_path == b"/v1beta/models/m%201%2F%C3%A9:generateContent"
    assert seen[1].url.raw_path == b"/v1beta/tunedModels/x:streamGenerateContent?alt=sse"
    assert set(json.loads(seen[0].content)) == {"contents"}


@pytest.mark.parametrize("model", ["..", "../../x", "a/../b", "a%2F..", "models/", "m\n", "m\x00", "a\\..\\b", ".", "m\r\nX: y"])
def test_a_model_name_with_path_steps_is_rejected(model: str) -> None:
    """A model's name may come from a form."""
    seen: list[Any] = []

    with pytest.raises(fb.ConfigurationError, match="model is"):
        client_on(httpx, seen).generate_content(model, contents=[{"parts": [{"text": "hi"}]}])

    assert seen == []


def test_the_four_formats_have_shortcuts() -> None:
    """This is the shortest call."""
    client = client_on(httpx)
    messages = [{"role": "user", "content": "hi"}]

    replies = [
        client.chat_completions(model="m", messages=messages),
        client.messages(model="m", messages=messages, max_tokens=9, via="chat_completions"),
        client.responses(model="m", input="hi", via="messages"),
        client.generate_content("m", contents=[{"parts": [{"text": "hi"}]}], via="responses"),
    ]

    assert [reply.format for reply in replies] == list(fb.FORMATS)
    assert {reply.text() for reply in replies} == {TEXT}


def test_prepare_returns_a_call_and_sends_nothing() -> None:
    """It shows the request for a dry run or a question to support, without the key."""
    seen: list[Any] = []
    client = client_on(httpx, seen, headers={"X-Team": "a", "X-Token": "hush"})

    call = client.prepare(body_of("requests", "chat_completions") | {"seed": 7}, "chat_completions", "messages", stream=True)

    assert seen == []
    assert (call.method, call.url) == ("POST", "https://relay.test/v1/messages")
    assert call.body["stream"] is True
    assert [loss.path for loss in call.losses] == ["/seed"]
    assert call.headers["authorization"] == "Bearer ***"
    assert call.headers["vendor-version"] == call.headers["anthropic-version"] == "2023-06-01"
    assert (call.headers["x-team"], call.headers["x-token"]) == ("a", "***")


MCP = {"type": "mcp", "server_label": "l", "server_url": "https://s", "require_approval": "never"}
COMPACTION = {"type": "compaction", "compact_threshold": 60_000}


@pytest.mark.parametrize(
    ("http_client", "sent"),
    [
        (None, "mcp-client-2025-11-20,context-management-2025-06-27,compact-2026-01-12"),
        (
            "files-api-2025-04-14, mcp-client-2026-09-15",
            "files-api-2025-04-14,mcp-client-2026-09-15,context-management-2025-06-27,compact-2026-01-12",
        ),
    ],
)
def test_beta_headers_of_a_body_are_sent(http_client: str | None, sent: str) -> None:
    """The server of messages rejects such fields without the headers; a version that the caller sets has precedence."""
    client = client_on(httpx, [], headers={"anthropic-beta": http_client} if http_client else {})

    call = client.prepare({"model": "m", "input": "x", "tools": [MCP], "context_management": [COMPACTION]}, "responses", "messages")

    assert call.headers["anthropic-beta"] == sent


def test_changes_in_system_messages_need_beta_headers() -> None:
    """Only the beta version has an effort or a tool in a later message."""
    tool = {"type": "function", "name": "g", "parameters": {"type": "object", "properties": {}}, "strict": False}
    items = [
        {"role": "user", "content": "x"},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"type": "additional_tools", "role": "developer", "tools": [tool]},
    ]

    call = client_on(httpx, []).prepare({"model": "m", "input": items}, "responses", "messages")

    assert call.headers["anthropic-beta"].split(",") == [
        "mid-conversation-output-config-2026-07-01",
        "mid-conversation-tool-changes-2026-07-01",
        "inline-tools-2026-09-15",
    ]


ADVISOR = {"type": "advisor_20260301", "name": "advisor", "model": "m-adviser"}
COMPUTER = {"name": "computer", "display_width_px": 800, "display_height_px": 600}


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"tools": [ADVISOR]}, "advisor-tool-2026-03-01"),
        ({"tools": [{"type": "computer_20241022", **COMPUTER}]}, "computer-use-2024-10-22"),
        ({"tools": [{"type": "computer_20250124", **COMPUTER}]}, "computer-use-2025-01-24"),
        ({"tools": [{"type": "computer_20251124", **COMPUTER}]}, "computer-use-2025-11-24"),
        ({"tools": [{"type": "computer_toolset_20260801"}]}, None),
        ({"thinking": {"type": "adaptive", "block_binding": {}}}, "thinking-binding-controls-2026-08-01"),
        ({"thinking": {"type": "adaptive", "block_binding": None}}, None),
        ({"output_config": {"task_budget": {"type": "tokens", "total": 50_000}}}, "task-budgets-2026-03-13"),
        ({"diagnostics": {"previous_message_id": None}}, "cache-diagnosis-2026-04-07"),
        ({"diagnostics": None}, None),
    ],
)
def test_beta_fields_of_a_request_get_their_beta_header(fields: dict[str, Any], sent: str | None) -> None:
    """The server rejects each of these fields and tools without its header."""
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **fields}

    call = client_on(httpx, []).prepare(request, "messages")

    assert call.headers.get("anthropic-beta") == sent


def test_a_request_without_beta_fields_has_no_beta_header() -> None:
    """A header without its field may change the answer, and headers are for this endpoint only."""
    client = client_on(httpx, [])

    assert "anthropic-beta" not in client.prepare(body_of("requests", "messages"), "messages").headers
    assert "anthropic-beta" not in client.prepare({"model": "m", "input": "x", "tools": [MCP]}, "responses").headers


def test_a_request_with_an_impossible_loss_is_not_sent() -> None:
    """By default a client refuses what the endpoint cannot express at all, before it costs anything."""
    seen: list[Any] = []
    client = client_on(httpx, seen)
    request = {"model": "m", "input": [{"role": "user", "content": "hi"}], "previous_response_id": "resp_1"}

    with pytest.raises(fb.LossyConversionError) as caught:
        client.send(request, "responses", "messages")
    lenient = client.with_options(options=fb.Options()).send(request, "responses", "messages")

    assert caught.value.losses[0].path == "/previous_response_id"
    assert caught.value.losses[0] in lenient.losses
    assert len(seen) == 1


def test_a_reply_has_the_losses_of_request_and_answer() -> None:
    """A user must see what both conversions lost."""
    request = body_of("requests", "chat_completions") | {"seed": 7}

    reply = client_on(httpx).send(request, "chat_completions", "messages")
    with client_on(httpx).stream(request, "chat_completions", "messages") as stream:
        list(stream)
        losses = stream.losses

    assert "/seed" in [loss.path for loss in reply.losses]
    assert "/seed" in [loss.path for loss in losses]


@pytest.mark.parametrize(("source", "via"), PAIRS)
def test_losses_of_request_and_answer_point_into_their_sources(source: fb.Format, via: fb.Format) -> None:
    """The same pointer may name a field of the request and one of the answer; the report states which."""
    request, native = body_of("requests", source) | {"x_new": "asked"}, answer_of(via) | {"x_new": "told"}
    client = fb.Client(
        "https://relay.test", http_client=httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=native)))
    )

    reply = client.send(request, source, via)

    assert reply.native == native
    assert [(loss.path, loss.before) for loss in reply.request.losses] == [("/x_new", "asked")] * (source != via)
    assert all(value_at(native, loss.path) == loss.before for loss in reply.answer.losses)
    assert ("/x_new" in [loss.path for loss in reply.answer.losses]) == (source != via)
    assert all(value_at(reply.request.body, added.path) == added.value for added in reply.request.additions)
    assert all(value_at(reply.body, added.path) == added.value for added in reply.answer.additions)
    assert reply.losses == reply.request.losses + reply.answer.losses
    assert reply.additions == reply.request.additions + reply.answer.additions


@pytest.mark.parametrize(("source", "via"), PAIRS)
def test_a_stream_separates_losses_of_request_and_answer(source: fb.Format, via: fb.Format) -> None:
    """The losses of the answer are known as it arrives, those of the request from the start."""
    request = body_of("requests", source) | {"x_new": "asked"}
    stream = client_on(httpx).stream(request, source, via)
    lost = stream.losses

    with pytest.raises(fb.ConfigurationError, match="not open"):
        _ = stream.answer
    with stream:
        begun = stream.answer
        list(stream)
        whole = stream.answer

    assert lost == stream.request.losses
    assert all(value_at(request, loss.path) == loss.before for loss in lost)
    assert begun.target == whole.target == source
    assert whole.body == stream.response().body != begun.body
    assert stream.losses == lost + whole.losses
    assert stream.additions == stream.request.additions + whole.additions


def test_a_stream_is_read_once() -> None:
    """A second loop without events would look like an empty answer."""
    with client_on(httpx).stream(body_of("requests", "messages"), "messages") as stream:
        list(stream)

        with pytest.raises(fb.ConfigurationError, match="was read before"):
            list(stream)


def test_response_reads_the_rest_of_a_stream() -> None:
    """``response()`` reads the rest of the stream."""
    with client_on(httpx).stream(body_of("requests", "messages"), "messages") as stream:
        next(iter(stream))
        first, second = stream.response(), stream.response()

    assert first.body["content"][0]["text"] == TEXT
    assert first.body == second.body


def test_a_stream_outside_a_with_block_raises() -> None:
    """Without ``with`` its connection might stay open."""
    stream = client_on(httpx).stream(body_of("requests", "messages"), "messages")

    with pytest.raises(fb.ConfigurationError, match='inside a "with" block'):
        next(iter(stream))


def test_a_stream_is_opened_once() -> None:
    """A second call would be billed again. The error is not that of a truncated stream, which callers retry."""
    stream = client_on(httpx).stream(body_of("requests", "messages"), "messages")
    with stream:
        pass

    with pytest.raises(fb.ConfigurationError, match="was already opened"):
        stream.__enter__()


def test_repr_of_a_stream_shows_its_state() -> None:
    """A user or a traceback prints it: this reads nothing and shows no key."""
    stream = client_on(httpx).stream(body_of("requests", "messages"), "messages", "responses")
    shown = [repr(stream)]
    with stream:
        shown.append(repr(stream))
        stream.response()
        shown.append(repr(stream))
    with client_on(httpx).stream(body_of("requests", "messages"), "messages") as left:
        pass

    assert shown == [f"<Stream messages via responses, {state}>" for state in ("not open", "open", "over")]
    assert repr(left) == "<Stream messages via messages, closed>"


@pytest.mark.parametrize("making", [fb.Client.__init__, fb.AsyncClient.__init__])
def test_help_shows_the_arguments_of_a_client(making: Callable[..., None]) -> None:
    """``help`` is where users look first; it shows only classes that they can import."""
    reported = inspect.getdoc(making) or ""

    assert [name for name in [*inspect.signature(making).parameters][1:] if f"``{name}``" not in reported] == []


def test_reading_a_closed_stream_raises() -> None:
    """Half an answer must not look like a whole one because its stream was closed."""
    with client_on(httpx).stream(body_of("requests", "messages"), "messages") as stream:
        next(iter(stream))

    with pytest.raises(fb.ConfigurationError, match="closed before its end"):
        stream.response()


def test_a_whole_answer_in_place_of_a_stream_is_replayed() -> None:
    """A relay without streaming sends a whole answer; the caller requested events and gets them."""

    def answer(_request: Any) -> Any:
        return httpx.Response(200, json=answer_of("chat_completions"))

    client = fb.Client("https://relay.test", http_client=httpx.Client(transport=httpx.MockTransport(answer)))
    with client.stream(body_of("requests", "messages"), "messages", "chat_completions") as stream:
        text = "".join(stream.text())

    assert text == TEXT


def test_an_endpoint_that_cannot_stream_gets_a_request_without_streaming() -> None:
    """The whole answer of the endpoint is replayed as a stream."""
    seen: list[Any] = []
    profile = fb.RelayProfile(plain_only=frozenset({"messages"}))

    with client_on(httpx, seen, profile=profile).stream(body_of("requests", "responses"), "responses", "messages") as stream:
        text = "".join(stream.text())
        losses = stream.losses

    assert text == TEXT
    assert not json.loads(seen[0].content).get("stream")
    assert [(loss.path, loss.severity) for loss in losses if loss.code == "replayed"] == [("/stream", "info")]


def test_the_next_request_has_the_reasoning_token_of_the_answer() -> None:
    """A conversation with tools over an endpoint of another format keeps the signatures of the vendor."""
    answer = body_of("responses", "messages", "reasoning_signed")
    seen: list[Any] = []

    def serve(request: Any) -> Any:
        seen.append(json.loads(request.content))
        return httpx.Response(200, json=answer)

    client = fb.Client("https://relay.test", http_client=httpx.Client(transport=httpx.MockTransport(serve)))
    first: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    reply = client.send(first, "chat_completions", "messages")
    turns = [*first["messages"], reply.body["choices"][0]["message"], {"role": "user", "content": "go on"}]

    client.send({"model": "m", "messages": turns}, "chat_completions", "messages")

    thinking = [block for block in answer["content"] if block["type"] == "thinking"]
    assert thinking
    blocks = [block for turn in seen[1]["messages"] if isinstance(turn["content"], list) for block in turn["content"]]
    assert [block for block in blocks if block["type"] == "thinking"] == thinking


MODEL_LISTS: dict[str, list[dict[str, Any]]] = {
    "generate_content": [
        {"models": [{"name": "models/a"}, {"name": "b", "version": None, "nextPageToken": None}], "nextPageToken": "p 2"},
        {"models": [{"name": "models/c"}]},
    ],
    "chat_completions": [{"object": "list", "data": [{"id": "a", "object": "model", "created": 1, "owned_by": "x"}]}],
}


@pytest.mark.parametrize("shape", MODEL_LISTS)
def test_models_are_listed_page_by_page(shape: str) -> None:
    """The ids are those that a request contains, without the prefix of the list."""
    pages = iter(MODEL_LISTS[shape])
    requested: list[str] = []

    def serve(request: Any) -> Any:
        requested.append(request.url.raw_path.decode())
        return httpx.Response(200, json=next(pages))

    client = fb.Client("https://relay.test", KEY, http_client=httpx.Client(transport=httpx.MockTransport(serve)))

    models = client.models()

    assert [model.id for model in models] == (["a", "b", "c"] if shape == "generate_content" else ["a"])
    assert requested == ["/v1beta/models", "/v1beta/models?pageToken=p+2"][: len(requested)]


def test_the_environment_is_read_where_arguments_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script on a laptop and a service in a cluster run the same code."""
    monkeypatch.setenv("FORMATBRIDGE_BASE_URL", "https://env.test/relay")
    monkeypatch.setenv("FORMATBRIDGE_API_KEY", "sk-from-the-environment")
    request = body_of("requests", "messages")

    result = fb.Client().prepare(request, "messages")
    raw = fb.Client("https://arg.test", "").prepare(request, "messages")

    assert (result.url, result.headers["authorization"]) == ("https://env.test/relay/v1/messages", "Bearer ***")
    assert raw.url == "https://arg.test/v1/messages"
    assert "authorization" not in raw.headers


def test_a_missing_base_url_raises_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing setting is reported at the start, not at the first call."""
    monkeypatch.delenv("FORMATBRIDGE_BASE_URL", raising=False)

    with pytest.raises(fb.ConfigurationError, match="FORMATBRIDGE_BASE_URL"):
        fb.Client()


@pytest.mark.parametrize("name", fb.PROFILES)
def test_each_format_has_a_profile_of_its_official_host(name: str) -> None:
    """A user without a relay calls the host of the vendor, which has one endpoint only."""
    client = fb.Client("https://relay.test" if name == "relay" else None, KEY, profile=name)
    format = name if name in fb.FORMATS else "messages"

    call = client.prepare(body_of("requests", format), format)

    header = {"messages": "x-api-key", "generate_content": "x-goog-api-key"}.get(name, "authorization")
    assert [header for header in ("x-api-key", "x-goog-api-key", "authorization") if header in call.headers] == [header]
    if name == "messages":
        with pytest.raises(fb.ConfigurationError, match="no endpoint"):
            client.prepare(body_of("requests", "messages"), "messages", "responses")


def test_the_dialect_of_a_profile_holds_for_header_and_body() -> None:
    """The newer dialect of messages has no sampling parameters, and its header states the version."""
    profile = fb.RelayProfile(messages_version="2026-10-21", version_headers=("anthropic-version",))
    client = fb.Client("https://relay.test", profile=profile)

    call = client.prepare(body_of("requests", "chat_completions") | {"temperature": 0.5}, "chat_completions", "messages")

    assert call.headers["anthropic-version"] == "2026-10-21"
    assert "temperature" not in call.body
    assert "/temperature" in [loss.path for loss in call.losses]


def test_with_options_changes_settings_and_shares_connections() -> None:
    """A longer timeout for one call needs no second pool, and closing it must not close the first client."""
    with Server(relay) as server, fb.Client(server.url, KEY, headers={"x-a": "1"}) as client:
        with client.with_options(timeout=5, headers={"x-b": "2"}, retry=0) as derived:
            derived.send(body_of("requests", "messages"), "messages")
        client.send(body_of("requests", "messages"), "messages")

    assert [("x-a" in got.headers, "x-b" in got.headers) for got in server.requests] == [(True, True), (True, False)]
    assert server.connections == 1


def test_every_attempt_is_reported() -> None:
    """A user who counts, bills or traces needs each attempt, its status and whether another follows."""
    statuses = iter((503, 200))
    events: list[fb.Attempt] = []

    def serve(_request: Any) -> Any:
        return httpx.Response(next(statuses), json=answer_of("messages"), headers={"request-id": "r"})

    http_client = httpx.Client(transport=httpx.MockTransport(serve))
    client = fb.Client("https://relay.test", KEY, http_client=http_client, retry=fb.Retry(base=0), on_attempt=events.append)

    reply = client.send(body_of("requests", "responses"), "responses", "messages")

    assert reply.attempts == 2
    assert [(attempt.number, attempt.status, attempt.request_id, attempt.pause) for attempt in events] == [
        (1, 503, "r", 0),
        (2, 200, "r", None),
    ]
    assert isinstance(events[0].error, fb.OverloadedError)
    assert (events[1].format, events[1].via, events[1].model) == ("responses", "messages", "m-large")


def test_an_http_client_of_the_wrong_type_is_refused() -> None:
    """An async client in a sync one would fail at the first call, with an error of another library."""
    with pytest.raises(fb.ConfigurationError, match="expected a sync one"):
        fb.Client("https://relay.test", http_client=httpx.AsyncClient())
    with pytest.raises(fb.ConfigurationError, match="expected an async one"):
        fb.AsyncClient("https://relay.test", http_client=httpx2.Client())
    with pytest.raises(fb.ConfigurationError, match="expected a client of httpx or httpx2"):
        fb.Client("https://relay.test", http_client=object())


def test_a_subclass_of_an_http_client_is_accepted() -> None:
    """Instrumented clients are subclasses."""

    class Traced(httpx2.Client):
        pass

    client = fb.Client("https://relay.test", http_client=Traced(transport=transport(httpx2)))

    assert client.send(body_of("requests", "messages"), "messages").text() == TEXT


@pytest.mark.parametrize(
    "url",
    ["relay.test", "ftp://relay.test", "https://", "https://u:p@relay.test", "https://relay.test/?a=b", "https://relay.test/#f",
     "https://relay.test/a/../b", "https://relay.test\n", "https://relay.test:99999", "https://relay.test/%2e%2e/", "https://[::1",
     "https://a b", "https://relay.test/a b", "https://a\\b", "https://relay.test\\@evil.test"],
)  # fmt: skip
def test_a_base_url_with_a_password_or_query_is_rejected(url: str) -> None:
    """A key in a URL is written to logs, and a query would be in the middle of the path."""
    with pytest.raises(fb.ConfigurationError, match="base_url") as caught:
        fb.Client(url)

    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"timeout": "5"}, {"timeout": -1}, {"timeout": float("nan")}, {"retry": -1}, {"retry": True}, {"retry": "2"},
        {"headers": {"a b": "c"}}, {"headers": {"a": "b\r\nc: d"}}, {"headers": {"a": "é"}}, {"options": {}}, {"profile": "other"},
    ],
)  # fmt: skip
def test_an_invalid_setting_is_rejected_by_the_constructor(settings: dict[str, Any]) -> None:
    """A wrong setting is reported before the first call."""
    with pytest.raises(fb.ConfigurationError):
        fb.Client("https://relay.test", **settings)


def test_a_closed_client_raises() -> None:
    """Closing a client twice is allowed."""
    client = fb.Client("https://relay.test")
    client.close()
    client.close()

    with pytest.raises(fb.ConfigurationError, match="closed"):
        client.send(body_of("requests", "messages"), "messages")


def _list_of_models(*pages: dict[str, Any]) -> fb.Client:
    reported = iter([*pages, *[pages[-1]] * 200])
    inner = httpx.MockTransport(lambda _: httpx.Response(200, json=next(reported)))
    return fb.Client("https://relay.test", http_client=httpx.Client(transport=inner))


def test_a_cyclic_list_of_models_is_rejected() -> None:
    """A page that names itself as the next one would be read for ever, or models would be missing."""
    client = _list_of_models({"models": [{"name": "models/a"}], "nextPageToken": "x"})

    with pytest.raises(fb.UnexpectedResponseError, match="already read, an endless list"):
        client.models()


@pytest.mark.parametrize("wrong", [{"headers": ["a"]}, {"limits": 5}, {"clock": 5}, {"on_attempt": 5}], ids=str)
def test_a_setting_of_the_wrong_type_is_refused_by_the_constructor(wrong: dict[str, Any]) -> None:
    """The error is raised at the line with the mistake, not in the middle of a call."""
    with pytest.raises(fb.ConfigurationError, match=next(iter(wrong))):
        fb.Client("https://relay.test", **wrong)


@pytest.mark.parametrize("wrong", [{"on": "status"}, {"statuses": 500}, {"statuses": {"a"}}, {"on": 5}], ids=str)
def test_a_retry_of_the_wrong_type_is_refused(wrong: dict[str, Any]) -> None:
    """Python iterates a string as a list of letters."""
    with pytest.raises(fb.ConfigurationError, match=next(iter(wrong))):
        fb.Retry(**wrong)


def test_a_client_cannot_be_pickled() -> None:
    """The error has a reason and shows no key."""
    with pytest.raises(TypeError, match="Client has a key and connections"):
        pickle.dumps(fb.Client("https://relay.test", KEY))


def test_a_stream_that_was_read_to_its_end_cannot_be_read_again() -> None:
    """A stream without events would look like an empty answer."""
    with Server(relay) as server, fb.Client(server.url, KEY).stream(body_of("requests", "messages"), "messages") as stream:
        stream.response()

        with pytest.raises(fb.ConfigurationError, match="was read before"):
            list(stream)


def test_a_url_with_v1_twice_is_reported() -> None:
    """Many users write base URLs that end in /v1."""
    inner = httpx.MockTransport(lambda _: httpx.Response(404, json={"error": {"message": "no such path"}}))
    client = fb.Client("https://relay.test/v1", http_client=httpx.Client(transport=inner))

    with pytest.raises(fb.NotFoundError, match="/v1 twice"):
        client.send(body_of("requests", "messages"), "messages")


@pytest.mark.parametrize("code", ["quota_exceeded", "billing_hard_limit_reached", "insufficient_user_quota"])
def test_a_quota_error_is_not_retried(code: str) -> None:
    """Another attempt would fail too."""
    seen: list[fb.Attempt] = []
    inner = httpx.MockTransport(lambda _: httpx.Response(429, json={"error": {"message": "no", "code": code}}))
    client = fb.Client("https://relay.test", http_client=httpx.Client(transport=inner), on_attempt=seen.append)

    with pytest.raises(fb.APIStatusError):
        client.send(body_of("requests", "messages"), "messages")

    assert len(seen) == 1


def test_a_long_retry_after_is_raised_at_once() -> None:
    """A very long time is still a request to wait."""
    seen: list[fb.Attempt] = []
    inner = httpx.MockTransport(lambda _: httpx.Response(503, headers={"retry-after": "99999999999999"}))
    client = fb.Client("https://relay.test", http_client=httpx.Client(transport=inner), on_attempt=seen.append)

    with pytest.raises(fb.OverloadedError) as caught:
        client.send(body_of("requests", "messages"), "messages")

    assert (caught.value.retry_after, len(seen)) == (99999999999999, 1)


def test_the_cause_of_a_truncated_stream_is_reported() -> None:
    """A user must know whether the connection was closed or the bytes were invalid."""

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(framed(stream_of("messages"), "chunked", 300))
        return False

    with Server(answer) as server, pytest.raises(fb.TruncatedStreamError, match="RemoteProtocolError") as caught:
        read(fb.Client(server.url, KEY, retry=0))

    assert caught.value.partial is not None


def test_a_body_in_two_members_of_gzip_is_one_body() -> None:
    """Some servers flush compressed data with a second member."""
    body = json.dumps(answer_of("messages")).encode()
    packed = gzip.compress(body[:99]) + gzip.compress(body[99:])

    def answer(peer: Peer, _request: Received) -> bool:
        peer.send(whole(packed, Content_Encoding="gzip"))
        return True

    with Server(answer) as server, fb.Client(server.url, KEY) as client:
        assert client.send(body_of("requests", "messages"), "messages").native == answer_of("messages")
