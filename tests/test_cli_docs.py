"""docs/command-line.md names what the command line takes, and nothing else."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from formatbridge.cli.parser import parser

PAGE = (Path(__file__).parents[1] / "docs" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
COMMANDS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_each_option_of_a_command_and_no_other(command: str) -> None:
    """An option is added, renamed or taken away."""
    actions = [action for action in COMMANDS[command]._actions if action.dest != "help"]
    options = {option for action in actions for option in action.option_strings}
    places = {str(action.metavar or action.dest).upper() for action in actions if not action.option_strings}
    choices = {str(choice) for action in actions for choice in action.choices or ()}

    assert set(re.findall(r"(?<![\w-])(?:--[a-z][a-z-]+|-[a-z]\b)", SECTIONS[command])) == options
    assert [place for place in places if f"`{place.split('[')[0]}`" not in SECTIONS[command]] == []
    assert [choice for choice in choices if f"`{choice}`" not in PAGE] == []
    assert f"| [`{command}`](#{command}) |" in PAGE


@pytest.mark.parametrize("line", re.findall(r"^formatbridge (.*)$", PAGE, re.MULTILINE))
def test_an_example_of_the_page_is_understood(line: str) -> None:
    """People copy examples before they read."""
    arguments = shlex.split(line.partition(" <")[0])

    assert parser().parse_args(arguments).command == arguments[0]
