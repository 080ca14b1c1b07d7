"""What clouds reject: Amazon Bedrock, Vertex AI and the Gemini API."""

from __future__ import annotations

import re

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules import server_checks as checks
from formatbridge.testing.vendor_rules.rule import Facts, Rule

_AVAILABILITY = "platform.claude.com/docs/en/build-with-claude/overview"
_ANTHROPICS_FIELDS = ("container", "fallbacks", "inference_geo", "mcp_servers")


def _has_remote_source(block: JsonObject) -> bool:
    """Return whether a block has the URL of its data."""
    source = block.get("source")
    return isinstance(source, dict) and source.get("type") == "url"


def _refused_tools(source: str, *prefixes: str) -> Rule:
    """Return a rule for servers that lack some tools of Anthropic. ``prefixes``: the beginnings of their types."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, tool in enumerate(body.get("tools") or ()):
            if str(tool.get("type") or "").startswith(prefixes):
                reason = f"Input tag '{tool['type']}' does not match any of the expected tags"
                return checks.anthropic_error(f"tools.{index}", reason)
        return None

    return Rule("tool_type", f"a tool whose type starts with {', '.join(prefixes)}", source, check)


def _refused_fields(source: str, *fields: str) -> Rule:
    """Return a rule for servers that lack some fields of a request to Anthropic."""
    return checks.no_fields(source, *fields, words=checks.anthropic_error, message="Extra inputs are not permitted")


_NO_URLS = "a URL of an image or a document", "URL sources are not supported", _has_remote_source
_NO_UPLOADS = (
    "a file for a container",
    "Input tag 'container_upload' does not match any of the expected tags",
    checks.of_types("container_upload"),
)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _check_vertex_combination_flag(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the flag for the combination of functions with tools that the server runs."""
    config = body.get("toolConfig", body.get("tool_config")) or {}
    for name in ("includeServerSideToolInvocations", "include_server_side_tool_invocations"):
        if name in config:
            return checks.google_error(
                "", f"Invalid JSON payload received. Unknown name \"{name}\" at 'tool_config': Cannot find field."
            )
    return None


