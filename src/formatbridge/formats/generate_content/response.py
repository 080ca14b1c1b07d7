"""Responses of Gemini.

``encode_head`` is here because each event of a stream repeats these fields. Only this package has ``decode_blocked`` and
``AverageLogprob``: a blocked prompt has no candidate, and a candidate has an average.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.generate_content.citations import decode_citations, encode_citations
from formatbridge.formats.generate_content.content import EncodeContext
from formatbridge.formats.generate_content.conversation import CONTENT, decode_parts, encode_parts
from formatbridge.formats.generate_content.errors import decode_error
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.generate_content.hosted_tools import python_runs
from formatbridge.formats.generate_content.reasoning import belongs_to_earlier_reasoning, enum_name, signs_earlier_reasoning
from formatbridge.formats.generate_content.tool_calls import ConversationCalls
from formatbridge.formats.generate_content.usage import decode_usage, encode_usage
from formatbridge.formats.shared.choices import assign_numbers
from formatbridge.formats.shared.finish_reasons import OVERRULED, note_finish
from formatbridge.formats.shared.held_fields import put_in
from formatbridge.formats.shared.model_lists import encode_time, time_of
from formatbridge.formats.shared.names import encode_id
from formatbridge.formats.shared.reasoning_tokens import bound_to, keeps_id
from formatbridge.formats.shared.tool_arguments import NOTHING_PARSED, parse_arguments_of
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity
from formatbridge.streaming.replay import copy_part

_candidate_index = attrgetter("index")
_RESPONSE = frozenset({"candidates", "createTime", "modelVersion", "promptFeedback", "responseId", "usageMetadata"})
_FEEDBACK = frozenset({"blockReason", "blockReasonMessage"})
_COMMON_CANDIDATE = frozenset({"content", "finishReason", "finishMessage", "index"})
_CANDIDATE = _COMMON_CANDIDATE | {"logprobsResult", "groundingMetadata", "citationMetadata"}


def decode_response(body: JsonObject) -> ir.Response:
    """Decode a whole response. A blocked prompt is a choice without parts."""
    # {"candidates": [{"content": {"role": "model", "parts": [...]}, "finishReason": "STOP", "index": 0}],
    #  "usageMetadata": {...}, "modelVersion": "m", "responseId": "r"}, or {"promptFeedback": {"blockReason": "SAFETY"}}
    usage, created_text = body.get("usageMetadata"), body.get("createTime")
    created = time_of(created_text) if created_text else None
    response_id = body.get("responseId") or None
    candidates = body.get("candidates") or ()
    # The only candidate may have no index (recorded traffic), and no rule of the format makes an index unique.
    numbers = assign_numbers([raw.get("index") or 0 for raw in candidates])
    choices = [
        _decode_choice(raw, f"/candidates/{position}", numbers[position], response_id) for position, raw in enumerate(candidates)
    ]
    error = failure_of(body)
    feedback = _apply_feedback(body.get("promptFeedback") or {}, choices, is_failed=error is not None)
    extra = merge_extra(
        read_extra(body, _RESPONSE if error is None else _RESPONSE | {"error"}),
        read_extra(feedback, frozenset(), "promptFeedback/"),
        {"createTime": created_text} if created_text and created is None else None,
    )
    counts = decode_usage(usage, "/usageMetadata") if usage else None
    return ir.Response("generate_content", response_id, body.get("modelVersion"), choices, created, counts, extra, error)


def _apply_feedback(feedback: JsonObject, choices: list[ir.Choice], *, is_failed: bool) -> JsonObject:
    """Set the finish reason of choices if the prompt was blocked. Return the fields of the feedback that are not decoded."""
    # A blocked prompt may also have candidates, without a finish reason. The reason is in ``promptFeedback``.
    unfinished = [choice for choice in choices if choice.finish and choice.finish.raw in NO_REASON]
    is_blocked = bool(unfinished and feedback.get("blockReason"))
    if is_blocked:
        for choice in unfinished:
            if choice.finish and choice.finish.message:
                choice.extra = merge_extra(choice.extra, {"finishMessage": choice.finish.message})
            choice.finish = decode_blocked(feedback)
    elif not choices and not is_failed:
        choices.append(_decode_missing(feedback))
        is_blocked = True
    return {key: value for key, value in feedback.items() if key not in _FEEDBACK} if is_blocked else feedback


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return the error in a response, with candidates or without."""
    return decode_error({"error": body["error"]}, status=None) if body.get("error") else None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Encode a whole response."""
    drop_unheld_in_answer(response, losses)
    choices = sorted(response.choices, key=_candidate_index) or [ir.Choice(parts=[])]
    body: JsonObject = {
        "candidates": [_encode_choice(choice, position, losses, options) for position, choice in enumerate(choices)]
    }
    if response.usage:
        body["usageMetadata"] = encode_usage(response.usage, losses)
    return body | encode_head(response, losses, options, context)


def encode_head(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Encode the fields of a response that every event of a stream repeats."""
    head: JsonObject = {}
    if response.model is not None:
        head["modelVersion"] = response.model
    response_id = encode_id(response.id, "", context)
    if response_id is not None:
        head["responseId"] = response_id
    created = response.created if response.created is not None else options.created
    if created is not None:
        head["createTime"] = encode_time(response, created, losses)
    return head


