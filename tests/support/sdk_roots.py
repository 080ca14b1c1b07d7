"""The official SDKs' types of whole bodies: for each format the types of requests, answers, errors and lists."""

from functools import cache
from typing import Any

import typing_extensions
from pydantic import ConfigDict, create_model

from tests.support import sdk_types

SDKS = {"chat_completions": "openai", "messages": "anthropic", "responses": "openai", "generate_content": "google.genai"}
"""The package with the types of each format."""

KINDS = ("request", "response", "error", "models")

COUNT_KINDS = ("count_request", "count_response")
"""Kinds of bodies that chat_completions does not have."""

HEADERS = {"betas", "user_profile_id", "workspace_id"}
"""Fields of the messages parameters that are HTTP headers, so that a body has no place for them."""

GENERATE_CONTENT_TOP_LEVEL = {
    "safetySettings",
    "toolConfig",
    "labels",
    "cachedContent",
    "modelArmorConfig",
    "serviceTier",
    "store",
    "continuationToken",
}
"""Fields of the SDK's flat config that are next to ``contents``; the others are in ``generationConfig``."""

SDK_ONLY = {
    "httpOptions",
    "shouldReturnHttpResponse",
    "automaticFunctionCalling",
    "automaticContinuation",
    "sdkHttpResponse",
    "automaticFunctionCallingHistory",
    "parsed",
}
"""Fields that the SDK of generate_content does not send."""


@cache
def root(format: str, kind: str, *, is_streaming: bool = False) -> Any:
    """Return the official type of a body; ``is_streaming``: the ``stream`` field of a request."""
    build = {
        "chat_completions": _chat_completions,
        "messages": _messages,
        "responses": _responses,
        "generate_content": _generate_content,
    }[format]
    return build(kind, is_streaming)


def _chat_completions(kind: str, is_streaming: bool) -> Any:
    from openai.types import chat
    from openai.types.chat import completion_create_params as params

    match kind:
        case "request" if is_streaming:
            return params.CompletionCreateParamsStreaming
        case "request":
            return params.CompletionCreateParamsNonStreaming
        case "response":
            return chat.ChatCompletion
        case _:
            return _openai(kind)


def _responses(kind: str, is_streaming: bool) -> Any:
    from openai.types import responses
    from openai.types.responses import response_create_params as params

    match kind:
        case "request" if is_streaming:
            return params.ResponseCreateParamsStreaming
        case "request":
            return params.ResponseCreateParamsNonStreaming
        case "response":
            return responses.Response
        case "count_request":
            return responses.input_token_count_params.InputTokenCountParams
        case "count_response":
            return responses.InputTokenCountResponse
        case _:
            return _openai(kind)


def _openai(kind: str) -> Any:
    from openai.types import Model
    from openai.types.shared import ErrorObject

    if kind == "error":
        return _model("Error", {"error": ErrorObject})
    return _model("Page", {"object": str, "data": list[Model]})


def _messages(kind: str, is_streaming: bool) -> Any:
    """The beta types have all fields of the stable ones, and more."""
    from anthropic.types import BetaErrorResponse, beta
    from anthropic.types.beta import message_create_params as params

    optional = {"has_more": bool | None, "first_id": str | None, "last_id": str | None}
    match kind:
        case "request" if is_streaming:
            return _without_headers(params.MessageCreateParamsStreaming)
        case "request":
            return _without_headers(params.MessageCreateParamsNonStreaming)
        case "response":
            return beta.BetaMessage
        case "count_request":
            return _without_headers(beta.message_count_tokens_params.MessageCountTokensParams)
        case "count_response":
            return beta.BetaMessageTokensCount
        case "error":
            return BetaErrorResponse
        case _:
            return _model("Page", {"data": list[beta.BetaModelInfo]}, optional)


def _without_headers(params: Any) -> Any:
    hints = typing_extensions.get_type_hints(params, include_extras=True)
    body = {name: hint for name, hint in hints.items() if name not in HEADERS}
    return typing_extensions.TypedDict("Body", body, total=False)  # type: ignore[operator]  # a type created at run time


def _generate_content(kind: str, _is_streaming: bool) -> Any:
    from google.genai import types

    match kind:
        case "request":
            return _generate_content_request()
        case "response":
            return _model("Response", {}, _annotations(types.GenerateContentResponse))
        case "count_request":  # https://ai.google.dev/api/tokens; the SDK has only contents for this server
            request = _model("WholeRequest", {"model": str}, _annotations(_generate_content_request()))
            return _model("CountRequest", {}, {"contents": list[types.Content], "generateContentRequest": request})
        case "count_response":  # the SDK reads two of the counts
            details = dict.fromkeys(("promptTokensDetails", "cacheTokensDetails"), list[types.ModalityTokenCount])
            return _model("CountResponse", {}, _annotations(types.CountTokensResponse) | details)
        case "error":
            status = {"code": int, "message": str, "status": str, "details": list[dict[str, Any]]}
            return _model("Error", {"error": _model("Status", {}, status)})  # the SDK reads errors untyped
        case _:
            return _model("Page", {}, {"models": list[_generate_content_model()], "nextPageToken": str})  # type: ignore[misc]  # a type created at run time


def _generate_content_request() -> Any:
    """Create the type of a request from the SDK's config, which is flat: some fields are at the top level, the others one level below."""
    from google.genai import types

    config = _annotations(types.GenerateContentConfig)
    replacements = {"systemInstruction": types.Content, "tools": list[types.Tool]}  # the SDK's config also takes Python values
    top = {name: config.pop(name) for name in sorted(GENERATE_CONTENT_TOP_LEVEL)} | replacements
    top["outputConfig"] = config.pop("generationOutputConfig")
    nested = {name: hint for name, hint in config.items() if name not in replacements} | _annotations(types.GenerationConfig)
    top["generationConfig"] = _model("GenerationConfig", {}, nested)
    return _model("Request", {"contents": list[types.Content]}, top)


def _generate_content_model() -> Any:
    """Create the type of a model entry: the SDK renames two fields and adds one."""
    from google.genai import types

    fields = _annotations(types.Model)
    fields["supportedGenerationMethods"] = fields.pop("supportedActions")
    fields["deployedModels"] = fields.pop("endpoints")
    del fields["tunedModelInfo"]
    return _model("Model", {}, fields)


def _annotations(model: Any) -> dict[str, Any]:
    """Return a model's fields by their wire names, without those that are never sent."""
    return {field.name: field.annotation for field in sdk_types.fields(model) if field.name not in SDK_ONLY}


def _model(name: str, required: dict[str, Any], optional: dict[str, Any] | None = None) -> Any:
    entries: dict[str, Any] = {key: (hint, ...) for key, hint in required.items()}
    entries |= {key: (hint | None, None) for key, hint in (optional or {}).items()}
    return create_model(name, __config__=ConfigDict(arbitrary_types_allowed=True, protected_namespaces=()), **entries)
