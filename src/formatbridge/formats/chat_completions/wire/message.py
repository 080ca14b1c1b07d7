"""Messages: one class per role, and the fields of assistant messages."""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.chat_completions.wire.content import (
    Annotation,
    Audio,
    CacheControl,
    Content,
    ExtraContent,
    ImagePart,
    ReasoningDetail,
    ThinkingBlock,
)
from formatbridge.formats.chat_completions.wire.tools import FunctionCall, ToolCall
from formatbridge.validation.wire_base import Open, Unknown, Wire


class SystemMessage(Wire):
    """Instructions of the application.

    Source: specification, Chat message.
    """

    content: Content
    role: Literal["system"]
    name: str | None = None


class DeveloperMessage(Wire):
    """Instructions of the application; the newer name of the system role.

    Source: specification, Chat message.
    """

    content: Content
    role: Literal["developer"]
    name: str | None = None


class UserMessage(Wire):
    """A message of the end user.

    Source: specification, Chat message.
    """

    content: Content
    role: Literal["user"]
    name: str | None = None


class Utterance(Wire):
    """The fields that assistant messages and stream deltas have in common.

    ``reasoning_details``, ``reasoning_content``, ``reasoning``, ``thinking_blocks`` and thinking parts in ``content``
    are aliases: a server that sends two of them repeats the same reasoning.
    Source: specification, Chat message; official SDK types, 2026-11; other fields: recorded traffic.
    """

    content: Content | dict[str, Any] | None = None
    """Null together with tool calls; some servers send "" or leave it out (recorded traffic). An object is JSON output."""
    refusal: str | None = None
    annotations: list[Annotation] | None = None
    audio: Audio | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[ReasoningDetail] | None = None
    thinking_blocks: list[ThinkingBlock] | None = None
    images: list[Annotated[ImagePart | Unknown, Open("type")]] | None = None
    """Images that the model generated, as data URLs."""
    extra_content: ExtraContent | None = None


class AssistantMessage(Utterance):
    """An assistant message of the conversation: an earlier answer, or one that the caller wrote.

    Source: specification, Chat message.
    """

    role: Literal["assistant"]
    function_call: FunctionCall | None = None
    """Deprecated in favour of ``tool_calls``. Some servers send an object with an empty name for none (fixture members_unset)."""
    tool_calls: list[ToolCall] | None = None
    name: str | None = None


class Answer(AssistantMessage):
    """The message of a choice; it can be sent back unchanged in the next request.

    ``name`` occurs in requests only.
    Source: specification, Chat completion response.
    """

    role: str | None = None  # type: ignore[assignment]  # servers leave it out; sent back, such a message is refused like any without one
    """Known: assistant."""


class ToolMessage(Wire):
    """The result of a tool call.

    Source: specification, Chat message.
    """

    content: Content
    role: Literal["tool"]
    tool_call_id: str | None = None
    """Optional in the specification; a result without it belongs to no call."""
    name: str | None = None
    cache_control: CacheControl | None = None


class FunctionMessage(Wire):
    """The result of a ``function_call``, which is deprecated.

    Source: official SDK types, 2026-11.
    """

    content: str | None = None
    name: str
    role: Literal["function"]


Message = Annotated[
    DeveloperMessage | SystemMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage, Field(discriminator="role")
]
"""A message of a request. The set of roles is closed: an unknown role is an error."""
