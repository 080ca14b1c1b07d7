"""The key, and everything else that nobody but the relay may see."""

from __future__ import annotations

import re
import warnings
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

from formatbridge import ir
from formatbridge.convert import Converted
from formatbridge.errors import ConfigurationError, FormatBridgeError
from formatbridge.given import a, caller
from formatbridge.losses import Addition, Ledger, Loss

E = TypeVar("E", bound=FormatBridgeError)
T = TypeVar("T")

HIDDEN = "***"
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SENSITIVE = re.compile(r"auth|key|token|secret|cookie|password|credential|signature", re.IGNORECASE)
_SHORTEST_MASKED = 6
_SHORTEST_BEGINNING = 8
_CUT = r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?(?=$|…|['\"])"
"""What stands where a text was cut, maybe within an escape: its end, the mark of it, or the quotes that were put around it."""


class Secret:
    """A text that shows itself to nobody who does not ask for it by name; it does not travel in a pickle."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return HIDDEN

    def __reduce__(self) -> tuple[Any, ...]:
        return Secret, (HIDDEN,)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self


def hidden(key: T) -> T | Secret:
    """Return what a caller gives for a key as a frame may hold it: tracebacks show what frames hold."""
    return Secret(key) if isinstance(key, str) else key


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
        return f"api_key is {a(given)}, expected a string, or a callable that returns one"
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
        raise ConfigurationError(f"headers is {a(given)}, expected a mapping of names to values")
    for name, value in (given or {}).items():
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ConfigurationError(f"header name is {name!r}, expected letters, digits and hyphens")
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None:
            raise ConfigurationError(f"value of header {name} is no printable ASCII text")
        made[name.lower()] = value
    return made


@dataclass(frozen=True, slots=True)
class _Told:
    """A report that has been read, without the books that it was worked out from: they hold what the relay sent."""

    losses: tuple[Loss, ...]
    additions: tuple[Addition, ...]
    body: None = None
    text: None = None
    unplaced: None = None  # whatever was added has its place


class Mask:
    """Hides known secrets wherever they stand. Short ones are left: they would garble every text."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Iterable[Secret | None]) -> None:
        texts = {secret.reveal() for secret in secrets if secret is not None}
        self._secrets = [Secret(text) for text in sorted(texts, key=len, reverse=True) if len(text) >= _SHORTEST_MASKED]

    def text(self, text: str) -> str:
        """Return a text without the secrets, nor the beginning of one where the text was cut."""
        for secret in self._secrets:
            text = text.replace(secret.reveal(), HIDDEN)
            if secret.reveal()[:_SHORTEST_BEGINNING] in text:
                text = _without_beginning(text, secret)
        return text

    def value(self, value: Any) -> Any:
        """Return a text without the secrets, and anything else as it is."""
        return self.text(value) if isinstance(value, str) else value

    def body(self, body: bytes) -> bytes:
        """Return bytes without the secrets, as they are and in whatever way JSON may escape them, nor the beginning of one at their end."""
        for secret in self._secrets:
            body = re.sub(b"".join(_escapable(secret)), HIDDEN.encode(), body)
            body = _without_beginning(body.decode("latin-1"), secret).encode("latin-1")
        return body

    def whole(self, value: Any) -> Any:
        """Return a value without the secrets: JSON, the facts of an error, an answer with its report."""
        if isinstance(value, str | bytes):
            return self.text(value) if isinstance(value, str) else self.body(value)
        if isinstance(value, dict):
            return {self.value(key): self.whole(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.whole(item) for item in value)
        if isinstance(value, ir.Error | Loss | Addition):
            return replace(value, **{field.name: self.whole(getattr(value, field.name)) for field in fields(value)})
        if isinstance(value, Converted):
            told = cast("Ledger", _Told(self.whole(value.losses), self.whole(value.additions)))
            return Converted(self.whole(value.body), told, value.source, value.target, value.kind)
        return value

    def error(self, error: E) -> E:
        """Hide the secrets in all that an error says, and what it came from, which says it again. The one way for errors out of a call."""
        error.args = self.whole(error.args)
        for name, value in vars(error).items():
            setattr(error, name, self.whole(value))
        error.__cause__ = error.__context__ = None
        return error


def _without_beginning(text: str, secret: Secret) -> str:
    """Hide what a cut has left of a secret: its first characters, eight or more, and then the end of the text or of a quotation."""
    pieces = [re.compile(piece.decode()) for piece in _escapable(secret)]
    first = re.compile("".join(piece.pattern for piece in pieces[:_SHORTEST_BEGINNING]))
    made, done = "", 0
    for found in first.finditer(text):
        end = found.end()
        for piece in pieces[_SHORTEST_BEGINNING:]:
            more = piece.match(text, end)
            if more is None:
                break
            end = more.end()
        cut = re.compile(_CUT).match(text, end)
        if cut is not None and found.start() >= done:
            made, done = f"{made}{text[done : found.start()]}{HIDDEN}", cut.end()
    return made + text[done:]


def _escapable(secret: Secret) -> list[bytes]:
    """Return a pattern for each character of a secret in JSON text: as it is, behind a backslash or as ``\\u`` and its number."""
    return [b"(?:\\\\?%b|\\\\u00(?i:%02x))" % (re.escape(bytes([byte])), byte) for byte in secret.reveal().encode()]
