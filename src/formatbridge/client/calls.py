"""One call as values: where it goes and with what, and what the answer to it means. Nothing here does I/O."""

from __future__ import annotations

import platform
from collections.abc import Callable, Generator, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

from formatbridge import formats, ir
from formatbridge._version import __version__
from formatbridge.client import errors
from formatbridge.client.beta_headers import with_betas
from formatbridge.client.profile import RelayProfile, origin_of
from formatbridge.client.secrets import Headers, is_sensitive, masked_headers
from formatbridge.client.settings import Limits
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.bridge import Exchange
from formatbridge.convert.masking import HIDDEN, Mask, Secret
from formatbridge.errors import APIConnectionError, APIError, ConfigurationError, InvalidPayloadError
from formatbridge.formats.shared.errors import is_error_body, plain_message
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import to_snake
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import Addition, Loss
from formatbridge.report.reasons import REASONS
from formatbridge.streaming.sse import without_comments

A = TypeVar("A")
KEY_HEADERS = ("x-goog-api-key", "x-api-key", "api-key", "authorization")
"""Headers in which a key may stand, the best known first."""
WHITESPACE = b"\xef\xbb\xbf \t\r\n"
MAX_LEADING_BYTES = 64 * 1024
"""What may stand before a body, comments of a stream aside, and how much of it is read to see what comes."""
_LIST_KEYS = frozenset(
    name for key in ("models", "tunedModels", "publisherModels", "nextPageToken") for name in (key, to_snake(key))
)
"""Keys of a page of models in generate_content, which takes them in either spelling."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request but for its secrets, which ``secrets`` holds by header name. ``format``, ``via`` and ``model`` are for the log.

    ``key_headers``: the headers in which a key may stand, of which one is sent.
    """

    method: str
    url: str
    headers: Headers
    body: bytes
    format: ir.Format
    via: ir.Format
    model: str = ""
    stream: bool = False
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    key_headers: Set[str] = frozenset(KEY_HEADERS)

    @property
    def other_key_headers(self) -> Set[str]:
        """The headers from which somebody else's key is to be taken, for this call brings its own."""
        return self.key_headers - self.secrets.keys() if self.secrets.keys() & self.key_headers else frozenset()

    @property
    def mask(self) -> Mask:
        """What hides the secrets of this call in anything that comes back."""
        secrets: list[Secret] = []
        for secret in self.secrets.values():
            text = secret.reveal()
            secrets += [secret, Secret(text.removeprefix("Bearer "))]
        return Mask(secrets)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that was not made: what would go out. Headers that may hold a secret show ``***``."""

    method: str
    url: str
    headers: dict[str, str]
    body: JsonObject
    losses: tuple[Loss, ...]
    additions: tuple[Addition, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of an answer. ``headers`` by names in lower case; ``size``: of them all, in bytes; ``came``: when, since the epoch.

    ``is_framed``: whether HTTP marks the end of the body, so that a truncated body is an error of the connection.
    """

    status: int
    headers: Mapping[str, str]
    size: int = 0
    received_at: float = 0
    is_framed: bool = False


def build_call(
    exchange: Exchange,
    base_url: str,
    profile: RelayProfile,
    key: Secret | None,
    headers: Mapping[str, str],
    sdk_headers: Mapping[str, str] = NO_HEADERS,
) -> Call:
    """Build the call that an exchange begins. ``passed``: headers that somebody else's request had, which yield to all others but ours."""
    request = exchange.request
    streams = request.stream
    url = _url(base_url, profile.path(request.target, model=request.model, stream=streams))
    defaults = {"content-type": "application/json", **_accepted(streams)}
    version = _versions(profile, request.target, exchange.options.messages_version)
    public = _public_headers(defaults, sdk_headers, version, profile.headers, headers)
    return Call(
        method="POST",
        url=url,
        headers=Headers(with_betas(public, request.body) if request.target == "messages" else public),
        body=codec.dumps(_wire_body(request.body, request.target)),
        format=request.source,
        via=request.target,
        model=request.model,
        stream=streams,
        secrets=_secret_headers(profile, request.target, key, {**sdk_headers, **profile.headers, **headers}),
        key_headers=_key_headers(profile, request.target),
    )


