"""The laws that hold for every body, as functions from a body to the places where they are broken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from formatbridge import formats
from formatbridge.convert import Converted, Report, check, convert_error, convert_models, convert_request, convert_response
from formatbridge.errors import FormatBridgeError
from formatbridge.losses import Ledger
from formatbridge.options import Options
from tests.corpus import Entry
from tests.pointers import is_at_or_below, leaves, value_at, with_value

Convert = Callable[[Any, str], Converted]
"""A body and a target to the converted body, with everything else settled."""

RESTATING = frozenset({"type", "role", "object", "index", "total_tokens", "totalTokenCount", "total_token_count"})
"""Keys whose values only repeat what the rest of a body says."""

_INDEX = re.compile(r"/\d+(?=/|$)")


@dataclass(frozen=True)
class Breach:
    """One place where a law does not hold."""

    law: str
    path: str
    detail: str


def converter(entry: Entry) -> Convert:
    """Return the conversion of the entry's kind, with what the URL said of it."""
    source = entry.format
    if entry.kind == "request":
        model = (entry.url_model or entry.model or "m") if source == "generate_content" else None
        return lambda body, target: convert_request(body, source=source, target=target, model=model)
    if entry.kind == "response":
        return lambda body, target: convert_response(body, source=source, target=target)
    if entry.kind == "models":
        return lambda body, target: convert_models(body, source=source, target=target)
    status = entry.http_status or 400
    return lambda body, target: convert_error(body, source=source, target=target, status=status)


def through_itself(entry: Entry) -> Convert:
    """Return the conversion of a body to its own format by way of the canonical model, which no caller ever sees."""
    format, kind = formats.load(entry.format), cast(Any, entry.kind)

    def convert(body: Any, target: str) -> Converted:
        assert target == entry.format
        checked, losses, options = check(body, entry.format, kind), Ledger(body, format.SPELLING), Options()
        if kind == "request":
            made = format.encode_request(format.decode_request(checked, model=None, stream=None), losses, options)
        elif kind == "response":
            made = format.encode_response(format.decode_response(checked), losses, options, None)
        elif kind == "models":
            made = format.encode_models(format.decode_models(checked), losses)
        else:
            made = format.encode_error(format.decode_error(checked, status=entry.http_status), losses)[1]
        return Converted(made, Report(losses.losses, losses.additions), format.NAME, format.NAME, kind)

    return convert


def nothing_is_silent(body: Any, target: str, convert: Convert, per_place: int = 2) -> Iterator[Breach]:
    """Laws 1 and 2: each leaf, changed, shows in the output or in the report; one that is reported gone changes nothing.

    ``per_place``: how many leaves to try among those that differ only in the indexes of their pointers.
    """
    base = convert(body, target)
    dropped = [loss.path for loss in base.losses if loss.kind == "dropped"]
    reported = [loss.path for loss in base.losses]
    tried: Counter[str] = Counter()
    for path, value in leaves(body):
        place = _INDEX.sub("/*", path)
        if value is None or path.rpartition("/")[2] in RESTATING or tried[place] >= per_place:
            continue
        tried[place] += 1
        try:
            made = convert(with_value(body, path, changed(value)), target)
        except FormatBridgeError:
            continue
        is_gone = any(is_at_or_below(path, above) for above in dropped)
        if is_gone and made.body != base.body:
            yield Breach("2 claimed lost", path, _difference(base.body, made.body))
        is_told = is_gone or any(is_at_or_below(path, above) for above in reported)
        if not is_told and made.body == base.body and made.losses == base.losses:
            yield Breach("1 silent", path, repr(value)[:80])


def changed(value: Any) -> Any:
    """Return another value of the same kind: a letter more, a number grown, a flag flipped."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}x"
    return value + 1


def home_again(body: Any, source: str, convert: Convert) -> Iterator[Breach]:
    """Law 3: a body converted to its own format is the body."""
    made = convert(body, source)
    if made.body != body or made.losses or made.additions:
        yield Breach("3 not itself", "", _difference(body, made.body) or f"{made.losses} {made.additions}")


def report_is_precise(body: Any, target: str, convert: Convert) -> Iterator[Breach]:
    """Law 2: every loss points at something that is there, and no pointer lies below a dropped one."""
    made = convert(body, target)
    for loss in made.losses:
        if loss.path and value_at(body, loss.path) is value_at({}, "/x"):
            yield Breach("2 points nowhere", loss.path, loss.why)


def _difference(a: Any, b: Any, path: str = "") -> str:
    """Name the first place where two bodies differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            if a.get(key, "absent") != b.get(key, "absent"):
                return _difference(a.get(key, "absent"), b.get(key, "absent"), f"{path}/{key}")
    if isinstance(a, list) and isinstance(b, list):
        for index in range(max(len(a), len(b))):
            if index >= len(a) or index >= len(b) or a[index] != b[index]:
                return (
                    _difference(a[index : index + 1], b[index : index + 1], f"{path}/{index}")
                    if index >= min(len(a), len(b))
                    else _difference(a[index], b[index], f"{path}/{index}")
                )
    return "" if a == b else f"{path}: {repr(a)[:80]} became {repr(b)[:80]}"
