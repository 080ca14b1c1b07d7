"""Streams of responses whose deltas say something else than what is done: the target's reader has the deltas, and the report says so.

No fixtures, for these break law 6: what such a stream says, and what its answer says, differs.
"""

from __future__ import annotations

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


def test_broken_arguments_can_be_refused() -> None:
    """A caller who asked for it gets an error in place of an end."""
    converter = fb.StreamConverter(source="responses", target="messages", options=fb.Options(raise_on="impossible"))
    converter.feed(odd("arguments"))

    with pytest.raises(fb.LossyConversionError):
        converter.finish()
