"""The pairs of formats that tests convert between."""

from __future__ import annotations

from itertools import permutations, product

from formatbridge import FORMATS

PAIRS = list(product(FORMATS, FORMATS))
"""All ways, also that of each format to itself."""
DIRECTIONS = list(permutations(FORMATS, 2))
"""The ways to another format."""