def _decode_missing(feedback: JsonObject) -> ir.Choice:
    """Return the choice of a response without candidates."""
    # A blocked prompt has no candidate, but a response of another format has at least one choice.
    if feedback.get("blockReason") is not None or feedback.get("blockReasonMessage"):
        return ir.Choice(parts=[], finish=decode_blocked(feedback), src="/promptFeedback")
    src = "/promptFeedback" if feedback else ""
    return ir.Choice(parts=[], finish=ir.Finish(reason="other", src=src), src=src)


def _decode_choice(raw: JsonObject, src: str, number: int, response_id: str | None) -> ir.Choice:
    """Decode one candidate."""
    content = raw.get("content") or {}
    parts = decode_answer(content, f"{src}/content", response_id, number)
    choice = ir.Choice(parts, decode_finish(raw, ir.ToolCall in map(type, parts), src), number, src)
    if raw.keys() <= _COMMON_CANDIDATE and content.keys() <= CONTENT:  # no logprobs, no citations, no unknown fields
        return choice
    choice.logprobs, unread = decode_logprobs(raw.get("logprobsResult") or {}, f"{src}/logprobsResult")
    choice.extra = merge_extra(
        read_extra(raw, _CANDIDATE),
        read_extra(content, CONTENT, "content/"),
        {f"logprobsResult/{pointer}": value for pointer, value in (unread or {}).items()} or None,
        decode_citations(raw, parts, src),
    )
    return choice


def _encode_choice(choice: ir.Choice, position: int, losses: Ledger, options: Options) -> JsonObject:
    """Encode one candidate; ``position``: its index in the list."""
    drop_unheld_in_answer(choice, losses)
    kinds = set(map(type, choice.parts))
    parts = encode_answer(choice, kinds, f"/candidates/{position}/content/parts", losses, options)
    candidate: JsonObject = {"content": {"role": "model", "parts": parts}}
    candidate |= encode_finish(choice.finish, ir.ToolCall in kinds, f"/candidates/{position}", losses)
    candidate["index"] = choice.index
    grounding = encode_citations(choice.parts, losses)
    if grounding:
        candidate["groundingMetadata"] = grounding
    # "The average log probability of the tokens in this candidate" (official SDK), which is computed from the tokens.
    if choice.logprobs:
        candidate |= AverageLogprob(choice.logprobs).fields() | {"logprobsResult": encode_logprobs(choice.logprobs, losses)}
    return candidate


def decode_answer(content: JsonObject, src: str, response_id: str | None, number: int) -> list[ir.Part]:
    """Decode the content of a candidate. ``number``: its index, from which the ids of its calls are derived."""
    return decode_parts(content.get("parts"), src, ConversationCalls((content,), response_id, number))


