"""One call of an official SDK as values: which format it speaks, what goes out for it, and what comes home. Nothing here does I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from formatbridge import formats
from formatbridge.client import calls, errors
from formatbridge.client.calls import KEY_HEADERS, Beginning, Call, Head, Native, followed
from formatbridge.client.clock import Clock
from formatbridge.client.profile import RelayProfile
from formatbridge.client.secrets import Headers, checked_key
from formatbridge.client.settings import Limits, current_key, options_for_answer
from formatbridge.convert.bodies import Converted, convert_error, convert_models
from formatbridge.convert.bridge import Bridge, Exchange
from formatbridge.convert.masking import Mask, Secret
from formatbridge.convert.replay import replay_response
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import (
    APIConnectionError,
    APIStatusError,
    FormatBridgeError,
    InvalidPayloadError,
    UnexpectedResponseError,
)
from formatbridge.formats.format import FormatSpec, SdkFacts
from formatbridge.jsontext import codec
from formatbridge.options import Options

_LIST = re.compile(r".*/models|.*?/models/(?P<model>.+)")
_JSON, _EVENTS = "application/json", "text/event-stream"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the SDK made it."""

    method: str
    url: str
    headers: Headers
    content: bytes = field(repr=False)

    @property
    def path(self) -> str:
        """The path, without a slash at its end."""
        return urlsplit(self.url).path.removesuffix("/")

    @property
    def endpoint(self) -> tuple[FormatSpec, re.Match[str]] | None:
        """The format whose endpoint answers at this path, and the path's match; None: there is no such endpoint."""
        matches = ((spec, sdk.path.fullmatch(self.path)) for spec, sdk in sdk_facts())
        return next(((spec, match) for spec, match in matches if match is not None), None)

    @property
    def format(self) -> FormatSpec:
        """The format of the SDK, by the path and, where no endpoint has that path, by its headers."""
        if self.endpoint is not None:
            return self.endpoint[0]
        known = sdk_facts()
        return next((spec for spec, sdk in reversed(known) if self._is_of(sdk)), known[0][0])

    def _is_of(self, sdk: SdkFacts) -> bool:
        return sdk.header in self.headers or (sdk.path_part is not None and sdk.path_part in self.path)


def sdk_facts() -> list[tuple[FormatSpec, SdkFacts]]:
    """Return the formats that have an official SDK, each with how the SDK calls its endpoint."""
    specs = map(formats.load, formats.FORMATS)
    return [(spec, spec.endpoint.sdk) for spec in specs if spec.endpoint.sdk is not None]


@dataclass(frozen=True, slots=True)
class Body:
    """The wish to read on in the body of the answer: all of it, or a little more than ``most`` bytes, decoded, of one that is longer."""

    most: int


