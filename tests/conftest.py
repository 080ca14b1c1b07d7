"""Settings of all tests."""

from __future__ import annotations

import gc

from hypothesis import settings

# Machines have other load: the time of an example does not depend on the library only.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Collection creates a million objects that live until the end. With the default, the collector searches them again and again.
_THRESHOLD = gc.get_threshold()
gc.set_threshold(100_000, 20, 50)


def pytest_collection_finish() -> None:
    """Leave the objects of the collected tests out of later searches, and give the tests the default again."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLD)
