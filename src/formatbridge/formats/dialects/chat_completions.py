"""How servers read requests of Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules

CHAT_COMPLETIONS: Mapping[str, DialectRules] = {
    "openrouter": DialectRules(
        server="OpenRouter",
        reads=frozenset({"top_k"}),
        cache_marks="cache_control",
        reasoning_control="reasoning",
        sources={
            "reads": "openrouter.ai/docs/api-reference/parameters, Top K",
            "cache_marks": "openrouter.ai/docs/client-sdks/typescript/models/anthropiccachecontroldirective",
            "reasoning_control": "openrouter.ai/docs/use-cases/reasoning-tokens, Controlling Reasoning Tokens",
        },
    ),
}
"""Name of a dialect to its rules."""
