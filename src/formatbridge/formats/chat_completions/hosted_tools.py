"""The hosted tool of Chat Completions, which is web search; ``web_search_options`` of a request enables it.

There are no functions for calls and MCP servers, because the format has neither (official SDK, ``CompletionCreateParams``).
"""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

SEARCH_TOOL = "openrouter:web_search"
"""The type of OpenRouter's web search. A type with a colon names its server."""
_OPTIONS = frozenset({"search_context_size", "user_location"})
_TOOL = frozenset({"type", "parameters"})
_PARAMETERS = frozenset({"allowed_domains", "excluded_domains", "max_uses", "search_context_size", "user_location"})
_LOCATION = frozenset({"type", "approximate"})


def decode_hosted_tool(raw: JsonObject | None, domains: list[str]) -> ir.HostedTool:
    """Decode ``web_search_options`` and the domains in ``search_domain_filter``, of which there is at least one, as a hosted tool."""
    # {"search_domain_filter": ["a.example"]}, or blocked domains: ["-b.example"] (docs.perplexity.ai/docs/sonar/filters)
    allowed = [domain for domain in domains if not domain.startswith("-")]
    blocked = [domain[1:] for domain in domains if domain.startswith("-")]
    src, second_src = (
        ("/search_domain_filter", "") if raw is None else ("/web_search_options", "/search_domain_filter" if domains else "")
    )
    raw = raw or {}
    # The fields of the location are one level deeper than in Responses (official SDK, ``WebSearchOptionsUserLocation``).
    location = raw.get("user_location") or {}
    approximate = location.get("approximate") or {}
    return ir.HostedTool(
        family="web_search",
        kind="web_search",
        user_location=dict(approximate) if approximate else None,
        context_size=raw.get("search_context_size"),
        allowed_domains=allowed or None,
        blocked_domains=blocked or None,
        src=src,
        second_src=second_src,
        extra=merge_extra(read_extra(raw, _OPTIONS), read_extra(location, _LOCATION, "user_location/")),
    )


def decode_search_tool(raw: JsonObject, src: str) -> ir.HostedTool:
    """Decode the web search of OpenRouter, which is an entry of ``tools``."""
    # {"type": "openrouter:web_search", "parameters": {"allowed_domains": ["a.example"], "max_uses": 2}}
    # (openrouter.ai/docs/guides/features/server-tools/web-search)
    parameters = raw.get("parameters") or {}
    location = parameters.get("user_location") or {}
    return ir.HostedTool(
        family="web_search",
        kind=SEARCH_TOOL,
        user_location={key: value for key, value in location.items() if key != "type"} or None,
        context_size=parameters.get("search_context_size"),
        allowed_domains=parameters.get("allowed_domains") or None,
        blocked_domains=parameters.get("excluded_domains") or None,
        max_uses=parameters.get("max_uses"),
        src=src,
        extra=merge_extra(read_extra(raw, _TOOL), read_extra(parameters, _PARAMETERS, "parameters/")),
    )


def encode_hosted_tool(tool: ir.HostedTool, losses: Ledger) -> JsonObject:
    """Encode a web search tool as ``web_search_options``."""
    drop_unheld(tool, losses)
    options: JsonObject = {}
    if tool.context_size is not None:
        options["search_context_size"] = tool.context_size
    if tool.user_location:
        approximate = {key: value for key, value in tool.user_location.items() if key != "type"}
        options["user_location"] = {"type": "approximate", "approximate": approximate}
    return options
