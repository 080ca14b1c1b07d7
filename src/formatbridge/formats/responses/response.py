"""Answers of responses."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.responses.citations import encode_citations, shift
from formatbridge.formats.responses.conversation import decode_item, kind_of, settle
from formatbridge.formats.responses.errors import decode_failure, encode_failure, says_cancelled, take_request_id
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.responses.hosted_tools import encode_generated_image, encode_hosted, has_item
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import carry_token, encode_answer_reasoning, encode_item
from formatbridge.formats.responses.tool_calls import encode_answer_call
from formatbridge.formats.responses.usage import decode_usage, encode_usage
from formatbridge.formats.shared.logprobs import PendingTokens, decode_tokens, drop_tokens, encode_tokens
from formatbridge.formats.shared.parts import encode_opaque, note_finish
from formatbridge.formats.shared.parts import refusal_of as explanation_of
from formatbridge.formats.shared.tool_arguments import is_whole
from formatbridge.formats.shared.unique_names import encode_id
from formatbridge.formats.shared.unmodelled_fields import gathered, joined, rest
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

RESPONSE_FIELDS = frozenset({"id", "object", "created_at", "model", "output", "usage", "status", "incomplete_details", "error"})
_index = attrgetter("index")
_ECHOED = (
    "background", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id",
    "prompt_cache_key", "reasoning", "safety_identifier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p",
    "truncation", "user",
)  # fmt: skip
"""Fields of a request that its answer repeats as they were."""


def decode_response(body: JsonObject) -> ir.Response:
    """Read a whole answer. One that failed has its error beside what came before."""
    usage, status, error = body.get("usage"), body.get("status"), body.get("error")
    parts, logprobs, leftover = decode_answer(body["output"])
    failure = failure_of(body)
    finish = decode_finish(body) if not failure or body.get("incomplete_details") else None
    choice = ir.Choice(parts, finish, 0, "/output", leftover, logprobs)
    counts = decode_usage(usage, "/usage") if usage else None
    extra = rest(body, RESPONSE_FIELDS)
    made = ir.Response("responses", body.get("id"), body.get("model"), [choice], body.get("created_at"), counts, extra)
    made.error = failure
    if failure:
        take_request_id(failure, extra)
        made.extra = joined(extra, {"status": status} if error and status not in (None, "failed", "cancelled") else None)
    return made


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return what went wrong on the way; one that was cancelled failed, too."""
    error, status = body.get("error"), body.get("status")
    if error or status == "failed":
        return decode_failure(error or {})
    return ir.Error(kind="cancelled", message=status) if status == "cancelled" else None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Write a whole answer; what it repeats of its request comes from ``context``, else it says what happens anyway."""
    drop_unheld_in_answer(response, losses)
    made_id = encode_id(response.id, "resp_") or losses.added("/id", "resp_0")
    choice = _only_choice(response, losses)
    finish = choice.finish
    refusal = refusal_of(finish, choice.parts, losses)
    ended, last = encode_finish(finish, choice.parts, losses), status_of_last(finish, choice.parts)
    if refusal:
        choice = ir.Choice(parts=[*choice.parts, refusal], logprobs=choice.logprobs, src=choice.src)
    if response.error:
        ended = _encode_failed(response.error, losses)
    elif finish is None or finish.raw is None:
        losses.added("/status", ended["status"])
    ids = ItemIds("/output", f"{made_id.removeprefix('resp_')}_", losses)
    created = _encode_created(response, losses, options)
    model = response.model if response.model is not None else losses.added("/model", "")
    output = encode_answer(choice, ids, losses, options)
    body: JsonObject = {
        "id": made_id,
        "object": "response",
        "created_at": created,
        **ended,
        "model": model,
        "output": as_ended(output, "incomplete" if response.error else last),
        **_encode_echo(context, losses),
    }
    if response.usage:
        body["usage"] = encode_usage(response.usage, losses)
    return body


def _only_choice(response: ir.Response, losses: Ledger) -> ir.Choice:
    """Return the first of several answers; this format gives one."""
    choice, *others = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    for other in others:
        losses.dropped(other, code="single_answer", severity="impossible")
    drop_unheld_in_answer(choice, losses)
    return choice


def _encode_failed(error: ir.Error, losses: Ledger) -> JsonObject:
    """Write how an answer ended that failed on the way, or was cancelled."""
    if says_cancelled(error):
        return {"status": "cancelled", "error": None, "incomplete_details": None}
    return {"status": "failed", "error": encode_failure(error, losses), "incomplete_details": None}


def _encode_created(response: ir.Response, losses: Ledger, options: Options) -> int | float:
    """Write the time of an answer in seconds; nothing reads a clock."""
    created = response.created
    if created is None:
        added: int = losses.added("/created_at", options.created or 0)
        return added
    return int(created) if created == int(created) else created


def _encode_echo(context: Context | None, losses: Ledger) -> JsonObject:
    """Repeat what the caller asked for, where the caller spoke this format."""
    made: JsonObject = {}
    if context and context.source == "responses":
        asked = context.body
        made = {key: asked[key] for key in _ECHOED if asked.get(key) is not None}
    if "parallel_tool_calls" not in made:  # which an answer must have, and so the next two
        made["parallel_tool_calls"] = losses.added("/parallel_tool_calls", True)
    if "tool_choice" not in made:
        made["tool_choice"] = losses.added("/tool_choice", "auto")
    if "tools" not in made:
        made["tools"] = losses.added("/tools", [])
    return made


def decode_answer(items: list[JsonObject]) -> tuple[list[ir.Part], list[ir.TokenLogprob] | None, JsonObject | None]:
    """Read the output: its parts, the probabilities of their tokens, and what belongs to no part, by pointer from the root."""
    parts: list[ir.Part] = []
    tokens: list[ir.TokenLogprob] = []
    extra: JsonObject | None = None
    length = 0
    for index, raw in enumerate(items):
        kind = raw.get("type")
        if type(kind) is not str:
            kind = kind_of(raw)
        leftover = decode_item(raw, kind, f"/output/{index}", parts)
        if leftover:
            extra = gathered(extra, leftover)
        if kind == "message":
            length = take_message(parts, raw["content"], tokens, length)
    settle(parts)
    return parts, tokens or None, extra


def encode_answer(choice: ir.Choice, ids: ItemIds, losses: Ledger, options: Options) -> list[JsonObject]:
    """Write the output of an answer."""
    return _Encoder(choice, ids, losses, options).encode()


def take_message(parts: list[ir.Part], content: str | list[JsonObject], tokens: list[ir.TokenLogprob], start: int) -> int:
    """Go through the message that was read last: citations count from the start of the answer, probabilities belong to all of it.

    Returns where the next one starts.
    """
    size = 1 if isinstance(content, str) else len(content)
    for part in parts[len(parts) - size :]:
        if type(part) is ir.Text:
            if part.citations and start:
                shift(part.citations, start)
            start += len(part.text)
            if part.extra and part.extra.get("logprobs"):
                tokens += decode_tokens(part.extra.pop("logprobs"), f"{part.src}/logprobs")
    return start


class _Encoder:
    """Writes the parts of an answer as items; adjacent words become one message."""

    __slots__ = ("_ids", "_items", "_length", "_losses", "_options", "_parts", "_results", "_tokens", "_used")

    def __init__(self, choice: ir.Choice, ids: ItemIds, losses: Ledger, options: Options) -> None:
        self._parts = choice.parts
        self._tokens = PendingTokens(choice.logprobs) if choice.logprobs else None
        self._ids = ids
        self._losses = losses
        self._options = options
        self._items: list[JsonObject] = []
        self._length = 0
        self._used: set[int] = set()
        self._results: dict[tuple[str, str], deque[int]] | None = None

    def encode(self) -> list[JsonObject]:
        """Write all items."""
        words: list[ir.Text | ir.Refusal] = []
        for index, part in enumerate(self._parts):
            if type(part) is ir.Text or type(part) is ir.Refusal:
                words = self._add_words(index, part, words)
                continue
            if words:
                self._write_words(words)
                words = []
            if type(part) is ir.ToolCall and part.signature is None:
                self._items.append(encode_answer_call(part, len(self._items), self._ids, self._losses))
            elif type(part) is ir.Opaque:
                text = encode_opaque(part, self._losses)
                words = [text] if text else []
            else:
                self._write_part(index, part)
        if words:
            self._write_words(words)
        if self._tokens:
            drop_tokens(self._tokens.rest(), self._losses)  # of calls, say, or of the end
        return self._items

    def _add_words(self, index: int, part: ir.Text | ir.Refusal, words: list[ir.Text | ir.Refusal]) -> list[ir.Text | ir.Refusal]:
        """Add words to those of their message, which goes out first if they belong to the next one; return what waits."""
        token = part.signature if type(part) is ir.Text else None
        if words and (token or words[-1].id != part.id):
            self._write_words(words)
            words = []
        if token:
            self._write_token(token, "call" if part.text or self._thinks_after(index) else None)
        if part.text or (type(part) is ir.Text and part.citations):
            words.append(part)
        elif part.extra:
            self._losses.extras(part)
        return words

    def _thinks_after(self, index: int) -> bool:
        """Say whether a reasoning item or nothing follows, so that a token left alone there comes home to an empty text."""
        if index + 1 == len(self._parts):
            return True
        part = self._parts[index + 1]
        return isinstance(part, ir.Reasoning) or (not isinstance(part, ir.Refusal) and part.signature is not None)

    def _write_part(self, index: int, part: ir.Part) -> None:
        losses, at, made = self._losses, len(self._items), None
        if isinstance(part, ir.Reasoning):  # which has a slot for its token
            made = encode_answer_reasoning(part, at, self._ids, losses, self._options)
            self._items += [made] if made else []
            return
        if index in self._used:
            return
        if isinstance(part, ir.Hosted) and not has_item(part):
            encode_opaque(part, losses)
            return
        if not isinstance(part, ir.Refusal) and part.signature and has_item(part):
            self._write_token(part.signature, "call")
            at = len(self._items)
        if isinstance(part, ir.ToolCall):
            made = encode_answer_call(part, at, self._ids, losses)
        elif isinstance(part, ir.Media):
            made = encode_generated_image(part, at, self._ids, losses)
        elif isinstance(part, ir.Hosted):
            made = self._encode_hosted(index, part, at)
        else:
            losses.dropped(part, code="orphan", severity="impossible")
        if made:
            self._items.append(made)

    def _write_token(self, signature: ir.Signature, kind: ir.SignatureKind | None) -> None:
        """Write the token of a part that has no slot for it as an item of its own before that part."""
        token = carry_token(signature, self._losses, self._options, kind)
        if token:
            self._items.append(encode_item("", token, len(self._items), self._ids, signature.item))

    def _encode_hosted(self, index: int, part: ir.Hosted, at: int) -> JsonObject:
        """Write a call of the server's together with its result, wherever that stands."""
        place = None if part.role == "both" else self._result_of(index, part)
        if place is None:
            return encode_hosted(part, None, at, self._ids, self._losses)
        self._used.add(place)
        result = self._parts[place]
        assert isinstance(result, ir.Hosted)
        if result.id != part.id:
            self._losses.changed(result, "id", part.id, "orphan", severity="info")
        return encode_hosted(part, result, at, self._ids, self._losses)

    def _result_of(self, index: int, call: ir.Hosted) -> int | None:
        """Find the result of a call: the one of its id, else the one directly behind it."""
        if self._results is None:
            self._results = _results_in(self._parts)
        places = self._results.get((call.family, call.id), deque())
        while places and (places[0] <= index or places[0] in self._used):
            places.popleft()
        if places:
            return places[0]
        behind = self._parts[index + 1] if index + 1 < len(self._parts) else None
        is_its_own = isinstance(behind, ir.Hosted) and behind.role == "result" and behind.family == call.family
        return index + 1 if is_its_own and index + 1 not in self._used else None

    def _write_words(self, parts: list[ir.Text | ir.Refusal]) -> None:
        """Write adjacent words as one message, adjacent texts as one part of it; but a carried token is of its own text alone."""
        content: list[JsonObject] = []
        run: list[ir.Text] = []
        for part in parts:
            if run and (type(part) is ir.Refusal or (run[0].signature and self._options.carry_reasoning)):
                content.append(self._encode_texts(run))
                run = []
            if type(part) is ir.Text:
                run.append(part)
                continue
            drop_unheld_in_answer(part, self._losses)
            content.append({"type": "refusal", "refusal": part.text})
        if run:
            content.append(self._encode_texts(run))
        made_id = parts[0].id or self._ids.make("msg", len(self._items))
        self._items.append(_message(made_id, content))

    def _encode_texts(self, parts: list[ir.Text]) -> JsonObject:
        losses = self._losses
        text = parts[0].text if len(parts) == 1 else "".join(part.text for part in parts)
        annotations: list[JsonObject] = []
        for part in parts:
            drop_unheld_in_answer(part, losses)
            if part.citations:
                annotations += encode_citations(part.citations, self._length, len(text), losses)
        self._length += len(text)
        taken: list[ir.TokenLogprob] = []
        if self._tokens:
            passed, taken = self._tokens.take(text)
            drop_tokens(passed, losses)
        return {
            "type": "output_text",
            "text": text,
            "annotations": annotations,
            "logprobs": encode_tokens(taken, losses, needs_bytes=True) if taken else [],
        }


