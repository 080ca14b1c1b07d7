"""Streams of responses: decoding, encoding, and agreement with whole answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

import formatbridge as fb
from formatbridge import formats, ir
from formatbridge.formats.responses.response import decode_response, encode_response
from formatbridge.formats.responses.stream_decoder import StreamDecoder
from formatbridge.formats.responses.stream_encoder import StreamEncoder
from formatbridge.formats.shared.tool_call_ids import with_unique_call_ids
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps
from formatbridge.options import Options
from formatbridge.report.ledger import FieldPaths, Ledger, null_ledger
from formatbridge.streaming.accumulate import Collector
from formatbridge.streaming.replay import events_of_response
from formatbridge.streaming.sse import DONE, StreamReader, encode_event
from tests.corpus import Entry, entries
from tests.fixtures import check
from tests.support import grammar_check
from tests.support.laws import Sample, recorded, shipped
from tests.support.stream_laws import contradicts_itself

JsonObject = dict[str, Any]

RECORDED = [entry for entry in entries("responses", "stream") if entry.framing == "sse"]
ANSWERS = [*shipped("responses", "response"), *recorded("responses", "response")]
OTHERS = [each for each in (*shipped(kind="response"), *recorded(kind="response")) if each.format != "responses"]
TERMINAL = ("response.completed", "response.incomplete", "response.failed")


def check_grammar(stream: bytes) -> list[JsonObject]:
    """Compare a stream with the grammar and return its events."""
    assert grammar_check.check(stream, "responses") == []
    reader = StreamReader()
    return [json.loads(each.data) for each in (*reader.feed(stream), *reader.finish())]


# Helpers.


def _events_of(stream: bytes) -> list[JsonObject | bytes]:
    reader = StreamReader()
    return [DONE if each.data == DONE else json.loads(each.data) for each in reader.feed(stream) + reader.finish()]


def _decode(reported: list[Any]) -> list[events.Event]:
    decoder = StreamDecoder()
    decoded = [event for each in reported for event in (decoder.finish("done") if each == DONE else decoder.feed(each))]
    decoded += decoder.finish("end_of_bytes")
    assert decoder.is_complete == bool(decoded and isinstance(decoded[-1], events.End | events.Failed))
    return decoded


def _collect(emitted: list[events.Event]) -> ir.Response:
    collector = Collector("responses")
    for event in emitted:
        collector.feed(event)
    return collector.response()


def _encode(emitted: list[events.Event]) -> bytes:
    encoder = StreamEncoder(Options(), None)
    return b"".join(encoder.feed(event) for event in emitted)


def _whole(answer: ir.Response) -> JsonObject:
    return encode_response(answer, Ledger({}, FieldPaths()), Options(), None)


def _unfold(answer: ir.Response) -> list[events.Event]:
    """Replay an answer as a live stream: the token of a part other than reasoning is known before its deltas."""
    decoded = events_of_response(answer)
    starts = {(each.choice, each.index): each for each in decoded if isinstance(each, events.PartStart)}
    items = [each for each in decoded if isinstance(each, events.PartUpdate) and each.signature]
    for each in items:
        if isinstance(starts[each.choice, each.index].part, ir.Reasoning):
            continue
        decoded.remove(each)
        decoded.insert(decoded.index(starts[each.choice, each.index]) + 1, each)
    return decoded


def _cut(emitted: list[events.Event], size: int) -> Iterator[events.Event]:
    """Split each delta into pieces; its tokens are with the first."""
    for event in emitted:
        if isinstance(event, events.Delta) and event.text:
            for at in range(0, len(event.text), size):
                yield replace(event, text=event.text[at : at + size], logprobs=event.logprobs if not at else None)
        else:
            yield event


def _json(answer: ir.Response) -> JsonObject:
    result: JsonObject = json.loads(TypeAdapter(ir.Response).dump_json(answer))
    for choice in result["choices"]:
        choice.pop("src")
    return result


def _answer(sample: Sample) -> ir.Response:
    answer = formats.load(sample.format).decode_response(check(sample.body, sample.format, "response"))
    return with_unique_call_ids(answer, "responses", null_ledger())


# Reading.


@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry.id)
def test_every_recorded_stream_is_read_to_its_end(entry: Entry) -> None:
    """Law 9: the start is first, exactly one end or failure is last; the collected answer can be written."""
    decoded = _decode(_events_of(entry.bytes()))

    assert isinstance(decoded[0], events.Start)
    assert [isinstance(each, events.End | events.Failed) for each in decoded] == [False] * (len(decoded) - 1) + [True]
    assert _whole(_collect(decoded))["object"] == "response"


SEALED_AGAIN = "the server seals reasoning a second time for the last event; either token is good"
SEALS = ("fingerprint", "encrypted_content")
"""Members of items that only their server reads; it encrypts them again for the last event."""
NEW_IDS = "the server gives every event another id; the first holds"


def _fails_early(reported: list[Any]) -> bool:
    """Return whether an error event precedes the last event; nothing after it counts."""
    return any(isinstance(each, dict) and each["type"] == "error" for each in reported)


def _renames_the_answer(reported: list[Any], last: JsonObject) -> bool:
    """Return whether the last event has another response id than the first. Such a server changes all ids, also in fields."""
    return (
        len({body.get("id") for each in reported if isinstance(each, dict) and (body := each.get("response"))} - {last["id"]}) > 0
    )


def _renames_items(reported: list[Any], last: JsonObject) -> bool:
    """Return whether the last event has other ids than the events that complete its items."""
    done = [each["item"].get("id") for each in reported if isinstance(each, dict) and each["type"] == "response.output_item.done"]
    return bool(done) and not {item.get("id") for item in last["output"]} <= set(done)


def _without_seals(answer: JsonObject, *, has_ids: bool) -> JsonObject:
    """Return an answer without values that servers change in the last event: encrypted content, last digits of probabilities, some ids."""
    for choice in answer["choices"]:
        for token in choice.get("logprobs") or ():
            for each in (token, *(token.get("top") or ())):
                each["logprob"] = round(each["logprob"], 6)
        for part in choice["parts"]:
            part["extra"] = part.get("extra") or None
            if part.get("signature"):
                part["signature"]["token"] = SEALED_AGAIN
            raw = part.get("raw")
            if isinstance(raw, dict):
                part["raw"] = raw | {name: SEALED_AGAIN for name in SEALS if raw.get(name)}
            if not has_ids:
                part.pop("id", None)
                part.pop("item_id", None)
    return answer


@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry.id)
def test_a_stream_emits_the_answer_of_its_last_event(entry: Entry) -> None:
    """Law 6: the folded events and the body of the last event are decoded to the same answer."""
    emitted = _events_of(entry.bytes())
    last = next(each for each in emitted if isinstance(each, dict) and each["type"] in TERMINAL)["response"]
    if contradicts_itself(entry.bytes()) or _fails_early(emitted) or _renames_the_answer(emitted, last):
        return

    has_ids = not _renames_items(emitted, last)

    collected, whole = (
        _without_seals(_json(answer), has_ids=has_ids) for answer in (_collect(_decode(emitted)), decode_response(last))
    )

    assert collected == whole


@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry.id)
def test_a_stream_cut_before_its_last_event_has_no_end(entry: Entry) -> None:
    """Law 9: there is neither an end nor a failure, wherever the stream is truncated."""
    emitted = [each for each in _events_of(entry.bytes()) if each != DONE]
    last = next(at for at, each in enumerate(emitted) if isinstance(each, dict) and each["type"] in (*TERMINAL, "error"))

    for end in range(0, last, max(1, last // 25)):
        decoded = _decode([*emitted[:end], DONE])
        assert not any(isinstance(each, events.End | events.Failed | events.ChoiceEnd) for each in decoded)


@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry.id)
def test_a_delta_becomes_an_event_at_once(entry: Entry) -> None:
    """Law 10: the text of every delta is in the events that the same call returns."""
    decoder = StreamDecoder()
    for each in _events_of(entry.bytes()):
        if not isinstance(each, dict):
            continue
        decoded = decoder.feed(each)
        kind = each["type"]
        if (
            kind.endswith(".delta")
            and not kind.startswith(("response.shell", "response.audio", "response.apply_patch"))
            and each["delta"]
        ):
            assert "".join(event.text for event in decoded if isinstance(event, events.Delta)).endswith(each["delta"])


def _bare_events() -> list[JsonObject]:
    return [
        {"type": "response.created", "response": {"id": "resp_1", "model": "m"}},
        {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "Hel"},
        {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": "lo"},
        {"type": "response.completed", "response": {"id": "resp_1", "model": "m", "output": []}},
    ]


def test_a_stream_without_envelopes_and_with_an_empty_last_output_keeps_its_text() -> None:
    """Servers leave out the events that open an item, and the output of the last event."""
    parts = _collect(_decode(_bare_events())).choices[0].parts

    assert [part.text for part in parts if isinstance(part, ir.Text)] == ["Hello"]


def test_calls_that_an_empty_last_output_hides_still_end_the_answer_for_calls() -> None:
    """If the last event has no output, the finish reason comes from the streamed items."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
    items = [
        {"type": "response.created", "response": {"id": "resp_1", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"arguments": ""}},
        {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": '{"a":1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "model": "m", "output": []}},
    ]

    choice = _collect(_decode(items)).choices[0]

    assert choice.parts == [ir.ToolCall("c", "f", '{"a":1}', "/output/0", item_id="fc_1")]
    assert choice.finish is not None
    assert choice.finish.reason == "tool_calls"


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": None, "sequence_number": 3},
        {"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow down"}},
        {"error": {"code": "rate_limit_exceeded", "message": "slow down"}},
        {"type": "response.error", "error": {"code": "rate_limit_exceeded", "message": "slow down"}},
        {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}},
    ],
    ids=["flat", "nested", "a body without a type", "of an unknown type", "failed"],
)
def test_an_error_of_any_shape_is_the_last_event(raw: JsonObject) -> None:
    """Law 9: an error never becomes a normal end."""
    decoded = _decode([*_bare_events()[:2], raw, *_bare_events()[2:]])

    assert isinstance(decoded[-1], events.Failed)
    assert (decoded[-1].error.kind, decoded[-1].error.message) == ("rate_limit", "slow down")


