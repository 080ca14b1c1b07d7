"""The documents that are made from the tables of the code: ``python -m tests.documents`` writes them, a test keeps them current."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from formatbridge import formats, ir
from formatbridge.convert.matrix import matrix_rows
from formatbridge.convert.wire_models import models_of
from formatbridge.report.reasons import REASONS
from tests.stream_grammar import GRAMMARS, Grammar, Moves

DOCS = Path(__file__).parents[1] / "docs"

_HEAD = "<!-- Made by `python -m tests.documents`; a test keeps it current. -->\n"


_CONDITIONS = """## Requests to generate_content

- **Tool results.** A result whose text is a JSON object is sent as that object in `functionResponse.response`, if the object holds all of
  the text. It stays text under `output` where a key is repeated; where a number is no double in its own spelling (an integer beyond
  2**53, `1.0`, `1e3`); where it has a key `output` or `error`, which the server reads as the output of the function and as its failure. A
  result that is an error stays text under `error`. Back to text the object is written without spaces.
- **Calls without a signature.** The first call of each turn of the model that has no `thoughtSignature` gets Google's placeholder
  `skip_thought_signature_validator`, as an addition; `Options(unsigned_calls="leave")` adds none. A placeholder that is read is no token.
- **Visible reasoning.** A request that enables reasoning and does not say whether to show it gets `includeThoughts: true`, as an addition.
- **Metadata** is dropped: only the Vertex API has `labels`.
- **Addresses.** `gs://` is an address wherever it stands, in `file_data` too, and becomes `fileData.fileUri`.

## Requests to messages

- **Unions at the root of `input_schema`** (`anyOf`, `oneOf`, `allOf`), which the server refuses, are folded into one object schema that
  admits every member: properties are united, and what all members require is required (with `allOf`, what any requires). A property with
  several schemas gets `anyOf` (with `allOf`, `allOf`) of them. `$defs` stay. Reported as `changed` (`root_union`).
- **JSON mode** becomes one sentence in `system`, as an addition and as `changed` (`json_mode`); `Options(json_mode="drop")` leaves it out.

## Answers to chat_completions

