"""Convert a whole answer, or a part of one, to the canonical events that accumulate to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, TypeVar

from formatbridge import ir
from formatbridge.ir import events
from formatbridge.jsontext.codec import dumps

DELTA_FIELDS = {
    ir.Text: "text",
    ir.Reasoning: "text",
    ir.Refusal: "text",
    ir.ToolCall: "arguments",
    ir.Media: "data",
    ir.Hosted: "arguments",
}
"""Kind of part to the field that its deltas extend."""

_FIELDS_AFTER_TEXT: Mapping[type[ir.Part], tuple[str, ...]] = {
    ir.Text: ("citations",),
    ir.Reasoning: ("signature",),
    ir.Media: ("transcript",),
}
"""Kind of part to the fields that ``PartUpdate`` sets after its text."""

_Part = TypeVar("_Part", bound=ir.Part)

_VALUES: Mapping[type, Callable[[Any], tuple[Any, ...]]] = {
    kind: attrgetter(*(each.name for each in fields(kind))) for kind in (ir.Text, ir.Reasoning, ir.ToolCall)
}
"""Kind of part to a function that returns its values in the order of its fields."""


def events_of_response(response: ir.Response) -> list[events.Event]:
    """Return the events that accumulate to an answer, with one delta per part."""
    result: list[events.Event] = [events.Start(response.id, response.model, response.created, response.usage, response.extra)]
    for choice in response.choices:
        tokens: dict[type[ir.Part], list[ir.TokenLogprob] | None]
        tokens = {ir.Text: choice.logprobs, ir.Refusal: choice.refusal_logprobs}
        for index, part in enumerate(choice.parts):  # all log probabilities are on the first text, or on the first refusal
            result += unfold(choice.index, index, part, tokens.pop(type(part), None) if getattr(part, "text", "") else None)
        if left := tokens.get(ir.Text):
            _add_logprobs(choice, left, result)
        if choice.extra:
            result.append(events.FieldsUpdate(choice.extra, choice.index))
        if choice.finish or not response.error:  # an answer with an error has no other end
            result.append(events.ChoiceEnd(choice.index, choice.finish or ir.Finish(reason="stop")))
    if response.usage:
        result.append(events.UsageUpdate(response.usage))
    result.append(events.Failed(response.error) if response.error else events.End())
    return result


def _add_logprobs(choice: ir.Choice, tokens: list[ir.TokenLogprob], result: list[events.Event]) -> None:
    """Add the log probabilities of a choice without text to the last delta of reasoning or a tool call, or else to an empty text."""
    kinds = (ir.Reasoning, ir.ToolCall)
    deltas = [event for event in result if isinstance(event, events.Delta) and event.choice == choice.index]
    candidates = [delta for delta in deltas if isinstance(choice.parts[delta.index], kinds)]
    if candidates:
        candidates[-1].logprobs = tokens
        return
    start, end = unfold(choice.index, len(choice.parts), ir.Text(""))
    result += [start, events.Delta(choice.index, len(choice.parts), "", tokens), end]


def unfold(
    choice: int, index: int, part: ir.Part, logprobs: list[ir.TokenLogprob] | None = None, *, is_ours: bool = False
) -> list[events.Event]:
    """Return the events of a complete part: its start without text, a delta with the text, the fields after the text, and its end.

    The signature of reasoning follows the text that it signs. Other parts have their signature at the start, because encoders write it
    first. ``is_ours``: no other code holds the part, so that the function may empty it instead of a copy.
    """
    kind = type(part)
    if kind is ir.ToolCall:
        return _unfold_call(choice, index, part if is_ours else copy_part(part), logprobs)  # type: ignore[arg-type]  # a ToolCall
    delta_field, names_after_text = DELTA_FIELDS.get(kind), _FIELDS_AFTER_TEXT.get(kind)
    text = getattr(part, delta_field) if delta_field else None
    values = {name: value for name in names_after_text if (value := getattr(part, name))} if names_after_text else {}
    if (text or values) and not is_ours:
        part = copy_part(part)
    if delta_field and text:
        setattr(part, delta_field, "")
    for name in values:
        setattr(part, name, None)
    result: list[events.Event] = [events.PartStart(choice, index, part)]
    if text:
        result.append(events.Delta(choice, index, text, logprobs))
    if values:
        result += [events.PartUpdate(choice, index, citation=citation) for citation in values.pop("citations", ())]
    if values:
        result.append(events.PartUpdate(choice, index, **values))
    result.append(events.PartEnd(choice, index))
    return result


def _unfold_call(choice: int, index: int, call: ir.ToolCall, logprobs: list[ir.TokenLogprob] | None) -> list[events.Event]:
    """Return the events of a complete tool call that no other code holds."""
    arguments, call.arguments = call.arguments, ""
    text = arguments if isinstance(arguments, str) else dumps(arguments).decode()
    start, end = events.PartStart(choice, index, call), events.PartEnd(choice, index)
    return [start, events.Delta(choice, index, text, logprobs), end] if text else [start, end]


def copy_part(part: _Part, **changes: Any) -> _Part:
    """Return a copy of a part with other values, like ``dataclasses.replace`` but faster for the most frequent parts."""
    values = _VALUES.get(type(part))
    if values is None:
        return replace(part, **changes)
    create: Any = type(part)
    result: _Part = create(*values(part))
    for name, value in changes.items():
        setattr(result, name, value)
    return result
