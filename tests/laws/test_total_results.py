"""Law 13: every reader of every result is total, for every input of the laws and for bytes that are not UTF-8."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formatbridge as fb
from tests.fixtures import ServerFixture, server_fixtures
from tests.support.directions import PAIRS
from tests.support.for_each import for_each
from tests.support.laws import Sample, recorded, shipped
from tests.support.result_readers import outcome, read_converter, read_error, read_result, stream_results
from tests.support.stream_laws import Stream
from tests.support.stream_laws import recorded as recorded_streams
from tests.support.stream_laws import shipped as shipped_streams

KINDS = ("request", "response", "error", "models")
INVALID_UTF_8 = b"\xe9"
"""A letter of Latin-1, which is no UTF-8 before an ASCII letter."""


@cache
def _samples(format: fb.Format, kind: str) -> tuple[Sample, ...]:
    return (*shipped(format, kind), *recorded(format, kind))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_reader_of_a_converted_body_returns_a_value(source: fb.Format, target: fb.Format, kind: str) -> None:
    """Results are logged, stored and sent to other processes by code without an except clause."""
    for sample in _samples(source, kind):
        result = outcome(sample.convert, json.dumps(sample.body), target)
        if result is not None:
            read_result(result)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_reader_of_a_stream_converter_returns_a_value(source: fb.Format, target: fb.Format) -> None:
    """A gateway reads the report of a stream in its middle, after a break, and at its end."""
    for stream in (*shipped_streams(source), *recorded_streams(source)[:6]):
        half = len(stream.data) // 2
        for converter in stream_results([stream.data[:half], stream.data[half:]], source, target):
            read_converter(converter)
        converter = fb.StreamConverter(source=source, target=target)
        outcome(converter.feed, stream.data[:half])
        read_error(converter.abort(ConnectionResetError("reset by peer")))


@pytest.mark.parametrize("body", [
    b'{"error":{"message":"caf\xe9"}}', b'[{"error":{"message":"caf\xe9"}}]', b"caf\xe9", b'"caf\xe9"', b'["caf\xe9"]',
    b'{"error":"caf\xe9"}', b'{"error":{"message":"caf\xe9","message":"th\xe9"}}', b'{"error":{"message":"caf\\ud800\xe9"}}',
    b'{"caf\xe9":1}', b'{"error":{"message":"x","\xe9":1,"\xe9":2}}', b'{"message":"caf\xe9","n":1e999}',
    b"\xff\xfe{\x00}\x00", b"\xed\xa0\x80", b"\x80",
])  # fmt: skip
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_error_body_that_is_not_utf_8_is_converted_and_reported(source: fb.Format, target: fb.Format, body: bytes) -> None:
    """A proxy in front of the server writes its page in Latin-1; U+FFFD replaces invalid bytes."""
    converted = fb.convert_error(body, source=source, target=target, status=400)

    read_result(converted)
    assert any(loss.code in ("invalid_utf8", "lone_surrogate") for loss in converted.losses)
    assert fb.convert_error(bytearray(body), source=source, target=target, status=400).losses == converted.losses


@pytest.mark.parametrize(
    ("body", "path", "before", "after"),
    [
        (b'{"error":{"message":"caf\xe9"}}', "/error/message", "caf\\xe9", "caf�"),
        (b'[{"error":{"message":"caf\xe2\x82"}}]', "/0/error/message", "caf\\xe2\\x82", "caf�"),
        (b"caf\xe9", "", "caf\\xe9", "caf�"),
    ],
)
def test_bytes_that_are_not_utf_8_are_reported_where_they_are(body: bytes, path: str, before: str, after: str) -> None:
    """The loss has the bytes, and the text that replaces them."""
    (loss,) = fb.convert_error(body, source="chat_completions", target="messages", status=400).losses

    assert (loss.path, loss.kind, loss.code, loss.before, loss.after) == (path, "changed", "invalid_utf8", before, after)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_the_report_does_not_depend_on_a_buffer_that_is_used_again(source: fb.Format, kind: str) -> None:
    """A server may read the next request into the same bytearray before the report of the first is read."""
    for sample in shipped(source, kind):
        for target in fb.FORMATS:
            buffer = bytearray(json.dumps(sample.body).encode())
            expected = sample.convert(bytes(buffer), target).losses
            converted = sample.convert(buffer, target)
            buffer[:] = b"{"
            assert converted.losses == expected, sample


WRONG: tuple[Any, ...] = ("x", 7, {}, [1])
"""Values of other types."""


def _with_wrong_values(value: Any) -> Iterator[Any]:
    """Yield copies of a value in which one of the values below it is wrong."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for wrong in (*WRONG, *_with_wrong_values(item)):
            changed = value.copy()
            changed[key] = wrong
            yield changed


@for_each("fixture", server_fixtures())
def test_a_wrong_value_in_a_request_for_a_server_is_accepted_or_named(fixture: ServerFixture) -> None:
    """Rules of servers read parts of a body that its wire model does not check, such as a schema or a tool of an unknown type."""
    target = fb.Target(fixture.target, dialect=fixture.server, model=fixture.facts)
    for body in _with_wrong_values(fixture.body):
        outcome(fb.convert_request, body, source=fixture.format, target=target, model="m-large")


