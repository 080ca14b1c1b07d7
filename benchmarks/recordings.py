"""The recorded traffic: requests, answers and streams of real calls, and the requests of coding agents, which are outside this repository.

The folder is ``FORMATBRIDGE_CORPUS``, or ``shared/corpus`` next to the project's folder, as in ``tests/corpus.py``.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.bodies import MODEL
from benchmarks.measure import ROOT
from formatbridge.streaming.sse import StreamReader, encode_event

FOLDER = Path(os.environ.get("FORMATBRIDGE_CORPUS") or ROOT.parent / "shared" / "corpus").resolve()
AGENTS = FOLDER / "agents"
KINDS = ("request", "response", "stream")
_FRAMINGS = {"request": "json", "response": "json", "stream": "sse"}

_SEED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded body.

    ``agent``: the coding agent that sent it. ``model``: the model in the URL, if the body has none. ``dialect``: the server.
    """

    name: str
    format: str
    kind: str
    model: str | None = None
    agent: str | None = None
    dialect: str | None = None
    body: bytes = field(repr=False)


def absence() -> str:
    """Return why nothing can be measured; empty if the folder exists."""
    if (FOLDER / "index.jsonl").is_file():
        return ""
    return f"no recorded traffic in {str(FOLDER)!r}; FORMATBRIDGE_CORPUS names the folder"


def recordings(kind: str) -> list[Recording]:
    """Return the bodies of a kind in the index's order, those of agents last. Bodies that are not JSON objects are left out."""
    bodies = [*_from_corpus(kind), *(_from_agents() if kind == "request" else ())]
    if kind == "stream":
        return bodies
    return [_with_model(recording) for recording in bodies if isinstance(_json(recording.body), dict)]


def sample(recorded: list[Recording], count: int | None) -> list[Recording]:
    """Return ``count`` recordings of each format and each agent, the same in every run; None: all."""
    if count is None:
        return recorded
    groups: dict[tuple[str, str | None], list[Recording]] = {}
    for recording in recorded:
        groups.setdefault((recording.format, recording.agent), []).append(recording)
    dice = random.Random(_SEED)
    return [recording for group in groups.values() for recording in dice.sample(group, min(count, len(group)))]


def reads_of(stream: bytes) -> list[bytes]:
    """Return the events of a recorded stream as a server sends them, each as one read; comments are left out."""
    reader = StreamReader()
    events = [*reader.feed(stream), *reader.finish()]
    return [encode_event(event.data, event.event or None) for event in events if event.data.strip()]


def _from_corpus(kind: str) -> Iterator[Recording]:
    for row in _rows(FOLDER / "index.jsonl"):
        if row["kind"] == kind and row["framing"] == _FRAMINGS[kind]:
            body = (FOLDER / row["path"]).read_bytes()
            model, dialect = row.get("url_model"), row.get("dialect")
            yield Recording(name=row["id"], format=row["format"], kind=kind, model=model, dialect=dialect, body=body)


def _from_agents() -> Iterator[Recording]:
    for row in _rows(AGENTS / "index.jsonl"):
        name = row["file"].removesuffix(".json")
        body, model = (AGENTS / row["file"]).read_bytes(), row.get("url_model")
        yield Recording(name=name, format=row["format"], kind="request", model=model, agent=name.rpartition("-")[0], body=body)


def _rows(index: Path) -> Iterator[dict[str, Any]]:
    if index.is_file():
        yield from (json.loads(line) for line in index.read_text("utf-8").splitlines())


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _with_model(recording: Recording) -> Recording:
    """Return a request with a model. If neither the body nor the index has the model of the URL, it is a fixed one."""
    if recording.kind != "request" or recording.model or _json(recording.body).get("model"):
        return recording
    return replace(recording, model=MODEL)
