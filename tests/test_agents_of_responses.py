"""Recorded requests of coding agents that use responses: what they lose in other formats, which is only what has no counterpart."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import formatbridge as fb
from tests.corpus import FOLDER

AGENTS = FOLDER / "agents"
LOST = {
    r"/input/\d+/encrypted_content foreign_signature": "a token of another vendor, which nobody else can read",
    r"/input/\d+/summary unsigned_reasoning": "messages takes reasoning with its own signature only",
    r"(/input/\d+)?/tools/\d+ renamed": "other formats have no namespaces; the names are restored in the answer",
    r"(/input/\d+)?/tools/\d+(/tools/\d+)? wrapped": "messages and generate_content have no free-form tools",
    r"(/input/\d+)?/tools/\d+(/tools/\d+)?/format no_counterpart": "a JSON argument is held to no grammar",
    r"/tools/\d+/search_content_types no_counterpart": "no other search returns images",
    r"/reasoning/summary no_counterpart": "chat_completions has no field that asks for a summary",
    r"/reasoning/context no_counterpart": "no other format chooses which earlier reasoning the model sees",
    r"/text/verbosity no_counterpart": "messages and generate_content have no verbosity",
    r"/parallel_tool_calls no_counterpart": "generate_content always may ask for several calls",
}
"""Pointer and code of each loss above ``info``, and why it has no counterpart."""


def _requests() -> list[Any]:
    index = AGENTS / "index.jsonl"
    if not index.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no requests of agents in {str(AGENTS)!r}"))]
    rows = [json.loads(line) for line in index.read_text("utf-8").splitlines()]
    return [pytest.param(row["file"], id=row["file"]) for row in rows if row["format"] == "responses"]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize("name", _requests())
def test_an_agents_request_loses_what_has_no_counterpart_alone(name: str, target: str) -> None:
    """An agent runs through a conversion that is told to raise on anything worse."""
    body = json.loads((AGENTS / name).read_bytes())

    made = fb.convert_request(body, source="responses", target=target)

    told = [f"{loss.path} {loss.code}" for loss in made.losses if loss.severity != "info"]
    assert [each for each in told if not any(re.fullmatch(row, each) for row in LOST)] == []
    assert not [loss for loss in made.losses if loss.severity == "impossible"]


@pytest.mark.parametrize("name", _requests())
def test_an_agents_tools_are_offered_from_the_start(name: str) -> None:
    """Codex CLI sends its tools and instructions as the first items; the beta for tools in mid-conversation is not needed."""
    body = json.loads((AGENTS / name).read_bytes())

    made = fb.convert_request(body, source="responses", target="messages").body

    assert "tool_addition" not in json.dumps(made)
    assert made["system"]
    assert made["tools"]
    assert all(turn["role"] != "system" for turn in made["messages"][:1])
