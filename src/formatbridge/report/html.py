"""HTML of results and reports for notebooks: badges, tables, and JSON bodies with marks.

Pure functions. The HTML needs no JavaScript. It inherits the colours of its page and adds only translucent ones, so that it is readable on
dark and light pages. Every text is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from formatbridge.jsontext.pointers import escape as escape_step

MAX_LINES = 200
"""Lines of a body that are rendered. Values without marks are collapsed in a longer body."""
MAX_TEXT = 240
"""Characters of a text in a body that are rendered."""
MAX_ROWS = 30
"""Rows of a table that are rendered."""
_MAX_DEPTH = 24
_MAX_INLINE = 60
_SHOWN_MEMBERS = 3

_STYLE = """<style>
.fb-view{color:inherit;font-size:13px;line-height:1.45}
.fb-view .fb-title{margin:.3em 0}
.fb-view .fb-sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(360px,100%),1fr));gap:12px}
.fb-view .fb-side{min-width:0;border:1px solid rgba(128,128,128,.4);border-radius:6px}
.fb-view .fb-name{padding:4px 10px;border-bottom:1px solid rgba(128,128,128,.4)}
.fb-view .fb-code{max-height:40em;overflow:auto;padding:6px 0;font:12px/1.55 ui-monospace,Menlo,Consolas,monospace}
.fb-view .fb-line{padding-right:10px;border-left:4px solid transparent;text-indent:-2ch;white-space:pre-wrap;overflow-wrap:anywhere}
.fb-view .fb-key{opacity:.8}
.fb-view .fb-value{unicode-bidi:isolate}
.fb-view .fb-rest,.fb-view .fb-hint{font-style:italic;opacity:.75}
.fb-view .fb-hint,.fb-view .fb-below{padding:4px 10px}
.fb-view .fb-note{margin-left:1ch;font-family:system-ui,sans-serif}
.fb-view .fb-impossible{background:rgba(220,38,38,.2);border-left-color:#dc2626}
.fb-view .fb-lossy{background:rgba(245,158,11,.2);border-left-color:#d97706}
.fb-view .fb-info{background:rgba(59,130,246,.14);border-left-color:#3b82f6}
.fb-view .fb-added{background:rgba(22,163,74,.18);border-left-color:#16a34a}
.fb-view .fb-badge{display:inline-block;padding:0 6px;border-radius:8px;font:600 11px/1.5 system-ui,sans-serif;text-indent:0;color:#fff;
background:#52525b;white-space:nowrap}
.fb-view .fb-badge-impossible{background:#b91c1c}.fb-view .fb-badge-lossy{background:#9a5b00}
.fb-view .fb-badge-info{background:#1d5fc4}.fb-view .fb-badge-added{background:#15713a}
.fb-view table.fb-table{border-collapse:collapse;margin:.4em 0;font-size:13px}
.fb-view table.fb-table th,.fb-view table.fb-table td{padding:2px 12px 2px 0;text-align:left;vertical-align:top;white-space:pre-wrap;
overflow-wrap:anywhere;max-width:48em;background:none}
.fb-view summary{cursor:pointer}
</style>"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A remark on a value of a body. ``label``: a severity, or ``added``; it selects the colour."""

    label: str
    text: str


def view(*content: str) -> str:
    """Return a complete HTML fragment with the style and the content."""
    return f'{_STYLE}<div class="fb-view">{"".join(content)}</div>'


def title(text: str) -> str:
    """Return a heading."""
    return f'<div class="fb-title"><b>{escape_text(text)}</b></div>'


def badge(label: str, text: str = "") -> str:
    """Return a label with its colour."""
    return f'<span class="fb-badge fb-badge-{escape(label)}">{escape_text(text or label)}</span>'


def details(summary: str, content: str, *, is_open: bool = False) -> str:
    """Return content that a click on its summary shows or hides. ``summary`` is HTML."""
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{content}</details>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of the first rows. The cells are HTML, the head is text."""
    rows = list(rows)
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        lines.append(f'<td colspan="{len(rows[0])}"><i>{len(rows) - MAX_ROWS:,} more rows are not shown</i></td>')
    names = f"<thead><tr>{''.join(f'<th>{escape_text(name)}</th>' for name in head)}</tr></thead>" if head else ""
    return f'<table class="fb-table">{names}<tbody>{"".join(f"<tr>{line}</tr>" for line in lines)}</tbody></table>'


def escape_text(text: str) -> str:
    """Escape a text for HTML. Half of a surrogate pair becomes its escape sequence, because UTF-8 cannot represent it."""
    return escape(text.encode("utf-8", "backslashreplace").decode())


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text of at most ``limit`` characters; an ellipsis replaces the rest."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def json_text(value: Any, limit: int = MAX_TEXT) -> str:
    """Return a value as JSON text on one line, shortened, not escaped for HTML."""
    if isinstance(value, str) and len(value) > limit:
        return f"{json.dumps(value[:limit], ensure_ascii=False)[:-1]}… ({len(value):,} characters)"
    if isinstance(value, dict | list) and not _is_small(value):
        return _summarize(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit + 2 else f"{text[:limit]}…"


def side(name: str, body: Any, marks: Mapping[str, Sequence[Mark]], hint: str = "") -> str:
    """Return one side of a comparison: a body with its marks. ``marks``: by JSON pointer. The name and the hint are text.

    Marks on values that are not visible are listed below the body.
    """
    lines = _Lines(marks)
    lines.add_body(body)
    if hint:
        lines.hints.append(escape_text(hint))
    hints = f'<div class="fb-hint">{" ".join(lines.hints)}</div>' if lines.hints else ""
    others = [(pointer, mark) for pointer, each in marks.items() if pointer not in lines.shown for mark in each]
    rows = _mark_rows(others)
    below = f'<div class="fb-below">Not visible above:{table((), rows)}</div>' if rows else ""
    return (
        f'<div class="fb-side"><div class="fb-name"><b>{escape_text(name)}</b></div>'
        f'<div class="fb-code">{"".join(lines.html)}</div>{hints}{below}</div>'
    )


def unavailable_side(name: str, marks: Mapping[str, Sequence[Mark]]) -> str:
    """Return a side whose body is not kept: only its marks."""
    rows = _mark_rows([(pointer, mark) for pointer, each in marks.items() for mark in each])
    content = f'<div class="fb-hint">The body is not available.</div>{table((), rows) if rows else ""}'
    return f'<div class="fb-side"><div class="fb-name"><b>{escape_text(name)}</b></div>{content}</div>'


def _mark_rows(marks: Iterable[tuple[str, Mark]]) -> list[tuple[str, ...]]:
    return [
        (badge(mark.label), f"<code>{escape_text(shorten(pointer or 'body'))}</code>", escape_text(mark.text))
        for pointer, mark in marks
    ]


def _is_small(value: Any, limit: int = _MAX_INLINE) -> bool:
    """Return whether a value contains at most ``limit`` values, itself included. The count ends at the limit."""
    pending, count = [value], 0
    while pending:
        node = pending.pop()
        count += 1
        members = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        if count + len(pending) + len(members) > limit:
            return False
        pending += members
    return True


def _summarize(value: dict[str, Any] | list[Any]) -> str:
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return f"{opening} … {len(value):,} {'member' if len(value) == 1 else 'members'} {closing}"


@dataclass(slots=True)
class _Lines:
    """The lines of one body. ``hints``: sentences about values that are not shown. ``shown``: the pointers of the visible marks.

    ``_containers``: the pointers of values that contain marks.
    """

    marks: Mapping[str, Sequence[Mark]]
    html: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)
    _containers: set[str] = field(default_factory=set)
    _is_long: bool = False

    def add_body(self, body: Any) -> None:
        """Add all lines of a body."""
        for pointer in self.marks:
            steps = pointer.split("/", _MAX_DEPTH)
            self._containers.update("/".join(steps[:count]) for count in range(1, len(steps)))
        self._is_long = not _is_small(body, MAX_LINES)
        self._add(body, "", 0, "", "", "")
        if self._is_long:
            self.hints.append("The body is long: values without marks are collapsed.")
        if len(self.html) >= MAX_LINES:
            self.hints.append(f"Only the first {MAX_LINES} lines are shown.")

    def _add(self, value: Any, pointer: str, depth: int, key: str, comma: str, label: str) -> None:
        """Add the lines of a value. ``key``: the HTML before the value. ``label``: the label of the value that contains it."""
        if len(self.html) >= MAX_LINES:
            return
        marks = self.marks.get(pointer, ())
        if marks:
            self.shown.add(pointer)
            label = marks[0].label
        notes = "".join(f'<span class="fb-note">{badge(mark.label)} {escape_text(mark.text)}</span>' for mark in marks)
        if not isinstance(value, dict | list) or not value or self._is_collapsed(pointer, depth):
            self._add_line(depth, label, f'{key}<span class="fb-value">{escape_text(json_text(value))}</span>{comma}{notes}')
            return
        opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
        self._add_line(depth, label, f"{key}{opening}{notes}")
        for step, member, is_last in self._members(value, pointer):
            if step is None:
                text = f"… {member:,} more members"
                self._add_line(depth + 1, label, f'<span class="fb-rest">{text}</span>')
                continue
            name = f'<span class="fb-key">{escape_text(json_text(step))}</span>: ' if isinstance(step, str) else ""
            self._add(member, f"{pointer}/{_step(step)}", depth + 1, name, "" if is_last else ",", label)
        self._add_line(depth, label, f"{closing}{comma}")

    def _add_line(self, depth: int, label: str, html: str) -> None:
        if len(self.html) < MAX_LINES:
            colour = f" fb-{label}" if label else ""
            self.html.append(f'<div class="fb-line{colour}" style="padding-left:{2 * depth + 3}ch">{html}</div>')

    def _is_collapsed(self, pointer: str, depth: int) -> bool:
        """Return whether an object or array is shown on one line: it is too deep, or it has no marks in a long body."""
        if depth >= _MAX_DEPTH:
            return True
        return self._is_long and depth > 1 and pointer not in self._containers

    def _members(self, value: Any, pointer: str) -> Iterator[tuple[str | int | None, Any, bool]]:
        """Yield the members to show, each with its key or index, and whether it is the last.

        For omitted members, yield None and their number.
        """
        is_object, omitted, unmarked_in_row = isinstance(value, dict), 0, 0
        for index, (step, member) in enumerate(value.items() if is_object else enumerate(value)):
            below = f"{pointer}/{_step(step)}"
            is_marked = not self._is_long or below in self.marks or below in self._containers
            unmarked_in_row = 0 if is_marked else unmarked_in_row + 1
            if unmarked_in_row > _SHOWN_MEMBERS:
                omitted += 1
                continue
            if omitted:
                yield None, omitted, False
                omitted = 0
            yield step, member, index == len(value) - 1
        if omitted:
            yield None, omitted, True


def _step(step: str | int) -> str:
    return escape_step(step) if isinstance(step, str) else str(step)
