"""Streams that break their format: calls without a start, errors in other events, deltas that differ from the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

import formatbridge as fb
from tests.fixtures import streams
from tests.support.directions import DIRECTIONS
from tests.support.pointers import value_at

HEAD = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [], "tools": [], "tool_choice": "auto"}

NAMELESS = {"type": "function_call", "id": "fc_1", "call_id": "", "name": "", "arguments": "", "status": "in_progress"}


def _stream(*sent: dict[str, Any]) -> bytes:
    """Write the events of an answer of responses with nothing else in it."""
    first = {"type": "response.created", "response": HEAD | {"status": "in_progress"}}
    last = {"type": "response.completed", "response": HEAD | {"status": "completed"}}
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in (first, *sent, last))


def _delta(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0, "delta": text} | more


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([_delta('{"a":'), _delta("1}")], id="deltas alone"),
        pytest.param([_delta('{"a":'), _delta("", type="response.function_call_arguments.done", arguments='{"a":1}')], id="whole"),
        pytest.param(
            [{"type": "response.output_item.added", "output_index": 0, "item": NAMELESS}, _delta('{"a":1}')],
            id="announced without its name",
        ),
    ],
)
def test_arguments_of_a_call_without_a_start_are_kept(sent: list[dict[str, Any]]) -> None:
    """Servers leave out the events around a call; its arguments are valid without them."""
    collected = fb.collect_stream([_stream(*sent)], source="responses", target="chat_completions")

    (call,) = collected.body["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["function"]["arguments"]) == ("fc_1", '{"a":1}')
    assert collected.body["choices"][0]["finish_reason"] == "tool_calls"


def test_a_call_without_a_start_has_the_name_of_its_end() -> None:
    """The event with the whole arguments may have the name too."""
    done = {"type": "response.function_call_arguments.done", "item_id": "fc_1", "output_index": 0, "name": "f", "arguments": "{}"}

    collected = fb.collect_stream([_stream(done)], source="responses", target="messages")

    assert collected.body["content"] == [{"type": "tool_use", "id": "fc_1", "name": "f", "input": {}}]


def test_a_call_that_starts_after_its_deltas_is_emitted_once() -> None:
    """Deltas that come before their item belong to it."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a":1}', "status": "completed"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}

    collected = fb.collect_stream([_stream(_delta('{"a":'), _delta("1}"), done)], source="responses", target="messages")

    assert collected.body["content"] == [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]


@pytest.mark.parametrize("kind", ["custom_tool_call_input", "mcp_call_arguments", "code_interpreter_call_code"])
def test_other_calls_without_a_start_are_kept(kind: str) -> None:
    """Each kind of call has other deltas."""
    sent = _delta("ls", type=f"response.{kind}.delta")

    converter = fb.StreamConverter(source="responses", target="messages")
    converter.feed(_stream(sent))
    converter.finish()

    assert "ls" in json.dumps(converter.response().body["content"])


@pytest.mark.parametrize(("raw", "named"), DIRECTIONS)
@pytest.mark.parametrize("on_truncated", ["error", "close"])
def test_a_stream_of_another_format_is_refused_by_name(raw: fb.Format, named: fb.Format, on_truncated: Any) -> None:
    """Its events may be valid, because all their members are optional; the answer would be empty."""
    stream = next(fixture.data for fixture in streams(raw) if fixture.stem.startswith("text"))
    converter = fb.StreamConverter(source=named, target=raw, options=fb.Options(on_truncated=on_truncated))

    with pytest.raises(fb.StreamDecodeError, match=f'is not of {named}: is an event of {raw}: pass source="{raw}"'):
        converter.feed(stream)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
@pytest.mark.parametrize("sent", [b'{"a": 1}', b"{}", b'{"type": "foo", "a": 1}'], ids=["no type", "empty", "type"])
def test_an_unknown_object_does_not_start_an_answer(source: fb.Format, target: fb.Format, sent: bytes) -> None:
    """A proxy sends objects before the server does; an answer that has begun has an id and a model."""
    converter = fb.StreamConverter(source=source, target=target)

    converted = converter.feed(b"data: " + sent + b"\n\n")

    assert converted == b""
    assert bool(converter.losses) is (sent != b"{}")


HALF = {"index": 0, "id": "c", "type": "function", "function": {"name": "rm", "arguments": '{"path":"/tm'}}


