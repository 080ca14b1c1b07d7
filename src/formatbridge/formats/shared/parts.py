"""What formats do alike with parts: put in words what has no home in the target, note what stays behind, join texts."""

from __future__ import annotations

from collections.abc import Container, Iterable

from formatbridge import ir
from formatbridge.formats.shared.media import bare_mime, guess_mime, sniff_mime
from formatbridge.jsontext.types import JsonObject, JsonValue
from formatbridge.report.ledger import Ledger


def encode_opaque(part: ir.Opaque | ir.Hosted, losses: Ledger) -> ir.Text | None:
    """Put a foreign part in words where it has any, else note that it is gone."""
    if isinstance(part, ir.Opaque) and part.text is not None:
        losses.changed(part, "", part.text, "flattened")
        if part.text:
            return ir.Text(part.text, part.src, cache=part.cache)
        if part.cache:
            losses.dropped(part.cache, code="empty", severity="info")
        return None
    if isinstance(part, ir.Hosted):
        losses.dropped(part, code="server_history")
    else:
        losses.dropped(part, code=part.code, severity=part.severity)
    return None


def set_unknown_severity(parts: list[ir.Part], known: Container[str] = ()) -> list[ir.Part]:
    """Make it grave to lose a part of an unknown kind that was given to the model: it may be all that was asked. Returns the parts.

    ``known``: kinds of which the format knows that they ask for nothing.
    """
    for part in parts:
        if type(part) is ir.Opaque and part.severity == "lossy" and part.text is None and part.what not in known:
            part.severity = "impossible"
    return parts


def is_only_text(part: ir.Text) -> bool:
    """Say whether a text is nothing but its text, so that nothing can be lost with it."""
    return not (part.extra or part.cache or part.citations or part.signature or part.id is not None)


def join_texts(first: ir.Part, second: ir.Part) -> ir.Text | None:
    """Return two parts as one text; None where one of them is more than text."""
    if type(first) is ir.Text and type(second) is ir.Text and is_only_text(first) and is_only_text(second):
        return ir.Text(first.text + second.text, second.src if first.text.isspace() else first.src)
    return None


def encode_mime(part: ir.Media, losses: Ledger) -> str | None:
    """Write the type of media without its parameters, where the target has a word of its own or a list of types."""
    if part.mime is None or ";" not in part.mime:
        return part.mime
    return str(losses.changed(part, "mime", bare_mime(part.mime), severity="info"))


def known_mime(part: ir.Media) -> str | None:
    """Tell the type of media: as the source says it, else from the ending of their address or the beginning of their data."""
    if part.mime:
        return bare_mime(part.mime)
    return guess_mime(part.url) if part.url is not None else sniff_mime(part.data or "")


OVERRULED = frozenset({"stop", "stop_sequence", "other", "error"})
"""Reasons that an answer with calls never ends for: it ends for the calls."""


def note_finish(finish: ir.Finish, word: str, is_exact: bool, losses: Ledger) -> None:
    """Note that a word of the target stands for another reason, or for a finer one."""
    if finish.finer or not is_exact:
        losses.changed(finish, "reason", word, "finish_reason", severity="info" if is_exact else "lossy")


def refusal_of(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> str | None:
    """Return the explanation of a blocked answer, which stands for a refusal where there is none; anywhere else it has no place."""
    if finish is None or finish.message is None:
        return None
    if finish.reason in ("content_filter", "refusal") and not any(isinstance(part, ir.Refusal) for part in parts):
        return finish.message
    losses.dropped(finish, "message", "diagnostic", severity="info")
    return None


_TIMES, _SHORT = 8, 10_000


def may_repeat(lengths: Iterable[int], length: int) -> bool:
    """Say whether the words of all spans may stand beside them, as some formats have it: a few times a text of this length, no more.

    Where thousands of citations cite all of a long text, its copies would be a thousand times what the source has.
    """
    return sum(max(0, each) for each in lengths) <= _TIMES * max(length, _SHORT)


def put_in(body: JsonObject, key: str, value: JsonValue, otherwise: JsonValue, losses: Ledger) -> None:
    """Put into a citation what the target demands of it; where the source lacks it, what is made up is noted."""
    if value is None:
        losses.added_in(body, key, otherwise)
    else:
        body[key] = value
