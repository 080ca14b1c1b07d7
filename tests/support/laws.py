"""The laws of every body, as functions from a body to the fields that break them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from formatbridge import formats, ir
from formatbridge.convert.bodies import Converted, ConvertedError, convert_error, convert_models, convert_request, convert_response
from formatbridge.convert.input import note_malformed, read_answer
from formatbridge.errors import FormatBridgeError
from formatbridge.formats.target import Target
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Loss
from tests.corpus import Entry, entries
from tests.fixtures import check, fixtures
from tests.support.normal_form import normal_form, without
from tests.support.pointers import ABSENT, is_at_or_below, leaves, objects, value_at, with_value, without_value

Convert = Callable[[Any, Any], Converted]
"""A body and a target to the converted body; the other arguments are fixed."""

RESTATING = frozenset({"type", "role", "object", "index"})
"""Keys whose values only repeat other values of a body."""

_INDEX = re.compile(r"/\d+(?=/|$)")


@dataclass(frozen=True)
class Breach:
    """One place where a law does not hold."""

    law: str
    path: str
    detail: str


@dataclass(frozen=True, eq=False)
class Sample:
    """A body for the laws, with all arguments of its conversion."""

    id: str
    format: ir.FormatName
    kind: str
    body: Any
    model: str | None = None
    status: int = 400

    def __str__(self) -> str:
        return self.id

    def convert(self, body: Any, target: ir.FormatName | Target, options: Options | None = None) -> Converted:
        """Convert a body of this sample's format."""
        return _convert(body, self.format, target, self, options)

    def back(self, converted: Converted) -> Converted:
        """Convert a converted body back to this sample's format."""
        return _convert(converted.body, converted.target, self.format, self, None)


def _convert(body: Any, source: ir.FormatName, target: ir.FormatName | Target, like: Sample, options: Options | None) -> Converted:
    if like.kind == "request":
        has_model = isinstance(body, dict) and bool(body.get("model"))
        is_named = has_model or "generate_content" not in (source, formats.load(target).name)
        model = None if is_named else like.model or "m"
        return convert_request(body, source=source, target=target, model=model, options=options)
    if like.kind == "response":
        return convert_response(body, source=source, target=target, options=options)
    if like.kind == "models":
        return convert_models(body, source=source, target=target, options=options)
    return convert_error(body, source=source, target=target, status=like.status, options=options)


def recorded(format: ir.FormatName | None = None, kind: str | None = None) -> Iterator[Sample]:
    """Yield the recorded bodies that are whole, without those of another kind: a single model is no list of models."""
    for entry in entries(format, kind):
        if entry.kind != "stream" and not entry.path.endswith(".sse"):
            model = entry.url_model or entry.model
            body = entry.json()
            if (entry.kind == "models" and body.get("object") == "model") or (entry.was_refused and not _is_valid(entry, body)):
                continue
            yield Sample(entry.path, entry.format, entry.kind, body, model, entry.http_status or 400)


def _is_valid(entry: Entry, body: Any) -> bool:
    try:
        check(body, entry.format, cast(Any, entry.kind))
    except FormatBridgeError:
        return False
    return True


def shipped(format: ir.FormatName | None = None, kind: str | None = None) -> Iterator[Sample]:
    """Yield the fixtures."""
    for each in fixtures(kind, format):
        yield Sample(str(each), each.format, each.kind, each.body, each.model, each.status or 400)


def through_itself(entry: Sample) -> Convert:
    """Return the conversion of a body to its format through the canonical model, which the public functions never do."""
    format, kind = formats.load(entry.format), cast(Any, entry.kind)

    def convert(body: Any, target: ir.FormatName) -> Converted:
        assert target == entry.format
        losses, options = Ledger(body, format.field_paths), Options()
        if kind in ("response", "models"):
            losses, checked, repaired = read_answer(body, format, kind)
            note_malformed(losses, repaired)
        else:
            checked = check(body, entry.format, kind)
        if kind == "request":
            result = format.encode_request(format.decode_request(checked, model=None, stream=None), losses, options)
        elif kind == "response":
            result = format.encode_response(format.decode_response(checked), losses, options, None)
        elif kind == "models":
            result = format.encode_models(format.decode_models(checked), losses)
        else:
            result = format.encode_error(format.decode_error(checked, status=entry.status), losses)[1]
        return Converted(result, losses, format, format, kind)

    return convert


def _restates(path: str) -> bool:
    """Return whether the value at a pointer only repeats other values. The type of an error does not: it has an open set of values."""
    return path.rpartition("/")[2] in RESTATING and not path.endswith("/error/type")


