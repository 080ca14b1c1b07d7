"""The table of features that each format can represent, computed by the encoders.

Each row is a small canonical request or answer with one feature. Each cell shows the losses that an encoder notes for it. So the table
always agrees with the code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from formatbridge import formats, ir
from formatbridge.formats.shared.tools import adapt_tools
from formatbridge.formats.target import FormatOrName
from formatbridge.options import DEFAULT_OPTIONS
from formatbridge.report.ledger import FieldPaths, Ledger
from formatbridge.report.losses import SEVERITY_RANKS

_PNG = "iVBORw0KGgo="
_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
_MARKS = {"info": "(=)", "lossy": "~", "impossible": "-"}
_LEGEND = "= held   (=) only labels or cost change   ~ changed or lost, the answer may differ   - not supported"


@dataclass(frozen=True, slots=True)
class Probe:
    """One feature of a request or an answer, with a node that has it."""

    topic: str
    name: str
    node: ir.Request | ir.Response


def _user(*parts: ir.Part) -> ir.Request:
    return _request(messages=[ir.Message("user", [ir.Text("hi"), *parts])])


def _history(*parts: ir.Part) -> ir.Request:
    """Return a request whose history has an assistant message with these parts, and results for its tool calls."""
    calls = [part for part in parts if isinstance(part, ir.ToolCall)]
    results = [ir.Message("tool", [ir.ToolResult(call.id, [ir.Text("ok")], name=call.name, kind=call.kind)]) for call in calls]
    turns = [ir.Message("user", [ir.Text("hi")]), ir.Message("assistant", list(parts)), *results]
    return _request(messages=[*turns, ir.Message("user", [ir.Text("go")])])


def _result(**fields: Any) -> ir.Request:
    call = ir.ToolCall("c1", "f", {})
    result = replace(ir.ToolResult("c1", [ir.Text("ok")], name="f"), **fields)
    return _request(
        messages=[ir.Message("user", [ir.Text("hi")]), ir.Message("assistant", [call]), ir.Message("tool", [result])],
        tools=[ir.FunctionTool("f")],
    )


def _request(**fields: Any) -> ir.Request:
    base = ir.Request(
        format="chat_completions",
        model="m",
        stream=False,
        messages=[ir.Message("user", [ir.Text("hi")])],
        settings={"max_tokens": 9000},
    )
    settings = base.settings | fields.pop("settings", {})
    return replace(base, settings=settings, **fields)


def _answer(*parts: ir.Part, **fields: Any) -> ir.Response:
    finish = fields.pop("finish", ir.Finish(reason="stop"))
    choice = ir.Choice(parts=list(parts) or [ir.Text("ok")], finish=finish, logprobs=fields.pop("logprobs", None))
    return ir.Response(format="chat_completions", id="r1", model="m", choices=fields.pop("choices", [choice]), **fields)


def _usage(name: str) -> ir.Usage:
    usage = ir.Usage(input=9, output=9, total=18)
    setattr(usage, name, 5)
    return usage


def _token(issuer: ir.FormatName, kind: ir.SignatureKind) -> ir.Signature:
    return ir.Signature(issuer=issuer, kind=kind, token="c2ln")


def probes() -> Iterator[Probe]:
    """Yield every row of the table, by topic."""
    for topic, rows in {**_conversation(), **_tools(), **_settings_and_answers()}.items():
        for name, node in rows.items():
            yield Probe(topic, name, node)


_Topics = Mapping[str, Mapping[str, ir.Request | ir.Response]]
"""The rows of the table, by topic: a name and the node that is encoded."""


def _conversation() -> _Topics:
    """Return the rows about instructions, content, histories and tool results."""
    return {
        "Instructions": {
            "system prompt": _request(messages=[ir.Message("system", [ir.Text("S")]), ir.Message("user", [ir.Text("hi")])]),
            "instruction in mid-conversation": _request(
                messages=[
                    ir.Message("user", [ir.Text("hi")]), ir.Message("system", [ir.Text("S")]),
                    ir.Message("assistant", [ir.Text("a")]), ir.Message("user", [ir.Text("b")]),
                ]
            ),
        },
        "Content of a user's turn": {
            "image as data": _user(ir.Media(kind="image", mime="image/png", data=_PNG)),
            "image by URL": _user(ir.Media(kind="image", mime="image/png", url="https://example.com/a.png")),
            "image detail": _user(ir.Media(kind="image", mime="image/png", data=_PNG, detail="low")),
            "audio (wav, mp3)": _user(ir.Media(kind="audio", mime="audio/wav", data=_PNG)),
            "video by URL": _user(ir.Media(kind="video", mime="video/mp4", url="https://example.com/a.mp4")),
            "PDF as data": _user(ir.Media(kind="document", mime="application/pdf", data=_PNG, filename="a.pdf")),
            "PDF by URL": _user(ir.Media(kind="document", mime="application/pdf", url="https://example.com/a.pdf")),
            "cache mark": _request(messages=[ir.Message("user", [ir.Text("hi", cache=ir.CacheMark())])]),
        },
        "History of the model's turns": {
            "text": _history(ir.Text("a")),
            "refusal": _history(ir.Refusal(text="no")),
            "reasoning text": _history(ir.Reasoning(text="hm"), ir.Text("a")),
            "reasoning signed by messages": _history(ir.Reasoning(text="hm", signature=_token("messages", "thinking")), ir.Text("a")),
            "reasoning encrypted by responses": _history(ir.Reasoning(signature=_token("responses", "encrypted")), ir.Text("a")),
            "signature of generate_content on a call": _history(
                ir.ToolCall("c1", "f", {}, signature=_token("generate_content", "thought"))
            ),
            "text after a tool call": _history(ir.ToolCall("c1", "f", {}), ir.Text("a")),
            "custom tool call": _history(ir.ToolCall("c1", "f", "text", kind="custom")),
        },
        "Tool results": {
            "text": _result(),
            "image": _result(content=[ir.Text("ok"), ir.Media(kind="image", mime="image/png", data=_PNG)]),
            "error flag": _result(is_error=True),
        },
    }  # fmt: skip


def _tools() -> _Topics:
    """Return the rows about tools and tool choices."""
    function = ir.FunctionTool("f", "d", _SCHEMA, False)
    return {
        "Tools": {
            "function": _request(tools=[function]),
            "strict function": _request(tools=[ir.FunctionTool("f", "d", _SCHEMA, True)]),
            "output schema": _request(tools=[ir.FunctionTool("f", "d", _SCHEMA, False, output_schema=_SCHEMA)]),
            "deferred loading": _request(tools=[ir.FunctionTool("f", "d", _SCHEMA, False, defer_loading=True)]),
            "free-form tool": _request(tools=[ir.CustomTool(name="f", description="d")]),
            "grammar": _request(tools=[ir.CustomTool(name="f", syntax="lark", definition="start: /a/")]),
            "namespace": _request(tools=[ir.Namespace(name="n", tools=[function])]),
            "web search": _request(tools=[ir.HostedTool(family="web_search", kind="web_search")]),
            "web fetch": _request(tools=[ir.HostedTool(family="web_fetch", kind="web_fetch")]),
            "code execution": _request(tools=[ir.HostedTool(family="code", kind="code")]),
            "image generation": _request(tools=[ir.HostedTool(family="image_generation", kind="image_generation")]),
            "tool search of messages": _request(tools=[ir.HostedTool(family="tool_search", kind="tool_search_tool_bm25")]),
            "tool search of responses": _request(tools=[ir.HostedTool(family="tool_search", kind="tool_search")]),
            "MCP server": _request(tools=[ir.McpServer(label="s", url="https://example.com/mcp", approval="never")]),
        },
        "Tool choice": {
            mode: _request(tools=[function], tool_choice=ir.ToolChoice(mode=mode, names=["f"]))
            for mode in ("auto", "none", "required", "named", "allowed", "validated")
        }
        | {"no parallel calls": _request(tools=[function], settings={"parallel_tool_calls": False})},
    }


def _settings_and_answers() -> _Topics:
    """Return the rows about reasoning, output, settings and answers."""
    return {
        "Reasoning": {
            **{
                f"effort {effort}": _request(reasoning=ir.ReasoningConfig(effort=effort))
                for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max")
            },
            "budget": _request(reasoning=ir.ReasoningConfig(mode="on", budget=8192)),
            "adaptive": _request(reasoning=ir.ReasoningConfig(mode="adaptive")),
            "show": _request(reasoning=ir.ReasoningConfig(mode="adaptive", effort="high", visibility="auto")),
        },
        "Shape of the answer": {
            "JSON object": _request(output_format=ir.OutputFormat(type="json_object")),
            "JSON Schema": _request(output_format=ir.OutputFormat(type="json_schema", schema=_SCHEMA, strict=True)),
            "name of the schema": _request(output_format=ir.OutputFormat(type="json_schema", schema=_SCHEMA, name="n", strict=True)),
            "audio": _request(settings={"modalities": ["text", "audio"]}, audio=ir.AudioOutput(voice="v", format="wav")),
            "image": _request(settings={"modalities": ["text", "image"]}, image=ir.ImageOutput(aspect_ratio="1:1")),
        },
        "Settings": {
            name: _request(settings={name: value})
            for name, value in {
                "temperature": 0.5, "top_p": 0.5, "top_k": 5, "seed": 1, "presence_penalty": 0.5, "frequency_penalty": 0.5,
                "logprobs": True,
                "n": 2, "stop": ["a"], "user": "u", "safety_identifier": "s", "metadata": {"a": "b"}, "verbosity": "low", "store": True,
                "prompt_cache_key": "k", "tier": "priority",
            }.items()
        },
        "Answers": {
            "text": _answer(),
            "tool call": _answer(ir.ToolCall("c1", "f", {}), finish=ir.Finish(reason="tool_calls")),
            "custom tool call": _answer(ir.ToolCall("c1", "f", "text", kind="custom"), finish=ir.Finish(reason="tool_calls")),
            "reasoning, signed (carried)": _answer(ir.Reasoning(text="hm", signature=_token("messages", "thinking")), ir.Text("a")),
            "refusal": _answer(ir.Refusal(text="no"), finish=ir.Finish(reason="refusal")),
            "web citation": _answer(
                ir.Text("abc", citations=[ir.Citation(kind="web", url="https://example.com", title="t", start=0, end=3)])
            ),
            "image": _answer(ir.Media(kind="image", mime="image/png", data=_PNG)),
            "audio": _answer(ir.Media(kind="audio", mime="audio/wav", data=_PNG)),
            "logprobs": _answer(logprobs=[ir.TokenLogprob(token="ok", logprob=-0.5, top_logprobs=[])]),
            "two choices": _answer(
                choices=[ir.Choice(parts=[ir.Text("a")], finish=ir.Finish(reason="stop"), index=index) for index in range(2)]
            ),
            "MCP call": _answer(ir.Hosted(family="mcp", role="both", id="m1", name="f", server="s", arguments="{}", output="ok")),
            "code execution": _answer(ir.Hosted(family="code", role="both", id="m1", arguments="1", output="1")),
        },
        "Finish reasons": {
            reason: _answer(finish=ir.Finish(reason=reason))
            for reason in ("stop", "stop_sequence", "length", "context_length", "content_filter", "pause", "compaction", "error", "other")
        },
        "Usage": {
            name: _answer(usage=_usage(name))  # mypy does not see the bound default
            for name in ("cache_read", "cache_write", "reasoning", "tool_prompt", "accepted_prediction")
        },
    }  # fmt: skip


def cell(node: ir.Request | ir.Response, target: FormatOrName) -> str:
    """Return the mark of the most severe loss in the conversion of a node to a format; ``=`` if there is none."""
    target_format, losses = formats.load(target), Ledger({}, FieldPaths())
    if isinstance(node, ir.Request):
        adapted, _ = adapt_tools(node, target_format.tool_rules, losses)
        target_format.encode_request(adapted, losses, DEFAULT_OPTIONS)
    else:
        target_format.encode_response(node, losses, DEFAULT_OPTIONS, None)
    worst = max((loss.severity for loss in losses.losses), key=SEVERITY_RANKS.__getitem__, default=None)
    return _MARKS[worst] if worst is not None else "="


def matrix_rows(targets: Sequence[FormatOrName] = formats.FORMATS) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return rows of topic, feature, and a mark for each format in the order of ``FORMATS``."""
    return [(probe.topic, probe.name, tuple(cell(probe.node, target) for target in targets)) for probe in probes()]


def matrix_table(source: FormatOrName | None = None, targets: Sequence[FormatOrName] = formats.FORMATS) -> str:
    """Return the table as text; with ``source``, only features that this format has, and the columns of the others."""
    columns = [formats.load(target) for target in targets]
    if source is not None:
        source_format = formats.load(source)
        columns = [source_format, *(column for column in columns if column is not source_format)]
    rows = matrix_rows(columns)
    if source is not None:
        rows = [(topic, name, marks[1:]) for topic, name, marks in rows if marks[0] in ("=", "(=)")]
        del columns[0]
    width = max(len(name) for _, name, _ in rows) + 2
    lines = [_LEGEND, "", " " * width + "  ".join(column.name for column in columns)]
    topic = ""
    for row_topic, name, marks in rows:
        if row_topic != topic:
            topic = row_topic
            lines += ["", topic]
        cells = "  ".join(mark.center(len(column.name)) for mark, column in zip(marks, columns, strict=True))
        lines.append(f"{name:<{width}}{cells}".rstrip())
    return "\n".join(lines)
