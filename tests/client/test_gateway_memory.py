"""A gateway keeps what responses requests refer to, where the endpoint of another format does not."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.testing import Answer, FakeRelay, ToolCall
from tests.client.test_gateway import post, relay_of, request_of, sdk_of, whole_and_streamed
from tests.support import official_sdks
from tests.support.gateway_server import CALLER_KEY, RELAY_KEY, Reply, call, gateway_over

OTHERS = [format for format in fb.FORMATS if format != "responses"]


def texts_of(relay: FakeRelay, at: int) -> list[str]:
    """Return the texts of a request that a relay received, in order."""
    request = fb.convert_request(relay.requests[at].body, source=relay.requests[at].format, target="messages", model="m")
    return [block["text"] for turn in request.body["messages"] for block in _blocks(turn["content"]) if block["type"] == "text"]


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


async def ask(client: Any, is_streaming: bool, **fields: Any) -> Any:
    """Ask through the official SDK and return the response."""
    if not is_streaming:
        return await client.responses.create(model="m", **fields)
    async with client.responses.stream(model="m", **fields) as stream:
        return await stream.get_final_response()


@whole_and_streamed
@pytest.mark.parametrize("via", OTHERS)
def test_a_conversation_continues_by_the_id_of_its_last_answer(via: fb.Format, is_streaming: bool) -> None:
    """Applications send only the new turn; the endpoint needs the whole conversation."""
    relay = relay_of(["one", "two", "three"])
    client = sdk_of("responses", gateway_over(relay, via=via, memory=fb.InMemoryStore()))

    async def converse() -> None:
        first = await ask(client, is_streaming, input="a")
        second = await ask(client, is_streaming, input="b", previous_response_id=first.id)
        await ask(client, is_streaming, input=[{"role": "user", "content": "c"}], previous_response_id=second.id)

    asyncio.run(converse())

    assert [texts_of(relay, at) for at in range(3)] == [["a"], ["a", "one", "b"], ["a", "one", "b", "two", "c"]]


@whole_and_streamed
def test_an_answer_is_stored_before_its_last_event_is_sent(is_streaming: bool) -> None:
    """A fast client sends the next turn at the last event."""
    store = fb.InMemoryStore()
    sizes: list[int] = []

    class Slow:
        get = staticmethod(store.get)

        async def put(self, id: str, value: dict[str, Any]) -> None:
            await asyncio.sleep(0.01)
            store.put(id, value)

    async def read(chunk: bytes) -> None:
        if b"response.completed" in chunk or not is_streaming:
            sizes.append(len(store))

    path, query, body = request_of("responses", is_streaming=is_streaming)
    asyncio.run(call(gateway_over(relay_of("one"), via="chat_completions", memory=Slow()), path, body, query=query, on_chunk=read))

    assert sizes[0] >= 1


@pytest.mark.parametrize("error", [RuntimeError("no database"), fb.ConfigurationError("no database")], ids=["other", "library"])
def test_a_store_that_fails_is_a_500_without_details(error: Exception) -> None:
    """The request of the caller is valid; the server's log has the traceback."""

    class Failing(fb.InMemoryStore):
        def get(self, *_: object) -> Any:
            raise error

    reply = Reply()
    path, query, body = request_of("responses", previous_response_id="resp_1")
    app = gateway_over(relay_of(), via="messages", memory=Failing())

    with pytest.raises(Exception, match="no database"):
        asyncio.run(call(app, path, body, query=query, reply=reply))

    assert (reply.status, b"database" in reply.content) == (500, False)


@whole_and_streamed
@pytest.mark.parametrize("via", OTHERS)
def test_an_answer_names_the_response_that_it_continues(via: str, is_streaming: bool) -> None:
    """A program finds the conversation of an answer by this field."""
    client = sdk_of("responses", gateway_over(relay_of(["one", "two"]), via=via, memory=fb.InMemoryStore()))

    async def converse() -> Any:
        first = await ask(client, is_streaming, input="a")
        return first, await ask(client, is_streaming, input="b", previous_response_id=first.id)

    first, second = asyncio.run(converse())

    assert (first.previous_response_id, second.previous_response_id) == (None, first.id)


def test_every_event_with_a_response_names_the_one_that_it_continues() -> None:
    """Some programs read only ``response.created``."""
    app = gateway_over(relay_of(["one", "two"]), via="messages", memory=fb.InMemoryStore())
    first = json.loads(post(app, "responses").content)["id"]

    reply = post(app, "responses", is_streaming=True, previous_response_id=first)

    events = [json.loads(line[6:]) for line in reply.content.decode().splitlines() if line.startswith("data: {")]
    named = {event["type"]: event["response"]["previous_response_id"] for event in events if "response" in event}
    assert named == dict.fromkeys(["response.created", "response.in_progress", "response.completed"], first)


