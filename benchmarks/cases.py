"""Measure requests, answers, growth, memory and the import. Streams and the client are in other modules."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from subprocess import CalledProcessError

from pydantic_core import from_json, to_json

import formatbridge
from benchmarks import cases_streams, sse, streams_client
from benchmarks.bodies import MODEL
from benchmarks.measure import Effort, Work, exponent, import_times, medians, peak_memory, resident_peak, traced_peak, user_seconds
from benchmarks.payloads import PAYLOADS, TURNS, Payload, alternating, sized_request
from benchmarks.peers import PEERS, UnsupportedError
from benchmarks.rows import BOUNDS, DIRECTIONS, Row, attempt


def converted(kind: str, source: str | None, target: str, body: object) -> formatbridge.Converted:
    """Convert one document with ``formatbridge``."""
    if kind == "response":
        return formatbridge.convert_response(body, source=source, target=target)
    if source == "generate_content":  # its model is in the URL
        return formatbridge.convert_request(body, source=source, target=target, model=MODEL)
    return formatbridge.convert_request(body, source=source, target=target)


def conversion(kind: str, source: str, target: str, body: bytes, model: str | None = None) -> Callable[[], bytes]:
    """Return a function that converts bytes to bytes with the public function, as the README does. The bounds are those of its time.

    ``model``: the model in the URL, if the body has none. A body of generate_content never has one.
    """
    if kind == "response":
        return lambda: formatbridge.convert_response(body, source=source, target=target).json()
    if source == "generate_content" or model is not None:
        url_model = model or MODEL
        return lambda: formatbridge.convert_request(body, source=source, target=target, model=url_model).json()
    return lambda: formatbridge.convert_request(body, source=source, target=target).json()


def convert_and_report(kind: str, source: str, target: str, body: bytes) -> bytes:
    """Convert bytes to bytes and read the report, which is computed only then."""
    result = converted(kind, source, target, body)
    _ = result.losses, result.additions
    return result.json()


def convert_typed(kind: str, source: str, target: str, body: bytes) -> bytes:
    """Convert a typed model to a typed model."""
    from formatbridge.convert.input import wire_model

    typed = wire_model(source, kind).model_validate_json(body)  # type: ignore[arg-type]  # kinds are text here
    return converted(kind, None, target, typed).parse().model_dump_json(exclude_unset=True, by_alias=True).encode()


def payload_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure one payload in all directions, and other work on the same payload for comparison."""
    payload = PAYLOADS[case]
    yield from baseline_rows(case, payload, effort)
    for source, target in DIRECTIONS:
        yield direction_row(case, payload, source, target, effort)


def baseline_rows(case: str, payload: Payload, effort: Effort) -> Iterator[Row]:
    """Measure ``json``, the parser alone, typed models, and a conversion whose report is read."""
    source, target = DIRECTIONS[0]
    body = payload.bytes(source)
    works: dict[str, Work] = {"json": _json(body), "pydantic_core from_json, to_json": lambda: to_json(from_json(body))}
    extras: dict[str, Work] = {
        f"typed models in and out, {source} → {target}": lambda: convert_typed(payload.kind, source, target, body),
        f"report of losses read, {source} → {target}": lambda: convert_and_report(payload.kind, source, target, body),
    }
    words = {what: attempt(work, 0) for what, work in extras.items()}
    times = medians(works | {what: work for what, work in extras.items() if not words[what]}, effort)
    speed = f"{len(body):,} bytes, {times['json'] * 1e3:.3g} ms here"
    yield Row(case=case, what=f"json.dumps(json.loads()): {speed}", figure=1.0)
    for what in (*works, *extras):
        if what != "json":
            figure = times[what] / times["json"] if what in times else None
            yield Row(case=case, what=what, figure=figure, word=words.get(what, ""))


def direction_row(case: str, payload: Payload, source: str, target: str, effort: Effort) -> Row:
    """Measure one direction, and the peers in it."""
    body = payload.bytes(source)
    least = 0.8 * len(payload.bytes(target))
    works: dict[str, Work] = {"formatbridge": conversion(payload.kind, source, target, body)}
    words: dict[str, str] = {}
    for name, make in PEERS.items():
        try:
            works[name] = _bound_to(make(payload.kind, source, target), body)
        except (ImportError, UnsupportedError) as error:
            words[name] = "not installed" if isinstance(error, ImportError) else "has none"
    words |= {name: word for name, work in works.items() if (word := attempt(work, least))}
    works = {name: work for name, work in works.items() if name not in words}
    times = medians({"json": _json(body), **works}, effort)
    ratios: dict[str, float | str] = {name: times[name] / times["json"] for name in works}
    figure = ratios.get("formatbridge")
    return Row(
        case=case,
        what=f"{source} → {target}",
        figure=figure if isinstance(figure, float) else None,
        word=words.get("formatbridge", ""),
        peers={name: ratios.get(name) or words[name] for name in PEERS},
        bound=BOUNDS[case],
    )


def _json(body: bytes) -> Work:
    return lambda: json.dumps(json.loads(body))


def _bound_to(conversion: Callable[[bytes], bytes], body: bytes) -> Work:
    return lambda: conversion(body)


