"""Common parts of the rules of chat_completions and responses: one vendor, one error body, one check of function schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule, objects

SCHEMA_SOURCE = (
    "openai/openai-agents-python#449, github/github-mcp-server#1548, langchain-ai/langchainjs#9804, browserbase/stagehand#1159"
)
STRICT_SOURCE = "BerriAI/litellm#38211, vercel/ai#6484, agentscope-ai/agentscope-java#2548, vercel-labs/json-render#180"
IMAGE_SOURCE = "STranslate/STranslate#277, anomalyco/opencode#5704, OpenRouterTeam/openrouter-examples#81"
MODEL_SOURCE = "danielmiessler/Fabric#239, QwenLM/qwen-code#89, transitive-bullshit/agentic#530"
JSON_SOURCE = "StefanBratanov/jvm-openai#15, vercel/ai#7913, Wei-Shaw/sub2api#3337"
_METADATA_SOURCE = "BerriAI/litellm#8209, thiswillbeyourgithub/openwebui_custom_pipes_filters#3, spiceai/docs#928"
FILE_SOURCE = "laravel/ai#321, openai/openai-agents-python#1513, langchain-ai/langchainjs#9570"
NAME_SOURCE = "hackers365/xiaozhi-esp32-server-golang#268, mcp-use/mcp-use#90"
_END_USER_SOURCE = "official SDK, ``CompletionCreateParams.safety_identifier`` and ``user``"
_NAME = re.compile("[a-zA-Z0-9_-]+")
_LONGEST_NAME = 64
_MOST_PAIRS, _LONGEST_KEY, _LONGEST_VALUE = 16, 64, 512
_LONGEST_IDS = {"user": 64, "safety_identifier": 128}
_UNIONS = ("oneOf", "anyOf", "allOf", "enum", "not")


def openai_failure(status: int, message: str, *, param: str | None = None, code: str | None = None) -> Failure:
    """Return an error with the vendor's error body."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Failure(status, message, body={"error": error})


def mentions_json(messages: Any) -> bool:
    """Return whether a text of a conversation has the word that JSON mode requires."""
    return any("json" in text.lower() for text in _texts(messages))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of messages: their contents and outputs, and those of their parts."""
    if isinstance(value, str):
        yield value
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            for key in ("content", "output", "text"):
                yield from _texts(each.get(key))


def strict_fault(schema: Any, place: tuple[str, ...] = ()) -> str | None:
    """Return why the server does not accept a schema with ``strict``; None if it does."""
    if not isinstance(schema, dict):
        return None
    context = f"In context={place!r}, "
    for name in ("allOf", "oneOf", "not", "patternProperties", "propertyNames"):
        if name in schema:
            return f"{context}{name!r} is not permitted."
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        missing = [name for name in properties or {} if name not in (schema.get("required") or ())]
        if missing:
            required = "'required' is required to be supplied and to be an array including every key in properties."
            return f"{context}{required} Missing {missing[0]!r}."
        if schema.get("additionalProperties") is not False:
            return f"{context}'additionalProperties' is required to be supplied and to be false."
    inner: list[tuple[tuple[str, ...], Any]] = [(("properties", name), each) for name, each in (properties or {}).items()]
    inner += [(("items",), schema.get("items"))] + [
        (("anyOf", str(index)), each) for index, each in enumerate(schema.get("anyOf") or ())
    ]
    inner += [((key, name), each) for key in ("$defs", "definitions") for name, each in (schema.get(key) or {}).items()]
    return next((fault for step, each in inner if (fault := strict_fault(each, (*place, *step)))), None)


def check_strict_tool(function: Any, param: str) -> Failure | None:
    """Reject a function with ``strict`` whose parameters the server cannot enforce."""
    fault = strict_fault(function.get("parameters")) if isinstance(function, dict) and function.get("strict") else None
    if fault is None:
        return None
    message = f"Invalid schema for function {function.get('name')!r}: {fault}"
    return openai_failure(400, message, param=param, code="invalid_function_parameters")


def check_strict_format(format: Any, param: str) -> Failure | None:
    """Reject an output format with ``strict`` whose schema the server cannot enforce."""
    fault = strict_fault(format.get("schema")) if isinstance(format, dict) and format.get("strict") else None
    if fault is None:
        return None
    return openai_failure(400, f"Invalid schema for response_format {format.get('name')!r}: {fault}", param=param)


def check_images(messages: Any, param: str) -> Failure | None:
    """Reject the first image whose data have a type that the server does not read."""
    for node in objects(messages):
        image = node.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if isinstance(url, str) and url.startswith("data:image/") and not url.startswith(_IMAGES):
            formats = "Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."
            return openai_failure(400, f"You uploaded an unsupported image. {formats}", param=param, code="invalid_image_format")
    return None


_IMAGES = tuple(f"data:image/{kind}" for kind in ("png", "jpeg", "jpg", "gif", "webp"))


def check_parameters(function: Any, param: str) -> Failure | None:
    """Reject a function whose parameters are not an object, have no ``properties``, or have a union at the root."""
    schema = function.get("parameters") if isinstance(function, dict) else None
    if not isinstance(schema, dict):
        return None
    if schema.get("type") != "object":
        kind = schema.get("type")
        fault = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    elif any(name in schema for name in _UNIONS):
        fault = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    elif "properties" not in schema:
        fault = "In context=(), object schema missing properties."
    else:
        return None
    message = f"Invalid schema for function {function.get('name')!r}: {fault}"
    return openai_failure(400, message, param=param, code="invalid_function_parameters")


def _check_metadata(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject metadata with too many pairs, or with a key or a value that is too long."""
    metadata = body.get("metadata") or {}
    if len(metadata) > _MOST_PAIRS:
        reason = (
            f"Expected an object with at most {_MOST_PAIRS} properties, but got an object with {len(metadata)} properties instead."
        )
        message = f"Invalid 'metadata': too many properties. {reason}"
        return openai_failure(400, message, param="metadata", code="object_above_max_properties")
    for key, value in metadata.items():
        for text, longest, param in ((key, _LONGEST_KEY, "metadata"), (value, _LONGEST_VALUE, f"metadata.{key}")):
            if isinstance(text, str) and len(text) > longest:
                return too_long(param, text, longest)
    return None


