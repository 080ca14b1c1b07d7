"""The demonstration: one conversation with a tool, in each format through the endpoint of another, streamed.

In detail it shows the bodies before and after conversion, the events and the report.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TextIO, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

import formatbridge as fb
from formatbridge import ir
from formatbridge.cli.diff import Side, compare, print_rows
from formatbridge.cli.terminal import rich_console
from formatbridge.formats.registry import load
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing import Answer, FakeRelay, ToolCall, Usage

QUESTION = "What is the weather in Rome?"
WEATHER: JsonObject = {"city": "Rome", "sky": "sunny", "celsius": 24}
TOOL, _ABOUT = "get_weather", "The weather of a city, now."
_SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

REQUESTS: Mapping[fb.Format, JsonObject] = {
    "chat_completions": {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "function": {"name": TOOL, "description": _ABOUT, "parameters": _SCHEMA}}],
        "seed": 7,
    },
    "messages": {
        "max_tokens": 1024,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "system": "Be brief.",
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [{"name": TOOL, "description": _ABOUT, "input_schema": _SCHEMA}],
        "stop_sequences": ["THE END"],
    },
    "responses": {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": QUESTION}],
        "tools": [{"type": "function", "name": TOOL, "description": _ABOUT, "parameters": _SCHEMA, "strict": False}],
        "truncation": "auto",
    },
    "generate_content": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
        "tools": [{"functionDeclarations": [{"name": TOOL, "description": _ABOUT, "parametersJsonSchema": _SCHEMA}]}],
        "generationConfig": {"topK": 40},
    },
}
"""The first request in each format, with one setting that the endpoint's format lacks."""


class Call(NamedTuple):
    """A tool call. ``id``: empty if the format has none."""

    id: str
    name: str
    arguments: Any


def _calls_in(answer: JsonObject, format: fb.Format) -> list[Call]:
    """Return the tool calls of an answer in the format."""
    parts = load(format).decode_response(answer).choices[0].parts
    return [_call(part) for part in parts if isinstance(part, ir.ToolCall)]


def _call(part: ir.ToolCall) -> Call:
    arguments = part.arguments
    return Call(
        "" if part.has_generated_id else part.id, part.name, json.loads(arguments) if isinstance(arguments, str) else arguments
    )


def _with_results(request: JsonObject, answer: JsonObject, calls: Sequence[Call], format: fb.Format) -> JsonObject:
    """Return the fields of the next request: the conversation with the answer, unchanged, and the results of its calls."""
    result = json.dumps(WEATHER)
    match format:
        case "chat_completions":
            results = [{"role": "tool", "tool_call_id": call.id, "content": result} for call in calls]
            return {"messages": [*request["messages"], answer["choices"][0]["message"], *results]}
        case "messages":
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": result} for call in calls]
            turns = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": results}]
            return {"messages": [*request["messages"], *turns]}
        case "responses":
            results = [{"type": "function_call_output", "call_id": call.id, "output": result} for call in calls]
            return {"input": [*request["input"], *answer["output"], *results]}
        case "generate_content":
            named = [{"name": call.name, "response": WEATHER} | ({"id": call.id} if call.id else {}) for call in calls]
            turn = {"role": "user", "parts": [{"functionResponse": each} for each in named]}
            return {"contents": [*request["contents"], answer["candidates"][0]["content"], turn]}


_TURNS = ("messages", "input", "contents")
"""The member of a request that has the conversation."""


def _show_conversation(client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO) -> None:
    """Run the conversation and write each step: question, tool call, result, answer."""
    path = urlsplit(client.prepare(request, format, via, stream=True).url).path
    _title(f"1. The request in {format}, and as it is sent to {path}", out)
    _show_request(client, format, via, request, out)
    _title(f"2. The answer: the events as they arrive, in {format}", out)
    answer, losses = _show_answer(client, format, via, request, out)
    calls = _calls_in(answer, format)
    if calls:
        _title("3. The application runs the tool", out)
        for call in calls:
            print(f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)}) returns {json.dumps(WEATHER)}", file=out)
        request = request | _with_results(request, answer, calls, format)
        _title("4. The conversation in the second request, with the answer and the result", out)
        _show_request(client, format, via, request, out, _TURNS)
        _title("5. The second answer", out)
        _, more = _show_answer(client, format, via, request, out)
        losses += more
    _title("The report: what each conversion lost", out)
    for line in dict.fromkeys(f"{loss.severity:<10}  {loss.kind:<7}  {loss.path or '(body)'}: {loss.why}" for loss in losses):
        print(line, file=out)
    if not losses:
        print("nothing", file=out)


