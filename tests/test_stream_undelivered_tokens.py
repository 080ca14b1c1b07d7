"""Reasoning parts that are open at once, with tokens that come after their text: each token stays with its text, or is reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import formats, ir
from formatbridge.ir import events
from formatbridge.options import DEFAULT_OPTIONS
from formatbridge.streaming.sse import DONE, StreamReader
from tests.fixtures import check

_HOMES: tuple[tuple[ir.Format, ir.SignatureKind], ...] = (("responses", "encrypted"), ("messages", "thinking"))


def _life(number: int, random: Random) -> Iterator[events.Event]:
    """Yield what happens to a part: a thought, which may learn its token in time, late or never, a text, or a call."""
    kind = random.choice(("thought", "thought", "thought", "text", "call"))
    if kind == "call":
        yield events.PartStart(0, number, ir.ToolCall(f"call_{number}", "look_up", ""))
        yield events.Delta(0, number, "{}")
        yield events.PartEnd(0, number)
        return
    home, sort = random.choice(_HOMES)
    item = f"rs_x{number}" if home == "responses" else None
    token = ir.Signature(issuer=home, kind=sort, token=f"token{number}", item=item)
    yield events.PartStart(0, number, ir.Text("") if kind == "text" else ir.Reasoning("", id=item))
    for piece in range(random.choice((0, 1, 2, 3)) if kind == "thought" else 2):
        yield events.Delta(0, number, f"{number}{'abc'[piece]}.")
    when = random.choice(("in time", "late", "never")) if kind == "thought" else "never"
    if when == "in time":
        yield events.PartMeta(0, number, signature=token)
    yield events.PartEnd(0, number)
    if when == "late":
        yield events.Signed(0, number, token)


def _lives(random: Random) -> list[events.Event]:
    """Return the events of an answer whose parts are open side by side, in the order in which they open."""
    waiting = [iter(list(_life(number, random))) for number in range(random.randint(1, 5))]
    running: list[Iterator[events.Event]] = []
    told: list[events.Event] = [events.Start("a", "m")]
    while waiting or running:
        if waiting and (not running or random.random() < 0.3):
            running.append(waiting.pop(0))
            told.append(next(running[-1]))
            continue
        life = random.choice(running)
        event = next(life, None)
        if event is None:
            running.remove(life)
        else:
            told.append(event)
    return [*told, events.Finished(0, ir.Finish("stop")), events.End()]


def _kept(data: bytes) -> dict[str, Any]:
    """Return the answer as the history of a client of generate_content has it, which puts no pieces together."""
    reader = StreamReader()
    told = [json.loads(event.data) for event in (*reader.feed(data), *reader.finish()) if event.data != DONE]
    parts = [part for raw in told for part in raw["candidates"][0]["content"]["parts"]]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}


def _tokens(body: dict[str, Any], target: str) -> dict[str, str]:
    parts = formats.load(target).decode_response(check(body, formats.load(target).name, "response")).choices[0].parts
    return {part.signature.token: part.text for part in parts if isinstance(part, ir.Reasoning | ir.Text) and part.signature}


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_token_comes_home_with_the_text_that_it_signs_or_is_reported(target: str) -> None:
    """A server refuses a signed thought that was altered, and an item without the token that it is known by."""
    for seed in range(400):
        told = _lives(Random(seed))
        signed = {
            event.index: event.signature for event in told if isinstance(event, events.PartMeta | events.Signed) and event.signature
        }
        texts: dict[int, str] = dict.fromkeys(signed, "")
        for event in told:
            if isinstance(event, events.Delta) and event.index in texts:
                texts[event.index] += event.text
        encoder = formats.load(target).stream_encoder(DEFAULT_OPTIONS, None)

        data = b"".join([encoder.feed(event) for event in told])

        late = {token.token for token in encoder.undelivered_tokens() if isinstance(token, ir.Signature)}
        expected = {token.token: texts[number] for number, token in signed.items() if token.token not in late}
        bodies = [fb.collect_stream([data], source=target).body, *([_kept(data)] if target == "generate_content" else [])]
        for body in bodies:
            assert _tokens(body, target) == expected, seed
        assert _tokens(fb.collect_stream([data], source=target, target=target).body, target) == expected, seed
