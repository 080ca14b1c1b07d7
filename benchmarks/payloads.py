"""Synthetic payloads: one conversation, the same on every machine, in each of the four formats.

Nothing here uses ``formatbridge``, so a defect of the library cannot change what is measured.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from benchmarks import bodies
from benchmarks.bodies import Answer, Call, Conversation, Tool, Turn

PROSE = (
    "the of and to in is that for it with as on be this are by from or an at not which have we you can if will one has "
    "return value index parse error request response file line test module function class import config token stream "
    "cache retry buffer header payload schema model message content result build deploy server client session user "
    "because however therefore between without before after every another through should about other first second"
)
WORDS = PROSE.split()
RARE = ("naïve", "Übersicht", "résumé", "…", "→", "日本語", "🙂")
"""Words outside ASCII; every tenth text has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One document in no format. ``kind`` is ``request`` or ``response``."""

    kind: str
    create: Callable[[], Conversation | Answer] = field(repr=False)

    def bytes(self, format: str) -> bytes:
        """Return the document as compact JSON in UTF-8, as the vendors' SDKs send it."""
        body = bodies.BODIES[self.kind, format](self.create())
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def text(dice: random.Random, size: int) -> str:
    """Return about ``size`` characters of words with line breaks, quotes and sometimes a word outside ASCII."""
    words: list[str] = []
    length = 0
    while length < size:
        word = dice.choice(WORDS)
        chance = dice.random()
        if chance < 0.03:
            word += ".\n\n"
        elif chance < 0.05:
            word = f'"{word}"'
        words.append(word)
        length += len(word) + 1
    if dice.random() < 0.1:
        words.append(dice.choice(RARE))
    return " ".join(words)


def call(dice: random.Random, number: int) -> Call:
    """Return a tool call with arguments of some 250 characters."""
    arguments = {
        "path": f"src/package_{number % 7}/module_{number}.py",
        "pattern": text(dice, 40),
        "limit": dice.randrange(1, 500),
        "recursive": number % 2 == 0,
        "options": {"encoding": "utf-8", "context": [dice.randrange(50), dice.randrange(50)], "note": text(dice, 60)},
    }
    return Call(id=f"call_{number:06d}AbCdEfGh", name=f"tool_{number % 25:02d}", arguments=arguments)


def tool(dice: random.Random, number: int) -> Tool:
    """Return a tool definition of about 1 kB, with keywords that every format has."""
    properties: dict[str, Any] = {
        "path": {"type": "string", "description": text(dice, 120)},
        "pattern": {"type": "string", "description": text(dice, 120)},
        "limit": {"type": "integer", "description": text(dice, 60), "minimum": 1, "maximum": 500},
        "mode": {"type": "string", "enum": ["fast", "exact", "fuzzy"], "description": text(dice, 60)},
        "recursive": {"type": "boolean", "description": text(dice, 60)},
        "options": {
            "type": "object",
            "properties": {
                "encoding": {"type": "string", "description": text(dice, 40)},
                "context": {"type": "array", "items": {"type": "integer"}, "description": text(dice, 40)},
                "note": {"type": "string"},
            },
            "required": ["encoding"],
        },
    }
    schema = {"type": "object", "properties": properties, "required": ["path", "pattern"]}
    return Tool(name=f"tool_{number:02d}", description=text(dice, 200), schema=schema)


def _round(dice: random.Random, number: int, size: int) -> list[Turn]:
    """Return seven messages: a question, two parallel calls, their results, another call and its result, the answer."""
    first, second, third = (call(dice, 3 * number + step) for step in range(3))
    return [
        Turn(role="user", text=text(dice, size // 2)),
        Turn(role="assistant", text=text(dice, size // 4), calls=(first, second)),
        Turn(role="tool", text=text(dice, size * 3 // 2), answers=first),
        Turn(role="tool", text=text(dice, size * 3 // 2), answers=second),
        Turn(role="assistant", calls=(third,)),
        Turn(role="tool", text=text(dice, size * 3 // 2), answers=third),
        Turn(role="assistant", text=text(dice, size)),
    ]


def _turns(dice: random.Random, count: int, size: int) -> list[Turn]:
    """Return ``count`` turns (an odd number), the last one of the user."""
    rounds = (count - 1) // 7
    rounds -= (count - 1 - 7 * rounds) % 2
    turns = [turn for number in range(rounds) for turn in _round(dice, number, size)]
    while len(turns) < count - 1:
        turns += [Turn(role="user", text=text(dice, size)), Turn(role="assistant", text=text(dice, size))]
    return [*turns, Turn(role="user", text=text(dice, size))]


@cache
def conversation(*, messages: int, tools: int, size: int, system: int = 2000) -> Conversation:
    """Return a conversation of ``messages`` messages (an even number, the system message included) of about ``size`` characters each."""
    dice = random.Random(f"{messages}/{tools}/{size}")
    return Conversation(
        system=text(dice, system),
        turns=tuple(_turns(dice, messages - 1, size)),
        tools=tuple(tool(dice, number) for number in range(tools)),
        oddity=True,
    )


@cache
def tiny() -> Conversation:
    """Return one short question."""
    return Conversation(system="Be brief.", turns=(Turn(role="user", text="What is the capital of France?"),))


@cache
def images() -> Conversation:
    """Return eight images of 1 MB each, two to a message, with a question to each pair."""
    turns: list[Turn] = []
    for number in range(4):
        pair = tuple(_image(2 * number + step) for step in range(2))
        turns.append(Turn(role="user", text="What changed between these two pictures?", images=pair))
        turns.append(Turn(role="assistant", text="The second one is darker."))
    return Conversation(system="Be brief.", turns=(*turns, Turn(role="user", text="Which pair differs most?")))


def _image(seed: int) -> str:
    """Return random bytes after the signature of a PNG file, in base64."""
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(seed).randbytes(786_424)).decode()


@cache
def answer(*, size: int, calls: int) -> Answer:
    """Return an answer of ``size`` characters of text and some tool calls."""
    dice = random.Random(f"{size}/{calls}")
    return Answer(text=text(dice, size), calls=tuple(call(dice, number) for number in range(calls)))


_ONE_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TURNS: dict[str, dict[str, Any]] = {
    "system": {"role": "system", "content": "Be brief."},
    "user": {"role": "user", "content": "What is next?"},
    "assistant": {"role": "assistant", "content": "The next one."},
    "call": {"role": "assistant", "content": None, "tool_calls": [_ONE_CALL]},
    "result": {"role": "tool", "tool_call_id": "call_1", "content": "done"},
}
"""Kind of turn to a message of chat_completions."""


def alternating(kinds: tuple[str, str], count: int) -> bytes:
    """Return a request of chat_completions of ``count`` times two kinds of turn."""
    return json.dumps({"model": bodies.MODEL, "messages": [TURNS[kind] for kind in kinds] * count}).encode()


def sized_request(*, messages: int = 60, size: int = 1000) -> Payload:
    """Return a request with two tools and any number and size of messages."""
    return Payload(kind="request", create=lambda: conversation(messages=messages, tools=2, size=size))


PAYLOADS: dict[str, Payload] = {
    "tiny": Payload(kind="request", create=tiny),
    "agent": Payload(kind="request", create=lambda: conversation(messages=60, tools=25, size=840)),
    "conversation": Payload(kind="request", create=lambda: conversation(messages=640, tools=25, size=1400)),
    "images": Payload(kind="request", create=images),
    "response": Payload(kind="response", create=lambda: answer(size=4000, calls=2)),
    "tool_calls": Payload(kind="response", create=lambda: answer(size=300, calls=14)),
}
"""Name of a case to its document."""