@pytest.mark.parametrize("server", [
    ("chat_completions", "openrouter"), ("chat_completions", "cerebras"), ("messages", "minimax"), ("responses", "vllm"),
    ("generate_content", "gemini"),
], ids="-".join)  # fmt: skip
@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_wrong_value_in_a_request_is_accepted_or_named(source: fb.Format, server: tuple[fb.Format, str]) -> None:
    """The error names the place; an exception of Python would not."""
    format, dialect = server
    for sample in shipped(source, "request"):
        for body in _with_wrong_values(sample.body):
            outcome(fb.convert_request, body, source=source, target=fb.Target(format, dialect=dialect), model="m-large")


BYTES = st.sampled_from([
    INVALID_UTF_8, b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\x85", b"\xe2\x80\xa8", b"\\ud800", b"\\udc00", b"1e999",
    b"NaN", b"null", b"[", b"{}", b'""', b'"a":1,"a":2,', b"\r", b"\n", b"",
]) | st.binary(max_size=4)  # fmt: skip
"""Replacements of bytes: not UTF-8, not JSON, and text that is parsed differently than it looks."""


@st.composite
def mutations(draw: st.DrawFn, data: bytes) -> bytes:
    """Return bytes of which some are replaced, flipped or removed."""
    output = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(output)))
        match draw(st.sampled_from(["replace", "flip", "stray", "cut", "repeat"])):
            case "replace":
                output[at : at + draw(st.integers(0, 9))] = draw(BYTES)
            case "flip" if at < len(output):
                output[at] ^= 1 << draw(st.integers(0, 7))
            case "stray":
                quote = output.find(b'"', at) + 1
                output[quote:quote] = INVALID_UTF_8
            case "cut":
                del output[at:]
            case "repeat":
                output[at:at] = output[at : at + draw(st.integers(0, 60))]
            case _:
                pass
    return bytes(output)


@settings(max_examples=100)
@given(data=st.data())
def test_a_mutated_body_is_read_or_refused_and_so_is_its_result(data: st.DataObject) -> None:
    """For any bytes, only a ``FormatBridgeError`` is raised, and a result has a report."""
    sample = data.draw(st.sampled_from([each for format in fb.FORMATS for kind in KINDS for each in shipped(format, kind)]))
    text = json.dumps(sample.body, ensure_ascii=data.draw(st.booleans())).encode()
    body = data.draw(mutations(text))
    written: Any = data.draw(
        st.sampled_from([body, bytearray(body), body.decode(errors="replace"), body.decode(errors="surrogateescape")])
    )

    outcome(fb.detect_format, written)
    for target in fb.FORMATS:
        result = outcome(sample.convert, written, target)
        if result is not None:
            read_result(result)
        read_result(fb.convert_error(written, source=sample.format, target=target, status=400))


@settings(max_examples=80)
@given(data=st.data())
def test_an_exchange_of_mutated_bodies_raises_errors_of_the_library_only(data: st.DataObject) -> None:
    """As in a gateway: a request, and any bytes as its answer."""
    sample = data.draw(st.sampled_from([each for format in fb.FORMATS for each in shipped(format, "request")]))
    via = data.draw(st.sampled_from(fb.FORMATS))
    exchange = outcome(fb.Bridge(sample.format, via=via).open, sample.body, model=sample.model or "m")
    if exchange is None:
        return
    answer = data.draw(st.sampled_from([*shipped(via, "response"), *shipped(via, "error")]))
    body = data.draw(mutations(json.dumps(answer.body, ensure_ascii=False).encode()))

    read_result(exchange.request)
    repr(exchange)
    result = outcome(exchange.response, body)
    if result is not None:
        read_result(result)
    read_result(exchange.error(data.draw(st.sampled_from([400, 404, 429, 500])), body))
    stream = data.draw(st.sampled_from(shipped_streams(via)))
    converter = exchange.stream()
    outcome(converter.feed, data.draw(mutations(stream.data)))
    read_converter(converter)
    outcome(converter.finish)
    read_converter(converter)


@settings(max_examples=40)
@given(data=st.data())
def test_a_mutated_stream_is_read_or_refused_and_so_is_its_result(data: st.DataObject) -> None:
    """For any bytes and any split, only a ``FormatBridgeError`` is raised, and the result can be read."""
    stream: Stream = data.draw(st.sampled_from([each for format in fb.FORMATS for each in shipped_streams(format)]))
    body = data.draw(mutations(stream.data))
    cut = data.draw(st.integers(0, len(body)))
    options = data.draw(st.sampled_from([None, fb.Options(on_truncated="close"), fb.Options(raise_on="lossy")]))

    for target in fb.FORMATS:
        for converter in stream_results([body[:cut], body[cut:]], stream.format, target, options):
            read_converter(converter)
        broken = fb.StreamConverter(source=stream.format, target=target, options=options)
        outcome(broken.feed, body[:cut])
        read_error(broken.abort())
        collected = outcome(fb.collect_stream, [body], source=stream.format, target=target)
        if collected is not None:
            read_result(collected)
    outcome(lambda: list(fb.iter_events([body], format=stream.format)))
