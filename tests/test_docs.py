"""The documents say what the code does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge import ir
from formatbridge._reasons import REASONS
from tests.documents import DOCS, DOCUMENTS
from tests.relay_server import served

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_made_from_tables_is_current(name: str) -> None:
    """A table changed: run ``python -m tests.documents``."""
    assert (DOCS / name).read_text(encoding="utf-8") == DOCUMENTS[name]()


def test_every_canonical_type_is_described() -> None:
    """A reader of the code looks a type up."""
    text = (DOCS / "canonical-model.md").read_text(encoding="utf-8")

    aliases = {
        "Format",
        "JsonObject",
        "JsonValue",
        "Node",
        "Part",
        "Role",
        "Effort",
        "Tool",
        "MediaKind",
        "SignatureKind",
        "FinishReason",
        "ErrorKind",
    }
    assert [name for name in ir.__all__ if name not in aliases and f"`ir.{name}`" not in text] == []


def test_reasons_are_short() -> None:
    """A reason is read in a table: under ten words, and the same words for one code everywhere."""
    assert [why for why in REASONS.values() if len(why.split()) >= 10] == []


def test_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The first thing that anybody tries, and the second: the request is converted, then sent. What it says it prints, it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    convert, back, report, answer, send = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[:5]
    names: dict[str, object] = {}

    for example in (convert, back, report):
        exec(compile(example, "README.md", "exec"), names)
    printed = [f"# {line}" for line in capsys.readouterr().out.splitlines()]
    exec(compile(answer, "README.md", "exec"), names)
    with served(["Eternal.", "Eternal."]) as relay:
        names["api_key"] = relay.api_key
        exec(compile(send.replace("https://relay.example", relay.base_url), "README.md", "exec"), names)
    stream = list(fb.replay_response(names["answer"], source="messages"))
    whole, cut, broken = (b"".join(names["stream_back"](chunks)) for chunks in (stream, stream[:3], _breaking(stream[:-1])))  # type: ignore[operator]

    made = names["made"]
    assert printed == [line for line in report.splitlines() if line.startswith("# ")]
    assert re.findall(r"'(\w+)':", re.findall(r"made.body  # (.*)", convert)[0]) == list(made.body)  # type: ignore[attr-defined]
    assert f"# {names['home'].body['choices'][0]['message']['content']!r}" in answer  # type: ignore[attr-defined]
    assert (made.losses[0].before, made.losses[0].after) == (1.5, 1.0)  # type: ignore[attr-defined]
    assert whole.endswith(b"[DONE]\n\n")
    assert b'"error"' in cut
    assert b'"error"' in broken


def _breaking(chunks: list[bytes]) -> Iterator[bytes]:
    yield from chunks
    raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


def test_the_way_into_the_canonical_model_and_out_is_the_one_that_is_described() -> None:
    """Who stores conversations, or looks into them, finds no other page."""
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "canonical-model.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}

    exec(compile(example, "canonical-model.md", "exec"), names)

    assert names["request"].messages[1].parts == [ir.Text("Hi", src="/messages/1/content")]
    assert {"model": "m", "max_tokens": 4096, "system": "Be brief."}.items() <= names["made"].items()
    assert [loss.path for loss in names["losses"].losses] == ["/seed"]
    assert (names["said"].kind, names["said"].body["error"]["message"]) == ("error", "boom")


def test_every_link_between_documents_leads_somewhere() -> None:
    """Somebody moves a file."""
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"
