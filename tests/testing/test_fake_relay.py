"""The fake relay: official SDKs read its answers, and it finds leaks of keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge.testing import (
    Answer,
    Body,
    Cut,
    Fail,
    Failure,
    FakeRelay,
    Recorded,
    ScriptError,
    Stall,
    ToolCall,
    Usage,
    VirtualClock,
)
from tests.support import official_sdks

ANSWER = Answer(
    reasoning="The user wants the weather.",
    signature="c2lnbmVk",
    text="Rome is sunny, and so is everything around it.",
    tool_calls=[ToolCall("get_weather", {"city": "Rome", "days": 3}), ToolCall("now")],
    usage=Usage(input=20, output=9, cache_read=5),
)
EXPECTED = official_sdks.SdkAnswer(ANSWER.text, (("get_weather", {"city": "Rome", "days": 3}), ("now", {})), 20, 9)
KEY = {"authorization": "Bearer sk-fake"}
BODIES: dict[str, dict[str, Any]] = {
    "chat_completions": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "input": "hi"},
    "generate_content": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
PATHS = {
    "chat_completions": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "generate_content": "/v1beta/models/m:generateContent",
}
FORMATS = list(fb.FORMATS)


def post(relay: FakeRelay, format: fb.Format, *, is_streaming: bool = False, **changes: Any) -> httpx.Response:
    """Send a simple request as a client of the format would."""
    path = PATHS[format]
    body = BODIES[format] | changes.pop("body", {})
    if is_streaming and format == "generate_content":
        path = "/v1beta/models/m:streamGenerateContent?alt=sse"
    elif is_streaming:
        body = body | {"stream": True}
    headers = changes.pop("headers", KEY | {"vendor-version": "2023-06-01"})
    url = changes.pop("url", relay.base_url + path)
    answer: httpx.Response = relay.http_client().post(url, headers=headers, json=body, **changes)
    return answer


def texts_of(sse: bytes, format: fb.Format) -> str:
    """Return the visible text of a stream."""
    collected = fb.collect_stream([sse], source=format, target="chat_completions").body
    text: str = collected["choices"][0]["message"]["content"]
    return text


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("format", FORMATS)
def test_an_official_sdk_gets_the_scripted_answer(format: fb.Format, is_streaming: bool) -> None:
    """Text, calls and usage arrive in every format, from one script."""
    relay = FakeRelay(ANSWER)
    client = official_sdks.sdk(format, relay.base_url, "sk-fake", relay.http_client("httpx2"))

    received = official_sdks.ask(format, client, is_streaming=is_streaming)

    assert received == EXPECTED
    assert relay.requests[0].format == format
    assert relay.requests[0].stream is is_streaming
    assert relay.leaks("sk-fake") == []


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("format", FORMATS)
def test_an_official_async_sdk_gets_the_scripted_answer(format: fb.Format, is_streaming: bool) -> None:
    """Half of the users write async code."""
    relay = FakeRelay(ANSWER)

    async def exchange() -> official_sdks.SdkAnswer:
        async with relay.async_http_client("httpx2") as http_client:
            client = official_sdks.sdk(format, relay.base_url, "sk-fake", http_client)
            return await official_sdks.ask_async(format, client, is_streaming=is_streaming)

    assert asyncio.run(exchange()) == EXPECTED


@pytest.mark.parametrize("format", FORMATS)
def test_an_official_sdk_lists_the_models(format: fb.Format) -> None:
    """The same list has three shapes."""
    relay = FakeRelay(models=["a", "b-2"])
    client = official_sdks.sdk(format, relay.base_url, "sk-fake", relay.http_client("httpx2"))

    assert official_sdks.model_ids(client) == ["a", "b-2"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_relay_may_have_no_models(format: fb.Format) -> None:
    """The key of a group without models."""
    relay = FakeRelay(models=[])
    client = official_sdks.sdk(format, relay.base_url, "sk-fake", relay.http_client("httpx2"))

    assert official_sdks.model_ids(client) == []


@pytest.mark.parametrize("chunks", [1, 7, [3, 50, 2], None])
@pytest.mark.parametrize("format", FORMATS)
def test_chunks_have_the_configured_sizes(format: fb.Format, chunks: int | list[int] | None) -> None:
    """A reader that handles whole events only fails here."""
    relay = FakeRelay("One two three four five six seven.", chunks=chunks)

    whole = post(relay, format, is_streaming=True)

    assert texts_of(whole.content, format) == "One two three four five six seven."


def test_every_byte_can_be_a_chunk() -> None:
    """A user looks for defects at the chunk boundaries."""
    relay = FakeRelay("Hi", chunks=1)
    request = httpx.Request("POST", relay.base_url + PATHS["responses"], headers=KEY, json=BODIES["responses"] | {"stream": True})

    reads = list(relay.handle_request(request).stream)

    assert {len(read) for read in reads} == {1}


@pytest.mark.parametrize("format", FORMATS)
def test_deltas_are_within_longest_delta(format: fb.Format) -> None:
    """A stream of one delta hides defects between two."""
    relay = FakeRelay("a" * 50, longest_delta=8)

    answer = post(relay, format, is_streaming=True)

    assert max(len(piece) for piece in answer.text.replace('"', " ").split() if set(piece) == {"a"} and len(piece) < 50) == 8
    assert texts_of(answer.content, format) == "a" * 50


def test_a_list_of_steps_is_used_once_in_sequence() -> None:
    """First a call, then, after the tool's result, a text; a third request is a defect of the test or of the code."""
    relay = FakeRelay([Answer(tool_calls=[ToolCall("now")]), "It is noon."])

    reasons = [post(relay, "chat_completions").json()["choices"][0]["finish_reason"] for _ in range(2)]

    assert reasons == ["tool_calls", "stop"]
    assert relay.steps_left == 0
    with pytest.raises(ScriptError, match="request 3, the script has 2 steps"):
        post(relay, "chat_completions")


