"""What is measured of streams: bytes in and bytes out, one event per read, the peers beside it; growth; and what is held meanwhile."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations, product

import formatbridge
from benchmarks.measure import Effort, Work, exponent, medians, own_seconds
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
"""More than end any stream; before them nothing but the deltas is held."""


def convert(source: str, target: str, reads: Iterable[bytes]) -> bytes:
    """Convert a stream, read by read: what the bounds are about."""
    converter = formatbridge.StreamConverter(source=source, target=target)
    feed = converter.feed
    made = [feed(read) for read in reads]
    made.append(converter.finish())
    return b"".join(made)


def stream_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure a stream in all directions."""
    said = ANSWERS[case]()
    for source in STREAMS:
        reads = STREAMS[source](said)
        size = sum(map(len, reads))
        seconds = medians({"json": _json(reads)}, effort)["json"]
        speed = f"{len(reads)} events, {size:,} bytes, {seconds / len(reads) * 1e6:.3g} µs an event here"
        yield Row(case=case, what=f"json.dumps(json.loads()) of {source}: {speed}", figure=1.0)
    for source, target in permutations(STREAMS, 2):
        yield direction_row(case, said, source, target, effort)


def direction_row(case: str, said: StreamedAnswer, source: str, target: str, effort: Effort) -> Row:
    """Measure one direction, the peers beside it."""
    reads = STREAMS[source](said)
    works: dict[str, Work] = {"formatbridge": partial(convert, source, target, reads)}
    words: dict[str, str] = {}
    for name, make in STREAM_PEERS.items():
        try:
            works[name] = partial(make(source, target), reads)
        except (ImportError, UnsupportedError) as error:
            words[name] = "not installed" if isinstance(error, ImportError) else "has none"
    words |= {name: word for name, work in works.items() if (word := fault(work, target, said))}
    works = {name: work for name, work in works.items() if name not in words}
    times = medians({"json": _json(reads), **works}, effort)
    ratios = {name: times[name] / times["json"] for name in works}
    return Row(
        case=case,
        what=f"{source} → {target}",
        figure=ratios.get("formatbridge"),
        word=words.get("formatbridge", ""),
        peers={name: ratios.get(name) or words[name] for name in STREAM_PEERS},
        bound=BOUNDS["stream through responses or generate_content" if {source, target} & {*_HEAVY} else "stream"],
    )


def fault(work: Callable[[], object], target: str, said: StreamedAnswer) -> str:
    """Run work once; return a word for what is wrong: the error's name, or that text or arguments differ from what was said."""
    expected = "".join(said.text), [json.loads("".join(call.arguments)) for call in said.calls]
    try:
        made = work()
    except Exception as error:
        return type(error).__name__
    try:
        return "" if isinstance(made, bytes) and content(target, made) == expected else "loses content"
    except (ValueError, KeyError):
        return "loses content"


def _json(reads: Sequence[bytes]) -> Work:
    events = [data for read in reads if (data := data_of(read))]

    def work() -> None:
        for event in events:
            json.dumps(json.loads(event))

    return work


def growth_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure how time grows, over a factor of eight, in all directions, home included; what is made is not kept, as in life."""
    once = replace(effort, rounds=1)
    counts = SMALL_COUNT, FACTOR * SMALL_COUNT
    sizes = SMALL_SIZE, FACTOR * SMALL_SIZE
    with_pieces = [format for format in STREAMS if format != "generate_content"]  # whose calls come whole
    for what, formats, answers, size in (
        (f"text deltas, {_span(counts)}", [*STREAMS], [text_answer(deltas=count) for count in counts], 0),
        (f"deltas of one call, {_span(counts)}", with_pieces, [one_call(deltas=count) for count in counts], 0),
        ("bytes of one event, 2 to 16 MiB by 4 KiB", [*STREAMS], [one_piece(size=size) for size in sizes], READ),
    ):
        for source in formats:
            events = [STREAMS[source](said) for said in answers]
            figure = _exponent([_json(reads) for reads in events], once)
            yield Row(case=case, what=f"exponent in {what}, json.dumps(json.loads()) of {source}", figure=figure)
            cut = [_recut(reads, size) for reads in events]
            for target in STREAMS:
                figure = _exponent([partial(drain, source, target, reads) for reads in cut], once)
                yield Row(case=case, what=f"exponent in {what}, {source} → {target}", figure=figure, bound=BOUNDS["growth"])


def _span(counts: tuple[int, int]) -> str:
    return f"{counts[0]:,} to {counts[1]:,}"


def _exponent(works: list[Work], effort: Effort) -> float:
    """Compare a small piece of work with a large one."""
    times = medians(dict(zip(("small", "large"), works, strict=True)), effort, own_seconds)
    return exponent(times["small"], times["large"], FACTOR)


def drain(source: str, target: str, reads: Iterable[bytes]) -> None:
    """Convert a stream and keep nothing of it."""
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
    """Measure what a converter holds for each delta, as Python allocates it: the collected answer, and at home the events as well."""
    del effort  # exact at the first time
    counts = SMALL_COUNT, FACTOR * SMALL_COUNT
    for source, target in product(STREAMS, STREAMS):
        small, large = (STREAMS[source](letters(deltas=count)) for count in counts)
        drain(source, target, small)  # what is made once for all is not counted
        before, after = (_held(source, target, reads) for reads in (small, large))
        held, peak = ((late - early) / (counts[1] - counts[0]) for early, late in zip(before, after, strict=True))
        what = f"bytes held per delta of 6 letters, {source} → {target} (at the peak, which is the end: {peak:.0f})"
        yield Row(case=case, what=what, figure=held)


def _held(source: str, target: str, reads: list[bytes]) -> tuple[int, int]:
    """Return the bytes that a converter holds before its stream ends, and the peak; what it returned is not kept."""
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
