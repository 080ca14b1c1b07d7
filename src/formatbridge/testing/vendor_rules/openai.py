"""Common parts of the rules of chat_completions and responses: one vendor, one error body, one check of function schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formatbridge.testing.script import Failure

SCHEMA_SOURCE = (
    "openai/openai-agents-python#449, github/github-mcp-server#1548, langchain-ai/langchainjs#9804, browserbase/stagehand#1159"
)
JSON_SOURCE = "StefanBratanov/jvm-openai#15, vercel/ai#7913, Wei-Shaw/sub2api#3337"
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
