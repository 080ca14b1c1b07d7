"""The official SDKs as readers of a whole exchange: each asks in its format, and all return the same summary."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest

anthropic = pytest.importorskip("anthropic")
genai = pytest.importorskip("google.genai")
openai = pytest.importorskip("openai")

MODEL = "m-large"
AWKWARD_IDS = ("qwen3:8b", "deepseek/r1", "openai/gpt-oss:120b", "ft:gpt-4o:org::abc", "accounts/fireworks/models/glm-5p1")
QUESTION = "What is the weather in Rome?"
TURN = [{"role": "user", "content": QUESTION}]


class SdkAnswer(NamedTuple):
    """The answer that an SDK returned: visible text, tool calls with their arguments, and tokens of input (with cached ones) and output."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    input: int
    output: int


def sdk(format: str, base_url: str, key: str, http_client: Any) -> Any:
    """Return the official client of a format, sync or async like the HTTP client, without retries."""
    is_async = type(http_client).__name__.startswith("Async")
    match format:
        case "chat_completions" | "responses":
            kind = openai.AsyncOpenAI if is_async else openai.OpenAI
            return kind(base_url=f"{base_url}/v1", api_key=key, http_client=http_client, max_retries=0)
        case "messages":
            kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
            return kind(base_url=base_url, api_key=key, http_client=http_client, max_retries=0)
        case _:
            slot = "httpx_async_client" if is_async else "httpx_client"
            options = genai.types.HttpOptions(
                base_url=base_url,
                api_version="v1beta",
                retry_options=genai.types.HttpRetryOptions(attempts=1),
                client_args={"verify": _tls()},
                async_client_args={"verify": _tls(), "ssl": _tls()},
                **{slot: http_client},
            )
            client = genai.Client(api_key=key, http_options=options)
            return client.aio if is_async else client


@cache
def _tls() -> ssl.SSLContext:
    """Return the certificates for all clients of one SDK, which otherwise reads them three times for each client."""
    return ssl.create_default_context()


def ask(format: str, client: Any, *, is_streaming: bool) -> SdkAnswer:
    """Ask the question and return the answer."""
    match format, is_streaming:
        case "chat_completions", False:
            return _chat(client.chat.completions.create(model=MODEL, messages=TURN))
        case "chat_completions", True:
            with client.chat.completions.stream(model=MODEL, messages=TURN, stream_options={"include_usage": True}) as stream:
                return _chat(stream.get_final_completion())
        case "responses", False:
            return _responses(client.responses.create(model=MODEL, input=QUESTION))
        case "responses", True:
            with client.responses.stream(model=MODEL, input=QUESTION) as stream:
                return _responses(stream.get_final_response())
        case "messages", False:
            return _messages(client.messages.create(model=MODEL, max_tokens=99, messages=TURN))
        case "messages", True:
            with client.messages.stream(model=MODEL, max_tokens=99, messages=TURN) as stream:
                return _messages(stream.get_final_message())
        case _, False:
            return _generate([client.models.generate_content(model=MODEL, contents=QUESTION)])
        case _:
            return _generate(list(client.models.generate_content_stream(model=MODEL, contents=QUESTION)))


async def ask_async(format: str, client: Any, *, is_streaming: bool) -> SdkAnswer:
    """Ask the question and return the answer, as ``ask`` does."""
    match format, is_streaming:
        case "chat_completions", False:
            return _chat(await client.chat.completions.create(model=MODEL, messages=TURN))
        case "chat_completions", True:
            usage = {"include_usage": True}
            async with client.chat.completions.stream(model=MODEL, messages=TURN, stream_options=usage) as stream:
                return _chat(await stream.get_final_completion())
        case "responses", False:
            return _responses(await client.responses.create(model=MODEL, input=QUESTION))
        case "responses", True:
            async with client.responses.stream(model=MODEL, input=QUESTION) as stream:
                return _responses(await stream.get_final_response())
        case "messages", False:
            return _messages(await client.messages.create(model=MODEL, max_tokens=99, messages=TURN))
        case "messages", True:
            async with client.messages.stream(model=MODEL, max_tokens=99, messages=TURN) as stream:
                return _messages(await stream.get_final_message())
        case _, False:
            return _generate([await client.models.generate_content(model=MODEL, contents=QUESTION)])
        case _:
            stream = await client.models.generate_content_stream(model=MODEL, contents=QUESTION)
            return _generate([chunk async for chunk in stream])


def count(format: str, client: Any) -> int:
    """Count the tokens of the question with the method of the SDK."""
    return _counted(_count_call(format, client))


async def count_async(format: str, client: Any) -> int:
    """Count the tokens of the question with the method of the async SDK."""
    return _counted(await _count_call(format, client))


def _count_call(format: str, client: Any) -> Any:
    """Call the method of an SDK that counts tokens, which an async SDK awaits."""
    match format:
        case "messages":
            return client.messages.count_tokens(model=MODEL, messages=TURN)
        case "responses":
            return client.responses.input_tokens.count(model=MODEL, input=QUESTION)
        case _:
            return client.models.count_tokens(model=MODEL, contents=QUESTION)


def _counted(answer: Any) -> int:
    tokens: int = answer.total_tokens if hasattr(answer, "total_tokens") else answer.input_tokens
    return tokens


def model_ids(client: Any) -> list[str]:
    """Return the ids of the models that the SDK lists."""
    return [_model_id(model) for model in client.models.list()]


async def model_ids_async(format: str, client: Any) -> list[str]:
    """Return the ids of the models that the SDK lists."""
    listed: AsyncIterator[Any] = await client.models.list() if format == "generate_content" else client.models.list()
    return [_model_id(model) async for model in listed]


def _model_id(model: Any) -> str:
    name: str = model.name if hasattr(model, "supported_actions") else model.id
    return name.removeprefix("models/")


def _chat(answer: Any) -> SdkAnswer:
    message = answer.choices[0].message
    calls = ((call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ())
    return SdkAnswer(message.content or "", tuple(calls), answer.usage.prompt_tokens, answer.usage.completion_tokens)


def _responses(answer: Any) -> SdkAnswer:
    calls = ((item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call")
    return SdkAnswer(answer.output_text, tuple(calls), answer.usage.input_tokens, answer.usage.output_tokens)


def _messages(answer: Any) -> SdkAnswer:
    text = "".join(block.text for block in answer.content if block.type == "text")
    calls = ((block.name, block.input) for block in answer.content if block.type == "tool_use")
    usage = answer.usage
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return SdkAnswer(text, tuple(calls), usage.input_tokens + cached, usage.output_tokens)


def _generate(chunks: Sequence[Any]) -> SdkAnswer:
    parts = list(_parts(chunks))
    text = "".join(part.text for part in parts if part.text and not part.thought)
    calls = ((part.function_call.name, part.function_call.args) for part in parts if part.function_call)
    usage = chunks[-1].usage_metadata
    return SdkAnswer(text, tuple(calls), usage.prompt_token_count, usage.candidates_token_count)


def _parts(chunks: Sequence[Any]) -> Iterator[Any]:
    for chunk in chunks:
        yield from chunk.candidates[0].content.parts or ()
