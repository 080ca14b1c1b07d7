"""Data URLs and media types. Nothing is ever fetched or decoded."""

from __future__ import annotations

import base64
from urllib.parse import unquote_to_bytes

_BY_EXTENSION = {
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
    "svg": "image/svg+xml", "heic": "image/heic", "heif": "image/heif", "bmp": "image/bmp", "avif": "image/avif",
    "tiff": "image/tiff", "mp3": "audio/mpeg", "wav": "audio/wav", "flac": "audio/flac", "ogg": "audio/ogg", "aac": "audio/aac",
    "m4a": "audio/mp4", "opus": "audio/opus", "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
    "mpeg": "video/mpeg", "mpg": "video/mpeg", "avi": "video/x-msvideo", "pdf": "application/pdf", "txt": "text/plain",
    "md": "text/markdown", "csv": "text/csv", "html": "text/html", "json": "application/json", "xml": "text/xml",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}  # fmt: skip


def read_data_url(url: str) -> tuple[str, str] | None:
    """Split a data URL into media type and base64 data; None where it is no data URL. Parameters of the type are left out.

    Follows the WHATWG fetch standard: the scheme in any case, spaces around the base64 mark, plain data percent-decoded.
    """
    if url[:5].lower() != "data:":
        return None
    head, comma, data = url.partition(",")
    if not comma:
        return None
    mime, *parameters = (piece.strip() for piece in head[5:].split(";"))
    if parameters and parameters[-1].lower() == "base64":
        return mime.lower() or "text/plain", data.strip() if data[:1].isspace() or data[-1:].isspace() else data
    return mime.lower() or "text/plain", base64.b64encode(unquote_to_bytes(data)).decode()


def write_data_url(mime: str, data: str) -> str:
    """Join a media type and base64 data into a data URL."""
    return f"data:{mime};base64,{data}"


def guess_mime(url: str) -> str | None:
    """Tell the media type from the extension of a URL's path or of a file name; None where it says nothing."""
    name = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    return _BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None


def bare_mime(mime: str) -> str:
    """Return a media type without its parameters."""
    return mime.partition(";")[0].rstrip()


def media_kind(mime: str) -> str:
    """Tell ``image``, ``audio``, ``video`` or ``document`` from a media type."""
    family = mime.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"
