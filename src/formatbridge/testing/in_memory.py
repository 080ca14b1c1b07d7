"""What answers in memory, as clients of both HTTP libraries take it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from formatbridge.arguments import shown
from formatbridge.client.http_libraries import LIBRARIES
from formatbridge.errors import ConfigurationError


class InMemoryTransport:
    """A transport for httpx as well as httpx2, of which it knows neither until it is asked."""

    __slots__ = ()

    def transport(self) -> Any:
        """Return what to hand to a client as its ``transport``: this itself. It is ``Any``, for it suits httpx as well as httpx2."""
        return self

    def http_client(self, library: Literal["httpx", "httpx2"] = "httpx", **settings: Any) -> Any:
        """Return a sync client of an HTTP library, which is loaded now, whose every request comes here."""
        return _loaded(library).Client(transport=self, **settings)

    def async_http_client(self, library: Literal["httpx", "httpx2"] = "httpx", **settings: Any) -> Any:
        """Return an async client of an HTTP library, which is loaded now, whose every request comes here."""
        return _loaded(library).AsyncClient(transport=self, **settings)


def _loaded(library: str) -> Any:
    if library not in LIBRARIES:
        raise ConfigurationError(f"library is {shown(library)}, expected one of {', '.join(LIBRARIES)}")
    return import_module(library)
