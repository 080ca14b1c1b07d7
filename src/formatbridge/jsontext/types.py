"""The types of JSON, as everybody names them."""

from __future__ import annotations

from typing import Any

JsonValue = Any
"""A JSON value: an object, an array, a string, a number, a flag or null."""
JsonObject = dict[str, Any]
"""A JSON object."""
EXACT = 2**53
"""Integers up to this, of either sign, are the same as doubles."""
