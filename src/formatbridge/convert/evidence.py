"""The evidence in a body for each format and kind, by the detection rules of the formats.

The rules are compiled to one tree of keys. A body is read along that tree once, so other fields cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import from_json

from formatbridge import ir
from formatbridge.formats.format import DetectionRule, Kind
from formatbridge.formats.registry import FORMATS, load
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject

KINDS: tuple[Kind, ...] = ("request", "response", "error", "models")
"""The kinds of documents; the first wins where the evidence is equal."""
_MAX_MEMBERS = 50
"""The number of members of an array to look at."""
_LEAST_SCORE, _LEAST_LEAD = 7, 4
"""The least total score for a sure detection, and its least lead over every other format."""


class FormatCandidate(NamedTuple):
    """A format and kind with evidence in a body."""

    format: ir.FormatName
    """The name of the format."""
    kind: Kind
    """The kind of document."""
    score: int
    """The total score of the evidence."""
    reasons: tuple[str, ...]
    """The evidence, strongest first."""


class _Entry(NamedTuple):
    """What one rule adds to the evidence: its format and kind, its score, and the reason as text."""

    document: tuple[ir.FormatName, Kind]
    score: int
    reason: str
    without: str


# The path ``messages/*/tool_calls`` is ``root.keys["messages"].each.keys["tool_calls"]``, and this last node has the rule.
@dataclass(slots=True)
class _Node:
    """One step of the paths: its rules by index, and the next steps."""

    rules: list[tuple[int, DetectionRule]] = field(default_factory=list)
    keys: dict[str, _Node] = field(default_factory=dict)
    each: _Node | None = None
    first: _Node | None = None

    def step(self, name: str) -> _Node:
        """Return the node of the next step; create it where there is none."""
        if name == "*":
            self.each = self.each or _Node()
            return self.each
        if name == "0":
            self.first = self.first or _Node()
            return self.first
        return self.keys.setdefault(name, _Node())

    def collect(self, value: Any, matched: set[int]) -> None:
        """Add the indices of all rules that a value and its members match."""
        if value is None:
            return
        for index, rule in self.rules:
            if index not in matched and _matches(value, rule):
                matched.add(index)
        if self.keys and isinstance(value, dict):
            for key in self.keys.keys() & value.keys():
                self.keys[key].collect(value[key], matched)
        elif isinstance(value, list) and value:
            self._collect_members(value, matched)

    def _collect_members(self, members: list[Any], matched: set[int]) -> None:
        if self.first is not None:
            self.first.collect(members[0], matched)
        if self.each is not None:
            for member in members[:_MAX_MEMBERS]:
                self.each.collect(member, matched)


def find_candidates(body: JsonObject, formats: Iterable[FormatOrName] = FORMATS) -> list[FormatCandidate]:
    """Return the formats and kinds with evidence in a body, the strongest first."""
    tree, entries = _compiled(tuple(formats))
    matched: set[int] = set()
    tree.collect(body, matched)
    documents: dict[tuple[ir.FormatName, Kind], list[_Entry]] = {}
    for index in sorted(matched):  # the order of the rules, so that reasons of equal score have a stable order
        entry = entries[index]
        if not entry.without or body.get(entry.without) is None:
            documents.setdefault(entry.document, []).append(entry)
    candidates = []
    for document, evidence in documents.items():
        evidence.sort(key=_by_entry_score)
        score = sum([entry.score for entry in evidence])
        candidates.append(FormatCandidate(*document, score, tuple([entry.reason for entry in evidence])))
    if len(candidates) > 1:
        candidates.sort(key=_by_score)
    return candidates


def _by_entry_score(entry: _Entry) -> int:
    return -entry.score


def _by_score(candidate: FormatCandidate) -> tuple[int, int]:
    return -candidate.score, KINDS.index(candidate.kind)


def likely_formats(candidates: Sequence[FormatCandidate]) -> list[FormatCandidate]:
    """Return the candidates that no other clearly exceeds; none where the evidence is weak."""
    # A field that several formats have, such as ``messages``, adds to the score of each. So the lead decides, and not the score alone.
    if not candidates or candidates[0].score < _LEAST_SCORE:
        return []
    return [candidate for candidate in candidates if candidates[0].score - candidate.score < _LEAST_LEAD]


def is_sure(candidates: Sequence[FormatCandidate]) -> bool:
    """Return whether the first candidate has enough evidence, and clearly more than any other format."""
    return len({candidate.format for candidate in likely_formats(candidates)}) == 1


@lru_cache(maxsize=16)
def _compiled(formats: tuple[FormatOrName, ...]) -> tuple[_Node, list[_Entry]]:
    """Return the rules of some formats as a tree, and what each rule adds to the evidence."""
    tree = _Node()
    entries: list[_Entry] = []
    for spec in map(load, formats):
        for rule in spec.detection:
            node = tree
            for name in rule.path.split("/"):
                node = node.step(name)
            node.rules.append((len(entries), rule))
            entries.append(_Entry((spec.name, rule.kind), rule.score, _reason(rule), rule.without))
    return tree, entries


def _matches(value: Any, rule: DetectionRule) -> bool:
    if rule.shape is not object and not isinstance(value, rule.shape):
        return False
    if rule.prefixes:
        return isinstance(value, str) and value.startswith(rule.prefixes)
    return not rule.values or value in rule.values


def _reason(rule: DetectionRule) -> str:
    if rule.without:
        return f"has {rule.path} without {rule.without}"
    if rule.prefixes:
        return f"{rule.path} starts with {' or '.join(rule.prefixes)}"
    return f"{rule.path} is {' or '.join(map(str, rule.values))}" if rule.values else f"has {rule.path}"


def read_object(body: Any) -> Any:
    """Return the value in JSON text, or any other body as it is; of a list of one, as some streams wrap an error, its member.

    Raises ``NotJsonError`` on text that is not JSON. Numbers are not checked, because detection reads no numbers.
    """
    if isinstance(body, bytes | bytearray | str):
        try:
            body = from_json(body, cache_strings="keys")
        except (ValueError, TypeError):
            body = codec.loads(body, [])
    return body[0] if isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict) else body
