"""The events of a stream. The module is separate, because its model is built when it is imported, which only streams need."""

from formatbridge.formats.generate_content.wire.error import Status
from formatbridge.formats.generate_content.wire.response import Piece
from formatbridge.validation.wire_base import AT_ONCE


class StreamEvent(Piece):
    """One event: a chunk of a response, or an error in its place.

    Every event has the shape of a whole response, in SSE and in the JSON array of streams without ``alt=sse``. No event
    marks the end. Other objects keep their fields as unknown ones.
    Source: official SDK types, 2026-11. Seen: recorded traffic; errors within a stream are not in it.
    """

    model_config = AT_ONCE

    error: Status | str | None = None
