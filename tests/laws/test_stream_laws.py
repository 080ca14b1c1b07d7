"""The laws hold for every stream: fixtures, recordings and generated streams, in all directions."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import formatbridge as fb
from formatbridge import formats
from formatbridge.convert.bodies import ConvertedError
from formatbridge.errors import FormatBridgeError, StreamFailedError
from formatbridge.streaming.sse import DONE, encode_event
from tests.fixtures import check
from tests.laws.test_laws import parts_of_usage
from tests.support import laws
from tests.support.directions import DIRECTIONS, PAIRS
from tests.support.grammar_check import check as grammar_faults
from tests.support.pointers import leaves
from tests.support.stream_laws import (
    Stream,
    convert,
    end_of,
    ends_too_early,
    ends_twice,
    held_back,
    meaning,
    nothing_is_silent,
    read,
    recorded,
    shipped,
    stream_and_fold_agree,
    stream_and_whole_agree,
    tears,
    unknown_is_reported,
    write,
)


@cache
def _streams(format: fb.Format) -> tuple[Stream, ...]:
    return (*shipped(format), *recorded(format))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_only_the_listed_streams_fail(source: fb.Format, target: fb.Format) -> None:
    """The laws skip a stream that raises; another one that raises would hide a defect."""
    failed = set()
    for each in shipped(source):
        converted = convert(each.data, source, target)
        try:
            fb.collect_stream([converted], source=target)
        except StreamFailedError:
            failed.add(each.id)

    failing = ("stream-error_", "stream-failed-", *(["stream-finish_malformed_call-"] if target == "responses" else []))
    assert failed == {each.id for each in shipped(source) if each.id.startswith(failing)}


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_loss_of_a_stream_is_reported(source: fb.Format, target: fb.Format) -> None:
    """Law 1: a change of any leaf of any event is visible; in the same format in the accumulated answer."""
    assert [breach for each in _streams(source) for breach in nothing_is_silent(each, target)][:10] == []


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_unknown_fields_of_a_stream_are_reported(source: fb.Format, target: fb.Format) -> None:
    """Law 1 for future fields, in any event."""
    assert [breach for each in shipped(source) for breach in unknown_is_reported(each, target)][:10] == []


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_same_format_stream_is_unchanged(format: fb.Format) -> None:
    """Law 3: the same events, unknown ones, padding and those after an error included.

    Exceptions: the client of generate_content cannot read ``[DONE]``, and an error of another shape is followed by one of the format, or
    replaced by it.
    """
    for each in _streams(format):
        converter = fb.StreamConverter(source=format, target=format)
        for event in read(each.data):
            value = _value(event.data) if event.data.strip() else DONE
            had_failed = converter.error is not None
            try:
                output = [_value(out.data) for out in read(converter.feed(write([event])))]
            except fb.StreamDecodeError:
                break
            if converter.error is not None and not had_failed and output != [value]:
                assert output[0] == value or "error" in json.dumps(output[-1]), each
            else:
                is_left_out = not event.data.strip() or (value == DONE and format == "generate_content")
                assert output == ([] if is_left_out else [value]), each


def _value(data: bytes) -> Any:
    return data if data == DONE else json.loads(data)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_converted_stream_equals_the_converted_whole_answer(source: fb.Format, target: fb.Format) -> None:
    """Law 6: a converted stream, collected, is the conversion of the collected stream."""
    breaches = [stream_and_whole_agree(each, target) for each in _streams(source)]

    assert [breach for breach in breaches if breach] == []


FOLDED_OTHERWISE = {"stream-more_fields_in_last_event-responses": "its last event continues a text after other items were written"}
"""Streams whose accumulated answer differs from their events, and why."""


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_converted_stream_equals_the_converted_fold(source: fb.Format, target: fb.Format) -> None:
    """Law 6 for a user who stores the answer of the source's client: the next request is that of a user who read the stream."""
    breaches = [stream_and_fold_agree(each, target) for each in _streams(source) if each.id not in FOLDED_OTHERWISE]

    assert [breach for breach in breaches if breach] == []


