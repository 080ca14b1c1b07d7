"""HOLDS tables of Gemini: the canonical fields that the format can express."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.shared.held_fields import NONE, Holds, unheld_fields

REQUEST_HOLDS: Holds = {
    ir.Request: frozenset({
        "model", "stream", "messages", "tools", "tool_choice", "reasoning", "output_format", "audio", "image", "settings",
    }),
    ir.Message: frozenset({"role", "parts", "tools"}),
    ir.Text: frozenset({"text", "signature"}),
    ir.Media: frozenset({"kind", "mime", "data", "url", "file_id", "filename", "detail", "transcript", "signature"}),
    ir.Reasoning: frozenset({"text", "signature", "id"}),
    ir.Refusal: frozenset({"text", "kind"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "signature"}),
    ir.ToolResult: frozenset({"call_id", "content", "is_error", "signature"}),
    ir.Hosted: NONE,
    ir.Opaque: NONE,
    ir.CacheMark: NONE,
    ir.FunctionTool: frozenset({"name", "description", "parameters", "output_schema", "kind"}),
    ir.CustomTool: NONE,
    ir.Namespace: NONE,
    ir.HostedTool: frozenset({"family", "kind", "name", "blocked_domains"}),
    ir.McpServer: frozenset({"label", "url", "authorization_token", "headers", "allowed_tools", "denied_tools"}),
    ir.ToolChoice: frozenset({"mode", "names", "namespaces", "hosted", "always_allowed", "allowed_mode"}),
    ir.ReasoningConfig: frozenset({"mode", "effort", "budget", "visibility"}),
    ir.OutputFormat: frozenset({"type", "schema", "strict"}),
    ir.AudioOutput: frozenset({"voice", "language"}),
    ir.ImageOutput: frozenset({"aspect_ratio", "size"}),
}  # fmt: skip

RESPONSE_HOLDS: Holds = {
    ir.Response: frozenset({"id", "model", "choices", "created", "usage", "error"}),
    ir.Choice: frozenset({"parts", "finish", "index", "logprobs"}),
    ir.Text: frozenset({"text", "citations", "signature"}),
    ir.Media: frozenset({"kind", "mime", "data", "url", "file_id", "filename", "detail", "transcript", "signature"}),
    ir.Reasoning: frozenset({"text", "signature", "id"}),
    ir.Refusal: frozenset({"text", "kind"}),
    ir.ToolCall: frozenset({"id", "name", "arguments", "kind", "signature"}),
    ir.ToolResult: NONE,
    ir.Hosted: frozenset({"family", "role", "id", "name", "server", "arguments", "output", "error", "status", "signature"}),
    ir.Opaque: NONE,
    ir.Citation: frozenset({"kind", "url", "title", "cited_text", "start", "end"}),
    ir.TokenLogprob: frozenset({"token", "logprob", "bytes", "top_logprobs"}),
    ir.Finish: frozenset({"reason", "raw", "is_specific", "message"}),
    ir.TokenCount: frozenset({"input"}),
    ir.Usage: frozenset({
        "input", "output", "total", "cache_read", "cache_write", "reasoning", "cache_write_ttl", "tool_prompt",
        "input_modality", "output_modality", "cached_modality",
    }),
    ir.Error: frozenset({"kind", "message", "family", "status", "code", "type", "retry_after"}),
    ir.Model: frozenset({"id", "display_name", "description", "version", "input_limit", "output_limit", "methods"}),
    ir.ModelList: frozenset({"models", "has_more", "next_page"}),
}  # fmt: skip

drop_unheld = unheld_fields("generate_content", REQUEST_HOLDS)
"""Report the fields of a request node that this format cannot express."""
drop_unheld_in_answer = unheld_fields("generate_content", RESPONSE_HOLDS)
"""Report the fields of a response node that this format cannot express."""
