"""The arguments of the command line, and the ``Options`` that they set.

Usage errors have two lines, with the nearest option or choice as a suggestion. ``FORMAT`` in options is a built-in format or one from
outside.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, get_args

import formatbridge as fb
from formatbridge.arguments import type_name
from formatbridge.errors import FORMATS_OF_VENDORS, FormatBridgeError
from formatbridge.formats.dialects import DIALECTS
from formatbridge.formats.format import FormatSpec, Kind
from formatbridge.formats.model_facts import ModelFacts
from formatbridge.formats.registry import check_name, formats_of, load_for_requests
from formatbridge.formats.target import FormatOrName, Target
from formatbridge.ir import RegisteredName

_INVALID_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)$", re.DOTALL)
_WORD = re.compile(r"[a-z][a-z_-]*")


class Parser(argparse.ArgumentParser):
    """An argument parser with short errors. argparse prints the complete usage, which for ``convert`` fills a screen."""

    _received: Sequence[str] = ()

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments. Unknown ones are an error of the command, not of the root parser."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = self.commands()[parsed.command]
            parser.error(f"unknown argument {unknown[0]!r}{suggestion(unknown[0], parser.option_names())}")
        parsed.argv = list(self._received)
        return parsed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments and keep them for the message of an error."""
        self._received = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a help text or an error. argparse would ignore a standard output that is closed or full."""
        if file is None:
            raise OSError("standard output is closed")
        if file is sys.stdout:
            file.write(message)
            file.flush()
        else:
            super()._print_message(message, file)

    def option_names(self) -> list[str]:
        """Return the options of this command."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def error(self, message: str) -> NoReturn:
        """Exit with status 2 and a message of two lines."""
        if message.startswith("the following arguments are required"):
            message = self._unknown_option() or message
        elif choice := _INVALID_CHOICE.search(message):
            value, choices = choice[1], _WORD.findall(choice[2])
            message = f"{message[: choice.start()]}unknown value {value!r}{suggestion(value, choices)}"
            if not get_close_matches(value, choices, n=1):
                message += f", expected {', '.join(choices)}"
        self.exit(2, f"{self.prog}: {message}\n{self.prog} --help lists the arguments\n")

    def _unknown_option(self) -> str:
        """Return the message about an unknown option, which is often the misspelt required one; empty if all are known."""
        names = self.option_names()
        for argument in self._received:
            name = argument.partition("=")[0]
            if name.startswith("--") and not any(known.startswith(name) for known in names):
                return f"unknown argument {name!r}{suggestion(name, names)}"
        return ""

    def commands(self) -> Mapping[str, Parser]:
        """Return the parsers of the commands by name."""
        return next(action.choices for action in self._actions if isinstance(action, argparse._SubParsersAction))

    def actions(self) -> Sequence[argparse.Action]:
        """Return the arguments of this command."""
        return self._actions


