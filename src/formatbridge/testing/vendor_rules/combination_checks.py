"""Rules for items of Responses, and rules that reject fields only together with others, or fields that the server no longer has.

Each function returns a rule, or checks the body of a request for one. The errors have the status and the words of the servers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule, is_object, objects


def _items(body: JsonObject) -> list[JsonObject]:
    return body["input"] if isinstance(body.get("input"), list) else []


def common_items(source: str, message: str) -> Rule:
    """Return a rule for servers that read messages, function calls, their results and reasoning only."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for item in _items(body):
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


def arguments_of_calls(source: str, message: str) -> Rule:
    """Return a rule for servers that reject a call whose arguments are a text other than a JSON object. Empty text is accepted."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        texts = [item.get("arguments") for item in _items(body) if item.get("type") == "function_call"]
        is_refused = any(isinstance(text, str) and text != "" and not is_object(text) for text in texts)
        return openai_failure(400, message, param="input") if is_refused else None

    return Rule("arguments", "a call whose arguments are no JSON object", source, check)


def part_types(source: str, *types: str) -> Rule:
    """Return a rule for servers of Responses that read only some types of parts."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, part in _parts_of_items(body):
            if part.get("type") not in types:
                return openai_failure(400, f"unsupported content type: {part.get('type')}", param=f"input[{index}]")
        return None

    return Rule("part_type", f"a part of another type than {', '.join(types)}", source, check)


