"""The events of a stream; they have no names, so their keys distinguish them."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from formatbridge.formats.chat_completions.wire.content import ExtraContent
from formatbridge.formats.chat_completions.wire.error import Error, ErrorDetail
from formatbridge.formats.chat_completions.wire.message import Utterance
from formatbridge.formats.chat_completions.wire.response import Envelope, Outcome
from formatbridge.validation.wire_base import Int, Unknown, Wire


class FunctionCallDelta(Wire):
    """A delta of a function call: the name is in the first delta, the arguments are concatenated.

    Source: official SDK types, 2026-11.
    """

    arguments: str | dict[str, Any] | None = None
    """A piece of JSON text; a whole object is accepted, too."""
    name: str | None = None


class CustomCallDelta(Wire):
    """A delta of a custom tool call.

    Source: the vendor's servers; not in the official SDK types, not in recorded traffic.
    """

    input: str | None = None
    name: str | None = None


class ToolCallDelta(Wire):
    """A delta of a tool call.

    Source: official SDK types, 2026-11; deltas without ``index``, id or type: recorded traffic.
    """

    index: Int | None = None
    """Index of the call in the choice, from 0."""
    id: str | None = None
    """Sent with the first delta; some servers repeat it or send it later (fixtures tools_id_repeated, tools_id_after_arguments)."""
    function: FunctionCallDelta | None = None
    type: str | None = None
    """Known: function, custom."""
    custom: CustomCallDelta | None = None
    extra_content: ExtraContent | None = None


class Delta(Utterance):
    """The delta of a choice; texts are concatenated.

    Source: official SDK types, 2026-11; annotations, reasoning and images: recorded traffic.
    """

    function_call: FunctionCallDelta | None = None
    """Deprecated in favour of ``tool_calls``."""
    role: str | None = None
    """Known: assistant. Sent with the first delta; some servers repeat it or never send it (recorded traffic)."""
    tool_calls: list[ToolCallDelta] | None = None


class ChunkChoice(Outcome):
    """The delta of one choice.

    Source: official SDK types, 2026-11; ``message`` in its place: a guess, for servers without streaming.
    """

    delta: Delta | None = None
    message: Delta | None = None
    """The whole answer in place of ``delta``; together with one it repeats the answer so far."""


class Chunk(Envelope):
    """One chunk of the answer.

    Source: official SDK types, 2026-11; ``error``: recorded traffic.
    """

    choices: list[ChunkChoice] | None = None
    """Empty in a chunk that has only usage, moderation results or content filter results of the prompt."""
    obfuscation: str | None = None
    """Random padding."""
    error: ErrorDetail | str | None = None
    """The error that ends the answer."""


def _kind(value: Any) -> Literal["chunk", "error", "?"]:
    if isinstance(value, Chunk | Error):
        return "chunk" if isinstance(value, Chunk) else "error"
    if not isinstance(value, dict):
        return "?"
    if "choices" in value or "usage" in value:
        return "chunk"
    return "error" if "error" in value else "?"


StreamEvent = Annotated[
    Annotated[Chunk, Tag("chunk")] | Annotated[Error, Tag("error")] | Annotated[Unknown, Tag("?")], Discriminator(_kind)
]
"""One event of a stream: a chunk, an error in its place, or an unknown object. ``[DONE]`` is not JSON."""
