"""Describe in words the request that a target receives, before anything is sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from formatbridge import formats, ir
from formatbridge.convert.bodies import ConvertedRequest, convert_request
from formatbridge.convert.input import Body, check
from formatbridge.formats.format import FormatOrName, FormatSpec, Target
from formatbridge.formats.model_facts import ModelFacts, facts_of
from formatbridge.formats.shared.tool_selection import server_tool_name
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.field_paths import ABSENT, resolve
from formatbridge.report.losses import Addition, Severity
from formatbridge.report.summary import LossGroup, summarize

_MAX_NAMES = 8
_MAX_TEXT = 60
_MAX_WORD = 24
_EFFECTS: Mapping[Severity, str] = {
    "info": "no effect on the answer",
    "lossy": "the answer may differ",
    "impossible": "the request no longer means the same",
}
"""The effect of losses by their severity."""
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

        rows = [(html.escape_text(title), html.escape_text("\n".join(lines))) for title, lines in self.sections]
        return html.view(html.title("What the target receives"), html.table(("", ""), rows))

    def to_dict(self) -> JsonObject:
        """Return the sections by their titles, and the request with its report, ready for JSON."""
        return {"sections": {title: list(lines) for title, lines in self.sections}, "request": self.request.to_dict()}


def explain(
    request: Body,
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
    facts = facts_of(target.model, converted.model) if isinstance(target, Target) else None
    return Explanation(converted, tuple(_sections(converted, formats.load_for_requests(target), facts)))


def _text_of(title: str, lines: tuple[str, ...]) -> str:
    if len(lines) == 1:
        return f"{title}: {lines[0]}"
    return "\n".join([f"{title}:", *(f"  - {line}" for line in lines)])


def _sections(converted: ConvertedRequest, format: FormatSpec, facts: ModelFacts | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the titles and lines that describe a converted request. Its body is decoded again, so that they state what is in it."""
    request = format.decode_request(
        check(converted.body, format, "request"), model=converted.model or None, stream=converted.stream
    )
    server = f", for {format.dialect.server}" if format.dialect is not None else ""
    yield "Request", (f"POST {converted.path}, in the format {format.title or format.name}{server}",)
    yield "Model", (f"{converted.model or 'none is named'}{_limits(facts)}",)
    yield "Answer", ("a stream" if converted.stream else "one whole answer",)
    yield "Instructions", (_instructions(request),)
    yield "Conversation", (_conversation(request),)
    if request.tools:
        yield "Tools", tuple(_tools(request))
    yield "Reasoning", (_reasoning(request.reasoning),)
    yield "Output format", (_output(request),)
    if settings := _settings(request, format, converted.body):
        yield "Settings", settings
    groups = summarize(converted.losses)
    for title, kind in (("Left out", "dropped"), ("Changed", "changed")):
        yield title, tuple(_group_line(group) for group in groups if group.kind == kind) or (_EMPTY_TITLES[title],)
    yield "Added", tuple(map(_addition_line, converted.additions)) or (_EMPTY_TITLES["Added"],)


def _limits(facts: ModelFacts | None) -> str:
    """Describe the limits of a model, where they are known. Nothing counts the tokens of the request."""
    if facts is None:
        return ""
    limits = {"writes": facts.output_limit, "reads": facts.context}
    known = [f"{verb} at most {limit:,} tokens" for verb, limit in limits.items() if limit is not None]
    return f", which {' and '.join(known)}" if known else ""


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
    # Messages and generate_content have tool results in turns of the user. All formats are counted like them.
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
        "the model decides how much": config.mode == "adaptive",
        f"effort {config.effort}": config.effort is not None,
        f"up to {config.budget:,} tokens" if config.budget is not None else "": config.budget is not None,
    }
    shown = {None: "", "hide": "not shown in the answer"}.get(config.visibility, "shown in the answer")
    return ", ".join([text for text, is_set in amounts.items() if is_set] + [shown] * bool(shown)) or "on"


def _output(request: ir.Request) -> str:
    format = request.output_format
    if format is None or format.type == "text":
        return "text"
    if format.type == "json_object":
        return "any JSON object"
    return f"JSON by the schema {format.name!r}" if format.name else "JSON by a schema"


def _settings(request: ir.Request, format: FormatSpec, body: JsonObject) -> tuple[str, ...]:
    """Return the flat settings under the names and with the values that they have in the body."""
    renamed = format.dialect.names if format.dialect is not None else {}
    lines: dict[str, str] = {}
    for name, value in request.settings.items():
        field = format.settings.wire.get(name, name)
        field_paths = (renamed.get(field, field), *format.field_paths.places.get(f"Request.{name}", ()))
        values = {field_path: resolve(body, f"/{field_path}")[1] for field_path in field_paths}
        field_path, written = next(((each, value) for each, value in values.items() if value is not ABSENT), (field, value))
        lines[field_path] = f"{field_path}: {_shortened(written)}"
    return tuple(lines.values())


def _group_line(group: LossGroup) -> str:
    """Describe the place, the value, the reason and the effect of losses that have these in common."""
    text = group.pattern or "the body"
    name = _name_of(group.example.before)
    if group.count > 1:
        text = f"{text}, {group.count} times{f', such as {name}' if name else ''}"
    elif name:
        text = f"{text} ({name})"
    elif _is_short(group.example.before):
        after = group.example.after
        becomes = f" becomes {_shortened(after)}" if group.kind == "changed" and _is_short(after) else ""
        text = f"{text} = {_shortened(group.example.before)}{becomes}"
    return f"{text}: {group.why} ({_EFFECTS[group.severity]})"


def _name_of(value: Any) -> str:
    """Return the type of an object, and the name of a tool: ``web_search_20260318``, ``function now``. Empty for other values."""
    if not isinstance(value, dict):
        return ""
    function = value.get("function")
    words = (value.get("type"), value.get("name"), function.get("name") if isinstance(function, dict) else None)
    return " ".join(dict.fromkeys(word for word in words if isinstance(word, str) and _is_short(word)))


def _is_short(value: Any) -> bool:
    """Return whether a value is shown next to its pointer: a number, a flag or a word, and no text of the conversation."""
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= _MAX_WORD and " " not in value)


def _addition_line(addition: Addition) -> str:
    return f"{addition.path} = {_shortened(addition.value)}: {addition.why}"


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
