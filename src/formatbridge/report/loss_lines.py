"""Describe losses and additions in lines for a reader who does not know the formats: where, what, why, and the effect."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from formatbridge.jsontext.pointers import escape
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.field_paths import resolve
from formatbridge.report.losses import Addition, Change, Loss, Severity
from formatbridge.report.summary import LossGroup, pattern_of, summarize

_MAX_TEXT = 60
_MAX_WORD = 24
_MAX_LISTED = 3
_EFFECTS: Mapping[Severity, str] = {
    "info": "no effect on the answer",
    "lossy": "the answer may differ",
    "impossible": "the request no longer means the same",
}
"""The effect of losses by their severity."""
_ENTRIES = {"messages": "message", "contents": "entry of contents", "input": "entry of input"}
"""Lists of a conversation, and the noun for one entry."""
_SYSTEM_PROMPTS = frozenset({"system", "systemInstruction", "instructions"})
_AMOUNTS = ("effort", "budget")
_OF_REASONING = ("reasoning", "thinking", "effort")


@dataclass(frozen=True, slots=True)
class Bodies:
    """The two bodies of a conversion and the names of their formats, which a line mentions."""

    source: JsonValue
    target: JsonObject
    source_title: str
    target_title: str


def loss_lines(losses: Iterable[Loss], kind: Change, bodies: Bodies) -> Iterator[str]:
    """Yield one line for losses that have a field, a reason and a severity in common; the most severe come first."""
    members: dict[tuple[str, ...], list[Loss]] = {}
    losses = list(losses)
    for loss in losses:
        members.setdefault(_key_of(pattern_of(loss.path), loss), []).append(loss)
    for group in summarize(losses):
        if group.kind == kind:
            yield _line(group, members[_key_of(group.pattern, group.example)], bodies)


def addition_line(addition: Addition, bodies: Bodies) -> str:
    """Describe an addition: where, the value, and the reason."""
    return f"{addition.path} = {_added_value(addition.value)}: {_named(addition.why, bodies)}"


def shorten(value: JsonValue) -> str:
    """Return a value as JSON text, without its end if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"


def _key_of(pattern: str, loss: Loss) -> tuple[str, ...]:
    return pattern, loss.severity, loss.kind, loss.code, loss.why


def _line(group: LossGroup, losses: list[Loss], bodies: Bodies) -> str:
    place = (group.pattern if group.count > 1 else group.example.path) or "the body"
    names = list(dict.fromkeys(map(_type_of, losses)))
    details = [text for text in (_owners(losses, bodies), _listed(names) if all(names) else "") if text]
    described = f"{place} ({', '.join(details)})" if details else place
    return f"{described}{_values(losses)}: {_reason(losses, bodies)} ({_EFFECTS[group.severity]})"


def _common(texts: Iterable[str]) -> str:
    """Return the text that all losses have in common; empty if there is none."""
    unique = set(texts)
    return unique.pop() if len(unique) == 1 else ""


def _reason(losses: list[Loss], bodies: Bodies) -> str:
    first = losses[0]
    if first.code == "moved":
        places = list(dict.fromkeys(_place_in(bodies.target, loss.before) for loss in losses))
        return f"moved to {_listed(places)} of the new body" if all(places) else _named(first.why, bodies)
    if first.code == "renamed" and first.path.rpartition("/")[2].endswith("id"):
        return f"{bodies.target_title} does not allow this id"
    return _named(first.why, bodies)


def _named(why: str, bodies: Bodies) -> str:
    """Return a reason with the names of the formats, because a reader may not know which one is the target."""
    why = why.replace("the source format", bodies.source_title).replace(
        "the source's server", f"the server of {bodies.source_title}"
    )
    return why.replace("missing in the source", "missing in the source request").replace("the target", bodies.target_title)


def _place_in(body: JsonObject, value: JsonValue) -> str:
    """Return where the longest text of a moved value is in the target's body; empty if it is nowhere, or in several places."""
    text = max(_texts_in(value), key=len, default="")
    text = text.partition(",")[2] if text.startswith("data:") else text  # other formats have the data of a ``data:`` URL without it
    places = [pointer for pointer, other in _members(body, "") if text and isinstance(other, str) and text in other]
    steps = places[0].split("/")[1:3] if len(places) == 1 else []
    return f"/{steps[0]}" if steps and steps[0] in _SYSTEM_PROMPTS else "".join(f"/{step}" for step in steps)


def _texts_in(value: JsonValue) -> Iterator[str]:
    return (member for _, member in _members(value, "") if isinstance(member, str))


