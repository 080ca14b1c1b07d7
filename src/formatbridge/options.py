"""The options of conversions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from formatbridge.arguments import shown, type_name
from formatbridge.errors import ConfigurationError
from formatbridge.report.losses import SEVERITIES, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of one conversion. The defaults lose least."""

    raise_on: Severity | None = None
    """Raise ``LossyConversionError`` from this severity on; None: never, losses are only reported.

    A client or SDK transport without ``options`` uses ``impossible``, because it sends the request before anyone can read the report.
    """
    carry_reasoning: bool = True
    """Keep reasoning tokens of another format, or from a body of another format, in a response, tagged, for the next request."""
    default_max_tokens: int = 4096
    """The limit in tokens for a target that requires one, where the source has none."""
    on_truncated: Literal["error", "close"] = "error"
    """Raise an error for a truncated stream (``error``), or close it with finish reason ``length`` (``close``).

    A stream from a format to the same format is never closed: it raises.
    """
    created: int | None = None
    """The creation time of an answer whose source has none, in seconds since the epoch; None: 0."""
    mid_system: Literal["native", "hoist"] = "native"
    """Instructions in the middle of a conversation stay there where the target allows it (``native``), or become part of the system
    prompt (``hoist``)."""
    unsigned_reasoning: Literal["drop", "text", "item"] = "drop"
    """For requests to responses, with reasoning that has no token of that format: drop it (``drop``), write it as text of the
    assistant (``text``), or write it as a reasoning item without an id, which open servers accept (``item``)."""
    unsigned_calls: Literal["placeholder", "leave"] = "placeholder"
    """For requests to generate_content, with a call that has no signature: add the placeholder that Google documents
    (``placeholder``), or leave it without one (``leave``)."""
    json_mode: Literal["instruct", "drop"] = "instruct"
    """For requests to messages, which has no JSON mode: add an instruction (``instruct``), or drop the mode (``drop``)."""
    strip_billing_header: bool = False
    """Remove the text ``x-anthropic-billing-header: ...``, which Claude Code puts first in the system prompt of messages.

    It changes often, and then a server that caches prompts by their beginning has no hit.
    """
    messages_version: str = "2023-06-01"
    """The API version of messages; from ``2026-10-21`` on it has no sampling parameters."""
    token_key: bytes | None = field(default=None, repr=False)
    """A key of at least 16 bytes that seals reasoning tokens of other formats in answers; tokens of a request without a valid seal
    are dropped. None: tokens are neither sealed nor checked."""

    def __post_init__(self) -> None:
        _require("raise_on", self.raise_on, f"None or one of {', '.join(SEVERITIES)}", self.raise_on in (None, *SEVERITIES))
        _require("carry_reasoning", self.carry_reasoning, "True or False", isinstance(self.carry_reasoning, bool))
        _require("default_max_tokens", self.default_max_tokens, "an integer of 1 or more", _is_count(self.default_max_tokens, 1))
        _require("on_truncated", self.on_truncated, "'error' or 'close'", self.on_truncated in ("error", "close"))
        is_time = self.created is None or _is_count(self.created, 0)
        _require("created", self.created, "None or an integer of 0 or more", is_time)
        _require("mid_system", self.mid_system, "'native' or 'hoist'", self.mid_system in ("native", "hoist"))
        _require_one_of("unsigned_reasoning", self.unsigned_reasoning, "drop", "text", "item")
        _require_one_of("unsigned_calls", self.unsigned_calls, "placeholder", "leave")
        _require_one_of("json_mode", self.json_mode, "instruct", "drop")
        _require("strip_billing_header", self.strip_billing_header, "True or False", isinstance(self.strip_billing_header, bool))
        is_date = isinstance(self.messages_version, str) and _DATE.fullmatch(self.messages_version) is not None
        _require("messages_version", self.messages_version, "a date such as 2023-06-01", is_date)
        _require_key(self.token_key)


_MIN_KEY_LENGTH = 16
_DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
_MAX_INTEGER = 2**63 - 1


def _require(name: str, value: object, expected: str, is_valid: bool) -> None:
    if not is_valid:
        raise ConfigurationError(f"{name} is {shown(value)}, expected {expected}")


def _require_one_of(name: str, value: object, *choices: str) -> None:
    _require(name, value, f"one of {', '.join(choices)}", value in choices)


def _require_key(key: object) -> None:
    """Check a key. The message does not contain the key."""
    if key is None:
        return
    if not isinstance(key, bytes):
        raise ConfigurationError(f"token_key is {type_name(key)}, expected None or bytes")
    if len(key) < _MIN_KEY_LENGTH:
        raise ConfigurationError(f"token_key has {len(key)} bytes, expected {_MIN_KEY_LENGTH} or more")


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MAX_INTEGER


DEFAULT_OPTIONS = Options()


def options_of(options: Options | None) -> Options:
    """Return the options to use; raise ``ConfigurationError`` unless the value is ``Options`` or None."""
    if options is None:
        return DEFAULT_OPTIONS
    if not isinstance(options, Options):
        raise ConfigurationError(f"options is {type_name(options)}, expected formatbridge.Options")
    return options


def without_raise_on(options: Options) -> Options:
    """Return options that accept every loss, for what must not be replaced by ``LossyConversionError``."""
    return options if options.raise_on is None else replace(options, raise_on=None)