def _message(made_id: str, content: list[JsonObject]) -> JsonObject:
    return {"id": made_id, "type": "message", "role": "assistant", "status": "completed", "content": content}


def _results_in(parts: list[ir.Part]) -> dict[tuple[str, str], deque[int]]:
    """Return where the results of the server's calls stand, by family and id."""
    made: dict[tuple[str, str], deque[int]] = {}
    for place, part in enumerate(parts):
        if isinstance(part, ir.Hosted) and part.role == "result":
            made.setdefault((part.family, part.id), deque()).append(place)
    return made


FINISH: Mapping[str, ir.FinishReason] = {
    "max_output_tokens": "length",
    "max_messages": "pause",
    "content_filter": "content_filter",
    "steered": "stop",
}
"""Reasons of an incomplete answer to ours; any other is ``other``."""

STATUSES: Mapping[str, ir.FinishReason] = {
    "completed": "stop",
    "complete": "stop",
    "incomplete": "pause",
    "in_progress": "pause",
    "queued": "pause",
    "cancelled": "cancelled",
    "failed": "error",
}
"""Statuses to our reasons, where no reason is given."""

WORDS: Mapping[ir.FinishReason, tuple[str, str | None, bool]] = {
    "stop": ("completed", None, True),
    "stop_sequence": ("completed", None, False),
    "length": ("incomplete", "max_output_tokens", True),
    "context_length": ("incomplete", "max_output_tokens", False),
    "tool_calls": ("completed", None, True),
    "content_filter": ("incomplete", "content_filter", True),
    "refusal": ("incomplete", "content_filter", True),
    "pause": ("incomplete", None, False),
    "compaction": ("incomplete", "max_output_tokens", False),
    "error": ("failed", None, True),
    "cancelled": ("cancelled", None, True),
    "other": ("completed", None, False),
}
"""Our reasons to the status and its reason, and whether nothing is lost by that."""