def _cut_call(target: fb.Format) -> tuple[dict[str, Any], dict[str, Any]]:
    """Convert an answer that reached its token limit within a call, whole and as a stream."""
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    message = {"role": "assistant", "content": "I will.", "tool_calls": [HALF]}
    chunk = head | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": message, "finish_reason": "length"}]}
    body = head | {"choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    stream = b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"
    whole = fb.convert_response(body, source="chat_completions", target=target).body
    return whole, fb.collect_stream(fb.convert_stream([stream], source="chat_completions", target=target), source=target).body


def test_a_truncated_call_has_status_incomplete() -> None:
    """A user who runs completed items would run half a command."""
    for body in _cut_call("responses"):
        assert [item["status"] for item in body["output"]] == ["completed", "incomplete"]


def test_the_last_item_of_a_running_answer_is_in_progress() -> None:
    """The call is not complete yet, although the encoder writes it as a whole."""
    begun = {"index": 0, "delta": {"role": "assistant", "tool_calls": [HALF]}, "finish_reason": None}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [begun]}
    converter = fb.StreamConverter(source="chat_completions", target="responses")

    converter.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    assert [item["status"] for item in converter.response().body["output"]] == ["in_progress"]


SLOW = {"code": "rate_limit_exceeded", "message": "slow down"}
TEXT_DELTA = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "Rome"}


@pytest.mark.parametrize(
    "kind",
    [
        "response.completed",
        "response.failed",
        "response.incomplete",
        "response.in_progress",
        "response.output_text.delta",
        "keepalive",
    ],
)
@pytest.mark.parametrize("target", fb.FORMATS)
def test_an_error_on_any_event_ends_the_stream(kind: str, target: fb.Format) -> None:
    """The vendor's client raises on it; a failed answer must not become a short one."""
    sent = TEXT_DELTA | {"type": kind, "error": SLOW, "response": HEAD | {"status": "completed", "error": None}}
    converter = fb.StreamConverter(source="responses", target=target)

    converted = converter.feed(_stream(TEXT_DELTA, sent)) + converter.finish()

    assert converter.error is not None
    assert (converter.error.kind, converter.error.message) == ("rate_limit", "slow down")
    assert b"slow down" in converted


@pytest.mark.parametrize("error", ["slow down", {"message": {"a": 1}}, {"code": [1]}, ["a"]])
def test_an_error_of_any_shape_on_any_event_is_an_error(error: Any) -> None:
    """Law 13: the error may have any value, also on an event that has no error field."""
    with pytest.raises(fb.StreamFailedError):
        fb.collect_stream([_stream(TEXT_DELTA | {"error": error})], source="responses", target="messages")


@pytest.mark.parametrize("sent", [{"type": "error", "message": "slow down"}, {"type": "error", "error": SLOW}])
def test_other_fields_of_an_error_event_are_reported(sent: dict[str, Any]) -> None:
    """Law 1 holds for the last event too, and for fields that had no place before it."""
    converter = fb.StreamConverter(source="responses", target="messages")
    converter.feed(_stream(TEXT_DELTA | {"hour": 9}, sent | {"zz": 1}))

    assert {("/zz", 1), ("/hour", 9)} <= {(loss.path, loss.before) for loss in converter.losses}


