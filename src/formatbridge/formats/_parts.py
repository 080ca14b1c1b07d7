"""What encoders of all formats do with parts that have no home in the target."""

from __future__ import annotations

from dataclasses import replace

from formatbridge import ir
from formatbridge.formats._media import bare_mime, guess_mime, sniff_mime
from formatbridge.losses import Ledger


def encode_opaque(part: ir.Opaque | ir.Hosted, losses: Ledger) -> ir.Text | None:
    """Put a foreign part in words where it has any, else note that it is gone."""
    if isinstance(part, ir.Opaque) and part.text is not None:
        losses.changed(part, "", part.text, "flattened")
        if part.text:
            return ir.Text(part.text, part.src, cache=part.cache)
        if part.cache:
            losses.dropped(part.cache, code="empty", severity="info")
        return None
    if isinstance(part, ir.Hosted):
        losses.dropped(part, code="server_history")
    else:
        losses.dropped(part, severity=part.severity)
    return None


def is_plain(part: ir.Text) -> bool:
    """Say whether a text is nothing but its text, so that nothing can be lost with it."""
    return not (part.extra or part.cache or part.citations or part.signature or part.id is not None)


def join_texts(first: ir.Part, second: ir.Part) -> ir.Text | None:
    """Return two parts as one text; None where one of them is more than text."""
    if type(first) is ir.Text and type(second) is ir.Text and is_plain(first) and is_plain(second):
        return ir.Text(first.text + second.text, second.src if first.text.isspace() else first.src)
    return None


def drop_id(part: ir.Text | ir.Refusal | ir.Media | ir.Reasoning, losses: Ledger) -> None:
    """Note that the id of the item around a part stays behind, for formats that have no items."""
    if part.id is not None:
        losses.dropped(part, "id", "diagnostic", severity="info")


def encode_mime(part: ir.Media, losses: Ledger) -> str | None:
    """Write the type of media without its parameters, of which no format but one says that it reads them."""
    if part.mime is None or ";" not in part.mime:
        return part.mime
    return str(losses.changed(part, "mime", bare_mime(part.mime), severity="info"))


def known_mime(part: ir.Media) -> str | None:
    """Tell the type of media: as the source says it, else from the ending of their address or the beginning of their data."""
    if part.mime:
        return bare_mime(part.mime)
    return guess_mime(part.url) if part.url is not None else sniff_mime(part.data or "")


def at_home(part: ir.Media) -> ir.Media:
    """Return media whose address is one vendor's store as a file of that vendor's: nobody else can read it."""
    if part.url is not None and part.url.startswith("gs://"):
        part.file_id, part.url, part.home = part.url, None, "generate_content"
    return part


def leading_instructions(messages: list[ir.Message]) -> int:
    """Count the messages of the system prompt: the run of instructions before the first turn."""
    for count, message in enumerate(messages):
        if message.role not in ("system", "developer") or message.tools or message.effort:
            return count
    return len(messages)


def is_blank(message: ir.Message) -> bool:
    """Say whether a turn has nothing in it but empty texts, if that."""
    return not any(type(part) is not ir.Text or part.text for part in message.parts)


def note_empty(message: ir.Message, losses: Ledger) -> None:
    """Note that a turn that says nothing is left out; where another's parts were, each was noted."""
    if is_blank(message):
        losses.changed(message, "", "", "empty", severity="info")


def note_prefill(request: ir.Request, losses: Ledger) -> None:
    """Note that a last turn of the model's, which the format messages continues word by word, is only the turn before elsewhere."""
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "assistant" or not last.parts:
        return
    if not any(isinstance(part, ir.ToolCall | ir.Hosted) for part in last.parts):
        losses.changed(last, "", "".join(part.text for part in last.parts if isinstance(part, ir.Text)), "prefill")


def note_no_turns(request: ir.Request, losses: Ledger) -> None:
    """Note that there is nothing for the model to answer; a turn is never made up."""
    if request.messages:
        losses.changed(request.messages[-1], "", [], "no_turns", severity="impossible")
    else:
        losses.changed(request, "messages", [], "no_turns", severity="impossible")


def with_instructions_first(messages: list[ir.Message], losses: Ledger) -> list[ir.Message]:
    """Return a conversation whose later instructions join the leading ones; what they configure stays where it is."""
    leading = leading_instructions(messages)
    first, others = messages[:leading], []
    for message in messages[leading:]:
        if message.role not in ("system", "developer") or not message.parts:
            others.append(message)
            continue
        if not is_blank(message):
            losses.changed(message, "", "system", "moved")
        first.append(replace(message, tools=None, effort=None))
        if message.tools or message.effort:
            others.append(replace(message, parts=[], extra=None))
    return first + others


def drop_citations(part: ir.Text, losses: Ledger) -> None:
    """Note that the citations of a text stay behind; in a request the model hardly sees them."""
    if part.citations:
        losses.dropped(part, "citations", severity="info")