def _check_vertex_call_ids(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first id of a call or of a result."""
    contents = body.get("contents")
    for index, content in enumerate(contents if isinstance(contents, list) else [contents]):
        if not isinstance(content, dict):  # text alone
            continue
        parts = content.get("parts")
        for number, part in enumerate(filter(_is_object, parts if isinstance(parts, list) else [parts])):
            for key, name in (("functionCall", "function_call"), ("functionResponse", "function_response")):
                if "id" in (part.get(key) or part.get(name) or {}):
                    place = f"contents[{index}].parts[{number}].{name}"
                    return checks.google_error(
                        "", f"Invalid JSON payload received. Unknown name \"id\" at '{place}': Cannot find field."
                    )
    return None


def _check_vertex_labels(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first label with other characters than lower-case letters, digits, hyphens and underscores, or with too many."""
    for key, value in (body.get("labels") or {}).items():
        is_allowed = key[:1].isalpha() and all(re.fullmatch(r"[\w-]{0,63}", text) and text == text.lower() for text in (key, value))
        if not is_allowed:
            return checks.google_error("", f"Invalid label: {key}")
    return None


def _check_vertex_tier(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the words of the Gemini API for a tier. The server reads a tier from a header only, and ignores other words."""
    tier = body.get("serviceTier", body.get("service_tier"))
    if tier is None or str(tier).startswith("SERVICE_TIER_"):
        return None
    kind = "type.googleapis.com/google.cloud.aiplatform.v1beta1.ServiceTier"
    return checks.google_error("", f"Invalid value at 'service_tier' ({kind}), \"{tier}\"")


_GEMINI_CATEGORIES = (
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_CIVIC_INTEGRITY",
)
"""The categories that the Gemini API accepts, in the order of its message (SillyTavern/SillyTavern#2728)."""


def _check_gemini_categories(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first safety setting whose category is one of Vertex AI or of older models. Numbers stand for the same words."""
    accepted = [f"HarmCategory.{name}" for name in _GEMINI_CATEGORIES]
    for index, setting in enumerate(body.get("safetySettings", body.get("safety_settings")) or ()):
        category = setting.get("category") if isinstance(setting, dict) else None
        if isinstance(category, str) and f"HarmCategory.{category}" not in accepted:
            place = f"* GenerateContentRequest.safety_settings[{index}]"
            return checks.google_error("", f"{place}: element predicate failed: $.category in ({', '.join(accepted)})")
    return None


BEDROCK = (
    checks.no_system_turns("BerriAI/litellm#33807", "role 'system' is not supported on this model"),
    _refused_fields(f"{_AVAILABILITY}, anthropics/claude-cookbooks#311", *_ANTHROPICS_FIELDS),
    _refused_fields("UKGovernmentBEIS/inspect_ai#3851", "cache_control"),
    _refused_fields("platform.claude.com/docs/en/build-with-claude/fast-mode, Availability", "speed"),
    _refused_tools(
        f"{_AVAILABILITY}, clauder-navi.com/articles/bedrock-claude-web",
        "web_search",
        "web_fetch",
        "code_execution",
        "mcp_toolset",
        "advisor",
        "tool_search_tool_bm25",
    ),
    checks.block_rule("anomalyco/opencode#46430", *_NO_URLS),
    checks.block_rule(_AVAILABILITY, *_NO_UPLOADS),
)
"""The rules of Amazon Bedrock for messages."""

VERTEX = (
    checks.no_system_turns("BerriAI/litellm#32831", "role 'system' is not supported on this model"),
    _refused_fields(f"{_AVAILABILITY}, anthropics/claude-cookbooks#311", *_ANTHROPICS_FIELDS),
    _refused_tools(f"{_AVAILABILITY}, coder/xum#2922", "web_fetch", "code_execution", "mcp_toolset", "advisor", "web_search_2026"),
    checks.block_rule("anthropics/anthropic-sdk-typescript#1038", *_NO_URLS),
    checks.block_rule("anthropics/claude-cookbooks#311", *_NO_UPLOADS),
)
"""The rules of Vertex AI for messages."""

VERTEX_GEMINI = (
    Rule(
        "service_tier",
        "a `serviceTier` with a word of the Gemini API",
        "googleapis/python-genai#2847, googleapis/python-genai#2433",
        _check_vertex_tier,
    ),
    Rule("call_id", "an `id` of a call or of a result", "vercel/ai#15664, pydantic/pydantic-ai#5081", _check_vertex_call_ids),
    Rule(
        "label",
        "a label that does not meet the requirements for labels",
        "cloud.google.com/vertex-ai/generative-ai/docs/multimodal/add-labels-to-api-calls",
        _check_vertex_labels,
    ),
    Rule("tool_combination_flag", "`includeServerSideToolInvocations`", "vercel/ai#14655", _check_vertex_combination_flag),
    checks.no_nested_fields(
        "googleapis/python-genai, google/genai/models.py, _to_vertex",
        "store",
        "contents/*/parts/*/toolCall",
        "contents/*/parts/*/toolResponse",
        "contents/*/parts/*/partMetadata",
        "contents/*/parts/*/functionResponse/willContinue",
        "contents/*/parts/*/functionResponse/parts/*/mediaProcessing",
        "systemInstruction/parts/*/partMetadata",
        *(
            f"generationConfig/speechConfig/{voice}/replicatedVoiceConfig/{consent}"
            for voice in ("voiceConfig", "multiSpeakerVoiceConfig/speakerVoiceConfigs/*/voiceConfig")
            for consent in ("consentAudio", "voiceConsentSignature")
        ),
        "tools/*/fileSearch",
        "tools/*/mcpServers",
        "generationConfig/enableEnhancedCivicAnswers",
    ),
)
"""The rules of Vertex AI for generate_content."""

GEMINI = (
    Rule(
        "safety_category",
        "a safety setting for images, or of another category that only Vertex AI has",
        "SillyTavern/SillyTavern#2728, NEKOparapa/AiNiee#746",
        _check_gemini_categories,
    ),
    checks.no_nested_fields("Portkey-AI/gateway#984", "labels"),
    checks.no_nested_fields(
        "googleapis/python-genai, google/genai/models.py, _to_mldev",
        "modelArmorConfig",
        "outputConfig",
        "contents/*/parts/*/functionCall/partialArgs",
        "contents/*/parts/*/functionCall/willContinue",
        "safetySettings/*/method",
        "tools/*/retrieval",
        "tools/*/enterpriseWebSearch",
        "tools/*/parallelAiSearch",
        "tools/*/exaAiSearch",
        "tools/*/googleSearch/excludeDomains",
        "tools/*/googleSearch/blockingConfidence",
        "tools/*/googleMaps/groundingTypes",
        "tools/*/googleMaps/authConfig/apiKeyConfig",
        "tools/*/googleMaps/authConfig/authType",
        "tools/*/googleMaps/authConfig/googleServiceAccountConfig",
        "tools/*/googleMaps/authConfig/httpBasicAuthConfig",
        "tools/*/googleMaps/authConfig/oauthConfig",
        "tools/*/googleMaps/authConfig/oidcConfig",
        "generationConfig/audioTimestamp",
        "generationConfig/routingConfig",
        "generationConfig/modelConfig",
        "generationConfig/imageConfig/personGeneration",
        "generationConfig/imageConfig/prominentPeople",
        "generationConfig/imageConfig/imageOutputOptions",
        "toolConfig/functionCallingConfig/streamFunctionCallArguments",
    ),
)
"""The rules of the Gemini API for generate_content."""
