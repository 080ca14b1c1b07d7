"""The body of POST /v1/chat/completions.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from formatbridge.formats.chat_completions.wire.content import CacheControl, Content
from formatbridge.formats.chat_completions.wire.message import Message
from formatbridge.formats.chat_completions.wire.tools import Function, Tool, ToolChoice, ToolName
from formatbridge.validation.wire_base import AT_ONCE, Int, Number, Numeric, Open, Unknown, Wire


class VoiceId(Wire):
    """A custom voice, by its id."""

    id: str


class AudioOptions(Wire):
    """The voice and format of audio output; required when ``modalities`` contains audio.

    Source: specification, chat completions request.
    """

    format: str | None = None
    """Known: wav, aac, mp3, flac, opus, pcm16."""
    voice: str | VoiceId | None = None
    """Known: alloy, ash, ballad, coral, echo, sage, shimmer, verse, marin, cedar."""


class ModerationRule(Wire):
    """The action for text that moderation flags."""

    mode: str
    """Known: score, block."""


class ModerationPolicy(Wire):
    """The moderation rules for input and output."""

    input: ModerationRule | None = None
    output: ModerationRule | None = None


class ModerationOptions(Wire):
    """The moderation of a request: the model and the rules."""

    model: str
    policy: ModerationPolicy | None = None


class Prediction(Wire):
    """Predicted output: text that much of the answer is expected to repeat."""

    content: Content
    type: Literal["content"] | None = None


class PromptCacheOptions(Wire):
    """How the server marks prompt prefixes for its cache."""

    mode: str | None = None
    """Known: implicit, explicit. None: implicit."""
    ttl: str | None = None
    """Known: 30m. None: 30m."""


class TextFormat(Wire):
    """Output as plain text; the default.

    Source: specification, Response format.
    """

    type: Literal["text"]


class JsonSchema(Wire):
    """A named JSON Schema.

    Source: specification, Response format; official SDK types, 2026-11.
    """

    name: str | None = None
    """1 to 64 letters, digits, underscores and dashes. Required in the official types, missing in some recorded traffic."""
    description: str | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """``schema`` in JSON."""
    strict: bool | None = None


def _with_schema(value: Any) -> Any:
    """Reject a JSON Schema format without a schema."""
    if isinstance(value, dict) and all(value.get(name) is None for name in ("json_schema", "schema", "schema_")):
        raise PydanticCustomError("no_schema", "one with json_schema")
    return value


class JsonSchemaFormat(JsonSchema):
    """Output as JSON that follows a schema under ``json_schema``; some servers accept its members next to ``type``.

    Source: specification, Response format; without ``json_schema``: recorded traffic.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in ("json_schema", "schema")]
        }
    )

    json_schema: JsonSchema | None = None
    type: Literal["json_schema"]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = super().__get_pydantic_core_schema__(source, handler)
        return core_schema.no_info_before_validator_function(_with_schema, schema)


class JsonObjectFormat(Wire):
    """Output as any JSON object.

    Source: specification, Response format.
    """

    type: Literal["json_object"]


ResponseFormat = Annotated[TextFormat | JsonSchemaFormat | JsonObjectFormat | Unknown, Open("type")]
"""The format of the output."""


class StreamOptions(Wire):
    """Options of a stream.

    Source: specification, chat completions request; ``include_obfuscation``: official SDK types, 2026-11.
    """

    include_obfuscation: bool | None = None
    """None: true. Deltas are padded to a common length."""
    include_usage: bool | None = None
    """True: a last chunk without choices has the usage of the whole answer."""


class ApproximateLocation(Wire):
    """The approximate location of the end user."""

    city: str | None = None
    country: str | None = None
    """Two letters, ISO 3166-1."""
    region: str | None = None
    timezone: str | None = None
    """IANA name."""


class UserLocation(Wire):
    """The location of the end user."""

    approximate: ApproximateLocation
    type: Literal["approximate"] | None = None


class WebSearchOptions(Wire):
    """Options of the web search."""

    search_context_size: str | None = None
    """Known: low, medium, high. None: medium."""
    user_location: UserLocation | None = None


class ReasoningOptions(Wire):
    """Reasoning effort and display, in the syntax of gateways to several vendors.

    Source: recorded requests to OpenRouter and Vercel's gateway, 2026-11.
    """

    effort: str | None = None
    """Known: none, minimal, low, medium, high, xhigh."""
    enabled: bool | None = None
    exclude: bool | None = None
    """True: the model reasons, and the answer does not contain the reasoning."""
    max_tokens: Int | None = None
    """Reasoning budget in tokens."""


class ThinkingOptions(Wire):
    """The reasoning configuration in Anthropic's syntax, which other servers also accept.

    Source: recorded requests to DeepSeek, GLM, Kimi and MiMo, 2026-11.
    """

    type: str | None = None
    """Known: enabled, disabled, adaptive, auto."""
    budget_tokens: Int | None = None


Penalty = Annotated[float, Numeric(-2, 2)]
TokenLimit = Annotated[Int, Field(ge=1)]
"""A number of tokens, 1 or more. The specification has no bound; only messages accepts 0, which fills a cache."""


