"""The events of a stream.

``message_start``, then each block as start, deltas and stop, then ``message_delta``, then ``message_stop``; ``ping``
and ``error`` anywhere. Relays leave out what they do not know, even ``message_delta``.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.messages.wire.citations import Citation
from formatbridge.formats.messages.wire.context_management import ContextManagement
from formatbridge.formats.messages.wire.error import ErrorObject
from formatbridge.formats.messages.wire.messages import Block
from formatbridge.formats.messages.wire.response import Container, InputTransformation, Response, StopDetails, Usage
from formatbridge.validation.wire_base import Count, Open, Unknown, Wire


class TextDelta(Wire):
    """More text.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    text: str
    type: Literal["text_delta"]


class InputJsonDelta(Wire):
    """More of a tool call's arguments, as JSON text that may be cut anywhere.

    Source: official SDK types, 2026-11. Seen: recorded traffic, also empty.
    """

    partial_json: str
    type: Literal["input_json_delta"]


class CitationsDelta(Wire):
    """One more citation of the text.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    citation: Citation
    type: Literal["citations_delta"]


class ThinkingDelta(Wire):
    """More reasoning text.

    Source: official SDK types, 2026-11. Seen: recorded traffic, also empty.
    """

    thinking: str
    type: Literal["thinking_delta"]
    estimated_tokens: Count | None = None
    """Tokens so far, estimated; beta."""


class SignatureDelta(Wire):
    """The signature of a reasoning block, whole.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    signature: str
    type: Literal["signature_delta"]


class CompactionDelta(Wire):
    """The text of a summary, whole.

    Source: official SDK types (beta), 2026-11. Seen: recorded traffic.
    """

    content: str | None = None
    encrypted_content: str | None = None
    type: Literal["compaction_delta"]


BlockDelta = Annotated[
    TextDelta | InputJsonDelta | CitationsDelta | ThinkingDelta | SignatureDelta | CompactionDelta | Unknown,
    Open("type"),
]
"""What is added to an open block."""


class StopDelta(Wire):
    """How the answer ended.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    container: Container | None = None
    stop_details: StopDetails | None = None
    stop_reason: str | None = None
    """The words of ``Response.stop_reason``."""
    stop_sequence: str | None = None


class MessageStart(Wire):
    """Opens a stream with an answer that is still empty.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    message: Response
    """Relays that convert from another format only estimate its ``input_tokens``."""
    type: Literal["message_start"]


class ContentBlockStart(Wire):
    """Opens a block; hosted results come whole, everything else empty.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    content_block: Block
    index: Count
    """The place in ``Response.content``, from 0."""
    type: Literal["content_block_start"]


class ContentBlockDelta(Wire):
    """Adds to a block.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    delta: BlockDelta
    index: Count
    type: Literal["content_block_delta"]


class ContentBlockStop(Wire):
    """Closes a block.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    index: Count
    type: Literal["content_block_stop"]


class MessageDelta(Wire):
    """Tells how the answer ended and what it cost.

    Source: official SDK types, 2026-11; the last two fields are beta. Seen: recorded traffic.
    """

    delta: StopDelta
    type: Literal["message_delta"]
    usage: Usage | None = None
    """Totals, not increments; often without the input tokens."""
    context_management: ContextManagement | None = None
    input_transformations: list[Annotated[InputTransformation | Unknown, Open("type")]] | None = None


class MessageStop(Wire):
    """Ends the stream.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["message_stop"]
    invocation_metrics: dict[str, Any] | None = Field(
        default=None, validation_alias="amazon-bedrock-invocationMetrics", serialization_alias="amazon-bedrock-invocationMetrics"
    )
    """Counts and milliseconds, added by one cloud."""


class Ping(Wire):
    """Keeps the connection open.

    Source: official SDK types, 2026-11. Seen: recorded traffic.
    """

    type: Literal["ping"]


class ErrorEvent(Wire):
    """An error after the stream began, with status 200; nothing follows it.

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
"""One event of a stream; the ``event:`` line repeats its type."""
