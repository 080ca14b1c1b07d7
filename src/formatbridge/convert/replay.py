"""Replay: the conversion of a whole answer into the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from formatbridge import formats, ir
from formatbridge.convert.bodies import Converted, ConvertedRequest, checked_request, encode_response_for, refuse_losses
from formatbridge.convert.input import Body, note_malformed, read_answer, source_of
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.reasoning_tokens import check_response_tokens
from formatbridge.formats.shared.tool_call_ids import with_unique_call_ids
from formatbridge.formats.shared.tools import restore_tool_names
from formatbridge.formats.target import FormatOrName
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options, options_of
from formatbridge.report.ledger import Ledger, null_ledger
from formatbridge.streaming.replay import events_of_response
from formatbridge.streaming.sse import escape_separators


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole answer as a stream. ``whole``: the converted answer with its report; ``error``: the error that ends the stream."""

    pieces: Iterator[bytes]
    whole: Converted
    error: ir.Error | None


def replay_response(
    body: Body,
    *,
    source: FormatOrName | None = None,
    target: FormatOrName | None = None,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Iterator[bytes]:
    """Turn a whole answer into a stream of the target format, one event per part of it.

    ``request`` is the converted request that it answers: tool names are restored as in ``convert_response``.
    The report equals that of ``convert_response`` for the same body, except for a failed answer. Its stream has the content before the
    error, and then the error. No event has malformed fields of the answer, not even in the source format.
    ``Options(raise_on=...)`` raises here.
    """
    return replay_with_report(body, source=source, target=target, request=request, options=options).pieces


def replay_with_report(
    body: Body,
    *,
    source: FormatOrName | None,
    target: FormatOrName | None,
    request: ConvertedRequest | None = None,
    options: Options | None,
) -> Replay:
    """Replay an answer as ``replay_response`` does, and return its conversion too."""
    source_format = formats.load(source_of(body, "response") if source is None else source)
    target_format = formats.load(target) if target is not None else source_format
    chosen, request = options_of(options), checked_request(request, source_format, target_format)
    context = request.context if request else None
    losses, checked, repaired = read_answer(body, source_format, "response")
    note_malformed(losses, repaired)
    if source_format is target_format:
        refuse_losses(losses, chosen)
        raw = losses.body if repaired is None else repaired.body
        unchanged = Converted(raw, losses, source_format, source_format, "response")
        return Replay(_unfolded(source_format, raw), unchanged, source_format.failure_of(raw))
    answer = source_format.decode_response(checked)
    if chosen.token_key is not None:
        answer = check_response_tokens(answer, chosen.token_key, losses)
    # The report is that of the whole answer, which is encoded first. The events are of the same answer and note no losses.
    delivered = without_error(answer, target_format, losses)
    whole = encode_response_for(delivered, source_format, target_format, losses, chosen, context)
    if delivered is not answer:
        whole.body = target_format.mark_unfinished(whole.body)
        losses.withdraw(whole.body)
    encoder = target_format.stream_encoder(chosen, context)
    restored = restore_tool_names(answer, context, null_ledger()) if context else answer
    events = events_of_response(with_unique_call_ids(restored, target_format.name, null_ledger()))
    return Replay((escape_separators(out) for event in events if (out := encoder.feed(event))), whole, answer.error)


def without_error(answer: ir.Response, target_format: FormatSpec, losses: Ledger) -> ir.Response:
    """Return an answer without its error if the target has no failed answers; note the losses of the error.

    In a stream the error comes after the content, which stays valid.
    """
    if not answer.error or target_format.holds_failures:
        return answer
    target_format.encode_error(replace(answer.error, status=None), losses)  # the HTTP status of the answer is a success
    return replace(answer, error=None)


def _unfolded(format: FormatSpec, body: JsonObject) -> Iterator[bytes]:
    """Yield a whole body as the events of its format."""
    for raw in format.unfold_stream(body):
        yield format.frame_event(codec.dumps(raw), raw.get("type"))
    if format.end_of_stream:
        yield format.end_of_stream