@pytest.mark.parametrize("target", fb.FORMATS)
@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_replayed_answer_collects_to_the_same_answer(source: fb.Format, target: fb.Format) -> None:
    """Law 6: ``collect(replay(response)) == response``, byte for byte in the same format."""
    for sample in (*laws.shipped(source, "response"), *laws.recorded(source, "response")):
        whole = fb.convert_response(sample.body, source=source, target=target)
        if isinstance(whole, ConvertedError) or whole.body.get("status") in ("failed", "cancelled"):
            continue
        stream = b"".join(fb.replay_response(sample.body, source=source, target=target))
        try:
            collected = fb.collect_stream([stream], source=target)
        except fb.TruncatedStreamError:
            assert _never_ended(sample.body), sample
            continue

        assert meaning(collected.body, source, target) == meaning(whole.body, source, target), sample


def _never_ended(body: Any) -> bool:
    """Return whether an answer has no finish reason."""
    return any(not each.get("finishReason") for each in body.get("candidates") or [])


SPLITS = (1, 7, 64)


@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_converted_stream_does_not_depend_on_chunks(source: fb.Format) -> None:
    """Law 7: the output is the same for a split inside a character, a line end or a field name."""
    target: fb.Format = "messages" if source != "messages" else "responses"
    for each in shipped(source):
        whole = convert(each.data, source, target)

        assert [size for size in SPLITS if convert(each.data, source, target, size) != whole] == [], each


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_converted_stream_does_not_depend_on_its_framing(source: fb.Format, target: fb.Format) -> None:
    """Law 7: LF, CR, CRLF, a byte order mark, comments, several data lines, and a last event without its blank line."""
    for each in shipped(source):
        rewritten = write(read(each.data))
        whole = convert(rewritten, source, target)
        variants = {
            "CRLF": rewritten.replace(b"\n", b"\r\n"),
            "CR": rewritten.replace(b"\n", b"\r"),
            "mark": b"\xef\xbb\xbf" + rewritten,
            "comments": b": a\n\n" + rewritten.replace(b"\n\n", b"\n: b\n\n: c\n\n"),
            "lines": b"".join(_in_lines(event.data, event.event) for event in read(rewritten)),
            "unended": rewritten.rstrip(b"\n"),
        }

        assert [name for name, data in variants.items() if convert(data, source, target) != whole] == [], each


def _in_lines(data: bytes, name: str) -> bytes:
    """Write an event with a data line for each member of its object."""
    raw = data if data == DONE else json.dumps(json.loads(data), indent=1).encode()
    lines = b"".join(b"data:%b\n" % line for line in raw.split(b"\n"))
    return lines + (f"event: {name}\n\n".encode() if name else b"\n")


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_converted_stream_is_grammatical(source: fb.Format, target: fb.Format) -> None:
    """Law 8: one start, one end, indexes without gaps, and everything once."""
    for each in _streams(source):
        try:
            converted = convert(each.data, source, target)
        except fb.StreamError:
            continue

        assert grammar_faults(converted, formats.load(target).name) == [], each


@cache
def _ten(format: fb.Format) -> tuple[Stream, ...]:
    """Return the ten shortest streams with a good end and different content."""
    good = [each for each in shipped(format) if "error" not in each.id and "failed" not in each.id and len(each.data) > 700]
    return tuple(sorted(good, key=lambda each: len(each.data))[:10])


