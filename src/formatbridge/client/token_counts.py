"""Token counts by the caller's function, for an endpoint that cannot count tokens."""

from __future__ import annotations

from collections.abc import Callable

from formatbridge.arguments import shown
from formatbridge.client.profile import RelayProfile
from formatbridge.convert.bodies import Converted
from formatbridge.convert.bridge import CountExchange
from formatbridge.errors import ConfigurationError
from formatbridge.formats.format import FormatSpec
from formatbridge.jsontext.types import JsonObject

TokenCounter = Callable[[JsonObject], int]
"""A function that returns the number of input tokens of a request body in the endpoint's format."""


def can_count(profile: RelayProfile, endpoint: FormatSpec) -> bool:
    """Return whether an endpoint of a relay counts tokens."""
    return profile.count_path(endpoint, model="m") is not None


def missing_endpoint(endpoint: FormatSpec) -> str:
    """Return the message for an endpoint that cannot count tokens, if the caller has no function that does."""
    return f"the {endpoint.name} endpoint cannot count tokens, expected count_tokens= or an endpoint of another format"


def estimated(exchange: CountExchange, counter: TokenCounter) -> Converted:
    """Return the answer with the number of input tokens that the caller's function returns for the converted request."""
    tokens = counter(exchange.request.body)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise ConfigurationError(f"count_tokens returned {shown(tokens)}, expected a number of tokens, 0 or more")
    return exchange.estimated(tokens)
