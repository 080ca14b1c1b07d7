"""The peers: what each one's public API takes to turn a document of one format into another, bytes in and bytes out.

All three take and give Python values, so ``json.loads`` and ``json.dumps`` around them are part of the work, as in their READMEs.
None is made to look slow: no logging, no network, no file access, caches warm.

linguafranca (``martian-linguafranca``): ``convert_request_json`` and ``convert_response_json``. It knows no generate_content.
rosetta (``llm-rosetta``): requests by ``ConversionPipeline.convert_request``, its documented way for bodies of the wire
    (``convert`` is the same with the shape of Google's SDK); responses by the two converters, since the pipeline wants the request
    first. It keeps the tools and messages it has seen in process-wide caches by content, which a repeated body always hits.
litellm: the classes behind its calls, each direction its own; none of them validates the body.
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
    """Wrap what works on Python values."""
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
    near, far = names[source], names[target]
    return from_bytes_to_bytes(lambda body: convert(body, source_format=near, target_format=far).value)


def rosetta(kind: str, source: str, target: str) -> Conversion:
    """Return rosetta's conversion."""
    from llm_rosetta import ConversionPipeline, get_converter_for_provider

    names = {
        "chat_completions": "openai_chat",
        "messages": "anthropic",
        "responses": "openai_responses",
        "generate_content": "google",
    }
    near, far = names[source], names[target]
    if kind == "request":
        return from_bytes_to_bytes(lambda body: ConversionPipeline(near, far).convert_request(body))
    decode = get_converter_for_provider(near).response_from_provider
    encode = get_converter_for_provider(far).response_to_provider
    return from_bytes_to_bytes(lambda body: encode(decode(body)))


def litellm(kind: str, source: str, target: str) -> Conversion:
    """Return litellm's conversion."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise the import asks the network
    from benchmarks import peers_litellm

    change = peers_litellm.CHANGES.get((kind, source, target))
    if change is None:
        raise UnsupportedError
    return from_bytes_to_bytes(change)


PEERS: dict[str, Callable[[str, str, str], Conversion]] = {"linguafranca": linguafranca, "rosetta": rosetta, "litellm": litellm}
"""Name of a peer to what makes its conversion of a kind of document, from a source to a target."""

_DISTRIBUTIONS = {"linguafranca": "martian-linguafranca", "rosetta": "llm-rosetta", "litellm": "litellm"}


def versions() -> dict[str, str]:
    """Return each peer's version, or that it is not installed."""
    found: dict[str, str] = {}
    for name, distribution in _DISTRIBUTIONS.items():
        try:
            found[name] = version(distribution)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