def encode_answer(choice: ir.Choice, kinds: Set[type[ir.Part]], pointer: str, losses: Ledger, options: Options) -> list[JsonObject]:
    """Encode the parts of a candidate. ``kinds``: their types; ``pointer``: the pointer of the list in the target."""
    moved = _move_tokens(choice.parts) if ir.Reasoning in kinds and options.carry_reasoning else choice.parts
    context = EncodeContext(
        (),
        python_runs(choice.parts) if ir.Hosted in kinds else frozenset(),
        is_answer=True,
        carries_tokens=options.carry_reasoning,
        parsed=parse_arguments_of(moved) if ir.ToolCall in kinds else NOTHING_PARSED,
        refusal_severity=_refusal_severity(choice) if ir.Refusal in kinds else "lossy",
    )
    parts: list[JsonObject] = []
    encode_parts(moved, parts, pointer, context, losses)
    return parts


def _move_tokens(parts: list[ir.Part]) -> list[ir.Part]:
    """Return the parts with each token of another format moved from its reasoning to the text or call that follows.

    The vendor puts a token there ("Thought signatures"), and clients drop empty reasoning with a token (tried with the Vercel AI SDK and
    opencode).
    ``stream_encoder`` does the same. A token stays if the next part has a token, or if a decoder would then assign it to other reasoning.
    """
    moved: list[ir.Part] = []
    named_calls = frozenset(map(bound_to, parts))
    reasoning_index: int | None = None  # the index of the reasoning whose token may be moved
    has_unsigned = False  # whether reasoning without a token follows the last token
    is_after_unsigned = False  # whether such reasoning is directly before the part
    for part in parts:
        if reasoning_index is not None and _accepts_token(part, named_calls):
            reasoning = moved[reasoning_index]
            assert isinstance(reasoning, ir.Reasoning)
            signature = reasoning.signature
            is_kept = keeps_id(signature, reasoning.id, "generate_content")
            moved[reasoning_index] = copy_part(reasoning, signature=None, id=None if is_kept else reasoning.id)
            moved.append(copy_part(part, signature=signature))
            reasoning_index, has_unsigned, is_after_unsigned = None, False, False
            continue
        moved.append(part)
        if isinstance(part, ir.Text | ir.Refusal) and not part.text and not getattr(part, "signature", None):
            continue  # an empty text is not encoded
        reasoning_index = None
        if isinstance(part, ir.Reasoning) and belongs_to_earlier_reasoning(part.signature):
            is_ambiguous = is_after_unsigned if part.text else has_unsigned and signs_earlier_reasoning(part.signature)
            reasoning_index = None if is_ambiguous else len(moved) - 1
        has_token = getattr(part, "signature", None) is not None
        is_after_unsigned = isinstance(part, ir.Reasoning) and not has_token
        has_unsigned = is_after_unsigned or (has_unsigned and not has_token)
    return moved


def _accepts_token(part: ir.Part, named_calls: Set[str | None]) -> bool:
    """Return whether a part becomes a call or a visible text without a token.

    ``named_calls``: the ids of the calls that tokens of other parts name.
    """
    if isinstance(part, ir.ToolCall):
        return part.signature is None and part.id not in named_calls
    return isinstance(part, ir.Text) and part.signature is None and bool(part.text)


def _refusal_severity(choice: ir.Choice) -> Severity:
    """Return the severity of encoding a refusal as text: ``info`` if the finish reason shows the refusal."""
    return "lossy" if choice.finish is None or _VALUE_OF_FINISH[choice.finish.reason][0] != "SAFETY" else "info"


# Source: the official SDK, ``FinishReason``. Responses with OTHER or NO_IMAGE have no content (recorded traffic).
FINISH: Mapping[str, ir.FinishReason] = {
    "FINISH_REASON_UNSPECIFIED": "other",
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "pause",
    "TOO_MANY_TOOL_CALLS": "pause",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "OTHER": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_OTHER": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "NO_IMAGE": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
}
"""Finish reasons of the wire to canonical reasons; an unknown reason is ``other``. A missing reason is ``stop``."""

