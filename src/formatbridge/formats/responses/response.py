"""Response objects of Responses: output, status, usage and errors.

A response and its last item have a status, which other formats do not have: ``last_item_status``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from operator import attrgetter

from formatbridge import ir
from formatbridge.formats.format import Context
from formatbridge.formats.responses.citations import encode_citations, shift_citations
from formatbridge.formats.responses.content import output_message, output_refusal, output_text
from formatbridge.formats.responses.conversation import decode_item, end_assistant_message, item_type
from formatbridge.formats.responses.errors import decode_failure, encode_failure, is_bare_cancellation, move_request_id
from formatbridge.formats.responses.holds import drop_unheld_in_answer
from formatbridge.formats.responses.hosted_tools import encode_generated_image, encode_hosted, has_output_item
from formatbridge.formats.responses.item_ids import ItemIds
from formatbridge.formats.responses.reasoning import encode_answer_reasoning, encode_carried_token, encode_reasoning_item
from formatbridge.formats.responses.tool_calls import encode_answer_call
from formatbridge.formats.responses.usage import decode_usage, encode_usage
from formatbridge.formats.shared.finish_reasons import explanation_of, note_finish
from formatbridge.formats.shared.logprobs import PendingTokens, decode_tokens, encode_tokens
from formatbridge.formats.shared.names import encode_id
from formatbridge.formats.shared.parts import encode_opaque, encode_transcript
from formatbridge.formats.shared.tool_arguments import is_whole
from formatbridge.formats.shared.unmodelled_fields import extend_extra, merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

RESPONSE_FIELDS = frozenset({"id", "object", "created_at", "model", "output", "usage", "status", "incomplete_details", "error"})
_index = attrgetter("index")
# Source: the official SDK, ``Response``, and recorded responses, which also have ``store``.
_REPEATED_FIELDS = (
    "background", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls", "previous_response_id",
    "prompt_cache_key", "reasoning", "safety_identifier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p",
    "truncation", "user",
)  # fmt: skip
"""Request fields that the response repeats unchanged."""


def decode_response(body: JsonObject) -> ir.Response:
    """Decode a response. A failed one has an error and the output before it."""
    # {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [...],
    #  "error": null, "incomplete_details": null, "usage": {...}, "tools": [], "tool_choice": "auto"}
    usage, status, error = body.get("usage"), body.get("status"), body.get("error")
    parts, logprobs, unread = decode_answer(body["output"])
    failure = failure_of(body)
    finish = decode_finish(body) if not failure or body.get("incomplete_details") else None
    choice = ir.Choice(parts, finish, 0, "/output", unread, logprobs)
    counts = decode_usage(usage, "/usage") if usage else None
    extra = read_extra(body, RESPONSE_FIELDS)
    response = ir.Response("responses", body.get("id"), body.get("model"), [choice], body.get("created_at"), counts, extra)
    response.error = failure
    if failure:
        move_request_id(failure, extra)
        response.extra = merge_extra(extra, {"status": status} if error and status not in (None, "failed", "cancelled") else None)
    return response


def failure_of(body: JsonObject) -> ir.Error | None:
    """Return the error of a failed or cancelled response."""
    error, status = body.get("error"), body.get("status")
    # A failed response may have no error object (official SDK, ``Response.error``), and an error counts whatever the status is.
    if error or status == "failed":
        return decode_failure(error or {})
    return ir.Error(kind="cancelled", message=status) if status == "cancelled" else None


def encode_response(response: ir.Response, losses: Ledger, options: Options, context: Context | None) -> JsonObject:
    """Encode a response. Fields that repeat the request come from ``context``; without it they have their defaults."""
    drop_unheld_in_answer(response, losses)
    response_id = encode_id(response.id, "resp_", context) or losses.added("/id", "resp_0")
    choice = _only_choice(response, losses)
    finish = choice.finish
    refusal = refusal_of(finish, choice.parts, losses)
    status_fields, last_status = encode_finish(finish, choice.parts, losses), last_item_status(finish, choice.parts)
    if refusal:
        choice = ir.Choice(parts=[*choice.parts, refusal], logprobs=choice.logprobs, src=choice.src)
    # A failed response has the output before the failure. Its status replaces the finish reason.
    if response.error:
        status_fields = _encode_failed_status(response.error, losses)
    elif finish is None or finish.raw is None:
        losses.added("/status", status_fields["status"])
    # The id of the response makes the ids of its items unique in a conversation, and equal inputs give equal ids.
    ids = ItemIds("/output", f"{response_id.removeprefix('resp_')}_", losses)
    created = _encode_created(response, losses, options)
    model = response.model if response.model is not None else losses.added("/model", "")
    output = encode_answer(choice, ids, losses, options)
    body: JsonObject = {
        "id": response_id,
        "object": "response",
        "created_at": created,
        **status_fields,
        "model": model,
        "output": _with_end_status(output, "incomplete" if response.error else last_status),
        **_encode_repeated_fields(context, losses),
    }
    if response.usage:
        body["usage"] = encode_usage(response.usage, losses)
    return body


def _only_choice(response: ir.Response, losses: Ledger) -> ir.Choice:
    """Return the first choice; this format has only one."""
    choice, *others = sorted(response.choices, key=_index) or [ir.Choice(parts=[])]
    for other in others:
        losses.dropped(other, code="single_answer")
    drop_unheld_in_answer(choice, losses)
    return choice


def _encode_failed_status(error: ir.Error, losses: Ledger) -> JsonObject:
    """Encode the status and the error of a failed or cancelled response."""
    if is_bare_cancellation(error):
        return {"status": "cancelled", "error": None, "incomplete_details": None}
    return {"status": "failed", "error": encode_failure(error, losses), "incomplete_details": None}


def _encode_created(response: ir.Response, losses: Ledger, options: Options) -> int | float:
    """Encode the time of creation in seconds; without one it comes from the options, never from the clock."""
    created = response.created
    if created is None:
        added: int = losses.added("/created_at", options.created or 0)
        return added
    return int(created) if created == int(created) else created


def _encode_repeated_fields(context: Context | None, losses: Ledger) -> JsonObject:
    """Return the fields that repeat the caller's request; the three required fields have defaults."""
    # The endpoint's format does not repeat the request, so these fields come from the caller's request.
    fields: JsonObject = {}
    if context and context.source == "responses":
        request = context.body
        fields = {key: request[key] for key in _REPEATED_FIELDS if request.get(key) is not None}
    if "parallel_tool_calls" not in fields:  # required, like the two fields below
        fields["parallel_tool_calls"] = losses.added("/parallel_tool_calls", True)
    if "tool_choice" not in fields:
        fields["tool_choice"] = losses.added("/tool_choice", "auto")
    if "tools" not in fields:
        fields["tools"] = losses.added("/tools", [])
    return fields


