"""Every reader of a result returns a value, for any input (law 13)."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import formatbridge as fb
from formatbridge import ir


def read_result(converted: fb.Converted) -> None:
    """Call every reader of a result. An exception is a breach of the law, except ``InvalidPayloadError``, which ``parse`` documents."""
    unread = [copy.deepcopy(converted)]  # the report is resolved later; a pickled one is a case of tests/report/test_report.py
    repr(converted)
    report = converted.losses, converted.additions
    for line in (*converted.losses, *converted.additions):
        assert f"{line}".encode()
        assert repr(line).isprintable()
    assert json.loads(converted.json(), parse_constant=_refuse_constant) == converted.body
    assert f"{converted}".isascii()
    try:
        converted.parse()
    except fb.InvalidPayloadError as error:
        read_error(error)
    if isinstance(converted, fb.ConvertedRequest):
        assert converted.path.isascii()
        repr(converted.context)
    for other in (*unread, copy.copy(converted), pickle.loads(pickle.dumps(converted))):
        assert (other.losses, other.additions) == report
        assert other.json() == converted.json()


def read_error(error: fb.FormatBridgeError) -> None:
    """Call every reader of an error: its text, copies, and the partial answer and tail of a stream's."""
    assert len(str(error).encode()) <= 2048
    repr(error)
    for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert (type(other), str(other)) == (type(error), str(error))
    assert isinstance(getattr(error, "tail", b""), bytes)
    for loss in getattr(error, "losses", ()):
        assert f"{loss}".encode()
    partial = getattr(error, "partial", None)
    if partial is not None:
        read_result(partial)


def read_converter(converter: fb.StreamConverter) -> None:
    """Call every reader of a converter, at any time of its stream."""
    repr(converter)
    assert f"{converter}".isascii()
    assert len(converter.losses) + len(converter.additions) + len(converter.new_text()) + converter.event_count >= 0
    assert converter.has_ended in (True, False)
    assert converter.is_over in (True, False)
    if converter.error is not None:
        assert pickle.loads(pickle.dumps(converter.error)) == copy.deepcopy(converter.error)
    read_result(converter.response())


def outcome(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return the result of a call; None if it raises an error of the library, whose readers are called."""
    try:
        return call(*arguments, **named)
    except fb.FormatBridgeError as error:
        read_error(error)
        return None


def stream_results(
    chunks: list[bytes], source: ir.FormatName, target: ir.FormatName, options: fb.Options | None = None
) -> Iterator[fb.StreamConverter]:
    """Yield a converter before its stream, after each piece of it and after its end."""
    converter = fb.StreamConverter(source=source, target=target, options=options)
    yield converter
    for chunk in chunks:
        outcome(converter.feed, chunk)
        yield converter
    outcome(converter.finish)
    yield converter


def _refuse_constant(name: str) -> Any:
    raise AssertionError(f"{name} in an output")
