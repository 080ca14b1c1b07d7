"""Kinds of rules that reject fields only together with others, or fields that the server no longer has: each function returns a rule.

The errors have the status and the words of the servers.
"""

from __future__ import annotations

from dataclasses import replace

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule


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


def no_live_search(source: str) -> Rule:
    """Return a rule for xAI, which has searches in the format of Responses only."""
    words = "Live search is deprecated. Please switch to the Agent Tools API: https://docs.x.ai/docs/guides/tools/overview"

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return Failure(410, words, body={"error": words}) if body.get("search_parameters") is not None else None

    return Rule("live_search", "`search_parameters`", source, check)


_MOST_DOMAINS = 20


def one_kind_of_domains(source: str) -> Rule:
    """Return a rule for Perplexity, whose filter has either allowed or blocked domains."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        domains = body.get("search_domain_filter") or []
        kinds = {str(domain).startswith("-") for domain in domains}
        is_refused = len(kinds) > 1 or len(domains) > _MOST_DOMAINS
        return openai_failure(400, "Invalid search_domain_filter", param="search_domain_filter") if is_refused else None

    about = f"allowed and blocked domains in one `search_domain_filter`, or over {_MOST_DOMAINS}"
    return Rule("domain_filter", about, source, check)
