"""The demonstration: one conversation with a tool, in each format through the endpoint of another, streamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO, cast
from urllib.parse import urlsplit

import formatbridge as fb
from formatbridge.cli.conversation import QUESTION, REQUESTS, TOOL, WEATHER, calls_in, with_results
from formatbridge.cli.demo_detail import show_conversation
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing import Answer, FakeRelay, ToolCall, Usage

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
    return show_conversation(client, format, via, request, out)


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
    calls = calls_in(answer, format)
    for call in calls:
        print(f"  call   {call.name}({json.dumps(call.arguments, ensure_ascii=False)})", file=out)
    if not calls:
        return losses
    print(f"  tool   {json.dumps(WEATHER)}", file=out)
    _, more = _stream_answer(client, format, via, request | with_results(request, answer, calls, format), out)
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