def test_a_callable_answers_by_the_request() -> None:
    """Such a script repeats the question."""

    def echo(request: Recorded) -> str:
        return f"{request.model}: {request.body['messages'][0]['content']}"

    relay = FakeRelay(echo)

    answer = post(relay, "messages", body={"messages": [{"role": "user", "content": "Rome?"}]})

    assert answer.json()["content"][0]["text"] == "m: Rome?"


def test_a_body_is_unchanged_at_its_endpoint_and_converted_at_others() -> None:
    """A recorded answer is the script."""
    recorded = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
        "content": [{"type": "text", "text": "Eternal."}], "usage": {"input_tokens": 3, "output_tokens": 2}, "brand_new": True,
    }  # fmt: skip
    relay = FakeRelay(Body(recorded, "messages"))

    at_its_endpoint, elsewhere = post(relay, "messages").json(), post(relay, "responses").json()

    assert at_its_endpoint == recorded
    assert elsewhere["output"][0]["content"][0]["text"] == "Eternal."


def test_a_typed_answer_is_a_script() -> None:
    """A user has an answer as an object."""
    converted = fb.convert_response(post(FakeRelay("Typed."), "responses").json(), source="responses", target="messages")

    relay = FakeRelay(converted.parse())

    assert post(relay, "chat_completions").json()["choices"][0]["message"]["content"] == "Typed."


@pytest.mark.parametrize("format", FORMATS)
def test_a_token_is_issued_by_the_endpoint_of_the_request(format: fb.Format) -> None:
    """In a conversation of two turns it returns there, and to no other endpoint."""
    relay = FakeRelay(ANSWER)
    request = {"include": ["reasoning.encrypted_content"]} if format == "responses" else {}

    whole = fb.convert_response(post(relay, format, body=request).json(), source=format, target=format)
    sse = post(relay, format, is_streaming=True, body=request)

    assert "fb1|" not in whole.json().decode()
    assert "c2lnbmVk" in whole.json().decode()
    assert "c2lnbmVk" in sse.text


@pytest.mark.parametrize("format", FORMATS)
def test_a_failure_has_the_format_of_the_endpoint(format: fb.Format) -> None:
    """An SDK reads the error of its vendor."""
    relay = FakeRelay([Failure(429, "slow down", retry_after=2, headers={"x-trace": "7"}), "Now."])
    client = official_sdks.sdk(format, relay.base_url, "sk-fake", relay.http_client("httpx2"))

    with pytest.raises(Exception, match="slow down") as raised:
        official_sdks.ask(format, client, is_streaming=False)

    answer = raised.value.response  # type: ignore[attr-defined]  # every SDK has it on its error
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "2"
    assert answer.headers["x-trace"] == "7"
    assert relay.steps_left == 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_stream_can_end_in_an_error_event(format: fb.Format) -> None:
    """The status was 200 before the error occurred."""
    relay = FakeRelay((Failure(529, "too much to do", after=3), "One two three four five six seven."))
    client = official_sdks.sdk(format, relay.base_url, "sk-fake", relay.http_client("httpx2"))

    with pytest.raises(Exception, match=r"too much to do|response\.completed"):
        official_sdks.ask(format, client, is_streaming=True)

    assert post(relay, format).status_code == 529


def test_a_body_of_a_failure_is_sent_unchanged() -> None:
    """A user has an error that no specification describes."""
    listed, page = FakeRelay(Failure(400, body=[{"error": {"code": 400}}])), FakeRelay(Failure(504, body="<html>slow</html>"))

    assert post(listed, "messages").json() == [{"error": {"code": 400}}]
    assert post(page, "messages").headers["content-type"] == "text/html"


@pytest.mark.parametrize(
    ("format", "headers", "status"),
    [
        ("chat_completions", {}, 401),
        ("chat_completions", {"authorization": "Bearer sk-other"}, 401),
        ("chat_completions", {"x-api-key": "sk-fake"}, 401),
        ("chat_completions", {"authorization": "bearer sk-fake"}, 200),
        ("responses", {"x-goog-api-key": "sk-fake"}, 401),
        ("messages", {"x-api-key": "sk-fake", "vendor-version": "2023-06-01"}, 200),
        ("messages", {"x-api-key": "sk-other", "authorization": "Bearer sk-fake", "vendor-version": "2023-06-01"}, 401),
        ("messages", {"authorization": "Bearer sk-fake", "anthropic-version": "2023-06-01"}, 200),
        ("messages", {"authorization": "Bearer sk-fake"}, 400),
        ("messages", {"authorization": "Bearer sk-fake", "vendor-version": "latest"}, 400),
        ("generate_content", {"x-goog-api-key": "sk-fake"}, 200),
        ("generate_content", {"x-api-key": "sk-fake"}, 401),
        ("generate_content", KEY, 200),
    ],
)
def test_keys_and_versions_are_checked_as_specified(format: fb.Format, headers: dict[str, str], status: int) -> None:
    """A client with the key in the wrong header would work here and nowhere else."""
    relay = FakeRelay(["Hello"])

    answer = post(relay, format, headers=headers)

    assert answer.status_code == status
    assert relay.steps_left == (0 if status == 200 else 1)


@pytest.mark.parametrize("format", FORMATS)
def test_a_body_that_is_not_of_the_format_is_refused_in_the_format(format: fb.Format) -> None:
    """A relay that accepts everything hides the mistake until production."""
    relay = FakeRelay(["Hello"])
    wrong = {"chat_completions": "messages", "messages": "messages", "responses": "input", "generate_content": "contents"}[format]

    answer = post(relay, format, body={wrong: 5})

    assert answer.status_code == 400
    assert f"/{wrong}" in answer.json()["error"]["message"]
    assert ("status" in answer.json()["error"]) is (format == "generate_content")
    assert relay.steps_left == 1


def test_an_unknown_path_is_a_404_and_is_recorded() -> None:
    """A typing error in a base URL is the most common mistake."""
    relay = FakeRelay(["Hello"])

    answer = post(relay, "responses", url=f"{relay.base_url}/v1/v1/responses")

    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "Invalid URL (POST /v1/v1/responses)"
    assert relay.requests[0].format is None


def test_a_request_to_another_origin_fails_and_is_recorded() -> None:
    """A redirect, or a forgotten base URL, must not leave a test."""
    relay = FakeRelay("Hello")

    with pytest.raises(httpx.ConnectError, match=r"no server at https://api\.example\.com"):
        post(relay, "responses", url="https://api.example.com/v1/responses")

    assert relay.requests == []
    assert relay.leaks("sk-fake") == ["POST /v1/responses: header authorization"]


def test_a_relay_may_have_a_path_in_its_base_url() -> None:
    """Many relays have one."""
    relay = FakeRelay("Hello", base_url="https://relay.test:8443/team/a/")

    assert relay.base_url == "https://relay.test:8443/team/a"
    assert post(relay, "responses").status_code == 200
    assert post(relay, "responses", url="https://relay.test:8443/v1/responses").status_code == 404


def test_leaks_finds_a_secret_in_the_wrong_place() -> None:
    """The key must be in its header and nowhere else."""
    relay = FakeRelay("Hello")

    post(relay, "responses", headers=KEY | {"x-debug": "key=sk-fake"}, body={"input": "my key is sk-fake"})

    assert relay.leaks("sk-fake") == ["POST /v1/responses: header x-debug", "POST /v1/responses: body"]


def test_generate_content_streams_an_array_without_alt_sse() -> None:
    """Only ``alt=sse`` gives server-sent events."""
    relay = FakeRelay("One two three four five.")

    answer = post(relay, "generate_content", url=f"{relay.base_url}/v1beta/models/m:streamGenerateContent")

    assert len(json.loads(answer.content)) > 1
    assert texts_of(answer.content, "generate_content") == "One two three four five."


def test_a_failure_applies_to_any_request_and_an_answer_to_the_next_call() -> None:
    """A list of models can fail too."""
    relay = FakeRelay([Failure(503), "Hello"])
    url = f"{relay.base_url}/v1beta/models"

    statuses = [relay.http_client().get(url, headers=KEY).status_code for _ in range(2)]

    assert statuses == [503, 200]
    assert relay.steps_left == 1


def test_the_usage_of_a_chat_stream_requires_include_usage() -> None:
    """Code that needs usage without asking for it works nowhere else."""
    relay = FakeRelay("Hello")

    silent = post(relay, "chat_completions", is_streaming=True)
    reported = post(relay, "chat_completions", is_streaming=True, body={"stream_options": {"include_usage": True}})

    assert "prompt_tokens" not in silent.text
    assert "prompt_tokens" in reported.text


@pytest.mark.parametrize("step", [Cut(3), Stall(1), Fail("read", at=4), Failure(500, after=2), 5, ("a", "b"), {"text": "Hello"}])
def test_an_invalid_step_is_rejected_by_the_constructor(step: Any) -> None:
    """The error is raised where the script is, not where it is used."""
    with pytest.raises(fb.ConfigurationError, match="expected"):
        FakeRelay([step])


def test_play_sets_a_new_script() -> None:
    """The fixture creates a relay before the test knows its script."""
    relay = FakeRelay()

    relay.play("First.", "Second.")

    assert [post(relay, "messages").json()["content"][0]["text"] for _ in range(2)] == ["First.", "Second."]


