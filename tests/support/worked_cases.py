"""The worked cases: small payloads with the expected results. They are read from a folder next to the corpus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from formatbridge import formats, ir
from formatbridge.convert.bodies import Converted, convert_error, convert_request, convert_response
from formatbridge.convert.streams import StreamConverter
from formatbridge.errors import StreamError
from formatbridge.options import Options
from formatbridge.report.ledger import FieldPaths, Ledger
from formatbridge.streaming.accumulate import Collector
from formatbridge.streaming.sse import DONE, StreamReader
from tests.corpus import FOLDER as CORPUS
from tests.support.pointers import ABSENT, value_at

FOLDER: Path = CORPUS.parent / "cases"


@dataclass(frozen=True)
class Case:
    """One worked case of the file."""

    id: str
    source: ir.FormatName
    target: ir.FormatName
    kind: str
    raw: dict[str, Any]


@cache
def cases(name: str) -> tuple[Case, ...]:
    """Return the cases of ``requests`` or ``responses``; none without the folder."""
    path = FOLDER / f"{name}.jsonl"
    if not path.exists():
        return ()
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return tuple(Case(row["id"], row["source"], row["target"], row.get("kind", "request"), row) for row in rows)


def complaints(case: Case) -> list[str]:
    """Return the expectations of a case that do not hold."""
    return _JUDGES[case.kind](case)


def _judge_request(case: Case) -> list[str]:
    row = case.raw
    converted = convert_request(row["input"], source=case.source, target=case.target, model=row.get("source_model"))
    result = list(_wrong_values(converted.body, row["expected_contains"]))
    result += [f"{pointer} must be absent" for pointer in row["expected_absent"] if value_at(converted.body, pointer) is not ABSENT]
    reported = {(loss.path, loss.kind, loss.severity) for loss in converted.losses}
    wanted = {(loss["path"], loss["kind"], loss["severity"]) for loss in row["losses"]}
    result += [f"loss missing: {loss}" for loss in sorted(wanted - reported)] + [
        f"loss too many: {loss}" for loss in sorted(reported - wanted)
    ]
    added = {addition.path: addition.value for addition in converted.additions}
    result += [f"addition missing: {path}" for path, value in row.get("additions", {}).items() if added.get(path) != value]
    if "expected_path" in row and converted.path != row["expected_path"]:
        result.append(f"path is {converted.path!r}, expected {row['expected_path']!r}")
    return result


def _judge_response(case: Case) -> list[str]:
    converted = convert_response(case.raw["input"], source=case.source, target=case.target)
    return list(_wrong_values(converted.body, case.raw["expected_contains"])) + _missing_losses(case, converted, case.raw["input"])


def _judge_error(case: Case) -> list[str]:
    raw = case.raw["input"]
    converted = convert_error(raw["body"], source=case.source, target=case.target, status=raw["status"])
    whole = {"status": converted.status, "body": converted.body}
    return list(_wrong_values(whole, case.raw["expected_contains"])) + _missing_losses(case, converted, raw["body"])


def _judge_stream(case: Case) -> list[str]:
    """Feed the events and compare the accumulated output; an error event counts unchanged."""
    converter = StreamConverter(source=case.source, target=case.target)
    converted, raised = b"", None
    try:
        converted = converter.feed(b"".join(_event(item) for item in case.raw["input"]))
        converted += converter.finish()
    except StreamError as error:
        raised, converted = type(error).__name__, converted + getattr(error, "tail", b"")
    result = [] if raised == case.raw.get("raises") else [f"raised {raised}, expected {case.raw.get('raises')}"]
    body = _collected(converted, case.target)
    result += _wrong_values(body, case.raw["expected_contains"])
    return result + ([] if raised else _missing_losses(case, converter.response(), _collected_source(case)))


def _event(item: dict[str, Any]) -> bytes:
    data = item["data"] if isinstance(item["data"], str) else json.dumps(item["data"])
    name = f"event: {item['event']}\n" if "event" in item else ""
    return f"{name}data: {data}\n\n".encode()


def _collected(stream: bytes, format: ir.FormatName) -> Any:
    """Return the accumulated answer of a stream, with the payload of an error event next to it."""
    reader, decoder = StreamReader(), formats.load(format).stream_decoder()
    collector, error = Collector(formats.load(format).name), None
    for event in [*reader.feed(stream), *reader.finish()]:
        raw = {} if event.data == DONE else json.loads(event.data)
        error = raw.get("error") or error
        if raw.get("response", {}).get("status") not in (None, "in_progress", "queued"):
            return raw["response"]  # the last event of this format has the answer whole
        for each in decoder.finish("done") if event.data == DONE else decoder.feed(raw):
            collector.feed(each)
    for each in decoder.finish("end_of_bytes"):
        collector.feed(each)
    answer = collector.response()
    body = formats.load(format).encode_response(answer, Ledger({}, FieldPaths()), Options(), None)
    return body | ({"error": error} if error else {})


def _collected_source(case: Case) -> Any:
    return _collected(b"".join(_event(item) for item in case.raw["input"]), case.source)


_JUDGES: dict[str, Callable[[Case], list[str]]] = {
    "request": _judge_request,
    "response": _judge_response,
    "error": _judge_error,
    "stream": _judge_stream,
}


def _missing_losses(case: Case, converted: Converted, body: Any) -> list[str]:
    reported = {loss.path for loss in converted.losses}
    return [
        f"loss missing: {path}"
        for path in case.raw["expected_loss_paths"]
        if path not in reported and not _all_below(path, value_at(body, path), reported)
    ]


def _all_below(path: str, value: Any, reported: set[str]) -> bool:
    """Return whether every leaf below a container was reported."""
    if path in reported:
        return True
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    members = list(inside)
    return bool(members) and all(_all_below(f"{path}/{key}", item, reported) for key, item in members)


def _wrong_values(body: Any, expected: dict[str, Any]) -> Iterator[str]:
    for pointer, wanted in expected.items():
        result = value_at(body, pointer)
        if result is ABSENT:
            yield f"{pointer} is absent, expected {json.dumps(wanted)[:200]}"
        elif result != wanted:
            yield f"{pointer} is {json.dumps(result, default=str)[:200]}, expected {json.dumps(wanted)[:200]}"
