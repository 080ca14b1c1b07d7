"""Streams of chat_completions, read: citations, images and tokens, which come whole, and sound in pieces beside all else."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.reasoning import decode_message_token, decode_outer_token
from formatbridge.formats.chat_completions.response import decode_answer
from formatbridge.formats.chat_completions.stream_choice import Choice
from formatbridge.formats.shared.unmodelled_fields import gathered, has_values, rest
from formatbridge.ir import events
from formatbridge.jsontext.types import JsonObject

_AUDIO = frozenset({"id", "data", "transcript"})


def feed_rest(choice: Choice, delta: JsonObject, made: list[events.Event]) -> None:
    """Take the citations, images and sound of a delta."""
    src = f"/choices/{choice.index}/message"
    given = {key: delta[key] for key in ("annotations", "images") if delta.get(key)}
    # "x": a text for the citations to hang on; it is thrown away.
    parts, unread = decode_answer({"role": "assistant", "content": "x", **given}, src, "", choice.index, choice.items)
    if isinstance(parts[0], ir.Text):
        choice.cite(parts[0].citations or [], made)
    choice.extra = gathered(choice.extra, {f"message/{key}": value for key, value in (unread or {}).items()})
    for part in parts[1:]:
        choice.add(part, made)
    choice.items |= {key: choice.items.get(key, 0) + len(items) for key, items in given.items()}
    if has_values(delta.get("audio") or {}):
        _feed_audio(choice, delta["audio"], f"{src}/audio", made)


def feed_token(choice: Choice, delta: JsonObject, made: list[events.Event]) -> None:
    """Take the token beside a delta, which may be told again; it waits for a text or a call, and for the end behind a text."""
    src = f"/choices/{choice.index}/message"
    signature, _ = decode_outer_token(delta, src)
    if signature is None or signature.token == choice.token:
        return
    choice.token = signature.token
    if choice.beside is not None:
        choice.add(ir.Text("", signature.src, signature=choice.beside), made)
    choice.beside = signature


def beside_token(delta: JsonObject) -> JsonObject | None:
    """Return what a delta says where a token stands, or in its name, and is none."""
    unread = decode_message_token(delta, [], "")
    return unread and {f"message/{name}": value for name, value in unread.items()}


def _feed_audio(choice: Choice, raw: JsonObject, src: str, made: list[events.Event]) -> None:
    """Add to the sound, of which a message has one: whatever comes between its pieces, it goes on."""
    sound = choice.sound
    given = raw.get("id") or None
    known = choice.parts[sound] if sound is not None else None
    is_named_late = isinstance(known, ir.Media) and given is not None and given != known.id
    choice.extra = gathered(choice.extra, rest(raw, _AUDIO - {"id"} if is_named_late else _AUDIO, "message/audio/"))
    if sound is None:
        sound = choice.sound = choice.start(ir.Media(kind="audio", data="", id=given, src=src), made)
    if raw.get("data"):
        made.append(events.Delta(choice.index, sound, raw["data"]))
    if raw.get("transcript"):
        made.append(events.PartMeta(choice.index, sound, transcript=raw["transcript"]))
