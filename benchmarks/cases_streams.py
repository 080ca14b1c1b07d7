"""Measure streams, bytes to bytes with one event per read: time, the peers, growth and memory."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations, product

import formatbridge
from benchmarks.measure import Effort, Work, exponent, medians, user_seconds
from benchmarks.peers import UnsupportedError
from benchmarks.peers_streams import STREAM_PEERS
from benchmarks.rows import BOUNDS, Row
from benchmarks.stream_content import content
from benchmarks.streams import STREAMS, StreamedAnswer, calling_answer, data_of, letters, one_call, one_piece, text_answer

ANSWERS: dict[str, Callable[[], StreamedAnswer]] = {"stream": text_answer, "stream_calls": calling_answer}
"""Name of a case to its answer."""

FACTOR = 8
SMALL_COUNT = 5_000
SMALL_SIZE = 2 * 1024 * 1024
READ = 4096

_HEAVY = ("responses", "generate_content")
_LAST_EVENTS = 10
"""More events than the end of any stream has. Before them a converter holds the deltas only."""


def convert(source: str, target: str, reads: Iterable[bytes]) -> bytes:
    """Convert a stream, read by read. The bounds are those of its time."""
    converter = formatbridge.StreamConverter(source=source, target=target)
    feed = converter.feed
    converted = [feed(read) for read in reads]
    converted.append(converter.finish())
    return b"".join(converted)


def stream_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure a stream in all directions."""
    answer = ANSWERS[case]()
    for source in STREAMS:
        reads = STREAMS[source](answer)
        size = sum(map(len, reads))
        seconds = medians({"json": json_of_events(reads)}, effort)["json"]
        speed = f"{len(reads)} events, {size:,} bytes, {seconds / len(reads) * 1e6:.3g} µs an event here"
        yield Row(case=case, what=f"json.dumps(json.loads()) of {source}: {speed}", figure=1.0)
    for source, target in permutations(STREAMS, 2):
        yield direction_row(case, answer, source, target, effort)


def direction_row(case: str, answer: StreamedAnswer, source: str, target: str, effort: Effort) -> Row:
    """Measure one direction, and the peers in it."""
    reads = STREAMS[source](answer)
    works: dict[str, Work] = {"formatbridge": partial(convert, source, target, reads)}
    words: dict[str, str] = {}
    for name, make in STREAM_PEERS.items():
        try:
            works[name] = partial(make(source, target), reads)
        except (ImportError, UnsupportedError) as error:
            words[name] = "not installed" if isinstance(error, ImportError) else "has none"
    words |= {name: word for name, work in works.items() if (word := fault(work, target, answer))}
    works = {name: work for name, work in works.items() if name not in words}
    times = medians({"json": json_of_events(reads), **works}, effort)
    ratios = {name: times[name] / times["json"] for name in works}
    return Row(
        case=case,
        what=f"{source} → {target}",
        figure=ratios.get("formatbridge"),
        word=words.get("formatbridge", ""),
        peers={name: ratios.get(name) or words[name] for name in STREAM_PEERS},
        bound=BOUNDS["stream through responses or generate_content" if {source, target} & {*_HEAVY} else "stream"],
    )


def fault(work: Callable[[], object], target: str, answer: StreamedAnswer) -> str:
    """Run work once; return a word for what is wrong: the error's name, or that text or arguments differ from the answer."""
    expected = "".join(answer.text), [json.loads("".join(call.arguments)) for call in answer.calls]
    try:
        converted = work()
    except Exception as error:
        return type(error).__name__
    try:
        return "" if isinstance(converted, bytes) and content(target, converted) == expected else "loses content"
    except (ValueError, KeyError):
        return "loses content"


def json_of_events(reads: Sequence[bytes]) -> Work:
    """Return the work of ``json`` on each event of a stream."""
    events = [data for read in reads if (data := data_of(read))]

    def work() -> None:
        for event in events:
            json.dumps(json.loads(event))

    return work


def growth_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure how time grows over a factor of eight, in all directions, same-format ones included. The output is not kept."""
    once = replace(effort, rounds=1)
    counts = SMALL_COUNT, FACTOR * SMALL_COUNT
    sizes = SMALL_SIZE, FACTOR * SMALL_SIZE
    with_pieces = [format for format in STREAMS if format != "generate_content"]  # its calls are not sent in pieces
    for what, formats, answers, size in (
        (f"text deltas, {_span(counts)}", [*STREAMS], [text_answer(deltas=count) for count in counts], 0),
        (f"deltas of one call, {_span(counts)}", with_pieces, [one_call(deltas=count) for count in counts], 0),
        ("bytes of one event, 2 to 16 MiB by 4 KiB", [*STREAMS], [one_piece(size=size) for size in sizes], READ),
    ):
        for source in formats:
            events = [STREAMS[source](answer) for answer in answers]
            figure = _exponent([json_of_events(reads) for reads in events], once)
            yield Row(case=case, what=f"exponent in {what}, json.dumps(json.loads()) of {source}", figure=figure)
            cut = [_recut(reads, size) for reads in events]
            for target in STREAMS:
                figure = _exponent([partial(drain, source, target, reads) for reads in cut], once)
                yield Row(case=case, what=f"exponent in {what}, {source} → {target}", figure=figure, bound=BOUNDS["growth"])


def _span(counts: tuple[int, int]) -> str:
    return f"{counts[0]:,} to {counts[1]:,}"


def _exponent(works: list[Work], effort: Effort) -> float:
    """Compare a small piece of work with a large one."""
    times = medians(dict(zip(("small", "large"), works, strict=True)), effort, user_seconds)
    return exponent(times["small"], times["large"], FACTOR)


def drain(source: str, target: str, reads: Iterable[bytes]) -> None:
    """Convert a stream without keeping the output."""
    converter = formatbridge.StreamConverter(source=source, target=target)
    for read in reads:
        converter.feed(read)
    converter.finish()


def _recut(reads: list[bytes], size: int) -> list[bytes]:
    """Cut a stream into reads of that size; 0: leave one event per read."""
    if not size:
        return reads
    whole = b"".join(reads)
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def memory_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure the memory that a converter holds for each delta: the collected answer, and in the same format the events too."""
    del effort  # memory needs no repetition
    counts = SMALL_COUNT, FACTOR * SMALL_COUNT
    for source, target in product(STREAMS, STREAMS):
        small, large = (STREAMS[source](letters(deltas=count)) for count in counts)
        drain(source, target, small)  # what is created once for all streams is not counted
        before, after = (_held(source, target, reads) for reads in (small, large))
        held, peak = ((larger - smaller) / (counts[1] - counts[0]) for smaller, larger in zip(before, after, strict=True))
        what = f"bytes held per delta of 6 letters, {source} → {target} (at the peak, which is the end: {peak:.0f})"
        yield Row(case=case, what=what, figure=held)


def _held(source: str, target: str, reads: list[bytes]) -> tuple[int, int]:
    """Return the bytes that a converter holds before its stream ends, and the peak. The output is not kept."""
    gc.collect()
    tracemalloc.start()
    converter = formatbridge.StreamConverter(source=source, target=target)
    for read in reads[:-_LAST_EVENTS]:
        converter.feed(read)
    held = tracemalloc.get_traced_memory()[0]
    for read in reads[-_LAST_EVENTS:]:
        converter.feed(read)
    converter.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held, peak
