"""Content parts of generate_content: text, thoughts and media.

A part has exactly one data member; the other members qualify it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import assert_never

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.generate_content.hosted_tools import decode_server_tool, encode_code
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_reasoning, encode_signature, is_late, word_of
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.media import guess_mime, media_kind, sniff_mime
from formatbridge.formats.shared.parts import encode_mime, encode_opaque
from formatbridge.formats.shared.tool_arguments import NOT_READ, Objects
from formatbridge.formats.shared.tool_results import Unanswered
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity

_TEXT = frozenset({"text", "thought", "thoughtSignature"})
_MEDIA = frozenset({"inlineData", "fileData", "thought", "thoughtSignature", "mediaResolution", "audioTranscription"})
_BLOB = frozenset({"data", "mimeType", "displayName"})
_FILE = frozenset({"fileUri", "mimeType", "displayName"})
_RETURNED = frozenset({"inlineData", "fileData", "mediaResolution"})

_RESOLUTIONS = ("MEDIA_RESOLUTION_UNSPECIFIED", "MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH")
_DETAILS = {
    "MEDIA_RESOLUTION_LOW": "low",
    "MEDIA_RESOLUTION_MEDIUM": "medium",
    "MEDIA_RESOLUTION_HIGH": "high",
    "MEDIA_RESOLUTION_ULTRA_HIGH": "original",
}
_LEVELS = {detail: level for level, detail in _DETAILS.items()}
_MIMES = {"image": "image/jpeg", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}
_VIDEO_PAGES = ("https://www.youtube.com/", "https://youtube.com/", "https://youtu.be/")


def decode_text(raw: JsonObject, src: str) -> ir.Part:
    """Read text, or reasoning where it is a thought."""
    made: ir.Text | ir.Reasoning
    if raw.get("thought"):
        made = ir.Reasoning(text=raw["text"], src=src)
        if len(raw) > 2:  # more than a text and that it is a thought
            made.extra = rest(raw, _TEXT)
    else:
        made = ir.Text(raw["text"], src, rest(raw, _TEXT))
    if "thoughtSignature" in raw:
        made.signature = decode_signature(raw, src)
        if type(made) is ir.Text and not made.text and not made.extra and is_late(made.signature):  # as ``set_apart`` writes it
            return ir.Reasoning("", src, made.signature)
    return made


def encode_text(part: ir.Text, losses: Ledger, *, carry: bool) -> JsonObject | None:
    """Write text; empty text is left out unless it holds a token."""
    if part.signature is None:
        return {"text": part.text} if part.text else None
    token = encode_signature(part.signature, losses, carry=carry)
    return {"text": part.text} | token if part.text or token else None


def decode_bare(raw: JsonObject, src: str) -> ir.Part | None:
    """Read a part without data: a token alone, or qualities of nothing; nothing at all is no part."""
    if raw.get("thoughtSignature"):
        return decode_text(raw | {"text": ""}, src)
    kinds = [key for key, value in raw.items() if value is not None and key != "thought"]
    return ir.Opaque(format="generate_content", raw=raw, label=kinds[0], src=src) if kinds else None


# Media.


def _decode_media(raw: JsonObject, src: str) -> ir.Part:
    """Read media in the body or at an address. A picture that was only thought of is no part of an answer."""
    if raw.get("thought"):
        return ir.Opaque(
            format="generate_content",
            raw=raw,
            label="thought",
            signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
            src=src,
            severity="lossy",
        )
    return _decode_shown(raw, src)


def decode_returned(raw: JsonObject, src: str) -> ir.Part | None:
    """Read a part of what a function returned: media, or a text, which some callers put there. Nothing holds other members to a type."""
    if isinstance(raw.get("text"), str):
        return ir.Text(raw["text"], src, rest(raw, frozenset({"text"})))
    told = {key: raw[key] for key in _RETURNED if key in raw}
    if told.get("inlineData") is None and told.get("fileData") is None:
        kinds = [key for key, value in raw.items() if value is not None]
        return ir.Opaque(format="generate_content", raw=raw, label=kinds[0], src=src) if kinds else None
    media = _decode_shown(told, src)
    media.extra = joined(rest(raw, _RETURNED), media.extra)
    return media


def _decode_shown(raw: JsonObject, src: str) -> ir.Media:
    blob, file = raw.get("inlineData"), raw.get("fileData") or {}
    resolution, transcription = raw.get("mediaResolution") or {}, raw.get("audioTranscription") or {}
    source, known, at = (file, _FILE, "fileData/") if blob is None else (blob, _BLOB, "inlineData/")
    extra = joined(
        rest(raw, _MEDIA) if blob is None or not file else rest(raw, _MEDIA - {"fileData"}),
        rest(source, known, at),
        rest(resolution, frozenset({"level"}), "mediaResolution/") if resolution else None,
        rest(transcription, frozenset({"text"}), "audioTranscription/") if transcription else None,
    )
    return _decode_source(
        source if known.issuperset(source) else {key: source[key] for key in known if key in source},
        src,
        detail=_decode_detail(resolution.get("level")),
        transcript=transcription.get("text"),
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        extra=extra,
    )


def _decode_source(
    raw: JsonObject,
    src: str,
    *,
    detail: str | None,
    transcript: str | None,
    signature: ir.Signature | None,
    extra: JsonObject | None,
) -> ir.Media:
    uri, mime = raw.get("fileUri"), raw.get("mimeType")
    mime = mime.lower() if mime else mime
    is_own = uri is not None and _is_uploaded(uri)
    if uri is not None and mime is not None and mime != guess_mime(uri):
        extra = joined(extra, {"fileData/mimeType": mime})
    return ir.Media(
        kind=_kind_of(mime or guess_mime(uri or ""), uri),
        mime=mime,
        data=_standard_base64(raw.get("data") or "") if uri is None else None,
        url=None if is_own else uri,
        file_id=uri if is_own else None,
        issuer="generate_content" if is_own else None,
        filename=raw.get("displayName"),
        detail=detail,
        transcript=transcript,
        signature=signature,
        src=src,
        extra=extra,
    )


def _is_uploaded(uri: str) -> bool:
    """Say whether an address names something on the vendor's own servers: an uploaded file or a stored object."""
    return not uri.startswith(("https://", "http://")) or uri.startswith("https://generativelanguage.googleapis.com/")


