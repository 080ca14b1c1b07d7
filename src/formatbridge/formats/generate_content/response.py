"""Answers of generate_content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.generate_content.citations import decode_citations, encode_citations
from formatbridge.formats.generate_content.content import Surroundings
from formatbridge.formats.generate_content.conversation import CONTENT, decode_parts, encode_parts
from formatbridge.formats.generate_content.errors import decode_error
from formatbridge.formats.generate_content.holds import drop_unheld_in_answer
from formatbridge.formats.generate_content.hosted_tools import python_runs
from formatbridge.formats.generate_content.reasoning import is_carried, is_late, word_of
from formatbridge.formats.generate_content.tool_calls import Calls
from formatbridge.formats.generate_content.usage import decode_usage, encode_usage
from formatbridge.formats.shared.choices import numbered
from formatbridge.formats.shared.model_lists import encode_time, time_of
from formatbridge.formats.shared.parts import OVERRULED, note_finish
from formatbridge.formats.shared.reasoning_tokens import bound_to, keeps_id
from formatbridge.formats.shared.tool_arguments import NOT_READ, read_objects
from formatbridge.formats.shared.unique_names import encode_id
from formatbridge.formats.shared.unmodelled_fields import joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity
from formatbridge.streaming.replay import altered

_index = attrgetter("index")
_RESPONSE = frozenset({"candidates", "createTime", "modelVersion", "promptFeedback", "responseId", "usageMetadata"})
_FEEDBACK = frozenset({"blockReason", "blockReasonMessage"})
_PLAIN_CANDIDATE = frozenset({"content", "finishReason", "finishMessage", "index"})
_CANDIDATE = _PLAIN_CANDIDATE | {"logprobsResult", "groundingMetadata", "citationMetadata"}


def decode_response(body: JsonObject) -> ir.Response:
    """Read a whole answer; a prompt that was blocked is a choice without parts, an error in its place is one."""
    usage, time, feedback = body.get("usageMetadata"), body.get("createTime"), body.get("promptFeedback") or {}
    created = time_of(time) if time else None
    given = body.get("responseId") or None
    told = body.get("candidates") or ()
    numbers = numbered([raw.get("index") or 0 for raw in told])
    choices = [_decode_choice(raw, f"/candidates/{at}", numbers[at], given) for at, raw in enumerate(told)]
    error = failure_of(body)
    blocked = [each for each in choices if each.finish and each.finish.raw in UNSAID] if feedback.get("blockReason") else []
    for each in blocked:
        if each.finish and each.finish.message:
            each.extra = joined(each.extra, {"finishMessage": each.finish.message})
        each.finish = decode_blocked(feedback)
    if not choices and not error:
        blocked = choices = [_decode_missing(feedback)]
    if blocked:
        feedback = {key: value for key, value in feedback.items() if key not in _FEEDBACK}
    extra = rest(body, _RESPONSE if not error else _RESPONSE | {"error"})
    if feedback or (time and created is None):
        extra = joined(
            extra, rest(feedback, frozenset(), "promptFeedback/"), {"createTime": time} if time and created is None else None
        )
    counts = decode_usage(usage, "/usageMetadata") if usage else None
    return ir.Response("generate_content", given, body.get("modelVersion"), choices, created, counts, extra, error)


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return what went wrong on the way; servers say it beside the answer, or in its place."""
    return decode_error({"error": body["error"]}, status=None) if body.get("error") else None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Write a whole answer."""
    del context  # nothing in an answer of this format repeats the request
    drop_unheld_in_answer(response, losses)
    choices = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    body: JsonObject = {"candidates": [_encode_choice(choice, place, losses, options) for place, choice in enumerate(choices)]}
    if response.usage:
        body["usageMetadata"] = encode_usage(response.usage, losses)
    if response.model is not None:
        body["modelVersion"] = response.model
    given = encode_id(response.id, "")
    if given is not None:
        body["responseId"] = given
    created = response.created if response.created is not None else options.created
    if created is not None:
        body["createTime"] = encode_time(response, created, losses)
    return body


def _decode_missing(feedback: JsonObject) -> ir.Choice:
    """Make the choice of an answer that has none."""
    if feedback.get("blockReason") is not None or feedback.get("blockReasonMessage"):
        return ir.Choice(parts=[], finish=decode_blocked(feedback), src="/promptFeedback")
    src = "/promptFeedback" if feedback else ""
    return ir.Choice(parts=[], finish=ir.Finish(reason="other", src=src), src=src)


def _decode_choice(raw: JsonObject, src: str, number: int, response_id: str | None) -> ir.Choice:
    content = raw.get("content") or {}
    parts = decode_answer(content, f"{src}/content", response_id, number)
    choice = ir.Choice(parts, decode_finish(raw, parts, src), number, src)
    if raw.keys() <= _PLAIN_CANDIDATE and content.keys() <= CONTENT:  # neither logprobs, nor citations, nor anything unknown
        return choice
    choice.logprobs, unread = decode_logprobs(raw.get("logprobsResult") or {}, f"{src}/logprobsResult")
    choice.extra = joined(
        rest(raw, _CANDIDATE),
        rest(content, CONTENT, "content/"),
        {f"logprobsResult/{pointer}": value for pointer, value in (unread or {}).items()} or None,
        decode_citations(raw, parts, src),
    )
    return choice


def _encode_choice(choice: ir.Choice, place: int, losses: Ledger, options: Options) -> JsonObject:
    drop_unheld_in_answer(choice, losses)
    kinds = set(map(type, choice.parts))
    parts = encode_answer(choice, kinds, f"/candidates/{place}/content/parts", losses, options)
    made: JsonObject = {"content": {"role": "model", "parts": parts}}
    made |= encode_finish(choice.finish, ir.ToolCall in kinds, f"/candidates/{place}", losses)
    made["index"] = choice.index
    grounding = encode_citations(choice.parts, losses)
    if grounding:
        made["groundingMetadata"] = grounding
    if choice.logprobs:
        made |= Average(choice.logprobs).told() | {"logprobsResult": encode_logprobs(choice.logprobs, losses)}
    return made


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
"""The wire's words to ours; any other is ``other``, none at all is inferred from the content."""

