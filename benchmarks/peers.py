"""Conversions of documents by the peers, with their public functions, bytes to bytes.

All three work on Python values, so ``json.loads`` and ``json.dumps`` are part of the work, as in their READMEs. Nothing slows them down:
they have no logging, no network and no file access, and their caches are filled.

linguafranca (``martian-linguafranca``): ``convert_request_json`` and ``convert_response_json``. It has no generate_content.
rosetta (``llm-rosetta``): requests by ``ConversionPipeline.convert_request``, which its documentation names for JSON bodies
    (``convert`` is the same for objects of Google's SDK); responses by the two converters, because the pipeline requires the request
    first. It caches tools and messages by content for the whole process, so a repeated body is always in the cache.
litellm: the classes behind its functions, another one for each direction. None of them validates the body.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

JsonObject = dict[str, Any]
Conversion = Callable[[bytes], bytes]
Change = Callable[[JsonObject], JsonObject]


class UnsupportedError(Exception):
    """A direction that a peer does not have."""


def from_bytes_to_bytes(change: Change) -> Conversion:
    """Return a conversion of bytes by a function that works on Python values."""
    return lambda body: json.dumps(change(json.loads(body))).encode()


def linguafranca(kind: str, source: str, target: str) -> Conversion:
    """Return linguafranca's conversion."""
    import linguafranca as lf

    names = {
        "chat_completions": lf.FormatName.OPENAI_CHAT_COMPLETIONS,
        "messages": lf.FormatName.ANTHROPIC_MESSAGES,
        "responses": lf.FormatName.OPEN_RESPONSES,
    }
    if source not in names or target not in names:
        raise UnsupportedError
    convert = lf.convert_request_json if kind == "request" else lf.convert_response_json
    formats = {"source_format": names[source], "target_format": names[target]}
    return from_bytes_to_bytes(lambda body: convert(body, **formats).value)


def rosetta(kind: str, source: str, target: str) -> Conversion:
    """Return rosetta's conversion."""
    from llm_rosetta import ConversionPipeline, get_converter_for_provider

    names = {
        "chat_completions": "openai_chat",
        "messages": "anthropic",
        "responses": "openai_responses",
        "generate_content": "google",
    }
    source_name, target_name = names[source], names[target]
    if kind == "request":
        return from_bytes_to_bytes(lambda body: ConversionPipeline(source_name, target_name).convert_request(body))
    decode = get_converter_for_provider(source_name).response_from_provider
    encode = get_converter_for_provider(target_name).response_to_provider
    return from_bytes_to_bytes(lambda body: encode(decode(body)))


def litellm(kind: str, source: str, target: str) -> Conversion:
    """Return litellm's conversion."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise the import downloads a file
    from benchmarks import peers_litellm

    change = peers_litellm.CHANGES.get((kind, source, target))
    if change is None:
        raise UnsupportedError
    return from_bytes_to_bytes(change)


PEERS: dict[str, Callable[[str, str, str], Conversion]] = {"linguafranca": linguafranca, "rosetta": rosetta, "litellm": litellm}
"""Name of a peer to a function that returns its conversion of a kind of document, from a source to a target."""

_DISTRIBUTIONS = {"linguafranca": "martian-linguafranca", "rosetta": "llm-rosetta", "litellm": "litellm"}


def versions() -> dict[str, str]:
    """Return each peer's version, or that it is not installed."""
    installed: dict[str, str] = {}
    for name, distribution in _DISTRIBUTIONS.items():
        try:
            installed[name] = version(distribution)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed
