"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# Machines have other load: the time of an example does not depend on the library only.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
