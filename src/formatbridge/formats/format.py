"""What a format is: ``FormatSpec``, a frozen value with everything that the other layers use of a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from formatbridge import ir
from formatbridge.errors import ConfigurationError, LossyConversionError
from formatbridge.formats.shared.tables import FieldTable
from formatbridge.ir import events
from formatbridge.jsontext.pointers import Path
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import FieldPaths, Ledger
from formatbridge.streaming.sse import encode_event

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

    source: ir.FormatName
    body: JsonObject
    tools: Mapping[str, OwnTool] = field(default_factory=dict)


EndReason = Literal["done", "end_of_bytes", "truncated"]
"""Why a stream decoder is to emit what is pending: ``[DONE]`` came, no more bytes come, or the answer stops before its end."""


class StreamDecoder(Protocol):
    """Decodes the parsed events of one stream, which the wire model of the format has validated."""

    END: str
    """What ends a stream of the format, for error messages."""
    NEVER_REPEATED: frozenset[str]
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


@dataclass(frozen=True, slots=True)
class DetectionRule:
    """Evidence that a body is one kind of document of a format.

    ``weight``: how much the evidence counts, from 1 (weak) to 40. ``path``: keys joined by slashes, ``*`` for any member of an array, ``0``
    for the first. ``values``: those that count; empty: any value but null. ``prefixes``: the beginnings of texts that count.
    ``shape``: the type that a value must have, for keys that mean something else in other formats. ``without``: a field of the body that
    must be absent, for fields that another format requires.
    """

    kind: Kind
    weight: int
    path: str
    values: tuple[Any, ...] = ()
    shape: type = object
    prefixes: tuple[str, ...] = ()
    without: str = ""


def detection_rules(kind: Kind, weight: int, *paths: str, shape: type = object) -> tuple[DetectionRule, ...]:
    """Return one rule for each path, all of the same weight."""
    return tuple(DetectionRule(kind, weight, path, shape=shape) for path in paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListing:
    """How a format lists models.

    ``path``: URL path of the list. ``keys``: the keys of a page, that of the list first. ``label``: key and value by which each model of a
    page shows its format; None: models have no such label.
    """

    path: str = "/v1/models"
    keys: tuple[str, ...] = ("data",)
    label: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkFacts:
    """How the official SDK of a format calls its endpoint.

    ``path``: pattern of the URL path, with the groups ``model`` and ``stream`` where the path holds these. ``description``: the path for
    error messages. ``header``, ``path_part``: a header, or a part of other paths, by which the SDK is recognized.
    ``request_id_header``: the header in which the SDK looks for the id of a request. ``encode_error_event``: encodes an event on which the
    SDK raises; None: the SDK raises on the error events of the format.
    """

    path: re.Pattern[str]
    description: str
    header: str | None = None
    path_part: str | None = None
    request_id_header: str | None = None
    encode_error_event: Callable[[ir.Error], bytes] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The HTTP endpoint of a format.

    ``path``: URL path, in which ``{model}`` stands for the model. ``stream_path``: path and query for streams; None: the same path.
    ``base_url``: the vendor's server. ``key_header``: where that server expects the API key; ``authorization`` takes it as a bearer token.
    ``version_header``: the header that names the version of the format, if any. ``add_headers``: returns a request's headers with those
    that fields of its body need.
    """

    path: str
    stream_path: str | None = None
    base_url: str | None = None
    key_header: str = "authorization"
    version_header: str | None = None
    add_headers: Callable[[Mapping[str, str], JsonObject], dict[str, str]] | None = None
    models: ModelListing = ModelListing()
    sdk: SdkFacts | None = None


