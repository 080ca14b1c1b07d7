"""The commands: each reads its input, writes its output and returns the exit status."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter

import formatbridge as fb
from formatbridge import formats
from formatbridge.cli.parser import options_of
from formatbridge.cli.report import Report, print_error
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.replay import replayed
from formatbridge.convert.streams import through
from formatbridge.formats.format import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.field_paths import ABSENT, resolve
from formatbridge.report.losses import SEVERITIES

_CHUNK_SIZE = 65_536
"""Bytes of one read."""


def _convert(arguments: argparse.Namespace, report: Report) -> int:
    body = read_file(arguments.file)
    if arguments.at is not None:
        body = _value_at(body, arguments.at)
    source, kind, report.facts = _format_and_kind(body, arguments.source, arguments.kind)
    if report.facts and report.form != "json":
        print_error("formatbridge: read as {format} {kind}, confidence {confidence}".format_map(report.facts["read_as"]))
    converted = _converted(body, source, kind, arguments)
    if isinstance(converted, ConvertedRequest) and converted.target_format.url_fields:
        report.facts["path"] = converted.path
    if isinstance(converted, ConvertedError):
        report.facts["status"] = converted.status
    report.add(converted)
    floor = options_of(arguments).raise_on
    severe = [loss for loss in converted.losses if floor and SEVERITIES.index(loss.severity) >= SEVERITIES.index(floor)]
    if severe:
        raise fb.LossyConversionError(severe)
    _write(sys.stdout.buffer, converted.json() + b"\n")
    report.write()
    return 0


def _format_and_kind(body: bytes, source: FormatOrName | None, kind: str | None) -> tuple[FormatOrName, str, JsonObject]:
    """Return the format and the kind of a body, from the arguments or else detected, and the facts to report about a detection."""
    if source is not None and kind is not None:
        return source, kind, {}
    try:
        detected = fb.detect_format(body)
    except fb.InvalidPayloadError as error:
        name = formats.load(source).name if source is not None else "unknown"
        raise fb.InvalidPayloadError(name, kind or "payload", error.problems) from None
    format_, kind_ = source or detected.format, kind or detected.kind
    if format_ is None or kind_ is None or (source is None and kind_ != detected.kind):
        likely = [f"{candidate.format} {candidate.kind}" for candidate in detected.candidates]
        guess = f"; it may be a {' or a '.join(likely)}" if likely else ""
        missing = " and ".join(name for name, value in (("--from", source), ("--kind", kind_)) if value is None)
        raise fb.ConfigurationError(f"cannot detect the format or kind of the body{guess}: pass {missing}")
    read_as = {"format": format_, "kind": kind_, "confidence": detected.confidence}
    return format_, kind_, {} if source else {"read_as": read_as}


def _converted(body: bytes, source: FormatOrName, kind: str, arguments: argparse.Namespace) -> Converted:
    options = replace(options_of(arguments), raise_on=None)  # the report is complete before an error is raised
    target = arguments.target
    if kind == "request":
        return fb.convert_request(
            body, source=source, target=target, model=arguments.model, stream=arguments.stream, options=options
        )
    if kind == "response":
        return fb.convert_response(body, source=source, target=target, options=options)
    if kind == "models":
        return fb.convert_models(body, source=source, target=target, options=options)
    return fb.convert_error(body, source=source, target=target, status=arguments.status, options=options)


def _stream(arguments: argparse.Namespace, report: Report) -> int:
    """Convert a stream chunk by chunk. A truncated stream, or one that loses too much, ends in an error event."""
    if arguments.replay:
        return _replay(arguments, report)
    out = sys.stdout.buffer
    converter = fb.StreamConverter(source=arguments.source, target=arguments.target, options=options_of(arguments))
    read: Callable[[int], bytes] = getattr(_standard_input(), "read1", _standard_input().read)
    try:
        for chunk in through(converter, iter(lambda: read(_CHUNK_SIZE), b"")):
            if not arguments.collect:
                _write(out, chunk)
    except (fb.StreamError, fb.LossyConversionError) as error:
        if not arguments.collect:
            _write(out, error.tail)
        raise
    whole = converter.response()
    if converter.error:
        raise fb.StreamFailedError(converter.error, partial=whole)
    if arguments.collect:
        _write(out, whole.json() + b"\n")
    report.add(whole)
    report.write()
    return 0


def _replay(arguments: argparse.Namespace, report: Report) -> int:
    """Write a whole answer as a stream; an answer that failed becomes a stream that failed."""
    replay = replayed(_standard_input().read(), source=arguments.source, target=arguments.target, options=options_of(arguments))
    for chunk in replay.pieces:
        _write(sys.stdout.buffer, chunk)
    if replay.error:
        raise fb.StreamFailedError(replay.error, partial=replay.whole)
    report.add(replay.whole)
    report.write()
    return 0


def _demo(arguments: argparse.Namespace, _report: Report) -> int:
    from formatbridge.cli.demo import demo

    demo(sys.stdout, base_url=arguments.base_url, model=arguments.model)
    return 0


def _send(arguments: argparse.Namespace, report: Report) -> int:
    """Send one request; the text of a stream is written as it arrives."""
    body = read_file(arguments.file)
    with fb.Client(arguments.base_url, options=options_of(arguments)) as client:
        report.add(client.prepare(body, arguments.source, arguments.via, model=arguments.model), "request")
        if not arguments.stream:
            reply = client.send(body, arguments.source, arguments.via, model=arguments.model)
            _write(sys.stdout.buffer, reply.json() + b"\n")
            _report_exchange(report, reply)
            return 0
        with client.stream(body, arguments.source, arguments.via, model=arguments.model) as stream:
            has_text = False
            for piece in stream.text():
                print(piece, end="", flush=True)
                has_text = True
            if has_text:
                print()
            else:
                report.facts["note"] = "the answer has no text; without --stream its body is written"
            _report_exchange(report, stream)
    return 0


def _report_exchange(report: Report, exchange: fb.Reply | fb.Stream) -> None:
    """Report the losses of a request and of its answer. The request as sent replaces the prepared one."""
    report.parts.clear()
    report.add(exchange.request, "request")
    report.add(exchange.answer, "answer")
    report.write()


def _models(arguments: argparse.Namespace, _report: Report) -> int:
    with fb.Client(arguments.base_url) as client:
        rows = [asdict(model) for model in client.models()]
    models = [{key: value for key, value in row.items() if value is not None and key != "src"} for row in rows]
    print(codec.dumps(models).decode())
    return 0


def _detect(arguments: argparse.Namespace, _report: Report) -> int:
    detected = fb.detect_format(read_file(arguments.file), formats=(*fb.FORMATS, *arguments.formats))
    candidates = [candidate._asdict() for candidate in detected.candidates]
    print(json.dumps(asdict(detected) | {"candidates": candidates}))
    return 0 if detected.format else 1


def _schema(arguments: argparse.Namespace, _report: Report) -> int:
    """Print the JSON Schema of a model, or the names of a format's models."""
    from formatbridge.convert.wire_models import model_named, models_of

    format, dot, name = arguments.name.partition(".")
    if format not in fb.FORMATS or (dot and not name):
        raise fb.ConfigurationError(
            f"unknown schema {arguments.name!r}, expected FORMAT, FORMAT.KIND or FORMAT.MODEL of {', '.join(fb.FORMATS)}"
        )
    if name:
        print(json.dumps(TypeAdapter(model_named(format, name)).json_schema(), indent=2, ensure_ascii=False))
    else:
        print("\n".join(f"{format}.{model}  {about}" for model, about in models_of(format).items()))
    return 0


