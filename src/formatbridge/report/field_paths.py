"""The pointers of canonical fields in bodies of a source format, and a function that follows a pointer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from formatbridge.jsontext.pointers import escape, to_snake, unescape
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.losses import Severity

WHOLE_NODE = "//"
"""The key in ``extra`` for a whole node that is not modelled. No pointer to a field is equal to it."""

ABSENT = object()
"""The value of a pointer that does not exist in a body."""


@dataclass(frozen=True, slots=True)
class LossRule:
    """The severity and reason of losing a field. ``neutral`` values equal the default of the target and are no loss.

    ``after``: the value in the target of a field that is only changed. ``restates``: the key, in the same object, of a JSON text; a field
    with the value of that text is no loss. ``counted_in``: the canonical field whose count includes this one. ``by_member``: the rule
    applies to each member of an object or a list.
    """

    severity: Severity = "lossy"
    code: str = "no_counterpart"
    neutral: tuple[JsonValue, ...] = ()
    kind: Literal["dropped", "changed"] = "dropped"
    after: JsonValue = None
    restates: str = ""
    counted_in: str = ""
    by_member: bool = False

    def is_neutral(self, value: JsonValue) -> bool:
        """Return whether a value is no loss. Members that are null do not count."""
        if isinstance(value, dict):
            value = {key: member for key, member in value.items() if member is not None}
        if self.by_member and isinstance(value, list | dict):
            return all(map(self.is_neutral, value.values() if isinstance(value, dict) else value))
        for neutral in self.neutral:
            if value == neutral and type(value) is type(neutral):
                return True
        return is_empty(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPaths:
    """The pointers of canonical fields in the bodies of a source format, and the loss rules of its unmodelled fields.

    - ``places``: ``Class.field`` to pointers relative to the node, of which the first with a value counts. A field with the same name in
      the body needs no row. A step into a list is an index, or a text in the list. ``Class.field@pointer`` is a row for the node at this
      pointer alone. Two characters may begin a pointer: ``@`` for the node's second source object, ``^`` for one level up.
    - ``rules``: ``Class.pointer`` of a field in ``extra`` to its loss rule; without a row it is lossy.
    - ``shared``: fields whose pointer also has a value that stays, such as the key of a text. Losing such a field is a change.
    - ``snake_case``: the format also accepts its keys in snake_case.
    - ``keywords``: keys of the canonical model to the keys that the format has for them.
    - ``content``: the fields at the top of an answer with its content and its end. A malformed value below them is a loss of content.

    An example of ``places``. The citation of an answer in ``generate_content`` has its source in one object and its span in another::

        src         /candidates/0/groundingMetadata/groundingChunks/2
        second_src  /candidates/0/groundingMetadata/groundingSupports/0

        "Citation.url":   ("web/uri",)               → <src>/web/uri
        "Citation.start": ("@/segment/startIndex",)  → <second_src>/segment/startIndex

    A text of an answer in ``responses`` has no id; the message above it has one::

        src         /output/1/content/0

        "Text.id":        ("^^id",)                  → /output/1/id, because one ^ leads to /output/1/content, and two to /output/1
    """

    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rules: Mapping[str, LossRule] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    snake_case: bool = False
    keywords: Mapping[str, str] = field(default_factory=dict)
    content: frozenset[str] = frozenset()

    def __deepcopy__(self, memo: object) -> FieldPaths:
        """Return the same table: it never changes, and a copy of a report would copy all of its rules."""
        return self


_DEFAULT = FieldPaths()


def is_empty(value: JsonValue) -> bool:
    """Return whether a value is null or an empty container, which cannot be lost."""
    return value is None or (isinstance(value, list | dict) and not value)


def resolve(body: JsonValue, pointer: str, paths: FieldPaths = _DEFAULT) -> tuple[str, JsonValue]:
    """Follow a pointer through a body. Return it with the keys of the body, and the value, or ``ABSENT`` if there is none.

    A step into a list is an index, or a text in the list.
    """
    value = body
    for step in pointer.split("/")[1:]:
        if type(value) is dict and step in value and "~" not in step:
            value = value[step]
        elif type(value) is list and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _resolve_carefully(body, pointer, paths)
    return pointer, value  # nearly always the pointer has the keys of the body


def _resolve_carefully(body: JsonValue, pointer: str, paths: FieldPaths) -> tuple[str, JsonValue]:
    steps: list[str] = []
    value = body
    for step in pointer.split("/")[1:]:
        key = unescape(step)
        if isinstance(value, dict):
            if paths.snake_case and key not in value:
                if key == "0":  # a format with snake_case keys also accepts one object in place of a list
                    continue
                key = next((other for other in (paths.keywords.get(key, key), to_snake(key)) if other in value), key)
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
