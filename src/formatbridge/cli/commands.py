"""The commands: each reads its input, writes its output and returns the exit status."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from io import StringIO
from pathlib import Path

from pydantic import TypeAdapter

import formatbridge as fb
from formatbridge import formats
from formatbridge.cli.batch import check_single, is_directory, run_batch
from formatbridge.cli.conversions import Conversion, check_kind
from formatbridge.cli.inputs import STDIN, Source, expand, has_many, open_input, read_file
from formatbridge.cli.outputs import opened_output, write_to_stdout
from formatbridge.cli.parser import format_name, options_of, suggestion, with_facts
from formatbridge.cli.report import Report, print_error
from formatbridge.cli.terminal import indented, is_terminal, write_body
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.replay import replay_with_report
from formatbridge.convert.streams import convert_chunks
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import severe_losses

_CHUNK_SIZE = 65_536
"""Bytes of one read."""


def _convert(arguments: argparse.Namespace, report: Report) -> int:
    """Convert one body, or the bodies of several inputs and of JSON lines."""
    sources = expand(arguments.files, is_lines=arguments.jsonl or arguments.batch)
    if has_many(arguments.files) or any(source.is_lines for source in sources) or arguments.failed or arguments.resume:
        return run_batch(arguments, report, sources)
    check_single(arguments)
    conversion = Conversion(arguments, raises_on_losses=False)  # the report is complete before an error is raised
    body = conversion.text(read_file(sources[0].name))
    source, kind, report.facts = conversion.format_and_kind(body)
    check_kind(arguments, kind)
    if report.facts and report.form != "json":
        print_error("formatbridge: read as {format} {kind}, confidence {confidence}".format_map(report.facts["read_as"]))
    converted = conversion.convert_as(body, source, kind)
    if isinstance(converted, ConvertedRequest) and converted.target_format.url_fields:
        report.facts["path"] = converted.path
    if isinstance(converted, ConvertedError):
        report.facts["status"] = converted.status
    report.add(converted)
    raise_on = options_of(arguments).raise_on
    if raise_on is not None and (severe := severe_losses(converted.losses, raise_on)):
        raise fb.LossyConversionError(severe)
    _write_converted(arguments, sources[0], body, converted)
    report.write()
    return 0


def _write_converted(arguments: argparse.Namespace, source: Source, body: bytes, converted: Converted) -> None:
    """Write the converted body, or the comparison of ``--diff``, to ``-o`` or to standard output."""
    to_stdout = arguments.output in (None, STDIN)
    if arguments.diff:
        from formatbridge.cli.diff import Side, compare, print_rows

        loaded = codec.loads(body)
        left = Side(converted.source, loaded, converted.losses)
        rows = compare(left, Side(converted.target, converted.body, converted.additions))
        if to_stdout:
            print_rows(rows, sys.stdout)
        else:
            comparison = StringIO()
            print_rows(rows, comparison)
            _write_file(Path(arguments.output), comparison.getvalue().encode())
    elif to_stdout:
        is_pretty = arguments.pretty or (is_terminal(sys.stdout) and not arguments.compact)
        write_body(converted.json(), is_pretty=is_pretty)
    else:
        path = Path(arguments.output)
        json_text = indented(converted.json()).encode() if arguments.pretty else converted.json()
        _write_file(path / source.relative if is_directory(arguments.output, 1) else path, json_text + b"\n")


def _write_file(path: Path, text: bytes) -> None:
    with opened_output(str(path)) as write:
        write(text)


def _stream(arguments: argparse.Namespace, report: Report) -> int:
    """Convert a stream chunk by chunk. A truncated stream, or one with a loss of a severity of --raise-on, ends in an error event."""
    with opened_output(arguments.output) as write:
        whole = _replay(arguments, write) if arguments.replay else _convert_stream(arguments, write)
    report.add(whole)
    report.write()
    return 0


def _convert_stream(arguments: argparse.Namespace, write: Callable[[bytes], None]) -> Converted:
    """Write the converted stream, or with ``--collect`` its answer, and return the answer."""
    converter = fb.StreamConverter(source=arguments.source, target=arguments.target, options=options_of(arguments))
    with open_input(arguments.file) as source:
        read: Callable[[int], bytes] = getattr(source, "read1", source.read)
        try:
            for chunk in convert_chunks(converter, iter(lambda: read(_CHUNK_SIZE), b"")):
                if not arguments.collect:
                    write(chunk)
        except (fb.StreamError, fb.LossyConversionError) as error:
            if not arguments.collect:
                write(error.tail)
            raise
    whole = converter.response()
    if converter.error:
        raise fb.StreamFailedError(converter.error, partial=whole)
    if arguments.collect:
        write(whole.json() + b"\n")
    return whole


def _replay(arguments: argparse.Namespace, write: Callable[[bytes], None]) -> Converted:
    """Write a whole answer as a stream, and return it; an answer that failed becomes a stream that failed."""
    replay = replay_with_report(
        read_file(arguments.file), source=arguments.source, target=arguments.target, options=options_of(arguments)
    )
    for chunk in replay.pieces:
        write(chunk)
    if replay.error:
        raise fb.StreamFailedError(replay.error, partial=replay.whole)
    return replay.whole


def _demo(arguments: argparse.Namespace, _report: Report) -> int:
    from formatbridge.cli.demo import demo, pair_of

    if arguments.all and (arguments.source or arguments.target):
        raise fb.ConfigurationError("--all cannot be combined with --from or --to: leave out --all for one pair of formats")
    pair = None if arguments.all else pair_of(arguments.source, arguments.target)
    demo(sys.stdout, pair=pair, base_url=arguments.base_url, model=arguments.model)
    return 0


def _send(arguments: argparse.Namespace, report: Report) -> int:
    """Send one request; the text of a stream is written as it arrives."""
    body, via = read_file(arguments.file), _endpoint(arguments)
    with fb.Client(arguments.base_url, options=options_of(arguments)) as client:
        report.add(client.prepare(body, arguments.source, via, model=arguments.model), "request")
        if not arguments.stream:
            reply = client.send(body, arguments.source, via, model=arguments.model)
            write_to_stdout(reply.json() + b"\n")
            _report_exchange(report, reply)
            return 0
        with client.stream(body, arguments.source, via, model=arguments.model) as stream:
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


def _count(arguments: argparse.Namespace, report: Report) -> int:
    """Write the number of input tokens of a request."""
    with fb.Client(arguments.base_url, options=options_of(arguments)) as client:
        reply = client.count_tokens(read_file(arguments.file), arguments.source, _endpoint(arguments), model=arguments.model)
    print(reply.input_tokens)
    _report_exchange(report, reply)
    return 0


def _endpoint(arguments: argparse.Namespace) -> FormatOrName:
    """Return the format of the endpoint, with the facts about models."""
    return with_facts(arguments.via or arguments.source, arguments.facts)


def _report_exchange(report: Report, exchange: fb.Reply | fb.CountReply | fb.Stream) -> None:
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
    write_body(json.dumps(asdict(detected) | {"candidates": candidates}).encode(), is_pretty=is_terminal(sys.stdout))
    return 0 if detected.format else 1


def _explain(arguments: argparse.Namespace, _report: Report) -> int:
    explanation = fb.explain(
        read_file(arguments.file),
        source=arguments.source,
        target=with_facts(arguments.target, arguments.facts),
        model=arguments.model,
        options=options_of(arguments),
    )
    print(json.dumps(explanation.to_dict(), ensure_ascii=False) if arguments.json else explanation)
    return 0


def _schema(arguments: argparse.Namespace, _report: Report) -> int:
    """Print the JSON Schema of a model, or the names of a format's models."""
    from formatbridge.convert.wire_models import model_named, models_of

    format, dot, name = arguments.name.partition(".")
    format = format_name(format)
    if format not in fb.FORMATS or (dot and not name):
        raise fb.ConfigurationError(
            f"unknown schema {arguments.name!r}, expected FORMAT, FORMAT.KIND or FORMAT.MODEL of {', '.join(fb.FORMATS)}"
            f"{suggestion(format, fb.FORMATS)}"
        )
    if name:
        print(json.dumps(TypeAdapter(model_named(format, name)).json_schema(), indent=2, ensure_ascii=False))
    else:
        print("\n".join(f"{format}.{model}  {about}" for model, about in models_of(format).items()))
    return 0


