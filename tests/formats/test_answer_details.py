"""What hides in the corners of an answer: free text as arguments, warnings of a run, tokens of no text, nulls in a place."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import fixtures
from tests.support.judges import problems

ASKED = [{"role": "user", "content": "x"}]


def _answered(message: dict[str, Any], tokens: list[str], target: str) -> fb.Converted:
    """Convert an answer of chat_completions whose tokens have probabilities."""
    events: list[Any] = [{"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": []} for token in tokens]
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    choice["logprobs"] = {"content": events, "refusal": None}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return fb.convert_response(body, source="chat_completions", target=target)


def _of_responses(output: list[dict[str, Any]], target: str) -> fb.Converted:
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    body = head | {"output": output, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return fb.convert_response(body, source="responses", target=target)


@pytest.mark.parametrize("text", ['{"a": 1}', "ls -l", ""])
def test_free_text_input_of_a_tool_stays_text_in_formats_with_object_arguments(text: str) -> None:
    """Text that looks like JSON is text all the same; whoever parses it calls the tool with something else."""
    call = {"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "f", "input": text}

    result = _of_responses([call], "generate_content")

    assert result.body["candidates"][0]["content"]["parts"] == [{"functionCall": {"id": "c", "name": "f", "args": {"input": text}}}]
    assert ("/output/0", "wrapped") in [(loss.path, loss.code) for loss in result.losses]


def test_a_code_execution_with_warnings_has_not_failed() -> None:
    """Warnings go to the error output of a run that did what it should; there is one text for both, and what was printed is it."""
    ran = {"type": "code_execution_result", "stdout": "42\n", "stderr": "DeprecationWarning", "return_code": 0, "content": []}
    content = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "print(42)"}},
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": ran},
    ]
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None}
    body = head | {"content": content, "usage": {"input_tokens": 1, "output_tokens": 1}}

    converted = fb.convert_response(body, source="messages", target="generate_content")

    result = converted.body["candidates"][0]["content"]["parts"][1]["codeExecutionResult"]
    assert (result["outcome"], result["output"]) == ("OUTCOME_OK", "42\n")
    assert [(loss.path, loss.kind) for loss in converted.losses] == [("/content/1/content/stderr", "dropped")]


@pytest.mark.parametrize(
    ("message", "tokens", "kept", "lost"),
    [
        ({"content": "Hi"}, ["Hi", "<end>"], ["Hi"], [1]),
        ({"content": "Hi", "reasoning_content": "hm"}, ["<think>", "hm", "</think>", "Hi"], ["Hi"], [0, 1, 2]),
        ({"content": "Hi"}, ["H", "i"], ["H", "i"], []),
    ],
    ids=["an end", "thoughts before", "all of it"],
)
def test_logprobs_of_a_text_are_the_tokens_that_compose_it(
    message: Any, tokens: list[str], kept: list[str], lost: list[int]
) -> None:
    """Servers count tokens of thoughts, calls and the end, too; a probability beside the wrong text is worse than none."""
    result = _answered(message, tokens, "responses")

    assert [token["token"] for token in result.body["output"][-1]["content"][0]["logprobs"]] == kept
    assert [loss.path for loss in result.losses] == [f"/choices/0/logprobs/content/{index}" for index in lost]


def test_logprobs_of_calls_are_reported_one_by_one() -> None:
    """There is no text that they could stand beside."""
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]

    result = _answered({"content": None, "tool_calls": calls}, ["f", "{}"], "responses")

    lost = [loss.path for loss in result.losses]
    assert [path for path in lost if "logprobs" in path] == ["/choices/0/logprobs/content/0", "/choices/0/logprobs/content/1"]


def test_top_logprobs_in_a_separate_list_are_reported_with_their_token() -> None:
    """In generate_content they have a list of their own, of which nothing is left either."""
    (fixture,) = (each for each in fixtures("response", "generate_content") if each.stem == "logprobs_of_calls")

    lost = [loss.path for loss in fixture.convert("responses").losses]

    names = [f"{name}Candidates/{index}" for index in (0, 1) for name in ("chosen", "top")]
    assert [path for path in lost if "logprobs" in path] == [f"/candidates/0/logprobsResult/{name}" for name in names]


@pytest.mark.parametrize(("first", "lost"), [(["a"], ["/output/0", "/output/1"]), ([], ["/output/1"])])
def test_each_dropped_list_of_logprobs_is_reported(first: list[str], lost: list[str]) -> None:
    """An answer of several messages has a list for each; an empty one says nothing."""

    def message_of(index: int, tokens: list[str]) -> dict[str, Any]:
        events = [{"token": token, "logprob": -0.1, "bytes": [97], "top_logprobs": []} for token in tokens]
        part = {"type": "output_text", "text": "a", "annotations": [], "logprobs": events}
        return {"type": "message", "id": f"m{index}", "role": "assistant", "status": "completed", "content": [part]}

    converted = _of_responses([message_of(0, first), message_of(1, ["a"])], "messages")

    result = [loss.path for loss in converted.losses if loss.path.endswith("logprobs")]
    assert result == [f"{place}/content/0/logprobs" for place in lost]


@pytest.mark.parametrize(("item", "text"), [(0, 1), (16, 0)])
def test_logprobs_are_reported_wherever_their_text_is(item: int, text: int) -> None:
    """An answer may call twenty tools before it speaks, and speak in several parts."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"}
    texts: list[dict[str, Any]] = [{"type": "output_text", "text": "a", "annotations": []} for _ in range(text + 1)]
    texts[-1]["logprobs"] = [{"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": []}]
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": texts}
    calls = [call | {"id": f"f{index}", "call_id": f"c{index}"} for index in range(item)]

    converted = _of_responses([*calls, message], "messages")

    result = [(loss.path, loss.kind) for loss in converted.losses if "logprobs" in loss.path or loss.path == "/output"]
    assert result == [(f"/output/{item}/content/{text}/logprobs", "dropped")]


