"""The body of a request."""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.messages.wire.cache import CacheControl, DiagnosticsOptions
from formatbridge.formats.messages.wire.context_management import ContextManagementOptions
from formatbridge.formats.messages.wire.messages import Message, SystemBlock
from formatbridge.formats.messages.wire.response import Container
from formatbridge.formats.messages.wire.tools import Tool, ToolChoice
from formatbridge.validation.wire_base import AT_ONCE, Count, Int, Numeric, Open, Unknown, Wire


class Metadata(Wire):
    """Facts about the request that the model does not see.

    Source: specification, POST /v1/messages ``metadata``; official SDK types, 2026-11.
    """

    user_id: str | None = None
    """An opaque id of the end user."""


class BlockBinding(Wire):
    """What happens to reasoning that was made under another beginning of the conversation.

    Source: official SDK types (beta), 2026-11.
    """

    prefix_mismatch_behavior: str | None = None
    """``error`` or ``drop_block``."""


class EnabledThinking(Wire):
    """Reasoning with a budget.

    Source: specification, POST /v1/messages ``thinking``; official SDK types, 2026-11. Seen: recorded traffic.
    """

    budget_tokens: Count | None = None
    """The vendor wants at least 1024, and less than ``max_tokens``; the specification states no bound."""
    type: Literal["enabled"] | None = None
    """The specification shows the budget alone, the vendor wants the type."""
    display: str | None = None
    """``summarized``, ``omitted``, ``updates`` (beta)."""
    block_binding: BlockBinding | None = None


class AdaptiveThinking(Wire):
    """Reasoning as long as the model finds fit.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["adaptive"]
    display: str | None = None
    """``summarized``, ``omitted``, ``updates`` (beta)."""
    block_binding: BlockBinding | None = None


class BetweenToolsThinking(Wire):
    """Reasoning between tool calls only.

    Source: official SDK types, 2026-11.
    """

    type: Literal["between_tools"]


class DisabledThinking(Wire):
    """No reasoning.

    Source: official SDK types, 2026-11.
    """

    type: Literal["disabled"]


Thinking = Annotated[
    EnabledThinking | AdaptiveThinking | BetweenToolsThinking | DisabledThinking | Unknown,
    Open("type", absent="enabled"),
]
"""Whether and how much the model reasons."""


class JsonSchemaFormat(Wire):
    """An answer that is JSON of a given schema.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    schema_: dict[str, Any] = Field(alias="schema")
    type: Literal["json_schema"]


OutputFormat = Annotated[JsonSchemaFormat | Unknown, Open("type")]
"""The form of the answer's text."""


class TaskBudget(Wire):
    """A budget for a task of many requests, which the model is told about.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    total: Count
    type: str
    """The unit, today always ``tokens``."""
    remaining: Count | None = None


class OutputConfig(Wire):
    """Effort and form of the answer.

    Source: specification, POST /v1/messages ``output_config``; official SDK types, 2026-11. Seen: recorded traffic.
    """

    effort: str | None = None
    """``low``, ``medium``, ``high``, ``xhigh``, ``max``."""
    format: OutputFormat | None = None
    task_budget: TaskBudget | None = None


class McpToolOptions(Wire):
    """Which tools of an MCP server may be called; replaced by the tool ``mcp_toolset``.

    Source: official SDK types (beta), 2026-11.
    """

    allowed_tools: list[str] | None = None
    enabled: bool | None = None


class McpServer(Wire):
    """An MCP server that the server connects to.

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
    """Who pays.

    Source: official SDK types (beta), 2026-11.
    """

    type: str
    """Today always ``billing_policy``."""
    bill_to: str | None = None
    """``self`` or ``user_profile``."""


class CompactionOptions(Wire):
    """Makes the request a summary of its conversation; excludes ``context_management``.

    Source: official SDK types (beta), 2026-11.
    """

    type: str
    """Today always ``summarize``."""
    instructions: str | None = None


class Fallback(Wire):
    """A model to try when the first one refuses, with the settings that differ for it.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    model: str
    max_tokens: Count | None = None
    output_config: OutputConfig | None = None
    speed: str | None = None
    """``standard`` or ``fast``."""
    thinking: Thinking | None = None


class FallbackCreditToken(Wire):
    """A voucher from a refusal, which makes the next attempt cheaper.

    Source: official SDK types (beta), 2026-11.
    """

    token: str
    mode: str | None = None
    """``strict`` or ``best_effort``."""


class NewThread(Wire):
    """Starts a conversation that the server keeps.

    Source: official SDK types (beta), 2026-11.
    """

    type: Literal["create"]


class ContinuedThread(Wire):
    """Goes on with a conversation that the server keeps.

    Source: official SDK types (beta), 2026-11.
    """

    previous_message_id: str
    type: Literal["continue"]


class Request(Wire):
    """The body of a request, in both dated dialects, stable and beta.

    What the official SDK sends as HTTP headers (``betas``, ``user_profile_id``, ``workspace_id``) is not part of it.
    Source: specification, POST /v1/messages; official SDK types, 2026-11. Seen: recorded traffic.
    """

    model_config = AT_ONCE

    max_tokens: Count | None = None
    """Tokens of the answer, reasoning included. 0 fills the cache and generates nothing. The vendor requires it, relays
    do not check it."""
    messages: list[Message]
    model: str | None = None
    """Absent on clouds that have it in the address."""
    cache_control: CacheControl | None = None
    """Marks the last block that can be cached."""
    container: str | Container | None = None
    """The id of a container, or an object with skills to load."""
    diagnostics: DiagnosticsOptions | None = None
    inference_geo: str | None = None
    metadata: Metadata | None = None
    output_config: OutputConfig | None = None
    service_tier: str | None = None
    """``auto`` or ``standard_only``."""
    speed: str | None = None
    """``standard`` or ``fast``."""
    stop_sequences: list[str] | None = None
    """The vendor refuses blank ones."""
    system: str | list[SystemBlock] | None = None
    thinking: Thinking | None = None
    tool_choice: ToolChoice | None = None
    tools: list[Tool] | None = None
    stream: bool | None = None
    temperature: Annotated[float, Numeric(0, 1)] | None = None
    """Dialect 2023-06-01; newer models refuse it."""
    top_k: Int | None = None
    """Dialect 2023-06-01; newer models refuse it."""
    top_p: Annotated[float, Numeric(0, 1)] | Literal[-1] | None = None
    """-1 is not set, as some clients write it here and in ``top_k``. Dialect 2023-06-01; newer models refuse it."""
    billing_policy: BillingPolicy | None = None
    compaction: CompactionOptions | None = None
    context_management: ContextManagementOptions | None = None
    fallback_credit_token: str | FallbackCreditToken | None = None
    fallbacks: str | list[Fallback] | None = None
    """``default``, or models in order."""
    mcp_servers: list[Annotated[McpServer | Unknown, Open("type")]] | None = None
    thread: Annotated[NewThread | ContinuedThread | Unknown, Open("type")] | None = None
    output_format: OutputFormat | None = None
    """The older place of ``output_config.format``."""
    anthropic_version: str | None = None
    """A date or a word such as ``vertex-2023-10-16``, on clouds that take it in the body instead of a header."""
    anthropic_beta: list[str] | None = None
    """Names of beta features, on clouds that take them in the body instead of a header."""
