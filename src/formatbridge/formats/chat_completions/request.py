"""Requests of Chat Completions."""

from __future__ import annotations

from formatbridge import ir
from formatbridge.formats.chat_completions.conversation import decode_message, encode_message
from formatbridge.formats.chat_completions.holds import drop_unheld
from formatbridge.formats.chat_completions.hosted_tools import decode_hosted_tool
from formatbridge.formats.chat_completions.reasoning import decode_reasoning_config, encode_reasoning_config
from formatbridge.formats.chat_completions.reasoning_control import CONFIG_FIELDS, encode_reasoning_off
from formatbridge.formats.chat_completions.schema import decode_audio_output, decode_format, encode_format, encode_modalities
from formatbridge.formats.chat_completions.settings import (
    OTHER_NAMES,
    SETTINGS,
    decode_counted_logprobs,
    decode_nested_settings,
    encode_settings,
    encode_streaming,
)
from formatbridge.formats.chat_completions.tool_calls import flush_media
from formatbridge.formats.chat_completions.tools import (
    decode_function,
    decode_tool,
    decode_tool_choice,
    encode_tool_choice,
    encode_tools,
)
from formatbridge.formats.shared.settings import (
    continues_answers,
    continues_each_answer,
    decode_flat_settings,
    forced_call_excludes_reasoning,
    has_any_object,
    has_output_format,
    note_json_instruction,
    with_json_instruction,
)
from formatbridge.formats.shared.tool_results import pair_results_without_ids, with_results_in_place
from formatbridge.formats.shared.tool_selection import added_tools, forces_call, has_functions, note_moved
from formatbridge.formats.shared.tools import drop_choice
from formatbridge.formats.shared.turns import note_no_turns, note_prefill, with_instructions_first
from formatbridge.formats.shared.unmodelled_fields import merge_extra, read_extra
from formatbridge.jsontext.types import JsonObject
from formatbridge.options import Options
from formatbridge.report.ledger import Ledger

_KNOWN = SETTINGS.canonical.keys() | CONFIG_FIELDS | OTHER_NAMES.keys() | {
    "model", "messages", "stream", "stream_options", "stop", "max_tokens", "tools", "tool_choice", "functions", "function_call",
    "response_format", "web_search_options", "search_domain_filter", "modalities", "audio", "service_tier", "cache_control",
}  # fmt: skip
_TOOL_FIELDS = frozenset({"tools", "functions", "web_search_options", "search_domain_filter"})
_BODY = frozenset({"model", "messages", "stream"})
"""Keys that ``decode_request`` reads itself."""


def decode_request(body: JsonObject, *, model: str | None, stream: bool | None) -> ir.Request:
    """Decode a request."""
    stream = bool(body.get("stream") if stream is None else stream)
    messages = _decode_messages(body["messages"])
    request = ir.Request("chat_completions", model or body.get("model"), stream, messages)
    if not decode_flat_settings(body, SETTINGS, request, _BODY):
        _decode_nested_options(body, request)
    # Together's servers read a number of alternatives here (fixture ``logprobs_counted_only``). OpenAI's field is a boolean.
    if type(request.settings.get("logprobs")) is int:
        decode_counted_logprobs(request.settings)
    return request


def encode_request(request: ir.Request, losses: Ledger, options: Options) -> JsonObject:
    """Encode a request."""
    drop_unheld(request, losses)
    model = losses.added("/model", "") if request.model is None else request.model
    body: JsonObject = {"model": model, "messages": _encode_conversation(request, losses, options)}
    tools = _all_tools(request, losses) if request.has_added_tools else request.tools
    if tools or request.tool_choice or "parallel_tool_calls" in request.settings:
        body |= _encode_tools(request, tools, losses)
    excludes = _what_excludes_reasoning(request, body, losses)
    if excludes is not None:
        body |= encode_reasoning_off(request.reasoning, losses, excludes)
    elif request.reasoning:
        body |= encode_reasoning_config(request.reasoning, losses)
    if request.output_format:
        body |= encode_format(request.output_format, losses, options)
    if request.audio or "modalities" in request.settings:
        body |= encode_modalities(request, losses)
    if request.settings:
        encode_settings(request, body, losses)
    return body | encode_streaming(request, losses) if request.stream else body


def _encode_conversation(request: ir.Request, losses: Ledger, options: Options) -> list[JsonObject]:
    """Encode the messages, and note what the conversation lacks or cannot express."""
    # Chat templates of open models reject later system messages: "System message must be at the beginning" (QwenLM/Qwen3.8#244).
    in_order = request.messages if options.mid_system == "native" else with_instructions_first(request.messages, losses)
    is_dropped = options.json_mode == "drop" and not has_any_object(losses.dialect)
    messages = in_order if request.output_format is None or is_dropped else with_json_instruction(in_order, request.output_format)
    encoded = _encode_messages(messages, request.has_calls, losses)
    if messages is not in_order:
        note_json_instruction(encoded, "/messages", losses)
    # Only Anthropic documents that a final assistant message is continued (official SDK of Anthropic, ``messages``: prefill).
    if request.continues_last_turn and not continues_answers(losses.dialect):
        note_prefill(request, losses)
    if not encoded:
        note_no_turns(request, losses)
    return encoded


def _what_excludes_reasoning(request: ir.Request, body: JsonObject, losses: Ledger) -> str | None:
    """Return the code of what a request has that the server rejects with reasoning; None: nothing."""
    if "tool_choice" in body and forced_call_excludes_reasoning(losses) and forces_call(request):
        return "with_forced_call"
    if losses.dialect is not None and losses.dialect.format_excludes_reasoning and has_output_format(request):
        return "with_output_format"
    if losses.dialect is not None and losses.dialect.functions_exclude_reasoning and has_functions(request):
        return "with_functions"
    last = body["messages"][-1] if body["messages"] else {}  # the encoder has moved results to their calls, so the order is final
    is_answer = last.get("role") == "assistant" and not last.get("tool_calls")
    return "with_final_answer" if is_answer and continues_each_answer(losses.dialect) else None


