"""Items, the entries of ``input`` and ``output``: those of every conversation, and the union of all.

Source, unless a model names another: official SDK types, 2026-11.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from formatbridge.formats.responses.wire.computer_items import ComputerCall, ComputerCallOutput
from formatbridge.formats.responses.wire.content import InputPart, Part, ReasoningPart, SummaryPart
from formatbridge.formats.responses.wire.hosted_items import (
    CodeInterpreterCall,
    FileSearchCall,
    ImageGenerationCall,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpListTools,
    WebSearchCall,
)
from formatbridge.formats.responses.wire.local_items import (
    ApplyPatchCall,
    ApplyPatchCallOutput,
    Caller,
    LocalShellCall,
    LocalShellCallOutput,
    ShellCall,
    ShellCallOutput,
)
from formatbridge.formats.responses.wire.settings import Reasoning, TextConfig
from formatbridge.formats.responses.wire.tools import Tool
from formatbridge.validation.wire_base import Open, Unknown, Wire


class Message(Wire):
    """A message; an item without ``type`` is a message, unless it is an item reference.

    One class models three classes of the vendor: easy input messages, input messages with a status, output messages with an id.
    Source: official SDK types, 2026-11; specification, "Responses-format response", has all fields except ``phase``.
    """

    id: str | None = None
    content: str | list[Part]
    role: Literal["user", "assistant", "system", "developer"]
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    type: Literal["message"] | None = None
    phase: str | None = None
    """``commentary`` or ``final_answer``; in assistant messages only."""


class ReasoningItem(Wire):
    """A reasoning item: a summary, the reasoning text, or encrypted reasoning.

    The vendor requires ``id`` and ``summary``; recorded requests leave the id out.
    """

    id: str | None = None
    summary: list[SummaryPart] | None = None
    type: Literal["reasoning"]
    content: list[ReasoningPart] | None = None
    encrypted_content: str | None = None
    """Opaque; only the server that created it can read it."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class FunctionCall(Wire):
    """A call of a function by the model."""

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """``async`` in JSON, which is a Python keyword."""
    arguments: str
    """JSON text; it may be invalid or empty."""
    call_id: str
    """The id that the output refers to; it is not the item's ``id``."""
    name: str
    type: Literal["function_call"]
    id: str | None = None
    caller: Caller | None = None
    namespace: str | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class FunctionCallOutput(Wire):
    """The output of a function call."""

    output: str | list[InputPart]
    type: Literal["function_call_output"]
    id: str | None = None
    call_id: str | None = None
    caller: Caller | None = None
    created_by: str | None = None
    """Responses only."""
    name: str | None = None
    namespace: str | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class CustomToolCall(Wire):
    """A call of a custom tool by the model.

    Source: official SDK types, 2026-11. Seen: ``status``, in recorded requests and answers.
    """

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """``async`` in JSON, which is a Python keyword."""
    call_id: str
    input: str
    """Free text, in the format that the tool defines."""
    name: str
    type: Literal["custom_tool_call"]
    id: str | None = None
    caller: Caller | None = None
    namespace: str | None = None
    status: str | None = None


class CustomToolCallOutput(Wire):
    """The output of a custom tool call."""

    call_id: str
    output: str | list[InputPart]
    type: Literal["custom_tool_call_output"]
    id: str | None = None
    caller: Caller | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``; responses only."""
    created_by: str | None = None
    """Responses only."""


class ToolSearchCall(Wire):
    """A call of the search for tools with deferred loading."""

    arguments: Any = None
    """JSON, not text; always an object in recorded traffic."""
    type: Literal["tool_search_call"]
    id: str | None = None
    call_id: str | None = None
    """None if the server ran the search."""
    execution: str | None = None
    """``server`` or ``client``."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class ToolSearchOutput(Wire):
    """The tools that a tool search returned."""

    tools: list[Tool]
    type: Literal["tool_search_output"]
    id: str | None = None
    call_id: str | None = None
    execution: str | None = None
    """``server`` or ``client``."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class AdditionalTools(Wire):
    """Tools that are added in the middle of a conversation."""

    role: str | None = None
    """``developer`` in a request; in a response also ``unknown``, ``user``, ``tool`` and others."""
    tools: list[Tool]
    type: Literal["additional_tools"]
    id: str | None = None


class ConfigurationUpdate(Wire):
    """Settings that change in the middle of a conversation."""

    type: Literal["configuration_update"]
    id: str | None = None
    reasoning: Reasoning | None = None
    """Currently only its ``effort``."""
    text: TextConfig | None = None
    """Currently only its ``format``, text or JSON schema."""


class Compaction(Wire):
    """An encrypted summary that replaces the conversation before it."""

    encrypted_content: str
    type: Literal["compaction"]
    id: str | None = None
    created_by: str | None = None
    """Responses only."""


class CompactionTrigger(Wire):
    """An item that triggers a compaction at its position."""

    type: Literal["compaction_trigger"]
    id: str | None = None


class ItemReference(Wire):
    """A reference to an item that the server stores.

    ``type`` may be absent: an object with an id and without role and content is a reference.
    """

    id: str
    type: Literal["item_reference"] | None = None


class Program(Wire):
    """A program of the model that calls tools."""

    id: str
    call_id: str
    code: str
    fingerprint: str
    """Opaque; to be sent back unchanged."""
    type: Literal["program"]


class ProgramOutput(Wire):
    """The output of a program of the model."""

    id: str
    call_id: str
    result: str
    status: str | None = None
    """``completed`` or ``incomplete``."""
    type: Literal["program_output"]


_Member = (
    Message
    | ReasoningItem
    | FunctionCall
    | FunctionCallOutput
    | CustomToolCall
    | CustomToolCallOutput
    | WebSearchCall
    | FileSearchCall
    | CodeInterpreterCall
    | ImageGenerationCall
    | McpListTools
    | McpApprovalRequest
    | McpApprovalResponse
    | McpCall
    | ComputerCall
    | ComputerCallOutput
    | LocalShellCall
    | LocalShellCallOutput
    | ShellCall
    | ShellCallOutput
    | ApplyPatchCall
    | ApplyPatchCallOutput
    | ToolSearchCall
    | ToolSearchOutput
    | AdditionalTools
    | ConfigurationUpdate
    | Compaction
    | CompactionTrigger
    | ItemReference
    | Program
    | ProgramOutput
    | Unknown
)
_TYPE_BY_KEY = {"role": "message", "content": "message", "id": "item_reference"}

Item = Annotated[_Member, Open("type", absent="message", having=_TYPE_BY_KEY)]
"""An entry of ``input``; ``output`` allows fewer types of items and has the same shapes."""

OutputItem = Annotated[_Member, Open("type", absent="message", having=_TYPE_BY_KEY)]
"""An entry of ``output``, where almost all items have a type."""
