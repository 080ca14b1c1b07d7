"""What may be a secret is hidden, wherever it comes back and however it is written there."""

from __future__ import annotations

import gc
import json
import logging
import pickle
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import formatbridge as fb
from tests.servers import KEY, answer_of, body_of

REQUEST = body_of("requests", "messages")


def _client(serve: Any, key: str = KEY, **settings: Any) -> fb.Client:
    return fb.Client("https://relay.test", key, http_client=httpx.Client(transport=httpx.MockTransport(serve)), **settings)


def _told(content: bytes, key: str = KEY, **settings: Any) -> tuple[str, fb.BadRequestError]:
    """Return all that the error for an error body says."""
    with pytest.raises(fb.BadRequestError) as caught:
        _client(lambda _: httpx.Response(400, content=content), key, **settings).send(REQUEST, "messages")
    error = caught.value
    shown = [str(error), repr(vars(error)), repr(error.as_format("chat_completions")), repr(pickle.dumps(vars(error)))]
    return " ".join(shown), error


def _escaped(text: str, spelling: str) -> bytes:
    """Write an error body whose message is a text with every character escaped."""
    message = "".join(spelling.format(ord(char)) for char in text)
    return b'{"error": {"message": "bad key ' + message.encode() + b'", "type": "t"}}'


@pytest.mark.parametrize("spelling", ["\\u{:04x}", "\\u{:04X}"], ids=["lower", "upper"])
def test_a_key_is_found_behind_any_escape(spelling: str) -> None:
    """JSON has several ways to write a character, and relays echo keys in all of them."""
    body = _escaped(KEY, spelling)

    told, error = _told(body)

    assert KEY not in told
    assert json.loads(error.body)["error"]["message"] == "bad key ***"


def test_a_slash_of_a_key_may_be_escaped() -> None:
    """Some writers of JSON put a backslash before each."""
    key = "sk/canary/0123"

    told, _ = _told(b'{"error": {"message": "bad key sk\\/canary\\/0123"}}', key)

    assert key not in told.replace("\\", "")


def test_a_key_is_found_as_the_name_of_a_member() -> None:
    """A relay that lists its keys by themselves."""

    def serve(_request: httpx.Request) -> httpx.Response:
        told = {"type": "message_start", "message": {**answer_of("messages"), KEY: {KEY: [KEY]}}}
        failed = {"type": "error", "error": {"type": "api_error", "message": "no"}}
        return httpx.Response(200, content=b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in (told, failed)))

    with (
        pytest.raises(fb.StreamFailedError) as caught,
        _client(serve).stream(REQUEST, "messages") as stream,
    ):
        stream.response()

    assert caught.value.partial is not None
    assert '"***"' in json.dumps(caught.value.partial.body)
    assert KEY not in json.dumps(caught.value.partial.body)


def test_of_two_secrets_the_longer_is_hidden_whole() -> None:
    """A key that begins another one must not leave the other's end behind."""
    longer = f"{KEY}-and-more"

    told, _ = _told(json.dumps({"error": {"message": f"bad keys {longer} {KEY}"}}).encode(), KEY, headers={"x-token": longer})

    assert "and-more" not in told
    assert "bad keys *** ***" in told


@pytest.mark.parametrize(("length", "is_hidden"), [(5, False), (6, True), (7, True)])
def test_a_key_is_hidden_from_six_characters_on(length: int, is_hidden: bool) -> None:
    """A shorter one would garble every text that has its letters, and is nobody's key."""
    key = "zq8x4v7w"[:length]

    told, _ = _told(json.dumps({"error": {"message": f"bad key {key}."}}).encode(), key)

    assert (key not in told) is is_hidden


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "X-Auth",
        "X-Api-Key",
        "X-Token",
        "X-Secret",
        "Cookie",
        "X-Password",
        "X-Credential",
        "X-Signature",
        "X-MONKEY",
    ],
)
def test_a_header_that_may_hold_a_secret_is_shown_nowhere(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Gateways put sessions and signatures into headers of their own; logs and dry runs show names and no values."""
    caplog.set_level(logging.DEBUG, logger="formatbridge")
    seen: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=answer_of("messages"))

    client = _client(serve, headers={name: "hush-hush"})

    made = client.prepare(REQUEST, "messages")
    client.send(REQUEST, "messages")

    assert seen[0].headers[name] == "hush-hush"
    assert made.headers[name.lower()] in ("***", "Bearer ***")
    assert f"'{name.lower()}': '***'" in caplog.text
    assert "hush" not in caplog.text + repr(made) + repr(vars(client))


def test_other_headers_are_shown() -> None:
    """Who compares with what a relay says it got wants to see them."""
    made = _client(None, headers={"X-Team": "blue"}).prepare(REQUEST, "messages")

    assert made.headers["x-team"] == "blue"


MISTAKES: dict[str, Callable[[], object]] = {
    "no address": lambda: fb.Client(api_key=KEY),
    "no address, async": lambda: fb.AsyncClient(api_key=KEY),
    "another setting": lambda: fb.Client("https://relay.test", KEY, timeout="soon"),  # type: ignore[arg-type]  # the mistake
    "a key that is none": lambda: fb.Client("https://relay.test", KEY + "\u201d"),
    "a key that is told at each call": lambda: fb.Client("https://relay.test", lambda: KEY + " x").prepare(REQUEST, "messages"),
    "a transport": lambda: fb.transport("https://relay.test", KEY, via="none"),
    "a transport with a key that is none": lambda: fb.transport("https://relay.test", KEY + "\u201d", via="messages"),
    "a bridge": lambda: fb.Bridge("none", via="messages"),
}


def _shown(act: Callable[[], object]) -> str:
    """Return a traceback as tools show it that show what frames hold."""
    with pytest.raises(fb.FormatBridgeError) as caught:
        act()
    return "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_traceback_of_what_could_not_be_made_shows_no_key(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key with a typographic quote behind it comes from a page of the web, and is one but for the quote."""
    monkeypatch.delenv("FORMATBRIDGE_BASE_URL", raising=False)

    assert KEY not in _shown(MISTAKES[mistake])


@pytest.mark.parametrize("make", [fb.Client, lambda url: fb.transport(url, via="messages")], ids=["client", "transport"])
def test_a_key_of_the_environment_that_is_none_is_in_no_traceback(
    make: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has written it out in the program, so nobody looks for it there."""
    monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY + "\u201d")

    assert KEY not in _shown(lambda: make("https://relay.test"))


def test_an_async_callable_for_the_key_is_refused_without_a_warning() -> None:
    """Nobody waits for what it returns; Python would say so in lines of this library."""

    async def key() -> str:
        return "sk-never"

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with fb.Client("https://relay.test", key, retry=0) as client, pytest.raises(fb.ConfigurationError, match="coroutine"):  # type: ignore[arg-type]  # that is the point
            client.send({"model": "m", "messages": []}, "chat_completions")
        gc.collect()

    assert [each for each in warned if "awaited" in str(each.message)] == []  # what else is collected is not ours
