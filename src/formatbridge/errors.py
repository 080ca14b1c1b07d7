"""What can go wrong, and whose fault it is.

FormatBridgeError
├─ UnknownFormatError      a format name that nobody here knows
├─ InvalidPayloadError     a body that is not of its format; also a ValueError
├─ LossyConversionError    a conversion lost more than ``Options(raise_on=...)`` allows
└─ ConfigurationError      options that contradict themselves; also a ValueError
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formatbridge.losses import Loss

_LONGEST_TEXT = 2048
_SHOWN = 5


class FormatBridgeError(Exception):
    """Everything this library raises on purpose. The text is at most 2 KiB."""

    def __init__(self, text: str) -> None:
        super().__init__(text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[FormatBridgeError], args: tuple[Any, ...], state: dict[str, Any]) -> FormatBridgeError:
    """Restore a pickled error without running its constructor, whose arguments it no longer has."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UnknownFormatError(FormatBridgeError):
    """A format name that is none of the known ones, or a body that shows none of them."""

    def __init__(self, name: object, known: Sequence[str]) -> None:
        super().__init__(f"unknown format {name!r}, expected one of {', '.join(known)}")
        #: What was asked for.
        self.name = name
        #: The names that exist.
        self.known = tuple(known)


class InvalidPayloadError(FormatBridgeError, ValueError):
    """A body that is not of its format. Nothing was converted."""

    def __init__(self, format: str, kind: str, problems: Sequence[tuple[str, str]]) -> None:
        told = "; ".join(f"{pointer or 'body'} {message}" for pointer, message in problems[:_SHOWN])
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        super().__init__(f"{format} {kind}: {told}{more}")
        #: The format that the body was to be of.
        self.format = format
        #: ``request``, ``response``, ``error`` or ``models``.
        self.kind = kind
        #: Pairs of a JSON pointer into the body and what is wrong there; never empty.
        self.problems = tuple(problems)


class LossyConversionError(FormatBridgeError):
    """The target cannot hold what the caller will not lose. Nothing was sent or returned."""

    def __init__(self, losses: Sequence[Loss]) -> None:
        told = "; ".join(f"{loss.path or 'body'} {loss.kind}: {loss.why}" for loss in losses[:_SHOWN])
        more = f"; and {len(losses) - _SHOWN} more" if len(losses) > _SHOWN else ""
        super().__init__(f"conversion loses {told}{more}")
        #: The losses at or above the severity that ``raise_on`` names.
        self.losses = tuple(losses)


class ConfigurationError(FormatBridgeError, ValueError):
    """Options that do not exist or contradict each other."""