def suggestion(value: str, choices: Iterable[str]) -> str:
    """Return the end of a message that names the nearest choice; empty if none is similar."""
    nearest = get_close_matches(value, list(choices), n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""


ALIASES = {name: FORMATS_OF_VENDORS[name][0] for name in ("openai", "openai-responses", "anthropic", "gemini")}
"""Names of vendors, and the format that each stands for."""


def format_name(text: str) -> str:
    """Return the name of the format that an alias stands for; another text unchanged. A registered format has precedence."""
    try:
        check_name(text)
    except FormatBridgeError:
        return ALIASES.get(text, text)
    return text


def read_format(text: str) -> FormatOrName:
    """Read the name of a format, built in or registered, an alias, or ``MODULE:ATTRIBUTE``; ``@`` and a dialect may follow."""
    text, at, dialect = text.partition("@")
    if at:
        return _with_dialect(read_format(text), dialect)
    text = format_name(text)
    module, colon, attribute = text.partition(":")
    if not colon:
        try:
            check_name(text)
        except FormatBridgeError as error:
            nearest = _server_of(text) or ("" if "perhaps" in str(error) else suggestion(text, ALIASES))
            raise ArgumentTypeError(f"{error}, or MODULE:ATTRIBUTE{nearest}") from None
        return RegisteredName(text)
    try:
        spec = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentTypeError(f"{text!r} cannot be loaded: {error}") from None
    if not isinstance(spec, FormatSpec):
        raise ArgumentTypeError(f"{text!r} is {type_name(spec)}, expected a formatbridge.FormatSpec")
    return spec


def _server_of(text: str) -> str:
    """Return the end of a message that states how to name the server of a dialect; empty if the text is no dialect."""
    if text not in DIALECTS:
        return ""
    return "; did you mean " + " or ".join(f"{format}@{text}" for format in sorted(formats_of(text))) + "?"


def _with_dialect(format: FormatOrName, dialect: str) -> Target:
    target = Target(format, dialect=dialect)  # type: ignore[type-var]  # the text before the sign names no target
    try:
        load_for_requests(target)
    except FormatBridgeError as error:
        raise ArgumentTypeError(str(error)) from None
    return target


def _read_facts(path: str) -> dict[str, ModelFacts]:
    """Read the file of ``--facts``: a table that ``load_model_facts`` reads."""
    from formatbridge.convert.model_tables import load_model_facts

    try:
        return load_model_facts(_read_bytes(path))
    except FormatBridgeError as error:
        raise ArgumentTypeError(f"{path}: {error}") from None


def with_facts(target: FormatOrName, facts: dict[str, ModelFacts] | None) -> FormatOrName:
    """Return a target with facts about models, if there are any."""
    if facts is None:
        return target
    return replace(target, model=facts) if isinstance(target, Target) else Target(target, model=facts)


_FORMAT_ARGUMENT: dict[str, Any] = {"type": read_format, "metavar": "FORMAT"}
"""The settings of an argument that names a format."""
_FACTS_ARGUMENT: dict[str, Any] = {
    "type": _read_facts, "metavar": "FILE",
    "help": "facts about models: a list of models, LiteLLM's table, api.json of models.dev, or names and ModelFacts fields",
}  # fmt: skip
"""The settings of ``--facts``."""


_KINDS: tuple[Kind, ...] = get_args(Kind)


def _read_key(path: str) -> bytes:
    """Return the key in a file. It is no argument because other users can see the command line."""
    return _read_bytes(path).rstrip(b"\r\n")


def _read_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ArgumentTypeError(f"cannot read {path}: {error.strerror}") from None


_OPTIONS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "raise_on": (
        "--raise-on",
        {"choices": ("none", "info", "lossy", "impossible"), "default": "none", "help": "fail from this severity on (default %(default)s)"},
    ),
    "default_max_tokens": (
        "--default-max-tokens", {"type": int, "default": 4096, "help": "the limit if the target requires one (default 4096)"}
    ),
    "on_truncated": (
        "--on-truncated",
        {"choices": ("error", "close"), "default": "error", "help": "end a truncated stream with an error, or as if it were complete"},
    ),
    "mid_system": (
        "--mid-system",
        {"choices": ("native", "hoist"), "default": "native", "help": "keep instructions in the middle, or move all of them to the start"},
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
    "messages_version": ("--messages-version", {"default": "2023-06-01", "help": "the API version of messages (default 2023-06-01)"}),
    "carry_reasoning": (
        "--drop-reasoning",
        {"action": "store_false", "dest": "carry_reasoning", "help": "do not carry other vendors' reasoning tokens"},
    ),
    "token_key": (
        "--token-key-file",
        {
            "dest": "token_key", "type": _read_key, "metavar": "FILE",
            "help": "a file with the key that seals carried reasoning tokens; line ends after the key are removed",
        },
    ),
    "created": ("--created", {"type": int, "help": "the creation time of an answer without one, in seconds since the epoch"}),
}  # fmt: skip
"""Each field of ``Options``: its flag, and the settings of ``add_argument``."""


def _add_options(command: argparse.ArgumentParser, *names: str) -> None:
    """Add arguments for some of the options to a command; without names, for all."""
    for name in names or _OPTIONS:
        flag, settings = _OPTIONS[name]
        command.add_argument(flag, **settings)


def options_of(arguments: argparse.Namespace) -> fb.Options:
    """Return the options that the arguments set."""
    known = {field.name for field in fields(fb.Options)}
    chosen: dict[str, Any] = {name: None if value == "none" else value for name, value in vars(arguments).items() if name in known}
    return fb.Options(**chosen)


_FORMATS = (
    f"FORMAT: {', '.join(fb.FORMATS)}; an alias ({', '.join(ALIASES)}); the name of a registered format;"
    " or MODULE:ATTRIBUTE of a FormatSpec. A target may name a server: FORMAT@DIALECT, such as chat_completions@groq;"
    f" the dialects: {', '.join(sorted(DIALECTS))}."
)
_TARGET = "the format of the result, and the server that receives it, such as chat_completions@groq"
_OF_ANSWERS = frozenset({"on_truncated", "created"})
"""Options that concern no request."""


def build_parser() -> Parser:
    """Return the parser of the whole command line."""
    root = Parser(prog="formatbridge", description="Convert payloads between four wire formats.", epilog=_FORMATS)
    root.add_argument("--version", action="version", version=f"formatbridge {fb.__version__}")
    commands = root.add_subparsers(required=True, metavar="COMMAND")

    _add_convert(commands)
    stream = commands.add_parser("stream", help="convert a stream as it arrives")
    stream.add_argument("file", nargs="?", help="a file; the default is standard input")
    stream.add_argument("--from", dest="source", **_FORMAT_ARGUMENT, required=True)
    stream.add_argument("--to", dest="target", **_FORMAT_ARGUMENT, required=True)
    stream.add_argument("-o", "--output", metavar="OUTPUT", help="a file; written when the stream is complete")
    mode = stream.add_mutually_exclusive_group()
    mode.add_argument("--collect", action="store_true", help="write the answer as one body instead")
    mode.add_argument("--replay", action="store_true", help="read a whole answer and write it as a stream")
    _add_options(stream, "raise_on", "on_truncated", "carry_reasoning", "created")
    stream.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    stream.set_defaults(command="stream")

    detect = commands.add_parser("detect", help="detect the format of a body, and print the reasons")
    detect.add_argument("file", nargs="?", help="a JSON file; the default is standard input")
    _add_formats(detect)
    detect.set_defaults(command="detect")

    explain = commands.add_parser(
        "explain",
        help="describe in words what a target receives of a request",
        description="Describe in words the request that a target receives, and what is left out, changed or added. Nothing is sent.",
        epilog=_FORMATS,
    )
    explain.add_argument("file", nargs="?", help="a JSON file; the default is standard input")
    explain.add_argument("--from", dest="source", **_FORMAT_ARGUMENT, help="the format of the request; detected if left out")
    explain.add_argument("--to", dest="target", **_FORMAT_ARGUMENT, required=True, help=_TARGET)
    explain.add_argument("--model", help="the model, for formats that have it in the URL")
    explain.add_argument("--facts", **_FACTS_ARGUMENT)
    explain.add_argument("--json", action="store_true", help="write JSON")
    _add_options(explain, *(name for name in _OPTIONS if name not in _OF_ANSWERS))
    explain.set_defaults(command="explain")

    schema = commands.add_parser(
        "schema", help="print the JSON Schema of a typed model, such as messages.request or messages.TextBlock"
    )
    schema.add_argument("name", metavar="FORMAT[.NAME]", help="a format alone: print the names of its models")
    schema.set_defaults(command="schema")

    _add_relay_commands(commands)

    matrix = commands.add_parser("matrix", help="print which fields of other formats each format can hold")
    matrix.add_argument("--source", **_FORMAT_ARGUMENT, help="only fields of this format")
    _add_formats(matrix)
    matrix.add_argument("--json", action="store_true", help="write JSON instead of a table")
    matrix.set_defaults(command="matrix")
    return root


def _add_convert(commands: Any) -> None:
    convert = commands.add_parser("convert", help="convert bodies and report what was lost", epilog=_FORMATS)
    convert.add_argument(
        "files", nargs="*", metavar="FILE", help="JSON files, JSON lines, directories or patterns; - or nothing: standard input"
    )
    convert.add_argument("--at", metavar="POINTER", help="convert the value at this JSON pointer of the file, or of each line")
    convert.add_argument("--from", dest="source", **_FORMAT_ARGUMENT, help="the default is to detect it")
    convert.add_argument("--to", dest="target", **_FORMAT_ARGUMENT, required=True, help=_TARGET)
    convert.add_argument("--kind", choices=_KINDS, help="the default is to detect it")
    convert.add_argument("--model", help="the model, which generate_content keeps in its URL")
    convert.add_argument("--facts", **_FACTS_ARGUMENT)
    convert.add_argument("--stream", action="store_true", default=None, help="the request asks for a stream")
    convert.add_argument("--status", type=int, help="HTTP status of an error body (default 400)")
    output = convert.add_argument_group("output")
    output.add_argument("-o", "--output", metavar="OUTPUT", help="a file, or a directory for several inputs; written when complete")
    layout = output.add_mutually_exclusive_group()
    layout.add_argument("--compact", action="store_true", help="write a body in one line (the default unless on a terminal)")
    layout.add_argument("--pretty", action="store_true", help="write a body with a line for each member")
    layout.add_argument("--diff", action="store_true", help="write source and target side by side, with the losses marked")
    many = convert.add_argument_group("many bodies")
    many.add_argument("--jsonl", action="store_true", help="each line of the input is a body; the default for .jsonl and .ndjson")
    many.add_argument("--batch", action="store_true", help="each line is a line of a vendor's batch file: a request, or a result")
    many.add_argument(
        "--requests", metavar="FILE", help="with --batch: the original requests of the results, in the format of --to"
    )
    many.add_argument("--jobs", type=int, default=1, metavar="N", help="convert in N processes (default 1)")
    many.add_argument("--failed", metavar="FILE", help="go on after a failure, and write failed bodies here with the reason")
    many.add_argument("--resume", action="store_true", help="continue what an earlier run with -o has left")
    _add_options(convert)
    convert.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    convert.set_defaults(command="convert")


def _add_formats(command: argparse.ArgumentParser) -> None:
    """Add the option for formats from outside."""
    command.add_argument(
        "--format",
        dest="formats",
        action="append",
        default=[],
        **_FORMAT_ARGUMENT,
        help="one more format, registered or MODULE:ATTRIBUTE",
    )


def _add_relay_commands(commands: Any) -> None:
    """Add the commands that call a relay. They read its key from ``FORMATBRIDGE_API_KEY`` only."""
    demo = commands.add_parser("demo", help="run one conversation in one format through the endpoint of another format")
    demo.add_argument("--from", dest="source", **_FORMAT_ARGUMENT, help="the format of the caller (default chat_completions)")
    demo.add_argument("--to", dest="target", **_FORMAT_ARGUMENT, help="the format of the endpoint (default messages)")
    demo.add_argument("--all", action="store_true", help="a short run in each format instead")
    demo.add_argument("--base-url", help="a relay; the default is a fake relay in the process")
    demo.add_argument("--model", help="the default is the first model that the relay lists")
    demo.set_defaults(command="demo")

    send = commands.add_parser("send", help="send a request to a relay and write the answer")
    _add_call(send)
    send.add_argument("--stream", action="store_true", help="write the visible text as it arrives, instead of the body")
    send.set_defaults(command="send")

    count = commands.add_parser("count", help="write the number of input tokens of a request, as a relay counts them")
    _add_call(count)
    count.set_defaults(command="count")

    models = commands.add_parser("models", help="list the models of a relay")
    models.add_argument("--base-url", help="the relay; the default is FORMATBRIDGE_BASE_URL")
    models.set_defaults(command="models")


def _add_call(command: argparse.ArgumentParser) -> None:
    """Add the arguments of a call to a relay."""
    command.add_argument("file", nargs="?", help="a JSON file; the default is standard input")
    command.add_argument("--base-url", help="the relay; the default is FORMATBRIDGE_BASE_URL")
    command.add_argument(
        "--from", dest="source", **_FORMAT_ARGUMENT, required=True, help="the format of the request and of the answer"
    )
    command.add_argument("--via", **_FORMAT_ARGUMENT, help="the endpoint's format; the default is the format of the request")
    command.add_argument("--model", help="replaces the model of the body")
    command.add_argument("--facts", **_FACTS_ARGUMENT)
    _add_options(command)
    command.set_defaults(raise_on="impossible")
    command.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")


def complete(root: Parser) -> None:
    """Complete the arguments of a shell that asks for it, with argcomplete; then the process ends."""
    if "_ARGCOMPLETE" in os.environ and find_spec("argcomplete"):
        for command in root.commands().values():
            for action in command.actions():
                if action.type is read_format:
                    setattr(action, "completer", lambda **_: [*fb.FORMATS, *ALIASES])  # noqa: B010  # argcomplete reads it
        import_module("argcomplete").autocomplete(root)
