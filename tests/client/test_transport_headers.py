"""The SDK transport: headers, keys, cookies, timeouts and retries of the SDK and of the endpoint stay separate."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2
import pytest

import formatbridge as fb
from formatbridge.testing import Failure, FakeRelay
from tests.client.test_transport import RELAY_KEY, VENDOR, VENDOR_KEY
from tests.support import official_sdks
from tests.support.servers import answer_of
from tests.testing.test_fake_relay import BODIES, PATHS

URL = VENDOR + PATHS["messages"]


def _crossed(
    format: fb.Format,
    via: fb.Format,
    raw: dict[str, str],
    returned: dict[str, str] | None = None,
    *,
    key: str | None = RELAY_KEY,
    **requested: Any,
) -> tuple[httpx.Request, httpx.Response]:
    """Return the request that the endpoint gets, and the answer that the SDK gets."""
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=answer_of(via), headers=returned)

    transport = fb.transport("https://relay.test", key, via=via, inner=httpx.MockTransport(answer))
    response = httpx.Client(transport=transport).post(VENDOR + PATHS[format], json=BODIES[format], headers=raw, **requested)
    return seen[0], response


@pytest.mark.parametrize(
    ("name", "crosses_alike", "crosses"),
    [
        ("cookie", False, False),
        ("proxy-authorization", False, False),
        ("x-api-key", False, False),
        ("x-goog-api-key", False, False),
        ("api-key", False, False),
        ("te", False, False),
        ("upgrade", False, False),
        ("x-stainless-lang", False, False),
        ("anthropic-beta", True, False),
        ("openai-organization", True, False),
        ("x-goog-user-project", True, False),
        ("x-trace", True, True),
    ],
)
def test_connection_headers_are_not_forwarded(name: str, crosses_alike: bool, crosses: bool) -> None:
    """Cookies and keys are for the host in the SDK's settings; a vendor's headers have a meaning in its format only."""
    alike, _ = _crossed("messages", "messages", {name: "sentinel"})
    other, _ = _crossed("messages", "responses", {name: "sentinel"})

    assert ("sentinel" in str(alike.headers.raw), "sentinel" in str(other.headers.raw)) == (crosses_alike, crosses)


@pytest.mark.parametrize(
    ("name", "is_returned"),
    [("set-cookie", False), ("proxy-authorization", False), ("keep-alive", False), ("x-trace", True), ("retry-after", True)],
)
def test_session_headers_of_the_relay_are_not_returned(name: str, is_returned: bool) -> None:
    """The session of a relay is not that of the SDK, whose next request may go to another host."""
    _, answer = _crossed("messages", "responses", {}, {name: "7"})

    assert (name in answer.headers) is is_returned


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ({"authorization": f"Bearer {VENDOR_KEY}"}, f"Bearer {VENDOR_KEY}"),
        ({"authorization": f"bearer {VENDOR_KEY}"}, f"Bearer {VENDOR_KEY}"),
        ({"authorization": "Basic dXNlcjpwdw=="}, None),
        ({"authorization": VENDOR_KEY}, None),
        ({"x-api-key": VENDOR_KEY}, f"Bearer {VENDOR_KEY}"),
        ({"api-key": VENDOR_KEY}, f"Bearer {VENDOR_KEY}"),
        ({"x-goog-api-key": VENDOR_KEY, "authorization": "Bearer other"}, f"Bearer {VENDOR_KEY}"),
        ({}, None),
    ],
    ids=str,
)
def test_the_sdk_s_key_is_a_bearer_token_or_in_a_key_header(
    raw: dict[str, str], sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user and password of a proxy are no key, and must not be sent as one."""
    monkeypatch.delenv("FORMATBRIDGE_API_KEY", raising=False)

    request, _ = _crossed("messages", "responses", raw, key=None)

    assert request.headers.get("authorization") == sent
    assert [name for name in ("x-api-key", "x-goog-api-key", "api-key") if name in request.headers] == []


def test_timeouts_of_the_sdk_apply_to_the_relay() -> None:
    """A timeout of the SDK's client also holds here; other extensions of its requests are not forwarded."""
    timeout = httpx.Timeout(1, read=2, write=3, pool=4)

    request, _ = _crossed("messages", "responses", {}, timeout=timeout, extensions={"x": 1, "timeout": timeout.as_dict()})

    assert request.extensions["timeout"] == timeout.as_dict()
    assert "x" not in request.extensions


