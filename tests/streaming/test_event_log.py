"""The event log keeps little of a stream, and folds to the same body as all of its events."""

from __future__ import annotations

from formatbridge.streaming.delta_template import EventLog, EventPattern


def _event(text: str, count: int | None = None) -> bytes:
    usage = b"" if count is None else b',"usageMetadata":{"totalTokenCount":%d}' % count
    return b'{"delta":"%b"%b}' % (text.encode(), usage)


def _logged(*texts: str, counts: bool = False) -> tuple[EventLog, list[str]]:
    """Return the log of events, the first two of which are the pattern, and their pieces."""
    log, data = EventLog(), [_event(text, number if counts else None) for number, text in enumerate(texts)]
    pattern = EventPattern.of(data[0], texts[0])
    assert pattern is not None
    for event in data[:2]:
        log.add(event)
    pieces = list(texts[:2])
    log.begin_run(pattern, pieces)
    pieces += texts[2:]
    if counts:
        log.keep_last(data[-1])
    return log, pieces


def test_events_that_differ_only_in_their_text_become_one_event() -> None:
    """Many streams at once would need much memory if each kept its events; the two that confirmed the pattern are included."""
    log, _ = _logged("a", "b", "c", "d")

    assert list(log) == [_event("abcd")]


def test_the_counts_of_the_last_event_are_kept() -> None:
    """In generate_content every event has counts, and the last ones are valid."""
    log, _ = _logged("a", "b", "c", "d", counts=True)

    assert list(log) == [_event("a", 0), _event("b", 1), _event("c", 0), _event("d", 3)]


def test_another_event_ends_a_run() -> None:
    """The order of events is kept, also if the other event continues the same text."""
    log, pieces = _logged("a", "b", "c")

    log.add(b'{"text":"x"}')
    pieces.append("x")

    assert list(log) == [_event("abc"), b'{"text":"x"}']


def test_a_run_of_two_events_becomes_one_event() -> None:
    """The stream may end directly after the pattern was confirmed."""
    log, _ = _logged("a", "b")

    assert list(log) == [_event("ab")]
