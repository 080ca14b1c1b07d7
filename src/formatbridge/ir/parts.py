"""What a turn is made of: text, media, reasoning, tool calls and their results, and what only one format can say.

``src`` is the JSON pointer of the node in the body it was decoded from; a node made of a bare string points at that string.
``extra`` holds what only the source format knows: JSON pointers relative to ``src``, without the leading slash, to values; one that
begins with a slash is absolute.
Parts that cannot be marked for a cache say so: their ``cache`` is None and no field.
The nodes that a conversation is full of also take their first fields by position, which halves what they cost to make.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from formatbridge.jsontext.types import JsonObject, JsonValue

Format = Literal["chat_completions", "messages", "responses", "generate_content"]
"""The names of the built-in formats."""
FormatName = Format | str
"""The name of a format, built in or from outside."""
Number = int | float
"""A number in the spelling of its body: what is stored as JSON says 1 again where it said 1, and 1.0 where it said that."""

MediaKind = Literal["image", "audio", "video", "document"]
SignatureKind = Literal["thinking", "redacted", "encrypted", "thought", "call"]


@dataclass(slots=True, kw_only=True)
class Signature:
    """An opaque token that proves or holds reasoning; of use only to the format that minted it.

    ``kind``: ``thinking`` signs visible reasoning, ``redacted`` and ``encrypted`` hold hidden reasoning, ``thought`` sits on any part
    of generate_content, ``call`` belongs to the tool call or text that follows. ``item``: the id of the item that it is sealed to, or of
    the call that it is bound to, without which its server refuses it. ``found``: another format on whose wire it was found, in a slot that
    names its home; it may go back there. ``carried``: the tagged text from which it was read; None: it was not tagged. ``seal_key``:
    the key that seals its tag when it is written; None: the tag is not sealed.
    """

    home: FormatName
    kind: SignatureKind
    token: str
    src: str = ""
    item: str | None = None
    found: FormatName | None = None
    carried: str | None = field(default=None, compare=False, repr=False)
    seal_key: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, kw_only=True)
class CacheMark:
    """The prompt up to and including this part may be cached. ``ttl``: ``5m``, ``30m``, ``1h``, ``12h``; None: the server's default."""

    ttl: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class Citation:
    """Where a span of an answer's text comes from.

    ``start`` and ``end`` count Unicode code points over the visible text of the whole choice, end exclusive; None: not said.
    ``aside`` is the pointer of the span, where the format keeps spans apart from their sources; where it has several, ``share`` is the
    pointer of what names this one, and ``shares`` their number.
    """

    kind: Literal["web", "document", "file", "map", "search"]
    url: str | None = None
    title: str | None = None
    file_id: str | None = None
    cited_text: str | None = None
    start: int | None = None
    end: int | None = None
    src: str = ""
    aside: str = ""
    share: str = ""
    shares: int = 1
    extra: JsonObject | None = None


@dataclass(slots=True)
class Text:
    """Visible text. ``id`` is the item it came in, where the format has items."""

    text: str
    src: str = ""
    extra: JsonObject | None = None
    citations: list[Citation] | None = None
    cache: CacheMark | None = None
    signature: Signature | None = None
    id: str | None = None


@dataclass(slots=True, kw_only=True)
class Media:
    """An image, a sound, a video or a document; exactly one of ``data``, ``url``, ``file_id``.

    ``data`` is base64, ``mime`` its media type where known. A ``file_id`` is of use only to ``home``, whose servers issued it.
    ``detail``: ``auto``, ``low``, ``medium``, ``high``, ``original``.
    """

    kind: MediaKind
    mime: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    home: FormatName | None = None
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
    """What the model thought. No text and a signature: redacted or encrypted reasoning. ``summary``: a digest, not the thought itself."""

    cache: ClassVar[None] = None
    text: str = ""
    src: str = ""
    signature: Signature | None = None
    summary: bool = False
    id: str | None = None
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class Refusal:
    """The model's own words for declining. ``kind`` tells it from a text where both are stored as JSON."""

    cache: ClassVar[None] = None
    text: str
    kind: Literal["refusal"] = "refusal"
    id: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True)
class ToolCall:
    """A call of a tool that the caller runs.

    ``arguments`` stay as they were written: text where the source has text, an object where it has one. ``kind`` custom: free text;
    tool_search: a search for tools, which the caller runs and which is a function in formats that have no such call.
    ``id`` is always set; ``id_made`` says that the source had none. ``item_id`` is the id of the item around it, where there is one.
    """

    id: str
    name: str
    arguments: str | JsonObject
    src: str = ""
    kind: Literal["function", "custom", "tool_search"] = "function"
    namespace: str | None = None
    id_made: bool = False
    item_id: str | None = None
    cache: CacheMark | None = None
    signature: Signature | None = None
    extra: JsonObject | None = None


@dataclass(slots=True)
class ToolResult:
    """What a tool answered; ``content`` is text and media.

    ``name`` is the tool's, where the source says it, and ``namespace`` then that of the call.
    ``id_made`` says that the source names no call and none could be found.
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
    id_made: bool = False
    namespace: str | None = None


@dataclass(slots=True, kw_only=True)
class Hosted:
    """A call that the server ran itself, or its result, of a family that several formats have.

    ``family``: ``web_search``, ``web_fetch``, ``code``, ``mcp``. ``role``: the call, its result, or both in one item.
    ``arguments``: the query, URL, code or JSON text. ``output``: text of the result, ``error`` its error text.
    ``raw`` is the item as its own format spells it; ``extra`` what the named fields leave out.
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
    """A part that only one format can say, kept as it stood.

    ``what`` names it; ``text`` is how others may put it in words, and ``cache`` the mark that these have. ``severity`` and ``code``: what
    its loss means.
    """

    format: FormatName
    raw: JsonValue
    what: str = ""
    text: str | None = None
    severity: Literal["info", "lossy", "impossible"] = "lossy"
    code: str = "no_counterpart"
    cache: CacheMark | None = None
    signature: Signature | None = None
    src: str = ""
    extra: JsonObject | None = None


Part = Text | Media | Reasoning | Refusal | ToolCall | ToolResult | Hosted | Opaque
"""Everything that can stand in a turn."""

Node = Any
"""Anything with ``src`` and ``extra``: what the ledger takes."""
