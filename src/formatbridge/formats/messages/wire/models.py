"""The list of models."""

from typing import Literal

from formatbridge.validation.wire_base import AT_ONCE, Count, Wire


class Capability(Wire):
    """Whether a model supports a capability.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    supported: bool | None = None


class ContextManagementCapability(Capability):
    """The context edits that a model supports.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    clear_thinking_20251015: Capability | None = None
    clear_tool_uses_20250919: Capability | None = None
    compact_20260112: Capability | None = None


class EffortCapability(Capability):
    """The effort levels that a model supports.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    high: Capability | None = None
    low: Capability | None = None
    max: Capability | None = None
    medium: Capability | None = None
    xhigh: Capability | None = None


class ServerToolsCapability(Capability):
    """The server tools that a model supports.

    Source: official SDK types, 2026-11.
    """

    code_execution: Capability | None = None
    web_search: Capability | None = None


class ThinkingTypes(Wire):
    """The kinds of reasoning that a model supports.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    adaptive: Capability | None = None
    between_tools: Capability | None = None
    disabled: Capability | None = None
    enabled: Capability | None = None


class ThinkingCapability(Capability):
    """The reasoning capabilities of a model.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    types: ThinkingTypes | None = None


class CompactionCapability(Capability):
    """The compaction requests that a model supports.

    Source: official SDK types (beta), 2026-11.
    """

    summarize: Capability | None = None


class Capabilities(Wire):
    """The capabilities of a model.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    batch: Capability | None = None
    citations: Capability | None = None
    code_execution: Capability | None = None
    context_management: ContextManagementCapability | None = None
    effort: EffortCapability | None = None
    image_input: Capability | None = None
    pdf_input: Capability | None = None
    server_tools: ServerToolsCapability | None = None
    structured_outputs: Capability | None = None
    thinking: ThinkingCapability | None = None
    compaction: CompactionCapability | None = None


class Model(Wire):
    """A model of the list.

    Source: official SDK types, 2026-11. Seen: recorded traffic, without the lifecycle fields.
    """

    id: str
    capabilities: Capabilities | None = None
    created_at: str | None = None
    """A time in RFC 3339; 1970-01-01 if unknown."""
    deprecated_at: str | None = None
    """A time in RFC 3339."""
    display_name: str | None = None
    lifecycle: str | None = None
    """``active``, ``deprecated``, ``retired``."""
    line: str | None = None
    """The model family, as named by the vendor."""
    max_input_tokens: Count | None = None
    max_tokens: Count | None = None
    """Maximum number of output tokens."""
    retires_at: str | None = None
    """A time in RFC 3339."""
    type: Literal["model"] | None = None
    allowed_fallback_models: list[str] | None = None


class ModelList(Wire):
    """A page of the model list.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("data",)

    data: list[Model] | None
    """Null is an empty list."""
    first_id: str | None = None
    has_more: bool | None = None
    last_id: str | None = None
    """The id to send as ``after_id`` for the next page."""
