"""Headers of the two legs of a way: what of an SDK's goes on to the wire, what of the wire's comes home, and where the key is."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge import ir
from formatbridge.convert.masking import Secret
from formatbridge.relay import faults
from formatbridge.relay.calls import KEY_HEADERS
from formatbridge.relay.profile import RelayProfile
from formatbridge.relay.secret import Headers, checked_key

_OF_ONE_LEG = frozenset(KEY_HEADERS) | {
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "host", "keep-alive",
    "proxy-authorization", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that belong to one leg of the way, or hold a secret; each leg gets its own."""

_OF_NOBODY = "x-stainless-"
_OF_THE_VENDOR = ("anthropic-", "openai-", "x-goog-")
"""Headers that only the host of the SDK's own format can read."""

VERSION = "anthropic-version"
"""Where an SDK says which dialect of messages it speaks."""

_ID_HEADERS: Mapping[ir.Format, str] = {"chat_completions": "x-request-id", "responses": "x-request-id", "messages": "request-id"}
"""Where an SDK looks for the id of a request."""


def sdk_key(headers: Mapping[str, str]) -> Secret | None:
    """Return the key that an SDK was given, from whichever header it puts it in; None where it has none."""
    name = next((name for name in KEY_HEADERS if name in headers), None)
    if name is None:
        return None
    if name != "authorization":
        return checked_key(headers[name])
    is_bearer = headers[name].partition(" ")[0].lower() == "bearer"
    return checked_key(headers[name].partition(" ")[2] if is_bearer else "")


def passed_headers(given: Mapping[str, str], source: ir.Format, target: ir.Format) -> Headers:
    """Return the headers of an SDK that may cross."""
    is_same = source == target
    return Headers({name: value for name, value in given.items() if _may_cross(name, is_same=is_same)})


def _may_cross(name: str, *, is_same: bool) -> bool:
    if name in _OF_ONE_LEG or name.startswith(_OF_NOBODY):
        return False
    return is_same or not name.startswith(_OF_THE_VENDOR)


def home_headers(given: Mapping[str, str], target: ir.Format, profile: RelayProfile, kind: str) -> dict[str, str]:
    """Return the headers for the SDK, its own name for the request's id among them. ``kind``: the media type."""
    made = {name: value for name, value in given.items() if name not in _OF_ONE_LEG}
    id = faults.request_id(given, profile.request_id_headers)
    if id is not None and target in _ID_HEADERS:
        made[_ID_HEADERS[target]] = id
    return made | {"content-type": kind}
