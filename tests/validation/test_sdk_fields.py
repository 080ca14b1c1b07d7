"""The wire models have every field of the official SDKs' types.

A failure after an SDK's update shows a change of the format: add the field to the models, or state here why it is not sent.
"""

import dataclasses
import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal, Required, TypedDict

import pytest
from pydantic import ConfigDict, create_model

from formatbridge.validation.wire_base import Open, Unknown, Wire
from tests.support import sdk_types, sdk_walk

KNOWN_EXTRAS: dict[str, str] = {
    "messages.Request.betas": "travels as an HTTP header",
    "messages.Request.user_profile_id": "travels as an HTTP header",
    "messages.Request.workspace_id": "travels as an HTTP header",
    "messages.CountRequest.betas": "travels as an HTTP header",
    "messages.CountRequest.user_profile_id": "travels as an HTTP header",
    "messages.CountRequest.workspace_id": "travels as an HTTP header",
    "generate_content.CountRequest.httpOptions": "set for the transport of the SDK",
    "generate_content.CountResponse.sdkHttpResponse": "added by the transport of the SDK",
    "generate_content.Request.httpOptions": "set for the transport of the SDK",
    "generate_content.Request.shouldReturnHttpResponse": "set for the transport of the SDK",
    "generate_content.Request.automaticFunctionCalling": "a loop that the SDK runs itself",
    "generate_content.Request.automaticContinuation": "a loop that the SDK runs itself",
    "generate_content.Response.sdkHttpResponse": "added by the transport of the SDK",
    "generate_content.Response.automaticFunctionCallingHistory": "a loop that the SDK runs itself",
    "generate_content.Response.parsed": "created by the SDK from the text",
    "generate_content.StreamEvent.sdkHttpResponse": "added by the transport of the SDK",
    "generate_content.StreamEvent.automaticFunctionCallingHistory": "a loop that the SDK runs itself",
    "generate_content.StreamEvent.parsed": "created by the SDK from the text",
    "generate_content.ModelList.sdkHttpResponse": "added by the transport of the SDK",
    "generate_content.Model.endpoints": "travels as deployedModels",
    "generate_content.Model.supportedActions": "travels as supportedGenerationMethods",
    "generate_content.Model.tunedModelInfo": "created by the SDK from the model's labels and times",
}
"""Fields of an SDK's types that the wire models leave out, each with its reason."""

FREE_FORM: dict[str, str] = {"messages.FunctionTool.input_schema": "a JSON Schema, never looked into"}
"""Places that an SDK types and the wire models leave free, each with its reason."""

Roots = Iterator[tuple[str, Any]]
"""Names of a wire module, and the SDK's annotations that they are compared with."""


def chat_completions() -> Roots:
    from openai.types import Model, chat
    from openai.types.chat import completion_create_params as params

    yield "Request", params.CompletionCreateParamsNonStreaming
    yield "Request", params.CompletionCreateParamsStreaming
    yield "Response", chat.ChatCompletion
    yield "ModelList", _model("Page", {"data": list[Model]})
    yield "StreamEvent", chat.ChatCompletionChunk


def messages() -> Roots:
    from anthropic import types
    from anthropic.types import beta

    yield "Request", types.message_create_params.MessageCreateParamsNonStreaming
    yield "Request", types.message_create_params.MessageCreateParamsStreaming
    yield "Request", beta.message_create_params.MessageCreateParamsNonStreaming
    yield "Request", beta.message_create_params.MessageCreateParamsStreaming
    yield "CountRequest", types.message_count_tokens_params.MessageCountTokensParams
    yield "CountRequest", beta.message_count_tokens_params.MessageCountTokensParams
    yield "CountResponse", types.MessageTokensCount
    yield "CountResponse", beta.BetaMessageTokensCount
    yield "Response", types.Message
    yield "Response", beta.BetaMessage
    yield "ModelList", _model("Page", {"data": list[types.ModelInfo]})
    yield "ModelList", _model("Page", {"data": list[beta.BetaModelInfo]})
    yield "StreamEvent", types.RawMessageStreamEvent
    yield "StreamEvent", beta.BetaRawMessageStreamEvent


