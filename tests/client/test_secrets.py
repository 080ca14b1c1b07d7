"""Secrets are hidden wherever they are returned, in any encoding."""

from __future__ import annotations

import base64
import copy
import dataclasses
import gc
import html
import json
import logging
import pickle
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest

import formatbridge as fb
from formatbridge.convert.bridge import Exchange
from formatbridge.convert.masking import Mask, Secret
from tests.support.servers import KEY, answer_of, body_of

REQUEST = body_of("requests", "messages")


def _client(serve: Any, key: str = KEY, **settings: Any) -> fb.Client:
    return fb.Client("https://relay.test", key, http_client=httpx.Client(transport=httpx.MockTransport(serve)), **settings)


def _text_and_error(content: bytes, key: str = KEY, **settings: Any) -> tuple[str, fb.BadRequestError]:
    """Return all texts of the error for an error body."""
    with pytest.raises(fb.BadRequestError) as caught:
        _client(lambda _: httpx.Response(400, content=content), key, **settings).send(REQUEST, "messages")
    error = caught.value
    shown = [str(error), repr(vars(error)), repr(error.as_format("chat_completions")), repr(pickle.dumps(vars(error)))]
    return " ".join(shown), error


def _escaped(text: str, notation: str) -> bytes:
    """Write an error body with every character of its message escaped."""
    message = "".join(notation.format(ord(char)) for char in text)
    return b'{"error": {"message": "bad key ' + message.encode() + b'", "type": "t"}}'


@pytest.mark.parametrize("notation", ["\\u{:04x}", "\\u{:04X}"], ids=["lower", "upper"])
def test_a_key_with_any_escape_is_hidden(notation: str) -> None:
    """JSON has several notations for a character, and relays repeat keys in all of them."""
    body = _escaped(KEY, notation)

    reported, error = _text_and_error(body)

    assert KEY not in reported
    assert json.loads(error.body)["error"]["message"] == "bad key ***"


def test_a_slash_of_a_key_may_be_escaped() -> None:
    """Some JSON writers put a backslash before each slash."""
    key = "sk/canary/0123"

    reported, _ = _text_and_error(b'{"error": {"message": "bad key sk\\/canary\\/0123"}}', key)

    assert key not in reported.replace("\\", "")


def test_a_key_as_a_member_name_is_hidden() -> None:
    """A relay may list its keys as names of members."""

    def serve(_request: httpx.Request) -> httpx.Response:
        message = {"type": "message_start", "message": {**answer_of("messages"), KEY: {KEY: [KEY]}}}
        failed = {"type": "error", "error": {"type": "api_error", "message": "no"}}
        return httpx.Response(200, content=b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in (message, failed)))

    with pytest.raises(fb.StreamFailedError) as caught, _client(serve).stream(REQUEST, "messages") as stream:
        stream.response()

    assert caught.value.partial is not None
    assert '"***"' in json.dumps(caught.value.partial.body)
    assert KEY not in json.dumps(caught.value.partial.body)


def test_a_secret_that_begins_with_another_secret_is_hidden_completely() -> None:
    """If a key begins with another one, its end must be hidden too."""
    longer = f"{KEY}-and-more"

    reported, _ = _text_and_error(
        json.dumps({"error": {"message": f"bad keys {longer} {KEY}"}}).encode(), KEY, headers={"x-token": longer}
    )

    assert "and-more" not in reported
    assert "bad keys *** ***" in reported


