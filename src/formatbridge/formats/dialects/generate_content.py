"""How servers read requests of Generate Content."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules

GENERATE_CONTENT: Mapping[str, DialectRules] = {
    "gemini": DialectRules(server="Gemini API", rejects=frozenset({"labels"}), sources={"rejects": "Portkey-AI/gateway#984"}),
    "vertex": DialectRules(
        server="Vertex AI",
        labels=True,
        call_ids=False,
        tool_combination_flag=False,
        sources={
            "labels": "cloud.google.com/vertex-ai/generative-ai/docs/multimodal/add-labels-to-api-calls, Portkey-AI/gateway#984",
            "call_ids": "vercel/ai#15664, pydantic/pydantic-ai#5081",
            "tool_combination_flag": "vercel/ai#14655, pydantic/pydantic-ai#6771",
        },
    ),
}
"""Name of a dialect to its rules."""
