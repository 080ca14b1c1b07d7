"""Adapt the tools of a request to the rules of the target: allowed names, free text wrapped as an argument, namespaces flattened.

``adapt_tools`` changes the canonical request before the target encodes it, so that encoders need no such rules. Definitions, choice,
calls and results use one map of names. A loss is noted once, at the definition.
``restore_tool_names`` restores the names and kinds of the caller's tools, and the names of their arguments, in an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import Literal

from formatbridge import ir
from formatbridge.formats.format import CallerTool, Context, ToolRules
from formatbridge.formats.shared.held_fields import put_in
from formatbridge.formats.shared.names import (
    UniqueNames,
    has_legal_properties,
    legal_properties,
    rename_arguments,
    rename_arguments_of,
    rename_arguments_text,
    with_legal_letters,
)
from formatbridge.formats.shared.parts import is_same_list
from formatbridge.formats.shared.reasoning_tokens import bound_to
from formatbridge.formats.shared.schemas import fold_parameters, has_root_union
from formatbridge.formats.shared.tool_arguments import encode_arguments_text, read_wrapped_text, wrap_text
from formatbridge.formats.shared.tool_call_ids import IdsOfRequest, are_legal_ids
from formatbridge.formats.shared.tool_selection import added_tools, select_tools
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger, null_ledger

_parts_of, _id_of, _call_id_of, _name_of = map(attrgetter, ("parts", "id", "call_id", "name"))
_kind_of, _namespace_of = map(attrgetter, ("kind", "namespace"))
_Kind = Literal["function", "custom", "tool_search"]


@dataclass(slots=True)
class _Names:
    """The tool names of a request: namespace and name to the target's name (``target_names``), and back (``callers``).

    ``properties``: the names of properties that change, by the target's name of the tool.
    """

    rules: ToolRules
    ids: IdsOfRequest
    target_names: dict[tuple[str | None, str], str] = field(default_factory=dict)
    callers: dict[str, CallerTool] = field(default_factory=dict)
    custom: set[tuple[str | None, str]] = field(default_factory=set)
    legal: set[str] = field(default_factory=set)
    server: set[str] = field(default_factory=set)
    properties: dict[str, dict[str, str]] = field(default_factory=dict)
    unique_names: UniqueNames = field(default_factory=UniqueNames)

    def reserve(self, tools: list[ir.Tool]) -> None:
        """Reserve the names of server tools, and the names of other tools that need no change."""
        self.server = {name for tool in tools if isinstance(tool, ir.HostedTool) and (name := _server_name(tool, self.rules))}
        self.legal = {
            tool.name for tool in tools if isinstance(tool, ir.FunctionTool | ir.CustomTool) and _is_legal(tool.name, self.rules)
        }

    def declare(self, namespace: str | None, name: str, kind: _Kind) -> str:
        """Return the target's name of a definition: a new one if the name was declared before and names must be unique."""
        # Calls by this name belong to the first definition, so its name stays in the map.
        first = self.target_names.pop((namespace, name), None) if self.rules.requires_unique_tool_names else None
        new = self.name_for(namespace, name, kind)
        if first is not None:
            self.target_names[namespace, name] = first
        return new

    def name_for(self, namespace: str | None, name: str, kind: _Kind = "function") -> str:
        """Return the target's name of a tool, the same for the same tool and never one that is taken."""
        known = self.target_names.get((namespace, name))
        if known is not None:
            return known
        # Names that are legal already have priority: a changed name must not take the name of another tool.
        flat = f"{namespace}__{name}" if namespace and not self.rules.has_namespaces else name
        is_kept = flat in self.legal and not namespace and flat not in self.callers
        taken = (self.callers, self.server) if is_kept else (self.callers, self.server, self.legal)
        new = self.unique_names.unique(_with_legal_name(flat, self.rules), *taken, longest=self.rules.longest_name)
        self.target_names[namespace, name] = new
        self.callers[new] = CallerTool(name=name, namespace=namespace, kind=kind)
        return new

    def chosen(self, names: list[str], namespaces: Sequence[str | None]) -> list[str]:
        """Return the target's names of the tools in a choice; one without a namespace may be in any."""
        first: dict[str, str] = {}
        for (_, known), new in self.target_names.items():
            first.setdefault(known, new)
        return [
            self.target_names.get((space, name)) or first.get(name, name) for name, space in zip(names, namespaces, strict=True)
        ]


