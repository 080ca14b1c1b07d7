"""Type aliases for JSON values."""

from __future__ import annotations

from typing import Any

JsonValue = Any
"""A JSON value: an object, an array, a string, a number, a boolean or null."""
JsonObject = dict[str, Any]
"""A JSON object."""
EXACT = 2**53
"""The largest magnitude up to which every integer is exact as a double."""
