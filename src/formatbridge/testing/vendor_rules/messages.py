"""What the server of messages rejects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from formatbridge.jsontext.pointers import unescape, value_at
from formatbridge.jsontext.types import JsonObject
from formatbridge.testing.script import Failure
from formatbridge.testing.vendor_rules.rule import Facts, Rule

_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNIONS = ("oneOf", "allOf", "anyOf")
_WITHOUT_CODE_CALLERS = "claude-haiku-4-5"
"""The beginning of the ids of the model that cannot call tools from code."""
_WITH_ONE_SAMPLING = re.compile(r"claude-(?:opus-4-1|sonnet-4-[56]|haiku-4-5)")
_TOKEN_SLOTS = {"thinking": "signature", "redacted_thinking": "data"}
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_OTHER_FILE = re.compile(r"\.(mp3|wav|mp4|mov|docx|csv|txt|html|json|svg|tiff)$", re.IGNORECASE)
_LONGEST_USER, _LEAST_BUDGET, _LEAST_TOP_P, _MOST_MARKS = 256, 1024, 0.95, 4


def _failure(message: str, **details: Any) -> Failure:
    """Return an error with the vendor's error body."""
    error = {"type": "invalid_request_error", "message": message} | ({"details": details} if details else {})
    return Failure(400, message, body={"type": "error", "error": error})


def _check_model(body: JsonObject, _facts: Facts) -> Failure | None:
    if body.get("model"):
        return None
    return _failure("model: String should have at least 1 character" if "model" in body else "model: Field required")


def _check_messages(body: JsonObject, _facts: Facts) -> Failure | None:
    return None if body["messages"] else _failure("messages: at least one message is required")


def _check_token_limit(body: JsonObject, _facts: Facts) -> Failure | None:
    return _failure("max_tokens: Field required") if body.get("max_tokens") is None else None


