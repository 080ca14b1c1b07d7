"""The request and the answer of the endpoint that counts input tokens."""

from formatbridge.formats.responses.wire.items import Item
from formatbridge.formats.responses.wire.settings import Conversation, Reasoning, TextConfig
from formatbridge.formats.responses.wire.tools import Tool, ToolChoice
from formatbridge.validation.wire_base import AT_ONCE, Count, Wire


class CountRequest(Wire):
    """A request to count input tokens: the fields of a request that the model reads.

    Source: official SDK types, 2026-11, ``InputTokenCountParams``.
    """

    model_config = AT_ONCE

    conversation: str | Conversation | None = None
    """An id or an object with one; mutually exclusive with ``previous_response_id``."""
    input: str | list[Item] | None = None
    """The text of one user message, or a list of items."""
    instructions: str | None = None
    model: str | None = None
    parallel_tool_calls: bool | None = None
    personality: str | None = None
    """A style of the model: ``friendly``, ``pragmatic`` or another; only this endpoint documents it."""
    previous_response_id: str | None = None
    reasoning: Reasoning | None = None
    text: TextConfig | None = None
    tool_choice: str | ToolChoice | None = None
    """``none``, ``auto``, ``required``, or an object."""
    tools: list[Tool] | None = None
    truncation: str | None = None
    """``auto`` or ``disabled``, the default."""


class CountResponse(Wire):
    """The number of input tokens.

    Source: official SDK types, 2026-11, ``InputTokenCountResponse``.
    """

    model_config = AT_ONCE

    ESSENTIAL = ("input_tokens",)

    input_tokens: Count
    object: str | None = None
    """``response.input_tokens``."""
