"""The key, and the headers that nobody but the relay may see."""

from __future__ import annotations

import re
import warnings
from collections.abc import Coroutine, Mapping

from formatbridge.arguments import caller, type_name
from formatbridge.convert.masking import HIDDEN, Secret
from formatbridge.errors import ConfigurationError

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SENSITIVE = re.compile(
    r"auth|key|token|secret|cookie|passw|passphrase|credential|signature|session|bearer|jwt|(?:^|[-_])(?:pass|pwd)(?:$|[-_])",
    re.IGNORECASE,
)


def checked_key(key: object) -> Secret | None:
    """Read a key, hidden or not: visible ASCII or refused. White space around it is removed with a warning. An empty one is none.

    What is raised leaves a frame behind that no longer holds the key.
    """
    given = key.reveal() if isinstance(key, Secret) else key
    if isinstance(given, Coroutine):  # of an async callable: nobody waits for it
        given.close()
    bare = given.strip(" \t\r\n") if isinstance(given, str) else None
    problem = _key_problem(given, bare)
    is_spaced = bare != given
    made = Secret(bare) if bare else None
    del key, given, bare
    if problem is not None:
        raise ConfigurationError(problem)
    if made is not None and is_spaced:
        warnings.warn("api_key has white space around it, which was removed", UserWarning, stacklevel=caller()[1])
    return made


def _key_problem(given: object, bare: str | None) -> str | None:
    if bare is None:
        return f"api_key is {type_name(given)}, expected a string, or a callable that returns one"
    is_visible = not bare or _VISIBLE.fullmatch(bare) is not None
    return None if is_visible else "api_key has a character that is no visible ASCII, expected U+0021 to U+007E only"


class Headers(dict[str, str]):
    """Header fields by their names in lower case; values of the sensitive ones are hidden in ``repr``."""

    def __repr__(self) -> str:
        return repr(shown(self))


def is_sensitive(name: str) -> bool:
    """Say whether a header's value may be a secret, going by its name."""
    return _SENSITIVE.search(name) is not None


def shown(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers as they may be shown."""
    return {name: HIDDEN if is_sensitive(name) else value for name, value in headers.items()}


def checked_headers(given: Mapping[str, str] | None) -> Headers:
    """Read headers that a caller adds; raise ``ConfigurationError`` on what cannot be one, without its value."""
    made = Headers()
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(f"headers is {type_name(given)}, expected a mapping of names to values")
    for name, value in (given or {}).items():
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ConfigurationError(f"header name is {name!r}, expected letters, digits and hyphens")
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None:
            raise ConfigurationError(f"value of header {name} is no printable ASCII text")
        made[name.lower()] = value
    return made
