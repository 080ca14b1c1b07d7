"""Data URLs, media types, and files in the storage of a vendor.

No URL is fetched. Media is decoded in three cases only: the first bytes of media without a type, audio samples, and texts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from formatbridge import ir

_BY_EXTENSION = {
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    "svg": "image/svg+xml", "heic": "image/heic", "heif": "image/heif", "bmp": "image/bmp", "avif": "image/avif",
    "tiff": "image/tiff", "mp3": "audio/mpeg", "wav": "audio/wav", "flac": "audio/flac", "ogg": "audio/ogg", "aac": "audio/aac",
    "m4a": "audio/mp4", "opus": "audio/opus", "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
    "mpeg": "video/mpeg", "mpg": "video/mpeg", "avi": "video/x-msvideo", "pdf": "application/pdf", "txt": "text/plain",
    "md": "text/markdown", "csv": "text/csv", "html": "text/html", "json": "application/json", "xml": "text/xml",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}  # fmt: skip


PDF = "application/pdf"

_BEGINNINGS = (
    (b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"), (b"%PDF", PDF),
)  # fmt: skip
_CONTAINED = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}  # after RIFF and the size
_FAMILIES: Mapping[str, ir.MediaKind] = {"image": "image", "audio": "audio", "video": "video"}
_SNIFFED = 16  # characters of base64: twelve bytes

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)', re.IGNORECASE)
_ENCODINGS = {"": "utf-8", "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "utf-8", "iso-8859-1": "latin-1"}
"""Charset of a text to Python encoding. Without a charset a text is UTF-8, which includes us-ascii."""


def sniff_mime(data: str) -> str | None:
    """Return the media type of base64 data by their first bytes; None if it is unknown."""
    try:
        first = base64.b64decode(data[:_SNIFFED], validate=True)
    except ValueError:  # no base64
        return None
    if first.startswith(b"RIFF"):
        return _CONTAINED.get(first[8:12])
    return next((mime for beginning, mime in _BEGINNINGS if first.startswith(beginning)), None)


def read_file_data(text: str, name: str | None) -> tuple[str | None, str]:
    """Read the bytes of a file, a data URL or base64. Return its media type by its name or its first bytes, else None, and the data."""
    return read_data_url(text) or (guess_mime(name or "") or sniff_mime(text), text)


def read_text_data(data: str, mime: str) -> str | None:
    """Decode base64 data to text by the charset of its media type; None if it is no text, or the charset is unknown."""
    declared = _CHARSET.search(mime)
    encoding = _ENCODINGS.get(declared[1].lower() if declared else "")
    try:
        return base64.b64decode(data, validate=True).decode(encoding) if encoding else None
    except ValueError:  # no base64, or no text
        return None


def known_text(part: ir.Media) -> str | None:
    """Return the text of a document with data of a textual type; None for other media, and without text."""
    if part.kind != "document" or part.data is None or not (part.mime or "").startswith("text/"):
        return None
    return read_text_data(part.data, part.mime or "") or None


def read_data_url(url: str) -> tuple[str, str] | None:
    """Split a data URL into media type, with its parameters, and base64 data; None if it is no data URL.

    Follows the WHATWG fetch standard: the scheme in any case, spaces around the base64 mark, other data percent-decoded. Without a type
    the first bytes decide, and then it is a text.
    """
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url.partition(",")
    if not comma:
        return None
    declared, semicolon, mark = head[5:].rpartition(";")
    if semicolon and mark.strip().lower() == "base64":
        data = data.strip() if data[:1].isspace() or data[-1:].isspace() else data
        return _declared_mime(declared, data), data
    return _declared_mime(head[5:], ""), base64.b64encode(unquote_to_bytes(data)).decode()


def _declared_mime(declared: str, data: str) -> str:
    """Return the media type of a data URL with its parameters."""
    mime, mark, parameters = declared.partition(";")
    mime = mime.strip().lower() or sniff_mime(data) or "text/plain"
    return mime if not mark else f"{mime};{parameters.rstrip('; ')}".rstrip("; ")


def write_data_url(mime: str, data: str) -> str:
    """Join a media type, which may have parameters, and base64 data into a data URL."""
    return f"data:{mime};base64,{data}"


def is_address(text: str) -> bool:
    """Return whether a text in place of data is a URL: of the web, or of an object in Google Cloud Storage."""
    return text[:8].lower().startswith(("https://", "http://", "gs://"))


def guess_mime(url: str) -> str | None:
    """Return the media type by the extension of a URL's path or of a file name, else None."""
    name = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    return _BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None


def default_filename(mime: str | None) -> str:
    """Return a name for a document without one, by its type where that is known."""
    bare = bare_mime(mime or "")
    for extension, known in _BY_EXTENSION.items():
        if known == bare:
            return f"document.{extension}"
    return "document"


def bare_mime(mime: str) -> str:
    """Return a media type without its parameters."""
    return mime.partition(";")[0].rstrip()


def media_kind(mime: str) -> ir.MediaKind:
    """Return ``image``, ``audio``, ``video`` or ``document`` for a media type."""
    return _FAMILIES.get(mime.partition("/")[0], "document")


def as_stored_file(part: ir.Media) -> ir.Media:
    """Return media with a URL in the storage of one vendor as a file of that vendor, because no other vendor can read it."""
    if part.url is not None and part.url[:5].lower() == "gs://":
        part.file_id, part.url, part.vendor = part.url, None, "google"  # Google Cloud Storage
    return part
