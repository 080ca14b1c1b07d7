"""The visible text in the typed events of a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from formatbridge import ir


def _chat_text(event: Any) -> str:
    choices = [choice for choice in getattr(event, "choices", None) or () if not choice.index]
    return "".join(choice.delta.content for choice in choices if choice.delta and isinstance(choice.delta.content, str))


def _messages_text(event: Any) -> str:
    kind = getattr(event, "type", None)
    if kind == "content_block_start" and getattr(event.content_block, "type", None) == "text":
        return event.content_block.text or ""
    is_text = kind == "content_block_delta" and getattr(event.delta, "type", None) == "text_delta"
    return event.delta.text or "" if is_text else ""


def _responses_text(event: Any) -> str:
    return event.delta or "" if getattr(event, "type", None) == "response.output_text.delta" else ""


def _generate_text(event: Any) -> str:
    candidates = [candidate for candidate in getattr(event, "candidates", None) or () if not candidate.index]
    parts = [part for candidate in candidates if candidate.content for part in candidate.content.parts or ()]
    return "".join(part.text for part in parts if part.text and not part.thought)


_TEXTS: Mapping[ir.Format, Callable[[Any], str]] = {
    "chat_completions": _chat_text,
    "messages": _messages_text,
    "responses": _responses_text,
    "generate_content": _generate_text,
}


def text_of(event: BaseModel, format: ir.Format) -> str:
    """Return the visible text that an event brings to the first answer; reasoning is none."""
    return _TEXTS[format](event)