def _decode_nested_options(body: JsonObject, request: ir.Request) -> None:
    """Decode the fields that are not flat settings: tools, reasoning settings, output formats."""
    unread = decode_nested_settings(body, request.settings)  # type: ignore[arg-type]  # built key by key
    if unread or not _KNOWN.issuperset(body):
        request.extra = merge_extra(read_extra(body, _KNOWN), unread)
    if not _TOOL_FIELDS.isdisjoint(body):
        request.tools = _decode_tools(body)
    # ``function_call`` is "deprecated in favor of `tool_choice`" (official SDK, ``CompletionCreateParams``). So with both,
    # ``tool_choice`` is valid (fixture tool_choice_twice).
    choice, legacy = body.get("tool_choice"), body.get("function_call")
    if choice:
        request.tool_choice = decode_tool_choice(choice, request.tools, "/tool_choice")
        request.extra = merge_extra(request.extra, {"function_call": legacy} if legacy and legacy != choice else None)
    elif legacy:
        request.tool_choice = decode_tool_choice(legacy, request.tools, "/function_call")
    format, audio = body.get("response_format"), body.get("audio")
    if not CONFIG_FIELDS.isdisjoint(body):
        request.reasoning, unread = decode_reasoning_config(body)
        request.extra = merge_extra(request.extra, unread)
    if format:
        request.output_format = decode_format(format)
    if audio:
        request.audio = decode_audio_output(audio)


def _decode_messages(raws: list[JsonObject]) -> list[ir.Message]:
    unpaired: list[ir.ToolResult] = []
    messages: list[ir.Message] = []
    for index, raw in enumerate(raws):
        messages.append(decode_message(raw, f"/messages/{index}", unpaired))
    # Some clients leave out ``tool_call_id`` (fixture ``results_without_id_only``). Names and the order of the calls then decide.
    if unpaired:
        pair_results_without_ids(messages)
    return messages


def _encode_messages(messages: list[ir.Message], has_calls: bool, losses: Ledger) -> list[JsonObject]:
    """Encode messages. Results follow the message with their calls directly, and their media follow the last of these results."""
    messages_out: list[JsonObject] = []
    media: list[JsonObject] = []
    generated_ids: set[str] = set()
    # "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'"
    # (langgenius/dify#32222). So media wait until the last result of a turn is encoded.
    for message in with_results_in_place(messages, losses, joins_turns=False) if has_calls else messages:
        drop_unheld(message, losses)
        if not message.parts and message.role in ("system", "developer"):  # it only changed the tools or the effort
            continue
        encoded = encode_message(message, losses, generated_ids, media)
        if media and encoded and encoded[0]["role"] != "tool":
            messages_out += flush_media(media)
        messages_out += encoded
    if media:
        messages_out += flush_media(media)
    if generated_ids:
        _note_generated_ids(messages_out, generated_ids, losses)
    return messages_out


def _note_generated_ids(messages: list[JsonObject], generated_ids: set[str], losses: Ledger) -> None:
    """Note the generated ids of calls, at the calls and at their results."""
    for index, message in enumerate(messages):
        for number, call in enumerate(message.get("tool_calls") or ()):
            if call["id"] in generated_ids:
                losses.added(f"/messages/{index}/tool_calls/{number}/id", call["id"])
        if message["role"] == "tool" and message["tool_call_id"] in generated_ids:
            losses.added(f"/messages/{index}/tool_call_id", message["tool_call_id"])


def _all_tools(request: ir.Request, losses: Ledger) -> list[ir.Tool]:
    """Return the tools of the request and of its messages, because this format has tools for the whole request only."""
    added = added_tools(request)
    if not added:
        return request.tools
    for message in request.messages:
        if message.tools:
            note_moved(message.tools, losses)
    return request.tools + added


def _decode_tools(body: JsonObject) -> list[ir.Tool]:
    """Decode ``tools``, and the functions in the deprecated field."""
    tools = [decode_tool(raw, f"/tools/{index}") for index, raw in enumerate(body.get("tools") or ())]
    tools += [decode_function(raw, f"/functions/{index}", "", None) for index, raw in enumerate(body.get("functions") or ())]
    # Web search is a setting here, not an entry of ``tools`` (official SDK, ``WebSearchOptions``). An empty object enables it.
    # Perplexity always searches, and its callers may set the domains alone (docs.perplexity.ai/docs/sonar/filters).
    search = body.get("web_search_options")
    domains = [domain for domain in body.get("search_domain_filter") or () if domain.removeprefix("-")]  # an empty one names none
    return [*tools, decode_hosted_tool(search, domains)] if search is not None or domains else tools


def _encode_tools(request: ir.Request, tools: list[ir.Tool], losses: Ledger) -> JsonObject:
    """Encode the tools, the tool choice and ``parallel_tool_calls``. The latter two are encoded only together with ``tools``."""
    body = encode_tools(tools, losses)
    # "'parallel_tool_calls' is only allowed when 'tools' are specified" (openai/swarm#30).
    if "tools" not in body:
        drop_choice(request, losses)
        return body
    choice = encode_tool_choice(request.tool_choice, tools, losses) if request.tool_choice else None
    if choice is not None:
        body["tool_choice"] = choice
    if "parallel_tool_calls" in request.settings:
        body["parallel_tool_calls"] = request.settings["parallel_tool_calls"]
    return body