def growth_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure how time grows with the number of messages, and with their size, over a factor of eight."""
    steps = {
        "messages, 60 to 480": (sized_request(), sized_request(messages=480)),
        "bytes of a message, 8 kB to 64 kB": (sized_request(messages=20, size=8000), sized_request(messages=20, size=64_000)),
    }
    for what, (small, large) in steps.items():
        for source, target in DIRECTIONS:
            sizes = small.bytes(source), large.bytes(source)
            figure, word = _growth(source, target, sizes, effort)
            row = f"exponent in {what}, {source} → {target}"
            yield Row(case=case, what=row, figure=figure, word=word, bound=BOUNDS[case])
    for target in (target for source, target in DIRECTIONS if source == "chat_completions"):
        exponents = {f"{' and '.join(kinds)}": _alternation_exponent(kinds, target, effort) for kinds in TURN_PAIRS}
        worst = max(exponents, key=lambda name: exponents[name])
        row = f"exponent in alternating turns, 500 to 4000 pairs, the highest ({worst}), chat_completions → {target}"
        yield Row(case=case, what=row, figure=exponents[worst], bound=BOUNDS[case])
    for what, (make, size) in sse.STREAMS.items():
        streams = {"small": make(sse.SIZE), "large": make(8 * sse.SIZE)}
        times = medians({name: partial(sse.read, stream, size) for name, stream in streams.items()}, effort)
        figure = exponent(times["small"], times["large"], 8)
        yield Row(case=case, what=f"exponent in bytes of a stream, 64 to 512 KiB: {what}", figure=figure, bound=BOUNDS[case])


TURN_PAIRS = tuple(combinations_with_replacement(TURNS, 2))
"""All pairs of kinds of turns, which alternate in a request."""


def _alternation_exponent(kinds: tuple[str, str], target: str, effort: Effort) -> float:
    """Return the exponent in the number of turns, if their kinds alternate."""
    works = [conversion("request", "chat_completions", target, alternating(kinds, count)) for count in (500, 4000)]
    times = medians(dict(zip(("small", "large"), works, strict=True)), replace(effort, rounds=1, seconds=0), user_seconds)
    return exponent(times["small"], times["large"], 8)


def _growth(source: str, target: str, sizes: tuple[bytes, bytes], effort: Effort) -> tuple[float | None, str]:
    """Return the exponent for one direction, in the size of the body in bytes, or the error that the conversion raises."""
    works: list[Work] = [conversion("request", source, target, body) for body in sizes]
    word = attempt(works[0], 0)
    if word:
        return None, word
    times = medians({"small": works[0], "large": works[1]}, effort)
    return exponent(times["small"], times["large"], len(sizes[1]) / len(sizes[0])), ""


def memory_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure the peak of memory as multiples of the size of the payload, which is not counted."""
    del effort  # memory needs no repetition
    for name in ("conversation", "images"):
        for source, target in DIRECTIONS:
            what = f"peak / payload, {name}, {source} → {target}"
            bound = BOUNDS[f"{case} {name}"]
            body, warmer = PAYLOADS[name].bytes(source), PAYLOADS["tiny"].bytes(source)
            try:
                traced, resident = peak_memory("request", source, target, body, warmer)
            except CalledProcessError as error:
                yield Row(case=case, what=what, word=_last_word(error), bound=bound)
            else:
                yield Row(case=case, what=f"{what} (resident set: {resident:.1f})", figure=traced, bound=bound)


def print_peak(gauge: str, direction: str, document: str, warmer: str) -> None:
    """Convert a document in this process and print the growth of memory at its peak in bytes. ``gauge``: ``traced`` or ``resident``."""
    kind, source, target = direction.split("/")
    conversion(kind, source, target, Path(warmer).read_bytes())()
    body = Path(document).read_bytes()
    gc.collect()
    gauges = {"traced": traced_peak, "resident": resident_peak}
    print(gauges[gauge](conversion(kind, source, target, body)))


def _last_word(error: CalledProcessError) -> str:
    """Return the name of the exception that ended a process."""
    return str(error.stderr).strip().rpartition("\n")[2].partition(":")[0] or type(error).__name__


FIRST_CONVERSION = """import formatbridge
formatbridge.convert_request(
    {"model": "m", "messages": [{"role": "user", "content": "hi"}]}, source="chat_completions", target="messages"
).json()"""


def import_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure the import in new interpreters, as a multiple of the import of pydantic and httpx."""
    scripts = {"others": "import pydantic, httpx", "import": "import formatbridge", "first": FIRST_CONVERSION}
    word = attempt(lambda: exec(FIRST_CONVERSION, {}), 0)
    if word:
        del scripts["first"]
    times = import_times(scripts, effort)
    others = "`import pydantic, httpx`"
    yield Row(case=case, what=f"`import formatbridge` / {others}", figure=times["import"] / times["others"], bound=BOUNDS[case])
    figure = None if word else times["first"] / times["others"]
    yield Row(case=case, what=f"the same and a first conversion / {others}", figure=figure, word=word)


CASES: dict[str, Callable[[str, Effort], Iterator[Row]]] = {
    **dict.fromkeys(PAYLOADS, payload_rows),
    **dict.fromkeys(cases_streams.ANSWERS, cases_streams.stream_rows),
    "growth": growth_rows,
    "stream_growth": cases_streams.growth_rows,
    "memory": memory_rows,
    "stream_memory": cases_streams.memory_rows,
    "client": streams_client.client_rows,
    "import": import_rows,
}
"""Name of a case to the function that measures it."""