def test_a_loss_of_reasoning_points_to_the_field_with_text() -> None:
    """An empty list beside the summary is no thought that could be lost."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "So."}], "content": []}

    converted = fb.convert_request({"model": "m", "input": [reasoning, *ASKED]}, source="responses", target="messages")

    assert {loss.path: loss.before for loss in converted.losses}["/input/0/summary"] == reasoning["summary"]


def test_a_user_location_has_no_null_fields() -> None:
    """The official types of the target have no null there."""
    place = {"type": "approximate", "city": "Rome", "country": "IT", "region": None, "timezone": None}
    tool = {"type": "web_search_20260318", "name": "web_search", "user_location": place}
    body = {"model": "m", "max_tokens": 99, "messages": ASKED, "tools": [tool]}

    converted = fb.convert_request(body, source="messages", target="chat_completions")

    assert problems("chat_completions", "request", converted.body) == []


@pytest.mark.parametrize(
    "end", [{"finish_reason": "error", "error": {"code": 502, "message": "gone"}}, {"finish_reason": "error"}, {"error": "gone"}]
)
@pytest.mark.parametrize("target", ["messages", "responses", "generate_content"])
def test_an_answer_that_ends_in_an_error_is_no_success(end: dict[str, Any], target: str) -> None:
    """Servers that stand for others say so in the choice; whoever reads a word of it for an end stores half an answer as a whole one."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "The capi"}, "finish_reason": None, **end}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    whole = fb.convert_response(body, source="chat_completions", target=target)
    streamed = fb.StreamConverter(source="chat_completions", target=target)
    streamed.feed(b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(body).encode())

    if target == "responses":
        assert (whole.body["status"], whole.body["output"][0]["content"][0]["text"]) == ("failed", "The capi")
    else:
        assert isinstance(whole, fb.ConvertedError)
    assert streamed.error is not None
    assert ("gone" in whole.json().decode()) is ("error" in end)


@pytest.mark.parametrize(("target", "place"), [("chat_completions", ["reasoning_effort"]), ("responses", ["reasoning", "effort"])])
def test_thinking_between_tools_becomes_effort_none_in_formats_without_it(target: str, place: list[str]) -> None:
    """An effort beside them would make the model think before it speaks, which was turned off."""
    request = {"thinking": {"type": "between_tools"}, "output_config": {"effort": "low"}}

    converted = fb.convert_request(
        {"model": "m", "max_tokens": 9000, "messages": ASKED, **request}, source="messages", target=target
    )

    written: Any = converted.body
    for step in place:
        written = written[step]
    assert written == "none"
    assert {(loss.path, loss.kind) for loss in converted.losses} == {
        ("/thinking/type", "changed"),
        ("/output_config/effort", "dropped"),
    }


def test_include_thoughts_without_thinking_is_reported() -> None:
    """Nothing is shown of thinking that is off; law 1 wants it in the report all the same."""
    config = {"thinkingConfig": {"thinkingBudget": 0, "includeThoughts": True}}
    body = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": config}

    converted = fb.convert_request(body, source="generate_content", target="messages", model="m")

    assert converted.body["thinking"] == {"type": "disabled"}
    assert [(loss.path, loss.severity) for loss in converted.losses] == [
        ("/generationConfig/thinkingConfig/includeThoughts", "info")
    ]


