"""How servers read requests of Generate Content."""

from __future__ import annotations

from collections.abc import Mapping

from formatbridge.dialect import DialectRules
from formatbridge.formats.dialects.common import sources_of_fields
from formatbridge.formats.shared.parts import GOOGLE_IMAGES

_SDK = "github.com/googleapis/python-genai google/genai/models.py"
"""The official SDK, which raises an error for fields that only the other server has."""
_CATEGORIES = frozenset(
    f"HARM_CATEGORY_{name}" for name in ("CIVIC_INTEGRITY", "DANGEROUS_CONTENT", "HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT")
)
"""The categories of safety settings that the Gemini API accepts."""
_SHARED_TOOLS = frozenset({"code", "computerUse", "googleMaps", "web_fetch", "web_search"})
"""Tools that both servers run: families, and fields of tools without a family."""

GENERATE_CONTENT: Mapping[str, DialectRules] = {
    "gemini": DialectRules(
        server="Gemini API",
        rejects=frozenset({"labels", "modelArmorConfig", "outputConfig"}),
        rejects_nested=frozenset(
            {
                "contents/*/parts/*/functionCall/partialArgs",
                "contents/*/parts/*/functionCall/willContinue",
                "generationConfig/audioTimestamp",
                "generationConfig/imageConfig/imageOutputOptions",
                "generationConfig/imageConfig/personGeneration",
                "generationConfig/imageConfig/prominentPeople",
                "generationConfig/modelConfig",
                "generationConfig/routingConfig",
                "safetySettings/*/method",
                "tools/*/enterpriseWebSearch",
                "tools/*/googleMaps/authConfig/apiKeyConfig",
                "tools/*/googleMaps/authConfig/authType",
                "tools/*/googleMaps/authConfig/googleServiceAccountConfig",
                "tools/*/googleMaps/authConfig/httpBasicAuthConfig",
                "tools/*/googleMaps/authConfig/oauthConfig",
                "tools/*/googleMaps/authConfig/oidcConfig",
                "tools/*/googleMaps/groundingTypes",
                "tools/*/googleSearch/blockingConfidence",
                "tools/*/googleSearch/excludeDomains",
                "toolConfig/functionCallingConfig/streamFunctionCallArguments",
            }
        ),
        server_tools=_SHARED_TOOLS | {"fileSearch", "mcp"},
        image_types=GOOGLE_IMAGES,
        safety_categories=_CATEGORIES,
        sources=sources_of_fields(
            {
                "NEKOparapa/AiNiee#746, 567-labs/instructor#2147, SillyTavern/SillyTavern#2728": "safety_categories",
                "Portkey-AI/gateway#984": "rejects.labels",
                "ai.google.dev/gemini-api/docs/image-understanding, Supported formats; microsoft/vscode#286628": "image_types",
                f"{_SDK}, functions with the ending _to_mldev": "rejects rejects_nested server_tools",
            }
        ),
    ),
    "vertex": DialectRules(
        server="Vertex AI",
        accepts_labels=True,
        accepts_call_ids=False,
        accepts_whole_count_requests=False,
        rejects=frozenset({"serviceTier", "store"}),
        rejects_nested=frozenset(
            {
                "contents/*/parts/*/functionResponse/parts/*/mediaProcessing",
                "contents/*/parts/*/functionResponse/willContinue",
                "contents/*/parts/*/partMetadata",
                "generationConfig/enableEnhancedCivicAnswers",
                *(
                    f"generationConfig/speechConfig/{voice}/replicatedVoiceConfig/{consent}"
                    for voice in ("voiceConfig", "multiSpeakerVoiceConfig/speakerVoiceConfigs/*/voiceConfig")
                    for consent in ("consentAudio", "voiceConsentSignature")
                ),
                "systemInstruction/parts/*/partMetadata",
                "tools/*/mcpServers",
                "toolConfig/includeServerSideToolInvocations",
            }
        ),
        rejects_blocks=frozenset({"toolCall", "toolResponse"}),
        server_tools=_SHARED_TOOLS | {"exaAiSearch", "parallelAiSearch", "retrieval"},
        image_types=GOOGLE_IMAGES,
        sources=sources_of_fields(
            {
                "cloud.google.com/vertex-ai/generative-ai/docs/multimodal/add-labels-to-api-calls, Portkey-AI/gateway#984": (
                    " accepts_labels"
                ),
                "vercel/ai#15664, pydantic/pydantic-ai#5081": "accepts_call_ids",
                "cloud.google.com/vertex-ai/generative-ai/docs/multimodal/image-understanding": "image_types",
                f"{_SDK}, functions with the ending _to_vertex": (
                    "rejects rejects_nested rejects_blocks server_tools accepts_whole_count_requests"
                ),
                # The header ``X-Vertex-AI-LLM-Shared-Request-Type`` has the tier.
                "googleapis/python-genai#2847, googleapis/python-genai#2433": "rejects.serviceTier",
                "vercel/ai#14655, pydantic/pydantic-ai#6771": "rejects_nested.toolConfig/includeServerSideToolInvocations",
            }
        ),
    ),
}
"""Name of a dialect to its rules."""
