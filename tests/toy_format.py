"""A small fifth format in one module, which docs/adding-a-format.md explains and tests/formats/test_toy_format.py tests with the laws.

A conversation is a list of lines. Each line has an author (``by``), a kind (``text``, ``reasoning``, ``call``, ``result``) and a text. The
text of a call is the JSON text of its arguments. Reasoning may have a ``seal``, an opaque token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal

from formatbridge import ir
from formatbridge.formats.format import (
    Context,
    DetectionRule,
    Endpoint,
    EndReason,
    FormatSpec,
    ItemIdentity,
    ModelListing,
    ToolRules,
)
from formatbridge.formats.shared.errors import KIND_FIELDS, classify, kept_status
from formatbridge.formats.shared.held_fields import Holds, drop_field, unheld_fields
from formatbridge.formats.shared.reasoning_tokens import decode_token, encode_token, is_carried, native_token
from formatbridge.formats.shared.settings import encode_flat_settings
from formatbridge.formats.shared.tables import FieldTable, ValueTable
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra, unknown_event
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.jsontext.pointers import Path
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import FieldPaths, Ledger, LossRule, null_ledger
from formatbridge.streaming.sse import encode_event
from formatbridge.validation.wire_base import AT_ONCE, Count, Number, Open, Unknown, Wire

NAME = ir.RegisteredName("lines")

# The wire models: what the JSON looks like. Their names are fixed, for the other layers look them up in ``wire_module``.


class Line(Wire):
    """One line of a conversation. ``id``: of a call, and of the call that a result answers. ``name``: of the tool of a call."""

    by: Literal["system", "user", "model", "tool"]
    kind: Literal["text", "reasoning", "call", "result"]
    text: str
    seal: str | None = None
    id: str | None = None
    name: str | None = None


class Tool(Wire):
    """A function that the model may call; ``accepts`` is a JSON Schema of its arguments."""

    name: str
    about: str | None = None
    accepts: dict[str, Any] | None = None


class Request(Wire):
    """A request. ``limit``: the largest number of tokens of the answer."""

    model_config = AT_ONCE

    model: str
    lines: list[Line]
    tools: list[Tool] | None = None
    limit: Count | None = None
    temperature: Number | None = None
    stream: bool | None = None


class Tokens(Wire):
    """The numbers of tokens of input and output."""

    read: Count
    written: Count


class Response(Wire):
    """A whole answer. ``stop`` is null while it is unfinished."""

    model_config = AT_ONCE
    ESSENTIAL: ClassVar[tuple[str, ...]] = ("lines",)

    id: str
    model: str
    lines: list[Line]
    stop: str | None = None
    tokens: Tokens | None = None


class ErrorDetail(Wire):
    """The details of an error; ``reason`` is one word."""

    reason: str | None = None
    message: str | None = None


class Error(Wire):
    """The body of an error."""

    model_config = AT_ONCE

    error: ErrorDetail | str | None = None
    message: str | None = None


class Model(Wire):
    """An available model."""

    id: str


class ModelList(Wire):
    """All available models."""

    model_config = AT_ONCE
    ESSENTIAL: ClassVar[tuple[str, ...]] = ("available",)

    available: list[Model]


class Begin(Wire):
    """The answer begins."""

    event: Literal["begin"]
    id: str
    model: str


class Add(Wire):
    """A line begins, or its text continues. ``at``: the index of the line. Only the first event of a line needs its other fields."""

    event: Literal["add"]
    at: Count
    by: str | None = None
    kind: str | None = None
    text: str | None = None
    seal: str | None = None
    id: str | None = None
    name: str | None = None


class End(Wire):
    """The answer ends."""

    event: Literal["end"]
    stop: str | None = None
    tokens: Tokens | None = None


StreamEvent = Annotated[Begin | Add | End | Unknown, Open("event")]

# Facts as tables.

_ROLES: Mapping[str, ir.Role] = {"system": "system", "user": "user", "model": "assistant", "tool": "tool"}
_BY = {"system": "system", "developer": "system", "user": "user", "assistant": "model", "tool": "tool"}
_STOPS = ValueTable(("stop", "end"), ("length", "limit"), ("tool_calls", "call"), ("content_filter", "filter"))
_FINISH: Mapping[str, ir.FinishReason] = {"end": "stop", "limit": "length", "call": "tool_calls", "filter": "content_filter"}
_SETTINGS = FieldTable({"max_tokens": "limit", "temperature": "temperature"})
_LINE = frozenset({"by", "kind", "text", "seal", "id", "name"})
_FIELD_PATHS = FieldPaths(
    content=frozenset({"lines"}),
    places={
        "Request.max_tokens": ("limit",),
        "FunctionTool.description": ("about",),
        "FunctionTool.parameters": ("accepts",),
        "ToolCall.arguments": ("text",),
        "ToolResult.call_id": ("id",),
        "ToolResult.content": ("text",),
        "Finish.reason": ("stop",),
        "Usage.input": ("tokens/read",),
        "Usage.output": ("tokens/written",),
        "Error.message": ("error/message", "message", "error"),
        "Error.type": ("error/reason",),
    },
    rules={"Error.error": LossRule("info", "diagnostic")},
)
HOLDS: Holds = {
    ir.Request: frozenset({"model", "stream", "messages", "tools", "settings"}),
    ir.Message: frozenset({"role", "parts"}),
    ir.FunctionTool: frozenset({"name", "description", "parameters", "kind"}),
    ir.Text: frozenset({"text", "citations"}),
    ir.Reasoning: frozenset({"text", "signature", "is_summary"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "has_generated_id"}),
    ir.ToolResult: frozenset({"call_id", "content", "name", "kind", "has_generated_id"}),
    ir.Response: frozenset(
        {"id", "model", "choices", "usage", "fields_after_start", "revised_parts", "citations_after_text", "error"}
    ),
    ir.Choice: frozenset({"parts", "finish", "index"}),
    ir.Finish: frozenset({"reason", "raw", "is_specific"}),
    ir.Usage: frozenset({"input", "output", "total"}),
    ir.Error: frozenset({"kind", "message", "family", "status", "type"}),
    ir.Model: frozenset({"id"}),
    ir.ModelList: frozenset({"models"}),
}
"""The fields that the format holds, by canonical node. All others are reported as dropped. The encoder reports citations one by one."""
drop_unheld = unheld_fields(NAME, HOLDS)
"""Report each field of a node that the format does not hold."""

# Lines: ``decode_`` and ``encode_`` of each kind one below the other.


def _decode_line(raw: JsonObject, src: str) -> ir.Part:
    """Decode a line. A field that was malformed in an answer is empty."""
    extra, text, kind = read_extra(raw, _LINE), raw.get("text") or "", raw.get("kind")
    if kind == "reasoning":
        seal = raw.get("seal")
        signature = decode_token(seal, NAME, "thinking", f"{src}/seal") if seal else None
        return ir.Reasoning(text, src, signature, extra=merge_extra(extra, _others(raw, "id", "name")))
    if kind == "call":
        id, name = raw.get("id") or src.rpartition("/")[2], raw.get("name") or ""
        return ir.ToolCall(id, name, text, src, has_generated_id=not raw.get("id"), extra=merge_extra(extra, _others(raw, "seal")))
    if kind == "result":
        content: list[ir.Part] = [ir.Text(text, src)]
        extra = merge_extra(extra, _others(raw, "seal", "name"))
        return ir.ToolResult(raw.get("id") or "", content, src, has_generated_id=not raw.get("id"), extra=extra)
    return ir.Text(text, src, merge_extra(extra, _others(raw, "seal", "id", "name")))


def _others(raw: JsonObject, *names: str) -> JsonObject | None:
    """Return the fields of a line that have no meaning in a line of its kind."""
    return {name: raw[name] for name in names if raw.get(name) is not None} or None


def _encode_part(part: ir.Part, by: str, losses: Ledger, options: Options | None) -> list[JsonObject]:
    """Encode a part as a line. ``options``: of an answer, which carries the tokens of other formats; None: of a request."""
    if type(part) not in (ir.Text, ir.Reasoning, ir.ToolCall, ir.ToolResult):
        losses.dropped(part, severity="impossible")
        if isinstance(part, ir.Refusal):
            drop_field(part, "id", losses)
        return []
    drop_unheld(part, losses)
    match part:
        case ir.Text():
            for citation in part.citations or ():
                losses.dropped(citation, severity="info")
            return [{"by": by, "kind": "text", "text": part.text}]
        case ir.Reasoning():
            seal = _encode_seal(part.signature, losses, options)
            return (
                [{"by": by, "kind": "reasoning", "text": part.text, **({"seal": seal} if seal else {})}]
                if part.text or seal
                else []
            )
        case ir.ToolCall():
            return [{"by": by, "kind": "call", "text": _arguments(part), "id": part.id, "name": part.name}]
        case ir.ToolResult():
            text = "\n".join(inner.text for inner in part.content if isinstance(inner, ir.Text))
            for inner in part.content:
                if isinstance(inner, ir.Text):
                    drop_unheld(inner, losses)
                else:
                    losses.dropped(inner, severity="impossible")
            return [{"by": "tool", "kind": "result", "text": text, "id": part.call_id}]
    raise AssertionError(part)


def _encode_seal(signature: ir.Signature | None, losses: Ledger, options: Options | None) -> str | None:
    if options is None or signature is None:
        return native_token(signature, NAME, losses)
    if is_carried(signature, NAME, options):
        return encode_token(signature, NAME)
    losses.dropped(signature, code="foreign_signature")
    return None


def _arguments(call: ir.ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else dumps(call.arguments).decode()


# Requests.


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Decode a request; adjacent lines of one author are one turn."""
    lines = [(raw["by"], _decode_line(raw, f"/lines/{at}")) for at, raw in enumerate(body["lines"])]
    turns = ((by, [part for _, part in turn]) for by, turn in groupby(lines, key=lambda line: line[0]))
    request = ir.Request(
        format=NAME,
        model=model or body["model"],
        stream=bool(body.get("stream")) if stream is None else stream,
        messages=[ir.Message(_ROLES[by], parts, parts[0].src) for by, parts in turns],
        tools=[_decode_tool(raw, f"/tools/{at}") for at, raw in enumerate(body.get("tools") or ())],
        extra=read_extra(body, frozenset({"model", "lines", "tools", "stream", *_SETTINGS.canonical})),
    )
    settings: dict[str, Any] = request.settings  # type: ignore[assignment]  # built key by key
    settings |= {name: body[wire] for name, wire in _SETTINGS.wire.items() if body.get(wire) is not None}
    return request


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Encode a request."""
    del options
    drop_unheld(request, losses)
    body: JsonObject = {"model": request.model, "lines": []}
    for message in request.messages:
        drop_unheld(message, losses)
        for part in message.parts:
            body["lines"] += _encode_part(part, _BY[message.role], losses, None)
    if request.tools:
        body["tools"] = [result for tool in request.tools if (result := _encode_tool(tool, losses))]
    encode_flat_settings(request, _SETTINGS, body, losses, frozenset())
    return body | ({"stream": True} if request.stream else {})


def _decode_tool(raw: JsonObject, src: str) -> ir.FunctionTool:
    extra = read_extra(raw, frozenset({"name", "about", "accepts"}))
    return ir.FunctionTool(raw["name"], raw.get("about"), raw.get("accepts"), src=src, extra=extra)


def _encode_tool(tool: ir.Tool, losses: Ledger) -> JsonObject | None:
    if not isinstance(tool, ir.FunctionTool):
        losses.dropped(tool, severity="impossible")
        return None
    drop_unheld(tool, losses)
    result = {"name": tool.name, "about": tool.description, "accepts": tool.parameters}
    return {name: value for name, value in result.items() if value is not None}


# Answers.


def decode_response(body: JsonObject) -> ir.Response:
    """Decode a whole answer."""
    choice = ir.Choice([_decode_line(raw, f"/lines/{at}") for at, raw in enumerate(body["lines"])], _decode_stop(body))
    extra = read_extra(body, frozenset({"id", "model", "lines", "stop", "tokens"}))
    return ir.Response(NAME, body.get("id"), body.get("model"), [choice], usage=_decode_tokens(body), extra=extra)


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Encode a whole answer: the first choice."""
    del context
    drop_unheld(response, losses)
    for other in response.choices[1:]:
        losses.dropped(other, code="single_answer", severity="impossible")
    choice = response.choices[0] if response.choices else ir.Choice([])
    drop_unheld(choice, losses)
    return {
        "id": response.id or losses.added("/id", "answer"),
        "model": response.model or losses.added("/model", ""),
        "lines": [line for part in choice.parts for line in _encode_part(part, "model", losses, options)],
        **_encode_end(choice.finish, response.usage, losses),
    }