def responses() -> Roots:
    from openai.types import Model
    from openai.types import responses as types

    yield "Request", types.response_create_params.ResponseCreateParamsNonStreaming
    yield "Request", types.response_create_params.ResponseCreateParamsStreaming
    yield "CountRequest", types.input_token_count_params.InputTokenCountParams
    yield "CountResponse", types.InputTokenCountResponse
    yield "Response", types.Response
    yield "ModelList", _model("Page", {"data": list[Model]})
    yield "StreamEvent", types.ResponseStreamEvent


def generate_content() -> Roots:
    from google.genai import types

    yield "Request", _generate_content_request()
    retyped = {"systemInstruction": types.Content, "tools": list[types.Tool]}
    config = {field.name: field.annotation for field in sdk_types.fields(types.CountTokensConfig)} | retyped
    yield "CountRequest", _model("CountRequest", {"contents": list[types.Content], **config})
    yield "CountResponse", types.CountTokensResponse
    yield "Response", types.GenerateContentResponse
    yield "ModelList", types.ListModelsResponse
    yield "StreamEvent", types.GenerateContentResponse


def _generate_content_request() -> Any:
    """Create the type of a request from the SDK's config, which is flat: some fields are at the top level, the others one level below."""
    from google.genai import types

    retyped = {"systemInstruction": types.Content, "tools": list[types.Tool]}
    top_level = {"safetySettings", "toolConfig", "labels", "cachedContent", "modelArmorConfig", "serviceTier", "store"}
    top_level |= {"continuationToken", "generationOutputConfig", *retyped}
    top_level |= {"httpOptions", "shouldReturnHttpResponse", "automaticFunctionCalling", "automaticContinuation"}
    config = {field.name: field.annotation for field in sdk_types.fields(types.GenerateContentConfig)} | retyped
    nested = {field.name: field.annotation for field in sdk_types.fields(types.GenerationConfig)}
    nested = {name: hint for name, hint in config.items() if name not in top_level} | nested
    top = {name: config[name] for name in sorted(top_level)}
    top["outputConfig"] = top.pop("generationOutputConfig")
    generation_config = _model("GenerationConfig", nested)
    return _model("Request", {"contents": list[types.Content], "generationConfig": generation_config, **top})


def _model(name: str, annotations: dict[str, Any]) -> Any:
    """Create a model from wire names and annotations; it is read, and not used for validation."""
    entries: dict[str, Any] = {key: (hint, None) for key, hint in annotations.items()}
    return create_model(name, __config__=ConfigDict(defer_build=True, arbitrary_types_allowed=True), **entries)


FORMATS: dict[str, tuple[str, Callable[[], Roots]]] = {
    "chat_completions": ("openai", chat_completions),
    "messages": ("anthropic", messages),
    "responses": ("openai", responses),
    "generate_content": ("google.genai", generate_content),
}
"""Each format's SDK and roots."""


@pytest.mark.parametrize("format_name", FORMATS)
def test_models_have_every_field_of_the_sdk_types(format_name: str) -> None:
    """A conversion would not read a field that only an SDK has."""
    findings = _findings(format_name, of_streams=False)

    assert not _unexcused(findings), _listed(findings)


@pytest.mark.parametrize("format_name", FORMATS)
def test_stream_events_have_every_field_of_the_sdk_types(format_name: str) -> None:
    """A stream would pass on an event or delta that only an SDK has."""
    findings = _findings(format_name, of_streams=True)

    assert not _unexcused(findings), _listed(findings)


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_exception_is_still_needed(format_name: str) -> None:
    """An exception is removed when the models have the field, or the SDK has not."""
    findings = [*_findings(format_name, of_streams=False), *_findings(format_name, of_streams=True)]

    excuses = {place for place in KNOWN_EXTRAS | FREE_FORM if place.startswith(f"{format_name}.")}
    assert excuses <= {finding.place for finding in findings}


