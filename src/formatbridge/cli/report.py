"""The report of a command, on standard error: a table, or one JSON document."""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, NamedTuple

import formatbridge as fb
from formatbridge.cli.terminal import SEVERITY_STYLES, rich_console
from formatbridge.convert.bodies import Converted
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.losses import Addition, Change, Loss, Severity

_GROUP_MEMBERS = ("pattern", "count", "severity", "kind", "code", "why")

LossKey = tuple[str, Change, Severity, str, str]
"""Path, kind, severity, code and reason of a loss, without its values."""


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

    def write_summary(self, converted: int, failed: int, skipped: int, losses: Counter[LossKey], failures: str | None) -> None:
        """Write the counts of a batch, and a line for each group of losses. ``failures``: the file of the failed bodies."""
        groups = _groups(losses)
        if self.form == "json":
            counts = {"converted": converted, "failed": failed, "skipped": skipped}
            self._write_json({**counts, "groups": [{name: getattr(group, name) for name in _GROUP_MEMBERS} for group in groups]})
            return
        if self.form == "table":
            rows = [[group.severity, group.kind, group.pattern or "(body)", f"×{group.count:,}", group.why] for group in groups]
            _print_table(rows, right=3)
        parts = [f"{converted:,} converted"]
        parts += [f"{failed:,} failed, see {failures}"] if failed else []
        parts += [f"{skipped:,} skipped, already in the output"] if skipped else []
        print_error(f"formatbridge: {', '.join(parts)}")

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
        _print_table(rows)


def _groups(losses: Counter[LossKey]) -> tuple[fb.LossGroup, ...]:
    """Return the groups of the losses, the most severe and the most frequent first."""
    return fb.summarize(Counter({Loss(*key): count for key, count in losses.items()}).elements())


def _print_table(rows: Sequence[Sequence[str]], right: int = -1) -> None:
    """Write rows in columns to standard error. ``right``: the index of a column that is aligned to the right.

    On a terminal with rich, severities are in colour and the last column wraps.
    """
    console = rich_console(sys.stderr)
    if console is not None and rows:
        from rich.table import Table

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
        for index in range(len(rows[0])):
            table.add_column(justify="right" if index == right else "left", overflow="fold")
        for row in rows:
            style = next((SEVERITY_STYLES[cell] for cell in row if cell in SEVERITY_STYLES), "")
            table.add_row(*row, style=style)
        console.print(table)
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for row in rows:
        cells = [
            cell.rjust(width) if index == right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        print_error("  ".join([*cells, row[-1]]))


def print_error(text: str) -> None:
    """Write a line to standard error; do nothing if its reader has closed it."""
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr)


def _row(part: Part, item: Loss | Addition) -> JsonObject:
    return ({"direction": part.direction} if part.direction else {}) | asdict(item)


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"
