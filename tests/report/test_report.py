"""A report is complete and the same for every reader, copy and process."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from threading import Thread
from typing import Any

import httpx
import pytest

import formatbridge as fb
from formatbridge import ir
from formatbridge.errors import PartialAnswer
from formatbridge.report.ledger import FieldPaths, LazyBody, Ledger, null_ledger
from tests.fixtures import Fixture, StreamFixture, fixtures, streams
from tests.support.for_each import for_each


def test_two_threads_read_the_same_report() -> None:
    """A gateway answers with the report while another thread writes it to the log; neither may get an incomplete one."""
    problems: list[tuple[fb.Loss, ...]] = []

    def body() -> Any:
        reader.start()  # while the first reader is at work
        reader.join(0.1)
        return {"messages": []}

    ledger = Ledger(LazyBody(body), FieldPaths())
    ledger.dropped(ir.Message("user", [], "/messages/0"), severity="lossy")
    reader = Thread(target=lambda: problems.append(ledger.losses))
    problems.append(ledger.losses)
    reader.join()

    assert [loss.path for loss in problems[0]] == ["/messages/0"]
    assert problems[0] == problems[1]


@for_each("fixture", fixtures())
def test_a_copy_reports_what_the_original_does(fixture: Fixture) -> None:
    """Results may be sent to other processes before their report is read."""
    for target in fb.FORMATS:
        converted = fixture.convert(target)
        copies = [copy.deepcopy(converted), pickle.loads(pickle.dumps(converted))]
        assert [(each.losses, each.additions, each.json()) for each in copies] == [
            (converted.losses, converted.additions, converted.json())
        ] * 2


def _copies(result: Any) -> list[Any]:
    return [copy.deepcopy(result), pickle.loads(pickle.dumps(result))]


def _content_and_report(converted: fb.Converted | PartialAnswer) -> Any:
    return converted.body, converted.losses, converted.additions, converted.json()


def _part(read: Callable[[], object]) -> fb.StreamError | None:
    """Return the error of reading, which has the partial answer; None if there is none."""
    try:
        read()
    except fb.StreamError as error:
        return error
    return None


_BREAKS = {"cut": b"", "failed": b'data: {"error": {"message": "no", "type": "server_error"}}\n\n', "unreadable": b"data: {no\n\n"}
"""Replacements of the second half of a stream."""


@pytest.mark.parametrize("stream", [pytest.param(stream, id=str(stream)) for stream in streams()])
def test_a_copy_of_a_collected_stream_reports_what_the_original_does(stream: StreamFixture) -> None:
    """A worker reads the stream and its parent the report, which was not resolved before. This also holds for the part before a break."""
    for target in fb.FORMATS:
        for data in (stream.data, *(stream.data[: len(stream.data) // 2] + b"\n\n" + end for end in _BREAKS.values())):
            converter = fb.StreamConverter(source=stream.format, target=target)
            _part(lambda: (converter.feed(data), converter.finish()))  # noqa: B023  # called at once
            converted = converter.response()

            copies = _copies(converted)

            assert [_content_and_report(each) for each in copies] == [_content_and_report(converted)] * 2
            assert [_content_and_report(each) for each in _copies(converted)] == [
                _content_and_report(converted)
            ] * 2  # the report has been read by now


@pytest.mark.parametrize("end", _BREAKS)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_error_of_a_stream_has_the_partial_answer(format: fb.Format, end: str) -> None:
    """A worker raises, and its parent reads the part that arrived."""
    answer = next(each.body for each in fixtures("response", format) if each.stem == "tools_parallel")
    stream = b"".join(fb.replay_response(answer, source=format))
    data = stream[: len(stream) // 2] + b"\n\n" * (end != "cut") + _BREAKS[end]
    raised = [_part(lambda: list(fb.iter_events([data], format=format)))]
    for target in fb.FORMATS:
        raised.append(_part(lambda: fb.collect_stream([data], source=format, target=target)))  # noqa: B023
        raised.append(_part(lambda: list(fb.convert_stream([data], source=format, target=target))))  # noqa: B023

    assert any(raised)
    for error in filter(None, raised):
        assert error.partial is not None
        for again in _copies(error):
            assert (type(again), str(again), again.tail) == (type(error), str(error), error.tail)
            assert _content_and_report(again.partial) == _content_and_report(error.partial)


def test_the_answer_of_a_client_stream_can_be_pickled() -> None:
    """A worker that streams to its caller passes the whole answer on, to be billed and stored."""
    answer = next(each.body for each in fixtures("response", "chat_completions") if each.stem == "tools_parallel")
    sent = b"".join(fb.replay_response(answer, source="chat_completions"))
    head = {"content-type": "text/event-stream"}
    relay = httpx.MockTransport(lambda _request: httpx.Response(200, content=sent, headers=head))
    client = fb.Client("https://relay.test", "sk-key", http_client=httpx.Client(transport=relay))
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    with client.stream(request, "messages", via="chat_completions") as stream:
        collected = stream.response()

    copies = _copies(collected)

    assert [_content_and_report(each) for each in copies] == [_content_and_report(collected)] * 2


READ = {"name": "Rome", "inhabitants": 2800000.0}
USER = {"role": "user", "content": "Where is the Colosseum?"}
JSON_TEXT = '{"name": "Rome", "inhabitants": 2800000}'
_CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": JSON_TEXT, "parsed_arguments": READ}}
_CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": JSON_TEXT, "parsed_arguments": READ}
_TEXT = {"type": "output_text", "text": JSON_TEXT, "annotations": [], "parsed": READ}
RESTATED: dict[str, Any] = {
    "the text of a chat turn": ("chat_completions", {"role": "assistant", "content": JSON_TEXT, "parsed": READ}),
    "the arguments of a chat call": ("chat_completions", {"role": "assistant", "tool_calls": [_CHAT_CALL]}),
    "the text of a message": (
        "messages",
        {"role": "assistant", "content": [{"type": "text", "text": JSON_TEXT, "parsed_output": READ}]},
    ),
    "the text of an item": ("responses", {"type": "message", "role": "assistant", "content": [_TEXT]}),
    "the arguments of an item": ("responses", _CALL),
}


@pytest.mark.parametrize(
    "read",
    [READ, READ | {"name": "Roma"}, READ | {"inhabitants": True}, ["Rome"]],
    ids=["the same", "another", "another kind", "no object"],
)
@pytest.mark.parametrize("where", RESTATED)
def test_parsed_fields_of_an_sdk_are_lost_only_if_they_differ_from_the_text(where: str, read: Any) -> None:
    """SDKs that parse structured answers add the value to the turn; callers who send it back must not be refused."""
    source, turn = RESTATED[where]
    turn = json.loads(json.dumps(turn).replace(json.dumps(READ), json.dumps(read)))
    body = {"model": "m", "max_tokens": 9, "messages": [USER, turn, USER]}
    if source == "responses":
        body = {"model": "m", "input": [USER, turn, USER]}

    converted = fb.convert_request(body, source=source, target="generate_content")

    reported = [(loss.kind, loss.severity, loss.before) for loss in converted.losses if "parsed" in loss.path]
    assert reported == ([] if read == READ else [("dropped", "info", read)])


def test_members_of_another_role_that_servers_leave_empty_are_no_losses() -> None:
    """Servers in Go send all members of a message with each role; empty ones have no meaning."""
    unset = {"refusal": "", "reasoning_content": "", "tool_call_id": "", "function_call": {"name": "", "arguments": ""}}
    body = {"model": "m", "messages": [USER | unset | {"tool_calls": []}]}

    assert fb.convert_request(body, source="chat_completions", target="generate_content").losses == ()


def test_repr_of_a_conversion_does_not_resolve_its_report() -> None:
    """The report of a long conversation takes longer than the conversion, and its text is searched for equal keys."""
    request = {"model": "m", "seed": 1, "messages": [{"role": "user", "content": "x"}]}
    converted = fb.convert_request(request, source="chat_completions", target="messages")

    unread = repr(converted)
    assert [loss.path for loss in converted.losses] == ["/seed"]

    assert unread == "<ConvertedRequest request chat_completions -> messages, report not computed yet>"
    assert repr(converted) == "<ConvertedRequest request chat_completions -> messages, 1 loss (/seed lossy), 1 addition>"


@pytest.mark.parametrize("target", ["messages", "responses"])
@pytest.mark.parametrize("source", fb.FORMATS)
def test_a_change_reports_the_new_value(source: fb.Format, target: fb.Format) -> None:
    """It differs from the old value."""
    silent = ("/error/details", "/response/error", "/usage", "/thinking")  # their part is gone, and the rest of them stays
    for kind in ("request", "response", "error"):
        for fixture in fixtures(kind, source):
            for loss in fixture.convert(target).losses:
                if loss.kind == "changed" and not loss.path.endswith(silent):
                    assert loss.after not in (None, loss.before), f"{fixture} {loss}"


def test_a_value_without_a_canonical_node_is_reported_at_its_pointer() -> None:
    """Fields that the decoder does not model are removed for some servers, and their report has the value like any other."""
    ledger = Ledger({"a/b": [1]}, FieldPaths())
    ledger.dropped_at("/a~1b", "excluded", severity="info")
    assert ledger.losses == (fb.Loss.of("/a~1b", "dropped", "info", "excluded", [1]),)


def test_what_is_absent_or_equal_is_no_loss() -> None:
    """Encoders note without a condition, so a report would otherwise have losses of values that the source does not have."""
    ledger = Ledger({"parts": [{"text": "Hi"}]}, FieldPaths())
    part = ir.Text("Hi", "/parts/0")

    ledger.dropped(part.cache)
    ledger.dropped(part, "signature")
    ledger.extras(part)
    assert ledger.changed(part, "text", "Hi") == "Hi"
    assert [*ledger.losses] == []

    ledger.weakened(part, "text", "Hi", "position_lost")
    assert ledger.losses == (fb.Loss.of("/parts/0/text", "changed", "lossy", "position_lost", "Hi", "Hi"),)


def test_the_null_ledger_records_nothing() -> None:
    """One object serves all conversions of a process, so it must not keep their notes."""
    ledger, text = null_ledger(), ir.Text("a", "/messages/0/content")
    holder: dict[str, Any] = {}

    ledger.dropped(text)
    ledger.extras(text)
    ledger.examined(text, "text", "b", lambda *_: "nearest_value")
    ledger.added_in(holder, "id", "x")
    ledger.replaced([("/a", "\ud800", "\ufffd", "lone_surrogate")])
    ledger.repaired({"a": 1}, lambda pointer: f"/elsewhere{pointer}")
    ledger.malformed({"/a": 1})
    ledger.withdraw({})

    assert ledger.changed(text, "text", "b") == ledger.added("/b", "b") == "b"
    assert (holder, ledger.losses, ledger.additions(holder)) == ({"id": "x"}, (), ())
    assert ledger.source_body() == {}
