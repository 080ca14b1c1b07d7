"""Describe in words the request that a target receives, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from formatbridge import ir
from formatbridge.convert.bodies import ConvertedRequest, convert_request
from formatbridge.convert.input import check
from formatbridge.formats.format import FormatOrName, FormatSpec
from formatbridge.formats.shared.tool_selection import server_tool_name
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.losses import Addition
from formatbridge.report.summary import LossGroup, summarize

_MAX_NAMES = 8
_MAX_TEXT = 60
_MEDIA = {"image": "image", "audio": "audio clip", "video": "video", "document": "document"}
_EMPTY_TITLES = {"Left out": "nothing", "Changed": "nothing", "Added": "nothing"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a target receives of a request. ``str()`` is plain text, and notebooks show a table.

    ``sections`` has titles and lines, in the order in which they are shown.
    """

    request: ConvertedRequest
    """The request that would be sent, with its report."""
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    """Titles, each with its lines."""

    def __str__(self) -> str:
        """Return the sections as text: a title, and its lines below it. A single line follows the title."""
        return "\n".join(_text_of(title, lines) for title, lines in self.sections)

    def __repr__(self) -> str:
        return f"<Explanation of {self.request!r}>"

    def _repr_html_(self) -> str:
        """Return the sections as a table for a notebook."""
        from formatbridge.report import html

        rows = [(html.printable(title), html.printable("\n".join(lines))) for title, lines in self.sections]
        return html.view(html.title("What the target receives"), html.table(("", ""), rows))

    def to_dict(self) -> JsonObject:
        """Return the sections by their titles, and the request with its report, ready for JSON."""
        return {"sections": {title: list(lines) for title, lines in self.sections}, "request": self.request.to_dict()}


def explain(
    request: Any,
    *,
    source: FormatOrName | None = None,
    target: FormatOrName,
    model: str | None = None,
    options: Options | None = None,
) -> Explanation:
    """Describe in words what a target receives of a request. Nothing is sent.

    The arguments are those of ``convert_request``, which does the conversion, and so are the errors.

    >>> print(explain({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, source="chat_completions", target="messages"))
    """
    converted = convert_request(request, source=source, target=target, model=model, options=options)
    return Explanation(converted, tuple(_sections(converted)))


def _text_of(title: str, lines: tuple[str, ...]) -> str:
    if len(lines) == 1:
        return f"{title}: {lines[0]}"
    return "\n".join([f"{title}:", *(f"  - {line}" for line in lines)])


def _sections(converted: ConvertedRequest) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the titles and lines that describe a converted request. Its body is decoded again, so that they state what is in it."""
    format = converted.target_format
    request = format.decode_request(
        check(converted.body, format, "request"), model=converted.model or None, stream=converted.stream
    )
    yield "Request", (f"POST {converted.path}, in the format {format.title or format.name}",)
    yield "Model", (converted.model or "none is named",)
    yield "Answer", ("a stream" if converted.stream else "one whole answer",)
    yield "Instructions", (_instructions(request),)
    yield "Conversation", (_conversation(request),)
    if request.tools:
        yield "Tools", tuple(_tools(request))
    yield "Reasoning", (_reasoning(request.reasoning),)
    yield "Output format", (_output(request),)
    if settings := tuple(_settings(request, format)):
        yield "Settings", settings
    groups = summarize(converted.losses)
    for title, kind in (("Left out", "dropped"), ("Changed", "changed")):
        yield title, tuple(_group_line(group) for group in groups if group.kind == kind) or (_EMPTY_TITLES[title],)
    yield "Added", tuple(map(_addition_line, converted.additions)) or (_EMPTY_TITLES["Added"],)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(names: Iterable[str]) -> str:
    """Return the first names, and how many follow."""
    shown = list(names)
    more = len(shown) - _MAX_NAMES
    return ", ".join(shown[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _instructions(request: ir.Request) -> str:
    messages = [message for message in request.messages if message.role in ("system", "developer")]
    size = sum(len(part.text) for message in messages for part in message.parts if isinstance(part, ir.Text))
    return f"{_counted(size, 'character')} in {_counted(len(messages), 'message')}" if messages else "none"


def _conversation(request: ir.Request) -> str:
    """Describe the turns and what they hold."""
    turns = [message for message in request.messages if message.role not in ("system", "developer")]
    if not turns:
        return "empty"
    roles = Counter("user" if message.role == "tool" else message.role for message in turns)
    parts = [part for message in turns for part in message.parts]
    held = Counter(_noun_of(part) for part in parts)
    content = ", ".join(_counted(count, noun) for noun, count in held.items() if noun)
    return f"{', '.join(_counted(count, f'{role} turn') for role, count in roles.items())}" + (
        f" with {content}" if content else ""
    )


def _noun_of(part: ir.Part) -> str:
    match part:
        case ir.Media():
            return _MEDIA[part.kind]
        case ir.ToolCall():
            return "tool call"
        case ir.ToolResult():
            return "tool result"
        case ir.Reasoning():
            return "reasoning part"
        case ir.Text():
            return "text"
        case _:
            return "other part"


def _tools(request: ir.Request) -> Iterator[str]:
    servers = [server_tool_name(tool) for tool in request.tools if isinstance(tool, ir.HostedTool | ir.McpServer)]
    functions = [tool.name for tool in request.tools if not isinstance(tool, ir.HostedTool | ir.McpServer)]
    if functions:
        yield f"{_counted(len(functions), 'tool')} that the caller runs: {_listed(functions)}"
    if servers:
        yield f"{_counted(len(servers), 'tool')} that the server runs: {_listed(servers)}"
    choice = request.tool_choice
    yield (
        f"choice: {choice.mode}" + (f" {_listed(choice.names)}" if choice.names else "") if choice else "choice: the model decides"
    )


def _reasoning(config: ir.ReasoningConfig | None) -> str:
    if config is None:
        return "the default of the model"
    if config.mode == "off" or config.effort == "none":
        return "off"
    amounts = {
        "adaptive": config.mode == "adaptive",
        f"effort {config.effort}": config.effort is not None,
        f"a budget of {config.budget:,} tokens" if config.budget is not None else "": config.budget is not None,
    }
    shown = {None: "", "hide": "not shown"}.get(config.show, "shown")
    return ", ".join([text for text, is_set in amounts.items() if is_set] + [shown] * bool(shown)) or "on"


def _output(request: ir.Request) -> str:
    format = request.output_format
    if format is None or format.type == "text":
        return "text"
    if format.type == "json_object":
        return "any JSON object"
    return f"JSON by the schema {format.name!r}" if format.name else "JSON by a schema"


def _settings(request: ir.Request, format: FormatSpec) -> Iterator[str]:
    """Yield the flat settings under the names of the target."""
    for name, value in request.settings.items():
        yield f"{format.settings.wire.get(name, name)}: {_shortened(value)}"


def _group_line(group: LossGroup) -> str:
    times = "" if group.count == 1 else f", {group.count} times"
    return f"{group.pattern or 'the body'}{times} ({group.severity}): {group.why}"


def _addition_line(addition: Addition) -> str:
    return f"{addition.path} = {_shortened(addition.value)}: {addition.why}"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