def _matrix(arguments: argparse.Namespace, _report: Report) -> int:
    from formatbridge.convert.matrix import matrix_table

    print(matrix_table(arguments.source, (*fb.FORMATS, *arguments.formats)))
    return 0


COMMANDS: Mapping[str, Callable[[argparse.Namespace, Report], int]] = {
    "convert": _convert, "stream": _stream, "detect": _detect, "schema": _schema, "matrix": _matrix,
    "demo": _demo, "send": _send, "models": _models,
}  # fmt: skip


def _value_at(text: bytes, pointer: str) -> bytes:
    """Return the value at a JSON pointer of a JSON text, as JSON text."""
    try:
        resolved, value = resolve(codec.loads(text), pointer)
    except codec.NotJsonError as error:
        raise fb.ConfigurationError(f"--at: the file {error.message}") from None
    if resolved != pointer or value is ABSENT:
        raise fb.ConfigurationError(f"--at: the file has no value at {pointer!r}")
    return codec.dumps(value)


def read_file(name: str | None) -> bytes:
    """Return the content of a file; None: of standard input."""
    return Path(name).read_bytes() if name else _standard_input().read()


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise fb.ConfigurationError("standard input is closed, expected something to read")
    return sys.stdin.buffer


def _write(out: BinaryIO, chunk: bytes) -> None:
    """Write bytes and flush, so that a report that fails later does not lose them."""
    if chunk:
        out.write(chunk)
        out.flush()
