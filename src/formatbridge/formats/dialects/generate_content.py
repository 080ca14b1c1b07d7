"""How servers read requests of Generate Content."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules
from formatbridge.formats.dialects.sources import sources_of_fields

GENERATE_CONTENT: Mapping[str, DialectRules] = {
    "gemini": DialectRules(server="Gemini API", rejects=frozenset({"labels"}), sources={"rejects": "Portkey-AI/gateway#984"}),
    "vertex": DialectRules(
        server="Vertex AI",
        labels=True,
        call_ids=False,
        tool_combination_flag=False,
        sources=sources_of_fields(
            {
                "cloud.google.com/vertex-ai/generative-ai/docs/multimodal/add-labels-to-api-calls, Portkey-AI/gateway#984": "labels",
                "vercel/ai#15664, pydantic/pydantic-ai#5081": "call_ids",
                "vercel/ai#14655, pydantic/pydantic-ai#6771": "tool_combination_flag",
            }
        ),
    ),
}
"""Name of a dialect to its rules."""
