"""Select the tools of a request by the rules of the target: without repeated ones, and restricted by the tool choice.

If the target's choice cannot express a restriction, tools are left out, and each is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.format import ToolRules
from formatbridge.jsontext.depth import dump_sorted
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity

_Key = tuple[str | None, str]
_tools_of = attrgetter("tools")
_INSTRUCTING = frozenset({"system", "developer"})
_RUN_BY_CALLER = ("apply_patch", "bash_", "computer", "local_shell", "memory_", "shell", "text_editor_")
"""Kinds of tools that a vendor defines and the caller runs. Sources: the official SDKs of Anthropic, OpenAI and Google."""


def select_tools(request: ir.Request, rules: ToolRules, losses: Ledger) -> ir.Request:
    """Change the tools and the choice of a request to what the target can express; return the same object if nothing changes."""
    # A choice of Responses or Anthropic Messages applies to all tools (SDKs: ``ToolChoiceTypes``, ``ToolChoiceAny``). Gemini's
    # ``FunctionCallingConfig`` applies to functions only, so server tools stay allowed there (``choice.always_allowed``).
    # ``rules.choice_covers_server_tools``: the target's choice applies to server tools too.
    if adds_tools(request):
        request = _with_leading_tools(_without_repeated_tools(request), losses)
    choice = request.tool_choice
    if choice is None:
        return request
    if choice.mode == "validated" and not rules.has_validated_mode:
        losses.changed(choice, "mode", "auto")
        choice = replace(choice, mode="allowed" if choice.names else "auto", allowed_mode="auto")
        request = replace(request, tool_choice=choice)
    if choice.mode == "hosted" and choice.hosted and not rules.choice_covers_server_tools:
        choice = replace(choice, mode="allowed", names=[], allowed_mode="required")
    if choice.mode == "none":
        return _enforce_none(request, choice, rules, losses)
    if choice.mode == "required":
        return _weaken_required(request, choice, rules, losses)
    return (
        _enforce_allowed(request, choice, rules, losses)
        if choice.mode == "allowed" and "hosted" not in rules.allowed_modes
        else request
    )


def without_tools(request: ir.Request, code: str, severity: Severity, losses: Ledger) -> ir.Request:
    """Leave out the tools of a request and those that its messages add. The tool choice stays."""
    for tool in all_tools(request):
        losses.dropped(tool, code=code, severity=severity)
    messages = [replace(message, tools=None) if message.tools else message for message in request.messages]
    return replace(request, tools=[], messages=messages)


def with_free_choice(request: ir.Request, choice: ir.ToolChoice, code: str, losses: Ledger) -> ir.Request:
    """Let the model choose whether it calls a tool, in place of a forced call. A list of allowed tools stays."""
    if choice.mode == "allowed":
        losses.changed(choice, "allowed_mode", "auto", code)
        return replace(request, tool_choice=replace(choice, allowed_mode="auto"))
    losses.changed(choice, "", "auto", code)
    losses.extras(choice)
    return replace(request, tool_choice=ir.ToolChoice(mode="auto", src=choice.src))


def without_other_tools(request: ir.Request, choice: ir.ToolChoice, losses: Ledger) -> ir.Request:
    """Leave out the tools that a choice does not contain. The target's choice does not list tools, or its server reads no choice."""
    return _with_tools(request, _chosen(choice, all_tools(request)), False, losses)


def without_excluded_tools(request: ir.Request, is_left_out: Callable[[ir.Tool], bool], losses: Ledger) -> ir.Request:
    """Leave out tools that the server would not get for another reason, if the tool choice excludes them: no answer differs."""
    choice = request.tool_choice
    if choice is None or not (choice.mode in ("allowed", "none") or (choice.mode == "validated" and choice.names)):
        return request
    chosen = _chosen(choice, all_tools(request))

    def is_excluded(tool: ir.Tool) -> bool:
        if isinstance(tool, ir.Namespace):
            return not any((tool.name, inner.name) in chosen for inner in tool.tools)
        return not _is_allowed(tool, chosen, False)

    return _without(request, lambda tool: is_left_out(tool) and is_excluded(tool), losses)


def adds_tools(request: ir.Request) -> bool:
    """Return whether messages add tools, which is rare."""
    return request.has_added_tools and any(map(_tools_of, request.messages))


