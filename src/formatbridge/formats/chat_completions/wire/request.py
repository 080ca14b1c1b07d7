"""The body of POST /v1/chat/completions."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from formatbridge.formats.chat_completions.wire.content import CacheControl, Content
from formatbridge.formats.chat_completions.wire.message import Message
from formatbridge.formats.chat_completions.wire.tools import Function, Tool, ToolChoice, ToolName
from formatbridge.validation.wire_base import AT_ONCE, Int, Number, Numeric, Open, Unknown, Wire


class VoiceId(Wire):
    """A voice of the caller's own, by its id.

    Source: official SDK types, 2026-11.
    """

    id: str


class AudioOptions(Wire):
    """How spoken output shall sound; needed when ``modalities`` has audio.

    Source: specification, chat completions request.
    """

    format: str | None = None
    """Known: wav, aac, mp3, flac, opus, pcm16."""
    voice: str | VoiceId | None = None
    """Known: alloy, ash, ballad, coral, echo, sage, shimmer, verse, marin, cedar."""


class ModerationRule(Wire):
    """What happens to text that moderation finds fault with.

    Source: official SDK types, 2026-11.
    """

    mode: str
    """Known: score, block."""


class ModerationPolicy(Wire):
    """Rules for what goes in and what comes out.

    Source: official SDK types, 2026-11.
    """

    input: ModerationRule | None = None
    output: ModerationRule | None = None


class ModerationOptions(Wire):
    """Which model checks the request and the answer, and what follows from it.

    Source: official SDK types, 2026-11.
    """

    model: str
    policy: ModerationPolicy | None = None


class Prediction(Wire):
    """Text that much of the answer is expected to repeat.

    Source: official SDK types, 2026-11.
    """

    content: Content
    type: Literal["content"] | None = None


class PromptCacheOptions(Wire):
    """How the server marks prompt prefixes for its cache.

    Source: official SDK types, 2026-11.
    """

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
    """1 to 64 letters, digits, underscores and dashes. The official types require it, recorded traffic lacks it."""
    description: str | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """Named ``schema`` on the wire."""
    strict: bool | None = None


def _with_schema(value: Any) -> Any:
    """Refuse a form without a schema."""
    if isinstance(value, dict) and all(value.get(name) is None for name in ("json_schema", "schema", "schema_")):
        raise PydanticCustomError("no_schema", "one with json_schema")
    return value


class JsonSchemaFormat(JsonSchema):
    """Output as JSON that follows a schema, which stands under ``json_schema``; some servers take its members beside ``type``.

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
    """Output as a JSON object of any shape.

    Source: specification, Response format.
    """

    type: Literal["json_object"]


ResponseFormat = Annotated[TextFormat | JsonSchemaFormat | JsonObjectFormat | Unknown, Open("type")]
"""What form the output takes."""


class StreamOptions(Wire):
    """What a stream carries beside the answer.

    Source: specification, chat completions request; ``include_obfuscation``: official SDK types, 2026-11.
    """

    include_obfuscation: bool | None = None
    """None: true; deltas are padded to a common length."""
    include_usage: bool | None = None
    """True: a last chunk without choices tells the usage of the whole answer."""


class ApproximateLocation(Wire):
    """About where the end user is.

    Source: official SDK types, 2026-11.
    """

    city: str | None = None
    country: str | None = None
    """Two letters, ISO 3166-1."""
    region: str | None = None
    timezone: str | None = None
    """IANA name."""


class UserLocation(Wire):
    """Where the end user is.

    Source: official SDK types, 2026-11.
    """

    approximate: ApproximateLocation
    type: Literal["approximate"] | None = None


class WebSearchOptions(Wire):
    """How the model searches the web.

    Source: official SDK types, 2026-11.
    """

    search_context_size: str | None = None
    """Known: low, medium, high. None: medium."""
    user_location: UserLocation | None = None


class ReasoningOptions(Wire):
    """How much to think and what to show of it, as gateways of many vendors spell it.

    Source: recorded requests to OpenRouter and Vercel's gateway, 2026-11.
    """

    effort: str | None = None
    """Known: none, minimal, low, medium, high, xhigh."""
    enabled: bool | None = None
    exclude: bool | None = None
    """True: the model thinks, and the answer does not show it."""
    max_tokens: Int | None = None
    """Budget in tokens."""


class ThinkingOptions(Wire):
    """How much to think, in the spelling of Anthropic, which other servers took over.

    Source: recorded requests to DeepSeek, GLM, Kimi and MiMo, 2026-11.
    """

    type: str | None = None
    """Known: enabled, disabled, adaptive, auto."""
    budget_tokens: Int | None = None