@pytest.mark.parametrize(
    "raw", [{"type": "response.output_text.delta", "delta": None}, {"type": "new", "error": None}, {}, {"type": None}]
)
def test_an_unknown_event_is_ignored(raw: JsonObject) -> None:
    """Nulls, padding and events of future versions."""
    assert not any(isinstance(each, events.Delta | events.Failed) for each in StreamDecoder().feed(raw))


# Writing.


@pytest.mark.parametrize("sample", ANSWERS, ids=str)
def test_a_streamed_answer_collects_to_the_whole_answer(sample: Sample) -> None:
    """Laws 6 and 8: the last event, the collected answer and the whole answer are the same."""
    answer = _answer(sample)
    stream = _encode(_unfold(answer))
    wanted = _whole(answer)

    assert check_grammar(stream)[-1]["response"] == wanted
    collected = _whole(_collect(_decode(_events_of(stream))))
    if answer.error:  # what is collected ends with the error event, which has the error's type and no usage
        assert (collected.pop("error") or {}).items() >= (wanted.pop("error") or {}).items()
        wanted.pop("usage", None)
    assert collected == wanted


@pytest.mark.parametrize("sample", OTHERS, ids=str)
def test_an_answer_of_another_format_is_streamed_as_it_is_written_whole(sample: Sample) -> None:
    """Laws 6 and 8 from every source."""
    answer = _answer(sample)
    if answer.error:
        return

    assert check_grammar(_encode(_unfold(answer)))[-1]["response"] == _whole(answer)


