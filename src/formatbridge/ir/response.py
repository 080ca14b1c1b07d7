"""The canonical response: choices with parts and a finish reason, usage, errors, and lists of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from formatbridge.ir.parts import Citation, FormatName, Number, Part
from formatbridge.jsontext.types import JsonObject, JsonValue

FinishReason = Literal[
    "stop", "stop_sequence", "length", "context_length", "tool_calls", "content_filter", "refusal", "pause",
    "compaction", "error", "cancelled", "other",
]  # fmt: skip

ErrorKind = Literal[
    "invalid_request", "authentication", "billing", "permission", "not_found", "conflict", "too_large", "rate_limit",
    "cancelled", "server", "overloaded", "timeout",
]  # fmt: skip

ErrorFamily = Literal["detail", "messages", "status"]
"""The vocabulary of an error body: ``detail`` of OpenAI's formats, ``messages`` of Anthropic's, ``status`` of Google's."""


@dataclass(slots=True)
class Usage:
    """Token counts of one answer, inclusive: input counts cached and tool-prompt tokens, output counts reasoning.

    None: the source has no count; 0: its count is 0. ``total`` is the total of the source, which may differ from the sum.
    The modality fields map lower case names to tokens, without zeros. ``cache_write_ttl`` splits ``cache_write`` by lifetime: ``5m``,
    ``30m``, ``1h``, ``12h``.
    """

    input: int = 0
    output: int = 0
    total: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    src: str = ""
    extra: JsonObject | None = None
    cache_write_ttl: dict[str, int] | None = None
    tool_prompt: int | None = None
    input_modality: dict[str, int] | None = None
    output_modality: dict[str, int] | None = None
    cached_modality: dict[str, int] | None = None
    accepted_prediction: int | None = None
    rejected_prediction: int | None = None
    server_tools: dict[str, int] | None = None


@dataclass(slots=True)
class Finish:
    """Why an answer ended.

    ``raw``: the source's finish reason; None: it has none. ``message``: its explanation, ``category``: its class of refusal.
    ``is_specific``: ``raw`` is more specific than ``reason``, so a format without that value loses information.
    """

    reason: FinishReason
    raw: str | int | None = None
    is_specific: bool = False
    src: str = ""
    extra: JsonObject | None = None
    message: str | None = None
    stop_sequence: str | None = None
    category: str | None = None


@dataclass(slots=True, kw_only=True)
class TokenLogprob:
    """One token of an answer, its natural log probability, its UTF-8 bytes where known, and the most likely alternatives.

    ``logprob`` None: the source does not have one. ``second_src`` is the pointer of the alternatives, where the format stores them
    separately from their token.
    """

    token: str
    logprob: Number | None
    bytes: list[int] | None = None
    top_logprobs: list[TokenLogprob] | None = None
    src: str = ""
    second_src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True)
class Choice:
    """One of the ``n`` answers to a request."""

    parts: list[Part]
    finish: Finish | None = None
    index: int = 0
    src: str = ""
    extra: JsonObject | None = None
    logprobs: list[TokenLogprob] | None = None
    refusal_logprobs: list[TokenLogprob] | None = None


@dataclass(slots=True, kw_only=True)
class Error:
    """An error that the server reported. ``retry_after`` is in seconds, ``status`` the HTTP status.

    ``family``: whose vocabulary ``type`` and ``code`` use.
    """

    kind: ErrorKind
    message: str
    family: ErrorFamily | None = None
    status: int | None = None
    code: str | int | None = None
    type: str | None = None
    param: str | None = None
    request_id: str | None = None
    retry_after: Number | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True)
class Response:
    """A whole answer. ``created`` is in seconds since the epoch. With ``error``, generation failed, and ``choices`` is what came before.

    ``fields_after_start``: names of fields that a stream sent after its start. ``revised_parts``: parts whose closing event differs
    from their earlier events, each with the field and its earlier value. ``citations_after_text``: citations that came after the texts
    of their choice had closed.
    """

    format: FormatName
    id: str | None
    model: str | None
    choices: list[Choice]
    created: Number | None = None
    usage: Usage | None = None
    extra: JsonObject | None = None
    error: Error | None = None
    src: str = ""
    fields_after_start: tuple[str, ...] = ()
    revised_parts: tuple[tuple[Part, str, str], ...] = ()
    citations_after_text: tuple[Citation, ...] = ()


@dataclass(slots=True)
class TokenCount:
    """The number of input tokens of a request, cached ones included, from an endpoint that only counts."""

    input: int
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class Model:
    """One available model. ``id`` has no ``models/`` prefix; times are in seconds since the epoch, limits in tokens."""

    id: str
    display_name: str | None = None
    description: str | None = None
    version: str | None = None
    created: Number | None = None
    owner: str | None = None
    input_limit: int | None = None
    output_limit: int | None = None
    methods: list[str] | None = None
    lifecycle: str | None = None
    retires_at: JsonValue = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class ModelList:
    """A page of models; ``has_more``: another page follows."""

    format: FormatName
    models: list[Model]
    has_more: bool | None = None
    first_id: str | None = None
    last_id: str | None = None
    next_page: str | None = None
    src: str = ""
    extra: JsonObject | None = None
