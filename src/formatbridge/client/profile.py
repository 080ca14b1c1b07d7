"""How relays differ: the paths of their endpoints, the header for the key, and the headers to read. Values only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from formatbridge import formats, ir
from formatbridge.arguments import checked_names, checked_table
from formatbridge.client.secrets import checked_headers, is_sensitive
from formatbridge.errors import ConfigurationError

Endpoint = str
"""A format's name, or ``models`` for the list of models."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_COLLECTIONS = ("models/", "tunedModels/")

PATHS: Mapping[Endpoint, str] = {**formats.PATHS, "models": "/v1beta/models"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayProfile:
    """The properties of one relay.

    ``auth``: the header for the key, by endpoint; the default, ``authorization``, sends it as a bearer token.
    ``version_headers``: headers for the API version of messages; all of them are sent, with ``messages_version``.
    ``paths``, ``stream_paths``: paths of the endpoints below the base URL, with ``{model}`` for the model; an endpoint without a path does
    not exist.
    ``plain_only``: endpoints that cannot stream; the client sends a request without streaming and replays the answer as a stream.
    ``models_format``: the format of the list of models.
    ``headers``: headers of every call. ``repr`` hides secret ones. A profile with a secret header cannot be pickled: pass such a header to
    the client instead.
    ``request_id_headers``: headers with the id of an answer, in order of preference.
    """

    name: str = "relay"
    base_url: str | None = None
    auth: Mapping[Endpoint, str] = field(default_factory=dict)
    version_headers: tuple[str, ...] = ("vendor-version", "anthropic-version")
    messages_version: str = "2023-06-01"
    paths: Mapping[Endpoint, str] = field(default_factory=lambda: dict(PATHS))
    stream_paths: Mapping[Endpoint, str] = field(default_factory=lambda: dict(formats.STREAM_PATHS))
    plain_only: frozenset[str] = frozenset()
    models_format: ir.Format = "generate_content"
    headers: Mapping[str, str] = field(default_factory=dict)
    request_id_headers: tuple[str, ...] = ("x-oneapi-request-id", "x-request-id", "request-id", "x-goog-request-id")

    def __post_init__(self) -> None:
        for name in ("auth", "paths", "stream_paths", "headers"):
            checked_table(f"profile {name}", getattr(self, name))
        for name in ("auth", "paths", "stream_paths", "plain_only"):
            known = sorted(formats.FORMATS if name == "plain_only" else {*formats.FORMATS, "models"})
            unknown = sorted({*checked_names(f"profile {name}", getattr(self, name))}.difference(known))
            if unknown:
                raise ConfigurationError(f"profile {name} has the endpoint {unknown[0]!r}, expected one of {', '.join(known)}")
        object.__setattr__(self, "plain_only", frozenset(self.plain_only))
        for endpoint, path in (*self.paths.items(), *self.stream_paths.items()):
            _check_path(endpoint, path)
        for name in ("version_headers", "request_id_headers"):
            names = checked_names(f"profile {name}", getattr(self, name))
            object.__setattr__(self, name, tuple(checked_headers(dict.fromkeys(names, ""))))
        checked_names("profile name or messages_version", (self.name, self.messages_version))
        object.__setattr__(self, "headers", checked_headers(self.headers))
        checked_headers(dict.fromkeys(self.version_headers, self.messages_version))
        checked_headers(dict.fromkeys(self.auth.values(), ""))
        formats.load(self.models_format)
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

    def path(self, endpoint: Endpoint, *, model: str = "", stream: bool = False) -> str:
        """Return path and query of an endpoint; raise ``ConfigurationError`` if there is none, or if the model cannot be part of a path."""
        path = (self.stream_paths.get(endpoint) if stream else None) or self.paths.get(endpoint)
        if path is None:
            raise ConfigurationError(f"profile {self.name!r} has no endpoint for {endpoint}")
        if "{model}" not in path:
            return path
        collection, name = _split_model(model)
        return path.replace("models/{model}", collection + name).replace("{model}", name)

    def model_lists(self, via: ir.Format = "chat_completions") -> list[tuple[str, ir.Format]]:
        """Return paths and formats of the list of models, in order of preference; the next is used after a 404.

        The profile's path comes first, then the two that other relays use. ``via``: the format of the list at ``/v1/models``.
        """
        path, format = self.path("models"), via if via != "generate_content" else "chat_completions"
        others: list[tuple[str, ir.Format]] = [("/v1/models", format), (PATHS["models"], "generate_content")]
        return [(path, self.models_format), *(other for other in others if other[0] != path.partition("?")[0])]


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

_OPENAI_PATHS = {name: PATHS[name] for name in ("chat_completions", "responses")} | {"models": "/v1/models"}

PROFILES: Mapping[str, RelayProfile] = {
    "relay": RELAY,
    "chat_completions": RelayProfile(
        name="chat_completions", base_url="https://api.openai.com", paths=_OPENAI_PATHS, models_format="chat_completions"
    ),
    "responses": RelayProfile(name="responses", base_url="https://api.openai.com", paths=_OPENAI_PATHS, models_format="responses"),
    "messages": RelayProfile(
        name="messages",
        base_url="https://api.anthropic.com",
        paths={"messages": PATHS["messages"], "models": "/v1/models"},
        auth={"messages": "x-api-key", "models": "x-api-key"},
        version_headers=("anthropic-version",),
        models_format="messages",
    ),
    "generate_content": RelayProfile(
        name="generate_content",
        base_url="https://generativelanguage.googleapis.com",
        paths={name: PATHS[name] for name in ("generate_content", "models")},
        auth={"generate_content": "x-goog-api-key", "models": "x-goog-api-key"},
    ),
}
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
