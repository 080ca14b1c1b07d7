"""No converted request breaks a rule of its vendor that no type states (law 16)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.testing.vendor_rules import Facts, broken_rules
from tests.corpus import FOLDER, requires_corpus
from tests.support.directions import DIRECTIONS
from tests.support.laws import Sample, recorded, shipped
from tests.support.vendor_rules import is_omission

ASKED = [{"role": "user", "content": "x"}]


def _losses_of(converted: fb.Converted) -> list[tuple[str, str, str, str]]:
    return [(loss.path, loss.kind, loss.severity, loss.code) for loss in converted.losses]


# Sampling next to thinking.


def _thinking(**settings: Any) -> fb.ConvertedRequest:
    config = {"thinkingConfig": {"thinkingLevel": "HIGH"}} | settings
    body = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": config}
    return fb.convert_request(body, source="generate_content", target="messages", model="m")


@pytest.mark.parametrize(
    ("name", "value", "wire"), [("temperature", 0, "temperature"), ("topP", 0.9, "top_p"), ("topK", 5, "top_k")]
)
def test_sampling_settings_that_exclude_thinking_are_dropped_and_reported(name: str, value: float, wire: fb.Format) -> None:
    """The server answers such a request with 400."""
    result = _thinking(**{name: value})

    assert wire not in result.body
    assert _losses_of(result) == [(f"/generationConfig/{name}", "dropped", "lossy", "with_reasoning")]


def test_sampling_settings_compatible_with_thinking_are_no_loss() -> None:
    """A temperature of 1 is the default."""
    result = _thinking(temperature=1.0, topP=0.97)

    assert result.body["top_p"] == 0.97
    assert "temperature" not in result.body
    assert not result.losses


def test_sampling_settings_stay_if_thinking_is_off() -> None:
    """Only thinking excludes them."""
    body = {"model": "m", "messages": ASKED, "temperature": 0.2, "top_p": 0.5, "reasoning_effort": "none"}

    converted = fb.convert_request(body, source="chat_completions", target="messages")

    assert (converted.body["temperature"], converted.body["top_p"], converted.body["thinking"]) == (0.2, 0.5, {"type": "disabled"})


def test_sampling_settings_with_thinking_are_unchanged_in_the_same_format() -> None:
    """A caller of the same format gets the error of the server."""
    body = {"model": "m", "max_tokens": 2000, "messages": ASKED, "thinking": {"type": "adaptive"}, "temperature": 0.2}

    converted = fb.convert_request(body, source="messages", target="messages")

    assert converted.body == body
    assert not converted.losses


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({"temperature": 0.5, "top_p": 1}, {"temperature": 0.5}),
        ({"temperature": 1, "top_p": 0.5}, {"top_p": 0.5}),
        ({"temperature": 1, "top_p": 1}, {"temperature": 1}),
        ({"top_p": 1}, {"top_p": 1}),
        ({"temperature": 0.5, "top_p": 0.5}, {"temperature": 0.5, "top_p": 0.5}),
    ],
)
def test_a_default_is_not_sent_next_to_another_sampling_setting(sampling: dict[str, float], expected: dict[str, float]) -> None:
    """Some models reject both together, and many clients send the default of one. Facts about the model exclude the other."""
    body = {"model": "m", "messages": ASKED, **sampling}

    converted = fb.convert_request(body, source="chat_completions", target="messages")

    assert {name: converted.body[name] for name in ("temperature", "top_p") if name in converted.body} == expected
    assert not converted.losses


# A choice among no tools.

SEARCH: dict[str, list[Any]] = {
    "messages": [{"type": "web_search_20260318", "name": "web_search"}],
    "responses": [{"type": "web_search"}],
    "generate_content": [{"googleSearch": {}}],
}


def _asked(source: fb.Format, choice: Any, tools: list[Any], **settings: Any) -> dict[str, Any]:
    """Return a request with a choice among tools, in its format."""
    request = {"tools": tools} if tools else {}
    if source == "generate_content":
        config = {"functionCallingConfig": {"mode": {"required": "ANY"}.get(choice, choice.upper())}}
        return {"contents": [{"parts": [{"text": "x"}]}], "toolConfig": config, **request}
    if source == "responses":
        return {"model": "m", "input": "x", "tool_choice": choice, **request, **settings}
    if source == "messages":
        chosen = {"type": {"required": "any"}.get(choice, choice)}
        return {"model": "m", "max_tokens": 99, "messages": ASKED, "tool_choice": chosen, **request, **settings}
    return {"model": "m", "messages": ASKED, "tool_choice": choice, **request, **settings}


def _choices_of(body: dict[str, Any]) -> set[str]:
    return {"tool_choice", "parallel_tool_calls", "toolConfig"} & body.keys()


@pytest.mark.parametrize("choice", ["auto", "none"])
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_choices_auto_and_none_without_tools_are_omitted_without_a_loss(source: fb.Format, target: fb.Format, choice: str) -> None:
    """Frameworks send the choice in every request, and the servers reject it without tools."""
    converted = fb.convert_request(_asked(source, choice, []), source=source, target=target, model="m")

    assert not _choices_of(converted.body)
    assert not converted.losses


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_choice_required_without_tools_is_a_loss(source: fb.Format, target: fb.Format) -> None:
    """The answer may have no call."""
    converted = fb.convert_request(_asked(source, "required", []), source=source, target=target, model="m")

    at = "/toolConfig/functionCallingConfig" if source == "generate_content" else "/tool_choice"
    assert not _choices_of(converted.body)
    assert _losses_of(converted) == [(at, "dropped", "lossy", "without_tools")]


@pytest.mark.parametrize("target", ["chat_completions", "generate_content"])
@pytest.mark.parametrize("source", SEARCH)
def test_a_tool_choice_that_does_not_apply_to_the_tools_is_omitted(source: fb.Format, target: fb.Format) -> None:
    """In these formats the search is no tool that a choice applies to; it is excluded by its absence."""
    if source == target:
        return
    freely, never = (
        fb.convert_request(_asked(source, choice, SEARCH[source]), source=source, target=target, model="m")
        for choice in ("auto", "none")
    )

    assert not _choices_of(freely.body)
    assert not freely.losses
    assert not _choices_of(never.body)
    assert _losses_of(never) == ([] if source == "generate_content" else [("/tools/0", "dropped", "info", "not_allowed")])


@pytest.mark.parametrize("target", ["chat_completions", "messages"])
def test_parallel_tool_calls_is_dropped_with_the_tools(target: fb.Format) -> None:
    """There are no calls at all."""
    body = _asked("responses", "auto", [], parallel_tool_calls=False)

    converted = fb.convert_request(body, source="responses", target=target)

    assert not _choices_of(converted.body)
    assert _losses_of(converted) == [("/parallel_tool_calls", "dropped", "info", "without_tools")]


def test_thinking_stays_if_the_forced_tool_was_dropped() -> None:
    """Only a forced call excludes it."""
    body = _asked("responses", "required", [{"type": "local_shell"}], reasoning={"effort": "high"})

    converted = fb.convert_request(body, source="responses", target="messages")

    assert converted.body["thinking"] == {"type": "adaptive"}


def test_a_choice_among_subsequent_tools_is_kept() -> None:
    """They are tools of the request like any other."""
    added = {"type": "additional_tools", "role": "developer", "tools": [
        {"type": "function", "name": "f", "parameters": None, "strict": False}
    ]}  # fmt: skip
    body = _asked("responses", "required", []) | {"input": [{"role": "user", "content": "x"}, added]}

    choices: dict[fb.Format, Any] = {"messages": {"type": "any"}, "chat_completions": "required"}
    for target, choice in choices.items():
        assert fb.convert_request(body, source="responses", target=target).body["tool_choice"] == choice


# Media at an address.


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (".pdf", "document"), ("", "document"), (".bin", "document"), (".png", "image"), (".PNG?size=2", "image"), (".jpeg", "image"),
        (".mp3", None), (".mp4", None), (".docx", None), (".csv", None), (".svg", None), (".tiff", None),
    ],
)  # fmt: skip
def test_a_url_is_sent_if_the_server_accepts_its_file_extension(ending: str, kind: str | None) -> None:
    """It fetches images and PDF, and rejects the request for other files; an unknown extension is passed on."""
    file = {"type": "input_file", "file_url": f"https://example.com/a{ending}"}
    body = {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}, file]}]}

    converted = fb.convert_request(body, source="responses", target="messages")

    content = converted.body["messages"][0]["content"]
    if kind is None:
        assert content == "x"
        assert _losses_of(converted) == [("/input/0/content/1", "dropped", "impossible", "unsupported_media")]
    else:
        assert content[1] == {"type": kind, "source": {"type": "url", "url": file["file_url"]}}
        assert not converted.losses


@pytest.mark.parametrize(
    ("mime", "kind"),
    [("application/pdf", "document"), ("image/png", "image"), ("text/csv", None), ("image/svg+xml", None), ("image/tiff", None)],
)
def test_an_explicit_media_type_has_precedence_over_the_file_extension(mime: str, kind: str | None) -> None:
    """URLs of files often have no extension."""
    file = {"fileData": {"mimeType": mime, "fileUri": "https://example.com/a.pdf"}}
    body = {"contents": [{"parts": [{"text": "x"}, file]}]}

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m")

    content = converted.body["messages"][0]["content"]
    assert [block["type"] for block in content[1:] if content != "x"] == ([kind] if kind else [])
    assert ("/contents/0/parts/1" in {loss.path for loss in converted.losses}) is (kind is None)


# Thinking within a budget.


@pytest.mark.parametrize("default", [76, 500, 4096])
@pytest.mark.parametrize("budget", [1, 600, 1024, 2000])
def test_a_generated_token_limit_leaves_its_default_for_the_answer(budget: int, default: int) -> None:
    """A budget is raised to the minimum of the server, which would leave little for the answer, or no place for thinking."""
    config = {"generationConfig": {"thinkingConfig": {"thinkingBudget": budget}}}
    body = {"contents": [{"parts": [{"text": "x"}]}], **config}
    options = fb.Options(default_max_tokens=default)

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m", options=options).body

    assert converted["thinking"] == {"type": "enabled", "budget_tokens": max(1024, budget)}
    assert converted["max_tokens"] == converted["thinking"]["budget_tokens"] + default


LOOP: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "x"}]},
    {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"output": "x"}}}]},
]
SIGNED = {"text": "hm", "thought": True, "thoughtSignature": "ZmIxfG1lc3NhZ2VzfHRoaW5raW5nfFNJRw=="}
"""Reasoning that the server of messages signed, as an answer has it."""


def _within_budget(contents: list[dict[str, Any]], **thinking: Any) -> fb.ConvertedRequest:
    config = {"thinkingConfig": {"thinkingBudget": 2048} | thinking}
    return fb.convert_request(
        {"contents": contents, "generationConfig": config}, source="generate_content", target="messages", model="m"
    )


@pytest.mark.parametrize("contents", [LOOP, [*LOOP[:1], {"role": "model", "parts": [{"text": "so"}]}]])
def test_a_thinking_budget_is_dropped_if_the_current_answer_began_without_thinking(contents: list[dict[str, Any]]) -> None:
    """The server looks for the thinking before the calls that were just answered, and before a text that it continues."""
    result = _within_budget(contents)

    assert "thinking" not in result.body
    assert ("/generationConfig/thinkingConfig/thinkingBudget", "dropped", "lossy", "lacks_reasoning") in _losses_of(result)


@pytest.mark.parametrize(
    "contents",
    [
        LOOP[:1],
        [*LOOP, {"role": "model", "parts": [{"text": "y"}]}, {"role": "user", "parts": [{"text": "z"}]}],
        [LOOP[0], {"role": "model", "parts": [SIGNED, *LOOP[1]["parts"]]}, LOOP[2]],
    ],
)
def test_a_thinking_budget_stays_if_no_required_reasoning_is_missing(contents: list[dict[str, Any]]) -> None:
    """A new question begins a new answer; one that began with its thinking continues."""
    result = _within_budget(contents)

    assert result.body["thinking"] == {"type": "enabled", "budget_tokens": 2048}


# A final turn of the model.

SIGNED_BLOCK = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def _prefilled(text: str, **settings: Any) -> fb.ConvertedRequest:
    answer = {"role": "assistant", "content": text, "thinking_blocks": [SIGNED_BLOCK]}
    body = {"model": "m", "messages": [*ASKED, answer], **settings}
    return fb.convert_request(body, source="chat_completions", target="messages")


@pytest.mark.parametrize("settings", [{}, {"reasoning_effort": "high"}])
def test_a_final_turn_of_the_model_does_not_end_with_thinking(settings: dict[str, Any]) -> None:
    """The server rejects it, and an answer of thinking alone has nothing that it could continue."""
    result = _prefilled("", **settings)

    assert result.body["messages"] == ASKED
    assert _losses_of(result) == [("/messages/1/thinking_blocks/0", "dropped", "lossy", "prefill")]


def test_thinking_before_the_final_text_stays_only_if_thinking_is_on() -> None:
    """The server rejects it there if the request turns thinking off."""
    without, thinking = _prefilled("so"), _prefilled("so", reasoning_effort="high")

    assert without.body["messages"][1]["content"] == "so"
    assert ("/messages/1/thinking_blocks/0", "dropped", "lossy", "prefill") in _losses_of(without)
    assert thinking.body["messages"][1]["content"] == [SIGNED_BLOCK, {"type": "text", "text": "so"}]


def test_thinking_of_an_earlier_turn_stays() -> None:
    """The server accepts the reasoning of earlier answers, also as their last block."""
    answer = {"role": "assistant", "content": "", "thinking_blocks": [SIGNED_BLOCK]}
    body = {"model": "m", "messages": [*ASKED, answer, *ASKED]}

    converted = fb.convert_request(body, source="chat_completions", target="messages")

    assert converted.body["messages"][1]["content"] == [SIGNED_BLOCK]
    assert not converted.losses


# Calls in the first turn.

CALLED_FIRST: list[dict[str, Any]] = [
    {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "x"},
]


@pytest.mark.parametrize("before", [[], [{"role": "system", "content": "s"}], [{"role": "assistant", "content": "a"}]])
@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_calls_in_the_first_turn_are_reported(target: fb.Format, before: list[dict[str, Any]]) -> None:
    """The servers require a user turn before them. An application that shortens a long conversation may leave none."""
    converted = fb.convert_request({"model": "m", "messages": [*before, *CALLED_FIRST]}, source="chat_completions", target=target)

    at = f"/messages/{sum(message['role'] == 'system' for message in before)}"
    assert [loss.path for loss in converted.losses if loss.code == "first_turn"] == [at]


@pytest.mark.parametrize("messages", [[*ASKED, *CALLED_FIRST], [{"role": "assistant", "content": "a"}, *ASKED]])
def test_other_first_turns_are_no_loss_in_generate_content(messages: list[dict[str, Any]]) -> None:
    """The server accepts a text of the model first."""
    converted = fb.convert_request({"model": "m", "messages": messages}, source="chat_completions", target="generate_content")

    assert not converted.losses


# Media of failed tools.


def test_media_of_a_failed_result_follow_the_results_of_their_turn() -> None:
    """The server accepts only texts in a failed result, and results come first in a turn."""
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    calls = [{"functionCall": {"id": name, "name": "f", "args": {}}} for name in "ab"]
    results = [
        {"functionResponse": {"id": name, "name": "f", "response": {key: "x"}, "parts": [image]}}
        for name, key in (("a", "error"), ("b", "output"))
    ]
    contents = [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": calls}, {"role": "user", "parts": results}]

    converted = fb.convert_request({"contents": contents}, source="generate_content", target="messages", model="m")

    failed, succeeded, moved = converted.body["messages"][2]["content"]
    assert failed == {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": True}
    assert [block["type"] for block in succeeded["content"]] == ["text", "image"]
    assert moved["type"] == "image"
    assert _losses_of(converted) == [("/contents/2/parts/0/functionResponse/parts/0", "changed", "lossy", "moved")]


# Ids of end users.


@pytest.mark.parametrize("name", ["user", "safety_identifier"])
@pytest.mark.parametrize(("value", "code"), [("ann@example.com", "email_address"), ("u" * 257, "out_of_range")])
def test_an_id_of_an_end_user_that_the_server_rejects_becomes_a_hash(name: str, value: str, code: str) -> None:
    """It rejects email addresses; a hash still distinguishes the users of an application."""
    body = {"model": "m", "messages": ASKED, name: value}

    converted = fb.convert_request(body, source="chat_completions", target="messages")

    user_id = converted.body["metadata"]["user_id"]
    assert re.fullmatch("[0-9a-f]{64}", user_id)
    assert _losses_of(converted) == [(f"/{name}", "changed", "info", code)]


@pytest.mark.parametrize("value", ["user-17", "u" * 256, "ann@home"])
def test_an_id_of_an_end_user_that_the_server_accepts_stays(value: str) -> None:
    """Most applications have such ids."""
    body = {"model": "m", "messages": ASKED, "safety_identifier": value}

    converted = fb.convert_request(body, source="chat_completions", target="messages")

    assert converted.body["metadata"] == {"user_id": value}


# Names of tools.


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_the_second_tool_of_a_name_is_renamed_and_its_calls_are_restored(target: fb.Format) -> None:
    """Some servers accept two, others reject the request."""
    tools = [{"type": "function", "function": {"name": name, "description": name}} for name in ("f", "f", "f_2")]
    request = fb.convert_request({"model": "m", "messages": ASKED, "tools": tools}, source="chat_completions", target=target)
    wired = request.body["tools"] if target == "messages" else request.body["tools"][0]["functionDeclarations"]
    names = [tool["name"] for tool in wired]

    answer = fb.replay_response(  # the answer calls the second tool under its name there
        {"id": "a", "choices": [{"message": {"tool_calls": [{"id": "b", "function": {"name": names[1]}}]}, "finish_reason": "tool_calls"}]},
        source="chat_completions", target=target,
    )  # fmt: skip
    body = fb.collect_stream(answer, source=target).body
    returned = fb.convert_response(body, source=target, target="chat_completions", request=request)

    assert names == ["f", "f_3", "f_2"]
    assert _losses_of(request) == [("/tools/1/function/name", "changed", "lossy", "renamed")]
    assert returned.body["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "f"


def test_a_function_with_the_name_of_a_server_tool_is_renamed() -> None:
    """A caller with a search function who also uses the server's search has two tools of one name."""
    function = {"type": "function", "name": "web_search", "parameters": None, "strict": False}
    body = {"model": "m", "input": "x", "tools": [function, {"type": "web_search"}, {"type": "web_search_preview"}]}

    converted = fb.convert_request(body, source="responses", target="messages")

    assert [tool["name"] for tool in converted.body["tools"]] == ["web_search_2", "web_search"]
    assert _losses_of(converted) == [("/tools/0/name", "changed", "lossy", "renamed"), ("/tools/2", "dropped", "lossy", "too_many")]


