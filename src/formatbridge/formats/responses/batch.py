"""Lines of OpenAI's batch files for Responses."""

from __future__ import annotations

from formatbridge.formats.shared.batch_lines import openai_layout

BATCH = openai_layout("/v1/responses")
"""The layout of the lines."""
