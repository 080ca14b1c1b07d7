"""Settings of requests that several formats have, with different ranges and defaults."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import formatbridge as fb

ASKED = {"role": "user", "content": "q"}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}


def _chat(target: fb.Format, **fields: Any) -> fb.Converted:
    return fb.convert_request({"model": "m", "messages": [ASKED]} | fields, source="chat_completions", target=target)


def _losses_of(converted: fb.Converted) -> list[tuple[str, str, str]]:
    return [(loss.path, loss.kind, loss.severity) for loss in converted.losses]


# The seed.


@pytest.mark.parametrize(("seed", "is_taken"), [(-(2**31) - 1, False), (-(2**31), True), (2**31 - 1, True), (2**31, False)])
def test_a_seed_of_more_than_32_bits_is_dropped_in_generate_content(seed: int, is_taken: bool) -> None:
    """The server rejects it, and the nearest value would give another answer."""
    result = _chat("generate_content", seed=seed)

    assert result.body.get("generationConfig", {}).get("seed") == (seed if is_taken else None)
    assert _losses_of(result) == ([] if is_taken else [("/seed", "dropped", "lossy")])


# How an answer comes as a stream.


@pytest.mark.parametrize("target", ["messages", "responses", "generate_content"])
@pytest.mark.parametrize("usage", [{}, {"include_usage": None}, {"include_usage": True}], ids=str)
def test_include_usage_is_no_loss_unless_it_is_false(usage: dict[str, Any], target: fb.Format) -> None:
    """The other formats send the usage in any case."""
    result = _chat(target, stream=True, stream_options=usage | {"include_obfuscation": None})

    assert _losses_of(result) == []


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_stream_options_are_reported_one_by_one(target: fb.Format) -> None:
    """One option may be a loss and another none."""
    result = _chat(target, stream=True, stream_options={"include_usage": True, "include_obfuscation": False})

    assert _losses_of(result) == [("/stream_options/include_obfuscation", "dropped", "info")]


def test_include_obfuscation_is_kept_in_chat_completions() -> None:
    """Two formats have the same field; the request for usage is separate."""
    body = {"model": "m", "input": "q", "stream": True, "stream_options": {"include_obfuscation": False}}

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert converted.body["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    assert _losses_of(converted) == []


def test_stream_options_are_sent_to_chat_completions_with_a_stream_only() -> None:
    """Its server rejects them without a stream."""
    body = {"model": "m", "input": "q", "stream_options": {"include_obfuscation": False}}

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert "stream_options" not in converted.body
    assert _losses_of(converted) == [("/stream_options/include_obfuscation", "dropped", "info")]


# Metadata.


@pytest.mark.parametrize(
    ("source", "target", "field", "body"),
    [
        ("generate_content", "responses", "labels", CONTENTS),
        ("responses", "chat_completions", "metadata", {"input": "q"}),
        ("chat_completions", "responses", "metadata", {"messages": [ASKED]}),
    ],
)
def test_metadata_is_limited_to_what_the_server_accepts(
    source: fb.Format, target: fb.Format, field: str, body: dict[str, Any]
) -> None:
    """It accepts sixteen pairs with keys of 64 characters and values of 512, and rejects a request with more."""
    labels = {"k" * 64: "a", "k/" * 33: "b", "long": "v" * 513} | {f"k{count}": "c" for count in range(15)}

    converted = fb.convert_request(body | {field: labels}, source=source, target=target, model="m")

    assert converted.body["metadata"] == {"k" * 64: "a", "long": "v" * 512} | {f"k{count}": "c" for count in range(14)}
    assert [(loss.path, loss.kind, loss.code, loss.severity) for loss in converted.losses] == [
        (f"/{field}/{'k~1' * 33}", "dropped", "out_of_range", "info"),
        (f"/{field}/long", "changed", "out_of_range", "info"),
        (f"/{field}/k14", "dropped", "too_many", "info"),
    ]


@pytest.mark.parametrize(
    ("store", "expected", "lost"),
    [
        ({}, {"metadata": {"a": "b"}, "store": True}, []),
        ({"store": True}, {"metadata": {"a": "b"}, "store": True}, []),
        ({"store": None}, {"metadata": {"a": "b"}, "store": True}, []),
        ({"store": False}, {"store": False}, [("/metadata", "not_stored")]),
    ],
)
def test_metadata_is_sent_to_chat_completions_with_stored_responses_only(
    store: dict[str, Any], expected: dict[str, Any], lost: list[tuple[str, str]]
) -> None:
    """Its server rejects other requests with metadata. The server of Responses stores by default."""
    body = {"model": "m", "input": "q", "metadata": {"a": "b"}, **store}

    converted = fb.convert_request(body, source="responses", target="chat_completions")

    assert {key: converted.body[key] for key in ("metadata", "store") if key in converted.body} == expected
    assert [(loss.path, loss.code) for loss in converted.losses] == lost
    assert [each.path for each in converted.additions] == ([] if store.get("store") is not None else ["/store"])


# One call at a time.


SERIAL: dict[str, dict[str, Any]] = {
    "chat_completions": {"model": "m", "messages": [ASKED], "parallel_tool_calls": False},
    "messages": {
        "model": "m",
        "max_tokens": 99,
        "messages": [ASKED],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    },
    "responses": {"model": "m", "input": "q", "parallel_tool_calls": False},
}


@pytest.mark.parametrize(("source", "target"), [pair for pair in product(SERIAL, fb.FORMATS) if pair[0] != pair[1]])
def test_parallel_tool_calls_matters_with_tools_only(source: fb.Format, target: fb.Format) -> None:
    """Without tools there are no calls."""
    converted = fb.convert_request(SERIAL[source], source=source, target=target)

    assert {(loss.code, loss.severity) for loss in converted.losses} == {("without_tools", "info")}


@pytest.mark.parametrize(("choice", "severity"), [("none", "info"), ("auto", "lossy")])
def test_a_lost_parallel_tool_calls_setting_is_reported(choice: str, severity: str) -> None:
    """The target may return several calls where the source asked for one at a time."""
    tools = [{"type": "function", "function": {"name": "f"}}]

    result = _chat("generate_content", tools=tools, tool_choice=choice, parallel_tool_calls=False)

    assert _losses_of(result) == [("/parallel_tool_calls", "dropped", severity)]


# What the answer is.


@pytest.mark.parametrize("target", ["messages", "responses"])
def test_the_text_modality_is_never_lost(target: fb.Format) -> None:
    """Every answer has text, so only the other modalities are missing."""
    result = _chat(target, modalities=["text", "audio"])

    assert _losses_of(result) == [("/modalities/1", "dropped", "impossible")]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "responses"])
def test_a_lost_modality_is_reported_at_its_field(target: fb.Format) -> None:
    """A modality without an effect still has an index in the list."""
    config = {"responseModalities": ["MODALITY_UNSPECIFIED", "IMAGE"]}

    converted = fb.convert_request(CONTENTS | {"generationConfig": config}, source="generate_content", target=target, model="m")

    assert _losses_of(converted) == [("/generationConfig/responseModalities/1", "dropped", "impossible")]


# Which tools of a remote server may be used.


def _remote(defaults: dict[str, Any], switches: dict[str, Any], target: fb.Format) -> fb.Converted:
    server = {"type": "url", "name": "s", "url": "https://example.com"}
    toolset = {"type": "mcp_toolset", "mcp_server_name": "s", "default_config": defaults, "configs": {"f": switches}}
    body = {"model": "m", "max_tokens": 99, "messages": [ASKED], "mcp_servers": [server], "tools": [toolset]}
    return fb.convert_request(body, source="messages", target=target)


@pytest.mark.parametrize("target", ["responses", "generate_content"])
@pytest.mark.parametrize(
    ("defaults", "switches"),
    [
        ({}, {"enabled": True, "defer_loading": False}),
        ({"enabled": None}, {"enabled": True}),
        ({"enabled": True}, {"enabled": None}),
    ],
)
def test_a_setting_with_its_default_value_is_no_loss(defaults: dict[str, Any], switches: dict[str, Any], target: fb.Format) -> None:
    """Callers write out defaults."""
    assert _losses_of(_remote(defaults, switches, target)) == []


def test_a_setting_with_another_value_than_its_default_is_a_loss() -> None:
    """The target loads all tools of a server, and can only list the allowed ones."""
    result = _remote({"defer_loading": True}, {"enabled": False, "defer_loading": False}, "responses")

    assert {path for path, _, _ in _losses_of(result)} == {"/tools/0/configs/f/enabled", "/tools/0/configs/f/defer_loading"}


# Reasoning that a request to generate_content shows.


@pytest.mark.parametrize(
    ("changes", "config"),
    [
        ({"reasoning_effort": "low"}, {"thinkingLevel": "LOW", "includeThoughts": True}),
        ({"reasoning_effort": "none"}, {"thinkingBudget": 0}),
    ],
)
def test_an_effort_makes_generate_content_show_its_reasoning(changes: dict[str, Any], config: dict[str, Any]) -> None:
    """Every other server shows its reasoning; this one only on request."""
    result = _chat("generate_content", **changes)

    assert result.body["generationConfig"]["thinkingConfig"] == config
    shown = "/generationConfig/thinkingConfig/includeThoughts"
    assert [item.path for item in result.additions] == ([shown] if "includeThoughts" in config else [])


@pytest.mark.parametrize(
    ("thinking", "shown", "is_added"),
    [
        ({"type": "enabled", "budget_tokens": 2048}, True, True),
        ({"type": "adaptive"}, True, True),
        ({"type": "enabled", "budget_tokens": 2048, "display": "omitted"}, False, False),
        ({"type": "enabled", "budget_tokens": 2048, "display": "summarized"}, True, False),
        ({"type": "disabled"}, None, False),
    ],
)
def test_a_budget_makes_generate_content_show_its_reasoning(thinking: dict[str, Any], shown: bool | None, is_added: bool) -> None:
    """A setting of the caller has precedence."""
    body = {"model": "m", "max_tokens": 4096, "messages": [ASKED], "thinking": thinking}

    converted = fb.convert_request(body, source="messages", target="generate_content")

    assert converted.body["generationConfig"].get("thinkingConfig", {}).get("includeThoughts") is shown
    assert bool(converted.additions) is is_added


def test_a_request_without_reasoning_does_not_ask_for_any() -> None:
    """Nothing is added if the request has no reasoning setting."""
    result = _chat("generate_content", max_completion_tokens=9)

    assert (result.body["generationConfig"], result.additions) == ({"maxOutputTokens": 9}, ())


# Metadata.


def test_generate_content_has_no_metadata() -> None:
    """The Developer API rejects ``labels``; only the Vertex API has them."""
    result = _chat("generate_content", metadata={"team": "x"})

    assert "labels" not in result.body
    assert [(loss.path, loss.kind, loss.severity, loss.code) for loss in result.losses] == [
        ("/metadata", "dropped", "info", "no_counterpart")
    ]


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_media_types_of_an_answer_may_be_values_of_the_enum(target: fb.Format) -> None:
    """The vendor's documentation has the enum, its examples the media type."""
    unchanged, request = [
        fb.convert_request(
            {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"responseFormat": [{"text": text}]}},
            source="generate_content",
            target=target,
            model="m",
        )
        for text in ({"mimeType": "TEXT_PLAIN"}, {"mimeType": "APPLICATION_JSON", "schema": {"type": "object"}})
    ]

    assert unchanged.losses == request.losses == ()
    assert "json_schema" in str(request.body)
    assert "format" not in str(unchanged.body)


@pytest.mark.parametrize(
    ("target", "key", "word", "lost"),
    [
        ("chat_completions", "service_tier", "fast", "/service_tier"),
        ("responses", "service_tier", "fast", "/service_tier"),
        ("generate_content", "serviceTier", "standard", "/speed"),
    ],
)
def test_speed_and_service_tier_are_separate_settings(target: fb.Format, key: str, word: str, lost: str) -> None:
    """A format with one field for both keeps the speed; without a speed it keeps the tier."""
    body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
    request = body | {"speed": "fast", "service_tier": "standard_only"}

    converted = fb.convert_request(request, source="messages", target=target)

    assert converted.body[key] == word
    assert (lost, "dropped", "lossy") in [(loss.path, loss.kind, loss.severity) for loss in converted.losses]
    assert {loss.path for loss in converted.losses} <= {"/speed", lost}
