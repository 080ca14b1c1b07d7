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
from formatbridge.report.ledger import FieldPaths, Ledger

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


class StreamDecoder(Protocol):
    """Reads the parsed events of one stream, which the format's own wire model has accepted.

    ``END``: what ends a stream of the format, in its own words. ``is_complete``: the stream said that it is over. ``start``: how the
    answer begins, as far as it is known; None once that has been told.
    """

    END: ClassVar[str]
    is_complete: bool
    start: events.Start | None

    @property
    def tells_more(self) -> bool:
        """Whether the last event had fields that nobody knows and that go on, so that each event with them counts."""

    def feed(self, raw: JsonObject) -> list[events.Event]:
        """Take one event and return what happened."""

    def grow(self, text: str) -> None:
        """Take the last event once more, with another piece of the text that it brought; what happened is known."""

    def recount(self, raw: JsonObject) -> None:
        """Take nothing but the counts of an event whose text has been taken."""

    def beside(self) -> list[events.Event]:
        """Return what is known of the answer beside its parts: the fields that only its format has, and what it costs.

        This is what will not change, so a reader may have it. An end or an error tells it by itself; it may be told again, with what has
        come since.
        """

    def untold(self) -> list[events.Event]:
        """Return what the end would tell, or would tell otherwise: of open parts, and of fields of the answer that its last event replaces.

        For an answer that has broken off; no reader of a running stream gets it. May be asked again: the decoder goes on as if nobody had
        asked. Of an answer that is complete nothing is untold.
        """

    def done(self) -> list[events.Event]:
        """Take ``[DONE]``."""

    def finish(self) -> list[events.Event]:
        """Take the end of the bytes; nothing happens where the stream was cut."""


class StreamEncoder(Protocol):
    """Writes one stream as server-sent events."""

    def feed(self, event: events.Event) -> bytes:
        """Take what happened and return the bytes that it becomes."""

    def fail(self, error: ir.Error, *, behind: int = 0) -> bytes:
        """Write an error in the stream; nothing follows. ``behind``: how many events have left, where others wrote them."""

    def late(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens of texts and thoughts that came when these had left without them, and that no other place holds."""


class Format(Protocol):
    """One wire format: its spelling and rules, and both verbs for each kind of document.

    Decoders take bodies that the format's own wire model has accepted, with keys in the vendor's spelling. Encoders return a body and
    write what it cannot hold into the ledger.
    """

    NAME: ir.Format
    SPELLING: FieldPaths
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