def adapt_tools(request: ir.Request, rules: ToolRules, losses: Ledger) -> tuple[ir.Request, dict[str, CallerTool]]:
    """Change the tools, calls and results of a request to what the target allows.

    Return the request (the same object if nothing changes), and the caller's tools by the target's names if any name or kind changes.
    """
    request = select_tools(request, rules, losses)
    added = added_tools(request)
    calls, results = _uses_in(request.messages)
    choice = request.tool_choice
    has_spaces = choice is not None and choice.namespaces is not None and not rules.has_namespaces
    if not has_spaces and _fits(request.tools + added if added else request.tools, calls, results, rules):
        return request, {}
    names = _Names(rules, IdsOfRequest(rules, request.messages))
    names.reserve(request.tools + added)
    tools = [tool for new in request.tools for tool in _declare_tool(new, names, losses)]
    messages = [_adapt_added_tools(message, names, losses) if message.tools else message for message in request.messages]
    # Calls come after all definitions. A call of an unknown tool gets a name that none of them has.
    messages = [_adapt_calls_and_results(message, names, losses) for message in messages]
    messages = request.messages if is_same_list(messages, request.messages) else messages
    if not has_spaces and is_same_list(tools, request.tools) and messages is request.messages:
        return request, names.callers
    if choice is not None:
        choice = _adapt_choice(choice, names, losses)
    return replace(request, tools=tools, messages=messages, tool_choice=choice), names.callers


def _adapt_choice(choice: ir.ToolChoice, names: _Names, losses: Ledger) -> ir.ToolChoice:
    if not choice.names or choice.mode == "hosted":
        return choice
    spaces = choice.namespaces or [None] * len(choice.names)
    target_names = names.chosen(choice.names, spaces)
    if any(space and (space, name) not in names.target_names for name, space in zip(choice.names, spaces, strict=True)):
        losses.weakened(choice, "names", target_names, "renamed")
    return replace(choice, names=target_names, namespaces=choice.namespaces if names.rules.has_namespaces else None)


def encode_parameters(tool: ir.FunctionTool, losses: Ledger) -> JsonObject | None:
    """Encode the schema of a function's arguments for OpenAI, whose server requires an object with ``properties`` and no union at the root.

    Sources: openai/openai-agents-python#449, github/github-mcp-server#1548, browserbase/stagehand#1159, langchain-ai/langchainjs#9804.
    """
    schema = tool.parameters
    if schema is None or (schema.get("type") == "object" and schema.get("properties") is not None and not has_root_union(schema)):
        return schema
    kind = schema.get("type")
    if kind not in (None, "object"):
        is_among = isinstance(kind, list) and "object" in kind  # arguments are an object in any case
        losses.changed(tool, "parameters/type", "object", severity="info" if is_among else "lossy")
    result = {"type": "object"} | fold_parameters(tool, schema, losses) | {"type": "object"}
    if kind is None:
        losses.added_in(result, "type", "object")
    put_in(result, "properties", result.get("properties"), {}, losses)
    return result


def drop_choice(request: ir.Request, losses: Ledger) -> None:
    """Note that the tool choice of a request without remaining tools is dropped, because the target's server rejects it
    (openai/swarm#30, pydantic/pydantic-ai#5791).

    ``auto`` and ``none`` are the default without tools, so their loss is not reported.
    """
    choice = request.tool_choice
    if request.settings.get("parallel_tool_calls") is False:
        losses.dropped(request, "parallel_tool_calls", "without_tools", severity="info")
    if choice is None:
        return
    losses.extras(choice)
    if choice.mode == "hosted":
        losses.dropped(choice, code="server_tool")
    elif choice.mode in ("required", "named", "allowed") or choice.names:
        losses.dropped(choice, code="without_tools")


def _uses_in(messages: list[ir.Message]) -> tuple[list[ir.ToolCall], list[ir.ToolResult]]:
    """Return the calls and the results of a conversation."""
    calls: list[ir.ToolCall] = []
    results: list[ir.ToolResult] = []
    for part in chain.from_iterable(map(_parts_of, messages)):
        kind = type(part)
        if kind is ir.ToolCall:
            calls.append(part)
        elif kind is ir.ToolResult:
            results.append(part)
    return calls, results


