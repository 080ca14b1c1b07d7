"""A transport in memory, with HTTP clients of both libraries that use it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from formatbridge.arguments import shown
from formatbridge.client.http_libraries import LIBRARIES
from formatbridge.errors import ConfigurationError


class InMemoryTransport:
    """The base class of transports in memory for httpx and httpx2. It imports neither until a client is created."""

    __slots__ = ()

    def transport(self) -> Any:
        """Return the ``transport`` argument for an HTTP client, which is this object. The type is ``Any``: it fits both libraries."""
        return self

    def http_client(self, library: Literal["httpx", "httpx2"] = "httpx", **settings: Any) -> Any:
        """Return a sync client of an HTTP library, which is imported now. All its requests use this transport."""
        return _loaded(library).Client(transport=self, **settings)

    def async_http_client(self, library: Literal["httpx", "httpx2"] = "httpx", **settings: Any) -> Any:
        """Return an async client of an HTTP library, which is imported now. All its requests use this transport."""
        return _loaded(library).AsyncClient(transport=self, **settings)


def _loaded(library: str) -> Any:
    if library not in LIBRARIES:
        raise ConfigurationError(f"library is {shown(library)}, expected one of {', '.join(LIBRARIES)}")
    return import_module(library)
