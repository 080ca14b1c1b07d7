"""Each quirk of real relays has its effect and no other, alone and with any other."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any, get_args

import pytest

import formatbridge as fb
from formatbridge.testing import QUIRKS, Failure, FakeRelay, Quirk
from tests.testing.test_fake_relay import KEY, post

FORMATS = list(fb.FORMATS)


def events_of(text: str) -> list[Any]:
    """Return the parsed data of a stream's events; text that is no JSON unchanged."""
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(each) if each != "[DONE]" else each for each in data]


def streamed(format: fb.Format, *quirks: Quirk) -> str:
    answer: str = post(FakeRelay("One two three four five six.", quirks=quirks), format, is_streaming=True).text
    return answer


def test_every_quirk_has_a_name_and_a_line() -> None:
    """The documentation shows the table."""
    assert set(QUIRKS) == set(get_args(Quirk))


def test_an_unknown_quirk_is_refused() -> None:
    """A misspelled quirk would have no effect, and the test would pass."""
    with pytest.raises(fb.ConfigurationError, match="unknown quirk 'ping_coments'"):
        FakeRelay(quirks=["ping_coments"])  # type: ignore[list-item]  # the misspelling is the test


@pytest.mark.parametrize("format", FORMATS)
def test_comments_are_sent_between_events(format: fb.Format) -> None:
    """One vendor's SDK fails on comments, and its relays send none."""
    is_sent = ": PING\n\n" in streamed(format, "ping_comments")

    assert is_sent is (format != "generate_content")


def test_a_messages_stream_ends_in_done() -> None:
    """A reader may parse it as JSON."""
    assert events_of(streamed("messages", "done_in_messages"))[-1] == "[DONE]"
    assert "[DONE]" not in streamed("responses", "done_in_messages")


def test_a_messages_stream_has_no_message_delta() -> None:
    """The finish reason is missing."""
    kinds = [event["type"] for event in events_of(streamed("messages", "no_message_delta"))]

    assert "message_delta" not in kinds
    assert kinds[-1] == "message_stop"


def test_the_last_event_of_a_responses_stream_is_empty() -> None:
    """A reader of the last event only gets nothing."""
    last = events_of(streamed("responses", "empty_output_in_completed"))[-1]

    assert last["type"] == "response.completed"
    assert last["response"]["output"] == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_stream_ends_without_its_end(format: fb.Format) -> None:
    """A silent truncation must not be read as an answer."""
    text = streamed(format, "eof_without_terminal")

    assert "One two" in text
    with pytest.raises(fb.TruncatedStreamError):
        fb.collect_stream([text.encode()], source=format)


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
def test_times_have_fractions(is_streaming: bool) -> None:
    """An integer field has a float."""
    relay = FakeRelay("Hello", quirks=["float_created_at"])

    answer = post(relay, "responses", is_streaming=is_streaming)

    body = events_of(answer.text)[-1]["response"] if is_streaming else answer.json()
    assert body["created_at"] % 1 == 0.25


@pytest.mark.parametrize("format", ["chat_completions", "responses"])
def test_usage_has_both_families(format: fb.Format) -> None:
    """One of them has zeros only and must not be read."""
    usage = post(FakeRelay("Hello", quirks=["usage_both_families"]), format).json()["usage"]

    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (12, 7, 19)
    assert (usage["input_tokens"], usage["output_tokens"]) == (0, 0)


@pytest.mark.parametrize(
    ("quirk", "format", "status", "shown"),
    [
        ("error_in_200", "messages", 200, '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'),
        ("success_false_200", "responses", 200, '{"success":false,"message":"slow down"}'),
        ("nil_error_type", "messages", 429, '{"type":"error","error":{"type":"<nil>","message":"slow down"}}'),
        ("nil_error_type", "chat_completions", 429, '"type":"rate_limit_error"'),
        ("openai_errors_on_gemini", "generate_content", 429, '"type":"rate_limit_error"'),
        ("openai_errors_on_gemini", "messages", 429, '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'),
        ("html_502", "chat_completions", 502, "<h1>502 Bad Gateway</h1>"),
    ],
)
def test_a_quirk_changes_the_shape_of_failures(quirk: Quirk, format: fb.Format, status: int, shown: str) -> None:
    """An error is recognized by its shape, not by the endpoint or the status."""
    relay = FakeRelay([Failure(429, "slow down"), "Hello"], quirks=[quirk])

    answer, next_answer = post(relay, format), post(relay, format)

    assert answer.status_code == status
    assert shown in answer.text
    assert next_answer.status_code == 200


def test_names_of_models_have_no_prefix() -> None:
    """The list of one version of a relay has half of the fields."""
    relay = FakeRelay(models=["a"], quirks=["no_models_prefix"])

    body = relay.http_client().get(f"{relay.base_url}/v1beta/models", headers=KEY).json()

    assert body["nextPageToken"] is None
    assert {key for key, value in body["models"][0].items() if value is not None} == {"name"}
    assert body["models"][0]["name"] == "a"


def test_a_path_without_a_slash_is_redirected() -> None:
    """A client that follows must keep method and body."""
    relay = FakeRelay("Hello", quirks=["trailing_slash_307"])

    answer = post(relay, "responses")
    followed = post(relay, "responses", follow_redirects=True)

    assert answer.status_code == 307
    assert answer.headers["location"] == "https://relay.test/v1/responses/"
    assert followed.status_code == 200


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("format", FORMATS)
def test_any_two_quirks_can_be_combined(format: fb.Format, is_streaming: bool) -> None:
    """Real relays have several; with each pair an answer arrives, and an error raises."""
    for pair in combinations(QUIRKS, 2):
        relay = FakeRelay(["One two three.", Failure(500, "broken")], quirks=pair)

        message, failed = (post(relay, format, is_streaming=is_streaming, follow_redirects=True) for _ in range(2))

        assert message.status_code == 200
        assert "One two" in message.text
        assert "broken" in failed.text or "502" in failed.text