def _fits(tools: list[ir.Tool], calls: list[ir.ToolCall], results: list[ir.ToolResult], rules: ToolRules) -> bool:
    """Return whether the target allows every tool, call and result unchanged. This is frequent, so the check must be fast."""
    declared = _declared(tools, rules) if tools else set()
    if declared is None:
        return False
    kinds = set(map(_kind_of, chain(calls, results)))
    if (not rules.has_custom_tools and "custom" in kinds) or (not rules.has_tool_search and "tool_search" in kinds):
        return False
    if not rules.has_namespaces and any(map(_namespace_of, calls)):
        return False
    if not all(_is_legal(name, rules) for name in set(map(_name_of, calls)) - declared):
        return False
    ids = set(map(_id_of, calls))
    if rules.requires_unique_call_ids and len(ids) < len(calls):
        return False
    return are_legal_ids(ids.union(map(_call_id_of, results)), rules)


def _declared(tools: list[ir.Tool], rules: ToolRules) -> set[str] | None:
    """Return the names of the tools; None if the target does not allow one of them unchanged."""
    declared: set[str] = set()
    for tool in tools:
        kind = type(tool)
        if kind is ir.FunctionTool or (kind is ir.CustomTool and rules.has_custom_tools):
            name: str = tool.name  # type: ignore[assignment, union-attr]  # both kinds have one
            if name in declared or not _is_legal(name, rules):
                return None
            if kind is ir.FunctionTool and not _is_unchanged(tool, rules):  # type: ignore[arg-type]  # the test before
                return None
            declared.add(name)
        elif kind is ir.Namespace or kind is ir.CustomTool:
            return None
        elif kind is ir.HostedTool and (taken := _server_name(tool, rules)):  # type: ignore[arg-type]  # the test before
            if taken in declared:
                return None
            declared.add(taken)
    return declared


def _is_unchanged(tool: ir.FunctionTool, rules: ToolRules) -> bool:
    """Return whether the target allows a function and its arguments unchanged, except for its name."""
    return (tool.kind == "function" or rules.has_tool_search) and (
        rules.property_name is None or has_legal_properties(tool.parameters, rules)
    )


def _server_name(tool: ir.HostedTool, rules: ToolRules) -> str | None:
    """Return the name that a server tool has in the target; None if it has none."""
    return rules.server_names.get(tool.family)


def _is_legal(name: str, rules: ToolRules) -> bool:
    if len(name) > rules.longest_name or (rules.requires_letter_first and not name[:1].isalpha()):
        return False
    return (name.isascii() and name.isidentifier()) or rules.name.fullmatch(name) is not None


def _declare_tool(tool: ir.Tool, names: _Names, losses: Ledger, namespace: str | None = None) -> list[ir.Tool]:
    if isinstance(tool, ir.Namespace) and not names.rules.has_namespaces:
        losses.changed(tool, "", [f"{tool.name}__{inner.name}" for inner in tool.tools], _code_of_namespace(losses))
        return [result for inner in tool.tools for result in _declare_tool(inner, names, losses, tool.name)]
    if not isinstance(tool, ir.FunctionTool | ir.CustomTool):
        return [tool]
    kind: _Kind = "custom" if isinstance(tool, ir.CustomTool) else tool.kind
    new = names.declare(namespace, tool.name, kind)
    if new != tool.name:
        if new != (f"{namespace}__{names.callers[new].name}" if namespace else None):
            losses.changed(tool, "name", new, "renamed")
        tool = replace(tool, name=new)
    if isinstance(tool, ir.FunctionTool):
        if kind == "tool_search" and not names.rules.has_tool_search:
            tool = replace(tool, kind="function")
        properties = legal_properties(tool, names.rules, losses)
        if properties:
            tool = replace(tool, property_names=properties)
            names.callers[new] = replace(names.callers[new], properties={value: key for key, value in properties.items()})
            names.properties[new] = properties
    elif not names.rules.has_custom_tools:
        names.custom.add((namespace, names.callers[new].name))
        return [_wrapped_tool(tool, losses)]
    return [tool]


def _code_of_namespace(losses: Ledger) -> str:
    """Return the reason for which a namespace becomes a prefix of names: the format has none, or only this server."""
    is_of_server = losses.dialect is not None and losses.dialect.has_namespaces is False
    return "unsupported_by_server" if is_of_server else "namespace"