def _title(text: str, out: TextIO) -> None:
    console = rich_console(out)
    print(file=out)
    if console is not None:
        console.print(text, style="bold cyan")
    else:
        print(f"{text}\n{'-' * len(text)}", file=out)


def _show_request(
    client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO, members: Sequence[str] = ()
) -> None:
    """Write a request and what is sent, side by side. ``members``: only these; none: all."""
    prepared = client.prepare(request, format, via, stream=True)
    left, right = Side(format, request, prepared.losses), Side(via, prepared.body, prepared.additions)
    print_rows(compare(_part(left, members), _part(right, members)), out)


def _part(side: Side, members: Sequence[str]) -> Side:
    """Return a side with some members of its body."""
    if not members or not isinstance(side.body, dict):
        return side
    body = {name: value for name, value in side.body.items() if name in members}
    return Side(side.format, body, [entry for entry in side.entries if entry.path.split("/")[1:2] in [[name] for name in body]])


def _show_answer(
    client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO
) -> tuple[JsonObject, list[fb.Loss]]:
    """Write the events as they arrive, and the text of the answer. Return the answer and the losses."""
    before: JsonObject = {}
    with client.stream(request, format, via) as stream:
        for event in stream:
            members = _members(event)
            _print_event(_changed(members, before), out)
            before = members
        response = stream.response().body
        for text in texts_in(response):
            print(f"text: {text}", file=out)
        return response, list(stream.losses)


def _members(event: BaseModel) -> JsonObject:
    """Return the members of an event, without null."""
    members: JsonObject = event.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    return members


def _changed(members: JsonObject, before: JsonObject) -> JsonObject:
    """Return the members of an event that differ from the event before it. Its type is always shown."""
    return {key: value for key, value in members.items() if key == "type" or key not in before or before[key] != value}


def _print_event(members: JsonObject, out: TextIO) -> None:
    """Write an event in one line of the terminal."""
    text = json.dumps(members, ensure_ascii=False)
    width = shutil.get_terminal_size((120, 40)).columns - 2
    print(f"  {text if len(text) <= width else text[: width - 1] + '…'}", file=out, flush=True)


def texts_in(value: Any) -> Sequence[str]:
    """Return the visible texts of an answer of any format: of its ``text``, or of a chat message's ``content``."""
    if isinstance(value, list):
        return [text for member in value for text in texts_in(member)]
    if not isinstance(value, dict) or value.get("thought"):
        return []
    if value.get("type") in ("reasoning", "reasoning_text", "thinking", "reasoning.text", "reasoning.summary", "summary_text"):
        return []
    texts = [text for key in ("text", "content") if isinstance(text := value.get(key), str) and text]
    return [*texts, *(text for member in value.values() for text in texts_in(member))]


DIRECTIONS: Sequence[tuple[fb.Format, fb.Format]] = (
    ("chat_completions", "messages"),
    ("messages", "responses"),
    ("responses", "generate_content"),
    ("generate_content", "chat_completions"),
)
"""The caller's format and the endpoint's format; each format is both once."""

Pair = tuple[fb.Format, fb.Format]
"""The format of the caller and that of the endpoint."""


def pair(source: FormatOrName | None, target: FormatOrName | None) -> Pair:
    """Return the formats of ``--from`` and ``--to``, with the default for one that is missing."""
    defaults = dict(DIRECTIONS)
    source = source or ("chat_completions" if target != "chat_completions" else "messages")
    target = target or defaults.get(cast(fb.Format, source), "messages")
    for name in (source, target):
        if name not in REQUESTS:
            known = ", ".join(REQUESTS)
            raise fb.ConfigurationError(f"the demonstration has no dialects and no registered formats: use one of {known}")
    return cast(Pair, (source, target))


