"""The report of a conversion: complete for everybody who reads it."""

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
from formatbridge.report.ledger import FieldPaths, LazyBody, Ledger
from tests.fixtures import Fixture, StreamFixture, fixtures, streams


def test_two_readers_of_one_report_read_the_same() -> None:
    """A gateway answers with the report while another thread writes it to the log; neither may find it half worked out."""
    found: list[tuple[fb.Loss, ...]] = []

    def body() -> Any:
        reader.start()  # while the first reader is at work
        reader.join(0.1)
        return {"messages": []}

    ledger = Ledger(LazyBody(body), FieldPaths())
    ledger.dropped(ir.Message("user", [], "/messages/0"), severity="lossy")
    reader = Thread(target=lambda: found.append(ledger.losses))
    found.append(ledger.losses)
    reader.join()

    assert [loss.path for loss in found[0]] == ["/messages/0"]
    assert found[0] == found[1]


@pytest.mark.parametrize("fixture", [pytest.param(fixture, id=str(fixture)) for fixture in fixtures()])
def test_a_copy_reports_what_the_original_does(fixture: Fixture) -> None:
    """Results cross to other processes before anybody has read their report."""
    for target in fb.FORMATS:
        made = fixture.convert(target)
        copies = [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]
        assert [(each.losses, each.additions, each.json()) for each in copies] == [(made.losses, made.additions, made.json())] * 2


def _copies(made: Any) -> list[Any]:
    return [copy.deepcopy(made), pickle.loads(pickle.dumps(made))]


def _told(made: fb.Converted | PartialAnswer) -> Any:
    return made.body, made.losses, made.additions, made.json()


def _part(read: Callable[[], object]) -> fb.StreamError | None:
    """Return what reading raises; it has the answer so far. None for nothing."""
    try:
        read()
    except fb.StreamError as error:
        return error
    return None


_BREAKS = {"cut": b"", "failed": b'data: {"error": {"message": "no", "type": "server_error"}}\n\n', "unreadable": b"data: {no\n\n"}
"""What may come in the place of the second half of a stream."""


@pytest.mark.parametrize("stream", [pytest.param(stream, id=str(stream)) for stream in streams()])
def test_a_copy_of_a_collected_stream_reports_what_the_original_does(stream: StreamFixture) -> None:
    """A worker reads the stream and its parent the report, which nobody has asked for before; so it is with what came before a break."""
    for target in fb.FORMATS:
        for data in (stream.data, *(stream.data[: len(stream.data) // 2] + b"\n\n" + end for end in _BREAKS.values())):
            converter = fb.StreamConverter(source=stream.format, target=target)
            _part(lambda: (converter.feed(data), converter.finish()))  # noqa: B023  # called at once
            made = converter.response()

            copies = _copies(made)

            assert [_told(each) for each in copies] == [_told(made)] * 2
            assert [_told(each) for each in _copies(made)] == [_told(made)] * 2  # the report has been read by now


@pytest.mark.parametrize("end", _BREAKS)
@pytest.mark.parametrize("format", fb.FORMATS)
def test_an_error_of_a_stream_takes_the_answer_so_far_along(format: str, end: str) -> None:
    """A worker raises, and its parent wants to know what had come, whoever read the stream."""
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
            assert _told(again.partial) == _told(error.partial)


def test_the_answer_of_a_client_s_stream_crosses_to_other_processes() -> None:
    """A worker that streams to its caller hands the whole answer on, to be billed and stored."""
    answer = next(each.body for each in fixtures("response", "chat_completions") if each.stem == "tools_parallel")
    sent = b"".join(fb.replay_response(answer, source="chat_completions"))
    head = {"content-type": "text/event-stream"}
    relay = httpx.MockTransport(lambda _request: httpx.Response(200, content=sent, headers=head))
    client = fb.Client("https://relay.test", "sk-key", http_client=httpx.Client(transport=relay))
    request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    with client.stream(request, "messages", via="chat_completions") as stream:
        made = stream.response()

    copies = _copies(made)

    assert [_told(each) for each in copies] == [_told(made)] * 2


READ = {"name": "Rome", "inhabitants": 2800000.0}
USER = {"role": "user", "content": "Where is the Colosseum?"}
SAID = '{"name": "Rome", "inhabitants": 2800000}'
_CHAT_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": SAID, "parsed_arguments": READ}}
_CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": SAID, "parsed_arguments": READ}
_TEXT = {"type": "output_text", "text": SAID, "annotations": [], "parsed": READ}
RESTATED: dict[str, Any] = {
    "the text of a chat turn": ("chat_completions", {"role": "assistant", "content": SAID, "parsed": READ}),
    "the arguments of a chat call": ("chat_completions", {"role": "assistant", "tool_calls": [_CHAT_CALL]}),
    "the text of a message": (
        "messages",
        {"role": "assistant", "content": [{"type": "text", "text": SAID, "parsed_output": READ}]},
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
def test_what_an_sdk_read_in_a_json_text_is_lost_only_where_it_says_something_else(where: str, read: Any) -> None:
    """SDKs that parse structured answers hang the value on the turn; callers who send it back are not to be refused for that."""
    source, turn = RESTATED[where]
    turn = json.loads(json.dumps(turn).replace(json.dumps(READ), json.dumps(read)))
    body = {"model": "m", "max_tokens": 9, "messages": [USER, turn, USER]}
    if source == "responses":
        body = {"model": "m", "input": [USER, turn, USER]}

    made = fb.convert_request(body, source=source, target="generate_content")

    told = [(loss.kind, loss.severity, loss.before) for loss in made.losses if "parsed" in loss.path]
    assert told == ([] if read == READ else [("dropped", "info", read)])


def test_members_of_another_role_that_servers_leave_empty_are_no_losses() -> None:
    """Servers in Go send all members of a message with each role; those that they have not filled in say nothing."""
    unset = {"refusal": "", "reasoning_content": "", "tool_call_id": "", "function_call": {"name": "", "arguments": ""}}
    body = {"model": "m", "messages": [USER | unset | {"tool_calls": []}]}

    assert fb.convert_request(body, source="chat_completions", target="generate_content").losses == ()


def test_whoever_looks_at_a_conversion_in_a_debugger_works_out_no_report() -> None:
    """The report of a long conversation takes longer than the conversion, and equal keys are looked for in its text."""
    asked = {"model": "m", "seed": 1, "messages": [{"role": "user", "content": "x"}]}
    made = fb.convert_request(asked, source="chat_completions", target="messages")

    unread = repr(made)
    assert [loss.path for loss in made.losses] == ["/seed"]

    assert unread == "<ConvertedRequest request chat_completions -> messages, report unread>"
    assert repr(made) == "<ConvertedRequest request chat_completions -> messages, 1 loss (/seed lossy), 1 addition>"
