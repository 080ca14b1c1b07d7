"""Detect the format and kind of a body from its keys and values, with reasons.

Detection does not validate: a detected body may still be invalid in its format.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from formatbridge import ir
from formatbridge.convert.evidence import FormatCandidate, find_candidates, is_sure, read_object
from formatbridge.convert.input import Body, model_of
from formatbridge.errors import InvalidPayloadError
from formatbridge.formats.format import Kind
from formatbridge.formats.registry import FORMATS
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject


@dataclass(frozen=True, slots=True)
class Detection:
    """The format and kind of a body, with the evidence."""

    format: ir.FormatName | None
    """The name of the format, only where detection is sure; otherwise None."""
    kind: Kind | None
    """The kind of document; None where there is no evidence, or where the best candidates are of several kinds."""
    confidence: float
    """From 0 (no evidence, or as much for another format) to 1 (all evidence agrees)."""
    reasons: tuple[str, ...]
    """The evidence for the first candidate, strongest first."""
    is_sure: bool = False
    """Whether one format has clearly more evidence than any other."""
    candidates: tuple[FormatCandidate, ...] = ()
    """All formats and kinds with evidence, the strongest first."""

    def to_dict(self) -> JsonObject:
        """Return the format, the kind and the evidence as a dict, ready for JSON."""
        facts = {name: getattr(self, name) for name in ("format", "kind", "confidence", "is_sure")}
        candidates = [each._asdict() | {"reasons": list(each.reasons)} for each in self.candidates]
        return facts | {"reasons": list(self.reasons), "candidates": candidates}

    def _repr_html_(self) -> str:
        """Return a table for a notebook. Without a sure format it has the candidates, one of which is the ``source=`` to pass."""
        from formatbridge.report import html

        candidates = ", ".join(f"{each.format} ({each.kind}, {each.score})" for each in self.candidates)
        name = self.format or (f"not sure: {candidates}" if candidates else "unknown")
        rows = [
            ("format", f"<b>{html.escape_text(name)}</b>"),
            ("kind", html.escape_text(self.kind or "unknown")),
            ("confidence", f"{self.confidence:.0%}"),
            ("reasons", "<br>".join(map(html.escape_text, self.reasons[: html.MAX_ROWS]))),
        ]
        return html.view(html.table((), rows))


def detect_format(body: Body, *, formats: Iterable[FormatOrName] = FORMATS) -> Detection:
    """Detect a body's format and kind. The format is None where the evidence does not clearly exceed that for every other format.

    ``body``: a dict, JSON text, or a typed model, whose format is certain. ``formats``: the formats to consider. Raises
    ``InvalidPayloadError`` if the body is no JSON object.
    """
    if isinstance(body, BaseModel):
        return _detect_model(body)
    candidates = tuple(find_candidates(_parse_body(body), formats))
    if not candidates:
        return Detection(None, None, 0.0, ())
    best, *others = candidates
    rival = max((other.score for other in others), default=0)
    # The lead over the next candidate as a fraction of the score. A score below 10 lowers it, since one weak field proves little.
    confidence = round((best.score - rival) / best.score * min(1.0, best.score / 10), 3)
    if is_sure(candidates):
        return Detection(best.format, best.kind, confidence, best.reasons, True, candidates)
    # A body may be certainly a request, although of two formats.
    kinds = {candidate.kind for candidate in candidates if candidate.score == best.score}
    return Detection(None, best.kind if len(kinds) == 1 else None, confidence, best.reasons, False, candidates)


def _detect_model(body: BaseModel) -> Detection:
    model = model_of(body)
    if model is None:
        raise InvalidPayloadError(
            "unknown", "payload", [("", f"is a {type(body).__name__}, expected a model of one of the formats")]
        )
    name, kind = model
    reasons = (f"is a {type(body).__name__} model",)
    candidates = () if kind is None else (FormatCandidate(name, kind, 30, reasons),)
    return Detection(name, kind, 1.0, reasons, True, candidates)


def _parse_body(body: Any) -> JsonObject:
    try:
        value: Any = read_object(body)
    except codec.NotJsonError as error:
        raise InvalidPayloadError("unknown", "payload", [(error.pointer, error.message)]) from None
    if not isinstance(value, dict):
        raise InvalidPayloadError("unknown", "payload", [("", f"is {codec.describe(value)}, expected an object")])
    return value
