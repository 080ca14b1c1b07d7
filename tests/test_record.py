"""What is kept of a stream adds up to what the whole stream adds up to, and is little."""

from __future__ import annotations

from formatbridge.streaming.delta_template import Template
from formatbridge.streaming.event_log import Record


def _event(text: str, count: int | None = None) -> bytes:
    usage = b"" if count is None else b',"usageMetadata":{"totalTokenCount":%d}' % count
    return b'{"delta":"%b"%b}' % (text.encode(), usage)


def _told(*texts: str, counts: bool = False) -> tuple[Record, list[str]]:
    """Return the record of events of which the first two made the template, as they do in a stream, and their pieces."""
    record, data = Record(), [_event(text, number if counts else None) for number, text in enumerate(texts)]
    template = Template.of(data[0], texts[0])
    assert template is not None
    for event in data[:2]:
        record.add(event)
    pieces = list(texts[:2])
    record.run(template, pieces)
    pieces += texts[2:]
    if counts:
        record.keep_last(data[-1])
    return record, pieces


def test_events_that_differ_in_their_text_alone_are_one_with_all_of_it() -> None:
    """A thousand streams that are read at once keep texts, not events; those that proved them alike are among them."""
    record, _ = _told("a", "b", "c", "d")

    assert list(record) == [_event("abcd")]


def test_the_counts_of_the_last_event_stay() -> None:
    """generate_content counts up in every event, and the last count holds."""
    record, _ = _told("a", "b", "c", "d", counts=True)

    assert list(record) == [_event("a", 0), _event("b", 1), _event("c", 0), _event("d", 3)]


def test_another_event_ends_a_run() -> None:
    """What comes between is told between, though it goes on with the same text."""
    record, pieces = _told("a", "b", "c")

    record.add(b'{"text":"x"}')
    pieces.append("x")

    assert list(record) == [_event("abc"), b'{"text":"x"}']


def test_a_run_that_nothing_came_of_is_the_events_that_began_it() -> None:
    """The stream may stop where it was about to become dull."""
    record, _ = _told("a", "b")

    assert list(record) == [_event("ab")]
