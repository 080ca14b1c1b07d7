"""Lines of OpenAI's batch files for Chat Completions."""

from __future__ import annotations

from formatbridge.formats.shared.batch_lines import openai_layout

BATCH = openai_layout("/v1/chat/completions")
"""The layout of the lines."""
