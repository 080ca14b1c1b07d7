"""The command line: JSON in, JSON out, the report beside it.

Exit status: 0 done, 1 more was lost than ``--raise-on`` allows or ``detect`` found no format, 2 bad input or bad arguments, 3 the relay
said no or the way to it broke, 130 interrupted. Where nobody reads the output any more, the command ends in silence. A closed standard
error takes the report with it; a closed or full output is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic import TypeAdapter

import formatbridge as fb
from formatbridge import formats
from formatbridge.cli.format_argument import FORMAT
from formatbridge.convert.bodies import Converted, ConvertedError, ConvertedRequest
from formatbridge.convert.input import check_answer
from formatbridge.convert.replay import replayed
from formatbridge.convert.streams import through
from formatbridge.formats.format import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.field_paths import ABSENT, resolve
from formatbridge.report.losses import SEVERITIES, Addition, Loss

_READ = 65_536
_UNSURE = 0.2
"""Confidence of a detection below which nothing is converted unasked."""
_ARGUMENTS = {
    "pass model=": "pass --model",
    "an argument, FORMATBRIDGE_BASE_URL or a profile that has one": "--base-url or FORMATBRIDGE_BASE_URL",
}
"""What errors say of arguments of Python, and of the options that stand for these."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    if sys.stderr is None:  # closed: what is meant for it would be printed to standard output
        sys.stderr = StringIO()
    given = parser().parse_args(arguments)
    try:
        return _run(given)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except OSError as error:
        with suppress(OSError):
            given.known = []
            _report(given, error=str(error))
        return 2
    finally:
        _settle()


def _run(given: argparse.Namespace) -> int:
    """Run the command; in JSON what Python warns of is part of the report, which is all of standard error."""
    given.known, given.told = [], {}  # what is known of the report, should the command fail
    with warnings.catch_warnings(record=_form(given) == "json") as warned:
        given.warned = () if warned is None else warned
        return _done(given)


def _done(given: argparse.Namespace) -> int:
    command = _COMMANDS[given.command]
    try:
        if sys.stdout is None:
            raise fb.ConfigurationError("standard output is closed, expected somewhere to write")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as JSON is, whatever the terminal's encoding
        status = command(given)
        sys.stdout.flush()
        return status
    except fb.LossyConversionError as error:
        given.known = given.known or [_Part("request" if given.command == "send" else "", error.losses, ())]
        _report(given, error=str(error))
        return 1
    except fb.FormatBridgeError as error:
        partial: Converted | None = getattr(error, "partial", None)
        if partial and _has_come(partial):
            _note(given, partial, "answer" if given.command == "send" else "")
        given.told |= _said_by_relay(error)
        _report(given, error=_in_options(error))
        is_relays = isinstance(error, fb.APIError) or (given.command in ("send", "demo") and isinstance(error, fb.StreamError))
        return 3 if is_relays else 2


def _said_by_relay(error: fb.FormatBridgeError) -> JsonObject:
    """Return what of an error answer a script wants to know; whoever reads the table has it in the words."""
    names = ("status", "code", "type", "request_id", "retry_after") if isinstance(error, fb.APIStatusError) else ()
    return {name: value for name in names if (value := getattr(error, name)) is not None}


def _has_come(partial: Converted) -> bool:
    """Say whether anything of an answer came; what nobody got has no report."""
    format = partial.target_format
    answer = format.decode_response(check_answer(partial.body, format))
    return any(choice.parts for choice in answer.choices)


def _in_options(error: fb.FormatBridgeError) -> str:
    """Return what an error says, with the option where it names an argument of Python."""
    text = str(error)
    for argument, option in _ARGUMENTS.items() if isinstance(error, fb.ConfigurationError) else ():
        text = text.replace(argument, option)
    return text


def _form(given: argparse.Namespace) -> str:
    """Return how to report; commands that have nothing to report have no option for it."""
    return getattr(given, "report", "none")


def _tell(text: str) -> None:
    """Write a line to standard error; where its reader has left, there is nobody to tell."""
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr)