def forces_call(request: ir.Request) -> bool:
    """Return whether the model must call a tool."""
    choice = request.tool_choice
    if choice is None or not (request.tools or adds_tools(request)):
        return False
    return choice.mode in ("required", "named") or (choice.mode in ("allowed", "hosted") and choice.allowed_mode == "required")


def is_weakened(choice: ir.ToolChoice, modes: Set[str]) -> bool:
    """Return whether a forced call becomes a free choice, because the server has only these modes.

    With ``required``, one named tool may become the only one.
    """
    mode = choice.allowed_mode if choice.mode == "allowed" else choice.mode
    return mode in ("required", "named") and modes.isdisjoint({mode, "required"})


def has_functions(request: ir.Request) -> bool:
    """Return whether a request has a function, which a tool in free text and a tool of the server are not.

    OpenAI accepts tools in free text together with reasoning (BerriAI/litellm, responses/bridge_check.py).
    """
    tools = all_tools(request)
    return any(isinstance(tool, ir.FunctionTool | ir.Namespace) for tool in tools)


def added_tools(request: ir.Request) -> list[ir.Tool]:
    """Return the tools that messages add."""
    if not request.has_added_tools:  # as in most requests
        return []
    return [tool for message in request.messages for tool in message.tools or ()]


def all_tools(request: ir.Request) -> list[ir.Tool]:
    """Return the tools of a request and those that its messages add."""
    return request.tools + added_tools(request)


def is_run_by_caller(tool: ir.Tool) -> bool:
    """Return whether the caller runs a tool: every one but those that the server runs."""
    return not isinstance(tool, ir.HostedTool | ir.McpServer) or (
        isinstance(tool, ir.HostedTool) and tool.kind.startswith(_RUN_BY_CALLER)
    )


def is_deferred(tool: ir.Tool) -> bool:
    """Return whether the model gets a tool, or one of a namespace, only by a tool search."""
    if isinstance(tool, ir.Namespace):
        return any(map(is_deferred, tool.tools))
    return not isinstance(tool, ir.HostedTool) and tool.defer_loading is True


def note_moved(tools: list[ir.Tool], losses: Ledger) -> None:
    """Note that tools which a message adds are available from the start: each at its part of the message."""
    for tool in tools:
        losses.changed(tool, "place", None, "moved")


def note_excess(tools: list[ir.Tool], most: int, losses: Ledger) -> None:
    """Note the caller's tools beyond the limit of the target's server. Which tools are less important is unknown."""
    for tool in [tool for tool in tools if isinstance(tool, ir.FunctionTool | ir.CustomTool)][most:]:
        losses.changed(tool, "", tool.name, "too_many")


def server_tool_name(tool: ir.HostedTool | ir.McpServer) -> str:
    """Return the value by which a tool choice names a server tool or a remote server."""
    if isinstance(tool, ir.McpServer):
        return tool.label
    return tool.kind if tool.family == "other" else tool.family


def _with_leading_tools(request: ir.Request, losses: Ledger) -> ir.Request:
    """Move the tools that messages add before the first turn to those of the request, which is the same."""
    # Codex CLI sends its tools in an ``additional_tools`` item before the first turn (fixture tools_additional_first).
    leading = next((at for at, message in enumerate(request.messages) if message.role not in _INSTRUCTING), len(request.messages))
    if not any(message.tools for message in request.messages[:leading]):
        return request
    tools, kept = list(request.tools), []
    for message in request.messages[:leading]:
        tools += message.tools or ()
        if message.parts or message.effort or not message.tools:
            kept.append(replace(message, tools=None) if message.tools else message)
        else:
            losses.extras(message)
    return replace(request, tools=tools, messages=kept + request.messages[leading:])


def _without_repeated_tools(request: ir.Request) -> ir.Request:
    """Leave out tools that a message adds and that are identical to a known one."""
    # Anthropic and Google reject two tools of one name (tailcallhq/forgecode#892; "Duplicate function declaration found").
    # A caller may add a tool again that the request has.
    known = _KnownTools()
    for tool in request.tools:
        known.add(tool)
    messages = []
    for message in request.messages:
        fresh = [tool for tool in message.tools or () if known.add(tool)]
        messages.append(message if not message.tools or len(fresh) == len(message.tools) else replace(message, tools=fresh))
    return replace(request, messages=messages)