def once(convert: Convert, body: Any) -> Convert:
    """Return a conversion that converts one body once for each target: several laws begin with the same conversion."""
    results: dict[Any, Converted] = {}

    def converted_once(each: Any, target: Any) -> Converted:
        if each is not body:
            return convert(each, target)
        if target not in results:
            results[target] = convert(body, target)
        return results[target]

    return converted_once


def nothing_is_silent(body: Any, target: ir.FormatName | Target, convert: Convert, per_place: int = 2) -> Iterator[Breach]:
    """Laws 1 and 2: a change of each leaf is in the output or in the report; that of a lost one has no effect.

    ``per_place``: the number of leaves that are tried among those that differ only in the indexes of their pointers. In a list of models a
    loss also covers that field of later models, as docs/losses.md states.
    """
    base = convert(body, target)
    dropped = [loss.path for loss in base.losses if loss.kind == "dropped"]
    reported = [loss.path for loss in base.losses]
    tried: Counter[str] = Counter()
    for path, value in leaves(body):
        place = _INDEX.sub("/*", path)
        if value is None or _restates(path) or tried[place] >= per_place:
            continue
        tried[place] += 1
        try:
            converted = convert(with_value(body, path, changed(value)), target)
        except FormatBridgeError:
            continue
        is_gone = any(is_at_or_below(path, above) for above in dropped)
        is_same = _output(converted) == _output(base)
        if is_gone and not is_same:
            yield Breach("2 claimed lost", path, _difference(base.body, converted.body))
        is_reported = is_gone or any(is_at_or_below(path, above) or _covers_later(above, path, base) for above in reported)
        if not is_reported and is_same and converted.losses == base.losses:
            yield Breach("1 silent", path, repr(value)[:80])


def _output(converted: Converted) -> tuple[Any, ...]:
    """Return all that a caller sends on: the body, the path of a request and the HTTP status of an error."""
    return converted.body, getattr(converted, "path", None), getattr(converted, "status", None)


_MODEL = re.compile(r"/([^/]+)/(\d+)(/.*)")


def _covers_later(loss: str, path: str, converted: Converted) -> bool:
    """Return whether a loss of one model of a list stands for that of a later one."""
    first, later = _MODEL.fullmatch(loss), _MODEL.fullmatch(path)
    if converted.kind != "models" or first is None or later is None or first[1] != later[1]:
        return False
    return int(first[2]) < int(later[2]) and is_at_or_below(later[3], first[3])


NEW = "zz_new"
"""A key that no format has."""
_FIRST = 900_000_001
"""The value of the first new key; the others follow. No body has such numbers."""


def nothing_added_is_silent(body: Any, target: ir.FormatName | Target, convert: Convert) -> Iterator[Breach]:
    """Law 1 for unknown fields: a new key in any object is in the output or in the report, or is rejected."""
    base = convert(body, target)
    for path in _unseen([f"{above}/{NEW}" for above in objects(body)], body, target, convert):
        try:
            converted = convert(with_value(body, path, 1), target)
        except FormatBridgeError:
            continue
        if converted.body == base.body and not any(is_at_or_below(path, loss.path) for loss in converted.losses):
            yield Breach("1 added in silence", path, f"{converted.source} -> {target}")


def _unseen(paths: list[str], body: Any, target: ir.FormatName | Target, convert: Convert) -> list[str]:
    """Return the new keys that neither the output nor the report has if all are there at once; all of them if that is rejected."""
    everywhere = body
    for number, path in enumerate(paths, _FIRST):
        everywhere = with_value(everywhere, path, number)
    try:
        converted = convert(everywhere, target)
    except FormatBridgeError:
        return paths
    output, reported = json.dumps(converted.body), [loss.path for loss in converted.losses]
    return [
        path
        for number, path in enumerate(paths, _FIRST)
        if str(number) not in output and not any(is_at_or_below(path, above) for above in reported)
    ]


