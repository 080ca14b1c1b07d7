"""Dialects: how one server reads the requests of a format, as data.

A dialect matters for requests only. Responses, streams, errors and lists of models are read leniently, whatever server sent them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ReasoningControl = Literal[
    "reasoning_effort", "reasoning", "reasoning_toggle", "thinking_and_effort", "thinking_or_effort", "thinking_type_or_effort",
    "thinking_adaptive", "enable_thinking", "kwarg_or_effort", "kwarg_or_budget_tokens", "kwarg_or_token_budget", "none",
]  # fmt: skip
"""How a request of chat_completions, of messages or of responses sets the amount of reasoning:

- ``reasoning_effort``: OpenAI's field, with an effort only.
- ``reasoning``: an object with ``effort``, ``max_tokens``, ``enabled`` and ``exclude``. In Responses: ``max_tokens`` next to its fields.
- ``reasoning_toggle``: ``reasoning_effort``, or ``reasoning`` with only ``enabled``.
- ``thinking_and_effort``: ``thinking`` with a type, and ``reasoning_effort`` next to it.
- ``thinking_or_effort``: ``reasoning_effort``, or ``thinking`` with ``budget_tokens``. ``thinking_type_or_effort``: without a budget.
- ``thinking_adaptive``: ``thinking`` with the type ``adaptive`` or ``disabled``. In Messages: the other types are rejected, and an effort
  has no effect.
- ``enable_thinking``: this flag, with ``thinking_budget`` or ``reasoning_effort`` next to it.
- ``kwarg_or_effort``: a flag in ``chat_template_kwargs``, or ``reasoning_effort``.
- ``kwarg_or_budget_tokens``: the same, also with ``thinking_budget_tokens``.
- ``kwarg_or_token_budget``: the same, also with ``thinking_token_budget``.
- ``none``: the server has no such setting.
"""
HidingField = Literal["include_reasoning", "reasoning_format"]
"""A field of chat_completions with which a request hides the reasoning in the answer: by ``false``, or by ``hidden``."""
ReasoningHistory = Literal[
    "reasoning_content", "reasoning", "required", "required_with_thinking", "reasoning_details", "thinking_part", "none"
]
"""How an assistant message of chat_completions repeats its reasoning: in one of these fields, in a part of its content, or not at all.

``required``: in ``reasoning_content``, which the server requires in every message with tool calls. In Messages: a block of thinking that
it requires there, unless reasoning is off. ``required_with_thinking``: the same, only if the request turns reasoning on.
``reasoning_details``: in a list of objects, as MiniMax has it.
"""
CacheMarks = Literal["cache_control", "none"]
"""The field of a part with its cache mark; ``none``: the server rejects or ignores cache marks."""
ToolMode = Literal["auto", "none", "required", "named"]
"""A tool choice."""
MediaSource = Literal[
    "image_url",
    "image_data",
    "image_file_id",
    "audio_url",
    "audio_data",
    "video_url",
    "video_data",
    "document_url",
    "document_data",
    "file_id",
]
"""A kind of media, and whether a request has its URL, its data or the id of an uploaded file; ``file_id``: any media by this id."""
ContinuationField = Literal["continue_final_message", "add_generation_prompt"]
"""A field of chat_completions that controls whether a final assistant message is continued."""
UnitSetting = Literal["n", "top_p"]
"""A setting whose value of 1 has no effect."""
FunctionField = Literal["parameters", "description"]
"""A field of a function."""
NestedField = Literal[
    "thinking/budget_tokens",
    "tool_choice/disable_parallel_tool_use",
    "messages/*/content/*/is_error",
    "messages/*/content/*/citations",
    "output_config/task_budget",
    "text/verbosity",
    "reasoning/summary",
]
"""A field of Messages or Responses below others, as keys with slashes; ``*`` is any item."""
MOST_TOOLS_OF_OPENAI = 128
"""OpenAI's server rejects more: "Expected an array with maximum length 128" (zed-industries/zed#32946)."""
OutputFormat = Literal["json_schema", "json_object"]
"""A structured output format."""
AudioUrl = Literal["data", "text"]
"""Where a part of chat_completions with audio has its URL: as its data, which are a data URL otherwise, or as a text in place of the object
with data and their format."""
DocumentPart = Literal["file", "document_url", "file_url"]
"""The type of a part of chat_completions with a document."""

