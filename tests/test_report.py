"""The report of a conversion: complete for everybody who reads it."""

from __future__ import annotations

import copy
import pickle
from threading import Thread
from typing import Any

import pytest

import formatbridge as fb
from formatbridge import ir
from formatbridge.losses import Late, Ledger, Spelling
from tests.fixtures import Fixture, fixtures


def test_two_readers_of_one_report_read_the_same() -> None:
    """A gateway answers with the report while another thread writes it to the log; neither may find it half worked out."""
    found: list[tuple[fb.Loss, ...]] = []

    def body() -> Any:
        reader.start()  # while the first reader is at work
        reader.join(0.1)
        return {"messages": []}

    ledger = Ledger(Late(body), Spelling())
    ledger.dropped(ir.Message("user", [], "/messages/0"), severity="lossy")
    reader = Thread(target=lambda: found.append(ledger.losses))
    found.append(ledger.losses)
    reader.join()

    assert [loss.path for loss in found[0]] == ["/messages/0"]
    assert found[0] == found[1]


@pytest.mark.parametrize("fixture", [pytest.param(fixture, id=str(fixture)) for fixture in fixtures()])
def test_a_copy_reports_what_the_original_does(fixture: Fixture) -> None:
    """Results cross to other processes before anybody has read their report."""
    for target in fb.FORMATS:
        made = fixture.convert(target)
        copies = [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
        assert [(each.losses, each.additions, each.json()) for each in copies] == [(made.losses, made.additions, made.json())] * 2
