"""Adapt a canonical request to the server that receives it, before its format encodes it.

Each difference is noted: what the server rejects, ignores or limits, and what it reads although the format does not have it. Another
name of the same setting is no loss. The sources of the rules are in ``docs/dialects.md``.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any

from formatbridge import ir
from formatbridge.dialect import DialectRules
from formatbridge.formats.format import FormatSpec
from formatbridge.formats.shared.parts import adapt_media, encode_opaque, is_list_item, is_same_list, reads_documents
from formatbridge.formats.shared.reasoning_tokens import drop_unsigned
from formatbridge.formats.shared.schemas import describe_format, describe_parameters
from formatbridge.formats.shared.settings import clamp, drop_setting_with_code, is_reasoning_off, with_read_fields, without_settings
from formatbridge.formats.shared.tool_arguments import read_object, wrap_invalid_arguments
from formatbridge.formats.shared.tool_selection import (
    adds_tools,
    all_tools,
    is_weakened,
    note_moved,
    with_free_choice,
    without_excluded_tools,
    without_other_tools,
    without_tools,
)
from formatbridge.formats.shared.turns import leading_instructions, with_instructions_first, without_final_answers
from formatbridge.jsontext.types import JsonValue
from formatbridge.report.ledger import Ledger
from formatbridge.report.losses import Severity

_REJECTED, _IGNORED, _UNSUPPORTED, _LIMIT = "rejected_by_server", "ignored_by_server", "unsupported_by_server", "server_limit"
_COMBINATION, _OTHER_TOOL = "rejected_combination", "other_tool_of_server"

_CACHED_ALSO = frozenset({"FunctionTool.cache", "CustomTool.cache", "ToolResult.cache"})
"""Nodes whose cache marks servers read that accept ``cache_control``, besides those of parts."""
_DOMAINS_ALSO = frozenset({"HostedTool.allowed_domains", "HostedTool.blocked_domains"})
"""Fields of web searches that servers with ``domain_filter`` or ``filtering_tool`` read."""
_USES_ALSO = frozenset({"HostedTool.max_uses"})
"""A field of web searches that servers with ``filtering_tool`` read."""
_VISIBILITY_ALSO = frozenset({"ReasoningConfig.visibility"})
"""A field of settings of reasoning that servers with ``hiding_field`` read."""
_LOGPROBS = frozenset({"logprobs", "top_logprobs"})
_FAST = frozenset({"fast", "ultrafast"})
"""Tiers that are the field ``speed`` of Messages."""
_TOOL_FIELDS = {"mcp": "mcp_servers", "web_search": "web_search_options"}
"""Families of server tools to the field of a body that has them instead of the list of tools."""
_ANY_OBJECT = {"type": "object"}
"""The schema that JSON mode corresponds to."""


def adapt_to_server(request: ir.Request, spec: FormatSpec, losses: Ledger) -> ir.Request:
    """Return a request as the server of ``spec.dialect`` accepts it; the same object if nothing changes. The ledger gets the rules."""
    rules = spec.dialect
    assert rules is not None
    # Encoders read the rules from the ledger, because most of them have no other use for the server.
    losses.dialect = rules
    losses.also_holds = _fields_of_server(rules)
    request = _adapt_settings(with_read_fields(request, rules), spec, rules, losses)
    if rules.unread:
        request = _without_unread_objects(request, rules, losses)
    request = _adapt_messages(request, rules, losses)
    if not _accepts_final_answers(request, spec, rules):
        request = without_final_answers(request, _REJECTED, losses)
    if changes_configuration(request, rules):
        request = _with_configuration_first(request, losses)
    if request.output_format is not None:
        request = _adapt_output_format(request, rules, losses)
    if request.reasoning is not None and rules.reasoning_control == "none":
        losses.dropped(request.reasoning, code=code_of_field("reasoning_effort", rules))
        request = replace(request, reasoning=None)
    request = _adapt_tool_choice(_adapt_tools(request, spec, rules, losses), rules, losses)
    if rules.ignores_while_reasoning:
        request = _without_ignored_settings(request, spec, rules, losses)
    request = _without_excluded_settings(request, rules, losses)
    excludes = rules.format_excludes_tools or rules.format_prevents_calls
    return _with_tools_or_format(request, rules, losses) if excludes else request


def _fields_of_server(rules: DialectRules) -> frozenset[str]:
    """Return the canonical fields that the server reads although its format does not have them."""
    marks = _CACHED_ALSO if rules.cache_marks == "cache_control" else frozenset()
    domains = _DOMAINS_ALSO if rules.domain_filter or rules.filtering_tool else frozenset()
    uses = _USES_ALSO if rules.filtering_tool is not None else frozenset()
    return marks | domains | uses | (_VISIBILITY_ALSO if rules.hiding_field is not None else frozenset())


def code_of_field(field: str, rules: DialectRules) -> str:
    """Return the code of the loss of a field that a server does not read."""
    return _REJECTED if field in rules.rejects | rules.rejects_while_reasoning else _IGNORED


def changes_configuration(request: ir.Request, rules: DialectRules) -> bool:
    """Return whether messages add tools or change the effort, and the server reads both before the first turn only."""
    is_first = not (rules.accepts_later_instructions and rules.accepts_later_configuration)
    return is_first and any(message.tools or message.effort for message in request.messages)


def _adapt_settings(request: ir.Request, spec: FormatSpec, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Leave out the settings that the server rejects or ignores, and stop sequences beyond its limit; move numbers into their ranges."""
    settings: dict[str, Any] = dict(request.settings)
    for name, value in request.settings.items():
        field = field_of(name, value, spec)
        if not rules.omits(field, value) and field not in rules.ignores_nested:
            continue
        del settings[name]
        drop_setting_with_code(request, name, code_of_field(field, rules), losses)
    stop = settings.get("stop")
    if stop and rules.most_stops is not None and len(stop) > rules.most_stops:
        settings["stop"] = losses.changed(request, "stop", stop[: rules.most_stops], _LIMIT)
    if settings.get("store") and not rules.stores_responses:
        settings["store"] = losses.changed(request, "store", False, _REJECTED, severity="info")
    least = rules.smallest_max_tokens
    if least is not None and 0 < (settings.get("max_tokens") or 0) < least:
        # A caller that only checks the connection sends such a limit.
        settings["max_tokens"] = losses.changed(request, "max_tokens", least, "server_range", severity="info")
    for name in rules.ranges:
        if settings.get(name) is not None:
            settings[name] = clamp(request, name, settings[name], rules.ranges, losses, "server_range")
    return replace(request, settings=settings) if settings != request.settings else request  # type: ignore[arg-type]  # the same keys


