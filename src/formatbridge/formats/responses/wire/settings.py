"""Settings that a request carries and its response repeats."""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.responses.wire.content import InputPart
from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class TextFormat(Wire):
    """Plain text: the default format of an answer, and of a custom tool's input.

    Source: official SDK types, 2026-11.
    """

    type: Literal["text"]


class JsonObjectFormat(Wire):
    """Any JSON object; the older JSON mode.

    Source: official SDK types, 2026-11.
    """

    type: Literal["json_object"]


class JsonSchemaFormat(Wire):
    """JSON that follows a schema; flat here, while chat completions nests it under ``json_schema``.

    Source: official SDK types, 2026-11.
    """

    name: str
    """Letters, digits, underscores and dashes; 64 characters at most."""
    schema_: dict[str, Any] = Field(alias="schema")
    """Spelled ``schema`` on the wire, which the model's base class keeps for itself."""
    type: Literal["json_schema"]
    description: str | None = None
    strict: bool | None = None


OutputFormat = Annotated[TextFormat | JsonObjectFormat | JsonSchemaFormat | Unknown, Open("type")]
"""What form the answer's text must have."""


class TextConfig(Wire):
    """How the answer's text is to look.

    Source: official SDK types, 2026-11.
    """

    format: OutputFormat | None = None
    verbosity: str | None = None
    """``low``, ``medium`` or ``high``."""


class Reasoning(Wire):
    """How much the model thinks and what it shows of it.

    Source: official SDK types, 2026-11; specification, "POST /v1/responses", names ``summary`` alone.
    """

    context: str | None = None
    """Which earlier reasoning counts: ``auto``, ``current_turn`` or ``all_turns``."""
    effort: str | None = None
    """``none``, ``minimal``, ``low``, ``medium``, ``high``, ``xhigh`` or ``max``."""
    generate_summary: str | None = None
    """The deprecated name of ``summary``."""
    mode: str | None = None
    """``standard`` or ``pro``; others exist."""
    summary: str | None = None
    """``auto``, ``concise`` or ``detailed``."""


class Prompt(Wire):
    """A prompt template kept by the server, and the values to fill in.

    Source: official SDK types, 2026-11.
    """

    id: str
    variables: dict[str, str | InputPart] | None = None
    version: str | None = None


class Conversation(Wire):
    """A conversation kept by the server.

    Source: official SDK types, 2026-11.
    """

    id: str


class CacheOptions(Wire):
    """How the prompt is cached.

    Source: official SDK types, 2026-11.
    """

    comparison_response_id: str | None = None
    """An earlier response whose cache use is compared with this one's."""
    mode: str | None = None
    """``implicit`` or ``explicit``."""
    prewarm: bool | None = None
    """True: fill the cache and generate nothing. Requests only."""
    ttl: str | None = None
    """The least time that entries live: ``30m`` or ``12h``."""


class AccessPrograms(Wire):
    """Which programmes of extended access the caller uses.

    Source: official SDK types, 2026-11.
    """

    cyber: str | None = None
    """``standard``, ``daybreak_blue`` or ``daybreak_red``."""


class ImageConfig(Wire):
    """How images in the context are treated.

    Source: official SDK types, 2026-11.
    """

    context_compression: str | None = None
    """``auto``, ``enabled`` or ``disabled``; never ``auto`` in a response."""


class BackgroundOptions(Wire):
    """When a background response is to be ready.

    Source: official SDK types, 2026-11.
    """

    completion_window: str | None = None
    """``soonest``, ``2h`` or ``8h``."""
    continuation_id: str | None = None
    """The caller's own mark on related requests; it adds no history."""


class ContextManagement(Wire):
    """A rule that shortens the context when it grows.

    Source: official SDK types, 2026-11.
    """

    type: str
    """Today only ``compaction``."""
    compact_threshold: Count | None = None
    """Tokens of context at which it starts."""


class StreamOptions(Wire):
    """Options of a streamed answer; usage is always sent, so there is none for it.

    Source: official SDK types, 2026-11.
    """

    include_obfuscation: bool | None = None
    """True, the default: deltas carry random padding against traffic analysis."""


class ModerationMode(Wire):
    """Whether content is only scored or also blocked.

    Source: official SDK types, 2026-11.
    """

    mode: str
    """``score`` or ``block``."""


class ModerationPolicy(Wire):
    """What moderation does with each side of the exchange.

    Source: official SDK types, 2026-11.
    """

    input: ModerationMode | None = None
    output: ModerationMode | None = None


class Moderation(Wire):
    """The moderation that a request asks for.

    Source: official SDK types, 2026-11.
    """

    model: str
    policy: ModerationPolicy | None = None