def _settle() -> None:
    """Let what cannot be written go nowhere, so that the interpreter does not complain of it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _convert(given: argparse.Namespace) -> int:
    body = _read(given.file)
    if given.at is not None:
        body = _at(body, given.at)
    source, kind, given.told = _format_and_kind(body, given.source, given.kind)
    if given.told and given.report != "json":
        _tell("formatbridge: read as {format} {kind}, confidence {confidence}".format_map(given.told["read_as"]))
    made = _converted(body, source, kind, given)
    if isinstance(made, ConvertedRequest) and made.target_format.url_fields:
        given.told["path"] = made.path
    if isinstance(made, ConvertedError):
        given.told["status"] = made.status
    _note(given, made)
    floor = options_of(given).raise_on
    grave = [loss for loss in made.losses if floor and SEVERITIES.index(loss.severity) >= SEVERITIES.index(floor)]
    if grave:
        raise fb.LossyConversionError(grave)
    _write(sys.stdout.buffer, made.json() + b"\n")
    _report(given)
    return 0


def _format_and_kind(body: bytes, source: FormatOrName | None, kind: str | None) -> tuple[FormatOrName, str, JsonObject]:
    """Return what a body is, as the arguments say, else as detected; and what is to be told of that."""
    if source is not None and kind is not None:
        return source, kind, {}
    try:
        found = fb.detect_format(body)
    except fb.InvalidPayloadError as error:
        name = formats.load(source).name if source is not None else "unknown"
        raise fb.InvalidPayloadError(name, kind or "payload", error.problems) from None
    format_, kind_ = source or found.format, kind or found.kind
    is_sure = found.confidence >= _UNSURE and kind_ == found.kind
    if format_ is None or kind_ is None or (source is None and not is_sure):
        guess = f"; it may be a {found.format} {found.kind}" if found.format else ""
        wanted = " and ".join(name for name, given in (("--from", source), ("--kind", kind_)) if given is None)
        raise fb.ConfigurationError(f"what the body is cannot be told for sure{guess}: say {wanted}")
    read_as = {"format": format_, "kind": kind_, "confidence": found.confidence}
    return format_, kind_, {} if source else {"read_as": read_as}


def _converted(body: bytes, source: FormatOrName, kind: str, given: argparse.Namespace) -> Converted:
    options = replace(options_of(given), raise_on=None)  # the report is to be whole before it raises
    if kind == "request":
        return fb.convert_request(body, source=source, target=given.target, model=given.model, stream=given.stream, options=options)
    if kind == "response":
        return fb.convert_response(body, source=source, target=given.target, options=options)
    if kind == "models":
        return fb.convert_models(body, source=source, target=given.target, options=options)
    return fb.convert_error(body, source=source, target=given.target, status=given.status, options=options)


def _stream(given: argparse.Namespace) -> int:
    """Copy a stream through a converter, unbuffered; one that comes to no end, or loses too much for it, ends in an error event."""
    if given.replay:
        return _replay(given)
    out, options = sys.stdout.buffer, options_of(given)
    converter = fb.StreamConverter(source=given.source, target=given.target, options=options)
    read: Callable[[int], bytes] = getattr(_input(), "read1", _input().read)
    try:
        for made in through(converter, iter(lambda: read(_READ), b"")):
            _write(out, made, given.collect)
    except (fb.StreamError, fb.LossyConversionError) as error:
        _write(out, error.tail, given.collect)
        raise
    whole = converter.response()
    if converter.error:
        raise fb.StreamFailedError(converter.error, partial=whole)
    if given.collect:
        _write(out, whole.json() + b"\n")
    _note(given, whole)
    _report(given)
    return 0


def _replay(given: argparse.Namespace) -> int:
    """Write a whole answer as a stream; one that failed ends as a stream that failed does."""
    told = replayed(_input().read(), source=given.source, target=given.target, options=options_of(given))
    for made in told.pieces:
        _write(sys.stdout.buffer, made)
    if told.error:
        raise fb.StreamFailedError(told.error, partial=told.whole)
    _note(given, told.whole)
    _report(given)
    return 0


def _demo(given: argparse.Namespace) -> int:
    from formatbridge.cli.demo import demo

    demo(sys.stdout, base_url=given.base_url, model=given.model)
    return 0


def _send(given: argparse.Namespace) -> int:
    """Send one request; the text of a stream leaves as it comes."""
    body = _read(given.file)
    with fb.Client(given.base_url, options=options_of(given)) as client:
        _note(given, client.prepare(body, given.source, given.via, model=given.model), "request")
        if not given.stream:
            reply = client.send(body, given.source, given.via, model=given.model)
            _write(sys.stdout.buffer, reply.json() + b"\n")
            _report_both(given, reply)
            return 0
        with client.stream(body, given.source, given.via, model=given.model) as stream:
            has_text = False
            for piece in stream.text():
                print(piece, end="", flush=True)
                has_text = True
            if has_text:
                print()
            else:
                given.told["note"] = "the answer has no text; without --stream its body is written"
            _report_both(given, stream)
    return 0


def _report_both(given: argparse.Namespace, heard: fb.Reply | fb.Stream) -> None:
    """Report what became of a request and of its answer, each with pointers into a body of its own."""
    given.known = []  # the request as it went out has more to tell than the one that was prepared
    _note(given, heard.request, "request")
    _note(given, heard.answer, "answer")
    _report(given)


def _models(given: argparse.Namespace) -> int:
    with fb.Client(given.base_url) as client:
        listed = [asdict(model) for model in client.models()]
    print(
        codec.dumps([{key: value for key, value in row.items() if value is not None and key != "src"} for row in listed]).decode()
    )
    return 0


def _write(out: BinaryIO, made: bytes, is_collecting: bool = False) -> None:
    """Write bytes at once: before the report, whose failure must not take them along."""
    if made and not is_collecting:
        out.write(made)
        out.flush()


def _detect(given: argparse.Namespace) -> int:
    found = fb.detect_format(_read(given.file), formats=(*fb.FORMATS, *given.formats))
    print(json.dumps(asdict(found)))
    return 0 if found.format else 1


def _schema(given: argparse.Namespace) -> int:
    """Print a model's JSON Schema; of a format alone, the names of its models."""
    from formatbridge.convert.wire_models import model_named, models_of

    format, dot, name = given.name.partition(".")
    if format not in fb.FORMATS or (dot and not name):
        raise fb.ConfigurationError(
            f"unknown schema {given.name!r}, expected FORMAT, FORMAT.KIND or FORMAT.MODEL of {', '.join(fb.FORMATS)}"
        )
    if name:
        print(json.dumps(TypeAdapter(model_named(format, name)).json_schema(), indent=2, ensure_ascii=False))
    else:
        print("\n".join(f"{format}.{model}  {about}" for model, about in models_of(format).items()))
    return 0


