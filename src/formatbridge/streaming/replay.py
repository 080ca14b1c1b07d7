"""Convert a whole answer, or a part of one, to the canonical events that accumulate to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, TypeVar

from formatbridge import ir
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps

GROWS = {
    ir.Text: "text",
    ir.Reasoning: "text",
    ir.Refusal: "text",
    ir.ToolCall: "arguments",
    ir.Media: "data",
    ir.Hosted: "arguments",
}
"""Kind of part to the field that its deltas extend."""

_LATE: Mapping[type[ir.Part], tuple[str, ...]] = {
    ir.Text: ("citations",),
    ir.Reasoning: ("signature",),
    ir.Media: ("transcript",),
}
"""Kind of part to the fields that ``PartMeta`` sets after its text."""

_Part = TypeVar("_Part", bound=ir.Part)

_VALUES: Mapping[type, Callable[[Any], tuple[Any, ...]]] = {
    kind: attrgetter(*(each.name for each in fields(kind))) for kind in (ir.Text, ir.Reasoning, ir.ToolCall)
}
"""Kind of part to a function that returns its values in the order of its fields."""


def replay(response: ir.Response) -> list[events.Event]:
    """Return the events that accumulate to an answer, with one delta per part."""
    made: list[events.Event] = [events.Start(response.id, response.model, response.created, response.usage, response.extra)]
    for choice in response.choices:
        tokens: dict[type[ir.Part], list[ir.TokenLogprob] | None]
        tokens = {ir.Text: choice.logprobs, ir.Refusal: choice.refusal_logprobs}
        for index, part in enumerate(choice.parts):  # all log probabilities are on the first text, or on the first refusal
            made += unfold(choice.index, index, part, tokens.pop(type(part), None) if getattr(part, "text", "") else None)
        if left := tokens.get(ir.Text):
            _tell_tokens(choice, left, made)
        if choice.extra:
            made.append(events.Meta(choice.extra, choice.index))
        if choice.finish or not response.error:  # an answer with an error has no other end
            made.append(events.Finished(choice.index, choice.finish or ir.Finish(reason="stop")))
    if response.usage:
        made.append(events.UsageTold(response.usage))
    made.append(events.Failed(response.error) if response.error else events.End())
    return made


def _tell_tokens(choice: ir.Choice, tokens: list[ir.TokenLogprob], made: list[events.Event]) -> None:
    """Put the log probabilities of a choice without text on the last delta of reasoning or a tool call, or else on an empty text."""
    kinds = (ir.Reasoning, ir.ToolCall)
    deltas = [event for event in made if isinstance(event, events.Delta) and event.choice == choice.index]
    grown = [delta for delta in deltas if isinstance(choice.parts[delta.index], kinds)]
    if grown:
        grown[-1].logprobs = tokens
        return
    start, end = unfold(choice.index, len(choice.parts), ir.Text(""))
    made += [start, events.Delta(choice.index, len(choice.parts), "", tokens), end]


def unfold(
    choice: int, index: int, part: ir.Part, logprobs: list[ir.TokenLogprob] | None = None, *, is_ours: bool = False
) -> list[events.Event]:
    """Return the events of a complete part: its start without text, a delta with the text, the fields after the text, and its end.

    The signature of reasoning follows the text that it signs. Other parts have their signature at the start, because encoders write it
    first. ``is_ours``: no other code holds the part, so that the function may empty it instead of a copy.
    """
    kind = type(part)
    if kind is ir.ToolCall:
        return _unfold_call(choice, index, part if is_ours else altered(part), logprobs)  # type: ignore[arg-type]  # the test says so
    grows, late = GROWS.get(kind), _LATE.get(kind)
    text = getattr(part, grows) if grows else None
    told = {name: value for name in late if (value := getattr(part, name))} if late else {}
    if (text or told) and not is_ours:
        part = altered(part)
    if grows and text:
        setattr(part, grows, "")
    for name in told:
        setattr(part, name, None)
    made: list[events.Event] = [events.PartStart(choice, index, part)]
    if text:
        made.append(events.Delta(choice, index, text, logprobs))
    if told:
        made += [events.PartMeta(choice, index, citation=citation) for citation in told.pop("citations", ())]
    if told:
        made.append(events.PartMeta(choice, index, **told))
    made.append(events.PartEnd(choice, index))
    return made


def _unfold_call(choice: int, index: int, call: ir.ToolCall, logprobs: list[ir.TokenLogprob] | None) -> list[events.Event]:
    """Return the events of a complete tool call that no other code holds."""
    given, call.arguments = call.arguments, ""
    text = given if isinstance(given, str) else dumps(given).decode()
    start, end = events.PartStart(choice, index, call), events.PartEnd(choice, index)
    return [start, events.Delta(choice, index, text, logprobs), end] if text else [start, end]


def altered(part: _Part, **told: Any) -> _Part:
    """Return a copy of a part with other values, like ``dataclasses.replace`` but faster for the most frequent parts."""
    values = _VALUES.get(type(part))
    if values is None:
        return replace(part, **told)
    make: Any = type(part)
    made: _Part = make(*values(part))
    for name, value in told.items():
        setattr(made, name, value)
    return made