@pytest.mark.parametrize("size", [1, 3, 50])
def test_the_answer_does_not_depend_on_the_size_of_deltas(size: int) -> None:
    """Law 7: a server may split a text anywhere, and a user gets the same answer."""
    for sample in (*ANSWERS, *OTHERS)[::7]:
        decoded = _unfold(_answer(sample))
        if len(str(decoded)) > 100_000:
            continue

        cut, whole = (check_grammar(_encode(each))[-1]["response"] for each in (list(_cut(decoded, size)), decoded))

        assert cut == whole, sample


@pytest.mark.parametrize("entry", RECORDED, ids=lambda entry: entry.id)
def test_a_recorded_stream_written_again_is_the_collected_answer(entry: Entry) -> None:
    """Laws 6 and 8 on live events, whose parts open before they are known."""
    if contradicts_itself(entry.bytes()):
        return
    decoded = _decode(_events_of(entry.bytes()))

    last = check_grammar(_encode(decoded))[-1]["response"]

    wanted = _whole(_collect(decoded))
    if "copilot" in entry.path:
        last, wanted = (json.loads(json.dumps(each).replace("capture-id-", "")) for each in (last, wanted))
        assert [len(item) for item in last["output"]] == [len(item) for item in wanted["output"]], NEW_IDS
        return
    assert last == wanted