def test_an_error_in_one_of_several_streamed_choices_leaves_the_others() -> None:
    """A chunk brings one choice at a time, so that it is alone there says nothing of the answer."""

    def chunk(index: int, text: str, **end: Any) -> bytes:
        choice = {"index": index, "delta": {"content": text}, "finish_reason": None, **end}
        return b"data: %s\n\n" % json.dumps({"id": "c", "created": 1, "model": "m", "choices": [choice]}).encode()

    stream = [chunk(0, "half"), chunk(1, "Who"), chunk(0, "", finish_reason="error"), chunk(1, "le.", finish_reason="stop")]

    collected = fb.collect_stream([*stream, b"data: [DONE]\n\n"], source="chat_completions", target="generate_content")

    ends = [(each["content"]["parts"][0]["text"], each["finishReason"]) for each in collected.body["candidates"]]
    assert ends == [("half", "MALFORMED_RESPONSE"), ("Whole.", "STOP")]


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_a_lost_fraction_of_a_second_is_reported(target: str) -> None:
    """Lists of models tell whole seconds; what is cut off is a value of the source's."""
    model = {"type": "model", "id": "m", "display_name": "M", "created_at": "2026-01-01T00:00:00.500Z"}
    body = {"data": [model], "has_more": False, "first_id": None, "last_id": None}

    converted = fb.convert_models(body, source="messages", target=target)

    assert converted.body["data"][0]["created"] == 1_767_225_600
    assert ("/data/0/created_at", "changed", 1_767_225_600) in [(loss.path, loss.kind, loss.after) for loss in converted.losses]


@pytest.mark.parametrize(
    ("target", "result"),
    [
        ("chat_completions", {"reasoning_effort": "high"}),
        ("responses", {"reasoning": {"effort": "high"}}),
        (
            "generate_content",
            {"generationConfig": {"maxOutputTokens": 9000, "thinkingConfig": {"thinkingBudget": -1, "includeThoughts": True}}},
        ),
    ],
)
def test_thinking_without_a_budget_is_requested(target: str, result: dict[str, Any]) -> None:
    """Some clients leave the budget to the server; without a word of it recent models would not think at all."""
    body = {"model": "m", "max_tokens": 9000, "messages": ASKED, "thinking": {"type": "enabled"}}

    converted = fb.convert_request(body, source="messages", target=target)

    assert result.items() <= converted.body.items()
    assert [(loss.path, loss.kind, loss.severity) for loss in converted.losses] == [("/thinking/type", "changed", "lossy")]


_RUN = {"type": "code_interpreter_call", "id": "ci_1", "container_id": "c", "code": "1/0"}


def _whole_and_streamed(body: Any, source: str, target: str) -> list[Any]:
    """Return what an answer says in another format, whole and as a stream."""
    whole = fb.convert_response(body, source=source, target=target).body
    stream = b"".join(fb.convert_stream(fb.replay_response(body, source=source), source=source, target=target))
    streamed = fb.collect_stream([stream], source=target).body
    return [each["output"] if target == "responses" else each["content"] for each in (whole, streamed)]


@pytest.mark.parametrize(
    ("name", "body", "error"),
    [
        ("code_execution", {"code": "1/0"}, "code_execution_tool_result"),
        ("web_search", {"query": "q"}, "web_search_tool_result"),
    ],
)
def test_a_server_tool_that_failed_is_no_success(name: str, body: dict[str, Any], error: str) -> None:
    """The server had no machine to run the code on, or too many searches; an application that shows it green would lie."""
    call = {"type": "server_tool_use", "id": "s1", "name": name, "input": body}
    result = {"type": error, "tool_use_id": "s1", "content": {"type": f"{error}_error", "error_code": "unavailable"}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "a", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None}

    for output in _whole_and_streamed(head | {"content": [call, result], "usage": usage}, "messages", "responses"):
        assert [item["status"] for item in output] == ["failed"]


@pytest.mark.parametrize(
    ("run", "codes"),
    [
        ({"status": "completed", "outputs": None}, []),
        ({"status": "incomplete", "outputs": None}, []),
        ({"status": "completed", "outputs": []}, [0]),
        ({"status": "failed", "outputs": None}, [1]),
        ({"status": "failed", "outputs": []}, [1]),
        ({"status": "incomplete", "outputs": [{"type": "logs", "logs": "x"}]}, [1]),
    ],
)
def test_a_code_execution_has_its_reported_result(run: dict[str, Any], codes: list[int]) -> None:
    """Servers tell what code printed only where they are asked to; to make up an empty success would mislead the next turn."""
    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": [_RUN | run]}

    for content in _whole_and_streamed(body, "responses", "messages"):
        assert [block["content"]["return_code"] for block in content if block["type"] == "code_execution_tool_result"] == codes


