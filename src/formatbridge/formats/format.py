"""What a format offers. A module that has these names is a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from formatbridge import ir
from formatbridge.formats.shared.tables import FieldTable
from formatbridge.ir import events
from formatbridge.jsontext.pointers import Path
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger, Spelling

Kind = Literal["request", "response", "error", "models"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """What a format demands of tools: the pattern of their names and call ids, and whether it has free-form tools and namespaces.

    ``distinct``: no two tools may have one name; ``distinct_ids``: no two calls one id. ``server_names``: the names of the server's own
    tools, by family, where they have any. ``allows``: which choices among some tools the format has a list for: ``auto``, ``required``,
    and ``hosted`` where that list takes tools of the server's own, too. ``validates``: its choice may hold arguments to their schemas.
    ``servers``: the families of server tools that the format has, ``mcp`` among them for remote servers. ``governs_servers``: to choose
    none or any is about those, too; elsewhere it is about functions only.
    """

    name: re.Pattern[str]
    longest_name: int
    call_id: re.Pattern[str] | None = None
    longest_call_id: int | None = None
    custom: bool = False
    namespaces: bool = False
    distinct: bool = False
    distinct_ids: bool = False
    allows: frozenset[str] = frozenset()
    validates: bool = False
    servers: frozenset[str] = frozenset()
    governs_servers: bool = False
    server_names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTool:
    """What a tool was called before its request crossed over."""

    name: str
    namespace: str | None = None
    kind: Literal["function", "custom", "tool_search"] = "function"


@dataclass(slots=True)
class Context:
    """What an answer needs to know of the request it answers.

    ``source`` and ``body``: the caller's format and request. ``tools``: the name on the wire to the caller's own.
    """

    source: ir.Format
    body: JsonObject
    tools: Mapping[str, OwnTool] = field(default_factory=dict)


EndReason = Literal["done", "end_of_bytes", "truncated"]
"""Why a stream decoder is to emit what is pending: ``[DONE]`` came, no more bytes come, or the answer stops before its end."""


class StreamDecoder(Protocol):
    """Decodes the parsed events of one stream, which the wire model of the format has validated."""

    END: ClassVar[str]
    """What ends a stream of the format, for error messages."""
    NEVER_REPEATED: ClassVar[frozenset[str]]
    """Fields of events that must be fed one by one: what such an event means depends on those before it."""
    is_complete: bool
    """Whether the stream brought its end, or an error."""
    has_unknown_fields: bool
    """Whether the last event had unknown fields that accumulate: then it is not equivalent to join the texts of several such events.

    The event log needs this, and the event alone does not show it: only the decoder knows which fields it does not model.
    """

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Take one event and return what it adds. ``count``: how many events in a row it stands for, with their texts joined."""

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the events that are pending at the end of a stream.

        ``done`` and ``end_of_bytes`` emit the end of a complete answer. The latter emits the start of any other answer, if it is pending.
        ``truncated`` emits the start, the fields and the usage of the answer, and what its open parts hold back; these stay open.
        It changes nothing in the decoder, so it may be called in the middle of a stream.
        """


class StreamEncoder(Protocol):
    """Encodes one stream as server-sent events."""

    def feed(self, event: events.Event) -> bytes:
        """Take one event and return the bytes for it."""

    def fail(self, error: ir.Error, *, behind: int = 0) -> bytes:
        """Write an error, after which nothing follows. ``behind``: how many events precede it, where others wrote them."""

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of texts and reasoning that arrived after the stream had sent these without them."""


class Format(Protocol):
    """One wire format: its spelling and rules, and both verbs for each kind of document.

    Decoders take bodies that the format's own wire model has accepted, with keys in the vendor's spelling. Encoders return a body and
    write what it cannot hold into the ledger.
    """

    NAME: ir.Format
    SPELLING: Spelling
    """Where the report finds canonical fields in a body."""
    TOOL_RULES: ToolRules
    SETTINGS: FieldTable
    """The flat settings of its requests, by their canonical names and its own."""
    FINISH: Mapping[str, ir.FinishReason]
    """What its words for the end of an answer mean."""
    ID_FIELD: str
    """The field of an answer that has its id."""
    IN_URL: frozenset[str]
    """Fields of requests that the URL has in the place of the body."""
    HOLDS_FAILURES: bool
    """An answer that failed is an answer, with what came before; elsewhere it is an error."""
    STREAMED: tuple[type[ir.Part], ...]
    """The parts whose text, written as a stream, leaves as it comes."""
    CITES_LAST: bool
    """The citations of a stream stand at the end of their choice; elsewhere with their text, before it ends."""
    END_OF_STREAM: bytes
    """What stands behind the last event of a stream."""
    NAMES_EVENTS: bool
    """The events of a stream have names, which say what their ``type`` says."""
    StreamDecoder: Callable[[], StreamDecoder]
    StreamEncoder: Callable[[Options, Context | None], StreamEncoder]

    def decode_request(self, body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
        """Read a request; ``model`` and ``stream`` stand in for what the URL says."""

    def encode_request(self, request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
        """Write a request."""

    def settle_history(self, body: JsonObject, losses: Ledger) -> JsonObject:
        """Return a request of this format, whose history has lost thoughts, as its server still takes it."""

    def decode_response(self, body: JsonObject) -> ir.Response:
        """Read a whole answer."""

    def failure_of(self, body: JsonObject) -> ir.Error | None:
        """Return what went wrong on the way, where a whole answer says that it failed."""

    def encode_response(self, response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
        """Write a whole answer; ``context`` is the request that it answers, in the caller's own words."""

    def frame_event(self, data: bytes, name: str | None) -> bytes:
        """Write the data of one event as a server-sent event, with its name where the format names events."""

    def is_own_event(self, event: JsonObject) -> bool:
        """Say whether an event of a stream has what those of no other format have."""

    def is_own_error(self, event: JsonObject, name: str) -> bool:
        """Say whether an event that tells an error does so as the format does, so that its official client sees one."""

    def fold_stream(self, told: Iterable[JsonObject]) -> JsonObject | None:
        """Fold the events of a complete stream to the body of the whole answer; None where they bend the format's rules."""

    def unfinished(self, body: JsonObject) -> JsonObject:
        """Return an answer as one that has not ended: it may still, or it was cut."""

    def place_of(self, event: JsonObject, path: Path, lengths: Mapping[Path, int]) -> Path:
        """Return where the whole answer has what stands at a path in an event.

        ``lengths``: of lists in the answer, as far as earlier events are known; an event that only continues a list does not say where.
        """

    def unfold_stream(self, body: JsonObject) -> list[JsonObject]:
        """Return the events that fold to a body, each part of it in one piece."""

    def decode_error(self, body: JsonObject, *, status: int | None) -> ir.Error:
        """Read an error body."""

    def encode_error(self, error: ir.Error, losses: Ledger) -> tuple[int, JsonObject]:
        """Write an error: the HTTP status and the body."""

    def decode_models(self, body: JsonObject) -> ir.ModelList:
        """Read a list of models."""

    def encode_models(self, models: ir.ModelList, losses: Ledger) -> JsonObject:
        """Write a list of models."""
