"""URLs of calls: model names in paths, redirects, and lists of models page by page."""

from __future__ import annotations

import itertools
import json
import string
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import httpx
import httpx2
import pytest

import formatbridge as fb
from tests.support.servers import KEY, answer_of, body_of

REQUEST = body_of("requests", "messages")
libraries = pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
BEFORE, BEHIND = "/v1beta/models/", ":generateContent"


def _asked(library: ModuleType, serve: Callable[[Any], Any], **settings: Any) -> tuple[fb.Client, list[Any]]:
    """Return a client and the list to which its requests are added."""
    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request)
        return serve(request)

    http_client = library.Client(transport=library.MockTransport(answer))
    return fb.Client("https://relay.test", KEY, http_client=http_client, **settings), seen


RESERVED = "".join(sorted(set(string.printable[:95]) - set(string.ascii_letters + string.digits + "-._~")))


@libraries
@pytest.mark.parametrize(
    "model",
    [*(f"m{char}x" for char in RESERVED), "m?x=1#", "m;x", "m?key=a&b", "é☃😀", "a%2Fb", "m" * 10_000, RESERVED.replace("/", "")],
    ids=lambda model: model[:12],
)
def test_a_model_name_is_escaped_as_one_path_segment(model: str, library: ModuleType) -> None:
    """A name may come from a form: it must not add a query, nor hide the method behind a fragment."""
    client, seen = _asked(library, lambda _: library.Response(200, json=answer_of("generate_content")))

    client.generate_content(model, contents=[{"parts": [{"text": "hi"}]}])

    path = seen[0].url.raw_path.decode()
    name = path.removeprefix(BEFORE).removesuffix(BEHIND)
    assert path == f"{BEFORE}{name}{BEHIND}"
    assert unquote(name) == model
    assert set(name) <= set(string.ascii_letters + string.digits + "-._~%")


@libraries
@pytest.mark.parametrize(
    ("location", "is_followed"),
    [
        ("https://relay.test:443/v1/x", True),
        ("https://RELAY.test/v1/x", True),
        ("https://relay.test./v1/x", True),
        ("https://relay.test:444/v1/x", False),
        ("https://relay.test:80/v1/x", False),
        ("http://relay.test:443/v1/x", False),
        ("https://user@relay.test/v1/x", False),
        ("https://:pw@relay.test/v1/x", False),
        ("https://relay.test..evil.test/v1/x", False),
    ],
)
def test_origins_are_compared_by_normalized_scheme_host_and_port(location: str, is_followed: bool, library: ModuleType) -> None:
    """The default port may be omitted, and the host may end in a dot. A password before the host may deceive a reader."""

    def serve(_request: Any) -> Any:
        if len(seen) == 1:
            return library.Response(307, headers={"location": location})
        return library.Response(200, json=answer_of("messages"))

    client, seen = _asked(library, serve)

    if is_followed:
        assert client.send(REQUEST, "messages").status == 200
    else:
        with pytest.raises(fb.APIConnectionError, match="to another origin"):
            client.send(REQUEST, "messages")
    assert len(seen) == (2 if is_followed else 1)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z"}


def _page(*names: str, more: bool = False, last: str | None = None) -> dict[str, Any]:
    return {"data": [_model(name) for name in names], "has_more": more, "first_id": None, "last_id": last}


@pytest.mark.parametrize(
    ("pages", "requested"),
    [
        ([_page("a", more=True, last="a b"), _page("c")], ["", "?after_id=a+b"]),
        ([_page("a", more=True, last="a"), _page("b", more=True, last="b"), _page("c")], ["", "?after_id=a", "?after_id=b"]),
        ([_page("a", "b", "c", more=True)], [""]),
        ([_page("a", "b", "c", more=False, last="c")], [""]),
    ],
    ids=["two pages", "three pages", "more of nothing", "the last"],
)
def test_pages_after_an_id_are_read(pages: list[Any], requested: list[str]) -> None:
    """One vendor pages by the id of the last model."""
    reported = iter(pages)
    client, seen = _asked(httpx, lambda _: httpx.Response(200, json=next(reported)), profile="messages")

    models = client.models()

    assert [model.id for model in models] == [name["id"] for page in pages for name in page["data"]]
    assert [request.url.raw_path.decode() for request in seen] == [f"/v1/models{query}" for query in requested]