@pytest.mark.parametrize(
    ("script", "count"),
    [
        (Failure(503, "busy"), 3),
        (Failure(429, "slow down", retry_after=0), 3),
        (Failure(400, "no"), 1),
        (Failure(503, "no", headers={"x-should-retry": "false"}), 1),
    ],
    ids=["busy", "slow down", "no", "not requested"],
)
def test_an_sdk_retries_as_without_the_transport(script: Failure, count: int) -> None:
    """An SDK decides by status and headers, and both are returned."""
    assert _calls(FakeRelay(script, api_key=RELAY_KEY)) == count


NO_ANSWERS = {
    "a page": httpx2.Response(200, content=b"<html>"),
    "an error": httpx2.Response(200, json={"error": {"message": "no", "code": "model_not_found"}}),
    "nothing": httpx2.Response(200, content=b""),
    "a redirect": httpx2.Response(307, headers={"location": "https://evil.test/"}),
    "redirects": httpx2.Response(307, headers={"location": "/v1/x"}),
}


@pytest.mark.parametrize("case", NO_ANSWERS)
def test_a_permanent_error_is_not_retried(case: str) -> None:
    """SDKs retry a 502. Another attempt would get the same page and cost as much."""
    calls: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        calls.append(request)
        raw = NO_ANSWERS[case]
        return httpx2.Response(raw.status_code, headers=raw.headers, content=raw.content)

    _calls(httpx2.MockTransport(answer))

    assert len(calls) == (3 if case == "redirects" else 1)


def test_a_request_that_cannot_be_converted_is_not_retried() -> None:
    """It would be rejected before it is sent, as the first time."""
    converted: list[fb.Converted] = []
    relay = FakeRelay("Hello", api_key=RELAY_KEY)

    count = _calls(relay, on_convert=converted.append, options=fb.Options(raise_on="info"), seed=7)

    assert count == 0
    assert converted == []


def _calls(inner: Any, *, seed: int | None = None, **settings: Any) -> int:
    """Send a request through an SDK with three attempts, and return the number of requests that a relay got."""
    transport = fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=inner, **settings)
    http_client = httpx2.Client(transport=transport)
    client = official_sdks.openai.OpenAI(base_url=f"{VENDOR}/v1", api_key=VENDOR_KEY, http_client=http_client, max_retries=2)
    extra = {} if seed is None else {"seed": seed}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("time.sleep", lambda _: None)
        with pytest.raises(official_sdks.openai.APIError):
            client.chat.completions.create(model="m", messages=official_sdks.TURN, **extra)
    return len(getattr(inner, "requests", ()))


@pytest.mark.parametrize("to", ["https://user:pw@relay.test/x", "https://user@relay.test/x", "https://@relay.test/x"])
def test_a_redirect_with_a_password_is_not_followed(to: str) -> None:
    """The client would not follow it either."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(307, headers={"location": to})

    transport = fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=httpx.MockTransport(answer))

    returned = httpx.Client(transport=transport).post(URL, json=BODIES["messages"])

    assert returned.status_code == 502
    assert "to another origin" in returned.text
    assert len(seen) == 1


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
def test_raise_on_does_not_apply_to_an_answer(streams: bool) -> None:
    """``raise_on`` holds for requests, as in the client; the loss is reported."""
    converted: list[fb.Converted] = []
    answer = answer_of("messages") | {"x_new": 5}
    stream = b"".join(fb.replay_response(answer, source="messages"))
    kind = {"content-type": "text/event-stream"}
    raw = httpx.Response(200, content=stream, headers=kind) if streams else httpx.Response(200, json=answer)
    transport = fb.transport(
        "https://relay.test", RELAY_KEY, via="messages", options=fb.Options(raise_on="info"), on_convert=converted.append,
        inner=httpx.MockTransport(lambda _: raw),
    )  # fmt: skip
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 9, "stream": streams}

    returned = httpx.Client(transport=transport).post(VENDOR + PATHS["chat_completions"], json=body)

    assert returned.status_code == 200
    assert "Vinnufossen" in returned.text
    assert "/x_new" in [loss.path for loss in converted[1].losses]
