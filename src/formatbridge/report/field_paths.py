"""How a source format spells canonical fields, and how pointers into its bodies are followed: what its losses are told by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from formatbridge.jsontext.pointers import escape, to_snake, unescape
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.losses import Severity

WHOLE_NODE = "//"
"""The key in ``extra`` that means the node itself, of which nothing is modelled; no pointer of a field looks like it."""

ABSENT = object()
"""What stands where a pointer leads nowhere."""


@dataclass(frozen=True, slots=True)
class LossRule:
    """How much is lost with a field that only its own format has; ``neutral`` values say what happens anyway and are no loss.

    ``after``: what stands in the target for a field that is only changed. ``restates``: the key, in the same object, of the JSON text of
    which a field is the value, as far as it is no loss. ``counted_in``: the canonical field whose count includes this one.
    """

    severity: Severity = "lossy"
    code: str = "no_counterpart"
    neutral: tuple[JsonValue, ...] = ()
    kind: Literal["dropped", "changed"] = "dropped"
    after: JsonValue = None
    restates: str = ""
    counted_in: str = ""

    def is_neutral(self, value: JsonValue) -> bool:
        """Say whether a value is what happens anyway. Members of it that are null say nothing."""
        if isinstance(value, dict):
            value = {key: member for key, member in value.items() if member is not None}
        if is_empty(value):
            return True
        return bool(self.neutral) and any(value == neutral and type(value) is type(neutral) for neutral in self.neutral)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPaths:
    """Where a source format keeps canonical fields, and how grave it is to lose the fields of its own.

    ``places``: ``Class.field`` to pointers relative to the node, the first that says something counts; a field that stands under its own
    name needs no row; one that begins with @ is relative to the node's ``aside``, each ^ leads one step out of that. A step into a list is
    an index or a text that stands there. ``Class.field@pointer`` is a row for the node that stands there alone. ``own``:
    ``Class.pointer`` of a field in ``extra`` to what its loss means; without a row it is lossy. ``shared``: fields whose place also says
    something that stays (the key of a text, say), so that losing them changes the place. ``snake_case``: the format also takes its keys
    in snake_case. ``keywords``: words of ours to others that the format has for them. ``content``: the fields at the top of an answer that
    hold what the model said and how it ended, so that a malformed value below them is a loss of content.
    """

    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: Mapping[str, LossRule] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    snake_case: bool = False
    keywords: Mapping[str, str] = field(default_factory=dict)
    content: frozenset[str] = frozenset()


_PLAIN = FieldPaths()


def is_empty(value: JsonValue) -> bool:
    """Say whether a value is null or an empty container: nothing that could be lost."""
    return value is None or (isinstance(value, list | dict) and not value)


def resolve(body: JsonValue, pointer: str, spelling: FieldPaths = _PLAIN) -> tuple[str, JsonValue]:
    """Follow a pointer through a body; return it in the body's own spelling with the value, or ``ABSENT`` where there is none.

    A step into a list is an index or a text that stands there.
    """
    value = body
    for step in pointer.split("/")[1:]:
        if type(value) is dict and step in value and "~" not in step:
            value = value[step]
        elif type(value) is list and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _resolve_carefully(body, pointer, spelling)
    return pointer, value  # nearly always it says what the body does


def _resolve_carefully(body: JsonValue, pointer: str, spelling: FieldPaths) -> tuple[str, JsonValue]:
    steps: list[str] = []
    value = body
    for step in pointer.split("/")[1:]:
        key = unescape(step)
        if isinstance(value, dict):
            if spelling.snake_case and key not in value:
                if key == "0":  # such a format takes one object for a list of it
                    continue
                key = next((word for word in (spelling.keywords.get(key, key), to_snake(key)) if word in value), key)
            value = value.get(key, ABSENT)
        elif isinstance(value, list):
            if not key.isdecimal() and value and isinstance(value[0], str) and key in value:  # a list of objects has no such text
                key = str(value.index(key))
            value = value[int(key)] if key.isdecimal() and int(key) < len(value) else ABSENT
        else:
            value = ABSENT
        if value is ABSENT:
            return pointer, ABSENT
        steps.append(escape(key))
    return "".join(f"/{step}" for step in steps), value