def test_a_delta_of_each_part_is_emitted_at_once() -> None:
    """Law 10: text, reasoning, refusals, arguments and code."""
    parts: list[ir.Part] = [
        ir.Text(""), ir.Reasoning(""), ir.Refusal(text=""), ir.ToolCall("c", "f", ""), ir.ToolCall("d", "g", "", kind="custom"),
        ir.Hosted(family="code", role="both", id="e", arguments=""), ir.Hosted(family="mcp", role="both", id="h", arguments=""),
    ]  # fmt: skip
    encoder = StreamEncoder(Options(), None)
    encoder.feed(events.Start("resp_1", "m"))
    for index, part in enumerate(parts):
        encoder.feed(events.PartStart(0, index, part))
        for piece in ('"a\n', "\u2028\U0001f600"):
            out = _events_of(encoder.feed(events.Delta(0, index, piece)))
            assert isinstance(out[-1], dict)
            assert out[-1]["delta"] == piece
        encoder.feed(events.PartEnd(0, index))


def test_deltas_of_parallel_calls_may_alternate() -> None:
    """The deltas of items alternate; each item repeats its deltas at its end."""
    emitted: list[events.Event] = [events.Start("resp_1", "m")]
    emitted += [events.PartStart(0, index, ir.ToolCall(f"c{index}", "f", "")) for index in range(3)]
    emitted += [events.Delta(0, index, piece) for piece in ('{"a":', "1}") for index in (0, 2)]
    emitted += [*(events.PartEnd(0, index) for index in range(3)), events.ChoiceEnd(0, ir.Finish("tool_calls")), events.End()]

    last = check_grammar(_encode(emitted))[-1]["response"]

    assert [item["arguments"] for item in last["output"]] == ['{"a":1}', "", '{"a":1}']


