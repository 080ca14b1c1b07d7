"""Headers of the two legs of a way: what of an SDK's goes on to the wire, what of the wire's comes home, and where the key is."""

from __future__ import annotations

from collections.abc import Mapping

import formatbridge as fb
from formatbridge.relay.profile import RelayProfile
from formatbridge.relay.secret import Secret, checked_key

_KEY_HEADERS = ("x-goog-api-key", "x-api-key", "api-key")
_OF_ONE_LEG = frozenset(_KEY_HEADERS) | {
    "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type", "cookie",
    "host", "keep-alive", "proxy-authorization", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that belong to one leg of the way, or hold a secret; each leg gets its own."""

_OF_NOBODY = "x-stainless-"
_OF_THE_VENDOR = ("anthropic-", "openai-", "x-goog-")
"""Headers that only the host of the SDK's own format can read."""

_VERSION = "anthropic-version"
_ID_HEADERS: Mapping[fb.Format, str] = {"chat_completions": "x-request-id", "responses": "x-request-id", "messages": "request-id"}
"""Where an SDK looks for the id of a request."""


def key_of(headers: Mapping[str, str]) -> Secret | None:
    """Return the key that an SDK was given, from whichever header it puts it in; None where it has none."""
    found = next((headers[name] for name in _KEY_HEADERS if name in headers), None)
    if found is None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        found = token if scheme.lower() == "bearer" else ""
    return checked_key(found)


def outgoing_headers(
    given: Mapping[str, str], source: fb.Format, target: fb.Format, profile: RelayProfile, version: str
) -> dict[str, str]:
    """Return the headers for the wire, but for the key: those of the SDK that may cross, and the wire's own.

    Where the formats are the same, so is the dialect: the SDK's own version stands. ``version``: of messages, for all others.
    """
    is_same = source == target
    made = {name: value for name, value in given.items() if _may_cross(name, is_same=is_same)}
    if target == "messages":
        spoken = given.get(_VERSION, version) if is_same else version
        made |= dict.fromkeys([name.lower() for name in profile.version_headers], spoken)
    made |= {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    return made | {name.lower(): value for name, value in profile.headers.items()}


def _may_cross(name: str, *, is_same: bool) -> bool:
    if name in _OF_ONE_LEG or name.startswith(_OF_NOBODY):
        return False
    return is_same or not name.startswith(_OF_THE_VENDOR)


def key_header(key: Secret | None, endpoint: str, profile: RelayProfile) -> dict[str, str]:
    """Return the one header that holds the key at an endpoint; none where there is no key."""
    if key is None:
        return {}
    name = profile.auth.get(endpoint, "authorization").lower()
    return {name: f"Bearer {key.reveal()}" if name == "authorization" else key.reveal()}


def home_headers(given: Mapping[str, str], target: fb.Format, profile: RelayProfile, kind: str) -> dict[str, str]:
    """Return the headers for the SDK, its own name for the request's id among them. ``kind``: the media type."""
    made = {name: value for name, value in given.items() if name not in _OF_ONE_LEG}
    id_ = next((given[name] for name in profile.request_id_headers if name in given), None)
    if id_ is not None and target in _ID_HEADERS:
        made[_ID_HEADERS[target]] = id_
    return made | {"content-type": kind}