def demo(
    out: TextIO, *, pair: Pair | None = None, base_url: str | None = None, api_key: str | None = None, model: str | None = None
) -> None:
    """Run the conversation and write it to ``out`` as it arrives.

    ``pair``: show the conversation of these formats in detail; None: a short run in all four formats.
    ``base_url``: None: a fake relay in the process. ``api_key``: None: ``FORMATBRIDGE_API_KEY``. ``model``: None: the first in the relay's
    list. Raises the exceptions of the client.
    """
    if base_url is None:
        relay = fake_relay()
        with relay.http_client() as http_client, fb.Client(relay.base_url, relay.api_key, http_client=http_client) as client:
            return _run(client, pair, model, out)
    with fb.Client(base_url, api_key) as client:
        return _run(client, pair, model, out)


def _run(client: fb.Client, pair: Pair | None, model: str | None, out: TextIO) -> None:
    if pair is None:
        return run_all(client, model, out)
    format, via = pair
    request = {"model": model or _first_model(client), **REQUESTS[format]}
    return _show_conversation(client, format, via, request, out)


def fake_relay() -> FakeRelay:
    """Return the fake relay: its answers are a tool call and then a text."""
    call = Answer(
        reasoning="The user wants to know the weather, so I look it up.",
        signature="Zm9yIG15IGV5ZXMgb25seQ==",
        tool_calls=[ToolCall(TOOL, {"city": "Rome"})],
        usage=Usage(input=61, output=18),
    )
    answer = Answer(text="It is sunny in Rome, at 24 degrees.", usage=Usage(input=97, output=12, cache_read=61))
    return FakeRelay([call, answer] * len(DIRECTIONS), longest_delta=6)


def run_all(client: fb.Client, model: str | None, out: TextIO) -> None:
    """Run the conversation in each format. ``model``: None: the first in the relay's list."""
    if model is None:
        model = _first_model(client)
    for format, via in DIRECTIONS:
        request = {"model": model, **REQUESTS[format]}
        print(f"{format} -> {urlsplit(client.prepare(request, format, via, stream=True).url).path}", file=out)
        _print_losses(_run_conversation(client, format, via, request, out), out)
        print(file=out)


def _first_model(client: fb.Client) -> str:
    listed = client.models()
    if not listed:
        raise fb.ConfigurationError("the relay lists no models: pass --model")
    return listed[0].id


def _run_conversation(client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO) -> list[fb.Loss]:
    """Run the conversation in one format: question, call, result, answer. Return the losses."""
    print(f"  user   {QUESTION}", file=out)
    answer, losses = _stream_answer(client, format, via, request, out)
    calls = _calls_in(answer, format)
    for call in calls:
        print(f"  call   {call.name}({json.dumps(call.arguments, ensure_ascii=False)})", file=out)
    if not calls:
        return losses
    print(f"  tool   {json.dumps(WEATHER)}", file=out)
    _, more = _stream_answer(client, format, via, request | _with_results(request, answer, calls, format), out)
    return losses + more


def _stream_answer(
    client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO
) -> tuple[JsonObject, list[fb.Loss]]:
    """Stream one answer, write its text as it arrives, and return the answer and the losses."""
    has_begun = False
    with client.stream(request, format, via) as stream:
        for piece in stream.text():
            out.write(piece if has_begun else f"  model  {piece}")
            out.flush()
            has_begun = True
        if has_begun:
            print(file=out)
        return stream.response().body, list(stream.losses)


def _print_losses(losses: Sequence[fb.Loss], out: TextIO) -> None:
    """Write each loss that is not ``info`` once, and the number of the others."""
    severe = [loss for loss in losses if loss.severity != "info"]
    for line in dict.fromkeys(f"  lost   {loss.path}: {loss.kind}, {loss.severity}, {loss.why}" for loss in severe):
        print(line, file=out)
    if len(severe) < len(losses):
        print(f"  noted  {len(losses) - len(severe)} losses that the model never sees (info)", file=out)