def decode_answer(items: list[JsonObject]) -> tuple[list[ir.Part], list[ir.TokenLogprob] | None, JsonObject | None]:
    """Decode the output items. Returns the parts, the log probabilities, and the unmodelled fields, by pointer from the root."""
    # [{"type": "reasoning", ...}, {"type": "message", "content": [{"type": "output_text", ...}]}, {"type": "function_call", ...}]
    parts: list[ir.Part] = []
    logprobs: list[ir.TokenLogprob] = []
    extra: JsonObject | None = None
    length = 0  # of the visible text, from whose start canonical citations count
    for index, raw in enumerate(items):
        kind = raw.get("type")
        if type(kind) is not str:
            kind = item_type(raw)
        unread = decode_item(raw, kind, f"/output/{index}", parts)
        if unread:
            extra = extend_extra(extra, unread)
        if kind == "message":
            length = add_message_to_response(parts, raw["content"], logprobs, length)
    end_assistant_message(parts)
    return parts, logprobs or None, extra


def encode_answer(choice: ir.Choice, ids: ItemIds, losses: Ledger, options: Options) -> list[JsonObject]:
    """Encode the output items of a response."""
    return _OutputEncoder(choice, ids, losses, options).encode()


def add_message_to_response(
    parts: list[ir.Part], content: str | list[JsonObject], logprobs: list[ir.TokenLogprob], start: int
) -> int:
    """Shift the citations of the last message and collect its log probabilities.

    ``start``: the length of the text before the message. ``logprobs``: the list that is extended. Returns the length with the message.
    """
    size = 1 if isinstance(content, str) else len(content)
    for part in parts[len(parts) - size :]:
        if type(part) is ir.Text:
            if part.citations and start:
                shift_citations(part.citations, start)
            start += len(part.text)
            # Here each text has its log probabilities; other formats have one list for a choice.
            if part.extra and part.extra.get("logprobs"):
                logprobs += decode_tokens(part.extra.pop("logprobs"), f"{part.src}/logprobs")
    return start