@dataclass(frozen=True, slots=True)
class Home:
    """What the SDK gets: a whole body, or what turns the wire's stream into its own as it comes, and hides the key in its errors.

    ``content``: the body, or what of the wire's stream was read already.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes = b""
    converter: StreamConverter | None = None
    format: FormatSpec | None = None
    mask: Mask = field(default_factory=lambda: Mask(()))


Errand = Generator[Call | Body, Any, Home]
"""Yields a call and is sent the ``Head`` of its answer; yields ``Body`` and is sent the bytes; returns what the SDK gets."""


class RefusedError(Exception):
    """This side has nothing for the SDK. Never leaves this package: the SDK gets an error answer in its own format."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Crossing:
    """What holds for every call of one transport. ``takes_sdk_key``: where there is none of its own; ``report`` gets every conversion."""

    base_url: str
    via: FormatSpec
    profile: RelayProfile
    key: Secret | Callable[[], str] | None
    takes_sdk_key: bool
    headers: Headers
    options: Options
    report: Callable[[Converted], object] | None
    limits: Limits = field(default_factory=Limits)
    clock: Clock = field(default_factory=Clock)

    def carry(self, asked: Asked) -> Errand:
        """Carry one request over and its answer back. Whatever goes wrong on this side is an error answer, not worth a retry."""
        try:
            is_list = asked.method == "GET" and _LIST.fullmatch(asked.path)
            return (yield from self._list(asked) if is_list else self._exchange(asked))
        except RefusedError as error:
            made = convert_error(str(error), source=asked.format, target=asked.format, status=error.status)
        except FormatBridgeError as error:
            status = 502 if isinstance(error, APIConnectionError) else 400
            made = Bridge(asked.format, via=self.via).reject(error, status)
        return Home(made.status, {"content-type": _JSON, "x-should-retry": "false"}, made.json())

    def _key(self, asked: Asked) -> Secret | None:
        return sdk_key(asked.headers) if self.takes_sdk_key else current_key(self.key)

    def _exchange(self, asked: Asked) -> Errand:
        exchange, streams = self._open(asked)
        self.tell(exchange.request)
        passed = passed_headers(asked.headers, asked.format, self.via)
        call = calls.build_call(exchange, self.base_url, self.profile, self._key(asked), self.headers, passed)
        head = yield from self._send(call)
        begun, is_stream = (yield from self._begin(head)) if head.status < 300 and call.stream else (b"", False)
        if is_stream:
            headers = home_headers(head.headers, asked.format, self.profile, _EVENTS)
            return Home(head.status, headers, begun, exchange.stream(), asked.format, call.mask)
        try:
            native = yield from self._read(head, call, begun)
            answer = calls.read_answer(head, native, exchange, call, self.profile.request_id_headers)
        except APIStatusError as error:
            return self._failed(error, head, asked.format)
        self.tell(answer)
        headers = home_headers(head.headers, asked.format, self.profile, _JSON)
        if not streams:
            return Home(head.status, headers, answer.json())
        return Home(head.status, headers | {"content-type": _EVENTS}, b"".join(replay_response(answer.body, source=asked.format)))

    def _begin(self, head: Head) -> Generator[Body, bytes, tuple[bytes, bool]]:
        """Say whether a stream comes, by its type or else by how it begins, and return what had to be read to know."""
        kind = head.headers.get("content-type", "").lower()
        begun = Beginning()
        if kind.startswith(_EVENTS):
            return b"", True
        while begun.is_unclear and (piece := (yield Body(0))):
            begun.feed(piece)
        return begun.read, "text/html" not in kind and begun.shown[:1] not in (b"", b"{", b"<")

    def _open(self, asked: Asked) -> tuple[Exchange, bool]:
        """Convert the request, and say whether the SDK wants a stream; refuse a path that has no counterpart."""
        if asked.method != "POST" or asked.endpoint is None:
            paths = ", ".join(sdk.description for _, sdk in sdk_facts())
            expected = f"expected {paths} or a list of models"
            raise RefusedError(404, f"formatbridge does not convert {asked.method} {asked.path}, {expected}")
        format, match = asked.endpoint
        groups = match.groupdict()
        model = unquote(groups["model"]).removeprefix("models/") if "model" in groups else None
        stream = groups["stream"] is not None if "stream" in groups else None
        header = format.endpoint.version_header
        version = asked.headers.get(header) if header is not None and format is self.via else None
        options = replace(self.options, messages_version=version) if version else self.options
        bridge = Bridge(format, via=self.via, options=options)
        home = options_for_answer(options, self.clock.time())
        exchange = bridge.open(asked.content, stream=stream, model=model, home=home)
        streams = exchange.request.stream
        if streams and self.via.name in self.profile.plain_only:
            exchange = bridge.open(asked.content, stream=False, model=model, home=home)
            calls.note_replay(exchange.request)
        return exchange, streams

    def _list(self, asked: Asked) -> Errand:
        """Fetch the list of models in the profile's format, and bring it, or the one model of the path, home."""
        call, head = yield from self._found_list(asked)
        try:
            listed = yield from self._read(head, call)
            made = self._converted_list(listed, head, call, asked.format)
        except APIStatusError as error:
            return self._failed(error, head, asked.format)
        self.tell(made)
        headers = home_headers(head.headers, asked.format, self.profile, _JSON)
        return Home(head.status, headers, codec.dumps(_chosen(made.body, asked.path)))

    def _found_list(self, asked: Asked) -> Generator[Call, Head, tuple[Call, Head]]:
        """Ask for the list of models where it may be, until the answer is not a 404."""
        key = self._key(asked)
        for place in self.profile.model_lists(self.via):
            passed = passed_headers(asked.headers, asked.format, place[1])
            call = calls.build_models_call(self.base_url, self.profile, key, self.headers, place, passed=passed)
            head = yield from self._send(call)
            if head.status != 404:
                break
        return call, head

    def _converted_list(self, listed: Native, head: Head, call: Call, target: FormatSpec) -> Converted:
        try:
            return convert_models(listed.text, source=calls.list_format(listed.value, call), target=target)
        except InvalidPayloadError as error:
            raise calls.no_models(error, head, listed.value, call, self.profile.request_id_headers) from None

    def _send(self, call: Call) -> Generator[Call, Head, Head]:
        """Send a request and follow redirects that repeat it at the same origin, the only one that ever gets anything."""
        return followed(call, self.limits, lambda asked: asked)

    def _read(self, head: Head, call: Call, begun: bytes = b"") -> Generator[Body, bytes, Native]:
        """Read the body of a success; raise ``APIStatusError`` on any other, of which no more is read than is of use."""
        names = self.profile.request_id_headers
        id = errors.request_id(head.headers, names)
        if head.status >= 300:
            body = yield Body(errors.MOST_READ)
            raise errors.status_error(head.status, body, head.headers, id=id, mask=call.mask, now=0)
        most = self.limits.max_response_bytes
        body = begun + (yield Body(most - len(begun)))
        if len(body) > most:
            raise errors.unexpected(f"is longer than {most} bytes, the limit", status=head.status, body=b"", id=id, mask=call.mask)
        return calls.read_json(head, body, call, names)

    def _failed(self, error: APIStatusError, head: Head, target: FormatSpec) -> Home:
        """Bring an error home; what came as a success is not worth a retry by itself."""
        made = errors.rewritten(error, target, no_answer=str(error))
        self.tell(made)
        headers = home_headers(head.headers, target, self.profile, _JSON)
        if isinstance(error, UnexpectedResponseError) and not errors.may_pass(error):
            headers |= {"x-should-retry": "false"}
        return Home(made.status, headers, made.json())

    def tell(self, made: Converted) -> None:
        """Report a conversion to whoever wants to know."""
        if self.report is not None:
            self.report(made)


