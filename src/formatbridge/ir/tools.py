"""What a model may call: the caller's functions and free-form tools, and what the server runs by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from formatbridge.ir.parts import CacheMark
from formatbridge.jsontext.types import JsonObject


@dataclass(slots=True)
class FunctionTool:
    """A function of the caller's. ``parameters``: a JSON Schema, None: it takes none. ``strict`` None: the format's own default.

    ``kind`` tool_search: the caller's search for tools, which has a type of its own in responses and no name there.
    """

    name: str
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None
    src: str = ""
    extra: JsonObject | None = None
    output_schema: JsonObject | None = None
    defer_loading: bool | None = None
    callers: list[str] | None = None
    cache: CacheMark | None = None
    kind: Literal["function", "tool_search"] = "function"


@dataclass(slots=True, kw_only=True)
class CustomTool:
    """A tool that takes free text. ``grammar``: ``lark`` or ``regex`` as ``syntax``, and its ``definition``; None: any text."""

    name: str
    description: str | None = None
    syntax: str | None = None
    definition: str | None = None
    defer_loading: bool | None = None
    callers: list[str] | None = None
    cache: CacheMark | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class Namespace:
    """A named group of tools; their calls carry its name."""

    name: str
    tools: list[FunctionTool | CustomTool]
    description: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class HostedTool:
    """A tool that the server runs.

    ``family`` is what formats share: ``web_search``, ``web_fetch``, ``code``, ``image_generation``, ``tool_search``; ``other`` has no
    counterpart anywhere and is told by ``kind``, the source's own word. Members beside the shared options sit in ``extra``.
    """

    family: Literal["web_search", "web_fetch", "code", "image_generation", "tool_search", "other"]
    kind: str
    name: str | None = None
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    user_location: JsonObject | None = None
    context_size: str | None = None
    max_uses: int | None = None
    cache: CacheMark | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class McpServer:
    """A remote tool server. ``approval``: ``never``, ``always``, or the format's own object; None: not said.

    ``allowed``: the only tools that may be used; None: all but those that are ``denied``.
    ``aside`` is the pointer of a second object that the server is made of, where the format keeps the choice of tools apart.
    """

    label: str
    url: str | None = None
    token: str | None = None
    headers: dict[str, str] | None = None
    allowed: list[str] | None = None
    denied: list[str] | None = None
    approval: JsonObject | str | None = None
    description: str | None = None
    defer_loading: bool | None = None
    cache: CacheMark | None = None
    src: str = ""
    aside: str = ""
    extra: JsonObject | None = None


Tool = FunctionTool | CustomTool | Namespace | HostedTool | McpServer
"""Everything that can stand in a list of tools."""
