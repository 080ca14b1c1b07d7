"""The wire models of the built-in formats, for type checkers only: nothing imports this module at run time."""

from __future__ import annotations

from formatbridge.formats.chat_completions import wire as chat_completions
from formatbridge.formats.generate_content import wire as generate_content
from formatbridge.formats.messages import wire as messages
from formatbridge.formats.responses import wire as responses

__all__ = ["chat_completions", "generate_content", "messages", "responses"]