class _KnownTools:
    """A set of tools. Definitions are compared only where names are equal, because the comparison needs the whole JSON text."""

    def __init__(self) -> None:
        self._first: dict[str, ir.Tool] = {}
        self._definitions: dict[str, set[str]] = {}  # of the names that several tools have

    def add(self, tool: ir.Tool) -> bool:
        """Add a tool; return whether no tool in the set is identical."""
        label = server_tool_name(tool) if isinstance(tool, ir.HostedTool | ir.McpServer) else tool.name
        first = self._first.setdefault(label, tool)
        if first is tool:
            return True
        definitions = self._definitions.get(label)
        if definitions is None:
            definitions = self._definitions[label] = {_json_text_of(first)}
        definition = _json_text_of(tool)
        is_new = definition not in definitions
        definitions.add(definition)
        return is_new


def _json_text_of(tool: ir.Tool) -> str:
    """Return the JSON text of a tool without its pointer, the same for equal tools."""
    return dump_sorted([type(tool).__name__, _definition_of(tool)])


def _definition_of(tool: ir.Tool) -> JsonObject:
    """Return the fields of a tool without its pointer, as JSON values."""
    definition: JsonObject = {name: getattr(tool, name) for name in tool.__slots__ if name != "src"}
    if isinstance(tool, ir.Namespace):
        definition["tools"] = [_definition_of(inner) for inner in tool.tools]
    elif tool.cache:
        definition["cache"] = [tool.cache.ttl, tool.cache.extra]
    return definition


def _enforce_none(request: ir.Request, choice: ir.ToolChoice, rules: ToolRules, losses: Ledger) -> ir.Request:
    """Leave out the tools that a choice of none forbids, if the target's choice does not apply to the same tools as the source's."""
    # A choice of none that does not apply to server tools would let the model call them. Without them it cannot.
    if not rules.choice_covers_server_tools:
        return _without(request, lambda tool: _is_server(tool) and not _is_always_allowed(tool, choice), losses)
    if not any(_is_always_allowed(tool, choice) and _target_has(rules, tool) for tool in all_tools(request)):
        return request
    left = _without(request, lambda tool: not _is_server(tool), losses)
    if left is not request:
        losses.changed(choice, "mode", "auto", severity="info")
    return replace(left, tool_choice=replace(choice, mode="auto"))


def _weaken_required(request: ir.Request, choice: ir.ToolChoice, rules: ToolRules, losses: Ledger) -> ir.Request:
    """Weaken a choice of any tool, if the target's choice does not apply to the same tools as the source's.

    If it applies to fewer tools, it would force one of them. If it applies to more, the model may call another tool. If there are only
    such tools, the choice is left out.
    """
    tools = all_tools(request)
    if not any(_target_has(rules, tool) and _is_always_allowed(tool, choice) == rules.choice_covers_server_tools for tool in tools):
        return request
    has_functions = not all(map(_is_server, tools))
    if rules.choice_covers_server_tools and has_functions:
        losses.weakened(choice, "mode", "required", "weaker_form")
        return request
    if not rules.choice_covers_server_tools and not has_functions:  # the choice is left out, with a note
        return request
    losses.changed(choice, "mode", "auto", "nearest_value" if has_functions else "without_tools")
    return replace(request, tool_choice=replace(choice, mode="auto"))


def _is_server(tool: ir.Tool) -> bool:
    return isinstance(tool, ir.HostedTool | ir.McpServer)


def _is_always_allowed(tool: ir.Tool, choice: ir.ToolChoice) -> bool:
    """Return whether a tool is a server tool to which the choice does not apply."""
    return isinstance(tool, ir.HostedTool | ir.McpServer) and server_tool_name(tool) in choice.always_allowed


def _target_has(rules: ToolRules, tool: ir.Tool) -> bool:
    """Return whether the target has a server tool."""
    if isinstance(tool, ir.McpServer):
        return "mcp" in rules.server_families and tool.url is not None and tool.allowed_tools != []
    return isinstance(tool, ir.HostedTool) and tool.family in rules.server_families


