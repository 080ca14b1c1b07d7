"""Lists of models: what is an empty one, and what is none."""

from __future__ import annotations

import httpx
import pytest

import formatbridge as fb

FORMATS = ["chat_completions", "responses", "messages", "generate_content"]
NULL = {"data": None, "object": "list", "success": True}


def asked(body: object, profile: str | None = None) -> list[str]:
    """Return the ids that the client reads in a list of models."""
    answer = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    with fb.Client("http://relay", "key", retry=0, profile=profile, http_client=httpx.Client(transport=answer)) as client:
        return [model.id for model in client.models()]


@pytest.mark.parametrize("source", ["chat_completions", "responses", "messages"])
@pytest.mark.parametrize("target", FORMATS)
def test_a_list_that_is_null_is_empty(source: str, target: str) -> None:
    """Relays written in Go say so where there are no models; the SDKs read it so. In its own format it stays as it came."""
    made = fb.convert_models(NULL, source=source, target=target)

    assert made.body.get("data", made.body.get("models")) == (None if source == target else [])
    made.parse()


@pytest.mark.parametrize("profile", [None, "chat_completions", "messages"])
def test_the_client_reads_a_list_that_is_null_as_empty(profile: str | None) -> None:
    assert asked(NULL, profile) == []


NO_LISTS: list[tuple[object, str]] = [
    ({"message": "maintenance"}, "200: maintenance"),
    ({"models": None, "message": "maintenance"}, "200: maintenance"),
    ({"detail": "x"}, "200: x"),
    ({"foo": 1}, "is no list of models: generate_content models: /models is missing"),
    ({"candidates": []}, "is no list of models"),
    ({"id": "msg_1", "type": "message", "role": "assistant", "content": []}, "is no list of models"),
]


@pytest.mark.parametrize(("body", "told"), NO_LISTS)
def test_an_object_with_nothing_of_a_list_is_no_empty_list(body: object, told: str) -> None:
    """One format demands no field of a list; whoever serves this page has no models to offer and does not say so."""
    with pytest.raises(fb.UnexpectedResponseError, match=told):
        asked(body)


@pytest.mark.parametrize(
    "body", [{}, {"models": []}, {"models": None}, {"nextPageToken": ""}, {"tuned_models": [], "new": 1}], ids=repr
)
def test_a_list_may_be_empty(body: object) -> None:
    assert asked(body) == []