@functools.cache
def _findings(format_name: str, *, of_streams: bool) -> tuple[sdk_walk.Finding, ...]:
    sdk, roots = FORMATS[format_name]
    pytest.importorskip(sdk, reason=f"the official SDK {sdk!r} is not installed")
    wire = importlib.import_module(f"formatbridge.formats.{format_name}.wire")
    wanted = [(name, hint) for name, hint in roots() if (name == "StreamEvent") == of_streams]
    missing = sdk_walk.walk((name, hint, getattr(wire, name)) for name, hint in wanted)
    return tuple(dataclasses.replace(finding, place=f"{format_name}.{finding.place}") for finding in missing)


def _unexcused(findings: Iterable[sdk_walk.Finding]) -> list[sdk_walk.Finding]:
    return [finding for finding in findings if finding.place not in KNOWN_EXTRAS | FREE_FORM]


def _listed(findings: Iterable[sdk_walk.Finding]) -> str:
    return "\n".join(map(str, _unexcused(findings)))


class SdkText(TypedDict, total=False):
    type: Required[Literal["text"]]
    text: Required[str | None]


class SdkImage(TypedDict, total=False):
    type: Required[Literal["image", "image_v2"]]
    size: int


class SdkBody(TypedDict, total=False):
    parts: Iterable[SdkText | SdkImage]


class Text(Wire):
    type: Literal["text"]
    text: str | None


class Deaf(Wire):
    type: Literal["text"]


class Strict(Wire):
    type: Literal["text"]
    text: str


class Image(Wire):
    type: Literal["image", "image_v2"]
    size: float | None = None


class HalfImage(Wire):
    type: Literal["image"]
    size: int | None = None


class Whole(Wire):
    parts: list[Annotated[Text | Image | Unknown, Open("type")]]


class LacksField(Wire):
    parts: list[Annotated[Deaf | Image | Unknown, Open("type")]]


class LacksMember(Wire):
    parts: list[Annotated[Text | Unknown, Open("type")]]


class LacksTag(Wire):
    parts: list[Annotated[Text | HalfImage | Unknown, Open("type")]]


class LacksNull(Wire):
    parts: list[Annotated[Strict | Image | Unknown, Open("type")]]


class LacksArray(Wire):
    parts: Annotated[Text | Image | Unknown, Open("type")]


class Untyped(Wire):
    parts: list[dict[str, Any]]


@pytest.mark.parametrize(
    ("ours", "findings"),
    [
        (Whole, []),
        (LacksField, ["Deaf.text: unknown field"]),
        (LacksMember, ["LacksMember.parts(type=image): no such member", "LacksMember.parts(type=image_v2): no such member"]),
        (LacksTag, ["LacksTag.parts(type=image_v2): no such member"]),
        (LacksNull, ["Strict.text: takes no null"]),
        (LacksArray, ["LacksArray.parts: takes no array"]),
        (Untyped, ["Untyped.parts: free-form, typed in the SDK: SdkImage, SdkText"]),
    ],
)
def test_fields_that_only_the_sdk_has_are_listed(ours: type[Wire], findings: list[str]) -> None:
    """The test fails if the walk misses a place; otherwise the comparison with the SDKs would prove nothing."""
    missing = sdk_walk.walk([("Body", SdkBody, ours)])

    assert [f"{finding.place}: {finding.trouble}" for finding in missing] == findings


class Tool(Wire):
    type: Literal["custom"] | None = None


class Other(Wire):
    type: Literal["other"]


class SdkTool(TypedDict, total=False):
    type: Literal["custom"] | None


def test_an_object_without_its_tag_requires_a_default_member_of_the_union() -> None:
    """A user of an SDK may leave an optional tag out; a union without a member for that would not read the object."""
    named, unnamed = Annotated[Tool | Other, Open("type", absent="custom")], Annotated[Tool | Other, Open("type")]

    assert sdk_walk.walk([("Tool", SdkTool, named)]) == []
    assert [finding.place for finding in sdk_walk.walk([("Tool", SdkTool, unnamed)])] == ["Tool(type=None)"]
