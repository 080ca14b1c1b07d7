"""One HTTP call as values: the request, and the meaning of its answer. Nothing here does I/O."""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

from formatbridge import formats, ir
from formatbridge._version import __version__
from formatbridge.client import errors
from formatbridge.client.profile import MODELS, RelayProfile, origin_of
from formatbridge.client.secrets import Headers, is_sensitive, masked_headers
from formatbridge.client.settings import Limits
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.bridge import BaseExchange, Exchange
from formatbridge.convert.masking import HIDDEN, Mask, Secret
from formatbridge.errors import APIConnectionError, APIError, ConfigurationError, InvalidPayloadError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.errors import error_text, is_error_body
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.losses import Addition, Loss
from formatbridge.streaming.sse import without_comments

A = TypeVar("A")
KEY_HEADERS = ("x-goog-api-key", "x-api-key", "api-key", "authorization")
"""Headers that may contain a key, in order of preference."""
WHITESPACE = b"\xef\xbb\xbf \t\r\n"
MAX_LEADING_BYTES = 64 * 1024
"""``WHITESPACE`` may precede a body. So many bytes, comments of a stream excluded, are read to recognise the body."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request; the values of secret headers are in ``secrets``.

    ``source_format``: the caller's; ``target_format``: the endpoint's. ``model``: for the log.

    ``key_headers``: headers that may contain a key; only one of them is sent.
    """

    method: str
    url: str
    headers: Headers
    body: bytes
    source_format: FormatSpec
    target_format: FormatSpec
    model: str = ""
    stream: bool = False
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    key_headers: Set[str] = frozenset(KEY_HEADERS)

    @property
    def other_key_headers(self) -> Set[str]:
        """Headers to remove from the request, because this call has another key."""
        return self.key_headers - self.secrets.keys() if self.secrets.keys() & self.key_headers else frozenset()

    @property
    def mask(self) -> Mask:
        """A mask that hides the secrets of this call in everything that the relay sends."""
        secrets: list[Secret] = []
        for secret in self.secrets.values():
            text = secret.reveal()
            secrets += [secret, Secret(text.removeprefix("Bearer "))]
        return Mask(secrets)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that is not sent. Headers that may contain a secret have the value ``***``."""

    method: str
    """The HTTP method."""
    url: str
    """The URL with its query."""
    headers: dict[str, str]
    """The headers by lower-case name."""
    body: JsonObject
    """The body in the format of the endpoint."""
    losses: tuple[Loss, ...]
    """What the endpoint cannot hold of the request."""
    additions: tuple[Addition, ...]
    """What the endpoint requires and the request lacks."""


@dataclass(frozen=True, slots=True)
class Head:
    """The status line and headers of an answer.

    ``headers``: by lower-case name.
    ``size``: of all headers, in bytes.
    ``received_at``: seconds since the epoch.
    ``is_framed``: whether HTTP marks the end of the body; then a truncated body is a connection error.
    ``request_id``: the id of the call in the logs of the relay; None if the answer has none. ``follow_redirects`` sets it.
    """

    status: int
    headers: Mapping[str, str]
    size: int = 0
    received_at: float = 0
    is_framed: bool = False
    request_id: str | None = None


def build_call(
    exchange: BaseExchange,
    base_url: str,
    profile: RelayProfile,
    key: Secret | None,
    headers: Mapping[str, str],
    sdk_headers: Mapping[str, str] = NO_HEADERS,
) -> Call:
    """Build the HTTP call for an exchange. ``sdk_headers``: headers of an SDK's request; all other headers have precedence."""
    request = exchange.request
    streams, target_format = request.stream, request.target_format
    path = None
    if request.kind == "count_request":
        path = profile.count_path(target_format, model=request.model)
    url = _url(base_url, path or profile.path(target_format, model=request.model, stream=streams))
    defaults = {"content-type": "application/json", **_accepted(streams)}
    version = _versions(profile, target_format, exchange.options.messages_version)
    add_headers = target_format.endpoint.add_headers
    public = _public_headers(defaults, sdk_headers, version, profile.headers, headers)
    return Call(
        method="POST",
        url=url,
        headers=Headers(add_headers(public, request.body) if add_headers else public),
        body=codec.dumps(_wire_body(request.body, target_format)),
        source_format=request.source_format,
        target_format=target_format,
        model=request.model,
        stream=streams,
        secrets=_secret_headers(profile, target_format, key, {**sdk_headers, **profile.headers, **headers}),
        key_headers=_key_headers(profile, target_format),
    )