_DETAILS = frozenset({"reason"})
_CUTS = frozenset({"length", "context_length", "content_filter", "refusal", "error", "cancelled"})
"""Our reasons that leave the last item as far as it came; a refusal in words does not."""
_UNFINISHED = frozenset({"queued", "in_progress"})
"""Statuses of an answer that is still to come: for all others that is no end, only the nearest word they have."""

_WAITING = frozenset({
    "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request",
})  # fmt: skip
"""Items that wait for the caller; so does a search for tools that is the caller's to run."""


def decode_finish(body: JsonObject) -> ir.Finish:
    """Read why an answer ended. A complete one that waits for the caller ended for calls, one with a refusal refused."""
    status: str = body.get("status") or "completed"
    details = body.get("incomplete_details")
    word = details.get("reason") if details else None
    extra = rest(details, _DETAILS, "incomplete_details/") if details else None
    if word:
        told = {"status": status} if "status" in body else None
        reason = FINISH.get(word, "other")
        return ir.Finish(reason, word, word == "steered" or word not in FINISH, extra=joined(told, extra))
    reason = STATUSES.get(status, "stop")
    if reason == "stop":
        reason = _reason_of_output(body["output"])
    return ir.Finish(reason, body.get("status"), status not in STATUSES or status in _UNFINISHED, extra=extra)


