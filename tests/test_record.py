"""What is kept of a stream that is passed on adds up to what the whole stream adds up to, and is little."""

from __future__ import annotations

from formatbridge.streaming.record import Record
from formatbridge.streaming.template import Template


def _event(text: str, count: int | None = None) -> bytes:
    usage = b"" if count is None else b',"usageMetadata":{"totalTokenCount":%d}' % count
    return b'{"delta":"%b"%b}' % (text.encode(), usage)


def _told(*texts: str, counts: bool = False) -> Record:
    """Return the record of events of which the first two made the template, as they do in a stream."""
    record = Record()
    record.add(b'{"start":1}')
    data = [_event(text, number if counts else None) for number, text in enumerate(texts)]
    template = Template.of(data[0], texts[0])
    assert template is not None
    for event in data[:2]:
        record.add(event)
    for text, event in zip(texts[2:], data[2:], strict=True):
        record.go_on(template, text, event)
    return record


def test_events_that_differ_in_their_text_alone_are_one_with_all_of_it() -> None:
    """A thousand streams that are read at once keep texts, not events; those that taught the template are among them."""
    assert list(_told("a", "b", "c", "d")) == [b'{"start":1}', _event("abcd")]


def test_the_counts_of_the_last_event_stay() -> None:
    """generate_content counts up in every event, and the last count holds."""
    assert list(_told("a", "b", "c", "d", counts=True)) == [b'{"start":1}', _event("abc", 0), _event("d", 3)]


def test_another_event_ends_a_run() -> None:
    """What comes between is told between."""
    record = _told("a", "b", "c")

    record.add(b'{"stop":1}')
    record.add(_event("x"))

    assert list(record) == [b'{"start":1}', _event("abc"), b'{"stop":1}', _event("x")]