UNSAID = (None, "", 0, "FINISH_REASON_UNSPECIFIED")
"""What stands where an answer has not said why it ended."""

WORDS: Mapping[ir.FinishReason, tuple[str, bool]] = {
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
"""Our words to the wire's, and whether nothing is lost by that. CONTINUATION is never written: it makes clients ask again by themselves."""

_NUMBERED = (
    "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT",
    "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL",
)  # fmt: skip
"""By number, as in the vendor's public protocol definitions (google.ai.generativelanguage.v1beta)."""

_PLAIN = frozenset({"", "STOP", "MAX_TOKENS"})
_UPGRADED = frozenset({"stop", "other", "error"})


def decode_finish(raw: JsonObject, parts: list[ir.Part], src: str) -> ir.Finish:
    """Read why a candidate ended. What it holds beats what it says: with calls it ended for calls, unless it was cut or blocked."""
    given = raw.get("finishReason")
    word = given if given in FINISH else word_of(given, _NUMBERED)
    reason: ir.FinishReason = FINISH.get(word, "other") if word else "stop"
    if reason in _UPGRADED and ir.ToolCall in map(type, parts):
        reason = "tool_calls"
    finish = ir.Finish(reason, given, word not in _PLAIN, src)
    finish.message = raw.get("finishMessage") or None
    return finish


def decode_blocked(feedback: JsonObject) -> ir.Finish:
    """Read why a prompt was not answered at all, or an answer broke off; a server may send the message of a block without its reason."""
    return ir.Finish(
        reason="content_filter",
        raw=feedback.get("blockReason"),
        is_specific=True,
        message=feedback.get("blockReasonMessage") or None,
        src="/promptFeedback",
    )


def encode_finish(finish: ir.Finish | None, has_calls: bool, at: str, losses: Ledger) -> JsonObject:
    """Write why a candidate ended; ``at`` is its pointer in the target."""
    if finish is None:
        return {"finishReason": losses.added(f"{at}/finishReason", "STOP")}
    word, is_exact = WORDS[finish.reason]
    if has_calls and finish.reason in OVERRULED:
        word = "STOP"
    note_finish(finish, word, is_exact, losses)
    drop_unheld_in_answer(finish, losses)
    if finish.raw is None:
        losses.added(f"{at}/finishReason", word)
    return {"finishReason": word} if finish.message is None else {"finishReason": word, "finishMessage": finish.message}


def unfinished(body: JsonObject) -> JsonObject:
    """Return an answer as one that has not ended: it may still, or it was cut."""
    for candidate in body.get("candidates") or ():
        candidate.pop("finishReason", None)
    return body


_TOKEN = frozenset({"token", "logProbability"})
_IMPOSSIBLE = -9999.0
"""What other vendors write for a token that could not be; JSON has no infinity."""


def decode_logprobs(raw: JsonObject, src: str, start: int = 0) -> tuple[list[ir.TokenLogprob] | None, JsonObject | None]:
    """Read the tokens taken, each with its runners-up; in a stream, from its token number ``start`` on.

    The second value is what no token holds, by pointer.
    """
    chosen, ranked = raw.get("chosenCandidates") or [], raw.get("topCandidates") or []
    unread = rest(raw, frozenset({"chosenCandidates", "topCandidates"})) or {}
    for index, step in enumerate(ranked):
        if index >= len(chosen):
            unread[f"topCandidates/{index}"] = step
        else:
            unread |= rest(step, frozenset({"candidates"}), f"topCandidates/{index}/") or {}
    tokens = [_decode_token(token, f"{src}/chosenCandidates/{place}") for place, token in enumerate(chosen, start)]
    for place, (token, step) in enumerate(zip(tokens, ranked, strict=False), start):
        if step.get("candidates"):
            token.second_src = f"{src}/topCandidates/{place}"
            token.top = [_decode_token(top, f"{token.second_src}/candidates/{rank}") for rank, top in enumerate(step["candidates"])]
    return tokens or None, unread or None


def _decode_token(raw: JsonObject, src: str) -> ir.TokenLogprob:
    chance = raw.get("logProbability")
    is_number = isinstance(chance, int | float)
    return ir.TokenLogprob(
        token=raw.get("token") or "",
        logprob=chance if isinstance(chance, int | float) else 0.0 if chance is None else _IMPOSSIBLE,
        src=src,
        extra=rest(raw, _TOKEN) if is_number or chance is None else rest(raw, frozenset({"token"})),
    )


def encode_logprobs(tokens: list[ir.TokenLogprob], losses: Ledger) -> JsonObject:
    """Write the tokens taken and, step by step, their runners-up."""
    made: JsonObject = {"chosenCandidates": [_encode_token(token, losses) for token in tokens]}
    if any(token.top for token in tokens):
        made["topCandidates"] = [{"candidates": [_encode_token(top, losses) for top in token.top or ()]} for token in tokens]
    return made


class Average:
    """The mean chance of the tokens of an answer, taken one after the other, so that a stream ends in the same number."""

    __slots__ = ("_count", "_total")

    def __init__(self, tokens: Iterable[ir.TokenLogprob] = ()) -> None:
        self._total, self._count = 0.0, 0
        self.add(tokens)

    def add(self, tokens: Iterable[ir.TokenLogprob]) -> None:
        """Take the next tokens."""
        for token in tokens:
            self._total += token.logprob or 0.0
            self._count += 1

    def told(self) -> JsonObject:
        """Return the field that tells it; nothing where there are no tokens."""
        return {"avgLogprobs": self._total / self._count} if self._count else {}


def _encode_token(token: ir.TokenLogprob, losses: Ledger) -> JsonObject:
    drop_unheld_in_answer(token, losses)
    if token.bytes is not None and token.bytes != list(token.token.encode()):
        losses.dropped(token, "bytes", severity="info")
    made: JsonObject = {"token": token.token, "logProbability": token.logprob}
    if token.logprob is None:
        losses.added_in(made, "logProbability", 0.0)
    return made
