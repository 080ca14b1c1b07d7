"""The pairs of formats that tests convert between."""

from __future__ import annotations

from itertools import permutations, product

from formatbridge import FORMATS

PAIRS = list(product(FORMATS, FORMATS))
"""All pairs, also each format with itself."""
DIRECTIONS = list(permutations(FORMATS, 2))
"""The pairs of different formats."""
