"""The parts of an answer: what a turn in a request's history has, and carried tokens besides; what it cites stands apart."""

from __future__ import annotations

from collections.abc import Set

from formatbridge import ir
from formatbridge.formats.generate_content.content import decode_parts, encode_parts
from formatbridge.formats.generate_content.finish import WORDS
from formatbridge.formats.generate_content.hosted_content import python_runs
from formatbridge.formats.generate_content.ids import Calls
from formatbridge.formats.generate_content.reasoning import is_carried, is_late
from formatbridge.formats.generate_content.surroundings import Surroundings
from formatbridge.formats.shared.reasoning_tokens import bound_to, keeps_id
from formatbridge.formats.shared.tool_arguments import NOT_READ, read_objects
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options, Severity
from formatbridge.report.ledger import Ledger
from formatbridge.streaming.replay import altered


def decode_answer(content: JsonObject, src: str, response_id: str | None, number: int) -> list[ir.Part]:
    """Read the content of a candidate. ``number``: its own, which tells the calls of several apart."""
    return decode_parts(content.get("parts"), src, Calls((content,), response_id, number))


def encode_answer(choice: ir.Choice, kinds: Set[type[ir.Part]], at: str, losses: Ledger, options: Options) -> list[JsonObject]:
    """Write the parts of a candidate. ``kinds``: theirs; ``at`` is the pointer of the list in the target."""
    given = move_tokens(choice.parts) if ir.Reasoning in kinds and options.carry_reasoning else choice.parts
    around = Surroundings(
        (),
        python_runs(choice.parts) if ir.Hosted in kinds else frozenset(),
        is_answer=True,
        carries=options.carry_reasoning,
        objects=read_objects(given) if ir.ToolCall in kinds else NOT_READ,
        refusal_cost=_refusal_cost(choice) if ir.Refusal in kinds else "lossy",
    )
    parts: list[JsonObject] = []
    encode_parts(given, parts, at, around, losses)
    return parts


def move_tokens(parts: list[ir.Part]) -> list[ir.Part]:
    """Return the parts with each token of another format's reasoning on the text or call that follows, as ``stream_encoder`` writes them.

    The vendor puts a token there, and clients drop an empty thought that has one (the Vercel AI SDK and opencode, run). A token stays where
    it is if the part that follows has one, or if the decoder would read it there as that of another thought.
    """
    made: list[ir.Part] = []
    named = frozenset(map(bound_to, parts))
    reasoning_at: int | None = None  # where the reasoning stands whose token may move
    has_unsigned = False  # a thought without a token, behind the last token
    follows_unsigned = False  # such a thought directly before
    for part in parts:
        if reasoning_at is not None and _takes_token(part, named):
            reasoning = made[reasoning_at]
            assert isinstance(reasoning, ir.Reasoning)
            signature = reasoning.signature
            kept = keeps_id(signature, reasoning.id, "generate_content")
            made[reasoning_at] = altered(reasoning, signature=None, id=None if kept else reasoning.id)
            made.append(altered(part, signature=signature))
            reasoning_at, has_unsigned, follows_unsigned = None, False, False
            continue
        made.append(part)
        if isinstance(part, ir.Text | ir.Refusal) and not part.text and not getattr(part, "signature", None):
            continue  # nothing is written of it
        reasoning_at = None
        if isinstance(part, ir.Reasoning) and is_carried(part.signature):
            is_ambiguous = follows_unsigned if part.text else has_unsigned and is_late(part.signature)
            reasoning_at = None if is_ambiguous else len(made) - 1
        has_token = getattr(part, "signature", None) is not None
        follows_unsigned = isinstance(part, ir.Reasoning) and not has_token
        has_unsigned = follows_unsigned or (has_unsigned and not has_token)
    return made


def _takes_token(part: ir.Part, named: Set[str | None]) -> bool:
    """Say whether a part becomes a call or a visible text without a token. ``named``: the calls to which tokens elsewhere belong."""
    if isinstance(part, ir.ToolCall):
        return part.signature is None and part.id not in named
    return isinstance(part, ir.Text) and part.signature is None and bool(part.text)


def _refusal_cost(choice: ir.Choice) -> Severity:
    """Return what it costs that a refusal becomes text: little where the reason of the end says that something was refused."""
    return "lossy" if choice.finish is None or WORDS[choice.finish.reason][0] != "SAFETY" else "info"