def _kind_of(mime: str | None, uri: str | None) -> ir.MediaKind:
    if mime is None:
        return "video" if uri is not None and uri.startswith(_VIDEO_PAGES) else "document"
    return media_kind(mime)


def _standard_base64(data: str) -> str:
    """Spell base64 in the standard alphabet, padded; the vendor also takes the URL-safe one."""
    if "-" in data or "_" in data:
        data = data.replace("-", "+").replace("_", "/")
    return data if len(data) % 4 == 0 else data + "=" * (-len(data) % 4)


def _decode_detail(level: str | int | None) -> str | None:
    word = word_of(level, _RESOLUTIONS)
    return _DETAILS.get(word, word.lower()) if word and word != _RESOLUTIONS[0] else None


def _encode_media(part: ir.Media, at: str, around: Surroundings, losses: Ledger) -> list[JsonObject]:
    """Write media; what an answer says in them is also text that it shows."""
    made = _encode_shown(part, at, losses, carry=around.carries)
    if made is None or not part.transcript:
        return [made] if made else []
    if around.is_answer:
        return [made, {"text": losses.changed(part, "transcript", part.transcript, "flattened")}]
    return [made | {"audioTranscription": {"text": part.transcript}}]


def _encode_shown(part: ir.Media, at: str, losses: Ledger, *, carry: bool) -> JsonObject | None:
    """Write media; ``at`` is the pointer of the part in the target, for a media type that has to be made up."""
    if part.file_id is not None and part.issuer != "generate_content":
        losses.dropped(part, code="foreign_id", severity="impossible")
        return None
    drop_unheld(part, losses)
    body = _encode_source(part, at, losses)
    level = _encode_detail(part, losses)
    if level is not None:
        body["mediaResolution"] = {"level": level}
    return body | encode_signature(part.signature, losses, carry=carry)


def _encode_source(part: ir.Media, at: str, losses: Ledger) -> JsonObject:
    """Write where media is: in the body, or at an address."""
    uri = part.file_id if part.file_id is not None else part.url
    slot = "inlineData" if uri is None else "fileData"
    is_listed = part.kind in ("image", "video")  # whose types the server knows by name
    mime = (encode_mime(part, losses) if is_listed else part.mime) or guess_mime(uri or part.filename or "")
    if mime is None:
        mime = losses.added(f"{at}/{slot}/mimeType", sniff_mime(part.data or "") or _MIMES[part.kind])
    elif mime == "image/jpg":  # as some callers call it
        mime = "image/jpeg"
    source = {"mimeType": mime, "data": part.data or ""} if uri is None else {"fileUri": uri, "mimeType": mime}
    if part.filename is not None:
        source["displayName"] = part.filename
    return {slot: source}


def _encode_detail(part: ir.Media, losses: Ledger) -> str | None:
    if part.detail in (None, "auto"):
        return None
    level = _LEVELS.get(part.detail)
    if part.kind == "document" or level is None:
        drop_field(part, "detail", losses)
        return None
    return level


# Any part.


