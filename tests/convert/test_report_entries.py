"""Each entry of a report is true: its pointer exists, its value is that of the body, and its reason is the cause."""

from __future__ import annotations

from typing import Any

import pytest

import formatbridge as fb
from tests.support.same_format import USER


def _chat(server: str) -> fb.Target:
    return fb.Target("chat_completions", dialect=server)


def _losses(converted: fb.Converted) -> list[tuple[str, str, Any]]:
    """Return the pointer, the code and the new value of each loss."""
    return [(loss.path, loss.code, loss.after) for loss in converted.losses]


# Additions.


def test_the_text_before_the_images_of_a_tool_is_an_addition() -> None:
    """A tool message of Chat has text only, so an image follows in a message of the user, with a text that the model reads."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    body = {
        "model": "m",
        "max_tokens": 9,
        "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}],
        "messages": [
            USER,
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": [image]}]},
        ],
    }

    any_server = fb.convert_request(body, source="messages", target="chat_completions")
    mistral = fb.convert_request(body, source="messages", target=_chat("mistral"))

    path, value = "/messages/3/content/0/text", "[tool result toolu_2]"
    assert any_server.body["messages"][3]["content"][0] == {"type": "text", "text": value}
    assert [(each.path, each.value) for each in any_server.additions] == [(path, value)]
    assert any_server.additions[0].why == "the media after it belong to this tool result"
    # Mistral requires a message of the model before it, and has other ids.
    assert "/messages/4/content/0/text" in [each.path for each in mistral.additions]


# Token counts.


def test_the_report_of_a_count_has_nothing_about_an_answer() -> None:
    """A count calls no tool and generates no text, so neither a limit of calls nor a missing flag for reasoning matters."""
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    thinking = {"type": "enabled", "budget_tokens": 8192}
    body = {"model": "m", "messages": [USER], "tools": [search], "thinking": thinking}
    expected = ("/tools/0/max_uses", "not_counted", "info")

    responses = fb.convert_count_request(body, source="messages", target="responses")
    gemini = fb.convert_count_request(body, source="messages", target="generate_content")

    assert "max_tool_calls" not in responses.body
    assert gemini.body["generateContentRequest"]["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 8192}}
    for converted in (responses, gemini):
        assert expected in [(loss.path, loss.code, loss.severity) for loss in converted.losses]
        assert not converted.additions


# Defaults.

_TOOLS = {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]}
_FLAT_TOOLS = {"tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]}


@pytest.mark.parametrize(
    ("server", "settings"),
    [
        ("groq", {"modalities": ["text"]}),
        ("mistral", {"modalities": ["text"]}),
        ("deepseek", {"service_tier": "auto"}),
        ("perplexity", {"service_tier": "default"}),
        ("groq", {"service_tier": "default"}),
        ("ollama", {**_TOOLS, "tool_choice": "auto"}),
        ("together", {"prompt_cache_options": {"mode": "implicit", "ttl": "30m"}}),
    ],
)
def test_a_default_that_a_server_of_chat_does_not_read_is_no_loss(server: str, settings: dict[str, Any]) -> None:
    """Frameworks send defaults in each request. With ``raise_on`` such a request must not fail, because it works."""
    options = fb.Options(raise_on="info")

    converted = fb.convert_request(
        {"model": "m", "messages": [USER], **settings}, source="chat_completions", target=_chat(server), options=options
    )

    assert not converted.losses
    assert converted.body.keys() - {"tools"} == {"model", "messages"}


@pytest.mark.parametrize(
    ("server", "settings"),
    [
        ("ollama", {"background": False}),
        ("xai", {"background": False}),
        ("xai", {"service_tier": "default"}),
        ("xai", {"truncation": "disabled"}),
        ("ollama", {**_FLAT_TOOLS, "tool_choice": "auto"}),
    ],
)
def test_a_default_that_a_server_of_responses_does_not_read_is_no_loss(server: str, settings: dict[str, Any]) -> None:
    """The same with Responses: a request that the server answers as the caller expects has an empty report."""
    target = fb.Target("responses", dialect=server)

    converted = fb.convert_request({"model": "m", "input": "hi", **settings}, source="responses", target=target)

    assert not converted.losses


@pytest.mark.parametrize("settings", [{"service_tier": "auto"}, {"service_tier": "standard_only"}, {"top_k": -1}])
def test_a_default_that_a_server_of_messages_does_not_read_is_no_loss(settings: dict[str, Any]) -> None:
    """Messages has another word for the standard tier, and -1 is a setting without a value."""
    body = {"model": "m", "max_tokens": 9, "messages": [USER], **settings}

    converted = fb.convert_request(body, source="messages", target=fb.Target("messages", dialect="deepseek"))

    assert not converted.losses


# Reasons.


def test_a_flattened_namespace_has_the_reason_that_there_are_none() -> None:
    """The name is legal, so another name would not help the user. Another server of the format would."""
    body = {"model": "m", "input": "hi", "tools": [{"type": "namespace", "name": "ns", "description": "d", **_FLAT_TOOLS}]}

    vllm = fb.convert_request(body, source="responses", target=fb.Target("responses", dialect="vllm"))
    messages = fb.convert_request(body, source="responses", target="messages")

    assert [(loss.path, loss.why) for loss in vllm.losses] == [("/tools/0", "vLLM does not support it")]
    assert [(loss.path, loss.why) for loss in messages.losses] == [("/tools/0", "the target has no namespaces of tools")]


def test_a_model_that_does_not_reason_is_the_reason_also_next_to_a_forced_call() -> None:
    """Without the forced call the effort would be lost as well."""
    body = {"model": "m", "messages": [USER], "reasoning_effort": "high", **_TOOLS, "tool_choice": "required"}
    target = fb.Target("messages", model=fb.ModelFacts(reasoning="none"))

    converted = fb.convert_request(body, source="chat_completions", target=target)

    assert _losses(converted) == [("/reasoning_effort", "no_reasoning", None)]


def test_a_prefill_is_reported_as_a_complete_turn() -> None:
    """The text is in the body, unchanged. What changes is that the model may begin a new turn after it."""
    body = {"model": "m", "max_tokens": 99, "messages": [USER, {"role": "assistant", "content": "The answer is"}]}

    converted = fb.convert_request(body, source="messages", target="chat_completions")

    assert converted.body["messages"][1] == body["messages"][1]  # type: ignore[index]
    assert _losses(converted) == [("/messages/1", "prefill", "a complete turn of the model")]


def test_a_limit_that_the_format_requires_cannot_be_refused() -> None:
    """A table of models may have facts of another format. The limit of the caller is better than the default one."""
    facts = fb.ModelFacts(refuses=frozenset({"max_tokens"}))
    sources: list[fb.Format] = ["chat_completions", "messages"]

    for source in sources:
        body = {"model": "m", "messages": [USER], "max_tokens": 9000}
        converted = fb.convert_request(body, source=source, target=fb.Target("messages", model=facts))

        assert converted.body["max_tokens"] == 9000
        assert not converted.losses
        assert not converted.additions


# Pointers.


@pytest.mark.parametrize("name", ["f", None])
def test_the_choice_of_a_tool_is_lost_without_the_setting_next_to_it(name: str | None) -> None:
    """A server may read whether calls may be parallel, which Messages has in the same object, and ignore the choice."""
    rules = fb.DialectRules(server="X", ignores=frozenset({"tool_choice"}))
    target = fb.Target("chat_completions", dialect=fb.Dialect("local", {"chat_completions": rules}))
    function = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    choice = {"type": "tool", "name": name} if name else {"type": "any"}
    body = {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [function]}

    def losses(tool_choice: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        converted = fb.convert_request(body | {"tool_choice": tool_choice}, source="messages", target=target)
        return converted.body, [loss.path for loss in converted.losses]

    alone, paths_alone = losses(choice)
    both, paths = losses(choice | {"disable_parallel_tool_use": True})

    assert "parallel_tool_calls" not in alone
    assert paths_alone == ["/tool_choice"]
    assert both["parallel_tool_calls"] is False
    assert paths == [f"/tool_choice/{key}" for key in choice]


_TOKENS = [{"type": "reasoning.encrypted", "data": "enc"}, {"type": "reasoning.text", "text": "", "signature": "sig"}]


def test_lost_tokens_of_another_format_have_pointers_of_the_caller() -> None:
    """A client of Messages keeps the tokens of a Chat server in its history, and then another server gets this history."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a", "reasoning_details": _TOKENS}}
    answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    content = fb.convert_response(answer, source="chat_completions", target="messages").body["content"]
    messages = [USER, {"role": "assistant", "content": content}, USER]

    converted = fb.convert_request(
        {"model": "m", "max_tokens": 9, "system": "s", "messages": messages}, source="messages", target=_chat("mistral")
    )

    assert converted.losses
    for loss in converted.losses:
        _, _, _, _, index, *_ = loss.path.split("/")
        assert loss.before in (content[int(index)], *content[int(index)].values())
        assert loss.code == "rejected_by_server"
