"""Type aliases for JSON values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

JsonValue = Any
"""A JSON value: an object, an array, a string, a number, a boolean or null. It is ``Any``, so that callers can index into a body."""
JsonObject = dict[str, Any]
"""A JSON object."""
JsonArgument = Mapping[str, object] | Sequence[object] | float | None
"""A JSON value that a caller passes, a ``TypedDict`` of an official SDK included. Strings are sequences, integers are floats."""
EXACT = 2**53
"""The largest magnitude up to which every integer is exact as a double."""
