"""One conversion as the arguments of ``convert`` describe it, for one body and for each body of a batch."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property

import formatbridge as fb
from formatbridge import formats
from formatbridge.cli.inputs import open_input
from formatbridge.cli.parser import options_of, with_facts
from formatbridge.client.batch_files import batch_converter
from formatbridge.convert.batch import BatchConverter, is_batch_line
from formatbridge.convert.bodies import Converted
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.pointers import prefixes
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import without_raise_on
from formatbridge.report.field_paths import ABSENT, resolve

_DEFAULT_STATUS = 400
_KINDS_OF_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "model": ("request", "count_request"),
    "facts": ("request", "count_request"),
    "stream": ("request",),
    "status": ("error",),
}
"""Options that only bodies of some kinds have, and these kinds."""


def check_kind(arguments: argparse.Namespace, kind: str) -> None:
    """Raise ``ConfigurationError`` for an option that has no effect on bodies of a kind."""
    for name, kinds in _KINDS_OF_OPTIONS.items():
        if getattr(arguments, name) is not None and kind not in kinds:
            raise fb.ConfigurationError(f"--{name} has no effect on a body of kind {kind}, expected {' or '.join(kinds)}")


class Conversion:
    """Converts bodies with the arguments of ``convert``. ``raises_on_losses``: raise on losses from ``--raise-on`` up."""

    def __init__(self, arguments: argparse.Namespace, *, raises_on_losses: bool) -> None:
        self._arguments = arguments
        self._target = with_facts(arguments.target, arguments.facts)
        options = options_of(arguments)
        self._reads_losses = arguments.report != "none"
        self._options = options if raises_on_losses else without_raise_on(options)
        self._files = ExitStack()

    def close(self) -> None:
        """Close the file of ``--requests``."""
        self._files.close()

    def text(self, body: bytes) -> bytes:
        """Return the JSON text to convert: the body, or the value at ``--at``."""
        return body if self._arguments.at is None else _value_at(body, self._arguments.at)

    def convert(self, body: bytes, line: int = 0) -> tuple[bytes, tuple[fb.Loss, ...]]:
        """Convert a body, or a line of a batch file; return the text and its losses. ``line``: its number in the file, from 1."""
        if self._arguments.batch:
            return self._convert_line(body, line)
        converted = self._convert_body(body)
        return converted.json(), converted.losses if self._reads_losses else ()

    def _convert_line(self, text: bytes, number: int) -> tuple[bytes, tuple[fb.Loss, ...]]:
        """Convert a line of a batch file; raise the error of one that cannot be converted."""
        line = self._batch.convert(number, text)
        if line.error is not None:
            raise line.error
        return line.json or b"", line.losses

    @cached_property
    def _batch(self) -> BatchConverter:
        arguments = self._arguments
        requests = self._files.enter_context(open_input(arguments.requests)) if arguments.requests else None
        source = with_facts(arguments.source, arguments.facts)  # the model for which the original requests were written
        return batch_converter(source=source, target=self._target, model=arguments.model, requests=requests, options=self._options)

    def _convert_body(self, body: bytes) -> Converted:
        """Convert a body; detect its format and kind if an argument lacks."""
        source, kind, _ = self.format_and_kind(body)
        return self.convert_as(body, source, kind)

    def convert_as(self, body: bytes, source: FormatOrName, kind: str) -> Converted:
        """Convert a body of a known format and kind."""
        arguments, options = self._arguments, self._options
        target = self._target
        if kind == "request":
            return fb.convert_request(
                body, source=source, target=target, model=arguments.model, stream=arguments.stream, options=options
            )
        if kind == "response":
            return fb.convert_response(body, source=source, target=target, options=options)
        if kind == "models":
            return fb.convert_models(body, source=source, target=target, options=options)
        if kind == "count_request":
            return fb.convert_count_request(body, source=source, target=target, model=arguments.model, options=options)
        if kind == "count_response":
            return fb.convert_count_response(body, source=source, target=target, options=options)
        return fb.convert_error(body, source=source, target=target, status=_status(arguments), options=options)

    def format_and_kind(self, body: bytes) -> tuple[FormatOrName, str, JsonObject]:
        """Return the format and the kind of a body, from the arguments or else detected, and the facts to report about a detection."""
        source, kind = self._arguments.source, self._arguments.kind
        if source is not None and kind is not None:
            return source, kind, {}
        try:
            detected = fb.detect_format(body)
        except fb.InvalidPayloadError as error:
            name = formats.load(source).name if source is not None else "unknown"
            raise fb.InvalidPayloadError(name, kind or "payload", error.problems) from None
        format_, kind_ = source or detected.format, kind or detected.kind
        expected_kind = "request" if kind_ == "count_request" else kind_  # the two have the same fields
        if format_ is None or kind_ is None or (source is None and expected_kind != detected.kind):
            missing = [name for name, value in (("--from", source), ("--kind", kind_)) if value is None]
            raise _undetected(detected, missing, body)
        read_as = {"format": format_, "kind": kind_, "confidence": detected.confidence}
        return format_, kind_, {} if source else {"read_as": read_as}


def _undetected(detected: fb.Detection, missing: list[str], body: bytes) -> fb.ConfigurationError:
    """Return the error for a body whose format or kind is unknown. ``missing``: the arguments that were not passed."""
    guess = ""
    if detected.candidates:
        guess = f"; it may be a {' or a '.join(f'{candidate.format} {candidate.kind}' for candidate in detected.candidates)}"
    elif is_batch_line(codec.loads(body)):
        guess, missing = "; it looks like a line of a batch file", ["--batch", "--from"]
    return fb.ConfigurationError(f"cannot detect the format or kind of the body{guess}: pass {' and '.join(missing)}")


def _status(arguments: argparse.Namespace) -> int:
    """Return the HTTP status of an error body."""
    return _DEFAULT_STATUS if arguments.status is None else int(arguments.status)


def _value_at(text: bytes, pointer: str) -> bytes:
    """Return the value at a JSON pointer of a JSON text, as JSON text."""
    if pointer and not pointer.startswith("/"):
        raise fb.ConfigurationError(f"--at is {pointer!r}, expected a JSON pointer such as /{pointer}")
    try:
        resolved, value = resolve(codec.loads(text), pointer)
    except codec.NotJsonError as error:
        raise fb.ConfigurationError(f"--at: the file {error.message}") from None
    if resolved != pointer or value is ABSENT:
        nearest = [prefix for prefix in prefixes(pointer) if resolve(codec.loads(text), prefix)[1] is not ABSENT][-1]
        raise fb.ConfigurationError(f"--at: the file has no value at {pointer!r}, the longest pointer with a value is {nearest!r}")
    return codec.dumps(value)
