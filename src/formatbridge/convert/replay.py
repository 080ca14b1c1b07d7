"""Replay: a whole answer as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from formatbridge import formats, ir
from formatbridge.convert.bodies import Converted, ConvertedRequest, checked_request, encode_response_for, refuse_losses
from formatbridge.convert.input import note_malformed, read_answer, source_of
from formatbridge.formats.format import Format
from formatbridge.formats.shared.token_authentication import check_response_tokens
from formatbridge.formats.shared.tool_call_ids import with_unique_call_ids
from formatbridge.formats.shared.tool_restoration import restore_tool_names
from formatbridge.jsontext import codec
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options, options_of
from formatbridge.report.ledger import Ledger, null_ledger
from formatbridge.streaming.replay import replay
from formatbridge.streaming.sse import escape_separators


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole answer as a stream. ``whole``: the converted answer with its report; ``error``: of a stream that ends in one."""

    pieces: Iterator[bytes]
    whole: Converted
    error: ir.Error | None


def replay_response(
    body: Any,
    *,
    source: ir.Format | str | None = None,
    target: ir.Format | str | None = None,
    request: ConvertedRequest | None = None,
    options: Options | None = None,
) -> Iterator[bytes]:
    """Turn a whole answer into a stream of the target format, one event per part of it.

    ``request`` is the converted request that it answers: tool names are restored as in ``convert_response``.
    The report is that of ``convert_response`` for the same body, except for a failed answer: its stream has what came before the error,
    and then the error. Malformed details of the answer are in no event, not even in its own format.
    ``Options(raise_on=...)`` raises here.
    """
    return replayed(body, source=source, target=target, request=request, options=options).pieces


def replayed(
    body: Any,
    *,
    source: ir.Format | str | None,
    target: ir.Format | str | None,
    request: ConvertedRequest | None = None,
    options: Options | None,
) -> Replay:
    """Replay an answer as ``replay_response`` does, and return its conversion too."""
    near = formats.load(source_of(body) if source is None else source)
    far = formats.load(target) if target is not None else near
    chosen, request = options_of(options), checked_request(request, near, far)
    context = request.context if request else None
    losses, checked, repaired = read_answer(body, near, "response")
    note_malformed(losses, repaired)
    if near is far:
        refuse_losses(losses, chosen)
        whole = losses.body if repaired is None else repaired.body
        return Replay(_write_again(near, whole), Converted(whole, losses, near.NAME, far.NAME, "response"), near.failure_of(whole))
    answer = near.decode_response(checked)
    if chosen.token_key is not None:
        answer = check_response_tokens(answer, chosen.token_key, losses)
    handed = handed_out(answer, far, losses)
    whole = encode_response_for(handed, far, losses, chosen, context)
    if handed is not answer:
        whole.body = far.unfinished(whole.body)
        losses.withdraw(whole.body)
    encoder = far.StreamEncoder(chosen, context)
    home = restore_tool_names(answer, context, null_ledger()) if context else answer
    told = replay(with_unique_call_ids(home, far.NAME, null_ledger()))
    return Replay((escape_separators(made) for event in told if (made := encoder.feed(event))), whole, answer.error)


def handed_out(answer: ir.Response, far: Format, losses: Ledger) -> ir.Response:
    """Return an answer without its error, where the target has no failed answers; note what the target cannot hold of the error.

    In a stream the error comes after the content, which stays valid.
    """
    if not answer.error or far.HOLDS_FAILURES:
        return answer
    far.encode_error(replace(answer.error, status=None), losses)  # the call itself went well
    return replace(answer, error=None)


def _write_again(format: Format, body: JsonObject) -> Iterator[bytes]:
    """Write a whole body as the stream of its own format."""
    for raw in format.unfold_stream(body):
        yield format.frame_event(codec.dumps(raw), raw.get("type"))
    if format.END_OF_STREAM:
        yield format.END_OF_STREAM
