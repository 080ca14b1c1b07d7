"""What is measured of requests, answers and the import; streams and the client have files of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement
from subprocess import CalledProcessError

from pydantic_core import from_json, to_json

import formatbridge
from benchmarks import cases_streams, sse, streams_client
from benchmarks.measure import Effort, Work, exponent, import_times, medians, own_seconds, peak_memory
from benchmarks.payloads import PAYLOADS, TURNS, Payload, alternating, growing
from benchmarks.peers import PEERS, UnsupportedError
from benchmarks.rows import BOUNDS, DIRECTIONS, Row, attempt
from benchmarks.spellings import MODEL


def converted(kind: str, source: str | None, target: str, body: object) -> formatbridge.Converted:
    """Convert one document with ``formatbridge``."""
    if kind == "response":
        return formatbridge.convert_response(body, source=source, target=target)
    if source == "generate_content":  # whose model the URL names
        return formatbridge.convert_request(body, source=source, target=target, model=MODEL)
    return formatbridge.convert_request(body, source=source, target=target)


def conversion(kind: str, source: str, target: str, body: bytes, model: str | None = None) -> Callable[[], bytes]:
    """Return what converts bytes to bytes by the public call, as the README says: what the bounds are about.

    ``model``: the one that the URL names, where the body names none. A body of generate_content never does.
    """
    if kind == "response":
        return lambda: formatbridge.convert_response(body, source=source, target=target).json()
    if source == "generate_content" or model is not None:
        url_model = model or MODEL
        return lambda: formatbridge.convert_request(body, source=source, target=target, model=url_model).json()
    return lambda: formatbridge.convert_request(body, source=source, target=target).json()


def convert_and_report(kind: str, source: str, target: str, body: bytes) -> bytes:
    """Convert bytes to bytes and read what was lost, which may be worked out only then."""
    made = converted(kind, source, target, body)
    _ = made.losses, made.additions
    return made.json()


def convert_typed(kind: str, source: str, target: str, body: bytes) -> bytes:
    """Convert by way of typed models on both sides."""
    from formatbridge.convert.input import wire_model

    given = wire_model(source, kind).model_validate_json(body)  # type: ignore[arg-type]  # kinds are text here
    return converted(kind, None, target, given).parse().model_dump_json(exclude_unset=True, by_alias=True).encode()


def payload_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure one payload in all directions, and what the same machine needs for less and for more."""
    payload = PAYLOADS[case]
    yield from baseline_rows(case, payload, effort)
    for source, target in DIRECTIONS:
        yield direction_row(case, payload, source, target, effort)


def baseline_rows(case: str, payload: Payload, effort: Effort) -> Iterator[Row]:
    """Measure ``json``, the limit that the parser sets, and what costs more than bytes in and bytes out."""
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
    """Measure one direction, the peers beside it."""
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
    own = ratios.get("formatbridge")
    return Row(
        case=case,
        what=f"{source} → {target}",
        figure=own if isinstance(own, float) else None,
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
        "messages, 60 to 480": (growing(), growing(messages=480)),
        "bytes of a message, 8 kB to 64 kB": (growing(messages=20, size=8000), growing(messages=20, size=64_000)),
    }
    for what, (small, large) in steps.items():
        for source, target in DIRECTIONS:
            sizes = small.bytes(source), large.bytes(source)
            figure, word = _growth(source, target, sizes, effort)
            row = f"exponent in {what}, {source} → {target}"
            yield Row(case=case, what=row, figure=figure, word=word, bound=BOUNDS[case])
    for target in (target for source, target in DIRECTIONS if source == "chat_completions"):
        found = {f"{' and '.join(kinds)}": _alternation_exponent(kinds, target, effort) for kinds in TURN_PAIRS}
        worst = max(found, key=lambda name: found[name])
        row = f"exponent in alternating turns, 500 to 4000 pairs, the highest ({worst}), chat_completions → {target}"
        yield Row(case=case, what=row, figure=found[worst], bound=BOUNDS[case])
    for what, (make, size) in sse.STREAMS.items():
        streams = {"small": make(sse.SIZE), "large": make(8 * sse.SIZE)}
        times = medians({name: partial(sse.read, stream, size) for name, stream in streams.items()}, effort)
        figure = exponent(times["small"], times["large"], 8)
        yield Row(case=case, what=f"exponent in bytes of a stream, 64 to 512 KiB: {what}", figure=figure, bound=BOUNDS[case])


TURN_PAIRS = tuple(combinations_with_replacement(TURNS, 2))
"""Each two kinds of turn, which alternate."""


def _alternation_exponent(kinds: tuple[str, str], target: str, effort: Effort) -> float:
    """Return the exponent in the number of turns, whose kinds alternate."""
    works = [conversion("request", "chat_completions", target, alternating(kinds, count)) for count in (500, 4000)]
    times = medians(dict(zip(("small", "large"), works, strict=True)), replace(effort, rounds=1, seconds=0), own_seconds)
    return exponent(times["small"], times["large"], 8)


def _growth(source: str, target: str, sizes: tuple[bytes, bytes], effort: Effort) -> tuple[float | None, str]:
    """Return the exponent for one direction, or what is wrong with it; the factor is that of the bytes."""
    works: list[Work] = [conversion("request", source, target, body) for body in sizes]
    word = attempt(works[0], 0)
    if word:
        return None, word
    times = medians({"small": works[0], "large": works[1]}, effort)
    return exponent(times["small"], times["large"], len(sizes[1]) / len(sizes[0])), ""


def memory_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure the peak of memory in sizes of the payload, which is itself not counted."""
    del effort  # exact at the first time
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


def _last_word(error: CalledProcessError) -> str:
    """Name the exception that ended a process."""
    return str(error.stderr).strip().rpartition("\n")[2].partition(":")[0] or type(error).__name__


FIRST_CONVERSION = """import formatbridge
formatbridge.convert_request(
    {"model": "m", "messages": [{"role": "user", "content": "hi"}]}, source="chat_completions", target="messages"
).json()"""


def import_rows(case: str, effort: Effort) -> Iterator[Row]:
    """Measure the import in fresh interpreters, as a part of that of what everybody has loaded anyway."""
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
"""Name of a case to what measures it."""
