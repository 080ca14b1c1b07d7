"""Secrets, and masks that hide them in errors."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

from formatbridge import ir
from formatbridge.arguments import type_name
from formatbridge.convert.bodies import Converted, ConvertedError
from formatbridge.errors import ConfigurationError, FormatBridgeError
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Addition, Loss

T = TypeVar("T")
E = TypeVar("E", bound=FormatBridgeError)

HIDDEN = "***"
# The lengths prevent that words of the text are hidden. The beginning of a secret is less specific than the whole, and an answer of
# the model has more text than an error, so both require more characters.
_PRINTABLE = re.compile(r"[\x20-\x7e]*")
_MIN_MASKED_LENGTH = 6
_MIN_BEGINNING_LENGTH = 8
_MIN_LENGTH_IN_ANSWERS = 14
_ESCAPE = r"\\(?:u[0-9a-fA-F]{0,3})?|%[0-9a-fA-F]?|&(?:#[xX]?[0-9a-fA-F]*|[a-z]*)"
_CUT = re.compile(rf"(?:{_ESCAPE})?(?=$|…|['\"])")
"""The text after the last complete character of a truncated text: part of an escape, then the end, an ellipsis or a closing quote."""
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_ENCODING_MARKS = ("%", "&", "\\")
"""A text contains one of these if it has a secret in another form than unchanged or base64."""
_JSON_ESCAPES = (b"\\u00", b"\\/")
"""JSON text contains one of these if it has a secret in escaped form."""


class Secret:
    """A text that ``repr``, formatting and pickling do not show; only ``reveal`` returns it."""

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


def as_secret(key: T) -> T | Secret:
    """Return a key in a form that tracebacks do not show; they show the local variables of frames."""
    return Secret(key) if isinstance(key, str) else key


@dataclass(frozen=True, slots=True)
class _MaskedReport:
    """A resolved report without its ledger, which holds data that the relay sent."""

    losses: tuple[Loss, ...]
    resolved_additions: tuple[Addition, ...]
    body: None = None
    text: None = None

    def additions(self, body: JsonValue) -> tuple[Addition, ...]:
        """Return the additions, whose pointers are known."""
        del body
        return self.resolved_additions

    def source_body(self) -> None:
        """Return None, for the data is not kept."""


class _EncodedForms:
    """A secret, its three forms in base64 data and a pattern of its forms in JSON. Tracebacks do not show any of them."""

    __slots__ = ("_in_json", "cores", "secret")

    def __init__(self, text: str) -> None:
        self.secret = Secret(text)
        self.cores = [Secret(core) for core in _base64_cores(text)]
        self._in_json: re.Pattern[bytes] | None = None  # until an answer has an escape

    def in_json(self) -> re.Pattern[bytes]:
        """Return the pattern of the secret as JSON escapes it."""
        if self._in_json is None:
            self._in_json = re.compile("".join(map(_json_character, self.secret.reveal())).encode())
        return self._in_json


class Mask:
    """Hides known secrets in text, unchanged or encoded as JSON, URL, HTML or base64. Secrets of fewer than 6 characters are not hidden."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Iterable[Secret | None]) -> None:
        texts = {secret.reveal() for secret in secrets if secret is not None}
        self._secrets = [_EncodedForms(text) for text in sorted(texts, key=len, reverse=True) if len(text) >= _MIN_MASKED_LENGTH]

    def __bool__(self) -> bool:
        """Return whether there is a secret to hide."""
        return bool(self._secrets)

    def text(self, text: str) -> str:
        """Return a text without the secrets, and without the beginning of a secret where the text was truncated."""
        unified = _in_one_alphabet(text) if self._secrets else text
        for forms in self._secrets:
            text = _without(text, unified, forms)
        return text

    def value(self, value: Any) -> Any:
        """Return a text without the secrets, and any other value unchanged."""
        return self.text(value) if isinstance(value, str) else value

    def body(self, body: bytes) -> bytes:
        """Return bytes without the secrets, and without the beginning of a secret at their end."""
        return self.text(body.decode("latin-1")).encode("latin-1")

    def answer(self, body: bytes) -> bytes:
        """Return an answer without long secrets, unchanged or as JSON escapes them. A short one may be a word of the text."""
        hidden = HIDDEN.encode()
        for forms in self._secrets:
            secret = forms.secret.reveal()
            if len(secret) < _MIN_LENGTH_IN_ANSWERS:
                continue
            body = body.replace(secret.encode(), hidden)
            if any(mark in body for mark in _JSON_ESCAPES):
                body = forms.in_json().sub(hidden, body)
        return body

    def reported(self, converted: Converted) -> Converted:
        """Return a conversion as a hook may read it: without the secrets and its source if it has a secret, else unchanged."""
        parts = (converted.body, converted.losses, converted.additions, converted.source_body)
        return self.whole(converted) if self and self.whole(parts) != parts else converted

    def whole(self, value: Any) -> Any:
        """Return a value without the secrets: JSON, the attributes of an error, an answer with its report."""
        if isinstance(value, str | bytes):
            return self.text(value) if isinstance(value, str) else self.body(value)
        if isinstance(value, dict):
            return {self.value(key): self.whole(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.whole(item) for item in value)
        if isinstance(value, ir.Error | Loss | Addition):
            return replace(value, **{field.name: self.whole(getattr(value, field.name)) for field in fields(value)})
        if isinstance(value, Converted):
            report = cast("Ledger", _MaskedReport(self.whole(value.losses), self.whole(value.additions)))
            if isinstance(value, ConvertedError):
                return ConvertedError(self.whole(value.body), report, value.source_format, value.target_format, value.status)
            return Converted(self.whole(value.body), report, value.source_format, value.target_format, value.kind)
        return value

    def error(self, error: E) -> E:
        """Hide the secrets in an error and remove its cause and context, which may contain them. All errors of a call pass through here."""
        # ``args`` has the message. Attributes have it too, and the partial answer, the tail and the losses.
        error.args = self.whole(error.args)
        for name, value in vars(error).items():
            setattr(error, name, self.whole(value))
        error.__cause__ = error.__context__ = None
        return error


def checked_secrets(secrets: object) -> list[Secret]:
    """Check the argument ``secrets``; raise ``ConfigurationError``, without their values, where they are invalid."""
    expected = "expected strings of printable ASCII"
    if isinstance(secrets, str | bytes) or not isinstance(secrets, Iterable):
        raise ConfigurationError(f"secrets is {type_name(secrets)}, {expected}")
    masked = [secret if isinstance(secret, Secret) else as_secret(secret) for secret in secrets]
    del secrets
    # Keys are sent in HTTP headers, which have only such characters. ``_character`` has the escapes of these characters only.
    problem = next(filter(None, map(_secret_problem, masked)), None)
    if problem is not None:
        raise ConfigurationError(f"{problem}, {expected}")
    return [secret for secret in masked if isinstance(secret, Secret)]


def _secret_problem(secret: object) -> str | None:
    if not isinstance(secret, Secret):
        return f"a secret is {type_name(secret)}"
    return None if _PRINTABLE.fullmatch(secret.reveal()) else "a secret has a character that is not printable ASCII"


def _without(text: str, unified: str, forms: _EncodedForms) -> str:
    """Hide a secret in all its forms, and the beginning of a secret where the text was truncated.

    ``unified``: the text in one alphabet of base64. Most texts contain no form of the secret: they cost only a few searches.
    """
    if _has_beginning(text, forms.secret) or any(mark in text for mark in _ENCODING_MARKS):
        pieces = [_character(character) for character in forms.secret.reveal()]
        text = _without_beginning(re.sub("".join(pieces), HIDDEN, text), pieces)
    for core in forms.cores:
        if _has_beginning(unified, core):
            pieces = [_base64_character(character) for character in core.reveal()]
            pattern = f"[A-Za-z0-9+/_-]?{''.join(pieces)}[A-Za-z0-9+/_-]?(?:=|%3[dD]){{0,2}}"
            text = _without_beginning(re.sub(pattern, HIDDEN, text), pieces)
    return text


def _has_beginning(text: str, secret: Secret) -> bool:
    return secret.reveal()[:_MIN_BEGINNING_LENGTH] in text


def _in_one_alphabet(text: str) -> str:
    """Return a text with all base64 in the standard alphabet (RFC 4648, section 4)."""
    for other, character in (("-", "+"), ("_", "/"), ("\\/", "/"), ("%2B", "+"), ("%2F", "/"), ("%2b", "+"), ("%2f", "/")):
        text = text.replace(other, character)
    return text


def _without_beginning(text: str, pieces: list[str]) -> str:
    """Hide the beginning of a truncated secret: at least eight of its characters, followed by the end of the text or of a quotation."""
    result, done = "", 0
    for match in re.finditer("".join(pieces[:_MIN_BEGINNING_LENGTH]), text):
        end = match.end()
        for piece in pieces[_MIN_BEGINNING_LENGTH:]:
            more = re.compile(piece).match(text, end)
            if more is None:
                break
            end = more.end()
        cut = _CUT.match(text, end)
        if cut is not None and match.start() >= done:
            result, done = f"{result}{text[done : match.start()]}{HIDDEN}", cut.end()
    return result + text[done:]


def _character(character: str) -> str:
    """Return a pattern for a character: unchanged, behind a backslash, or escaped in JSON, a URL or HTML."""
    number = ord(character)
    entity = f"|{_ENTITIES[character]};" if character in _ENTITIES else ""
    html = rf"(?:&|\\u0026)(?:#0*{number};?|#[xX]0*(?i:{number:x});?{entity})"
    return rf"(?:\\?{re.escape(character)}|\\u00(?i:{number:02x})|%(?i:{number:02x})|{html})"


def _json_character(character: str) -> str:
    """Return a pattern for a character: unchanged or escaped in JSON, or in JSON text that is a value of JSON, such as arguments."""
    return rf"(?:\\{{0,4}}{re.escape(character)}|\\{{1,4}}u00(?i:{ord(character):02x}))"


def _base64_character(character: str) -> str:
    """Return a pattern for a character of base64, in either alphabet, and as a URL or JSON escapes it."""
    return {"+": r"(?:[+-]|%2[bB])", "/": r"(?:\\?/|_|%2[fF])"}.get(character, character)


def _base64_cores(text: str) -> Iterator[str]:
    """Yield the three forms of a secret in longer base64 data, without the characters that depend on the neighbouring bytes."""
    # Base64 encodes three bytes as four characters, so the form depends on the number of bytes before the secret, modulo 3:
    # ``c2stMTIzN``, ``NrLTEyMz`` or ``zay0xMjM0`` for ``sk-1234``. A header ``Authorization: Basic`` encodes ``user:sk-1234``.
    content = text.encode()
    for before, dropped in ((0, 0), (1, 2), (2, 3)):
        encoded = b64encode(b"\0" * before + content).decode()
        is_even = (before + len(content)) % 3 == 0
        yield encoded[dropped:] if is_even else encoded.rstrip("=")[dropped:-1]