def _matrix(given: argparse.Namespace) -> int:
    from formatbridge.convert.matrix import matrix_table

    print(matrix_table(given.source, (*fb.FORMATS, *given.formats)))
    return 0


def _at(text: bytes, pointer: str) -> bytes:
    """Return the value at a pointer of a JSON text, as JSON text."""
    try:
        found, value = resolve(codec.loads(text), pointer)
    except codec.NotJsonError as error:
        raise fb.ConfigurationError(f"--at: the file {error.message}") from None
    if found != pointer or value is ABSENT:
        raise fb.ConfigurationError(f"--at: there is nothing at {pointer!r}")
    return codec.dumps(value)


def _read(file: str | None) -> bytes:
    return Path(file).read_bytes() if file else _input().read()


def _input() -> BinaryIO:
    if sys.stdin is None:
        raise fb.ConfigurationError("standard input is closed, expected something to read")
    return sys.stdin.buffer


class _Part(NamedTuple):
    """The report on one conversion. ``way``: ``request`` or ``answer`` where a command makes two, else empty."""

    way: str
    losses: Sequence[Loss]
    additions: Sequence[Addition]


def _note(given: argparse.Namespace, made: Converted | fb.Prepared, way: str = "") -> None:
    """Keep what a conversion reports until the command does."""
    given.known.append(_Part(way, made.losses, made.additions))


def _report(given: argparse.Namespace, **more: Any) -> None:
    """Write the report to standard error: as one JSON document, with all that is to be told beside it, or as a table and lines."""
    form, told = _form(given), {**given.told, **more}
    if form == "json":
        if given.warned:
            told["warnings"] = [str(warning.message) for warning in given.warned]
        losses = [_row(part, loss) for part in given.known for loss in part.losses]
        additions = [_row(part, item) for part in given.known for item in part.additions]
        _tell(
            json.dumps({"losses": losses, "additions": additions, **told})
        )  # in ASCII, which is JSON in whatever encoding standard error has
        return
    if form == "table":
        _tabulate(given.known)
        if "path" in told:
            _tell(f"formatbridge: model and streaming are in the URL, {told['path']}")
        if "status" in told and "error" not in told:
            _tell(f"formatbridge: the HTTP status is {told['status']}")
    if "note" in told:
        _tell(f"formatbridge: {told['note']}")
    if "error" in told:
        _tell(f"formatbridge: {told['error']}")


