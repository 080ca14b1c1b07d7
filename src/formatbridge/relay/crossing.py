"""One call of an official SDK as values: which format it speaks, what goes out for it, and what comes home. Nothing here does I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import formatbridge as fb
from formatbridge import _codec
from formatbridge.bridge import Exchange
from formatbridge.relay.faults import deserved_by, is_fault
from formatbridge.relay.legs import home_headers, key_header, key_of, outgoing_headers
from formatbridge.relay.profile import RelayProfile, origin_of
from formatbridge.relay.secret import Mask, Secret, checked_key

_GENERATE = re.compile(r".*/(?P<model>(?:models|tunedModels)/[^/:]+):(?P<method>generateContent|streamGenerateContent)")
_LIST = re.compile(r".*/models(?:/(?P<model>[^:]+))?")
_ENDINGS: Mapping[str, fb.Format] = {
    "/chat/completions": "chat_completions",
    "/messages": "messages",
    "/responses": "responses",
}
_JSON, _EVENTS = "application/json", "text/event-stream"
_MOST_REDIRECTS = 2
_LONGEST_TEXT = 2000
_MOST_OF_AN_ERROR = 64 * 1024
_MOST = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the SDK made it. ``headers``: names in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def path(self) -> str:
        """The path, without a slash at its end."""
        return urlsplit(self.url).path.removesuffix("/")

    @property
    def format(self) -> fb.Format:
        """The format that the SDK speaks, going by the path and, where that does not tell, by its headers."""
        if _GENERATE.fullmatch(self.path) or "/v1beta/" in self.path or "x-goog-api-key" in self.headers:
            return "generate_content"
        found = next((format for ending, format in _ENDINGS.items() if self.path.endswith(ending)), None)
        return found or ("messages" if "anthropic-version" in self.headers else "chat_completions")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to the wire."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of the wire's answer. ``headers``: names in lower case."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Body:
    """The wish to read the body of the answer: all of it, or a little more than ``most`` bytes, decoded, of one that is longer."""

    most: int


@dataclass(frozen=True, slots=True)
class Home:
    """What the SDK gets: a whole body, or what turns the wire's stream into its own as it comes."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""
    converter: fb.StreamConverter | None = None


Flow = Generator[Outgoing | Body, Any, Home]
"""Yields a request and is sent the ``Head`` of its answer; yields ``Body`` and is sent the bytes; returns what the SDK gets."""