def _parts_of_items(body: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    for index, item in enumerate(_items(body)):
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
        kinds = [kind for item in _items(body) if (kind := item.get("type")) in _OF_OPENAI]
        return openai_failure(status, message, param="input") if kinds else None

    return Rule("item_type", f"an item of type {', '.join(sorted(_OF_OPENAI))}", source, check)


def no_null_in_items(source: str, field: str, status: int, message: str) -> Rule:
    """Return a rule for servers that reject a null in a field of an item."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_null = any(item.get(field, "") is None for item in _items(body))
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


def _output_format(body: JsonObject) -> JsonObject:
    """Return the output format of a request: of Chat Completions as it is, of Responses unless it is text."""
    if "text" not in body:
        return body.get("response_format") or {}
    format: JsonObject = body["text"].get("format") or {}
    return format if format.get("type") != "text" else {}


def format_without_tools(source: str, message: str, *, code: str | None = None) -> Rule:
    """Return a rule for servers that reject an output format next to tools."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("tools") and _output_format(body)
        return openai_failure(400, message, param="response_format", code=code) if is_refused else None

    return Rule("format_with_tools", "a `response_format` next to `tools`", source, check)


def search_without_functions(source: str) -> Rule:
    """Return a rule for servers of which only the models without functions search the web."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("tools") and body.get("web_search_options") is not None
        message, field = "Unknown parameter: 'web_search_options'.", "web_search_options"
        return openai_failure(400, message, param=field, code="unknown_parameter") if is_refused else None

    return Rule("search_with_functions", "`web_search_options` next to `tools`", source, check)


def schema_without_stream(source: str, message: str) -> Rule:
    """Return a rule for servers that have no output format with a schema in a stream."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("stream") and _output_format(body).get("type") == "json_schema"
        return openai_failure(400, message, param="response_format") if is_refused else None

    return Rule("schema_in_stream", "a `json_schema` in a stream", source, check)


def format_without_reasoning(source: str, message: str) -> Rule:
    """Return a rule for servers that reject an output format unless ``enable_thinking`` turns reasoning off."""

    def check(body: JsonObject, facts: Facts) -> Failure | None:
        reasons = body.get("enable_thinking", facts.can_reason)
        is_format = (body.get("response_format") or {}).get("type") not in (None, "text")
        return openai_failure(400, message, param="response_format") if is_format and reasons else None

    return Rule("format_with_reasoning", "a `response_format` without `enable_thinking: false`", source, check)


def uniform_strict(source: str, message: str) -> Rule:
    """Return a rule for servers that require the same ``strict`` in all functions. A missing one is false."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        flags = {bool((tool.get("function") or {}).get("strict")) for tool in body.get("tools") or ()}
        return openai_failure(422, message, param="tools", code="wrong_api_format") if len(flags) > 1 else None

    return Rule("mixed_strict", "functions with `strict` next to functions without it", source, check)


def prefill_without_reasoning(source: str, message: str) -> Rule:
    """Return a rule for servers that continue a final assistant message only if the template of the chat turns reasoning off."""

    def check(body: JsonObject, facts: Facts) -> Failure | None:
        last = body["messages"][-1] if body["messages"] else {}
        flag = (body.get("chat_template_kwargs") or {}).get("enable_thinking")
        # An effort of ``none`` turns the flag off (ggml-org/llama.cpp#26045).
        reasons = body.get("reasoning_effort") != "none" and (facts.can_reason if flag is None else flag)
        is_answer = last.get("role") == "assistant" and not last.get("tool_calls")
        return openai_failure(400, message) if is_answer and reasons else None

    return Rule("prefill", "a final assistant message without `enable_thinking: false`", source, check)


def no_final_answer(source: str, message: str) -> Rule:
    """Return a rule for servers that reject a last message of the model in a conversation with a message of the user."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        roles = [each.get("role") for each in body["messages"]]
        is_refused = roles and roles[-1] == "assistant" and not {"user", "tool"}.isdisjoint(roles)
        return openai_failure(400, message, param="messages", code="invalid_message") if is_refused else None

    return Rule("final_answer", "a last message of the model", source, check)


def no_prompt_after_continuation(source: str) -> Rule:
    """Return a rule for servers that continue a final message only without a generation prompt, which is the default."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        message = "Cannot set both `continue_final_message` and `add_generation_prompt` to True."
        is_refused = body.get("continue_final_message") and body.get("add_generation_prompt", True)
        return openai_failure(400, message, param="continue_final_message") if is_refused else None

    return Rule("generation_prompt", "`continue_final_message` without `add_generation_prompt: false`", source, check)


def raw_reasoning_alone(source: str) -> Rule:
    """Return a rule for servers that write the reasoning into the text only without tools and without an output format."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_format = (body.get("response_format") or {}).get("type") not in (None, "text")
        is_refused = body.get("reasoning_format") == "raw" and (body.get("tools") or is_format)
        message = "reasoning_format raw is not supported with JSON mode or tool use"
        return openai_failure(400, message, param="reasoning_format") if is_refused else None

    return Rule("raw_reasoning", "`raw` reasoning next to `tools` or a `response_format`", source, check)


def single_answer_with_tools(source: str, message: str) -> Rule:
    """Return a rule for servers that give one answer only to a request with tools."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("tools") and body.get("n") not in (None, 1)
        return openai_failure(400, message, param="n") if is_refused else None

    return Rule("answers_with_tools", "an `n` other than 1 next to `tools`", source, check)


def one_with_greedy_sampling(source: str, field: str) -> Rule:
    """Return a rule for servers that accept only 1 in a field next to a temperature of 0."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("temperature") == 0 and body.get(field) not in (None, 1)
        return openai_failure(400, f"{field} must be 1 when using greedy sampling.") if is_refused else None

    return Rule("greedy_sampling", f"a `{field}` other than 1 next to a `temperature` of 0", source, check)


def while_reasoning(rule: Rule) -> Rule:
    """Return a rule that applies only to models that reason."""
    return replace(rule, check=lambda body, facts: rule.check(body, facts) if facts.can_reason else None)


def store_is_false(source: str, message: str) -> Rule:
    """Return a rule for servers that store no response and reject a request that asks for it."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return openai_failure(400, message, param="store") if body.get("store", False) is not False else None

    return Rule("store", "a `store` that is not false", source, check)


def final_answer_without_reasoning(source: str, field: str, message: str) -> Rule:
    """Return a rule for servers that reject a last message of the model while it reasons, unless the message has ``field``."""

    def check(body: JsonObject, facts: Facts) -> Failure | None:
        refused = no_final_answer(source, message).check(body, facts)
        is_off = (body.get("thinking") or {}).get("type") == "disabled"
        return None if not facts.can_reason or is_off or refused is None or body["messages"][-1].get(field) is True else refused

    return Rule("final_answer", f"a last message of the model without `{field}: true`, unless reasoning is off", source, check)


def logprobs_without_streamed_tools(source: str, message: str) -> Rule:
    """Return a rule for servers that have no log probabilities in a stream with tools."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("logprobs") and body.get("tools") and body.get("stream")
        return openai_failure(400, message) if is_refused else None

    return Rule("logprobs_with_tools", "`logprobs` in a stream with `tools`", source, check)


def no_instructions_in_continuation(source: str, message: str) -> Rule:
    """Return a rule for servers that reject instructions in a request that continues a response."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        is_refused = body.get("instructions") is not None and body.get("previous_response_id") is not None
        return openai_failure(400, message, param="instructions") if is_refused else None

    return Rule("continuation", "`instructions` next to `previous_response_id`", source, check)


def no_live_search(source: str) -> Rule:
    """Return a rule for xAI, which has searches in the format of Responses only."""
    words = "Live search is deprecated. Please switch to the Agent Tools API: https://docs.x.ai/docs/guides/tools/overview"

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return Failure(410, words, body={"error": words}) if body.get("search_parameters") is not None else None

    return Rule("live_search", "`search_parameters`", source, check)


def one_kind_of_domains(source: str) -> Rule:
    """Return a rule for Perplexity, whose filter has either allowed or blocked domains."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        domains = body.get("search_domain_filter") or []
        kinds = {str(domain).startswith("-") for domain in domains}
        is_refused = len(kinds) > 1 or len(domains) > _MOST_DOMAINS
        return openai_failure(400, "Invalid search_domain_filter", param="search_domain_filter") if is_refused else None

    about = f"allowed and blocked domains in one `search_domain_filter`, or over {_MOST_DOMAINS}"
    return Rule("domain_filter", about, source, check)


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


_MOST_DOMAINS = 20