def _matrix(arguments: argparse.Namespace, _report: Report) -> int:
    from formatbridge.convert.matrix import matrix_table

    if arguments.json:
        print(json.dumps(_matrix_document(arguments), ensure_ascii=False))
        return 0
    print(matrix_table(arguments.source, (*fb.FORMATS, *arguments.formats)))
    return 0


def _matrix_document(arguments: argparse.Namespace) -> list[JsonObject]:
    """Return a member for each feature: for each format, ``held`` or the severity of the loss."""
    from formatbridge.convert.matrix import matrix_rows

    names = [formats.load(name).name for name in (*fb.FORMATS, *arguments.formats)]
    source = formats.load(arguments.source).name if arguments.source else None
    columns = list(dict.fromkeys([source, *names] if source else names))
    named = {formats.load(name).name: name for name in (*fb.FORMATS, *arguments.formats, *([arguments.source] if source else []))}
    document = []
    for topic, feature, marks in matrix_rows([named[name] for name in columns]):
        support = {name: _SUPPORT[mark] for name, mark in zip(columns, marks, strict=True)}
        if source is None or support.pop(source) in ("held", "info"):
            document.append({"topic": topic, "feature": feature, "support": support})
    return document


_SUPPORT = {"=": "held", "(=)": "info", "~": "lossy", "-": "impossible"}
"""Marks of the matrix, and their words in JSON."""

COMMANDS: Mapping[str, Callable[[argparse.Namespace, Report], int]] = {
    "convert": _convert, "stream": _stream, "detect": _detect, "explain": _explain, "schema": _schema, "matrix": _matrix,
    "demo": _demo, "send": _send, "count": _count, "models": _models,
}  # fmt: skip