@pytest.mark.parametrize("sample", ANSWERS[::5], ids=str)
def test_a_failure_closes_open_items_and_keeps_their_content(sample: Sample) -> None:
    """A truncated source ends in ``response.failed``; the item that was open is incomplete."""
    results = list(_cut(_unfold(_answer(sample)), 20))
    error = ir.Error(kind="server", message="cut off")
    for end in range(0, len(results) - 1, max(1, len(results) // 20)):
        encoder = StreamEncoder(Options(), None)
        out = b"".join(encoder.feed(event) for event in results[:end]) + encoder.fail(error)

        reported = check_grammar(out)
        assert reported[-1]["type"] == "response.failed"
        assert reported[-1]["response"]["error"]["message"] == "cut off"
        assert encoder.feed(events.End()) == b""
        if isinstance(results[end - 1], events.Delta) and reported[-1]["response"]["output"]:
            assert reported[-1]["response"]["output"][-1].get("status", "incomplete") != "completed"


def test_a_token_precedes_a_part_without_a_field_for_it() -> None:
    """A signature of another format has a separate item, and returns to its part."""
    signature = ir.Signature(issuer="generate_content", kind="thought", token="dG9rZW4=")
    call = ir.ToolCall("c", "f", "{}", signature=signature)
    answer = ir.Response("generate_content", "resp_1", "m", [ir.Choice([ir.Text("a"), call, ir.Text("", signature=signature)])])

    stream = _encode(_unfold(answer))
    returned = _collect(_decode(_events_of(stream))).choices[0].parts

    assert check_grammar(stream)[-1]["response"]["output"] == _whole(answer)["output"]
    assert [getattr(part, "signature", None) and part.signature.token for part in returned] == [None, "dG9rZW4=", "dG9rZW4="]  # type: ignore[union-attr]


# The official client.


def _judged(stream: bytes) -> JsonObject:
    """Return the answer that the official client accumulates from a stream."""
    openai = pytest.importorskip("openai", reason="the official SDK 'openai' is not installed")
    httpx2 = pytest.importorskip("httpx2", reason="the official SDK's client is not installed")
    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http_client,
        openai.OpenAI(api_key="k", http_client=http_client, max_retries=0) as client,
        client.responses.stream(model="m", input="a") as reading,
    ):
        reported = list(reading)
    assert reported[-1].type in TERMINAL
    result: JsonObject = reported[-1].response.model_dump(mode="json", exclude_unset=True, by_alias=True, warnings=False)
    return result


def _repeats_ids(sample: Sample) -> bool:
    """Return whether the vendor gave two items one id, which its client rejects in the vendor's stream too."""
    items = sample.body.get("output") if sample.format == "responses" else None
    ids = [item.get("id") for item in items or () if item.get("id")]
    return len(set(ids)) < len(ids)


@pytest.mark.parametrize("sample", [each for each in (*ANSWERS, *OTHERS) if not _repeats_ids(each)], ids=str)
def test_the_official_client_reads_what_is_written(sample: Sample) -> None:
    """Law 5: it reads to the end, and gets the same answer; an answer that failed is an error."""
    openai = pytest.importorskip("openai", reason="the official SDK 'openai' is not installed")
    answer = _answer(sample)
    stream = _encode(_unfold(answer))
    if answer.error:
        with pytest.raises(openai.APIError, match=re.escape(answer.error.message)):
            _judged(stream)
        return

    result, wanted = _judged(stream), check_grammar(stream)[-1]["response"]

    assert (result["id"], result["status"]) == (wanted["id"], wanted["status"])
    for one, other in zip(result["output"], wanted["output"], strict=True):
        assert {key: one.get(key) for key in ("id", "type", "status", "arguments", "input", "encrypted_content")} == {
            key: other.get(key) for key in ("id", "type", "status", "arguments", "input", "encrypted_content")
        }
        assert [part.get("text") for part in one.get("content") or ()] == [part.get("text") for part in other.get("content") or ()]


def test_a_stream_that_failed_is_an_error_to_the_official_client() -> None:
    """It raises on an event with a nested ``error`` object only, so that event precedes ``response.failed``."""
    openai = pytest.importorskip("openai", reason="the official SDK 'openai' is not installed")
    encoder = StreamEncoder(Options(), None)
    out = encoder.feed(events.Start("resp_1", "m"))
    parts: list[ir.Part] = [ir.Text("a"), ir.Reasoning("b"), ir.ToolCall("c", "f", "")]
    for index, part in enumerate(parts):
        out += encoder.feed(events.PartStart(0, index, part)) + encoder.feed(events.Delta(0, index, "x"))

    stream = out + encoder.fail(ir.Error(kind="overloaded", message="cut off", param="p"))

    with pytest.raises(openai.APIError, match="cut off") as raised:
        _judged(stream)
    *_, error, failed = check_grammar(stream)
    detail = {"message": "cut off", "type": "server_error", "param": "p", "code": "overloaded_error"}
    assert raised.value.body == detail
    assert error == {
        "type": "error",
        "code": "overloaded_error",
        "message": "cut off",
        "param": "p",
        "error": detail,
        "sequence_number": failed["sequence_number"] - 1,
    }
    assert failed["response"]["error"] == {"code": "server_error", "message": "cut off", "type": "overloaded_error", "param": "p"}
    assert [item["status"] for item in failed["response"]["output"]] == ["incomplete"] * 3


def test_arguments_that_only_the_last_event_completes_are_reported() -> None:
    """The call was sent as complete; a user who runs it must see that a part is missing."""
    call = {"type": "function_call", "id": "fc_a", "call_id": "call_1", "name": "f", "arguments": '{"a"'}
    head = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": call | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_a", "output_index": 0, "delta": call["arguments"]},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": head | {"output": [call | {"arguments": '{"a":1}'}]}},
    ]
    stream = b"".join(encode_event(json.dumps(event).encode(), None) for event in events)

    for target in ("chat_completions", "messages", "generate_content"):
        collected = fb.collect_stream([stream], source="responses", target=target)

        assert ("/output/0/arguments", "impossible", '{"a":1}') in [
            (each.path, each.severity, each.before) for each in collected.losses
        ]


def test_a_different_token_in_the_last_event_is_the_same_reasoning() -> None:
    """Servers encrypt a reasoning part again for each event; each token is valid, and only a missing one is reported."""
    item = {"type": "reasoning", "id": "rs_a", "summary": [], "encrypted_content": "one"}
    head = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    events = [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": head | {"output": [item | {"encrypted_content": "other"}]}},
    ]
    stream = b"".join(encode_event(json.dumps(event).encode(), None) for event in events)

    collected = fb.collect_stream([stream], source="responses", target="messages")

    assert collected.body["content"] == [{"type": "redacted_thinking", "data": "fb1|responses|encrypted|one|rs_a"}]