def _wrapped_tool(tool: ir.CustomTool, losses: Ledger) -> ir.FunctionTool:
    # {"type": "custom", "name": "sql"} becomes a function with one text as its argument: {"input": "SELECT 1"}
    losses.changed(tool, "", {"type": "function", "name": tool.name}, "wrapped")
    if tool.definition is not None:
        losses.dropped(tool, "format")
    return ir.FunctionTool(
        name=tool.name,
        description=tool.description,
        parameters={"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]},
        defer_loading=tool.defer_loading,
        callers=tool.callers,
        cache=tool.cache,
        src=tool.src,
        extra=tool.extra,
    )


def _adapt_added_tools(message: ir.Message, names: _Names, losses: Ledger) -> ir.Message:
    """Adapt the tools that a message adds. This happens before calls are adapted: a call may precede the message that adds its tool."""
    tools = [tool for new in message.tools or () for tool in _declare_tool(new, names, losses)]
    return message if is_same_list(tools, message.tools or ()) else replace(message, tools=tools)


def _adapt_calls_and_results(message: ir.Message, names: _Names, losses: Ledger) -> ir.Message:
    parts = [
        _adapt_call(part, names, losses) if type(part) is ir.ToolCall
        else _adapt_result(part, names, losses) if type(part) is ir.ToolResult
        else part
        for part in message.parts
    ]  # fmt: skip
    if is_same_list(parts, message.parts):
        return message
    return replace(message, parts=_bind_anew(message.parts, parts))


def _bind_anew(before: list[ir.Part], parts: list[ir.Part]) -> list[ir.Part]:
    """Set the new ids of calls in the tokens that are bound to them."""
    # A token names its call by id (Chat Completions), so a new id of the call must be in the token, too.
    if not any(map(bound_to, parts)):
        return parts
    ids: dict[str, str] = {}
    for old, new in zip(before, parts, strict=True):
        if isinstance(old, ir.ToolCall) and isinstance(new, ir.ToolCall):
            ids.setdefault(old.id, new.id)
    return [
        replace(part, signature=replace(part.signature, item_id=ids[bound]))
        if isinstance(part, ir.Reasoning) and part.signature and (bound := bound_to(part)) in ids
        else part
        for part in parts
    ]


def _adapt_call(call: ir.ToolCall, names: _Names, losses: Ledger) -> ir.ToolCall:
    rules, is_known = names.rules, (call.namespace, call.name) in names.target_names
    name, new = names.name_for(call.namespace, call.name, call.kind), names.ids.id_for(call)
    is_kept = {"function": True, "custom": rules.has_custom_tools, "tool_search": rules.has_tool_search}[call.kind]
    kind = call.kind if is_kept else "function"
    wraps = call.kind == "custom" and not is_kept
    arguments = wrap_text(encode_arguments_text(call)) if wraps else _renamed_arguments(call, names.properties.get(name))
    if name == call.name and new == call.id and kind == call.kind and arguments is call.arguments:
        return call
    if name != call.name and not is_known:
        losses.changed(call, "name", name, _code_of_name(call, name, losses))
    losses.changed(call, "id", new, "repeated_id" if names.ids.repeats(call) else "renamed", severity="info")
    if wraps and (call.namespace, call.name) not in names.custom:
        losses.changed(call, "", {"type": "function", "name": name}, "wrapped")
    namespace = call.namespace if rules.has_namespaces else None
    return replace(call, id=new, name=name, namespace=namespace, kind=kind, arguments=arguments)


def _code_of_name(call: ir.ToolCall, name: str, losses: Ledger) -> str:
    """Return why a call has another name: its namespace is in the name, or the target does not allow its name."""
    is_prefixed = call.namespace is not None and name == f"{call.namespace}__{call.name}"
    return _code_of_namespace(losses) if is_prefixed else "renamed"


def _renamed_arguments(call: ir.ToolCall, properties: dict[str, str] | None) -> str | JsonObject:
    """Return the arguments of a call of a function with the properties that its schema has for the target."""
    return rename_arguments_of(call, properties) if properties and call.kind == "function" else call.arguments


def _adapt_result(result: ir.ToolResult, names: _Names, losses: Ledger) -> ir.ToolResult:
    new = names.ids.id_for(result)
    name = names.target_names.get((result.namespace, result.name), result.name) if result.name else None
    kind = result.kind if names.rules.has_custom_tools else "function"
    if new == result.call_id and name == result.name and kind == result.kind:
        return result
    losses.changed(result, "call_id", new, "repeated_id" if names.ids.repeats(result) else "renamed", severity="info")
    return replace(result, call_id=new, name=name, kind=kind)


def _with_legal_name(name: str, rules: ToolRules) -> str:
    if _is_legal(name, rules):
        return name
    legal = with_legal_letters(name, rules.longest_name)
    return legal if _is_legal(legal, rules) else f"{'f_' if rules.requires_letter_first else '_'}{legal}"[: rules.longest_name]


def changes_tools(context: Context | None) -> bool:
    """Return whether the request changed the name, the kind or the arguments of a tool, so that answers must be restored."""
    return context is not None and any(
        tool.name != name or tool.namespace or tool.kind != "function" or tool.properties for name, tool in context.tools.items()
    )


def restore_tool_names(response: ir.Response, context: Context, losses: Ledger) -> ir.Response:
    """Give the tool calls of an answer the names and kinds that the caller's request used."""
    if not changes_tools(context):
        return response
    choices = [
        replace(choice, parts=[_restored_part(part, context, losses) for part in choice.parts]) for choice in response.choices
    ]
    return replace(response, choices=choices)


def _restored_part(part: ir.Part, context: Context, losses: Ledger) -> ir.Part:
    # The request renamed or wrapped this tool for the target: {"input": "SELECT 1"} becomes the free text of a custom call again.
    if not isinstance(part, ir.ToolCall) or part.name not in context.tools:
        return part
    tool = context.tools[part.name]
    arguments = part.arguments
    kind = part.kind
    if tool.kind == "custom" and part.kind == "function":
        kind = "custom"
        text = read_wrapped_text(arguments)
        if text is None:  # the model did not use the wrapper schema
            text = arguments if isinstance(arguments, str) else dumps(arguments).decode()
            losses.weakened(part, "arguments", text, "weaker_form")
        arguments = text
    elif tool.properties:
        arguments = _restored_arguments(arguments, tool.properties)
    elif tool.kind == "tool_search":
        kind = "tool_search"
    return replace(part, name=tool.name, namespace=tool.namespace or part.namespace, kind=kind, arguments=arguments)


def _restored_arguments(arguments: str | ir.JsonObject, properties: Mapping[str, str]) -> str | ir.JsonObject:
    return rename_arguments_text(arguments, properties) if isinstance(arguments, str) else rename_arguments(arguments, properties)


class ToolNameRestorer:
    """Restores tool names in the events of a stream, as ``restore_tool_names`` does.

    Free text, and arguments with other names, are kept until they are complete.
    """

    def __init__(self, context: Context | None) -> None:
        self._context = context if changes_tools(context) else None
        self.is_needed = self._context is not None
        """Whether any tool must be restored."""
        self._held: dict[tuple[int, int], tuple[CallerTool, list[str]]] = {}

    def feed(self, new_events: list[events.Event]) -> list[events.Event]:
        """Return events with the names and kinds of the caller's request."""
        if self._context is None:
            return new_events
        return [restored for event in new_events for restored in self._restored(event, self._context)]

    def _restored(self, event: events.Event, context: Context) -> list[events.Event]:
        match event:
            case events.PartStart(part=ir.ToolCall() as call):
                part = _restored_part(call, context, null_ledger())
                tool = context.tools.get(call.name)
                if tool is not None and call.kind == "function" and (tool.kind == "custom" or tool.properties):
                    self._held[event.choice, event.index] = (tool, [])
                return [replace(event, part=part)]
            # Free text is inside a JSON string here, which cannot be unescaped before it is complete.
            case events.Delta() if (event.choice, event.index) in self._held:
                self._held[event.choice, event.index][1].append(event.text)
                return []
            case events.PartEnd():
                return self._end(event, context)
        return [event]

    def _end(self, event: events.PartEnd, context: Context) -> list[events.Event]:
        if event.part is not None:
            event = replace(event, part=_restored_part(event.part, context, null_ledger()))
        tool, pieces = self._held.pop((event.choice, event.index), (None, []))
        text = "".join(pieces)
        if text and tool is not None:
            wrapped = read_wrapped_text(text) if tool.kind == "custom" else rename_arguments_text(text, tool.properties or {})
            text = text if wrapped is None else wrapped
        return [events.Delta(event.choice, event.index, text), event] if text else [event]