def test_one_model_is_returned_or_a_404() -> None:
    """Some clients look for one before they use it."""
    relay = FakeRelay(models=["a"])
    client = official_sdks.sdk("messages", relay.base_url, "sk-fake", relay.http_client("httpx2"))
    other = official_sdks.sdk("generate_content", relay.base_url, "sk-fake", relay.http_client("httpx2"))

    assert client.models.retrieve("a").id == "a"
    assert other.models.get(model="a").name == "models/a"
    with pytest.raises(official_sdks.anthropic.NotFoundError, match="no model 'b'"):
        client.models.retrieve("b")


@pytest.mark.parametrize("model", official_sdks.AWKWARD_IDS)
def test_a_model_s_id_may_hold_colons_and_slashes(model: str) -> None:
    """A vendor's SDK that escapes neither must work as with a real relay."""
    relay = FakeRelay("Hello", models=[model])
    google = official_sdks.sdk("generate_content", relay.base_url, "sk-fake", relay.http_client("httpx2")).models
    other = official_sdks.sdk("messages", relay.base_url, "sk-fake", relay.http_client("httpx2")).models

    answer = google.generate_content(model=model, contents="hi")

    assert (answer.text, relay.requests[0].model) == ("Hello", model)
    assert (google.get(model=model).name, other.retrieve(model).id) == (f"models/{model}", model)


def test_a_relay_may_require_no_key() -> None:
    """Local relays require none."""
    assert post(FakeRelay("Hello", api_key=None), "responses", headers={}).status_code == 200


def test_an_answer_that_failed_is_an_error_at_other_endpoints() -> None:
    """One format has a status for it in the answer, the others an HTTP status."""
    response = post(FakeRelay("Hello"), "responses").json()
    failed = response | {"status": "failed", "output": [], "error": {"code": "server_error", "message": "out of luck"}}
    relay = FakeRelay(Body(failed, "responses"))

    at_its_endpoint, elsewhere = post(relay, "responses"), post(relay, "messages")

    assert (at_its_endpoint.status_code, at_its_endpoint.json()["status"]) == (200, "failed")
    assert (elsewhere.status_code, elsewhere.json()["error"]["message"]) == (500, "out of luck")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_stalled_answer_arrives(is_async: bool) -> None:
    """The first byte is delayed."""
    clock = VirtualClock()
    relay = FakeRelay((Stall(3), "Hello"), clock=clock)
    request = httpx.Request("POST", f"{relay.base_url}/v1/responses", headers=KEY, json=BODIES["responses"])

    async def read() -> bytes:
        return b"".join([piece async for piece in (await relay.handle_async_request(request)).stream])

    content = asyncio.run(read()) if is_async else relay.handle_request(request).read()

    assert b"Hello" in content
    assert clock.sleeps == [3]


def test_a_request_without_a_model_is_refused_where_the_script_s_format_needs_one() -> None:
    """The body of the script has its model in the URL, and there is none."""
    relay = FakeRelay(Body({"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}, "generate_content"))

    assert post(relay, "chat_completions", body={"model": ""}).status_code == 400
    assert post(relay, "chat_completions").status_code == 200


MISTAKES: list[tuple[str, Any]] = [
    ("quirks", None), ("quirks", "ping_comments"), ("quirks", [[]]), ("longest_delta", "x"), ("longest_delta", None),
    ("longest_delta", True),
    ("chunks", 0), ("chunks", "x"), ("chunks", 2.5), ("chunks", [None]), ("models", None), ("models", "m-large"), ("models", [5]),
    ("api_key", 5), ("base_url", None), ("clock", 5),
    ("strict", None), ("strict", "no"), ("verified", 1), ("reasoning_models", "m"), ("reasoning_models", 5),
    ("reasoning_models", [5]), ("models_excluding_functions", "m"),
]  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        lambda: FakeRelay(longest_delta=0),
        lambda: FakeRelay(base_url="relay.test"),
        lambda: FakeRelay(Answer(finish="bored")),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Failure(200)),
        lambda: FakeRelay(Failure("429", "slow")),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Failure(True)),
        lambda: FakeRelay(Failure(429, retry_after="7")),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Failure(500, after=1.5)),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Failure(500, {"message": "slow"})),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Answer(text=None)),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Answer(tool_calls=[ToolCall("x", '{"a": 1}')])),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Answer(tool_calls=[{"name": "x"}])),  # type: ignore[list-item]  # the mistake is the test
        lambda: FakeRelay(Answer(tool_calls=ToolCall("x"))),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Answer(usage={"input": 5})),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Answer(usage=Usage(input="5"))),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay().http_client("requests"),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay().async_http_client("aiohttp"),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay(Body({}, "telepathy")),  # type: ignore[arg-type]  # the mistake is the test
        lambda: FakeRelay().handle_request("a request"),
        *(lambda name=name, wrong=wrong: FakeRelay(**{name: wrong}) for name, wrong in MISTAKES),
    ],
)
def test_an_invalid_argument_of_a_fake_relay_is_rejected(make: Callable[[], object]) -> None:
    """A relay that accepts a mistake makes the wrong test pass."""
    with pytest.raises((fb.ConfigurationError, fb.UnknownFormatError), match="expected"):
        make()


