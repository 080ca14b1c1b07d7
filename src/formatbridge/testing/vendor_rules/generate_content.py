"""What the server of generate_content rejects: the Gemini Developer API, with models of the third generation."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule

_WORDS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
PLACEHOLDERS = frozenset(_WORDS) | {base64.b64encode(word.encode()).decode().rstrip("=") for word in _WORDS}
"""Documented placeholders for tool calls of other models, as text and in base64. Source: docs, "Thought signatures", FAQ."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_MOST_STOPS = 5
_QUALIFIERS = frozenset({"thought", "thoughtSignature", "thought_signature", "partMetadata", "part_metadata"})
"""Fields of a part that are not its content. The server accepts ``videoMetadata`` in a separate part (recorded traffic)."""
_NOT_BUILT_IN = frozenset({"functionDeclarations", "function_declarations", "mcpServers", "mcp_servers"})
_NEWER_MODEL = re.compile(r"gemini-[3-9]")
_OLDER_MODEL = re.compile(r"gemini-[12](?:\.|-|$)")
_UNREAD_TYPE = re.compile(
    r"application/(?:csv|msword|vnd\.ms-(?:excel|powerpoint)|vnd\.openxmlformats-officedocument\.)|"
    r"image/(?!(?:png|jpeg|webp|heic|heif)(?:;|$))",
    re.IGNORECASE,
)
_DOCS = "https://ai.google.dev/gemini-api/docs/thought-signatures"


