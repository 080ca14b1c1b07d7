"""Conversions of streams by the peers, with their public functions, one event per read.

All three work on Python values, event by event, so the parsing and writing of JSON and the framing are part of the work. Nothing slows
them down: they have no logging and no network, and pipelines are created before.

linguafranca: ``convert_response_stream_json``, lazily over the events. rosetta: the ``StreamProcessor`` of its pipeline, which
requires a request first. That request is converted outside the measured time. litellm: see ``peers_litellm_streams``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.peers import UnsupportedError
from benchmarks.stream_content import StreamConversion, events_of, framed

JsonObject = dict[str, Any]


def linguafranca(source: str, target: str) -> StreamConversion:
    """Return linguafranca's conversion."""
    import linguafranca as lf

    names = {
        "chat_completions": lf.FormatName.OPENAI_CHAT_COMPLETIONS,
        "messages": lf.FormatName.ANTHROPIC_MESSAGES,
        "responses": lf.FormatName.OPEN_RESPONSES,
    }
    if source not in names or target not in names:
        raise UnsupportedError
    formats = {"source_format": names[source], "target_format": names[target]}
    convert = lf.convert_response_stream_json
    return lambda reads: framed(target, convert(events_of(reads), **formats))


_QUESTION = [{"role": "user", "content": "hi"}]
_REQUESTS: dict[str, JsonObject] = {
    "chat_completions": {"model": "m", "stream": True, "messages": _QUESTION},
    "messages": {"model": "m", "stream": True, "max_tokens": 9, "messages": _QUESTION},
    "responses": {"model": "m", "stream": True, "input": "hi"},
    "generate_content": {"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
"""Format to its smallest request."""


def rosetta(source: str, target: str) -> StreamConversion:
    """Return rosetta's conversion. Its source format is that of the caller, which is the target here."""
    from llm_rosetta import ConversionPipeline

    names = {
        "chat_completions": "openai_chat",
        "messages": "anthropic",
        "responses": "openai_responses",
        "generate_content": "google",
    }
    pipeline = ConversionPipeline(names[target], names[source])
    pipeline.convert_request(_REQUESTS[target])

    def convert(reads: Iterable[bytes]) -> bytes:
        process = pipeline.create_stream_processor().process_chunk
        return framed(target, (converted for event in events_of(reads) for converted in process(event)))

    return convert


def litellm(source: str, target: str) -> StreamConversion:
    """Return litellm's conversion."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise the import downloads a file
    from benchmarks import peers_litellm_streams

    convert = peers_litellm_streams.STREAMS.get((source, target))
    if convert is None:
        raise UnsupportedError
    return convert


STREAM_PEERS: dict[str, Callable[[str, str], StreamConversion]] = {
    "linguafranca": linguafranca,
    "rosetta": rosetta,
    "litellm": litellm,
}
"""Name of a peer to what makes its conversion of streams, from a source to a target."""