def test_an_endless_list_of_models_is_refused() -> None:
    """After a hundred pages the server has a defect, and the client must not read for ever."""
    numbers = itertools.count()

    def serve(_request: Any) -> httpx.Response:
        number = next(numbers)
        assert number < 200
        return httpx.Response(200, json={"models": [{"name": f"models/{number}"}], "nextPageToken": f"p{number}"})

    client, seen = _asked(httpx, serve)

    with pytest.raises(fb.UnexpectedResponseError, match="more than 100 pages"):
        client.models()

    assert len(seen) == 100


def test_a_query_in_the_models_path_precedes_the_page() -> None:
    """Some relays require their version there."""
    pages = iter([{"models": [{"name": "models/a"}], "nextPageToken": "x"}, {"models": [{"name": "models/b"}]}])
    profile = fb.RelayProfile(paths={"models": "/v1beta/models?api-version=7"})
    client, seen = _asked(httpx, lambda _: httpx.Response(200, json=next(pages)), profile=profile)

    models = client.models()

    assert [model.id for model in models] == ["a", "b"]
    assert [request.url.query for request in seen] == [b"api-version=7", b"api-version=7&pageToken=x"]


STRICT = fb.Options(raise_on="info")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_raise_on_does_not_apply_to_an_answer(stream: bool) -> None:
    """``raise_on`` applies to requests. The answer has been paid for, and an error would discard it."""
    lossy = answer_of("messages") | {"x_new": 5}
    client, _ = _asked(httpx, lambda _: httpx.Response(200, json=lossy), options=STRICT)
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 9}

    answer: fb.Converted | fb.Reply
    if stream:
        with client.stream(request, "chat_completions", "messages") as opened:
            answer = opened.response()
    else:
        answer = client.send(request, "chat_completions", "messages")

    assert "Vinnufossen" in json.dumps(answer.body)
    assert "/x_new" in [loss.path for loss in answer.losses]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_request_that_loses_more_than_is_allowed_is_not_sent(stream: bool) -> None:
    """Nothing has been sent or billed at this point."""
    client, seen = _asked(httpx, lambda _: httpx.Response(200, json=answer_of("messages")), options=STRICT)
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "seed": 7}

    with pytest.raises(fb.LossyConversionError):
        (client.stream if stream else client.send)(request, "chat_completions", "messages")

    assert seen == []


def test_the_models_path_of_another_format_is_tried_after_a_404() -> None:
    """Many relays have the list of one format only, at the path of that format."""
    requested: list[str] = []
    listed = {"object": "list", "data": [{"id": "m-large", "object": "model", "created": 1, "owned_by": "x"}]}

    def serve(request: httpx.Request) -> httpx.Response:
        requested.append(request.url.path)
        return httpx.Response(200, json=listed) if request.url.path == "/team/v1/models" else httpx.Response(404)

    client = fb.Client("https://relay.test/team", KEY, http_client=httpx.Client(transport=httpx.MockTransport(serve)))

    assert [model.id for model in client.models()] == ["m-large"]
    assert requested == ["/team/v1beta/models", "/team/v1/models"]


def test_a_relay_without_a_list_of_models_raises_one_error() -> None:
    """Each path is requested once, and the error has status 404."""
    requested: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        requested.append(request.url.path)
        return httpx.Response(404)

    client = fb.Client("https://relay.test", KEY, http_client=httpx.Client(transport=httpx.MockTransport(serve)))

    with pytest.raises(fb.NotFoundError):
        client.models()
    assert requested == ["/v1beta/models", "/v1/models"]
