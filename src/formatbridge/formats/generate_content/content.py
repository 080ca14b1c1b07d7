"""Content parts of Gemini: text, reasoning and media; and what the encoders of parts need of the whole request or response.

A part has exactly one data field; the other fields qualify it. ``decode_response_part`` is here alone, because the parts of a function
response have fewer fields and are not validated. ``EncodeContext`` is here alone, because a result must have the name of its call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import assert_never

from formatbridge import ir
from formatbridge.formats.generate_content.holds import drop_unheld, drop_unheld_in_answer
from formatbridge.formats.generate_content.hosted_tools import decode_hosted, encode_hosted
from formatbridge.formats.generate_content.reasoning import (
    TEXT_PART,
    decode_reasoning,
    decode_signature,
    encode_reasoning,
    encode_signature,
    enum_name,
    signs_earlier_reasoning,
)
from formatbridge.formats.shared.held_fields import drop_field
from formatbridge.formats.shared.media import guess_mime, media_kind, sniff_mime
from formatbridge.formats.shared.parts import (
    GOOGLE_IMAGES,
    INVALID_IMAGE_TYPES,
    encode_mime,
    encode_opaque,
    is_read_image,
    known_mime,
)
from formatbridge.formats.shared.tool_arguments import NOTHING_PARSED, ParsedArguments
from formatbridge.formats.shared.tool_results import Unanswered
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity

_DATA = ("executableCode", "codeExecutionResult", "inlineData", "fileData", "toolCall", "toolResponse")
"""Fields with the data of a part that is neither a text, nor a call, nor the result of a call."""
_MEDIA = frozenset({"inlineData", "fileData", "thought", "thoughtSignature", "mediaResolution", "audioTranscription"})
_BLOB = frozenset({"data", "mimeType", "displayName"})
_FILE = frozenset({"fileUri", "mimeType", "displayName"})
_RESPONSE_PART = frozenset({"inlineData", "fileData", "mediaResolution"})

# Source: the official SDK, ``PartMediaResolutionLevel``, and the numbers of the vendor's protocol definitions.
_RESOLUTIONS = ("MEDIA_RESOLUTION_UNSPECIFIED", "MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH")
_DETAILS = {
    "MEDIA_RESOLUTION_LOW": "low",
    "MEDIA_RESOLUTION_MEDIUM": "medium",
    "MEDIA_RESOLUTION_HIGH": "high",
    "MEDIA_RESOLUTION_ULTRA_HIGH": "original",
}
_LEVELS = {detail: level for level, detail in _DETAILS.items()}
_MIMES = {"image": "image/jpeg", "audio": "audio/wav", "video": "video/mp4", "document": "application/pdf"}
_OTHER_NAMES = INVALID_IMAGE_TYPES | {"application/csv": "text/csv"}
"""Frequent names that the server rejects, and the type of each (CherryHQ/cherry-studio#3088, google/adk-python#4028)."""
_REJECTED = (
    "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/vnd.openxmlformats-officedocument.",
    "image/svg", "image/tiff",
)  # fmt: skip
"""Beginnings of the types that the server answers with "Unsupported MIME type": Office (googleapis/python-genai#829, google/adk-java#1210),
and names of SVG and TIFF. Other documents are read as text."""
# The server reads these pages as videos. Source: the vendor's documentation, "Video understanding", "YouTube URLs".
_VIDEO_PAGES = ("https://www.youtube.com/", "https://youtube.com/", "https://youtu.be/")


def decode_part(raw: JsonObject, src: str, code_id: Callable[[str | None], str]) -> ir.Part | None:
    """Decode a part that is neither a call nor the result of a call; an empty part returns None. ``code_id``: as in ``decode_hosted``."""
    if raw.get("text") is not None:
        return _decode_text(raw, src)
    for field in _DATA:
        if raw.get(field) is not None:
            return _decode_media(raw, src) if field in ("inlineData", "fileData") else decode_hosted(raw, src, code_id)
    return _decode_without_data(raw, src)


def encode_part(part: ir.Part, pointer: str, context: EncodeContext, losses: Ledger) -> list[JsonObject]:
    """Encode a part that is neither a call nor a result, mostly as one part. ``pointer`` is its pointer in the target."""
    body: JsonObject | None = None
    match part:
        case ir.Reasoning():
            body = encode_reasoning(part, losses, carries_tokens=context.carries_tokens)
        case ir.Text():
            drop = drop_unheld_in_answer if context.is_answer else drop_unheld
            drop(part, losses)
            body = _encode_text(part, losses, carries_tokens=context.carries_tokens)
        case ir.Media():
            return _encode_media(part, pointer, context, losses)
        case ir.Refusal():
            body = _encode_refusal(part, context, losses)
        case ir.Opaque() | ir.Hosted():
            return _encode_foreign(part, context, losses)
        case ir.ToolCall() | ir.ToolResult():
            losses.dropped(part, code="orphan", severity="impossible")
        case _:
            assert_never(part)
    return [body] if body else []


def _encode_refusal(part: ir.Refusal, context: EncodeContext, losses: Ledger) -> JsonObject | None:
    """Encode a refusal as text."""
    drop_unheld(part, losses)
    # The format has no part for a refusal: the finish reason shows it.
    losses.weakened(part, "text", part.text, "flattened", severity=context.refusal_severity)
    return {"text": part.text} if part.text else None


def _encode_foreign(part: ir.Opaque | ir.Hosted, context: EncodeContext, losses: Ledger) -> list[JsonObject]:
    """Encode a part of another format: an execution of code if this format has it, else its text."""
    if isinstance(part, ir.Opaque) and part.format == "generate_content" and isinstance(part.raw, dict) and not context.is_answer:
        return [part.raw]
    if isinstance(part, ir.Hosted) and part.family == "code" and part.id in context.runs:
        return encode_hosted(part, losses, carries_tokens=context.carries_tokens)
    text = encode_opaque(part, losses)
    return encode_part(text, "", context, losses) if text else []


def _decode_text(raw: JsonObject, src: str) -> ir.Text | ir.Reasoning:
    """Decode a text part, or reasoning if it has the flag ``thought``."""
    # {"text": "Hello"}, {"text": "Let me see.", "thought": true}, {"text": "", "thoughtSignature": "Cg..."}
    if raw.get("thought"):
        return decode_reasoning(raw, src)
    part = ir.Text(raw["text"], src, read_extra(raw, TEXT_PART))
    if "thoughtSignature" in raw:
        part.signature = decode_signature(raw, src)
        if not part.text and not part.extra and signs_earlier_reasoning(part.signature):
            # The encoder of the parts of a turn removed the flag ``thought``.
            return ir.Reasoning("", src, part.signature)
    return part


def _encode_text(part: ir.Text, losses: Ledger, *, carries_tokens: bool) -> JsonObject | None:
    """Encode text; an empty text without a token returns None."""
    if part.signature is None:
        return {"text": part.text} if part.text else None
    token = encode_signature(part.signature, losses, carries_tokens=carries_tokens)
    return {"text": part.text} | token if part.text or token else None


def _decode_without_data(raw: JsonObject, src: str) -> ir.Part | None:
    """Decode a part without data: a token alone, or only qualifying fields. An empty part returns None."""
    # A signature may be on a part of any type, and on one without data (fixture ``reasoning_thought_signature_text``).
    if raw.get("thoughtSignature"):
        return _decode_text(raw | {"text": ""}, src)
    keys = [key for key, value in raw.items() if value is not None and key != "thought"]
    return ir.Opaque(format="generate_content", raw=raw, label=keys[0], src=src) if keys else None


def _decode_media(raw: JsonObject, src: str) -> ir.Part:
    """Decode inline data or file data. An image with the flag ``thought`` is no part of the response."""
    # Image models return interim images as reasoning (vendor's documentation, "Image generation", "Thinking process").
    if raw.get("thought"):
        return ir.Opaque(
            format="generate_content",
            raw=raw,
            label="thought",
            signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
            src=src,
            severity="lossy",
        )
    return _decode_media_fields(raw, src)


def _encode_media(part: ir.Media, pointer: str, context: EncodeContext, losses: Ledger) -> list[JsonObject]:
    """Encode media. In a response the transcript also becomes text."""
    if not (context.is_answer or context.keeps_media) and _is_rejected(part):
        losses.dropped(part, code="unsupported_media")
        return []
    body = _encode_media_part(part, pointer, losses, carries_tokens=context.carries_tokens)
    if body is None or not part.transcript:
        return [body] if body else []
    # The SDK's ``GenerateContentResponse.text`` has texts only, so the transcript becomes one (fixture audio_out of chat_completions).
    if context.is_answer:
        return [body, {"text": losses.weakened(part, "transcript", part.transcript, "flattened")}]
    return [body | {"audioTranscription": {"text": part.transcript}}]


def _is_rejected(part: ir.Media) -> bool:
    """Return whether the server rejects the type of media in a request."""
    mime = known_mime(part) or guess_mime(part.file_id or part.filename or "")
    if mime is None or mime in GOOGLE_IMAGES:
        return False
    return mime.lower().startswith(_REJECTED) or not is_read_image(mime, GOOGLE_IMAGES)


def decode_response_part(raw: JsonObject, src: str) -> ir.Part | None:
    """Decode a part of a function response: media, or a text. Other fields are not validated."""
    # {"inlineData": {"mimeType": "image/png", "data": "iVBORw0..."}}
    # The official type has media only (official SDK, ``FunctionResponsePart``).
    if isinstance(raw.get("text"), str):
        return ir.Text(raw["text"], src, read_extra(raw, frozenset({"text"})))
    fields = {key: raw[key] for key in _RESPONSE_PART if key in raw}
    if fields.get("inlineData") is None and fields.get("fileData") is None:
        keys = [key for key, value in raw.items() if value is not None]
        return ir.Opaque(format="generate_content", raw=raw, label=keys[0], src=src) if keys else None
    media = _decode_media_fields(fields, src)
    media.extra = merge_extra(read_extra(raw, _RESPONSE_PART), media.extra)
    return media


def _decode_media_fields(raw: JsonObject, src: str) -> ir.Media:
    """Decode the media of a part and the fields that qualify them."""
    # {"inlineData": {"mimeType": "image/png", "data": "iVBORw0..."}, "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}}
    # {"fileData": {"mimeType": "application/pdf", "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a"}}
    blob, file = raw.get("inlineData"), raw.get("fileData") or {}
    resolution, transcription = raw.get("mediaResolution") or {}, raw.get("audioTranscription") or {}
    source, known, prefix = (file, _FILE, "fileData/") if blob is None else (blob, _BLOB, "inlineData/")
    extra = merge_extra(
        read_extra(raw, _MEDIA) if blob is None or not file else read_extra(raw, _MEDIA - {"fileData"}),
        read_extra(source, known, prefix),
        read_extra(resolution, frozenset({"level"}), "mediaResolution/") if resolution else None,
        read_extra(transcription, frozenset({"text"}), "audioTranscription/") if transcription else None,
    )
    return _decode_source(
        source if known.issuperset(source) else {key: source[key] for key in known if key in source},
        src,
        detail=_decode_detail(resolution.get("level")) if resolution else None,
        transcript=transcription.get("text"),
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        extra=extra,
    )


def _encode_media_part(part: ir.Media, pointer: str, losses: Ledger, *, carries_tokens: bool) -> JsonObject | None:
    """Encode media without the transcript; ``pointer`` is the pointer of the part in the target, for an added MIME type."""
    if part.file_id is not None and part.vendor != "google":
        losses.dropped(part, code="foreign_id")
        return None
    drop_unheld(part, losses)
    body = _encode_source(part, pointer, losses)
    level = _encode_detail(part, losses) if part.detail is not None else None
    if level is not None:
        body["mediaResolution"] = {"level": level}
    if part.signature is None:
        return body
    return body | encode_signature(part.signature, losses, carries_tokens=carries_tokens)


def _decode_source(
    raw: JsonObject,
    src: str,
    *,
    detail: str | None,
    transcript: str | None,
    signature: ir.Signature | None,
    extra: JsonObject | None,
) -> ir.Media:
    """Decode inline data or file data; ``extra`` holds the unread fields of the part."""
    uri, mime = raw.get("fileUri"), raw.get("mimeType")
    mime = mime.lower() if mime else mime
    # One field has files of the vendor and public URLs ("Video understanding", "YouTube URLs"). Only the address shows which.
    is_file = uri is not None and _is_uploaded(uri)
    # Other formats derive the type from the URL, so a type that the file extension does not imply is a loss (document_url_types).
    if uri is not None and mime is not None and mime != guess_mime(uri):
        extra = merge_extra(extra, {"fileData/mimeType": mime})
    return ir.Media(
        kind=_media_kind_of(mime or guess_mime(uri or ""), uri),
        mime=mime,
        data=_standard_base64(raw.get("data") or "") if uri is None else None,
        url=None if is_file else uri,
        file_id=uri if is_file else None,
        vendor="google" if is_file else None,
        filename=raw.get("displayName"),
        detail=detail,
        transcript=transcript,
        signature=signature,
        src=src,
        extra=extra,
    )


def _encode_source(part: ir.Media, pointer: str, losses: Ledger) -> JsonObject:
    """Encode the source of media: inline data, or file data with a URI."""
    uri = part.file_id if part.file_id is not None else part.url
    field = "inlineData" if uri is None else "fileData"
    is_listed = part.kind in ("image", "video")  # the server accepts only listed types of these
    mime = (encode_mime(part, losses) if is_listed and part.mime else part.mime) or guess_mime(uri or part.filename or "")
    # The server rejects an unknown type with "Unsupported MIME type" (agentjido/req_llm#442), so one is derived from the data.
    if mime is None:
        mime = losses.added(f"{pointer}/{field}/mimeType", sniff_mime(part.data or "") or _MIMES[part.kind])
    elif mime in _OTHER_NAMES:
        mime = _OTHER_NAMES[mime]
    source = {"mimeType": mime, "data": part.data or ""} if uri is None else {"fileUri": uri, "mimeType": mime}
    if part.filename is not None:
        source["displayName"] = part.filename
    return {field: source}


def _is_uploaded(uri: str) -> bool:
    """Return whether a URI names an uploaded file or an object in the vendor's storage."""
    return not uri.startswith(("https://", "http://")) or uri.startswith("https://generativelanguage.googleapis.com/")


def _media_kind_of(mime: str | None, uri: str | None) -> ir.MediaKind:
    """Return the kind of media of a MIME type; without one, a video page is a video and all else a document."""
    if mime is None:
        return "video" if uri is not None and uri.startswith(_VIDEO_PAGES) else "document"
    return media_kind(mime)


def _standard_base64(data: str) -> str:
    """Convert base64 to the standard alphabet with padding; the vendor also accepts the URL-safe one."""
    # Bytes in proto3 JSON: "Either standard or URL-safe base64 encoding with/without paddings are accepted" (protobuf.dev).
    if "-" in data or "_" in data:
        data = data.replace("-", "+").replace("_", "/")
    return data if len(data) % 4 == 0 else data + "=" * (-len(data) % 4)


def _decode_detail(level: str | int | None) -> str | None:
    """Decode a media resolution."""
    name = enum_name(level, _RESOLUTIONS)
    return _DETAILS.get(name, name.lower()) if name and name != _RESOLUTIONS[0] else None


def _encode_detail(part: ir.Media, losses: Ledger) -> str | None:
    """Encode the detail of an image or a video; documents have none."""
    if part.detail in (None, "auto"):
        return None
    level = _LEVELS.get(part.detail)
    if part.kind == "document" or level is None:
        drop_field(part, "detail", losses)
        return None
    return level


class EncodeContext:
    """Facts about the request or response whose parts are encoded, and about its calls.

    ``is_answer``: it is a response. ``carries_tokens``: tokens of other formats are kept, tagged. ``runs``: the ids of the code
    executions that this format can express. ``generated_ids``: the ids of calls that had none. ``parsed``: arguments that were parsed
    before. ``refusal_severity``: the severity of encoding a refusal as text. ``keeps_media``: a request of this format, whose media stay
    whatever their type; the rules of a server have removed what it rejects.
    """

    __slots__ = (
        "_messages",
        "_names",
        "_paired",
        "carries_tokens",
        "generated_ids",
        "is_answer",
        "keeps_media",
        "parsed",
        "refusal_severity",
        "runs",
    )

    def __init__(
        self,
        messages: Sequence[ir.Message] = (),
        runs: Set[str] = frozenset(),
        *,
        is_answer: bool = False,
        carries_tokens: bool = False,
        parsed: ParsedArguments = NOTHING_PARSED,
        refusal_severity: Severity = "lossy",
        keeps_media: bool = False,
    ) -> None:
        self._messages = messages
        self._names: dict[str, str] | None = None  # collected on demand, because most conversations need none
        self._paired: dict[int, str] | None = None  # names by ``id()`` of the result, if call ids repeat
        self.generated_ids: set[str] = set()
        self.runs = runs
        self.is_answer = is_answer
        self.carries_tokens = carries_tokens
        self.parsed = parsed
        self.refusal_severity = refusal_severity
        self.keeps_media = keeps_media

    def name_of(self, result: ir.ToolResult) -> str | None:
        """Return the name of the tool whose call a result answers; None if there is no such call."""
        # A function response requires the name (official SDK, ``FunctionResponse.name``). Results of other formats have an id only.
        if self._names is None:
            calls = [part for message in self._messages for part in message.parts if type(part) is ir.ToolCall]
            self._names = {call.id: call.name for call in calls}
            self._paired = _names_of_results(self._messages) if len(self._names) < len(calls) else None
        return self._names.get(result.call_id) if self._paired is None else self._paired.get(id(result))


def _names_of_results(messages: Sequence[ir.Message]) -> dict[int, str]:
    """Return the names of the calls that results answer, by ``id()`` of the result.

    Call ids repeat if a server numbers the calls of each response from 0 (fixture tools_ids_repeat). A second result for an id belongs to
    the same call. A result before all calls of its id belongs to the next one.
    """
    names: dict[int, str] = {}
    open: dict[str, Unanswered[str]] = {}
    answered: dict[str, str] = {}
    unmatched: list[ir.ToolResult] = []
    for turn, message in enumerate(messages):
        for part in message.parts:
            if type(part) is ir.ToolCall:
                open.setdefault(part.id, Unanswered()).add(turn, part.name)
            elif type(part) is ir.ToolResult:
                call_id = part.call_id
                name = open[call_id].take() if call_id in open else None
                if name is not None:
                    answered[call_id] = name
                if call_id in answered:
                    names[id(part)] = answered[call_id]
                else:
                    unmatched.append(part)
    return names | {id(result): name for result in unmatched if (name := _next_name(result.call_id, open, answered)) is not None}


def _next_name(call_id: str, open: dict[str, Unanswered[str]], answered: dict[str, str]) -> str | None:
    """Return the name of a call that comes after its result."""
    first = open[call_id].first() if call_id in open else None
    return answered.get(call_id) if first is None else first
