"""The canonical model: a small closed set of dataclasses that represents requests, responses and streams of all four formats.

It is always used through the namespace: ``ir.Text``, ``ir.Tool``. Parts are an ordered list; each has its signature. Tool arguments
keep the form of the source until a target needs another one. Token counts are inclusive. Decoders create nodes and encoders read them;
no code changes a node that other code may hold.
"""

from formatbridge.ir.parts import (
    CacheMark,
    Citation,
    Format,
    FormatName,
    Hosted,
    Media,
    MediaKind,
    Node,
    Opaque,
    Part,
    Reasoning,
    Refusal,
    RegisteredName,
    Signature,
    SignatureKind,
    Text,
    ToolCall,
    ToolResult,
)
from formatbridge.ir.request import (
    EFFORT_ORDER,
    AudioOutput,
    Effort,
    ImageOutput,
    Message,
    OutputFormat,
    ReasoningConfig,
    Request,
    Role,
    Settings,
    ToolChoice,
)
from formatbridge.ir.response import (
    Choice,
    Error,
    ErrorFamily,
    ErrorKind,
    Finish,
    FinishReason,
    Model,
    ModelList,
    Response,
    TokenCount,
    TokenLogprob,
    Usage,
)
from formatbridge.ir.tools import CustomTool, FunctionTool, HostedTool, McpServer, Namespace, Tool
from formatbridge.jsontext.types import JsonObject, JsonValue

__all__ = [
    "EFFORT_ORDER", "AudioOutput", "CacheMark", "Choice", "Citation", "CustomTool", "Effort", "Error", "ErrorFamily", "ErrorKind", "Finish",
    "FinishReason", "Format", "FormatName", "FunctionTool", "Hosted", "HostedTool", "ImageOutput", "JsonObject", "JsonValue",
    "McpServer", "Media", "MediaKind", "Message", "Model", "ModelList", "Namespace", "Node", "Opaque", "OutputFormat", "Part",
    "Reasoning", "ReasoningConfig", "Refusal", "RegisteredName", "Request", "Response", "Role", "Settings", "Signature",
    "SignatureKind", "Text", "TokenCount", "TokenLogprob", "Tool", "ToolCall", "ToolChoice", "ToolResult", "Usage",
]  # fmt: skip
