"""Settings of a request, which its response repeats.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.responses.wire.content import InputPart
from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class TextFormat(Wire):
    """Plain text: the default format of output text, and of the input of a custom tool."""

    type: Literal["text"]


class JsonObjectFormat(Wire):
    """Any JSON object: the older JSON mode."""

    type: Literal["json_object"]


class JsonSchemaFormat(Wire):
    """Output as JSON that follows a schema; chat completions has these fields under ``json_schema``."""

    name: str
    """At most 64 letters, digits, underscores and dashes."""
    schema_: dict[str, Any] = Field(alias="schema")
    """``schema`` in JSON, which is the name of a method of the model's base class."""
    type: Literal["json_schema"]
    description: str | None = None
    strict: bool | None = None


OutputFormat = Annotated[TextFormat | JsonObjectFormat | JsonSchemaFormat | Unknown, Open("type")]
"""The format of the output text."""


class TextConfig(Wire):
    """The format and verbosity of the output text."""

    format: OutputFormat | None = None
    verbosity: str | None = None
    """``low``, ``medium`` or ``high``."""


class Reasoning(Wire):
    """How much the model reasons and how much of it the response contains.

    Source: official SDK types, 2026-11; specification, "POST /v1/responses", has ``summary`` only.
    """

    context: str | None = None
    """Which earlier reasoning the model sees: ``auto``, ``current_turn`` or ``all_turns``."""
    effort: str | None = None
    """``none``, ``minimal``, ``low``, ``medium``, ``high``, ``xhigh`` or ``max``."""
    generate_summary: str | None = None
    """The deprecated name of ``summary``."""
    mode: str | None = None
    """``standard`` or ``pro``; other values exist."""
    summary: str | None = None
    """``auto``, ``concise`` or ``detailed``."""


class Prompt(Wire):
    """A prompt template on the server, and the values of its variables."""

    id: str
    variables: dict[str, str | InputPart] | None = None
    version: str | None = None


class Conversation(Wire):
    """A conversation that the server stores."""

    id: str


class CacheControl(Wire):
    """Automatic caching of the prompt.

    Source: OpenRouter's SDK, ``AnthropicCacheControlDirective``.
    """

    type: str | None = None
    """``ephemeral``."""
    ttl: str | None = None
    """``5m``, the default, or ``1h``."""


class CacheOptions(Wire):
    """Prompt caching options."""

    comparison_response_id: str | None = None
    """An earlier response to compare cache use with."""
    mode: str | None = None
    """``implicit`` or ``explicit``."""
    prewarm: bool | None = None
    """True: fill the cache and generate nothing. Requests only."""
    ttl: str | None = None
    """Minimum lifetime of cache entries: ``30m`` or ``12h``."""


class AccessPrograms(Wire):
    """Programmes of extended access that the caller uses."""

    cyber: str | None = None
    """``standard``, ``daybreak_blue`` or ``daybreak_red``."""


class ImageConfig(Wire):
    """How the server treats images in the context."""

    context_compression: str | None = None
    """``auto``, ``enabled`` or ``disabled``; never ``auto`` in a response."""


class BackgroundOptions(Wire):
    """When a background response must be ready."""

    completion_window: str | None = None
    """``soonest``, ``2h`` or ``8h``."""
    continuation_id: str | None = None
    """The caller's label of related requests; it adds no history."""


class ContextManagement(Wire):
    """A rule that shortens the context when it exceeds a size."""

    type: str
    """Currently only ``compaction``."""
    compact_threshold: Count | None = None
    """Number of context tokens at which it starts."""


class StreamOptions(Wire):
    """Options of a stream. It has no option for usage, which is always sent."""

    include_obfuscation: bool | None = None
    """True, the default: deltas carry random padding against traffic analysis."""


class ModerationMode(Wire):
    """Whether moderation only scores content or also blocks it."""

    mode: str
    """``score`` or ``block``."""


class ModerationPolicy(Wire):
    """The moderation rules for input and output."""

    input: ModerationMode | None = None
    output: ModerationMode | None = None


class Moderation(Wire):
    """The moderation options of a request."""

    model: str
    policy: ModerationPolicy | None = None