class _OutputEncoder:
    """Encodes the parts of a response as items; adjacent texts and refusals become one message."""

    __slots__ = ("_ids", "_items", "_length", "_logprobs", "_losses", "_options", "_parts", "_results", "_written_results")

    def __init__(self, choice: ir.Choice, ids: ItemIds, losses: Ledger, options: Options) -> None:
        self._parts = choice.parts
        self._logprobs = PendingTokens(choice.logprobs) if choice.logprobs else None
        self._ids = ids
        self._losses = losses
        self._options = options
        self._items: list[JsonObject] = []
        self._length = 0
        self._written_results: set[int] = set()
        self._results: dict[tuple[str, str], deque[int]] | None = None

    def encode(self) -> list[JsonObject]:
        """Encode all items."""
        message_parts: list[ir.Text | ir.Refusal] = []
        for index, part in enumerate(self._parts):
            if type(part) is ir.Text or type(part) is ir.Refusal:
                message_parts = self._add_to_message(index, part, message_parts)
                continue
            if message_parts:
                self._write_message(message_parts)
                message_parts = []
            if type(part) is ir.ToolCall and part.signature is None:
                self._items.append(encode_answer_call(part, len(self._items), self._ids, self._losses))
            elif isinstance(part, ir.Opaque) or (isinstance(part, ir.Media) and part.transcript):
                text = encode_opaque(part, self._losses) if isinstance(part, ir.Opaque) else encode_transcript(part, self._losses)
                message_parts = [text] if text else []
            else:
                self._write_part(index, part)
        if message_parts:
            self._write_message(message_parts)
        if self._logprobs:
            _drop_tokens(self._logprobs.remaining(), self._losses)  # those of tokens outside texts, such as those of calls
        return self._items

    def _add_to_message(
        self, index: int, part: ir.Text | ir.Refusal, parts: list[ir.Text | ir.Refusal]
    ) -> list[ir.Text | ir.Refusal]:
        """Add a part to the open message, or write that message and open another; return the parts of the open one."""
        # An output text has no field for a reasoning token (official SDK, ``ResponseOutputText``), Gemini's texts have one.
        # It goes into a reasoning item before the message.
        token = part.signature if type(part) is ir.Text else None
        if parts and (token or parts[-1].id != part.id):
            self._write_message(parts)
            parts = []
        if token:
            self._write_token(token, "call" if part.text or self._has_no_next_owner(index) else None)
        if part.text or (type(part) is ir.Text and part.citations):
            parts.append(part)
        else:
            self._losses.extras(part)
        return parts

    def _has_no_next_owner(self, index: int) -> bool:
        """Return whether no part after an empty text takes its reasoning token: reasoning or a part with a token follows, or nothing.

        A token of the kind ``call`` belongs to the next item. If that item cannot take it, decoding restores the empty text. Before other
        items, the token keeps its kind and stays a reasoning item.
        """
        if index + 1 == len(self._parts):
            return True
        part = self._parts[index + 1]
        return isinstance(part, ir.Reasoning) or (not isinstance(part, ir.Refusal) and part.signature is not None)

    def _write_part(self, index: int, part: ir.Part) -> None:
        losses, item_index, item = self._losses, len(self._items), None
        if isinstance(part, ir.Reasoning):  # has a field for its token
            item = encode_answer_reasoning(part, item_index, self._ids, losses, self._options)
            self._items += [item] if item else []
            return
        # The item of a call has the result, too, so its part was encoded with the call.
        if index in self._written_results:
            return
        if isinstance(part, ir.Hosted) and not has_output_item(part):
            encode_opaque(part, losses)
            return
        if not isinstance(part, ir.Refusal) and part.signature and has_output_item(part):
            self._write_token(part.signature, "call")
            item_index = len(self._items)
        if isinstance(part, ir.ToolCall):
            item = encode_answer_call(part, item_index, self._ids, losses)
        elif isinstance(part, ir.Media):
            item = encode_generated_image(part, item_index, self._ids, losses)
        elif isinstance(part, ir.Hosted):
            item = self._encode_hosted(index, part, item_index)
        else:
            losses.dropped(part, code="orphan", severity="impossible")
        if item:
            self._items.append(item)

    def _write_token(self, signature: ir.Signature, kind: ir.SignatureKind | None) -> None:
        """Encode the reasoning token of a part that has no field for it as a reasoning item before that part."""
        token = encode_carried_token(signature, self._losses, self._options, kind)
        if token:
            self._items.append(encode_reasoning_item("", token, len(self._items), self._ids, signature.item_id))

    def _encode_hosted(self, index: int, part: ir.Hosted, item_index: int) -> JsonObject:
        """Encode a hosted call with its result, which may be anywhere after it."""
        result_index = None if part.role == "both" else self._result_of(index, part)
        if result_index is None:
            return encode_hosted(part, None, item_index, self._ids, self._losses)
        self._written_results.add(result_index)
        result = self._parts[result_index]
        assert isinstance(result, ir.Hosted)
        # The item has one id for both. Without a result of that id, the call takes the part directly after it.
        self._losses.changed(result, "id", part.id, "orphan", severity="info")
        return encode_hosted(part, result, item_index, self._ids, self._losses)

    def _result_of(self, index: int, call: ir.Hosted) -> int | None:
        """Return the index of the result of a call: the result with its id, else the part directly after the call."""
        if self._results is None:
            self._results = _results_in(self._parts)
        indexes = self._results.get((call.family, call.id), deque())
        while indexes and (indexes[0] <= index or indexes[0] in self._written_results):
            indexes.popleft()
        if indexes:
            return indexes[0]
        following = self._parts[index + 1] if index + 1 < len(self._parts) else None
        is_result = isinstance(following, ir.Hosted) and following.role == "result" and following.family == call.family
        return index + 1 if is_result and index + 1 not in self._written_results else None

    def _write_message(self, parts: list[ir.Text | ir.Refusal]) -> None:
        """Encode adjacent texts and refusals as one message. Adjacent texts share one part, except a text with a carried token."""
        # Anthropic splits a text where a citation begins ("Citations"). Joined, it is one content part with annotations, as OpenAI sends it
        # (recorded traffic).
        content: list[JsonObject] = []
        texts: list[ir.Text] = []
        for part in parts:
            if texts and (type(part) is ir.Refusal or (texts[0].signature and self._options.carry_reasoning)):
                content.append(self._encode_texts(texts))
                texts = []
            if type(part) is ir.Text:
                texts.append(part)
                continue
            drop_unheld_in_answer(part, self._losses)
            content.append(output_refusal(part.text))
        if texts:
            content.append(self._encode_texts(texts))
        item_id = parts[0].id or self._ids.generate("msg", len(self._items))
        self._items.append(output_message(item_id, content))

    def _encode_texts(self, parts: list[ir.Text]) -> JsonObject:
        losses = self._losses
        text = parts[0].text if len(parts) == 1 else "".join(part.text for part in parts)
        annotations: list[JsonObject] = []
        for part in parts:
            drop_unheld_in_answer(part, losses)
            if part.citations:
                annotations += encode_citations(part.citations, self._length, len(text), losses)
        self._length += len(text)
        logprobs: list[ir.TokenLogprob] = []
        if self._logprobs:
            skipped, logprobs = self._logprobs.take(text)
            _drop_tokens(skipped, losses)
        return output_text(text, annotations, encode_tokens(logprobs, losses, needs_bytes=True) if logprobs else [])


