"""The command line's arguments. What changes a conversion has the same name in every command that converts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import formatbridge as fb

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
    made = argparse.ArgumentParser(prog="formatbridge", description="Convert payloads between four wire formats.")
    made.add_argument("--version", action="version", version=f"formatbridge {fb.__version__}")
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    convert = commands.add_parser("convert", help="convert one body and report what was lost")
    convert.add_argument("file", nargs="?", help="a JSON file; standard input without it")
    convert.add_argument("--at", metavar="POINTER", help="convert the value at this JSON pointer of the file")
    convert.add_argument("--from", dest="source", choices=fb.FORMATS, help="detected where it is not given")
    convert.add_argument("--to", dest="target", choices=fb.FORMATS, required=True)
    convert.add_argument("--kind", choices=KINDS, help="detected where it is not given")
    convert.add_argument("--model", help="the model, which generate_content keeps in its URL")
    convert.add_argument("--stream", action="store_true", default=None, help="the request asks for a stream")
    convert.add_argument("--status", type=int, default=400, help="HTTP status of an error body (default 400)")
    _add_options(convert)
    convert.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    convert.set_defaults(command="convert")

    stream = commands.add_parser("stream", help="convert a stream from standard input to standard output as it comes")
    stream.add_argument("--from", dest="source", choices=fb.FORMATS, required=True)
    stream.add_argument("--to", dest="target", choices=fb.FORMATS, required=True)
    way = stream.add_mutually_exclusive_group()
    way.add_argument("--collect", action="store_true", help="write the whole answer as one body instead")
    way.add_argument("--replay", action="store_true", help="read a whole answer and write it as a stream")
    _add_options(stream, "raise_on", "on_truncated", "carry_reasoning", "created")
    stream.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    stream.set_defaults(command="stream")

    detect = commands.add_parser("detect", help="tell which format a body is of, and why")
    detect.add_argument("file", nargs="?", help="a JSON file; standard input without it")
    detect.set_defaults(command="detect")

    schema = commands.add_parser(
        "schema", help="print the JSON Schema of a typed model, such as messages.request or messages.TextBlock"
    )
    schema.add_argument("name", metavar="FORMAT[.NAME]", help="a format alone: print the names of its models")
    schema.set_defaults(command="schema")

    _add_relay_commands(commands)

    matrix = commands.add_parser("matrix", help="print what each format can hold of the others")
    matrix.add_argument("--source", choices=fb.FORMATS, help="only what this format can say")
    matrix.set_defaults(command="matrix")
    return made


def _add_relay_commands(commands: Any) -> None:
    """Add the commands that talk to a relay; its key is read from ``FORMATBRIDGE_API_KEY`` and nowhere else."""
    demo = commands.add_parser("demo", help="hold one conversation in each format through another's endpoint")
    demo.add_argument("--base-url", help="a relay; without it, one within the process answers")
    demo.add_argument("--model", help="the first that the relay lists, where it is not given")
    demo.set_defaults(command="demo")

    send = commands.add_parser("send", help="send a request to a relay and write the answer")
    send.add_argument("file", nargs="?", help="a JSON file; standard input without it")
    send.add_argument("--base-url", help="the relay; FORMATBRIDGE_BASE_URL where it is not given")
    send.add_argument(
        "--from", dest="source", choices=fb.FORMATS, required=True, help="the format of the request and of the answer"
    )
    send.add_argument("--via", choices=fb.FORMATS, help="the endpoint's format; the same where it is not given")
    send.add_argument("--model", help="in place of the body's")
    send.add_argument("--stream", action="store_true", help="write the visible text as it comes, instead of the body")
    _add_options(send)
    send.set_defaults(raise_on="impossible")
    send.add_argument("--report", choices=("table", "json", "none"), default="table", help="on standard error")
    send.set_defaults(command="send")

    models = commands.add_parser("models", help="list the models of a relay")
    models.add_argument("--base-url", help="the relay; FORMATBRIDGE_BASE_URL where it is not given")
    models.set_defaults(command="models")
