"""Conversions of documents by litellm, one function for each direction: the part of its calls that changes a body.

Its classes take the parts of a body one by one, as its handlers do. This module is imported only if litellm is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import litellm
from litellm import AnthropicConfig, GoogleAIStudioGeminiConfig, ModelResponse
from litellm.completion_extras.litellm_responses_transformation.transformation import LiteLLMResponsesTransformationHandler
from litellm.google_genai.adapters import GoogleGenAIAdapter
from litellm.llms.anthropic.pass_through.adapters import LiteLLMAnthropicMessagesAdapter
from litellm.llms.vertex_ai.gemini.transformation import transform_request_body
from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig
from litellm.types.llms.openai import ResponsesAPIResponse

JsonObject = dict[str, Any]

litellm.suppress_debug_info = True  # otherwise it prints a hint for each model that it does not know

GEMINI = "gemini-2.5-pro"
"""litellm looks up the features of a model, so these directions need a Gemini model."""

HEADERS_ONLY = httpx.Response(200)
"""Its decoders read the headers of the HTTP response."""


def _split(body: JsonObject) -> tuple[str, list[Any], JsonObject]:
    """Return model, messages and settings of a request."""
    settings = {key: value for key, value in body.items() if key not in ("model", "messages")}
    return body["model"], body["messages"], settings


def request_chat_to_messages(body: JsonObject) -> JsonObject:
    """Convert by the configuration of ``litellm.completion("anthropic/…")``."""
    model, messages, settings = _split(body)
    config = AnthropicConfig()
    mapped = config.map_openai_params(settings, {}, model, True)
    return config.transform_request(model, messages, mapped, {}, {})


def request_messages_to_chat(body: JsonObject) -> JsonObject:
    """Convert by the adapter of ``litellm.anthropic.messages``."""
    return dict(LiteLLMAnthropicMessagesAdapter().translate_anthropic_to_openai(body)[0])


def request_chat_to_responses(body: JsonObject) -> JsonObject:
    """Convert by the bridge of ``litellm.completion("openai/responses/…")``."""
    model, messages, settings = _split(body)
    converted = LiteLLMResponsesTransformationHandler().transform_request(model, messages, settings, {}, {}, SimpleNamespace())
    return {key: value for key, value in converted.items() if key not in ("litellm_logging_obj", "client")}


def request_responses_to_chat(body: JsonObject) -> JsonObject:
    """Convert by the bridge of ``litellm.responses``."""
    settings = {key: value for key, value in body.items() if key not in ("model", "input")}
    config = LiteLLMCompletionResponsesConfig
    return config.transform_responses_api_request_to_chat_completion_request(body["model"], body["input"], settings)


def request_chat_to_generate(body: JsonObject) -> JsonObject:
    """Convert by the configuration of ``litellm.completion("gemini/…")``."""
    _, messages, settings = _split(body)
    mapped = GoogleAIStudioGeminiConfig().map_openai_params(settings, {}, GEMINI, True)
    converted = transform_request_body(
        messages=messages,
        model=GEMINI,
        optional_params=mapped,
        custom_llm_provider="gemini",
        litellm_params={},
        cached_content=None,
    )
    return dict(converted)


def request_generate_to_chat(body: JsonObject) -> JsonObject:
    """Convert by the adapter of ``litellm.google_genai.generate_content``."""
    others = {key: value for key, value in body.items() if key not in ("contents", "generationConfig")}
    config = body.get("generationConfig")
    return GoogleGenAIAdapter().translate_generate_content_to_completion(GEMINI, body["contents"], config, **others)


def response_chat_to_messages(body: JsonObject) -> JsonObject:
    """Convert by the adapter of ``litellm.anthropic.messages``."""
    return dict(LiteLLMAnthropicMessagesAdapter().translate_openai_response_to_anthropic(ModelResponse(**body)))


def response_messages_to_chat(body: JsonObject) -> JsonObject:
    """Convert by the configuration of ``litellm.completion("anthropic/…")``."""
    return AnthropicConfig().transform_parsed_response(body, HEADERS_ONLY, ModelResponse()).model_dump()


def response_chat_to_responses(body: JsonObject) -> JsonObject:
    """Convert by the bridge of ``litellm.responses``."""
    convert = LiteLLMCompletionResponsesConfig.transform_chat_completion_response_to_responses_api_response
    return convert("", {}, ModelResponse(**body)).model_dump(exclude_none=True)


def response_responses_to_chat(body: JsonObject) -> JsonObject:
    """Convert by the bridge of ``litellm.completion("openai/responses/…")``."""
    convert = LiteLLMResponsesTransformationHandler().transform_response
    answer = ResponsesAPIResponse(**body)
    return convert(body["model"], answer, ModelResponse(), SimpleNamespace(), {}, [], {}, {}, None).model_dump()


def response_chat_to_generate(body: JsonObject) -> JsonObject:
    """Convert by the adapter of ``litellm.google_genai.generate_content``."""
    return dict(GoogleGenAIAdapter().translate_completion_to_generate_content(ModelResponse(**body)))


def response_generate_to_chat(body: JsonObject) -> JsonObject:
    """Convert by the configuration of ``litellm.completion("gemini/…")``."""
    convert = GoogleAIStudioGeminiConfig().transform_google_generate_content_to_openai_model_response
    return convert(body, ModelResponse(), GEMINI, SimpleNamespace(optional_params={}, litellm_params={}), HEADERS_ONLY).model_dump()


CHANGES: dict[tuple[str, str, str], Callable[[JsonObject], JsonObject]] = {
    ("request", "chat_completions", "messages"): request_chat_to_messages,
    ("request", "messages", "chat_completions"): request_messages_to_chat,
    ("request", "chat_completions", "responses"): request_chat_to_responses,
    ("request", "responses", "chat_completions"): request_responses_to_chat,
    ("request", "chat_completions", "generate_content"): request_chat_to_generate,
    ("request", "generate_content", "chat_completions"): request_generate_to_chat,
    ("response", "chat_completions", "messages"): response_chat_to_messages,
    ("response", "messages", "chat_completions"): response_messages_to_chat,
    ("response", "chat_completions", "responses"): response_chat_to_responses,
    ("response", "responses", "chat_completions"): response_responses_to_chat,
    ("response", "chat_completions", "generate_content"): response_chat_to_generate,
    ("response", "generate_content", "chat_completions"): response_generate_to_chat,
}
"""Kind of document, source and target to the conversion."""