class RefusedError(Exception):
    """This side cannot go on. Never leaves this package: the SDK gets an error answer in its own format."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Crossing:
    """What holds for every call of one transport. ``key``: None takes the SDK's own; ``report`` gets every conversion."""

    base_url: str
    via: fb.Format
    profile: RelayProfile
    key: Callable[[], str] | None
    headers: Mapping[str, str]
    options: fb.Options
    report: Callable[[fb.Converted], object] | None

    def flow(self, asked: Asked) -> Flow:
        """Carry one request over and its answer back. Whatever goes wrong on this side is an error answer, not worth a retry."""
        try:
            key = checked_key(self.key()) if self.key is not None else key_of(asked.headers)
            is_list = asked.method == "GET" and _LIST.fullmatch(asked.path)
            home = yield from self._list(asked, key) if is_list else self._exchange(asked, key)
        except (RefusedError, fb.FormatBridgeError) as error:
            status = error.status if isinstance(error, RefusedError) else 400
            told = fb.convert_error(str(error), source=asked.format, target=asked.format, status=status)
            return Home(status, {"content-type": _JSON, "x-should-retry": "false"}, told.json())
        return home if home.status < 400 else replace(home, content=Mask([key]).body(home.content))

    def _exchange(self, asked: Asked, key: Secret | None) -> Flow:
        made = self._open(asked)
        self._tell(made)
        head = yield from self._send(self._request(asked, made, key))
        kind = head.headers.get("content-type", "")
        if head.status < 300 and made.stream and kind.startswith(_EVENTS):
            lenient = replace(self.options, raise_on=None)
            converter = fb.StreamConverter(source=self.via, target=made.source, request=made, options=lenient)
            return Home(head.status, home_headers(head.headers, made.source, self.profile, _EVENTS), converter=converter)
        body = yield from _read(head)
        if head.status >= 300:
            return self._failed(head, body, made.source)
        return self._whole(head, _json(body), Exchange(made, self.options))

    def _open(self, asked: Asked) -> fb.ConvertedRequest:
        """Convert the request; refuse a path that has no counterpart."""
        generate = _GENERATE.fullmatch(asked.path)
        if asked.method != "POST" or not (generate or asked.path.endswith(tuple(_ENDINGS))):
            raise RefusedError(404, f"{asked.method} {asked.path} has no counterpart here, expected an endpoint that answers")
        model = unquote(generate["model"]).removeprefix("models/") if generate else None
        stream = generate["method"] == "streamGenerateContent" if generate else None
        return fb.convert_request(
            asked.content, source=asked.format, target=self.via, model=model, stream=stream, options=self.options
        )

    def _request(self, asked: Asked, made: fb.ConvertedRequest, key: Secret | None) -> Outgoing:
        """Return the request to the wire; an endpoint that cannot stream is asked for the whole answer."""
        streams = made.stream and self.via not in self.profile.plain_only
        body = made.body
        if self.via == "generate_content":
            body = {name: value for name, value in body.items() if name not in ("model", "stream")}
        elif made.stream and not streams:
            body = {name: value for name, value in body.items() if name not in ("stream", "stream_options")}
        headers = outgoing_headers(asked.headers, made.source, self.via, self.profile, self.options.messages_version)
        url = self.base_url + self.profile.path(self.via, model=made.model, stream=streams)
        return Outgoing("POST", url, {**headers, **self.headers, **key_header(key, self.via, self.profile)}, _codec.dumps(body))

    def _whole(self, head: Head, body: Any, exchange: Exchange) -> Home:
        """Bring a whole answer home, as a stream where one was asked for."""
        made = exchange.request
        if is_fault(body):
            return self._failed(head, body, made.source)
        try:
            answer = exchange.response(body)
        except fb.InvalidPayloadError as error:
            raise RefusedError(502, f"the answer is none of its format: {error}") from None
        self._tell(answer)
        headers = home_headers(head.headers, made.source, self.profile, _JSON)
        if isinstance(answer, fb.ConvertedError):
            return Home(answer.status, headers, answer.json())
        if not made.stream:
            return Home(head.status, headers, answer.json())
        return Home(head.status, headers | {"content-type": _EVENTS}, b"".join(fb.replay_response(answer.body, source=made.source)))

    def _failed(self, head: Head, body: Any, target: fb.Format) -> Home:
        """Bring an error home; one that came with the status of a success gets the status that its words deserve."""
        lenient = replace(self.options, raise_on=None)
        written = body if isinstance(body, bytes) else _codec.dumps(body)
        status = deserved_by(head.status, written)
        if isinstance(body, bytes) and body.lstrip()[:1] not in (b"{", b"["):
            body = body[:_LONGEST_TEXT]
        error = fb.convert_error(body, source=self.via, target=target, status=status, options=lenient)
        self._tell(error)
        return Home(error.status, home_headers(head.headers, target, self.profile, _JSON), error.json())

    def _list(self, asked: Asked, key: Secret | None) -> Flow:
        """Fetch the list of models in the profile's format, and bring it, or the one model of the path, home."""
        target, source = asked.format, self.profile.models_format
        headers = outgoing_headers(asked.headers, target, source, self.profile, self.options.messages_version)
        headers = {name: value for name, value in headers.items() if name != "content-type"}
        url = self.base_url + self.profile.path("models")
        head = yield from self._send(Outgoing("GET", url, {**headers, **self.headers, **key_header(key, "models", self.profile)}))
        body = yield from _read(head)
        listed = body if head.status >= 300 else _json(body)
        if head.status >= 300 or is_fault(listed):
            return self._failed(head, listed, target)
        if "data" in listed and source == "generate_content":
            source = "chat_completions"  # relays have both lists, and some serve one at the other's path
        try:
            made = fb.convert_models(listed, source=source, target=target)
        except fb.InvalidPayloadError as error:
            raise RefusedError(502, f"the list of models is none: {error}") from None
        self._tell(made)
        content = _codec.dumps(_chosen(made.body, asked.path))
        return Home(head.status, home_headers(head.headers, target, self.profile, _JSON), content)

    def _send(self, outgoing: Outgoing) -> Generator[Outgoing, Head, Head]:
        """Send a request and follow redirects that repeat it at the same origin, the only one that ever gets anything."""
        for _ in range(_MOST_REDIRECTS + 1):
            head = yield outgoing
            if not 300 <= head.status < 400:
                return head
            outgoing = _redirected(outgoing, head)
        raise RefusedError(502, f"found more than {_MOST_REDIRECTS} redirects, expected an answer")

    def _tell(self, made: fb.Converted) -> None:
        if self.report is not None:
            self.report(made)


def _redirected(outgoing: Outgoing, head: Head) -> Outgoing:
    location = head.headers.get("location", "")
    url = urljoin(outgoing.url, location)
    if head.status not in (307, 308) or not location or origin_of(url) != origin_of(outgoing.url):
        raise RefusedError(502, f"found a redirect {head.status} that is not to be followed, expected an answer")
    return replace(outgoing, url=url.partition("#")[0])


def _read(head: Head) -> Generator[Body, bytes, bytes]:
    """Read the body of an answer; of an error no more than is of use, and no endless one of a success."""
    if head.status >= 300:
        body = yield Body(_MOST_OF_AN_ERROR)
        return body[:_MOST_OF_AN_ERROR]
    body = yield Body(_MOST)
    if len(body) > _MOST:
        raise RefusedError(502, f"the answer is longer than {_MOST} bytes, the limit")
    return body


def _json(body: bytes) -> Any:
    """Read the body of a success; refuse what is no JSON object."""
    try:
        value = _codec.loads(body)
    except _codec.NotJsonError:
        value = None
    if not isinstance(value, dict) and not is_fault(value):
        raise RefusedError(502, "the answer is no JSON object, although its status is that of a success")
    return value


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
