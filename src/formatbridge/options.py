"""What a caller may choose about a conversion."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from formatbridge.arguments import shown, type_name
from formatbridge.errors import ConfigurationError
from formatbridge.report.losses import SEVERITIES, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Choices that hold for one conversion; the defaults lose least.

    ``raise_on``: raise ``LossyConversionError`` from this severity up; None: never, the report tells.
    ``carry_reasoning``: keep another format's reasoning tokens in a response, tagged, for the next request.
    ``default_max_tokens``: the limit for a target that demands one where the source names none, in tokens.
    ``on_truncated``: whether a stream that ends too early raises, or is closed with finish reason ``length``. One that is passed on in its
    own format is never closed, for it goes out as it came: it raises.
    ``created``: the time of an answer whose source has none, in seconds since the epoch; None: 0.
    ``mid_system``: instructions in mid-conversation stay there where the target allows (``native``), or join the system prompt.
    ``unsigned_reasoning``: what a request to responses does with reasoning that has no token of that format: leave it out (``drop``),
    write it as text of the assistant (``text``), or write it as a reasoning item without an id, which open servers read (``item``).
    ``unsigned_calls``: whether a request to generate_content gives a call without a signature the placeholder that Google documents.
    ``json_mode``: what a request to messages, which has no JSON mode, does with one: add an instruction (``instruct``), or leave it out.
    ``strip_billing_header``: leave out the text ``x-anthropic-billing-header: ...`` that Claude Code puts first in the system prompt of
    messages; it changes often, and a server that caches prompts by their beginning then finds nothing.
    ``token_key``: seals the reasoning tokens of other formats that an answer carries, and drops those of a request that have no such seal;
    16 bytes or more; None: tokens are neither sealed nor checked.
    ``messages_version``: the dialect of the messages format; from ``2026-10-21`` on it has no sampling parameters.
    """

    raise_on: Severity | None = None
    carry_reasoning: bool = True
    default_max_tokens: int = 4096
    on_truncated: Literal["error", "close"] = "error"
    created: int | None = None
    mid_system: Literal["native", "hoist"] = "native"
    unsigned_reasoning: Literal["drop", "text", "item"] = "drop"
    unsigned_calls: Literal["placeholder", "leave"] = "placeholder"
    json_mode: Literal["instruct", "drop"] = "instruct"
    strip_billing_header: bool = False
    messages_version: str = "2023-06-01"
    token_key: bytes | None = field(default=None, repr=False)

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


_SHORTEST_KEY = 16
_DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
_MOST = 2**63 - 1


def _require(name: str, value: object, expected: str, is_valid: bool) -> None:
    if not is_valid:
        raise ConfigurationError(f"{name} is {shown(value)}, expected {expected}")


def _require_one_of(name: str, value: object, *choices: str) -> None:
    _require(name, value, f"one of {', '.join(choices)}", value in choices)


def _require_key(key: object) -> None:
    """Refuse what is no key, or too short for one; the message does not show it."""
    if key is None:
        return
    if not isinstance(key, bytes):
        raise ConfigurationError(f"token_key is {type_name(key)}, expected None or bytes")
    if len(key) < _SHORTEST_KEY:
        raise ConfigurationError(f"token_key has {len(key)} bytes, expected {_SHORTEST_KEY} or more")


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST


DEFAULT_OPTIONS = Options()


def options_of(options: Options | None) -> Options:
    """Return the options to use; raise ``ConfigurationError`` on anything that is none."""
    if options is None:
        return DEFAULT_OPTIONS
    if not isinstance(options, Options):
        raise ConfigurationError(f"options is {type_name(options)}, expected formatbridge.Options")
    return options