class Request(Wire):
    """A chat completion request: messages and options.

    Bounds are those of the specification, except where noted.
    Source: specification, POST /v1/chat/completions; official SDK types, 2026-11; fields of other servers: recorded traffic.
    """

    model_config = AT_ONCE

    messages: list[Message]
    model: str | None = None
    """Required by the specification. None: the model is in the URL, as on some hosts in recorded traffic."""
    audio: AudioOptions | None = None
    frequency_penalty: Penalty | None = None
    """-2 to 2. None: 0."""
    function_call: str | ToolName | None = None
    """Deprecated in favour of ``tool_choice``. Known strings: none, auto."""
    functions: list[Function] | None = None
    """Deprecated in favour of ``tools``."""
    logit_bias: dict[str, Number] | None = None
    """Token id to bias, -100 to 100."""
    logprobs: bool | Annotated[int, Field(ge=0, le=20)] | None = None
    """Together uses a number instead of ``top_logprobs``: the alternatives, 0 for no log probabilities (fixture logprobs_counted_only)."""
    max_completion_tokens: TokenLimit | None = None
    """Maximum of output tokens, reasoning included; 1 or more, which is this library's bound."""
    max_tokens: TokenLimit | None = None
    """Deprecated by the vendor in favour of ``max_completion_tokens``; 1 or more, which is this library's bound."""
    metadata: dict[str, str] | None = None
    """At most 16 pairs, keys of at most 64 and values of at most 512 characters."""
    modalities: list[str] | None = None
    """Known: text, audio. None: text."""
    moderation: ModerationOptions | None = None
    n: Annotated[Int, Field(ge=1)] | None = None
    """Number of choices, 1 or more. None: 1."""
    parallel_tool_calls: bool | None = None
    """None: true."""
    prediction: Prediction | None = None
    presence_penalty: Penalty | None = None
    """-2 to 2. None: 0."""
    prompt_cache_key: str | None = None
    cache_control: CacheControl | None = None
    """Gateways: cache the whole prompt."""
    prompt_cache_options: PromptCacheOptions | None = None
    prompt_cache_retention: str | None = None
    """Deprecated in favour of ``prompt_cache_options``. Known: in_memory, 24h."""
    reasoning_effort: str | bool | Int | None = None
    """Known: none, minimal, low, medium, high, xhigh, max. Fireworks: also a number of tokens, or whether the model reasons."""
    reasoning: ReasoningOptions | None = None
    """Gateways: ``reasoning_effort`` and other options."""
    thinking: ThinkingOptions | None = None
    """DeepSeek, GLM, Kimi and MiMo: like ``reasoning_effort``."""
    enable_thinking: bool | None = None
    """Qwen: whether the model reasons."""
    thinking_budget: Int | None = None
    """Qwen: reasoning budget in tokens."""
    thinking_budget_tokens: Int | None = None
    """llama.cpp: reasoning budget in tokens. -1: no limit."""
    reasoning_budget_tokens: Int | None = None
    """llama.cpp: a newer name of ``thinking_budget_tokens``."""
    thinking_token_budget: Int | None = None
    """vLLM: reasoning budget in tokens."""
    chat_template_kwargs: dict[str, Any] | None = None
    """vLLM and SGLang: arguments of the model's prompt template. Known: ``enable_thinking``, ``thinking``."""
    include_reasoning: bool | None = None
    """Groq and OpenRouter: whether the answer contains reasoning. None: true."""
    reasoning_format: str | None = None
    """Groq. Known: parsed, raw, hidden."""
    random_seed: Int | None = None
    """Mistral: like ``seed``."""
    top_k: Number | None = None
    """Many servers other than the vendor's: sample from the k most likely tokens."""
    response_format: ResponseFormat | None = None
    safety_identifier: str | None = None
    """A hash that identifies the end user; at most 128 characters."""
    seed: Int | None = None
    search_domain_filter: list[str] | None = None
    """Perplexity: the domains of the web search; a domain that begins with a hyphen is blocked."""
    service_tier: str | None = None
    """Known: auto, default, flex, scale, priority, fast; other servers have more values."""
    stop: str | list[str] | None = None
    """Stop sequences; the vendor accepts at most 4."""
    store: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Numeric(0, 2)] | None = None
    """0 to 2. None: 1."""
    tool_choice: ToolChoice | None = None
    """None: auto with tools, none without."""
    tools: list[Tool] | None = None
    top_logprobs: Annotated[Int, Field(ge=0, le=20)] | None = None
    """Number of most likely alternatives per token, 0 to 20 at the vendor; requires ``logprobs``."""
    top_p: Annotated[float, Numeric(0, 1)] | None = None
    """0 to 1. None: 1."""
    user: str | None = None
    """An id of the end user; the vendor replaces it by ``safety_identifier`` and ``prompt_cache_key``."""
    verbosity: str | None = None
    """Known: low, medium, high. None: medium."""
    web_search_options: WebSearchOptions | None = None
    stream: bool | None = None
    """None: false."""