def _url(base_url: str, path: str) -> str:
    """Join a base URL and a path; the key goes to the origin of the former, whatever the latter says."""
    url = base_url + path
    if origin_of(url) != origin_of(base_url) or "@" in urlsplit(url).netloc:
        raise ConfigurationError(f"path {path[:100]!r} leads away from the base URL, expected one below it")
    return url


def _wire_body(body: JsonObject, target: ir.Format) -> JsonObject:
    """Return the body to send, without what the URL has in its place."""
    in_url = formats.load(target).IN_URL
    return {name: value for name, value in body.items() if name not in in_url} if in_url & body.keys() else body


def build_models_call(
    base_url: str,
    profile: RelayProfile,
    key: Secret | None,
    headers: Mapping[str, str],
    location: tuple[str, ir.Format],
    page: str = "",
    sdk_headers: Mapping[str, str] = NO_HEADERS,
) -> Call:
    """Build the call for a page of the list of models; ``place``: its path and format, ``page``: a query such as ``?pageToken=x``."""
    path, target = location
    return Call(
        method="GET",
        url=_url(base_url, path + (page.replace("?", "&", 1) if "?" in path else page)),
        headers=Headers(
            _public_headers(
                _accepted(False), sdk_headers, _versions(profile, target, profile.messages_version), profile.headers, headers
            )
        ),
        body=b"",
        format=target,
        via=target,
        secrets=_secret_headers(profile, "models", key, {**sdk_headers, **profile.headers, **headers}),
        key_headers=_key_headers(profile, "models"),
    )


def _accepted(streams: bool) -> dict[str, str]:
    """Say what may come back. A stream is not to be compressed: its pieces would wait for one another."""
    return {
        "accept": "text/event-stream, application/json" if streams else "application/json",
        "accept-encoding": "identity" if streams else "gzip, deflate",
        "user-agent": f"formatbridge/{__version__} python/{platform.python_version()}",
    }


def _versions(profile: RelayProfile, target: ir.Format, version: str) -> dict[str, str]:
    return dict.fromkeys([name.lower() for name in profile.version_headers], version) if target == "messages" else {}


def _public_headers(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge headers, later ones winning, without those that may hold a secret."""
    merged = {name.lower(): value for layer in layers for name, value in layer.items()}
    return {name: value for name, value in merged.items() if not is_sensitive(name)}


def _secret_headers(profile: RelayProfile, endpoint: str, key: Secret | None, headers: Mapping[str, str]) -> dict[str, Secret]:
    """Return the headers that nobody else may see. A key header that was written out wins over the key; there are never two keys."""
    secrets = {name.lower(): Secret(value) for name, value in headers.items() if is_sensitive(name)}
    if key is not None and not secrets.keys() & _key_headers(profile, endpoint):
        name = _key_header(profile, endpoint)
        secrets[name] = Secret(f"Bearer {key.reveal()}") if name == "authorization" else key
    return secrets


def _key_header(profile: RelayProfile, endpoint: str) -> str:
    return profile.auth.get(endpoint, "authorization").lower()


def _key_headers(profile: RelayProfile, endpoint: str) -> Set[str]:
    return {_key_header(profile, endpoint), *KEY_HEADERS}


def prepared(call: Call, exchange: Exchange) -> Prepared:
    """Show a call that is not made."""
    secrets = {name: f"Bearer {HIDDEN}" if name == "authorization" else HIDDEN for name in call.secrets}
    request = exchange.request
    headers = masked_headers(call.headers) | secrets
    return Prepared(call.method, call.url, headers, _wire_body(request.body, request.target), request.losses, request.additions)


def report_replay(converted: ConvertedRequest) -> None:
    """Report of a request for a stream that a plain one goes out in its place."""
    converted.note(Loss("/stream", "changed", "info", "replayed", REASONS["replayed"], True, False))


def follow_redirects(call: Call, limits: Limits, send: Callable[[Call], A]) -> Generator[A, Head, Head]:
    """Ask for a call, and for each to which the answer redirects it; return the head of the answer behind that, with the secrets hidden.

    Raises ``APIConnectionError`` on headers longer than the limits, and on redirects beyond them or to where nothing may go.
    """
    for hops in count():
        head = yield send(call)
        if head.size > limits.max_header_bytes:
            message = f"the headers have {head.size} bytes, expected at most {limits.max_header_bytes}"
            raise APIConnectionError(message, phase="headers", can_retry=False)
        if not 300 <= head.status < 400:
            return replace(head, headers=call.mask.whole(head.headers))
        call = _redirected(call, head)
        if hops >= limits.max_redirects:
            message = f"the relay redirects more than {limits.max_redirects} times, expected an answer"
            raise APIConnectionError(message, phase="redirect", can_retry=False)
    raise AssertionError("counting never ends")


def _redirected(call: Call, head: Head) -> Call:
    """Follow a redirect within the same origin; raise ``APIConnectionError`` on any other, to which nothing may go."""
    location = head.headers.get("location", "")
    try:
        url = urljoin(call.url, location)
        is_same = origin_of(url) == origin_of(call.url) and "@" not in urlsplit(url).netloc
    except ValueError:
        url, is_same = "", False
    if head.status not in (307, 308) or not location or not is_same:
        where = " to another origin" if location and not is_same else ", which would not repeat the call"
        message = f"{head.status}: the relay redirects{where}; expected an answer"
        raise APIConnectionError(call.mask.text(message), phase="redirect", can_retry=False)
    return replace(call, url=url.partition("#")[0])


class Native(NamedTuple):
    """The body of a success: the object, and the JSON text, which tells more: which keys are equal, and where half a character stood."""

    value: JsonObject
    text: bytes


def read_json(head: Head, body: bytes, call: Call, names: tuple[str, ...], *, allows_lone_surrogates: bool = True) -> Native:
    """Read the body of a success; raise ``UnexpectedResponseError`` where it is an error or no JSON object.

    ``mends``: half a character is no fault, for whoever reads the text reports it.
    """
    body = without_comments(body)
    id = errors.request_id(head.headers, names)
    try:
        value = codec.loads(body, [] if allows_lone_surrogates else None)
    except codec.NotJsonError as error:
        problem = (
            "is empty" if not body.strip() else "is HTML or XML" if is_markup(body) else f"{error.pointer} {error.message}".strip()
        )
        raise errors.unexpected_body(
            problem, status=head.status, body=body[: errors.MAX_KEPT_BYTES], id=id, mask=call.mask
        ) from None
    if errors.is_error_answer(value):
        raise errors.status_error(head.status, body, head.headers, id=id, mask=call.mask, now=head.received_at)
    if not isinstance(value, dict):
        problem = f"is {codec.describe(value)}"
        raise errors.unexpected_body(problem, status=head.status, body=body[: errors.MAX_KEPT_BYTES], id=id, mask=call.mask)
    return Native(value, body)


class BodyStart:
    """The first bytes of a body, read until they show what comes: blanks and comments do not."""

    def __init__(self) -> None:
        self.read = b""
        """All that was read."""
        self.content = b""
        """What of it stands behind the comments."""

    @property
    def is_undecided(self) -> bool:
        """Whether more is to be read."""
        return self.content[:1] in (b"", b":") and len(self.read) < MAX_LEADING_BYTES

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.read += chunk
        self.content = without_comments(self.content + chunk).lstrip(WHITESPACE)


def is_markup(body: bytes) -> bool:
    """Say whether a body looks like HTML or XML."""
    return body.lstrip(WHITESPACE)[:1] == b"<"


def read_answer(head: Head, native: Native, exchange: Exchange, call: Call, names: tuple[str, ...]) -> Converted:
    """Bring a whole answer home; raise ``UnexpectedResponseError`` where it is none of its format, or failed and is an error at home."""
    try:
        converted = exchange.response(native.text)
    except InvalidPayloadError as error:
        raise invalid_answer(error, head, native.value, call, names) from None
    if isinstance(converted, ConvertedError):
        raise_if_failed(head, native.value, call, names)
        id = errors.request_id(head.headers, names)
        raise errors.status_error(head.status, codec.dumps(native.value), head.headers, id=id, mask=call.mask, now=head.received_at)
    return converted


def raise_if_failed(head: Head, native: JsonObject, call: Call, names: tuple[str, ...]) -> None:
    """Raise ``UnexpectedResponseError`` where an answer of the wire's format says that it failed on the way."""
    failure = formats.load(call.via).failure_of(native)
    if failure is not None:
        id = errors.request_id(head.headers, names)
        raise errors.error_in_answer(failure, head.status, head.headers, id=id, mask=call.mask, now=head.received_at)


def invalid_answer(
    error: Exception, head: Head, native: JsonObject, call: Call, names: tuple[str, ...], expected: str = "answer"
) -> APIError:
    """Return the error for an object that is not what was ``wanted``: what it says, where it is an error in words alone."""
    id = errors.request_id(head.headers, names)
    body = codec.dumps(native)
    if is_error_body(native):
        return errors.status_error(head.status, body, head.headers, id=id, mask=call.mask, now=head.received_at)
    return errors.unexpected_body(
        f"is no {expected}: {error}", status=head.status, body=body[: errors.MAX_KEPT_BYTES], id=id, mask=call.mask
    )


def read_models(head: Head, native: JsonObject, call: Call, names: tuple[str, ...]) -> ir.ModelList:
    """Read a page of the list of models, in whatever format it came."""
    from formatbridge.convert.input import check_answer

    try:
        spec = formats.load(list_format(native, call))
        return spec.decode_models(check_answer(native, spec, "models"))
    except InvalidPayloadError as error:
        raise invalid_models(error, head, native, call, names) from None


def list_format(native: JsonObject, call: Call) -> ir.Format:
    """Return the format of a list of models: relays have two, and some serve one at the other's path.

    In one format each field may be left out, and an empty list with them all. An object with other fields alone is no list, then, nor is
    one whose list is null beside the words of an error: raises ``InvalidPayloadError``.
    """
    is_empty = all(native.get(key) in (None, "") for key in ("data", *_LIST_KEYS))
    if is_empty and native.get("success") is not True and plain_message(native)[0]:
        raise InvalidPayloadError(call.via, "models", [("", "has no list, expected one")])
    if call.via != "generate_content" or "data" in native:
        return _format_of_data(native, call.via if call.via != "generate_content" else "chat_completions")
    if native and not native.keys() & _LIST_KEYS:
        raise InvalidPayloadError(call.via, "models", [("/models", "is missing, expected an array")])
    return call.via


def _format_of_data(native: JsonObject, default: ir.Format) -> ir.Format:
    """Return the format of a list below ``data``: each vendor's models name their kind in a field of its own."""
    entries = native.get("data")
    first = entries[0] if isinstance(entries, list) and entries else None
    if isinstance(first, dict) and default != "responses":
        if first.get("object") == "model":
            return "chat_completions"
        if first.get("type") == "model":
            return "messages"
    return default


def invalid_models(error: Exception, head: Head, native: JsonObject, call: Call, names: tuple[str, ...]) -> APIError:
    """Return the error for a list of models that is none."""
    return invalid_answer(error, head, native, call, names, "list of models")