def _results_in(parts: list[ir.Part]) -> dict[tuple[str, str], deque[int]]:
    """Return the indexes of the results of hosted calls, by family and id."""
    indexes: dict[tuple[str, str], deque[int]] = {}
    for index, part in enumerate(parts):
        if isinstance(part, ir.Hosted) and part.role == "result":
            indexes.setdefault((part.family, part.id), deque()).append(index)
    return indexes


# Source: the official SDK, ``IncompleteDetails.reason``. ``steered``: the caller ended the response over a WebSocket.
FINISH: Mapping[str, ir.FinishReason] = {
    "max_output_tokens": "length",
    "max_messages": "pause",
    "content_filter": "content_filter",
    "steered": "stop",
}
"""Reasons of an incomplete response to finish reasons; any unknown one is ``other``."""

# Source: the official SDK, ``ResponseStatus``.
STATUSES: Mapping[str, ir.FinishReason] = {
    "completed": "stop",
    "complete": "stop",  # recorded traffic
    "incomplete": "pause",
    "in_progress": "pause",
    "queued": "pause",
    "cancelled": "cancelled",
    "failed": "error",
}
"""Statuses to finish reasons, for a response without ``incomplete_details``."""

_STATUS_OF_FINISH: Mapping[ir.FinishReason, tuple[str, str | None, bool]] = {
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
"""Finish reasons to the status, the reason of ``incomplete_details``, and whether these are exact."""

_DETAILS = frozenset({"reason"})
_LEAVE_INCOMPLETE = frozenset({"length", "context_length", "content_filter", "refusal", "error", "cancelled"})
"""Finish reasons that leave the last item incomplete; a refusal with a refusal part does not."""
_STILL_RUNNING = frozenset({"queued", "in_progress"})
"""Statuses of a response that is not complete yet; other formats have no exact finish reason for them."""

# The format has no finish reason for tool calls: the items of a completed response show them.
_CALLS_RUN_BY_CALLER = frozenset({
    "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request",
})  # fmt: skip
"""Calls that the caller runs; a tool search with the execution ``client`` is another such call."""


def decode_finish(body: JsonObject) -> ir.Finish:
    """Decode the finish reason. For a completed response it depends on the output: calls of the caller, or a refusal."""
    status: str = body.get("status") or "completed"
    details = body.get("incomplete_details")
    # {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    reason_value = details.get("reason") if details else None
    extra = read_extra(details, _DETAILS, "incomplete_details/") if details else None
    if reason_value:
        status_field = {"status": status} if "status" in body else None
        reason = FINISH.get(reason_value, "other")
        return ir.Finish(
            reason, reason_value, reason_value == "steered" or reason_value not in FINISH, extra=merge_extra(status_field, extra)
        )
    reason = STATUSES.get(status, "stop")
    if reason == "stop":
        reason = _reason_of_output(body["output"])
    return ir.Finish(reason, body.get("status"), status not in STATUSES or status in _STILL_RUNNING, extra=extra)


def encode_finish(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> JsonObject:
    """Encode the finish reason as the status, the error and ``incomplete_details``."""
    if finish is None:
        return {"status": "completed", "error": None, "incomplete_details": None}
    status, reason, is_exact = _STATUS_OF_FINISH[finish.reason]
    if _is_explicit_refusal(finish, parts):
        status, reason = "completed", None
    note_finish(finish, reason or status, is_exact, losses)
    drop_unheld_in_answer(finish, losses)
    return {
        "status": status,
        "error": {"code": "server_error", "message": finish.message or str(finish.raw or "")} if status == "failed" else None,
        "incomplete_details": {"reason": reason} if reason else None,
    }


def _is_explicit_refusal(finish: ir.Finish, parts: list[ir.Part]) -> bool:
    """Return whether a response ends with a refusal part. Such a response is completed; a content filter leaves a response incomplete."""
    return finish.reason == "refusal" and any(isinstance(part, ir.Refusal) for part in parts)


def refusal_of(finish: ir.Finish | None, parts: list[ir.Part], losses: Ledger) -> ir.Refusal | None:
    """Return the explanation of a blocked response as a refusal; a failed response has it in its error."""
    if finish is None or finish.reason == "error":
        return None
    text = explanation_of(finish, parts, losses)
    return None if text is None else ir.Refusal(text=text, src=finish.src)


def _reason_of_output(output: list[JsonObject]) -> ir.FinishReason:
    """Return the finish reason of a completed response, which depends on its items."""
    reason: ir.FinishReason = "stop"
    for item in output:
        kind = item.get("type")
        if type(kind) is not str:
            kind = item_type(item)
        if kind in _CALLS_RUN_BY_CALLER or (kind == "tool_search_call" and item.get("execution") == "client"):
            return "tool_calls"
        if kind == "message":
            content = item["content"]
            for part in content if isinstance(content, list) else ():
                if part.get("type") == "refusal":
                    reason = "refusal"
    return reason


def mark_unfinished(body: JsonObject) -> JsonObject:
    """Return a response body with the status ``in_progress``, for a response that has not ended or was truncated."""
    output = _set_last_status(body["output"], "in_progress")
    return body | {"status": "in_progress", "incomplete_details": None, "output": output}


def _with_end_status(items: list[JsonObject], status: str) -> list[JsonObject]:
    """Return the items of a response; the last item and calls with incomplete arguments get the status, unless it is ``completed``."""
    return items if status == "completed" else _set_last_status(items, status)


def last_item_status(finish: ir.Finish | None, parts: list[ir.Part]) -> str:
    """Return the status of the last item and of calls with incomplete arguments, which depends on the finish reason."""
    is_incomplete = finish is not None and finish.reason in _LEAVE_INCOMPLETE and not _is_explicit_refusal(finish, parts)
    return "incomplete" if is_incomplete else "completed"


def _set_last_status(items: list[JsonObject], status: str) -> list[JsonObject]:
    """Return the items with a status for the last one and for calls with incomplete arguments.

    Parallel calls can be incomplete before the last one, and a caller may run each call whose status is ``completed``.
    """
    last = len(items) - 1
    return [
        item | {"status": status}
        if (index == last and item.get("type") in ("message", "function_call", "tool_search_call")) or _is_incomplete_call(item)
        else item
        for index, item in enumerate(items)
    ]


def _is_incomplete_call(item: JsonObject) -> bool:
    arguments = item.get("arguments")
    # ``encode_arguments_object`` writes incomplete JSON as ``raw_arguments``, because this item has an object.
    if item.get("type") == "tool_search_call":
        return isinstance(arguments, dict) and arguments.keys() == {"raw_arguments"}
    return item.get("type") == "function_call" and isinstance(arguments, str) and not is_whole(arguments)


def _drop_tokens(tokens: list[ir.TokenLogprob], losses: Ledger) -> None:
    """Note tokens that belong to no text of the target."""
    for token in tokens:
        losses.dropped(token)