The content is one string. Texts around a server's tool that is dropped are told apart by a blank line, and the offsets of citations count
it.
"""


def mappings() -> str:
    """Write ``mappings.md``: what holds where, the flat settings, and the words for how an answer ends."""
    parts = [
        "# Mappings\n" + _HEAD,
        "What each format holds of what the others say. Found by asking the encoders, one small payload a row.\n",
        "`=` held · `(=)` only labels or cost change · `~` changed or lost, the answer may differ · `-` cannot be said\n",
        _held(),
        "## Flat settings\n\nThe same value under another name; an empty cell has no flat counterpart (see the table above).\n",
        _settings(),
        "## How an answer ends\n\nThe words of each format, by what they mean here.\n",
        _finish(),
        _CONDITIONS,
    ]
    return "\n".join(parts)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _held() -> str:
    lines, topic = [], ""
    for row_topic, name, marks in matrix_rows():
        if row_topic != topic:
            topic = row_topic
            lines += ["", f"## {topic}", "", _row("", *formats.FORMATS), _row("---", *["---"] * len(formats.FORMATS))]
        lines.append(_row(name, *marks))
    return "\n".join([*lines, ""])


def _settings() -> str:
    tables = [formats.load(name).settings.wire for name in formats.FORMATS]
    lines = [_row("setting", *formats.FORMATS), _row("---", *["---"] * len(formats.FORMATS))]
    for name in ir.Settings.__annotations__:
        if any(name in table for table in tables):
            lines.append(_row(f"`{name}`", *(f"`{table[name]}`" if name in table else "" for table in tables)))
    return "\n".join([*lines, ""])


def _finish() -> str:
    tables = [formats.load(name).finish_reasons for name in formats.FORMATS]
    reasons = dict.fromkeys(reason for table in tables for reason in table.values())
    lines = [_row("reason", *formats.FORMATS), _row("---", *["---"] * len(formats.FORMATS))]
    for reason in reasons:
        words = (", ".join(f"`{word}`" for word, meaning in table.items() if meaning == reason) for table in tables)
        lines.append(_row(f"`{reason}`", *words))
    return "\n".join([*lines, ""])


def losses() -> str:
    """Write ``losses.md``: every code with its reason."""
    lines = [
        "# Losses\n" + _HEAD,
        "A loss has a `path` (a JSON pointer into the source body), a `kind` (`dropped` or `changed`), a `severity`, a stable `code`, the",
        "reason `why`, `before` and, where something else stands in the target, `after`.\n",
        _row("severity", "meaning"),
        _row("---", "---"),
        _row("`info`", "the model never sees it, or only cost and labels change"),
        _row("`lossy`", "the output may differ"),
        _row("`impossible`", "the payload no longer means the same"),
        "",
        "Neutral values (equal to what the target does anyway) and other spellings of the same meaning are no losses. A container is",
        "named only where all of it is gone. `Options(raise_on=...)` raises `LossyConversionError` from a severity up.\n",
        "A list of models reports a loss once per field and not once per model: the `path` is that of the first model that has it, such",
        "as `/data/0/owned_by`, and later models of the list may have lost the same field for the same reason. Each such loss is `info`.\n",
        "Of an answer, `lossy` is the loss of content of any kind (text, reasoning, calls, media, files, refusals, citations, log",
        "probabilities) and of the finish reason. Fields that nobody knows at the top of an answer and in its usage are telemetry of the",
        "server, and their loss is `info`, as is that of what repeats the request; repeated defaults are no losses.\n",
        "A request must be valid, for its caller can repair it. An answer is read although some details of it are malformed: a citation",
        "without its object, a log probability without its number, a text where an object belongs. What the format's model refuses is",
        "left out by the smallest removal that leaves a valid answer. It stays in the same format and is reported towards others as",
        "`malformed`: `lossy` in the content and the finish reason, else `info`. `InvalidPayloadError` is raised for an answer that is no",
        "JSON object, holds a number that JSON cannot, or lacks its content: `choices` with their `message`, `content`, `output`, or the",
        "`candidates` with their `content`. A list of models needs its `data` or `models`.\n",
        _row("code", "why"),
        _row("---", "---"),
        *(_row(f"`{code}`", why) for code, why in REASONS.items()),
        "",
        "An addition is no loss: it has the `path` in the target body, the `value` that the target demands and the source lacks,",
        "and `why`. Additions never raise; read `made.additions`. The body is valid, but somebody should know what was chosen. A",
        "request without a model becomes one whose `model` is empty, say, which no server takes; `model=` names one, the client and",
        "the command `send` refuse such a request, and whoever sends it otherwise looks:\n",
        "```python",
        'unnamed = any(addition.path == "/model" for addition in made.additions)',
        "```\n",
        "Towards `generate_content` the model stands in the URL and not in the body. Without one there is no address, so that",
        "conversion raises `ConfigurationError`.",
        "",
        "Severities are words. Their order is that of the table, for whoever compares them:\n",
        "```python",
        'ORDER = ("info", "lossy", "impossible")',
        "worst = max((loss.severity for loss in made.losses), key=ORDER.index, default=None)",
        "```",
        "",
    ]
    return "\n".join(lines)


def models() -> str:
    """Write ``models.md``: the typed models of each format by name."""
    lines = [
        "# Typed models\n" + _HEAD,
        "Pydantic models in the vendor's own spelling, and unions of some, beside each other in one module a format:\n",
        "```python",
        "from formatbridge.formats.messages import wire",
        "from pydantic import TypeAdapter",
        "",
        "wire.Request.model_validate(body)  # raises pydantic's ValidationError",
        "TypeAdapter(wire.Tool).validate_python(tool)  # a union has no methods of its own",
        "```\n",
        "They are open: a field that nobody knows stays on the model, and of a union that lists `Unknown` a member that nobody knows",
        'becomes one. They are strict: `"5"` is no integer. The docstrings of fields tell units, bounds and sources, and',
        "`formatbridge schema messages.TextBlock` prints a JSON Schema.\n",
        "Subclasses of yours serve as well: their fields are in the body, and their defaults count as set, unless they are `None`,",
        "which in all models means that nothing was said. A model of yours that derives from none of these goes in with what was set.\n",
        "Formats share names of classes. Where one application has several formats (FastAPI, say), its schema calls such classes by their",
        "modules: `formatbridge__formats__messages__wire__request__Request`. An application for each, mounted beside the others, has short",
        "names.\n",
        "With pydantic 2.10, a model of yours that holds one of these writes `schema_` for `schema` unless you say `by_alias=True`.",
        "",
    ]
    for name in formats.FORMATS:
        lines += [f"## {name}\n", f"`formatbridge.formats.{name}.wire`\n", _row("model", "what it is"), _row("---", "---")]
        lines += [_row(f"`{model}`", about.replace("|", "\\|")) for model, about in models_of(name).items()]
        lines.append("")
    return "\n".join(lines)


_DRAWN = re.compile(r"(?<=<!-- grammars -->\n).*(?=<!-- end of grammars -->)", re.DOTALL)


def streaming() -> str:
    """Write ``streaming.md``: its prose as it stands, the grammars drawn anew."""
    drawn = "\n".join(_grammar(grammar) for grammar in GRAMMARS.values())
    return _DRAWN.sub(lambda _: f"\n{drawn}\n", (DOCS / "streaming.md").read_text(encoding="utf-8"))


def _grammar(grammar: Grammar) -> str:
    lines = [f"### {grammar.format}\n", "```", "stream", *_machine(grammar.stream)]
    for series in grammar.series:
        numbered = f", numbered within each {series.within}" if series.within else ", numbered from 0"
        lines += ["", f"{series.name}{numbered}{', one open at a time' if series.one_at_a_time else ''}"]
        names: dict[str, list[str]] = {}
        for kind, moves in series.kinds.items():
            names.setdefault("\n".join(_machine(moves, "  ")), []).append(kind)
        for drawn, kinds in names.items():
            lines += [] if kinds == ["*"] and len(names) == 1 else [f"  {', '.join(kinds)}".replace("*", "any other")]
            lines.append(drawn)
    repeats = [f"`{event}` repeats its deltas in `{member}`." for event, member in grammar.repeats.items()]
    return "\n".join([*lines, "```", "", *repeats, *([""] if repeats else [])])


def _machine(moves: Moves, indent: str = "") -> list[str]:
    """Draw a machine, a line for each state that anything may follow."""
    lines = []
    for state, words in moves.items():
        by_next: dict[str, list[str]] = {}
        for word, following in words.items():
            by_next.setdefault(following, []).append(word)
        told = " · ".join(f"{', '.join(names)} → {following}" for following, names in by_next.items())
        lines += [f"{indent}  {state:8} {told}"] if told else []
    return lines


DOCUMENTS: dict[str, Callable[[], str]] = {
    "mappings.md": mappings,
    "losses.md": losses,
    "models.md": models,
    "streaming.md": streaming,
}


def main() -> None:
    """Write every document."""
    for name, make in DOCUMENTS.items():
        (DOCS / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