@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_truncation_at_any_byte_emits_no_end_event(source: fb.Format) -> None:
    """Law 9: at every byte of ten streams there is an error, and never a normal finish."""
    target: fb.Format = "responses" if source != "responses" else "messages"

    assert [breach for each in _ten(source) for breach in ends_too_early(each, target, range(end_of(each)))][:5] == []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_truncation_between_events_emits_no_end_event_in_any_target(source: fb.Format, target: fb.Format) -> None:
    """Law 9: the connection breaks after an event."""
    problems = []
    for each in shipped(source):
        end = end_of(each)
        cuts = [event.offset + len(event.data) + 2 for event in read(each.data)]
        problems += list(ends_too_early(each, target, [cut for cut in cuts if cut < end]))

    assert problems[:5] == []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_truncation_within_an_event_emits_no_end_event_even_after_a_finish_reason(source: fb.Format, target: fb.Format) -> None:
    """Law 9: the incomplete event may have been anything, also after a finish reason: more text, usage, an error."""
    assert [breach for each in shipped(source) for breach in ends_too_early(each, target, tears(each))][:5] == []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_closed_truncated_stream_has_one_end(source: fb.Format, target: fb.Format) -> None:
    """Law 9: ``on_truncated="close"`` gives a stream that the target's client reads to its end, wherever it was truncated."""
    problems = []
    for each in shipped(source):
        cuts = [event.offset + len(event.data) + 2 for event in read(each.data)]
        problems += list(ends_twice(each, target, [*cuts, *tears(each)]))

    assert problems[:5] == []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_an_error_event_never_becomes_a_normal_end(source: fb.Format, target: fb.Format) -> None:
    """Law 9: the target's reader raises too, with the same message."""
    for each in _streams(source):
        converter = fb.StreamConverter(source=source, target=target)
        try:
            converted = converter.feed(each.data) + converter.finish()
        except fb.StreamError:
            continue
        if converter.error is None:
            continue

        with pytest.raises(StreamFailedError) as caught:
            fb.collect_stream([converted], source=target)

        assert caught.value.error.message == converter.error.message, each


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_content_of_a_stream_is_emitted_without_delay(source: fb.Format, target: fb.Format) -> None:
    """Law 10: content that the target can express is emitted in the feed that brings it."""
    assert [breach for each in _streams(source) for breach in held_back(each, target)][:5] == []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_total_of_streamed_usage_is_the_sum_of_its_counts(source: fb.Format, target: fb.Format) -> None:
    """Law 11: input and output survive, and no count is negative."""
    for each in _streams(source):
        try:
            collected = fb.collect_stream([each.data], source=source).body
            result = fb.collect_stream([convert(each.data, source, target)], source=target).body
        except fb.StreamError:
            continue
        counts = [value for _, value in leaves(result.get("usage") or result.get("usageMetadata")) if isinstance(value, int)]
        one, other = (
            formats.load(name).decode_response(check(body, name, "response")).usage
            for name, body in ((source, collected), (target, result))
        )

        assert all(count >= 0 for count in counts), each
        if one is not None and (one.cache_read or 0) + (one.cache_write or 0) <= one.input and (one.reasoning or 0) <= one.output:
            assert other is not None, each
            assert (other.input, other.output) == (one.input, one.output), each
        if one is not None and other is not None:
            assert parts_of_usage(other, target) == parts_of_usage(one, target), each


@pytest.mark.parametrize(("source", "target"), [("chat_completions", "responses"), ("responses", "chat_completions")])
def test_streamed_arguments_keep_their_notation_between_formats_with_text_arguments(source: fb.Format, target: fb.Format) -> None:
    """Law 12: key order, big integers and number notation survive, and text that is no JSON is not repaired."""
    for each in _streams(source):
        try:
            collected = fb.collect_stream([each.data], source=source).body
            result = fb.collect_stream([convert(each.data, source, target)], source=target).body
        except fb.StreamError:
            continue

        assert _arguments(result, target) == _arguments(collected, source), each


def _arguments(body: Any, format: fb.Format) -> list[Any]:
    answer = formats.load(format).decode_response(check(body, format, "response"))
    return [part.arguments for part in answer.choices[0].parts if type(part).__name__ == "ToolCall"]  # type: ignore[union-attr]


# Generated streams.

WORDS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\u2028\x00"\\\n é\U0001f600'), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, WORDS),
    st.builds(lambda text, sign: {"type": "thinking", "thinking": text, "signature": sign}, WORDS, st.sampled_from(["c2ln", ""])),
    st.builds(
        lambda number, input: {"type": "tool_use", "id": f"toolu_{number}", "name": f"f{number % 3}", "input": input},
        st.integers(0, 99),
        st.dictionaries(WORDS, VALUES, max_size=3),
    ),
)


