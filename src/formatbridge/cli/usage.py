"""The argument parser: usage errors of two lines, with the nearest option or choice as a suggestion."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

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
