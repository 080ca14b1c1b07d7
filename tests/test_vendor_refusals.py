"""Law 16: no request that is converted from another format is refused by the rules of vendors that no type states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import formatbridge as fb
from formatbridge.testing.vendor_rules import Facts, broken_rules
from tests.corpus import FOLDER, requires_corpus
from tests.directions import CROSSINGS
from tests.laws import Sample, recorded, shipped

AGENTS = FOLDER / "agents"
requires_agents = pytest.mark.skipif(
    not (AGENTS / "index.jsonl").is_file(),
    reason=f"no recorded requests of agents in {str(AGENTS)!r}; FORMATBRIDGE_CORPUS names the folder of the corpus",
)
every_crossing = pytest.mark.parametrize(
    ("source", "target"), CROSSINGS, ids=[f"{source}-to-{target}" for source, target in CROSSINGS]
)


def agents(format: str) -> Iterator[Sample]:
    """Yield the requests of coding agents in a format."""
    for line in (AGENTS / "index.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["format"] == format:
            body: Any = json.loads((AGENTS / row["file"]).read_bytes())
            yield Sample(row["file"], format, "request", body, row["url_model"] or row["model"])


def refused(samples: Iterable[Sample], target: Any) -> list[str]:
    """Return what the vendor of a format would say of converted requests.

    No relay has issued the tokens of these histories. So nothing counts as stored, and a token counts as the target's own if it
    has no tag of another format: it is one that the conversion let through. A body that is invalid in its own format is not
    converted, so no vendor gets it.
    """
    found = []
    for sample in samples:
        try:
            made = sample.convert(sample.body, target)
        except fb.InvalidPayloadError:
            continue
        assert isinstance(made, fb.ConvertedRequest)
        for rule, failure in broken_rules(target, made.body, Facts(model=made.model)):
            found.append(f"{sample}: {rule.name}: {failure.message[:120]}")
    return found


@every_crossing
def test_no_vendor_refuses_a_converted_fixture(source: str, target: str) -> None:
    """What the types accept and the server refuses is of no use to anybody."""
    assert refused(shipped(source, "request"), target) == []


@requires_corpus
@every_crossing
def test_no_vendor_refuses_a_converted_recording(source: str, target: str) -> None:
    """Real callers send what no fixture has."""
    assert refused(recorded(source, "request"), target) == []


@requires_agents
@every_crossing
def test_no_vendor_refuses_the_converted_request_of_an_agent(source: str, target: str) -> None:
    """An agent behind a bridge must get through every step, or it is stuck."""
    assert refused(agents(source), target) == []


def test_a_token_that_no_relay_issued_counts_if_it_has_no_tag() -> None:
    """The tagged token of an earlier answer comes back as its issuer wrote it, and must not look like a stranger's."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "fb1|responses|encrypted|gAAA|rs_1"}
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hi."}]}]
    body = {"model": "m", "max_tokens": 99, "messages": [*messages, {"role": "user", "content": "again"}]}

    made = fb.convert_request(body, source="messages", target="responses")

    assert [item.get("encrypted_content") for item in made.body["input"] if item["type"] == "reasoning"] == ["gAAA"]
    assert list(broken_rules("responses", made.body, Facts())) == []
    assert [rule.name for rule, _ in broken_rules("messages", body, Facts())] == ["unknown_signature"]