_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _unchanged(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return the body: the server accepts a history that lost reasoning."""
    del losses
    return body


def _no_failure(body: JsonObject) -> None:
    """Return None: a whole answer of the format never holds a failure."""
    del body


def _holds_error(event: JsonObject, name: str) -> bool:
    """Return whether an event has a field ``error``, whatever its name."""
    del name
    return bool(event.get("error"))


def _no_rejection(error: LossyConversionError, message: str) -> None:
    """Return None: no SDK of the format reads more than the message."""
    del error, message


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormatSpec:
    """One wire format: its facts, and a decoder and an encoder for each kind of document.

    Decoders take bodies that the wire model of the format has accepted, with the vendor's keys. Encoders return a body, and note
    in the ledger what the body cannot hold. Two specs are equal only if they are the same object.
    """

    name: str
    """The name of the format: lower-case letters, digits and underscores. It is part of the tags of carried reasoning tokens."""
    wire_module: str
    """The module with the wire models ``Request``, ``Response``, ``StreamEvent``, ``Error`` and ``ModelList``; imported at first use.

    A package has them in its modules ``request``, ``response``, ``error`` and ``models``, and ``StreamEvent`` in itself.
    """
    field_paths: FieldPaths
    """Where the report finds canonical fields in a body."""
    endpoint: Endpoint
    """The HTTP endpoint."""
    detection: tuple[DetectionRule, ...] = ()
    """The evidence by which ``detect_format`` recognizes bodies."""
    content_fields: Mapping[Kind, str] = field(default_factory=dict)
    """The field of each kind of document that holds its content; a body without it may be of another format."""

    decode_request: DecodeRequest
    """Decode a request."""
    encode_request: Callable[[ir.Request, Ledger, Options], JsonObject]
    """Encode a request."""
    settings: FieldTable
    """The flat settings of requests: canonical names and the format's names."""
    tool_rules: ToolRules
    """What the format demands of tools."""
    url_fields: frozenset[str] = frozenset()
    """Fields of requests that the URL holds instead of the body."""
    repair_history: Callable[[JsonObject, Ledger], JsonObject] = _unchanged
    """Return a request, whose history lost reasoning, as the server still accepts it."""
    billing_header: str | None = None
    """How a text begins that a client adds to the system prompt for billing; ``Options(strip_billing_header=True)`` removes it."""
    encode_rejection: Callable[[LossyConversionError, str], JsonObject | None] = _no_rejection
    """Encode the error, with its message, for a request that was refused for its losses; None: the message alone is enough."""

    decode_response: Callable[[JsonObject], ir.Response]
    """Decode a whole answer."""
    encode_response: Callable[[ir.Response, Ledger, Options, Context | None], JsonObject]
    """Encode a whole answer; the context is the request that it answers."""
    finish_reasons: Mapping[str, ir.FinishReason]
    """Finish reasons of the format, with their canonical names."""
    id_field: str = "id"
    """The field of an answer that holds its id."""
    choice_path: str = ""
    """JSON pointer of a choice in an answer, with ``{}`` for its index; empty: the answer itself is the only choice."""
    holds_failures: bool = False
    """Whether an answer that failed is an answer, with what came before the failure; otherwise it is an error."""
    failure_of: Callable[[JsonObject], ir.Error | None] = _no_failure
    """Return the failure that a whole answer holds."""
    mark_unfinished: Callable[[JsonObject], JsonObject]
    """Return an answer as one that has not ended."""

    stream_decoder: Callable[[], StreamDecoder]
    """Make a decoder for one stream."""
    stream_encoder: Callable[[Options, Context | None], StreamEncoder]
    """Make an encoder for one stream."""
    fold_stream: Callable[[Iterable[JsonObject]], JsonObject | None]
    """Fold the events of a complete stream to the body of the whole answer; None where they break the rules of the format."""
    unfold_stream: Callable[[JsonObject], list[JsonObject]]
    """Return the events that fold to a body, each part of it in one event."""
    response_path: Callable[[JsonObject, Path, Mapping[Path, int]], Path]
    """Return the path in the whole answer for a path in an event; the mapping holds the lengths of lists that earlier events gave."""
    recognizes_event: Callable[[JsonObject], bool]
    """Whether an event has a field or type that the events of no other format have."""
    recognizes_error: Callable[[JsonObject, str], bool] = _holds_error
    """Whether the official SDK recognizes an event, with its name, as an error."""
    frame_event: Callable[[bytes, str | None], bytes] = encode_event
    """Write the data of one event as a server-sent event, with its name where the format names events."""
    names_events: bool = False
    """Whether events have names, which repeat their ``type``."""
    end_of_stream: bytes = b""
    """What follows the last event of a stream."""
    streamed_parts: tuple[type[ir.Part], ...] = (ir.Text, ir.Reasoning, ir.Refusal, ir.ToolCall)
    """The parts whose text a stream emits in pieces, as it comes."""
    citations_at_end: bool = False
    """Whether the citations of a stream come at the end of their choice; otherwise they come with their text."""
    event_text: Callable[[Any], str]
    """Return the visible text that a typed event adds to the first choice, without reasoning."""

    decode_error: DecodeError
    """Decode an error body."""
    encode_error: Callable[[ir.Error, Ledger], tuple[int, JsonObject]]
    """Encode an error: the HTTP status and the body."""
    decode_models: Callable[[JsonObject], ir.ModelList]
    """Decode a list of models."""
    encode_models: Callable[[ir.ModelList, Ledger], JsonObject]
    """Encode a list of models."""

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise ConfigurationError(f"format name is {self.name!r}, expected lower-case letters, digits and underscores")

    def __repr__(self) -> str:
        return f"<FormatSpec {self.name}>"


class DecodeRequest(Protocol):
    """Decodes a request; ``model`` and ``stream`` replace what the URL holds."""

    def __call__(self, body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request: ...


class DecodeError(Protocol):
    """Decodes an error body; ``status``: its HTTP status, None where it came in a stream or as a success."""

    def __call__(self, body: JsonObject, *, status: int | None) -> ir.Error: ...


FormatOrName = ir.FormatName | FormatSpec
"""What ``source=``, ``target=`` and ``via=`` take."""
