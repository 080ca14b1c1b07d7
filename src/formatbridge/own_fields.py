"""What only an answer's own format can say: taken out before the answer is written anew in that format, and put back as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from formatbridge import formats, ir
from formatbridge._json import JsonObject
from formatbridge._pointers import unescape


def without_own_fields(answer: ir.Response) -> tuple[ir.Response, JsonObject]:
    """Take from an answer its id, the words and texts that only its own format ends with, and the fields that only that knows, by pointer.

    What stands in a list stays.
    """
    own: JsonObject = {}
    places = formats.load(answer.format).SPELLING.places
    field, *others = places["Finish.reason"]
    stop, *_ = places.get("Finish.stop_sequence", ("stop_sequence",))
    if answer.id:
        own[f"/{formats.load(answer.format).ID_FIELD}"] = answer.id

    def bare(node: Any) -> Any:
        kept: JsonObject = {}
        for name, value in (node.extra or {}).items():
            if any(step.isdigit() or not step for step in name.split("/")):
                kept[name] = value
            else:
                own[f"{node.src}/{name}"] = value
        return replace(node, extra=kept or None)

    def ended(choice: ir.Choice) -> ir.Choice:
        finish = choice.finish
        if others or not finish or not finish.raw or finish.src not in ("", choice.src):
            return choice
        if not finish.finer and finish.stop_sequence is None:
            return choice
        own[f"{choice.src}/{field}"] = finish.raw
        if finish.stop_sequence is not None:
            own[f"{choice.src}/{stop}"] = finish.stop_sequence
        return replace(choice, finish=replace(finish, reason="stop", finer=False, stop_sequence=None))

    error = answer.error
    if error and error.request_id:
        own["/request_id"], error = error.request_id, replace(error, request_id=None)
    made = replace(
        bare(answer),
        error=error,
        choices=[ended(bare(choice)) for choice in answer.choices],
        usage=answer.usage and bare(answer.usage),
    )
    return made, own


def put(body: Any, pointer: str, value: Any) -> None:
    """Set a value in a body; objects on the way that are not there, or null, are made."""
    *way, last = [unescape(step) for step in pointer.split("/")[1:]]
    for step in way:
        if isinstance(body, list):
            body = body[int(step)]
            continue
        if body.get(step) is None:
            body[step] = {}
        body = body[step]
    body[last] = value
