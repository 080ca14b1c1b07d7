"""One call as values: where it goes and with what, and what the answer to it means. Nothing here does I/O."""

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
from formatbridge.client.profile import RelayProfile, origin_of
from formatbridge.client.secrets import Headers, is_sensitive, shown
from formatbridge.client.settings import Limits
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.bridge import Exchange
from formatbridge.convert.masking import HIDDEN, Mask, Secret
from formatbridge.errors import APIConnectionError, APIError, ConfigurationError, InvalidPayloadError
from formatbridge.formats.format import FormatOrName, FormatSpec
from formatbridge.formats.shared.errors import is_error_body, plain_message
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.losses import Addition, Loss
from formatbridge.report.reasons import REASONS
from formatbridge.streaming.sse import without_comments

A = TypeVar("A")
KEY_HEADERS = ("x-goog-api-key", "x-api-key", "api-key", "authorization")
"""Headers in which a key may stand, the best known first."""
BLANK = b"\xef\xbb\xbf \t\r\n"
MOST_BLANK = 64 * 1024
"""What may stand before a body, comments of a stream aside, and how much of it is read to see what comes."""
NONE_PASSED: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request but for its secrets, which ``secrets`` holds by header name.

    ``source_format``: the caller's; ``target_format``: the endpoint's. ``model``: for the log.

    ``key_headers``: the headers in which a key may stand, of which one is sent.
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
    def foreign_keys(self) -> Set[str]:
        """The headers from which somebody else's key is to be taken, for this call brings its own."""
        return self.key_headers - self.secrets.keys() if self.secrets.keys() & self.key_headers else frozenset()

    @property
    def mask(self) -> Mask:
        """What hides the secrets of this call in anything that comes back."""
        found: list[Secret] = []
        for secret in self.secrets.values():
            text = secret.reveal()
            found += [secret, Secret(text.removeprefix("Bearer "))]
        return Mask(found)


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
    came: float = 0
    is_framed: bool = False


def build_call(
    exchange: Exchange,
    base_url: str,
    profile: RelayProfile,
    key: Secret | None,
    headers: Mapping[str, str],
    passed: Mapping[str, str] = NONE_PASSED,
) -> Call:
    """Build the call that an exchange begins. ``passed``: headers that somebody else's request had, which yield to all others but ours."""
    made = exchange.request
    streams = made.stream
    url = _url(base_url, profile.path(made.target_format, model=made.model, stream=streams))
    own = {"content-type": "application/json", **_accepted(streams)}
    version = _versions(profile, made.target_format, exchange.options.messages_version)
    add_headers = made.target_format.endpoint.add_headers
    public = _public(own, passed, version, profile.headers, headers)
    return Call(
        method="POST",
        url=url,
        headers=Headers(add_headers(public, made.body) if add_headers else public),
        body=codec.dumps(_wire_body(made.body, made.target_format)),
        source_format=made.source_format,
        target_format=made.target_format,
        model=made.model,
        stream=streams,
        secrets=_secrets(profile, made.target_format, key, {**passed, **profile.headers, **headers}),
        key_headers=_key_headers(profile, made.target_format),
    )


def _url(base_url: str, path: str) -> str:
    """Join a base URL and a path; the key goes to the origin of the former, whatever the latter says."""
    url = base_url + path
    if origin_of(url) != origin_of(base_url) or "@" in urlsplit(url).netloc:
        raise ConfigurationError(f"path {path[:100]!r} leads away from the base URL, expected one below it")
    return url


def _wire_body(body: JsonObject, target_format: FormatSpec) -> JsonObject:
    """Return the body to send, without what the URL has in its place."""
    in_url = target_format.url_fields
    return {name: value for name, value in body.items() if name not in in_url} if in_url & body.keys() else body


def build_models_call(
    base_url: str,
    profile: RelayProfile,
    key: Secret | None,
    headers: Mapping[str, str],
    place: tuple[str, FormatSpec],
    page: str = "",
    passed: Mapping[str, str] = NONE_PASSED,
) -> Call:
    """Build the call for a page of the list of models; ``place``: its path and format, ``page``: a query such as ``?pageToken=x``."""
    path, target_format = place
    return Call(
        method="GET",
        url=_url(base_url, path + (page.replace("?", "&", 1) if "?" in path else page)),
        headers=Headers(
            _public(_accepted(False), passed, _versions(profile, target_format, profile.messages_version), profile.headers, headers)
        ),
        body=b"",
        source_format=target_format,
        target_format=target_format,
        secrets=_secrets(profile, "models", key, {**passed, **profile.headers, **headers}),
        key_headers=_key_headers(profile, "models"),
    )


