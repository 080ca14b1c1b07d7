"""The demonstration: one conversation with a tool, in each format through the endpoint of another, streamed.

In detail it shows the bodies before and after conversion, the events and the report.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

Pair = tuple[fb.Format, fb.Format]
"""The format of the caller and that of the endpoint."""

DIRECTIONS: Sequence[Pair] = (
    ("chat_completions", "messages"),
    ("messages", "responses"),
    ("responses", "generate_content"),
    ("generate_content", "chat_completions"),
)
"""Each format is once that of the caller, and once that of the endpoint."""


def pair_of(source: FormatOrName | None, target: FormatOrName | None) -> Pair:
    """Return the formats of ``--from`` and ``--to``, with the default for one that is missing."""
    defaults = dict(DIRECTIONS)
    source = source or ("chat_completions" if target != "chat_completions" else "messages")
    target = target or defaults.get(cast(fb.Format, source), "messages")
    for name in (source, target):
        if name not in _REQUESTS:
            known = ", ".join(_REQUESTS)
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
            return run(client, pair, model, out)
    with fb.Client(base_url, api_key) as client:
        return run(client, pair, model, out)


def run(client: fb.Client, pair: Pair | None, model: str | None, out: TextIO) -> None:
    """Run the conversation with a client, as ``demo`` does."""
    model = model or _first_model(client)
    if pair is not None:
        return _converse(model, _Details(client, pair, out))
    for each in DIRECTIONS:
        _converse(model, _Summary(client, each, out))
    return None


def fake_relay() -> FakeRelay:
    """Return the fake relay: its answers are a tool call and then a text."""
    call = Answer(
        reasoning="The user wants to know the weather, so I look it up.",
        signature="Zm9yIG15IGV5ZXMgb25seQ==",
        tool_calls=[ToolCall(_TOOL, {"city": "Rome"})],
        usage=Usage(input=61, output=18),
    )
    answer = Answer(text="It is sunny in Rome, at 24 degrees.", usage=Usage(input=97, output=12, cache_read=61))
    return FakeRelay([call, answer] * len(DIRECTIONS), longest_delta=6)


def _first_model(client: fb.Client) -> str:
    listed = client.models()
    if not listed:
        raise fb.ConfigurationError("the relay lists no models: pass --model")
    return listed[0].id


_QUESTION = "What is the weather in Rome?"
_WEATHER: JsonObject = {"city": "Rome", "sky": "sunny", "celsius": 24}
_TOOL, _ABOUT = "get_weather", "The weather of a city, now."
_SCHEMA: JsonObject = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

_REQUESTS: Mapping[fb.Format, JsonObject] = {
    "chat_completions": {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": _QUESTION}],
        "tools": [{"type": "function", "function": {"name": _TOOL, "description": _ABOUT, "parameters": _SCHEMA}}],
        "seed": 7,
    },
    "messages": {
        "max_tokens": 1024,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
        "system": "Be brief.",
        "messages": [{"role": "user", "content": _QUESTION}],
        "tools": [{"name": _TOOL, "description": _ABOUT, "input_schema": _SCHEMA}],
        "stop_sequences": ["THE END"],
    },
    "responses": {
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": _QUESTION}],
        "tools": [{"type": "function", "name": _TOOL, "description": _ABOUT, "parameters": _SCHEMA, "strict": False}],
        "truncation": "auto",
    },
    "generate_content": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": _QUESTION}]}],
        "tools": [{"functionDeclarations": [{"name": _TOOL, "description": _ABOUT, "parametersJsonSchema": _SCHEMA}]}],
        "generationConfig": {"topK": 40},
    },
}
"""The first request in each format, with one setting that the endpoint's format lacks."""


def _converse(model: str, printer: _Summary | _Details) -> None:
    """Run the conversation: question, tool call, result, answer."""
    format, _ = printer.pair
    request = {"model": model, **_REQUESTS[format]}
    printer.show_question(request)
    answer, losses = _answer(request, printer)
    calls = _calls_in(answer, format)
    if calls:
        request = request | _with_results(request, answer, calls, format)
        printer.show_results(calls, request)
        losses += _answer(request, printer)[1]
    printer.show_losses(losses)


def _answer(request: JsonObject, printer: _Summary | _Details) -> tuple[JsonObject, list[fb.Loss]]:
    """Stream one answer. Return it and the losses."""
    with printer.client.stream(request, *printer.pair) as stream:
        printer.show_answer(stream)
        return stream.response().body, list(stream.losses)


class _Call(NamedTuple):
    """A tool call. ``id``: empty if the format has none."""

    id: str
    name: str
    arguments: Any

    def __str__(self) -> str:
        return f"{self.name}({json.dumps(self.arguments, ensure_ascii=False)})"


def _calls_in(answer: JsonObject, format: fb.Format) -> list[_Call]:
    """Return the tool calls of an answer in the format."""
    parts = load(format).decode_response(answer).choices[0].parts
    return [_call(part) for part in parts if isinstance(part, ir.ToolCall)]


def _call(part: ir.ToolCall) -> _Call:
    arguments = part.arguments
    return _Call(
        "" if part.has_generated_id else part.id, part.name, json.loads(arguments) if isinstance(arguments, str) else arguments
    )


