"""The strict fake relay of a dialect rejects what its server rejects, and accepts similar requests."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from formatbridge.testing.vendor_rules import Facts, broken_rules

_USER = {"role": "user", "content": "hi"}
_ANSWER = {"role": "assistant", "content": "Hello"}
_CALL_ITEM = {"type": "function_call", "call_id": "c1", "name": "now"}
_IMAGE_SETTING = {"category": "HARM_CATEGORY_IMAGE_HATE", "threshold": "BLOCK_NONE"}
_PREFILL: dict[str, Any] = {"messages": [_USER, _ANSWER]}
_SYSTEM = {"role": "system", "content": "Be brief."}
_REFUSAL = {"messages": [_USER, {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, _USER]}
_TEXT = {"messages": [_USER, {"role": "assistant", "content": [{"type": "text", "text": "No."}]}, _USER]}
_TOOLS = {"tools": [{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]}
_NAMED = {**_TOOLS, "tool_choice": {"type": "function", "function": {"name": "now"}}}
_ALLOWED = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "now"}}]},
}
_SKILLS = {"container": {"skills": [{"type": "anthropic", "skill_id": "pptx", "version": "latest"}]}}
_MARK = {"type": "ephemeral"}
_MARKED_PART = {"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": _MARK}]}]}
_THOUGHT = {"type": "thinking", "thinking": "", "signature": ""}
_NOW: dict[str, Any] = {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}}
_JSON_SCHEMA = {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}}}
_SEARCH_CALL = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}}
_TOOLS_THAT_XAI_REJECTS = (
    {"type": "web_search", "external_web_access": False},
    {"type": "web_search", "user_location": {"type": "approximate", "country": "DE"}},
    {"type": "file_search", "vector_store_ids": ["vs_1"], "ranking_options": {"ranker": "auto"}},
    {"type": "code_interpreter", "container": {"type": "auto"}},
)
_EFFORT_OF_XAI = {"input": "hi", "reasoning": {"effort": "max"}}


def _answer(**fields: Any) -> dict[str, Any]:
    return {"messages": [_USER, _ANSWER | fields, _USER]}


def _result(**fields: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"messages": [_USER, answer, {"role": "tool", "tool_call_id": "c1", "content": "noon", **fields}]}


def _block(**block: Any) -> dict[str, Any]:
    return {"max_tokens": 9, "messages": [{"role": "user", "content": [block]}]}


def _called(*blocks: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "c1", "name": "now", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "noon"}
    answer = {"role": "assistant", "content": [*blocks, call]}
    return {"max_tokens": 9, "messages": [_USER, answer, {"role": "user", "content": [result]}]}


def _called_with(arguments: str) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": arguments}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "noon"}
    return {"messages": [_USER, {"role": "assistant", "tool_calls": [call]}, result]}


def _file(type: str) -> dict[str, Any]:
    part = {"type": "file", "file": {"filename": "notes", "file_data": f"data:{type};base64,eHh4"}}
    return {"messages": [{"role": "user", "content": [part]}]}


def _image(kind: str) -> dict[str, Any]:
    part = {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,R0lGODlhAQABAAAAACw="}}
    return {"messages": [{"role": "user", "content": [part]}]}


def _input_image(kind: str) -> dict[str, Any]:
    part = {"type": "input_image", "detail": "auto", "image_url": f"data:image/{kind};base64,R0lGODlhAQABAAAAACw="}
    return {"input": [{"role": "user", "content": [part]}]}


def _input_file() -> dict[str, Any]:
    part = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    return {"input": [{"role": "user", "content": [part]}]}


def _answer_parts(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"input": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [*parts]}]}


def _tool(type: str, **fields: Any) -> dict[str, Any]:
    return {"max_tokens": 9, "tools": [{"type": type, "name": type.rpartition("_")[0], **fields}]}


def _audio(data: str) -> dict[str, Any]:
    part = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
    return {"messages": [{"role": "user", "content": [part]}]}


def _parts(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [*parts]}]}


def _of_tools(*tools: dict[str, Any]) -> dict[str, Any]:
    return _parts({"text": "hi"}) | {"tools": [*tools]}


def _generation(**fields: Any) -> dict[str, Any]:
    return _parts({"text": "hi"}) | {"generationConfig": fields}


_IMAGE_PART = {"inlineData": {"mimeType": "image/png", "data": "eHh4"}}
_VOICE = {"replicatedVoiceConfig": {"voiceSampleAudio": "eHh4", "consentAudio": "eHh4"}}
_OTHER = {"gemini": "vertex", "vertex": "gemini"}
_OF_THE_OTHER: dict[str, list[dict[str, Any]]] = {
    "gemini": [
        _parts({"functionCall": {"name": "now", "willContinue": True}}),
        _parts({"functionCall": {"name": "now", "partialArgs": [{"jsonPath": "$.city", "stringValue": "Ro"}]}}),
        _generation(imageConfig={"prominentPeople": "BLOCK_PROMINENT_PEOPLE"}),
        _generation(imageConfig={"imageOutputOptions": {"mimeType": "image/jpeg"}}),
        _of_tools({"googleMaps": {"groundingTypes": {"places": {}}}}),
        _of_tools({"googleMaps": {"authConfig": {"authType": "NO_AUTH"}}}),
    ],
    "vertex": [
        _parts({"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}}),
        _parts({"toolResponse": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}),
        _parts({"text": "hi", "partMetadata": {"page": 1}}),
        _parts({"functionResponse": {"name": "now", "response": {}, "willContinue": True}}),
        _parts({"functionResponse": {"name": "now", "response": {}, "parts": [_IMAGE_PART | {"mediaProcessing": "X"}]}}),
        _generation(speechConfig={"voiceConfig": _VOICE}),
    ],
}
"""Requests that one of Google's servers rejects and the other accepts."""
_ON_REFUSALS = [
    (name, "chat_completions", "part_type", _REFUSAL)
    for name in ("deepseek", "huggingface", "llamacpp", "lmstudio", "ollama", "qwen", "zhipu")
]
_STRICT = {
    "type": "function",
    "function": {
        "name": "later",
        "strict": True,
        "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    },
}
_JSON = {"response_format": {"type": "json_object"}}
_NUMBER = {"type": "object", "properties": {"n": {"type": "number"}}}
_SCHEMA_OF_NUMBER = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": _NUMBER}}}
_SCHEMA = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}}