def encode_part(part: ir.Part, at: str, around: Surroundings, losses: Ledger) -> list[JsonObject]:
    """Write one part that is no call and no result; mostly one here too. ``at`` is its pointer in the target."""
    made: JsonObject | None = None
    match part:
        case ir.Reasoning():
            made = encode_reasoning(part, losses, carry=around.carries)
        case ir.Text():
            drop = drop_unheld_in_answer if around.is_answer else drop_unheld
            drop(part, losses)
            made = encode_text(part, losses, carry=around.carries)
        case ir.Media():
            return _encode_media(part, at, around, losses)
        case ir.Refusal():
            made = _encode_refusal(part, around, losses)
        case ir.Opaque() | ir.Hosted():
            return _encode_foreign(part, around, losses)
        case ir.ToolCall() | ir.ToolResult():
            losses.dropped(part, code="orphan", severity="impossible")
        case _:
            assert_never(part)
    return [made] if made else []


def _encode_refusal(part: ir.Refusal, around: Surroundings, losses: Ledger) -> JsonObject | None:
    """Write a refusal as text."""
    drop_unheld(part, losses)
    losses.changed(part, "text", part.text, "flattened", severity=around.refusal_cost)
    return {"text": part.text} if part.text else None


def _encode_foreign(part: ir.Opaque | ir.Hosted, around: Surroundings, losses: Ledger) -> list[JsonObject]:
    if isinstance(part, ir.Hosted) and part.family == "code" and part.id in around.runs:
        return encode_code(part, losses, carry=around.carries)
    text = encode_opaque(part, losses)
    return encode_part(text, "", around, losses) if text else []


DECODE_PART: dict[str, Callable[[JsonObject, str], ir.Part]] = {
    "inlineData": _decode_media,
    "fileData": _decode_media,
    "toolCall": decode_server_tool,
    "toolResponse": decode_server_tool,
}
"""Data members whose parts need nothing but themselves to be read."""


class Surroundings:
    """What is known of the request or answer that parts are written for, and of its calls.

    ``is_answer``: it is an answer. ``carries``: it keeps tokens of other formats, tagged. ``runs``: ids of the runs of code that this
    format has too. ``made_ids``: those of calls to which no source gave one. ``objects``: the arguments of its calls, as far as they have
    been read. ``refusal_cost``: what it costs that a refusal is text here.
    """

    __slots__ = ("_messages", "_names", "_paired", "carries", "is_answer", "made_ids", "objects", "refusal_cost", "runs")

    def __init__(
        self,
        messages: Sequence[ir.Message] = (),
        runs: Set[str] = frozenset(),
        *,
        is_answer: bool = False,
        carries: bool = False,
        objects: Objects = NOT_READ,
        refusal_cost: Severity = "lossy",
    ) -> None:
        self._messages = messages
        self._names: dict[str, str] | None = None  # most conversations need none, so they are collected on demand
        self._paired: dict[int, str] | None = None  # where ids repeat
        self.made_ids: set[str] = set()
        self.runs = runs
        self.is_answer = is_answer
        self.carries = carries
        self.objects = objects
        self.refusal_cost = refusal_cost

    def name_of(self, result: ir.ToolResult) -> str | None:
        """Return the name of the tool whose call a result of the conversation answers."""
        if self._names is None:
            calls = [part for message in self._messages for part in message.parts if type(part) is ir.ToolCall]
            self._names = {call.id: call.name for call in calls}
            self._paired = _names_of_results(self._messages) if len(self._names) < len(calls) else None
        return self._names.get(result.call_id) if self._paired is None else self._paired.get(id(result))


def _names_of_results(messages: Sequence[ir.Message]) -> dict[int, str]:
    """Return, by ``id()``, the names of the calls that results answer.

    Ids repeat: some servers count calls anew in each answer. A second result of a call belongs to that call again; one that stands before
    every call of its id, to the next.
    """
    names: dict[int, str] = {}
    open: dict[str, Unanswered[str]] = {}
    last: dict[str, str] = {}
    early: list[ir.ToolResult] = []
    for turn, message in enumerate(messages):
        for part in message.parts:
            if type(part) is ir.ToolCall:
                open.setdefault(part.id, Unanswered()).add(turn, part.name)
            elif type(part) is ir.ToolResult:
                call_id = part.call_id
                name = open[call_id].take() if call_id in open else None
                if name is not None:
                    last[call_id] = name
                if call_id in last:
                    names[id(part)] = last[call_id]
                else:
                    early.append(part)
    return names | {id(result): name for result in early if (name := _next_name(result.call_id, open, last)) is not None}


def _next_name(call_id: str, open: dict[str, Unanswered[str]], last: dict[str, str]) -> str | None:
    first = open[call_id].first() if call_id in open else None
    return last.get(call_id) if first is None else first
