"""Kinds of rules that servers of Responses have: each function returns a rule, or checks the body of a request for one.

The errors have the status and the words of the servers.
"""

from __future__ import annotations

from collections.abc import Iterator

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule, is_object_text, items_of


def common_items(source: str, message: str) -> Rule:
    """Return a rule for servers that read messages, function calls, their results and reasoning only."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for item in items_of(body):
            kind = item.get("type") or ("message" if "role" in item else "item_reference")
            if kind not in ("message", "function_call", "function_call_output", "reasoning"):
                return openai_failure(400, f"{message}: {kind}", param="input")
        return None

    return Rule("item_type", "an item that is no message, function call, result or reasoning", source, check)


def check_ollama_parts(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first part that Ollama does not read."""
    for index, part in _parts_of_items(body):
        kind = part.get("type")
        if kind == "input_file":
            return openai_failure(400, "file inputs are not currently supported", param=f"input[{index}]")
        if kind not in ("input_text", "output_text", "input_image"):
            return openai_failure(400, f"unknown content type: {kind}", param=f"input[{index}]")
        if kind == "input_image" and part.get("image_url") and not part["image_url"].startswith("data:"):
            return openai_failure(400, "invalid image input", param=f"input[{index}]")
    return None


def arguments_of_items(source: str, message: str) -> Rule:
    """Return a rule for servers that reject a call whose arguments are a text other than a JSON object. Empty text is accepted."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        texts = [item.get("arguments") for item in items_of(body) if item.get("type") == "function_call"]
        is_refused = any(isinstance(text, str) and text != "" and not is_object_text(text) for text in texts)
        return openai_failure(400, message, param="input") if is_refused else None

    return Rule("arguments", "a call whose arguments are no JSON object", source, check)


def part_types_of_items(source: str, *types: str) -> Rule:
    """Return a rule for servers of Responses that read only some types of parts."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, part in _parts_of_items(body):
            if part.get("type") not in types:
                return openai_failure(400, f"unsupported content type: {part.get('type')}", param=f"input[{index}]")
        return None

    return Rule("part_type", f"a part of another type than {', '.join(types)}", source, check)


def _parts_of_items(body: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    for index, item in enumerate(items_of(body)):
        if item.get("type", "message") == "reasoning":
            continue
        for content in (item.get("content"), item.get("output")):
            yield from ((index, part) for part in content) if isinstance(content, list) else ()


_OF_OPENAI = frozenset({
    "additional_tools", "configuration_update", "custom_tool_call", "custom_tool_call_output", "tool_search_call", "tool_search_output",
})  # fmt: skip


def no_items_of_openai(source: str, status: int, message: str) -> Rule:
    """Return a rule for servers without the items of custom tools, tool searches and changes of the configuration."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        kinds = [kind for item in items_of(body) if (kind := item.get("type")) in _OF_OPENAI]
        return openai_failure(status, message, param="input") if kinds else None

    return Rule("item_type", f"an item of type {', '.join(sorted(_OF_OPENAI))}", source, check)


def no_null_in_items(source: str, field: str, status: int, message: str) -> Rule:
    """Return a rule for servers that reject a null in a field of an item."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_null = any(item.get(field, "") is None for item in items_of(body))
        return openai_failure(status, message, param="input") if is_null else None

    return Rule("null", f"an item whose `{field}` is null", source, check)


def tool_types(source: str, status: int, *types: str) -> Rule:
    """Return a rule for servers that have only some types of tools."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for tool in body.get("tools") or ():
            if tool.get("type") not in types:
                return openai_failure(
                    status, f"unknown variant `{tool.get('type')}`, expected one of {', '.join(types)}", param="tools"
                )
        return None

    return Rule("tool_type", f"a tool of another type than {', '.join(types)}", source, check)


def no_tool_types(source: str, message: str, *types: str) -> Rule:
    """Return a rule for servers that lack some types of tools."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        kinds = [tool.get("type") for tool in body.get("tools") or ()]
        return openai_failure(400, message, code="invalid_prompt") if any(kind in types for kind in kinds) else None

    return Rule("tool_type", f"a tool of type {', '.join(types)}", source, check)


def no_keys_of_tools(source: str, *keys: str, message: str) -> Rule:
    """Return a rule for servers that reject some fields of tools. ``keys``: after the type and a dot."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        present = [f"{tool.get('type')}.{key}" for tool in body.get("tools") or () for key in tool if tool[key] is not None]
        refused = [key for key in present if key in keys]
        return openai_failure(400, f"{message}: {refused[0]}", param="tools") if refused else None

    return Rule("field_of_tool", f"{', '.join(keys)} in a tool", source, check)


def known_includes(source: str, *values: str) -> Rule:
    """Return a rule for servers that have only some values of ``include``."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        unknown = next((value for value in body.get("include") or () if value not in values), None)
        message = f"Input should be {', '.join(values)}, got {unknown!r}"
        return None if unknown is None else openai_failure(400, message, param="include")

    return Rule("include", f"a value of `include` other than {', '.join(values)}", source, check)


def known_efforts_of_reasoning(source: str, *efforts: str) -> Rule:
    """Return a rule for servers of Responses that have only some efforts."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        effort = (body.get("reasoning") or {}).get("effort")
        return (
            None if effort in (None, *efforts) else openai_failure(400, f"invalid reasoning value: {effort!r}", param="reasoning")
        )

    return Rule("effort", f"a `reasoning.effort` other than {', '.join(efforts)}", source, check)


def store_is_false(source: str, message: str) -> Rule:
    """Return a rule for servers that store no response and reject a request that asks for it."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return openai_failure(400, message, param="store") if body.get("store", False) is not False else None

    return Rule("store", "a `store` that is not false", source, check)


def no_instructions_in_continuation(source: str, message: str) -> Rule:
    """Return a rule for servers that reject instructions in a request that continues a response."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("instructions") is not None and body.get("previous_response_id") is not None
        return openai_failure(400, message, param="instructions") if is_refused else None

    return Rule("continuation", "`instructions` next to `previous_response_id`", source, check)
