"""``preload`` moves the cost of the first conversion to the start of a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import formatbridge as fb

_PROGRAM = """
import formatbridge as fb
fb.preload({formats!r})
from formatbridge.validation import validators
built, build = [], validators.SchemaValidator
validators.SchemaValidator = lambda schema: built.append(schema) or build(schema)
fb.convert_request({{"model": "m", "messages": [{{"role": "user", "content": "Hi"}}]}}, source="chat_completions", target="messages")
print(len(built))
"""


@pytest.mark.parametrize(
    ("formats", "built"), [(None, 0), (("chat_completions",), 0), (("messages",), 1)], ids=["all", "source", "other"]
)
def test_a_preloaded_format_has_its_validators(formats: tuple[str, ...] | None, built: int) -> None:
    """A service preloads at startup, so that its first request is as fast as later ones."""
    program = _PROGRAM.format(formats=formats)

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert shown.strip() == str(built)


def test_an_unknown_format_is_named_in_the_error() -> None:
    """A wrong name must fail at startup, not with the first request."""
    with pytest.raises(fb.UnknownFormatError, match="no_such_format"):
        fb.preload(["no_such_format"])


def test_a_single_string_is_rejected() -> None:
    """``preload("messages")`` would look for a format "m"."""
    with pytest.raises(fb.ConfigurationError, match="formats is 'messages'"):
        fb.preload("messages")
