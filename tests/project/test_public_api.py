"""The public names, and the cost of an import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import formatbridge as fb


def test_every_public_name_is_importable_and_sorted() -> None:
    """A user imports a name that the documentation shows."""
    assert list(fb.__all__) == sorted(fb.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(getattr(fb, name) is not None for name in fb.__all__)
    assert {name for name in dir(fb) if not name.startswith("__")} == set(fb.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A user misspells a name; hasattr and getattr with a default must work."""
    with pytest.raises(AttributeError, match="convert_requests"):
        fb.convert_requests  # noqa: B018  # the access is the test


def test_importing_loads_neither_an_http_library_nor_the_wire_models() -> None:
    """A command-line tool that may need the library pays for it only when it does."""
    code = (
        "import sys, formatbridge; "
        "print([m for m in sys.modules if m.split('.')[0] in ('httpx', 'httpx2', 'pydantic') or '.wire' in m])"
    )

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"


def test_errors_survive_a_pickle() -> None:
    """A worker process raises, and its parent reads the error."""
    import copy
    import pickle

    loss = fb.Loss("/a", "dropped", "lossy", "no_counterpart", "the target has no place for it", 1)
    errors = [
        fb.InvalidPayloadError("messages", "request", [("/a", "is null, expected a string")]),
        fb.LossyConversionError([loss]),
        fb.UnknownFormatError("x", fb.FORMATS),
        fb.ConfigurationError("no"),
    ]

    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.__dict__ == error.__dict__
        assert copy.copy(error).args == error.args


def test_the_text_of_an_error_is_bounded() -> None:
    """A megabyte of problems must not fill a log."""
    error = fb.InvalidPayloadError("messages", "request", [("/a" * 5000, "is wrong")] * 500)

    assert len(str(error).encode()) <= 2048 + 3
