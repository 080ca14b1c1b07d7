"""The API key and secret headers: checks, and hiding their values."""

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
    """Return a key as a ``Secret``; an empty one is None. It must be visible ASCII. White space around it is removed with a warning.

    Tracebacks of its exceptions do not show the key.
    """
    text = key.reveal() if isinstance(key, Secret) else key
    if isinstance(text, Coroutine):  # an async callable is not supported; avoid the warning about a coroutine
        text.close()
    stripped = text.strip(" \t\r\n") if isinstance(text, str) else None
    problem = _key_problem(text, stripped)
    is_spaced = stripped != text
    secret = Secret(stripped) if stripped else None
    del key, text, stripped
    if problem is not None:
        raise ConfigurationError(problem)
    if secret is not None and is_spaced:
        warnings.warn("api_key has white space around it, which was removed", UserWarning, stacklevel=caller()[1])
    return secret


def _key_problem(text: object, stripped: str | None) -> str | None:
    if stripped is None:
        return f"api_key is {type_name(text)}, expected a string, or a callable that returns one"
    is_visible = not stripped or _VISIBLE.fullmatch(stripped) is not None
    return None if is_visible else "api_key has a character that is not visible ASCII, expected U+0021 to U+007E only"


class Headers(dict[str, str]):
    """Header fields by lower-case name; ``repr`` hides the values of sensitive ones."""

    def __repr__(self) -> str:
        return repr(masked_headers(self))


def is_sensitive(name: str) -> bool:
    """Return whether the value of a header may be a secret, by its name."""
    return _SENSITIVE.search(name) is not None


def masked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the values of sensitive ones hidden."""
    return {name: HIDDEN if is_sensitive(name) else value for name, value in headers.items()}


def checked_headers(headers: Mapping[str, str] | None) -> Headers:
    """Return a caller's headers; raise ``ConfigurationError``, without values, on invalid ones."""
    checked = Headers()
    if headers is not None and not isinstance(headers, Mapping):
        raise ConfigurationError(f"headers is {type_name(headers)}, expected a mapping of names to values")
    for name, value in (headers or {}).items():
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ConfigurationError(f"header name is {name!r}, expected letters, digits and hyphens")
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None:
            raise ConfigurationError(f"value of header {name} is not printable ASCII, expected U+0020 to U+007E or tab")
        checked[name.lower()] = value
    return checked