def _row(part: _Part, told: Loss | Addition) -> JsonObject:
    return ({"way": part.way} if part.way else {}) | asdict(told)


def _tabulate(known: Sequence[_Part]) -> None:
    """Write a line for each loss and each addition, in columns; the first is the way, where there are two."""
    rows: list[list[str]] = []
    for part in known:
        way = [part.way] if part.way else []
        rows += [[*way, loss.severity, loss.kind, loss.path or "(body)", loss.why] for loss in part.losses]
        rows += [[*way, "", "added", item.path, f"{_short(item.value)}: {item.why}"] for item in part.additions]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        _tell("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "convert": _convert, "stream": _stream, "detect": _detect, "schema": _schema, "matrix": _matrix,
    "demo": _demo, "send": _send, "models": _models,
}  # fmt: skip


KINDS = ("request", "response", "error", "models")


def _read_key(path: str) -> bytes:
    """Return the key in a file; the command line itself is no place for a secret, for other users see it."""
    try:
        return Path(path).read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read {path}: {error.strerror}") from None


_OPTIONS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "raise_on": (
        "--raise-on",
        {"choices": ("none", "info", "lossy", "impossible"), "default": "none", "help": "fail from this severity up (default %(default)s)"},
    ),
    "default_max_tokens": (
        "--default-max-tokens", {"type": int, "default": 4096, "help": "the limit where the target demands one (default 4096)"}
    ),
    "on_truncated": (
        "--on-truncated",
        {"choices": ("error", "close"), "default": "error", "help": "end a stream that was cut as an error, or as if it had ended"},
    ),
    "mid_system": (
        "--mid-system", {"choices": ("native", "hoist"), "default": "native", "help": "instructions in mid-conversation"}
    ),
    "unsigned_reasoning": (
        "--unsigned-reasoning",
        {
            "choices": ("drop", "text", "item"), "default": "drop",
            "help": "reasoning without a token of the target, in requests to responses (default %(default)s)",
        },
    ),
    "unsigned_calls": (
        "--unsigned-calls",
        {
            "choices": ("placeholder", "leave"), "default": "placeholder",
            "help": "calls without a signature, in requests to generate_content (default %(default)s)",
        },
    ),
    "json_mode": (
        "--json-mode",
        {
            "choices": ("instruct", "drop"), "default": "instruct",
            "help": "a JSON mode in requests to messages, which has none (default %(default)s)",
        },
    ),
    "strip_billing_header": (
        "--strip-billing-header",
        {"action": "store_true", "help": "leave out the billing header that Claude Code puts into its system prompt"},
    ),
    "messages_version": ("--messages-version", {"default": "2023-06-01", "help": "the dialect of messages (default 2023-06-01)"}),
    "carry_reasoning": (
        "--drop-reasoning",
        {"action": "store_false", "dest": "carry_reasoning", "help": "do not carry other vendors' reasoning tokens"},
    ),
    "token_key": (
        "--token-key-file",
        {
            "dest": "token_key", "type": _read_key, "metavar": "FILE",
            "help": "a file whose content, but for line ends behind it, is the key that seals carried reasoning tokens",
        },
    ),
    "created": ("--created", {"type": int, "help": "the time of an answer that has none, in seconds since the epoch"}),
}  # fmt: skip
"""Each field of ``Options``: its argument, and how that is read."""


def _add_options(command: argparse.ArgumentParser, *names: str) -> None:
    """Let a command take some of the options; without names, all."""
    for name in names or _OPTIONS:
        flag, settings = _OPTIONS[name]
        command.add_argument(flag, **settings)