def _url(base_url: str, path: str) -> str:
    """Join a base URL and a path; raise an error if the path changes the origin, which would receive the key."""
    url = base_url + path
    if origin_of(url) != origin_of(base_url) or "@" in urlsplit(url).netloc:
        raise ConfigurationError(f"path {path[:100]!r} changes the origin, expected a path below the base URL")
    return url


def _wire_body(body: JsonObject, target_format: FormatSpec) -> JsonObject:
    """Return the body to send, without the fields that the URL contains."""
    in_url = target_format.url_fields
    return {name: value for name, value in body.items() if name not in in_url} if in_url & body.keys() else body


def build_models_call(
    base_url: str,
    profile: RelayProfile,
    key: Secret | None,
    headers: Mapping[str, str],
    location: tuple[str, FormatSpec],
    page: str = "",
    sdk_headers: Mapping[str, str] = NO_HEADERS,
) -> Call:
    """Build the call for a page of the list of models. ``location``: its path and format; ``page``: a query such as ``?pageToken=x``."""
    path, target_format = location
    return Call(
        method="GET",
        url=_url(base_url, path + (page.replace("?", "&", 1) if "?" in path else page)),
        headers=Headers(
            _public_headers(
                _accepted(False), sdk_headers, _versions(profile, target_format, profile.messages_version), profile.headers, headers
            )
        ),
        body=b"",
        source_format=target_format,
        target_format=target_format,
        secrets=_secret_headers(profile, MODELS, key, {**sdk_headers, **profile.headers, **headers}),
        key_headers=_key_headers(profile, MODELS),
    )


def _accepted(streams: bool) -> dict[str, str]:
    """Return the headers for the expected answer. A stream is not compressed, because compression would delay its chunks."""
    return {
        "accept": "text/event-stream, application/json" if streams else "application/json",
        "accept-encoding": "identity" if streams else "gzip, deflate",
        "user-agent": f"formatbridge/{__version__} python/{platform.python_version()}",
    }


def _versions(profile: RelayProfile, target_format: FormatSpec, version: str) -> dict[str, str]:
    """Return the headers that name the version, for an endpoint whose format has one."""
    has_version = target_format.endpoint.version_header is not None
    return dict.fromkeys([name.lower() for name in profile.version_headers], version) if has_version else {}


