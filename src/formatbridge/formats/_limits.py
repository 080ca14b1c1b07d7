"""Limits that hold whatever the format."""

from __future__ import annotations

EXACT = 2**53
"""Integers up to this, of either sign, are the same as doubles."""

MOST_NODES = 20_000
"""Schemas within a schema that are looked at; those beyond are passed on as they are."""
