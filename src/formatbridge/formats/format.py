"""The definition of a wire format: ``FormatSpec`` has everything that the other layers use of a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.errors import ConfigurationError, LossyConversionError
from formatbridge.formats.shared.batch_lines import BatchLayout
from formatbridge.formats.shared.tables import FieldTable
from formatbridge.ir import events
from formatbridge.jsontext.pointers import Path, camel_and_snake
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import FieldPaths, Ledger
from formatbridge.streaming.sse import encode_event

if TYPE_CHECKING:
    from pydantic import BaseModel

Kind = Literal["request", "response", "error", "models", "count_request", "count_response"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """The requirements of a format for tools."""

    name: re.Pattern[str]
    """The pattern of tool names."""
    longest_name: int
    """The maximum length of tool names."""
    requires_letter_first: bool = False
    """Whether tool names must start with a letter."""
    call_id: re.Pattern[str] | None = None
    """The pattern of call ids; None: no restriction."""
    longest_call_id: int | None = None
    """The maximum length of call ids; None: no restriction."""
    has_custom_tools: bool = False
    """Whether the format has free-form tools."""
    has_namespaces: bool = False
    """Whether the format has namespaces of tools."""
    has_tool_search: bool = False
    """Whether the format has tool searches that the caller runs."""
    requires_unique_tool_names: bool = False
    """Whether no two tools may have the same name."""
    requires_unique_call_ids: bool = False
    """Whether no two calls may have the same id."""
    allowed_modes: frozenset[str] = frozenset()
    """The modes in which a tool choice may list allowed tools: ``auto``, ``required``; ``hosted`` if server tools may be listed."""
    has_validated_mode: bool = False
    """Whether a tool choice may require arguments that match their schemas."""
    server_families: frozenset[str] = frozenset()
    """The families of server tools that the format has, or the server of a dialect, with ``mcp`` for remote servers."""
    families_of_format: frozenset[str] | None = None
    """``server_families`` of the format, if the server of a dialect has others."""
    choice_covers_server_tools: bool = False
    """Whether a tool choice of none or any also applies to server tools, and not to functions only."""
    server_names: Mapping[str, str] = field(default_factory=dict)
    """The names of server tools, by family, if they have any."""
    property_name: re.Pattern[str] | None = None
    """The pattern of the names of a function's properties; None: no restriction."""
    longest_property_name: int = 64
    """The maximum length of such a name, if there is a pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallerTool:
    """The name, the namespace and the kind of a tool in the caller's request.

    ``properties``: the caller's names of its properties, by those of the target, if they differ.
    """

    name: str
    namespace: str | None = None
    kind: Literal["function", "custom", "tool_search"] = "function"
    properties: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemIdentity:
    """The fields by which items of lists are recognized when a request for one server stays in its format.

    The encoder writes such a request twice, for any server and for this one. Its items are aligned with those of the caller.
    """

    role: str = "role"
    """The field with the role of an item."""
    type: str = "type"
    """The field with the type of an item."""
    words: frozenset[str] = frozenset({"type", "role", "status", "detail"})
    """Fields whose texts are words of the format, which its encoder writes too."""
    call_ids: tuple[str, ...] = ()
    """The fields with the id of the call to which an item belongs."""
    same_roles: Mapping[str, str] = field(default_factory=dict)
    """Roles to another role that some servers have in place of them."""
    content: str = "content"
    """The field with the parts of a message."""
    default_role: str | None = None
    """The role of a message without one; None: every message has a role."""
    text_type: str | None = None
    """The type of a part with text; None: it depends on the message, or parts have no type."""
    default_types: frozenset[str] = frozenset()
    """Types that an item may leave out."""
    type_variant: re.Pattern[str] | None = None
    """The end of a type that an encoder may write in another variant, such as a date; None: types have no variants."""
    tools: str = "tools"
    """The field of a request with its tools, which the encoder writes."""
    tool_lists: frozenset[str] = frozenset({"tools"})
    """The fields of a request with a list of tools, with those that only callers write."""
    tool_choice: str = "tool_choice"
    """The field of a request with its tool choice."""
    tool_names: tuple[str, ...] = ("name",)
    """Where a tool has its name, as keys joined by slashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequests:
    """How a request of a format gets the fields that one server reads. A format overrides what differs between its servers.

    Each function returns a new request, or the same object if nothing changes. ``body``: a request of the format; ``encoded``: the request
    as it is encoded for the server; ``rules``: the rules of the server; ``request``: the canonical request, for the report.
    """

    reasoning_fields: frozenset[str] = frozenset()
    """The fields with settings of reasoning, of any server."""
    reasoning_may_exclude_functions: bool = False
    """Whether some models reject functions with reasoning in this format."""

    def adapt_encoded(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        """Return an encoded request with the fields of the server."""
        del request, rules, losses
        return body

    def with_reasoning_settings(
        self, body: JsonObject, encoded: JsonObject, rules: DialectRules | None, is_invalid: bool
    ) -> JsonObject:
        """Return the request with the settings of reasoning that the server reads. ``is_invalid``: those of the body are rejected."""
        del encoded, rules, is_invalid
        return body

    def reasoning_amounts(self, rules: DialectRules) -> frozenset[str]:
        """Return in which units a request sets the amount of reasoning, if the servers differ: ``effort``, ``budget`` or both."""
        del rules
        return frozenset()

    def with_server_fields(self, body: JsonObject, encoded: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        """Return the request with words, reasoning and documents where the server reads them."""
        del encoded, rules, losses
        return body

    def without_unread_values(self, body: JsonObject, request: ir.Request, rules: DialectRules, losses: Ledger) -> JsonObject:
        """Return the request without the values that the server does not read; note them.

        ``adapt_encoded`` concerns encoded requests only. The body of a caller of this format may have values that no encoder writes.
        """
        del request, rules, losses
        return body

    def without_legacy_functions(self, body: JsonObject, encoded: JsonObject) -> JsonObject:
        """Return the request with tools and tool results in place of functions."""
        del encoded
        return body

    def with_missing_messages(self, body: JsonObject, rules: DialectRules, losses: Ledger) -> JsonObject:
        """Return the request with the messages and texts that the server requires. It comes last, because it moves messages."""
        del rules, losses
        return body


@dataclass(slots=True)
class Context:
    """The facts about a request that are needed to convert its answer.

    ``source`` and ``body``: the caller's format and request. ``tools``: the tool name in the converted request to the caller's tool.
    ``is_same_format``: the answer is of the caller's format, too, so its id stays.
    """

    source: ir.FormatName
    body: JsonObject
    tools: Mapping[str, CallerTool] = field(default_factory=dict)
    is_same_format: bool = False


EndReason = Literal["done", "end_of_bytes", "truncated"]
"""Why a stream decoder emits its pending events: ``[DONE]`` was read, the bytes ended, or the answer is truncated."""


class StreamDecoder(Protocol):
    """Decodes the parsed events of one stream, which the wire model of the format has validated."""

    END: str
    """The end of a stream of the format, for error messages."""
    NEVER_REPEATED: frozenset[str]
    """Fields of events that must be fed one by one, because the meaning of such an event depends on those before it."""
    is_complete: bool
    """Whether the decoder has read the end of the stream, or an error."""
    has_unknown_fields: bool
    """Whether the last event had unknown fields that accumulate.

    Several such events are not equivalent to one event with their joined text. The event log needs this, and only the decoder knows which
    fields are unknown.
    """

    def feed(self, raw: JsonObject, count: int = 1) -> list[events.Event]:
        """Decode one event. ``count``: the number of consecutive events that it represents, with their texts joined."""

    def finish(self, reason: EndReason) -> list[events.Event]:
        """Return the events that are pending at the end of a stream.

        ``done`` and ``end_of_bytes`` return the end of a complete answer. The latter returns the start of any other answer, if it is
        pending. ``truncated`` returns the pending start, fields and usage of the answer, and the pending content of open parts, which stay
        open. It changes nothing in the decoder, so it may be called in the middle of a stream.
        """


class StreamEncoder(Protocol):
    """Encodes one stream as server-sent events."""

    def feed(self, event: events.Event) -> bytes:
        """Encode one event and return its bytes, which may be empty."""

    def fail(self, error: ir.Error, *, events_before: int = 0) -> bytes:
        """Encode an error, which ends the stream. ``events_before``: the number of events before it, if another object wrote them."""

    def undelivered_tokens(self) -> list[ir.TokenLogprob | ir.Signature]:
        """Return the tokens that arrived after their texts and reasoning had been sent without them."""


@dataclass(frozen=True, slots=True)
class DetectionRule:
    """Evidence that a body is one kind of document of a format."""

    kind: Kind
    """The kind of document."""
    score: int
    """The strength of the evidence, from 1 (weak) to 40. The scores of all rules that a body matches are added for each format."""
    path: str
    """Keys joined by slashes, ``*`` for any member of an array, ``0`` for the first."""
    values: tuple[str | int, ...] = ()
    """The values that match; empty: any value but null."""
    shape: type = object
    """The type that a value must have, for keys with another meaning in other formats."""
    prefixes: tuple[str, ...] = ()
    """The beginnings of texts that match."""
    without: str = ""
    """A field of the body that must be absent, because another format requires it; empty: no such field."""


def detection_rules(kind: Kind, score: int, *paths: str, shape: type = object) -> tuple[DetectionRule, ...]:
    """Return one rule for each path, all with the same score."""
    return tuple(DetectionRule(kind, score, path, shape=shape) for path in paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListing:
    """The endpoint that lists models, and the form of a list."""

    path: str = "/v1/models"
    """The URL path."""
    keys: tuple[str, ...] = ("data",)
    """The keys of a page. The key of the list is the first."""
    label: tuple[str, str] | None = None
    """A key and its value in each model of a page, which identify the format; None: there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkFacts:
    """The HTTP requests of the official SDK of a format."""

    path: re.Pattern[str]
    """The pattern of the URL path, with the groups ``model`` and ``stream`` if the path contains these."""
    description: str
    """The URL path for error messages."""
    header: str | None = None
    """A header by which the SDK is recognized; None: there is none."""
    path_part: str | None = None
    """A part of other paths by which the SDK is recognized; None: there is none."""
    request_id_header: str | None = None
    """The header in which the SDK looks for the id of a request; None: there is none."""
    encode_error_event: Callable[[ir.Error], bytes] | None = None
    """Encode an event for which the SDK raises an exception; None: the SDK does so for the error events of the format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The HTTP endpoint of a format."""

    path: str
    """The URL path; ``{model}`` is replaced by the model."""
    stream_path: str | None = None
    """The path and the query for streams; None: the same path."""
    base_url: str | None = None
    """The vendor's server."""
    key_header: str = "authorization"
    """The header with the API key; in ``authorization`` it is a bearer token."""
    version_header: str | None = None
    """The header with the version of the format; None: there is none."""
    add_headers: Callable[[Mapping[str, str], JsonObject], dict[str, str]] | None = None
    """Return the headers of a request, with the headers that fields of its body require; None: the headers stay unchanged."""
    models: ModelListing = ModelListing()
    """The endpoint that lists models."""
    sdk: SdkFacts | None = None
    """The HTTP requests of the official SDK; None: there is no official SDK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswers:
    """How requests of a format refer to answers that its server stores, and which answers it stores."""

    previous_field: str
    """The field of a request with the id of the answer that it continues."""
    reference_type: str
    """The type of an item that stands for the stored item with its id."""
    flag: str
    """The field of a request that is false if its answer is not to be stored."""
    statuses: tuple[str, frozenset[str]]
    """The field of an answer with its status, and the values of those that are stored."""
    item_of_text: Callable[[str], JsonObject]
    """Return the item for a conversation that is one text."""
    codes: tuple[str, str]
    """The codes of the errors for an unknown answer and for an unknown item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountSpec:
    """The endpoint of a format that counts the input tokens of a request.

    The package has the wire models ``CountRequest`` and ``CountResponse`` in its module ``counts``.
    """

    path: str
    """The URL path; ``{model}`` is replaced by the model."""
    sdk_path: re.Pattern[str]
    """The pattern of the URL path of the official SDK, with the group ``model`` if the path contains it."""
    description: str
    """The URL path of the SDK for error messages."""
    uncounted: frozenset[str]
    """The fields of a request that do not change the count."""
    settings: frozenset[str] = frozenset()
    """The canonical settings that change the count; the others are dropped."""
    request_field: str | None = None
    """The field of a count request that contains a whole request, with its uncounted fields.

    None: the endpoint reads the fields of a request, and rejects the uncounted ones.
    """
    top_fields: frozenset[str] = frozenset()
    """The fields of a request that a server without ``request_field`` reads."""
    needless_additions: frozenset[str] = frozenset()
    """The pointers of values that encoders of requests add for the answer only."""
    encode_request: Callable[[JsonObject, str], JsonObject] | None = None
    """Return the count request for a request of the format and its model; None: it has the counted fields of the request."""
    decode_response: Callable[[JsonObject], ir.TokenCount]
    """Decode the answer."""
    encode_response: Callable[[ir.TokenCount, Ledger], JsonObject]
    """Encode the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryFacts:
    """How OpenTelemetry's GenAI semantic conventions name a format."""

    provider: str | None = None
    """The vendor, a value of ``gen_ai.provider.name``; None: the name of the format."""
    operation: str = "chat"
    """The value of ``gen_ai.operation.name``."""
    api_type: str | None = None
    """The value of ``openai.api.type``; None: the attribute is not set."""
    request_fields: Mapping[str, str] = field(default_factory=dict)
    """Fields of requests that no other format has, as keys joined by slashes, to their attributes."""
    response_fields: Mapping[str, str] = field(default_factory=dict)
    """Fields of responses that no other format has, as keys joined by slashes, to their attributes."""


_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _never(request: ir.Request) -> bool:
    del request
    return False


def _unchanged(body: JsonObject, losses: Ledger) -> JsonObject:
    """Return the body: the server accepts a history that lost reasoning."""
    del losses
    return body


def _no_failure(body: JsonObject) -> None:
    """Return None: a whole answer of the format never contains a failure."""
    del body


def _holds_error(event: JsonObject, name: str) -> bool:
    """Return whether an event has a field ``error``, whatever its name."""
    del name
    return bool(event.get("error"))


def _no_rejection(error: LossyConversionError, message: str) -> None:
    """Return None: the SDK of the format reads only the message."""
    del error, message


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FormatSpec:
    """One wire format: its properties, and a decoder and an encoder for each kind of document.

    Decoders read bodies that the wire model of the format has validated, with the documented keys. Encoders return a body, and note in the
    ledger what the format cannot express. Two specs are equal only if they are the same object.
    """

    name: ir.FormatName
    """The name of the format: lower-case letters, digits and underscores. It is part of the tags of carried reasoning tokens."""
    title: str = ""
    """The name in the vendor's documentation, such as ``OpenAI Chat Completions``; empty: the name of the format."""
    wire_module: str
    """The module with the wire models ``Request``, ``Response``, ``StreamEvent``, ``Error`` and ``ModelList``; imported at first use.

    A package has them in its modules ``request``, ``response``, ``error`` and ``models``, and ``StreamEvent`` in itself.
    """
    field_paths: FieldPaths
    """The field paths and loss rules, with which the report finds canonical fields in a body."""
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
    """The requirements of the format for tools."""
    dialect: DialectRules | None = None
    """The rules of the server for which requests are written; None: any server of the format."""
    equivalent_fields: tuple[frozenset[str], ...] = ()
    """Groups of request fields that set the same on different servers."""
    item_identity: ItemIdentity = ItemIdentity()
    """The fields by which the items of lists are recognized."""
    only_with_tools: Mapping[str, str] = field(default_factory=dict)
    """Fields of a request to the list of tools without which servers reject them."""
    setting_objects: frozenset[str] = frozenset()
    """Fields of a request that are objects whose members are independent settings."""
    server_requests: ServerRequests = ServerRequests()
    """How a request gets the fields that one server reads; by default every server of the format reads the same ones."""
    stored_answers: StoredAnswers | None = None
    """How requests refer to stored answers; None: each request has the whole conversation."""
    reasoning_items: Mapping[str, str] = field(default_factory=dict)
    """Fields of a request with a list to the item that only a model that reasons accepts."""
    required_settings: frozenset[str] = frozenset()
    """The canonical settings that every request has, so that no model refuses them."""
    smallest_budget: int | None = None
    """The smallest budget for reasoning in tokens; None: the amount of reasoning is an effort."""
    has_automatic_budget: bool = False
    """Whether a budget may leave the amount of reasoning to the model."""
    excludes_reasoning: Callable[[ir.Request], bool] = _never
    """Whether the server rejects reasoning together with the rest of a request. Its encoder drops the settings then."""
    url_fields: frozenset[str] = frozenset()
    """Fields of requests that are in the URL instead of the body."""
    repair_history: Callable[[JsonObject, Ledger], JsonObject] = _unchanged
    """Change a request whose history lost reasoning so that the server accepts it."""
    billing_header: str | None = None
    """The beginning of a text that a client adds to the system prompt for billing; ``Options(strip_billing_header=True)`` removes it."""
    encode_rejection: Callable[[LossyConversionError, str], JsonObject | None] = _no_rejection
    """Encode an error body, with a message, for a request that was rejected because of its losses; None: the message is enough."""

    decode_response: Callable[[JsonObject], ir.Response]
    """Decode a whole answer."""
    encode_response: Callable[[ir.Response, Ledger, Options, Context | None], JsonObject]
    """Encode a whole answer; the context is the request that it answers."""
    finish_reasons: Mapping[str, ir.FinishReason]
    """Finish reasons of the format, with their canonical names."""
    id_field: str = "id"
    """The field of an answer with its id."""
    choice_pointer: str = ""
    """JSON pointer of a choice in an answer, with ``{}`` for its index; empty: the answer itself is the only choice."""
    holds_failures: bool = False
    """Whether a failed answer is an answer, with the content before the failure; otherwise it is an error body."""
    failure_of: Callable[[JsonObject], ir.Error | None] = _no_failure
    """Return the failure in a whole answer; None if it did not fail."""
    mark_unfinished: Callable[[JsonObject], JsonObject]
    """Mark an answer as unfinished."""

    stream_decoder: Callable[[], StreamDecoder]
    """Create a decoder for one stream."""
    stream_encoder: Callable[[Options, Context | None], StreamEncoder]
    """Create an encoder for one stream."""
    fold_stream: Callable[[Iterable[JsonObject]], JsonObject | None]
    """Fold the events of a complete stream to the body of the whole answer; None if they break the rules of the format."""
    unfold_stream: Callable[[JsonObject], list[JsonObject]]
    """Return events that fold to a body, with one event for each part."""
    response_path: Callable[[JsonObject, Path, Mapping[Path, int]], Path]
    """Return the path in the whole answer for a path in an event; the mapping has the lengths of lists after earlier events."""
    recognizes_event: Callable[[JsonObject], bool]
    """Return whether an event has a field or type that the events of no other format have."""
    recognizes_error: Callable[[JsonObject, str], bool] = _holds_error
    """Return whether the official SDK recognizes an event, with its name, as an error."""
    frame_event: Callable[[bytes, str | None], bytes] = encode_event
    """Write the data of one event as a server-sent event, with its name if the format names events."""
    names_events: bool = False
    """Whether events have names, which repeat their ``type``."""
    end_of_stream: bytes = b""
    """The bytes after the last event of a stream."""
    streamed_parts: tuple[type[ir.Part], ...] = (ir.Text, ir.Reasoning, ir.Refusal, ir.ToolCall)
    """The types of parts whose text a stream sends in deltas."""
    citations_at_end: bool = False
    """Whether a stream sends citations at the end of their choice; otherwise it sends them with their text."""
    event_text: Callable[[BaseModel], str]
    """Return the visible text of the first choice in a typed event, without reasoning."""

    decode_error: DecodeError
    """Decode an error body."""
    error_family: ir.ErrorFamily = "detail"
    """The vocabulary of the error bodies of the format."""
    encode_error: Callable[[ir.Error, Ledger], tuple[int, JsonObject]]
    """Encode an error: the HTTP status and the body."""
    decode_models: Callable[[JsonObject], ir.ModelList]
    """Decode a list of models."""
    encode_models: Callable[[ir.ModelList, Ledger], JsonObject]
    """Encode a list of models."""
    batch: BatchLayout | None = None
    """The lines of the vendor's batch files; None: there are none."""
    count: CountSpec | None = None
    """The endpoint that counts the input tokens of a request; None: the format has none."""
    telemetry: TelemetryFacts = TelemetryFacts()
    """The names of the format in OpenTelemetry's conventions."""

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise ConfigurationError(f"format name is {self.name!r}, expected lower-case letters, digits and underscores")

    def __repr__(self) -> str:
        return f"<FormatSpec {self.name}>"

    def keys_of(self, field: str) -> tuple[str, ...]:
        """Return the keys under which a body may have a field, the documented one first."""
        return camel_and_snake(field) if self.field_paths.snake_case else (field,)

    def key_in(self, body: JsonObject, field: str) -> str:
        """Return the key under which an object of a body has a field; the documented one if it does not have it."""
        return next((key for key in self.keys_of(field) if key in body), field)


class DecodeRequest(Protocol):
    """Decodes a request; ``model`` and ``stream``: the values from the URL."""

    def __call__(self, body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request: ...


class DecodeError(Protocol):
    """Decodes an error body; ``status``: its HTTP status, None in a stream or for a success."""

    def __call__(self, body: JsonObject, *, status: int | None) -> ir.Error: ...