def google_failure(message: str) -> Failure:
    """Return an error with the vendor's error body."""
    return Failure(400, message, body={"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})


def _field(node: JsonObject, name: str, snake: str) -> Any:
    """Return a field, which proto3 JSON writes in camel case or snake case."""
    return node.get(name, node.get(snake))


def _listed(value: Any) -> list[JsonObject]:
    """Return a repeated field as a list; a single object counts as one."""
    return [value] if isinstance(value, dict) else value or []


def _parts(content: JsonObject) -> list[JsonObject]:
    return _listed(content.get("parts"))


def _current_turn(contents: list[JsonObject]) -> int:
    """Return the index at which the current turn begins: after the last user content that is not a tool result."""
    for index in range(len(contents) - 1, -1, -1):
        parts = _parts(contents[index])
        if contents[index].get("role") != "model" and any(
            not _field(part, "functionResponse", "function_response") for part in parts
        ):
            return index + 1
    return 0


def _first_calls(contents: list[JsonObject], start: int) -> Iterator[tuple[int, JsonObject]]:
    """Yield the first call of each turn of the model, with the index of its content. Adjacent contents of the model are one turn."""
    is_open = False
    for index in range(start, len(contents)):
        if contents[index].get("role") != "model":
            is_open = False
            continue
        for part in _parts(contents[index]):
            if not is_open and _field(part, "functionCall", "function_call"):
                is_open = True
                yield index, part


def _check_calls(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject the first call of the current turn if it lacks its signature."""
    if not facts.can_reason or _OLDER_MODEL.search(facts.model):
        return None
    contents = _listed(body.get("contents"))
    for index, part in _first_calls(contents, _current_turn(contents)):
        if not _field(part, "thoughtSignature", "thought_signature"):
            name = _field(part, "functionCall", "function_call").get("name")
            return google_failure(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly,"
                " and missing thought_signature may lead to degraded model performance. Additional data, function call"
                f" `default_api:{name}` , position {index + 1}. Please refer to {_DOCS} for more details."
            )
    return None


def _check_tokens(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject a signature that this server did not issue and that is not a documented placeholder."""
    for content in _listed(body.get("contents")):
        for part in _parts(content):
            token = _field(part, "thoughtSignature", "thought_signature")
            is_placeholder = isinstance(token, str) and token.rstrip("=") in PLACEHOLDERS
            if token and not is_placeholder and not facts.accepts_token("generate_content", token):
                return google_failure("Corrupted thought signature.")
    return None


def _check_media(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject media of a type that the server does not read."""
    for content in _listed(body.get("contents")):
        for part in _parts(content):
            result = _field(part, "functionResponse", "function_response") or {}
            for each in (part, *_listed(result.get("parts"))):
                media = _field(each, "inlineData", "inline_data") or _field(each, "fileData", "file_data") or {}
                mime = _field(media, "mimeType", "mime_type")
                if isinstance(mime, str) and _UNREAD_TYPE.match(mime):
                    return google_failure(f"Unsupported MIME type: {mime}")
    return None


def _check_labels(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject ``labels``, which only Vertex AI has."""
    if "labels" not in body:
        return None
    return google_failure('Invalid JSON payload received. Unknown name "labels": Cannot find field.')


def _check_combined_tools(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject functions together with tools that the server runs, unless the request has the flag for that."""
    if _OLDER_MODEL.search(facts.model):
        return None
    fields = {key for tool in _listed(body.get("tools")) for key, value in tool.items() if value is not None}
    has_functions = not fields.isdisjoint({"functionDeclarations", "function_declarations"})
    if not has_functions or fields <= _NOT_BUILT_IN:
        return None
    config = _field(body, "toolConfig", "tool_config") or {}
    if _field(config, "includeServerSideToolInvocations", "include_server_side_tool_invocations"):
        return None
    return google_failure(
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling."
    )


def _check_contents(body: JsonObject, _facts: Facts) -> Failure | None:
    if body.get("contents"):
        return None
    return google_failure("* GenerateContentRequest.contents: contents is not specified")


def _check_parts(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first content without parts, and the first part without content."""
    for index, content in enumerate(_listed(body.get("contents"))):
        parts = _parts(content)
        if not parts:
            return google_failure(f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.")
        for at, part in enumerate(parts):
            if part.keys() <= _QUALIFIERS:
                reason = "required oneof field 'data' must have one initialized field"
                return google_failure(f"* GenerateContentRequest.contents[{index}].parts[{at}].data: {reason}")
    return None


def _turns(body: JsonObject) -> list[tuple[str, list[JsonObject]]]:
    """Return the turns with their roles. Adjacent contents of the model are one turn."""
    turns: list[tuple[str, list[JsonObject]]] = []
    for content in _listed(body.get("contents")):
        role = "model" if content.get("role") == "model" else "user"
        if role == "model" and turns and turns[-1][0] == "model":
            turns[-1][1].extend(_parts(content))
        else:
            turns.append((role, list(_parts(content))))
    return turns


def _count(parts: list[JsonObject], name: str, snake: str) -> int:
    return sum(1 for part in parts if _field(part, name, snake))


def _check_call_turns(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject calls in the first turn, and calls with more or fewer results in the next turn."""
    turns = _turns(body)
    for index, (role, parts) in enumerate(turns):
        calls = _count(parts, "functionCall", "function_call") if role == "model" else 0
        if calls and index == 0:
            return google_failure(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        if calls and index + 1 < len(turns):
            results = _count(turns[index + 1][1], "functionResponse", "function_response")
            if results != calls:
                equal = (
                    "the number of function response parts is equal to the number of function call parts of the function call turn."
                )
                return google_failure(f"Please ensure that {equal}")
    return None


def _functions(body: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the functions of a request with their paths."""
    for index, tool in enumerate(_listed(body.get("tools"))):
        for at, function in enumerate(_listed(_field(tool, "functionDeclarations", "function_declarations"))):
            yield f"tools[{index}].function_declarations[{at}]", function


def _check_names(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first function with an illegal name, or with the name of an earlier one."""
    names: set[object] = set()
    for path, function in _functions(body):
        name = function.get("name") or ""
        if not _NAME.fullmatch(name):
            reason = "Invalid function name. Must start with a letter or an underscore."
            return google_failure(f"* GenerateContentRequest.{path}.name: {reason}")
        if name in names:
            return google_failure(f"Duplicate function declaration found: {name}")
        names.add(name)
    return None


def _check_function_config(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject a configuration of function calls without functions. Models of the third generation accept it."""
    config = _field(_field(body, "toolConfig", "tool_config") or {}, "functionCallingConfig", "function_calling_config")
    if not config or any(_functions(body)) or _NEWER_MODEL.search(facts.model):
        return None
    return google_failure("Function calling config is set without function_declarations.")


def _check_generation(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject too many stop sequences, alternatives of tokens without their flag, and two amounts of thinking."""
    config = _field(body, "generationConfig", "generation_config") or {}
    thinking = _field(config, "thinkingConfig", "thinking_config") or {}
    if len(_field(config, "stopSequences", "stop_sequences") or ()) > _MOST_STOPS:
        return google_failure(f"The number of stop sequences must not exceed {_MOST_STOPS}.")
    if config.get("logprobs") and not _field(config, "responseLogprobs", "response_logprobs"):
        return google_failure("logprobs is only allowed when response_logprobs is true.")
    amounts = (_field(thinking, "thinkingBudget", "thinking_budget"), _field(thinking, "thinkingLevel", "thinking_level"))
    if None not in amounts:
        return google_failure("You can only set one of thinking_budget and thinking_level.")
    return None


RULES = (
    Rule("no_contents", "`contents` is missing or empty",
         "langchain-ai/langchain-google#1393, ikechan8370/chatgpt-plugin#733", _check_contents),
    Rule("call_without_signature",
         "the first `functionCall` of a model turn has no `thoughtSignature`; in the current turn, for models after Gemini 2",
         "docs, Thought signatures; pipecat-ai/pipecat#5809, docker/docker-agent#2155", _check_calls),
    Rule("unknown_signature", "a `thoughtSignature` is neither this server's nor a documented placeholder",
         "google-gemini/gemini-cli#13467, charmbracelet/crush#1698", _check_tokens),
    Rule("media_type", "media of Office, an image that is not PNG, JPEG, WebP, HEIC or HEIF, or the type `image/jpg` or `application/csv`",
         "googleapis/python-genai#829, google/adk-java#1210, google/adk-python#4028, google/adk-python#5693", _check_media),
    Rule("combined_tools",
         "functions with tools that the server runs, without `includeServerSideToolInvocations`; for models after Gemini 2",
         "docs, Combine built-in tools and function calling; cloudwego/eino-ext#761, ag2ai/ag2#3145", _check_combined_tools),
    Rule("labels", "`labels`, a field of Vertex AI", "google-genai, _GenerateContentConfig_to_mldev", _check_labels),
    Rule("empty_parts", "a content has no parts, or a part has no content",
         "vercel/ai#3775, egoist/chatwise-releases#250, 54xzh/FLIT#70", _check_parts),
    Rule("call_turn", "calls are in the first turn, or the next turn has more or fewer results than calls",
         "google-gemini/gemini-cli#16543 and #26486, diegosouzapw/OmniRoute#13573", _check_call_turns),
    Rule("function_name", "a function has an illegal name, or that of an earlier function",
         "google-gemini/gemini-cli#2966, kaitranntt/ccs#25, googleapis/dotnet-genai#189, lobehub/lobehub#12604", _check_names),
    Rule("config_without_functions", "`functionCallingConfig` without functions; for models before Gemini 3",
         "AstrBotDevs/AstrBot#7407, musistudio/claude-code-router#1207, pydantic/pydantic-ai#5791", _check_function_config),
    Rule("generation", "over 5 `stopSequences`, `logprobs` without `responseLogprobs`, or both `thinkingBudget` and `thinkingLevel`",
         "docs, GenerationConfig; docs, Gemini 3 Developer Guide", _check_generation),
)  # fmt: skip