NO_REASON = (None, "", 0, "FINISH_REASON_UNSPECIFIED")
"""Values of ``finishReason`` in a candidate that has not ended."""

_VALUE_OF_FINISH: Mapping[ir.FinishReason, tuple[str, bool]] = {
    "stop": ("STOP", True),
    "stop_sequence": ("STOP", False),
    "length": ("MAX_TOKENS", True),
    "context_length": ("MAX_TOKENS", False),
    "tool_calls": ("STOP", True),
    "content_filter": ("SAFETY", True),
    "refusal": ("SAFETY", True),
    "pause": ("TOO_MANY_TOOL_CALLS", False),
    "compaction": ("MAX_TOKENS", False),
    "error": ("MALFORMED_RESPONSE", True),
    "cancelled": ("OTHER", False),
    "other": ("OTHER", True),
}
"""Canonical finish reasons to the reasons of the wire, and whether these are exact.

CONTINUATION is never written, because clients then send another request by themselves (google-genai, ``_extra_utils.py``).
"""

_FINISH_REASONS_BY_NUMBER = (
    "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT",
    "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
)  # fmt: skip
"""Finish reasons by number, from the vendor's public protocol definitions (google.ai.generativelanguage.v1beta)."""

_NOT_BLOCKING = frozenset({"", "STOP", "MAX_TOKENS"})
# The server ends calls with STOP. After UNEXPECTED_TOOL_CALL the caller must answer them, too (fixture finish_unexpected_call).
_REPLACED_BY_TOOL_CALLS = frozenset({"stop", "other", "error"})


def decode_finish(raw: JsonObject, has_calls: bool, src: str) -> ir.Finish:
    """Decode a finish reason. With tool calls the reason is ``tool_calls``, unless the candidate was truncated or blocked."""
    # {"finishReason": "STOP", "finishMessage": "Model generated function call(s)."}; Vertex also sends numbers
    # (fixture finish_number).
    raw_reason = raw.get("finishReason")
    name = raw_reason if raw_reason in FINISH else enum_name(raw_reason, _FINISH_REASONS_BY_NUMBER)
    reason: ir.FinishReason = FINISH.get(name, "other") if name else "stop"
    if has_calls and reason in _REPLACED_BY_TOOL_CALLS:
        reason = "tool_calls"
    finish = ir.Finish(reason, raw_reason, name not in _NOT_BLOCKING, src)
    finish.message = raw.get("finishMessage") or None
    return finish


def decode_blocked(feedback: JsonObject) -> ir.Finish:
    """Decode the block reason of a prompt or of an incomplete response. It may have only a message (recorded traffic)."""
    return ir.Finish(
        reason="content_filter",
        raw=feedback.get("blockReason"),
        is_specific=True,
        message=feedback.get("blockReasonMessage") or None,
        src="/promptFeedback",
    )


def encode_finish(finish: ir.Finish | None, has_calls: bool, pointer: str, losses: Ledger) -> JsonObject:
    """Encode a finish reason; ``pointer`` is the pointer of its candidate in the target."""
    if finish is None:
        return {"finishReason": losses.added(f"{pointer}/finishReason", "STOP")}
    value, is_exact = _VALUE_OF_FINISH[finish.reason]
    # The vendor ends a response with calls with STOP (recorded traffic).
    if has_calls and finish.reason in OVERRULED:
        value = "STOP"
    note_finish(finish, value, is_exact, losses)
    drop_unheld_in_answer(finish, losses)
    if finish.raw is None:
        losses.added(f"{pointer}/finishReason", value)
    return {"finishReason": value} if finish.message is None else {"finishReason": value, "finishMessage": finish.message}


def mark_unfinished(body: JsonObject) -> JsonObject:
    """Return a body without finish reasons: its response may continue, or it was truncated."""
    for candidate in body.get("candidates") or ():
        candidate.pop("finishReason", None)
    return body


