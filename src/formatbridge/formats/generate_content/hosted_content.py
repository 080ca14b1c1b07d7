"""What the server of generate_content ran itself, code and its results, and calls of its own tools: decode and encode side by side."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.generate_content.reasoning import decode_signature, encode_signature
from formatbridge.formats.generate_content.words import word_of
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.report.ledger import Ledger

_CODE = frozenset({"executableCode", "thoughtSignature"})
_CODE_RESULT = frozenset({"codeExecutionResult", "thoughtSignature"})
_INTERPRETERS = (None, "code_execution", "code_interpreter")


def decode_code(raw: JsonObject, src: str, made_id: str) -> ir.Hosted:
    """Read code that the server ran."""
    code = raw["executableCode"]
    return ir.Hosted(
        family="code",
        role="call",
        id=code.get("id") or made_id,
        arguments=code.get("code") or "",
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
        raw=raw,
        extra=joined(rest(raw, _CODE), rest(code, frozenset({"id", "code"}), "executableCode/")),
    )


def decode_code_result(raw: JsonObject, src: str, made_id: str) -> ir.Hosted:
    """Read how a run of code ended."""
    result = raw["codeExecutionResult"]
    outcome = word_of(result.get("outcome"), ("OUTCOME_UNSPECIFIED", "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"))
    failed = outcome in ("OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED")
    plain = outcome in ("", "OUTCOME_OK", "OUTCOME_FAILED")
    known = frozenset({"id", "output", "outcome"}) if plain else frozenset({"id", "output"})
    return ir.Hosted(
        family="code",
        role="result",
        id=result.get("id") or made_id,
        output=None if failed else result.get("output") or "",
        error=result.get("output") or "" if failed else None,
        status="failed" if failed else "completed",
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
        raw=raw,
        extra=joined(rest(raw, _CODE_RESULT), rest(result, known, "codeExecutionResult/")),
    )


def python_runs(parts: list[ir.Part]) -> frozenset[str]:
    """Return the ids of the runs of code in an answer that this format has too: not those of a shell or an editor."""
    return frozenset(
        part.id
        for part in parts
        if isinstance(part, ir.Hosted) and part.family == "code" and part.role != "result" and part.name in _INTERPRETERS
    )


def encode_code(part: ir.Hosted, losses: Ledger, *, carry: bool) -> list[JsonObject]:
    """Write a run of code in an answer: the code, its result, or both."""
    if part.extra:
        losses.extras(part)
    made: list[JsonObject] = []
    if part.role != "result":
        made.append({"executableCode": {"id": part.id, "language": "PYTHON", "code": part.arguments or ""}})
    if part.role == "result" or (
        part.role == "both" and (part.output is not None or part.error is not None or part.status == "failed")
    ):
        made.append({"codeExecutionResult": {"id": part.id} | _encode_outcome(part, losses)})
    if made:
        made[0] |= encode_signature(part.signature, losses, carry=carry)
    return made


def _encode_outcome(part: ir.Hosted, losses: Ledger) -> JsonObject:
    """Write how a run ended; there is one text, so a run that succeeded loses its warnings, and one that failed what it printed."""
    has_failed = part.status not in (None, "completed") or (part.error is not None and part.status is None)
    if not has_failed:
        if part.error:
            losses.dropped(part, "error")
        return {"outcome": "OUTCOME_OK", "output": part.output or ""}
    if part.error is not None and part.output:
        losses.dropped(part, "output")
    return {"outcome": "OUTCOME_FAILED", "output": part.error if part.error is not None else part.output or ""}


def decode_server_tool(raw: JsonObject, src: str) -> ir.Opaque:
    """Read a call of one of the vendor's own tools, or what it returned."""
    what = "toolCall" if raw.get("toolCall") is not None else "toolResponse"
    return ir.Opaque(
        format="generate_content",
        raw=raw,
        what=what,
        signature=decode_signature(raw, src) if "thoughtSignature" in raw else None,
        src=src,
    )