def encode_finish(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> JsonObject:
    """Write why an answer ended: its status, and for the unfinished and the failed what happened."""
    if finish is None:
        return {"status": "completed", "error": None, "incomplete_details": None}
    status, reason, is_exact = WORDS[finish.reason]
    if _is_refused_in_words(finish, parts):
        status, reason = "completed", None
    note_finish(finish, reason or status, is_exact, losses)
    drop_unheld_in_answer(finish, losses)
    return {
        "status": status,
        "error": {"code": "server_error", "message": finish.message or str(finish.raw or "")} if status == "failed" else None,
        "incomplete_details": {"reason": reason} if reason else None,
    }


def _is_refused_in_words(finish: ir.Finish, parts: list[ir.Part]) -> bool:
    """Say whether the model refused in words of its own: such an answer is complete, where a block breaks one off."""
    return finish.reason == "refusal" and any(isinstance(part, ir.Refusal) for part in parts)


def refusal_of(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> ir.Refusal | None:
    """Return the explanation of a blocked answer as its refusal; in a failed one it is the error."""
    if finish is None or finish.reason == "error":
        return None
    text = explanation_of(finish, parts, losses)
    return None if text is None else ir.Refusal(text=text, src=finish.src)


def _reason_of_output(output: list[JsonObject]) -> ir.FinishReason:
    """Tell from the items of a complete answer why it ended."""
    reason: ir.FinishReason = "stop"
    for item in output:
        kind = item.get("type")
        if type(kind) is not str:
            kind = kind_of(item)
        if kind in _WAITING or (kind == "tool_search_call" and item.get("execution") == "client"):
            return "tool_calls"
        if kind == "message":
            content = item["content"]
            for part in content if isinstance(content, list) else ():
                if part.get("type") == "refusal":
                    reason = "refusal"
    return reason


def unfinished(body: JsonObject) -> JsonObject:
    """Return an answer as one that has not ended: it may still, or it was cut."""
    output = _with_last(body["output"], "in_progress")
    return body | {"status": "in_progress", "incomplete_details": None, "output": output}


def as_ended(items: list[JsonObject], status: str) -> list[JsonObject]:
    """Return the items of an answer with the status that its end gives to those that it broke off in."""
    return items if status == "completed" else _with_last(items, status)


def status_of_last(finish: ir.Finish | None, parts: list[ir.Part]) -> str:
    """Return the status of the last item, and of calls that came by half: an answer that ran out or was stopped broke off in these."""
    is_cut = finish is not None and finish.reason in _CUTS and not _is_refused_in_words(finish, parts)
    return "incomplete" if is_cut else "completed"


def _with_last(items: list[JsonObject], status: str) -> list[JsonObject]:
    """Return the items of an answer with the status of the last one, if its type has any, and of calls whose arguments are not whole.

    Calls come side by side, and whoever runs them by their status would run half a call.
    """
    last = len(items) - 1
    return [
        item | {"status": status}
        if (index == last and item.get("type") in ("message", "function_call", "tool_search_call")) or _is_half(item)
        else item
        for index, item in enumerate(items)
    ]


def _is_half(item: JsonObject) -> bool:
    arguments = item.get("arguments")
    if item.get("type") == "tool_search_call":
        return isinstance(arguments, dict) and arguments.keys() == {"raw_arguments"}
    return item.get("type") == "function_call" and isinstance(arguments, str) and not is_whole(arguments)
