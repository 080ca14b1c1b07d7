"""HOLDS tables of Anthropic Messages: the canonical fields that a request and a response can express."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.shared.held_fields import NONE, Holds, unheld_fields

REQUEST_HOLDS: Holds = {
    ir.Request: frozenset({
        "model", "stream", "messages", "tools", "tool_choice", "reasoning", "output_format", "settings",
    }),
    ir.Message: frozenset({"role", "parts", "effort", "tools"}),
    ir.Text: frozenset({"text", "cache"}),
    ir.Media: frozenset({"kind", "mime", "data", "url", "file_id", "filename", "cache"}),
    ir.Reasoning: frozenset({"text", "signature"}),
    ir.Refusal: frozenset({"text", "kind"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "namespace", "cache"}),
    ir.ToolResult: frozenset({"call_id", "content", "is_error", "cache"}),
    ir.Hosted: NONE,
    ir.Opaque: NONE,
    ir.CacheMark: frozenset({"ttl"}),
    ir.FunctionTool: frozenset({"name", "description", "parameters", "strict", "defer_loading", "callers", "cache", "kind"}),
    ir.CustomTool: NONE,
    ir.Namespace: NONE,
    ir.HostedTool: frozenset({
        "family", "kind", "name", "allowed_domains", "blocked_domains", "user_location", "max_uses", "cache",
    }),
    ir.McpServer: frozenset({"label", "url", "authorization_token", "headers", "allowed_tools", "denied_tools", "defer_loading", "cache"}),
    ir.ToolChoice: frozenset({"mode", "names", "namespaces", "hosted", "always_allowed", "allowed_mode"}),
    ir.ReasoningConfig: frozenset({"mode", "effort", "budget", "visibility"}),
    ir.OutputFormat: frozenset({"type", "schema", "strict"}),
    ir.AudioOutput: NONE,
    ir.ImageOutput: NONE,
}  # fmt: skip

RESPONSE_HOLDS: Holds = {
    ir.Response: frozenset({"id", "model", "choices", "usage", "error"}),
    ir.Choice: frozenset({"parts", "finish", "index", "logprobs"}),
    ir.Text: frozenset({"text", "citations", "signature"}),
    ir.Media: NONE,
    ir.Reasoning: frozenset({"text", "signature", "id"}),
    ir.Refusal: frozenset({"text", "kind"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "namespace", "signature"}),
    ir.ToolResult: NONE,
    ir.Hosted: frozenset({"family", "role", "id", "name", "server", "arguments", "output", "error", "status", "signature"}),
    ir.Opaque: NONE,
    ir.Citation: frozenset({"kind", "url", "title", "cited_text", "start", "end"}),
    ir.TokenLogprob: NONE,
    ir.Finish: frozenset({"reason", "raw", "is_specific", "message", "stop_sequence", "category"}),
    ir.TokenCount: frozenset({"input"}),
    ir.Usage: frozenset({
        "input", "output", "total", "cache_read", "cache_write", "reasoning", "cache_write_ttl", "server_tools",
    }),
    ir.Error: frozenset({"kind", "message", "family", "status", "code", "type", "request_id"}),
    ir.Model: frozenset({"id", "display_name", "created", "input_limit", "output_limit", "lifecycle", "retires_at"}),
    ir.ModelList: frozenset({"models", "has_more", "first_id", "last_id"}),
}  # fmt: skip

drop_unheld = unheld_fields("messages", REQUEST_HOLDS)
"""Reports the fields of a node of a request that this format cannot express."""
drop_unheld_in_answer = unheld_fields("messages", RESPONSE_HOLDS)
"""Reports the fields of a node of a response that this format cannot express."""
