"""Summaries of reports, and reports as dicts."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import Fixture, fixtures
from tests.support.for_each import for_each

TURN = {"role": "user", "name": "bob", "content": "Hi"}
REQUEST: dict[str, Any] = {"model": "m", "seed": 1, "n": 2, "messages": [TURN] * 40}


def loss(path: str, severity: fb.Severity = "info", why: str = "a reason") -> fb.Loss:
    return fb.Loss(path, "dropped", severity, "no_counterpart", why, 1)


def test_losses_that_differ_in_indexes_form_one_group() -> None:
    """A conversation of forty turns with names has one line, not forty."""
    converted = fb.convert_request(REQUEST, source="chat_completions", target="messages")

    assert [str(group) for group in fb.summarize(converted.losses)] == [
        "/n impossible dropped: the target returns one answer only",
        "/seed lossy dropped: the target has no place for it",
        "/messages/*/name x40 info dropped: the target has no place for it",
    ]


def test_severe_groups_come_first_then_large_ones() -> None:
    """A reader who stops after the first line has read the worst."""
    losses = [loss("/a"), loss("/b/0"), loss("/c", "lossy"), loss("/b/1"), loss("/d", "impossible")]

    assert [group.pattern for group in fb.summarize(losses)] == ["/d", "/c", "/b/*", "/a"]


def test_different_severities_and_reasons_are_different_groups() -> None:
    """A group has one severity and one reason, so a harmless one hides no loss."""
    losses = [loss("/a/0"), loss("/a/1", "lossy"), loss("/a/2", why="another reason")]

    assert [group.count for group in fb.summarize(losses)] == [1, 1, 1]


@pytest.mark.parametrize("values", [5, None, "/seed", b"/seed", [1], {"path": "/seed"}, [{"path": "/seed"}]], ids=repr)
def test_values_that_are_no_losses_are_rejected(values: Any) -> None:
    """A caller passes the result of a conversion, or losses that were read from JSON."""
    with pytest.raises(fb.ConfigurationError, match=r"losses (is|contains) (an? \w+|None), expected"):
        fb.summarize(values)
    with pytest.raises(fb.ConfigurationError, match=r"losses (is|contains) (an? \w+|None), expected"):
        fb.LossTotals().add(values)


@pytest.mark.parametrize(
    ("pointer", "pattern"),
    [
        ("/input/0/id", "/input/*/id"),
        ("/a/12/3", "/a/*/*"),
        ("", ""),
        ("/a1/2b", "/a1/2b"),
        ("/a/01", "/a/01"),
        ("/a~11/0", "/a~11/*"),
    ],
)
def test_only_whole_steps_that_are_indexes_become_stars(pointer: str, pattern: str) -> None:
    """Keys with digits in them stay readable."""
    assert fb.summarize([loss(pointer)])[0].pattern == pattern


def test_a_group_has_its_first_loss_as_an_example() -> None:
    """The example has a pointer and a value."""
    first = loss("/a/3")

    assert fb.summarize(iter([first, loss("/a/4")]))[0].example is first


def test_the_summary_of_no_losses_is_empty() -> None:
    """A lossless conversion prints nothing."""
    assert fb.summarize(()) == ()


@for_each("fixture", fixtures())
def test_results_and_reports_are_json_without_a_difference(fixture: Fixture) -> None:
    """A report is stored as JSON next to the body, and read back later."""
    for target in fb.FORMATS:
        converted = fixture.convert(target)

        read = json.loads(json.dumps(converted.to_dict()))

        assert [fb.Loss(**each) for each in read["losses"]] == list(converted.losses)
        assert [fb.Addition(**each) for each in read["additions"]] == list(converted.additions)
        assert (read["body"], read["kind"], read["source"], read["target"]) == (
            converted.body,
            converted.kind,
            fixture.format,
            target,
        )
        assert sum(group["count"] for group in (each.to_dict() for each in fb.summarize(converted.losses))) == len(converted.losses)
        json.dumps([group.to_dict() for group in fb.summarize(converted.losses)])


def test_a_request_has_its_url_and_an_error_its_status_in_the_dict() -> None:
    """A log of converted requests names the model also where the body does not."""
    request = fb.convert_request(REQUEST, source="chat_completions", target="generate_content", stream=True).to_dict()
    error = fb.convert_error("no", source="messages", target="responses", status=429).to_dict()

    assert (request["model"], request["stream"], request["path"]) == ("m", True, "/v1beta/models/m:streamGenerateContent?alt=sse")
    assert error["status"] == 429


def test_repr_shows_the_worst_patterns_and_stays_short() -> None:
    """A log line with a result is bounded, whatever the body."""
    body = REQUEST | {f"x_{index}" * 100: 1 for index in range(50)}
    converted = fb.convert_request(body, source="chat_completions", target="messages")
    unread = repr(converted)

    assert converted.losses

    assert unread == "<ConvertedRequest request chat_completions -> messages, report not computed yet>"
    assert repr(converted).startswith("<ConvertedRequest request chat_completions -> messages, 92 losses (/n impossible, /")
    assert len(repr(converted)) < 400


def test_losses_behave_like_a_tuple() -> None:
    """Code that compares, copies, pickles and joins the tuples keeps working."""
    losses = fb.convert_request(REQUEST, source="chat_completions", target="messages").losses

    assert losses == tuple(losses)
    assert isinstance(losses, tuple)
    assert hash(losses) == hash(tuple(losses))
    for again in (copy.copy(losses), copy.deepcopy(losses), pickle.loads(pickle.dumps(losses))):
        assert (type(again), again) == (type(losses), losses)
    assert len(losses + losses) == 2 * len(losses)
