"""The demonstration in detail: one conversation with the bodies before and after conversion, the events and the report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from typing import Any, TextIO
from urllib.parse import urlsplit

from pydantic import BaseModel

import formatbridge as fb
from formatbridge.cli.conversation import WEATHER, calls_in, with_results
from formatbridge.cli.diff import Side, compare, print_rows
from formatbridge.cli.terminal import rich_console
from formatbridge.jsontext.types import JsonObject

_TURNS = ("messages", "input", "contents")
"""The member of a request that has the conversation."""


def show_conversation(client: fb.Client, format: fb.Format, via: fb.Format, request: JsonObject, out: TextIO) -> None:
    """Run the conversation and write each step: question, tool call, result, answer."""
    path = urlsplit(client.prepare(request, format, via, stream=True).url).path
    _title(f"1. The request in {format}, and as it is sent to {path}", out)
    _show_request(client, format, via, request, out)
    _title(f"2. The answer: the events as they arrive, in {format}", out)
    answer, losses = _show_answer(client, format, via, request, out)
    calls = calls_in(answer, format)
    if calls:
        _title("3. The application runs the tool", out)
        for call in calls:
            print(f"{call.name}({json.dumps(call.arguments, ensure_ascii=False)}) returns {json.dumps(WEATHER)}", file=out)
        request = request | with_results(request, answer, calls, format)
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