def _public_headers(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge headers, later ones with precedence, without those that may contain a secret."""
    merged = {name.lower(): value for layer in layers for name, value in layer.items()}
    return {name: value for name, value in merged.items() if not is_sensitive(name)}


def _secret_headers(
    profile: RelayProfile, endpoint: FormatOrName, key: Secret | None, headers: Mapping[str, str]
) -> dict[str, Secret]:
    """Return the secret headers. An explicit key header has precedence over the key; only one key is sent."""
    secrets = {name.lower(): Secret(value) for name, value in headers.items() if is_sensitive(name)}
    if key is not None and not secrets.keys() & _key_headers(profile, endpoint):
        name = _key_header(profile, endpoint)
        secrets[name] = Secret(f"Bearer {key.reveal()}") if name == "authorization" else key
    return secrets


def _key_header(profile: RelayProfile, endpoint: FormatOrName) -> str:
    """Return the header with the API key: that of the profile, else that of a format from outside, else ``authorization``."""
    name, default = endpoint, "authorization"
    if isinstance(endpoint, FormatSpec):
        name = endpoint.name
        default = default if name in formats.FORMATS else endpoint.endpoint.key_header
    return profile.auth.get(str(name), default).lower()


def _key_headers(profile: RelayProfile, endpoint: FormatOrName) -> Set[str]:
    return {_key_header(profile, endpoint), *KEY_HEADERS}


def prepared(call: Call, exchange: Exchange) -> Prepared:
    """Return a call that is not sent, for the caller."""
    secrets = {name: f"Bearer {HIDDEN}" if name == "authorization" else HIDDEN for name in call.secrets}
    request = exchange.request
    headers = masked_headers(call.headers) | secrets
    body = _wire_body(request.body, request.target_format)
    return Prepared(call.method, call.url, headers, body, request.losses, request.additions)


def report_replay(converted: ConvertedRequest) -> None:
    """Report that a request for a stream is sent without streaming."""
    converted.note(Loss.of("/stream", "changed", "info", "replayed", True, False))


def follow_redirects(
    call: Call, limits: Limits, request_id_headers: tuple[str, ...], send: Callable[[Call], A]
) -> Generator[A, Head, Head]:
    """Send a call, follow its redirects, and return the head of the final answer with the secrets hidden.

    ``request_id_headers``: the headers that may have the request id.
    Raises ``APIConnectionError`` on headers beyond the limits, too many redirects, and redirects to another origin.
    """
    for hops in count():
        head = yield send(call)
        if head.size > limits.max_header_bytes:
            message = f"the headers have {head.size} bytes, expected at most {limits.max_header_bytes}: raise max_header_bytes"
            raise APIConnectionError(message, phase="headers", can_retry=False)
        if not 300 <= head.status < 400:
            headers = call.mask.whole(head.headers)
            return replace(head, headers=headers, request_id=errors.request_id(headers, request_id_headers))
        call = _redirected(call, head)
        if hops >= limits.max_redirects:
            message = f"the relay redirected more than {limits.max_redirects} times, expected an answer: correct the base URL"
            raise APIConnectionError(message, phase="redirect", can_retry=False)
    raise AssertionError("count() is infinite")


def _redirected(call: Call, head: Head) -> Call:
    """Return the call for a redirect within the same origin; raise ``APIConnectionError`` on any other."""
    location = head.headers.get("location", "")
    try:
        url = urljoin(call.url, location)
        is_same = origin_of(url) == origin_of(call.url) and "@" not in urlsplit(url).netloc
    except ValueError:
        url, is_same = "", False
    if head.status not in (307, 308) or not location or not is_same:
        where = "to another origin" if location and not is_same else "that does not repeat the call"
        message = f"{head.status}: the relay sent a redirect {where}, expected an answer: correct the base URL"
        raise APIConnectionError(call.mask.text(message), phase="redirect", can_retry=False)
    return replace(call, url=url.partition("#")[0])


class Native(NamedTuple):
    """The body of a success: the object, and its JSON text. Duplicate keys and lone surrogates are visible only in the text."""

    value: JsonObject
    text: bytes


def read_json(head: Head, body: bytes, call: Call, *, allows_lone_surrogates: bool = True) -> Native:
    """Read the body of a success; raise ``UnexpectedResponseError`` if it is an error or not a JSON object.

    ``allows_lone_surrogates``: they are accepted, because the reader of the text reports them.
    """
    body = without_comments(body)
    try:
        value = codec.loads(body, [] if allows_lone_surrogates else None)
    except codec.NotJsonError as error:
        problem = (
            "is empty" if not body.strip() else "is HTML or XML" if is_markup(body) else f"{error.pointer} {error.message}".strip()
        )
        raise _unexpected_body(problem, head, body, call) from None
    if errors.is_error_answer(value):
        raise _error_in_success(head, body, call)
    if not isinstance(value, dict):
        problem = f"is {codec.describe(value)}"
        raise _unexpected_body(problem, head, body, call)
    return Native(value, body)


def _error_in_success(head: Head, body: bytes, call: Call) -> APIError:
    return errors.status_error(head.status, body, head.headers, id=head.request_id, mask=call.mask, now=head.received_at)


def _unexpected_body(problem: str, head: Head, body: bytes, call: Call) -> APIError:
    kept = body[: errors.MAX_KEPT_BYTES]
    return errors.unexpected_body(problem, status=head.status, body=kept, id=head.request_id, mask=call.mask)


class BodyStart:
    """The first bytes of a body, up to the first that is neither white space nor a comment."""

    def __init__(self) -> None:
        self.read = b""
        """All bytes that were read."""
        self.content = b""
        """The bytes after white space and comments."""

    @property
    def is_undecided(self) -> bool:
        """Whether more bytes are needed."""
        return self.content[:1] in (b"", b":") and len(self.read) < MAX_LEADING_BYTES

    def feed(self, chunk: bytes) -> None:
        """Add a chunk of the body."""
        self.read += chunk
        self.content = without_comments(self.content + chunk).lstrip(WHITESPACE)


def is_markup(body: bytes) -> bool:
    """Return whether a body looks like HTML or XML."""
    return body.lstrip(WHITESPACE)[:1] == b"<"


def read_answer(head: Head, native: Native, exchange: BaseExchange, call: Call) -> Converted:
    """Convert a whole answer; raise ``UnexpectedResponseError`` if it is invalid, or failed and becomes an error in the caller's format."""
    try:
        converted = exchange.response(native.text)
    except InvalidPayloadError as error:
        raise invalid_answer(error, head, native.value, call) from None
    if isinstance(converted, ConvertedError):
        raise_if_failed(head, native.value, call)
        raise _error_in_success(head, codec.dumps(native.value), call)
    return converted


def raise_if_failed(head: Head, native: JsonObject, call: Call) -> None:
    """Raise ``UnexpectedResponseError`` if the endpoint's answer has the status of a failure."""
    failure = call.target_format.failure_of(native)
    if failure is not None:
        raise errors.error_in_answer(failure, head.status, head.headers, id=head.request_id, mask=call.mask, now=head.received_at)


def invalid_answer(error: Exception, head: Head, native: JsonObject, call: Call, expected: str = "answer") -> APIError:
    """Return the exception for an object that is not the ``expected`` one; for an error in a success, with its message."""
    body = codec.dumps(native)
    if is_error_body(native):
        return _error_in_success(head, body, call)
    return _unexpected_body(f"is no {expected}: {error}", head, body, call)


def read_models(head: Head, native: JsonObject, call: Call) -> ir.ModelList:
    """Read a page of the list of models in any format."""
    from formatbridge.convert.input import check_answer

    try:
        spec = list_format(native, call)
        return spec.decode_models(check_answer(native, spec, "models"))
    except InvalidPayloadError as error:
        raise invalid_models(error, head, native, call) from None


def list_format(native: JsonObject, call: Call) -> FormatSpec:
    """Return the format of a list of models: relays have several, and some serve one at the path of another.

    Every field of a page is optional. An object with only other fields is not a list, and an error with a null list is not a list either:
    both raise ``InvalidPayloadError``.
    """
    requested = call.target_format
    known = list(dict.fromkeys([*map(formats.load, formats.FORMATS), requested]))
    is_empty = all(native.get(key) in (None, "") for spec in known for key in spec.endpoint.models.keys)
    if is_empty and native.get("success") is not True and error_text(native)[0]:
        raise InvalidPayloadError(requested.name, "models", [("", "has no list of models, expected data or models")])
    listing, common = requested.endpoint.models, known[0].endpoint.models.keys[0]
    has_common_key = listing.keys[0] == common
    if not has_common_key and common not in native:
        if native and native.keys().isdisjoint(listing.keys):
            raise InvalidPayloadError(requested.name, "models", [(f"/{listing.keys[0]}", "is missing, expected an array")])
        return requested
    default = requested if has_common_key else known[0]
    if default.endpoint.models.label is None:
        return default
    return _labelled(native.get(common), known) or default


def _labelled(models: JsonValue, known: Iterable[FormatSpec]) -> FormatSpec | None:
    """Return the format whose label the first model of a list has."""
    first = models[0] if isinstance(models, list) and models else None
    if not isinstance(first, dict):
        return None
    labels = [(spec.endpoint.models.label, spec) for spec in known]
    return next((spec for label, spec in labels if label is not None and first.get(label[0]) == label[1]), None)


def invalid_models(error: Exception, head: Head, native: JsonObject, call: Call) -> APIError:
    """Return the exception for an invalid list of models."""
    return invalid_answer(error, head, native, call, "list of models")
