"""What a model answers: choices with parts and an end, usage, errors, and lists of models."""

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


@dataclass(slots=True)
class Usage:
    """Tokens of one answer, inclusive: input counts cached and tool-prompt tokens, output counts reasoning.

    None means that the source did not say; 0 that it said none. ``total`` is as reported. Modalities are lower case words to tokens; zeros
    are left out.
    ``cache_write_ttl`` splits ``cache_write`` by ``5m``, ``30m``, ``1h``, ``12h``.
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
    """Why an answer ended. ``raw`` is the source's own word, None where it said none; ``message`` its explanation, ``category`` its class
    of refusal.

    ``finer``: ``raw`` says more than ``reason``, so a format without that word loses something.
    """

    reason: FinishReason
    raw: str | int | None = None
    finer: bool = False
    src: str = ""
    extra: JsonObject | None = None
    message: str | None = None
    stop_sequence: str | None = None
    category: str | None = None


@dataclass(slots=True, kw_only=True)
class TokenLogprob:
    """One token of an answer, its natural log probability, its UTF-8 bytes where known, and the runners-up at its place.

    ``logprob`` None: the source does not have one. ``aside`` is the pointer of the runners-up, where the format keeps them apart from
    their token.
    """

    token: str
    logprob: Number | None
    bytes: list[int] | None = None
    top: list[TokenLogprob] | None = None
    src: str = ""
    aside: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True)
class Choice:
    """One answer among ``n``."""

    parts: list[Part]
    finish: Finish | None = None
    index: int = 0
    src: str = ""
    extra: JsonObject | None = None
    logprobs: list[TokenLogprob] | None = None
    refusal_logprobs: list[TokenLogprob] | None = None


@dataclass(slots=True, kw_only=True)
class Error:
    """What went wrong on the other side. ``retry_after`` in seconds, ``status`` the HTTP status.

    ``family`` says whose words ``type`` and ``code`` are: ``detail`` (chat_completions, responses), ``messages``, ``status``.
    """

    kind: ErrorKind
    message: str
    family: Literal["detail", "messages", "status"] | None = None
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
    """A whole answer. ``created`` in seconds since the epoch. ``error`` set: it failed on the way, ``choices`` is what came before.

    ``late``: the fields that a stream told when it had begun without them. ``retold``: its parts whose end said something else than they
    had said, each with the field and what that was. ``cited``: the citations that came when the texts of their choice had closed.
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
    late: tuple[str, ...] = ()
    retold: tuple[tuple[Part, str, str], ...] = ()
    cited: tuple[Citation, ...] = ()


@dataclass(slots=True, kw_only=True)
class Model:
    """One model on offer. ``id`` without any ``models/`` prefix; times in seconds since the epoch; limits in tokens."""

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
    retires: JsonValue = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class ModelList:
    """A page of models; ``more``: there are others behind it."""

    format: FormatName
    models: list[Model]
    more: bool | None = None
    first_id: str | None = None
    last_id: str | None = None
    next_page: str | None = None
    src: str = ""
    extra: JsonObject | None = None
