"""Compare source and target side by side for ``--diff``, with the losses in the source and the additions in the target."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TextIO

from formatbridge.cli.terminal import SEVERITY_STYLES, rich_console
from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.losses import SEVERITY_RANKS, Addition, Loss

_MARKS = {"dropped": "-", "changed": "~", "added": "+"}
_GUTTER = " │ "
_MAX_CELL_ROWS = 6
"""The maximum number of rows for one line. The rest of a longer line, such as an image, is not shown."""
_BREAK_DISTANCE = 16
"""The number of characters at the end of a row in which a space for the line break is searched."""
_MAX_MATCHED_LINES = 4000
"""The maximum number of lines in both bodies for which equal lines are searched, because the search is quadratic."""


class Side(NamedTuple):
    """A body with the entries of the report that point into it."""

    format: str
    body: JsonValue
    entries: Sequence[Loss | Addition]


class Line(NamedTuple):
    """A line of one side. ``mark``: what happened to the value; ``style``: a severity or ``added``; both empty for other lines."""

    text: str
    mark: str = " "
    style: str = ""


class Row(NamedTuple):
    """A row of the comparison; a side without a line is empty."""

    left: Line
    right: Line


_EMPTY = Line("")


def compare(source: Side, target: Side) -> list[Row]:
    """Return the rows of the comparison; equal lines are in the same row where the order allows that."""
    left, right = list(_render_body(source)), list(_render_body(target))
    rows = [Row(Line(source.format, style="title"), Line(target.format, style="title"))]
    if len(left) + len(right) > _MAX_MATCHED_LINES:
        return rows + _pair_lines(left, right)
    matcher = SequenceMatcher(
        _is_bracket, [line.text.strip(" ,") for line in left], [line.text.strip(" ,") for line in right], False
    )
    for _, left_start, left_end, right_start, right_end in matcher.get_opcodes():
        rows += _pair_lines(left[left_start:left_end], right[right_start:right_end])
    return rows


def print_rows(rows: Sequence[Row], out: TextIO, width: int | None = None) -> None:
    """Write rows to a text stream: in colour on a terminal if rich is installed.

    ``width``: in characters; None: the width of the terminal.
    """
    console = rich_console(out)
    width = width or (console.width if console else shutil.get_terminal_size((120, 40)).columns)
    column = max(20, (width - len(_GUTTER)) // 2 - 2)
    for row in rows:
        for left, right in _wrap_row(row, column):
            if console is None:
                out.write(f"{row.left.mark} {left:<{column}}{_GUTTER}{row.right.mark} {right}".rstrip() + "\n")
            else:
                from rich.text import Text

                text = Text().append(f"{row.left.mark} {left:<{column}}", style=_style(row.left))
                text.append(_GUTTER, style="dim").append(f"{row.right.mark} {right}", style=_style(row.right))
                console.print(text, soft_wrap=True)


def _style(line: Line) -> str:
    return "bold" if line.style == "title" else SEVERITY_STYLES.get(line.style, "")


def _is_bracket(text: str) -> bool:
    """Return whether a line has only brackets, which equal many other lines."""
    return not any(character.isalnum() for character in text)


def _pair_lines(left: Sequence[Line], right: Sequence[Line]) -> list[Row]:
    count = max(len(left), len(right))
    padded = [[*lines, *[_EMPTY] * (count - len(lines))] for lines in (left, right)]
    return [Row(*pair) for pair in zip(*padded, strict=True)]


def _wrap_row(row: Row, column: int) -> Iterator[tuple[str, str]]:
    """Yield the parts of a row that fit into the columns."""
    left, right = _wrap_text(row.left.text, column), _wrap_text(row.right.text, column)
    for index in range(max(len(left), len(right))):
        yield left[index] if index < len(left) else "", right[index] if index < len(right) else ""


def _wrap_text(text: str, column: int) -> list[str]:
    """Return a text in parts that are as wide as a column. All parts but the first are indented."""
    indent = " " * min(len(text) - len(text.lstrip()) + 2, column // 2)
    parts, rest = [], text[: column * (_MAX_CELL_ROWS + 1)]
    while len(rest) > column:
        space = rest.rfind(" ", column - _BREAK_DISTANCE, column)  # a break between words, if there is one in the last characters
        end = space + 1 if space >= len(indent) else column
        parts.append(rest[:end])
        rest = indent + rest[end:]
    parts.append(rest)
    if len(parts) > _MAX_CELL_ROWS:
        parts = [*parts[: _MAX_CELL_ROWS - 1], f"{indent}… {len(text):,} characters"]
    return parts


def _render_body(side: Side) -> Iterator[Line]:
    """Yield the lines of a body, with marks at losses and additions, and the reason below each mark."""
    entries: dict[str, list[Loss | Addition]] = {}
    for entry in side.entries:
        entries.setdefault(entry.path, []).append(entry)
    if "" in entries:
        yield from (_render_reason(entry, 0) for entry in entries[""])
    yield from _render_value(side.body, "", 0, "", entries, None)
    present = {pointer for pointer in entries if pointer}
    yield from (
        _render_reason(entry, 0, entry.path)
        for pointer in sorted(present - _collect_pointers(side.body))
        for entry in entries[pointer]
    )


def _render_value(
    value: JsonValue,
    pointer: str,
    depth: int,
    key: str,
    entries: dict[str, list[Loss | Addition]],
    parent_entry: Loss | Addition | None,
) -> Iterator[Line]:
    """Yield the lines of a value.

    ``parent_entry``: the entry of an object that contains the value, if all of that object was dropped or added.
    """
    reported = entries.get(pointer, []) if pointer else []
    entry = max(reported, key=_rank) if reported else parent_entry
    mark, style = (_MARKS[_kind(entry)], _severity(entry)) if entry else (" ", "")
    indent = "  " * depth
    members: list[tuple[str, str, JsonValue]] = []
    brackets = ""
    if isinstance(value, dict) and value:
        brackets = "{}"
        members = [(f"/{escape(name)}", json.dumps(name, ensure_ascii=False) + ": ", member) for name, member in value.items()]
    elif isinstance(value, list) and value:
        brackets = "[]"
        members = [(f"/{index}", "", member) for index, member in enumerate(value)]
    text = brackets[0] if brackets else json.dumps(value, ensure_ascii=False)
    yield Line(f"{indent}{key}{text}", mark, style)
    yield from (_render_reason(each, depth) for each in reported)
    member_entry = entry if entry is not None and _kind(entry) != "changed" else None
    for step, name, member in members:
        yield from _render_value(member, pointer + step, depth + 1, name, entries, member_entry)
    if brackets:
        yield Line(f"{indent}{brackets[1]}", mark, style)


def _collect_pointers(value: JsonValue, pointer: str = "") -> set[str]:
    pointers = {pointer}
    members: list[tuple[str, JsonValue]] = []
    if isinstance(value, dict):
        members = [(escape(name), member) for name, member in value.items()]
    elif isinstance(value, list):
        members = [(str(index), member) for index, member in enumerate(value)]
    for step, member in members:
        pointers |= _collect_pointers(member, f"{pointer}/{step}")
    return pointers


def _render_reason(entry: Loss | Addition, depth: int, path: str = "") -> Line:
    """Return the line with the reason, which follows a marked value. ``path``: the path of a value that is not in the body."""
    what = f"{entry.severity}, {entry.kind}" if isinstance(entry, Loss) else "added"
    place = f"{path} " if path else ""
    return Line(f"{'  ' * depth}^ {place}{what}: {entry.why}", _MARKS[_kind(entry)], _severity(entry))


def _kind(entry: Loss | Addition) -> str:
    return entry.kind if isinstance(entry, Loss) else "added"


def _severity(entry: Loss | Addition) -> str:
    return entry.severity if isinstance(entry, Loss) else "added"


def _rank(entry: Loss | Addition) -> int:
    return SEVERITY_RANKS[entry.severity] if isinstance(entry, Loss) else 0
