"""An explicit default value is reported no more than an absent one, in any target."""

import copy
from importlib import import_module
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import FORMATS
from formatbridge.ir import Format
from tests.support.pointers import value_at
from tests.support.specimens import specimens

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

BODIES: dict[str, Any] = {
    "chat_completions": {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}}]}],
        "tools": [{"type": "custom", "custom": {"name": "write"}}],
        "web_search_options": {},
        "prompt_cache_options": {},
    },
    "messages": {
        "model": "m",
        "max_tokens": 64000,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PIXEL}},
                ],
            },
            {"role": "system", "content": "Be brief."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "lend", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}]},
        ],
        "context_management": {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 9000}}]},
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tool_choice": {"type": "auto"},
        "tools": [
            {"name": "lend", "description": "Lends a book.", "input_schema": {"type": "object"}},
            {"type": "web_search_20260318", "name": "web_search"},
            {"type": "web_fetch_20260318", "name": "web_fetch"},
            {"type": "code_execution_20260521", "name": "code_execution"},
            {"type": "tool_search_tool_bm25", "name": "tool_search_tool_bm25"},
        ],
    },
    "responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PIXEL}"}]},
            {"type": "function_call", "call_id": "c1", "name": "lend", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "done"},
        ],
        "reasoning": {"effort": "low"},
        "text": {},
        "prompt_cache_options": {},
        "tools": [
            {"type": "function", "name": "lend", "parameters": {"type": "object"}, "strict": False},
            {"type": "custom", "name": "write"},
            {"type": "web_search"},
            {"type": "code_interpreter", "container": {"type": "auto"}},
            {"type": "image_generation"},
            {"type": "tool_search"},
            {"type": "mcp", "server_label": "books", "server_url": "https://mcp.example.com", "require_approval": "never"},
        ],
    },
    "generate_content": {
        "contents": [
            {"role": "user", "parts": [{"inlineData": {"mimeType": "video/mp4", "data": PIXEL}}, {"text": "Hi"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "f1", "name": "lend", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "f1", "name": "lend", "response": {"output": "done"}}}]},
        ],
        "toolConfig": {"functionCallingConfig": {}},
        "generationConfig": {"thinkingConfig": {}},
        "tools": [
            {"functionDeclarations": [{"name": "lend", "description": "Lends a book."}]},
            {"googleSearch": {}},
        ],
    },
}  # fmt: skip
"""A request of each format that has a place for every default."""

_EVERYTHING = {"user_input": "all", "client_tool_results": "all", "server_tool_results": "all"}

