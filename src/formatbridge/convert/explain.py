"""Describe in words the request that a target receives, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass

from formatbridge import formats, ir
from formatbridge.convert.bodies import ConvertedRequest, convert_request
from formatbridge.convert.input import Body, check
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.model_facts import ModelFacts, ModelSource, facts_of
from formatbridge.formats.shared.tool_selection import added_tools, is_run_by_caller, server_tool_name
from formatbridge.formats.target import FormatOrName, Target
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.field_paths import ABSENT, resolve
from formatbridge.report.loss_lines import Bodies, addition_line, loss_lines, shorten

_MAX_NAMES = 8
_OTHER = "other part"
_MEDIA = {"image": "image", "audio": "audio clip", "video": "video", "document": "document"}
_CHOICES: Mapping[str, str] = {
    "none": "the model must not call a tool",
    "required": "the model must call a tool",
    "validated": "the model decides whether it calls a tool, with arguments that match their schemas",
}
_SAMPLING = ("temperature", "top_p", "top_k")
_FREE_CHOICE = "the model decides whether it calls a tool"


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
    source_of_facts = target.model if isinstance(target, Target) else None
    return Explanation(converted, tuple(_sections(converted, formats.load_for_requests(target), source_of_facts)))


def _text_of(title: str, lines: tuple[str, ...]) -> str:
    if len(lines) == 1:
        return f"{title}: {lines[0]}"
    return "\n".join([f"{title}:", *(f"  - {line}" for line in lines)])


def _sections(
    converted: ConvertedRequest, format: FormatSpec, source_of_facts: ModelSource | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the titles and lines that describe a converted request. Its body is decoded again, so that they state what is in it."""
    facts = facts_of(source_of_facts, converted.model)
    request = format.decode_request(
        check(converted.body, format, "request"), model=converted.model or None, stream=converted.stream
    )
    server = f", for {format.dialect.server}" if format.dialect is not None else ""
    yield "Request", (f"POST {converted.path}, in the format {format.title or format.name}{server}",)
    yield "Model", (f"{converted.model or 'none is named'}{_limits(facts)}",)
    yield "Answer", ("a stream of events" if converted.stream else "one JSON body",)
    yield "Instructions", (_instructions(request),)
    yield "Conversation", tuple(_conversation(request)) or ("empty",)
    if request.tools or added_tools(request):
        yield "Tools", tuple(_tools(request))
    yield "Reasoning", (_reasoning(request.reasoning),)
    yield "Output format", (_output(request),)
    if settings := _settings(request, format, converted.body):
        yield "Settings", settings
    if source_of_facts is not None and (unknown := tuple(_unknown(request, facts, source_of_facts, converted.model))):
        yield "Not known", unknown
    titles = (each.title or each.name for each in (converted.source_format, format))
    bodies = Bodies(converted.source_body, converted.body, *titles)
    yield "Left out", tuple(loss_lines(converted.losses, "dropped", bodies)) or ("nothing",)
    yield "Changed", tuple(loss_lines(converted.losses, "changed", bodies)) or ("nothing",)
    yield "Added", tuple(addition_line(addition, bodies) for addition in converted.additions) or ("nothing",)


def _limits(facts: ModelFacts | None) -> str:
    """Describe the limits of a model, where they are known. Nothing counts the tokens of the request."""
    if facts is None:
        return ""
    limits = {"writes": facts.output_limit, "reads": facts.context}
    known = [f"{verb} at most {limit:,} tokens" for verb, limit in limits.items() if limit is not None]
    return f", which {' and '.join(known)}" if known else ""


def _unknown(request: ir.Request, facts: ModelFacts | None, source: ModelSource, model: str) -> Iterator[str]:
    """Describe the facts about the model that are missing and concern the request, which is sent without a change for them."""
    if facts is None:
        yield f"every fact about the model, because {_origin_of_facts(source, model)}"
        return
    sampling = [name for name in _SAMPLING if name in request.settings]
    if request.reasoning is not None and facts.reasoning is None:
        yield "whether and how the model reasons: the setting of reasoning is sent without a check"
    elif request.reasoning is not None and not facts.efforts and request.reasoning.effort not in (None, "none"):
        yield f"which efforts the model accepts: the effort {request.reasoning.effort} is sent without a check"
    if sampling and facts.reasoning != "none" and facts.refuses.isdisjoint(_SAMPLING):
        yield f"whether the model accepts {' and '.join(sampling)}, which many models that reason reject"
    if facts.output_limit is None and "max_tokens" in request.settings:
        yield "how many tokens the model can write: the limit is sent without a check"


def _origin_of_facts(source: ModelSource, model: str) -> str:
    """Describe that a table or a function has no facts about a model, with the names of a table that end with its name after a slash."""
    if not isinstance(source, Mapping):
        return f"the function for facts returns none for {model!r}"
    names = [name for name in source if name.endswith(f"/{model}")] if model else []
    return f"the table has no {model!r}" + (f", but {_listed(names)}" if names else "")


