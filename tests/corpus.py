"""Access to the recorded traffic: bodies of real calls, which are outside this repository.

``FORMATBRIDGE_CORPUS`` names the folder; the default is ``shared/corpus`` next to the project's folder.
"""

import functools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from formatbridge.ir import FormatName

FOLDER = Path(os.environ.get("FORMATBRIDGE_CORPUS") or Path(__file__).parents[2] / "shared" / "corpus").resolve()

requires_corpus = pytest.mark.skipif(
    not (FOLDER / "index.jsonl").is_file(), reason=f"no recorded traffic in {str(FOLDER)!r}; FORMATBRIDGE_CORPUS names the folder"
)


@dataclass(frozen=True)
class Entry:
    """One recorded body and its entry in the index."""

    id: str
    path: str
    """Relative to the corpus folder."""
    format: FormatName
    kind: str
    """request, response, stream, error or models."""
    model: str | None
    url_model: str | None
    """The model in the URL; generate_content only."""
    http_status: int | None
    """None for requests, and if the source did not keep it."""
    streaming: bool
    framing: str
    """json, sse or json_array."""
    provenance: str
    """recorded, recorded_values, recorded_reframed, or curated: edited on purpose, sometimes invalid."""
    tags: tuple[str, ...]
    answers: tuple[int, ...] = ()
    """Of a request: the HTTP statuses of its recorded answers."""

    @property
    def is_curated(self) -> bool:
        return self.provenance == "curated"

    @property
    def was_refused(self) -> bool:
        """Whether the server refused the request."""
        return bool(self.answers) and all(status >= 400 for status in self.answers)

    def bytes(self) -> bytes:
        return (FOLDER / self.path).read_bytes()

    def json(self) -> Any:
        return json.loads(self.bytes())


def entries(format: FormatName | None = None, kind: str | None = None) -> Iterator[Entry]:
    """Yield the recorded bodies in the order of the index; none without a corpus."""
    for entry in _index():
        if format in (None, entry.format) and kind in (None, entry.kind):
            yield entry


@functools.cache
def _index() -> tuple[Entry, ...]:
    index = FOLDER / "index.jsonl"
    if not index.is_file():
        return ()
    rows = [json.loads(line) for line in index.read_text("utf-8").splitlines()]
    statuses = {row["id"]: row["http_status"] for row in rows}
    return tuple(_entry(row, statuses) for row in rows)


def _entry(row: dict[str, Any], statuses: dict[str, int | None]) -> Entry:
    return Entry(
        id=row["id"],
        path=row["path"],
        format=row["format"],
        kind=row["kind"],
        model=row["model"],
        url_model=row.get("url_model"),
        http_status=row["http_status"],
        streaming=row["streaming"],
        framing=row["framing"],
        provenance=row["provenance"],
        tags=tuple(row["tags"]),
        answers=tuple(status for each in row.get("response_ids") or () if (status := statuses.get(each)) is not None),
    )