def _decode_stop(body: JsonObject) -> ir.Finish | None:
    word = body.get("stop")
    return ir.Finish(_FINISH.get(word, "other"), word, is_specific=word not in _FINISH) if word is not None else None


def _decode_tokens(body: JsonObject) -> ir.Usage | None:
    raw = body.get("tokens")
    extra = read_extra(raw, frozenset({"read", "written"}), "tokens/") if raw else None
    return ir.Usage(raw["read"], raw["written"], extra=extra) if raw else None


def _encode_end(finish: ir.Finish | None, usage: ir.Usage | None, losses: Ledger) -> JsonObject:
    """Encode the end of an answer: the stop reason and the usage."""
    body: JsonObject = {"stop": None}
    if finish is not None:
        drop_unheld(finish, losses)
        body["stop"] = _STOPS.wire.get(finish.reason, "end")
        if finish.reason not in _STOPS.wire or finish.is_specific:
            losses.changed(finish, "reason", body["stop"], "finish_reason", severity="info")
    if usage is not None:
        drop_unheld(usage, losses)
        if usage.total not in (None, usage.input + usage.output):
            losses.dropped(usage, "total", "accounting", severity="info")
        body["tokens"] = {"read": usage.input, "written": usage.output}
    return body


def mark_unfinished(body: JsonObject) -> JsonObject:
    """Return an answer without its end."""
    return body | {"stop": None}