_MARK_OF_REQUEST = frozenset({"cache_control"})
_ALL_MODES: frozenset[ToolMode] = frozenset({"auto", "none", "required", "named"})
_ALL_OUTPUTS: frozenset[OutputFormat] = frozenset({"json_schema", "json_object"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectRules:
    """How a server reads the requests of one format. Defaults: as the format defines. Names of fields are those of the format.

    ``sources`` has the public source of every difference: by field, or by field and member, such as ``rejects.logit_bias``.
    """

    server: str
    """The name of the server, for reports."""
    rejects: frozenset[str] = frozenset()
    """Fields of a request that the server answers with an error. They are dropped."""
    rejects_nested: frozenset[str] = frozenset()
    """Other fields that the server answers with an error, as keys with slashes; ``*`` is any item: ``safetySettings/*/method``."""
    ignores_nested: frozenset[NestedField] = frozenset()
    """Fields below others that the server accepts without effect. A budget for reasoning becomes an effort."""
    rejects_blocks: frozenset[str] = frozenset()
    """Types of blocks of Messages, and fields of parts of generate_content, that the server does not read. A block that text can replace
    becomes this text."""
    ignores: frozenset[str] = frozenset()
    """Fields of a request that the server accepts without effect. They are dropped, so that the report mentions them."""
    ignores_while_reasoning: frozenset[str] = frozenset()
    """Fields of a request that the server, whose models reason by default, accepts without effect unless reasoning is off."""
    rejects_while_reasoning: frozenset[str] = frozenset()
    """Fields of a request that the server rejects for its models that reason, unless facts state that the model does not."""
    stores_responses: bool = True
    """Whether a request may ask the server to store its response; otherwise ``store`` becomes false."""
    reads: frozenset[str] = frozenset()
    """Settings that the server reads although the format does not have them, such as ``top_k``, or no format models, such as
    ``logit_bias``."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Fields of a request to their names on this server, such as ``max_completion_tokens`` to ``max_tokens``. No two have the same name."""
    rejects_in_messages: frozenset[str] = frozenset()
    """Fields of messages of chat_completions that the server answers with an error, after the role and a dot, such as ``user.name``."""
    requires_alternating_turns: bool = False
    """Whether turns of the user and of the model must alternate; consecutive ones are joined."""
    accepts_legacy_functions: bool = True
    """Whether the server accepts ``functions`` and messages with the role ``function``; otherwise they become tools and results."""
    accepts_developer_role: bool = True
    """Whether the server accepts messages with the role ``developer``; otherwise they become ``system``."""
    accepts_later_instructions: bool = True
    """Whether instructions may follow the first turn; otherwise all of them come first."""
    requires_single_instruction: bool = False
    """Whether only one message may have instructions; several before the first turn are joined."""
    continuation_excludes_instructions: bool = False
    """Whether the server rejects ``instructions`` of Responses next to ``previous_response_id``. They become a message of its input."""
    accepts_later_configuration: bool = True
    """Whether messages may add tools or change the effort; otherwise all tools come first, and later efforts are dropped."""
    accepts_user_after_result: bool = True
    """Whether a message of the user may follow a tool result directly; otherwise an assistant message is added between them."""
    reads_result_parts: bool = True
    """Whether the server reads a list of texts as one tool result; otherwise they become one text."""
    accepts_empty_answers: bool = True
    """Whether an assistant message may have neither content nor tool calls; otherwise it is left out."""
    accepts_empty_texts: bool = True
    """Whether a part of a message may be an empty text; otherwise it is left out."""
    requires_answer_text: bool = False
    """Whether the server rejects an assistant message without text and tool calls, also one with reasoning. It gets a space as its text."""
    prefill_field: str | None = None
    """The field of a final assistant message with which the server continues it."""
    requires_prefill_field: bool = False
    """Whether the server rejects a final assistant message without ``prefill_field``."""
    continuation_fields: frozenset[ContinuationField] = frozenset()
    """Fields of a request with which the server continues a final assistant message: ``continue_final_message`` is true, and
    ``add_generation_prompt`` is false."""
    format_excludes_reasoning: bool = False
    """Whether the server, whose models reason by default, rejects an output format with it. Such a request turns reasoning off."""
    prefill_excludes_reasoning: bool = False
    """Whether the server continues a final assistant message only without reasoning. Without ``prefill_field`` it continues each one, so
    that such a request turns reasoning off."""
    accepts_final_answers: bool = True
    """Whether the server accepts a last message of the model; otherwise those after the last message of the user are left out."""
    final_answer_field: str | None = None
    """The field without which the server, whose models reason by default, rejects a last message of the model unless reasoning is off.
    A request that is converted does not get it, because only another endpoint of the server reads it; such messages are left out."""
    has_custom_tools: bool | None = None
    """Whether the server has custom tools, which take free text; None: as the format."""
    has_namespaces: bool | None = None
    """Whether the server has namespaces of tools; otherwise each tool gets the name of its namespace as a prefix; None: as the format."""
    has_tool_search: bool | None = None
    """Whether the server has tool searches that the caller runs; otherwise the search is a function, and no tool is deferred; None: as the
    format."""
    item_types: frozenset[str] | None = None
    """The types of items of Responses that the server reads; None: as the format."""
    rejects_items: frozenset[str] = frozenset()
    """Types of items of Responses that the server rejects."""
    tool_types: Mapping[str, str] = field(default_factory=dict)
    """Types of tools of Responses and Messages to the types that this server has for the same tools."""
    rejects_in_tools: frozenset[str] = frozenset()
    """Fields of tools of Responses that the server answers with an error, after the type and a dot: ``web_search.user_location``."""
    includes: frozenset[str] | None = None
    """The values of ``include`` of Responses that the server accepts; None: as the format."""
    server_tools: frozenset[str] | None = None
    """The families of tools that the server runs, and the types of tools without a family, such as ``file_search``; None: as the format."""
    search_excludes_functions: bool = False
    """Whether the server rejects ``web_search_options`` next to functions. Such a request keeps its functions."""
    search_tool: str | None = None
    """The type of the tool, or the field, with which the server searches the web in place of ``web_search_options``. A request that is
    converted does not get it, because only some models have it or it has other settings; the report mentions it."""
    domain_filter: str | None = None
    """The field of chat_completions with the domains of a web search: allowed ones, or blocked ones, each of which begins with a hyphen."""
    most_domains: int | None = None
    """The number of domains that ``domain_filter`` may have; None: any."""
    filtering_tool: str | None = None
    """The type of the tool with which the server searches the web in some domains, or a limited number of times. Other searches are
    ``web_search_options``."""
    accepts_empty_tools: bool = True
    """Whether the list of tools may be empty; otherwise it is left out."""
    tool_modes: frozenset[ToolMode] = _ALL_MODES
    """The tool choices that the server accepts."""
    accepts_allowed_tools: bool | None = None
    """Whether a tool choice may list allowed tools; None: as the format. Without it the other tools are left out."""
    required_word: str | None = None
    """The word for the tool choice ``required`` on this server."""
    forced_call_excludes_reasoning: bool = False
    """Whether the server, whose models reason by default, rejects a forced tool call with it. Such a request turns reasoning off."""
    reasoning_excludes_settings: bool = True
    """Whether the server of Messages rejects a forced tool call, ``top_k``, and most values of ``temperature`` and ``top_p`` with
    reasoning, as Anthropic's server does. A forced call then excludes reasoning, and reasoning the settings of sampling."""
    functions_exclude_reasoning: bool = False
    """Whether the server rejects functions of chat_completions with reasoning. Such a request turns reasoning off."""
    accepts_strict: bool = True
    """Whether a function may have ``strict``."""
    requires_uniform_strict: bool = False
    """Whether the server rejects functions with ``strict`` next to other tools. No function has it then."""
    required_in_functions: frozenset[FunctionField] = frozenset()
    """Fields without which the server rejects a function of chat_completions."""
    most_tools: int | None = None
    """The number of tools that the server accepts; None: as the format."""
    most_stops: int | None = None
    """The number of stop sequences that the server accepts, which may be more than the format has; None: as the format."""
    limits_stops: bool = True
    """Whether the server limits the number of stop sequences; otherwise it accepts any number."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Settings to the smallest and the largest number that the server accepts, such as ``temperature``; another becomes the nearest."""
    smallest_max_tokens: int | None = None
    """The smallest limit of the answer that the server accepts, in tokens; a lower one is raised to it; None: as the format."""
    requires_letter_first: bool = False
    """Whether the name of a tool must start with a letter; otherwise as the format."""
    longest_tool_name: int | None = None
    """The maximum length of a tool name in characters; None: as the format."""
    accepts_empty_arguments: bool = True
    """Whether the arguments of a call may be empty text; otherwise they become ``{}``."""
    requires_object_arguments: bool = False
    """Whether the arguments of a call must be a JSON object. Empty text becomes ``{}``, and other text the member ``raw_arguments``."""
    call_id_length: int | None = None
    """The number of letters and digits that the id of a tool call must have; None: as the format."""
    cache_marks: CacheMarks | None = None
    """The field with the cache mark of a part; None: as the format."""
    reasoning_control: ReasoningControl | None = None
    """How a request sets the amount of reasoning; None: as the format."""
    controls_of_models: Mapping[str, ReasoningControl] = field(default_factory=dict)
    """Kinds of reasoning of a model, as in ``ModelFacts``, to how a request sets its amount, where this differs from
    ``reasoning_control``."""
    hiding_field: HidingField | None = None
    """The field with which a request hides the reasoning in the answer; None: as ``reasoning_control``, or none."""
    limits_reasoning_format: bool = False
    """Whether the server rejects ``reasoning_format`` next to ``include_reasoning``, and ``raw`` next to tools or an output format. It is
    left out then."""
    smallest_budget: int = 1
    """The smallest budget for reasoning in chat_completions, in tokens."""
    budget_requires_effort: bool = False
    """Whether the server ignores a budget of Messages without an effort. Such a request gets the effort that corresponds to the budget."""
    efforts: frozenset[str] | None = None
    """The efforts that the server accepts; another one becomes the nearest; None: as the format. ``default``: that of the model."""
    replaced_efforts: Mapping[str, str] = field(default_factory=dict)
    """Efforts to those that the server uses in their place, where this is not the nearest one."""
    reasoning_history: ReasoningHistory | None = None
    """How an assistant message repeats its reasoning; None: as the format."""
    output_formats: frozenset[OutputFormat] = _ALL_OUTPUTS
    """The structured output formats of the server: ``json_schema``, ``json_object``. In messages, ``json_object`` is an instruction."""
    accepts_any_object: bool = True
    """Whether a schema of an output format may be any object, as which a server without JSON mode gets it; otherwise JSON mode becomes an
    instruction."""
    rejects_in_schemas: frozenset[str] = frozenset()
    """Keywords of the schema of an output format that the server answers with an error. They move into the description."""
    rejects_in_strict_schemas: frozenset[str] = frozenset()
    """The same for schemas with ``strict``, also those of functions."""
    format_excludes_tools: bool = False
    """Whether the server rejects an output format in a request with tools. Such a request keeps its tools."""
    format_prevents_calls: bool = False
    """Whether the server applies an output format to the whole answer, so that the model cannot call tools. Such a request keeps its
    tools."""
    schema_excludes_stream: bool = False
    """Whether the server rejects an output format with a schema in a stream. Such a request keeps its stream."""
    accepts_generated_images: bool = True
    """Whether an assistant message may have images."""
    accepts_refusals: bool = True
    """Whether an assistant message may have refusals; otherwise they become text."""
    tiers: frozenset[str] | None = None
    """The words for ``service_tier`` that the server accepts in chat_completions and responses; None: as the format."""
    accepts_nulls: bool = True
    """Whether fields of a request may be null; otherwise those that a caller of the same format sets to null are left out."""
    rejects_null_in_items: frozenset[str] = frozenset()
    """Fields of items of Responses that must not be null. They are left out, because a null is a missing value."""
    excluded_by_tools: frozenset[UnitSetting] = frozenset()
    """Settings of which the server accepts only 1 in a request with tools. Such a request does not have them."""
    excluded_by_greedy_sampling: frozenset[UnitSetting] = frozenset()
    """Settings of which the server accepts only 1 next to a temperature of 0. Such a request does not have them."""
    streamed_tools_exclude_logprobs: bool = False
    """Whether the server rejects log probabilities in a stream with tools. Such a request has none."""
    has_logprobs_flag: bool = False
    """Whether a request of Responses asks for log probabilities with ``logprobs``, instead of a value of ``include``."""
    counts_logprobs: bool = False
    """Whether ``logprobs`` is the number of alternatives, instead of a flag next to ``top_logprobs``."""
    media: frozenset[MediaSource] | None = None
    """The media that the server accepts in a request; None: as the format."""
    image_types: frozenset[str] | None = None
    """The media types of the images that the server reads, such as ``image/png``; None: as the format."""
    file_types: frozenset[str] | None = None
    """The media types of documents and audio whose data the server reads; a text of another type is sent as text; None: as the format."""
    reads_image_detail: bool = True
    """Whether the server reads the resolution of an image (``detail``)."""
    audio_url: AudioUrl | None = None
    """Where audio in Chat Completions has its URL; None: it has no URL."""
    document_part: DocumentPart | None = None
    """The type of a part with a document; ``file``: with a URL in place of the data, if it has one; None: as the format."""
    accepts_unsigned_reasoning: bool = False
    """Whether the server accepts reasoning without a token of the format."""
    reads_encrypted_reasoning: bool = True
    """Whether the server reads the encrypted content of reasoning; otherwise only its text is sent."""
    encrypted_reasoning_is_text: bool = False
    """Whether the server reads the encrypted content of reasoning as its text, and no other field. It gets the text there."""
    reads_last_reasoning: bool = False
    """Whether the server reads the last reasoning item of a message of the model only. It gets all of them joined in one."""
    reads_first_part: bool = False
    """Whether the server reads the first text of a message of the model only, and of reasoning. It gets all texts joined in one."""
    summary_is_reasoning: bool = True
    """Whether each model of the server reads a summary as reasoning; otherwise a summary without a text becomes the text."""
    accepts_labels: bool = False
    """Whether a request of generate_content may have ``labels``."""
    safety_categories: frozenset[str] | None = None
    """The categories of safety settings that the server accepts; None: any."""
    accepts_call_ids: bool = True
    """Whether calls and results of generate_content may have an ``id``."""
    accepts_whole_count_requests: bool = True
    """Whether a request for a token count of generate_content may have ``generateContentRequest``; otherwise its fields are at the top."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The public source of each difference: a page of the vendor's documentation, or ``owner/repository#number``."""

    @property
    def unread(self) -> frozenset[str]:
        """Fields of a request that the server rejects or ignores. One is the mark of the whole request, if the server has no marks."""
        mark = _MARK_OF_REQUEST if self.cache_marks == "none" else frozenset()
        return self.rejects | self.rejects_while_reasoning | self.ignores | mark

    @property
    def excludes_reasoning(self) -> bool:
        """Whether the server rejects reasoning with some requests."""
        by_settings = self.forced_call_excludes_reasoning or self.format_excludes_reasoning
        return by_settings or self.prefill_excludes_reasoning or self.functions_exclude_reasoning

    def accepts_item(self, type: str) -> bool:
        """Return whether the server accepts items of a type in the input of Responses."""
        return type not in self.rejects_items and (self.item_types is None or type in self.item_types)

    def omits(self, field: str, value: object) -> bool:
        """Return whether a request for the server must not have a field. One answer (``n`` is 1) is what every server gives."""
        return field in self.unread and not (field == "n" and value == 1)

    def __repr__(self) -> str:
        return f"<DialectRules {self.server}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dialect:
    """How one server reads the requests of the formats that it has.

    ``name``: lower-case letters, digits and underscores. ``rules``: the rules by the name of the format.

    >>> mine = Dialect("mine", {"chat_completions": DialectRules(server="My server", names={"max_completion_tokens": "max_tokens"})})
    """

    name: str
    """The name by which a ``Target`` names a built-in dialect."""
    rules: Mapping[str, DialectRules]
    """The rules of the server, by the name of the format."""

    def __repr__(self) -> str:
        return f"<Dialect {self.name}: {', '.join(self.rules)}>"
