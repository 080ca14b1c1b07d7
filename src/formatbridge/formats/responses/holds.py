"""The canonical fields that Responses can express."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.shared.held_fields import NONE, Holds, unheld_fields

REQUEST_HOLDS: Holds = {
    ir.Request: frozenset({"model", "stream", "messages", "tools", "tool_choice", "reasoning", "output_format", "settings"}),
    ir.Message: frozenset({"role", "parts", "effort", "tools"}),
    ir.Text: frozenset({"text", "cache", "id"}),
    ir.Media: frozenset({"kind", "mime", "data", "url", "file_id", "filename", "detail", "cache", "id"}),
    ir.Reasoning: frozenset({"text", "signature", "id"}),
    ir.Refusal: frozenset({"text", "kind", "id"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "namespace", "item_id"}),
    ir.ToolResult: frozenset({"call_id", "content"}),
    ir.Hosted: NONE,
    ir.Opaque: NONE,
    ir.CacheMark: frozenset({"ttl"}),
    ir.FunctionTool: frozenset({"name", "description", "parameters", "strict", "output_schema", "defer_loading", "callers", "kind"}),
    ir.CustomTool: frozenset({"name", "description", "syntax", "definition", "defer_loading", "callers"}),
    ir.Namespace: frozenset({"name", "tools", "description"}),
    ir.HostedTool: frozenset({"family", "kind", "name", "allowed_domains", "user_location", "context_size", "max_uses"}),
    ir.McpServer: frozenset({
        "label", "url", "authorization_token", "headers", "allowed_tools", "denied_tools", "approval", "description", "defer_loading",
    }),
    ir.ToolChoice: frozenset({"mode", "names", "namespaces", "hosted", "always_allowed", "allowed_mode"}),
    ir.ReasoningConfig: frozenset({"mode", "effort", "budget", "visibility"}),
    ir.OutputFormat: frozenset({"type", "schema", "name", "description", "strict"}),
    ir.AudioOutput: NONE,
    ir.ImageOutput: NONE,
}  # fmt: skip

RESPONSE_HOLDS: Holds = {
    ir.Response: frozenset({"id", "model", "choices", "created", "usage", "error"}),
    ir.Choice: frozenset({"parts", "finish", "index", "logprobs"}),
    ir.Text: frozenset({"text", "citations", "signature", "id"}),
    ir.Media: frozenset({"kind", "mime", "data", "url", "file_id", "detail", "signature", "id"}),
    ir.Reasoning: frozenset({"text", "signature", "id"}),
    ir.Refusal: frozenset({"text", "kind", "id"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "namespace", "item_id", "signature"}),
    ir.ToolResult: NONE,
    ir.Hosted: frozenset({"family", "role", "id", "name", "server", "arguments", "output", "error", "status", "signature"}),
    ir.Opaque: NONE,
    ir.Citation: frozenset({"kind", "url", "title", "file_id", "start", "end"}),
    ir.TokenLogprob: frozenset({"token", "logprob", "bytes", "top_logprobs"}),
    ir.Finish: frozenset({"reason", "raw", "is_specific", "message"}),
    ir.TokenCount: frozenset({"input"}),
    ir.Usage: frozenset({"input", "output", "total", "cache_read", "cache_write", "reasoning"}),
    ir.Error: frozenset({"kind", "message", "family", "status", "code", "type", "param"}),
    ir.Model: frozenset({"id", "created", "owner", "retires_at"}),
    ir.ModelList: frozenset({"models"}),
}  # fmt: skip

drop_unheld = unheld_fields("responses", REQUEST_HOLDS)
"""Drops the fields of a request node that this format cannot express, and notes the losses."""
drop_unheld_in_answer = unheld_fields("responses", RESPONSE_HOLDS)
"""Drops the fields of a response node that this format cannot express, and notes the losses."""