def _counted(number: int, noun: str) -> str:
    """Return a number and a noun in its form for that number: ``2 messages of the user``."""
    head, separator, tail = noun.partition(" of ") if " of " in noun else noun.partition(" with ")
    return f"{number} {head}{'' if number == 1 else 's'}{separator}{tail}"


def _listed(names: Iterable[str]) -> str:
    """Return the first names, and how many follow."""
    shown = list(names)
    more = len(shown) - _MAX_NAMES
    return ", ".join(shown[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _instructions(request: ir.Request) -> str:
    messages = [
        message for message in request.messages if message.role in ("system", "developer") and (message.parts or not message.tools)
    ]
    size = sum(len(part.text) for message in messages for part in message.parts if isinstance(part, ir.Text))
    return f"{_counted(size, 'character')} in {_counted(len(messages), 'message')}" if messages else "none"


def _conversation(request: ir.Request) -> Iterator[str]:
    """Describe the messages of the user, those of the assistant and the tool results, each with what they hold."""
    # Messages and generate_content have tool results in messages of the user, and other formats have them in separate messages. They
    # are counted separately in all formats, so that the same conversation has the same description.
    turns = [message for message in request.messages if message.role not in ("system", "developer")]
    results = [part for message in turns for part in message.parts if isinstance(part, ir.ToolResult)]
    for role, name in (("user", "message of the user"), ("assistant", "message of the assistant")):
        messages = [message for message in turns if message.role == role and not _has_only_results(message)]
        if messages:
            yield _held(name, messages, [part for message in messages for part in message.parts])
    if results:
        yield _held("tool result", results, [part for result in results for part in result.content])


def _has_only_results(message: ir.Message) -> bool:
    return bool(message.parts) and all(isinstance(part, ir.ToolResult) for part in message.parts)


def _held(noun: str, nodes: Sized, parts: Iterable[ir.Part]) -> str:
    """Return the number of messages or results, and the number of their parts of each kind."""
    parts = [part for part in parts if not isinstance(part, ir.ToolResult)]
    held = Counter(map(_noun_of, parts))
    labels = dict.fromkeys(part.label for part in parts if isinstance(part, ir.Opaque) and part.label)
    kinds = {_OTHER: f" ({_listed(labels)})"} if labels else {}
    content = ", ".join(f"{_counted(count, noun)}{kinds.get(noun, '')}" for noun, count in held.items())
    return f"{_counted(len(nodes), noun)}: {content}" if content else _counted(len(nodes), noun)


def _noun_of(part: ir.Part) -> str:
    match part:
        case ir.Media():
            return _MEDIA[part.kind]
        case ir.ToolCall():
            return "tool call"
        case ir.Hosted():
            return "result of a server tool" if part.role == "result" else "call of a server tool"
        case ir.Reasoning():
            return "part with reasoning"
        case ir.Text():
            return "text"
        case ir.Refusal():
            return "refusal"
        case _:
            return _OTHER


def _name_of(tool: ir.Tool) -> str:
    return server_tool_name(tool) if isinstance(tool, ir.HostedTool | ir.McpServer) else tool.name


def _tools(request: ir.Request) -> Iterator[str]:
    by_caller = [_name_of(tool) for tool in request.tools if is_run_by_caller(tool)]
    by_server = [_name_of(tool) for tool in request.tools if not is_run_by_caller(tool)]
    added = [_name_of(tool) for tool in added_tools(request)]
    if by_caller:
        yield f"{_counted(len(by_caller), 'tool')} that the caller runs: {_listed(by_caller)}"
    if by_server:
        yield f"{_counted(len(by_server), 'tool')} that the server runs: {_listed(by_server)}"
    if added:
        yield f"{_counted(len(added), 'tool')} that messages add: {_listed(added)}"
    yield f"choice: {_choice(request.tool_choice)}"


def _choice(choice: ir.ToolChoice | None) -> str:
    """Describe which tools the model may or must call."""
    if choice is None:
        return _FREE_CHOICE
    names = _listed(dict.fromkeys([*choice.names, *choice.hosted]))
    if choice.mode in ("named", "hosted"):
        return f"the model must call {names}"
    if choice.mode == "allowed":
        return f"the model must call one of {names}" if choice.allowed_mode == "required" else f"the model may call only {names}"
    return _CHOICES.get(choice.mode, _FREE_CHOICE)


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
    return f"JSON that matches the schema {format.name!r}" if format.name else "JSON that matches a schema"


def _settings(request: ir.Request, format: FormatSpec, body: JsonObject) -> tuple[str, ...]:
    """Return the flat settings under the names and with the values that they have in the body."""
    renamed = format.dialect.names if format.dialect is not None else {}
    lines: dict[str, str] = {}
    for name, value in request.settings.items():
        field = format.settings.wire.get(name, name)
        field_paths = (renamed.get(field, field), *format.field_paths.places.get(f"Request.{name}", ()))
        values = {field_path: resolve(body, f"/{field_path}")[1] for field_path in field_paths}
        field_path, written = next(((each, value) for each, value in values.items() if value is not ABSENT), (field, value))
        lines[field_path] = f"{field_path}: {shorten(written)}"
    return tuple(lines.values())
