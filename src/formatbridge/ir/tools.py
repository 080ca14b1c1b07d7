"""The tools that a model may call: functions and custom tools that the caller runs, and tools that the server runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from formatbridge.ir.parts import CacheMark
from formatbridge.jsontext.types import JsonObject


@dataclass(slots=True)
class FunctionTool:
    """A function that the caller runs. ``parameters``: a JSON Schema; None: no parameters. ``strict`` None: the format's default.

    ``kind`` ``tool_search``: a search for tools that the caller runs; in responses it has a separate type and no name.
    ``property_names``: the target's names of its properties, by those in ``parameters``, if they differ.
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
    property_names: dict[str, str] | None = None


@dataclass(slots=True, kw_only=True)
class CustomTool:
    """A tool that takes free text. ``syntax`` (``lark`` or ``regex``) and ``definition``: a grammar for it; None: any text."""

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
    """A named group of tools; their calls include its name."""

    name: str
    tools: list[FunctionTool | CustomTool]
    description: str | None = None
    src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class HostedTool:
    """A tool that the server runs.

    ``family``: the families that formats share are ``web_search``, ``web_fetch``, ``code``, ``image_generation`` and ``tool_search``;
    ``other`` has no counterpart in another format. ``kind`` is the source's type. Options without a separate field are in ``extra``.
    ``second_src`` is the pointer of the domains, where the format stores them separately.
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
    second_src: str = ""
    extra: JsonObject | None = None


@dataclass(slots=True, kw_only=True)
class McpServer:
    """A remote MCP server. ``approval``: ``never``, ``always``, or an object of the source format; None: not set.

    ``allowed_tools``: the only tools that may be used; None: all tools except those in ``denied_tools``.
    ``authorization_token``: the token of the header ``Authorization``.
    ``second_src`` is the pointer of the second object of the server, where the format stores the list of tools separately.
    """

    label: str
    url: str | None = None
    authorization_token: str | None = None
    headers: dict[str, str] | None = None
    allowed_tools: list[str] | None = None
    denied_tools: list[str] | None = None
    approval: JsonObject | str | None = None
    description: str | None = None
    defer_loading: bool | None = None
    cache: CacheMark | None = None
    src: str = ""
    second_src: str = ""
    extra: JsonObject | None = None


Tool = FunctionTool | CustomTool | Namespace | HostedTool | McpServer
"""Every entry of a list of tools."""
