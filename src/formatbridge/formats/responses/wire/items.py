"""Items: the entries of ``input`` and ``output``. Those that every conversation may hold, and the union of all."""

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
    """What one side said; an item without ``type`` is one, but for references.

    One class for the vendor's three messages: the easy one, the input one with a status, the output one with an id.
    Source: official SDK types, 2026-11; specification, "Responses-format response", names all but ``phase``.
    """

    id: str | None = None
    content: str | list[Part]
    role: Literal["user", "assistant", "system", "developer"]
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    type: Literal["message"] | None = None
    phase: str | None = None
    """``commentary`` or ``final_answer``; assistant alone."""


class ReasoningItem(Wire):
    """What the model thought: a summary, the text itself, or a sealed copy of it.

    The vendor requires ``id`` and ``summary``; recorded requests leave the id out.
    Source: official SDK types, 2026-11.
    """

    id: str | None = None
    summary: list[SummaryPart] | None = None
    type: Literal["reasoning"]
    content: list[ReasoningPart] | None = None
    encrypted_content: str | None = None
    """Opaque; only the server that wrote it reads it."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class FunctionCall(Wire):
    """The model's call of a function.

    Source: official SDK types, 2026-11.
    """

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """Spelled ``async`` on the wire, which is no Python name."""
    arguments: str
    """JSON as text; it may be broken or empty."""
    call_id: str
    """What the output refers to; not the item's ``id``."""
    name: str
    type: Literal["function_call"]
    id: str | None = None
    caller: Caller | None = None
    namespace: str | None = None
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""


class FunctionCallOutput(Wire):
    """What the caller's function gave back.

    Source: official SDK types, 2026-11.
    """

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
    """The model's call of a custom tool.

    Source: official SDK types, 2026-11. Seen: ``status``, in recorded requests and answers.
    """

    async_: bool | None = Field(default=None, validation_alias="async", serialization_alias="async")
    """Spelled ``async`` on the wire, which is no Python name."""
    call_id: str
    input: str
    """Free text, in the tool's own format."""
    name: str
    type: Literal["custom_tool_call"]
    id: str | None = None
    caller: Caller | None = None
    namespace: str | None = None
    status: str | None = None


class CustomToolCallOutput(Wire):
    """What the caller's custom tool gave back.

    Source: official SDK types, 2026-11.
    """

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
    """The model's search for deferred tools.

    Source: official SDK types, 2026-11.
    """

    arguments: Any = None
    """JSON, not text; an object in what was recorded."""
    type: Literal["tool_search_call"]
    id: str | None = None
    call_id: str | None = None
    """None when the server ran the search."""
    execution: str | None = None
    """``server`` or ``client``."""
    status: str | None = None
    """``in_progress``, ``completed`` or ``incomplete``."""
    created_by: str | None = None
    """Responses only."""


class ToolSearchOutput(Wire):
    """The tools that a search found.

    Source: official SDK types, 2026-11.
    """

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
    """Tools added in the middle of a conversation.

    Source: official SDK types, 2026-11.
    """

    role: str | None = None
    """``developer`` in a request; ``unknown``, ``user``, ``tool`` and others in a response."""
    tools: list[Tool]
    type: Literal["additional_tools"]
    id: str | None = None


class ConfigurationUpdate(Wire):
    """Settings changed in the middle of a conversation.

    Source: official SDK types, 2026-11.
    """

    type: Literal["configuration_update"]
    id: str | None = None
    reasoning: Reasoning | None = None
    """Today only its ``effort``."""
    text: TextConfig | None = None
    """Today only its ``format``, text or JSON schema."""


class Compaction(Wire):
    """A sealed summary that stands for the conversation before it.

    Source: official SDK types, 2026-11.
    """

    encrypted_content: str
    type: Literal["compaction"]
    id: str | None = None
    created_by: str | None = None
    """Responses only."""


class CompactionTrigger(Wire):
    """Asks for a compaction at this place.

    Source: official SDK types, 2026-11.
    """

    type: Literal["compaction_trigger"]
    id: str | None = None


class ItemReference(Wire):
    """Stands for an item that the server keeps.

    The vendor lets ``type`` be absent: an object with an id that has neither role nor content.
    Source: official SDK types, 2026-11.
    """

    id: str
    type: Literal["item_reference"] | None = None


class Program(Wire):
    """A program by which the model calls tools.

    Source: official SDK types, 2026-11.
    """

    id: str
    call_id: str
    code: str
    fingerprint: str
    """Opaque; to be sent back unchanged."""
    type: Literal["program"]


class ProgramOutput(Wire):
    """What such a program gave back.

    Source: official SDK types, 2026-11.
    """

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
_TOLD_BY = {"role": "message", "content": "message", "id": "item_reference"}

Item = Annotated[_Member, Open("type", absent="message", having=_TOLD_BY)]
"""An entry of ``input``; those of ``output`` differ in which members the vendor allows, not in their shape."""

OutputItem = Annotated[_Member, Open("type", absent="message", having=_TOLD_BY)]
"""An entry of ``output``, where nearly all have a type."""
