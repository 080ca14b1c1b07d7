"""Kinds of rules that servers of dialects have: each function returns a rule, or checks the body of a request for one.

The errors have the status and the words of the servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.generate_content import google_failure
from formatbridge.testing.vendor_rules.openai import openai_failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule, is_object_text, objects

Words = Callable[[str, str], Failure]
"""A pointer and a message to the error of a server."""


def _openai(param: str, message: str) -> Failure:
    return openai_failure(400, message, param=param)


def mistral_error(param: str, message: str) -> Failure:
    """Return an error of Mistral."""
    detail = [{"type": "extra_forbidden", "loc": ["body", *param.split(".")], "msg": message}]
    error = {"type": "invalid_request_error", "param": None, "code": None}
    return Failure(422, message, body={"object": "error", "message": {"detail": detail}, **error})


def cerebras_error(param: str, message: str) -> Failure:
    """Return an error of Cerebras."""
    error = {"message": f"{param}: {message}", "type": "invalid_request_error", "param": "validation_error"}
    return Failure(400, message, body={**error, "code": "wrong_api_format"})


def xai_error(param: str, message: str) -> Failure:
    """Return an error of xAI."""
    return Failure(400, message, body={"code": "Client specified an invalid argument", "error": f"{param}: {message}"})


def _perplexity(_param: str, message: str) -> Failure:
    return Failure(400, message, body={"error": {"message": message, "type": "invalid_message", "code": 400}})


def anthropic_error(param: str, message: str) -> Failure:
    error = {"type": "invalid_request_error", "message": f"{param}: {message}"}
    return Failure(400, message, body={"type": "error", "error": error})


def zhipu_error(param: str, message: str) -> Failure:
    """Return an error of Zhipu's server of messages."""
    return Failure(422, message, body={"detail": [{"type": "literal_error", "loc": ["body", *param.split(".")], "msg": message}]})


def google_error(_param: str, message: str) -> Failure:
    """Return an error in the format of Google's servers."""
    return google_failure(message)


# Rules. ``words``: the error of the server.


def no_fields(source: str, *fields: str, words: Words = _openai, message: str = "Unrecognized request argument supplied") -> Rule:
    """Return a rule for servers that reject some fields."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return next((words(field, f"{message}: {field}") for field in fields if body.get(field) is not None), None)

    return Rule("field", f"a field of {', '.join(fields)}", source, check)


def no_keys(source: str, *keys: str, roles: tuple[str, ...] = ("assistant",), words: Words = _openai) -> Rule:
    """Return a rule for servers that reject some fields of messages."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, message in enumerate(body["messages"]):
            for key in keys if message["role"] in roles else ():
                if message.get(key) is not None:
                    return words(f"messages.{index}.{message['role']}.{key}", f"property '{key}' is unsupported")
        return None

    return Rule("field_of_message", f"{', '.join(keys)} in a message with the role {', '.join(roles)}", source, check)


def arguments_of_calls(source: str, message: str, *, objects_only: bool = True, words: Words = _openai) -> Rule:
    """Return a rule for servers that reject a call without arguments, which is no JSON text, or one whose arguments are no object."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, each in enumerate(body["messages"]):
            texts = [(call.get("function") or {}).get("arguments") for call in each.get("tool_calls") or ()]
            if any(text == "" or (objects_only and isinstance(text, str) and not is_object_text(text)) for text in texts):
                return words(f"messages.{index}.tool_calls", message)
        return None

    about = "a call whose arguments are no JSON object" if objects_only else "a call whose arguments are empty text"
    return Rule("arguments", about, source, check)


def common_roles(source: str, words: Words = _openai, *, has_function_role: bool = False) -> Rule:
    """Return a rule for servers without the role ``developer``. ``has_function_role``: whether they have the role ``function``."""
    roles = ("system", "user", "assistant", "tool", *(("function",) if has_function_role else ()))

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, message in enumerate(body["messages"]):
            if message["role"] not in roles:
                expected = f"expected one of {', '.join(f'`{role}`' for role in roles)}"
                return words(f"messages.{index}.role", f"messages[{index}].role: unknown variant `{message['role']}`, {expected}")
        return None

    return Rule("role", "a message with the role `developer`", source, check)


def part_types(source: str, *types: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that read only some types of parts."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, part in _parts(body):
            if part.get("type") not in types:
                return words(f"messages.{index}.content", f"unsupported content[].type: {part.get('type')}")
        return None

    return Rule("part_type", f"a part of another type than {', '.join(types)}", source, check)


def data_only(source: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that do not fetch images."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, part in _parts(body):
            image = part.get("image_url") if part.get("type") == "image_url" else None
            url = image.get("url") if isinstance(image, dict) else image
            if isinstance(url, str) and not url.startswith(("data:", "ms://")):
                return words(f"messages.{index}.content", "invalid image input")
        return None

    return Rule("image_url", "an image whose URL is not a `data:` URL", source, check)


def pdf_only(source: str) -> Rule:
    """Return a rule for servers that read no other documents than PDF."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, part in _parts(body):
            data = (part.get("file") or {}).get("file_data") if part.get("type") == "file" else None
            if isinstance(data, str) and data.startswith("data:") and not data.startswith("data:application/pdf"):
                message = "Expected a base64-encoded data URL with an application/pdf MIME type"
                return _openai(f"messages.{index}.content", message)
        return None

    return Rule("file_type", "the data of a file other than PDF", source, check)