def _list_of_texts(**keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"minItems": {"type": "array", "items": {"type": "string"}, **keywords}}}


def _schema_of_list(strict: bool = False, **keywords: Any) -> dict[str, Any]:
    schema = {"name": "x", "strict": strict, "schema": _list_of_texts(**keywords)}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _function_of_list(strict: bool, **keywords: Any) -> dict[str, Any]:
    function = {"name": "tag", "strict": strict, "parameters": _list_of_texts(**keywords)}
    return {"tools": [{"type": "function", "function": function}]}


REFUSED: list[tuple[str, fb.FormatName, str, dict[str, Any]]] = [
    *_ON_REFUSALS,
    ("bedrock", "messages", "block", _block(type="container_upload", file_id="file_1")),
    ("bedrock", "messages", "field", _SKILLS),
    ("bedrock", "messages", "field", {"cache_control": {"type": "ephemeral"}}),
    ("bedrock", "messages", "field", {"speed": "fast"}),
    ("bedrock", "messages", "tool_type", _tool("tool_search_tool_bm25_20251119")),
    ("cerebras", "chat_completions", "service_tier", {"service_tier": "scale"}),
    ("cerebras", "chat_completions", "format_with_tools", {**_TOOLS, **_SCHEMA}),
    *((name, "chat_completions", "mixed_strict", {"tools": [*_TOOLS["tools"], _STRICT]}) for name in ("cerebras", "deepseek")),
    ("fireworks", "chat_completions", "budget", {"thinking": {"type": "enabled", "budget_tokens": 512}}),
    ("huggingface", "chat_completions", "tool_choice", {**_TOOLS, "tool_choice": _ALLOWED}),
    *((name, "chat_completions", "range", {"logprobs": True, "top_logprobs": 6}) for name in ("fireworks", "huggingface")),
    ("lmstudio", "chat_completions", "effort", {"reasoning_effort": "max"}),
    ("lmstudio", "chat_completions", "role", {"messages": [_SYSTEM | {"role": "developer"}, _USER]}),
    ("cerebras", "chat_completions", "field_of_message", _answer(function_call={"name": "now", "arguments": "{}"})),
    *((name, "chat_completions", "field_of_message", _answer(annotations=[])) for name in ("cerebras", "groq")),
    ("groq", "chat_completions", "field", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("cerebras", "chat_completions", "field", {"include_reasoning": False}),
    ("fireworks", "chat_completions", "field_of_message", _answer(reasoning="Hm.")),
    ("fireworks", "chat_completions", "field_of_message", {"messages": [{**_USER, "name": "ann"}]}),
    ("groq", "chat_completions", "field_of_message", _answer(reasoning_details=[{"type": "reasoning.text", "text": "x"}])),
    ("groq", "chat_completions", "field_of_message", _result(name="now")),
    ("groq", "chat_completions", "raw_reasoning", {**_TOOLS, "reasoning_format": "raw"}),
    ("groq", "chat_completions", "excluded_field", {"reasoning_format": "hidden", "include_reasoning": False}),
    ("groq", "chat_completions", "format_with_tools", {**_TOOLS, **_JSON}),
    ("groq", "chat_completions", "format_with_tools", {**_TOOLS, **_SCHEMA}),
    ("cerebras", "chat_completions", "schema_keyword", _schema_of_list(strict=True, items={"type": "string", "pattern": "^a"})),
    ("cerebras", "chat_completions", "schema_keyword", _function_of_list(strict=True, minItems=2)),
    ("groq", "chat_completions", "schema_keyword", _schema_of_list(minItems=2)),
    ("groq", "chat_completions", "schema_keyword", _schema_of_list(maxItems=2)),
    ("groq", "chat_completions", "schema_in_stream", {**_SCHEMA, "stream": True}),
    ("perplexity", "chat_completions", "field_of_message", {"messages": [{**_USER, "name": "ann"}]}),
    ("perplexity", "chat_completions", "field_of_message", {"messages": [_USER, {**_ANSWER, "reasoning_content": "Hm."}, _USER]}),
    *((name, "chat_completions", "field", {"cache_control": _MARK}) for name in ("azure", "openai")),
    ("mistral", "chat_completions", "greedy_sampling", {"temperature": 0, "top_p": 0.9}),
    ("vllm", "chat_completions", "greedy_sampling", {"temperature": 0, "n": 2}),
    ("qwen", "chat_completions", "answers_with_tools", {**_TOOLS, "n": 2}),
    ("qwen", "chat_completions", "format_with_reasoning", _JSON),
    ("qwen", "chat_completions", "format_with_reasoning", {**_SCHEMA, "enable_thinking": True}),
    ("deepseek", "chat_completions", "final_answer", _PREFILL),
    ("deepseek", "chat_completions", "most", {"stop": [str(number) for number in range(17)]}),
    ("deepseek", "messages", "block", _block(type="search_result", source="s", title="t", content=[{"type": "text", "text": "x"}])),
    ("deepseek", "messages", "block", _block(type="container_upload", file_id="file_1")),
    ("deepseek", "messages", "thinking_required", _called()),
    ("moonshot", "messages", "thinking_required", _called() | {"thinking": {"type": "adaptive"}}),
    ("deepseek", "messages", "thinking_required", _called({"type": "text", "text": "x"}) | {"thinking": {"type": "adaptive"}}),
    ("llamacpp", "chat_completions", "logprobs_with_tools", {**_TOOLS, "logprobs": True, "stream": True}),
    ("llamacpp", "chat_completions", "prefill", _PREFILL),
    ("llamacpp", "chat_completions", "prefill", _PREFILL | {"chat_template_kwargs": {"enable_thinking": True}}),
    ("minimax", "chat_completions", "function_field", {"tools": [{"type": "function", "function": {"name": "now"}}]}),
    ("minimax", "chat_completions", "tool_choice", _NAMED),
    ("minimax", "messages", "thinking", {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ("minimax", "messages", "tool_type", _tool("web_search_20250305")),
    ("minimax", "messages", "tool_type", _tool("bash_20250124")),
    *((name, "chat_completions", "range", {"top_p": 0}) for name in ("deepseek", "mistral", "qwen", "sglang", "vllm")),
    ("mistral", "chat_completions", "order", {"messages": [_USER, _ANSWER, _SYSTEM, _USER]}),
    ("moonshot", "chat_completions", "forced_call", _NAMED),
    ("moonshot", "chat_completions", "field", {"temperature": 0.7}),
    ("moonshot", "chat_completions", "field", {"top_p": 0.9}),
    ("moonshot", "chat_completions", "range", {"n": 2}),
    *((name, "chat_completions", "file_type", _file("text/csv")) for name in ("openai", "openrouter")),
    ("xai", "chat_completions", "field_of_message", {"messages": [_SYSTEM | {"name": "rules"}, _USER]}),
    ("xai", "chat_completions", "arguments", _called_with("")),
    ("ollama", "responses", "arguments", {"input": [_CALL_ITEM | {"arguments": "[1]"}]}),
    ("ollama", "responses", "arguments", {"input": [_CALL_ITEM | {"arguments": '{"a'}]}),
    *(
        (name, "chat_completions", "arguments", _called_with(text))
        for name in ("minimax", "ollama", "qwen", "sglang")
        for text in ("", '{"city": "Ro', '["Rome"]')
    ),
    ("moonshot", "chat_completions", "empty_answer", _answer(content="", reasoning_content="x")),
    ("moonshot", "messages", "block", _block(type="image", source={"type": "url", "url": "https://example.com/a.png"})),
    ("openai", "chat_completions", "search_with_functions", {**_TOOLS, "web_search_options": {}}),
    ("perplexity", "chat_completions", "any_object", _SCHEMA),
    ("perplexity", "chat_completions", "max_tokens", {"max_tokens": 15}),
    ("perplexity", "chat_completions", "domain_filter", {"search_domain_filter": ["a.example", "-b.example"]}),
    ("openrouter", "responses", "store", {"input": "hi", "store": True}),
    ("openrouter", "responses", "store", {"input": "hi", "store": None}),
    ("openrouter", "responses", "include", {"input": "hi", "include": ["message.output_text.logprobs"]}),
    ("perplexity", "chat_completions", "final_answer", _PREFILL),
    ("perplexity", "chat_completions", "turns", {"messages": [_USER, _USER]}),
    *((name, "chat_completions", "image_type", _image("gif")) for name in ("ollama", "xai")),
    *((name, "responses", "image_type", _input_image("gif")) for name in ("ollama", "xai")),
    ("qwen", "chat_completions", "audio", _audio("UklGRgAAAABXQVZF")),
    ("qwen", "chat_completions", "excluded_field", {"reasoning_effort": "low", "thinking_budget": 2048}),
    ("qwen", "chat_completions", "effort", {"reasoning_effort": "none"}),
    *((name, "generate_content", "unknown_name", body) for name, bodies in _OF_THE_OTHER.items() for body in bodies),
    ("vertex", "generate_content", "label", {"contents": [], "labels": {"Team": "search"}}),
    ("vertex", "generate_content", "label", {"contents": [], "labels": {"team": "x" * 64}}),
    ("vertex", "generate_content", "service_tier", {"contents": [], "serviceTier": "flex"}),
    ("vertex", "generate_content", "service_tier", {"contents": [], "service_tier": "standard"}),
    ("gemini", "generate_content", "safety_category", {"contents": [], "safetySettings": [_IMAGE_SETTING]}),
    ("gemini", "generate_content", "safety_category", {"contents": [], "safety_settings": [_IMAGE_SETTING]}),
    ("vertex", "messages", "block", _block(type="container_upload", file_id="file_1")),
    ("vertex", "messages", "field", _SKILLS),
    ("vertex", "messages", "tool_type", _tool("code_execution_20260521")),
    ("vertex", "messages", "tool_type", _tool("web_search_20260318")),
    ("vllm", "chat_completions", "generation_prompt", _PREFILL | {"continue_final_message": True}),
    ("vllm", "responses", "include", {"input": "hi", "include": ["web_search_call.action.sources"]}),
    ("vllm", "responses", "field", {"input": "hi", "prompt": {"id": "p"}}),
    *(
        ("groq", "responses", "field", {"input": "hi", **field})
        for field in ({"include": ["reasoning.encrypted_content"]}, {"prompt_cache_key": "k"}, {"top_logprobs": 2})
    ),
    ("groq", "responses", "store", {"input": "hi", "store": True}),
    ("groq", "responses", "service_tier", {"input": "hi", "service_tier": "priority"}),
    ("groq", "responses", "tool_choice", {"input": "hi", "tool_choice": {"type": "function", "name": "f"}}),
    ("groq", "responses", "tool_type", {"input": "hi", "tools": [{"type": "web_search"}]}),
    ("groq", "responses", "most", {"input": "hi", "tools": [_NOW] * 129}),
    ("groq", "responses", "effort", {"input": "hi", "reasoning": {"effort": "minimal"}}),
    ("groq", "responses", "item_type", {"input": [_USER, {"type": "configuration_update", "reasoning": {"effort": "low"}}]}),
    ("groq", "responses", "part_type", _input_file()),
    ("groq", "responses", "format_with_tools", {"input": "hi", "tools": [_NOW], "text": _JSON_SCHEMA}),
    ("groq", "responses", "schema_in_stream", {"input": "hi", "stream": True, "text": _JSON_SCHEMA}),
    *(
        (name, "responses", "item_type", {"input": [_USER, item]})
        for name in ("ollama", "vllm")
        for item in ({"type": "item_reference", "id": "msg_1"}, {"id": "msg_1"}, _SEARCH_CALL)
    ),
    ("vllm", "responses", "null", {"input": [_USER, _ANSWER | {"id": None}]}),
    ("vllm", "responses", "null", {"input": "hi", "tools": None}),
    ("vllm", "responses", "part_type", _input_file()),
    ("vllm", "responses", "refusal", _answer_parts({"type": "refusal", "refusal": "No."})),
    ("xai", "chat_completions", "effort", {"reasoning_effort": "max"}),
    ("zhipu", "chat_completions", "empty_text", {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}),
    *(("xai", "chat_completions", "field", {name: 0}) for name in ("presence_penalty", "frequency_penalty")),
    ("xai", "chat_completions", "live_search", {"search_parameters": {"mode": "auto"}}),
    ("openai", "chat_completions", "tool_type", {"tools": [{"type": "web_search"}]}),
    ("azure", "chat_completions", "tool_type", {"tools": [{"type": "openrouter:web_search"}]}),
    ("xai", "chat_completions", "tool_type", {"tools": [{"type": "live_search"}]}),
    ("xai", "responses", "continuation", {"input": "hi", "instructions": "x", "previous_response_id": "resp_1"}),
    ("xai", "responses", "effort", _EFFORT_OF_XAI),
    ("xai", "responses", "null", {"input": [_USER, {"type": "reasoning", "summary": [], "content": None}]}),
    *(("xai", "responses", "field_of_tool", {"input": "hi", "tools": [tool]}) for tool in _TOOLS_THAT_XAI_REJECTS),
    ("xai", "responses", "most", {"input": "hi", "tools": [_NOW] * 129}),
    ("xai", "responses", "range", {"input": "hi", "logprobs": True, "top_logprobs": 9}),
    ("zhipu", "messages", "system_turn", {"max_tokens": 9, "messages": [_USER, _ANSWER, _SYSTEM, _USER]}),
    ("xai", "responses", "tool_choice", {"tool_choice": {"type": "web_search"}}),
    (
        "xai",
        "responses",
        "tool_choice",
        {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}},
    ),
]
ACCEPTED: list[tuple[str, fb.FormatName, str, dict[str, Any]]] = [
    *((name, format, rule, _TEXT) for name, format, rule, _ in _ON_REFUSALS),
    ("deepseek", "chat_completions", "final_answer", {"messages": [_USER, {**_ANSWER, "prefix": True}]}),
    ("deepseek", "chat_completions", "final_answer", {**_PREFILL, "thinking": {"type": "disabled"}}),
    ("bedrock", "messages", "block", _block(type="text", text="x", cache_control={"type": "ephemeral", "ttl": "1h"})),
    ("bedrock", "messages", "field", {"context_management": {"edits": []}, "output_config": {"effort": "low"}}),
    ("bedrock", "messages", "tool_type", _tool("tool_search_tool_regex")),
    (
        "cerebras",
        "chat_completions",
        "service_tier",
        {"service_tier": "flex", "frequency_penalty": 1, "parallel_tool_calls": False},
    ),
    ("cerebras", "chat_completions", "format_with_tools", _SCHEMA),
    *((name, "chat_completions", "mixed_strict", {"tools": [_STRICT, _STRICT]}) for name in ("cerebras", "deepseek")),
    ("fireworks", "chat_completions", "budget", {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ("huggingface", "chat_completions", "tool_choice", _NAMED),
    *((name, "chat_completions", "range", {"logprobs": True, "top_logprobs": 5}) for name in ("fireworks", "huggingface")),
    ("lmstudio", "chat_completions", "effort", {"reasoning_effort": "high"}),
    ("lmstudio", "chat_completions", "role", {"messages": [_SYSTEM, _USER]}),
    ("zhipu", "chat_completions", "empty_text", {"messages": [{"role": "user", "content": ""}]}),
    ("cerebras", "chat_completions", "mixed_strict", _TOOLS),
    *((name, "chat_completions", "field_of_message", _answer(reasoning="x")) for name in ("cerebras", "groq")),
    ("groq", "chat_completions", "field_of_message", _result()),
    ("groq", "chat_completions", "raw_reasoning", {"reasoning_format": "raw"}),
    ("groq", "chat_completions", "excluded_field", {"reasoning_format": "hidden"}),
    ("groq", "chat_completions", "format_with_tools", _TOOLS),
    ("groq", "chat_completions", "format_with_tools", _JSON),
    ("groq", "chat_completions", "field", {"reasoning_effort": "none"}),
    ("groq", "chat_completions", "field", {"include_reasoning": False}),
    ("cerebras", "chat_completions", "field", {"reasoning_format": "hidden"}),
    ("fireworks", "chat_completions", "field_of_message", _answer(reasoning_content="Hm.")),
    ("cerebras", "chat_completions", "schema_keyword", _schema_of_list(strict=True)),
    ("cerebras", "chat_completions", "schema_keyword", _schema_of_list(minItems=2)),
    ("cerebras", "chat_completions", "schema_keyword", _function_of_list(strict=False, minItems=2)),
    ("groq", "chat_completions", "schema_keyword", _schema_of_list(description="{minItems: 2}")),
    ("groq", "chat_completions", "schema_in_stream", _SCHEMA),
    ("groq", "chat_completions", "schema_in_stream", {**_JSON, "stream": True}),
    ("perplexity", "chat_completions", "field_of_message", {"messages": [_USER, _ANSWER, _USER]}),
    ("openai", "chat_completions", "field", _MARKED_PART),
    ("mistral", "chat_completions", "greedy_sampling", {"temperature": 0, "top_p": 1}),
    ("vllm", "chat_completions", "greedy_sampling", {"temperature": 0.5, "n": 2}),
    ("qwen", "chat_completions", "answers_with_tools", {**_TOOLS, "n": 1}),
    ("qwen", "chat_completions", "answers_with_tools", {"n": 2}),
    ("qwen", "chat_completions", "format_with_reasoning", {**_JSON, "enable_thinking": False}),
    ("qwen", "chat_completions", "format_with_reasoning", {"response_format": {"type": "text"}}),
    ("deepseek", "chat_completions", "most", {"stop": [str(number) for number in range(16)]}),
    *(
        (name, "chat_completions", "stop_count", {"stop": [*"ABCDE"]})
        for name in ("deepseek", "llamacpp", "ollama", "sglang", "vllm")
    ),
    ("deepseek", "messages", "block", _block(type="image", source={"type": "url", "url": "https://example.com/a.png"})),
    ("deepseek", "messages", "thinking_excludes", {"max_tokens": 9, "thinking": {"type": "adaptive"}, "top_p": 0.5}),
    ("deepseek", "messages", "thinking_required", _called(_THOUGHT)),
    ("moonshot", "messages", "thinking_required", _called(_THOUGHT) | {"thinking": {"type": "adaptive"}}),
    ("moonshot", "messages", "thinking_required", _called()),
    ("deepseek", "messages", "thinking_required", _called() | {"thinking": {"type": "disabled"}}),
    ("deepseek", "messages", "thinking_required", {"max_tokens": 9, "messages": [_USER, _ANSWER, _USER]}),
    ("llamacpp", "chat_completions", "logprobs_with_tools", {**_TOOLS, "logprobs": True}),
    ("llamacpp", "chat_completions", "logprobs_with_tools", {**_TOOLS, "logprobs": False, "stream": True}),
    ("llamacpp", "chat_completions", "prefill", _PREFILL | {"chat_template_kwargs": {"enable_thinking": False}}),
    ("llamacpp", "chat_completions", "prefill", _PREFILL | {"reasoning_effort": "none"}),
    ("llamacpp", "chat_completions", "prefill", {"chat_template_kwargs": {"enable_thinking": True}}),
    ("minimax", "chat_completions", "function_field", _TOOLS),
    ("minimax", "chat_completions", "tool_choice", _TOOLS | {"tool_choice": "none"}),
    ("minimax", "messages", "tool_type", {"max_tokens": 9, "tools": [{"name": "now", "input_schema": {"type": "object"}}]}),
    ("minimax", "messages", "thinking", {"max_tokens": 2000, "thinking": {"type": "disabled"}}),
    ("minimax", "messages", "thinking_excludes", {"max_tokens": 2000, "thinking": {"type": "adaptive"}, "temperature": 0.5}),
    *((name, "chat_completions", "range", {"top_p": 1}) for name in ("deepseek", "mistral", "qwen", "sglang", "vllm")),
    ("mistral", "chat_completions", "order", {"messages": [_SYSTEM, _USER, _ANSWER, _USER]}),
    ("moonshot", "chat_completions", "forced_call", _NAMED | {"thinking": {"type": "disabled"}}),
    ("moonshot", "chat_completions", "range", {"n": 1}),
    *((name, "chat_completions", "file_type", _file("application/pdf")) for name in ("openai", "openrouter")),
    ("xai", "chat_completions", "field_of_message", {"messages": [_SYSTEM, _USER | {"name": "ann"}]}),
    ("xai", "chat_completions", "arguments", _called_with("{}")),
    ("ollama", "responses", "arguments", {"input": [_CALL_ITEM | {"arguments": '{"a": 1}'}]}),
    ("ollama", "responses", "arguments", {"input": [_CALL_ITEM | {"arguments": ""}]}),
    *((name, "chat_completions", "arguments", _called_with('{"a": 1}')) for name in ("minimax", "ollama", "qwen", "sglang")),
    ("moonshot", "chat_completions", "empty_answer", _answer(content=" ", reasoning_content="x")),
    ("perplexity", "chat_completions", "any_object", _SCHEMA_OF_NUMBER),
    ("perplexity", "chat_completions", "max_tokens", {"max_tokens": 16}),
    ("perplexity", "chat_completions", "domain_filter", {"search_domain_filter": ["-a.example", "-b.example"]}),
    ("moonshot", "messages", "block", _block(type="image", source={"type": "base64", "media_type": "image/png", "data": "eHh4"})),
    ("openai", "chat_completions", "search_with_functions", _TOOLS),
    ("openai", "chat_completions", "search_with_functions", {"web_search_options": {}}),
    ("openrouter", "responses", "store", {"input": "hi", "store": False}),
    ("openrouter", "responses", "include", {"input": "hi", "include": ["web_search_call.action.sources"]}),
    ("perplexity", "chat_completions", "final_answer", {"messages": [*_PREFILL["messages"], _USER]}),
    ("perplexity", "chat_completions", "turns", {"messages": [_SYSTEM, _USER, _ANSWER, _USER]}),
    *((name, "chat_completions", "image_type", _image("webp")) for name in ("ollama", "xai")),
    *((name, "responses", "image_type", _input_image("jpg")) for name in ("ollama", "xai")),
    ("qwen", "chat_completions", "audio", _audio("data:audio/wav;base64,UklGRgAAAABXQVZF")),
    ("qwen", "chat_completions", "excluded_field", {"enable_thinking": True, "reasoning_effort": "low"}),
    ("qwen", "chat_completions", "effort", {"reasoning_effort": "xhigh"}),
    *((_OTHER[name], "generate_content", "unknown_name", body) for name, bodies in _OF_THE_OTHER.items() for body in bodies),
    ("gemini", "generate_content", "unknown_name", _of_tools({"googleMaps": {"authConfig": {"apiKey": "k"}}})),
    ("vertex", "generate_content", "label", {"contents": [], "labels": {"team": "search-1", "empty": ""}}),
    ("vertex", "generate_content", "service_tier", {"contents": [], "serviceTier": "SERVICE_TIER_FLEX"}),
    ("vertex", "generate_content", "safety_category", {"contents": [], "safetySettings": [_IMAGE_SETTING]}),
    (
        "gemini",
        "generate_content",
        "safety_category",
        {"contents": [], "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT"}]},
    ),
    ("vertex", "messages", "block", _block(type="text", text="x")),
    ("vertex", "messages", "field", {"cache_control": {"type": "ephemeral"}, "context_management": {"edits": []}, "speed": "fast"}),
    ("vertex", "messages", "tool_type", _tool("tool_search_tool_bm25_20251119")),
    ("vertex", "messages", "tool_type", _tool("web_search_20250305")),
    ("vllm", "chat_completions", "generation_prompt", _PREFILL | {"continue_final_message": True, "add_generation_prompt": False}),
    ("vllm", "responses", "include", {"input": "hi", "include": ["message.output_text.logprobs"]}),
    ("vllm", "responses", "field", {"input": "hi", "conversation": "conv_1", "prompt_cache_key": "k"}),
    ("groq", "responses", "field", {"input": "hi", "metadata": {"a": "b"}, "user": "u", "truncation": "disabled"}),
    ("groq", "responses", "store", {"input": "hi", "store": False}),
    ("groq", "responses", "service_tier", {"input": "hi", "service_tier": "flex"}),
    ("groq", "responses", "tool_choice", {"input": "hi", "tool_choice": "required"}),
    ("groq", "responses", "tool_type", {"input": "hi", "tools": [_NOW, {"type": "browser_search"}]}),
    ("groq", "responses", "most", {"input": "hi", "tools": [_NOW] * 128}),
    ("groq", "responses", "effort", {"input": "hi", "reasoning": {"effort": "low"}}),
    ("groq", "responses", "part_type", _input_image("png")),
    ("groq", "responses", "format_with_tools", {"input": "hi", "tools": [_NOW], "text": {"verbosity": "low"}}),
    ("groq", "responses", "schema_in_stream", {"input": "hi", "stream": True, "text": {"format": {"type": "json_object"}}}),
    *(
        (name, "responses", "item_type", {"input": [_USER, {"type": "reasoning", "id": "rs_1", "summary": []}]})
        for name in ("ollama", "vllm")
    ),
    ("vllm", "responses", "null", {"input": [_USER | {"id": None}, _ANSWER], "temperature": None}),
    ("vllm", "responses", "part_type", _input_image("png")),
    ("vllm", "responses", "refusal", _answer_parts({"type": "output_text", "text": "No.", "annotations": []})),
    ("xai", "chat_completions", "effort", {"reasoning_effort": "xhigh"}),
    ("xai", "responses", "tool_choice", {"tool_choice": {"type": "function", "name": "f"}}),
    ("xai", "responses", "tool_choice", {"tool_choice": "required"}),
    ("xai", "chat_completions", "field", {"temperature": 0.5, "top_p": 0.9}),
    ("xai", "chat_completions", "live_search", _TOOLS),
    ("xai", "chat_completions", "tool_type", _TOOLS),
    ("xai", "responses", "continuation", {"input": [_SYSTEM, _USER], "previous_response_id": "resp_1"}),
    ("xai", "responses", "effort", {"input": "hi", "reasoning": {"effort": "none"}}),
    ("xai", "responses", "null", {"input": [_USER, {"type": "reasoning", "summary": [], "encrypted_content": None}]}),
    (
        "xai",
        "responses",
        "field_of_tool",
        {"input": "hi", "tools": [{"type": "web_search", "filters": {"allowed_domains": ["a.b"]}}]},
    ),
    ("xai", "responses", "most", {"input": "hi", "tools": [_NOW] * 128}),
    ("xai", "responses", "range", {"input": "hi", "logprobs": True, "top_logprobs": 8}),
    ("zhipu", "messages", "system_turn", {"max_tokens": 9, "system": "Be brief.", "messages": [_USER]}),
]


def _broken(name: str, format: fb.FormatName, body: dict[str, Any]) -> set[str]:
    messages = {} if format == "responses" else {"messages": [_USER]}
    return {rule.name for rule, _ in broken_rules(format, {"model": "m", **messages, **body}, Facts(model="m"), name)}


@pytest.mark.parametrize(("name", "format", "rule", "body"), REFUSED, ids=[f"{row[0]}-{row[2]}" for row in REFUSED])
def test_a_request_that_the_server_rejects_is_rejected(name: str, format: fb.FormatName, rule: str, body: dict[str, Any]) -> None:
    """A relay that accepts it hides the failure until production."""
    assert rule in _broken(name, format, body)


@pytest.mark.parametrize(("name", "format", "rule", "body"), ACCEPTED, ids=[f"{row[0]}-{row[2]}" for row in ACCEPTED])
def test_a_similar_request_is_accepted(name: str, format: fb.FormatName, rule: str, body: dict[str, Any]) -> None:
    """Users turn off a relay that rejects too much."""
    assert rule not in _broken(name, format, body)