def options_of(given: argparse.Namespace) -> fb.Options:
    """Return the options that a command was given."""
    known = {field.name for field in fields(fb.Options)}
    chosen: dict[str, Any] = {name: None if value == "none" else value for name, value in vars(given).items() if name in known}
    return fb.Options(**chosen)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="formatbridge",
        description="Convert payloads between four wire formats.",
        epilog=f"FORMAT: {', '.join(fb.FORMATS)}, the name of a registered format, or MODULE:ATTRIBUTE of a FormatSpec.",
    )
    made.add_argument("--version", action="version", version=f"formatbridge {fb.__version__}")
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    convert = commands.add_parser("convert", help="convert one body and report what was lost")
    convert.add_argument("file", nargs="?", help="a JSON file; standard input without it")
    convert.add_argument("--at", metavar="POINTER", help="convert the value at this JSON pointer of the file")
    convert.add_argument("--from", dest="source", **FORMAT, help="detected where it is not given")
    convert.add_argument("--to", dest="target", **FORMAT, required=True)
    convert.add_argument("--kind", choices=KINDS, help="detected where it is not given")
    convert.add_argument("--model", help="the model, which generate_content keeps in its URL")
    convert.add_argument("--stream", action="store_true", default=None, help="the request asks for a stream")
    convert.add_argument("--status", type=int, default=400, help="HTTP status of an error body (default 400)")
    _add_options(convert)
    convert.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    convert.set_defaults(command="convert")

    stream = commands.add_parser("stream", help="convert a stream from standard input to standard output as it comes")
    stream.add_argument("--from", dest="source", **FORMAT, required=True)
    stream.add_argument("--to", dest="target", **FORMAT, required=True)
    way = stream.add_mutually_exclusive_group()
    way.add_argument("--collect", action="store_true", help="write the whole answer as one body instead")
    way.add_argument("--replay", action="store_true", help="read a whole answer and write it as a stream")
    _add_options(stream, "raise_on", "on_truncated", "carry_reasoning", "created")
    stream.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    stream.set_defaults(command="stream")

    detect = commands.add_parser("detect", help="tell which format a body is of, and why")
    detect.add_argument("file", nargs="?", help="a JSON file; standard input without it")
    _add_formats(detect)
    detect.set_defaults(command="detect")

    schema = commands.add_parser(
        "schema", help="print the JSON Schema of a typed model, such as messages.request or messages.TextBlock"
    )
    schema.add_argument("name", metavar="FORMAT[.NAME]", help="a format alone: print the names of its models")
    schema.set_defaults(command="schema")

    _add_relay_commands(commands)

    matrix = commands.add_parser("matrix", help="print what each format can hold of the others")
    matrix.add_argument("--source", **FORMAT, help="only what this format can say")
    _add_formats(matrix)
    matrix.set_defaults(command="matrix")
    return made


def _add_formats(command: argparse.ArgumentParser) -> None:
    """Let a command take formats from outside as well."""
    command.add_argument(
        "--format", dest="formats", action="append", default=[], **FORMAT, help="one more format, registered or MODULE:ATTRIBUTE"
    )


def _add_relay_commands(commands: Any) -> None:
    """Add the commands that talk to a relay; its key is read from ``FORMATBRIDGE_API_KEY`` and nowhere else."""
    demo = commands.add_parser("demo", help="hold one conversation in each format through another's endpoint")
    demo.add_argument("--base-url", help="a relay; without it, one within the process answers")
    demo.add_argument("--model", help="the first that the relay lists, where it is not given")
    demo.set_defaults(command="demo")

    send = commands.add_parser("send", help="send a request to a relay and write the answer")
    send.add_argument("file", nargs="?", help="a JSON file; standard input without it")
    send.add_argument("--base-url", help="the relay; FORMATBRIDGE_BASE_URL where it is not given")
    send.add_argument("--from", dest="source", **FORMAT, required=True, help="the format of the request and of the answer")
    send.add_argument("--via", **FORMAT, help="the endpoint's format; the same where it is not given")
    send.add_argument("--model", help="in place of the body's")
    send.add_argument("--stream", action="store_true", help="write the visible text as it comes, instead of the body")
    _add_options(send)
    send.set_defaults(raise_on="impossible")
    send.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    send.set_defaults(command="send")

    models = commands.add_parser("models", help="list the models of a relay")
    models.add_argument("--base-url", help="the relay; FORMATBRIDGE_BASE_URL where it is not given")
    models.set_defaults(command="models")
