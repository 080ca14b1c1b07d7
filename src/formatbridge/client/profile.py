"""How relays differ: the paths of their endpoints, the header for the key, and the headers to read. Values only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from typing import Any, Literal
from urllib.parse import quote, unquote, urlsplit

from formatbridge import ir
from formatbridge.arguments import checked_names, checked_table
from formatbridge.client.secrets import checked_headers, is_sensitive
from formatbridge.dialect import Dialect
from formatbridge.errors import ConfigurationError, UnknownFormatError
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.registry import FORMATS, check_name, formats_of, load
from formatbridge.formats.target import FormatOrName, Target

Endpoint = str
"""A format's name, or ``models`` for the list of models."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_COLLECTIONS = ("models/", "tunedModels/")

MODELS = ir.RegisteredName("models")
"""The name of the endpoint that lists models, in place of a format."""


class FormatPaths(Mapping[Endpoint, str]):
    """The paths that the built-in formats name, each read when it is asked for: that loads the format.

    ``kind``: ``stream`` for the paths of streams, where these differ, and ``count`` for those of token counts; otherwise the paths of
    endpoints, that of the list of models included.
    """

    __slots__ = ("_kind",)

    def __init__(self, kind: Literal["answer", "stream", "count"] = "answer") -> None:
        self._kind = kind

    def __getitem__(self, endpoint: Endpoint) -> str:
        path = self._path(endpoint)
        if path is None:
            raise KeyError(endpoint)
        return path

    def _path(self, endpoint: Endpoint) -> str | None:
        if endpoint == MODELS:
            return load(RELAY_MODELS).endpoint.models.path if self._kind == "answer" else None
        return _path_of(load(endpoint), self._kind) if endpoint in FORMATS else None

    def __iter__(self) -> Iterator[Endpoint]:
        return (name for name in (*FORMATS, MODELS) if self._path(name) is not None)

    def __len__(self) -> int:
        return len(list(self))

    def __repr__(self) -> str:
        return repr(dict(self))


def _path_of(spec: FormatSpec, kind: str) -> str | None:
    """Return the path of an endpoint kind (answer, ``stream`` or ``count``) in the vendor's API; None if the format has none."""
    match kind:
        case "stream":
            return spec.endpoint.stream_path
        case "count":
            return spec.count.path if spec.count is not None else None
        case _:
            return spec.endpoint.path