@pytest.mark.parametrize(("length", "is_hidden"), [(5, False), (6, True), (7, True)])
def test_a_key_of_six_or_more_characters_is_hidden(length: int, is_hidden: bool) -> None:
    """A shorter one is no key, and hiding it would change every text that contains it."""
    key = "zq8x4v7w"[:length]

    reported, _ = _text_and_error(json.dumps({"error": {"message": f"bad key {key}."}}).encode(), key)

    assert (key not in reported) is is_hidden


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
        "X-Pass",
        "X-JWT",
        "X-Session-Id",
        "X-Bearer",
    ],
)
def test_the_value_of_a_header_that_may_be_secret_is_never_shown(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Gateways put sessions and signatures into separate headers; logs and dry runs show names and no values."""
    caplog.set_level(logging.DEBUG, logger="formatbridge")
    seen: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=answer_of("messages"))

    client = _client(serve, headers={name: "hush-hush"})

    call = client.prepare(REQUEST, "messages")
    client.send(REQUEST, "messages")

    assert seen[0].headers[name] == "hush-hush"
    assert call.headers[name.lower()] in ("***", "Bearer ***")
    assert f"'{name.lower()}': '***'" in caplog.text
    assert "hush" not in caplog.text + repr(call) + repr(vars(client))


def test_other_headers_are_shown() -> None:
    """A user compares them with those that the relay received."""
    call = _client(None, headers={"X-Team": "blue"}).prepare(REQUEST, "messages")

    assert call.headers["x-team"] == "blue"


MISTAKES: dict[str, Callable[[], object]] = {
    "no address": lambda: fb.Client(api_key=KEY),
    "no address, async": lambda: fb.AsyncClient(api_key=KEY),
    "another setting": lambda: fb.Client("https://relay.test", KEY, timeout="soon"),  # type: ignore[arg-type]  # the mistake
    "a key that is none": lambda: fb.Client("https://relay.test", KEY + "\u201d"),
    "a key that a function returns": lambda: fb.Client("https://relay.test", lambda: KEY + " x").prepare(REQUEST, "messages"),
    "a transport": lambda: fb.transport("https://relay.test", KEY, via=fb.RegisteredName("none")),
    "a transport with a key that is none": lambda: fb.transport("https://relay.test", KEY + "\u201d", via="messages"),
    "a bridge": lambda: fb.Bridge(fb.RegisteredName("none"), via="messages"),
}


def _shown(act: Callable[[], object]) -> str:
    """Return a traceback with the local variables of its frames, as some tools show it."""
    with pytest.raises(fb.FormatBridgeError) as caught:
        act()
    return "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_traceback_of_a_failed_constructor_shows_no_key(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was copied from a web page may end in a typographic quote."""
    monkeypatch.delenv("FORMATBRIDGE_BASE_URL", raising=False)

    assert KEY not in _shown(MISTAKES[mistake])


@pytest.mark.parametrize("make", [fb.Client, lambda url: fb.transport(url, via="messages")], ids=["client", "transport"])
def test_an_invalid_key_of_the_environment_is_in_no_traceback(
    make: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program does not contain it, so no user expects it in a traceback."""
    monkeypatch.setenv("FORMATBRIDGE_API_KEY", KEY + "\u201d")

    assert KEY not in _shown(lambda: make("https://relay.test"))


def test_an_async_callable_for_the_key_is_refused_without_a_warning() -> None:
    """The coroutine that it returns is not awaited, and Python would warn about a line of this library."""

    async def key() -> str:
        return "sk-never"

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with fb.Client("https://relay.test", key, retry=0) as client, pytest.raises(fb.ConfigurationError, match="coroutine"):  # type: ignore[arg-type]  # that is the point
            client.send({"model": "m", "messages": []}, "chat_completions")
        gc.collect()

    assert [each for each in warned if "awaited" in str(each.message)] == []  # what else is collected is not ours


SECRET = "hush-hush-0123456789"


def test_a_profile_hides_its_secret_headers() -> None:
    """Debuggers and logs print settings; ``asdict`` keeps the type that hides them."""
    profile = fb.RelayProfile(headers={"Authorization": SECRET, "x-session-id": SECRET, "x-team": "blue"})
    client = fb.Client("https://relay.test", profile=profile)

    shown = f"{profile!r} {vars(client)!r} {dataclasses.asdict(profile)!r} {dataclasses.astuple(profile)!r}"

    assert SECRET not in shown
    assert "'x-team': 'blue'" in shown
    assert dataclasses.replace(profile, name="other").headers["authorization"] == SECRET


def test_a_profile_with_a_secret_header_is_not_pickled() -> None:
    """A pickle would show the secret; a profile without one can be sent to worker processes."""
    profile = fb.RelayProfile(name="mine", auth={"messages": "x-api-key"}, headers={"x-team": "blue"})

    with pytest.raises(TypeError, match="secret header 'x-bearer'"):
        pickle.dumps(fb.RelayProfile(headers={"X-Bearer": SECRET}))
    assert pickle.loads(pickle.dumps(profile)) == profile
    assert copy.deepcopy(profile) == profile


HARD_KEY = "sk+canary/01<23&45=67"


def _in_base64(before: str, key: str) -> str:
    return base64.b64encode(f"{before}{key}:and more".encode()).decode()


ENCODED: dict[str, Callable[[str], str]] = {
    "a URL": lambda key: quote(key, safe=""),
    "a URL, in lower case": lambda key: quote(key, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    "a URL, each character": lambda key: "".join(f"%{ord(each):02x}" for each in key),
    "HTML": html.escape,
    "HTML within JSON of Go": lambda key: html.escape(key).replace("&", "\\u0026"),
    "HTML, decimal numbers": lambda key: "".join(f"&#{ord(each)};" for each in key),
    "HTML, hexadecimal numbers": lambda key: "".join(f"&#x{ord(each):X};" for each in key),
    "base64": lambda key: _in_base64("", key),
    "base64, one byte later": lambda key: _in_base64("u", key),
    "base64, two bytes later": lambda key: _in_base64("us", key),
    "base64 of a pair": lambda key: _in_base64("user:", key),
    "base64 for URLs": lambda key: _in_base64("Bearer ", key).replace("+", "-").replace("/", "_").rstrip("="),
    "base64 in JSON": lambda key: _in_base64("ab", key).replace("/", "\\/"),
}


def _remains(key: str, text: str) -> list[str]:
    """Return the parts of a key, five characters long, that a text contains in any encoding."""
    text = re.sub("0x[0-9a-f]+", "", text)  # addresses of functions
    read = [text, unquote(text), html.unescape(text.replace("\\u0026", "&"))]
    for token in re.findall(r"[A-Za-z0-9+/]{6,}", text.replace("\\/", "/").replace("-", "+").replace("_", "/")):
        for start in range(4):
            whole = token[start : len(token) - (len(token) - start) % 4]
            read.append(base64.b64decode(whole).decode("latin-1"))
    return [key[at : at + 5] for at in range(len(key) - 4) if any(key[at : at + 5] in each for each in read)]


@pytest.mark.parametrize("key", [KEY, HARD_KEY], ids=["usual", "hard"])
@pytest.mark.parametrize("encoding", ENCODED)
def test_a_key_is_hidden_in_each_encoding(encoding: str, key: str) -> None:
    """Proxies repeat request lines, error pages are HTML, and basic authentication is base64."""
    echoed = ENCODED[encoding](key)
    assert _remains(key, echoed)

    reported, error = _text_and_error(b'{"error": {"message": "cannot use ' + echoed.encode() + b'"}}', key)

    assert _remains(key, reported) == []
    assert re.search(r"cannot use [A-Za-z0-9]{0,6}\*\*\*", str(error))


@pytest.mark.parametrize("encoding", ["a URL, each character", "HTML, decimal numbers", "base64", "base64 of a pair"])
def test_the_beginning_of_an_encoded_key_is_hidden_in_a_truncated_text(encoding: str) -> None:
    """Long errors are shortened, perhaps within the key."""
    mask = Mask([Secret(KEY)])
    echoed = ENCODED[encoding](KEY)

    for length in range(len(echoed)):
        reported = mask.text("cannot use " + echoed[:length])

        assert len(_remains(KEY, reported)) <= 3, (length, reported)  # seven characters of a key are left, for they may be any word


def _exchange(**settings: Any) -> Exchange:
    bridge = fb.Bridge("messages", via="chat_completions", secrets=[KEY], **settings)
    return bridge.open({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}, stream=True)


def test_an_exchange_hides_its_secrets_in_an_error() -> None:
    """A gateway passes the relay's errors on to people who must not see its key."""
    error = _exchange().error(401, json.dumps({"error": {"message": f"bad key {KEY}", "code": KEY}}).encode())

    assert error.status == 401
    assert KEY not in error.json().decode() + repr(error.losses) + repr(error.additions)
    assert "bad key ***" in error.body["error"]["message"]


def test_an_exchange_hides_its_secrets_in_an_answer_that_failed() -> None:
    """Some relays answer 200 with an error in the body."""
    failed = _exchange().response({"error": {"message": f"bad key {KEY}"}})

    assert isinstance(failed, fb.ConvertedError)
    assert KEY not in failed.json().decode()


def test_an_exchange_hides_its_secrets_in_what_it_raises() -> None:
    """The message of an exception is often written to a log or an answer."""
    with pytest.raises(fb.InvalidPayloadError) as caught:
        _exchange().response({"choices": [{"index": KEY}]})

    assert KEY not in _shown_whole(caught.value)


def test_an_exchange_hides_its_secrets_in_a_stream_that_fails() -> None:
    """In the event for the caller, and in every message of the converter."""
    converter = _exchange().stream()

    output = converter.feed(b"data: " + json.dumps({"error": {"message": f"bad key {KEY}", "code": 401}}).encode() + b"\n\n")
    output += converter.finish()

    assert b"bad key ***" in output
    assert KEY not in output.decode() + repr(converter.error)


def test_an_exchange_hides_its_secrets_in_what_a_stream_raises() -> None:
    """An invalid event is quoted, and a broken connection has another message."""
    unreadable, broken = _exchange().stream(), _exchange().stream()

    with pytest.raises(fb.StreamDecodeError) as caught:
        unreadable.feed(f"data: {{{KEY}}}\n\n".encode())
    cut = broken.abort(OSError(f"cannot send {KEY}"))
    with pytest.raises(fb.TruncatedStreamError) as ended:
        _exchange().stream().finish()

    assert KEY not in _shown_whole(caught.value) + _shown_whole(cut) + _shown_whole(ended.value)
    assert "cannot send ***" in str(cut)


def _shown_whole(error: BaseException) -> str:
    frames = traceback.TracebackException.from_exception(error)
    return "".join(frames.format()) + repr(vars(error))


def test_an_exchange_without_secrets_changes_no_error() -> None:
    """A text is masked only on request."""
    exchange = fb.Bridge("messages", via="chat_completions").open(REQUEST)

    assert KEY in exchange.error(401, {"error": {"message": KEY}}).json().decode()


@pytest.mark.parametrize("wrong", [KEY, [5], [f"{KEY}\u201d"], 5], ids=["a string", "no string", "not ASCII", "no list"])
def test_invalid_secrets_are_rejected_without_their_value(wrong: Any) -> None:
    """A string would be read as a list of letters."""
    reported = _shown(lambda: fb.Bridge("messages", via="messages", secrets=wrong))

    assert "expected strings of printable ASCII" in reported
    assert KEY not in reported.replace(repr(wrong), "")


def test_a_bridge_rejects_a_request_in_the_callers_format() -> None:
    """The caller has to correct an invalid request, and gets the message of the exception."""
    bridge = fb.Bridge("messages", via="chat_completions", secrets=[KEY])

    with pytest.raises(fb.InvalidPayloadError) as caught:
        bridge.open({"model": KEY, "max_tokens": "9", "messages": []})
    rejected = bridge.reject(caught.value)

    assert rejected.status == 400
    assert rejected.body["error"]["type"] == "invalid_request_error"
    assert "/max_tokens" in rejected.body["error"]["message"]
