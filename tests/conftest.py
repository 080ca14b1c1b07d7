"""What all tests have in common."""

from __future__ import annotations

from hypothesis import settings

# Machines are noisy: how long an example takes says nothing about the library.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
