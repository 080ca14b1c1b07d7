"""The built-in dialects: ``fb.dialects.openrouter`` and others. Each has the rules of a server for every format that it reads.

The rules are tables without code, one module for each format. Chat Completions has three: for the servers of vendors, for gateways to
several vendors, and for the servers that users run themselves. Every difference has a public source.
"""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import Dialect, DialectRules
from formatbridge.formats.dialects.chat_completions import VENDORS
from formatbridge.formats.dialects.chat_completions_gateways import GATEWAYS
from formatbridge.formats.dialects.chat_completions_self_hosted import SELF_HOSTED
from formatbridge.formats.dialects.generate_content import GENERATE_CONTENT
from formatbridge.formats.dialects.messages import MESSAGES
from formatbridge.formats.dialects.responses import RESPONSES

_TABLES: Mapping[str, Mapping[str, DialectRules]] = {
    "chat_completions": {**VENDORS, **GATEWAYS, **SELF_HOSTED},
    "messages": MESSAGES,
    "responses": RESPONSES,
    "generate_content": GENERATE_CONTENT,
}


def _dialect(name: str) -> Dialect:
    return Dialect(name, {format: table[name] for format, table in _TABLES.items() if name in table})


anthropic = _dialect("anthropic")
azure = _dialect("azure")
bedrock = _dialect("bedrock")
cerebras = _dialect("cerebras")
deepseek = _dialect("deepseek")
fireworks = _dialect("fireworks")
gemini = _dialect("gemini")
groq = _dialect("groq")
huggingface = _dialect("huggingface")
litellm = _dialect("litellm")
llamacpp = _dialect("llamacpp")
lmstudio = _dialect("lmstudio")
minimax = _dialect("minimax")
mistral = _dialect("mistral")
moonshot = _dialect("moonshot")
ollama = _dialect("ollama")
openai = _dialect("openai")
openrouter = _dialect("openrouter")
perplexity = _dialect("perplexity")
qwen = _dialect("qwen")
sglang = _dialect("sglang")
together = _dialect("together")
vercel_gateway = _dialect("vercel_gateway")
vertex = _dialect("vertex")
vllm = _dialect("vllm")
xai = _dialect("xai")
zhipu = _dialect("zhipu")

DIALECTS: Mapping[str, Dialect] = {value.name: value for value in list(globals().values()) if isinstance(value, Dialect)}
"""The built-in dialects by name."""