def _with_results(request: JsonObject, answer: JsonObject, calls: Sequence[_Call], format: fb.Format) -> JsonObject:
    """Return the fields of the next request: the conversation with the answer, unchanged, and the results of its calls."""
    result = json.dumps(_WEATHER)
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
            named = [{"name": call.name, "response": _WEATHER} | ({"id": call.id} if call.id else {}) for call in calls]
            turn = {"role": "user", "parts": [{"functionResponse": each} for each in named]}
            return {"contents": [*request["contents"], answer["candidates"][0]["content"], turn]}


@dataclass(frozen=True, slots=True)
class _Printer:
    """Where a conversation of two formats is written."""

    client: fb.Client
    pair: Pair
    out: TextIO

    def path(self, request: JsonObject) -> str:
        """Return the path of the URL to which a request is sent."""
        return urlsplit(self.client.prepare(request, *self.pair, stream=True).url).path


class _Summary(_Printer):
    """Writes the texts, the calls and the losses of a conversation."""

    def show_question(self, request: JsonObject) -> None:
        print(f"{self.pair[0]} -> {self.path(request)}", file=self.out)
        print(f"  user   {_QUESTION}", file=self.out)

    def show_answer(self, stream: fb.Stream[Any, Any]) -> None:
        has_begun = False
        for piece in stream.text():
            self.out.write(piece if has_begun else f"  model  {piece}")
            self.out.flush()
            has_begun = True
        if has_begun:
            print(file=self.out)

    def show_results(self, calls: Sequence[_Call], _request: JsonObject) -> None:
        for call in calls:
            print(f"  call   {call}", file=self.out)
        print(f"  tool   {json.dumps(_WEATHER)}", file=self.out)

    def show_losses(self, losses: Sequence[fb.Loss]) -> None:
        """Write each loss that is not ``info`` once, and the number of the others."""
        severe = [loss for loss in losses if loss.severity != "info"]
        for line in dict.fromkeys(f"  lost   {loss.path}: {loss.kind}, {loss.severity}, {loss.why}" for loss in severe):
            print(line, file=self.out)
        if len(severe) < len(losses):
            print(f"  noted  {len(losses) - len(severe)} losses that the model never sees (info)", file=self.out)
        print(file=self.out)


class _Details(_Printer):
    """Writes the bodies before and after conversion, the events and the report."""

    def show_question(self, request: JsonObject) -> None:
        format, _ = self.pair
        _title(f"1. The request in {format}, and as it is sent to {self.path(request)}", self.out)
        self._show_request(request)
        _title(f"2. The answer: the events as they arrive, in {format}", self.out)

    def _show_request(self, request: JsonObject, members: Sequence[str] = ()) -> None:
        """Write a request and what is sent, side by side. ``members``: only these; none: all."""
        format, via = self.pair
        prepared = self.client.prepare(request, format, via, stream=True)
        left, right = Side(format, request, prepared.losses), Side(via, prepared.body, prepared.additions)
        print_rows(compare(_part(left, members), _part(right, members)), self.out)

    def show_answer(self, stream: fb.Stream[Any, Any]) -> None:
        """Write the events as they arrive, and then the text."""
        before: JsonObject = {}
        for event in stream:
            members = _members(event)
            _print_event(_changed(members, before), self.out)
            before = members
        for text in _texts_in(stream.response().body):
            print(f"text: {text}", file=self.out)

    def show_results(self, calls: Sequence[_Call], request: JsonObject) -> None:
        _title("3. The application runs the tool", self.out)
        for call in calls:
            print(f"{call} returns {json.dumps(_WEATHER)}", file=self.out)
        _title("4. The conversation in the second request, with the answer and the result", self.out)
        self._show_request(request, _TURNS)
        _title("5. The second answer", self.out)

    def show_losses(self, losses: Sequence[fb.Loss]) -> None:
        """Write each loss once."""
        _title("The report: what each conversion lost", self.out)
        for line in dict.fromkeys(f"{loss.severity:<10}  {loss.kind:<7}  {loss.path or '(body)'}: {loss.why}" for loss in losses):
            print(line, file=self.out)
        if not losses:
            print("nothing", file=self.out)


_TURNS = ("messages", "input", "contents")
"""The member of a request that has the conversation."""


def _title(text: str, out: TextIO) -> None:
    console = rich_console(out)
    print(file=out)
    if console is not None:
        console.print(text, style="bold cyan")
    else:
        print(f"{text}\n{'-' * len(text)}", file=out)


def _part(side: Side, members: Sequence[str]) -> Side:
    """Return a side with some members of its body."""
    if not members or not isinstance(side.body, dict):
        return side
    body = {name: value for name, value in side.body.items() if name in members}
    return Side(side.format, body, [entry for entry in side.entries if entry.path.split("/")[1:2] in [[name] for name in body]])


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


def _texts_in(value: Any) -> Sequence[str]:
    """Return the visible texts of an answer of any format: of its ``text``, or of a chat message's ``content``."""
    if isinstance(value, list):
        return [text for member in value for text in _texts_in(member)]
    if not isinstance(value, dict) or value.get("thought"):
        return []
    if value.get("type") in ("reasoning", "reasoning_text", "thinking", "reasoning.text", "reasoning.summary", "summary_text"):
        return []
    texts = [text for key in ("text", "content") if isinstance(text := value.get(key), str) and text]
    return [*texts, *(text for member in value.values() for text in _texts_in(member))]