Penalty = Annotated[float, Numeric(-2, 2)]
TokenLimit = Annotated[Int, Field(ge=1)]
"""A number of tokens, 1 or more. The specification gives no bound; 0 means something in messages alone, where it warms a cache."""


class Request(Wire):
    """A conversation, and how to continue it.

    Bounds are the specification's, except where a field says otherwise.
    Source: specification, POST /v1/chat/completions; official SDK types, 2026-11.
    """

    model_config = AT_ONCE

    messages: list[Message]
    model: str | None = None
    """Required by the specification. None: the URL names it, as on some hosts in recorded traffic."""
    audio: AudioOptions | None = None
    frequency_penalty: Penalty | None = None
    """-2 to 2. None: 0."""
    function_call: str | ToolName | None = None
    """Deprecated: ``tool_choice``. Known words: none, auto."""
    functions: list[Function] | None = None
    """Deprecated: ``tools``."""
    logit_bias: dict[str, Number] | None = None
    """Token id to bias, -100 to 100."""
    logprobs: bool | Annotated[int, Field(ge=0, le=20)] | None = None
    """A number is one server's spelling of ``top_logprobs``: so many alternatives, and 0 for no log probabilities."""
    max_completion_tokens: TokenLimit | None = None
    """Tokens of the answer, reasoning included; 1 or more, which is our bound."""
    max_tokens: TokenLimit | None = None
    """Deprecated by the vendor: ``max_completion_tokens``; 1 or more, which is our bound."""
    metadata: dict[str, str] | None = None
    """At most 16 pairs, keys of at most 64 and values of at most 512 characters."""
    modalities: list[str] | None = None
    """Known: text, audio. None: text."""
    moderation: ModerationOptions | None = None
    n: Annotated[Int, Field(ge=1)] | None = None
    """Choices to make, 1 or more. None: 1."""
    parallel_tool_calls: bool | None = None
    """None: true."""
    prediction: Prediction | None = None
    presence_penalty: Penalty | None = None
    """-2 to 2. None: 0."""
    prompt_cache_key: str | None = None
    cache_control: CacheControl | None = None
    """Of servers of many vendors: caches the prompt as far as it goes."""
    prompt_cache_options: PromptCacheOptions | None = None
    prompt_cache_retention: str | None = None
    """Deprecated: ``prompt_cache_options``. Known: in_memory, 24h."""
    reasoning_effort: str | None = None
    """Known: none, minimal, low, medium, high, xhigh, max."""
    reasoning: ReasoningOptions | None = None
    """Of gateways: ``reasoning_effort`` and more."""
    thinking: ThinkingOptions | None = None
    """Of DeepSeek, GLM, Kimi and MiMo: ``reasoning_effort``."""
    enable_thinking: bool | None = None
    """Of Qwen: whether to think."""
    thinking_budget: Int | None = None
    """Of Qwen: budget of reasoning, in tokens."""
    chat_template_kwargs: dict[str, Any] | None = None
    """Of vLLM and SGLang: arguments of the model's prompt template; known: ``enable_thinking``, ``thinking``."""
    include_reasoning: bool | None = None
    """Of Groq and OpenRouter: whether the answer shows reasoning. None: true."""
    reasoning_format: str | None = None
    """Of Groq. Known: parsed, raw, hidden."""
    random_seed: Int | None = None
    """Of Mistral: ``seed``."""
    top_k: Number | None = None
    """Of many servers other than the vendor's: choose among the k likeliest tokens."""
    response_format: ResponseFormat | None = None
    safety_identifier: str | None = None
    """The end user, hashed; at most 128 characters."""
    seed: Int | None = None
    service_tier: str | None = None
    """Known: auto, default, flex, scale, priority, fast; other servers have their own."""
    stop: str | list[str] | None = None
    """Text before which to stop; at most 4 with the vendor."""
    store: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Numeric(0, 2)] | None = None
    """0 to 2. None: 1."""
    tool_choice: ToolChoice | None = None
    """None: auto if there are tools, else none."""
    tools: list[Tool] | None = None
    top_logprobs: Annotated[Int, Field(ge=0, le=20)] | None = None
    """Likeliest alternatives to tell for each token, 0 to 20 with the vendor; needs ``logprobs``."""
    top_p: Annotated[float, Numeric(0, 1)] | None = None
    """0 to 1. None: 1."""
    user: str | None = None
    """The end user; the vendor replaces it by ``safety_identifier`` and ``prompt_cache_key``."""
    verbosity: str | None = None
    """Known: low, medium, high. None: medium."""
    web_search_options: WebSearchOptions | None = None
    stream: bool | None = None
    """None: false."""
