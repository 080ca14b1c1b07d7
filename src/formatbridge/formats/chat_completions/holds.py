"""The HOLDS tables of Chat Completions: which canonical fields its requests and responses can express."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.shared.held_fields import NONE, Holds, unheld_fields

REQUEST_HOLDS: Holds = {
    ir.Request: frozenset({"model", "stream", "messages", "tools", "tool_choice", "reasoning", "output_format", "audio", "settings"}),
    ir.Message: frozenset({"role", "parts", "tools"}),
    ir.Text: frozenset({"text", "cache"}),
    ir.Media: frozenset({"kind", "mime", "data", "url", "file_id", "filename", "detail", "cache"}),
    ir.Reasoning: frozenset({"text", "signature", "id"}),
    ir.Refusal: frozenset({"text", "kind"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "signature"}),
    ir.ToolResult: frozenset({"call_id", "content"}),
    ir.Hosted: NONE,
    ir.Opaque: NONE,
    ir.CacheMark: frozenset({"ttl"}),
    ir.FunctionTool: frozenset({"name", "description", "parameters", "strict", "kind"}),
    ir.CustomTool: frozenset({"name", "description", "syntax", "definition"}),
    ir.Namespace: NONE,
    ir.HostedTool: frozenset({"family", "kind", "name", "user_location", "context_size"}),
    ir.McpServer: NONE,
    ir.ToolChoice: frozenset({"mode", "names", "namespaces", "hosted", "always_allowed", "allowed_mode"}),
    ir.ReasoningConfig: frozenset({"mode", "effort", "budget"}),
    ir.OutputFormat: frozenset({"type", "schema", "name", "description", "strict"}),
    ir.AudioOutput: frozenset({"voice", "format"}),
    ir.ImageOutput: NONE,
}  # fmt: skip

RESPONSE_HOLDS: Holds = {
    ir.Response: frozenset({"id", "model", "choices", "created", "usage", "error"}),
    ir.Choice: frozenset({"parts", "finish", "index", "logprobs", "refusal_logprobs"}),
    ir.Text: frozenset({"text", "citations", "signature"}),
    ir.Media: frozenset({"kind", "mime", "data", "url", "file_id", "detail", "transcript", "signature", "id"}),
    ir.Reasoning: frozenset({"text", "signature", "id"}),
    ir.Refusal: frozenset({"text", "kind"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "signature"}),
    ir.ToolResult: NONE,
    ir.Hosted: NONE,
    ir.Opaque: NONE,
    ir.Citation: frozenset({"kind", "url", "title", "start", "end"}),
    ir.TokenLogprob: frozenset({"token", "logprob", "bytes", "top_logprobs"}),
    ir.Finish: frozenset({"reason", "raw", "is_specific", "message"}),
    ir.TokenCount: NONE,
    ir.Usage: frozenset({
        "input", "output", "total", "cache_read", "cache_write", "reasoning",
        "input_modality", "output_modality", "accepted_prediction", "rejected_prediction",
    }),
    ir.Error: frozenset({"kind", "message", "family", "status", "code", "type", "param"}),
    ir.Model: frozenset({"id", "created", "owner", "retires_at"}),
    ir.ModelList: frozenset({"models"}),
}  # fmt: skip

drop_unheld = unheld_fields("chat_completions", REQUEST_HOLDS)
"""Reports the fields of a request's node that this format cannot express."""
drop_unheld_in_answer = unheld_fields("chat_completions", RESPONSE_HOLDS)
"""Reports the fields of a response's node that this format cannot express."""
