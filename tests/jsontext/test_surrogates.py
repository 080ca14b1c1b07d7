"""Lone surrogates, which result from cutting text by UTF-16 units, are joined, or replaced and reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import formatbridge as fb
from tests.support.directions import DIRECTIONS, PAIRS
from tests.support.pointers import value_at, with_value
from tests.support.servers import body_of
from tests.validation.test_invalid_input import REQUESTS

HIGH, LOW = "\ud83d", "\ude00"
LONE = "\\ud800"
"""A lone surrogate as a JSON escape."""
PLACES = {
    "chat_completions": "/messages/0/content",
    "messages": "/messages/0/content",
    "responses": "/input/0/content",
    "generate_content": "/contents/0/parts/0/text",
}
"""Pointers of the text in the smallest request of each format."""


def shown(text: str) -> str:
    """Return text with surrogates as JSON escapes."""
    return text.encode(errors="backslashreplace").decode()


def replaced(converted: fb.Converted | fb.Reply) -> list[tuple[str, str, str, Any, Any]]:
    return [
        (each.path, each.kind, each.severity, each.before, each.after) for each in converted.losses if each.code == "lone_surrogate"
    ]


@pytest.mark.parametrize("written", [lambda body: body, json.dumps], ids=["dict", "text"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_lone_surrogate_is_replaced_and_reported(source: fb.Format, target: fb.Format, written: Callable[[Any], Any]) -> None:
    """A tool cut its output inside an emoji; without replacement the server would reject the conversation from then on."""
    for half in (HIGH, LOW, LOW + HIGH):
        text, whole = f"Hi {half}!", f"Hi {'�' * len(half)}!"
        body = with_value(REQUESTS[source], PLACES[source], text)

        converted = fb.convert_request(written(body), source=source, target=target, model="m")

        assert whole in converted.json().decode()
        assert replaced(converted) == [(PLACES[source], "changed", "lossy", shown(text), whole)]
        assert value_at(body, PLACES[source]) == text


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_raise_on_rejects_replaced_text(source: fb.Format, target: fb.Format) -> None:
    """An evaluation must not compare the answers to two different questions."""
    body = with_value(REQUESTS[source], PLACES[source], HIGH)

    with pytest.raises(fb.LossyConversionError) as caught:
        fb.convert_request(body, source=source, target=target, model="m", options=fb.Options(raise_on="lossy"))

    assert [loss.code for loss in caught.value.losses] == ["lone_surrogate"]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_surrogate_pair_is_one_character(source: fb.Format, target: fb.Format) -> None:
    """Concatenated stream deltas may contain pairs; the text is equivalent, so nothing is lost."""
    body = with_value(REQUESTS[source], PLACES[source], "a" + HIGH + LOW + "b")

    converted = fb.convert_request(body, source=source, target=target, model="m")

    assert "a😀b" in converted.json().decode()
    assert replaced(converted) == []


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_dropped_text_has_no_second_loss(source: fb.Format, target: fb.Format) -> None:
    """One value has one loss."""
    converted = fb.convert_request({**REQUESTS[source], "wild": f"a{HIGH}"}, source=source, target=target, model="m")

    assert [(loss.kind, loss.before) for loss in converted.losses if loss.path == "/wild"] == [("dropped", "a�")]


@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_lone_surrogate_in_a_key_is_rejected(source: fb.Format) -> None:
    """Replacing it could make two keys equal."""
    body = {**REQUESTS[source], "wild": {f"a{HIGH}": 1}}

    with pytest.raises(fb.InvalidPayloadError, match="expected a string of valid Unicode"):
        fb.convert_request(body, source=source, target=source, model="m")


@pytest.mark.parametrize("target", ["messages", "generate_content"])
def test_arguments_with_a_lone_surrogate_are_still_an_object(target: fb.Format) -> None:
    """As text they are valid JSON, and the tool must get its other arguments."""
    arguments = '{"path": "a", "text": "x\\ud83d"}'
    call = {"id": "c1", "type": "function", "function": {"name": "save", "arguments": arguments}}
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    turns.append({"role": "tool", "tool_call_id": "c1", "content": "ok"})

    converted = fb.convert_request({"model": "m", "messages": turns}, source="chat_completions", target=target)

    place = "/messages/1/tool_calls/0/function/arguments"
    assert replaced(converted) == [(place, "changed", "lossy", arguments, {"path": "a", "text": "x�"})]
    assert '{"path":"a","text":"x�"}' in converted.json().decode()


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_lone_surrogate_in_an_answer_is_replaced(source: fb.Format, target: fb.Format) -> None:
    """The answer is otherwise usable, also through a client."""
    text = json.dumps(body_of("responses", source)).replace("Vinnufossen", f"Vinnufossen {shown(HIGH)}").encode()
    request = body_of("requests", target)

    converted = fb.convert_response(text, source=source, target=target)
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=text))) as http:
        reply = fb.Client("https://relay.test", "sk", http_client=http).send(request, target, via=source)

    assert "Vinnufossen �" in converted.json().decode()
    assert replaced(converted) != []
    assert "Vinnufossen �" in reply.json().decode()
    assert replaced(converted)[0] in replaced(reply)


@pytest.mark.parametrize("written", [lambda body: body, json.dumps], ids=["dict", "text"])
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"error": {"message": f"no {HIGH}"}}, "/error/message"),
        ([{"error": {"message": f"no {HIGH}"}}], "/0/error/message"),
        ([f"no {HIGH}"], None),
        (f"no {HIGH}", None),
    ],
    ids=["object", "list", "other", "words"],
)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_lone_surrogate_in_an_error_is_replaced(
    source: fb.Format, target: fb.Format, body: Any, path: str | None, written: Any
) -> None:
    """``convert_error`` rejects no body."""
    converted = fb.convert_error(written(body), source=source, target=target, status=400)

    assert "no �" in converted.json().decode()
    assert [each[0] for each in replaced(converted)] == [path] if path else len(replaced(converted)) == 1


@pytest.mark.parametrize("value", ["NaN", f'"{LONE}"', f'{{"{LONE}": 1}}', "1e400"])
def test_the_error_for_a_key_with_a_lone_surrogate_is_valid_unicode(value: str) -> None:
    """Log files are written as UTF-8."""
    with pytest.raises(fb.InvalidPayloadError) as caught:
        fb.convert_request(f'{{"x": {{"{LONE}": {value}}}}}', source="chat_completions", target="messages")

    assert "/x has the key '\\ud800', expected a string of valid Unicode" in str(caught.value)
    assert str(caught.value).encode()


@pytest.mark.parametrize("lone", [LONE, LONE.encode().decode("unicode_escape")], ids=["escaped", "bare"])
@pytest.mark.parametrize("target", fb.FORMATS)
def test_an_error_that_is_no_json_has_no_pointers(lone: str, target: fb.Format) -> None:
    """The whole body becomes the message, so no pointer leads into it."""
    body = f'{{"error": {{"message": "boom {lone}"}}, "{lone}": "{lone}"}}'

    converted = fb.convert_error(body, source="chat_completions", target=target, status=400)

    assert [each for each in replaced(converted) if each[0] != "/message"] == []
    assert "".join(loss.path for loss in converted.losses).encode() is not None
    assert converted.json()


# Streams.


def _stream(format: fb.Format, *pieces: str) -> list[bytes]:
    """Return a stream with these text deltas, with surrogates as escapes."""
    converter = fb.StreamConverter(source="chat_completions", target=format)
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    results = []
    for piece in pieces:
        choice = {"index": 0, "delta": {"content": piece.replace(HIGH, "HIGH").replace(LOW, "LOW")}, "finish_reason": None}
        results.append(converter.feed(b"data: %b\n\n" % json.dumps(head | {"choices": [choice]}).encode()))
    end = head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    results.append(converter.feed(b"data: %b\n\ndata: [DONE]\n\n" % json.dumps(end).encode()) + converter.finish())
    return [chunk.replace(b"HIGH", shown(HIGH).encode()).replace(b"LOW", shown(LOW).encode()) for chunk in results]


SPLIT = ("One", " two", f" {HIGH}", f"{LOW} three", " four", HIGH, LOW + HIGH, LOW, " five", " six")
WHOLE = "One two 😀 three four😀😀 five six"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_pair_that_two_events_share_is_joined(source: fb.Format, target: fb.Format) -> None:
    """The result does not depend on where the text is split, and the output has no lone surrogate."""
    chunks = _stream(source, *SPLIT)
    converter = fb.StreamConverter(source=source, target=target)

    output = b"".join([converter.feed(chunk) for chunk in chunks]) + converter.finish()

    for line in output.splitlines():
        if line.startswith(b"data: {"):
            events = json.dumps(json.loads(line.removeprefix(b"data: ")), ensure_ascii=False)
            assert events.encode(errors="replace") == events.encode(errors="ignore")  # which half a character would make different
    assert replaced(converter.response()) == []
    for whole in (fb.collect_stream([output], source=target), fb.collect_stream(chunks, source=source, target=target)):
        assert WHOLE in whole.json().decode()
    by_byte = fb.StreamConverter(source=source, target=target)
    bytewise = b"".join(by_byte.feed(bytes([byte])) for byte in b"".join(chunks)) + by_byte.finish()
    assert bytewise == output


def test_typed_events_have_no_lone_surrogates() -> None:
    """Printing one raises an exception."""
    events: Any = fb.iter_events(_stream("chat_completions", *SPLIT), format="chat_completions")

    assert "".join(event.choices[0].delta.content or "" for event in events) == WHOLE


def test_parallel_arguments_are_joined_separately() -> None:
    """Two calls are split at the same time, and each continues with its second half."""
    pieces = [(0, '{"a": "' + HIGH), (1, '{"b": "\ud83c'), (0, LOW + '"}'), (1, '\udf0d"}')]
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = []
    for number, (index, text) in enumerate(pieces):
        begun = {"id": f"c{index}", "type": "function"} if number < 2 else {}
        call = {"index": index, **begun, "function": {"arguments": text} | ({"name": f"f{index}"} if begun else {})}
        chunks.append({"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None})
    chunks.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    stream = [b"data: %b\n\n" % json.dumps(head | {"choices": [choice]}).encode() for choice in chunks]

    whole = fb.collect_stream([*stream, b"data: [DONE]\n\n"], source="chat_completions", target="messages")

    assert [block["input"] for block in whole.body["content"]] == [{"a": "😀"}, {"b": "🌍"}]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_error_after_a_lone_surrogate_is_reported(source: fb.Format, target: fb.Format) -> None:
    """The reader gets the error that ended the answer."""
    error = {"error": {"message": "overloaded", "type": "server_error", "code": 503, "status": "UNAVAILABLE"}}
    message = {"type": "error", **error} if source in ("messages", "responses") else error
    converter = fb.StreamConverter(source=source, target=target)

    output = b"".join([converter.feed(chunk) for chunk in _stream(source, "One", f" two{HIGH}")[:-1]])
    output += converter.feed(f"data: {json.dumps(message)}\n\n".encode()) + converter.finish()

    assert b"overloaded" in output
    assert converter.error is not None


@pytest.mark.parametrize("via", fb.FORMATS)
def test_a_lone_surrogate_in_a_whole_answer_is_an_error_of_the_stream(via: fb.Format) -> None:
    """A stream has no report, so the replacement in a whole answer could not be reported."""
    text = json.dumps(body_of("responses", via)).replace("Vinnufossen", f"Vinnufossen {shown(HIGH)}").encode()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=text))

    with (
        httpx.Client(transport=transport) as http,
        pytest.raises(fb.UnexpectedResponseError, match="lone surrogate"),
        fb.Client("https://relay.test", "sk", http_client=http).stream(body_of("requests", via), via) as stream,
    ):
        stream.response()


@pytest.mark.parametrize("pieces", [("a", f"b{HIGH}", "c"), ("a", f"b{HIGH}"), ("a", f"{LOW}b"), (HIGH,)], ids=repr)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_stream_with_a_lone_surrogate_does_not_succeed(source: fb.Format, target: fb.Format, pieces: tuple[str, ...]) -> None:
    """Bytes that were already sent cannot be replaced, so the stream ends with an error."""
    with pytest.raises(fb.StreamError) as caught:
        list(fb.convert_stream(_stream(source, *pieces), source=source, target=target))

    assert caught.value.tail
    assert shown(HIGH).encode() not in caught.value.tail
