"""The command line: JSON in, JSON out, the report on standard error.

The exit status is

- 0 for success,
- 1 for losses at or above ``--raise-on``, or if ``detect`` recognizes no format,
- 2 for bad input or bad arguments,
- 3 for an error from the relay or from the connection to it,
- 129 if the terminal was closed, 130 if it was interrupted, 143 if it was terminated.

The command ends without an error if the reader of its output closes it. A closed standard error drops the report. A closed standard
output, or one on a full disk, is an error.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO, TextIOWrapper

import formatbridge as fb
from formatbridge.cli.commands import COMMANDS
from formatbridge.cli.outputs import Terminated
from formatbridge.cli.parser import build_parser, complete
from formatbridge.cli.report import Part, Report
from formatbridge.convert.bodies import Converted
from formatbridge.convert.input import check_answer
from formatbridge.jsontext.types import JsonObject

_OPTIONS_OF_ARGUMENTS = {
    "pass model=": "pass --model",
    "count_tokens= or an endpoint of another format": "--via with another format",
    "an argument, FORMATBRIDGE_BASE_URL or a profile that has one": "--base-url or FORMATBRIDGE_BASE_URL",
}
"""Python arguments in error messages, and the options that set them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    if sys.stderr is None:  # closed: argparse would print its errors to standard output
        sys.stderr = StringIO()
    root = build_parser()
    complete(root)
    report = Report("none")
    try:
        arguments = root.parse_args(argv)  # writes the help text if asked for
        report = Report(getattr(arguments, "report", "none"))
        with warnings.catch_warnings(record=report.form == "json") as recorded:
            report.warnings = () if recorded is None else recorded
            return _run(arguments, report)
    except KeyboardInterrupt:
        return 130
    except Terminated as error:
        return error.status
    except BrokenPipeError:
        return 0
    except OSError as error:
        with suppress(OSError):
            report.parts.clear()
            report.write(error=_system_message(error))
        return 2
    finally:
        _flush()


def _run(arguments: argparse.Namespace, report: Report) -> int:
    """Run the command and turn errors of this library into a report and an exit status."""
    command = arguments.command
    try:
        if sys.stdout is None:
            raise fb.ConfigurationError("standard output is closed")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # JSON is UTF-8, whatever the encoding of the terminal
        status = COMMANDS[command](arguments, report)
        sys.stdout.flush()
        return status
    except fb.LossyConversionError as error:
        report.parts = report.parts or [Part("request" if command in ("send", "count") else "", error.losses, ())]
        report.write(error=str(error))
        return 1
    except fb.FormatBridgeError as error:
        partial: Converted | None = getattr(error, "partial", None)
        if partial and _has_parts(partial):
            report.add(partial, "answer" if command == "send" else "")
        report.facts |= _error_facts(error)
        report.write(error=_with_option_names(error))
        is_from_relay = isinstance(error, fb.APIError) or (command in ("send", "demo") and isinstance(error, fb.StreamError))
        return 3 if is_from_relay else 2


def _system_message(error: OSError) -> str:
    """Return the message of an error of the system: the file and the reason, without the number. Only standard streams have no name."""
    if not error.strerror:
        return str(error)
    return f"{'standard input or output' if error.filename is None else error.filename}: {error.strerror}"


def _error_facts(error: fb.FormatBridgeError) -> JsonObject:
    """Return the attributes of an error answer that the JSON report contains; the table has them in the message."""
    names = ("status", "code", "type", "request_id", "retry_after") if isinstance(error, fb.APIStatusError) else ()
    return {name: value for name in names if (value := getattr(error, name)) is not None}


def _has_parts(partial: Converted) -> bool:
    """Return whether any part of an answer arrived; an empty answer has no report."""
    format = partial.target_format
    answer = format.decode_response(check_answer(partial.body, format))
    return any(choice.parts for choice in answer.choices)


def _with_option_names(error: fb.FormatBridgeError) -> str:
    """Return the message of an error, with the option in place of the Python argument."""
    text = str(error)
    for argument, option in _OPTIONS_OF_ARGUMENTS.items() if isinstance(error, fb.ConfigurationError) else ():
        text = text.replace(argument, option)
    return text


def _flush() -> None:
    """Flush the outputs. Redirect one that fails to the null device, or the interpreter would print an error when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)