def _named(*sent: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(b"event: %b\ndata: %b\n\n" % (name.encode(), json.dumps(event).encode()) for name, event in sent)


ANSWER: dict[str, Any] = {"id": "a", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
USED = {"input_tokens": 1, "output_tokens": 1}
OPENED = ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
ENDED: list[tuple[str, dict[str, Any]]] = [
    ("content_block_stop", {"index": 0}),
    ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": USED}),
    ("message_stop", {}),
]
BEGUN = ("message_start", {"message": ANSWER | {"usage": USED}})
PIECES = [{"type": "text_delta", "text": "Ro"}, {"type": None, "text": "m"}, {"text": "e"}]


@pytest.mark.parametrize("target", fb.FORMATS)
def test_the_name_of_an_event_replaces_a_missing_type(target: fb.Format) -> None:
    """Some servers send the type as the name of the event only."""
    deltas = [("content_block_delta", {"index": 0, "delta": piece}) for piece in PIECES * 3]
    stream = _named(BEGUN, OPENED, *deltas, *ENDED)

    whole = fb.collect_stream([stream], source="messages", target=target)
    left = b"".join(fb.convert_stream([stream], source="messages", target=target))

    assert "RomeRomeRome" in json.dumps(whole.body)
    if target != "messages":
        assert "RomeRomeRome" in json.dumps(fb.collect_stream([left], source=target).body)
    assert [type(event).__name__ for event in fb.iter_events([stream], format="messages")][-1] == "MessageStop"


def test_names_distinguish_events_of_the_same_shape() -> None:
    """Deltas of responses have one shape; only their types state what they append to."""
    deltas = [
        ("response.output_text.delta", {"output_index": 0, "delta": "Ro"}),
        ("response.output_text.delta", {"output_index": 0, "delta": "me"}),
    ]
    reasoning = [("response.reasoning_text.delta", {"output_index": 1, "delta": piece}) for piece in ("Hm", "m")]
    first, last = (f"response.{status}" for status in ("created", "completed"))

    stream = _named((first, {"response": HEAD | {"status": "in_progress"}}), *deltas, *reasoning, (last, {"response": HEAD}))
    collected = fb.collect_stream([stream], source="responses", target="messages")

    assert [block.get("text", block.get("thinking")) for block in collected.body["content"]] == ["Rome", "Hmm"]


def test_a_delta_with_unknown_fields_only_is_reported() -> None:
    """Law 1 also holds without a type."""
    stream = _named(BEGUN, OPENED, ("content_block_delta", {"index": 0, "delta": {"tomorrow": "calm"}}), *ENDED)

    collected = fb.collect_stream([stream], source="messages", target="responses")

    assert [(loss.path, loss.before) for loss in collected.losses] == [("/content/0/tomorrow", "calm")]


@pytest.mark.parametrize("target", fb.FORMATS)
def test_a_done_item_may_have_another_type_than_its_added_event(target: fb.Format) -> None:
    """Law 13: an item that began as a reasoning summary ends as a message."""
    reasoning = {"type": "reasoning", "id": "x", "summary": []}
    message = {"type": "message", "id": "x", "role": "assistant", "content": [{"type": "output_text", "text": "Rome"}]}

    collected = fb.collect_stream(
        [
            _stream(
                {"type": "response.output_item.added", "output_index": 0, "item": reasoning},
                {"type": "response.reasoning_summary_text.delta", "item_id": "x", "output_index": 0, "delta": "Hm"},
                {"type": "response.output_item.done", "output_index": 0, "item": message},
            )
        ],
        source="responses",
        target=target,
    )

    assert "Rome" in json.dumps(collected.body)


CITED = {"type": "web_search_result_location", "url": "u", "title": "t", "cited_text": "c", "encrypted_index": "e"}


@pytest.mark.parametrize("stops", [(), (1, 0), (0, 1)], ids=["none", "the second first", "in order"])
@pytest.mark.parametrize(
    ("target", "at"),
    [
        ("chat_completions", "/choices/0/message/annotations/0/url_citation"),
        ("responses", "/output/0/content/0/annotations/0"),
        ("generate_content", "/candidates/0/groundingMetadata/groundingSupports/0/segment"),
    ],
)
def test_a_citation_spans_its_text_whichever_block_stops_first(target: fb.Format, at: str, stops: tuple[int, ...]) -> None:
    """Servers leave out stop events, or send them in any order; the span of a citation does not depend on it."""
    blocks = [(OPENED[0], OPENED[1] | {"index": index}) for index in (0, 1)]
    deltas = [
        (0, {"type": "text_delta", "text": "Hello "}),
        (1, {"type": "text_delta", "text": "Rome"}),
        (1, {"type": "citations_delta", "citation": CITED}),
    ]
    sent = [("content_block_delta", {"index": index, "delta": delta}) for index, delta in deltas]
    stream = _named(BEGUN, *blocks, *sent, *[("content_block_stop", {"index": index}) for index in stops], *ENDED[1:])

    span = value_at(fb.collect_stream([stream], source="messages", target=target).body, at)

    assert sorted(value for key, value in span.items() if key in ("start_index", "end_index", "startIndex", "endIndex")) == [6, 10]


def test_an_event_that_the_decoder_refuses_has_an_offset() -> None:
    """A user searches for the text of the error in a log of megabytes."""
    begun = _named(BEGUN)
    unexpected = _named(("content_block_delta", {"index": 5, "delta": {"type": "input_json_delta", "partial_json": "{}"}}))

    with pytest.raises(fb.StreamDecodeError, match="adds to a block that is not open") as raised:
        fb.collect_stream([begun + unexpected], source="messages")

    assert raised.value.offset == len(begun) + unexpected.index(b"{")
    assert f"event at byte {raised.value.offset} of" in str(raised.value)


@pytest.mark.parametrize("repeated", [True, False], ids=["sent again at the end", "sent once"])
def test_a_tool_search_of_the_caller_ends_in_tool_use(repeated: bool) -> None:
    """The caller has to run the search, so the answer ends with ``tool_use``."""
    search = {"type": "tool_search_call", "id": "x", "call_id": "c", "execution": "client", "arguments": {"query": "q"}}
    sent = [{"type": f"response.output_item.{when}", "output_index": 0, "item": search} for when in ("added", "done")]
    last = {"type": "response.completed", "response": HEAD | {"status": "completed", "output": [search] if repeated else []}}
    converter = fb.StreamConverter(source="responses", target="messages")

    converter.feed(_stream(*sent, last))

    converted = converter.response().body
    assert converted["content"] == [{"type": "tool_use", "id": "c", "name": "tool_search", "input": {"query": "q"}}]
    assert converted["stop_reason"] == "tool_use"
    assert {loss.severity for loss in converter.losses} == {"info"}


def test_another_model_in_the_middle_of_an_answer_is_reported() -> None:
    """The start of the output names the first model, and the report states the other one."""
    block = {"type": "fallback", "from": {"model": "m"}, "to": {"model": "m2"}}
    message = [("content_block_delta", {"index": 0, "delta": PIECES[0]}), ENDED[0]]
    stream = _named(BEGUN, OPENED, *message, ("content_block_start", {"index": 1, "content_block": block}), *ENDED[1:])
    converter = fb.StreamConverter(source="messages", target="chat_completions")

    converter.feed(stream)

    assert converter.response().body["model"] == "m2"
    assert [loss.before for loss in converter.losses if (loss.path, loss.code) == ("/model", "too_late")] == ["m"]
    assert fb.collect_stream([stream], source="messages", target="chat_completions").body["model"] == "m2"


@pytest.mark.parametrize("count", [1, 9])
def test_losses_of_an_incomplete_answer_have_values(count: int) -> None:
    """A user reads the report where a stream broke; later events do not change it."""
    deltas = [("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Rome"}})] * count
    begun = _named(("message_start", {"message": ANSWER | {"usage": USED, "hour": 9}}), OPENED, *deltas)
    cited = ("content_block_delta", {"index": 0, "delta": {"type": "citations_delta", "citation": CITED}})
    converter = fb.StreamConverter(source="messages", target="chat_completions")
    converter.feed(begun)

    report = converter.response()
    converter.feed(_named(cited, *ENDED))

    assert [(loss.path, loss.before) for loss in report.losses] == [("/hour", 9)]
    with pytest.raises(fb.TruncatedStreamError) as raised:
        fb.collect_stream([begun], source="messages", target="chat_completions")
    assert raised.value.partial is not None
    assert [(loss.path, loss.before) for loss in raised.value.partial.losses] == [("/hour", 9)]


