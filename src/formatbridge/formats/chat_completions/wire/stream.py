"""The events of a stream; none carries a name, so their keys tell them apart."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from formatbridge.formats.chat_completions.wire.error import Error, ErrorDetail
from formatbridge.formats.chat_completions.wire.message import Utterance
from formatbridge.formats.chat_completions.wire.reasoning import ExtraContent
from formatbridge.formats.chat_completions.wire.response import Envelope, Outcome
from formatbridge.validation.wire_base import Int, Unknown, Wire


class FunctionCallDelta(Wire):
    """A piece of a function call; the name comes with the first, the arguments are to be joined.

    Source: official SDK types, 2026-11.
    """

    arguments: str | dict[str, Any] | None = None
    """A piece of JSON text. Some servers send the whole object."""
    name: str | None = None


class CustomCallDelta(Wire):
    """A piece of a custom tool's call.

    Source: the vendor's servers; neither the official SDK types nor a recording here have it.
    """

    input: str | None = None
    name: str | None = None


class ToolCallDelta(Wire):
    """A piece of a tool call.

    Source: official SDK types, 2026-11; pieces without ``index``, id or type: recorded traffic.
    """

    index: Int | None = None
    """Which of the choice's calls this is a piece of, from 0."""
    id: str | None = None
    """With the first piece; some servers repeat it or send it late."""
    function: FunctionCallDelta | None = None
    type: str | None = None
    """Known: function, custom."""
    custom: CustomCallDelta | None = None
    extra_content: ExtraContent | None = None


class Delta(Utterance):
    """What is new in a choice; texts are to be joined.

    Source: official SDK types, 2026-11; an annotation's, reasoning's and image's way into a stream: recorded traffic.
    """

    function_call: FunctionCallDelta | None = None
    """Deprecated: ``tool_calls``."""
    role: str | None = None
    """Known: assistant. With the first delta; some servers repeat it or never send it."""
    tool_calls: list[ToolCallDelta] | None = None


class ChunkChoice(Outcome):
    """What is new in one of the answers.

    Source: official SDK types, 2026-11; ``message`` in its place: a guess, for servers that do not stream.
    """

    delta: Delta | None = None
    message: Delta | None = None
    """The whole answer, in place of ``delta``; beside one it only repeats what has come so far."""


class Chunk(Envelope):
    """One event of the answer.

    Source: official SDK types, 2026-11; ``error``: recorded traffic.
    """

    choices: list[ChunkChoice] | None = None
    """Empty where the chunk tells only usage, moderation or a filter's verdict on the prompt."""
    obfuscation: str | None = None
    """Padding, without meaning."""
    error: ErrorDetail | str | None = None
    """Why the answer ends here."""


def _kind(value: Any) -> Literal["chunk", "error", "?"]:
    if isinstance(value, Chunk | Error):
        return "chunk" if isinstance(value, Chunk) else "error"
    if not isinstance(value, dict):
        return "?"
    if "choices" in value or "usage" in value:
        return "chunk"
    return "error" if "error" in value else "?"


StreamEvent = Annotated[
    Annotated[Chunk, Tag("chunk")] | Annotated[Error, Tag("error")] | Annotated[Unknown, Tag("?")],
    Discriminator(_kind),
]
"""One event of a stream: a chunk, an error in its place, or what this version does not know. ``[DONE]`` is not JSON."""