def _check_end_user(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject an id of the end user that is too long."""
    ids = ((name, body.get(name), longest) for name, longest in _LONGEST_IDS.items())
    return next((too_long(name, id, longest) for name, id, longest in ids if isinstance(id, str) and len(id) > longest), None)


def _check_retention(body: JsonObject, _facts: Facts) -> Failure | None:
    if body.get("prompt_cache_retention") != "in-memory":
        return None
    words = "Invalid value: 'in-memory'. Supported values are: 'in_memory' and '24h'."
    return openai_failure(400, words, param="prompt_cache_retention", code="invalid_value")


SETTINGS_RULES = (
    Rule(
        "metadata_size",
        "`metadata` has over 16 pairs, a key over 64 or a value over 512 characters",
        _METADATA_SOURCE,
        _check_metadata,
    ),
    Rule("end_user", "`user` has over 64 characters, or `safety_identifier` over 128", _END_USER_SOURCE, _check_end_user),
    Rule(
        "cache_retention",
        "`prompt_cache_retention` is `in-memory`, the value in older SDKs",
        "pydantic/pydantic-ai#4028, openai/openai-python#3003",
        _check_retention,
    ),
)
"""The rules of settings that both formats have."""


def check_files(messages: Any, param: str) -> Failure | None:
    """Reject the first file whose data have no name."""
    for node in objects(messages):
        if node.get("file_data") and not node.get("filename"):
            return openai_failure(400, f"Missing required parameter: '{param}'.", param=param, code="missing_required_parameter")
    return None


def check_names(names: Iterable[tuple[str, Any]]) -> Failure | None:
    """Reject the first name of a function that has other characters or is too long. ``names``: with their paths."""
    for param, name in names:
        if isinstance(name, str) and not _NAME.fullmatch(name):
            expected = f"Expected a string that matches the pattern '^{_NAME.pattern}$'."
            message = f"Invalid '{param}': string does not match pattern. {expected}"
            return openai_failure(400, message, param=param, code="invalid_value")
        if isinstance(name, str) and len(name) > _LONGEST_NAME:
            return too_long(param, name, _LONGEST_NAME)
    return None


def too_long(param: str, text: str, longest: int) -> Failure:
    """Return the error for a text that is too long."""
    reason = f"Expected a string with maximum length {longest}, but got a string with length {len(text)} instead."
    return openai_failure(400, f"Invalid '{param}': string too long. {reason}", param=param, code="string_above_max_length")
