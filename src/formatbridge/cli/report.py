"""The report of a command, on standard error: a table, or one JSON document."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, NamedTuple

import formatbridge as fb
from formatbridge.convert.bodies import Converted
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import Addition, Loss


class Part(NamedTuple):
    """The losses and additions of one conversion. ``direction``: ``request`` or ``answer`` where a command makes two, else empty."""

    direction: str
    losses: Sequence[Loss]
    additions: Sequence[Addition]


class Report:
    """What one command reports. ``form``: ``table``, ``json``, or ``none`` for commands without losses.

    ``facts``: members of the JSON document besides the losses, such as ``status``. ``warnings``: Python warnings, for the JSON document.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self.parts: list[Part] = []
        self.facts: JsonObject = {}
        self.warnings: Sequence[warnings.WarningMessage] = ()

    def add(self, conversion: Converted | fb.Prepared, direction: str = "") -> None:
        """Add the losses and additions of a conversion."""
        self.parts.append(Part(direction, conversion.losses, conversion.additions))

    def write(self, **more: Any) -> None:
        """Write the report. ``more``: further facts, such as ``error``."""
        facts = {**self.facts, **more}
        if self.form == "json":
            self._write_json(facts)
            return
        if self.form == "table":
            self._write_table()
            if "path" in facts:
                print_error(f"formatbridge: model and streaming are in the URL, {facts['path']}")
            if "status" in facts and "error" not in facts:
                print_error(f"formatbridge: the HTTP status is {facts['status']}")
        if "note" in facts:
            print_error(f"formatbridge: {facts['note']}")
        if "error" in facts:
            print_error(f"formatbridge: {facts['error']}")

    def _write_json(self, facts: JsonObject) -> None:
        """Write one JSON document in ASCII, which every encoding of standard error can hold."""
        if self.warnings:
            facts["warnings"] = [str(warning.message) for warning in self.warnings]
        losses = [_row(part, loss) for part in self.parts for loss in part.losses]
        additions = [_row(part, item) for part in self.parts for item in part.additions]
        print_error(json.dumps({"losses": losses, "additions": additions, **facts}))

    def _write_table(self) -> None:
        """Write a line for each loss and each addition, in columns, with ``direction`` first if a command makes two conversions."""
        rows: list[list[str]] = []
        for part in self.parts:
            direction = [part.direction] if part.direction else []
            rows += [[*direction, loss.severity, loss.kind, loss.path or "(body)", loss.why] for loss in part.losses]
            rows += [[*direction, "", "added", item.path, f"{_shortened(item.value)}: {item.why}"] for item in part.additions]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        for row in rows:
            print_error("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]))


def print_error(text: str) -> None:
    """Write a line to standard error; do nothing if its reader has closed it."""
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr)


def _row(part: Part, item: Loss | Addition) -> JsonObject:
    return ({"way": part.direction} if part.direction else {}) | asdict(item)


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"
