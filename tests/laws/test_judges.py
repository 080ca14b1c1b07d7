"""The judges reject what the vendors' types reject, and state the fault in one line.

The probes were tried on the official types by hand, see ``requests.md``, "Negative probes".
"""

from typing import Any

import pytest

from tests import corpus
from tests.support import judges, sdk_roots

Body = dict[str, Any]

PNG = "iVBORw0KGgo="
IMAGE_URL = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def chat(*messages: Body, **settings: Any) -> Body:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}, *messages], **settings}


def messages(*turns: Body, **settings: Any) -> Body:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}, *turns], **settings}


def responses(*items: Body, **settings: Any) -> Body:
    return {"model": "m", "input": list(items), **settings}


def generate(*parts: Body, **settings: Any) -> Body:
    return {"contents": [{"role": "user", "parts": [{"text": "hi"}, *parts]}], **settings}


def message(*content: Body, role: str = "user", **more: Any) -> Body:
    return {"role": role, "content": list(content), **more}


def declared(**schema: Any) -> Body:
    return {"functionDeclarations": [{"name": "look", **schema}]}


REFUSED: dict[str, tuple[str, Body, str]] = {
    "audio in an input message": (
        "responses",
        responses(message({"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}})),
        "/input/0/content/0/type unknown word 'input_audio'",
    ),
    "an input image without detail": (
        "responses",
        responses(message({"type": "input_image", "image_url": "https://example.com/cat.png"})),
        "/input/0/content/0/detail missing",
    ),
    "a function tool without strict": (
        "responses",
        responses(tools=[{"type": "function", "name": "look", "parameters": {}}]),
        "/tools/0/strict missing",
    ),
    "stop sequences": ("responses", responses(stop=["x"]), "/stop unknown key"),
    "a seed": ("responses", responses(seed=1), "/seed unknown key"),
    "a presence penalty": ("responses", responses(presence_penalty=1.0), "/presence_penalty unknown key"),
    "several answers": ("responses", responses(n=2), "/n unknown key"),
    "usage in the stream": (
        "responses",
        responses(stream=True, stream_options={"include_usage": True}),
        "/stream_options/include_usage unknown key",
    ),
    "reasoning without an id": ("responses", responses({"type": "reasoning", "summary": []}), "/input/0/id missing"),
    "an assistant's text without id and status": (
        "responses",
        responses(message({"type": "output_text", "text": "hi", "annotations": []}, role="assistant", type="message")),
        "/input/0/content/0/type unknown word 'output_text'",
    ),
    "half a day of cache": (
        "chat_completions",
        chat(prompt_cache_options={"ttl": "12h"}),
        "/prompt_cache_options/ttl unknown word '12h'",
    ),
    "the fastest tier": ("chat_completions", chat(service_tier="ultrafast"), "/service_tier unknown word 'ultrafast'"),
    "an image in a tool's message": (
        "chat_completions",
        chat(message(IMAGE_URL, role="tool", tool_call_id="call_1")),
        "/messages/1/content/0/type unknown word 'image_url'",
    ),
    "an image in an assistant's message": (
        "chat_completions",
        chat(message(IMAGE_URL, role="assistant")),
        "/messages/1/content/0/type unknown word 'image_url'",
    ),
    "a video": (
        "chat_completions",
        chat(message({"type": "video_url", "video_url": {"url": "https://example.com/cat.mp4"}})),
        "/messages/1/content/0/type unknown word 'video_url'",
    ),
    "reasoning text": (
        "chat_completions",
        chat({"role": "assistant", "content": "hi", "reasoning_content": "hm"}),
        "/messages/1/reasoning_content unknown key",
    ),
    "top_k in chat_completions": ("chat_completions", chat(top_k=5), "/top_k unknown key"),
    "temperature": ("messages", messages(temperature=0.5), "/temperature unknown key"),
    "top_p": ("messages", messages(top_p=0.5), "/top_p unknown key"),
    "top_k": ("messages", messages(top_k=5), "/top_k unknown key"),
    "an output format outside its config": (
        "messages",
        messages(output_format={"type": "json_schema", "schema": {}}),
        "/output_format unknown key",
    ),
    "minimal effort": ("messages", messages(output_config={"effort": "minimal"}), "/output_config/effort unknown word 'minimal'"),
    "thinking without a signature": (
        "messages",
        messages(message({"type": "thinking", "thinking": "hm"}, role="assistant")),
        "/messages/1/content/0/signature missing",
    ),
    "a drawing as an image": (
        "messages",
        messages(message({"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": PNG}})),
        "/messages/1/content/0/source/media_type unknown word 'image/svg+xml'",
    ),
    "a header in a body": ("messages", messages(betas=["x"]), "/betas unknown key"),
    "oneOf in parameters": (
        "generate_content",
        generate(tools=[declared(parameters={"oneOf": []})]),
        "/tools/0/functionDeclarations/0/parameters/oneOf unknown key",
    ),
    "$ref in parameters": (
        "generate_content",
        generate(tools=[declared(parameters={"$ref": "#/$defs/x"})]),
        "/tools/0/functionDeclarations/0/parameters/$ref unknown key",
    ),
    "an unknown thinking level": (
        "generate_content",
        generate(generationConfig={"thinkingConfig": {"thinkingLevel": "HUGE"}}),
        "/generationConfig/thinkingConfig/thinkingLevel unknown word 'HUGE'",
    ),
    "a signature that is no base64": (
        "generate_content",
        generate({"text": "", "thoughtSignature": "sig!"}),
        "/contents/0/parts/1/thoughtSignature string_pattern_mismatch, not string",
    ),
    "a number as text": ("chat_completions", chat(n="2"), "/n int_type, not string"),
    "an object as text": ("chat_completions", chat({"role": "user", "content": {}}), "/messages/1/content is object"),
}
"""Requests with one mistake, and the problem that states it."""

ACCEPTED: dict[str, tuple[str, Body]] = {
    "an image without detail in a function's output": (
        "responses",
        responses({"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_image", "image_url": "x"}]}),
    ),
    "a function tool with nulls": (
        "responses",
        responses(tools=[{"type": "function", "name": "look", "parameters": None, "strict": None}]),
    ),
    "half a day of cache": ("responses", responses(prompt_cache_options={"ttl": "12h"})),
    "the fastest tier": ("responses", responses(service_tier="ultrafast")),
    "half a day for one breakpoint, in responses": (
        "responses",
        responses(message({"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}})),
    ),
    "half a day for one breakpoint, in chat_completions": (
        "chat_completions",
        chat(message({"type": "text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}})),
    ),
    "context management": ("messages", messages(context_management={"edits": []})),
    "MCP servers": ("messages", messages(mcp_servers=[{"type": "url", "name": "x", "url": "https://example.com"}])),
    "fallbacks": ("messages", messages(fallbacks=[{"model": "n"}])),
    "a system message among the messages": ("messages", messages({"role": "system", "content": "be brief"})),
    "thinking between tools": ("messages", messages(thinking={"type": "between_tools"})),
    "a strict tool": (
        "messages",
        messages(tools=[{"name": "look", "strict": True, "input_schema": {"type": "object", "$defs": {}}}]),
    ),
    "a container as an object": ("messages", messages(container={"id": "c", "skills": []})),
    "an image in an assistant's message": (
        "messages",
        messages(
            message({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, role="assistant")
        ),
    ),
    "a thinking level in capitals": ("generate_content", generate(generationConfig={"thinkingConfig": {"thinkingLevel": "XHIGH"}})),
    "a thinking level in small letters": (
        "generate_content",
        generate(generationConfig={"thinkingConfig": {"thinkingLevel": "low"}}),
    ),
    "a tier, and storing": ("generate_content", generate(serviceTier="flex", store=True)),
    "MCP servers in tools": ("generate_content", generate(tools=[{"mcpServers": [{"name": "x"}]}])),
    "validated calls": ("generate_content", generate(toolConfig={"functionCallingConfig": {"mode": "VALIDATED"}})),
    "media in a function's response": (
        "generate_content",
        generate(
            {"functionResponse": {"name": "look", "response": {}, "parts": [{"inlineData": {"mimeType": "a/b", "data": PNG}}]}}
        ),
    ),
    "any schema as JSON Schema": ("generate_content", generate(tools=[declared(parametersJsonSchema={"oneOf": []})])),
    "an integer in place of a number": ("chat_completions", chat(temperature=1)),
}

ON_PURPOSE: dict[str, tuple[str, Body]] = {
    "reasoning in chat_completions": (
        "chat_completions",
        chat({"role": "assistant", "content": "hi", "reasoning_content": "hm", "reasoning_details": []}),
    ),
    "a signature next to a call": (
        "chat_completions",
        chat({"role": "assistant", "tool_calls": [CALL | {"extra_content": {"google": {"thought_signature": "x"}}}]}),
    ),
    "videos": REFUSED["a video"][:2],
    "sampling in messages": ("messages", messages(temperature=0.5, top_p=0.5, top_k=5)),
}


def judged(format_name: str) -> None:
    """Skip a test if the SDK that it needs is not installed."""
    sdk = sdk_roots.SDKS[format_name]
    pytest.importorskip(sdk, reason=f"the official SDK {sdk!r} is not installed")


@pytest.mark.parametrize("probe", REFUSED)
def test_a_judge_reports_one_problem_for_one_mistake(probe: str) -> None:
    """A judge must find each mistake, and must not report the problems of all other union members."""
    format_name, body, problem = REFUSED[probe]
    judged(format_name)

    assert judges.refusals(format_name, "request", body) == [problem]


@pytest.mark.parametrize("probe", ACCEPTED)
def test_a_judge_accepts_what_the_vendors_allow(probe: str) -> None:
    """A judge that is stricter than the types would forbid values that users need."""
    format_name, body = ACCEPTED[probe]
    judged(format_name)

    assert judges.problems(format_name, "request", body) == []


@pytest.mark.parametrize("probe", ON_PURPOSE)
def test_a_judge_accepts_fields_that_only_servers_document(probe: str) -> None:
    """Servers read these fields although no official type has them. The types reject each field; the problems exclude it."""
    format_name, body = ON_PURPOSE[probe]
    judged(format_name)

    assert judges.refusals(format_name, "request", body)
    assert judges.problems(format_name, "request", body) == []


@pytest.mark.parametrize(
    ("format_name", "body", "problem"),
    [
        ("chat_completions", {"id": "x", "created": 1, "model": "m", "object": "chat.completion"}, "/choices missing"),
        (
            "messages",
            {
                "id": "x",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "txt", "text": "hi"}],
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
            "/content/0/type unknown word 'txt'",
        ),
        ("responses", {"object": "response.v2"}, "/object unknown word 'response.v2'"),
        ("generate_content", {"candidates": [{"finishReason": "DONE"}]}, "/candidates/0/finishReason unknown word 'DONE'"),
    ],
)
def test_a_judge_checks_answers_as_strictly_as_requests(format_name: str, body: Body, problem: str) -> None:
    """The SDKs create answers without validation; an invalid one would cause an attribute error in the user's program."""
    judged(format_name)

    assert problem in judges.problems(format_name, "response", body)


@pytest.mark.parametrize(
    ("problem", "shape"),
    [
        ("/messages/0/content/12/type unknown word 'x'", "/messages/*/content/*/type unknown word 'x'"),
        ("/tools/3 is string", "/tools/* is string"),
        ("/a/properties/city/type missing", "/a/properties/*/type missing"),
        ("/logit_bias/50256 int_type, not string", "/logit_bias/* int_type, not string"),
        ("/top_k unknown key", "/top_k unknown key"),
    ],
)
def test_the_shape_of_a_problem_omits_positions_and_values(problem: str, shape: str) -> None:
    """Problems of many bodies can be counted, and distinguished from those of recorded traffic."""
    assert judges.shape(problem) == shape


@corpus.requires_corpus
@pytest.mark.parametrize("format_name", sdk_roots.SDKS)
def test_most_recorded_requests_are_valid(format_name: str) -> None:
    """If the judge rejects most of them, it is wrong, and the baseline hides that."""
    judged(format_name)

    result = [judges.problems(format_name, "request", body) for body in judges.recorded_bodies(format_name, "request")]

    assert sum(not each for each in result) > len(result) / 2
