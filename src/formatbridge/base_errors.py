"""The base class of all exceptions, and the exception for invalid arguments.

``errors`` has all others. They have parts of the canonical model and losses as attributes; this module imports no
other of the library, so that each layer can check what a caller passes.
"""

from __future__ import annotations

from typing import Any

_MAX_MESSAGE_BYTES = 2048


class FormatBridgeError(Exception):
    """The base class of all exceptions of this library. The message has at most 2 KiB."""

    def __init__(self, text: str) -> None:
        super().__init__(_truncated(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _truncated(text: str, most: int = _MAX_MESSAGE_BYTES) -> str:
    """Truncate a text to a number of bytes of UTF-8."""
    if len(text) * 4 <= most:
        return text
    written = text.encode("utf-8", "replace")
    if len(written) <= most:
        return text
    return written[: most - 3].decode("utf-8", "ignore") + "…"


def append_to_message(error: FormatBridgeError, more: str) -> None:
    """Append text to the message of an error; the message is truncated to make room."""
    more = _truncated(more, _MAX_MESSAGE_BYTES // 2)
    error.args = (_truncated(str(error), _MAX_MESSAGE_BYTES - len(more.encode("utf-8", "replace"))) + more,)


def _rebuild(kind: type[FormatBridgeError], args: tuple[Any, ...], state: dict[str, Any]) -> FormatBridgeError:
    """Restore a pickled error without its constructor, whose arguments are not in the pickle."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ConfigurationError(FormatBridgeError, ValueError):
    """Invalid arguments or options, or use of a closed stream or client. A retry does not help."""


class MissingModelError(ConfigurationError):
    """A request without a model, which the target has in its URL. A gateway reports it as a problem of the caller's body."""
