"""Conversions of streams by litellm, one function for each direction: the iterators behind its calls.

A call has two steps: the iterator of a provider returns chunks of chat_completions, and an adapter converts such chunks to another format.
The ``CustomStreamWrapper`` between them is left out, because it needs the logging of a call. Directions that need both steps are left out
too. This module is imported only if litellm is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import litellm
from litellm import ModelResponseStream
from litellm.completion_extras.litellm_responses_transformation.transformation import OpenAiResponsesToChatCompletionStreamIterator
from litellm.google_genai.adapters.transformation import GoogleGenAIStreamWrapper
from litellm.llms.anthropic.chat.handler import ModelResponseIterator as MessagesIterator
from litellm.llms.anthropic.pass_through.adapters.streaming_iterator import AnthropicStreamWrapper
from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import ModelResponseIterator as GenerateContentIterator
from litellm.responses.litellm_completion_transformation.streaming_iterator import LiteLLMCompletionStreamingIterator

from benchmarks.bodies import MODEL
from benchmarks.stream_content import StreamConversion, events_of, framed
from benchmarks.streams import DONE

litellm.suppress_debug_info = True  # it prints a hint for each model that it does not know


class _Chunks:
    """The chunks of a chat_completions stream, as the adapters of litellm read them."""

    logging_obj: Any = None

    def __init__(self, reads: Iterable[bytes]) -> None:
        self._events = events_of(reads)

    def __iter__(self) -> Iterator[ModelResponseStream]:
        return self

    def __next__(self) -> ModelResponseStream:
        return ModelResponseStream(**next(self._events))


def _written(chunks: Iterable[Any]) -> bytes:
    """Write chunks as the server of litellm does."""
    return b"".join(
        [*(f"data: {chunk.model_dump_json(exclude_none=True, exclude_unset=True)}\n\n".encode() for chunk in chunks), DONE]
    )


def chat_to_messages(reads: Iterable[bytes]) -> bytes:
    """Convert by the adapter of ``litellm.anthropic.messages``."""
    return b"".join(AnthropicStreamWrapper(_Chunks(reads), MODEL).anthropic_sse_wrapper())


def chat_to_responses(reads: Iterable[bytes]) -> bytes:
    """Convert by the bridge of ``litellm.responses``."""
    converted = []
    for event in LiteLLMCompletionStreamingIterator(MODEL, _Chunks(reads), "", {}):
        data = event.model_dump_json(exclude_none=True)
        converted.append(f"event: {event.type.value}\ndata: {data}\n\n".encode())
    return b"".join(converted)


def chat_to_generate(reads: Iterable[bytes]) -> bytes:
    """Convert by the adapter of ``litellm.google_genai.generate_content_stream``."""
    return framed("generate_content", GoogleGenAIStreamWrapper(_Chunks(reads)))


def messages_to_chat(reads: Iterable[bytes]) -> bytes:
    """Convert by the iterator of ``litellm.completion("anthropic/…")``."""
    return _written(MessagesIterator(iter(reads), sync_stream=True))


def responses_to_chat(reads: Iterable[bytes]) -> bytes:
    """Convert by the iterator of ``litellm.completion("openai/responses/…")``."""
    return _written(OpenAiResponsesToChatCompletionStreamIterator(iter(reads), sync_stream=True))


def generate_to_chat(reads: Iterable[bytes]) -> bytes:
    """Convert by the iterator of ``litellm.completion("gemini/…")``, which reads text line by line."""
    lines = (read.decode().strip() for read in reads)
    return _written(GenerateContentIterator(lines, sync_stream=True, logging_obj=SimpleNamespace(optional_params={})))


STREAMS: dict[tuple[str, str], StreamConversion] = {
    ("chat_completions", "messages"): chat_to_messages,
    ("messages", "chat_completions"): messages_to_chat,
    ("chat_completions", "responses"): chat_to_responses,
    ("responses", "chat_completions"): responses_to_chat,
    ("chat_completions", "generate_content"): chat_to_generate,
    ("generate_content", "chat_completions"): generate_to_chat,
}
"""Source and target to the conversion."""