_TOKEN = frozenset({"token", "logProbability"})
_ZERO_PROBABILITY = -9999.0
"""The value of OpenAI for a token that is very unlikely (its SDK, ``logprob``), because JSON has no infinity."""


def decode_logprobs(raw: JsonObject, src: str, start: int = 0) -> tuple[list[ir.TokenLogprob] | None, JsonObject | None]:
    """Decode the chosen tokens, each with its alternatives. ``start``: the number of tokens in earlier events of the stream.

    The second value is the unread fields, by pointer.
    """
    # {"chosenCandidates": [{"token": "Hi", "tokenId": 7, "logProbability": -0.1}], "topCandidates": [{"candidates": [...]}]}
    chosen, ranked = raw.get("chosenCandidates") or [], raw.get("topCandidates") or []
    unread = read_extra(raw, frozenset({"chosenCandidates", "topCandidates"})) or {}
    for index, candidates in enumerate(ranked):
        if index >= len(chosen):
            unread[f"topCandidates/{index}"] = candidates
        else:
            unread |= read_extra(candidates, frozenset({"candidates"}), f"topCandidates/{index}/") or {}
    tokens = [_decode_token(token, f"{src}/chosenCandidates/{position}") for position, token in enumerate(chosen, start)]
    for position, (token, candidates) in enumerate(zip(tokens, ranked, strict=False), start):
        if candidates.get("candidates"):
            token.second_src = f"{src}/topCandidates/{position}"
            token.top_logprobs = [
                _decode_token(top, f"{token.second_src}/candidates/{rank}") for rank, top in enumerate(candidates["candidates"])
            ]
    return tokens or None, unread or None


def _decode_token(raw: JsonObject, src: str) -> ir.TokenLogprob:
    """Decode one token."""
    # Proto3 JSON omits a value of 0, and writes infinity as the text "-Infinity" (protobuf.dev/programming-guides/json).
    probability = raw.get("logProbability")
    is_number = isinstance(probability, int | float)
    return ir.TokenLogprob(
        token=raw.get("token") or "",
        logprob=probability if isinstance(probability, int | float) else 0.0 if probability is None else _ZERO_PROBABILITY,
        src=src,
        extra=read_extra(raw, _TOKEN) if is_number or probability is None else read_extra(raw, frozenset({"token"})),
    )


def encode_logprobs(tokens: list[ir.TokenLogprob], losses: Ledger) -> JsonObject:
    """Encode the chosen tokens and the alternatives of each."""
    logprobs: JsonObject = {"chosenCandidates": [_encode_token(token, losses) for token in tokens]}
    if any(token.top_logprobs for token in tokens):
        logprobs["topCandidates"] = [
            {"candidates": [_encode_token(top, losses) for top in token.top_logprobs or ()]} for token in tokens
        ]
    return logprobs


class AverageLogprob:
    """The average log probability of the tokens of a candidate.

    Tokens are added in order, so a stream and a whole response have the same value.
    """

    __slots__ = ("_count", "_total")

    def __init__(self, tokens: Iterable[ir.TokenLogprob] = ()) -> None:
        self._total, self._count = 0.0, 0
        self.add(tokens)

    def add(self, tokens: Iterable[ir.TokenLogprob]) -> None:
        """Add the next tokens."""
        for token in tokens:
            self._total += token.logprob or 0.0
            self._count += 1

    def fields(self) -> JsonObject:
        """Return the field of the candidate; empty without tokens."""
        return {"avgLogprobs": self._total / self._count} if self._count else {}


def _encode_token(token: ir.TokenLogprob, losses: Ledger) -> JsonObject:
    """Encode one token."""
    drop_unheld_in_answer(token, losses)
    # The format has no bytes. A reader derives them from the text, except for a token that is part of a character.
    if token.bytes is not None and token.bytes != list(token.token.encode()):
        losses.dropped(token, "bytes", severity="info")
    fields: JsonObject = {"token": token.token}
    put_in(fields, "logProbability", token.logprob, 0.0, losses)
    return fields
