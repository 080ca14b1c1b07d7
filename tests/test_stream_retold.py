"""Streams of responses whose deltas say something else than what is done: the target's reader has the deltas, and the report says so.

No fixtures, for these break law 6: what such a stream says, and what its answer says, differs.
"""

from __future__ import annotations

import json

import pytest

import formatbridge as fb
from tests.fixtures import streams

ODD = {
    "arguments": ("tools_parallel", "function_call_arguments", 0, "/output/1/arguments", "impossible"),
    "free text": ("tools_custom", "custom_tool_call_input", 0, "/output/0/input", "impossible"),
    "a refusal": ("refusal", "refusal", 0, "/output/0/content/0/refusal", "lossy"),
    "a thought": ("reasoning_summary", "reasoning_summary_text", 0, "/output/0/summary", "lossy"),
    "a text": ("text_plain", "output_text", 0, "/output/0/content/0/text", "lossy"),
    "a text twice": ("text_plain", "output_text", 2, "/output/0/content/0/text", "lossy"),
}
"""What is odd: the fixture, the kind of its first delta, how often that comes, the place of the loss and its severity."""


def odd(name: str) -> bytes:
    """Return a fixture whose first delta never came, or came twice."""
    stem, kind, times, _, _ = ODD[name]
    data = next(each.data for each in streams() if each.format == "responses" and f"-{stem}-" in str(each))
    events = data.split(b"\n\n")
    at = next(at for at, event in enumerate(events) if b"event: response.%b.delta" % kind.encode() in event)
    return b"\n\n".join([*events[:at], *events[at : at + 1] * times, *events[at + 1 :]])


def renamed(stem: str, field: str, name: str = "other") -> bytes:
    """Return a fixture whose first call is done, and repeated, with another name or id than it was announced with."""
    told = next(each.data for each in streams() if each.format == "responses" and f"-{stem}-" in str(each)).split(b"\n\n")
    first = next(event for event in told if b"event: response.output_item.added" in event and b"_call" in event)
    value = json.loads(first.split(b"data: ")[1])["item"][field]
    before, after = (f'"{field}":{json.dumps(each)}'.encode() for each in (value, name))
    repeats = (b"event: response.output_item.done", b"event: response.completed")
    return b"\n\n".join(event.replace(before, after, 1) if event.startswith(repeats) else event for event in told)


def late(converted: fb.StreamConverter | fb.Converted) -> list[tuple[str, str]]:
    return [(loss.path, loss.severity) for loss in converted.losses if loss.code == "late"]


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize("name", ODD)
def test_a_text_that_left_otherwise_is_reported(name: str, target: str) -> None:
    """A delta that never came cannot be told afterwards; generate_content alone writes a call at its end, and has it whole."""
    converter = fb.StreamConverter(source="responses", target=target)

    converter.feed(odd(name))
    converter.finish()

    has_waited = target == "generate_content" and ODD[name][4] == "impossible"
    assert late(converter) == ([] if has_waited else [ODD[name][3:]])


@pytest.mark.parametrize("name", ODD)
def test_a_collected_stream_has_what_is_done(name: str) -> None:
    """Law 2: nothing has left, so nothing is lost."""
    assert not late(fb.collect_stream([odd(name)], source="responses", target="chat_completions"))


@pytest.mark.parametrize("target", ["chat_completions", "messages", "generate_content"])
@pytest.mark.parametrize("stem", ["tools_parallel", "tools_custom"])
@pytest.mark.parametrize("field", ["name", "call_id"])
def test_a_call_that_is_done_with_another_name_or_id_is_reported(field: str, stem: str, target: str) -> None:
    """Whoever runs the call runs the one that left, and its result goes by the id that left."""
    converter = fb.StreamConverter(source="responses", target=target)

    converter.feed(renamed(stem, field))
    converter.finish()

    place = f"/output/{1 if stem == 'tools_parallel' else 0}/{field}"
    assert late(converter) == ([] if target == "generate_content" else [(place, "impossible")])


def test_a_call_whose_end_has_no_name_or_id_keeps_what_it_told() -> None:
    """Servers leave out of the end what they have said; nothing is told otherwise by that."""
    for field in ("name", "call_id"):
        converter = fb.StreamConverter(source="responses", target="chat_completions")
        converter.feed(renamed("tools_parallel", field, ""))
        converter.finish()

        (call, _) = converter.response().body["choices"][0]["message"]["tool_calls"]

        assert not late(converter)
        assert (call["id"], call["function"]["name"]) == ("call_1", "get_weather")


def test_broken_arguments_can_be_refused() -> None:
    """A caller who asked for it gets an error in place of an end."""
    converter = fb.StreamConverter(source="responses", target="messages", options=fb.Options(raise_on="impossible"))
    converter.feed(odd("arguments"))

    with pytest.raises(fb.LossyConversionError):
        converter.finish()
