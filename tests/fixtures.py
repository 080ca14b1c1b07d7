"""Access to ``fixtures/``: one file for each case. Its name states the conversation, and its folders state kind and format.

The folders of ``servers`` state the format and the server that receive the request, and the name of a file what the server does.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from formatbridge import ModelFacts, Target, formats, ir
from formatbridge.client.batch_files import convert_batch
from formatbridge.convert import input
from formatbridge.convert.batch import BatchLine
from formatbridge.convert.bodies import (
    Converted,
    ConvertedRequest,
    convert_error,
    convert_models,
    convert_request,
    convert_response,
)
from formatbridge.convert.counts import convert_count_request, convert_count_response

FOLDER = Path(__file__).parents[1] / "fixtures"

KINDS = {"request": "requests", "response": "responses", "error": "errors", "models": "models"}
"""Kind of document to its folder."""

COUNTS = {"count_request": "count_requests", "count_response": "count_responses"}
"""The same for documents that chat_completions does not have."""


@dataclass(frozen=True, eq=False)
class Fixture:
    """One body, and the source of its shape."""

    stem: str
    """The name of the file; files with the same stem have the same content in other formats."""
    format: ir.FormatName
    kind: str
    about: str
    source: str
    model: str | None
    """The model in the URL; requests of generate_content only."""
    status: int | None
    """The HTTP status; errors only."""
    body: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.kind}-{self.stem}-{self.format}"

    @property
    def is_malformed(self) -> bool:
        """Whether the body has details that its wire model refuses."""
        return self.stem.startswith("malformed_")

    def convert(self, target: ir.FormatName) -> Converted:
        """Convert the body to another format, or to the same."""
        return convert(self.body, self, target)


@dataclass(frozen=True, eq=False)
class BatchFixture:
    """One line of a batch file, and the source of its shape."""

    stem: str
    format: ir.FormatName
    about: str
    source: str
    model: str | None
    """The model of the whole batch; requests of generate_content only."""
    line: dict[str, Any]

    def __str__(self) -> str:
        return f"batch-{self.stem}-{self.format}"

    def convert(self, target: ir.FormatName) -> BatchLine:
        """Convert the line to the batch file of another format, or of the same."""
        return self.convert_like(self.line, target)

    def convert_like(self, line: dict[str, Any], target: ir.FormatName) -> BatchLine:
        """Convert another line of the same batch."""
        (converted,) = convert_batch([json.dumps(line)], source=self.format, target=target, model=self.model)
        return converted


@dataclass(frozen=True, eq=False)
class InvalidFixture:
    """A body that must be rejected, as values or as text."""

    stem: str
    format: ir.FormatName
    kind: str
    about: str
    source: str
    payload: dict[str, Any] | list[Any] | str

    def __str__(self) -> str:
        return f"{self.kind}-{self.stem}-{self.format}"

    def convert(self, target: ir.FormatName) -> Converted:
        """Try to convert the body."""
        return convert(self.payload, self, target)


@dataclass(frozen=True, eq=False)
class StreamFixture:
    """One stream as its server sends it, and the source of its shape."""

    stem: str
    format: ir.FormatName
    about: str
    source: str
    data: bytes

    def __str__(self) -> str:
        return f"stream-{self.stem}-{self.format}"


@dataclass(frozen=True, eq=False)
class ServerFixture:
    """One request, and what the server of a dialect gets in its place."""

    stem: str
    server: str
    target: ir.Format
    format: ir.FormatName
    """The format of the caller."""
    facts: ModelFacts | None
    model: str | None
    """The model in the URL; requests of generate_content only."""
    about: str
    source: str
    body: dict[str, Any]
    expected: dict[str, Any]
    """The converted body, its losses, and the pointers of its additions if there are any."""

    def __str__(self) -> str:
        return f"{self.server}-{self.stem}-{self.target}"

    def convert(self) -> ConvertedRequest:
        """Convert the request for the server."""
        return self._convert(self.body, self.format)

    def convert_again(self) -> ConvertedRequest:
        """Convert the expected request for the same server."""
        return self._convert(self.expected["body"], self.target)

    def _convert(self, body: dict[str, Any], format: ir.FormatName) -> ConvertedRequest:
        target = Target(self.target, dialect=self.server, model=self.facts)
        return convert_request(body, source=format, target=target, model=self.body.get("model", self.model))


def check(body: Any, format: ir.FormatName, kind: Any) -> Any:
    """Validate a body as a conversion does: an answer without its malformed details."""
    if kind in ("response", "models"):
        return input.check_answer(body, formats.load(format), kind)
    return input.check(body, format, kind)


def convert(body: Any, like: Fixture | InvalidFixture, target: ir.FormatName) -> Converted:
    """Convert a body of a fixture, with the values of the URL and the status line."""
    model, status = getattr(like, "model", None), getattr(like, "status", None)
    match like.kind:
        case "request":
            return convert_request(body, source=like.format, target=target, model=model)
        case "response":
            return convert_response(body, source=like.format, target=target)
        case "models":
            return convert_models(body, source=like.format, target=target)
        case "count_request":
            return convert_count_request(body, source=like.format, target=target, model=model)
        case "count_response":
            return convert_count_response(body, source=like.format, target=target)
        case _:
            return convert_error(body, source=like.format, target=target, status=status or 400)


def fixtures(kind: str | None = None, format: ir.FormatName | None = None) -> tuple[Fixture, ...]:
    """Return the fixtures of a kind and a format, or of all, in the order of their kinds, names and formats."""
    return tuple(each for each in _all() if kind in (None, each.kind) and format in (None, each.format))


@cache
def count_fixtures(kind: str | None = None) -> tuple[Fixture, ...]:
    """Return the requests for token counts and their answers, or those of one kind."""
    return tuple(each for each in _read_all(COUNTS) if kind in (None, each.kind))


@cache
def streams(format: ir.FormatName | None = None) -> tuple[StreamFixture, ...]:
    """Return the streams of a format, or of all, in the order of their names and formats."""
    paths = sorted(FOLDER.glob("streams/*/*.sse"), key=lambda path: (path.stem, path.parent.name))
    return tuple(_read_stream(path) for path in paths if format in (None, path.parent.name))


@cache
def batch_fixtures() -> tuple[BatchFixture, ...]:
    """Return the lines of batch files."""
    return tuple(_read_batch(path) for path in sorted(FOLDER.glob("batches/*/*.json")))


@cache
def invalid_fixtures() -> tuple[InvalidFixture, ...]:
    """Return the bodies that must be rejected."""
    return tuple(_read_invalid(path) for path in sorted(FOLDER.glob("invalid/*/*.json")))


@cache
def server_fixtures() -> tuple[ServerFixture, ...]:
    """Return the requests for servers, in the order of their formats, servers and names."""
    return tuple(_read_server(path) for path in sorted(FOLDER.glob("servers/*/*/*.json")))


@cache
def _all() -> tuple[Fixture, ...]:
    return _read_all(KINDS)


def _read_all(kinds: dict[str, str]) -> tuple[Fixture, ...]:
    return tuple(
        _read(path, kind)
        for kind, folder in kinds.items()
        for path in sorted(FOLDER.glob(f"{folder}/*/*.json"), key=lambda path: (path.stem, path.parent.name))
    )


def _read(path: Path, kind: str) -> Fixture:
    raw = json.loads(path.read_text(encoding="utf-8"))
    return Fixture(
        stem=path.stem,
        format=_format_of(path),
        kind=kind,
        about=raw["about"],
        source=raw["source"],
        model=raw.get("model"),
        status=raw.get("status"),
        body=raw["body"],
    )


def _read_batch(path: Path) -> BatchFixture:
    raw = json.loads(path.read_text(encoding="utf-8"))
    return BatchFixture(
        stem=path.stem, format=_format_of(path), about=raw["about"], source=raw["source"], model=raw.get("model"), line=raw["line"]
    )


def _read_stream(path: Path) -> StreamFixture:
    """Read a stream; the comments at its beginning describe it. They are a part of it, because comments may be anywhere."""
    data = path.read_bytes()
    about, source = (re.search(rb": %b: ([^\r\n]+)" % name, data) for name in (b"about", b"source"))
    return StreamFixture(
        stem=path.stem,
        format=_format_of(path),
        about=about[1].decode() if about else "",
        source=source[1].decode() if source else "",
        data=data,
    )


def _read_server(path: Path) -> ServerFixture:
    raw = json.loads(path.read_text(encoding="utf-8"))
    return ServerFixture(
        stem=path.stem,
        server=path.parent.name,
        target=cast(ir.Format, path.parents[1].name),
        format=raw["format"],
        facts=ModelFacts(**raw["facts"]) if "facts" in raw else None,
        model=raw.get("model"),
        about=raw["about"],
        source=raw["source"],
        body=raw["body"],
        expected=raw["expected"],
    )


def _read_invalid(path: Path) -> InvalidFixture:
    raw = json.loads(path.read_text(encoding="utf-8"))
    return InvalidFixture(
        stem=path.stem, format=_format_of(path), kind=raw["kind"], about=raw["about"], source=raw["source"], payload=_payload(raw)
    )


def _payload(raw: dict[str, Any]) -> dict[str, Any] | list[Any] | str:
    """Return the body, the text, or the text with its ``NEST`` replaced by that many nested arrays."""
    if "body" in raw:
        body: dict[str, Any] | list[Any] = raw["body"]
        return body
    text: str = raw["text"]
    depth = raw.get("nest", 0)
    return text.replace("NEST", "[" * depth + "]" * depth) if depth else text


def _format_of(path: Path) -> ir.FormatName:
    """Return the format of a fixture, which is the name of its folder."""
    return ir.RegisteredName(path.parent.name)