def _without(request: ir.Request, is_out: Callable[[ir.Tool], bool], losses: Ledger) -> ir.Request:
    """Leave out tools of the request and of its messages; return the same object if there are none."""
    if not any(map(is_out, all_tools(request))):
        return request

    def kept(tools: list[ir.Tool]) -> list[ir.Tool]:
        for tool in filter(is_out, tools):
            losses.dropped(tool, code="not_allowed")
        return [tool for tool in tools if not is_out(tool)]

    messages = request.messages
    if adds_tools(request):
        messages = [replace(message, tools=kept(message.tools)) if message.tools else message for message in messages]
    return replace(request, tools=kept(request.tools), messages=messages)


def _enforce_allowed(request: ir.Request, choice: ir.ToolChoice, rules: ToolRules, losses: Ledger) -> ir.Request:
    """Leave out the tools that a choice of allowed tools does not contain. If the target has such a list, functions stay."""
    chosen = _chosen(choice, all_tools(request))
    left = _among_functions(choice, rules, losses) if choice.hosted and rules.allowed_modes else choice
    has_list = left is not None and bool(left.names) and left.allowed_mode in rules.allowed_modes
    return replace(_with_tools(request, chosen, has_list, losses), tool_choice=left)


def _with_tools(request: ir.Request, chosen: set[_Key], has_list: bool, losses: Ledger) -> ir.Request:
    """Leave out the tools of the request and of its messages that are not chosen. ``has_list``: functions stay."""
    messages = [
        replace(message, tools=_kept_tools(message.tools, chosen, has_list, losses)) if message.tools else message
        for message in request.messages
    ]
    return replace(request, tools=_kept_tools(request.tools, chosen, has_list, losses), messages=messages)


def _chosen(choice: ir.ToolChoice, tools: list[ir.Tool]) -> set[_Key]:
    """Return the tools that a choice names, with their namespaces; server tools after a slash, which no name contains."""
    # A choice without a namespace may name a function of any, so the first one with that name is chosen.
    declared: set[_Key] = set()
    first: dict[str, _Key] = {}
    for tool in tools:
        if isinstance(tool, ir.Namespace):
            keys: list[_Key] = [(tool.name, inner.name) for inner in tool.tools]
        else:
            keys = [(None, tool.name)] if isinstance(tool, ir.FunctionTool | ir.CustomTool) else []
        declared.update(keys)
        for key in keys:
            first.setdefault(key[1], key)
    chosen: set[_Key] = {(None, f"/{name}") for name in choice.hosted + choice.always_allowed}
    for key in zip(choice.namespaces or [None] * len(choice.names), choice.names, strict=True):
        chosen.add(key if key in declared or key[0] else first.get(key[1], key))
    return chosen


def _among_functions(choice: ir.ToolChoice, rules: ToolRules, losses: Ledger) -> ir.ToolChoice | None:
    """Return a choice that forces none of the functions, because a list without the server tools would force one of them."""
    if not choice.names:
        is_forced = choice.allowed_mode == "required"
        losses.changed(choice, "", None, "server_tool", severity="impossible" if is_forced else "lossy")
        return None
    if "auto" in rules.allowed_modes:  # else the choice is written as another one, which reports it
        losses.changed(choice, "allowed_mode", "auto")
    return replace(choice, allowed_mode="auto", hosted=[])


def _kept_tools(tools: list[ir.Tool], chosen: set[_Key], has_list: bool, losses: Ledger) -> list[ir.Tool]:
    """Return the tools that are allowed. ``has_list``: the target has a list of functions, so all of them stay."""
    kept: list[ir.Tool] = []
    for tool in tools:
        if isinstance(tool, ir.Namespace) and not has_list:
            inner = []
            for each in tool.tools:
                if (tool.name, each.name) in chosen:
                    inner.append(each)
                else:
                    losses.dropped(each, code="not_allowed")
            if inner:
                kept.append(replace(tool, tools=inner))
                continue
        elif _is_allowed(tool, chosen, has_list):
            kept.append(tool)
            continue
        losses.dropped(tool, code="not_allowed")
    return kept


def _is_allowed(tool: ir.Tool, chosen: set[_Key], has_list: bool) -> bool:
    match tool:
        case ir.McpServer() | ir.HostedTool():
            return (None, f"/{server_tool_name(tool)}") in chosen
        case ir.Namespace():
            return has_list
        case _:
            return has_list or (None, tool.name) in chosen
