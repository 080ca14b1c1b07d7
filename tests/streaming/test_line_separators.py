"""U+2028, U+2029 and U+0085 end no line of a stream; clients that split lines as ``str.splitlines`` does must not see them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import formatbridge as fb
from formatbridge import formats
from formatbridge.jsontext.codec import dumps
from formatbridge.streaming.sse import encode_event, escape_separators
from tests.client.test_transport import RELAY_KEY, Pieces
from tests.support.directions import PAIRS
from tests.support.sdk_clients import content_of, read

TEXT = "one\u2028two\u2029three\x85four \u2014 \u201cfive\u201d"
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"where": TEXT}}
THOUGHT = {"type": "thinking", "thinking": TEXT, "signature": "c2ln"}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": f"m{TEXT}",
    "content": [THOUGHT, {"type": "text", "text": TEXT}, CALL],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


def _body(format: fb.Format) -> Any:
    return fb.convert_response(ANSWER, source="messages", target=format).body


def _raw(format: fb.Format) -> bytes:
    """Return a stream whose server escapes nothing."""
    result, known = b"", formats.load(format)
    for event in known.unfold_stream(_body(format)):
        name = event.get("type")
        result += (b"event: %b\n" % name.encode() if name else b"") + b"data: %b\n\n" % dumps(event)
    return result + known.end_of_stream


@pytest.mark.parametrize("size", [None, 1, 2, 3])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_converted_stream_has_no_separator_but_its_line_ends(source: fb.Format, target: fb.Format, size: int | None) -> None:
    """Older google-genai clients, and readers of ``iter_lines``, lose the rest of an event; each character has two or three bytes."""
    data = _raw(source)
    pieces = [data] if size is None else [data[at : at + size] for at in range(0, len(data), size)]

    output = b"".join(fb.convert_stream(pieces, source=source, target=target))

    assert "\u2028".encode() in data
    assert not {"\u2028", "\u2029", "\x85"} & set(output.decode())
    assert all(json.loads(line[6:]) for line in output.decode().splitlines() if line.startswith("data: {"))
    assert TEXT in json.dumps(content_of(read(output, target), target), ensure_ascii=False)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_same_format_stream_is_equal_after_parsing(format: fb.Format) -> None:
    """Law 3: an escape is another notation of the character."""
    data = _raw(format)

    output = b"".join(fb.convert_stream([data], source=format, target=format))

    assert fb.collect_stream([output], source=format).body == fb.collect_stream([data], source=format).body
    assert [type(event) for event in fb.iter_events([output], format=format)] == [
        type(event) for event in fb.iter_events([data], format=format)
    ]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_delta_converted_by_the_template_has_no_unicode_line_separators(source: fb.Format, target: fb.Format) -> None:
    """Most events of a long stream differ only in their text, and are converted without parsing."""
    pieces = ["first ", "second ", "third ", *TEXT, " last"]
    longer = {
        "chat_completions": lambda text: {"id": "c", "choices": [{"index": 0, "delta": {"content": text}}]},
        "messages": lambda text: {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        "responses": lambda text: {
            "type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": text,
        },
        "generate_content": lambda text: {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}]},
    }[source]  # fmt: skip
    begun: list[Any] = []
    if source == "messages":
        begun = [
            {"type": "message_start", "message": ANSWER | {"content": [], "stop_reason": None, "model": "m"}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        ]
    converter = fb.StreamConverter(source=source, target=target)

    output = b""
    for event in [*begun, *map(longer, pieces)]:
        output += converter.feed(b"data: %b\n\n" % json.dumps(event, ensure_ascii=False).encode())

    assert b"\\u2028" in output
    assert not {"\u2028", "\u2029", "\x85"} & set(output.decode())


@pytest.mark.parametrize("end", ["finish", "abort", "nonsense"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_the_end_of_a_converted_stream_has_no_unicode_line_separators(source: fb.Format, target: fb.Format, end: str) -> None:
    """The tail for responses repeats the answer so far."""
    data = _raw(source)
    converter = fb.StreamConverter(source=source, target=target)
    converted = converter.feed(data[: len(data) // 2])
    tails: dict[str, Callable[[], object]] = {
        "finish": converter.finish,
        "nonsense": lambda: converter.feed(b"\n\ndata: \xe2\x80\xa8\n\n"),
    }
    if end == "abort":
        tail = converter.abort(OSError(TEXT)).tail
    else:
        with pytest.raises(fb.StreamError) as raised:
            tails[end]()
        tail = raised.value.tail

    assert not {"\u2028", "\u2029", "\x85"} & set((converted + tail).decode())


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_converted_error_event_has_no_unicode_line_separators(source: fb.Format, target: fb.Format) -> None:
    """The message of an error may have them too."""
    error = b"data: %b\n\n" % dumps({"error": {"message": TEXT, "code": TEXT, "type": "server_error"}, "more": TEXT})
    converter = fb.StreamConverter(source=source, target=target)

    converted = converter.feed(_raw(source).partition(b"\n\n")[0] + b"\n\n" + error + error) + converter.finish()

    assert b"\\u2028" in converted
    assert not {"\u2028", "\u2029", "\x85"} & set(converted.decode())


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_replayed_answer_has_no_unicode_line_separators(source: fb.Format, target: fb.Format) -> None:
    """A cached answer is streamed to the same clients."""
    output = b"".join(fb.replay_response(_body(source), source=source, target=target))

    assert not {"\u2028", "\u2029", "\x85"} & set(output.decode())
    assert TEXT in json.dumps(fb.collect_stream([output], source=target).body, ensure_ascii=False)


@pytest.mark.parametrize("format", fb.FORMATS)
def test_a_transport_writes_no_unicode_line_separators(format: fb.Format) -> None:
    """An SDK with such a line splitter reads the relay's stream through it."""
    body = Pieces(_raw("messages"))
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=body))
    request = fb.convert_request(
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}], "stream": True},
        source="messages",
        target=format,
    )
    with httpx2.Client(transport=fb.transport("https://relay.test", RELAY_KEY, via="messages", inner=inner)) as client:
        response = client.post(f"https://vendor.test{request.path}", json=request.body).read()

    assert b"\\u2028" in response
    assert not {"\u2028", "\u2029", "\x85"} & set(response.decode())


def test_other_characters_stay_as_they_are() -> None:
    """Dashes and quotation marks share two bytes with two of them, and other letters one with the third."""
    text = "\u2014\u201c\u2027\u202a\x84\x86\u00c2\u0445\u5185"

    assert escape_separators(dumps(text)) == dumps(text)
    assert json.loads(encode_event(dumps(TEXT))[6:]) == TEXT
