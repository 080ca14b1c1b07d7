"""Kinds of rules for the JSON Schemas of output formats and functions in Chat Completions: each function returns a rule."""

from __future__ import annotations

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule, objects


def no_any_object(source: str) -> Rule:
    """Return a rule for servers that reject an output format whose schema is any object."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema") or {}
        is_refused = schema.get("type") == "object" and schema.keys() <= {"type", "title", "description", "additionalProperties"}
        return openai_failure(400, "Unconstrained objects are not supported.", param="response_format") if is_refused else None

    return Rule("any_object", "a schema of an output format that is any object", source, check)


def no_schema_keywords(source: str, *keywords: str) -> Rule:
    """Return a rule for servers that reject keywords with a number in the schema of an output format."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema")
        rejected = _keyword_in(schema, keywords)
        message = f"invalid schema for response format: response_format/json_schema: {rejected} is not supported"
        return None if rejected is None else openai_failure(400, message, param="response_format")

    return Rule("schema_keyword", f"{', '.join(keywords)} in the schema of an output format", source, check)


def no_keywords_in_strict_schemas(source: str, *keywords: str) -> Rule:
    """Return a rule for servers that reject keywords in a schema with ``strict``, of an output format or a function."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        format = (body.get("response_format") or {}).get("json_schema") or {}
        functions = [tool.get("function") or {} for tool in body.get("tools") or ()]
        schemas = [("response_format", format.get("schema"))] if format.get("strict") else []
        schemas += [("tools", function.get("parameters")) for function in functions if function.get("strict")]
        for field, schema in schemas:
            rejected = _keyword_in(schema, keywords)
            if rejected is not None:
                message = f'Unsupported JSON schema fields: ["{rejected}"]'
                return openai_failure(400, message, param=field, code="wrong_api_format")
        return None

    return Rule("schema_keyword", f"{', '.join(keywords)} in a schema with `strict`", source, check)


def _keyword_in(schema: object, keywords: tuple[str, ...]) -> str | None:
    """Return the first of the keywords in a schema. A property of this name has a schema as its value."""
    return next((name for node in objects(schema) for name in keywords if isinstance(node.get(name), int | str)), None)
