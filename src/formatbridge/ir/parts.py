"""The parts of a message: text, media, reasoning, tool calls and results, and parts that only one format has.

``src`` is the JSON pointer of the node in the source body; a node decoded from a bare string points at that string.
``extra`` holds the unmodelled fields of the source format: JSON pointers relative to ``src``, without the leading slash, to values.
A pointer that begins with a slash is absolute.
Parts that cannot have a cache mark have the class attribute ``cache = None`` instead of a field.
The most frequent nodes also accept their first fields by position, because keyword arguments double the cost of creating them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NewType

from formatbridge.jsontext.types import JsonObject, JsonValue

Format = Literal["chat_completions", "messages", "responses", "generate_content"]
"""The names of the built-in formats."""
RegisteredName = NewType("RegisteredName", str)
"""The name of a format from outside, or a name that is known at run time only. Type checkers reject any other text as a format."""
FormatName = Format | RegisteredName
"""The name of a format, built in or from outside."""
Number = int | float
"""A number that keeps its JSON form: 1 is written as 1, and 1.0 as 1.0."""

MediaKind = Literal["image", "audio", "video", "document"]
SignatureKind = Literal["thinking", "redacted", "encrypted", "thought", "call"]


@dataclass(slots=True, kw_only=True)
class Signature:
    """A reasoning token (signature): an opaque value that proves or contains reasoning. Only the format that issued it can use it.

    ``issuer``: the format that issued it. ``kind``: ``thinking`` signs visible reasoning, ``redacted`` and ``encrypted`` contain hidden
    reasoning, ``thought`` is on any part of generate_content, ``call`` belongs to the next tool call or text.
    ``item_id``: the id of the item or call that the token is bound to; the server rejects the token without it.
    ``received_in``: another format that carried the token in a field that names the issuer; it may return to that field.
    ``received_key``: the key of that field, if ``received_in`` has several fields for the tokens of the issuer and it is not the first one.
    ``tagged_text``: the tagged text from which it was read; None: it had no tag.
    ``seal_key``: the key that authenticates its tag when it is written; None: the tag is not authenticated.
    """

    issuer: FormatName
    kind: SignatureKind
    token: str
    src: str = ""
    item_id: str | None = None
    received_in: FormatName | None = None
    received_key: str | None = None
    tagged_text: str | None = field(default=None, compare=False, repr=False)
    seal_key: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, kw_only=True)
class CacheMark:
    """A mark that the server may cache the prompt up to and including this part.

    ``ttl``: ``5m``, ``30m``, ``1h``, ``12h``; None: the server's default.
    """

    ttl: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class Citation:
    """The source of a span of an answer's text.

    ``start`` and ``end`` are offsets in Unicode code points over the visible text of the whole choice, end exclusive; None: unknown.
    ``second_src`` is the pointer of the span, where the format stores spans and sources separately. If such a span has several sources,
    ``index_src`` is the pointer of the index that names this one, and ``index_count`` is their number.
    """

    kind: Literal["web", "document", "file", "map", "search"]
    url: str | None = None
    title: str | None = None
    file_id: str | None = None
    cited_text: str | None = None
    start: int | None = None
    end: int | None = None
    src: str = ""
    second_src: str = ""
    index_src: str = ""
    index_count: int = 1
    extra: JsonObject | None = None


@dataclass(slots=True)
class Text:
    """Visible text. ``id`` is the id of its item, where the format has items."""

    text: str
    src: str = ""
    extra: JsonObject | None = None
    citations: list[Citation] | None = None
    cache: CacheMark | None = None
    signature: Signature | None = None
    id: str | None = None


@dataclass(slots=True, kw_only=True)
class Media:
    """An image, audio, a video or a document; exactly one of ``data``, ``url`` and ``file_id`` is set.

    ``data`` is base64, ``mime`` its media type where known. A ``file_id`` is valid only for ``vendor``, whose storage has the file:
    ``openai``, ``anthropic`` or ``google``.
    ``detail``: ``auto``, ``low``, ``medium``, ``high``, ``original``.
    """

    kind: MediaKind
    mime: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    vendor: str | None = None
    filename: str | None = None
    detail: str | None = None
    transcript: str | None = None
    cache: CacheMark | None = None
    signature: Signature | None = None
    id: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True)
class Reasoning:
    """Reasoning of the model. Without text but with a signature, it is redacted or encrypted. ``is_summary``: the text is a summary."""

    cache: ClassVar[None] = None
    text: str = ""
    src: str = ""
    signature: Signature | None = None
    is_summary: bool = False
    id: str | None = None
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class Refusal:
    """The text of a refusal. ``kind`` distinguishes it from a text when both are stored as JSON."""

    cache: ClassVar[None] = None
    text: str
    kind: Literal["refusal"] = "refusal"
    id: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True)
class ToolCall:
    """A call of a tool that the caller runs.

    ``arguments`` keep the form of the source: text or an object. ``kind`` ``custom``: free text; ``tool_search``: a search for tools that
    the caller runs, which is a function in formats without such a call.
    ``id`` is always set; ``has_generated_id``: the source had none, so the decoder generated it. ``item_id`` is the id of its item, if any.
    """

    id: str
    name: str
    arguments: str | JsonObject
    src: str = ""
    kind: Literal["function", "custom", "tool_search"] = "function"
    namespace: str | None = None
    has_generated_id: bool = False
    item_id: str | None = None
    cache: CacheMark | None = None
    signature: Signature | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class ToolResult:
    """The result of a tool call; ``content`` is text and media.

    ``name`` is the tool's name, where the source has it, and ``namespace`` is then that of the call.
    ``has_generated_id``: the source names no call, and no call matches.
    """

    call_id: str
    content: list[Part]
    src: str = ""
    name: str | None = None
    is_error: bool | None = None
    kind: Literal["function", "custom", "tool_search"] = "function"
    cache: CacheMark | None = None
    signature: Signature | None = None
    extra: JsonObject | None = None
    has_generated_id: bool = False
    namespace: str | None = None


@dataclass(slots=True, kw_only=True)
class Hosted:
    """A call that the server executed, or its result, of a family that several formats have.

    ``family``: ``web_search``, ``web_fetch``, ``code``, ``mcp``. ``role``: the call, its result, or both in one item.
    ``arguments``: the query, URL, code or JSON text. ``output``: text of the result, ``error`` its error text.
    ``raw`` is the item in its source format; ``extra`` holds what the other fields do not cover.
    """

    cache: ClassVar[None] = None
    family: Literal["web_search", "web_fetch", "code", "mcp"]
    role: Literal["call", "result", "both"]
    id: str
    name: str | None = None
    server: str | None = None
    arguments: str | None = None
    output: str | None = None
    error: str | None = None
    status: str | None = None
    signature: Signature | None = None
    src: str = ""
    raw: JsonObject | None = None
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class Opaque:
    """A part that only one format has, kept unchanged in ``raw``.

    ``label`` is its type in the report. ``text`` is the text that another format may write in its place, ``cache`` the mark of that text.
    ``severity`` and ``code`` are those of its loss.
    """

    format: FormatName
    raw: JsonValue
    label: str = ""
    text: str | None = None
    severity: Literal["info", "lossy", "impossible"] = "lossy"
    code: str = "no_counterpart"
    cache: CacheMark | None = None
    signature: Signature | None = None
    src: str = ""
    extra: JsonObject | None = None


Part = Text | Media | Reasoning | Refusal | ToolCall | ToolResult | Hosted | Opaque
"""Every part of a message."""

Node = Any
"""Any object with ``src`` and ``extra``: the argument of the ledger's methods."""