def _without_ignored_settings(request: ir.Request, spec: FormatSpec, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Leave out the settings that the server ignores in a request in which the model reasons."""
    if not may_reason(request, spec):
        return request
    names = {name for name, value in request.settings.items() if field_of(name, value, spec) in rules.ignores_while_reasoning}
    return without_settings(request, names, _IGNORED, losses)


def _without_excluded_settings(request: ir.Request, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Leave out the settings that the server rejects next to tools, or next to a temperature of 0."""
    has_tools = bool(request.tools) or adds_tools(request)
    by_tools = rules.excluded_by_tools if has_tools else frozenset()
    by_greedy = rules.excluded_by_greedy_sampling if request.settings.get("temperature") == 0 else frozenset()
    names: set[str] = {name for name in by_tools | by_greedy if request.settings.get(name) != 1}
    if rules.streamed_tools_exclude_logprobs and request.stream and has_tools and request.settings.get("logprobs"):
        names |= _LOGPROBS
    return without_settings(request, names, _COMBINATION, losses)


def may_reason(request: ir.Request, spec: FormatSpec) -> bool:
    """Return whether a model that reasons by default does so in a request. ``spec``: that of the server."""
    config = request.reasoning
    is_off = config is not None and (is_reasoning_off(config) or config.mode == "between_tools")
    return not is_off and not spec.excludes_reasoning(request)


def _accepts_final_answers(request: ir.Request, spec: FormatSpec, rules: DialectRules) -> bool:
    """Return whether the server accepts messages of the model at the end of a request."""
    if rules.final_answer_field is None or not request.messages or not may_reason(request, spec):
        return rules.accepts_final_answers
    extra = request.messages[-1].extra
    return extra is not None and extra.get(rules.final_answer_field) is True


def field_of(name: str, value: object, spec: FormatSpec) -> str:
    """Return the field of a body with a setting: one at its top, or a member of an object that some servers ignore."""
    places = spec.field_paths.places.get(f"Request.{name}", (name,))
    # Messages has the fast tier in a separate field.
    is_other = name == "tier" and value not in _FAST
    place = spec.settings.wire.get(name) or (places[-1] if is_other else places[0])
    is_ignored = spec.dialect is not None and place in spec.dialect.ignores_nested
    return place if is_ignored else place.partition("/")[0]


def _without_unread_objects(request: ir.Request, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Leave out the audio output, the tool choice and the tools of a server that has none."""
    unread = rules.unread
    if request.audio is not None and "audio" in unread:
        losses.dropped(request.audio, code=code_of_field("audio", rules))
        request = replace(request, audio=None)
    choice = request.tool_choice
    if choice is not None and "tool_choice" in unread:
        if choice.mode == "none" and request.tools:  # the model would call a tool that it has
            return _without_tools(request, "not_allowed", "info", losses)
        if restricts_functions(choice):
            return request  # ``_adapt_tool_choice`` leaves out the other tools
        if choice.mode != "auto":
            losses.dropped(choice, code=code_of_field("tool_choice", rules))
        losses.extras(choice)
        request = replace(request, tool_choice=None)
    return request


def restricts_functions(choice: ir.ToolChoice) -> bool:
    """Return whether a choice lists the functions that the model may call."""
    return choice.mode == "allowed" and not choice.hosted


def _adapt_output_format(request: ir.Request, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Replace an output format that the server does not have by the nearest one."""
    format = request.output_format
    if format is None or format.type == "text":
        return request
    if rules.schema_excludes_stream and request.stream and format.type == "json_schema":
        losses.dropped(format, code=_COMBINATION, severity="impossible")  # the caller parses the answer
        return replace(request, output_format=None)
    is_instruction = format.type == "json_object" and not rules.accepts_any_object  # which the encoder writes
    if format.type in rules.output_formats or is_instruction:
        described = describe_format(format, rules, losses)
        return request if described is format else replace(request, output_format=described)
    if not rules.output_formats:
        losses.dropped(format, code=_UNSUPPORTED, severity="impossible")
        return replace(request, output_format=None)
    # JSON mode ensures the syntax and not the schema, so this is a loss. The reverse only names any object.
    if format.type == "json_schema":
        losses.changed(format, "", {"type": "json_object"}, _UNSUPPORTED)
        # Messages has an instruction in place of JSON mode, which includes the schema.
        return replace(request, output_format=ir.OutputFormat(type="json_object", schema=format.schema, src=format.src))
    return replace(request, output_format=replace(format, type="json_schema", name="json", schema=dict(_ANY_OBJECT)))


def _with_tools_or_format(request: ir.Request, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Leave out the output format of a request with tools; or its tools, if the model must not call one.

    An agent with its tools can still work, so its requests must pass by default: this loss is not ``impossible``.
    """
    format, choice = request.output_format, request.tool_choice
    if format is None or not (request.tools or adds_tools(request)):
        return request
    is_off = choice is not None and choice.mode == "none" and not choice.always_allowed
    if rules.format_prevents_calls and (is_off or format.type == "text"):
        return request
    if format.type != "text" and is_off:
        return _without_tools(request, "not_allowed", "info", losses)
    if format.type != "text":
        losses.dropped(format, code="prevents_calls" if rules.format_prevents_calls else _COMBINATION)
    return replace(request, output_format=None)


def _adapt_messages(request: ir.Request, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Adapt the roles, the order and the parts of messages."""
    messages = request.messages
    if not rules.accepts_developer_role:
        messages = [replace(message, role="system") if message.role == "developer" else message for message in messages]
    if not rules.accepts_later_instructions:
        messages = with_instructions_first(_without_changes_of_tools(messages, losses), losses)
    if rules.requires_single_instruction:
        messages = _with_one_instruction(messages, losses)
    messages = [_adapt_parts(message, rules, losses) for message in messages]
    return request if is_same_list(messages, request.messages) else replace(request, messages=messages)


def _with_one_instruction(messages: list[ir.Message], losses: Ledger) -> list[ir.Message]:
    """Join the messages with instructions before the first turn. Each keeps its parts; the fields of the messages themselves are lost."""
    leading = leading_instructions(messages)
    if leading < 2:
        return messages
    first, *others = messages[:leading]
    for message in others:
        losses.extras(message)
    parts = [part for message in messages[:leading] for part in message.parts]
    return [replace(first, parts=parts), *messages[leading:]]


def _without_changes_of_tools(messages: list[ir.Message], losses: Ledger) -> list[ir.Message]:
    """Leave out the parts of later instructions that only their format has: they load tools, or remove them, from there on."""
    leading = leading_instructions(messages)
    kept = messages[:leading]
    for message in messages[leading:]:
        is_instruction = message.role in ("system", "developer")
        opaque = [part for part in message.parts if isinstance(part, ir.Opaque)] if is_instruction else []
        if opaque and len(opaque) == len(message.parts) and not (message.tools or message.effort):
            losses.dropped(message, code=_UNSUPPORTED)
            continue
        for part in opaque:
            losses.dropped(part, code=_UNSUPPORTED, severity=part.severity)
        parts = [part for part in message.parts if part not in opaque]
        kept.append(replace(message, parts=parts) if opaque else message)
    return messages if is_same_list(kept, messages) else kept


def _with_configuration_first(request: ir.Request, losses: Ledger) -> ir.Request:
    """Move the tools that messages add to the start, and leave out efforts from a message on. The server reads neither among the turns."""
    tools, messages = [*request.tools], []
    for message in request.messages:
        if message.tools:
            note_moved(message.tools, losses)
            tools += message.tools
        losses.dropped(message, "effort", _UNSUPPORTED)
        if message.parts or message.extra or not (message.tools or message.effort):
            messages.append(replace(message, tools=None, effort=None))
    return replace(request, tools=tools, messages=messages)


def _adapt_parts(message: ir.Message, rules: DialectRules, losses: Ledger) -> ir.Message:
    if message.role == "assistant" and not rules.accepts_generated_images:
        images = [part for part in message.parts if isinstance(part, ir.Media)]
        for image in images:
            losses.dropped(image, code=_UNSUPPORTED, severity="impossible")
        message = replace(message, parts=[part for part in message.parts if part not in images]) if images else message
    parts = [adapted for part in message.parts if (adapted := _adapt_part(part, rules, losses)) is not None]
    if not rules.accepts_empty_texts and len(parts) > 1:  # a text alone becomes a string, which may be empty
        empty = [part for part in parts if isinstance(part, ir.Text) and not part.text]
        for part in empty:
            losses.dropped(part, code="empty")
        parts = [part for part in parts if part not in empty]
    return message if is_same_list(parts, message.parts) else replace(message, parts=parts)


def _adapt_part(part: ir.Part, rules: DialectRules, losses: Ledger) -> ir.Part | None:
    """Return a part as the server accepts it; None if it does not."""
    adapted = _adapt_kind(part, rules, losses)
    if adapted is None:
        return None
    if rules.call_id_length is not None and isinstance(adapted, ir.ToolCall | ir.ToolResult):
        adapted = _with_short_id(adapted, rules.call_id_length, losses)
    if isinstance(adapted, ir.ToolResult):
        adapted = _adapt_result(adapted, rules, losses)
    if isinstance(adapted, ir.ToolCall):
        adapted = _with_read_arguments(adapted, rules, losses)
    if isinstance(adapted, ir.Text) and adapted.citations and "messages/*/content/*/citations" in rules.ignores_nested:
        losses.dropped(adapted, "citations", _IGNORED)
        adapted = replace(adapted, citations=None)
    if rules.cache_marks == "none" and not isinstance(adapted, ir.Reasoning | ir.Refusal) and adapted.cache is not None:
        losses.dropped(adapted.cache, code=_UNSUPPORTED, severity="info")
        if isinstance(adapted, ir.Opaque):
            return replace(adapted, cache=None, raw=_without_key(adapted.raw, adapted.cache.src.rpartition("/")[2]))
        adapted = replace(adapted, cache=None)
    return adapted


def _with_read_arguments(call: ir.ToolCall, rules: DialectRules, losses: Ledger) -> ir.ToolCall:
    """Return a call whose arguments are a text that the server accepts."""
    text = call.arguments
    is_read = rules.accepts_empty_arguments and not rules.requires_object_arguments
    if is_read or not isinstance(text, str) or call.kind == "custom":  # free text becomes an object in the encoder
        return call
    if text == "" or (rules.requires_object_arguments and text.isspace()):
        return replace(call, arguments=losses.changed(call, "arguments", "{}", _REJECTED, severity="info"))
    if not rules.requires_object_arguments or read_object(text) is not None:
        return call
    return replace(call, arguments=losses.changed(call, "arguments", wrap_invalid_arguments(text), "invalid_arguments"))


def _adapt_result(result: ir.ToolResult, rules: DialectRules, losses: Ledger) -> ir.ToolResult:
    adapted = [_adapt_part(part, rules, losses) for part in result.content]
    content = [part for part in adapted if part is not None]
    if not is_same_list(content, result.content):
        result = replace(result, content=content)
    if result.is_error and "messages/*/content/*/is_error" in rules.ignores_nested:
        losses.dropped(result, "is_error", _IGNORED)
        result = replace(result, is_error=None)
    return result


def _without_key(value: JsonValue, key: str) -> JsonValue:
    """Return a value without a key of its objects, at any depth."""
    if isinstance(value, dict):
        return {name: _without_key(member, key) for name, member in value.items() if name != key}
    return [_without_key(item, key) for item in value] if isinstance(value, list) else value


def _adapt_kind(part: ir.Part, rules: DialectRules, losses: Ledger) -> ir.Part | None:
    """Return a part of a kind that the server reads: the part, or a text in its place; None if it has none."""
    match part:
        case ir.Reasoning() if part.text and rules.reasoning_history == "none":
            drop_unsigned(part, losses, _UNSUPPORTED)
            return None
        case ir.Reasoning():
            is_read = _reads_reasoning(part, rules)
        case ir.Refusal():
            if not rules.accepts_refusals:
                losses.changed(part, "", part.text, "flattened")
                return ir.Text(part.text, part.src, id=part.id, extra=part.extra)
            return part
        case ir.Hosted():
            is_read = _reads_hosted(part, rules)
        case ir.Opaque():
            return _adapt_opaque(part, rules, losses)
        case ir.Media():
            return adapt_media(part, rules, losses)
        case _:
            return part
    if not is_read:
        losses.dropped(part, code=_UNSUPPORTED, severity="lossy")
    return part if is_read else None


def _reads_hosted(part: ir.Hosted, rules: DialectRules) -> bool:
    """Return whether the server reads a call of a server tool, or its result. One may run tools whose calls no input may have."""
    is_item = rules.item_types is None or (isinstance(part.raw, dict) and rules.accepts_item(str(part.raw.get("type"))))
    return is_item and (rules.server_tools is None or part.family in rules.server_tools)


def _reads_reasoning(part: ir.Reasoning, rules: DialectRules) -> bool:
    is_redacted = not part.text and part.signature is not None and part.signature.kind != "thinking"
    return not (is_redacted and "redacted_thinking" in rules.rejects_blocks)


def _adapt_opaque(part: ir.Opaque, rules: DialectRules, losses: Ledger) -> ir.Part | None:
    """Return a part that only its format has, or its text; None if the server does not read it and it has no text."""
    if is_list_item(part):
        if not rules.accepts_item(part.label):
            losses.dropped(part, code=_UNSUPPORTED, severity="lossy")
            return None
        return part
    is_document = part.label == "document" and part.text is not None
    if part.label not in rules.rejects_blocks and not (is_document and not reads_documents(rules)):
        return part
    if part.text is not None:
        return encode_opaque(part, losses)
    losses.dropped(part, code=_UNSUPPORTED, severity=part.severity)
    return None


def _with_short_id(part: ir.ToolCall | ir.ToolResult, length: int, losses: Ledger) -> ir.Part:
    """Return a call or a result with an id of the length that the server requires. A call and its result get the same id."""
    field, call_id = ("id", part.id) if isinstance(part, ir.ToolCall) else ("call_id", part.call_id)
    if len(call_id) == length and call_id.isascii() and call_id.isalnum():
        return part
    short = sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:length]
    losses.changed(part, field, short, "server_id", severity="info")
    return replace(part, id=short) if isinstance(part, ir.ToolCall) else replace(part, call_id=short)


def _adapt_tools(request: ir.Request, spec: FormatSpec, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Leave out tools beyond the limit of the server, ``strict`` and cache marks, where the server does not have them."""
    # The encoder leaves out the tools of other formats that its format does not have: their loss is the same for each server.
    families = spec.tool_rules.families_of_format if request.format != spec.name else None
    if "tools" in rules.unread:
        return _without_tools(request, code_of_field("tools", rules), "impossible", losses)
    request = without_excluded_tools(request, lambda tool: _may_be_left_out(tool, request, families, rules), losses)
    if rules.search_excludes_functions:
        request = _without_web_searches(request, losses)
    can_load_deferred = rules.has_tool_search is not False and not _loses_tool_search(request, rules)
    tools = _adapt_list(request.tools, rules, families, can_load_deferred, losses)
    most = rules.most_tools
    if most is not None and len(tools) > most:
        for tool in tools[most:]:
            losses.dropped(tool, code=_LIMIT, severity="impossible")
        tools = tools[:most]
    messages = [
        replace(message, tools=_adapt_list(message.tools, rules, families, can_load_deferred, losses)) if message.tools else message
        for message in request.messages
    ]
    if is_same_list(tools, request.tools) and is_same_list(messages, request.messages):
        return request
    return replace(request, tools=tools, messages=messages)


def _may_be_left_out(tool: ir.Tool, request: ir.Request, families: frozenset[str] | None, rules: DialectRules) -> bool:
    """Return whether the rules of the server may require that a request does not have a tool."""
    if rules.most_tools is not None and len(request.tools) > rules.most_tools:
        return True
    if not isinstance(tool, ir.HostedTool | ir.McpServer):
        return False
    return (_belongs_to(tool, families) and not _is_run(tool, rules)) or (rules.search_excludes_functions and _is_web_search(tool))


def _without_web_searches(request: ir.Request, losses: Ledger) -> ir.Request:
    """Leave out the web searches of a request with tools that the caller runs: an agent with these can still work."""
    tools = all_tools(request)
    searches = [tool for tool in tools if _is_web_search(tool)]
    if not searches or all(isinstance(tool, ir.HostedTool | ir.McpServer) for tool in tools):
        return request
    for tool in searches:
        losses.dropped(tool, code=_COMBINATION)
    messages = [
        replace(message, tools=[tool for tool in message.tools if not _is_web_search(tool)]) if message.tools else message
        for message in request.messages
    ]
    return replace(request, tools=[tool for tool in request.tools if not _is_web_search(tool)], messages=messages)


def _is_web_search(tool: ir.Tool) -> bool:
    return isinstance(tool, ir.HostedTool) and tool.family == "web_search"


def _loses_tool_search(request: ir.Request, rules: DialectRules) -> bool:
    """Return whether the server runs none of the searches by which the model would get deferred tools."""
    tools = all_tools(request)
    searches = [tool for tool in tools if isinstance(tool, ir.HostedTool) and tool.family == "tool_search"]
    return bool(searches) and not any(_is_run(tool, rules) for tool in searches)


def _adapt_list(
    tools: list[ir.Tool], rules: DialectRules, families: frozenset[str] | None, can_load_deferred: bool, losses: Ledger
) -> list[ir.Tool]:
    """Return the tools that the server has, without fields that it does not have.

    ``families``: the families of server tools from which the server has some; None: any. ``can_load_deferred``: false if
    the server runs no tool search, by which the model could load the tools with ``defer_loading``.
    """
    # An agent with other tools can still work, so its requests must pass by default.
    severity: Severity = "impossible" if all(isinstance(tool, ir.HostedTool | ir.McpServer) for tool in tools) else "lossy"
    tools = [tool for tool in tools if not _belongs_to(tool, families) or _keep_or_drop(tool, rules, severity, losses)]
    if not rules.accepts_strict:
        tools = [_without_flag(tool, "strict", "lossy", losses) for tool in tools]
    if rules.rejects_in_strict_schemas:
        tools = [describe_parameters(tool, rules, losses) for tool in tools]
    if rules.cache_marks == "none":
        tools = [_without_mark(tool, losses) for tool in tools]
    if not can_load_deferred:  # a deferred tool would never be available then
        tools = [_without_flag(tool, "defer_loading", "info", losses) for tool in tools]
    return tools


def _without_tools(request: ir.Request, code: str, severity: Severity, losses: Ledger) -> ir.Request:
    """Leave out the tools of a request, those that its messages add, and its tool choice."""
    if request.tool_choice is not None and request.tool_choice.extra:
        losses.extras(request.tool_choice)
    return replace(without_tools(request, code, severity, losses), tool_choice=None)


def _keep_or_drop(tool: ir.Tool, rules: DialectRules, severity: Severity, losses: Ledger) -> bool:
    """Return whether the server has a tool; note one that it does not run."""
    runs = not isinstance(tool, ir.HostedTool | ir.McpServer) or _is_run(tool, rules)
    if not runs:
        has_other = _is_web_search(tool) and rules.search_tool is not None
        losses.dropped(tool, code=_OTHER_TOOL if has_other else _UNSUPPORTED, severity=severity)
    return runs


def _belongs_to(tool: ir.Tool, families: frozenset[str] | None) -> bool:
    """Return whether a server tool belongs to one of the families; None allows all."""
    if families is None:
        return True
    return "mcp" in families if isinstance(tool, ir.McpServer) else isinstance(tool, ir.HostedTool) and tool.family in families


def _is_run(tool: ir.HostedTool | ir.McpServer, rules: DialectRules) -> bool:
    family = "mcp" if isinstance(tool, ir.McpServer) else tool.family
    is_read = _TOOL_FIELDS.get(family) not in rules.unread
    # A kind with a colon names its server: "openrouter:web_search".
    kind = tool.kind if isinstance(tool, ir.HostedTool) and (family == "other" or ":" in tool.kind) else family
    if family == "web_search" and kind == rules.filtering_tool:
        return True
    return is_read and (rules.server_tools is None or kind in rules.server_tools)


def _without_flag(tool: ir.Tool, name: str, severity: Severity, losses: Ledger) -> ir.Tool:
    """Return a tool without a flag, if it has one; note a flag that is set."""
    if isinstance(tool, ir.Namespace):
        tools = [_without_flag(inner, name, severity, losses) for inner in tool.tools]
        return tool if is_same_list(tools, tool.tools) else replace(tool, tools=tools)  # type: ignore[arg-type]  # the same classes
    value = getattr(tool, name, None)
    if value:
        losses.dropped(tool, name, _UNSUPPORTED, severity=severity)
    return tool if value is None else replace(tool, **{name: None})  # type: ignore[arg-type]  # a tool that has the field


def _without_mark(tool: ir.Tool, losses: Ledger) -> ir.Tool:
    if isinstance(tool, ir.Namespace) or tool.cache is None:
        return tool
    losses.dropped(tool.cache, code=_UNSUPPORTED, severity="info")
    return replace(tool, cache=None)


def _adapt_tool_choice(request: ir.Request, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Replace a tool choice that the server does not have by one with the same effect, or by the nearest one.

    One named tool becomes the only tool, and the model must call it. A choice of no tool leaves out all tools.
    """
    choice = request.tool_choice
    if choice is not None and "tool_choice" in rules.unread:
        return _without_list_of_tools(request, choice, rules, losses)
    if choice is None or choice.mode in rules.tool_modes:
        return request
    if is_weakened(choice, rules.tool_modes):
        return with_free_choice(request, choice, _UNSUPPORTED, losses)
    if choice.mode == "none":
        return _without_tools(request, "not_allowed", "info", losses)
    if choice.mode == "named":
        return replace(request, tool_choice=replace(choice, mode="allowed", allowed_mode="required"))
    return request


def _without_list_of_tools(request: ir.Request, choice: ir.ToolChoice, rules: DialectRules, losses: Ledger) -> ir.Request:
    """Leave out the tools that a list does not allow, and the list: the model cannot call tools that it does not have."""
    request = without_other_tools(request, choice, losses)
    if choice.allowed_mode == "required":
        losses.changed(choice, "allowed_mode", None, code_of_field("tool_choice", rules))
    losses.extras(choice)
    return replace(request, tool_choice=None)