@pytest.mark.parametrize("target", ["chat_completions", "responses"])
def test_media_types_of_an_answer_may_be_values_of_the_enum(target: str) -> None:
    """The vendor's own documentation names the enum, its examples the media type."""
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


def test_a_transcript_of_audio_is_reported_as_flattened() -> None:
    """The words of a sound come back as words beside it, so an application would show them twice."""
    audio = {"id": "a", "data": "UklGRgAAAAA=", "expires_at": 9, "transcript": "Hello"}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "audio": audio}, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    converter = fb.StreamConverter(source="chat_completions", target="generate_content")

    whole = fb.convert_response(body, source="chat_completions", target="generate_content")
    converter.feed(b"".join(fb.replay_response(body, source="chat_completions")))
    converter.finish()

    for losses in (whole.losses, converter.losses):
        assert [loss.code for loss in losses if loss.path.endswith("/transcript")] == ["flattened"]


@pytest.mark.parametrize(
    ("mime", "severity"), [("audio/L16;codec=pcm;rate=24000", "lossy"), ("audio/pcm", "lossy"), ("audio/wav", "info")]
)
def test_the_type_of_raw_audio_is_a_more_severe_loss_than_that_of_a_file(mime: str, severity: str) -> None:
    """A file says itself how it is to be played; bare samples are noise to whoever does not know their rate."""
    parts = [{"inlineData": {"mimeType": mime, "data": "AAAA"}}]
    body = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}]}

    converted = fb.convert_response(body, source="generate_content", target="chat_completions")

    assert [loss.severity for loss in converted.losses if loss.path.endswith("/mimeType")] == [severity]


# A speed and a tier.


@pytest.mark.parametrize(
    ("target", "key", "word", "lost"),
    [
        ("chat_completions", "service_tier", "fast", "/service_tier"),
        ("responses", "service_tier", "fast", "/service_tier"),
        ("generate_content", "serviceTier", "standard", "/speed"),
    ],
)
def test_speed_and_service_tier_are_separate_settings(target: str, key: str, word: str, lost: str) -> None:
    """Whoever has one word for both keeps the speed; whoever has no speed keeps the tier."""
    body = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
    request = body | {"speed": "fast", "service_tier": "standard_only"}

    converted = fb.convert_request(request, source="messages", target=target)

    assert converted.body[key] == word
    assert (lost, "dropped", "lossy") in [(loss.path, loss.kind, loss.severity) for loss in converted.losses]
    assert {loss.path for loss in converted.losses} <= {"/speed", lost}


def test_a_tool_of_an_unknown_version_is_read_by_its_fields() -> None:
    """No type holds it to a shape: an option of another type is reported as it stands, and not written where the target would refuse it."""
    options: dict[str, Any] = {"max_uses": "few", "allowed_domains": ["example.org"], "blocked_domains": {"a": 1}}
    tool = {"type": "web_search_20990101", "name": "web_search", **options}
    body = {"model": "m", "max_tokens": 99, "messages": ASKED, "tools": [tool]}

    converted = fb.convert_request(body, source="messages", target="responses")

    assert converted.body["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["example.org"]}}]
    assert {loss.path: loss.before for loss in converted.losses} == {
        f"/tools/0/{key}": options[key] for key in ("max_uses", "blocked_domains")
    }


USAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat_completions": (
        "usage",
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]},
    ),
    "messages": (
        "usage",
        {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn", "stop_sequence": None},
    ),
    "responses": ("usage", {"object": "response", "output": [], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}),
    "generate_content": ("usageMetadata", {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]}),
}


@pytest.mark.parametrize(("source", "target"), [(source, target) for source in USAGES for target in USAGES if source != target])
def test_an_unknown_usage_count_is_reported_unless_it_is_zero(source: str, target: str) -> None:
    """Relays send zeros for all that their servers might count; no word of the answer depends on either."""
    place, rest = USAGES[source]
    counts = {"claude_cache_creation_5_m_tokens": 0, "seconds": 0.0, "new_tokens": 7, "new_word": "x"}
    body = {"id": "a", "model": "m", "created": 1, "status": "completed", "created_at": 1, **rest, place: counts}

    losses = fb.convert_response(body, source=source, target=target).losses

    reported = [(loss.path, loss.severity, loss.code) for loss in losses if loss.path.startswith(f"/{place}/")]
    assert reported == [(f"/{place}/new_tokens", "info", "accounting"), (f"/{place}/new_word", "info", "accounting")]