# Log probabilities.


@pytest.mark.parametrize("target", ["chat_completions", "generate_content"])
def test_top_logprobs_is_omitted_if_logprobs_are_not_requested(target: fb.Format) -> None:
    """The server rejects one without the other, and the answer would have none anyway."""
    body = {"model": "m", "input": "x", "top_logprobs": 3}
    request = body | {"include": ["message.output_text.logprobs"]}

    without, extra = (fb.convert_request(each, source="responses", target=target) for each in (body, request))

    assert _losses_of(without) == [("/top_logprobs", "dropped", "info", "excluded")]
    assert not extra.losses
    assert 3 in (extra.body.get("top_logprobs"), extra.body.get("generationConfig", {}).get("logprobs"))


AGENTS = FOLDER / "agents"
requires_agents = pytest.mark.skipif(
    not (AGENTS / "index.jsonl").is_file(),
    reason=f"no recorded requests of agents in {str(AGENTS)!r}; FORMATBRIDGE_CORPUS names the folder of the corpus",
)
every_direction = pytest.mark.parametrize(
    ("source", "target"), DIRECTIONS, ids=[f"{source}-to-{target}" for source, target in DIRECTIONS]
)


def agents(format: fb.Format) -> Iterator[Sample]:
    """Yield the requests of coding agents in a format."""
    for line in (AGENTS / "index.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["format"] == format:
            body: Any = json.loads((AGENTS / row["file"]).read_bytes())
            yield Sample(row["file"], format, "request", body, row["url_model"] or row["model"])


def refused(samples: Iterable[Sample], target: Any) -> list[str]:
    """Return the errors of a format's vendor for converted requests.

    No relay has issued the tokens of these histories. So nothing counts as stored, and a token counts as the target's if it has no tag of
    another format. A body that is invalid in its format is not converted, so no vendor gets it.
    """
    problems = []
    for sample in samples:
        try:
            converted = sample.convert(sample.body, target)
        except fb.InvalidPayloadError:
            continue
        assert isinstance(converted, fb.ConvertedRequest)
        for rule, failure in broken_rules(target, converted.body, Facts(model=converted.model)):
            if is_omission(rule.name, sample, converted.losses):
                continue
            problems.append(f"{sample}: {rule.name}: {failure.message[:120]}")
    return problems


@every_direction
def test_no_vendor_rejects_a_converted_fixture(source: fb.Format, target: fb.Format) -> None:
    """The server must accept an output, not only the types."""
    assert refused(shipped(source, "request"), target) == []


@requires_corpus
@every_direction
def test_no_vendor_rejects_a_converted_recording(source: fb.Format, target: fb.Format) -> None:
    """Real callers send values that no fixture has."""
    assert refused(recorded(source, "request"), target) == []


@requires_agents
@every_direction
def test_no_vendor_rejects_the_converted_request_of_an_agent(source: fb.Format, target: fb.Format) -> None:
    """An agent over a bridge stops at the first step that is rejected."""
    assert refused(agents(source), target) == []


def test_a_token_that_no_relay_issued_counts_if_it_has_no_tag() -> None:
    """The tagged token of an earlier answer returns as its issuer wrote it, and must not look like that of another vendor."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "fb1|responses|encrypted|gAAA|rs_1"}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hi."}]}]
    body = {"model": "m", "max_tokens": 99, "messages": [*messages, {"role": "user", "content": "again"}]}

    converted = fb.convert_request(body, source="messages", target="responses")

    assert [item.get("encrypted_content") for item in converted.body["input"] if item["type"] == "reasoning"] == ["gAAA"]
    assert list(broken_rules("responses", converted.body, Facts())) == []
    assert [rule.name for rule, _ in broken_rules("messages", body, Facts())] == ["unknown_signature"]
