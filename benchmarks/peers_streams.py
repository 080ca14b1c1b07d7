"""The peers' streams: what each one's public API takes to turn a live stream into another format, one event per read.

All three take and give Python values, event by event, so reading an event's JSON and writing one are part of the work, with the least
code that does it; framing is ours to add. None is made to look slow: no logging, no network, pipelines built beforehand.

linguafranca: ``convert_response_stream_json``, lazily over the events. rosetta: the ``StreamProcessor`` of its pipeline, which wants a
request first; that one is converted outside the measured time. litellm: see ``peers_litellm_streams``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.peers import UnsupportedError
from benchmarks.streams import DONE

JsonObject = dict[str, Any]
StreamConversion = Callable[[Iterable[bytes]], bytes]
"""Turns the reads of a stream into another stream; each read is taken only when what came before it is converted."""


def events_of(reads: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yield the JSON of each event, as it is read."""
    for read in reads:
        if read != DONE:
            yield json.loads(read[read.index(b"data: ") + 6 :])


def framed(target: str, events: Iterable[JsonObject]) -> bytes:
    """Write events, one by one."""
    if target in ("messages", "responses"):
        return b"".join([f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events])
    if target == "generate_content":
        return b"".join([f"data: {json.dumps(event)}\r\n\r\n".encode() for event in events])
    return b"".join([*(f"data: {json.dumps(event)}\n\n".encode() for event in events), DONE])


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
    near, far = names[source], names[target]
    convert = lf.convert_response_stream_json
    return lambda reads: framed(target, convert(events_of(reads), source_format=near, target_format=far))


_QUESTION = [{"role": "user", "content": "hi"}]
_REQUESTS: dict[str, JsonObject] = {
    "chat_completions": {"model": "m", "stream": True, "messages": _QUESTION},
    "messages": {"model": "m", "stream": True, "max_tokens": 9, "messages": _QUESTION},
    "responses": {"model": "m", "stream": True, "input": "hi"},
    "generate_content": {"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}
"""Format to the least request of it."""


def rosetta(source: str, target: str) -> StreamConversion:
    """Return rosetta's conversion. Its source is the caller's format, which is our target."""
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
        return framed(target, (made for event in events_of(reads) for made in process(event)))

    return convert


def litellm(source: str, target: str) -> StreamConversion:
    """Return litellm's conversion."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise the import asks the network
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