def _accepted(streams: bool) -> dict[str, str]:
    """Say what may come back. A stream is not to be compressed: its pieces would wait for one another."""
    return {
        "accept": "text/event-stream, application/json" if streams else "application/json",
        "accept-encoding": "identity" if streams else "gzip, deflate",
        "user-agent": f"formatbridge/{__version__} python/{platform.python_version()}",
    }


def _versions(profile: RelayProfile, target_format: FormatSpec, version: str) -> dict[str, str]:
    """Return the headers that name the version, for an endpoint whose format has one."""
    has_version = target_format.endpoint.version_header is not None
    return dict.fromkeys([name.lower() for name in profile.version_headers], version) if has_version else {}


def _public(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge headers, later ones winning, without those that may hold a secret."""
    merged = {name.lower(): value for layer in layers for name, value in layer.items()}
    return {name: value for name, value in merged.items() if not is_sensitive(name)}


def _secrets(profile: RelayProfile, endpoint: FormatOrName, key: Secret | None, given: Mapping[str, str]) -> dict[str, Secret]:
    """Return the headers that nobody else may see. A key header that was written out wins over the key; there are never two keys."""
    made = {name.lower(): Secret(value) for name, value in given.items() if is_sensitive(name)}
    if key is not None and not made.keys() & _key_headers(profile, endpoint):
        name = _key_header(profile, endpoint)
        made[name] = Secret(f"Bearer {key.reveal()}") if name == "authorization" else key
    return made


def _key_header(profile: RelayProfile, endpoint: FormatOrName) -> str:
    """Return the header that takes the key: as the profile says, else as a format from outside says."""
    name, usual = endpoint, "authorization"
    if isinstance(endpoint, FormatSpec):
        name = endpoint.name
        usual = usual if name in formats.FORMATS else endpoint.endpoint.key_header
    return profile.auth.get(str(name), usual).lower()


def _key_headers(profile: RelayProfile, endpoint: FormatOrName) -> Set[str]:
    return {_key_header(profile, endpoint), *KEY_HEADERS}


def prepared(call: Call, exchange: Exchange) -> Prepared:
    """Show a call that is not made."""
    secrets = {name: f"Bearer {HIDDEN}" if name == "authorization" else HIDDEN for name in call.secrets}
    made = exchange.request
    headers = shown(call.headers) | secrets
    return Prepared(call.method, call.url, headers, _wire_body(made.body, made.target_format), made.losses, made.additions)


def note_replay(made: ConvertedRequest) -> None:
    """Report of a request for a stream that a plain one goes out in its place."""
    made.note(Loss("/stream", "changed", "info", "replayed", REASONS["replayed"], True, False))


def followed(call: Call, limits: Limits, ask: Callable[[Call], A]) -> Generator[A, Head, Head]:
    """Ask for a call, and for each to which the answer redirects it; return the head of the answer behind that, with the secrets hidden.

    Raises ``APIConnectionError`` on headers longer than the limits, and on redirects beyond them or to where nothing may go.
    """
    for hops in count():
        head = yield ask(call)
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
    given = head.headers.get("location", "")
    try:
        url = urljoin(call.url, given)
        is_same = origin_of(url) == origin_of(call.url) and "@" not in urlsplit(url).netloc
    except ValueError:
        url, is_same = "", False
    if head.status not in (307, 308) or not given or not is_same:
        where = " to another origin" if given and not is_same else ", which would not repeat the call"
        message = f"{head.status}: the relay redirects{where}; expected an answer"
        raise APIConnectionError(call.mask.text(message), phase="redirect", can_retry=False)
    return replace(call, url=url.partition("#")[0])


class Native(NamedTuple):
    """The body of a success: the object, and the JSON text, which tells more: which keys are equal, and where half a character stood."""

    value: JsonObject
    text: bytes


def read_json(head: Head, body: bytes, call: Call, names: tuple[str, ...], *, mends: bool = True) -> Native:
    """Read the body of a success; raise ``UnexpectedResponseError`` where it is an error or no JSON object.

    ``mends``: half a character is no fault, for whoever reads the text reports it.
    """
    body = without_comments(body)
    id = errors.request_id(head.headers, names)
    try:
        value = codec.loads(body, [] if mends else None)
    except codec.NotJsonError as error:
        found = (
            "is empty" if not body.strip() else "is HTML or XML" if is_markup(body) else f"{error.pointer} {error.message}".strip()
        )
        raise errors.unexpected(found, status=head.status, body=body[: errors.KEPT], id=id, mask=call.mask) from None
    if errors.is_fault(value):
        raise errors.status_error(head.status, body, head.headers, id=id, mask=call.mask, now=head.came)
    if not isinstance(value, dict):
        found = f"is {codec.describe(value)}"
        raise errors.unexpected(found, status=head.status, body=body[: errors.KEPT], id=id, mask=call.mask)
    return Native(value, body)


class Beginning:
    """The first bytes of a body, read until they show what comes: blanks and comments do not."""

    def __init__(self) -> None:
        #: All that was read.
        self.read = b""
        #: What of it stands behind the comments.
        self.shown = b""

    @property
    def is_unclear(self) -> bool:
        """Whether more is to be read."""
        return self.shown[:1] in (b"", b":") and len(self.read) < MOST_BLANK

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        self.read += piece
        self.shown = without_comments(self.shown + piece).lstrip(BLANK)


def is_markup(body: bytes) -> bool:
    """Say whether a body looks like HTML or XML."""
    return body.lstrip(BLANK)[:1] == b"<"


def read_answer(head: Head, native: Native, exchange: Exchange, call: Call, names: tuple[str, ...]) -> Converted:
    """Bring a whole answer home; raise ``UnexpectedResponseError`` where it is none of its format, or failed and is an error at home."""
    try:
        made = exchange.response(native.text)
    except InvalidPayloadError as error:
        raise no_answer(error, head, native.value, call, names) from None
    if isinstance(made, ConvertedError):
        refuse_failed(head, native.value, call, names)
        id = errors.request_id(head.headers, names)
        raise errors.status_error(head.status, codec.dumps(native.value), head.headers, id=id, mask=call.mask, now=head.came)
    return made


def refuse_failed(head: Head, native: JsonObject, call: Call, names: tuple[str, ...]) -> None:
    """Raise ``UnexpectedResponseError`` where an answer of the wire's format says that it failed on the way."""
    failure = call.target_format.failure_of(native)
    if failure is not None:
        id = errors.request_id(head.headers, names)
        raise errors.told_error(failure, head.status, head.headers, id=id, mask=call.mask, now=head.came)


def no_answer(
    error: Exception, head: Head, native: JsonObject, call: Call, names: tuple[str, ...], wanted: str = "answer"
) -> APIError:
    """Return the error for an object that is not what was ``wanted``: what it says, where it is an error in words alone."""
    id = errors.request_id(head.headers, names)
    body = codec.dumps(native)
    if is_error_body(native):
        return errors.status_error(head.status, body, head.headers, id=id, mask=call.mask, now=head.came)
    return errors.unexpected(f"is no {wanted}: {error}", status=head.status, body=body[: errors.KEPT], id=id, mask=call.mask)


def read_models(head: Head, native: JsonObject, call: Call, names: tuple[str, ...]) -> ir.ModelList:
    """Read a page of the list of models, in whatever format it came."""
    from formatbridge.convert.input import check_answer

    try:
        found = list_format(native, call)
        return found.decode_models(check_answer(native, found, "models"))
    except InvalidPayloadError as error:
        raise no_models(error, head, native, call, names) from None


def list_format(native: JsonObject, call: Call) -> FormatSpec:
    """Return the format of a list of models: relays have several, and some serve one at the path of another.

    A page may leave out every field. So an object with other fields alone is no list, and neither is one whose list is null beside the
    message of an error: raises ``InvalidPayloadError``.
    """
    requested = call.target_format
    known = list(dict.fromkeys([*map(formats.load, formats.FORMATS), requested]))
    is_empty = all(native.get(key) in (None, "") for spec in known for key in spec.endpoint.models.keys)
    if is_empty and native.get("success") is not True and plain_message(native)[0]:
        raise InvalidPayloadError(requested.name, "models", [("", "has no list, expected one")])
    listing, common = requested.endpoint.models, known[0].endpoint.models.keys[0]
    if listing.keys[0] != common and common not in native:
        if native and native.keys().isdisjoint(listing.keys):
            raise InvalidPayloadError(requested.name, "models", [(f"/{listing.keys[0]}", "is missing, expected an array")])
        return requested
    usual = requested if listing.keys[0] == common else known[0]
    return _labelled(native.get(common), known) or usual if usual.endpoint.models.label else usual


def _labelled(models: JsonValue, known: Iterable[FormatSpec]) -> FormatSpec | None:
    """Return the format whose label the first model of a list has."""
    first = models[0] if isinstance(models, list) and models else None
    if not isinstance(first, dict):
        return None
    labels = [(spec.endpoint.models.label, spec) for spec in known]
    return next((spec for label, spec in labels if label is not None and first.get(label[0]) == label[1]), None)


def no_models(error: Exception, head: Head, native: JsonObject, call: Call, names: tuple[str, ...]) -> APIError:
    """Return the error for a list of models that is none."""
    return no_answer(error, head, native, call, names, "list of models")
