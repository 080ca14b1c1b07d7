"""``preload`` moves the cost of the first conversion to the start of a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

import formatbridge as fb

_CONVERSION = """
fb.convert_request({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, source="chat_completions", target="messages")
"""
_COUNT = """
fb.convert_count_request({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, source="messages", target="responses")
fb.convert_count_response({"input_tokens": 8}, source="messages", target="responses")
"""
_PROGRAM = """
import formatbridge as fb
fb.preload({formats!r})
from formatbridge.validation import validators
built, build = [], validators.SchemaValidator
validators.SchemaValidator = lambda schema: built.append(schema) or build(schema)
{conversion}
print(len(built))
"""


def _count_of_builds(formats: tuple[str, ...] | None, conversion: str) -> int:
    """Return the number of validators that a conversion builds after ``preload``."""
    program = _PROGRAM.format(formats=formats, conversion=conversion)
    return int(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    ("formats", "built"), [(None, 0), (("chat_completions",), 0), (("messages",), 1)], ids=["all", "source", "other"]
)
def test_a_preloaded_format_has_its_validators(formats: tuple[str, ...] | None, built: int) -> None:
    """A service preloads at startup, so that its first request is as fast as later ones."""
    assert _count_of_builds(formats, _CONVERSION) == built


def test_a_preloaded_format_has_its_validators_for_token_counts() -> None:
    """A gateway counts tokens before the first request of an agent."""
    assert _count_of_builds(("messages",), _COUNT) == 0
    assert _count_of_builds((), _COUNT) == 2


def test_an_unknown_format_is_named_in_the_error() -> None:
    """A wrong name must fail at startup, not with the first request."""
    with pytest.raises(fb.UnknownFormatError, match="no_such_format"):
        fb.preload([fb.RegisteredName("no_such_format")])


def test_a_single_string_is_rejected() -> None:
    """``preload("messages")`` would look for a format "m"."""
    with pytest.raises(fb.ConfigurationError, match="formats is 'messages'"):
        fb.preload("messages")  # type: ignore[arg-type]  # the mistake
