"""The parts of an answer: what a turn in a request's history has, and carried tokens besides; what it cites stands apart."""

from __future__ import annotations

from collections.abc import Set

from formatbridge import ir
from formatbridge._json import JsonObject
from formatbridge.formats._arguments import NOT_READ, read_objects
from formatbridge.formats.generate_content.content import decode_parts, encode_parts
from formatbridge.formats.generate_content.finish import WORDS
from formatbridge.formats.generate_content.hosted_content import python_runs
from formatbridge.formats.generate_content.ids import Calls
from formatbridge.formats.generate_content.surroundings import Surroundings
from formatbridge.losses import Ledger
from formatbridge.options import Options, Severity


def decode_answer(content: JsonObject, src: str, response_id: str | None, number: int) -> list[ir.Part]:
    """Read the content of a candidate. ``number``: its own, which tells the calls of several apart."""
    return decode_parts(content.get("parts"), src, Calls((content,), response_id, number))


def encode_answer(choice: ir.Choice, kinds: Set[type[ir.Part]], at: str, losses: Ledger, options: Options) -> list[JsonObject]:
    """Write the parts of a candidate. ``kinds``: theirs; ``at`` is the pointer of the list in the target."""
    around = Surroundings(
        (),
        python_runs(choice.parts) if ir.Hosted in kinds else frozenset(),
        is_answer=True,
        carries=options.carry_reasoning,
        objects=read_objects(choice.parts) if ir.ToolCall in kinds else NOT_READ,
        refusal_cost=_refusal_cost(choice) if ir.Refusal in kinds else "lossy",
    )
    parts: list[JsonObject] = []
    encode_parts(choice.parts, parts, at, around, losses)
    return parts


def _refusal_cost(choice: ir.Choice) -> Severity:
    """Return what it costs that a refusal becomes text: little where the reason of the end says that something was refused."""
    return "lossy" if choice.finish is None or WORDS[choice.finish.reason][0] != "SAFETY" else "info"
