"""Detect the format and kind of a body from its keys and values, with reasons.

Detection does not validate: a detected body may still be invalid in its format.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from formatbridge import ir
from formatbridge.errors import InvalidPayloadError
from formatbridge.formats.format import Kind
from formatbridge.jsontext import codec

_MEMBERS = {"*": 50, "0": 1}
"""Path steps into an array, and how many members each examines."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The most likely format and kind of a body; both None if no clue matches.

    ``confidence``: from 0 (no clue) to 1 (all matching clues agree). ``reasons``: the matching clues, strongest first.
    """

    format: ir.Format | None
    kind: Kind | None
    confidence: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Clue:
    """A path whose presence (or whose value, if it is one of ``values``) indicates one kind of document of one format.

    ``path``: keys joined by slashes, ``*`` for any member of an array, ``0`` for the first. ``shape``: the required type of the value, for
    keys with another meaning in another format.
    """

    format: ir.Format
    kind: Kind
    weight: int
    path: str
    values: tuple[Any, ...] = ()
    shape: type = object


_CLUES: tuple[_Clue, ...] = (
    # Requests.
    _Clue("chat_completions", "request", 8, "messages", shape=list),
    *(_Clue("chat_completions", "request", 5, f"messages/*/{key}", shape=list) for key in ("reasoning_details", "thinking_blocks")),
    _Clue("chat_completions", "request", 6, "messages/*/role", ("tool", "developer", "function")),
    _Clue("chat_completions", "request", 3, "messages/*/role", ("system",)),
    _Clue("chat_completions", "request", 4, "messages/0/role", ("system",)),  # messages allows this role only after a user message
    _Clue("chat_completions", "request", 6, "messages/*/reasoning_content"),
    _Clue("chat_completions", "request", 5, "messages/*/refusal"),
    _Clue("chat_completions", "request", 5, "messages/*/audio", shape=dict),
    _Clue("chat_completions", "request", 6, "messages/*/tool_calls"),
    _Clue("chat_completions", "request", 6, "messages/*/content/*/type", ("image_url", "input_audio", "file", "video_url")),
    _Clue("chat_completions", "request", 6, "tools/*/function"),
    _Clue("chat_completions", "request", 6, "tools/*/custom", shape=dict),
    _Clue("chat_completions", "request", 3, "thinking/type", ("enabled",)),  # DeepSeek and others, without a budget; messages requires one
    _Clue("chat_completions", "request", 5, "response_format"),
    _Clue("chat_completions", "request", 5, "stream_options/include_usage"),
    *(
        _Clue("chat_completions", "request", 4, key)
        for key in ("n", "stop", "seed", "logit_bias", "presence_penalty", "frequency_penalty", "max_completion_tokens",
                    "reasoning_effort", "functions", "logprobs", "web_search_options", "modalities")
    ),
    _Clue("chat_completions", "request", 4, "prediction", shape=dict),
    *(
        clue
        for name in ("chat_completions", "responses")
        for clue in (
            _Clue(name, "request", 4, "tool_choice", shape=str),
            _Clue(name, "request", 3, "store", shape=bool),
            _Clue(name, "request", 3, "service_tier", ("default", "flex", "scale", "priority")),
        )
    ),
    _Clue("messages", "request", 7, "messages", shape=list),
    _Clue("messages", "request", 2, "max_tokens"),
    _Clue("messages", "request", 6, "system"),
    _Clue("messages", "request", 2, "top_k"),
    _Clue("messages", "request", 6, "messages/*/content/*/type",
          ("tool_use", "tool_result", "redacted_thinking", "image", "document", "server_tool_use", "search_result")),
    _Clue("messages", "request", 3, "messages/*/content/*/cache_control"),
    _Clue("messages", "request", 6, "tools/*/input_schema"),
    _Clue("messages", "request", 5, "tool_choice/type", ("any", "tool", "auto", "none")),
    *(
        _Clue("messages", "request", 5, key)
        for key in ("stop_sequences", "anthropic_version", "mcp_servers", "container")
    ),
    *(_Clue("messages", "request", 5, key, shape=dict) for key in ("output_config", "cache_control")),
    _Clue("messages", "request", 7, "thinking/budget_tokens"),
    _Clue("messages", "request", 5, "thinking/type", ("adaptive",)),
    _Clue("responses", "request", 8, "input"),
    *(
        _Clue("responses", "request", 5, key)
        for key in ("instructions", "previous_response_id", "max_output_tokens", "include", "truncation", "conversation",
                    "background", "max_tool_calls")
    ),
    *(_Clue("responses", "request", 5, key, shape=dict) for key in ("text", "reasoning", "prompt")),
    _Clue("responses", "request", 4, "tools/*/name"),
    _Clue("generate_content", "request", 10, "contents"),
    *(
        _Clue("generate_content", "request", 6, key)
        for key in ("generationConfig", "generation_config", "systemInstruction", "system_instruction", "safetySettings", "safety_settings",
                    "toolConfig", "tool_config", "cachedContent", "cached_content")
    ),
    _Clue("generate_content", "request", 6, "tools/*/functionDeclarations"),
    _Clue("generate_content", "request", 6, "tools/*/function_declarations"),
    # Answers.
    _Clue("chat_completions", "response", 10, "choices"),
    _Clue("chat_completions", "response", 8, "object", ("chat.completion",)),
    _Clue("messages", "response", 8, "type", ("message",)),
    _Clue("messages", "response", 5, "stop_reason"),
    _Clue("messages", "response", 3, "content/*/type"),
    _Clue("responses", "response", 30, "object", ("response",)),  # a response repeats many fields of its request
    _Clue("responses", "response", 12, "output"),
    _Clue("responses", "response", 4, "incomplete_details"),
    _Clue("responses", "response", 4, "parallel_tool_calls"),
    _Clue("responses", "response", 3, "created_at"),
    _Clue("generate_content", "response", 10, "candidates"),
    _Clue("generate_content", "response", 8, "promptFeedback"),
    _Clue("generate_content", "response", 8, "usageMetadata"),
    _Clue("generate_content", "response", 4, "modelVersion"),
    # Errors. chat_completions and responses share one shape; detection returns the first.
    _Clue("chat_completions", "error", 4, "error/message"),
    _Clue("chat_completions", "error", 3, "error/type"),
    _Clue("chat_completions", "error", 3, "error/param"),
    _Clue("messages", "error", 12, "type", ("error",)),
    _Clue("generate_content", "error", 9, "error/status"),
    _Clue("generate_content", "error", 4, "error/message"),
    _Clue("generate_content", "error", 3, "error/details"),
    # Lists of models.
    _Clue("chat_completions", "models", 6, "object", ("list",)),
    _Clue("chat_completions", "models", 4, "data/*/object", ("model",)),
    _Clue("chat_completions", "models", 3, "data/*/id"),
    _Clue("messages", "models", 6, "data/*/type", ("model",)),
    _Clue("messages", "models", 4, "data/*/display_name"),
    _Clue("messages", "models", 4, "has_more"),
    _Clue("generate_content", "models", 10, "models/*/name"),
    _Clue("generate_content", "models", 3, "models"),
    _Clue("generate_content", "models", 4, "models/*/supportedGenerationMethods"),
)  # fmt: skip


def detect_format(body: Any) -> Detection:
    """Detect the format and kind of a body.

    ``body``: a dict, JSON text, or a typed model, whose format is certain. Raises ``InvalidPayloadError`` if it is no JSON object.
    """
    if isinstance(body, BaseModel):
        return _detect_model(body)
    value = _read(body)
    scores: dict[tuple[ir.Format, Kind], int] = defaultdict(int)
    matched: dict[tuple[ir.Format, Kind], list[tuple[int, str]]] = defaultdict(list)
    for clue in _CLUES:
        if any(_matches(item, clue) for item in _values(value, clue.path.split("/"))):
            scores[clue.format, clue.kind] += clue.weight
            reason = f"{clue.path} is {' or '.join(map(str, clue.values))}" if clue.values else f"has {clue.path}"
            matched[clue.format, clue.kind].append((clue.weight, reason))
    if not scores:
        return Detection(None, None, 0.0, ())
    ranked = sorted(scores, key=lambda key: -scores[key])
    best = ranked[0]
    rival = max((scores[key] for key in ranked[1:]), default=0)
    confidence = round((scores[best] - rival) / scores[best] * min(1.0, scores[best] / 10), 3)
    reasons = tuple(reason for _, reason in sorted(matched[best], key=lambda item: -item[0]))
    return Detection(*best, confidence, reasons)


def _matches(item: Any, clue: _Clue) -> bool:
    return isinstance(item, clue.shape) and (not clue.values or item in clue.values)


def _detect_model(body: BaseModel) -> Detection:
    from formatbridge.convert.input import model_of

    detected = model_of(body)
    if detected is None:
        raise InvalidPayloadError(
            "unknown", "payload", [("", f"is a {type(body).__name__}, expected a model of one of the formats")]
        )
    return Detection(*detected, 1.0, (f"is a {type(body).__name__} model",))


def _read(body: Any) -> dict[str, Any]:
    try:
        value = codec.loads(body, []) if isinstance(body, bytes | bytearray | str) else body
    except codec.NotJsonError as error:
        raise InvalidPayloadError("unknown", "payload", [(error.pointer, error.message)]) from None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):  # some streams send an error as an array
        value = value[0]
    if not isinstance(value, dict):
        raise InvalidPayloadError("unknown", "payload", [("", f"is {codec.describe(value)}, expected an object")])
    return value


def _values(value: Any, steps: list[str]) -> Iterator[Any]:
    """Yield the values at a path, except null; of a long array only those of the first members."""
    if not steps:
        if value is not None:
            yield value
    elif steps[0] in _MEMBERS:
        for member in value[: _MEMBERS[steps[0]]] if isinstance(value, list) else []:
            yield from _values(member, steps[1:])
    elif isinstance(value, dict) and steps[0] in value:
        yield from _values(value[steps[0]], steps[1:])