def image_types(source: str, *types: str, message: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that read the data of some images only. ``types``: such as ``png``."""

    read = tuple(f"data:image/{each};" for each in types)

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for node in objects(body):
            image = node.get("image_url")
            url = image.get("url") if isinstance(image, dict) else image
            if isinstance(url, str) and url.startswith("data:image/") and not url.startswith(read):
                return words("image_url", message)
        return None

    return Rule("image_type", f"the data of an image of another type than {', '.join(types)}", source, check)


def functions_only(source: str, words: Words = _openai, prefix: str | tuple[str, ...] = ()) -> Rule:
    """Return a rule for servers with functions only. ``prefix``: of the types of tools that the server runs itself.

    A tool without a type is a function: recorded traffic has such requests that Mistral accepted.
    """

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, tool in enumerate(body.get("tools") or ()):
            kind = tool.get("type") or "function"
            if kind != "function" and not kind.startswith(prefix):
                return words(f"tools.{index}.type", f"Input should be 'function', got {kind!r}")
        return None

    return Rule("tool_type", "a tool that is no function", source, check)


def letter_first(source: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that require a letter at the beginning of the name of a function."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, tool in enumerate(body.get("tools") or ()):
            name = (tool.get("function") or {}).get("name")
            if tool.get("type") == "function" and name and not name[0].isalpha():
                message = (
                    "function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes"
                )
                return words(f"tools.{index}.function.name", message)
        return None

    return Rule("tool_name", "a name of a function that starts with no letter", source, check)


def tool_choices(source: str, *choices: str, accepts_functions: bool = True, words: Words = _openai) -> Rule:
    """Return a rule for servers that have only some tool choices."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        choice = body.get("tool_choice")
        is_known = choice is None or (isinstance(choice, str) and choice in choices)
        is_named = isinstance(choice, dict) and choice.get("type") == "function"
        return None if is_known or (accepts_functions and is_named) else words("tool_choice", f"Invalid tool_choice: {choice!r}")

    return Rule(
        "tool_choice",
        f"a tool choice other than {', '.join(choices)}{' or a function' if accepts_functions else ''}",
        source,
        check,
    )


def service_tiers(source: str, *tiers: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that have only some service tiers."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        tier = body.get("service_tier")
        return None if tier is None or tier in tiers else words("service_tier", f"Invalid service_tier: {tier!r}")

    return Rule("service_tier", f"a `service_tier` other than {', '.join(tiers)}", source, check)


def complete_functions(source: str, *fields: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that require some fields in each function."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, tool in enumerate(body.get("tools") or ()):
            function = tool.get("function") or {}
            missing = next((field for field in fields if function.get(field) is None), None)
            if missing is not None and (tool.get("type") or "function") == "function":
                return words(f"tools.{index}.function.{missing}", "Field required")
        return None

    return Rule("function_field", f"a function without {' or '.join(fields)}", source, check)


def no_nulls(source: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that reject fields which are null."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return next((words(field, "Input should be a valid value") for field, value in body.items() if value is None), None)

    return Rule("null", "a field of the request that is null", source, check)


def response_formats(source: str, *types: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that have only some output formats."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        kind = (body.get("response_format") or {}).get("type", "text")
        return None if kind in types else words("response_format", "This response_format type is unavailable now")

    return Rule("response_format", f"a `response_format` other than {', '.join(types)}", source, check)


def at_most(source: str, field: str, most: int, words: Words = _openai) -> Rule:
    """Return a rule for servers that limit the length of a list."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        value = body.get(field)
        too_many = isinstance(value, list) and len(value) > most
        return words(field, f"{field}: at most {most} are allowed") if too_many else None

    return Rule("most", f"more than {most} values in `{field}`", source, check)


def in_range(source: str, field: str, least: float, most: float, words: Words = _openai) -> Rule:
    """Return a rule for servers that limit a number to a range. The bounds are in it."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        value = body.get(field)
        return None if value is None or least <= value <= most else words(field, f"The {field} parameter is illegal: {value}")

    return Rule("range", f"a `{field}` below {least} or above {most}", source, check)


def max_tokens_from(source: str, least: int) -> Rule:
    """Return a rule for servers that reject a small ``max_tokens``."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        limit = body.get("max_tokens")
        words = f"max_tokens must be at least {least} for {body['model']}."
        error = {"message": words, "type": "invalid_parameter", "code": 400}
        return None if limit is None or limit >= least else Failure(400, words, body={"error": error})

    return Rule("max_tokens", f"`max_tokens` below {least}", source, check)


def known_efforts(source: str, *efforts: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that have only some efforts."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        effort = body.get("reasoning_effort")
        return None if effort in (None, *efforts) else words("reasoning_effort", f"invalid reasoning value: {effort!r}")

    return Rule("effort", f"a `reasoning_effort` other than {', '.join(efforts)}", source, check)


def budgets_from(source: str, least: int) -> Rule:
    """Return a rule for servers that reject a small ``thinking.budget_tokens``."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        budget = (body.get("thinking") or {}).get("budget_tokens")
        is_refused = budget is not None and budget < least
        return _openai("thinking.budget_tokens", f"Input should be greater than or equal to {least}") if is_refused else None

    return Rule("budget", f"`thinking.budget_tokens` below {least}", source, check)


def not_both(source: str, first: str, second: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that reject two fields together."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        return words(first, f"{first} and {second} cannot be used together") if {first, second} <= body.keys() else None

    return Rule("excluded_field", f"both `{first}` and `{second}`", source, check)


def reasoning_required(source: str, message: str) -> Rule:
    """Return a rule for servers that require reasoning in messages with tool calls."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for each in body["messages"]:
            if each["role"] == "assistant" and each.get("tool_calls") and not each.get("reasoning_content"):
                return openai_failure(400, message)
        return None

    return Rule("reasoning_required", "a message with tool calls and without `reasoning_content`", source, check)


def thinking_required(source: str, message: str, *, is_on_by_default: bool = True) -> Rule:
    """Return a rule for servers of Messages that require thinking in messages with tool calls, unless thinking is off.

    ``is_on_by_default``: whether a request without ``thinking`` needs it, too. A last message is not checked: its calls have no results,
    so that no block would make the request valid.
    """

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        kinds: dict[int, set[str]] = {}
        for index, block in _parts(body):
            kinds.setdefault(index, set()).add(block.get("type", ""))
        thinking = body.get("thinking") or {}
        is_off = thinking.get("type", "enabled" if is_on_by_default else "disabled") == "disabled"
        lacks_thinking = any(
            "tool_use" in each and "thinking" not in each and index < len(body["messages"]) - 1 for index, each in kinds.items()
        )
        return openai_failure(400, message) if lacks_thinking and not is_off else None

    return Rule(
        "thinking_required", "a message with `tool_use` and without `thinking`, unless `thinking` is disabled", source, check
    )


def signatures_of_server(source: str) -> Rule:
    """Return a rule for servers of Messages that accept thinking with an empty signature, and no signature of another server."""

    def check(body: JsonObject, facts: Facts) -> Failure | None:
        for place, block in _parts(body):
            token = block.get({"thinking": "signature", "redacted_thinking": "data"}.get(block.get("type", ""), ""))
            if token and not facts.accepts_token("messages", token):
                return openai_failure(400, f"messages.{place}: Invalid token in `{block['type']}` block")
        return None

    return Rule("unknown_signature", "the token of a thinking block is not empty, and not this server's", source, check)


def reasoning_off(source: str, field: str, off: object, message: str, words: Words = _openai) -> Rule:
    """Return a rule for servers that accept a forced tool call only if ``field`` turns reasoning off."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        choice = body.get("tool_choice")
        kind = choice.get("type") if isinstance(choice, dict) else choice
        is_forced = kind in ("required", "any", "function", "custom", "tool")
        return words("tool_choice", message) if is_forced and body.get(field) != off else None

    return Rule("forced_call", f"a forced tool call without `{field}: {json.dumps(off)}`", source, check)


def _parts(body: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        yield from ((index, part) for part in content if isinstance(part, dict)) if isinstance(content, list) else ()


def check_empty_texts(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a part that is an empty text."""
    index = next((index for index, part in _parts(body) if part.get("type") == "text" and not part.get("text")), None)
    if index is None:
        return None
    words = f"messages[{index}].content[0].text: cannot be empty"
    return Failure(400, words, body={"error": {"code": "1214", "message": words}})


def check_mistral_ids(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first id of a call that has not nine letters and digits."""
    for message in body["messages"]:
        ids = [call.get("id") for call in message.get("tool_calls") or ()] + [message.get("tool_call_id")]
        for call_id in filter(None, ids):
            if not re.fullmatch("[a-zA-Z0-9]{9}", call_id):
                words = f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
                error = {"object": "error", "message": words, "type": "invalid_function_call", "param": None, "code": None}
                return Failure(400, words, body=error)
    return None


def check_mistral_order(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a message of the user after a tool result, and instructions after it or after an answer."""
    refused = {("tool", "user"), ("tool", "system"), ("assistant", "system")}
    pair = next((pair for pair in pairwise(message["role"] for message in body["messages"]) if pair in refused), None)
    if pair is None:
        return None
    words = f"Unexpected role '{pair[1]}' after role '{pair[0]}'"
    error = {"object": "error", "message": words, "type": "invalid_request_message_order", "param": None, "code": "3230"}
    return Failure(400, words, body=error)


def check_mistral_content(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject an assistant message with neither content nor tool calls."""
    if all(each["role"] != "assistant" or each.get("content") or each.get("tool_calls") for each in body["messages"]):
        return None
    words = "Assistant message must have either content or tool_calls, but not none."
    error = {"object": "error", "message": words, "type": "invalid_request_error", "param": None, "code": None}
    return Failure(400, words, body=error)


def check_moonshot_content(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject an assistant message with neither content nor tool calls."""
    for index, message in enumerate(body["messages"]):
        if message["role"] == "assistant" and not (message.get("content") or message.get("tool_calls")):
            words = f"Invalid request: the message at position {index} with role 'assistant' must not be empty"
            return Failure(400, words, body={"error": {"message": words, "type": "invalid_request_error"}})
    return None


def check_mistral_end(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a final assistant message that is no prefix. One with tool calls is not checked: no field would make it valid."""
    last = body["messages"][-1] if body["messages"] else {}
    if last.get("role") != "assistant" or last.get("tool_calls") or last.get("prefix") is True:
        return None
    words = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
    return Failure(
        400, words, body={"object": "error", "message": words, "type": "invalid_request_error", "param": None, "code": None}
    )


def check_turns(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject two turns of the user, or of the model, in sequence, and instructions after the first turn."""
    roles = [message["role"] for message in body["messages"]]
    while roles and roles[0] in ("system", "developer"):
        del roles[0]
    for role, next_role in pairwise(roles):
        if role == next_role != "tool" or next_role == "system":
            return _perplexity("", "After the (optional) system message(s), user and assistant roles should be alternating.")
    return None


def check_instructions_first(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject instructions after the first turn."""
    roles = [message["role"] for message in body["messages"]]
    first = next((index for index, role in enumerate(roles) if role != "system"), len(roles))
    return _openai("messages", "System message must be at the beginning.") if "system" in roles[first:] else None


def check_minimax_instructions(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a second message with instructions, and one after the first turn."""
    roles = [message["role"] for message in body["messages"]]
    return _openai("messages", "invalid params, invalid chat setting (2013)") if "system" in roles[1:] else None


def check_output_format(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject structured output of Messages."""
    has_format = isinstance(body.get("output_config"), dict) and body["output_config"].get("format")
    return anthropic_error("output_config", "invalid params") if has_format else None


def check_minimax_thinking(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject thinking of a type other than ``adaptive`` and ``disabled``."""
    kind = (body.get("thinking") or {}).get("type")
    message = f'invalid params, invalid thinking.type: "{kind}" (allowed: adaptive, disabled) (2013)'
    return None if kind in (None, "adaptive", "disabled") else anthropic_error("thinking", message)


def check_openrouter_reasoning(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject an effort next to a budget."""
    reasoning = body.get("reasoning") or {}
    if {"effort", "max_tokens"} <= reasoning.keys():
        return openai_failure(400, 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified')
    return None


def check_audio_urls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject audio whose data are base64."""
    for index, part in _parts(body):
        audio = part.get("input_audio") if part.get("type") == "input_audio" else None
        data = audio.get("data") if isinstance(audio, dict) else audio
        if data and not data.startswith(("https://", "http://", "data:")):
            return _openai(f"messages.{index}.content", "The provided URL does not appear to be valid.")
    return None


def check_integer_logprobs(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a flag in place of a number."""
    return _openai("logprobs", "Expected an integer") if isinstance(body.get("logprobs"), bool) else None


def _blocks(value: Any) -> Iterator[JsonObject]:
    """Yield the content blocks of a messages request, and those in results."""
    for block in value if isinstance(value, list) else ():
        if isinstance(block, dict):
            yield block
            yield from _blocks(block.get("content"))


def block_rule(source: str, about: str, message: str, is_refused: Callable[[JsonObject], bool]) -> Rule:
    """Return a rule for servers that reject some content blocks of messages."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, each in enumerate(body["messages"]):
            if any(is_refused(block) for block in _blocks(each.get("content"))):
                return anthropic_error(f"messages.{index}.content", message)
        return None

    return Rule("block", about, source, check)


def no_system_turns(source: str, message: str, words: Words = anthropic_error) -> Rule:
    """Return a rule for servers of messages that accept instructions in ``system`` only."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, each in enumerate(body["messages"]):
            if each.get("role") == "system":
                return words(f"messages.{index}.role", message)
        return None

    return Rule("system_turn", "a message with the role `system`", source, check)


def functions_of_caller(source: str, message: str) -> Rule:
    """Return a rule for servers of messages that have none of the tools which Anthropic defines."""

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for index, tool in enumerate(body.get("tools") or ()):
            if not tool.get("name") or not isinstance(tool.get("input_schema"), dict):
                return anthropic_error(f"tools.{index}", message)
        return None

    return Rule("tool_type", "a tool without a name and an `input_schema`", source, check)


def is_remote_image(block: JsonObject) -> bool:
    """Return whether a block is an image by URL."""
    return block.get("type") == "image" and (block.get("source") or {}).get("type") == "url"


def of_types(*types: str) -> Callable[[JsonObject], bool]:
    """Return a function for whether a block has one of some types."""
    return lambda block: block.get("type") in types


def no_nested_fields(source: str, *fields: str) -> Rule:
    """Return a rule for a server of Google that rejects fields which only the other one has: the Gemini API, or Vertex AI.

    ``fields``: keys with slashes; ``*`` is any item.
    """

    def check(body: JsonObject, _facts: Facts) -> Failure | None:
        for field in fields:
            if any(value is not None for value in _values_at(body, field.split("/"))):
                name = field.rpartition("/")[2]
                return google_error(field, f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')
        return None

    return Rule("unknown_name", f"{', '.join(fields)}", source, check)


def _values_at(value: Any, steps: list[str]) -> Iterator[Any]:
    if not steps:
        yield value
    elif steps[0] == "*" and isinstance(value, list):
        for item in value:
            yield from _values_at(item, steps[1:])
    elif isinstance(value, dict) and steps[0] in value:
        yield from _values_at(value[steps[0]], steps[1:])
