"""A digest of the conversions between formats, to compare interpreters: ``tests/project/test_python_314.py`` runs this file in two."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import formatbridge as fb


def digest(fixtures: str) -> str:
    """Return the number of conversions and the hash of their bodies and reports."""
    lines = list(_lines(Path(fixtures)))
    return f"{len(lines)} {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"


def _lines(fixtures: Path) -> Iterator[str]:
    for path in sorted(fixtures.glob("*/*/*.*")):
        kind, source = path.parts[-3], fb.RegisteredName(path.parts[-2])
        for target in fb.FORMATS:
            try:
                converted, body = _convert(path, kind, source, target)
            except fb.FormatBridgeError as error:
                yield f"{path.name} {target} {type(error).__name__} {error}"
            else:
                yield f"{path.name} {target} {body!r} {[*map(str, converted.losses), *map(str, converted.additions)]}"


def _convert(
    path: Path, kind: str, source: fb.RegisteredName, target: fb.Format
) -> tuple[fb.Converted | fb.StreamConverter | fb.BatchLine, bytes | None]:
    if path.suffix == ".sse":
        converter = fb.StreamConverter(source=source, target=target)
        return converter, converter.feed(path.read_bytes()) + converter.finish()
    fixture = json.loads(path.read_text(encoding="utf-8"))
    if kind == "batches":
        (line,) = fb.convert_batch([json.dumps(fixture["line"])], source=source, target=target, model=fixture.get("model"))
        return line, line.json
    body = fixture.get("body")
    functions: dict[str, Callable[..., fb.Converted]] = {
        "responses": fb.convert_response,
        "models": fb.convert_models,
        "count_requests": fb.convert_count_request,
        "count_responses": fb.convert_count_response,
    }
    converted = functions.get(kind, fb.convert_request)(body, source=source, target=target)
    return converted, converted.json()
