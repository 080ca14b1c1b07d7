"""What a relay wants: where its endpoints are, how it takes the key, which headers it reads. Values only."""

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
_HOMES = ("models/", "tunedModels/")

PATHS: Mapping[Endpoint, str] = {**formats.PATHS, "models": "/v1beta/models"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayProfile:
    """How one relay differs from others.

    ``auth``: the header that takes the key, by endpoint; ``authorization``, where nothing is said, takes it as a bearer token.
    ``version_headers``: names of the header that says which dialect of messages is spoken; all are sent, with ``messages_version``.
    ``paths``, ``stream_paths``: of the endpoints, below the base URL; an endpoint without a path does not exist. ``{model}`` stands for
    the model. ``plain_only``: endpoints that cannot stream; a stream is then the whole answer, replayed. ``models_format``: the format
    of the list of models. ``headers`` go with every call; ``repr`` hides those that may hold a secret, and a profile with such a header
    cannot be pickled: give the header to the client instead. ``request_id_headers``: where an answer may name itself, best first.
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
            strange = sorted({*checked_names(f"profile {name}", getattr(self, name))}.difference(known))
            if strange:
                raise ConfigurationError(f"profile {name} has the endpoint {strange[0]!r}, expected one of {', '.join(known)}")
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
        """Return path and query of an endpoint; raise ``ConfigurationError`` where the relay has none or the model cannot be in a path."""
        found = (self.stream_paths.get(endpoint) if stream else None) or self.paths.get(endpoint)
        if found is None:
            raise ConfigurationError(f"profile {self.name!r} has no endpoint for {endpoint}")
        if "{model}" not in found:
            return found
        home, name = _home_and_name(model)
        return found.replace("models/{model}", home + name).replace("{model}", name)

    def model_lists(self, via: ir.Format = "chat_completions") -> list[tuple[str, ir.Format]]:
        """Return where the list of models may be and in which format, best first; a 404 leads to the next.

        The own path, then the two that other relays have. ``via``: the format in which ``/v1/models`` is asked for.
        """
        own, usual = self.path("models"), via if via != "generate_content" else "chat_completions"
        others: list[tuple[str, ir.Format]] = [("/v1/models", usual), (PATHS["models"], "generate_content")]
        return [(own, self.models_format), *(other for other in others if other[0] != own.partition("?")[0])]


def _check_path(endpoint: Endpoint, path: object) -> None:
    """Raise ``ConfigurationError`` where a path would lead elsewhere than below the base URL."""
    expected = "expected a path that begins with one slash"
    if not isinstance(path, str) or not path.startswith("/") or path.startswith("//"):
        raise ConfigurationError(f"profile path of {endpoint} is {path!r}, {expected}")
    if _CONTROL.search(path) or any(strange in path for strange in " \\#") or ".." in unquote(path).partition("?")[0].split("/"):
        raise ConfigurationError(f"profile path of {endpoint} is {path!r}, {expected} and has no dots, spaces or fragment")


def _home_and_name(model: str) -> tuple[str, str]:
    """Split a model's name into its collection and the rest, percent-encoded byte by byte."""
    home = next((home for home in _HOMES if model.startswith(home)), "")
    name = model.removeprefix(home)
    steps = re.split(r"[/\\]", unquote(name))
    if _CONTROL.search(name) or any(step in ("", ".", "..") for step in steps):
        raise ConfigurationError(f"model is {model[:100]!r}, expected a name that can stand in a path")
    return home or "models/", quote(name, safe="", errors="replace")


def checked_url(url: object) -> str:
    """Read a base URL and return it without a slash at its end; raise ``ConfigurationError`` on what is none."""
    expected = "expected http:// or https://, a host and perhaps a path"
    if not isinstance(url, str) or _CONTROL.search(url) or " " in url or "\\" in url:
        raise ConfigurationError(f"base_url is no URL, {expected}")
    try:
        split = urlsplit(url)
        host, _ = split.hostname, split.port
    except ValueError:
        raise ConfigurationError(f"base_url is no URL, {expected}") from None
    if "@" in split.netloc:
        raise ConfigurationError(f"base_url has a user or password, {expected}; keys go into api_key")
    if split.scheme not in ("http", "https") or not host:
        raise ConfigurationError(f"base_url has no scheme or host, {expected}")
    if "?" in url or "#" in url:
        raise ConfigurationError(f"base_url has a query or fragment, {expected}")
    if any(step in (".", "..") for step in unquote(split.path).split("/")):
        raise ConfigurationError(f"base_url has dots for a step of its path, {expected}")
    return url.rstrip("/")


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL."""
    split = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(split.scheme)
    return split.scheme, (split.hostname or "").rstrip("."), split.port or usual


RELAY = RelayProfile()
"""The relay of the specification; the user names its base URL."""

_DETAIL_PATHS = {name: PATHS[name] for name in ("chat_completions", "responses")} | {"models": "/v1/models"}

PROFILES: Mapping[str, RelayProfile] = {
    "relay": RELAY,
    "chat_completions": RelayProfile(
        name="chat_completions", base_url="https://api.openai.com", paths=_DETAIL_PATHS, models_format="chat_completions"
    ),
    "responses": RelayProfile(name="responses", base_url="https://api.openai.com", paths=_DETAIL_PATHS, models_format="responses"),
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
"""The specification's relay, and for each format the host that it comes from, for people without a relay."""


def profile_of(given: object) -> RelayProfile:
    """Read what a caller gives for ``profile``: one, the name of a built-in one, or None."""
    if given is None:
        return RELAY
    if isinstance(given, RelayProfile):
        return given
    if isinstance(given, str) and given in PROFILES:
        return PROFILES[given]
    raise ConfigurationError(f"profile is {given!r}, expected formatbridge.RelayProfile or one of {', '.join(PROFILES)}")
