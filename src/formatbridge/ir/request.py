"""What a caller asks for: a conversation, tools, and how to answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

from typing_extensions import TypedDict

from formatbridge.ir.parts import FormatName, Number, Part
from formatbridge.ir.tools import Tool
from formatbridge.jsontext.types import JsonObject

Role = Literal["system", "developer", "user", "assistant", "tool"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


@dataclass(slots=True)
class Message:
    """One turn. Instructions are messages too, wherever they stand; the leading ones are the system prompt.

    ``effort`` and ``tools``: a change of configuration from here on, where a format has it.
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

    ``named``: exactly ``names[0]``; ``allowed``: among ``names``, with ``inner`` saying whether it must; ``validated``: free, with
    arguments held to their schemas; ``hosted``: a server tool of kind ``names[0]``.
    ``namespaces`` stand beside ``names`` where there are any. The field ``hosted`` has the kinds of server tools and the labels of remote
    servers that are allowed beside them, or the one that is chosen where a list has it alone; ``free`` has those that such a list neither
    forbids nor asks for, where it is of functions only.
    """

    mode: Literal["auto", "none", "required", "named", "allowed", "validated", "hosted"]
    names: list[str] = field(default_factory=list)
    namespaces: list[str | None] | None = None
    hosted: list[str] = field(default_factory=list)
    free: list[str] = field(default_factory=list)
    inner: Literal["auto", "required"] = "required"
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class ReasoningConfig:
    """How much to think, and how much of it to show.

    ``mode``: ``off``, ``on`` (with a ``budget`` in tokens), ``adaptive`` (the model decides), ``between_tools``.
    ``show``: ``hide``, ``auto``, ``concise``, ``detailed``.
    """

    mode: Literal["off", "on", "adaptive", "between_tools"] | None = None
    effort: Effort | None = None
    budget: int | None = None
    show: Literal["hide", "auto", "concise", "detailed"] | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class OutputFormat:
    """The shape that the answer must have. ``strict`` None: not said."""

    type: Literal["text", "json_object", "json_schema"]
    schema: JsonObject | None = None
    name: str | None = None
    description: str | None = None
    strict: bool | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class AudioOutput:
    """The voice and container of a spoken answer. ``voice`` is a name or the format's own object."""

    voice: str | JsonObject | None = None
    format: str | None = None
    language: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class ImageOutput:
    """The shape of a drawn answer. ``aspect_ratio`` as width:height, ``size`` a label such as ``2K``."""

    aspect_ratio: str | None = None
    size: str | None = None
    src: str = ""
    extra: JsonObject | None = None


class Settings(TypedDict, total=False):
    """Flat settings that at least two formats share; absent means not said. Units: tokens for limits, 0..1 or 0..2 for sampling.

    ``compact_at`` None: the conversation is compacted where the server thinks fit.
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
    tier_beside: str
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
    """Keeps settings in the order of their body where pydantic reads them from storage, which would take the order of the fields."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema  # only who stores needs it

        return core_schema.no_info_wrap_validator_function(_in_order, handler(source))


def _in_order(given: Any, validate: Callable[[Any], Any]) -> JsonObject:
    made = validate(given)
    return {name: made[name] for name in given if name in made}


@dataclass(slots=True)
class Request:
    """Everything a caller asks of a model, in no format's spelling.

    ``settings`` holds the flat values; ``extra`` what only the source format knows, by pointer.
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
    )  # a typed dict of its own would cost more to make
    src: str = ""
    extra: JsonObject | None = None
