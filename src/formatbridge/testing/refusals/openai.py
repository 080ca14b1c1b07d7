"""What the rules of chat_completions and responses share: one vendor, one error body, one check of function schemas."""

from __future__ import annotations

from typing import Any

from formatbridge.testing.script import Failure

SCHEMA_SOURCE = "openai/openai-agents-python#449, github/github-mcp-server#1548"


def openai_failure(status: int, message: str, *, param: str | None = None, code: str | None = None) -> Failure:
    """Return a refusal with the error body of the vendor."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Failure(status, message, body={"error": error})


def check_parameters(function: Any, param: str) -> Failure | None:
    """Refuse a function whose parameters are an object without ``properties``."""
    schema = function.get("parameters") if isinstance(function, dict) else None
    if not isinstance(schema, dict) or schema.get("type") != "object" or "properties" in schema:
        return None
    message = f"Invalid schema for function {function.get('name')!r}: In context=(), object schema missing properties."
    return openai_failure(400, message, param=param, code="invalid_function_parameters")