@st.composite
def answers(draw: st.DrawFn) -> Any:
    """Generate an answer of messages, which has an order, reasoning parts and calls."""
    content = draw(st.lists(BLOCKS, max_size=5, unique_by=lambda block: block.get("id") or id(block)))
    reason = (
        "tool_use" if any(block["type"] == "tool_use" for block in content) else draw(st.sampled_from(["end_turn", "max_tokens"]))
    )
    usage = {"input_tokens": draw(st.integers(0, 10**6)), "output_tokens": draw(st.integers(0, 10**6))}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    return head | {"content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def _oddly(data: bytes, format: fb.Format, draw: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
    """Change a stream as real servers do, without changing its content."""
    output = b""
    for event in read(data):
        raw = None if event.data == DONE else json.loads(event.data)
        name = "" if draw(st.booleans()) else event.event
        if raw is not None and draw(st.integers(0, 4)) == 0:
            output += draw(st.sampled_from([b": ping\n\n", b"\n", b"data:\n\n"]))
        if raw is not None and format == "chat_completions":
            for choice in raw["choices"]:
                if draw(st.booleans()) and choice["delta"].keys() & {"content", "reasoning_content"}:
                    choice["delta"] |= {"role": "assistant", "tool_calls": None}
            raw |= {"usage": raw.get("usage")} | ({"obfuscation": "x"} if draw(st.booleans()) else {})
        if raw is not None and format == "responses" and draw(st.booleans()):
            raw.pop("sequence_number", None)
        output += encode_event(event.data if raw is None else json.dumps(raw).encode(), name or None)
    return output


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(answer=answers(), data=st.data())
@pytest.mark.parametrize("source", fb.FORMATS)
def test_generated_streams_satisfy_the_laws(source: fb.Format, answer: Any, data: st.DataObject) -> None:
    """Laws 6, 7, 8 and 14 for generated streams, with the quirks of real servers, split anywhere."""
    rewritten = b"".join(fb.replay_response(answer, source="messages", target=source))
    stream = _oddly(rewritten, source, data.draw)
    marks = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in pairwise([0, *marks, len(stream)])]
    whole = fb.collect_stream([rewritten], source=source)

    assert meaning(fb.collect_stream(pieces, source=source).body, source, source) == meaning(whole.body, source, source)
    for target in fb.FORMATS:
        if target == source:
            continue
        output = b"".join(fb.convert_stream(pieces, source=source, target=target))
        assert output == convert(stream, source, target)
        assert grammar_faults(output, formats.load(target).name) == []
        expected = fb.convert_response(whole.body, source=source, target=target).body
        assert meaning(fb.collect_stream([output], source=target).body, source, target) == meaning(expected, source, target)


@settings(max_examples=60)
@given(data=st.data())
def test_any_bytes_are_read_or_raise_an_error_of_this_library(data: st.DataObject) -> None:
    """Law 13: no exception of another library, and the output is strict JSON."""
    source = data.draw(st.sampled_from(fb.FORMATS))
    stream = bytearray(data.draw(st.sampled_from(shipped(source))).data)
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=4))
    for target in fb.FORMATS:
        converter = fb.StreamConverter(source=source, target=target)
        output = b""
        try:
            output = converter.feed(bytes(stream))
            output += converter.finish()
        except FormatBridgeError as error:
            output += getattr(error, "tail", b"")
        if target != source:
            for event in read(output):
                assert event.data == DONE or json.loads(event.data, parse_constant=_no_constant) is not None


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} in an output")


REPORTED_OTHERWISE = {
    "stream-text_no_created-responses": "its head came with its end, when the target's had left",
    "stream-more_fields_in_last_event-responses": "its last event adds to items that had left",
    "stream-malformed_part_only-generate_content": "a later count replaces the malformed one in the whole answer",
}
"""Streams whose report differs from that of their whole answer, and why."""


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_report_of_a_stream_is_that_of_its_whole_answer(source: fb.Format, target: fb.Format) -> None:
    """Law 2: pointers, codes and values are the same if the events certainly add up to one answer.

    Exceptions are values that came after their text was sent, which the whole answer has, and repeated values, which it has once.
    """
    for each in _streams(source):
        events = [json.loads(event.data) for event in read(each.data) if event.data.strip() and event.data != DONE]
        body = formats.load(source).fold_stream(events) if each.id not in REPORTED_OTHERWISE else None
        converter = fb.StreamConverter(source=source, target=target)
        try:
            converter.feed(each.data)
            converter.finish()
        except fb.StreamError:
            continue

        if body is not None and converter.error is None:
            whole = fb.convert_response(body, source=source, target=target)
            delayed = {loss.path for loss in converter.losses if loss.code in ("too_late", "repeated")}
            streamed, waited = ([loss for loss in result.losses if loss.path not in delayed] for result in (converter, whole))
            assert sorted(streamed, key=str) == sorted(waited, key=str), each
