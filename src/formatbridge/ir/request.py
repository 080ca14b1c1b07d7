"""The canonical request: a conversation, tools, and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast, get_args

from typing_extensions import TypedDict

from formatbridge.ir.parts import FormatName, Number, Part
from formatbridge.ir.tools import Tool
from formatbridge.jsontext.types import JsonObject

Role = Literal["system", "developer", "user", "assistant", "tool"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORT_ORDER: tuple[Effort, ...] = get_args(Effort)
"""The efforts, the lowest first."""


@dataclass(slots=True)
class Message:
    """One message of the conversation. Instructions are messages at any position; the leading ones are the system prompt.

    ``effort`` and ``tools``: a change of the configuration from this message on, where the format has such changes.
    """

    role: Role
    parts: list[Part]
    src: str = ""
    extra: JsonObject | None = None
    effort: Effort | None = None
    tools: list[Tool] | None = None


@dataclass(slots=True, kw_only=True)
class ToolChoice:
    """Which tools the model may or must call.

    Modes: ``named``: it must call ``names[0]``. ``allowed``: only the tools in ``names``; ``allowed_mode`` states whether
    it must call one.
    ``validated``: it may call any tool, and arguments must match their schemas. ``hosted``: a server tool of kind ``names[0]``.
    ``namespaces`` is parallel to ``names``, where tools have namespaces. ``second_src`` is the pointer of the name if the mode has a
    separate pointer, because the object of both has another setting, too. The field ``hosted`` lists the allowed kinds of server tools and
    labels of MCP servers, or the chosen one if it is the only entry. ``always_allowed`` lists server tools that stay available if only some
    functions are allowed.
    """

    mode: Literal["auto", "none", "required", "named", "allowed", "validated", "hosted"]
    names: list[str] = field(default_factory=list)
    namespaces: list[str | None] | None = None
    hosted: list[str] = field(default_factory=list)
    always_allowed: list[str] = field(default_factory=list)
    allowed_mode: Literal["auto", "required"] = "required"
    src: str = ""
    second_src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class ReasoningConfig:
    """How much the model reasons, and how much of the reasoning the answer shows.

    ``mode``: ``off``, ``on`` (with a ``budget`` in tokens), ``adaptive`` (the model decides), ``between_tools``.
    ``visibility``: ``hide``, ``auto``, ``concise``, ``detailed``.
    """

    mode: Literal["off", "on", "adaptive", "between_tools"] | None = None
    effort: Effort | None = None
    budget: int | None = None
    visibility: Literal["hide", "auto", "concise", "detailed"] | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class OutputFormat:
    """The required format of the answer. ``strict`` None: not set."""

    type: Literal["text", "json_object", "json_schema"]
    schema: JsonObject | None = None
    name: str | None = None
    description: str | None = None
    strict: bool | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class AudioOutput:
    """The voice and audio format of audio output.

    ``voice`` is a name or an object of the source format. ``voice_vendor``: whose voice it is, such as ``google``; None: OpenAI's, whose
    names most servers accept.
    """

    voice: str | JsonObject | None = None
    format: str | None = None
    language: str | None = None
    src: str = ""
    extra: JsonObject | None = None
    voice_vendor: str | None = None


@dataclass(slots=True, kw_only=True)
class ImageOutput:
    """The size of image output. ``aspect_ratio`` is width:height, ``size`` a label such as ``2K``."""

    aspect_ratio: str | None = None
    size: str | None = None
    src: str = ""
    extra: JsonObject | None = None


class Settings(TypedDict, total=False):
    """Flat settings that at least two formats share; an absent key is not set. Units: tokens for limits, 0..1 or 0..2 for sampling.

    ``compact_at``: input tokens from which the server compacts the conversation; None: the server's default.
    """

    temperature: Number
    top_p: Number
    top_k: Number
    seed: int
    presence_penalty: Number
    frequency_penalty: Number
    logprobs: bool
    top_logprobs: int
    n: int
    stop: list[str]
    max_tokens: int
    parallel_tool_calls: bool
    modalities: list[str]
    tier: str
    additional_tier: str
    user: str
    safety_identifier: str
    metadata: dict[str, str]
    verbosity: str
    store: bool
    moderation: JsonObject
    prompt_cache_key: str
    prompt_cache_options: JsonObject
    prompt_cache_retention: str
    automatic_cache: JsonObject
    compact_at: int | None
    stream_options: JsonObject
    usage_in_stream: bool


class _InOrder:
    """Keeps settings in the order of their body when pydantic reads them from storage; its default is the order of the fields."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema  # needed only to store requests

        return core_schema.no_info_wrap_validator_function(_in_order, handler(source))


def _in_order(raw: Any, validate: Callable[[Any], Any]) -> JsonObject:
    settings = validate(raw)
    return {name: settings[name] for name in raw if name in settings}


@dataclass(slots=True)
class Request:
    """A whole request, independent of its source format.

    ``settings`` holds the flat values; ``extra`` the unmodelled fields of the source format, by pointer. ``continues_last_turn``: the
    source's server continues the text of a final turn of the model (prefill). ``has_calls`` and ``has_added_tools`` are false if it is
    certain that the messages have neither calls nor results, and that no message adds tools: then some steps have nothing to do.
    """

    format: FormatName
    model: str | None
    stream: bool
    messages: list[Message]
    tools: list[Tool] = field(default_factory=list)
    tool_choice: ToolChoice | None = None
    reasoning: ReasoningConfig | None = None
    output_format: OutputFormat | None = None
    audio: AudioOutput | None = None
    image: ImageOutput | None = None
    settings: Annotated[Settings, _InOrder()] = field(
        default_factory=cast("type[Settings]", dict)
    )  # calling ``Settings`` costs more than calling ``dict``
    src: str = ""
    extra: JsonObject | None = None
    continues_last_turn: bool = False
    has_calls: bool = True
    has_added_tools: bool = True
