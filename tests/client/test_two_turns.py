"""Conversations of two turns with reasoning and tools, over every pair of formats, with a strict relay."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2

import formatbridge as fb
from formatbridge.testing import Answer, FakeRelay, Step, ToolCall
from tests.support import official_sdks
from tests.support.exchanges import every_pair, send, send_async, whole_and_streamed

TOKEN = "c2lnbmVk"
QUESTION = "What is the weather in Rome and in Oslo?"
TEXT = "Sunny in both."
SCRIPT: list[Step] = [
    Answer(
        reasoning="I look up both.",
        signature=TOKEN,
        tool_calls=[ToolCall("get_weather", {"city": "Rome"}), ToolCall("get_weather", {"city": "Oslo"})],
    ),
    TEXT,
]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat_completions": {
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}],
        "reasoning_effort": "low",
    },
    "messages": {
        "max_tokens": 2048,
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"name": "get_weather", "input_schema": SCHEMA}],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
    },
    "responses": {
        "input": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}],
        "reasoning": {"effort": "low"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    },
    "generate_content": {
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
        "tools": [{"functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": SCHEMA}]}],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}},
    },
}


def next_turn(format: fb.Format, request: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return a request with the answer unchanged and with the results of its calls, as a caller of the format sends them."""
    match format:
        case "chat_completions":
            message = answer["choices"][0]["message"]
            results = [{"role": "tool", "tool_call_id": call["id"], "content": "sunny"} for call in message["tool_calls"]]
            return request | {"messages": [*request["messages"], message, *results]}
        case "messages":
            calls = [block for block in answer["content"] if block["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"} for call in calls]
            turns = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": results}]
            return request | {"messages": [*request["messages"], *turns]}
        case "responses":
            calls = [item for item in answer["output"] if item["type"] == "function_call"]
            results = [{"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"} for call in calls]
            return request | {"input": [*request["input"], *answer["output"], *results]}
        case _:
            content = answer["candidates"][0]["content"]
            calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            results = [{"functionResponse": {**_named(call), "response": {"sky": "sunny"}}} for call in calls]
            return request | {"contents": [*request["contents"], content, {"role": "user", "parts": results}]}


def _named(call: dict[str, Any]) -> dict[str, Any]:
    return {key: call[key] for key in ("id", "name") if key in call}


def tokens_in(format: fb.Format, body: dict[str, Any]) -> list[Any]:
    """Return the reasoning tokens in the history of a request, from the fields that the format has for them."""
    match format:
        case "chat_completions":
            details = [detail for message in body["messages"] for detail in message.get("reasoning_details") or ()]
            return [detail[slot] for detail in details for slot in ("signature", "data") if slot in detail]
        case "messages":
            turns = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
            return [block["signature"] for blocks in turns for block in blocks if block["type"] == "thinking"]
        case "responses":
            return [item.get("encrypted_content") for item in body["input"] if item.get("type") == "reasoning"]
        case _:
            parts = [part for content in body["contents"] for part in content["parts"] if "functionCall" in part]
            return [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]


def check(relay: FakeRelay, via: fb.Format, answer: Any) -> None:
    """Check that the endpoint got both turns, accepted both, and got its token again."""
    first, second = relay.requests

    assert TEXT in json.dumps(answer)
    assert relay.steps_left == 0
    assert (first.format, second.format) == (via, via)
    assert tokens_in(via, second.body) == [TOKEN]
    assert b"fb1|" not in second.content  # no tag of this library
    assert second.content.count(b"sunny") == 2  # the results of both calls


@whole_and_streamed
@every_pair
def test_a_token_returns_through_the_client(format: fb.Format, via: Any, is_streaming: bool) -> None:
    """Reasoning continues only if its issuer gets the token unchanged, whatever the caller's format is."""
    relay = FakeRelay(SCRIPT)
    request = {"model": "m-large", **REQUESTS[format]}
    with fb.Client(relay.base_url, relay.api_key, retry=0, http_client=relay.http_client()) as client:
        first = send(client, request, format, via, is_streaming=is_streaming)
        second = send(client, next_turn(format, request, first), format, via, is_streaming=is_streaming)

    check(relay, via, second)


@whole_and_streamed
@every_pair
def test_a_token_returns_through_the_async_client(format: fb.Format, via: Any, is_streaming: bool) -> None:
    """The async driver of the same flow."""
    relay = FakeRelay(SCRIPT)
    request = {"model": "m-large", **REQUESTS[format]}

    async def exchange() -> Any:
        async with fb.AsyncClient(relay.base_url, relay.api_key, retry=0, http_client=relay.async_http_client()) as client:
            first = await send_async(client, request, format, via, is_streaming=is_streaming)
            return await send_async(client, next_turn(format, request, first), format, via, is_streaming=is_streaming)

    check(relay, via, asyncio.run(exchange()))


@whole_and_streamed
@every_pair
def test_a_token_returns_through_an_official_sdk(format: Any, via: Any, is_streaming: bool) -> None:
    """The fields that the SDK's types keep of the first answer are enough for the second request."""
    relay = FakeRelay(SCRIPT)
    transport = fb.transport(relay.base_url, relay.api_key, via=via, inner=relay)
    client = official_sdks.sdk(format, "https://vendor.test", "k", httpx2.Client(transport=transport))
    first = _ask(format, client, REQUESTS[format], is_streaming)
    second = _ask(format, client, next_turn(format, REQUESTS[format], first), is_streaming)

    check(relay, via, second)


def _ask(format: fb.Format, client: Any, request: dict[str, Any], is_streaming: bool) -> dict[str, Any]:
    """Send a request through the SDK of a format and return the answer as an object of the SDK."""
    if format == "generate_content":
        return _ask_google(client, request, is_streaming)
    endpoint = client.chat.completions if format == "chat_completions" else getattr(client, format)
    if not is_streaming:
        body: dict[str, Any] = endpoint.create(model="m-large", **request).to_dict()
        return body
    with endpoint.stream(model="m-large", **request) as stream:
        match format:
            case "chat_completions":
                body = stream.get_final_completion().to_dict()
            case "messages":
                body = stream.get_final_message().to_dict()
            case _:
                body = stream.get_final_response().to_dict()
    return body


def _ask_google(client: Any, request: dict[str, Any], is_streaming: bool) -> dict[str, Any]:
    """Send a request through the SDK of generate_content. The parts of a stream's events are joined to one content."""
    config = {"tools": request["tools"], **request["generationConfig"]}
    ask = client.models.generate_content_stream if is_streaming else client.models.generate_content
    result = ask(model="m-large", contents=request["contents"], config=config)
    events = [event.model_dump(mode="json", by_alias=True, exclude_none=True) for event in (result if is_streaming else [result])]
    parts = [part for event in events for part in event["candidates"][0]["content"].get("parts") or ()]
    return {"candidates": [{"content": {"role": "model", "parts": parts}}]}
