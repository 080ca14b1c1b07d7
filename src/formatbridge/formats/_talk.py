"""The simplest conversation, which most requests of people are: plain texts, and nothing that any format could lose."""

from __future__ import annotations

from formatbridge import ir

Talk = tuple[str | None, list[tuple[ir.Role, str]]]
"""The system prompt, and who says what: user and model take turns, and the user has the last word."""


def talk_of(request: ir.Request) -> Talk | None:
    """Return a request's conversation if it is such a one and there are no tools; None for any other.

    Nothing in it has to be renamed, moved, merged or reported, so that encoders write it as it is.
    """
    if request.tools or request.tool_choice:
        return None
    system: str | None = None
    turns: list[tuple[ir.Role, str]] = []
    last: ir.Role | None = None
    try:
        for message in request.messages:
            (part,) = message.parts
            if type(part) is not ir.Text or part.extra or part.cache or part.citations or part.signature or part.logprobs:
                return None
            text, role = part.text, message.role
            if not text or text.isspace() or part.id is not None or role == last or message.extra:
                return None
            if role in ("user", "assistant"):
                turns.append((role, text))
            elif role == "system" and last is None and not message.tools and not message.effort:
                system = text
            else:
                return None
            last = role
    except ValueError:  # more parts than one, or none
        return None
    return (system, turns) if last == "user" else None