def test_a_tool_result_finds_its_call() -> None:
    """The second turn of an agent has only the result."""
    relay = relay_of([Answer(tool_calls=[ToolCall("get_weather", {"city": "Rome"})]), "sunny"])
    client = sdk_of("responses", gateway_over(relay, via="messages", memory=fb.InMemoryStore()))
    tool: Any = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": False}

    async def converse() -> Any:
        first = await ask(client, False, input="Rome?", tools=[tool])
        result = {"type": "function_call_output", "call_id": first.output[-1].call_id, "output": "25 degrees"}
        return await ask(client, False, input=[result], tools=[tool], previous_response_id=first.id)

    assert asyncio.run(converse()).output_text == "sunny"
    blocks = [block for turn in relay.requests[1].body["messages"] for block in _blocks(turn["content"])]
    assert [block["type"] for block in blocks] == ["text", "tool_use", "tool_result"]


def test_an_item_reference_is_replaced_by_its_item() -> None:
    """OpenAI's agents send the ids of earlier items."""
    relay = relay_of(["one", "two"])
    client = sdk_of("responses", gateway_over(relay, via="messages", memory=fb.InMemoryStore()))

    async def converse() -> None:
        first = await ask(client, False, input="a")
        reference = {"type": "item_reference", "id": first.output[0].id}
        await ask(client, False, input=[{"role": "user", "content": "a"}, reference, {"role": "user", "content": "b"}])

    asyncio.run(converse())

    assert texts_of(relay, 1) == ["a", "one", "b"]


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"previous_response_id": "resp_x"}, 400, "previous_response_not_found"),
        ({"input": [{"type": "item_reference", "id": "msg_x"}]}, 404, "item_not_found"),
    ],
)
@whole_and_streamed
def test_an_unknown_reference_is_an_error(fields: dict[str, Any], status: int, code: str, is_streaming: bool) -> None:
    """A model would answer without the conversation."""
    relay = relay_of()

    app = gateway_over(relay, via="messages", memory=fb.InMemoryStore())
    reply = post(app, "responses", is_streaming=is_streaming, **fields)

    error = json.loads(reply.content)["error"]
    assert (reply.status, error["code"], relay.requests) == (status, code, [])
    assert error["param"] in fields


def test_a_caller_cannot_continue_the_conversation_of_another() -> None:
    """Ids of answers are no secrets."""
    relay = relay_of(["one", "two"])
    app = gateway_over(relay, via="messages", memory=fb.InMemoryStore())

    async def converse() -> None:
        first = await ask(sdk_of("responses", app), False, input="a")
        with pytest.raises(official_sdks.openai.BadRequestError, match="not found"):
            await ask(sdk_of("responses", app, key="sk-other"), False, input="b", previous_response_id=first.id)

    asyncio.run(converse())


def test_an_answer_that_is_not_to_be_stored_is_not() -> None:
    """``store: false`` is a promise to the caller."""
    store = fb.InMemoryStore()
    app = gateway_over(relay_of(), via="messages", memory=store)

    post(app, "responses", store=False)
    post(app, "messages")
    assert len(store) == 0

    post(app, "responses")
    assert len(store) > 0


def test_an_endpoint_of_the_format_keeps_its_answers() -> None:
    """Two memories would disagree."""
    relay = relay_of(["one", "two"])
    store = fb.InMemoryStore()
    client = sdk_of("responses", gateway_over(relay, via="responses", memory=store))

    async def converse() -> Any:
        first = await ask(client, False, input="a")
        await ask(client, False, input="b", previous_response_id=first.id)
        return first.id

    assert (asyncio.run(converse()), len(store)) == (relay.requests[1].body["previous_response_id"], 0)


def test_the_key_is_not_in_the_store() -> None:
    """A store may be a database that other people read."""
    store = fb.InMemoryStore()
    app = gateway_over(relay_of(), via="messages", memory=store)

    post(app, "responses", headers={"authorization": f"Bearer {CALLER_KEY}"})

    assert CALLER_KEY not in str(store._texts)
    assert RELAY_KEY not in str(store._texts)


def test_a_store_in_memory_is_bounded() -> None:
    """It removes what was not used for the longest time."""
    store = fb.InMemoryStore(max_bytes=100)
    for name in ("a", "b"):
        store.put(name, {"x": "y" * 30})
    assert store.get("a") is not None

    store.put("c", {"x": "y" * 30})

    assert [name for name in "abc" if store.get(name) is not None] == ["a", "c"]
    assert "2 objects" in repr(store)
    with pytest.raises(fb.ConfigurationError, match="max_bytes"):
        fb.InMemoryStore(max_bytes=0)


@whole_and_streamed
def test_an_exception_of_a_store_does_not_change_the_answer(is_streaming: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The answer has been paid for."""

    class Failing(fb.InMemoryStore):
        def put(self, id: str, value: dict[str, Any]) -> None:
            raise OSError(f"no space for {len(value)} fields of {len(id)} characters")

    reply = post(gateway_over(relay_of("one"), via="messages", memory=Failing()), "responses", is_streaming=is_streaming)

    assert (reply.status, reply.is_complete) == (200, True)
    assert b"one" in reply.content
    assert "the memory raised" in caplog.text
