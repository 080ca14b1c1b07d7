"""The four formats as one table; each module offers what ``_protocol.Format`` says and loads on first use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import cast, get_args

from formatbridge import ir
from formatbridge.errors import UnknownFormatError
from formatbridge.formats.format import Format

FORMATS: tuple[ir.Format, ...] = get_args(ir.Format)
"""The names of the formats, in the order of every table."""

PATHS: Mapping[str, str] = {
    "chat_completions": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "generate_content": "/v1beta/models/{model}:generateContent",
}
"""URL path of each format's endpoint on the relay; ``{model}`` stands for the model."""
STREAM_PATHS: Mapping[str, str] = {"generate_content": "/v1beta/models/{model}:streamGenerateContent?alt=sse"}
"""Path and query of the endpoints that are others where the answer is to be a stream."""


def load(name: str) -> Format:
    """Return a format by its name; raise ``UnknownFormatError`` on any other."""
    try:
        return _load(name)
    except TypeError:  # something that is no name and cannot be looked up
        raise UnknownFormatError(name, FORMATS) from None


def load_both(source: str, target: str) -> tuple[Format, Format]:
    """Return the formats of both ends of a conversion, as ``load`` does."""
    try:
        return _load(source), _load(target)
    except TypeError:
        return load(source), load(target)


@cache
def _load(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownFormatError(name, FORMATS)
    return cast(Format, import_module(f"formatbridge.formats.{name}"))
