"""The request body.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.messages.wire.content import CacheControl
from formatbridge.formats.messages.wire.context_management import ContextManagementOptions
from formatbridge.formats.messages.wire.messages import Message, SystemBlock
from formatbridge.formats.messages.wire.response import Container
from formatbridge.formats.messages.wire.tools import Tool, ToolChoice
from formatbridge.validation.wire_base import AT_ONCE, Count, Int, Numeric, Open, Unknown, Wire


class Metadata(Wire):
    """Metadata of the request that the model does not see.

    Source: specification, POST /v1/messages ``metadata``; official SDK types, 2026-11.
    """

    user_id: str | None = None
    """An opaque id of the end user."""


class BlockBinding(Wire):
    """How the server handles reasoning that was generated after a different conversation prefix.

    Source: official SDK types (beta), 2026-11.
    """

    prefix_mismatch_behavior: str | None = None
    """``error`` or ``drop_block``."""


class EnabledThinking(Wire):
    """Reasoning with a token budget.

    Source: specification, POST /v1/messages ``thinking``; official SDK types, 2026-11. Seen: recorded traffic.
    """

    budget_tokens: Count | None = None
    """The vendor requires at least 1024 and less than ``max_tokens``; the specification has no bound."""
    type: Literal["enabled"] | None = None
    """The specification shows the budget alone; the vendor requires the type."""
    display: str | None = None
    """``summarized``, ``omitted``, ``updates`` (beta)."""
    block_binding: BlockBinding | None = None


class AdaptiveThinking(Wire):
    """Adaptive reasoning: the model decides how much it reasons.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["adaptive"]
    display: str | None = None
    """``summarized``, ``omitted``, ``updates`` (beta)."""
    block_binding: BlockBinding | None = None


class BetweenToolsThinking(Wire):
    """Reasoning only between tool calls."""

    type: Literal["between_tools"]


class DisabledThinking(Wire):
    """Reasoning is disabled."""

    type: Literal["disabled"]


Thinking = Annotated[
    EnabledThinking | AdaptiveThinking | BetweenToolsThinking | DisabledThinking | Unknown, Open("type", absent="enabled")
]
"""The reasoning configuration."""


class JsonSchemaFormat(Wire):
    """Output as JSON that follows a schema.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    schema_: dict[str, Any] = Field(alias="schema")
    type: Literal["json_schema"]


OutputFormat = Annotated[JsonSchemaFormat | Unknown, Open("type")]
"""The format of the output."""


class TaskBudget(Wire):
    """A token budget for a task of several requests, which the model can see.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    total: Count
    type: str
    """The unit; currently always ``tokens``."""
    remaining: Count | None = None


class OutputConfig(Wire):
    """The effort and the format of the output.

    Source: specification, POST /v1/messages ``output_config``; official SDK types, 2026-11. Seen: recorded traffic.
    """

    effort: str | None = None
    """``low``, ``medium``, ``high``, ``xhigh``, ``max``."""
    format: OutputFormat | None = None
    task_budget: TaskBudget | None = None


class McpToolOptions(Wire):
    """The allowed tools of an MCP server; replaced by the tool ``mcp_toolset``.

    Source: official SDK types (beta), 2026-11.
    """

    allowed_tools: list[str] | None = None
    enabled: bool | None = None


class McpServer(Wire):
    """An MCP server that the API connects to.

    Source: specification, POST /v1/messages ``mcp_servers``; official SDK types (beta), 2026-11.
    Seen: recorded traffic.
    """

    name: str
    type: Literal["url"]
    url: str
    authorization_token: str | None = None
    """A secret."""
    tool_configuration: McpToolOptions | None = None


class BillingPolicy(Wire):
    """Who is billed for the request.

    Source: official SDK types (beta), 2026-11.
    """

    type: str
    """Currently always ``billing_policy``."""
    bill_to: str | None = None
    """``self`` or ``user_profile``."""


