"""Lines of OpenAI's batch files for Responses.

Both formats of OpenAI share the layout, so this file has no functions. Source: OpenAI, "Batch API", guide.
"""

from __future__ import annotations

from formatbridge.formats.shared.batch_lines import openai_layout

BATCH = openai_layout("/v1/responses")
"""The layout of the lines."""