def test_reasoning_text_after_its_summary_is_reported() -> None:
    """The summary was sent as the reasoning, which cannot be undone: the report names the text that was not sent."""
    place = {"item_id": "rs_a", "output_index": 0}
    item = {
        "type": "reasoning",
        "id": "rs_a",
        "summary": [{"type": "summary_text", "text": "Compared."}],
        "content": [{"type": "reasoning_text", "text": "Which is higher?"}],
        "encrypted_content": "seal",
    }
    head = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    events = [
        {"type": "response.created", "response": head | {"status": "in_progress", "output": []}},
        {"type": "response.reasoning_summary_text.delta", **place, "summary_index": 0, "delta": "Compared."},
        {"type": "response.reasoning_text.delta", **place, "content_index": 0, "delta": "Which is higher?"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": head | {"output": [item]}},
    ]
    stream = b"".join(encode_event(json.dumps(event).encode(), None) for event in events)
    converter = fb.StreamConverter(source="responses", target="messages")

    collected = fb.collect_stream([converter.feed(stream) + converter.finish()], source="messages").body["content"]

    assert collected == converter.response().body["content"]
    assert collected == [{"type": "thinking", "thinking": "Compared.", "signature": "fb1|responses|encrypted|seal|rs_a"}]
    assert [loss.path for loss in converter.losses if loss.severity != "info"] == ["/output/0/content"]


def test_a_collected_answer_has_the_order_of_the_output() -> None:
    """Law 6: a reasoning part that was opened first and completed last is first, as the next request requires."""
    reasoning = {
        "type": "reasoning",
        "id": "rs_a",
        "summary": [{"type": "summary_text", "text": "Compare."}],
        "encrypted_content": "seal",
    }
    call = {"type": "function_call", "id": "fc_a", "call_id": "call_1", "name": "f", "arguments": "{}"}
    head = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_a", "summary": []}},
        {"type": "response.output_item.added", "output_index": 1, "item": call | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_a", "output_index": 1, "delta": "{}"},
        {"type": "response.output_item.done", "output_index": 1, "item": call},
        {"type": "response.output_item.done", "output_index": 0, "item": reasoning},
        {"type": "response.completed", "response": head | {"output": [reasoning, call]}},
    ]
    stream = b"".join(encode_event(json.dumps(event).encode(), None) for event in events)

    for target in ("chat_completions", "messages", "generate_content"):
        collected = fb.collect_stream([stream], source="responses", target=target)

        assert collected.body == fb.convert_response(head | {"output": [reasoning, call]}, source="responses", target=target).body


_HALF = {"role": "assistant", "content": "half"}
_CALLS = [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}]
_NO = {"code": 502, "message": "no"}


@pytest.mark.parametrize("delta", [_HALF, {"role": "assistant", "tool_calls": _CALLS}, _HALF | {"tool_calls": _CALLS}])
@pytest.mark.parametrize(
    "ends",
    [
        [{"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}], "error": _NO}],
        [{"error": _NO}],
        [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"error": _NO}],
    ],
)
def test_an_item_interrupted_by_a_failure_is_incomplete_in_every_event(delta: JsonObject, ends: list[JsonObject]) -> None:
    """A user who runs completed items would run half a call, whatever the form of the failure."""
    head = {"id": "c", "model": "m"}
    begun = head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    converter = fb.StreamConverter(source="chat_completions", target="responses")
    written = b"".join(converter.feed(encode_event(dumps(event))) for event in (begun, *(head | end for end in ends)))
    emitted = [json.loads(event.data) for event in StreamReader().feed(written)]
    done = [event["item"] for event in emitted if event["type"] == "response.output_item.done"]

    expected = ["incomplete"] if len(delta) == 2 else ["completed", "incomplete"]
    assert emitted[-1]["type"] == "response.failed"
    for items in (done, emitted[-1]["response"]["output"], converter.response().body["output"]):
        assert [item["status"] for item in items] == expected


@pytest.mark.parametrize("ended", [{"finish_reason": "error"}, {"finish_reason": "stop", "error": _NO}, {"error": _NO}])
def test_a_whole_answer_that_failed_is_incomplete_in_its_last_item(ended: JsonObject) -> None:
    """As in a stream: the item before the failure is not complete."""
    body = {"id": "c", "model": "m", "choices": [{"index": 0, "message": _HALF, **ended}]}

    converted = fb.convert_response(body, source="chat_completions", target="responses").body

    assert (converted["status"], converted["output"][0]["status"]) == ("failed", "incomplete")
