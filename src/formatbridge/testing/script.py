"""The script of a fake relay: answers, failures and faults, in sequence or for each request."""

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
from formatbridge.arguments import shown, type_name
from formatbridge.errors import ConfigurationError, FormatBridgeError
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.testing.faults import Fault, Stall

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")

_STOP_REASONS: Mapping[str, str] = {
    "stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal",
}  # fmt: skip
_TOKEN_KINDS: Mapping[str, str] = {
    "chat_completions": "thinking", "messages": "thinking", "responses": "encrypted", "generate_content": "thought",
}  # fmt: skip


def _check_type(name: str, value: object, kind: type | UnionType, expected: str) -> None:
    """Raise ``ConfigurationError`` on a value of another type. A bool is not accepted as a number."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ConfigurationError(f"{name} is {shown(value)}, expected {expected}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call. ``id``: None generates a unique one."""

    name: str
    """The name of the function."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """The arguments, ready for JSON."""
    id: str | None = None
    """The id of the call; None generates a unique one."""

    def __post_init__(self) -> None:
        _check_type("name", self.name, str, "a string")
        _check_type("arguments", self.arguments, Mapping, "a mapping, such as {'city': 'Rome'}; JSON text goes through json.loads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of an answer. ``input`` includes the cached tokens, as in most formats."""

    input: int = 12
    """Input tokens, cached ones included."""
    output: int = 7
    """Output tokens."""
    cache_read: int = 0
    """Input tokens that were read from a cache."""
    cache_write: int = 0
    """Input tokens that were written to a cache."""

    def __post_init__(self) -> None:
        for count in fields(self):
            _check_type(count.name, getattr(self, count.name), int, "a number of tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer independent of the format; it is sent in the format of the endpoint.

    The parts have the order of the fields.

    ``signature``: a reasoning token issued by the endpoint's vendor; use base64, because one format accepts nothing else. In
    generate_content it belongs to the first tool call, if there is one; None generates a token there, because every call has one.
    ``finish``: None is ``tool_calls`` if there are any, else ``stop``.
    ``model``: None is the model of the request.
    """

    reasoning: str = ""
    """The visible reasoning."""
    signature: str | None = None
    """A reasoning token issued by the endpoint's vendor; None: there is none, except on calls in generate_content."""
    text: str = ""
    """The visible text."""
    tool_calls: Sequence[ToolCall] = ()
    """The tool calls, in their order."""
    finish: FinishReason | None = None
    """Why the answer ends; None is ``tool_calls`` if there are any, else ``stop``."""
    usage: Usage = Usage()
    """The token counts."""
    model: str | None = None
    """The model that answers; None is the model of the request."""

    def __post_init__(self) -> None:
        if self.finish not in (None, *_STOP_REASONS):
            raise ConfigurationError(f"finish is {self.finish!r}, expected None or one of {', '.join(_STOP_REASONS)}")
        _check_type("reasoning", self.reasoning, str, "a string")
        _check_type("text", self.text, str, "a string")
        _check_type("tool_calls", self.tool_calls, Sequence, "a list of ToolCall")
        for call in self.tool_calls:
            _check_type("one of tool_calls", call, ToolCall, "ToolCall")
        _check_type("usage", self.usage, Usage, "Usage")

    def body(self, endpoint: str, model: str, number: int) -> JsonObject:
        """Return the answer in the messages format, with the reasoning token of the endpoint's format; its ids are based on ``number``."""
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
    """An answer as a body of a format, including unknown fields; other endpoints get it converted."""

    body: Mapping[str, object]
    """The body, ready for JSON."""
    format: fb.Format
    """The format of the body."""

    def __post_init__(self) -> None:
        if self.format not in fb.FORMATS:
            raise fb.UnknownFormatError(self.format, fb.FORMATS)


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer with an error status, in the format of the endpoint.

    ``type``, ``code``: used if the format has them.
    ``retry_after``: seconds, sent as a header.
    ``body``: JSON or text that is sent unchanged instead.
    ``after``: the error is an event in the stream of the paired answer, after so many events; without streaming, the relay answers with
    the status.
    """

    status: int = 500
    """The HTTP status, 400 to 599."""
    message: str = "scripted failure"
    """The message for the caller."""
    type: str | None = None
    """The error type, if the format has it; None: that of the status."""
    code: str | None = None
    """The error code, if the format has it; None: that of the status."""
    param: str | None = None
    """The field of the request that caused the error."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers of the answer."""
    retry_after: float | None = None
    """How long the caller should wait, in seconds; sent as a header."""
    body: Mapping[str, object] | Sequence[object] | str | None = None
    """JSON or text that is sent unchanged instead."""
    after: int | None = None
    """The number of events before the error in a stream; None: the answer has the status."""

    def __post_init__(self) -> None:
        _check_type("status", self.status, int, "400 to 599")
        if not 400 <= self.status <= 599:
            raise ConfigurationError(f"status is {self.status!r}, expected 400 to 599")
        _check_type("message", self.message, str, "a string")
        _check_type("retry_after", self.retry_after, int | float | None, "seconds or None")
        _check_type("after", self.after, int | None, "a number of events, 0 or more")
        if self.after is not None and self.after < 0:
            raise ConfigurationError(f"after is {self.after!r}, expected a number of events, 0 or more")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request that the relay received.

    ``headers``: by lower-case name.
    ``format``: that of the endpoint; None without an endpoint.
    ``model`` and ``stream``: from the body or the path.
    """

    method: str
    """The HTTP method."""
    url: str
    """The whole URL."""
    headers: Mapping[str, str]
    """The headers by lower-case name."""
    content: bytes
    """The body as it arrived."""
    format: fb.Format | None = None
    """The format of the endpoint; None without an endpoint."""
    model: str = ""
    """The model, from the body or the path."""
    stream: bool = False
    """Whether the caller asked for a stream, from the body or the path."""
    body: JsonValue = None
    """The parsed body; None if it is empty or not JSON."""

    def locations_of(self, secret: str, *, may_hold_key: bool) -> list[str]:
        """Return the locations of a secret in the request. ``may_hold_key``: one header may contain it."""
        locations = [f"header {name}" for name, value in self.headers.items() if secret in value]
        allowed = [f"header {name}" for name in KEY_HEADERS if f"header {name}" in locations] if may_hold_key else []
        others = [holder for holder in locations if holder not in allowed[:1]]
        others += ["url"] if secret in self.url else []
        others += ["body"] if secret.encode() in self.content else []
        return [f"{self.method} {urlsplit(self.url).path}: {location}" for location in others]


AnswerLike = str | Answer | Body | BaseModel
Step = AnswerLike | Failure | Fault | tuple[Failure | Fault, AnswerLike]
Script = Step | Sequence[Step] | Callable[[Recorded], Step]


class ScriptError(FormatBridgeError, AssertionError):
    """The test sent more requests than the script has steps."""


@dataclass(frozen=True, slots=True)
class ScriptedStep:
    """The step for one request: an answer, a failure, or both."""

    answer: Answer | Body | None
    failure: Failure | Fault | None = None


class ScriptPlayer:
    """Returns the steps of a script, one for each request; threads may share it.

    A single step is used for every request. A list is used once. Failures and faults apply to any request. Answers do not apply to a list
    of models.
    """

    def __init__(self, script: Script) -> None:
        self._callable = script if callable(script) and not isinstance(script, BaseModel) else None
        self._lock = threading.Lock()
        self._position = 0
        self._is_list = isinstance(script, Sequence) and not isinstance(script, str | tuple)
        steps: Any = () if self._callable else script if self._is_list else (script,)
        self._steps = [_scripted_step(step) for step in steps]

    @property
    def steps_left(self) -> int | None:
        """The number of unused steps of a list; None if the script has no end."""
        return len(self._steps) - self._position if self._is_list else None

    def next(self, recorded: Recorded, *, wants_answer: bool) -> ScriptedStep | None:
        """Return the step for a request; None if the script has none for it."""
        if self._callable is not None:
            return _scripted_step(self._callable(recorded)) if wants_answer else None
        with self._lock:
            step = self._next_step(wants_answer)
            if step is None or (step.answer is not None and not wants_answer):
                return None
            self._position += self._is_list
            return step

    def _next_step(self, wants_answer: bool) -> ScriptedStep | None:
        if self._position < len(self._steps):
            return self._steps[self._position]
        if wants_answer:
            raise ScriptError(
                f"this is request {self._position + 1}, the script has {len(self._steps)} steps: add a step for each request"
            )
        return None


def _scripted_step(step: Any) -> ScriptedStep:
    """Return a step of the script; raise ``ConfigurationError`` on an invalid value."""
    if isinstance(step, tuple):
        if len(step) == 2 and isinstance(step[0], Failure | Fault):
            return ScriptedStep(_answer_of(step[1]), step[0])
        raise ConfigurationError(f"the script contains a tuple of {len(step)}, expected (failure or fault, answer)")
    if isinstance(step, Failure | Fault):
        at = step.after if isinstance(step, Failure) else step.at
        if isinstance(step, Stall) or at is not None:
            kind = type(step).__name__
            raise ConfigurationError(f"the script contains a {kind} without an answer, expected ({kind}(...), answer)")
        return ScriptedStep(None, step)
    return ScriptedStep(_answer_of(step))


def _answer_of(step: Any) -> Answer | Body:
    if isinstance(step, str):
        return Answer(text=step)
    if isinstance(step, BaseModel):
        return _body_of_model(step)
    if isinstance(step, Answer | Body):
        return step
    raise ConfigurationError(f"the script contains {type_name(step)}, expected text, Answer, Body, Failure or a fault")


def _body_of_model(model: BaseModel) -> Body:
    """Return a typed model as a body of its format."""
    converted = fb.convert_response(model, target="messages")
    source = next(name for name in fb.FORMATS if name == converted.source)
    return Body(fb.convert_response(model, target=source).body, source)