def _framed(events: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def test_an_invalid_reasoning_summary_does_not_end_the_stream() -> None:
    """A detail of reasoning text has no summary in its type; in the same format it passes unchanged."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    details = [
        {"type": "reasoning.text", "index": 0, "text": "a"},
        {"type": "reasoning.text", "index": 0, "text": "b", "summary": {"k": 1}},
    ]
    deltas: list[dict[str, Any]] = [{"delta": {"reasoning_details": [detail]}} for detail in details]
    choices = [*deltas, {"delta": {"content": "Hi."}, "finish_reason": "stop"}]

    collected = fb.collect_stream(
        [_framed([head | {"choices": [{"index": 0, **choice}]} for choice in choices]) + b"data: [DONE]\n\n"],
        source="chat_completions",
    )

    assert collected.body["choices"][0]["message"]["reasoning_details"] == details


def test_a_piece_of_arguments_does_not_replace_fields_of_its_call() -> None:
    """A field of a piece has the name of one of the call: the call keeps its value, and that of the piece is reported."""
    piece = {"jsonPath": "$.city", "stringValue": "Oslo", "args": "all", "name": "other"}
    call = {"name": "f", "id": "c1", "partialArgs": [piece]}
    event = {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": call}]}, "finishReason": "STOP"}]}

    collected = fb.collect_stream([_framed([event])], source="generate_content", target="messages")

    (block,) = collected.body["content"]
    assert (block["name"], block["input"]) == ("f", {"city": "Oslo"})
    assert {"all", "other"} <= {loss.before for loss in collected.losses if isinstance(loss.before, str)}


ODD = {
    "arguments": ("tools_parallel", "function_call_arguments", 0, "/output/1/arguments", "impossible"),
    "free text": ("tools_custom", "custom_tool_call_input", 0, "/output/0/input", "impossible"),
    "a refusal": ("refusal", "refusal", 0, "/output/0/content/0/refusal", "lossy"),
    "a thought": ("reasoning_summary", "reasoning_summary_text", 0, "/output/0/summary", "lossy"),
    "a text": ("text_plain", "output_text", 0, "/output/0/content/0/text", "lossy"),
    "a text twice": ("text_plain", "output_text", 2, "/output/0/content/0/text", "lossy"),
}
"""What is unusual: the fixture, the kind of its first delta, how often it comes, the place of the loss and its severity."""


def odd(name: str) -> bytes:
    """Return a fixture whose first delta is missing or repeated."""
    stem, kind, times, _, _ = ODD[name]
    data = next(each.data for each in streams() if each.format == "responses" and f"-{stem}-" in str(each))
    events = data.split(b"\n\n")
    at = next(at for at, event in enumerate(events) if b"event: response.%b.delta" % kind.encode() in event)
    return b"\n\n".join([*events[:at], *events[at : at + 1] * times, *events[at + 1 :]])


def renamed(stem: str, field: str, name: str = "other") -> bytes:
    """Return a fixture whose first call ends, and is repeated, with another name or id than at its start."""
    sent = next(each.data for each in streams() if each.format == "responses" and f"-{stem}-" in str(each)).split(b"\n\n")
    first = next(event for event in sent if b"event: response.output_item.added" in event and b"_call" in event)
    value = json.loads(first.split(b"data: ")[1])["item"][field]
    before, after = (f'"{field}":{json.dumps(each)}'.encode() for each in (value, name))
    repeats = (b"event: response.output_item.done", b"event: response.completed")
    return b"\n\n".join(event.replace(before, after, 1) if event.startswith(repeats) else event for event in sent)


def delayed_losses(converted: fb.StreamConverter | fb.Converted) -> list[tuple[str, str]]:
    return [(loss.path, loss.severity) for loss in converted.losses if loss.code == "too_late"]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize("name", ODD)
def test_a_text_that_differs_from_its_deltas_is_reported(name: str, target: fb.Format) -> None:
    """A missing delta cannot be sent afterwards; generate_content writes a call at its end, so there it is complete."""
    converter = fb.StreamConverter(source="responses", target=target)

    converter.feed(odd(name))
    converter.finish()

    has_waited = target == "generate_content" and ODD[name][4] == "impossible"
    assert delayed_losses(converter) == ([] if has_waited else [ODD[name][3:]])


@pytest.mark.parametrize("name", ODD)
def test_a_collected_stream_uses_the_values_of_done_events(name: str) -> None:
    """Law 2: nothing was sent yet, so nothing is lost."""
    assert not delayed_losses(fb.collect_stream([odd(name)], source="responses", target="chat_completions"))


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize("stem", ["tools_parallel", "tools_custom"])
@pytest.mark.parametrize("field", ["name", "call_id"])
def test_a_call_that_is_done_with_another_name_or_id_is_reported(field: str, stem: str, target: fb.Format) -> None:
    """The caller runs the call that was sent, and its result has the id that was sent."""
    converter = fb.StreamConverter(source="responses", target=target)

    converter.feed(renamed(stem, field))
    converter.finish()

    place = f"/output/{1 if stem == 'tools_parallel' else 0}/{field}"
    assert delayed_losses(converter) == ([] if target == "generate_content" else [(place, "impossible")])


def test_a_call_whose_end_has_no_name_or_id_keeps_those_of_its_start() -> None:
    """Servers leave out of the end event what the start event had."""
    for field in ("name", "call_id"):
        converter = fb.StreamConverter(source="responses", target="chat_completions")
        converter.feed(renamed("tools_parallel", field, ""))
        converter.finish()

        (call, _) = converter.response().body["choices"][0]["message"]["tool_calls"]

        assert not delayed_losses(converter)
        assert (call["id"], call["function"]["name"]) == ("call_1", "get_weather")


def test_raise_on_impossible_refuses_invalid_arguments() -> None:
    """A caller who requires valid arguments gets an error in place of an end."""
    converter = fb.StreamConverter(source="responses", target="messages", options=fb.Options(raise_on="impossible"))
    converter.feed(odd("arguments"))

    with pytest.raises(fb.LossyConversionError):
        converter.finish()


@pytest.mark.parametrize(
    ("target", "code"), [("messages", "api_error"), ("responses", "server_error"), ("generate_content", "INTERNAL")]
)
def test_the_report_of_a_failed_stream_has_the_values_of_its_events(target: fb.Format, code: str) -> None:
    """An application logs what the server sent, although no whole answer has both a text and an error."""
    chunk = {"id": "c1", "created": 17, "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}}]}
    failure = {"error": {"message": "bad gateway", "code": 502}}
    converter = fb.StreamConverter(source="chat_completions", target=target)

    converter.feed("".join(f"data: {json.dumps(each)}\n\n" for each in (chunk, failure)).encode())
    converter.finish()

    values = {loss.path: (loss.before, loss.after) for loss in converter.losses}
    assert values["/error/code"] == (502, code)
    assert values.get("/created", (17, None)) == (17, None)
