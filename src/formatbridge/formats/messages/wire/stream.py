"""The events of a stream.

``message_start``, then each block as start, deltas and stop, then ``message_delta``, then ``message_stop``; ``ping``
and ``error`` anywhere. Relays leave out some events, even ``message_delta`` (fixture stop_without_end).
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.messages.wire.content import Citation
from formatbridge.formats.messages.wire.context_management import ContextManagement
from formatbridge.formats.messages.wire.error import ErrorObject
from formatbridge.formats.messages.wire.messages import Block
from formatbridge.formats.messages.wire.response import Container, InputTransformation, Response, StopDetails, Usage
from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class TextDelta(Wire):
    """A piece of text.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    text: str
    type: Literal["text_delta"]


class InputJsonDelta(Wire):
    """A piece of the JSON text of a tool call's arguments, split at any character.

    Source: official SDK types, 2026-11. Seen: recorded traffic, also empty.
    """

    partial_json: str
    type: Literal["input_json_delta"]


class CitationsDelta(Wire):
    """A citation to add to the text.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    citation: Citation
    type: Literal["citations_delta"]


class ThinkingDelta(Wire):
    """A piece of reasoning text.

    Source: official SDK types, 2026-11. Seen: recorded traffic, also empty.
    """

    thinking: str
    type: Literal["thinking_delta"]
    estimated_tokens: Count | None = None
    """Estimated reasoning tokens so far; beta."""


class SignatureDelta(Wire):
    """The whole signature of a reasoning block.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    signature: str
    type: Literal["signature_delta"]


class CompactionDelta(Wire):
    """The whole text of a summary.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    content: str | None = None
    encrypted_content: str | None = None
    type: Literal["compaction_delta"]


BlockDelta = Annotated[
    TextDelta | InputJsonDelta | CitationsDelta | ThinkingDelta | SignatureDelta | CompactionDelta | Unknown, Open("type")
]
"""The delta of an open block."""


class StopDelta(Wire):
    """The stop reason of the response.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    container: Container | None = None
    stop_details: StopDetails | None = None
    stop_reason: str | None = None
    """The values of ``Response.stop_reason``."""
    stop_sequence: str | None = None


class MessageStart(Wire):
    """The start of a stream, with a response that is still empty.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    message: Response
    """``input_tokens`` may be an estimate, if the count of the server comes at the end."""
    type: Literal["message_start"]


class ContentBlockStart(Wire):
    """The start of a block; server tool results are complete, all other blocks empty.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content_block: Block
    index: Count
    """Index in ``Response.content``, from 0."""
    type: Literal["content_block_start"]


class ContentBlockDelta(Wire):
    """A delta of a block.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    delta: BlockDelta
    index: Count
    type: Literal["content_block_delta"]


class ContentBlockStop(Wire):
    """The end of a block.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    index: Count
    type: Literal["content_block_stop"]


class MessageDelta(Wire):
    """The stop reason and the usage of the response.

    Source: official SDK types, 2026-11; the last two fields are beta. Seen: recorded traffic.
    """

    delta: StopDelta
    type: Literal["message_delta"]
    usage: Usage | None = None
    """Totals, not increments; often without input tokens."""
    context_management: ContextManagement | None = None
    input_transformations: list[Annotated[InputTransformation | Unknown, Open("type")]] | None = None


class MessageStop(Wire):
    """The end of the stream.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["message_stop"]
    invocation_metrics: dict[str, Any] | None = Field(
        default=None, validation_alias="amazon-bedrock-invocationMetrics", serialization_alias="amazon-bedrock-invocationMetrics"
    )
    """Counts and milliseconds, from one cloud."""


class Ping(Wire):
    """An event that keeps the connection open.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["ping"]


class ErrorEvent(Wire):
    """An error after the start of the stream, with status 200; no event follows.

    Source: official SDK types, 2026-11.
    """

    error: ErrorObject | str | None = None
    type: Literal["error"]
    request_id: str | None = None


StreamEvent = Annotated[
    MessageStart
    | ContentBlockStart
    | ContentBlockDelta
    | ContentBlockStop
    | MessageDelta
    | MessageStop
    | Ping
    | ErrorEvent
    | Unknown,
    Open("type"),
]
"""One event of a stream; its ``event:`` line repeats the type."""