def changed(value: Any) -> Any:
    """Return another value of the same type: one letter more, a larger number, the other flag. A URL keeps the extension of its file."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        ending = _ENDING.fullmatch(value)
        return f"{ending[1]}x{ending[2]}" if ending else f"{value}x"
    return value + 1


_ENDING = re.compile(r"(https?://[^?#]+/[^?#/]+)(\.\w{2,5})")


def unchanged_in_its_format(body: Any, source: ir.FormatName, convert: Convert) -> Iterator[Breach]:
    """Law 3: a body converted to its format is the body."""
    converted = convert(body, source)
    if converted.body != body or converted.losses or converted.additions:
        yield Breach("3 not itself", "", _difference(body, converted.body) or f"{converted.losses} {converted.additions}")


def report_is_precise(body: Any, target: ir.FormatName | Target, convert: Convert) -> Iterator[Breach]:
    """Law 2: every loss points at an existing value, and no pointer is below a dropped one."""
    converted = convert(body, target)
    for loss in converted.losses:
        if loss.path and value_at(body, loss.path) is value_at({}, "/x"):
            yield Breach("2 points nowhere", loss.path, loss.why)


def _difference(a: Any, b: Any, path: str = "") -> str:
    """Return the first place where two bodies differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            if a.get(key, "absent") != b.get(key, "absent"):
                return _difference(a.get(key, "absent"), b.get(key, "absent"), f"{path}/{key}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            if one != other:
                return _difference(one, other, f"{path}/{index}")
    return "" if a == b else f"{path}: {repr(a)[:80]} became {repr(b)[:80]}"


def there_and_back(body: Any, entry: Sample, target: ir.FormatName, convert: Convert) -> Iterator[Breach]:
    """Law 4: a body that is converted to a target and back has the same meaning, except for the values that the two reports name."""
    there = convert(body, target)
    if isinstance(there, ConvertedError) and entry.kind != "error":
        return
    returned = entry.back(there)
    if isinstance(returned, ConvertedError) and entry.kind != "error":
        return
    before, after = (_meaning(each, entry) for each in (body, returned.body))
    if before == after:
        return
    named = [_words(value) for result in (there, returned) for loss in result.losses for value in _reported_values(loss)]
    named += [
        _words(value)
        for result, source in ((there, body), (returned, there.body))
        for value in _values_of_other_models(result, source)
    ]
    named += _lost_meanings(returned, there, entry)
    named += [_words(value) for result in (there, returned) for item in result.additions for _, value in leaves(item.value)]
    named.append(
        "".join(value for path, value in leaves(after) if path.endswith("/text") and isinstance(value, str))
    )  # a cited text comes back in pieces
    first, second = _values(before), _values(after)
    yield from (Breach("4 not the same", "", f"{word[:80]!r} gone") for word in _missing(first - second, body, [*named, *second]))


def _lost_meanings(returned: Converted, there: Converted, entry: Sample) -> Iterator[str]:
    """Yield the words that the losses of the second conversion stand for.

    A loss has the value as the target writes it: it may count bytes where the source counts characters, or have another name for a setting.
    """
    like = replace(entry, format=there.target)
    whole = _values(_meaning(there.body, like))
    for loss in returned.losses:
        if loss.kind == "dropped" and value_at(there.body, loss.path) is not ABSENT:
            with suppress(FormatBridgeError):
                yield from whole - _values(_meaning(without_value(there.body, loss.path), like))


def _missing(words: Counter[str], body: Any, held: list[str]) -> Iterator[str]:
    """Yield the words of a body that neither a report nor a text of the other body has."""
    message = {_words(value).lower() for _, value in leaves(body)} - _SMALL
    known = [other.lower() for other in held]
    for word in words:
        low = word.lower()
        if low in message and not any(low == other or ((len(low) > 3 or not low.isalnum()) and low in other) for other in known):
            yield word


_SMALL = frozenset({"true", "false", "0", "text", "direct"})
"""Values that are defaults, or too short to be searched for."""

_STRUCTURE = frozenset({"is", "role", "kind", "family", "type", "reason"})
"""Keys of a normal form whose words state the kind or the place of a value, and are no value of the body."""


def _values(form: Any) -> Counter[str]:
    places = ((path.rpartition("/")[2], value) for path, value in leaves(form))
    return Counter(_words(value) for key, value in places if key not in _STRUCTURE)


def _reported_values(loss: Loss) -> Iterator[Any]:
    for value in (loss.before, loss.after):
        for _, leaf in leaves(value):
            yield leaf


def _values_of_other_models(converted: Converted, body: Any) -> Iterator[Any]:
    """Yield the values of later models for which a loss of a list stands."""
    for path, value in leaves(body) if converted.kind == "models" else ():
        if any(_covers_later(loss.path, path, converted) for loss in converted.losses):
            yield value


def _words(value: Any) -> str:
    """Return a value as text; whole numbers have one notation, because ``2.0`` and ``2`` are equal."""
    is_whole = isinstance(value, float) and value.is_integer()
    return value if isinstance(value, str) else json.dumps(int(value) if is_whole else value)


def _meaning(body: Any, entry: Sample) -> Any:
    """Return the normal form of a body in its format."""
    format, kind = formats.load(entry.format), cast(Any, entry.kind)
    checked = check(body, entry.format, kind)
    if kind == "request":
        return without(normal_form(format.decode_request(checked, model=entry.model, stream=None)), ["stream", "model"])
    if kind == "response":
        return normal_form(format.decode_response(checked))
    if kind == "models":
        return normal_form(format.decode_models(checked))
    return normal_form(format.decode_error(checked, status=entry.status))
