"""What a fake relay is told to say: answers, failures and faults, in turn or by request."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import UnionType
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel

import formatbridge as fb
from formatbridge.arguments import a, found
from formatbridge.errors import ConfigurationError, FormatBridgeError
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.faults import Fault, Stall

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")

_STOP_REASONS: Mapping[str, str] = {
    "stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal",
}  # fmt: skip
_TOKEN_KINDS: Mapping[str, str] = {
    "chat_completions": "thinking", "messages": "thinking", "responses": "encrypted", "generate_content": "thought",
}  # fmt: skip


def _check(name: str, value: object, kind: type | UnionType, expected: str) -> None:
    """Raise ``ConfigurationError`` on a value of another kind. A bool is no number."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ConfigurationError(f"{name} is {found(value)}, expected {expected}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. ``id``: None makes one that is unique in the relay."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None

    def __post_init__(self) -> None:
        _check("name", self.name, str, "a string")
        _check("arguments", self.arguments, Mapping, "a mapping, such as {'city': 'Rome'}; JSON text goes through json.loads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of an answer. ``input`` counts the cached ones in, as most formats do."""

    input: int = 12
    output: int = 7
    cache_read: int = 0
    cache_write: int = 0

    def __post_init__(self) -> None:
        for count in fields(self):
            _check(count.name, getattr(self, count.name), int, "a number of tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer in no format; it is spoken in that of whichever endpoint is asked.

    The parts stand in the order of the fields. ``signature``: a token that proves the reasoning, minted by the endpoint's own
    vendor: give base64, for one format takes nothing else. In generate_content it stands on the first call, if there is one, and
    None makes a token there, for no call comes without. ``finish``: None is ``tool_calls`` where there are some, else
    ``stop``. ``model``: None is the one that was asked for.
    """

    reasoning: str = ""
    signature: str | None = None
    text: str = ""
    tool_calls: Sequence[ToolCall] = ()
    finish: FinishReason | None = None
    usage: Usage = Usage()
    model: str | None = None

    def __post_init__(self) -> None:
        if self.finish not in (None, *_STOP_REASONS):
            raise ConfigurationError(f"finish is {self.finish!r}, expected None or one of {', '.join(_STOP_REASONS)}")
        _check("reasoning", self.reasoning, str, "a string")
        _check("text", self.text, str, "a string")
        _check("tool_calls", self.tool_calls, Sequence, "a list of ToolCall")
        for call in self.tool_calls:
            _check("one of tool_calls", call, ToolCall, "ToolCall")
        _check("usage", self.usage, Usage, "Usage")

    def body(self, endpoint: str, model: str, number: int) -> JsonObject:
        """Return the answer in the messages format, with the token at home in the endpoint's; ``number`` makes its ids."""
        finish = self.finish or ("tool_calls" if self.tool_calls else "stop")
        usage = self.usage
        return {
            "id": f"msg_fake{number}",
            "type": "message",
            "role": "assistant",
            "model": self.model or model,
            "content": self._blocks(endpoint, number),
            "stop_reason": _STOP_REASONS[finish],
            "stop_sequence": None,
            "usage": {
                "input_tokens": max(0, usage.input - usage.cache_read - usage.cache_write),
                "output_tokens": usage.output,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
            },
        }

    def _blocks(self, endpoint: str, number: int) -> list[JsonObject]:
        blocks: list[JsonObject] = []
        signs_call = endpoint == "generate_content" and bool(self.tool_calls)
        token = "" if signs_call else self.signature or ""
        if self.reasoning or token:
            if token and endpoint != "messages":
                token = f"fb1|{endpoint}|{_TOKEN_KINDS[endpoint]}|{token}"
            blocks.append({"type": "thinking", "thinking": self.reasoning, "signature": token})
        if self.text:
            blocks.append({"type": "text", "text": self.text})
        if signs_call:
            token = self.signature or base64.b64encode(f"fake{number}".encode()).decode()
            blocks.append({"type": "redacted_thinking", "data": f"fb1|{endpoint}|call|{token}"})
        for index, call in enumerate(self.tool_calls, 1):
            id_ = call.id or f"call_fake{number}_{index}"
            blocks.append({"type": "tool_use", "id": id_, "name": call.name, "input": dict(call.arguments)})
        return blocks


@dataclass(frozen=True, slots=True)
class Body:
    """An answer as a body of a format, unknown fields and all; other endpoints get it converted."""

    body: Mapping[str, Any]
    format: fb.Format

    def __post_init__(self) -> None:
        if self.format not in fb.FORMATS:
            raise fb.UnknownFormatError(self.format, fb.FORMATS)


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer with an error status.

    It is put in the words of the endpoint's own format; ``type`` and ``code`` are kept where that has them. ``retry_after``:
    seconds, sent as a header. ``body``: sent as it is instead, JSON or text. ``after``: the error comes inside the stream of the
    answer it is paired with, after so many events; asked for a whole answer, the relay answers with the status.
    """

    status: int = 500
    message: str = "scripted failure"
    type: str | None = None
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None
    body: Mapping[str, Any] | Sequence[Any] | str | None = None
    after: int | None = None

    def __post_init__(self) -> None:
        _check("status", self.status, int, "400 to 599")
        if not 400 <= self.status <= 599:
            raise ConfigurationError(f"status is {self.status!r}, expected 400 to 599")
        _check("message", self.message, str, "a string")
        _check("retry_after", self.retry_after, int | float | None, "seconds or None")
        _check("after", self.after, int | None, "a number of events, 0 or more")
        if self.after is not None and self.after < 0:
            raise ConfigurationError(f"after is {self.after!r}, expected a number of events, 0 or more")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request that the relay saw.

    ``headers``: names in lower case. ``format``: that of the endpoint; None where there is no such endpoint. ``model`` and
    ``stream``: as the body or the path says.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes
    format: fb.Format | None = None
    model: str = ""
    stream: bool = False
    body: Any = None
    """The parsed body; None where it is empty or no JSON."""

    def places_of(self, secret: str, *, is_home: bool) -> list[str]:
        """Return where a secret stands in the request; ``is_home``: one header may hold it."""
        holders = [f"header {name}" for name, value in self.headers.items() if secret in value]
        allowed = [f"header {name}" for name in KEY_HEADERS if f"header {name}" in holders] if is_home else []
        found = [holder for holder in holders if holder not in allowed[:1]]
        found += ["url"] if secret in self.url else []
        found += ["body"] if secret.encode() in self.content else []
        return [f"{self.method} {urlsplit(self.url).path}: {place}" for place in found]


Spoken = str | Answer | Body | BaseModel
Step = Spoken | Failure | Fault | tuple[Failure | Fault, Spoken]
Script = Step | Sequence[Step] | Callable[[Recorded], Step]


class ScriptError(FormatBridgeError, AssertionError):
    """The test asked for more than its script has."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens to one request: an answer, what goes wrong with it, or both."""

    answer: Answer | Body | None
    trouble: Failure | Fault | None = None


class Prompter:
    """Hands out the steps of a script, one for each request; safe among threads.

    One step that is no list is for every request. A list is played once. Failures and faults meet whatever request comes; answers
    wait for one that can have them, which a list of models cannot.
    """

    def __init__(self, script: Script) -> None:
        self._ask = script if callable(script) and not isinstance(script, BaseModel) else None
        self._lock = threading.Lock()
        self._place = 0
        self._is_list = isinstance(script, Sequence) and not isinstance(script, str | tuple)
        steps: Any = () if self._ask else script if self._is_list else (script,)
        self._turns = [_turn(step) for step in steps]

    @property
    def left(self) -> int | None:
        """How many steps of a list were not played; None where the script has no end."""
        return len(self._turns) - self._place if self._is_list else None

    def next(self, recorded: Recorded, *, wants_answer: bool) -> Turn | None:
        """Return the turn of a request; None where the script has nothing to say to it."""
        if self._ask is not None:
            return _turn(self._ask(recorded)) if wants_answer else None
        with self._lock:
            turn = self._upcoming(wants_answer)
            if turn is None or (turn.answer is not None and not wants_answer):
                return None
            self._place += self._is_list
            return turn

    def _upcoming(self, wants_answer: bool) -> Turn | None:
        if self._place < len(self._turns):
            return self._turns[self._place]
        if wants_answer:
            raise ScriptError(f"this is request {self._place + 1}, the script has {len(self._turns)} steps")
        return None


def _turn(step: Any) -> Turn:
    """Read a step; raise ``ConfigurationError`` on anything else."""
    if isinstance(step, tuple):
        if len(step) == 2 and isinstance(step[0], Failure | Fault):
            return Turn(_spoken(step[1]), step[0])
        raise ConfigurationError(f"found a tuple of {len(step)} in the script, expected a failure or fault and an answer")
    if isinstance(step, Failure | Fault):
        at = step.after if isinstance(step, Failure) else step.at
        if isinstance(step, Stall) or at is not None:
            kind = type(step).__name__
            raise ConfigurationError(f"found a {kind} without an answer in the script, expected ({kind}(...), answer)")
        return Turn(None, step)
    return Turn(_spoken(step))


def _spoken(step: Any) -> Answer | Body:
    if isinstance(step, str):
        return Answer(text=step)
    if isinstance(step, BaseModel):
        return _body_of_model(step)
    if isinstance(step, Answer | Body):
        return step
    raise ConfigurationError(f"found {a(step)} in the script, expected text, Answer, Body, Failure or a fault")


def _body_of_model(model: BaseModel) -> Body:
    """Read a typed model as a body of its own format."""
    made = fb.convert_response(model, target="messages")
    source = next(name for name in fb.FORMATS if name == made.source)
    return Body(fb.convert_response(model, target=source).body, source)
