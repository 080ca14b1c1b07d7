"""What single servers ignore, reject or read in another form: one file in ``fixtures/servers`` for each behaviour."""

from __future__ import annotations

import pytest

import formatbridge as fb
from formatbridge.testing.vendor_rules import Facts, broken_rules
from tests.fixtures import ServerFixture, server_fixtures
from tests.support.for_each import for_each


def _losses(converted: fb.ConvertedRequest, fixture: ServerFixture) -> list[dict[str, object]]:
    """Return the losses with the attributes that the file states; the first four are in every file."""
    names = {"path", "kind", "code", "severity"}.union(*fixture.expected["losses"])
    return [{name: getattr(loss, name) for name in names} for loss in converted.losses]


@pytest.mark.parametrize("fixture", server_fixtures(), ids=str)
def test_a_server_gets_what_it_reads(fixture: ServerFixture) -> None:
    """A user names the server to get no error from it, and reads in the report what it does not do."""
    converted = fixture.convert()

    assert converted.body == fixture.expected["body"]
    assert _losses(converted, fixture) == fixture.expected["losses"]
    assert [addition.path for addition in converted.additions] == fixture.expected.get("additions", [])


@for_each("fixture", server_fixtures())
def test_the_strict_relay_of_the_server_accepts_the_request(fixture: ServerFixture) -> None:
    """An expected body that the server rejects would be the promise of an error."""
    body = fixture.expected["body"]
    facts = Facts(model=body.get("model", "m-large"))

    assert [(rule.name, failure.message) for rule, failure in broken_rules(fixture.target, body, facts, fixture.server)] == []


@for_each("fixture", server_fixtures())
def test_a_request_that_the_server_reads_is_unchanged(fixture: ServerFixture) -> None:
    """A gateway may receive requests that another one has converted already."""
    converted = fixture.convert_again()

    assert (converted.body, converted.losses, converted.additions) == (fixture.expected["body"], (), ())