RELAY_MODELS: ir.Format = "generate_content"
"""The format in which the relay of the specification lists its models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayProfile:
    """The properties of one relay."""

    name: str = "relay"
    """The name of the relay, for messages."""
    base_url: str | None = None
    """The URL in front of all paths; None: the client needs one."""
    auth: Mapping[Endpoint, str] = field(default_factory=dict)
    """The header for the key, by endpoint; the default, ``authorization``, sends it as a bearer token."""
    version_headers: tuple[str, ...] = ("vendor-version", "anthropic-version")
    """Headers for the API version of messages; all of them are sent, with ``messages_version``."""
    messages_version: str = "2023-06-01"
    """The API version of messages."""
    paths: Mapping[Endpoint, str] = field(default_factory=FormatPaths)
    """Paths of the endpoints below the base URL, with ``{model}`` for the model; an endpoint without a path does not exist."""
    stream_paths: Mapping[Endpoint, str] = field(default_factory=lambda: FormatPaths("stream"))
    """Paths of the endpoints below the base URL, with ``{model}`` for the model; an endpoint without a path does not exist."""
    count_paths: Mapping[Endpoint, str] = field(default_factory=lambda: FormatPaths("count"))
    """Paths of the endpoints that count tokens; an endpoint without a path cannot count them."""
    plain_only: frozenset[str] = frozenset()
    """Endpoints that cannot stream; the client sends a request without streaming and replays the answer as a stream."""
    models_format: ir.FormatName = RELAY_MODELS
    """The format of the list of models."""
    dialect: str | Dialect | None = None
    """The dialect of requests in its formats, unless a ``Target`` names one."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of every call.

    ``repr`` hides secret ones. A profile with a secret header cannot be pickled: pass such a header to the client instead.
    """
    request_id_headers: tuple[str, ...] = ("x-oneapi-request-id", "x-request-id", "request-id", "x-goog-request-id")
    """Headers with the id of an answer, in order of preference."""

    def __post_init__(self) -> None:
        named = {name: getattr(self, name) for name in ("auth", "paths", "stream_paths", "count_paths")}
        tables = {name: table for name, table in named.items() if not isinstance(table, FormatPaths)}
        for name, table in {**tables, "headers": self.headers}.items():
            checked_table(f"profile {name}", table)
        for name, table in tables.items():
            _check_endpoints(f"profile {name}", table, {MODELS})
            for endpoint, path in table.items() if name != "auth" else ():
                _check_path(endpoint, path)
        _check_endpoints("profile plain_only", self.plain_only, set())
        object.__setattr__(self, "plain_only", frozenset(self.plain_only))
        for name in ("version_headers", "request_id_headers"):
            names = checked_names(f"profile {name}", getattr(self, name))
            object.__setattr__(self, name, tuple(checked_headers(dict.fromkeys(names, ""))))
        checked_names("profile name or messages_version", (self.name, self.messages_version))
        object.__setattr__(self, "headers", checked_headers(self.headers))
        checked_headers(dict.fromkeys(self.version_headers, self.messages_version))
        checked_headers(dict.fromkeys(self.auth.values(), ""))
        check_name(self.models_format)
        if self.dialect is not None:
            formats_of(self.dialect)
        if self.base_url is not None:
            checked_url(self.base_url)

    def __reduce__(self) -> tuple[Any, ...]:
        secret = next(filter(is_sensitive, self.headers), None)
        if secret is not None:
            raise TypeError(f"the profile has the secret header {secret!r} and cannot be pickled, expected headers= of the client")
        return partial(RelayProfile, **{field.name: getattr(self, field.name) for field in fields(self)}), ()

    def __copy__(self) -> RelayProfile:
        return self

    def __deepcopy__(self, memo: object) -> RelayProfile:
        return self

    def path(self, endpoint: FormatOrName, *, model: str = "", stream: bool = False) -> str:
        """Return path and query of an endpoint; raise ``ConfigurationError`` if there is none, or if the model cannot be part of a path.

        A format from outside has the path in its ``FormatSpec`` if the profile has none.
        """
        name = endpoint if endpoint == MODELS else load(endpoint).name
        pattern = (self.stream_paths.get(name) if stream else None) or self.paths.get(name)
        if pattern is None and name not in (*FORMATS, MODELS):
            facts = load(endpoint).endpoint
            pattern = (facts.stream_path if stream else None) or facts.path
        if pattern is None:
            raise ConfigurationError(f"profile {self.name!r} has no endpoint for {name}: pass another via= or profile=")
        return _with_model(pattern, model)

    def count_path(self, endpoint: FormatOrName, *, model: str = "") -> str | None:
        """Return the path of the endpoint of a format that counts tokens; None if there is none.

        A format from outside has the path in its ``FormatSpec`` if the profile has none.
        """
        spec = load(endpoint)
        if spec.name in FORMATS and spec.name not in self.paths:
            return None
        pattern = self.count_paths.get(spec.name)
        if pattern is None and spec.name not in FORMATS:
            pattern = _path_of(spec, "count")
        return None if pattern is None else _with_model(pattern, model)

    def target(self, via: FormatOrName) -> FormatOrName:
        """Return a format with the dialect of the profile, if the dialect has the format; a ``Target`` with a dialect unchanged."""
        if self.dialect is None or (isinstance(via, Target) and via.dialect is not None):
            return via
        spec = load(via)
        target = Target(spec, dialect=self.dialect, model=via.model if isinstance(via, Target) else None)
        return target if spec.name in formats_of(self.dialect) else via

    def model_lists(self, via: FormatOrName = FORMATS[0]) -> list[tuple[str, FormatSpec]]:
        """Return paths and formats of the list of models, in order of preference; the next is used after a 404.

        The profile's path comes first, then those of the built-in formats. ``via``: the preferred format, if its path is one of them.
        """
        path, wanted = self.path(MODELS), load(via)
        others: dict[str, FormatSpec] = {}
        for spec in map(load, FORMATS):
            others.setdefault(spec.endpoint.models.path, spec)
        others[wanted.endpoint.models.path] = wanted
        others.pop(path.partition("?")[0], None)
        return [(path, load(self.models_format)), *others.items()]


def _check_endpoints(name: str, endpoints: Iterable[str], others: set[str]) -> None:
    """Raise ``ConfigurationError`` if an endpoint is no format, built in or registered, and none of some others."""
    for endpoint in sorted(set(checked_names(name, endpoints)).difference(FORMATS, others)):
        try:
            load(endpoint)
        except UnknownFormatError:
            known = sorted({*FORMATS, *others})
            raise ConfigurationError(f"{name} has the endpoint {endpoint!r}, expected one of {', '.join(known)}") from None


def _check_path(endpoint: Endpoint, path: object) -> None:
    """Raise ``ConfigurationError`` if a path does not stay below the base URL."""
    expected = "expected a path that begins with one slash"
    if not isinstance(path, str) or not path.startswith("/") or path.startswith("//"):
        raise ConfigurationError(f"profile path of {endpoint} is {path!r}, {expected}")
    if (
        _CONTROL.search(path)
        or any(character in path for character in " \\#")
        or ".." in unquote(path).partition("?")[0].split("/")
    ):
        raise ConfigurationError(f"profile path of {endpoint} is {path!r}, {expected} and has no dot segments, spaces or fragment")


def _with_model(pattern: str, model: str) -> str:
    """Return a path with the name of a model."""
    if "{model}" not in pattern:
        return pattern
    collection, name = _split_model(model)
    return pattern.replace("models/{model}", collection + name).replace("{model}", name)


def _split_model(model: str) -> tuple[str, str]:
    """Split the name of a model into its collection and the rest, percent-encoded byte by byte."""
    collection = next((collection for collection in _COLLECTIONS if model.startswith(collection)), "")
    name = model.removeprefix(collection)
    steps = re.split(r"[/\\]", unquote(name))
    if _CONTROL.search(name) or any(step in ("", ".", "..") for step in steps):
        raise ConfigurationError(
            f"model is {model[:100]!r}, expected a name without empty path segments, dots or control characters"
        )
    return collection or "models/", quote(name, safe="", errors="replace")


def checked_url(url: object) -> str:
    """Return a base URL without a slash at its end; raise ``ConfigurationError`` on an invalid one."""
    expected = "expected http:// or https://, a host and an optional path"
    if not isinstance(url, str) or _CONTROL.search(url) or " " in url or "\\" in url:
        raise ConfigurationError(f"base_url is not a URL, {expected}")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigurationError(f"base_url is not a URL, {expected}") from None
    if "@" in parts.netloc:
        raise ConfigurationError(f"base_url has a user or password, {expected}; keys go into api_key")
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigurationError(f"base_url has no scheme or host, {expected}")
    if "?" in url or "#" in url:
        raise ConfigurationError(f"base_url has a query or fragment, {expected}")
    if any(step in (".", "..") for step in unquote(parts.path).split("/")):
        raise ConfigurationError(f"base_url has a path segment of dots, {expected}")
    return url.rstrip("/")


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    default_port = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or default_port


RELAY = RelayProfile()
"""The relay of the specification; it has no base URL."""

_RELAY = "relay"


class _Profiles(Mapping[str, RelayProfile]):
    """The profiles by name, each built when it is read: that loads the formats that it needs."""

    __slots__ = ()

    def __getitem__(self, name: str) -> RelayProfile:
        if name == _RELAY:
            return RELAY
        if name not in FORMATS:
            raise KeyError(name)
        return _vendor_profile(name)

    def __iter__(self) -> Iterator[str]:
        return iter((_RELAY, *FORMATS))

    def __len__(self) -> int:
        return len(FORMATS) + 1


@cache
def _vendor_profile(name: str) -> RelayProfile:
    """Return the profile of the server of a format's vendor, with the endpoints of all formats that this server has."""
    facts = load(name).endpoint
    paths: dict[str, str] = {each: load(each).endpoint.path for each in FORMATS if load(each).endpoint.base_url == facts.base_url}
    profile = RelayProfile(
        name=name,
        base_url=facts.base_url,
        paths={**paths, MODELS: facts.models.path},
        auth={} if facts.key_header == "authorization" else dict.fromkeys((*paths, MODELS), facts.key_header),
        models_format=ir.RegisteredName(name),
    )
    return replace(profile, version_headers=(facts.version_header,)) if facts.version_header else profile


PROFILES: Mapping[str, RelayProfile] = _Profiles()
"""The relay of the specification, and the official host of each format."""


def profile_of(profile: object) -> RelayProfile:
    """Return the argument ``profile`` as a ``RelayProfile``; it may be one, the name of a built-in one, or None."""
    if profile is None:
        return RELAY
    if isinstance(profile, RelayProfile):
        return profile
    if isinstance(profile, str) and profile in PROFILES:
        return PROFILES[profile]
    raise ConfigurationError(f"profile is {profile!r}, expected formatbridge.RelayProfile or one of {', '.join(PROFILES)}")