# Errors and models.


_KINDS: Mapping[str, ir.ErrorKind] = {kind: kind for kind in KIND_FIELDS}


def decode_error(body: JsonObject, *, status: int | None) -> ir.Error:
    """Decode an error; a reason is the name of a kind."""
    raw = body.get("error")
    detail: JsonObject = raw if isinstance(raw, dict) else {"message": raw or body.get("message")}
    reason = detail.get("reason")
    known = frozenset({"error", *(("message",) if not isinstance(raw, dict) else ())})
    return ir.Error(
        kind=_KINDS.get(str(reason)) or classify(status, word=reason),
        message=str(detail.get("message") or ""),
        status=status,
        type=reason,
        extra=merge_extra(read_extra(body, known), read_extra(detail, frozenset({"reason", "message"}), "error/")),
    )


def encode_error(error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
    """Encode an error."""
    drop_unheld(error, losses)
    if error.type not in (None, error.kind):
        losses.changed(error, "type", error.kind, "diagnostic", severity="info")
    return kept_status(error, KIND_FIELDS[error.kind].status), {"error": {"reason": error.kind, "message": error.message}}


def decode_models(body: JsonObject) -> ir.ModelList:
    """Decode a list of models."""
    known = frozenset({"id"})
    models = [
        ir.Model(id=raw["id"], src=f"/available/{at}", extra=read_extra(raw, known)) for at, raw in enumerate(body["available"])
    ]
    return ir.ModelList(format=NAME, models=models, extra=read_extra(body, frozenset({"available"})))


def encode_models(models: ir.ModelList, losses: Ledger) -> JsonObject:
    """Encode a list of models."""
    for node in (models, *models.models):
        drop_unheld(node, losses)
    return {"available": [{"id": model.id} for model in models.models]}


# Streams.


class StreamDecoder:
    """Decodes one stream: ``begin``, then ``add`` for each piece of a line, then ``end``."""

    END = "an event named end"
    NEVER_REPEATED: frozenset[str] = frozenset()
    has_unknown_fields = False

    def __init__(self) -> None:
        self.is_complete = False
        self.start: events.Start | None = events.Start(None, None)
        self._open: int | None = None  # the line that continues

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Decode an event."""
        del count  # events that repeat leave no other state
        if raw.get("error"):
            self.is_complete = True
            return [*self._begun(), events.Failed(decode_error(raw, status=None))]
        match raw.get("event"):
            case "begin":
                self.start = events.Start(raw["id"], raw["model"], extra=read_extra(raw, frozenset({"event", "id", "model"})))
                return self._begun()
            case "add":
                return [*self._begun(), *self._add(raw)]
            case "end":
                return [*self._begun(), *self._end(raw)]
        return [*self._begun(), events.FieldsUpdate(unknown_event(raw) or {})]

    def _begun(self) -> list[events.Event]:
        start, self.start = self.start, None
        return [] if start is None else [start]

    def _add(self, raw: JsonObject) -> list[events.Event]:
        at, result = raw["at"], list[events.Event]()
        if at != self._open:
            result, self._open = self._closed(), at
            line = {"kind": "text", **raw, "text": ""}
            part = _decode_line({name: value for name, value in line.items() if name not in ("event", "at")}, f"/lines/{at}")
            result.append(events.PartStart(0, at, part))
        return [*result, events.Delta(0, at, raw["text"])] if raw.get("text") else result

    def _closed(self) -> list[events.Event]:
        return [] if self._open is None else [events.PartEnd(0, self._open)]

    def _end(self, raw: JsonObject) -> list[events.Event]:
        self.is_complete = True
        result = self._closed()
        finish, usage, extra = _decode_stop(raw), _decode_tokens(raw), read_extra(raw, frozenset({"event", "stop", "tokens"}))
        result += [events.FieldsUpdate(extra)] if extra else []
        result += [events.ChoiceEnd(0, finish)] if finish else []
        result += [events.UsageUpdate(usage)] if usage else []
        return [*result, events.End()]

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return pending events: the start, if no event has shown it."""
        return [] if reason == "done" or self.start is None else [self.start]


class StreamEncoder:
    """Encodes one stream. Lines follow one another, so deltas of other parts are delayed."""

    def __init__(self, options: Options, context: Context | None) -> None:
        del context
        self._options = options
        self._parts: dict[int, ir.Part] = {}
        self._count = 0
        self._open: int | None = None
        self._waiting: list[events.PartStart | events.Delta | events.PartUpdate | events.PartEnd] = []
        self._finish: ir.Finish | None = None
        self._usage: ir.Usage | None = None
        self._is_over = False

    def feed(self, event: events.Event) -> bytes:
        """Encode one event; of several choices the first is written."""
        match event:
            case events.Start():
                self._usage = event.usage
                return _frame({"event": "begin", "id": event.id or "answer", "model": event.model or ""})
            case events.PartStart() | events.Delta() | events.PartUpdate() | events.PartEnd() if event.choice == 0:
                return self._take(event)
            case events.ChoiceEnd() if event.choice == 0:
                self._finish = event.finish
            case events.UsageUpdate():
                self._usage = event.usage
            case events.Failed():
                return self.fail(event.error)
            case events.End():
                self._is_over = True
                return _frame({"event": "end", **_encode_end(self._finish, self._usage, null_ledger())})
        return b""

    def _take(self, event: events.PartStart | events.Delta | events.PartUpdate | events.PartEnd) -> bytes:
        if self._open not in (None, event.index):
            self._waiting.append(event)
            return b""
        result = self._write(event)
        if isinstance(event, events.PartEnd):
            waiting, self._waiting = self._waiting, []
            result += b"".join(map(self._take, waiting))
        return result

    def _write(self, event: events.PartStart | events.Delta | events.PartUpdate | events.PartEnd) -> bytes:
        """Write an event of the open line. A seal after its reasoning text is in an event without text."""
        if isinstance(event, events.PartStart):
            self._open, self._parts[event.index] = event.index, event.part
            lines = _encode_part(event.part, "model", null_ledger(), self._options)
            if isinstance(event.part, ir.Reasoning) and not lines:
                lines = [{"by": "model", "kind": "reasoning", "text": ""}]
            self._count += len(lines)
            return b"".join(self._add(line) for line in lines)
        part = self._parts[event.index]
        if isinstance(event, events.PartEnd):
            self._open = None
        elif isinstance(event, events.Delta) and isinstance(part, ir.Text | ir.Reasoning | ir.ToolCall):
            return self._add({"text": event.text})
        elif isinstance(event, events.PartUpdate) and isinstance(part, ir.Reasoning):
            seal = _encode_seal(event.signature, null_ledger(), self._options)
            return self._add({"seal": seal}) if seal else b""
        return b""

    def _add(self, fields: JsonObject) -> bytes:
        return _frame({"event": "add", "at": self._count - 1, **fields})

    def fail(self, error: ir.Error, *, events_before: int = 0) -> bytes:
        """Encode an error, after which nothing follows."""
        del events_before
        is_over, self._is_over = self._is_over, True
        return b"" if is_over else _frame(encode_error(error, null_ledger())[1])

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens that no event can have any more: a seal may come at any time while its line is open."""
        return []


def _frame(data: JsonObject) -> bytes:
    return encode_event(dumps(data), None)


def fold_stream(emitted: Iterable[JsonObject]) -> JsonObject | None:
    """Fold the events of a stream to the whole answer."""
    body: JsonObject = {"lines": []}
    for event in emitted:
        fields_of_event = {name: value for name, value in event.items() if name not in ("event", "at")}
        if event.get("event") != "add":
            body |= fields_of_event
        elif event["at"] == len(body["lines"]):
            body["lines"].append(fields_of_event)
        elif event["at"] == len(body["lines"]) - 1:
            line = body["lines"][-1]
            body["lines"][-1] = line | fields_of_event | {"text": line.get("text", "") + fields_of_event.get("text", "")}
        else:
            return None
    return body


def unfold_stream(body: JsonObject) -> list[JsonObject]:
    """Return the events that fold to an answer, each line in one event."""
    ends = {name: value for name, value in body.items() if name not in ("id", "model", "lines")}
    lines = [{"event": "add", "at": at, **line} for at, line in enumerate(body["lines"])]
    return [{"event": "begin", "id": body["id"], "model": body["model"]}, *lines, {"event": "end", **ends}]


def response_path(event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
    """Return the path in the whole answer: that of the line, or the same."""
    del lengths
    return ("lines", event["at"], *path) if event.get("event") == "add" and isinstance(event.get("at"), int) else path


def recognizes_event(event: JsonObject) -> bool:
    """Return whether an event is one of this format."""
    return event.get("event") in ("begin", "add", "end")


def event_text(event: Any) -> str:
    """Return the text of an event, unless it belongs to another kind of line."""
    return event.text or "" if isinstance(event, Add) and event.kind in (None, "text") else ""


LINES = FormatSpec(
    name=NAME,
    wire_module=__name__,
    field_paths=_FIELD_PATHS,
    endpoint=Endpoint(path="/lines", key_header="x-lines-key", models=ModelListing(path="/lines/models", keys=("available",))),
    detection=(
        DetectionRule("request", 10, "lines/*/by"),
        DetectionRule("response", 10, "lines/*/by"),
        DetectionRule("response", 4, "tokens/written"),
        DetectionRule("response", 4, "stop"),
        DetectionRule("error", 10, "error/reason"),
        DetectionRule("models", 10, "available/*/id"),
    ),
    decode_request=decode_request,
    encode_request=encode_request,
    settings=_SETTINGS,
    tool_rules=ToolRules(name=re.compile(r"[A-Za-z0-9_-]+"), longest_name=64),
    item_identity=ItemIdentity(role="by", type="kind", words=frozenset({"by", "kind"}), call_ids=("id",)),
    decode_response=decode_response,
    encode_response=encode_response,
    finish_reasons=_FINISH,
    mark_unfinished=mark_unfinished,
    stream_decoder=StreamDecoder,
    stream_encoder=StreamEncoder,
    fold_stream=fold_stream,
    unfold_stream=unfold_stream,
    response_path=response_path,
    recognizes_event=recognizes_event,
    event_text=event_text,
    decode_error=decode_error,
    encode_error=encode_error,
    decode_models=decode_models,
    encode_models=encode_models,
)