DEFAULTS: list[tuple[Format, str, Any]] = [
    ("chat_completions", "/n", 1),
    ("chat_completions", "/verbosity", "medium"),
    ("chat_completions", "/top_logprobs", 0),
    ("chat_completions", "/web_search_options/search_context_size", "medium"),
    ("chat_completions", "/prompt_cache_options/mode", "implicit"),
    ("chat_completions", "/prompt_cache_options/ttl", "30m"),
    ("chat_completions", "/tools/0/custom/format", {"type": "text"}),
    ("messages", "/messages/0/content/0/transformations", {"oversized_image": "downsize"}),
    ("messages", "/messages/0/content/1/citations", {"enabled": False}),
    ("messages", "/messages/1/clear_at", "never"),
    ("messages", "/messages/2/content/0/caller", {"type": "direct"}),
    ("messages", "/messages/3/content/0/is_error", False),
    ("messages", "/billing_policy", {"type": "billing_policy", "bill_to": "self"}),
    ("messages", "/billing_policy", {"type": "billing_policy"}),
    ("messages", "/speed", "standard"),
    ("messages", "/service_tier", "auto"),
    ("messages", "/thinking/block_binding", {"prefix_mismatch_behavior": "error"}),
    ("messages", "/context_management/edits/0/pause_after_compaction", False),
    ("messages", "/tool_choice/disable_parallel_tool_use", False),
    ("messages", "/tools/0/eager_input_streaming", False),
    ("messages", "/tools/0/defer_loading", False),
    ("messages", "/tools/0/allowed_callers", ["direct"]),
    ("messages", "/tools/0/strict", False),
    ("messages", "/tools/0/input_examples", []),
    ("messages", "/tools/1/response_inclusion", "full"),
    ("messages", "/tools/1/defer_loading", False),
    ("messages", "/tools/1/strict", False),
    ("messages", "/tools/1/user_location", {"type": "approximate"}),
    ("messages", "/tools/2/response_inclusion", "full"),
    ("messages", "/tools/2/citations", {"enabled": False}),
    ("messages", "/tools/2/use_cache", True),
    ("messages", "/tools/2/url_sources", {key: {"type": word} for key, word in _EVERYTHING.items()}),
    ("messages", "/tools/3/defer_loading", False),
    ("messages", "/tools/4/defer_loading", False),
    ("responses", "/background", False),
    ("responses", "/background_options", {"completion_window": "soonest"}),
    ("responses", "/truncation", "disabled"),
    ("responses", "/top_logprobs", 0),
    ("responses", "/image", {"context_compression": "auto"}),
    ("responses", "/text/verbosity", "medium"),
    ("responses", "/text/format", {"type": "text"}),
    ("responses", "/reasoning/context", "auto"),
    ("responses", "/reasoning/mode", "standard"),
    ("responses", "/prompt_cache_options/mode", "implicit"),
    ("responses", "/prompt_cache_options/ttl", "30m"),
    ("responses", "/prompt_cache_options/prewarm", False),
    ("responses", "/input/0/content/0/detail", "auto"),
    ("responses", "/input/1/async", False),
    ("responses", "/input/1/status", "completed"),
    ("responses", "/input/1/caller", {"type": "direct"}),
    ("responses", "/tools/0/async", False),
    ("responses", "/tools/0/defer_loading", False),
    ("responses", "/tools/0/allowed_callers", ["direct"]),
    ("responses", "/tools/1/format", {"type": "text"}),
    ("responses", "/tools/1/defer_loading", False),
    ("responses", "/tools/2/search_context_size", "medium"),
    ("responses", "/tools/2/external_web_access", True),
    ("responses", "/tools/2/user_location", {"type": "approximate"}),
    ("responses", "/tools/3/allowed_callers", ["direct"]),
    ("responses", "/tools/4/action", "auto"),
    ("responses", "/tools/4/background", "auto"),
    ("responses", "/tools/4/input_fidelity", "low"),
    ("responses", "/tools/4/moderation", "auto"),
    ("responses", "/tools/4/output_compression", 100),
    ("responses", "/tools/4/output_format", "png"),
    ("responses", "/tools/4/partial_images", 0),
    ("responses", "/tools/4/quality", "auto"),
    ("responses", "/tools/4/size", "auto"),
    ("responses", "/tools/4/frame_count", 9),
    ("responses", "/tools/4/frame_duration_ms", 200),
    ("responses", "/tools/5/execution", "server"),
    ("responses", "/tools/6/allowed_callers", ["direct"]),
    ("generate_content", "/contents/0/parts/0/videoMetadata", {"fps": 1.0}),
    ("generate_content", "/contents/0/parts/0/mediaResolution", {"level": "MEDIA_RESOLUTION_UNSPECIFIED"}),
    ("generate_content", "/contents/0/parts/0/mediaProcessing", "MEDIA_PROCESSING_UNSPECIFIED"),
    ("generate_content", "/contents/1/parts/0/thought", False),
    ("generate_content", "/contents/1/parts/0/functionCall/willContinue", False),
    ("generate_content", "/contents/2/parts/0/functionResponse/scheduling", "WHEN_IDLE"),
    ("generate_content", "/contents/2/parts/0/functionResponse/scheduling", "SCHEDULING_UNSPECIFIED"),
    ("generate_content", "/contents/2/parts/0/functionResponse/willContinue", False),
    ("generate_content", "/serviceTier", "unspecified"),
    ("generate_content", "/store", False),
    ("generate_content", "/toolConfig/functionCallingConfig/mode", "MODE_UNSPECIFIED"),
    ("generate_content", "/toolConfig/functionCallingConfig/mode", "AUTO"),
    ("generate_content", "/generationConfig/candidateCount", 1),
    ("generate_content", "/generationConfig/responseMimeType", "text/plain"),
    ("generate_content", "/generationConfig/mediaResolution", "MEDIA_RESOLUTION_UNSPECIFIED"),
    ("generate_content", "/generationConfig/thinkingConfig/includeThoughts", False),
    ("generate_content", "/generationConfig/thinkingConfig/thinkingLevel", "THINKING_LEVEL_UNSPECIFIED"),
    ("generate_content", "/tools/0/functionDeclarations/0/behavior", "BLOCKING"),
    ("generate_content", "/tools/0/functionDeclarations/0/behavior", "UNSPECIFIED"),
    ("generate_content", "/tools/1/googleSearch/searchTypes", {"webSearch": {}}),
    ("generate_content", "/tools/1/googleSearch/blockingConfidence", "PHISH_BLOCK_THRESHOLD_UNSPECIFIED"),
]
"""Places of a default and its value, from the docstrings of the official SDKs' types of 2026-11."""


@pytest.mark.parametrize(("source", "pointer", "value"), DEFAULTS, ids=[f"{source}{pointer}" for source, pointer, _ in DEFAULTS])
def test_an_explicit_default_value_is_reported_no_more_than_an_absent_one(source: Format, pointer: str, value: Any) -> None:
    """Clients that write out every default would get a report of losses that are none, and be refused with ``raise_on``."""
    body = copy.deepcopy(BODIES[source])
    owner, _, name = pointer.rpartition("/")
    value_at(body, owner)[name] = value

    for target in FORMATS:
        converted = fb.convert_request(body, source=source, target=target, model="m")
        bare = fb.convert_request(BODIES[source], source=source, target=target, model="m")
        assert _report(converted) == _report(bare), target


def _report(result: Any) -> Any:
    return [(loss.path, loss.code) for loss in result.losses], list(result.additions)


@pytest.mark.parametrize("source", FORMATS)
def test_no_modelled_field_of_a_tool_is_reported_as_unknown(source: Format) -> None:
    """A user who reads that a field is unknown looks for a typing error, or for a new field of the format."""
    reported = [
        (pointer, target, loss.path)
        for pointer, body in specimens(import_module(f"formatbridge.formats.{source}.wire").Request)
        if pointer.startswith("Request.tools=")
        for target in FORMATS
        for loss in _losses(body, source, target)
        if loss.code == "unknown_field"
    ]

    assert reported == []


def _losses(body: Any, source: Format, target: Format) -> tuple[fb.Loss, ...]:
    try:
        return fb.convert_request(body, source=source, target=target, model="m").losses
    except fb.InvalidPayloadError:  # not every text will do for a number
        return ()
