"""Restore the names and kinds of the caller's tools, and the names of their arguments, in an answer, if the request changed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from formatbridge import ir
from formatbridge.formats.format import CallerTool, Context
from formatbridge.formats.shared.property_names import rename_arguments, rename_arguments_text
from formatbridge.formats.shared.tool_arguments import read_wrapped_text
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.report.ledger import Ledger, null_ledger


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