def _chosen(listed: Mapping[str, Any], path: str) -> Any:
    """Return the whole list, or the one model that the path names; refuse one that is not in it."""
    found = _LIST.fullmatch(path)
    wanted = unquote(found["model"] or "") if found else ""
    if not wanted:
        return listed
    entries: list[dict[str, Any]] = listed.get("models") or listed.get("data") or []
    for entry in entries:
        if wanted in (entry.get("id"), str(entry.get("name", "")).removeprefix("models/")):
            return entry
    raise RefusedError(404, f"no model {wanted!r} in the list")


_OF_ONE_LEG = frozenset(KEY_HEADERS) | {
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "cookie", "host", "keep-alive",
    "proxy-authorization", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that belong to one leg of the way, or hold a secret; each leg gets its own."""

_OF_NOBODY = "x-stainless-"
_OF_THE_VENDOR = ("anthropic-", "openai-", "x-goog-")
"""Headers that only the host of the SDK's own format can read."""


def sdk_key(headers: Mapping[str, str]) -> Secret | None:
    """Return the key that an SDK was given, from whichever header it puts it in; None where it has none."""
    name = next((name for name in KEY_HEADERS if name in headers), None)
    if name is None:
        return None
    if name != "authorization":
        return checked_key(headers[name])
    is_bearer = headers[name].partition(" ")[0].lower() == "bearer"
    return checked_key(headers[name].partition(" ")[2] if is_bearer else "")


def passed_headers(given: Mapping[str, str], source: FormatSpec, target: FormatSpec) -> Headers:
    """Return the headers of an SDK that may cross."""
    is_same = source is target
    return Headers({name: value for name, value in given.items() if _may_cross(name, is_same=is_same)})


def _may_cross(name: str, *, is_same: bool) -> bool:
    if name in _OF_ONE_LEG or name.startswith(_OF_NOBODY):
        return False
    return is_same or not name.startswith(_OF_THE_VENDOR)


def home_headers(given: Mapping[str, str], target: FormatSpec, profile: RelayProfile, kind: str) -> dict[str, str]:
    """Return the headers for the SDK, its own name for the request's id among them. ``kind``: the media type."""
    made = {name: value for name, value in given.items() if name not in _OF_ONE_LEG}
    id = errors.request_id(given, profile.request_id_headers)
    sdk = target.endpoint.sdk
    if id is not None and sdk is not None and sdk.request_id_header is not None:
        made[sdk.request_id_header] = id
    return made | {"content-type": kind}