def _members(value: JsonValue, pointer: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield every value below a value and itself, with their pointers."""
    yield pointer, value
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _members(member, f"{pointer}/{escape(key)}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _members(member, f"{pointer}/{index}")


def _values(losses: list[Loss]) -> str:
    """Return the value, if all losses have the same one, and what it becomes. A text of the conversation is not shown."""
    before = _common(f" = {shorten(loss.before)}" if _is_shown(loss) else "" for loss in losses)
    after = _common(map(_becomes, losses)) if before or isinstance(losses[0].before, dict) else ""
    return f"{before}{f' becomes {after}' if after else ''}"


def _type_of(loss: Loss) -> str:
    is_tool = loss.path.startswith("/tools")
    return _name_of(loss.before, is_tool=is_tool) if isinstance(loss.before, dict) else ""


def _becomes(loss: Loss) -> str:
    """Return the value in the target, in words if it is an amount of reasoning in another unit."""
    before, after = loss.before, loss.after
    if loss.kind != "changed" or loss.code == "moved":
        return ""
    if isinstance(after, dict):
        name = _name_of(after)
        return name if name != _type_of(loss) else ""
    if not _is_short(after) or (isinstance(before, dict) and isinstance(after, bool)):  # a flag is no value for an object
        return ""
    if type(before) is not type(after) and any(word in loss.path.lower() for word in _OF_REASONING):
        if isinstance(after, bool):
            is_amount = after and any(word in loss.path.lower().rpartition("/")[2] for word in _AMOUNTS)
            return "on, without an amount" if is_amount else "on" if after else "off"
        return f"a budget of {after:,} tokens" if isinstance(after, int) else f"the effort {shorten(after)}"
    return shorten(after)


def _name_of(value: JsonObject, *, is_tool: bool = False) -> str:
    """Return the type of an object, and the name of a tool: ``web_search_20260318``, ``function now``. Empty for other objects."""
    # Any object of an answer may have a ``name``, which is no name of a tool there.
    function, name = value.get("function"), value.get("name") if is_tool or "type" in value else None
    names = (value.get("type"), value.get("role"), name, function.get("name") if isinstance(function, dict) else None)
    words = dict.fromkeys(word for word in names if isinstance(word, str) and _is_short(word))
    if not words:  # ``{"inlineData": {...}}`` of Gemini
        words = dict.fromkeys([key for key, member in value.items() if isinstance(member, dict)][:1])
    return " ".join(words)


def _is_shown(loss: Loss) -> bool:
    """Return whether the value of a loss is shown. A header may have a key."""
    path = loss.path.lower()
    return _is_short(loss.before) and "/headers/" not in path and "authorization" not in path


def _is_short(value: Any) -> bool:
    """Return whether a value is shown next to its pointer: a number, a flag or a word, and no text of the conversation."""
    return isinstance(value, bool | int | float) or (isinstance(value, str) and 0 < len(value) <= _MAX_WORD and " " not in value)


def _added_value(value: JsonValue) -> str:
    """Return an added value: of a message or a part with a text, the text."""
    if isinstance(value, dict):
        text = value.get("text", value.get("content"))
        if isinstance(text, str):
            return f"the text {shorten(text)}"
    return shorten(value)


def _owners(losses: list[Loss], bodies: Bodies) -> str:
    """Name the messages, or the tools, in which the losses are: ``2nd and 4th message``. For others, count the losses."""
    steps = [loss.path.split("/")[1:] for loss in losses]
    field, count = steps[0][0] if steps[0] else "", len(losses)
    owners: list[str] = []
    if field in _ENTRIES and all(len(each) > 1 and each[1].isdecimal() for each in steps):
        owners = [_ordinal(index + 1) for index in sorted({int(each[1]) for each in steps})]
    elif field == "tools":
        names = [_tool_above(bodies.source, loss.path) for loss in losses]
        owners = list(dict.fromkeys(names)) if all(names) else []
    times = f"{count} times" if count > max(1, len(owners)) else ""
    if not owners:
        return times
    listed = _listed(owners, _ENTRIES[field]) if field in _ENTRIES else f"of {_listed(owners)}"
    return f"{times}, {listed}" if times else listed


def _tool_above(body: JsonValue, path: str) -> str:
    """Return the name of the tool that contains the value at a pointer; empty for the tool itself, whose name is shown anyway."""
    steps = path.split("/")
    for length in range(len(steps) - 1, 2, -1):
        value = resolve(body, "/".join(steps[:length]))[1]
        if isinstance(value, dict):
            name = value.get("name") or (value.get("type") if length == 3 else None)  # a schema has a ``type``, too
            if isinstance(name, str) and _is_short(name) and name != "function":
                return name
    return ""


def _listed(words: list[str], noun: str = "") -> str:
    """Return the first words and how many follow, with a noun: ``2nd and 4th message``, ``2nd, 4th, 6th message and 3 more``."""
    more = len(words) - _MAX_LISTED
    shown = words if more <= 0 else words[:_MAX_LISTED]
    head, last = shown[:-1], f"{shown[-1]}{f' {noun}' if noun else ''}"
    if more > 0:
        return f"{', '.join([*head, last])} and {more} more"
    return f"{', '.join(head)} and {last}" if head else last


def _ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``, ``21st``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