def _check_schemas(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first tool whose schema has a union at its root."""
    for index, tool in enumerate(body.get("tools") or ()):
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and not schema.keys().isdisjoint(_UNIONS):
            reason = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            return _failure(f"tools.{index}.custom.input_schema: {reason}")
    return None


def _check_property_names(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first tool with an illegal name of a property. The server does not check the objects inside."""
    for index, tool in enumerate(body.get("tools") or ()):
        properties = (tool.get("input_schema") or {}).get("properties")
        if isinstance(properties, dict) and not all(map(_PROPERTY_NAME.fullmatch, properties)):
            reason = f"Property keys should match pattern '^{_PROPERTY_NAME.pattern}$'"
            return _failure(f"tools.{index}.custom.input_schema.properties: {reason}")
    return None


def _check_recursion(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first recursive schema that the server must enforce: of a strict tool, or of the output format."""
    schemas = {
        f"tools.{index}.custom.input_schema": tool.get("input_schema")
        for index, tool in enumerate(body.get("tools") or ())
        if tool.get("strict")
    }
    schemas["output_format.schema"] = ((body.get("output_config") or {}).get("format") or body.get("output_format") or {}).get(
        "schema"
    )
    for path, schema in schemas.items():
        if isinstance(schema, dict) and (name := _recursive_reference(schema, schema, ("#",), set())):
            reason = "Self-referencing or mutually-referencing definitions are not supported."
            return _failure(f"{path}: Circular reference detected in schema definitions: {name} -> {name}. {reason}")
    return None


def _recursive_reference(root: JsonObject, node: Any, followed: tuple[str, ...], harmless: set[str]) -> str | None:
    """Return the name of a reference that leads back to itself, else None.

    ``followed``: the references that lead to this node. ``harmless``: the references that were already followed to their end.
    """
    if isinstance(node, dict) and isinstance(reference := node.get("$ref"), str) and reference not in harmless:
        if reference in followed:
            return reference.rpartition("/")[2]
        steps = reference.split("/")[1:] if reference.startswith("#/") else []
        target = value_at(root, tuple(map(unescape, steps))) if steps else None
        if name := _recursive_reference(root, target, (*followed, reference), harmless):
            return name
        harmless.add(reference)
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        if name := _recursive_reference(root, value, followed, harmless):
            return name
    return None


def _check_tokens(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject the first reasoning block that this server did not sign."""
    for place, message in enumerate(body["messages"]):
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            slot = _TOKEN_SLOTS.get(block.get("type"))
            if slot is not None and not facts.accepts_token("messages", block.get(slot)):
                return _failure(f"messages.{place}.content.{index}: Invalid `{slot}` in `{block['type']}` block")
    return None


def _check_thread(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a request for a thread; the client then sends the whole conversation instead."""
    if body.get("thread") is None:
        return None
    message = "thread: this server does not keep threads, send the full conversation without `thread`"
    return _failure(message, error_code="thread_unsupported_request")


def _check_callers(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject the tools that code may call, if the model cannot call tools from code."""
    if not facts.model.startswith(_WITHOUT_CODE_CALLERS):
        return None
    names = [tool["name"] for tool in body.get("tools") or () if "name" in tool and _may_be_called_by_code(tool)]
    if not names:
        return None
    advice = f"The following tools have `allowed_callers` that require it: {', '.join(names)}"
    return _failure(f"'{facts.model}' does not support programmatic tool calling. {advice}")


def _may_be_called_by_code(tool: JsonObject) -> bool:
    """Return whether code may call a tool. It may call search and fetch by default, since the versions that filter pages."""
    filters = str(tool.get("type")).startswith(("web_search_2026", "web_fetch_2026"))
    return (tool.get("allowed_callers") or ["code" if filters else "direct"]) != ["direct"]


def _check_cache_durations(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first cache mark of an hour that comes after one of five minutes."""
    has_short = False
    for path, mark in _cache_marks(body):
        if mark.get("ttl") != "1h":
            has_short = True
        elif has_short:
            order = "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
            reason = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
            return _failure(f"{path}.cache_control.ttl: {reason} {order}")
    return None


def _cache_marks(body: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the cache marks of a request and the paths of their blocks, in the order of the server."""
    for name in ("tools", "system", "messages"):
        yield from _marks_within(name, body.get(name))


def _marks_within(path: str, node: Any) -> Iterator[tuple[str, JsonObject]]:
    """Yield the cache marks of a block and of the blocks in its content, which come before it."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from _marks_within(f"{path}.{index}", item)
    elif isinstance(node, dict):
        yield from _marks_within(f"{path}.content", node.get("content"))
        if isinstance(node.get("cache_control"), dict):
            yield path, node["cache_control"]


def _check_deferred(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject tools that are all deferred."""
    tools = body.get("tools") or []
    if not tools or not all(tool.get("defer_loading") for tool in tools):
        return None
    return _failure("At least one tool must have defer_loading=false. All tools cannot be deferred.")


def _check_calls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first call without a result in the next message."""
    messages = body["messages"]
    for index, message in enumerate(messages):
        results = _ids_in(messages[index + 1], "tool_result", "tool_use_id") if index + 1 < len(messages) else {}
        unanswered = [id for id in _ids_in(message, "tool_use", "id") if id not in results]
        if unanswered:
            required = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            reason = f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(unanswered)}"
            return _failure(f"messages.{index}: {reason}. {required}")
    return None


def _check_results(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first result without a call in the message before."""
    messages = body["messages"]
    for index, message in enumerate(messages):
        calls = _ids_in(messages[index - 1], "tool_use", "id") if index else {}
        for id, at in _ids_in(message, "tool_result", "tool_use_id").items():
            if id not in calls:
                required = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                reason = f"unexpected `tool_use_id` found in `tool_result` blocks: {id}"
                return _failure(f"messages.{index}.content.{at}: {reason}. {required}")
    return None


def _check_second_results(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first second result of a call."""
    answered: set[object] = set()
    for path, block in _blocks("messages", body["messages"]):
        if block.get("type") == "tool_result":
            id = block.get("tool_use_id")
            if id in answered:
                reason = "each tool_use must have a single result. Found multiple `tool_result` blocks with id"
                return _failure(f"{path}: {reason}: {id}")
            answered.add(id)
    return None


def _check_call_ids(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first id of a call that has other characters or that an earlier call has."""
    ids: set[object] = set()
    for path, block in _blocks("messages", body["messages"]):
        id = block.get("id") if block.get("type") == "tool_use" else None
        if isinstance(id, str) and not _CALL_ID.fullmatch(id):
            return _failure(f"{path}.tool_use.id: String should match pattern '^{_CALL_ID.pattern}$'")
        if id is not None and id in ids:
            return _failure(f"{path}: `tool_use` ids must be unique")
        ids.add(id)
    return None


def _check_failed_results(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first failed result with other blocks than texts."""
    for path, block in _blocks("messages", body["messages"]):
        if block.get("type") == "tool_result" and block.get("is_error"):
            content = block.get("content")
            if isinstance(content, list) and any(inner.get("type") != "text" for inner in content):
                return _failure(f"{path}.tool_result: all content must be type `text` if `is_error` is true")
    return None


def _check_texts(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first empty text, and the first blank one that the model did not write between other blocks."""
    blocks = [("system", path, block, False) for path, block in _blocks("system", body.get("system"))]
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        # Answers with a web search have blank texts, which the server accepts again (recorded traffic).
        is_answer = message["role"] == "assistant" and isinstance(content, list) and len(content) > 1
        blocks += [("messages", path, block, is_answer) for path, block in _blocks(f"messages.{index}.content", content)]
    for name, path, block, may_be_blank in blocks:
        text = block.get("text") if block.get("type") == "text" else None
        if text == "" and block.get("cache_control"):
            return _failure(f"{path}.text: cache_control cannot be set for empty text blocks")
        if text == "":
            return _failure(f"{name}: text content blocks must be non-empty")
        if isinstance(text, str) and text.isspace() and not may_be_blank:
            return _failure(f"{name}: text content blocks must contain non-whitespace text")
    return None


def _check_contents(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first message without content. A final message of the model may have none."""
    for index, message in enumerate(body["messages"]):
        content = message.get("content")
        is_prefill = message["role"] == "assistant" and index == len(body["messages"]) - 1
        if content in ("", []) and not is_prefill:
            reason = "all messages must have non-empty content except for the optional final assistant message"
            return _failure(f"messages.{index}: {reason}")
        if isinstance(content, str) and content.isspace():
            return _failure("messages: text content blocks must contain non-whitespace text")
    return None


def _check_prefill(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a final message of the model that ends with white space or thinking, or that has thinking although thinking is off."""
    index = len(body["messages"]) - 1
    last = body["messages"][-1] if body["messages"] else {}
    content = last.get("content")
    if last.get("role") != "assistant" or not content:
        return None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    thoughts = [at for at, block in enumerate(blocks) if block.get("type") in _TOKEN_SLOTS]
    if str(blocks[-1].get("text", ""))[-1:].isspace():
        return _failure("messages: final assistant content cannot end with trailing whitespace")
    if len(blocks) - 1 in thoughts:
        return _failure(f"messages.{index}: The final block in an assistant message cannot be `thinking`.")
    if thoughts and not _thinks(body):
        reason = "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
        return _failure(
            f"messages.{index}.content.{thoughts[0]}: {reason} To use thinking blocks, enable `thinking` in your request."
        )
    return None


def _check_budget(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a budget below the minimum, and one that leaves no tokens for the answer."""
    thinking = body.get("thinking") or {}
    budget = thinking.get("budget_tokens") if thinking.get("type") == "enabled" else None
    if budget is not None and budget < _LEAST_BUDGET:
        return _failure(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {_LEAST_BUDGET}")
    if budget is not None and body.get("max_tokens") is not None and budget >= body["max_tokens"]:
        return _failure("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


def _check_next_to_thinking(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a forced call and sampling settings next to thinking."""
    if not _thinks(body):
        return None
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        return _failure("Thinking may not be enabled when tool_choice forces tool use.")
    if body.get("temperature") not in (None, 1):
        return _failure("`temperature` may only be set to 1 when thinking is enabled.")
    if body.get("top_k") is not None:
        return _failure("`top_k` must be unset when thinking is enabled.")
    if body.get("top_p") is not None and not _LEAST_TOP_P <= body["top_p"] <= 1:
        return _failure(f"`top_p` must be greater than or equal to {_LEAST_TOP_P} or unset when thinking is enabled.")
    return None


def _check_thinking_first(body: JsonObject, _facts: Facts) -> Failure | None:
    """With a budget, reject a current answer of the model that does not begin with thinking."""
    messages = body["messages"]
    if (body.get("thinking") or {}).get("type") != "enabled":
        return None
    index = len(messages) - 1
    while index >= 0 and messages[index]["role"] == "user" and _first_kind(messages[index]) == "tool_result":
        index -= 1
    if index < 0 or messages[index]["role"] != "assistant" or _first_kind(messages[index]) in (*_TOKEN_SLOTS, None):
        return None
    kinds = f"Expected `thinking` or `redacted_thinking`, but found `{_first_kind(messages[index])}`."
    reason = "When `thinking` is enabled, a final `assistant` message must start with a thinking block"
    return _failure(f"messages.{index}.content.0.type: {kinds} {reason}")


def _first_kind(message: JsonObject) -> Any:
    """Return the type of the first block of a message; None if it has none."""
    content = message.get("content")
    return "text" if isinstance(content, str) else content[0].get("type") if content else None


def _thinks(body: JsonObject) -> bool:
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def _check_choice(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject a choice without tools."""
    # A mid-conversation system message may add tools; then nothing is known of the server's answer.
    if body.get("tool_choice") is None or body.get("tools") or any(message["role"] == "system" for message in body["messages"]):
        return None
    return _failure("tool_choice may only be specified while providing tools.")


def _check_tool_names(body: JsonObject, _facts: Facts) -> Failure | None:
    names = [tool["name"] for tool in body.get("tools") or () if tool.get("name")]
    return _failure("tools: Tool names must be unique.") if len(names) > len(set(names)) else None


def _check_mark_count(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject more cache marks than the server takes. The automatic mark counts."""
    count = sum(1 for _ in _cache_marks(body)) + bool(body.get("cache_control"))
    if count <= _MOST_MARKS:
        return None
    return _failure(f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found {count}.")


def _check_user(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject an id of the end user that is an email address or too long."""
    user = (body.get("metadata") or {}).get("user_id") or ""
    if _EMAIL.search(user):
        advice = "Please send a uuid or hash value instead."
        return _failure(f"metadata.user_id: user_id appears to contain an email address. {advice}")
    if len(user) > _LONGEST_USER:
        return _failure(f"metadata.user_id: String should have at most {_LONGEST_USER} characters")
    return None


def _check_sampling(body: JsonObject, facts: Facts) -> Failure | None:
    """Reject both parameters of sampling, if the model accepts only one."""
    if body.get("temperature") is None or body.get("top_p") is None or not _WITH_ONE_SAMPLING.search(facts.model):
        return None
    return _failure("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")


def _check_stops(body: JsonObject, _facts: Facts) -> Failure | None:
    if all(text.strip() for text in body.get("stop_sequences") or ()):
        return None
    return _failure("stop_sequences: each stop sequence must contain non-whitespace")


def _check_media_urls(body: JsonObject, _facts: Facts) -> Failure | None:
    """Reject the first URL with the extension of another file than an image or a PDF."""
    for path, block in _blocks("messages", body["messages"]):
        source = block.get("source") if block.get("type") in ("image", "document") else None
        if isinstance(source, dict) and source.get("type") == "url" and _OTHER_FILE.search(str(source.get("url"))):
            return _failure(f"{path}.{block['type']}.source.url: Unable to download the file. Please verify the URL and try again.")
    return None


def _blocks(path: str, value: Any) -> Iterator[tuple[str, JsonObject]]:
    """Yield the content blocks of messages or of a system prompt, those of results included, and their paths."""
    for index, node in enumerate(value if isinstance(value, list) else ()):
        place = f"{path}.{index}"
        if "role" not in node:
            yield place, node
        yield from _blocks(f"{place}.content", node.get("content"))


def _ids_in(message: JsonObject, kind: str, key: str) -> dict[str, int]:
    """Return the ids in the blocks of one kind, and the indexes of these blocks."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return {block[key]: at for at, block in enumerate(blocks) if block.get("type") == kind and isinstance(block.get(key), str)}


RULES = (
    Rule("no_model", "`model` is missing or empty", "docs, Create a Message", _check_model),
    Rule("no_messages", "`messages` is empty", "Helicone/helicone#5257, langgenius/dify#1893", _check_messages),
    Rule("no_token_limit", "`max_tokens` is missing",
         "tickernelz/opencode-mem#50, testomatio/app#1194, microsoft/foundry-dev-tools#385", _check_token_limit),
    Rule("unanswered_call", "a `tool_use` block has no `tool_result` in the next message",
         "anthropics/claude-code#5060, Kilo-Org/kilocode#5163, langchain-ai/langgraph#5109", _check_calls),
    Rule("orphan_result", "a `tool_result` has no `tool_use` block in the message before",
         "decocms/studio#1803, router-for-me/CLIProxyAPI#497", _check_results),
    Rule("union_at_root", "the root of an `input_schema` has `oneOf`, `anyOf` or `allOf`",
         "anomalyco/opencode#46628, langchain-ai/langchain#39271, anthropics/claude-code#40075", _check_schemas),
    Rule("property_name", "a property of an `input_schema` has an illegal name",
         "ComposioHQ/composio#3500, decocms/studio#6874, anthropics/claude-code#79418", _check_property_names),
    Rule("recursive_schema", "the schema of a `strict` tool or of the output format refers to itself",
         "egonSchiele/agency-lang#487, experientiallabs/experiential#804", _check_recursion),
    Rule("prefill", "the last message is of the model, and ends with white space or thinking, or has thinking although thinking is off",
         "tailcallhq/forgecode#1872 and #1195, router-for-me/CLIProxyAPI#5321", _check_prefill),
    Rule("unknown_signature", "the `signature` of a thinking block, or the `data` of a redacted one, is not this server's",
         "anthropics/claude-code#10627 and #56708, anthropics/anthropic-sdk-python#1598", _check_tokens),
    Rule("thread", "`thread` asks for a conversation that the server keeps (`thread_unsupported_request`)",
         "anthropic SDK, thread_unsupported_request_error.py", _check_thread),
    Rule("all_deferred", "all tools have `defer_loading`", "nearai/ironclaw#7274", _check_deferred),
    Rule("cache_durations", "a `cache_control` of 1h comes after one of 5m, in the order of `tools`, `system` and `messages`",
         "vellum-ai/vellum-assistant#22191, cnighswonger/claude-code-cache-fix#44, headroomlabs-ai/headroom#2939",
         _check_cache_durations),
    Rule("code_callers", "code may call a tool, by `allowed_callers` or by default, and the model is Claude Haiku 4.5",
         "mangowhoiscloud/geode#632", _check_callers),
    Rule("call_id", "the id of a `tool_use` block is repeated, or has other characters than letters, digits, hyphens and underscores",
         "maximhq/bifrost#5097, RooCodeInc/Roo-Code#10649, BerriAI/litellm#23510, anomalyco/opencode#1279", _check_call_ids),
    Rule("second_result", "a second `tool_result` for one `tool_use` block",
         "sipeed/picoclaw#1793, QwenLM/qwen-code#8163, RooCodeInc/Roo-Code#9248", _check_second_results),
    Rule("failed_result_media", "a `tool_result` with `is_error` has other blocks than texts",
         "vellum-ai/vellum-assistant#18387, can1357/oh-my-pi#12809", _check_failed_results),
    Rule("blank_text", "a text block is empty, or blank and not between other blocks of an answer",
         "aliasrobotics/cai#182, anthropics/claude-code#23440 and #62379", _check_texts),
    Rule("empty_content", "a message has no content, or a blank one; the last message of the model may have none",
         "anthropics/claude-code#6774, corespeed-io/zypher-agent#122", _check_contents),
    Rule("thinking_budget", "`budget_tokens` is below 1024, or not below `max_tokens`",
         "tingly-dev/tingly-box#569, griffinwork40/agent-afk#951", _check_budget),
    Rule("thinking_excludes", "thinking with a forced call, with `top_k`, with a `temperature` other than 1, or a `top_p` below 0.95",
         "mastra-ai/mastra#7507, MartialBE/one-hub#529, SEMOSS/Semoss#1655", _check_next_to_thinking),
    Rule("thinking_first", "with a thinking budget, the answer whose calls were just answered does not begin with thinking",
         "anomalyco/opencode#3077, n8n-io/n8n#22550", _check_thinking_first),
    Rule("choice_without_tools", "`tool_choice` without `tools`", "microsoft/autogen, _anthropic_client.py", _check_choice),
    Rule("tool_names", "two tools have the same name",
         "tailcallhq/forgecode#892, eclipse-theia/theia#16122, danny-avila/LibreChat#13162", _check_tool_names),
    Rule("cache_marks", "more than 4 `cache_control` marks", "tghamm/Anthropic.SDK#50", _check_mark_count),
    Rule("user_id", "`metadata.user_id` is an email address, or longer than 256 characters",
         "BerriAI/litellm#10106; docs, Create a Message", _check_user),
    Rule("blank_stop", "a stop sequence is blank", "BerriAI/litellm#3286 and #7484", _check_stops),
    Rule("media_url", "the URL of an image or a document has the extension of another file",
         "docs, Vision; docs, PDF support", _check_media_urls),
    Rule("sampling", "both `temperature` and `top_p`, and the model is Claude Opus 4.1, Sonnet 4.5, Sonnet 4.6 or Haiku 4.5",
         "BerriAI/litellm#15097, open-webui/pipelines#546, Vali-98/ChatterUI#564", _check_sampling),
)  # fmt: skip
