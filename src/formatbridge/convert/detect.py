"""Detect the format and kind of a body from its keys and values, with reasons.

Detection does not validate: a detected body may still be invalid in its format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from formatbridge import ir
from formatbridge.errors import InvalidPayloadError
from formatbridge.formats.format import DetectionRule, FormatOrName, Kind
from formatbridge.formats.registry import FORMATS, load
from formatbridge.jsontext import codec

_KINDS: tuple[Kind, ...] = ("request", "response", "error", "models")
"""The kinds of documents; the first one wins if the scores are equal."""
_MEMBERS = {"*": 50, "0": 1}
"""Path steps into an array, and how many members each examines."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The most likely format and kind of a body; both None if no clue matches.

    ``confidence``: from 0 (no clue) to 1 (all matching clues agree). ``reasons``: the matching clues, strongest first.
    """

    format: ir.FormatName | None
    kind: Kind | None
    confidence: float
    reasons: tuple[str, ...]

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        from formatbridge.report import html

        rows = [
            ("format", f"<b>{html.printable(self.format or 'unknown')}</b>"),
            ("kind", html.printable(self.kind or "unknown")),
            ("confidence", f"{self.confidence:.0%}"),
            ("reasons", "<br>".join(map(html.printable, self.reasons[: html.MAX_REMARKS]))),
        ]
        return html.view(html.table((), rows))


def detect_format(body: Any, *, formats: Iterable[FormatOrName] = FORMATS) -> Detection:
    """Detect the format and kind of a body.

    ``body``: a dict, JSON text, or a typed model, whose format is certain. ``formats``: the formats to consider. Raises
    ``InvalidPayloadError`` if the body is no JSON object.
    """
    if isinstance(body, BaseModel):
        return _detect_model(body)
    value = _read(body)
    matched: dict[tuple[ir.FormatName, Kind], list[DetectionRule]] = {}
    for spec in map(load, formats):
        for rule in spec.detection:
            if any(_matches(item, rule) for item in _values(value, rule.path.split("/"))):
                matched.setdefault((spec.name, rule.kind), []).append(rule)
    if not matched:
        return Detection(None, None, 0.0, ())
    scores = {key: sum(rule.score for rule in rules) for key, rules in matched.items()}
    best, *others = sorted(scores, key=lambda key: (-scores[key], _KINDS.index(key[1])))
    rival = max((scores[key] for key in others), default=0)
    confidence = round((scores[best] - rival) / scores[best] * min(1.0, scores[best] / 10), 3)
    return Detection(*best, confidence, tuple(map(_reason, sorted(matched[best], key=lambda rule: -rule.score))))


def _matches(item: Any, rule: DetectionRule) -> bool:
    return isinstance(item, rule.shape) and (not rule.values or item in rule.values)


def _reason(rule: DetectionRule) -> str:
    return f"{rule.path} is {' or '.join(map(str, rule.values))}" if rule.values else f"has {rule.path}"


def _detect_model(body: BaseModel) -> Detection:
    from formatbridge.convert.input import model_of

    model = model_of(body)
    if model is None:
        raise InvalidPayloadError(
            "unknown", "payload", [("", f"is a {type(body).__name__}, expected a model of one of the formats")]
        )
    return Detection(*model, 1.0, (f"is a {type(body).__name__} model",))


def _read(body: Any) -> dict[str, Any]:
    try:
        value = codec.loads(body, []) if isinstance(body, bytes | bytearray | str) else body
    except codec.NotJsonError as error:
        raise InvalidPayloadError("unknown", "payload", [(error.pointer, error.message)]) from None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):  # an error as some streams wrap it
        value = value[0]
    if not isinstance(value, dict):
        raise InvalidPayloadError("unknown", "payload", [("", f"is {codec.describe(value)}, expected an object")])
    return value


def _values(value: Any, steps: list[str]) -> Iterator[Any]:
    """Yield the values at a path, except null; of a long array only those of the first members."""
    if not steps:
        if value is not None:
            yield value
    elif steps[0] in _MEMBERS:
        for member in value[: _MEMBERS[steps[0]]] if isinstance(value, list) else []:
            yield from _values(member, steps[1:])
    elif isinstance(value, dict) and steps[0] in value:
        yield from _values(value[steps[0]], steps[1:])
