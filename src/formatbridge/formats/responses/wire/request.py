"""The request body."""

from typing import Annotated, Any

from pydantic import Field

from formatbridge.formats.responses.wire.items import Item
from formatbridge.formats.responses.wire.settings import (
    AccessPrograms,
    BackgroundOptions,
    CacheControl,
    CacheOptions,
    ContextManagement,
    Conversation,
    ImageConfig,
    Moderation,
    Prompt,
    Reasoning,
    StreamOptions,
    TextConfig,
)
from formatbridge.formats.responses.wire.tools import Tool, ToolChoice
from formatbridge.validation.wire_base import AT_ONCE, Count, Int, Number, Numeric, Wire

Penalty = Annotated[float, Numeric(-2, 2)]


class Request(Wire):
    """A request for a response.

    No field is required: a prompt template can supply the model and the input. The vendor's servers have no ``stop``,
    ``seed``, ``n``, ``logit_bias``, penalties or ``top_k``.
    Source: official SDK types, 2026-11; specification, "POST /v1/responses". Seen: ``provider``, in recorded requests.
    """

    model_config = AT_ONCE

    access_programs: AccessPrograms | None = None
    background: bool | None = None
    background_options: BackgroundOptions | None = None
    context_management: list[ContextManagement] | None = None
    conversation: str | Conversation | None = None
    """An id or an object with one; mutually exclusive with ``previous_response_id``."""
    image: ImageConfig | None = None
    include: list[str] | None = None
    """Additional output data, such as ``reasoning.encrypted_content`` or ``message.output_text.logprobs``."""
    input: str | list[Item] | None = None
    """The text of one user message, or a list of items."""
    instructions: str | None = None
    """A system message before the input; ``previous_response_id`` does not include that of the earlier response."""
    max_output_tokens: Annotated[Int, Field(ge=1)] | None = None
    """Maximum of output tokens, reasoning included; 1 or more, the vendor's minimum is 16 (braintrustdata/lingua#186)."""
    max_tool_calls: Count | None = None
    """Maximum number of calls of hosted tools in the whole response."""
    metadata: dict[str, str] | None = None
    """Labels of the caller; the vendor accepts 16 of at most 512 characters."""
    model: str | None = None
    moderation: Moderation | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    prompt: Prompt | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: CacheOptions | None = None
    prompt_cache_retention: str | None = None
    """``in_memory`` or ``24h``."""
    reasoning: Reasoning | None = None
    safety_identifier: str | None = None
    """A stable id of the end user; at most 128 characters."""
    service_tier: str | None = None
    """``auto``, ``default``, ``flex``, ``scale``, ``priority``, ``fast`` or ``ultrafast``."""
    store: bool | None = None
    """Absent means true."""
    stream_options: StreamOptions | None = None
    temperature: Number | None = None
    """0 to 2 on the vendor's servers. Not checked: the specification has no bounds, and a recorded request has -1."""
    text: TextConfig | None = None
    tool_choice: str | ToolChoice | None = None
    """``none``, ``auto``, ``required``, or an object."""
    tools: list[Tool] | None = None
    top_logprobs: Annotated[Int, Field(ge=0, le=20)] | None = None
    """0 to 20."""
    top_p: Annotated[float, Numeric(0, 1)] | None = None
    """0 to 1."""
    truncation: str | None = None
    """``auto`` or ``disabled``, the default."""
    user: str | None = None
    """Deprecated in favour of ``safety_identifier`` and ``prompt_cache_key``."""
    stream: bool | None = None
    provider: dict[str, Any] | None = None
    """Routing options of one relay."""
    cache_control: CacheControl | None = None
    """OpenRouter: cache the whole prompt."""
    frequency_penalty: Penalty | None = None
    """OpenRouter, vLLM: -2 to 2."""
    presence_penalty: Penalty | None = None
    """OpenRouter, vLLM: -2 to 2."""
    seed: Int | None = None
    """vLLM."""
    stop: str | list[str] | None = None
    """OpenRouter, vLLM: stop sequences; OpenRouter: at most 4."""
    top_k: Number | None = None
    """OpenRouter, vLLM: sample from the k most likely tokens."""
