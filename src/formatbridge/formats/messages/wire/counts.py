"""The request and the answer of the endpoint that counts input tokens."""

from typing import Annotated

from formatbridge.formats.messages.wire.content import CacheControl
from formatbridge.formats.messages.wire.context_management import ContextManagementOptions
from formatbridge.formats.messages.wire.messages import Message, SystemBlock
from formatbridge.formats.messages.wire.request import (
    BillingPolicy,
    CompactionOptions,
    McpServer,
    OutputConfig,
    OutputFormat,
    Thinking,
)
from formatbridge.formats.messages.wire.tools import Tool, ToolChoice
from formatbridge.validation.wire_base import AT_ONCE, Count, Open, Unknown, Wire


class CountRequest(Wire):
    """A request to count input tokens: the fields of a request that the model reads.

    Source: official SDK types, stable and beta, 2026-11, ``MessageCountTokensParams``.
    """

    model_config = AT_ONCE

    messages: list[Message]
    model: str | None = None
    """Absent on clouds with the model in the URL."""
    cache_control: CacheControl | None = None
    output_config: OutputConfig | None = None
    speed: str | None = None
    """``standard`` or ``fast``."""
    system: str | list[SystemBlock] | None = None
    thinking: Thinking | None = None
    tool_choice: ToolChoice | None = None
    tools: list[Tool] | None = None
    billing_policy: BillingPolicy | None = None
    compaction: CompactionOptions | None = None
    context_management: ContextManagementOptions | None = None
    mcp_servers: list[Annotated[McpServer | Unknown, Open("type")]] | None = None
    output_format: OutputFormat | None = None
    """The older name of ``output_config.format``."""


class CountedContext(Wire):
    """The count without the context edits.

    Source: official SDK types (beta), 2026-11, ``BetaCountTokensContextManagementResponse``.
    """

    original_input_tokens: Count | None = None
    """The number of input tokens before the edits of ``context_management``."""


class CountResponse(Wire):
    """The number of input tokens.

    Source: official SDK types, stable and beta, 2026-11, ``MessageTokensCount``.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("input_tokens",)

    input_tokens: Count
    """All input tokens: of messages, system prompt and tools."""
    context_management: CountedContext | None = None