def test_a_relay_can_be_passed_as_a_transport() -> None:
    """Users write both forms."""
    relay = FakeRelay("Hello")

    with relay.transport() as transport, httpx.Client(transport=transport) as client:
        answer = client.post(f"{relay.base_url}/v1/responses", headers=KEY, json=BODIES["responses"])

    assert answer.status_code == 200


def test_a_missing_version_error_names_every_accepted_header() -> None:
    """With one header only, a user might send it to a vendor that does not have it."""
    relay = FakeRelay("Hello")

    with relay.http_client() as client:
        answer = client.post(f"{relay.base_url}/v1/messages", json={}, headers={"x-api-key": str(relay.api_key)})

    assert answer.status_code == 400
    assert "vendor-version or anthropic-version is missing" in answer.json()["error"]["message"]


def test_repr_of_a_relay_shows_its_url_and_not_its_key() -> None:
    """A failing test prints it."""
    assert repr(FakeRelay(api_key="sk-secret")) == "<FakeRelay https://relay.test, 0 requests>"


SECRET = "sk-fake"
URL = "https://relay.test/v1/responses"
BODY = {"model": "m", "input": "hi"}
BEARER = {"authorization": f"Bearer {SECRET}"}
PLACE = "POST /v1/responses:"


@pytest.mark.parametrize(
    ("changes", "leaks"),
    [
        ({}, []),
        ({"headers": BEARER | {"x-api-key": SECRET}}, [f"{PLACE} header x-api-key"]),
        ({"headers": BEARER | {"x-goog-api-key": SECRET}}, [f"{PLACE} header x-goog-api-key"]),
        ({"headers": BEARER | {"cookie": f"key={SECRET}"}}, [f"{PLACE} header cookie"]),
        ({"params": {"key": SECRET}}, [f"{PLACE} url"]),
        ({"json": BODY | {"user": SECRET}}, [f"{PLACE} body"]),
    ],
    ids=["none", "second key", "third key", "cookie", "url", "body"],
)
def test_a_key_is_allowed_in_one_header_only(changes: dict[str, Any], leaks: list[str]) -> None:
    """URLs and second headers are written to the logs of proxies."""
    relay = FakeRelay("Hello", api_key=SECRET)

    relay.http_client().post(URL, **{"headers": BEARER, "json": BODY} | changes)

    assert relay.leaks(SECRET) == leaks


def test_a_key_in_any_location_at_another_origin_is_a_leak() -> None:
    """No header may have the key at another origin."""
    relay = FakeRelay("Hello", api_key=SECRET)

    with pytest.raises(httpx.ConnectError):
        relay.http_client().post("https://evil.test/v1/responses", headers=BEARER, json=BODY)

    assert relay.leaks(SECRET) == [f"{PLACE} header authorization"]