class CompactionOptions(Wire):
    """Replaces the response by a summary of the conversation; mutually exclusive with ``context_management``.

    Source: official SDK types (beta), 2026-11.
    """

    type: str
    """Currently always ``summarize``."""
    instructions: str | None = None


class Fallback(Wire):
    """A model to use if the first one refuses, with settings that differ for it.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    model: str
    max_tokens: Count | None = None
    output_config: OutputConfig | None = None
    speed: str | None = None
    """``standard`` or ``fast``."""
    thinking: Thinking | None = None


class FallbackCreditToken(Wire):
    """A credit token from a refusal, which reduces the cost of the next attempt.

    Source: official SDK types (beta), 2026-11.
    """

    token: str
    mode: str | None = None
    """``strict`` or ``best_effort``."""


class NewThread(Wire):
    """Creates a conversation that the server stores.

    Source: official SDK types (beta), 2026-11.
    """

    type: Literal["create"]


class ContinuedThread(Wire):
    """Continues a conversation that the server stores.

    Source: official SDK types (beta), 2026-11.
    """

    previous_message_id: str
    type: Literal["continue"]


class DiagnosticsOptions(Wire):
    """A request for the reason of a cache miss, compared with an earlier response."""

    previous_message_id: str | None = None
    """Id of the response to compare with; null for the first request."""


class Request(Wire):
    """The request body, in both dated versions, stable and beta.

    The SDK's options ``betas``, ``user_profile_id`` and ``workspace_id`` are HTTP headers, not part of the body.
    Source: specification, POST /v1/messages; official SDK types, 2026-11. Seen: recorded traffic. Models that reject sampling
    parameters: platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7.
    """

    model_config = AT_ONCE

    max_tokens: Count | None = None
    """Maximum of output tokens, reasoning included. 0 fills the cache and generates nothing. Required by the vendor."""
    messages: list[Message]
    model: str | None = None
    """Absent on clouds with the model in the URL (recorded traffic)."""
    cache_control: CacheControl | None = None
    """Sets a cache mark on the last block that can have one."""
    container: str | Container | None = None
    """A container id, or an object with skills to load."""
    diagnostics: DiagnosticsOptions | None = None
    inference_geo: str | None = None
    metadata: Metadata | None = None
    output_config: OutputConfig | None = None
    service_tier: str | None = None
    """``auto`` or ``standard_only``."""
    speed: str | None = None
    """``standard`` or ``fast``."""
    stop_sequences: list[str] | None = None
    """The vendor rejects blank ones (BerriAI/litellm#3286)."""
    system: str | list[SystemBlock] | None = None
    thinking: Thinking | None = None
    tool_choice: ToolChoice | None = None
    tools: list[Tool] | None = None
    stream: bool | None = None
    temperature: Annotated[float, Numeric(0, 1)] | None = None
    """Version 2023-06-01; newer models reject it."""
    top_k: Int | None = None
    """Version 2023-06-01; newer models reject it."""
    top_p: Annotated[float, Numeric(0, 1)] | Literal[-1] | None = None
    """-1 is unset, here and in ``top_k`` (fixture sampling_unset_only). Version 2023-06-01; newer models reject it."""
    billing_policy: BillingPolicy | None = None
    compaction: CompactionOptions | None = None
    context_management: ContextManagementOptions | None = None
    fallback_credit_token: str | FallbackCreditToken | None = None
    fallbacks: str | list[Fallback] | None = None
    """``default``, or a list of models in order."""
    mcp_servers: list[Annotated[McpServer | Unknown, Open("type")]] | None = None
    thread: Annotated[NewThread | ContinuedThread | Unknown, Open("type")] | None = None
    output_format: OutputFormat | None = None
    """The older name of ``output_config.format``."""
    anthropic_version: str | None = None
    """A date or a value such as ``vertex-2023-10-16``, on clouds that accept it in the body instead of a header."""
    anthropic_beta: list[str] | None = None
    """Names of beta features, on clouds that accept them in the body instead of a header."""
